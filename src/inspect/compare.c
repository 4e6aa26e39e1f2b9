/* Where two sets of tensors part ways: name by name, the worst element of each. */
#include "base/memory.h"
#include "base/text.h"
#include "inspect/tensors.h"

#include <string.h>

/* |a - b| / max(1, |b|); 0 where both are NaN or the same infinity, infinite where one of them is not finite. */
static double distance(double a, double b) {
    if (a == b || (isnan(a) && isnan(b))) return 0;
    double d = fabs(a - b) / fmax(1, fabs(b));
    return isfinite(a) && isfinite(b) ? d : (double)INFINITY;
}

static bool same_shape(const struct named_tensor *a, const struct named_tensor *b) {
    return a->rank == b->rank && memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

static ch_comparison compare_pair(const struct named_tensor *a, const struct named_tensor *b, double tolerance) {
    ch_comparison row = {.name = a->name, .element = -1};
    if (!same_shape(a, b)) {
        row.match = CH_MATCH_SHAPE;
        return row;
    }
    for (size_t i = 0; i < a->count; i++) {
        double d = distance((double)a->value[i], (double)b->value[i]);
        if (row.element >= 0 && d <= row.worst) continue;
        row.worst = d;
        row.element = (int64_t)i;
        row.a = (double)a->value[i];
        row.b = (double)b->value[i];
    }
    row.match = row.worst <= tolerance ? CH_MATCH_SAME : CH_MATCH_DIFFERENT;
    return row;
}

/* What at least one of them has. */
static ch_comparison compare_named(const ch_tensors *a, const ch_tensors *b, const char *name, double tolerance) {
    const struct named_tensor *in_a = tensors_find(a, name), *in_b = tensors_find(b, name);
    if (in_a && in_b) return compare_pair(in_a, in_b, tolerance);
    return (ch_comparison){.name = name, .match = in_a ? CH_MATCH_ONLY_A : CH_MATCH_ONLY_B, .element = -1};
}

ch_status ch_compare(const ch_tensors *a, const ch_tensors *b, double tolerance, ch_comparison **rows, size_t *count,
                     ch_error *error) {
    *rows = NULL;
    *count = 0;
    if (!(tolerance >= 0))
        return fail(error, CH_USAGE, "tolerance: expected 0 or more, found %g", text_number(tolerance));
    ch_comparison *row = mem_new(a->count + b->count, sizeof *row);
    if (!row) return fail_memory(error, "a comparison");
    const ch_tensors *lead = a->ordered || !b->ordered ? a : b, *rest = lead == a ? b : a;
    for (size_t i = 0; i < lead->count; i++) row[(*count)++] = compare_named(a, b, lead->item[i].name, tolerance);
    for (size_t i = 0; i < rest->count; i++)
        if (!tensors_find(lead, rest->item[i].name))
            row[(*count)++] = compare_named(a, b, rest->item[i].name, tolerance);
    *rows = row;
    return CH_OK;
}

void ch_comparison_free(ch_comparison *rows) {
    mem_free(rows);
}
