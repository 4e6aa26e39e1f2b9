/* Trains a small model to reverse digits, in memory, and decodes with it. */
#include <clearhead.h>

#include <stdio.h>

static int failed(const ch_error *error) {
    fprintf(stderr, "%s\n", error->message);
    return 1;
}

static bool show(const ch_step *step, void *context) {
    (void)context;
    if (step->log) printf("step %lld of %lld: loss %.3f\n", (long long)step->step, (long long)step->steps, step->loss);
    return true; /* false would stop here */
}

int main(void) {
    ch_error error;
    ch_recipe *recipe = NULL;
    ch_trainer *trainer = NULL;
    ch_decoder *decoder = NULL;
    const char *const options[][2] = {{"d-model", "32"}, {"heads", "2"},  {"d-ff", "64"},   {"layers", "1"},
                                      {"max-len", "6"},  {"lr", "0.003"}, {"steps", "800"}, {"warmup", "100"}};
    if (ch_recipe_new(&recipe, &error)) return failed(&error);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (ch_recipe_set(recipe, options[i][0], options[i][1], &error)) return failed(&error);
    if (ch_trainer_new(recipe, NULL, &trainer, &error) || ch_trainer_run(trainer, show, NULL, &error) ||
        ch_decoder_new(ch_trainer_model(trainer), NULL, &decoder, &error))
        return failed(&error);

    const int tokens[] = {3, 1, 4, 1, 5};
    const ch_sequence source = {tokens, 5};
    ch_answer answer;
    if (ch_decoder_run(decoder, &source, 1, &answer, &error)) return failed(&error);
    printf("3 1 4 1 5 ->");
    for (size_t i = 0; i < answer.length; i++) printf(" %d", answer.tokens[i]);
    printf("\n");
    ch_decoder_free(decoder);
    ch_trainer_free(trainer);
    ch_recipe_free(recipe);
    return 0;
}
