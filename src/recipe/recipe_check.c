/* What follows from a recipe's options, and whether they fit each other. */
#include "nn/limits.h"
#include "recipe/recipe.h"

const struct head *recipe_head(const ch_recipe *recipe) {
    if (recipe->arch->decoder) return &head_next_token;
    return recipe_has_text(recipe) ? &head_masked_token : &head_classification;
}

bool recipe_has_text(const ch_recipe *recipe) {
    return *recipe->text_file;
}

int64_t recipe_shortest(const ch_recipe *recipe) {
    return recipe_has_text(recipe) ? recipe->max_positions : recipe->min_len;
}

int64_t recipe_longest(const ch_recipe *recipe) {
    return recipe_has_text(recipe) ? recipe->max_positions : recipe->max_len;
}

struct example_limits recipe_example_size(const ch_recipe *recipe, int64_t length) {
    int tokens = (int)length;
    if (recipe_has_text(recipe)) /* hidden tokens are told of the row they stand in, others of the row before */
        return recipe_head(recipe)->decodes ? (struct example_limits){0, tokens + 1}
                                            : (struct example_limits){tokens, tokens + 1};
    return (struct example_limits){tokens, tokens + 2}; /* a class is one number, and is drawn in as much room */
}

struct example_limits recipe_most_tokens(const ch_recipe *recipe) {
    return recipe_example_size(recipe, recipe_longest(recipe));
}

int recipe_kv_heads(const ch_recipe *recipe) {
    return (int)(recipe->kv_heads ? recipe->kv_heads : recipe->heads);
}

int recipe_d_head(const ch_recipe *recipe) {
    return (int)(recipe->d_head ? recipe->d_head : recipe->d_model / recipe->heads);
}

static ch_status check_heads(const ch_recipe *recipe, ch_error *error) {
    long long d_model = (long long)recipe->d_model, heads = (long long)recipe->heads;
    long long kv_heads = recipe_kv_heads(recipe), d_head = (long long)recipe->d_head;
    if (!d_head && d_model % heads)
        return fail(error, CH_USAGE, "d-model %lld is not divisible by heads %lld: each head gets d-model / heads",
                    d_model, heads);
    struct recipe_source shared = recipe_source(recipe, "kv-heads");
    if (heads % kv_heads)
        return fail(error, CH_USAGE, "kv-heads: expected a number that divides heads %lld, found %lld%s%s", heads,
                    kv_heads, shared.word, shared.preset);
    if (heads * d_head > MOST_HIDDEN)
        return fail(error, CH_USAGE, "d-head: expected heads times d-head to be at most %d, found %lld times %lld",
                    MOST_HIDDEN, heads, d_head);
    return CH_OK;
}

ch_status recipe_check_positions(const ch_recipe *recipe, ch_error *error) {
    if (recipe->position->even_width && recipe->d_model % 2)
        return fail(error, CH_USAGE, "d-model: expected an even number, found %lld: sinusoidal positions come in pairs",
                    (long long)recipe->d_model);
    ch_status status = recipe->position->rotary ? check_heads(recipe, error) : CH_OK;
    return status == CH_OK ? position_check(recipe->position, &recipe->rope, recipe_d_head(recipe), error) : status;
}

static ch_status check_pairs(const ch_recipe *recipe, ch_error *error) {
    if (recipe_has_text(recipe) || !recipe->task->in_pairs) return CH_OK;
    if (recipe->symbols % 2)
        return fail(error, CH_USAGE,
                    "symbols: expected an even number for task %s, an opening and a closing each, "
                    "found %lld",
                    recipe->task->variant.name, (long long)recipe->symbols);
    if (recipe->min_len == recipe->max_len && recipe->min_len % 2)
        return fail(error, CH_USAGE, "min-len and max-len: expected an even length for task %s, found only %lld",
                    recipe->task->variant.name, (long long)recipe->min_len);
    return CH_OK;
}

/* An assembly must be able to do what the task asks for. */
static ch_status check_task(const ch_recipe *recipe, ch_error *error) {
    const char *arch = recipe->arch->variant.name, *task = recipe->task->variant.name;
    struct recipe_source from = recipe_source(recipe, "arch");
    bool decoder = recipe->arch->decoder, pairs = decoder && recipe->arch->encoder;
    bool asks_class = recipe->task->kind == TASK_TO_CLASS;
    if (recipe_has_text(recipe) && pairs)
        return fail(error, CH_USAGE,
                    "text %s has no sources with targets, which arch %s%s%s learns from: take --arch decoder-only, or "
                    "encoder-only for hidden tokens",
                    recipe->text_file, arch, from.word, from.preset);
    if (recipe_has_text(recipe)) return CH_OK;
    if (decoder && asks_class)
        return fail(error, CH_USAGE,
                    "task %s asks for a class, and arch %s%s%s writes tokens: it needs --arch encoder-only", task, arch,
                    from.word, from.preset);
    if (!decoder && !asks_class)
        return fail(error, CH_USAGE,
                    "task %s asks for a sequence, and arch %s%s%s cannot write one: take --arch encoder-decoder or "
                    "decoder-only",
                    task, arch, from.word, from.preset);
    return CH_OK;
}

/* What a text has no use for, and what a task has none for. */
static ch_status check_data(const ch_recipe *recipe, ch_error *error) {
    static const char *const of_task[] = {"min-len", "max-len", NULL};
    static const char *const of_text[] = {"tokens", "framing", "held-out", NULL};
    bool text = recipe_has_text(recipe);
    for (const char *const *option = text ? of_task : of_text; *option; option++)
        if (!recipe_is_default(recipe, *option))
            return fail(error, CH_USAGE, "%s: found %s, which %s has no use for: it is of %s", *option,
                        ch_recipe_get(recipe, *option), text ? "a text" : "a task", text ? "tasks" : "texts");
    return CH_OK;
}

/* Positions that the longest example takes, and what takes them besides a source. */
static ch_status check_positions(const ch_recipe *recipe, ch_error *error) {
    if (recipe_has_text(recipe)) return CH_OK; /* its windows are cut to fit */
    long long length = (long long)recipe->max_len, positions = length + 1;
    const char *why = "one more for <sos>";
    if (!recipe->arch->encoder && !recipe->task->classes) {
        positions = 2 * length + 1;
        why = "for the source, <sos> and the target";
    }
    if (recipe->position->can_extend || positions <= recipe->max_positions) return CH_OK;
    return fail(error, CH_USAGE,
                "max-len %lld needs %lld positions, %s, and max-positions is %lld: raise max-positions or lower "
                "max-len",
                length, positions, why, (long long)recipe->max_positions);
}

/* A decay that nobody asked for is no reason to refuse an optimiser without. */
static ch_status check_decay(const ch_recipe *recipe, ch_error *error) {
    if (recipe->optimizer->decays || recipe->weight_decay == 0 || recipe_is_default(recipe, "weight-decay"))
        return CH_OK;
    return fail(error, CH_USAGE, "weight-decay: optimizer %s has none, found %g; adamw has",
                recipe->optimizer->variant.name, recipe->weight_decay);
}

static ch_status check_rates(const ch_recipe *recipe, ch_error *error) {
    if (recipe->min_lr > recipe->lr)
        return fail(error, CH_USAGE, "min-lr: expected at most lr %g, found %g", recipe->lr, recipe->min_lr);
    if (recipe->min_lr > 0 && !recipe->schedule->falls)
        return fail(error, CH_USAGE, "min-lr: schedule %s does not fall, found %g; cosine does",
                    recipe->schedule->variant.name, recipe->min_lr);
    return CH_OK;
}

static ch_status check_tie(const ch_recipe *recipe, ch_error *error) {
    const char *clash = tie_clash(recipe->tie, recipe->arch, recipe_head(recipe));
    if (!clash) return CH_OK;
    struct recipe_source from = recipe_source(recipe, "tie");
    bool text = recipe_has_text(recipe);
    return fail(error, CH_USAGE, "tie %s%s%s: %s, with %s %s and arch %s", recipe->tie->variant.name, from.word,
                from.preset, clash, text ? "text" : "task", text ? recipe->text_file : recipe->task->variant.name,
                recipe->arch->variant.name);
}

static ch_status check_bands(const ch_recipe *recipe, ch_error *error) {
    const struct bands *bands = &recipe->bands;
    int64_t last = bands->count ? bands->band[bands->count - 1].step : 0;
    if (last <= recipe->steps) return CH_OK;
    return fail(error, CH_USAGE, "bands: expected steps of at most %lld, the run's last, found %lld",
                (long long)recipe->steps, (long long)last);
}

ch_status ch_recipe_check(const ch_recipe *recipe, ch_error *error) {
    ch_status status = recipe_check_sizes(recipe, error);
    if (status == CH_OK) status = check_task(recipe, error);
    if (status == CH_OK) status = check_tie(recipe, error);
    return status == CH_OK ? check_bands(recipe, error) : status;
}

ch_status recipe_check_sizes(const ch_recipe *recipe, ch_error *error) {
    ch_status status = check_heads(recipe, error);
    if (status == CH_OK) status = recipe_check_positions(recipe, error);
    if (status == CH_OK) status = soft_cap_check(recipe->soft_cap, error);
    if (status == CH_OK) status = check_data(recipe, error);
    if (status == CH_OK) status = check_pairs(recipe, error);
    if (status == CH_OK) status = check_decay(recipe, error);
    if (status == CH_OK) status = check_rates(recipe, error);
    if (status != CH_OK) return status;
    if (!recipe_has_text(recipe) && recipe->min_len > recipe->max_len)
        return fail(error, CH_USAGE, "min-len %lld is more than max-len %lld", (long long)recipe->min_len,
                    (long long)recipe->max_len);
    return check_positions(recipe, error);
}
