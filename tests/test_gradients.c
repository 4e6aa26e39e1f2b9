/*
 * Every layer and every row of the families norm, position, feed-forward and attention core, the blocks and the
 * whole encoder-decoder, against central differences; in double alone. A new row is checked without a line here.
 */
#include "gradient.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(real) == sizeof(double), "central differences see nothing in float");

enum { WIDTH = 6, HIDDEN = 10 };

static const int lengths[] = {4, 1, 3}, memory_lengths[] = {2, 5, 3};
enum { SEQUENCES = 3, ROWS = 8, MEMORY_ROWS = 10 };

static struct batch_buffer batch, memory_batch;

static int make_batches(void **state) {
    (void)state;
    batch = packed_batch(lengths, SEQUENCES, 0, 7);
    memory_batch = packed_batch(memory_lengths, SEQUENCES, 0, 7);
    return 0;
}

static int free_batches(void **state) {
    (void)state;
    batch_buffer_free(&batch);
    batch_buffer_free(&memory_batch);
    return 0;
}

static void keep(struct subject *s, int input, const real *dx) {
    memcpy(s->input[input].dx, dx, s->input[input].count * sizeof *dx);
}

static struct subject *subject_new(void) {
    struct subject *s = malloc(sizeof *s);
    assert_non_null(s);
    return s;
}

/* Checks, reports, frees. */
static void finish(struct subject *s) {
    subject_check(s);
    subject_end(s);
    free(s);
}

/* ---- linear ---- */

static double linear_loss(struct subject *s) {
    const struct linear *linear = s->layer;
    const real *y = linear_forward(&s->pass, linear, s->input[0].x, ROWS);
    return subject_weigh(s, y, (size_t)ROWS * (size_t)linear->out);
}

static void linear_back(struct subject *s) {
    keep(s, 0, linear_backward(&s->pass, s->layer, s->weight, s->input[0].x, ROWS));
}

static void linear_layers(void **state) {
    (void)state;
    static const char *const kind[] = {"with bias", "without bias", "three joined"};
    for (int i = 0; i < 3; i++) {
        struct subject *s = subject_new();
        struct linear linear, behind;
        subject_start(s, 0, "linear, %s", kind[i]);
        subject_input(s, "x", ROWS * WIDTH);
        linear_declare(&linear, &s->own, "l", "a", WIDTH, 5, i != 1, NULL, NULL);
        if (i == 2) {
            linear_declare(&behind, &s->own, "l", "other", 3, 2, true, NULL, NULL); /* lies elsewhere */
            linear_declare(&behind, &s->own, "l", "b", WIDTH, 2, true, &linear, NULL);
            linear_declare(&behind, &s->own, "l", "c", WIDTH, 4, true, &linear, NULL);
            linear = linear_joined(&linear, 5 + 2 + 4);
        }
        subject_commit(s);
        s->layer = &linear;
        s->loss = linear_loss;
        s->backward = linear_back;
        finish(s);
    }
}

/* ---- dropout ---- */

static double dropout_loss(struct subject *s) {
    real *y = dropout_layer_forward(&s->pass, 5, s->input[0].x, s->batch, WIDTH, s->saved);
    return subject_weigh(s, y, ROWS * WIDTH);
}

static void dropout_back(struct subject *s) {
    keep(s, 0, dropout_layer_backward(&s->pass, s->weight, ROWS, s->saved));
}

static void dropout_layers(void **state) {
    (void)state;
    for (int on = 0; on < 2; on++) {
        struct subject *s = subject_new();
        struct dropout_saved saved;
        subject_start(s, on ? 0.4 : 0, "dropout %s", on ? "on" : "off");
        subject_input(s, "x", ROWS * WIDTH);
        subject_commit(s);
        s->batch = &batch.view;
        s->saved = &saved;
        s->loss = dropout_loss;
        s->backward = dropout_back;
        finish(s);
    }
}

/* ---- family norm ---- */

static double norm_loss(struct subject *s) {
    return subject_weigh(s, norm_forward(&s->pass, s->layer, s->input[0].x, ROWS, s->saved), ROWS * WIDTH);
}

static void norm_back(struct subject *s) {
    keep(s, 0, norm_backward(&s->pass, s->layer, s->weight, ROWS, s->saved));
}

static void norms(void **state) {
    (void)state;
    for (size_t i = 0; norm_row(i); i++) {
        struct subject *s = subject_new();
        struct norm norm;
        struct norm_saved saved;
        subject_start(s, 0, "norm %s", norm_row(i)->name);
        subject_input(s, "x", ROWS * WIDTH);
        norm_declare(&norm, (const struct norm_variant *)norm_row(i), &s->own, "n", WIDTH, true, NULL);
        subject_commit(s);
        s->layer = &norm;
        s->saved = &saved;
        s->loss = norm_loss;
        s->backward = norm_back;
        finish(s);
    }
}

/* ---- family ffn ---- */

static double ffn_loss(struct subject *s) {
    const struct ffn *ffn = s->layer;
    return subject_weigh(s, ffn->variant->forward(&s->pass, ffn, s->input[0].x, s->batch, s->saved), ROWS * WIDTH);
}

static void ffn_back(struct subject *s) {
    const struct ffn *ffn = s->layer;
    keep(s, 0, ffn->variant->backward(&s->pass, ffn, s->weight, ROWS, s->saved));
}

static void feed_forwards(void **state) {
    (void)state;
    for (size_t i = 0; ffn_row(i); i++)
        for (int dropout = 0; dropout < 2; dropout++) {
            struct subject *s = subject_new();
            struct ffn ffn;
            struct ffn_saved saved;
            subject_start(s, dropout ? 0.3 : 0, "feed-forward %s, dropout %s", ffn_row(i)->name,
                          dropout ? "on" : "off");
            subject_input(s, "x", ROWS * WIDTH);
            ffn_declare(&ffn, (const struct ffn_variant *)ffn_row(i), &s->own, "ff", WIDTH, HIDDEN, true, NULL);
            subject_commit(s);
            s->batch = &batch.view;
            s->layer = &ffn;
            s->saved = &saved;
            s->loss = ffn_loss;
            s->backward = ffn_back;
            finish(s);
        }
}

/* ---- embedding, with every row of family position ---- */

/* Of rotary positions: heads of four numbers, and a table that ends before the longest sequence does. */
static const struct position_sizes sizes = {
    .width = WIDTH, .max_positions = 9, .d_head = 4, .rope = {.base = 20, .factor = 1, .scaling = &rope_scaling_none}};

enum { VOCAB = 5, PAD = 2 };
static const int tokens[ROWS] = {0, 3, PAD, 3, 1, 4, PAD, 0};

static double embedding_loss(struct subject *s) {
    return subject_weigh(s, embedding_layer_forward(&s->pass, s->layer, tokens, s->batch, s->saved), ROWS * WIDTH);
}

static void embedding_back(struct subject *s) {
    real *dy = pass_take(&s->pass, ROWS, WIDTH);
    memcpy(dy, s->weight, ROWS * WIDTH * sizeof *dy);
    embedding_layer_backward(&s->pass, s->layer, dy, ROWS, s->saved);
}

static void embeddings(void **state) {
    (void)state;
    for (size_t i = 0; position_row(i); i++)
        for (int pad = -1; pad <= PAD; pad += PAD + 1) {
            struct subject *s = subject_new();
            struct position position;
            struct embedding embedding;
            struct embedding_saved saved;
            subject_start(s, 0.3, "embedding, position %s, %s", position_row(i)->name,
                          pad < 0 ? "nothing frozen" : "a frozen row");
            embedding_declare(&embedding, &s->own, "src", "src_emb", VOCAB, WIDTH, pad, &position, NULL);
            position_declare(&position, (const struct position_variant *)position_row(i), &s->own, &sizes, NULL);
            subject_commit(s);
            position_fill(&position, &s->own);
            s->batch = &batch.view;
            s->layer = &embedding;
            s->saved = &saved;
            s->loss = embedding_loss;
            s->backward = embedding_back;
            finish(s);
        }
}

/* ---- cross-entropy ---- */

static const int labels[ROWS] = {1, -1, 4, 0, -1, 2, 3, 1};

static struct loss entropy(struct subject *s, real *dlogits) {
    return cross_entropy(dlogits, s->input[0].x, labels, -1, RC(0.7), ROWS, VOCAB);
}

static double entropy_loss(struct subject *s) {
    return 0.7 * entropy(s, pass_take(&s->pass, ROWS, VOCAB)).sum;
}

static void entropy_back(struct subject *s) {
    entropy(s, s->input[0].dx);
}

static void cross_entropies(void **state) {
    (void)state;
    struct subject *s = subject_new();
    subject_start(s, 0, "cross-entropy");
    subject_input(s, "logits", ROWS * VOCAB);
    subject_commit(s);
    s->loss = entropy_loss;
    s->backward = entropy_back;
    finish(s);
}

/* ---- family attention core, as kernels ---- */

/* What scores can do. */
struct core_variant {
    const char *name;
    int window;
    real soft_cap;
    enum score_bias bias;
    bool bidirectional; /* of buckets */
};

static const struct core_variant core_variants[] = {
    {"plain", 0, 0, SCORE_BIAS_NONE, false},
    {"window", 2, 0, SCORE_BIAS_NONE, false},
    {"soft cap", 0, RC(0.5), SCORE_BIAS_NONE, false},
    {"ALiBi", 0, 0, SCORE_BIAS_ALIBI, false},
    {"buckets", 0, 0, SCORE_BIAS_BUCKETS, false},
    {"buckets of both sides", 0, 0, SCORE_BIAS_BUCKETS, true},
    {"window, soft cap, ALiBi", 3, 2, SCORE_BIAS_ALIBI, false},
    {"window, soft cap, buckets", 3, 2, SCORE_BIAS_BUCKETS, true},
};
enum { CORE_VARIANTS = sizeof core_variants / sizeof *core_variants };

struct core_case {
    struct scores scores;
    int query_channels, kv_channels;
    real *saved;
};

static double core_loss(struct subject *s) {
    struct core_case *c = s->layer;
    const real *q = s->input[0].x, *k = s->input[1].x, *v = s->input[2].x;
    c->saved = pass_take(&s->pass, s->pass.core->saved_size(&c->scores), 1);
    real *out = s->saved, *scratch = pass_take(&s->pass, s->pass.core->scratch_size(&c->scores), 1);
    s->pass.core->forward(out, c->saved, scratch, &c->scores, q, c->query_channels, k, c->kv_channels, v,
                          c->kv_channels);
    return subject_weigh(s, out, s->input[0].count);
}

static void core_back(struct subject *s) {
    struct core_case *c = s->layer;
    real *scratch = pass_take(&s->pass, s->pass.core->scratch_size(&c->scores), 1);
    c->scores.buckets.dtable = s->inputs > 3 ? s->input[3].dx : NULL;
    for (size_t i = 0; s->inputs > 3 && i < s->input[3].count; i++) s->input[3].dx[i] = 3; /* it is added to */
    s->pass.core->backward(s->input[0].dx, s->input[1].dx, s->input[2].dx, scratch, &c->scores, s->weight, s->saved,
                           c->saved, s->input[0].x, c->query_channels, s->input[1].x, c->kv_channels, s->input[2].x,
                           c->kv_channels);
    for (size_t i = 0; s->inputs > 3 && i < s->input[3].count; i++) s->input[3].dx[i] -= 3;
}

/* Six buckets reach across the four rows of the longest sequence. */
static void set_variant(struct core_case *c, struct subject *s, const struct core_variant *variant, const real *slope) {
    enum { ORIGINAL_HEADS = 10, BUCKETS = 6 };
    c->scores.window = variant->window;
    c->scores.soft_cap = variant->soft_cap;
    c->scores.bias = variant->bias;
    c->scores.slope = slope;
    if (variant->bias != SCORE_BIAS_BUCKETS) return;
    c->scores.buckets = (struct score_buckets){.table = subject_input(s, "table", (size_t)BUCKETS * ORIGINAL_HEADS),
                                               .heads = ORIGINAL_HEADS,
                                               .count = BUCKETS,
                                               .max_distance = 4,
                                               .bidirectional = variant->bidirectional};
}

/* Three key/value heads for six, some edges cut and query 0 of sequence 1 left with nothing. */
static void check_core(const struct attention_core *core, bool causal, double rate,
                       const struct core_variant *variant) {
    static const int kv_of_head[] = {0, 0, 1, 1, 2, 0}, original_head[] = {0, 1, 3, 4, 6, 9};
    static const struct knockout cuts[] = {{0, 1, 3, 0, 1}, {1, 0, 1, 0, 9}};
    enum { HEADS = 6, KV_HEADS = 3, D_HEAD = 3 };
    struct subject *s = subject_new();
    const struct batch *keys = causal ? &batch.view : &memory_batch.view;
    struct core_case c = {.query_channels = HEADS * D_HEAD, .kv_channels = KV_HEADS * D_HEAD};
    subject_start(s, rate, "core %s, %s, %s, dropout %.1f", core->variant.name, variant->name,
                  causal ? "causal" : "cross", rate);
    s->pass.core = core;
    c.scores = (struct scores){.query = &batch.view,
                               .key = keys,
                               .heads = HEADS,
                               .kv_heads = KV_HEADS,
                               .d_head = D_HEAD,
                               .kv_of_head = kv_of_head,
                               .original_head = original_head,
                               .scale = RC(0.6),
                               .causal = causal,
                               .knockouts = cuts,
                               .knockout_count = 2};
    c.scores.dropout = pass_dropout_weights(&s->pass, 3, &batch.view, keys, HEADS);
    subject_input(s, "q", ROWS * HEADS * D_HEAD);
    subject_input(s, "k", (size_t)keys->rows * KV_HEADS * D_HEAD);
    subject_input(s, "v", (size_t)keys->rows * KV_HEADS * D_HEAD);
    real slope[10];
    alibi_slopes(slope, 10);
    set_variant(&c, s, variant, slope);
    subject_commit(s);
    real out[ROWS * HEADS * D_HEAD];
    s->layer = &c;
    s->saved = out;
    s->loss = core_loss;
    s->backward = core_back;
    finish(s);
}

static void attention_cores(void **state) {
    (void)state;
    for (size_t i = 0; attention_core_row(i); i++)
        for (int kind = 0; kind < 4 * CORE_VARIANTS; kind++)
            check_core((const struct attention_core *)attention_core_row(i), kind & 1, kind & 2 ? 0.4 : 0,
                       &core_variants[kind / 4]);
}

/* ---- attention as a layer ---- */

struct attention_case {
    struct attention attention;
    struct attention_saved saved;
};

static double attention_loss(struct subject *s) {
    struct attention_case *c = s->layer;
    bool cross = c->attention.cross;
    const real *y = attention_forward(&s->pass, &c->attention, s->input[0].x, s->batch, cross ? s->input[1].x : NULL,
                                      cross ? s->memory : NULL, NULL, &c->saved);
    return subject_weigh(s, y, ROWS * WIDTH);
}

static void attention_back(struct subject *s) {
    struct attention_case *c = s->layer;
    real *dmemory = NULL;
    keep(s, 0, attention_backward(&s->pass, &c->attention, s->weight, &dmemory, &c->saved));
    if (c->attention.cross) keep(s, 1, dmemory);
}

/* One attention; of its parts those that these tests vary are given. Three numbers a head, four where they are turned
 * in pairs: together with four heads, not WIDTH. */
static void check_attention(size_t core, const struct attention_parts *given, int kv_heads, bool gated,
                            const char *what) {
    enum { HEADS = 4 };
    bool cross = given->cross;
    const real value[HEADS] = {RC(0.5), 0, 1, -2};
    const struct gate gate = {.layer = "a.attn", .value = value};
    const struct knockout edges = {.sequence = -1, .query_from = 1, .query_to = 3, .key_from = 0, .key_to = 2};
    const struct cut cut = {.layer = "a.attn", .knockouts = &edges, .count = 1};
    struct subject *s = subject_new();
    struct attention_case c;
    struct attention_shape shape;
    struct attention_parts parts = *given;
    struct position position;
    assert_true(attention_shape_uniform(&shape, HEADS, kv_heads, given->position->variant->rotary ? 4 : 3));
    subject_start(s, 0.3, "%s attention, core %s, %s, %d of %d heads%s",
                  cross          ? "cross"
                  : parts.causal ? "causal self"
                                 : "self",
                  attention_core_row(core)->name, what, kv_heads, HEADS, gated ? ", gated and cut" : "");
    s->pass.core = (const struct attention_core *)attention_core_row(core);
    s->pass.gates = &gate;
    s->pass.gate_count = gated;
    s->pass.cuts = &cut;
    s->pass.cut_count = gated;
    subject_input(s, "x", ROWS * WIDTH);
    if (cross) subject_input(s, "memory", MEMORY_ROWS * WIDTH);
    struct position_sizes short_table = sizes;
    short_table.max_positions = 2;
    position_declare(&position, given->position->variant, &s->own, &short_table, NULL);
    parts.shape = &shape;
    parts.position = &position;
    position_declare_bias(&position, POSITION_OF_STACK, &s->own, "a", HEADS, &parts.bias_table, NULL);
    attention_declare(&c.attention, &s->own, "a.attn", &parts, NULL);
    subject_commit(s);
    position_fill(&position, &s->own);
    s->batch = &batch.view;
    s->memory = &memory_batch.view;
    s->layer = &c;
    s->loss = attention_loss;
    s->backward = attention_back;
    finish(s);
    attention_shape_free(&shape);
}

static void attentions(void **state) {
    (void)state;
    struct position none = {.variant = &position_none};
    for (size_t core = 0; attention_core_row(core); core++)
        for (int cross = 0; cross < 2; cross++) {
            struct attention_parts parts = {
                .width = WIDTH, .causal = !cross, .cross = cross, .biased = true, .position = &none, .bias_table = -1};
            check_attention(core, &parts, 4, false, "plain");
            check_attention(core, &parts, 2, true, "plain");
        }
}

/* Every row of family position, in the decoder's self-attention and the encoder's. */
static void attentions_with_positions(void **state) {
    (void)state;
    for (size_t i = 0; position_row(i); i++)
        for (size_t kind = 0; kind < 4; kind++) {
            struct position position = {.variant = (const struct position_variant *)position_row(i)};
            struct attention_parts parts = {
                .width = WIDTH, .causal = kind & 1, .biased = true, .position = &position, .bias_table = -1};
            check_attention(kind / 2, &parts, 2, false, position_row(i)->name);
        }
}

/* Normalised heads by every row of family norm, with and without biases; a window and a soft cap. */
static void attentions_with_settings(void **state) {
    (void)state;
    for (size_t i = 0; norm_row(i); i++)
        for (int kind = 0; kind < 8; kind++) {
            struct position position = {.variant = &position_rope_interleaved};
            struct attention_parts parts = {.width = WIDTH,
                                            .causal = kind & 1,
                                            .cross = kind & 2,
                                            .biased = kind & 4,
                                            .window = 2,
                                            .soft_cap = 0.7,
                                            .head_norm = (const struct norm_variant *)norm_row(i),
                                            .norm_biased = kind & 4,
                                            .position = &position,
                                            .bias_table = -1};
            for (size_t core = 0; attention_core_row(core); core++)
                check_attention(core, &parts, 2, true, norm_row(i)->name);
        }
}

/* ---- blocks ---- */

struct block_case {
    struct block block;
    struct block_saved saved;
};

static double block_loss(struct subject *s) {
    struct block_case *c = s->layer;
    struct memory memory = {0};
    if (c->block.kind->cross) memory = (struct memory){s->input[1].x, s->memory};
    const real *y = block_forward(&s->pass, &c->block, s->input[0].x, s->batch, memory, NULL, NULL, &c->saved);
    return subject_weigh(s, y, ROWS * WIDTH);
}

/* The gradient of the memory is added to what is there, since every block of a decoder adds its own. */
static void block_back(struct subject *s) {
    struct block_case *c = s->layer;
    bool cross = c->block.kind->cross;
    real *dy = pass_take(&s->pass, ROWS, WIDTH), *dmemory = cross ? s->input[1].dx : NULL;
    memcpy(dy, s->weight, ROWS * WIDTH * sizeof *dy);
    if (cross) fill_value(dmemory, s->input[1].count, 3);
    keep(s, 0, block_backward(&s->pass, &c->block, dy, dmemory, &c->saved));
    for (size_t i = 0; cross && i < s->input[1].count; i++) dmemory[i] -= 3;
}

static void check_block(const struct block_kind *kind, const struct norm_variant *norm,
                        const struct norm_placement *placement, const struct ffn_variant *ffn,
                        const struct bias_variant *bias, double rate) {
    struct subject *s = subject_new();
    struct block_case c;
    struct attention_shape self, cross;
    assert_true(attention_shape_uniform(&self, 2, 1, 3) && attention_shape_uniform(&cross, 3, 3, 2));
    subject_start(s, rate, "%s block, %s, %s, %s, biases %s, dropout %.1f", kind->cross ? "decoder" : "encoder",
                  norm->variant.name, placement->variant.name, ffn->variant.name, bias->variant.name, rate);
    subject_input(s, "x", ROWS * WIDTH);
    if (kind->cross) subject_input(s, "memory", MEMORY_ROWS * WIDTH);
    struct block_parts parts = {WIDTH, HIDDEN, &self, &cross, norm, placement, ffn, .bias = bias, .bias_table = -1};
    block_declare(&c.block, &s->own, "b", kind, &parts, NULL);
    subject_commit(s);
    s->batch = &batch.view;
    s->memory = &memory_batch.view;
    s->layer = &c;
    s->loss = block_loss;
    s->backward = block_back;
    finish(s);
    attention_shape_free(&self);
    attention_shape_free(&cross);
}

static void blocks(void **state) {
    (void)state;
    for (size_t n = 0; norm_row(n); n++)
        for (size_t p = 0; norm_placement_row(p); p++)
            for (size_t f = 0; ffn_row(f); f++)
                for (int kind = 0; kind < 4; kind++)
                    check_block(kind & 1 ? &block_decoder : &block_encoder, (const struct norm_variant *)norm_row(n),
                                (const struct norm_placement *)norm_placement_row(p),
                                (const struct ffn_variant *)ffn_row(f), &bias_all, kind & 2 ? 0.3 : 0);
    for (size_t n = 0; norm_row(n); n++)
        for (size_t b = 1; bias_row(b); b++)
            check_block(&block_decoder, (const struct norm_variant *)norm_row(n), &norm_post, &ffn_swiglu,
                        (const struct bias_variant *)bias_row(b), 0.3);
}

/* ---- the whole encoder-decoder ---- */

struct model_case {
    struct ch_model *model;
    int source[MEMORY_ROWS], target[ROWS];
    struct assembly_saved saved;
    real *logits;
};

static const int sources[MEMORY_ROWS] = {0, 1, PAD, 1, 0, 3, 4, 1, PAD, 0};

/* An embedding passes the padding row over. Where the output has the same row, its gradient is that of the output's
 * part alone, so that no padding may come in. */
static void fill_tokens(struct model_case *c, bool padding) {
    for (int i = 0; i < MEMORY_ROWS; i++) c->source[i] = sources[i] == PAD && !padding ? 1 : sources[i];
    for (int i = 0; i < ROWS; i++) c->target[i] = tokens[i] == PAD && !padding ? 1 : tokens[i];
}

static struct loss model_entropy(struct subject *s) {
    struct model_case *c = s->layer;
    int vocab = ch_vocab_size(&c->model->vocab);
    return cross_entropy(c->logits, c->logits, labels, -1, RC(0.2), ROWS, vocab);
}

static double model_loss(struct subject *s) {
    struct model_case *c = s->layer;
    struct assembly_input input = {c->source, s->memory, c->target, s->batch};
    c->logits = assembly_forward(&s->pass, &c->model->net, &input, &c->saved);
    return 0.2 * model_entropy(s).sum; /* logits now hold their gradient */
}

static void model_back(struct subject *s) {
    struct model_case *c = s->layer;
    assembly_backward(&s->pass, &c->model->net, c->logits, &c->saved);
}

struct model_parts {
    const struct norm_placement *placement;
    const struct position_variant *position;
    const struct tie *tie;
    const struct embedding_scale *scale;
};
static const struct model_parts lessons = {&norm_post, &position_sinusoidal, &tie_none, &embedding_scale_sqrt};

/* Two layers of each; the attentions have shapes of their own, one of them heads that share keys and values. */
static struct ch_model *small_model(const struct model_parts *parts) {
    struct config config = {.arch = &arch_encoder_decoder,
                            .head = &head_next_token,
                            .norm = &norm_layernorm,
                            .placement = parts->placement,
                            .position = parts->position,
                            .ffn = &ffn_relu,
                            .d_model = WIDTH,
                            .d_ff = HIDDEN,
                            .layers = 2,
                            .max_positions = 9,
                            .symbols = PAD};
    config_fill_absent(&config);
    config.tie = parts->tie;
    config.embedding_scale = parts->scale;
    assert_int_equal(config_shapes(&config, 2, 2, parts->position->rotary ? 4 : 3, NULL), CH_OK);
    struct attention_shape *shared = config_shape(&config, CONFIG_DECODER_SELF, 1);
    attention_shape_free(shared);
    assert_true(attention_shape_uniform(shared, 4, 2, parts->position->rotary ? 4 : 2));
    struct ch_model *model;
    assert_int_equal(model_build(&config, &model, NULL), CH_OK);
    assert_int_equal(model_allocate(model, NULL), CH_OK);
    return model;
}

static void check_model(const struct attention_core *core, const struct model_parts *parts) {
    struct subject *s = subject_new();
    struct model_case c = {.model = small_model(parts)};
    subject_start(s, 0.2, "encoder-decoder, core %s, norms %s, position %s, tied %s, scale %s", core->variant.name,
                  parts->placement->variant.name, parts->position->variant.name, parts->tie->variant.name,
                  parts->scale->variant.name);
    s->pass.core = core;
    fill_tokens(&c, !parts->tie->output);
    assert_true(assembly_saved_new(&c.saved, &c.model->net));
    subject_borrow(s, &c.model->params);
    s->batch = &batch.view;
    s->memory = &memory_batch.view;
    s->layer = &c;
    s->loss = model_loss;
    s->backward = model_back;
    for (uint64_t direction = 1; direction <= 5; direction++) subject_check_direction(s, direction);
    finish(s);
    assembly_saved_free(&c.saved);
    ch_model_free(c.model);
}

static void whole_model(void **state) {
    (void)state;
    for (size_t core = 0; attention_core_row(core); core++)
        for (size_t p = 0; norm_placement_row(p); p++) {
            struct model_parts parts = lessons;
            parts.placement = (const struct norm_placement *)norm_placement_row(p);
            check_model((const struct attention_core *)attention_core_row(core), &parts);
        }
    /* one that is learned gets its gradient from the source and from the target */
    for (size_t i = 1; position_row(i); i++) {
        struct model_parts parts = lessons;
        parts.position = (const struct position_variant *)position_row(i);
        check_model(&attention_fused, &parts);
    }
}

/* One matrix gets its gradient from all its uses. */
static void tied_models(void **state) {
    (void)state;
    for (size_t i = 0; tie_row(i); i++)
        for (size_t scale = 0; embedding_scale_row(scale); scale++) {
            struct model_parts parts = lessons;
            parts.tie = (const struct tie *)tie_row(i);
            parts.scale = (const struct embedding_scale *)embedding_scale_row(scale);
            check_model(&attention_fused, &parts);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_layers),
        cmocka_unit_test(dropout_layers),
        cmocka_unit_test(norms),
        cmocka_unit_test(feed_forwards),
        cmocka_unit_test(embeddings),
        cmocka_unit_test(cross_entropies),
        cmocka_unit_test(attention_cores),
        cmocka_unit_test(attentions),
        cmocka_unit_test(blocks),
        cmocka_unit_test(whole_model),
        cmocka_unit_test(tied_models),
        cmocka_unit_test(attentions_with_positions),
        cmocka_unit_test(attentions_with_settings),
    };
    return cmocka_run_group_tests(tests, make_batches, free_batches);
}
