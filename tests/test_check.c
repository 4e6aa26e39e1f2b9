/*
 * Stage checks: each passes on what is right, and fails, naming the fault, on a model, a recipe or a task that
 * something is wrong with. The faults are planted in the structs behind the handles, where no option could put them.
 */
#include "models.h"

#include <stdlib.h>
#include <string.h>

#define TINY CH_TEST_DATA "/lesson_tiny_model.safetensors"

static const char *const stages[] = {"data", "shapes", "initial-loss", "masking", "overfit", "generalisation"};

/* ---- somebody who watches ------------------------------------------------------------------------- */

struct seen {
    char line[256][512];
    int lines, details, steps, stop_at; /* stop_at: the step that answers false; 0: none */
    double first_loss, last_loss;
};

static void see_line(const char *line, bool detail, void *context) {
    struct seen *seen = context;
    assert_true(seen->lines < 256);
    assert_null(strchr(line, '\n'));
    strcpy(seen->line[seen->lines++], line);
    seen->details += detail;
}

static bool see_step(const ch_step *step, void *context) {
    struct seen *seen = context;
    if (!seen->steps++) seen->first_loss = step->loss;
    seen->last_loss = step->loss;
    assert_true(step->step <= step->steps);
    return step->step != seen->stop_at;
}

static struct seen *watched;
static ch_check_result result;

static ch_check_result check(const ch_recipe *recipe, const ch_model *model, const char *stage) {
    memset(watched, 0, sizeof *watched);
    ch_check_watch watch = {see_line, see_step, watched};
    ch_error error;
    check_ok(ch_check_run(recipe, model, stage, &watch, &result, &error), &error);
    assert_true(strlen(result.figure) > 0);
    assert_null(strchr(result.figure, '\n'));
    return result;
}

static void passes(const ch_recipe *recipe, const ch_model *model, const char *stage, const char *part) {
    if (!check(recipe, model, stage).passed) fail_msg("%s failed: %s", stage, result.figure);
    if (!strstr(result.figure, part)) fail_msg("%s: expected '%s' in: %s", stage, part, result.figure);
}

static void fails(const ch_recipe *recipe, const ch_model *model, const char *stage, const char *part) {
    if (check(recipe, model, stage).passed) fail_msg("%s passed: %s", stage, result.figure);
    if (!strstr(result.figure, part)) fail_msg("%s: expected '%s' in: %s", stage, part, result.figure);
}

static bool said(const char *part) {
    for (int i = 0; i < watched->lines; i++)
        if (strstr(watched->line[i], part)) return true;
    return false;
}

/* Whether a line holds a number so long that nobody reads it. */
static bool digits_in_a_row(const char *line, size_t count) {
    for (; *line; line++)
        if (strspn(line, "0123456789") >= count) return true;
    return false;
}

/* Small enough to be trained in a test. */
static ch_recipe *small_recipe(void) {
    return recipe_of("d-model", "32", "heads", "2", "layers", "1", "d-ff", "64", "threads", "1", NULL);
}

/* ---- the table ------------------------------------------------------------------------------------ */

static void table(void **state) {
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(ch_check_stage(i)->name, stages[i]);
        assert_true(strlen(ch_check_stage(i)->help) > 0);
    }
    static const bool needs_task[] = {true, false, true, false, false, true};
    for (size_t i = 0; i < 6; i++) assert_int_equal(ch_check_needs_task(stages[i]), needs_task[i]);
    assert_false(ch_check_needs_task("masks"));
    assert_null(ch_check_stage(6));
    assert_null(ch_check_stage(600));
    ch_recipe *recipe = small_recipe();
    ch_error error;
    check_sentence(ch_check_run(recipe, NULL, "masks", NULL, &result, &error), CH_USAGE, &error,
                   "unknown stage 'masks'", "data, shapes, initial-loss, masking, overfit, generalisation", NULL);
    check_sentence(ch_check_run(recipe, NULL, "overfitt", NULL, &result, &error), CH_USAGE, &error,
                   "did you mean 'overfit'", NULL);
    set_option(recipe, "heads", "5");
    check_sentence(ch_check_run(recipe, NULL, "masking", NULL, &result, &error), CH_USAGE, &error, "heads 5", NULL);
    ch_recipe_free(recipe);
    recipe = recipe_of("max-len", "30", "max-positions", "40", NULL);
    ch_model *tiny = open_model(TINY);
    check_sentence(ch_check_run(recipe, tiny, "masking", NULL, &result, &error), CH_USAGE, &error, "max-len 30", "24",
                   NULL);
    ch_model_free(tiny);
    ch_recipe_free(recipe);
}

/* ---- data ----------------------------------------------------------------------------------------- */

static void forward_answer(int *answer, const int *source, int length) {
    for (int i = 0; i < length; i++) answer[i] = source[i];
}

static void padded_answer(int *answer, const int *source, int length) {
    for (int i = 0; i < length; i++) answer[i] = i == 2 ? 10 : source[length - 1 - i];
}

static void data(void **state) {
    (void)state;
    ch_recipe *recipe = small_recipe();
    passes(recipe, NULL, "data", "64 examples: targets are <sos>, the source backwards, <eos>");
    assert_int_equal(watched->lines, 5);
    for (int i = 0; i < 5; i++) assert_non_null(strstr(watched->line[i], "   target <sos> "));
    set_option(recipe, "rng", "torch");
    passes(recipe, NULL, "data", "64 examples");
    set_option(recipe, "batch-size", "3");
    set_option(recipe, "task", "copy");
    passes(recipe, NULL, "data", "3 examples: targets are <sos>, the source as it is, <eos>");
    assert_int_equal(watched->lines, 3);
    /* The lesson's own mistake, "your data generation forgot the flip", and padding within an answer. */
    struct task wrong = task_reverse;
    recipe->task = &wrong;
    wrong.answer = forward_answer;
    fails(recipe, NULL, "data", "the answer is the source backwards");
    wrong.answer = padded_answer;
    fails(recipe, NULL, "data", "answer token 2 is 10, expected ");
    ch_recipe_free(recipe);
}

/* ---- shapes --------------------------------------------------------------------------------------- */

static void shapes(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("d-model", "12", "heads", "3", "layers", "3", "d-ff", "20", NULL);
    passes(recipe, NULL, "shapes", "94 intermediates"); /* 4, and 11 and 19 of each layer */
    assert_int_equal(watched->details, 94);
    assert_true(said("enc.2.attn.scores") && said("(3, 10, 10) (3, 5, 5)") && said("(3, 11, 10) (3, 6, 5)"));
    set_option(recipe, "attention", "explicit");
    set_option(recipe, "min-len", "1");
    set_option(recipe, "max-len", "1");
    passes(recipe, NULL, "shapes", "94 intermediates");
    ch_model *model = model_of(recipe);
    model->config.d_ff = 21;
    fails(recipe, model, "shapes", "enc.0.ff.hidden: expected (2, 21), found (2, 20)");
    model->config.d_ff = 20;
    config_shape(&model->config, CONFIG_DECODER_CROSS, 1)->heads = 2; /* the layer has a copy of its own */
    fails(recipe, model, "shapes", "dec.1.cross_attn.query: expected (4, 8), found (4, 12)");
    config_shape(&model->config, CONFIG_DECODER_CROSS, 1)->heads = 3;
    model->net.encoder.layers = 2;
    fails(recipe, model, "shapes", "expected enc.2.attn.query where memory was computed");
    model->net.encoder.layers = 3;
    passes(recipe, model, "shapes", "94 intermediates");
    ch_model_free(model);
    set_option(recipe, "norm-placement", "pre"); /* a sum for each of 15 sublayers, a norm behind each stack */
    passes(recipe, NULL, "shapes", "111 intermediates");
    ch_recipe_free(recipe);
}

/* Of one layer in each stack: an encoder-decoder has 2 stacks, 3 attentions and 5 sublayers. */
static int sites_of(const ch_recipe *recipe) {
    bool both = recipe->arch->encoder && recipe->arch->decoder;
    int stacks = both ? 2 : 1, attentions = both ? 3 : 1, sublayers = both ? 5 : 2;
    int sites = both ? 4 + 11 + 19 : 2 + 11;
    if (strstr(ch_recipe_get(recipe, "ffn"), "glu")) sites += 2 * stacks;
    if (recipe->placement->pre) sites += sublayers + stacks; /* a sum for each, a norm behind the last */
    if (recipe->qk_norm) sites += 2 * attentions;
    if (recipe->position->rotary) sites += 2 * stacks;
    return sites;
}

/* What is looked at is what each part shows. */
static void every_part(void **state) {
    (void)state;
    static const char *const quick[] = {"shapes", "initial-loss", "masking"};
    bool more = true;
    for (size_t i = 0; more; i++) {
        ch_recipe *recipe = small_recipe();
        more = set_part(recipe, i);
        for (size_t stage = 0; more && stage < 3; stage++) {
            passes(recipe, NULL, quick[stage], "");
            if (stage == 0) assert_int_equal(watched->details, sites_of(recipe));
        }
        ch_recipe_free(recipe);
    }
}

static int always_balanced(int *source, int length, int symbols, struct draws *draws, int *scratch) {
    task_brackets.draw(source, length, symbols, draws, scratch);
    return 1;
}

/* Single stacks: all stages have their say, whatever it is; lengths of brackets are even. */
static void single_stacks(void **state) {
    (void)state;
    ch_recipe *recipe = small_recipe();
    set_options(recipe, "preset=bert init=xavier task=brackets symbols=4 min-len=1 max-len=3");
    ch_model *model = model_of(recipe);
    passes(recipe, model, "data", "targets are classes, 1 where they are balanced, else 0; no <pad> in any");
    assert_true(said("-> balanced") && said("-> not balanced"));
    struct task wrong = task_brackets;
    recipe->task = &wrong;
    wrong.draw = always_balanced;
    fails(recipe, NULL, "data", "the class is 1, expected 0: it is 1 where they are balanced");
    recipe->task = &task_brackets;
    passes(recipe, model, "shapes", "13 intermediates");
    passes(recipe, model, "initial-loss", "within ");
    assert_true(said("ln V = 0.6931 for V = 2"));
    passes(recipe, model, "masking", "there is no future to hide");
    passes(recipe, model, "overfit", "");
    fails(recipe, model, "generalisation", "expected 495 or more");
    ch_model_free(model);
    set_options(recipe, "preset=gpt2 task=reverse");
    model = model_of(recipe);
    passes(recipe, model, "data", "");
    passes(recipe, model, "shapes", "16 intermediates");
    passes(recipe, model, "masking", "each of 7 decoder tokens");
    passes(recipe, model, "overfit", "");
    fails(recipe, model, "generalisation", "expected 495 or more");
    ch_model_free(model);
    ch_recipe_free(recipe);
}

/* ---- initial loss --------------------------------------------------------------------------------- */

static void scale(struct ch_model *model, const char *name, double factor) {
    const struct param *row = params_find(&model->params, name);
    assert_non_null(row);
    for (size_t i = 0; i < row->count; i++) model->params.value[row->offset + i] *= RC(factor);
}

/* The initialisation of a recipe, but with an output layer that is far too wide. */
static void wide_fill(struct params *params, uint64_t seed, struct torch_rng *torch) {
    init_xavier.fill(params, seed, torch);
    const struct param *row = params_find(params, "generator.weight");
    for (size_t i = 0; i < row->count; i++) params->value[row->offset + i] *= RC(8);
}

static void wide_embedding_fill(struct params *params, uint64_t seed, struct torch_rng *torch) {
    init_xavier.fill(params, seed, torch);
    const struct param *row = params_find(params, "src_emb.weight");
    for (size_t i = 0; i < row->count; i++) params->value[row->offset + i] *= RC(8);
}

/* Weights that know the answers before anything is learned, as if they saw the labels. */
static void trained_fill(struct params *params, uint64_t seed, struct torch_rng *torch) {
    (void)seed, (void)torch;
    ch_model *tiny = open_model(TINY);
    assert_int_equal(tiny->params.block, params->block);
    memcpy(params->value, tiny->params.value, params->trained * sizeof *params->value);
    ch_model_free(tiny);
}

static void initial_loss(void **state) {
    (void)state;
    static const char *const seeds[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    ch_recipe *recipe = small_recipe();
    for (size_t i = 0; i < 10; i++) {
        set_option(recipe, "seed", seeds[i]);
        set_option(recipe, "rng", i % 2 ? "torch" : "philox");
        passes(recipe, NULL, "initial-loss", "expected 1.");
    }
    assert_true(said("ln V = 2.5649") && said("2.5 to 3.5") && said("sigma^2/2"));
    set_option(recipe, "d-model", "128");
    set_option(recipe, "layers", "3");
    passes(recipe, NULL, "initial-loss", "loss ");
    struct init wrong = init_xavier;
    recipe->init = &wrong;
    wrong.fill = wide_fill;
    fails(recipe, NULL, "initial-loss", "is the output layer or the initialisation wrong?");
    set_option(recipe, "d-model", "32");
    set_option(recipe, "layers", "1");
    set_option(recipe, "max-positions", "24");
    set_option(recipe, "max-len", "8");
    wrong.fill = trained_fill;
    fails(recipe, NULL, "initial-loss", "are labels leaking into the input?");
    ch_recipe_free(recipe);
}

/* An output that is the embedding knows the token just read, so fresh weights pay more; far too wide is still that. */
static void initial_loss_of_tied_models(void **state) {
    (void)state;
    static const char *const widths[] = {"64", "256"};
    for (size_t i = 1; tie_row(i); i++)
        for (size_t w = 0; w < 2; w++) {
            ch_recipe *recipe = recipe_of("norm-placement", "pre", "tie", tie_row(i)->name, "d-model", widths[w], NULL);
            passes(recipe, NULL, "initial-loss", "expected ");
            ch_recipe_free(recipe);
        }
    ch_recipe *recipe = recipe_of("norm-placement", "pre", "tie", "all", NULL);
    struct init wrong = init_xavier;
    recipe->init = &wrong;
    wrong.fill = wide_embedding_fill;
    fails(recipe, NULL, "initial-loss", "is the output layer or the initialisation wrong?");
    ch_recipe_free(recipe);
}

/* A trained model is not called wrong for being good; one that is worse than nothing is. */
static void initial_loss_of_models(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("max-len", "8", NULL), *fresh = small_recipe();
    ch_model *tiny = open_model(TINY), *untrained = model_of(fresh);
    passes(recipe, tiny, "initial-loss", "this model is trained");
    passes(fresh, untrained, "initial-loss", "no better than fresh weights");
    scale(tiny, "generator.weight", -1);
    fails(recipe, tiny, "initial-loss", "worse than fresh weights");
    scale(tiny, "generator.weight", 1e30);
    fails(recipe, tiny, "initial-loss", "worse than fresh weights");
    assert_non_null(strstr(result.figure, "e+3")); /* not thirty digits */
    assert_false(digits_in_a_row(result.figure, 9));
    for (int i = 0; i < watched->lines; i++) assert_false(digits_in_a_row(watched->line[i], 9));
    tiny->params.value[params_find(&tiny->params, "enc.0.n1.weight")->offset] = RC(NAN);
    fails(recipe, tiny, "initial-loss", "the loss is not finite");
    ch_model_free(tiny);
    ch_model_free(untrained);
    ch_recipe_free(recipe);
    ch_recipe_free(fresh);
}

/* ---- masking -------------------------------------------------------------------------------------- */

static void masking(void **state) {
    (void)state;
    static const char *const cores[] = {"fused", "explicit"};
    ch_recipe *recipe = small_recipe();
    ch_model *tiny = open_model(TINY);
    for (size_t i = 0; i < 2; i++) {
        set_option(recipe, "attention", cores[i]);
        passes(recipe, NULL, "masking", "each of 11 decoder tokens");
        passes(recipe, tiny, "masking", "exactly 0");
        assert_int_equal(watched->details, 11);
        tiny->net.decoder.block[0].self.causal = false;
        fails(recipe, tiny, "masking", "the future leaks: changing token 1");
        tiny->net.decoder.block[0].self.causal = true;
    }
    passes(recipe, tiny, "masking", "exactly 0");
    scale(tiny, "tgt_emb.weight", 0); /* every token alike */
    fails(recipe, tiny, "masking", "a leak could not be seen");
    tiny->params.value[params_find(&tiny->params, "generator.bias")->offset] = RC(NAN);
    fails(recipe, tiny, "masking", "the logits at decoder token 0 are not finite");
    ch_model_free(tiny);
    ch_recipe_free(recipe);
}

/* ---- overfit -------------------------------------------------------------------------------------- */

/* Nothing but zeros: no gradient reaches anything but the output layer. */
static void zero_fill(struct params *params, uint64_t seed, struct torch_rng *torch) {
    (void)seed, (void)torch;
    memset(params->value, 0, params->trained * sizeof *params->value);
}

static void overfit(void **state) {
    (void)state;
    ch_recipe *recipe = small_recipe();
    passes(recipe, NULL, "overfit", "8 sequences, 400 steps at 0.001 without dropout: loss 0.00");
    assert_int_equal(watched->steps, 800);
    assert_true(said("dropout must be off: at 0.1 the same 400 steps stall at a loss of 0."));
    ch_model *tiny = open_model(TINY);
    passes(recipe, tiny, "overfit", "loss 0.00"); /* fresh weights of its sizes */
    assert_true(watched->first_loss > 1);
    struct init wrong = init_xavier;
    wrong.fill = zero_fill;
    recipe->init = &wrong;
    fails(recipe, NULL, "overfit", "wired wrong");
    ch_model_free(tiny);
    ch_recipe_free(recipe);
}

static void overfit_stops(void **state) {
    (void)state;
    ch_recipe *recipe = small_recipe();
    ch_check_watch watch = {NULL, see_step, watched};
    ch_error error;
    memset(watched, 0, sizeof *watched);
    watched->stop_at = 3;
    check_sentence(ch_check_run(recipe, NULL, "overfit", &watch, &result, &error), CH_STOPPED, &error, "step 3", NULL);
    assert_int_equal(watched->steps, 3);
    assert_int_equal(ch_check_run(recipe, NULL, "generalisation", &watch, &result, NULL), CH_STOPPED);
    assert_int_equal(watched->steps, 6);
    ch_recipe_free(recipe);
}

/* ---- generalisation ------------------------------------------------------------------------------- */

static void generalisation(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("max-len", "8", NULL);
    ch_model *tiny = open_model(TINY);
    passes(recipe, tiny, "generalisation", "exact 500/500, expected 495 or more; cross-attention reversing");
    assert_int_equal(watched->steps, 0);
    set_option(recipe, "task", "copy");
    fails(recipe, tiny, "generalisation", "cross-attention reversing, expected copying");
    ch_model_free(tiny);
    ch_recipe_free(recipe);
}

/* Without a model it trains by the recipe; a recipe that does not train fails, and says at which step. */
static void generalisation_trains(void **state) {
    (void)state;
    ch_recipe *recipe = small_recipe();
    set_option(recipe, "steps", "30");
    fails(recipe, NULL, "generalisation", "expected 495 or more");
    assert_int_equal(watched->steps, 30);
    assert_true(said("trained first: 30 steps, loss 2.") || said("trained first: 30 steps, loss 3."));
    set_option(recipe, "steps", "1");
    check(recipe, NULL, "generalisation");
    assert_true(said("trained first: 1 step, loss "));
    set_option(recipe, "steps", "30");
    set_option(recipe, "lr", "1e6");
    set_option(recipe, "warmup", "0");
    set_option(recipe, "clip", "0");
    ch_check_result wild = check(recipe, NULL, "generalisation");
    assert_false(wild.passed);
    ch_recipe_free(recipe);
}

/* Without anybody who watches, every stage gives the same result. */
static void nobody_watches(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("max-len", "8", NULL);
    ch_model *tiny = open_model(TINY);
    for (size_t i = 0; i < 6; i++) {
        ch_check_result with = check(recipe, tiny, stages[i]);
        check_ok(ch_check_run(recipe, tiny, stages[i], NULL, &result, NULL), &(ch_error){.message = "no sentence"});
        assert_string_equal(result.figure, with.figure);
        assert_int_equal(result.passed, with.passed);
    }
    ch_model_free(tiny);
    ch_recipe_free(recipe);
}

static void build_info(void **state) {
    (void)state;
    ch_build build = ch_build_info();
    assert_string_equal(build.version, ch_version());
    assert_string_equal(build.real, IN_DOUBLE ? "double" : "float");
    assert_true(strlen(build.gemm) > 0 && build.threads >= 1);
}

static int set_up(void **state) {
    (void)state;
    watched = calloc(1, sizeof *watched);
    return watched ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    free(watched);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
        cmocka_unit_test(data),
        cmocka_unit_test(shapes),
        cmocka_unit_test(every_part),
        cmocka_unit_test(single_stacks),
        cmocka_unit_test(initial_loss),
        cmocka_unit_test(initial_loss_of_tied_models),
        cmocka_unit_test(initial_loss_of_models),
        cmocka_unit_test(masking),
        cmocka_unit_test(overfit),
        cmocka_unit_test(overfit_stops),
        cmocka_unit_test(generalisation),
        cmocka_unit_test(generalisation_trains),
        cmocka_unit_test(nobody_watches),
        cmocka_unit_test(build_info),
    };
    return cmocka_run_group_tests_name("check", tests, set_up, tear_down);
}
