/*
 * Stage shapes: one pass over two sequences of unequal length shows every intermediate; names, order and shapes are
 * compared with what the config predicts. The prediction is made from the tables below, not by the layers.
 */
#include "base/memory.h"
#include "base/text.h"
#include "check/bench.h"
#include "check/check.h"

#include <stdio.h>
#include <string.h>

enum { PAIR = 2, NAME = 2 * PARAM_NAME, SHAPE = 96 };

/* ---- what was seen ---- */

struct site {
    char name[NAME], shape[SHAPE];
    double sum, squares;
    int64_t count;
};

struct sites {
    struct site *item;
    size_t count, capacity;
    bool failed; /* memory ran out */
};

static struct site *add_site(struct sites *sites, const char *layer, const char *site) {
    if (!mem_grow((void **)&sites->item, &sites->capacity, sites->count + 1, sizeof *sites->item)) {
        sites->failed = true;
        return NULL;
    }
    struct site *item = &sites->item[sites->count++];
    *item = (struct site){0};
    snprintf(item->name, NAME, "%s%s%s", layer, *layer ? "." : "", site);
    return item;
}

static void add_values(struct site *site, const real *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        site->sum += (double)x[i];
        site->squares += (double)x[i] * (double)x[i];
    }
    site->count += (int64_t)count;
}

static bool wants(void *context, const char *layer, const char *site) {
    (void)layer, (void)site;
    return !((struct sites *)context)->failed;
}

static void see_rows(void *context, const char *layer, const char *name, const real *x, int ld, int channels,
                     const struct batch *batch) {
    struct site *site = add_site(context, layer, name);
    if (!site) return;
    shape_text(2, (const int64_t[]){batch->rows, channels}, site->shape, SHAPE);
    for (int n = 0; n < batch->rows; n++) add_values(site, x + (size_t)n * (size_t)ld, (size_t)channels);
}

/* One sequence after another, one head after another: "(H, T, S) (H, T, S)", written anew at each head. */
static void see_map(void *context, const char *layer, const char *name, int sequence, int head, const real *x,
                    int queries, int keys) {
    struct sites *sites = context;
    if (sites->failed) return;
    struct site *site = sequence == 0 && head == 0 ? add_site(sites, layer, name) : &sites->item[sites->count - 1];
    if (!site) return;
    size_t kept = sequence == 0 ? 0 : strcspn(site->shape, ")") + 1;
    site->shape[kept] = '\0';
    if (sequence > 0) site->shape[kept++] = ' ';
    shape_text(3, (const int64_t[]){head + 1, queries, keys}, site->shape + kept, SHAPE - kept);
    add_values(site, x, (size_t)queries * (size_t)keys);
}

/* ---- what is predicted ---- */

enum side { SOURCE, TARGET };
enum width { MODEL, HIDDEN, OUTPUTS, QUERY, KEY };

struct forecast {
    const struct config *config;
    const int (*length)[PAIR]; /* [side][sequence] */
    struct sites *sites;
};

static int rows_of(const struct forecast *f, enum side side) {
    return f->length[side][0] + f->length[side][1];
}

static int width_of(const struct config *config, enum width width, const struct attention_shape *shape) {
    struct vocab_plan vocab = config_vocab(config);
    switch (width) {
    case MODEL:
        return config->d_model;
    case HIDDEN:
        return config->d_ff;
    case OUTPUTS:
        return vocab_plan_size(&vocab);
    case QUERY:
        return shape->heads * shape->d_head;
    case KEY:
        return shape->kv_heads * shape->d_head;
    }
    return 0;
}

static void expect_rows(struct forecast *f, const char *layer, const char *name, enum side side, enum width width,
                        const struct attention_shape *shape) {
    struct site *site = add_site(f->sites, layer, name);
    const int64_t dimension[] = {rows_of(f, side), width_of(f->config, width, shape)};
    if (site) shape_text(2, dimension, site->shape, SHAPE);
}

static void expect_map(struct forecast *f, const char *layer, const char *name, enum side queries, enum side keys,
                       int heads) {
    struct site *site = add_site(f->sites, layer, name);
    for (int b = 0; site && b < PAIR; b++) {
        size_t used = strlen(site->shape);
        if (b) site->shape[used++] = ' ';
        shape_text(3, (const int64_t[]){heads, f->length[queries][b], f->length[keys][b]}, site->shape + used,
                   SHAPE - used);
    }
}

/* Feed-forwards that show more than what their activation gives: the two products before it. */
static const char *const gated[] = {"swiglu", "geglu", NULL};
/* Positions that turn queries and keys. */
static const char *const rotary[] = {"rope", "rope-interleaved", NULL};

static bool is_one_of(const char *const *names, const char *name) {
    for (; *names; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

/* The sublayers of a block, in the order of computation; each has a norm. */
enum kind { ATTENTION, FEED_FORWARD };
struct sublayer {
    const char *layer; /* behind "enc.0." or "dec.0." */
    enum kind kind;
    enum side keys;              /* of an attention */
    enum config_attention which; /* attention it is */
    const char *norm;
};

struct half {
    const char *prefix, *norm; /* norm: behind the last block, where norms stand before sublayers */
    enum side side;            /* of its rows */
    int sublayers;
    struct sublayer sublayer[3];
};

static const struct half encoder = {
    .prefix = "enc",
    .norm = "enc_norm",
    .side = SOURCE,
    .sublayers = 2,
    .sublayer = {{.layer = "attn", .kind = ATTENTION, .keys = SOURCE, .which = CONFIG_ENCODER_SELF, .norm = "n1"},
                 {.layer = "ff", .kind = FEED_FORWARD, .norm = "n2"}},
};
static const struct half decoder = {
    .prefix = "dec",
    .norm = "dec_norm",
    .side = TARGET,
    .sublayers = 3,
    .sublayer =
        {{.layer = "self_attn", .kind = ATTENTION, .keys = TARGET, .which = CONFIG_DECODER_SELF, .norm = "n1"},
         {.layer = "cross_attn", .kind = ATTENTION, .keys = SOURCE, .which = CONFIG_DECODER_CROSS, .norm = "n2"},
         {.layer = "ff", .kind = FEED_FORWARD, .norm = "n3"}},
};

/* A decoder that has nothing else to attend to. */
static const struct half causal = {
    .prefix = "dec",
    .norm = "dec_norm",
    .side = TARGET,
    .sublayers = 2,
    .sublayer = {{.layer = "attn", .kind = ATTENTION, .keys = TARGET, .which = CONFIG_DECODER_SELF, .norm = "n1"},
                 {.layer = "ff", .kind = FEED_FORWARD, .norm = "n2"}},
};

static void expect_attention(struct forecast *f, const char *layer, const struct sublayer *sublayer, enum side side,
                             int number) {
    const struct attention_shape *shape = config_shape(f->config, sublayer->which, number);
    const enum side keys = sublayer->keys;
    bool normed = f->config->qk_norm;
    bool rotated = sublayer->which != CONFIG_DECODER_CROSS && is_one_of(rotary, f->config->position->variant.name);
    expect_rows(f, layer, "query", side, QUERY, shape);
    if (normed) expect_rows(f, layer, "query_normed", side, QUERY, shape);
    if (rotated) expect_rows(f, layer, "query_rotated", side, QUERY, shape);
    expect_rows(f, layer, "key", keys, KEY, shape);
    expect_rows(f, layer, "value", keys, KEY, shape);
    if (normed) expect_rows(f, layer, "key_normed", keys, KEY, shape);
    if (rotated) expect_rows(f, layer, "key_rotated", keys, KEY, shape);
    expect_map(f, layer, "scores", side, keys, shape->heads);
    expect_map(f, layer, "weights", side, keys, shape->heads);
    expect_rows(f, layer, "heads", side, QUERY, shape);
    expect_rows(f, layer, "out", side, MODEL, shape);
}

static void expect_feed_forward(struct forecast *f, const char *layer, enum side side) {
    if (is_one_of(gated, f->config->ffn->variant.name)) {
        expect_rows(f, layer, "gate", side, HIDDEN, NULL);
        expect_rows(f, layer, "up", side, HIDDEN, NULL);
    }
    expect_rows(f, layer, "hidden", side, HIDDEN, NULL);
    expect_rows(f, layer, "out", side, MODEL, NULL);
}

static void expect_sublayer(struct forecast *f, const struct half *half, const struct sublayer *sublayer, int number) {
    bool pre = f->config->placement->pre;
    char layer[PARAM_NAME], norm[PARAM_NAME];
    snprintf(layer, sizeof layer, "%s.%d.%s", half->prefix, number, sublayer->layer);
    snprintf(norm, sizeof norm, "%s.%d.%s", half->prefix, number, sublayer->norm);
    if (pre) expect_rows(f, norm, "out", half->side, MODEL, NULL);
    if (sublayer->kind == ATTENTION)
        expect_attention(f, layer, sublayer, half->side, number);
    else
        expect_feed_forward(f, layer, half->side);
    expect_rows(f, norm, pre ? "sum" : "out", half->side, MODEL, NULL);
}

static void expect_half(struct forecast *f, const struct half *half, const char *embedding) {
    expect_rows(f, embedding, "embedded", half->side, MODEL, NULL);
    for (int number = 0; number < f->config->layers; number++)
        for (int i = 0; i < half->sublayers; i++) expect_sublayer(f, half, &half->sublayer[i], number);
    if (f->config->placement->pre) expect_rows(f, half->norm, "out", half->side, MODEL, NULL);
}

static void expect_logits(struct forecast *f, enum side side) {
    if (!f->config->head->classes) {
        expect_rows(f, "", "logits", side, OUTPUTS, NULL);
        return;
    }
    struct site *site = add_site(f->sites, "", "logits");
    if (site) shape_text(2, (const int64_t[]){PAIR, f->config->classes}, site->shape, SHAPE);
}

static void expect_all(struct forecast *f) {
    const struct arch *arch = f->config->arch;
    bool both = arch->encoder && arch->decoder;
    if (arch->encoder) expect_half(f, &encoder, both ? "src" : "tok");
    if (both) expect_rows(f, "", "memory", SOURCE, MODEL, NULL);
    if (arch->decoder) expect_half(f, both ? &decoder : &causal, both ? "tgt" : "tok");
    expect_logits(f, arch->decoder ? TARGET : SOURCE);
}

/* ---- the verdict ---- */

static void list(const struct check *check, const struct sites *seen) {
    int name = 0, shape = 0;
    for (size_t i = 0; i < seen->count; i++) {
        if ((int)strlen(seen->item[i].name) > name) name = (int)strlen(seen->item[i].name);
        if ((int)strlen(seen->item[i].shape) > shape) shape = (int)strlen(seen->item[i].shape);
    }
    for (size_t i = 0; i < seen->count; i++) {
        const struct site *site = &seen->item[i];
        double mean = site->sum / (double)site->count, variance = site->squares / (double)site->count - mean * mean;
        if (fabs(mean) < 5e-5) mean = 0; /* "-0.0000" says nothing */
        check_detail(check, "%-*s  %-*s  mean %8.4f  deviation %8.4f", name, site->name, shape, site->shape,
                     text_number(mean), sqrt(fmax(variance, 0)));
    }
}

static ch_status judge(struct check *check, const struct sites *seen, const struct sites *expected,
                       const int length[PAIR], bool source) {
    for (size_t i = 0; i < seen->count && i < expected->count; i++) {
        const struct site *s = &seen->item[i], *e = &expected->item[i];
        if (strcmp(s->name, e->name) != 0)
            return check_result(check, false, "expected %s where %s was computed", e->name, s->name);
        if (strcmp(s->shape, e->shape) != 0)
            return check_result(check, false, "%s: expected %s, found %s", e->name, e->shape, s->shape);
    }
    if (seen->count < expected->count)
        return check_result(check, false, "%s was not computed", expected->item[seen->count].name);
    if (seen->count > expected->count)
        return check_result(check, false, "%s was computed and is not expected", seen->item[expected->count].name);
    return check_result(check, true,
                        "%zu intermediates of a pass over 2 sequences (%d and %d%s tokens) have the shapes that "
                        "the sizes predict",
                        seen->count, length[0], length[1], source ? " source" : "");
}

static ch_status walk(const struct check *check, const struct ch_examples *examples, struct sites *seen,
                      ch_error *error) {
    struct capture capture = {.wants = wants, .rows = see_rows, .map = see_map, .context = seen};
    struct pass pass = {.core = check->recipe->attention, .dropout = DROPOUT_OFF, .capture = &capture};
    struct bench bench;
    ch_status status = bench_new(&bench, check->model, &pass, examples, false, error);
    if (status != CH_OK) return status;
    bench_logits(&bench);
    bench_free(&bench);
    return seen->failed ? fail_memory(error, "the intermediates") : CH_OK;
}

static ch_status run(struct check *check, ch_error *error) {
    struct ch_examples pair;
    ch_status status = bench_pair(&pair, check->model, check->recipe, error);
    if (status != CH_OK) return status;
    struct sites seen = {0}, expected = {0};
    int length[2][PAIR];
    for (int b = 0; b < PAIR; b++) { /* rows, as the assembly lays them out */
        int source = pair.source_length[b], target = pair.target_length[b];
        struct batch_limits rows = frame_limits(&check->model->config, 1, source, target);
        length[SOURCE][b] = rows.source;
        length[TARGET][b] = rows.target;
    }
    struct forecast forecast = {&check->model->config, (const int(*)[PAIR])length, &expected};
    status = walk(check, &pair, &seen, error);
    if (status == CH_OK) expect_all(&forecast);
    if (status == CH_OK && expected.failed) status = fail_memory(error, "the prediction");
    if (status == CH_OK) {
        list(check, &seen);
        bool source = pair.source_length[0] > 0 && !check->model->vocab.tokens->of_text;
        status = judge(check, &seen, &expected, pair.source_length[0] ? pair.source_length : length[TARGET], source);
    }
    mem_free(seen.item);
    mem_free(expected.item);
    examples_release(&pair);
    return status;
}

const struct stage stage_shapes = {
    .variant = {"shapes", "one pass over two sequences: every intermediate has the shape that the sizes predict"},
    .wants_model = true,
    .run = run,
};
