/* Prediction of encoders alone: probabilities are the softmax of the logits that a dump has, names, order, refusals. */
#include "inspect/tensors.h"
#include "models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ch_prediction *predict(const ch_model *model, ch_sequence source) {
    ch_prediction *prediction;
    ch_error error;
    check_ok(ch_predict(model, source, &prediction, &error), &error);
    return prediction;
}

static const struct named_tensor *logits_of(ch_tensors **dump, const ch_model *model, ch_sequence source,
                                            ch_sequence target) {
    ch_error error;
    check_ok(ch_dump(model, source, target, NULL, dump, &error), &error);
    return tensors_find(*dump, "logits");
}

/* Each guess is the softmax of its logit, and they come in order. At 1e-6: of float logits in double arithmetic. */
static double check_guesses(const ch_prediction *p, size_t place, const real *logits, int outputs) {
    double sum = 0, shares = 0, before = 1;
    for (int v = 0; v < outputs; v++) sum += exp((double)logits[v]);
    for (size_t rank = 0; rank < ch_prediction_guesses(p); rank++) {
        ch_guess guess = ch_prediction_guess(p, place, rank);
        assert_true(fabs(guess.probability - exp((double)logits[guess.number]) / sum) < 1e-6);
        assert_true(guess.probability <= before);
        before = guess.probability;
        shares += guess.probability;
    }
    return shares;
}

static void classes_by_name(void **state) {
    (void)state;
    static const int source[] = {0, 2, 3, 1}, class = 0;
    ch_recipe *recipe = recipe_of("arch", "encoder-only", "task", "brackets", "d-model", "16", "layers", "1", NULL);
    ch_model *model = model_of(recipe);
    ch_prediction *p = predict(model, (ch_sequence){source, 4});
    ch_tensors *dump;
    const struct named_tensor *logits = logits_of(&dump, model, (ch_sequence){source, 4}, (ch_sequence){&class, 1});
    assert_int_equal(ch_prediction_places(p), 1);
    assert_int_equal(ch_prediction_place(p, 0), 0);
    assert_int_equal(ch_prediction_guesses(p), 2);
    assert_true(fabs(check_guesses(p, 0, logits->value, 2) - 1) < 1e-12);
    ch_guess first = ch_prediction_guess(p, 0, 0);
    assert_string_equal(first.text, first.number ? "balanced" : "not balanced");
    assert_string_equal(ch_model_class(model, 1), "balanced");
    ch_tensors_free(dump);
    ch_prediction_free(p);
    ch_prediction_free(NULL);
    model->config.task[0] = '\0'; /* nobody says what the classes are */
    p = predict(model, (ch_sequence){source, 4});
    assert_null(ch_prediction_guess(p, 0, 1).text);
    ch_prediction_free(p);
    ch_model_free(model);
    ch_recipe_free(recipe);
}

/* A model of a text that finds hidden tokens; of lines with <sos> and <eos>. */
static ch_model *finder(const char *framing) {
    char *folder = make_temp_folder(), path[1024];
    static const char text[] = "abcd abcd abcd\nabcd dcba abcd\nabcd abcd\nabc\n";
    snprintf(path, sizeof path, "%s/text", folder);
    put_bytes(path, text, sizeof text - 1);
    ch_recipe *recipe = recipe_of("text", path, "tokens", "characters", "framing", framing, "arch", "encoder-only",
                                  "d-model", "16", "layers", "1", "max-positions", "20", "held-out", "0", NULL);
    ch_model *model = model_of(recipe);
    ch_recipe_free(recipe);
    remove_folder(folder);
    return model;
}

static void hidden_tokens_are_found(void **state) {
    (void)state;
    for (int lines = 0; lines < 2; lines++) {
        ch_model *model = finder(lines ? "lines" : "windows");
        const ch_vocab *vocab = ch_model_vocab(model);
        int source[8], target[8], outputs = ch_vocab_size(vocab);
        size_t count;
        ch_error error;
        check_ok(ch_vocab_encode_masked(vocab, "a<mask>cdab<mask>d", 18, source, 8, &count, &error), &error);
        assert_int_equal(count, 8);
        check_ok(ch_vocab_encode(vocab, "abcdabcd", 8, target, 8, &count, &error), &error);
        assert_int_equal(source[1], ch_vocab_mask(vocab));
        assert_int_equal(source[6], ch_vocab_mask(vocab));
        ch_prediction *p = predict(model, (ch_sequence){source, 8});
        ch_tensors *dump;
        const struct named_tensor *logits = logits_of(&dump, model, (ch_sequence){source, 8}, (ch_sequence){target, 8});
        assert_int_equal(logits->shape[0], lines ? 10 : 8);
        assert_int_equal(ch_prediction_places(p), 2);
        assert_int_equal(ch_prediction_guesses(p), ch_vocab_mask(vocab) - 2 * lines); /* no special one */
        double loss = 0;
        for (size_t i = 0; i < 2; i++) {
            size_t place = ch_prediction_place(p, i);
            assert_int_equal(place, i ? 6 : 1);
            double shares = check_guesses(p, i, logits->value + (place + (size_t)lines) * (size_t)outputs, outputs);
            assert_true(shares > 0 && shares < 1);
            for (size_t rank = 0; rank < ch_prediction_guesses(p); rank++) {
                ch_guess guess = ch_prediction_guess(p, i, rank);
                assert_string_equal(guess.text, ch_vocab_text(vocab, guess.number));
                if (guess.number == target[place]) loss -= log(guess.probability) / 2;
            }
        }
        /* the dump's loss is that of the two places, and of no other */
        const struct named_tensor *its = tensors_find(dump, "loss");
        assert_true(fabs((double)its->value[0] - loss) < 1e-5);
        ch_tensors_free(dump);
        ch_prediction_free(p);
        ch_model_free(model);
    }
}

static void masks_in_a_text(void **state) {
    (void)state;
    ch_model *model = finder("windows");
    const ch_vocab *vocab = ch_model_vocab(model);
    int token[4];
    size_t count;
    ch_error error;
    check_ok(ch_vocab_encode_masked(vocab, "<mask><mask>", 12, NULL, 0, &count, &error), &error);
    assert_int_equal(count, 2);
    check_ok(ch_vocab_encode_masked(vocab, "", 0, token, 4, &count, &error), &error);
    assert_int_equal(count, 0);
    check_sentence(ch_vocab_encode_masked(vocab, "ab<mask>cd", 10, token, 4, &count, &error), CH_FAILED, &error,
                   "more than 4 tokens", NULL);
    check_sentence(ch_vocab_encode_masked(vocab, "a<mask>x", 8, token, 4, &count, &error), CH_FAILED, &error,
                   "character 3, 'x'", NULL);
    check_sentence(ch_vocab_encode(vocab, "<mask>", 6, token, 4, &count, &error), CH_FAILED, &error, "'<'", NULL);
    ch_model_free(model);
}

static void sources_that_do_not_do(void **state) {
    (void)state;
    static const int text[21] = {0}, bad[] = {1, 99};
    ch_model *model = finder("lines");
    ch_prediction *p = (ch_prediction *)1;
    ch_error error;
    check_sentence(ch_predict(model, (ch_sequence){text, 0}, &p, &error), CH_FAILED, &error, "empty", NULL);
    assert_null(p);
    check_sentence(ch_predict(model, (ch_sequence){text, 19}, &p, &error), CH_FAILED, &error, "has 19 tokens",
                   "at most 18", NULL);
    check_sentence(ch_predict(model, (ch_sequence){text, 18}, &p, &error), CH_FAILED, &error, "has no <mask>", NULL);
    check_sentence(ch_predict(model, (ch_sequence){bad, 2}, &p, &error), CH_FAILED, &error, "token 2 is 99", NULL);
    ch_model_free(model);
    model = text_model("", "abc", 0);
    check_sentence(ch_predict(model, (ch_sequence){text, 3}, &p, &error), CH_FAILED, &error, "decoder-only",
                   "`generate`", NULL);
    ch_decoder *decoder;
    check_sentence(ch_decoder_new(model, NULL, &decoder, &error), CH_FAILED, &error, "characters", "`generate`", NULL);
    ch_model_free(model);
    model = open_model(CH_TEST_DATA "/lesson_tiny_model.safetensors");
    check_sentence(ch_predict(model, (ch_sequence){text, 3}, &p, &error), CH_FAILED, &error, "encoder-decoder",
                   "`decode`", NULL);
    assert_int_equal(ch_predict(model, (ch_sequence){text, 3}, &p, NULL), CH_FAILED);
    ch_model_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_by_name),
        cmocka_unit_test(hidden_tokens_are_found),
        cmocka_unit_test(masks_in_a_text),
        cmocka_unit_test(sources_that_do_not_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
