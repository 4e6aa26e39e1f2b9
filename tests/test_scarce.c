/*
 * Memory that runs out at the n-th call, for every n: opening a model, a short training in its folder (new, stopped,
 * resumed), decoding, what encoders and models of texts say, figures. (test_allocation.c does the same to what needs no
 * file.) A run that memory stopped goes on when there is memory again, and ends with the same bits.
 */
#include "io/disk.h"
#include "models.h"
#include "scarce.h"

#include <stdio.h>
#include <string.h>

enum { STRIDE = SANITIZED ? 11 : 1 }; /* the sanitizers are slow */

/* No power cut is played here, and the disk is not waited for. */
int disk_fsync(int descriptor) {
    (void)descriptor;
    return 0;
}

static ch_recipe *tiny_recipe(void) {
    return recipe_of("d-model", "2", "heads", "1", "d-ff", "1", "layers", "1", "max-positions", "6", "max-len", "4",
                     "batch-size", "1", "threads", "1", "steps", "2", "save-every", "1", "log-every", "1", "validation",
                     "1", "rng", "torch", "log-gradients", "on", NULL);
}

/* A trained run; remove_folder takes it away. */
static char *tiny_run(void) {
    char *folder = make_temp_folder();
    ch_recipe *recipe = tiny_recipe();
    ch_trainer *trainer = trainer_of(recipe, folder);
    ch_error error;
    check_ok(ch_trainer_run(trainer, NULL, NULL, &error), &error);
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
    return folder;
}

/* ---- opening ---- */

static ch_status open_it(void *path, ch_error *error) {
    ch_model *model;
    ch_status status = ch_model_open(path, 0, &model, error);
    if (status != CH_OK) assert_null(model);
    ch_model_free(model);
    return status;
}

static void opening(void **state) {
    (void)state;
    char *folder = tiny_run(), lesson[] = CH_TEST_DATA "/lesson_tiny_model.safetensors";
    assert_true(scarce_run("opening a run", STRIDE, open_it, NULL, folder) > 50);
    assert_true(scarce_run("opening a state_dict", STRIDE, open_it, NULL, lesson) > 50);
    remove_folder(folder);
}

/* ---- training ---- */

struct training {
    char *folder, *good; /* of the run, and of one that nothing disturbed */
    ch_recipe *recipe;
    int turn;
};

static bool stop(const ch_step *step, void *context) {
    (void)step;
    (void)context;
    return false;
}

/* Starts the run, stops it after its first step, resumes it. */
static ch_status train(void *context, ch_error *error) {
    const struct training *training = context;
    ch_trainer *trainer;
    ch_status status = ch_trainer_new(training->recipe, training->folder, &trainer, error);
    if (status == CH_OK) status = ch_trainer_run(trainer, stop, NULL, error);
    ch_trainer_free(trainer);
    if (status != CH_STOPPED) return status;
    status = ch_trainer_resume(training->folder, NULL, NULL, 0, &trainer, error);
    if (status == CH_OK) status = ch_trainer_run(trainer, NULL, NULL, error);
    ch_trainer_free(trainer);
    return status;
}

static void finish_and_compare(struct training *training) {
    ch_trainer *trainer;
    ch_error error;
    ch_status status = is_there(training->folder, "recipe.json")
                           ? ch_trainer_resume(training->folder, NULL, NULL, 0, &trainer, &error)
                           : ch_trainer_new(training->recipe, training->folder, &trainer, &error);
    check_ok(status, &error);
    check_ok(ch_trainer_run(trainer, NULL, NULL, &error), &error);
    ch_trainer_free(trainer);
    check_same_file(training->folder, training->good, "model.safetensors");
    check_same_file(training->folder, training->good, "log.jsonl");
    check_same_file(training->folder, training->good, "gradients.jsonl");
}

/* Every fourth run is finished, which takes as long as all that goes before. */
static void go_on(void *context) {
    struct training *training = context;
    if (training->turn++ % 4 == 0) finish_and_compare(training);
    remove_folder(training->folder);
    training->folder = make_temp_folder();
}

static void training(void **state) {
    (void)state;
    struct training training = {make_temp_folder(), tiny_run(), tiny_recipe(), 0};
    assert_true(scarce_run("training", STRIDE, train, go_on, &training) > 500);
    check_same_file(training.folder, training.good, "model.safetensors");
    remove_folder(training.folder);
    remove_folder(training.good);
    ch_recipe_free(training.recipe);
}

/* ---- decoding ---- */

static ch_status decode(void *context, ch_error *error) {
    static const int token[] = {3, 1, 4, 1};
    static const ch_sequence source[] = {{token, 4}, {token, 1}, {token + 1, 3}};
    ch_answer answer[3];
    ch_status status = CH_OK;
    for (int no_cache = 0; no_cache < 2 && status == CH_OK; no_cache++) {
        ch_decode_options options = {.batch_size = 2, .threads = 1, .no_cache = no_cache, .keep_logits = true};
        ch_decoder *decoder;
        status = ch_decoder_new(context, &options, &decoder, error);
        if (status == CH_OK) status = ch_decoder_run(decoder, source, 3, answer, error);
        ch_decoder_free(decoder);
    }
    return status;
}

static void decoding(void **state) {
    (void)state;
    ch_recipe *recipe = tiny_recipe();
    ch_model *model = model_of(recipe);
    assert_true(scarce_run("decoding", STRIDE, decode, NULL, model) > 5);
    ch_model_free(model);
    ch_recipe_free(recipe);
}

/* ---- single stacks: looking, predicting, dumping ---- */

struct stacks {
    ch_model *text, *classifier, *finder;
};

static ch_status dump_it(const ch_model *model, ch_sequence source, ch_sequence target, ch_error *error) {
    const ch_dump_options options = {.backward = true};
    ch_tensors *tensors;
    ch_status status = ch_dump(model, source, target, &options, &tensors, error);
    ch_tensors_free(tensors);
    return status;
}

static ch_status look_at(const ch_model *model, ch_sequence source, int max_new, ch_error *error) {
    ch_attention *attention;
    ch_status status = ch_look(model, source, max_new, &attention, error);
    ch_attention_free(attention);
    return status;
}

static ch_status predict(const ch_model *model, ch_sequence source, ch_error *error) {
    ch_prediction *prediction;
    ch_status status = ch_predict(model, source, &prediction, error);
    ch_prediction_free(prediction);
    return status;
}

static ch_status look_and_predict(void *context, ch_error *error) {
    const struct stacks *stacks = context;
    static const int token[] = {0, 1, 1}, class = 1;
    int masked[] = {0, ch_vocab_mask(ch_model_vocab(stacks->finder)), 1};
    ch_sequence text = {token, 3}, hidden = {masked, 3}, one = {&class, 1};
    ch_status status = look_at(stacks->text, text, 2, error);
    if (status == CH_OK) status = look_at(stacks->classifier, text, 0, error);
    if (status == CH_OK) status = predict(stacks->classifier, text, error);
    if (status == CH_OK) status = predict(stacks->finder, hidden, error);
    if (status == CH_OK) status = dump_it(stacks->text, text, (ch_sequence){0}, error);
    if (status == CH_OK) status = dump_it(stacks->text, text, one, error);
    if (status == CH_OK) status = dump_it(stacks->classifier, text, one, error);
    return status == CH_OK ? dump_it(stacks->finder, hidden, text, error) : status;
}

static ch_model *tiny_finder(void) {
    char *folder = make_temp_folder();
    put_bytes(path_in(folder, "text"), "ab\nba\nabba\n", 11);
    ch_recipe *recipe = recipe_of("text", path_in(folder, "text"), "framing", "lines", "arch", "encoder-only",
                                  "d-model", "2", "heads", "1", "d-ff", "1", "layers", "1", "max-positions", "8", NULL);
    ch_model *model = model_of(recipe);
    ch_recipe_free(recipe);
    remove_folder(folder);
    return model;
}

static void single_stacks(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("task", "brackets", "arch", "encoder-only", "d-model", "2", "heads", "1", "d-ff", "1",
                                  "layers", "1", NULL);
    struct stacks stacks = {text_model("d-model=2 heads=1 layers=1", "ab", VOCAB_SOS | VOCAB_EOS), model_of(recipe),
                            tiny_finder()};
    assert_true(scarce_run("looking and predicting", STRIDE, look_and_predict, NULL, &stacks) > 10);
    ch_model_free(stacks.text);
    ch_model_free(stacks.classifier);
    ch_model_free(stacks.finder);
    ch_recipe_free(recipe);
}

/* ---- figures ---- */

static ch_status show(ch_status status, ch_figure *figure, ch_error *error) {
    char *text = NULL, *json = NULL;
    if (status == CH_OK) status = ch_figure_text(figure, CH_COLOURS_256, 60, &text, error);
    if (status == CH_OK) status = ch_figure_json(figure, &json, error);
    ch_string_free(text);
    ch_string_free(json);
    ch_figure_free(figure);
    return status;
}

/* Every figure there is, of a run folder. */
static ch_status draw(void *folder, ch_error *error) {
    static const int token[] = {3, 1, 4, 1};
    const char *const folders[] = {folder};
    const ch_training_view views[] = {{.layers = false}, {.layers = true}};
    ch_recipe *recipe = NULL;
    ch_model *model = NULL;
    ch_attention *attention = NULL;
    ch_figure *figure;
    char *numbers = NULL;
    ch_status status = ch_recipe_new(&recipe, error);
    if (status == CH_OK) status = ch_model_open(folder, 0, &model, error);
    if (status == CH_OK) status = ch_look(model, (ch_sequence){token, 4}, 0, &attention, error);
    if (status == CH_OK) status = ch_text_numbers(attention, -1, -1, &numbers, error);
    for (int kind = 0; kind < 5 && status == CH_OK; kind++) {
        figure = NULL;
        status = kind == 0   ? ch_figure_positions(recipe, &figure, error)
                 : kind == 1 ? ch_figure_weights(model, &figure, error)
                 : kind == 2 ? ch_figure_attention(attention, -1, -1, &figure, error)
                             : ch_figure_training(folders, 1, &views[kind - 3], &figure, error);
        status = show(status, figure, error);
    }
    ch_string_free(numbers);
    ch_attention_free(attention);
    ch_model_free(model);
    ch_recipe_free(recipe);
    return status;
}

static void figures(void **state) {
    (void)state;
    char *folder = tiny_run();
    assert_true(scarce_run("figures", STRIDE, draw, NULL, folder) > 500);
    remove_folder(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening),       cmocka_unit_test(training), cmocka_unit_test(decoding),
        cmocka_unit_test(single_stacks), cmocka_unit_test(figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
