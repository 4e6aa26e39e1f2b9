/*
 * Dumps and their comparison: a trained model against PyTorch's dump of it (tools/make_goldens.py), in every tensor and
 * gradient and for both cores; what compare finds of differences planted in a file; special values, shapes, names.
 * "Close" is |a - b| <= 1e-5 max(1, |b|); the float dumps differ from PyTorch's by less than 3e-6.
 */
#include "inspect/tensors.h"
#include "models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TINY CH_TEST_DATA "/lesson_tiny_model.safetensors"
#define GOLDEN CH_TEST_DATA "/lesson_dump.safetensors"

static const double tolerance = 1e-5;
static const int source_tokens[] = {3, 1, 4, 1}, target_tokens[] = {1, 4, 1, 9};
static const ch_sequence source = {source_tokens, 4}, target = {target_tokens, 4};

static ch_tensors *dump_of(const ch_model *model, bool explicit_core, bool backward) {
    const ch_dump_options options = {explicit_core, backward};
    ch_tensors *tensors;
    ch_error error;
    check_ok(ch_dump(model, source, target, &options, &tensors, &error), &error);
    return tensors;
}

static ch_tensors *open_tensors(const char *path) {
    ch_tensors *tensors;
    ch_error error;
    check_ok(ch_tensors_open(path, &tensors, &error), &error);
    return tensors;
}

static ch_comparison *compare(const ch_tensors *a, const ch_tensors *b, size_t *count) {
    ch_comparison *rows;
    ch_error error;
    check_ok(ch_compare(a, b, tolerance, &rows, count, &error), &error);
    return rows;
}

/* ---- against PyTorch ------------------------------------------------------------------------------ */

static void equal_to_pytorch(bool explicit_core) {
    ch_model *model = open_model(TINY);
    ch_tensors *ours = dump_of(model, explicit_core, true), *theirs = open_tensors(GOLDEN);
    size_t count;
    ch_comparison *rows = compare(ours, theirs, &count);
    assert_int_equal(count, ch_tensors_count(theirs));
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        ch_tensor tensor;
        assert_true(ch_tensors_get(theirs, i, &tensor));
        assert_string_equal(rows[i].name, tensor.name); /* in the same order, too */
        if (rows[i].match != CH_MATCH_SAME)
            fail_msg("%s: element %lld is %.9g, expected %.9g", rows[i].name, (long long)rows[i].element, rows[i].a,
                     rows[i].b);
        worst = fmax(worst, rows[i].worst);
    }
    print_message("             %zu tensors, worst %.2e, allowed %.2e\n", count, worst, tolerance);
    assert_true(worst > 0); /* they are not the same numbers by accident of the test */
    ch_comparison_free(rows);
    ch_tensors_free(ours);
    ch_tensors_free(theirs);
    ch_model_free(model);
}

static void fused_equals_pytorch(void **state) {
    (void)state;
    equal_to_pytorch(false);
}

static void explicit_equals_pytorch(void **state) {
    (void)state;
    equal_to_pytorch(true);
}

/* Gradients beside a dump change nothing of it, and without them it ends in the loss. */
static void backward_changes_nothing(void **state) {
    (void)state;
    ch_model *model = open_model(TINY);
    ch_tensors *plain = dump_of(model, false, false), *both = dump_of(model, false, true);
    size_t count = ch_tensors_count(plain);
    assert_string_equal(plain->item[count - 1].name, "loss");
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(plain->item[i].name, both->item[i].name);
        check_same(plain->item[i].name, plain->item[i].value, both->item[i].value, plain->item[i].count);
    }
    for (size_t i = count; i < ch_tensors_count(both); i++) assert_memory_equal(both->item[i].name, "grad.", 5);
    ch_tensors_free(plain);
    ch_tensors_free(both);
    ch_model_free(model);
}

/* ---- gradients of the maps ------------------------------------------------------------------------ */

/* Forward and backward: whatever the pass shows has a gradient of its shape, or the dump would have a hole. */
static void every_site_has_a_gradient(void **state) {
    (void)state;
    ch_model *model = open_model(TINY);
    ch_tensors *all = dump_of(model, false, true);
    size_t sites = 0;
    for (; strcmp(all->item[sites].name, "loss") != 0; sites++) {
        char name[128];
        snprintf(name, sizeof name, "grad.%s", all->item[sites].name);
        const struct named_tensor *gradient = tensors_find(all, name);
        if (!gradient) fail_msg("%s is missing", name);
        assert_int_equal(gradient->rank, all->item[sites].rank);
        assert_memory_equal(gradient->shape, all->item[sites].shape, (size_t)gradient->rank * sizeof *gradient->shape);
    }
    assert_true(sites > 30);
    ch_tensors_free(all);
    ch_model_free(model);
}

/* What a dump holds of one attention. */
struct seen {
    const char *layer;
    bool causal;
    int heads, d_head, queries, keys;
    const real *key, *value, *scores, *weights;
    const real *d_heads, *d_weights, *d_scores, *d_query;
};

static const real *numbers_of(const ch_tensors *tensors, const char *prefix, const char *layer, const char *site) {
    char name[128];
    snprintf(name, sizeof name, "%s%s.%s", prefix, layer, site);
    const struct named_tensor *tensor = tensors_find(tensors, name);
    if (!tensor) fail_msg("%s is missing", name);
    return tensor->value;
}

static struct seen see(const ch_tensors *tensors, const char *layer, bool causal) {
    char name[128];
    snprintf(name, sizeof name, "%s.weights", layer);
    const int64_t *shape = tensors_find(tensors, name)->shape;
    return (struct seen){.layer = layer,
                         .causal = causal,
                         .heads = (int)shape[0],
                         .d_head = 32 / (int)shape[0],
                         .queries = (int)shape[1],
                         .keys = (int)shape[2],
                         .key = numbers_of(tensors, "", layer, "key"),
                         .value = numbers_of(tensors, "", layer, "value"),
                         .scores = numbers_of(tensors, "", layer, "scores"),
                         .weights = numbers_of(tensors, "", layer, "weights"),
                         .d_heads = numbers_of(tensors, "grad.", layer, "heads"),
                         .d_weights = numbers_of(tensors, "grad.", layer, "weights"),
                         .d_scores = numbers_of(tensors, "grad.", layer, "scores"),
                         .d_query = numbers_of(tensors, "grad.", layer, "query")};
}

/* Query i's share of the loss, to first order: dheads . (weights V). */
static double share_of_weights(const struct seen *s, int h, int i, const double *weights) {
    int width = s->heads * s->d_head;
    double sum = 0;
    for (int j = 0; j < s->keys; j++)
        for (int d = h * s->d_head; d < (h + 1) * s->d_head; d++)
            sum += weights[j] * (double)s->d_heads[i * width + d] * (double)s->value[j * width + d];
    return sum;
}

static double share_of_scores(const struct seen *s, int h, int i, const double *scores) {
    int visible = s->causal && i + 1 < s->keys ? i + 1 : s->keys;
    double weights[32] = {0}, most = scores[0], sum = 0;
    for (int j = 0; j < visible; j++) most = fmax(most, scores[j]);
    for (int j = 0; j < visible; j++) sum += weights[j] = exp(scores[j] - most);
    for (int j = 0; j < visible; j++) weights[j] /= sum;
    return share_of_weights(s, h, i, weights);
}

static void check_gradient(const struct seen *s, const char *what, double found, double expected) {
    double allowed = IN_DOUBLE ? 1e-7 : tolerance;
    if (!(fabs(found - expected) <= allowed * fmax(1, fabs(expected))))
        fail_msg("%s.%s: %.9g, expected %.9g", s->layer, what, found, expected);
}

/* A row's gradients against central differences of its share of the loss. */
static void check_differences(const struct seen *s, const char *what, int h, int i, const real *x, const real *gradient,
                              double (*share)(const struct seen *, int, int, const double *)) {
    static const double step = 1e-5;
    double row[32];
    for (int j = 0; j < s->keys; j++) row[j] = (double)x[(h * s->queries + i) * s->keys + j];
    for (int j = 0; j < s->keys; j++) {
        double before = row[j];
        row[j] = before + step;
        double up = share(s, h, i, row);
        row[j] = before - step;
        double expected = (up - share(s, h, i, row)) / (2 * step);
        row[j] = before;
        check_gradient(s, what, (double)gradient[(h * s->queries + i) * s->keys + j], expected);
    }
}

/* dq_i = scale sum_j dscores_ij k_j: what the core itself made of gradients that it never shows. */
static void check_query(const struct seen *s, int h, int i) {
    int width = s->heads * s->d_head;
    for (int d = h * s->d_head; d < (h + 1) * s->d_head; d++) {
        double sum = 0;
        for (int j = 0; j < s->keys; j++)
            sum += (double)s->d_scores[(h * s->queries + i) * s->keys + j] * (double)s->key[j * width + d];
        check_gradient(s, "query", (double)s->d_query[i * width + d], sum / sqrt(s->d_head));
    }
}

static double check_attention(const ch_tensors *tensors, const char *layer, bool causal) {
    struct seen s = see(tensors, layer, causal);
    double largest = 0;
    for (int h = 0; h < s.heads; h++)
        for (int i = 0; i < s.queries; i++) {
            const real *d_scores = s.d_scores + (h * s.queries + i) * s.keys;
            check_differences(&s, "weights", h, i, s.weights, s.d_weights, share_of_weights);
            check_differences(&s, "scores", h, i, s.scores, s.d_scores, share_of_scores);
            check_query(&s, h, i);
            for (int j = i + 1; causal && j < s.keys; j++) assert_true(d_scores[j] == 0);
            for (int j = 0; j < s.keys; j++) largest = fmax(largest, fabs((double)d_scores[j]));
        }
    return largest;
}

static void maps_have_gradients(void **state) {
    (void)state;
    static const int tokens[] = {7, 2, 9, 0, 4, 6, 6, 1, 3, 5, 8, 2};
    static const size_t sources[] = {1, 2, 4, 12}, targets[] = {0, 3, 12, 7};
    ch_model *model = open_model(TINY);
    for (size_t i = 0; i < 2 * 4 * 4; i++) {
        const ch_dump_options options = {.explicit_core = i & 1, .backward = true};
        ch_sequence read = {tokens, sources[i / 2 % 4]}, predict = {tokens, targets[i / 8]};
        ch_tensors *tensors;
        ch_error error;
        check_ok(ch_dump(model, read, predict, &options, &tensors, &error), &error);
        double largest = check_attention(tensors, "enc.0.attn", false);
        largest = fmax(largest, check_attention(tensors, "dec.0.self_attn", true));
        largest = fmax(largest, check_attention(tensors, "dec.0.cross_attn", false));
        assert_true(read.length == 1 || largest > 1e-3); /* or small numbers would agree with whatever is small */
        /* a lone key has all the weight whatever its score; the fused core has it to rounding */
        if (options.explicit_core && read.length == 1 && predict.length == 0) assert_true(largest == 0);
        ch_tensors_free(tensors);
    }
    ch_model_free(model);
}

/* ---- what cannot be dumped ------------------------------------------------------------------------ */

static void bad_dumps(void **state) {
    (void)state;
    static const int special[] = {3, 11}, many[30] = {0};
    ch_model *model = open_model(TINY);
    ch_tensors *tensors = (ch_tensors *)1;
    ch_error error;
    check_sentence(ch_dump(model, (ch_sequence){many, 0}, target, NULL, &tensors, &error), CH_FAILED, &error, "source",
                   "1 to 24", "found 0", NULL);
    assert_null(tensors);
    check_sentence(ch_dump(model, (ch_sequence){many, 25}, target, NULL, &tensors, &error), CH_FAILED, &error, "source",
                   "found 25", NULL);
    check_sentence(ch_dump(model, source, (ch_sequence){many, 24}, NULL, &tensors, &error), CH_FAILED, &error, "target",
                   "0 to 23", "found 24", NULL);
    check_sentence(ch_dump(model, source, (ch_sequence){special, 2}, NULL, &tensors, &error), CH_FAILED, &error,
                   "target: token 2 is 11", NULL);
    assert_int_equal(ch_dump(model, source, (ch_sequence){special, 2}, NULL, &tensors, NULL), CH_FAILED);
    check_ok(ch_dump(model, (ch_sequence){many, 24}, (ch_sequence){many, 23}, NULL, &tensors, &error), &error);
    ch_tensors_free(tensors);
    check_ok(ch_dump(model, source, (ch_sequence){many, 0}, NULL, &tensors, &error), &error); /* <sos> alone */
    ch_tensors_free(tensors);
    ch_model_free(model);
}

static ch_model *model_with(const char *settings) {
    ch_recipe *recipe = recipe_of("d-model", "8", "heads", "2", "d-ff", "8", "max-positions", "10", NULL);
    set_options(recipe, settings);
    ch_model *model = model_of(recipe);
    ch_recipe_free(recipe);
    return model;
}

/* A stack that reads source and target one behind the other has positions for both together. */
static void source_and_target_in_one_row(void **state) {
    (void)state;
    static const int many[10] = {0};
    ch_model *model = model_with("preset=gpt2 max-len=4");
    ch_tensors *tensors;
    ch_tensor logits;
    ch_error error;
    check_sentence(ch_dump(model, (ch_sequence){many, 6}, (ch_sequence){many, 4}, NULL, &tensors, &error), CH_FAILED,
                   &error, "source and target: expected at most 9 tokens together, found 10", NULL);
    check_ok(ch_dump(model, (ch_sequence){many, 6}, (ch_sequence){many, 3}, NULL, &tensors, &error), &error);
    check_ok(ch_tensors_find(tensors, "logits", &logits, &error), &error);
    assert_true(logits.shape[0] == 10 && logits.shape[1] == 13);
    ch_tensors_free(tensors);
    ch_model_free(model);
}

/* What is not written tokens is labels: one class for a source. */
static void classes_are_one_number(void **state) {
    (void)state;
    static const int many[10] = {0}, right[] = {1}, wrong[] = {2};
    static const ch_dump_options backward = {.backward = true};
    ch_model *model = model_with("preset=bert task=brackets max-len=8 min-len=2");
    ch_tensors *tensors;
    ch_error error;
    check_sentence(ch_dump(model, source, target, NULL, &tensors, &error), CH_FAILED, &error,
                   "target: expected one number, a class from 0 to 1, found 4", NULL);
    check_sentence(ch_dump(model, source, (ch_sequence){wrong, 1}, NULL, &tensors, &error), CH_FAILED, &error,
                   "target: expected a class from 0 to 1, found 2", NULL);
    check_sentence(ch_dump(model, (ch_sequence){many, 10}, (ch_sequence){right, 1}, NULL, &tensors, &error), CH_FAILED,
                   &error, "source: expected 1 to 9 tokens, found 10", NULL);
    check_ok(ch_dump(model, (ch_sequence){many, 9}, (ch_sequence){right, 1}, &backward, &tensors, &error), &error);
    ch_tensor logits;
    check_ok(ch_tensors_find(tensors, "grad.logits", &logits, &error), &error);
    assert_true(logits.shape[0] == 1 && logits.shape[1] == 2);
    ch_tensors_free(tensors);
    ch_model_free(model);
}

/* ---- planted differences -------------------------------------------------------------------------- */

/* A dump, and its copy out of a file. */
struct pair {
    char *folder;
    ch_tensors *a, *b;
};

static struct pair pair_new(void) {
    struct pair pair = {.folder = make_temp_folder()};
    ch_model *model = open_model(TINY);
    ch_error error;
    pair.a = dump_of(model, false, true);
    check_ok(ch_tensors_save(pair.a, path_in(pair.folder, "a.safetensors"), &error), &error);
    pair.b = open_tensors(path_in(pair.folder, "a.safetensors"));
    ch_model_free(model);
    return pair;
}

static void pair_free(struct pair *pair) {
    ch_tensors_free(pair->a);
    ch_tensors_free(pair->b);
    remove_folder(pair->folder);
}

static const ch_comparison *first_that_differs(const ch_comparison *rows, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (rows[i].match != CH_MATCH_SAME) return &rows[i];
    return NULL;
}

/* Saved, opened again and compared: what a person does with two files. */
static void check_first(struct pair *pair, const char *name, ch_match match, int64_t element) {
    const char *path = path_in(pair->folder, "b.safetensors");
    ch_error error;
    check_ok(ch_tensors_save(pair->b, path, &error), &error);
    ch_tensors *b = open_tensors(path);
    size_t count;
    ch_comparison *rows = compare(pair->a, b, &count);
    const ch_comparison *first = first_that_differs(rows, count);
    if (!name) {
        assert_null(first);
    } else {
        assert_non_null(first);
        assert_string_equal(first->name, name);
        assert_int_equal(first->match, match);
        assert_int_equal(first->element, element);
    }
    ch_comparison_free(rows);
    ch_tensors_free(b);
}

static const char *const ten[] = {"src.embedded",
                                  "enc.0.attn.scores",
                                  "enc.0.n1.out",
                                  "memory",
                                  "dec.0.self_attn.weights",
                                  "dec.0.cross_attn.heads",
                                  "logits",
                                  "loss",
                                  "grad.dec.0.ff.hidden",
                                  "grad.generator.bias"};

/* Planted from the last to the first: each is named although all behind it differ, too. */
static void plants_are_named(void **state) {
    (void)state;
    struct pair pair = pair_new();
    check_first(&pair, NULL, CH_MATCH_SAME, -1);
    for (int i = 9; i >= 0; i--) {
        struct named_tensor *tensor = tensors_find(pair.b, ten[i]);
        assert_non_null(tensor);
        size_t at = tensor->count / 2;
        real old = tensor->value[at];
        real bound = RC(tolerance) * R(fmax)(1, R(fabs)(old));
        tensor->value[at] = old + bound / 2; /* within the tolerance: not named */
        check_first(&pair, i < 9 ? ten[i + 1] : NULL, CH_MATCH_DIFFERENT,
                    i < 9 ? (int64_t)(tensors_find(pair.b, ten[i + 1])->count / 2) : -1);
        tensor->value[at] = old + 4 * bound;
        check_first(&pair, ten[i], CH_MATCH_DIFFERENT, (int64_t)at);
    }
    pair_free(&pair);
}

/* The worst element is the one that is named, with both values. */
static void worst_element(void **state) {
    (void)state;
    struct pair pair = pair_new();
    struct named_tensor *tensor = tensors_find(pair.b, "memory");
    tensor->value[3] += RC(0.5);
    tensor->value[70] -= RC(2);
    tensor->value[71] += RC(1);
    size_t count;
    ch_comparison *rows = compare(pair.a, pair.b, &count);
    const ch_comparison *first = first_that_differs(rows, count);
    assert_string_equal(first->name, "memory");
    assert_int_equal(first->element, 70);
    assert_true(first->a == (double)tensors_find(pair.a, "memory")->value[70]);
    assert_true(first->b == (double)tensor->value[70]);
    assert_true(fabs(first->worst - 2 / fmax(1, fabs(first->b))) < 1e-6);
    ch_comparison_free(rows);
    pair_free(&pair);
}

static void special_values(void **state) {
    (void)state;
    static const struct {
        float a, b;
        bool same;
    } cases[] = {
        {NAN, NAN, true},        {INFINITY, INFINITY, true}, {-INFINITY, INFINITY, false}, {NAN, 1, false},
        {1, NAN, false},         {INFINITY, 1, false},       {1, -INFINITY, false},        {0, -0.0F, true},
        {1e30F, 1.1e30F, false}, {NAN, INFINITY, false},     {1e-30F, -1e-30F, true},
    };
    struct pair pair = pair_new();
    real *a = tensors_find(pair.a, "logits")->value, *b = tensors_find(pair.b, "logits")->value;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        a[5] = (real)cases[i].a;
        b[5] = (real)cases[i].b;
        check_first(&pair, cases[i].same ? NULL : "logits", CH_MATCH_DIFFERENT, 5);
    }
    pair_free(&pair);
}

static void shapes_and_names(void **state) {
    (void)state;
    struct pair pair = pair_new();
    struct named_tensor *tensor = tensors_find(pair.b, "enc.0.ff.hidden");
    int64_t rows = tensor->shape[0];
    tensor->shape[0] = tensor->shape[1]; /* as many numbers, turned */
    tensor->shape[1] = rows;
    check_first(&pair, "enc.0.ff.hidden", CH_MATCH_SHAPE, -1);
    tensors_find(pair.b, "enc.0.attn.out")->name[0] = 'x';
    check_first(&pair, "enc.0.attn.out", CH_MATCH_ONLY_A, -1);
    size_t count;
    ch_comparison *all = compare(pair.a, pair.b, &count);
    assert_int_equal(count, ch_tensors_count(pair.a) + 1);
    assert_string_equal(all[count - 1].name, "xnc.0.attn.out"); /* what only b has comes last */
    assert_int_equal(all[count - 1].match, CH_MATCH_ONLY_B);
    ch_comparison_free(all);
    ch_error error;
    check_sentence(ch_compare(pair.a, pair.b, -1, &all, &count, &error), CH_USAGE, &error, "tolerance", "-1", NULL);
    check_sentence(ch_compare(pair.a, pair.b, (double)NAN, &all, &count, &error), CH_USAGE, &error, "tolerance", NULL);
    assert_null(all);
    pair_free(&pair);
}

/* ---- the order of computation --------------------------------------------------------------------- */

/* A file of the dump's tensors the other way round, which states `order` unless that is NULL. */
static ch_tensors *turned(const struct pair *pair, const char *order) {
    const ch_tensors *from = pair->b;
    const char *path = path_in(pair->folder, "turned.safetensors");
    struct st_item *item = calloc(from->count, sizeof *item);
    const struct st_pair metadata = {"order", order};
    ch_error error;
    for (size_t i = 0; i < from->count; i++) {
        const struct named_tensor *t = &from->item[from->count - 1 - i];
        item[i] = (struct st_item){.name = t->name, .rank = t->rank, .shape = t->shape, .data = t->value};
    }
    check_ok(st_write(path, item, from->count, &metadata, order ? 1 : 0, &error), &error);
    free(item);
    return open_tensors(path);
}

static void check_lead(const ch_tensors *a, const ch_tensors *b, const char *name) {
    size_t count;
    ch_comparison *rows = compare(a, b, &count);
    assert_string_equal(first_that_differs(rows, count)->name, name);
    assert_int_equal(count, ch_tensors_count(a));
    ch_comparison_free(rows);
}

/* Whichever file states the order, and on whichever side it stands, the same tensor is the first. */
static void order_is_followed(void **state) {
    (void)state;
    struct pair pair = pair_new();
    assert_true(ch_tensors_ordered(pair.a) && ch_tensors_ordered(pair.b));
    for (size_t i = 0; i < pair.a->count; i++) assert_string_equal(pair.a->item[i].name, pair.b->item[i].name);
    tensors_find(pair.b, "memory")->value[0] += 1;
    tensors_find(pair.b, "logits")->value[0] += 1;
    ch_tensors *silent = turned(&pair, NULL), *partial = turned(&pair, "nothing\nlogits\n\nmemory\nlogits\n");
    assert_false(ch_tensors_ordered(silent));
    assert_string_equal(silent->item[silent->count - 1].name, "src.embedded");
    check_lead(pair.a, silent, "memory");
    check_lead(silent, pair.a, "memory");
    assert_true(ch_tensors_ordered(partial));
    assert_string_equal(partial->item[0].name, "logits");
    assert_string_equal(partial->item[1].name, "memory");
    assert_string_equal(partial->item[2].name, silent->item[0].name); /* what is not named keeps the header's order */
    assert_int_equal(partial->count, silent->count);
    check_lead(partial, pair.a, "logits"); /* both state one: that of the first */
    check_lead(pair.a, partial, "memory");
    pair.a->ordered = false;
    check_lead(silent, pair.a, "logits");     /* neither does */
    ch_tensors *foreign = turned(&pair, "C"); /* a key of somebody else's that names no tensor */
    assert_false(ch_tensors_ordered(foreign));
    ch_tensors_free(silent);
    ch_tensors_free(partial);
    ch_tensors_free(foreign);
    pair_free(&pair);
}

/* If only b states an order, its rows lead: what only a has comes last. */
static void order_of_b_leads(void **state) {
    (void)state;
    struct pair pair = pair_new();
    tensors_find(pair.a, "src.embedded")->name[0] = 'x';
    pair.a->ordered = false;
    size_t count;
    ch_comparison *rows = compare(pair.a, pair.b, &count);
    assert_int_equal(count, pair.b->count + 1);
    assert_string_equal(rows[0].name, "src.embedded");
    assert_int_equal(rows[0].match, CH_MATCH_ONLY_B);
    assert_string_equal(rows[count - 1].name, "xrc.embedded");
    assert_int_equal(rows[count - 1].match, CH_MATCH_ONLY_A);
    ch_comparison_free(rows);
    pair_free(&pair);
}

/* ---- access --------------------------------------------------------------------------------------- */

static void finding_and_reading(void **state) {
    (void)state;
    ch_tensors *tensors = open_tensors(GOLDEN);
    ch_tensor tensor;
    ch_error error;
    check_ok(ch_tensors_find(tensors, "dec.0.cross_attn.weights", &tensor, &error), &error);
    assert_int_equal(tensor.rank, 3);
    assert_int_equal(tensor.shape[0], 2);
    assert_int_equal(tensor.shape[1], 5);
    assert_int_equal(tensor.shape[2], 4);
    size_t i = 0;
    for (ch_tensor other; ch_tensors_get(tensors, i, &other) && strcmp(other.name, tensor.name) != 0;) i++;
    double weights[2 * 5 * 4];
    ch_tensors_values(tensors, i, weights);
    for (int row = 0; row < 10; row++) {
        double sum = 0;
        for (int s = 0; s < 4; s++) sum += weights[row * 4 + s];
        assert_true(fabs(sum - 1) < 1e-6);
    }
    check_sentence(ch_tensors_find(tensors, "dec.0.cros_attn.weights", &tensor, &error), CH_USAGE, &error,
                   "'dec.0.cros_attn.weights'", "did you mean 'dec.0.cross_attn.weights'", NULL);
    assert_false(ch_tensors_get(tensors, ch_tensors_count(tensors), &tensor));
    ch_tensors_free(tensors);
}

/* A dump takes the place of a dump; whatever else is there stays: a model of the same ending would be lost. */
static void only_dumps_are_replaced(void **state) {
    (void)state;
    static const int tokens[] = {1, 2};
    const ch_sequence pair = {tokens, 2};
    char *own = make_temp_folder();
    const char *const kept[] = {path_in(own, "model.safetensors"), path_in(own, "notes.txt")};
    ch_model *model = open_model(CH_TEST_DATA "/lesson_tiny_model.safetensors");
    ch_tensors *dump;
    ch_error error;
    check_ok(ch_model_save(model, kept[0], &error), &error);
    put_bytes(kept[1], "mine", 4);
    check_ok(ch_dump(model, pair, pair, NULL, &dump, &error), &error);
    for (int i = 0; i < 2; i++) {
        size_t before_size, after_size;
        char *before = file_bytes(kept[i], &before_size);
        check_sentence(ch_tensors_save(dump, kept[i], &error), CH_FAILED, &error, kept[i], "is not a dump", NULL);
        char *after = file_bytes(kept[i], &after_size);
        assert_int_equal(before_size, after_size);
        assert_memory_equal(before, after, before_size);
        free(before), free(after);
    }
    check_ok(ch_tensors_save(dump, path_in(own, "d.safetensors"), &error), &error);
    check_ok(ch_tensors_save(dump, path_in(own, "d.safetensors"), &error), &error);
    ch_tensors_free(dump);
    ch_model_free(model);
    remove_folder(own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_dumps_are_replaced),
        cmocka_unit_test(fused_equals_pytorch),
        cmocka_unit_test(explicit_equals_pytorch),
        cmocka_unit_test(backward_changes_nothing),
        cmocka_unit_test(every_site_has_a_gradient),
        cmocka_unit_test(maps_have_gradients),
        cmocka_unit_test(bad_dumps),
        cmocka_unit_test(source_and_target_in_one_row),
        cmocka_unit_test(classes_are_one_number),
        cmocka_unit_test(plants_are_named),
        cmocka_unit_test(worst_element),
        cmocka_unit_test(special_values),
        cmocka_unit_test(shapes_and_names),
        cmocka_unit_test(order_is_followed),
        cmocka_unit_test(order_of_b_leads),
        cmocka_unit_test(finding_and_reading),
    };
    return cmocka_run_group_tests_name("dump", tests, NULL, NULL);
}
