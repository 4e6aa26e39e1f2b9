/*
 * Decoding: with and without the cache, alone and in batches, on any number of threads, for shared key/value heads
 * too; limits, and the sentence for every source or option that does not fit.
 */
#include "combinations.h"

#include "base/memory.h"
#include "decode/session.h"

#include <stdlib.h>
#include <string.h>

#define TINY CH_TEST_DATA "/lesson_tiny_model.safetensors"

enum { SOURCES = 23, LONGEST = 9 };

/* Sources of lengths 1 to 9; answers of the lesson's model end after as many tokens, so rows drop out early. */
struct sources {
    int token[SOURCES][LONGEST];
    ch_sequence sequence[SOURCES];
};

static void draw_sources(struct sources *sources) {
    for (int i = 0; i < SOURCES; i++) {
        int length = 1 + (i * 4) % LONGEST;
        for (int t = 0; t < length; t++) sources->token[i][t] = random_int(7, (uint64_t)(i * LONGEST + t), 0, 9);
        sources->sequence[i] = (ch_sequence){sources->token[i], (size_t)length};
    }
}

static ch_decoder *decoder_of(const ch_model *model, ch_decode_options options) {
    ch_decoder *decoder;
    ch_error error;
    check_ok(ch_decoder_new(model, &options, &decoder, &error), &error);
    return decoder;
}

static void decode(ch_decoder *decoder, const struct sources *sources, size_t count, ch_answer *answer) {
    ch_error error;
    check_ok(ch_decoder_run(decoder, sources->sequence, count, answer, &error), &error);
}

static void check_same_answers(const ch_answer *a, const ch_answer *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(a[i].length, b[i].length);
        assert_int_equal(a[i].ended, b[i].ended);
        if (a[i].length) assert_memory_equal(a[i].tokens, b[i].tokens, a[i].length * sizeof(int));
    }
}

/* The size of a row of logits: each is a sum of terms of about that size, so that is what its rounding goes by. */
static double largest(const float *row, size_t vocab) {
    double most = 0;
    for (size_t j = 0; j < vocab; j++) most = fmax(most, fabs((double)row[j]));
    return most;
}

/* Of two decoders that kept their logits. A build in double shows none. */
static void check_close_logits(const ch_decoder *a, const ch_decoder *b, size_t count, size_t vocab) {
    for (size_t i = 0; i < count; i++) {
        size_t steps_a, steps_b;
        const float *x = ch_decoder_logits(a, i, &steps_a), *y = ch_decoder_logits(b, i, &steps_b);
        assert_int_equal(steps_a, steps_b);
        assert_int_equal(x == NULL, IN_DOUBLE);
        for (size_t k = 0; x && k < steps_a * vocab; k++) {
            double difference = fabs((double)x[k] - (double)y[k]) / fmax(1, largest(y + k / vocab * vocab, vocab));
            if (!(difference <= 1e-5))
                fail_msg("source %zu, logit %zu: %.9g and %.9g", i, k, (double)x[k], (double)y[k]);
        }
    }
}

static void check_cache(const ch_model *model, int batch) {
    struct sources sources;
    ch_answer cached[SOURCES], full[SOURCES];
    draw_sources(&sources);
    ch_decoder *with = decoder_of(model, (ch_decode_options){.batch_size = batch, .keep_logits = true});
    ch_decoder *without =
        decoder_of(model, (ch_decode_options){.batch_size = batch, .keep_logits = true, .no_cache = true});
    decode(with, &sources, SOURCES, cached);
    decode(without, &sources, SOURCES, full);
    check_same_answers(cached, full, SOURCES);
    check_close_logits(with, without, SOURCES, (size_t)ch_vocab_size(ch_model_vocab(model)));
    ch_decoder_free(with);
    ch_decoder_free(without);
}

static void cached_is_full(void **state) {
    (void)state;
    ch_model *model = open_model(TINY);
    check_cache(model, 1);
    check_cache(model, 7);
    check_cache(model, 64);
    ch_model_free(model);
    ch_recipe *recipe = recipe_of("d-model", "18", "heads", "3", "d-ff", "20", "max-positions", "30", NULL);
    model = model_of(recipe); /* untrained: answers run to the limit */
    check_cache(model, 5);
    ch_model_free(model);
    ch_recipe_free(recipe);
}

/* With every norm, position, feed-forward and initialisation, every preset and combination; from a file, too. */
static void every_part_decodes(void **state) {
    (void)state;
    char *folder = make_temp_folder();
    const char *name, *path = path_in(folder, "part.safetensors");
    for (size_t i = 0;; i++) {
        ch_recipe *recipe = recipe_of("d-model", "18", "heads", "3", "d-ff", "20", "max-positions", "30", NULL);
        name = set_case(recipe, i);
        if (name) {
            ch_error error;
            ch_model *model = model_of_case(recipe, name);
            check_ok(ch_model_save(model, path, &error), &error);
            ch_model *back = open_model(path);
            assert_true(config_same(&back->config, &model->config));
            check_same(name, back->params.value, model->params.value, model->params.block);
            if (model->net.head->decodes) check_cache(back, 6);
            ch_model_free(back);
            ch_model_free(model);
        }
        ch_recipe_free(recipe);
        if (!name) break;
    }
    remove_folder(folder);
}

/* Two models alike but for their number of positions, of which the answers of both go far beyond the smaller. */
static void positions_that_extend(void **state) {
    (void)state;
    struct sources sources;
    ch_answer few[SOURCES], many[SOURCES];
    draw_sources(&sources);
    for (size_t i = 0; position_row(i); i++) {
        ch_recipe *recipe = recipe_of("d-model", "18", "heads", "3", "d-ff", "20", "max-positions", "4", "max-len", "3",
                                      "min-len", "1", "position", position_row(i)->name, NULL);
        ch_model *small = model_of(recipe);
        set_option(recipe, "max-positions", "100");
        ch_model *large = model_of(recipe);
        bool extends = ((const struct position_variant *)position_row(i))->can_extend;
        assert_int_equal(ch_model_get_info(small).max_positions, 4);
        assert_int_equal(ch_model_get_info(small).longest > 4, extends);
        ch_decoder *a = decoder_of(small, (ch_decode_options){.batch_size = 5, .keep_logits = true});
        ch_decoder *b = decoder_of(large, (ch_decode_options){.batch_size = 5, .keep_logits = true});
        ch_error error;
        if (extends) {
            decode(a, &sources, SOURCES, few);
            decode(b, &sources, SOURCES, many);
            check_same_answers(few, many, SOURCES);
            check_close_logits(a, b, SOURCES, (size_t)ch_vocab_size(ch_model_vocab(small)));
        } else {
            check_sentence(ch_decoder_run(a, sources.sequence, SOURCES, few, &error), CH_FAILED, &error,
                           "more than the model's 4 positions", NULL);
        }
        ch_decoder_free(a), ch_decoder_free(b);
        ch_model_free(small), ch_model_free(large);
        ch_recipe_free(recipe);
    }
}

/* A model whose heads share keys and values, of widths that are not D / H: only the config's lists say so. */
static ch_model *shared_heads_model(void) {
    struct config config = {.arch = &arch_encoder_decoder,
                            .head = &head_next_token,
                            .norm = &norm_layernorm,
                            .placement = &norm_post,
                            .position = &position_sinusoidal,
                            .ffn = &ffn_relu,
                            .d_model = 16,
                            .d_ff = 20,
                            .layers = 2,
                            .max_positions = 24,
                            .symbols = 10};
    static const int served[] = {1, 0, 1, 1};
    ch_model *model;
    ch_error error;
    config_fill_absent(&config);
    check_ok(config_uniform(&config, 4, &error), &error);
    for (int i = 0; i < CONFIG_ATTENTIONS * config.layers; i++) {
        config.shape[i].kv_heads = 2;
        config.shape[i].d_head = 3 + i % 2;
        memcpy(config.shape[i].kv_of_head, served, sizeof served);
    }
    check_ok(model_build(&config, &model, &error), &error);
    check_ok(model_allocate(model, &error), &error);
    init_xavier.fill(&model->params, 11, NULL);
    return model;
}

static void shared_heads_decode(void **state) {
    (void)state;
    char *folder = make_temp_folder();
    const char *path = path_in(folder, "shared.safetensors");
    ch_model *model = shared_heads_model();
    ch_error error;
    check_ok(ch_model_save(model, path, &error), &error);
    ch_model *back = open_model(path);
    check_same("parameters", back->params.value, model->params.value, model->params.block);
    const struct attention_shape *shape = config_shape(&back->config, CONFIG_DECODER_CROSS, 1);
    assert_true(shape->kv_heads == 2 && shape->kv_of_head[0] == 1 && shape->kv_of_head[1] == 0);
    check_cache(back, 6);
    ch_model_free(model);
    ch_model_free(back);
    remove_folder(folder);
}

/* ---- batches, threads, order ---- */

static void batches_and_threads_change_nothing(void **state) {
    (void)state;
    ch_model *model = open_model(TINY);
    struct sources sources;
    ch_answer one[SOURCES], other[SOURCES];
    draw_sources(&sources);
    ch_decoder *alone = decoder_of(model, (ch_decode_options){.batch_size = 1, .threads = 1, .keep_logits = true});
    decode(alone, &sources, SOURCES, one);
    int ended = 0, lengths = 0;
    for (int i = 0; i < SOURCES; i++) {
        ended += one[i].ended;
        lengths += i && one[i].length != one[i - 1].length;
    }
    assert_true(ended > SOURCES / 2 && lengths > 3);
    static const int batch[] = {1, 2, 7, 64}, threads[] = {2, 8};
    for (int b = 0; b < 4; b++)
        for (int t = 0; t < 2; t++) {
            ch_decoder *decoder = decoder_of(
                model, (ch_decode_options){.batch_size = batch[b], .threads = threads[t], .keep_logits = true});
            decode(decoder, &sources, SOURCES, other);
            check_same_answers(other, one, SOURCES);
            check_close_logits(decoder, alone, SOURCES, 13);
            ch_decoder_free(decoder);
        }
    ch_decoder_free(alone);
    ch_model_free(model);
}

/* One decoder for many runs: shorter, longer, none, and the same again. */
static void a_decoder_can_be_used_again(void **state) {
    (void)state;
    ch_model *model = open_model(TINY);
    struct sources sources;
    ch_answer first[SOURCES], again[SOURCES];
    draw_sources(&sources);
    ch_decoder *fresh = decoder_of(model, (ch_decode_options){.batch_size = 4});
    ch_decoder *used = decoder_of(model, (ch_decode_options){.batch_size = 4});
    decode(fresh, &sources, SOURCES, first);
    decode(used, &sources, 1, again);
    decode(used, &sources, 0, again);
    decode(used, &sources, SOURCES, again);
    check_same_answers(again, first, SOURCES);
    uint64_t before = mem_allocations();
    decode(used, &sources, SOURCES, again);
    assert_true(mem_allocations() - before <= 3); /* answers, their tokens, their logits: no session */
    check_same_answers(again, first, SOURCES);
    ch_decoder_free(fresh);
    ch_decoder_free(used);
    ch_model_free(model);
}

/* ---- limits ---- */

static void answers_stop_at_the_limit(void **state) {
    (void)state;
    ch_recipe *recipe = recipe_of("d-model", "8", "heads", "2", "d-ff", "8", "max-positions", "12", NULL);
    ch_model *model = model_of(recipe);
    real *bias = values_of(model, "generator.bias");
    bias[3] = 1000; /* it says 3 for ever */
    struct sources sources;
    ch_answer answer[SOURCES];
    draw_sources(&sources);
    static const int limits[] = {1, 2, 12, 0};
    for (int l = 0; l < 4; l++) {
        ch_decoder *decoder = decoder_of(model, (ch_decode_options){.max_new = limits[l], .keep_logits = true});
        decode(decoder, &sources, SOURCES, answer);
        for (int i = 0; i < SOURCES; i++) {
            size_t steps, expected = limits[l] ? (size_t)limits[l] : 12;
            ch_decoder_logits(decoder, (size_t)i, &steps);
            assert_int_equal(answer[i].length, expected);
            assert_int_equal(steps, expected);
            assert_false(answer[i].ended);
            for (size_t t = 0; t < expected; t++) assert_int_equal(answer[i].tokens[t], 3);
        }
        ch_decoder_free(decoder);
    }
    bias[12] = 2000; /* and now EOS at once: an empty answer */
    ch_decoder *decoder = decoder_of(model, (ch_decode_options){.max_new = 1, .keep_logits = true});
    decode(decoder, &sources, SOURCES, answer);
    size_t steps;
    ch_decoder_logits(decoder, 0, &steps);
    assert_true(answer[0].ended && answer[0].length == 0 && steps == 1);
    ch_decoder_free(decoder);
    ch_model_free(model);
    ch_recipe_free(recipe);
}

static void check_source(ch_decoder *decoder, ch_sequence bad, const char *says, const char *more) {
    static const int good[] = {1, 2};
    ch_sequence sources[] = {{good, 2}, bad};
    ch_answer answer[2];
    ch_error error;
    check_sentence(ch_decoder_run(decoder, sources, 2, answer, &error), CH_FAILED, &error, "source 2", says, more,
                   NULL);
    assert_int_equal(ch_decoder_run(decoder, sources, 2, answer, NULL), CH_FAILED);
    check_ok(ch_decoder_run(decoder, sources, 1, answer, &error), &error); /* and it goes on */
}

static void sources_that_do_not_fit(void **state) {
    (void)state;
    ch_model *model = open_model(TINY);
    ch_decoder *decoder = decoder_of(model, (ch_decode_options){0});
    static const int token[25] = {0}, outside[] = {1, 2, 13}, special[] = {1, 12}, negative[] = {-1};
    check_source(decoder, (ch_sequence){token, 0}, "is empty", "at least one token");
    check_source(decoder, (ch_sequence){token, 25}, "has 25 tokens, more than the model's 24 positions",
                 "--max-positions");
    check_source(decoder, (ch_sequence){outside, 3}, "token 3 is 13", "expected 0 to 9");
    check_source(decoder, (ch_sequence){special, 2}, "token 2 is 12", "expected 0 to 9");
    check_source(decoder, (ch_sequence){negative, 1}, "token 1 is -1", "expected 0 to 9");
    ch_answer answer;
    ch_sequence longest = {token, 24};
    ch_error error;
    check_ok(ch_decoder_run(decoder, &longest, 1, &answer, &error), &error);
    ch_decoder_free(decoder);
    ch_model_free(model);
}

static void check_options(const ch_model *model, ch_decode_options options, const char *says) {
    ch_decoder *decoder = (ch_decoder *)1;
    ch_error error;
    check_sentence(ch_decoder_new(model, &options, &decoder, &error), CH_USAGE, &error, says, NULL);
    assert_null(decoder);
    assert_int_equal(ch_decoder_new(model, &options, &decoder, NULL), CH_USAGE);
}

static void options_that_make_no_sense(void **state) {
    (void)state;
    ch_model *model = open_model(TINY);
    check_options(model, (ch_decode_options){.max_new = -1}, "max-new: expected 1 to 24");
    check_options(model, (ch_decode_options){.max_new = 25}, "found 25");
    check_options(model, (ch_decode_options){.batch_size = -1}, "batch-size: expected 1 to 65536, found -1");
    check_options(model, (ch_decode_options){.batch_size = 65537}, "found 65537");
    check_options(model, (ch_decode_options){.threads = -1}, "threads: expected 1 to 1024, found -1");
    check_options(model, (ch_decode_options){.threads = 1025}, "found 1025");
    ch_decoder *decoder;
    ch_error error;
    check_ok(ch_decoder_new(model, NULL, &decoder, &error), &error);
    ch_decoder_free(decoder);
    ch_decoder_free(NULL);
    ch_model_free(model);
}

static void evaluations_that_make_no_sense(void **state) {
    (void)state;
    ch_model *model = open_model(TINY);
    ch_recipe *recipe = recipe_of("seed", "0", NULL);
    ch_evaluation result;
    ch_error error;
    check_sentence(ch_evaluate(model, recipe, 0, &result, &error), CH_USAGE, &error, "examples", "found 0", NULL);
    set_option(recipe, "min-len", "11");
    check_sentence(ch_evaluate(model, recipe, 5, &result, &error), CH_USAGE, &error, "min-len 11", NULL);
    set_option(recipe, "max-len", "24");
    check_sentence(ch_evaluate(model, recipe, 5, &result, &error), CH_USAGE, &error, "max-len 24 needs 25 positions",
                   "24", NULL);
    assert_int_equal(ch_evaluate(model, recipe, 5, &result, NULL), CH_USAGE);
    set_option(recipe, "max-len", "23");
    check_ok(ch_evaluate(model, recipe, 5, &result, &error), &error);
    ch_recipe_free(recipe);
    ch_model_free(model);
}

/* Any core decodes, to the same logits; one that there is not is named. */
static void cores_decode_alike(void **state) {
    (void)state;
    ch_model *model = open_model(TINY);
    struct sources sources;
    ch_answer a[SOURCES], b[SOURCES];
    ch_error error;
    ch_decoder *none, *fused = decoder_of(model, (ch_decode_options){.keep_logits = true});
    draw_sources(&sources);
    decode(fused, &sources, SOURCES, a);
    for (size_t core = 0; attention_core_row(core); core++)
        for (int no_cache = 0; no_cache < 2; no_cache++) {
            ch_decoder *other = decoder_of(model, (ch_decode_options){.keep_logits = true,
                                                                      .no_cache = no_cache,
                                                                      .attention = attention_core_row(core)->name});
            decode(other, &sources, SOURCES, b);
            check_same_answers(a, b, SOURCES);
            check_close_logits(fused, other, SOURCES, (size_t)ch_vocab_size(ch_model_vocab(model)));
            ch_decoder_free(other);
        }
    const ch_decode_options unknown = {.attention = "fuzed"};
    check_sentence(ch_decoder_new(model, &unknown, &none, &error), CH_USAGE, &error, "fuzed", "did you mean 'fused'",
                   NULL);
    ch_decoder_free(fused);
    ch_model_free(model);
}

/* Logits (steps, V) of teacher forcing on SOS and <pad>s, whose keys are hidden or not. */
static real *forced_logits(const struct ch_model *model, ch_sequence source, int steps, bool hidden) {
    struct batch_limits limits = {1, (int)source.length, steps};
    const struct knockout pads = {.sequence = -1, .query_to = steps, .key_from = 1, .key_to = steps};
    struct cut cut[] = {{"dec.0.self_attn", &pads, 1}, {"dec.1.self_attn", &pads, 1}};
    struct pass pass = {.core = &attention_explicit, .cuts = cut, .cut_count = hidden ? 2 : 0};
    struct workspace workspace;
    struct batch_buffer sources, targets;
    ch_error error;
    check_ok(workspace_new(&workspace, model, &pass, &limits, false, &error), &error);
    assert_true(batch_buffer_new(&sources, 1, limits.source) && batch_buffer_new(&targets, 1, steps));
    batch_clear(&sources), batch_clear(&targets);
    memcpy(batch_add(&sources, limits.source, 0, 0), source.tokens, source.length * sizeof(int));
    int *token = batch_add(&targets, steps, 0, 0), vocab = ch_vocab_size(&model->vocab);
    for (int t = 0; t < steps; t++) token[t] = t ? ch_vocab_pad(&model->vocab) : ch_vocab_sos(&model->vocab);
    pass.params = &model->params;
    pass.arena = &workspace.arena;
    struct assembly_input input = {sources.token, &sources.view, targets.token, &targets.view};
    const real *logits = assembly_forward(&pass, &model->net, &input, &workspace.saved);
    real *kept = new_reals((size_t)steps * (size_t)vocab);
    memcpy(kept, logits, (size_t)steps * (size_t)vocab * sizeof *kept);
    batch_buffer_free(&sources), batch_buffer_free(&targets);
    workspace_free(&workspace);
    return kept;
}

/* The lesson's target mask hides <pad> also where the model itself wrote it. */
static void generated_padding_is_hidden(void **state) {
    (void)state;
    enum { STEPS = 6 };
    static const int tokens[] = {7, 2, 9};
    const ch_sequence source = {tokens, 3};
    ch_recipe *recipe =
        recipe_of("d-model", "18", "heads", "3", "d-ff", "20", "max-positions", "12", "max-len", "9", NULL);
    ch_model *model = model_of(recipe);
    size_t vocab = (size_t)ch_vocab_size(ch_model_vocab(model));
    values_of(model, "generator.bias")[ch_vocab_pad(ch_model_vocab(model))] = 50; /* it writes nothing else */
    real *hidden = forced_logits(model, source, STEPS, true), *seen = forced_logits(model, source, STEPS, false);
    assert_true(worst_difference(hidden, seen, STEPS * vocab) > 1e-3);
    for (int no_cache = 0; no_cache < 2; no_cache++) {
        ch_decoder *decoder = decoder_of(
            model, (ch_decode_options){.max_new = STEPS, .keep_logits = true, .no_cache = no_cache, .threads = 1});
        ch_answer answer;
        ch_error error;
        size_t steps;
        check_ok(ch_decoder_run(decoder, &source, 1, &answer, &error), &error);
        assert_int_equal(answer.length, STEPS);
        for (int t = 0; t < STEPS; t++) assert_int_equal(answer.tokens[t], ch_vocab_pad(ch_model_vocab(model)));
        const float *logits = ch_decoder_logits(decoder, 0, &steps);
        for (size_t k = 0; logits && k < STEPS * vocab; k++)
            assert_true(fabs((double)logits[k] - (double)hidden[k]) <= 1e-5 * fmax(1, fabs((double)hidden[k])));
        ch_decoder_free(decoder);
    }
    free(hidden), free(seen);
    ch_model_free(model);
    ch_recipe_free(recipe);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_decode_alike),
        cmocka_unit_test(generated_padding_is_hidden),
        cmocka_unit_test(cached_is_full),
        cmocka_unit_test(every_part_decodes),
        cmocka_unit_test(positions_that_extend),
        cmocka_unit_test(shared_heads_decode),
        cmocka_unit_test(batches_and_threads_change_nothing),
        cmocka_unit_test(a_decoder_can_be_used_again),
        cmocka_unit_test(answers_stop_at_the_limit),
        cmocka_unit_test(sources_that_do_not_fit),
        cmocka_unit_test(options_that_make_no_sense),
        cmocka_unit_test(evaluations_that_make_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
