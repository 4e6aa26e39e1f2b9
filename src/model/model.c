#include "model/model.h"
#include "base/memory.h"
#include "recipe/material.h"

#include <string.h>

ch_status model_build(struct config *config, struct ch_model **out, ch_error *error) {
    *out = NULL;
    struct ch_model *model = mem_new(1, sizeof *model);
    if (!model) {
        config_free(config);
        return fail_memory(error, "a model");
    }
    model->config = *config;
    struct vocab_plan plan = config_vocab(&model->config);
    vocab_place(&model->vocab, &plan); /* sizes are known now, the words take memory */
    ch_status status = assembly_declare(&model->net, &model->params, &model->config, error);
    if (status == CH_OK) status = params_commit(&model->params, error);
    if (status == CH_OK)
        *out = model;
    else
        ch_model_free(model);
    return status;
}

ch_status memory_check(const char *what, uint64_t bytes, ch_error *error) {
    uint64_t physical = mem_physical();
    if (bytes <= physical) return CH_OK;
    const double gib = 1024.0 * 1024 * 1024;
    return fail(error, CH_NO_MEMORY, "%s %s%.1f GiB of memory, and this machine has %.1f GiB", what,
                bytes >= SIZE_MAX / 4 ? "more than " : "", (double)bytes / gib, (double)physical / gib);
}

bool model_continues(const struct ch_model *model) {
    return model->net.head->decodes && !model->net.arch->encoder && model->vocab.tokens->of_text;
}

ch_status model_decodes(const struct ch_model *model, ch_error *error) {
    if (model->net.head->decodes) return CH_OK;
    return fail(error, CH_FAILED,
                "this model is %s: expected one with a decoder, which writes tokens one by one; `predict` "
                "says what this one finds in a source",
                model->net.arch->variant.name);
}

ch_status model_allocate(struct ch_model *model, ch_error *error) {
    struct vocab_plan plan = config_vocab(&model->config);
    ch_status status =
        memory_check("the parameters of this model need", mem_times(model->params.block, sizeof(real)), error);
    if (status == CH_OK) status = vocab_new(&model->vocab, &plan, error);
    if (status == CH_OK) status = params_allocate(&model->params, error);
    if (status == CH_OK) position_fill(&model->net.position, &model->params);
    return status;
}

ch_status model_turn(struct ch_model *model, ch_error *error) {
    if (!params_turn_pays(&model->params)) return CH_OK;
    model->turned = params_new_turned(&model->params);
    if (!model->turned) return fail_memory(error, "the model's weights");
    for (int row = 0; row < model->params.count; row++) params_turn(&model->params, model->turned, row);
    return CH_OK;
}

ch_status model_of_recipe(const ch_recipe *recipe, const struct vocab_plan *vocab, struct ch_model **model,
                          ch_error *error) {
    *model = NULL;
    struct config config;
    ch_status status = config_of_recipe(&config, recipe, vocab, error);
    return status == CH_OK ? model_build(&config, model, error) : status;
}

ch_status model_of_recipe_alone(const ch_recipe *recipe, struct ch_model **model, ch_error *error) {
    *model = NULL;
    struct material material;
    ch_status status = ch_recipe_check(recipe, error);
    if (status == CH_OK) status = material_open(&material, recipe, NULL, error);
    if (status != CH_OK) return status;
    status = model_of_recipe(recipe, &material.vocab, model, error);
    material_free(&material);
    return status;
}

ch_status model_fill(struct ch_model *model, const ch_recipe *recipe, struct torch_rng *torch, ch_error *error) {
    ch_status status = model_allocate(model, error);
    if (status == CH_OK) recipe->init->fill(&model->params, (uint64_t)recipe->seed, torch);
    return status;
}

ch_status ch_model_new(const ch_recipe *recipe, ch_model **model, ch_error *error) {
    ch_status status = model_of_recipe_alone(recipe, model, error);
    if (status != CH_OK) return status;
    struct torch_rng torch;
    torch_rng_seed(&torch, (uint64_t)recipe->seed);
    status = model_fill(*model, recipe, recipe->rng->torch ? &torch : NULL, error);
    if (status == CH_OK) return CH_OK;
    ch_model_free(*model);
    *model = NULL;
    return status;
}

void ch_model_free(ch_model *model) {
    if (!model) return;
    assembly_free(&model->net);
    params_free(&model->params);
    mem_free_aligned(model->turned);
    vocab_free(&model->vocab);
    config_free(&model->config);
    mem_free(model);
}

ch_model_info ch_model_get_info(const ch_model *model) {
    return (ch_model_info){.architecture = model->config.arch->variant.name,
                           .d_model = model->config.d_model,
                           .heads = config_shape_of_all(&model->config)->heads,
                           .d_ff = model->config.d_ff,
                           .layers = model->config.layers,
                           .vocab_size = ch_vocab_size(&model->vocab),
                           .classes = model->config.classes,
                           .max_positions = model->config.max_positions,
                           .longest = config_longest(&model->config),
                           .dropout = model->config.dropout,
                           .parameters = params_count_trained(&model->params),
                           .task = model->config.task};
}

const ch_vocab *ch_model_vocab(const ch_model *model) {
    return &model->vocab;
}

bool ch_model_tensor(const ch_model *model, size_t i, ch_tensor *tensor) {
    if (i >= (size_t)model->params.count) return false;
    const struct param *row = &model->params.row[i];
    *tensor = (ch_tensor){.name = row->name, .rank = row->rank, .trained = param_is_trained(row)};
    memcpy(tensor->shape, row->shape, sizeof row->shape);
#ifndef CH_DOUBLE
    tensor->value = model->params.value + row->offset;
#endif
    return true;
}

/* ---- passes ---- */

size_t workspace_measure_batches(const struct ch_model *model, const struct pass *pass, const struct batch *sources,
                                 const struct batch *targets, bool backward, struct assembly_saved *saved) {
    struct arena arena = arena_measure();
    real none;
    struct pass measuring = *pass;
    measuring.params = &model->params;
    measuring.arena = &arena;
    measuring.grad = backward ? &none : NULL;
    struct assembly_input input = {.sources = sources, .targets = targets};
    real *logits = assembly_forward(&measuring, &model->net, &input, saved);
    if (backward) assembly_backward(&measuring, &model->net, logits, saved);
    return arena.peak;
}

size_t workspace_measure(const struct ch_model *model, const struct pass *pass, const struct batch_limits *limits,
                         bool backward, struct assembly_saved *saved) {
    struct batch sources = batch_sizes(limits->sequences, limits->source);
    struct batch targets = batch_sizes(limits->sequences, limits->target);
    return workspace_measure_batches(model, pass, &sources, &targets, backward, saved);
}

ch_status workspace_new(struct workspace *workspace, const struct ch_model *model, const struct pass *pass,
                        const struct batch_limits *limits, bool backward, ch_error *error) {
    *workspace = (struct workspace){0};
    if (!assembly_saved_new(&workspace->saved, &model->net)) return fail_memory(error, "a pass");
    size_t bytes = workspace_measure(model, pass, limits, backward, &workspace->saved);
    ch_status status = memory_check("the activations need", bytes, error);
    if (status == CH_OK && !arena_reserve(&workspace->arena, bytes)) status = fail_memory(error, "the activations");
    if (status != CH_OK) workspace_free(workspace);
    return status;
}

void workspace_free(struct workspace *workspace) {
    arena_release(&workspace->arena);
    assembly_saved_free(&workspace->saved);
}
