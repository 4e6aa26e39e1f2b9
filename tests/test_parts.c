/*
 * Every row of the families norm, feed-forward, position and initialisation against PyTorch (tools/parts_golden.py):
 * outputs, gradients and drawn numbers. Walks the tables; a row of which the file knows nothing fails. "Close" is
 * |a - b| <= 1e-5 max(1, |b|).
 */
#include "models.h"

#include "base/memory.h"
#include "nn/attention.h"
#include "nn/bias.h"
#include "nn/ffn.h"
#include "nn/init.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double tolerance = 1e-5;

enum { WIDTH = 18, HIDDEN = 21, POSITIONS = 9, SEQUENCES = 3, ROWS = 8, ARENA = 1 << 20 };
static const int lengths[SEQUENCES] = {4, 1, 3};

static struct st_file *file;
static struct batch_buffer batch;
static size_t used; /* tensors of the file that were looked at: in the end, all */

static int set_up(void **state) {
    (void)state;
    file = open_golden(CH_TEST_DATA "/parts.safetensors");
    batch = packed_batch(lengths, SEQUENCES, 0, 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    st_close(file);
    batch_buffer_free(&batch);
    return 0;
}

/* ---- one variant ---- */

struct part {
    char prefix[64]; /* "norm.rmsnorm." */
    struct params params;
    struct arena arena;
    struct pass pass;
    real *x, *dy;
};

static real *numbers(const struct part *part, const char *name, size_t count) {
    const struct st_tensor *tensor;
    real *found = golden(file, part->prefix, name, &tensor);
    if (!found) fail_msg("parts.safetensors has no '%s%s': tools/parts_golden.py has to make it", part->prefix, name);
    assert_int_equal(tensor->count, count);
    used++;
    return found;
}

static void compare(const struct part *part, const char *name, const real *found, size_t count) {
    char what[3 * PARAM_NAME];
    snprintf(what, sizeof what, "%s%s", part->prefix, name);
    real *expected = numbers(part, name, count);
    check_close(what, found, expected, count, tolerance);
    free(expected);
}

static void part_start(struct part *part, const char *family, const ch_variant *variant) {
    *part = (struct part){0};
    snprintf(part->prefix, sizeof part->prefix, "%s.%s.", family, variant->name);
}

/* "param.<name>"; skip: what stands before the name in the table and not in the file. */
static const char *golden_name(char name[2 * PARAM_NAME], const char *kind, const struct param *row, size_t skip) {
    snprintf(name, 2 * PARAM_NAME, "%s%s", kind, row->name + skip);
    return name;
}

/* The file's values for what is trained, those of x and dy (count), and memory for a pass. */
static void part_load(struct part *part, size_t skip, size_t count) {
    assert_int_equal(params_commit(&part->params, NULL), CH_OK);
    assert_int_equal(params_allocate(&part->params, NULL), CH_OK);
    for (int i = 0; i < part->params.count; i++) {
        const struct param *row = &part->params.row[i];
        char name[2 * PARAM_NAME];
        if (!param_is_trained(row)) continue;
        real *value = numbers(part, golden_name(name, "param.", row, skip), row->count);
        memcpy(part->params.value + row->offset, value, row->count * sizeof *value);
        free(value);
    }
    assert_true(arena_reserve(&part->arena, ARENA));
    part->pass = (struct pass){.params = &part->params,
                               .grad = params_new_block(&part->params),
                               .arena = &part->arena,
                               .dropout = DROPOUT_OFF};
    part->x = numbers(part, "x", count);
    part->dy = numbers(part, "dy", count);
}

static void part_end(struct part *part, size_t skip) {
    for (int i = 0; i < part->params.count; i++) {
        const struct param *row = &part->params.row[i];
        char name[2 * PARAM_NAME];
        if (param_is_trained(row))
            compare(part, golden_name(name, "grad.", row, skip), part->pass.grad + row->offset, row->count);
        else
            compare(part, golden_name(name, "param.", row, skip), part->params.value + row->offset, row->count);
    }
    mem_free_aligned(part->pass.grad);
    params_free(&part->params);
    arena_release(&part->arena);
    free(part->x);
    free(part->dy);
}

/* ---- the families ---- */

static void check_norm(const char *family, size_t i, bool biased) {
    struct part part;
    struct norm norm;
    struct norm_saved saved;
    part_start(&part, family, norm_row(i));
    norm_declare(&norm, (const struct norm_variant *)norm_row(i), &part.params, "", WIDTH, biased, NULL);
    part_load(&part, 0, ROWS * WIDTH);
    compare(&part, "y", norm_forward(&part.pass, &norm, part.x, ROWS, &saved), ROWS * WIDTH);
    compare(&part, "dx", norm_backward(&part.pass, &norm, part.dy, ROWS, &saved), ROWS * WIDTH);
    part_end(&part, 0);
}

static void norms(void **state) {
    (void)state;
    for (size_t i = 0; norm_row(i); i++) {
        check_norm("norm", i, true);
        check_norm("norm_without_bias", i, false);
    }
}

static void feed_forwards(void **state) {
    (void)state;
    for (size_t i = 0; ffn_row(i); i++) {
        const struct ffn_variant *variant = (const struct ffn_variant *)ffn_row(i);
        struct part part;
        struct ffn ffn;
        struct ffn_saved saved;
        part_start(&part, "ffn", ffn_row(i));
        ffn_declare(&ffn, variant, &part.params, "", WIDTH, HIDDEN, true, NULL);
        part_load(&part, 0, ROWS * WIDTH);
        compare(&part, "y", variant->forward(&part.pass, &ffn, part.x, &batch.view, &saved), ROWS * WIDTH);
        compare(&part, "dx", variant->backward(&part.pass, &ffn, part.dy, ROWS, &saved), ROWS * WIDTH);
        part_end(&part, 0);
    }
}

/* Rotary tables are those of heads of six numbers. */
static const struct position_sizes sizes = {.width = WIDTH,
                                            .max_positions = POSITIONS,
                                            .d_head = 6,
                                            .rope = {.base = 100, .factor = 1, .scaling = &rope_scaling_none}};

/* Rows pass through, so dx is dy. */
static void positions(void **state) {
    (void)state;
    const size_t skip = strlen("pos.");
    for (size_t i = 0; position_row(i); i++) {
        const struct position_variant *variant = (const struct position_variant *)position_row(i);
        struct part part;
        struct position position;
        part_start(&part, "position", position_row(i));
        position_declare(&position, variant, &part.params, &sizes, NULL);
        part_load(&part, skip, ROWS * WIDTH);
        position_fill(&position, &part.params);
        position_forward(&part.pass, &position, part.x, &batch.view);
        compare(&part, "y", part.x, ROWS * WIDTH);
        position_backward(&part.pass, &position, part.dy, &batch.view);
        compare(&part, "dx", part.dy, ROWS * WIDTH);
        part_end(&part, skip);
    }
}

/* ---- attention: with every row of family position, then with what else it may be told ---- */

enum { ATTENTION_WIDTH = 8, HEADS = 2, KV_HEADS = 1, D_HEAD = 6, SHORT_TABLE = 12, QUERIES = 26, KEYS = 29 };
static const int query_lengths[SEQUENCES] = {21, 1, 4}, key_lengths[SEQUENCES] = {3, 24, 2};

enum attention_kind { CAUSAL, BOTH_WAYS, CROSS, KINDS };
static const char *const kind_name[KINDS] = {"causal", "both", "cross"};

/* One row of either; the rest of the parts is the test's. */
struct attention_case {
    const char *name;
    struct rope_settings rope;
    struct attention_parts parts;
};

static const struct rope_settings plain_rope = {.base = 100, .factor = 1, .scaling = &rope_scaling_none};

struct attention_test {
    struct batch_buffer query, key;
    struct attention_shape shape;
    struct position position;
    struct attention attention;
    struct attention_saved saved;
};

static void declare_attention(struct attention_test *t, struct part *part, const struct attention_case *c,
                              const struct position_variant *variant, enum attention_kind kind) {
    struct position_sizes short_table = {
        .width = ATTENTION_WIDTH, .max_positions = SHORT_TABLE, .d_head = D_HEAD, .rope = c->rope};
    struct attention_parts parts = c->parts;
    parts.width = ATTENTION_WIDTH;
    parts.shape = &t->shape;
    parts.causal = kind == CAUSAL;
    parts.cross = kind == CROSS;
    parts.position = &t->position;
    parts.bias_table = -1;
    position_declare(&t->position, variant, &part->params, &short_table, NULL);
    if (!parts.cross)
        position_declare_bias(&t->position, POSITION_OF_STACK, &part->params, "att", HEADS, &parts.bias_table, NULL);
    attention_declare(&t->attention, &part->params, "att", &parts, NULL);
}

static void check_attention(const struct attention_core *core, const struct attention_case *c,
                            const struct position_variant *variant, enum attention_kind kind) {
    struct part part = {0};
    struct attention_test t = {.query = packed_batch(query_lengths, SEQUENCES, 0, 0),
                               .key = packed_batch(key_lengths, SEQUENCES, 0, 0)};
    const size_t skip = strlen("att."); /* or "pos." */
    real *memory = NULL, *dmemory = NULL;
    snprintf(part.prefix, sizeof part.prefix, "attention.%s.%s.", c->name, kind_name[kind]);
    assert_true(attention_shape_uniform(&t.shape, HEADS, KV_HEADS, D_HEAD));
    declare_attention(&t, &part, c, variant, kind);
    part_load(&part, skip, QUERIES * ATTENTION_WIDTH);
    position_fill(&t.position, &part.params);
    part.pass.core = core;
    if (kind == CROSS) memory = numbers(&part, "memory", KEYS * ATTENTION_WIDTH);
    const real *y = attention_forward(&part.pass, &t.attention, part.x, &t.query.view, memory,
                                      memory ? &t.key.view : NULL, NULL, &t.saved);
    compare(&part, "y", y, QUERIES * ATTENTION_WIDTH);
    const real *dx = attention_backward(&part.pass, &t.attention, part.dy, &dmemory, &t.saved);
    compare(&part, "dx", dx, QUERIES * ATTENTION_WIDTH);
    if (memory) compare(&part, "dmemory", dmemory, KEYS * ATTENTION_WIDTH);
    part_end(&part, skip);
    free(memory);
    attention_shape_free(&t.shape);
    batch_buffer_free(&t.query);
    batch_buffer_free(&t.key);
}

/* Both cores; each tensor of the file counts once. */
static void check_attention_cases(const struct attention_case *c, const struct position_variant *variant) {
    for (enum attention_kind kind = CAUSAL; kind < KINDS; kind++) {
        size_t before = used;
        check_attention(&attention_explicit, c, variant, kind);
        size_t after = used;
        check_attention(&attention_fused, c, variant, kind);
        assert_int_equal(used - after, after - before);
        used = after;
    }
}

static void attentions_with_positions(void **state) {
    (void)state;
    for (size_t i = 0; position_row(i); i++) {
        const struct position_variant *variant = (const struct position_variant *)position_row(i);
        struct attention_case c = {variant->variant.name, plain_rope, {.biased = true}};
        if (variant->bias || variant->rotate || variant == &position_none) check_attention_cases(&c, variant);
    }
}

static void attentions_with_settings(void **state) {
    (void)state;
    const struct attention_case plain[] = {
        {"no-biases", plain_rope, {.biased = false}},
        {"window", plain_rope, {.biased = true, .window = 3}},
        {"soft-cap", plain_rope, {.biased = true, .soft_cap = 0.5}},
        {"qk-layernorm", plain_rope, {.biased = true, .head_norm = &norm_layernorm, .norm_biased = true}},
        {"qk-rmsnorm", plain_rope, {.head_norm = &norm_rmsnorm}},
    };
    const struct attention_case turned[] = {
        {"rope-linear", {100, 3, &rope_scaling_linear}, {.biased = true}},
        {"rope-ntk", {100, 3, &rope_scaling_ntk}, {.biased = true}},
        {"rope-all", {100, 3, &rope_scaling_ntk}, {.window = 5, .soft_cap = 2, .head_norm = &norm_layernorm}},
    };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) check_attention_cases(&plain[i], &position_none);
    for (size_t i = 0; i < sizeof turned / sizeof *turned; i++) check_attention_cases(&turned[i], &position_rope);
}

/* ---- initialisations ---- */

/* What may stand behind W_o: norms of heads of two numbers, one without a bias, and biases by distance. */
static void declare_end_of_attention(struct params *params, const char *name) {
    static const char *const norms[] = {"q_norm", "k_norm"};
    struct position position = {.variant = &position_relative_bias_per_layer};
    for (int i = 0; i < 2; i++) {
        char full[2 * PARAM_NAME];
        struct norm norm;
        snprintf(full, sizeof full, "%s.%s", name, norms[i]);
        norm_declare(&norm, &norm_layernorm, params, full, 2, i == 0, NULL);
    }
    int table;
    position_declare_bias(&position, POSITION_OF_ATTENTION, params, name, 2, &table, NULL);
}

static void declare_layer(struct params *params, const char *stack, int hidden) {
    char name[PARAM_NAME];
    struct linear output;
    struct ffn ffn;
    struct norm norm;
    snprintf(name, sizeof name, "%s.0.attn", stack);
    linear_declare_residual(&output, params, name, "W_o", 3, 3, false, NULL);
    declare_end_of_attention(params, name);
    snprintf(name, sizeof name, "%s.0.ff", stack);
    ffn_declare(&ffn, &ffn_relu, params, name, 3, hidden, true, NULL);
    snprintf(name, sizeof name, "%s.0.n1", stack);
    norm_declare(&norm, &norm_layernorm, params, name, 3, true, NULL);
}

/* As Drawn in parts_golden.py: embeddings of fewer than 16 numbers and of more, and two stacks of two branches. */
static void declare_drawn(struct params *params) {
    static const char *const name[] = {"src_emb", "tgt_emb", "pos"};
    static const int rows[] = {5, 7, 11};
    int id;
    struct linear generator;
    for (int i = 0; i < 3; i++)
        params_declare(params, name[i], "weight",
                       (struct param_spec){.role = ROLE_EMBEDDING, .rank = 2, .shape = {rows[i], 3}}, &id, NULL);
    declare_layer(params, "enc", 6);
    declare_layer(params, "dec", 5);
    linear_declare(&generator, params, "", "generator", 3, 4, true, NULL, NULL);
    assert_int_equal(params_commit(params, NULL), CH_OK);
    assert_int_equal(params_allocate(params, NULL), CH_OK);
}

/* PyTorch's numbers, bit for bit. */
static void drawn_as_by_torch(void **state) {
    (void)state;
    for (size_t i = 0; init_row(i); i++) {
        struct part part;
        struct torch_rng torch;
        part_start(&part, "init", init_row(i));
        declare_drawn(&part.params);
        torch_rng_seed(&torch, 3);
        ((const struct init *)init_row(i))->fill(&part.params, 0, &torch);
        for (int id = 0; id < part.params.count; id++) {
            const struct param *row = &part.params.row[id];
            char name[2 * PARAM_NAME];
            real *expected = numbers(&part, golden_name(name, "param.", row, 0), row->count);
            check_same(row->name, part.params.value + row->offset, expected, row->count);
            free(expected);
        }
        params_free(&part.params);
    }
}

static void nothing_was_left_out(void **state) {
    (void)state;
    assert_int_equal(used, st_count(file));
}

/* ---- what an initialisation is meant to give, without PyTorch ---- */

struct moments {
    double mean, variance;
};

static struct moments moments_of(const struct params *params, const char *name) {
    const struct param *row = params_find(params, name);
    const real *value = params->value + row->offset;
    struct moments m = {0};
    for (size_t i = 0; i < row->count; i++) m.mean += (double)value[i] / (double)row->count;
    for (size_t i = 0; i < row->count; i++)
        m.variance += ((double)value[i] - m.mean) * ((double)value[i] - m.mean) / (double)row->count;
    return m;
}

/* The mean of n numbers deviates by sqrt(variance / n), and their variance, for normal ones, by the share sqrt(2 / n),
 * for uniform ones less: six times that. */
static void check_moments(const struct params *params, const char *name, double variance) {
    double count = (double)params_find(params, name)->count;
    struct moments m = moments_of(params, name);
    if (!(fabs(m.mean) <= 6 * sqrt(variance / count)) || !(fabs(m.variance / variance - 1) <= 6 * sqrt(2 / count)))
        fail_msg("%s: mean %g, variance %g, expected 0 and %g", name, m.mean, m.variance, variance);
}

static void drawn_as_meant(void **state) {
    (void)state;
    enum { D = 40, F = 70, LAYERS = 3 };
    for (size_t i = 0; init_row(i); i++) {
        const struct init *init = (const struct init *)init_row(i);
        struct params params = {0};
        struct linear free_one, last[LAYERS];
        linear_declare(&free_one, &params, "enc", "up", D, F, true, NULL, NULL);
        linear_declare(&free_one, &params, "dec", "up", D, F, true, NULL, NULL);
        for (int layer = 0; layer < LAYERS; layer++)
            linear_declare_residual(&last[layer], &params, "enc", "down", F, D, false, NULL);
        linear_declare_residual(&last[0], &params, "encoder", "down", F, D, false, NULL); /* a stack of its own */
        assert_int_equal(params_commit(&params, NULL), CH_OK);
        assert_int_equal(params_allocate(&params, NULL), CH_OK);
        init->fill(&params, 5, NULL);
        bool scaled = init == &init_normal;
        check_moments(&params, "enc.up.weight", init->matrix_variance(F, D));
        check_moments(&params, "enc.down.weight", init->matrix_variance(D, F) / (scaled ? LAYERS : 1));
        check_moments(&params, "encoder.down.weight", init->matrix_variance(D, F));
        if (init->bias_variance(D) > 0)
            check_moments(&params, "enc.up.bias", init->bias_variance(D));
        else
            assert_true(moments_of(&params, "enc.up.bias").variance == 0);
        const real *first = params.value + params_find(&params, "enc.up.weight")->offset;
        assert_true(worst_difference(first, params.value + params_find(&params, "dec.up.weight")->offset, 40) > 0);
        params_free(&params);
    }
}

/* ---- what a summary says of a part ---- */

static int64_t evaluate_sum(const char **at);

/* A number, or a sum in brackets. */
static int64_t evaluate_factor(const char **at) {
    char *end;
    if (**at != '(') {
        int64_t number = strtoll(*at, &end, 10);
        *at = end;
        return number;
    }
    ++*at;
    int64_t sum = evaluate_sum(at);
    assert_true(*(*at)++ == ')');
    return sum;
}

static int64_t evaluate_sum(const char **at) {
    int64_t sum = 0;
    for (;; *at += strlen(" + ")) {
        int64_t product = evaluate_factor(at);
        while (strncmp(*at, " x ", 3) == 0) {
            *at += 3;
            product *= evaluate_factor(at);
        }
        sum += product;
        if (strncmp(*at, " + ", 3) != 0) return sum;
    }
}

static void check_summary(const ch_recipe *recipe) {
    ch_summary *summary;
    ch_error error;
    const ch_summary_part *part;
    int64_t total = 0;
    check_ok(ch_summary_new(recipe, &summary, &error), &error);
    size_t count = ch_summary_parts(summary, &part);
    for (size_t p = 0; p < count; p++) {
        const char *at = part[p].arithmetic;
        if (evaluate_sum(&at) != part[p].parameters || *at)
            fail_msg("%s: '%s' is not %lld", part[p].part, part[p].arithmetic, (long long)part[p].parameters);
        if (part[p].counted) total += part[p].parameters;
    }
    assert_true(total == ch_summary_total(summary));
    ch_summary_free(summary);
}

/* What is written comes out as what is counted, and the parts are the whole. */
static void summaries_add_up(void **state) {
    (void)state;
    bool more = true;
    for (size_t i = 0; more; i++) {
        ch_recipe *recipe = recipe_of("d-model", "12", "heads", "3", "d-ff", "35", "layers", "3", NULL);
        more = set_part(recipe, i);
        check_summary(recipe);
        ch_recipe_free(recipe);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms),
        cmocka_unit_test(feed_forwards),
        cmocka_unit_test(positions),
        cmocka_unit_test(attentions_with_positions),
        cmocka_unit_test(attentions_with_settings),
        cmocka_unit_test(drawn_as_by_torch),
        cmocka_unit_test(nothing_was_left_out),
        cmocka_unit_test(drawn_as_meant),
        cmocka_unit_test(summaries_add_up),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
