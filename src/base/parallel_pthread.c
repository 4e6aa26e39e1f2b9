/* For builds without OpenMP: threads that the thread sanitizer can follow, made and joined per call. */
#include "base/parallel.h"
#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MOST_THREADS = 64 };

struct job {
    _Atomic int next;
    int pieces;
    void (*work)(int, void *);
    void *context;
};

static void *take_pieces(void *context) {
    struct job *job = context;
    for (int piece = job->next++; piece < job->pieces; piece = job->next++) job->work(piece, job->context);
    return NULL;
}

void parallel_for(int pieces, int threads, void (*work)(int, void *), void *context) {
    struct job job = {.pieces = pieces, .work = work, .context = context};
    int helpers = (threads < pieces ? threads : pieces) - 1;
    if (helpers > MOST_THREADS) helpers = MOST_THREADS;
    pthread_t helper[MOST_THREADS];
    int started = 0;
    while (started < helpers && pthread_create(&helper[started], NULL, take_pieces, &job) == 0) started++;
    take_pieces(&job); /* works alone if no thread could be had */
    for (int i = 0; i < started; i++) {
        int joined = pthread_join(helper[i], NULL);
        ch_assert(joined == 0);
    }
}
