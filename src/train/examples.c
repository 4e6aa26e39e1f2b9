/* What training would draw first, which with PyTorch's generator comes after the initial weights. */
#include "base/memory.h"
#include "model/model.h"
#include "recipe/material.h"
#include "train/examples.h"

/* Leaves the generator where the first batch finds it. */
static ch_status skip_weights(const ch_recipe *recipe, struct torch_rng *torch, ch_error *error) {
    struct ch_model *model;
    ch_status status = model_of_recipe_alone(recipe, &model, error);
    if (status == CH_OK) status = model_fill(model, recipe, torch, error);
    ch_model_free(model);
    return status;
}

static ch_status draw(struct ch_examples *examples, const struct material *material, size_t count, ch_error *error) {
    const ch_recipe *recipe = material->recipe;
    struct torch_rng torch;
    torch_rng_seed(&torch, (uint64_t)recipe->seed);
    /* PyTorch draws all lengths of a batch first, so the batch must have the size that training gives it. */
    int batch = recipe->rng->torch && count < (size_t)recipe->batch_size ? (int)recipe->batch_size : (int)count;
    ch_status status = recipe->rng->torch ? skip_weights(recipe, &torch, error) : CH_OK;
    if (status == CH_OK) status = material_examples(material, examples, batch, error);
    if (status != CH_OK) return status;
    material_draw(material, examples, PHILOX_DATA, recipe->rng->torch ? &torch : NULL, 1, batch);
    examples->count = (int)count;
    return CH_OK;
}

ch_status examples_new(const ch_recipe *recipe, const struct vocab_plan *vocab, size_t count, ch_examples **out,
                       ch_error *error) {
    *out = NULL;
    if (count < 1 || count > 1000000) return fail(error, CH_USAGE, "examples: expected 1 to 1000000, found %zu", count);
    ch_status status = recipe_check_sizes(recipe, error);
    struct material material;
    if (status == CH_OK) status = material_open(&material, recipe, vocab, error);
    if (status != CH_OK) return status;
    struct ch_examples *examples = mem_new(1, sizeof *examples);
    status = examples ? draw(examples, &material, count, error) : fail_memory(error, "examples");
    material_free(&material);
    if (status == CH_OK)
        *out = examples;
    else
        ch_examples_free(examples);
    return status;
}

ch_status ch_examples_new(const ch_recipe *recipe, size_t count, ch_examples **examples, ch_error *error) {
    return examples_new(recipe, NULL, count, examples, error);
}

void ch_examples_free(ch_examples *examples) {
    if (!examples) return;
    examples_release(examples);
    mem_free(examples);
}
