/* ch_dump: one pass over one example, with someone who keeps everything that is shown. */
#include "base/memory.h"
#include "data/examples.h"
#include "inspect/tensors.h"
#include "model/reading.h"

#include <stdio.h>
#include <string.h>

enum { SITE_NAME = 2 * PARAM_NAME };

/* One walk of one example, and what it left. */
struct walk {
    const struct ch_model *model;
    struct ch_tensors *tensors;
    struct workspace workspace;
    struct frame frame;
    real *grad;  /* NULL: no backward */
    bool failed; /* memory ran out for a tensor */
};

/* ---- what the walk shows ---- */

static bool wants_all(void *context, const char *layer, const char *site) {
    (void)context, (void)layer, (void)site;
    return true;
}

static void site_name(char *out, const char *prefix, const char *layer, const char *site) {
    snprintf(out, SITE_NAME, "%s%s%s%s", prefix, layer, *layer ? "." : "", site);
}

static void keep(struct walk *walk, const char *name, const real *x, int ld, int channels, int rows) {
    real *to = tensors_add(walk->tensors, name, 2, (const int64_t[]){rows, channels});
    if (!to) {
        walk->failed = true;
        return;
    }
    for (int n = 0; n < rows; n++)
        memcpy(to + (size_t)n * (size_t)channels, x + (size_t)n * (size_t)ld, (size_t)channels * sizeof *to);
}

static void keep_rows(void *context, const char *layer, const char *site, const real *x, int ld, int channels,
                      const struct batch *batch) {
    char name[SITE_NAME];
    site_name(name, "", layer, site);
    keep(context, name, x, ld, channels, batch->rows);
}

static void keep_gradient(void *context, const char *layer, const char *site, const real *dx, int ld, int channels,
                          int rows) {
    char name[SITE_NAME];
    site_name(name, "grad.", layer, site);
    keep(context, name, dx, ld, channels, rows);
}

static int heads_of_block(const struct block *block, const char *layer) {
    if (strcmp(block->self.name, layer) == 0) return block->self.shape.heads;
    return block->kind->cross && strcmp(block->cross.name, layer) == 0 ? block->cross.shape.heads : 0;
}

/* The heads of an attention. A dump's models may have a number of them for each attention of its own. */
static int heads_of(const struct ch_model *model, const char *layer) {
    const struct stack *stack[] = {&model->net.encoder, &model->net.decoder};
    for (size_t i = 0; i < sizeof stack / sizeof *stack; i++)
        for (int l = 0; l < stack[i]->layers; l++) {
            int heads = heads_of_block(&stack[i]->block[l], layer);
            if (heads) return heads;
        }
    return 0;
}

/* One head after another fills the tensor (H, T, S). */
static void keep_head(struct walk *walk, const char *name, int heads, int head, const real *x, int queries, int keys) {
    if (head == 0 && !tensors_add(walk->tensors, name, 3, (const int64_t[]){heads, queries, keys})) walk->failed = true;
    struct named_tensor *to = tensors_find(walk->tensors, name);
    size_t size = (size_t)queries * (size_t)keys;
    if (to) memcpy(to->value + (size_t)head * size, x, size * sizeof *x);
}

static void keep_map(void *context, const char *layer, const char *site, int sequence, int head, const real *x,
                     int queries, int keys) {
    (void)sequence;
    struct walk *walk = context;
    char name[SITE_NAME];
    site_name(name, "", layer, site);
    keep_head(walk, name, heads_of(walk->model, layer), head, x, queries, keys);
}

static void keep_map_gradient(void *context, const char *layer, const char *site, int sequence, int head,
                              const real *dx, int queries, int keys) {
    (void)sequence;
    struct walk *walk = context;
    char name[SITE_NAME];
    site_name(name, "grad.", layer, site);
    keep_head(walk, name, heads_of(walk->model, layer), head, dx, queries, keys);
}

/* ---- the walk ---- */

/* A text, as training frames it; with a target the tokens before it are only read. */
static ch_status fill_text(struct walk *walk, ch_sequence source, ch_sequence target, ch_error *error) {
    const struct ch_vocab *vocab = &walk->model->vocab;
    struct reading text;
    bool whole = target.length == 0;
    ch_status status = reading_new(&text, vocab, source, whole, target.length + 1, error);
    if (status != CH_OK) return status;
    size_t before = whole ? 0 : text.length - 1;
    if (!whole) {
        memcpy(text.token + text.length, target.tokens, target.length * sizeof *text.token);
        text.length += target.length;
        if (vocab->eos >= 0) text.token[text.length++] = vocab->eos;
    }
    frame_add(&walk->frame, (ch_sequence){text.token, before}, (ch_sequence){text.token + before, text.length - before},
              0);
    reading_free(&text);
    return CH_OK;
}

/* Hidden tokens: labels where <mask> stands, or everywhere if it stands nowhere. */
static ch_status fill_hidden(struct walk *walk, ch_sequence source, ch_sequence target, ch_error *error) {
    const struct ch_vocab *vocab = &walk->model->vocab;
    struct reading text, labels = {0};
    bool any = false;
    ch_status status = reading_new(&text, vocab, source, true, 0, error);
    if (status == CH_OK) status = reading_new(&labels, vocab, target, true, 0, error);
    for (size_t i = 0; i < source.length; i++) any = any || source.tokens[i] == vocab->mask;
    for (size_t i = 0; i < labels.length; i++) {
        bool inside = i >= text.begin && i < text.begin + source.length;
        if (!inside || (any && text.token[i] != vocab->mask)) labels.token[i] = -1;
    }
    if (status == CH_OK)
        frame_add(&walk->frame, (ch_sequence){text.token, text.length}, (ch_sequence){labels.token, labels.length}, 0);
    reading_free(&text);
    reading_free(&labels);
    return status;
}

/* What the decoder reads and predicts: SOS, the target, EOS. Of a classifier the target is the class, as it is. */
static ch_status fill_frame(struct walk *walk, ch_sequence source, ch_sequence target, ch_error *error) {
    const struct ch_vocab *vocab = &walk->model->vocab;
    if (walk->model->net.head->classes) {
        frame_add(&walk->frame, source, target, 0);
        return CH_OK;
    }
    if (!walk->model->config.arch->decoder) return fill_hidden(walk, source, target, error);
    if (model_continues(walk->model)) return fill_text(walk, source, target, error);
    int *whole = mem_new(target.length + 2, sizeof *whole);
    if (!whole) return fail_memory(error, "a dump");
    whole[0] = ch_vocab_sos(vocab);
    if (target.length) memcpy(whole + 1, target.tokens, target.length * sizeof *whole);
    whole[target.length + 1] = ch_vocab_eos(vocab);
    frame_add(&walk->frame, source, (ch_sequence){whole, target.length + 2}, 0);
    mem_free(whole);
    return CH_OK;
}

static ch_status keep_parameter_gradients(struct walk *walk, ch_error *error) {
    const struct params *params = &walk->model->params;
    for (int i = 0; i < params->count; i++) {
        const struct param *row = &params->row[i];
        char name[SITE_NAME];
        if (!param_is_trained(row)) continue;
        snprintf(name, sizeof name, "grad.%s", row->name);
        real *to = tensors_add(walk->tensors, name, row->rank, row->shape);
        if (!to) return fail_memory(error, "a dump");
        memcpy(to, walk->grad + row->offset, row->count * sizeof *to);
    }
    return CH_OK;
}

static ch_status keep_loss(struct walk *walk, struct loss loss, ch_error *error) {
    real *to = tensors_add(walk->tensors, "loss", 1, (const int64_t[]){1});
    if (!to) return fail_memory(error, "a dump");
    *to = RC(loss.sum / (double)loss.count);
    return CH_OK;
}

static ch_status take(struct walk *walk, struct pass *pass, ch_error *error) {
    const struct ch_model *model = walk->model;
    const struct frame *frame = &walk->frame;
    struct assembly_input input = frame_input(frame);
    pass->params = &model->params;
    pass->arena = &walk->workspace.arena;
    real *logits = assembly_forward(pass, &model->net, &input, &walk->workspace.saved);
    struct loss loss =
        cross_entropy(logits, logits, frame->label, -1, RC(1.0 / frame->counted), frame->labels, model->net.outputs);
    ch_status status = keep_loss(walk, loss, error);
    if (status != CH_OK || !pass->grad) return status;
    assembly_backward(pass, &model->net, logits, &walk->workspace.saved);
    return keep_parameter_gradients(walk, error);
}

static ch_status prepare(struct walk *walk, const struct pass *pass, ch_sequence source, ch_sequence target,
                         ch_error *error) {
    const struct config *config = &walk->model->config;
    const int added = 3; /* the most special tokens around a source and a target */
    struct batch_limits limits = frame_limits(config, 1, (int)source.length + added, (int)target.length + added);
    ch_status status = workspace_new(&walk->workspace, walk->model, pass, &limits, walk->grad != NULL, error);
    if (status != CH_OK) return status;
    return frame_new(&walk->frame, config, &limits) ? fill_frame(walk, source, target, error)
                                                    : fail_memory(error, "a dump");
}

static ch_status walk_once(struct walk *walk, const ch_dump_options *options, ch_sequence source, ch_sequence target,
                           ch_error *error) {
    struct capture capture = {.wants = wants_all,
                              .rows = keep_rows,
                              .map = keep_map,
                              .gradient = keep_gradient,
                              .map_gradient = keep_map_gradient,
                              .context = walk};
    struct pass pass = {.core = options->explicit_core ? &attention_explicit : &attention_fused,
                        .dropout = DROPOUT_OFF,
                        .capture = &capture};
    if (options->backward && !(walk->grad = params_new_block(&walk->model->params)))
        return fail_memory(error, "the gradients");
    ch_status status = prepare(walk, &pass, source, target, error);
    pass.grad = walk->grad;
    if (status == CH_OK) status = take(walk, &pass, error);
    if (status == CH_OK && walk->failed) status = fail_memory(error, "a dump");
    return status;
}

static void walk_free(struct walk *walk) {
    workspace_free(&walk->workspace);
    frame_free(&walk->frame);
    mem_free_aligned(walk->grad);
}

/* Of a model without a decoder. */
static ch_status check_labels(const ch_model *model, ch_sequence source, ch_sequence target, ch_error *error) {
    int classes = model->config.classes;
    if (!model->net.head->classes) {
        if (target.length == source.length) return vocab_check_source(&model->vocab, target, "target", error);
        return fail(error, CH_FAILED, "target: expected a token for each of the source's %zu, found %zu", source.length,
                    target.length);
    }
    if (target.length != 1)
        return fail(error, CH_FAILED, "target: expected one number, a class from 0 to %d, found %zu", classes - 1,
                    target.length);
    if (target.tokens[0] >= 0 && target.tokens[0] < classes) return CH_OK;
    return fail(error, CH_FAILED, "target: expected a class from 0 to %d, found %d", classes - 1, target.tokens[0]);
}

/* Whether there are positions for all rows. <sos> takes one, too: of the target or, of a classifier, of the source. */
static ch_status check_lengths(const ch_model *model, ch_sequence source, ch_sequence target, ch_error *error) {
    const struct arch *arch = model->config.arch;
    size_t positions = (size_t)config_longest(&model->config), most = positions - model->config.head->classes;
    if (source.length < 1 || source.length > most)
        return fail(error, CH_FAILED, "source: expected 1 to %zu tokens, found %zu", most, source.length);
    if (!arch->decoder) return CH_OK;
    if (target.length + 1 > positions)
        return fail(error, CH_FAILED, "target: expected 0 to %zu tokens, found %zu", positions - 1, target.length);
    if (model_continues(model) && source.length + target.length < 2)
        return fail(error, CH_FAILED,
                    "source: expected at least 2 tokens of a text, of which the second is predicted, "
                    "found %zu",
                    source.length);
    if (arch->encoder || source.length + 1 + target.length <= positions) return CH_OK;
    return fail(error, CH_FAILED, "source and target: expected at most %zu tokens together, found %zu", positions - 1,
                source.length + target.length);
}

static ch_status check(const ch_model *model, ch_sequence source, ch_sequence target, ch_error *error) {
    bool decoder = model->config.arch->decoder;
    ch_status status = check_lengths(model, source, target, error);
    if (status == CH_OK)
        status =
            decoder ? vocab_check_source(&model->vocab, source, "source", error) : reading_check(model, source, error);
    if (status != CH_OK) return status;
    if (decoder && !model_continues(model) && (model->vocab.sos < 0 || model->vocab.eos < 0))
        return fail(error, CH_FAILED,
                    "a dump of source and target needs <sos> and <eos>, which this model's vocabulary lacks");
    return decoder ? vocab_check_source(&model->vocab, target, "target", error)
                   : check_labels(model, source, target, error);
}

ch_status ch_dump(const ch_model *model, ch_sequence source, ch_sequence target, const ch_dump_options *options,
                  ch_tensors **tensors, ch_error *error) {
    static const ch_dump_options defaults = {0};
    *tensors = NULL;
    ch_status status = check(model, source, target, error);
    if (status != CH_OK) return status;
    struct walk walk = {.model = model, .tensors = mem_new(1, sizeof *walk.tensors)};
    if (walk.tensors) walk.tensors->ordered = true;
    status = walk.tensors ? walk_once(&walk, options ? options : &defaults, source, target, error)
                          : fail_memory(error, "a dump");
    walk_free(&walk);
    if (status == CH_OK)
        *tensors = walk.tensors;
    else
        ch_tensors_free(walk.tensors);
    return status;
}
