/* Several threads share one model, each with a decoder of its own: decode_threads MODEL */
#include <clearhead.h>

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, SOURCES = 100, LENGTH = 6 };

struct job {
    const ch_model *model; /* read-only: shared */
    int number, reversed;
    ch_error error;
};

static void *decode(void *context) {
    struct job *job = context;
    ch_decode_options options = {.threads = 1};
    ch_decoder *decoder;
    if (ch_decoder_new(job->model, &options, &decoder, &job->error)) return NULL;
    for (int n = 0; n < SOURCES; n++) {
        int token[LENGTH];
        for (int i = 0; i < LENGTH; i++) token[i] = (job->number * 31 + n * 7 + i * 3) % 10;
        const ch_sequence source = {token, LENGTH};
        ch_answer answer;
        if (ch_decoder_run(decoder, &source, 1, &answer, &job->error)) break;
        bool same = answer.length == LENGTH;
        for (int i = 0; same && i < LENGTH; i++) same = answer.tokens[i] == token[LENGTH - 1 - i];
        job->reversed += same;
    }
    ch_decoder_free(decoder);
    return NULL;
}

int main(int count, char **word) {
    ch_error error;
    ch_model *model;
    pthread_t thread[THREADS];
    struct job job[THREADS];
    if (count != 2) return fprintf(stderr, "usage: decode_threads MODEL\n"), 2;
    if (ch_model_open(word[1], 0, &model, &error)) return fprintf(stderr, "%s\n", error.message), 1;
    for (int i = 0; i < THREADS; i++) {
        job[i] = (struct job){.model = model, .number = i};
        if (pthread_create(&thread[i], NULL, decode, &job[i])) return fprintf(stderr, "no thread to be had\n"), 1;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        printf("thread %d: %d of %d reversed\n", i, job[i].reversed, SOURCES);
    }
    ch_model_free(model);
    return 0;
}
