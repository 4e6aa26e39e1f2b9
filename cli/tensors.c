#include "tensors.h"
#include "output.h"
#include "terminal.h"
#include "words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* ---- shapes and indices ------------------------------------------------------------------------- */

size_t tensor_count(const ch_tensor *tensor) {
    size_t count = 1;
    for (int d = 0; d < tensor->rank; d++) count *= (size_t)tensor->shape[d];
    return count;
}

static void put_tuple(int rank, const int64_t *value, char out[TENSOR_SHAPE]) {
    size_t used = (size_t)snprintf(out, TENSOR_SHAPE, "(");
    for (int d = 0; d < rank; d++)
        used += (size_t)snprintf(out + used, TENSOR_SHAPE - used, "%s%" PRId64, d ? ", " : "", value[d]);
    snprintf(out + used, TENSOR_SHAPE - used, ")");
}

static json_t *tuple_json(int rank, const int64_t *value) {
    json_t *array = json_array();
    for (int d = 0; d < rank; d++) json_array_append_new(array, json_integer((json_int_t)value[d]));
    return array;
}

static void split(const ch_tensor *tensor, int64_t element, int64_t index[4]) {
    for (int d = tensor->rank - 1; d >= 0; d--) {
        index[d] = element % tensor->shape[d];
        element /= tensor->shape[d];
    }
}

void tensor_shape(const ch_tensor *tensor, char out[TENSOR_SHAPE]) {
    put_tuple(tensor->rank, tensor->shape, out);
}

json_t *tensor_shape_json(const ch_tensor *tensor) {
    return tuple_json(tensor->rank, tensor->shape);
}

void tensor_index(const ch_tensor *tensor, int64_t element, char out[TENSOR_SHAPE]) {
    int64_t index[4];
    split(tensor, element, index);
    put_tuple(tensor->rank, index, out);
}

json_t *tensor_index_json(const ch_tensor *tensor, int64_t element) {
    int64_t index[4];
    split(tensor, element, index);
    return tuple_json(tensor->rank, index);
}

struct tensor_figures tensor_figures(const double *value, size_t count) {
    struct tensor_figures f = {0};
    for (size_t i = 0; i < count; i++) f.mean += value[i] / (double)count;
    for (size_t i = 0; i < count; i++) f.deviation += (value[i] - f.mean) * (value[i] - f.mean) / (double)count;
    f.deviation = sqrt(f.deviation);
    return f;
}

/* ---- numbers ------------------------------------------------------------------------------------ */

enum { LONG = 1000, EDGE = 3, NUMBER = 5 };

struct style {
    bool cut;        /* long dimensions show their edges only */
    bool scientific; /* where fixed digits would show nothing, or too much */
    int width, columns;
};

static int print(char *out, size_t size, const struct style *style, double x) {
    x = words_plain(x);
    return style->scientific ? snprintf(out, size, "%.4e", x) : snprintf(out, size, "%.5f", x);
}

static struct style style_of(const double *value, size_t count) {
    struct style style = {.cut = count > LONG, .columns = terminal_columns()};
    double most = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(value[i])) most = fmax(most, fabs(value[i]));
    style.scientific = most >= 1e5 || (most > 0 && most < 1e-2);
    char text[64];
    for (size_t i = 0; i < count; i++) {
        int width = print(text, sizeof text, &style, value[i]);
        if (width > style.width) style.width = width;
    }
    return style;
}

/* What comes after i of n: the next, or where the last few begin. */
static size_t after(const struct style *style, size_t i, size_t n) {
    bool jump = style->cut && n > 2 * EDGE && i + 1 == EDGE;
    return jump ? n - EDGE : i + 1;
}

/* Row number `row`, which stands before it; on as many lines as it takes. */
static bool put_row(const struct style *style, size_t row, const double *value, size_t n) {
    int room = (style->columns - NUMBER) / (style->width + 1), on_line = 0;
    out("%*zu", NUMBER, row);
    for (size_t i = 0; i < n;) {
        char text[64];
        if (room > 0 && on_line == room) {
            out("\n%*s", NUMBER, "");
            on_line = 0;
        }
        print(text, sizeof text, style, value[i]);
        out(" %*s", style->width, text);
        on_line++;
        size_t next = after(style, i, n);
        if (next > i + 1) out(" ...");
        i = next;
    }
    return out("\n");
}

static bool put_matrix(const struct style *style, const double *value, size_t rows, size_t columns) {
    bool written = true;
    for (size_t r = 0; r < rows && written;) {
        written = put_row(style, r, value + r * columns, columns);
        size_t next = after(style, r, rows);
        if (next > r + 1) out("%*s\n", NUMBER, "...");
        r = next;
    }
    return written;
}

bool tensor_put(const ch_tensor *tensor, const double *value) {
    size_t count = tensor_count(tensor), columns = tensor->rank > 0 ? (size_t)tensor->shape[tensor->rank - 1] : 1;
    size_t rows = tensor->rank > 1 ? (size_t)tensor->shape[tensor->rank - 2] : 1;
    struct style style = style_of(value, count);
    if (count == 0) return out("(no elements)\n");
    size_t matrices = count / (rows * columns);
    bool written = true;
    for (size_t m = 0; m < matrices && written;) {
        if (matrices > 1) out("head %zu\n", m);
        written = put_matrix(&style, value + m * rows * columns, rows, columns);
        size_t next = after(&style, m, matrices);
        if (next > m + 1) out("...\n");
        m = next;
    }
    return written;
}

static json_t *nested(int rank, const int64_t *shape, const double **value) {
    if (rank == 0) return json_number(*(*value)++);
    json_t *array = json_array();
    for (int64_t i = 0; i < shape[0]; i++) json_array_append_new(array, nested(rank - 1, shape + 1, value));
    return array;
}

json_t *tensor_json(const ch_tensor *tensor, const double *value) {
    return nested(tensor->rank, tensor->shape, &value);
}
