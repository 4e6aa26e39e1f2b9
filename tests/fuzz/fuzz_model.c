/*
 * Any bytes as a model: ch_model_open refuses with a sentence, or gives a model whose numbers are finite and which
 * decodes, goes on with a text, or predicts, and can be looked into. Before it is known what the tensors of the file
 * really hold, memory goes with the size of the file: nothing in it can ask for more.
 */
#include "base/error.h"
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- memory: what is held at most ---- */

enum { HEADER = 16 }; /* keeps what malloc promises of alignment */

static size_t held, most;

static void *allocate(size_t bytes) {
    size_t *block = bytes < SIZE_MAX - HEADER ? malloc(bytes + HEADER) : NULL;
    if (!block) return NULL;
    *block = bytes;
    held += bytes;
    if (held > most) most = held;
    return (char *)block + HEADER;
}

static void release(void *memory) {
    if (!memory) return;
    size_t *block = (size_t *)(void *)((char *)memory - HEADER);
    held -= *block;
    free(block);
}

static void *reallocate(void *old, size_t bytes) {
    size_t kept = old ? *(size_t *)(void *)((char *)old - HEADER) : 0;
    void *memory = allocate(bytes);
    if (!memory) return NULL;
    if (old) memcpy(memory, old, kept < bytes ? kept : bytes);
    release(old);
    return memory;
}

/* A tensor of few bytes costs its row and its names; a table of positions that the file leaves out is computed. */
static void check_memory(size_t length) {
    const size_t fixed = (1 << 16) + (1 << 20) * sizeof(double), of_a_byte = 200;
    ch_assert(most <= fixed + of_a_byte * length);
}

/* ---- a model ---- */

static void check_numbers(const ch_model *model) {
    ch_tensor tensor;
    for (size_t i = 0; ch_model_tensor(model, i, &tensor); i++) {
        size_t count = 1;
        for (int d = 0; d < tensor.rank; d++) count *= (size_t)tensor.shape[d];
        for (size_t e = 0; tensor.value && e < count; e++) ch_assert(isfinite(tensor.value[e]));
    }
}

/* Finite weights may still overflow on the way: the tokens are then of no use, but tokens. */
static void check_decoding(const ch_model *model) {
    static const int token[] = {0};
    const ch_decode_options options = {.max_new = 2, .threads = 1, .batch_size = 1};
    ch_sequence source = {token, 1};
    ch_decoder *decoder;
    ch_answer answer;
    ch_error error = {0};
    ch_status status = ch_decoder_new(model, &options, &decoder, &error);
    if (status != CH_OK) { /* nothing begins or ends an answer */
        check_sentence(status, &error);
        return;
    }
    status = ch_decoder_run(decoder, &source, 1, &answer, NULL);
    ch_assert(status == CH_OK && answer.length <= 2);
    for (size_t i = 0; i < answer.length; i++)
        ch_assert(answer.tokens[i] >= 0 && answer.tokens[i] < ch_vocab_size(ch_model_vocab(model)));
    ch_decoder_free(decoder);
}

/* No logit may be a number. */
static void check_text(const ch_model *model) {
    static const int token[] = {0};
    const ch_generate_options options = {.tokens = 2};
    ch_generator *generator;
    ch_generated next = {0};
    ch_error error = {0};
    ch_status status = ch_generator_new(model, &options, &generator, &error);
    ch_assert(status == CH_OK);
    status = ch_generator_prompt_tokens(generator, (ch_sequence){token, 1}, &error);
    while (status == CH_OK && next.ended == CH_GOES_ON) status = ch_generator_next(generator, &next, &error);
    if (status != CH_OK) check_sentence(status, &error);
    ch_generator_free(generator);
}

/* Of a classifier, of what a mask hides, or of neither; an encoder reads and says. */
static void check_prediction(const ch_model *model) {
    int token = ch_model_get_info(model).classes ? 0 : ch_vocab_mask(ch_model_vocab(model));
    ch_prediction *prediction;
    ch_error error = {0};
    ch_status status = ch_predict(model, (ch_sequence){&token, 1}, &prediction, &error);
    if (status != CH_OK)
        check_sentence(status, &error);
    else
        ch_assert(ch_prediction_places(prediction) == 1 && ch_prediction_guess(prediction, 0, 0).number >= 0);
    ch_prediction_free(prediction);
}

static void check_look(const ch_model *model) {
    static const int token[] = {0};
    ch_attention *attention;
    ch_error error = {0};
    ch_status status = ch_look(model, (ch_sequence){token, 1}, 1, &attention, &error);
    if (status != CH_OK) check_sentence(status, &error);
    ch_attention_free(attention);
}

static void check_use(const ch_model *model) {
    const char *architecture = ch_model_get_info(model).architecture;
    if (strcmp(architecture, "encoder-only") == 0)
        check_prediction(model);
    else if (strcmp(architecture, "decoder-only") == 0 && ch_vocab_is_text(ch_model_vocab(model)))
        check_text(model);
    else
        check_decoding(model);
    check_look(model);
}

static ch_status open_model(const char *path, int heads, size_t length, ch_model **model) {
    ch_error error = {0};
    ch_set_allocator(allocate, reallocate, release);
    most = held = 0;
    ch_status status = ch_model_open(path, heads, model, &error);
    check_memory(length);
    ch_assert((status == CH_OK) == (*model != NULL));
    if (status == CH_OK) return status;
    check_sentence(status, &error);
    ch_assert(status != CH_NO_MEMORY && held == 0);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    char path[MEMORY_PATH];
    int memory = memory_file(bytes, length, path);
    ch_model *model;
    if (open_model(path, 0, length, &model) == CH_OK || open_model(path, 2, length, &model) == CH_OK) {
        ch_model_info info = ch_model_get_info(model);
        ch_assert(info.vocab_size == ch_vocab_size(ch_model_vocab(model)) && info.parameters > 0);
        check_numbers(model);
        if (info.max_positions < 64) check_use(model);
        ch_model_free(model);
    }
    ch_assert(held == 0);
    close(memory);
    return 0;
}
