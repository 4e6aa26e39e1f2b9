/* ch_summary: the lesson's table of parameters, walked off the parameter table, and the memory of training and
 * decoding, measured by walks that allocate nothing. */
#include "base/memory.h"
#include "decode/session.h"
#include "train/trainer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_PARTS = 9, MOST_MEMORIES = 12, ARITHMETIC = 192, PART_NAME = 40 };

struct ch_summary {
    ch_summary_part part[MOST_PARTS];
    ch_summary_memory memory[MOST_MEMORIES];
    char name[MOST_PARTS][PART_NAME], arithmetic[MOST_PARTS][ARITHMETIC];
    size_t parts, memories;
    int64_t total, ffn, layers;
};

/* Parameters of all trained rows whose names start with `prefix` and hold `infix`. */
static int64_t count_of(const struct params *params, const char *prefix, const char *infix) {
    int64_t total = 0;
    for (int i = 0; i < params->count; i++) {
        const struct param *row = &params->row[i];
        if (param_is_trained(row) && strncmp(row->name, prefix, strlen(prefix)) == 0 && strstr(row->name, infix))
            total += (int64_t)row->count;
    }
    return total;
}

__attribute__((format(printf, 5, 6))) static void add_part(struct ch_summary *s, const char *name, bool counted,
                                                           int64_t parameters, const char *format, ...) {
    ch_assert(s->parts < MOST_PARTS);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->arithmetic[s->parts], ARITHMETIC, format, arguments);
    va_end(arguments);
    snprintf(s->name[s->parts], PART_NAME, "%s", name);
    s->part[s->parts] = (ch_summary_part){s->name[s->parts], s->arithmetic[s->parts], parameters, counted};
    s->parts++;
}

/* The sum of sizes of the rows whose names start with `prefix`: "64 x 256 + 256", a matrix as inputs times outputs. */
static void write_sum(char out[ARITHMETIC], const struct params *params, const char *prefix) {
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < params->count && used < ARITHMETIC; i++) {
        const struct param *row = &params->row[i];
        if (strncmp(row->name, prefix, strlen(prefix)) != 0) continue;
        if (used) used += (size_t)snprintf(out + used, ARITHMETIC - used, " + ");
        for (int d = row->rank - 1; d >= 0 && used < ARITHMETIC; d--)
            used += (size_t)snprintf(out + used, ARITHMETIC - used, "%lld%s", (long long)row->shape[d], d ? " x " : "");
    }
}

/* Whether every attention has the sizes of the first, so that layers can be counted by one. */
static bool are_alike(const struct config *config) {
    const struct attention_shape *first = &config->shape[0];
    for (int i = 1; i < config_attentions(config); i++) {
        const struct attention_shape *shape = &config->shape[i];
        if (shape->heads * shape->d_head != first->heads * first->d_head ||
            shape->kv_heads * shape->d_head != first->kv_heads * first->d_head ||
            (config->qk_norm && shape->d_head != first->d_head))
            return false;
    }
    return true;
}

/* How the names of a stack's parameters start: of all, of relative positions that its layers share, and of the parts of
 * its first layer. */
struct stack_parts {
    const char *name, *all, *shared, *self, *cross, *ffn; /* cross: NULL where there is none */
};

static void add_layers(struct ch_summary *s, const struct ch_model *model, const struct stack_parts *stack,
                       bool alike) {
    const struct params *params = &model->params;
    int layers = model->config.layers;
    char part[PART_NAME], attentions[ARITHMETIC];
    int64_t all = count_of(params, stack->all, "") - count_of(params, stack->shared, "");
    int64_t self = count_of(params, stack->self, ""), cross = stack->cross ? count_of(params, stack->cross, "") : 0;
    int64_t ffn = count_of(params, stack->ffn, ""), norms = all / layers - self - cross - ffn;
    snprintf(part, sizeof part, "%s layers (x%d)", stack->name, layers);
    if (cross == self)
        snprintf(attentions, sizeof attentions, "2 x %lld", (long long)self);
    else if (cross)
        snprintf(attentions, sizeof attentions, "%lld + %lld", (long long)self, (long long)cross);
    else
        snprintf(attentions, sizeof attentions, "%lld", (long long)self);
    if (alike)
        add_part(s, part, true, all, "%d x (%s + %lld + %lld)", layers, attentions, (long long)ffn, (long long)norms);
    else
        add_part(s, part, true, all, "sum over layers");
    s->layers += all;
}

static void add_embeddings(struct ch_summary *s, const struct ch_model *model) {
    const struct params *params = &model->params;
    int d = model->config.d_model, v = ch_vocab_size(&model->vocab);
    int64_t tables = count_of(params, "", "_emb.weight");
    bool two = tables == 2 * (int64_t)v * d;
    if (two)
        add_part(s, "Two embedding tables", true, tables, "2 x %d x %d", v, d);
    else
        add_part(s, "Embedding table", true, tables, "%d x %d", v, d);
    int64_t positions = count_of(params, "pos.", "");
    if (positions) add_part(s, "Position table", true, positions, "%d x %d", model->config.max_positions, d);
}

/* An attention and a feed-forward of the first layer, which the rows of the layers count by. */
static void add_blocks(struct ch_summary *s, const struct ch_model *model, const struct stack_parts *stack, bool other,
                       bool alike) {
    const struct params *params = &model->params;
    long long d = model->config.d_model;
    char sum[ARITHMETIC];
    int64_t attention = count_of(params, stack->self, "");
    write_sum(sum, params, stack->self);
    if (alike && attention == 4 * (d * d + d))
        add_part(s, "Attention block (each)", false, attention, "4 x (%lld x %lld + %lld)", d, d, d);
    else if (alike)
        add_part(s, other ? "Attention block (self)" : "Attention block (each)", false, attention, "%s", sum);
    write_sum(sum, params, stack->ffn);
    add_part(s, "Feed-forward block (each)", false, count_of(params, stack->ffn, ""), "%s", sum);
}

/* One row for what both stacks may have. */
static void add_pair(struct ch_summary *s, const char *both, const char *one, int64_t first, int64_t second) {
    if (first && second)
        add_part(s, both, true, first + second, "%lld + %lld", (long long)first, (long long)second);
    else if (first + second)
        add_part(s, one, true, first + second, "%lld", (long long)(first + second));
}

static void add_parts(struct ch_summary *s, const struct ch_model *model) {
    static const struct stack_parts encoder = {"Encoder", "enc.", "enc.rel_bias.", "enc.0.attn.", NULL, "enc.0.ff."},
                                    decoder = {"Decoder",           "dec.",     "dec.rel_bias.", "dec.0.self_attn.",
                                               "dec.0.cross_attn.", "dec.0.ff."},
                                    causal = {"Decoder", "dec.", "dec.rel_bias.", "dec.0.attn.", NULL, "dec.0.ff."};
    const struct params *params = &model->params;
    const struct arch *arch = model->net.arch;
    bool alike = are_alike(&model->config), both = arch->encoder && arch->decoder;
    bool other = both && count_of(params, decoder.self, "") != count_of(params, decoder.cross, "");
    char sum[ARITHMETIC], output[PARAM_NAME];
    add_embeddings(s, model);
    add_pair(s, "Relative positions", "Relative positions", count_of(params, encoder.shared, ""),
             count_of(params, causal.shared, ""));
    add_blocks(s, model, arch->encoder ? &encoder : &causal, other, alike);
    if (arch->encoder) add_layers(s, model, &encoder, alike);
    if (arch->decoder) add_layers(s, model, both ? &decoder : &causal, alike);
    add_pair(s, "Norms behind the stacks", "Norm behind the stack", count_of(params, "enc_norm.", ""),
             count_of(params, "dec_norm.", ""));
    snprintf(output, sizeof output, "%s.", model->net.head->parameter);
    write_sum(sum, params, output);
    const char *name = model->config.tie->output ? "Output projection (tied)" : "Output projection";
    add_part(s, name, true, count_of(params, output, ""), "%s", *sum ? sum : "0");
    s->ffn = count_of(params, "", ".ff.");
    s->total = params_count_trained(params);
}

static void add_memory(struct ch_summary *s, const char *mode, const char *part, uint64_t bytes) {
    ch_assert(s->memories < MOST_MEMORIES);
    s->memory[s->memories++] = (ch_summary_memory){mode, part, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes};
}

static void add_memories(struct ch_summary *s, const struct ch_model *model, const struct material *material) {
    const ch_recipe *recipe = material->recipe;
    struct trainer_memory training = trainer_measure(model, material, false);
    add_memory(s, "training", "parameters", training.parameters);
    add_memory(s, "training", "gradients", training.gradients);
    add_memory(s, "training", "optimiser", training.moments);
    add_memory(s, "training", "activations", training.activations);
    add_memory(s, "training", "batches", training.batches);
    add_memory(s, "training", "validation", training.validation);
    add_memory(s, "training", "matrix products", training.products);
    if (!model->net.head->decodes) return;
    uint64_t caches, rest;
    int longest = (int)recipe_longest(recipe), begin = model->net.arch->encoder ? 1 : longest + 1;
    struct session_limits limits = {(int)recipe->batch_size, model->net.arch->encoder ? longest : 0, begin,
                                    begin + longest};
    session_measure(model, &attention_fused, &limits, true, &caches, &rest);
    add_memory(s, "decoding", "parameters", training.parameters);
    add_memory(s, "decoding", "KV cache", caches);
    add_memory(s, "decoding", "activations", rest);
    add_memory(s, "decoding", "matrix products", training.products);
}

static ch_status summarise(const struct ch_model *model, const struct material *material, ch_summary **out,
                           ch_error *error) {
    *out = mem_new(1, sizeof **out);
    if (!*out) return fail_memory(error, "a summary");
    add_parts(*out, model);
    add_memories(*out, model, material);
    return CH_OK;
}

ch_status ch_summary_of_model(const ch_model *model, const ch_recipe *recipe, ch_summary **out, ch_error *error) {
    *out = NULL;
    struct material material;
    struct vocab_plan vocab = config_vocab(&model->config);
    ch_status status = material_open(&material, recipe, &vocab, error);
    if (status != CH_OK) return status;
    status = summarise(model, &material, out, error);
    material_free(&material);
    return status;
}

ch_status ch_summary_new(const ch_recipe *recipe, ch_summary **out, ch_error *error) {
    struct ch_model *model = NULL;
    struct material material;
    *out = NULL;
    ch_status status = ch_recipe_check(recipe, error);
    if (status == CH_OK) status = material_open(&material, recipe, NULL, error);
    if (status != CH_OK) return status;
    status = model_of_recipe(recipe, &material.vocab, &model, error);
    if (status == CH_OK) status = summarise(model, &material, out, error);
    ch_model_free(model);
    material_free(&material);
    return status;
}

void ch_summary_free(ch_summary *summary) {
    mem_free(summary);
}

size_t ch_summary_parts(const ch_summary *summary, const ch_summary_part **parts) {
    *parts = summary->part;
    return summary->parts;
}

size_t ch_summary_memories(const ch_summary *summary, const ch_summary_memory **memories) {
    *memories = summary->memory;
    return summary->memories;
}

int64_t ch_summary_total(const ch_summary *summary) {
    return summary->total;
}

double ch_summary_ffn_share(const ch_summary *summary) {
    return (double)summary->ffn / (double)summary->layers;
}
