#include "base/parallel.h"
#include "base/error.h"
#include "base/memory.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOOKS = 4000 }; /* before sleeping: some tens of microseconds */

/* A thread's own share of the pieces, which others take from when theirs are done: the same pieces find the same caches
 * from job to job. Alone on a line of those. */
struct share {
    _Alignas(64) _Atomic int next; /* piece that nobody has taken */
    int end;
};

/* What a helper is started with. */
struct helper {
    struct team *team;
    int number;
};

struct team {
    int threads, started;
    struct share *share;   /* (threads) */
    struct helper *helper; /* (threads - 1) */
    pthread_t *thread;     /* (threads - 1) */
    pthread_mutex_t mutex;
    pthread_cond_t job_given, job_done;
    _Atomic unsigned jobs; /* given so far: a new number is a new job */
    _Atomic int working;   /* threads that have not left the job */
    _Atomic int sleepers;  /* threads that wait for job_given */
    _Atomic bool main_sleeps;
    _Atomic bool dismissed;
    void (*work)(int, void *);
    void *context;
};

static void look_away(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

static void share_out(struct team *team, int pieces) {
    int threads = team->started + 1;
    for (int t = 0, begin = 0; t < threads; t++) {
        int end = (int)((int64_t)pieces * (t + 1) / threads);
        team->share[t].next = begin;
        team->share[t].end = end;
        begin = end;
    }
}

static void take_pieces(struct team *team, int number) {
    int threads = team->started + 1;
    for (int t = 0; t < threads; t++) {
        struct share *share = &team->share[(number + t) % threads];
        for (int piece = share->next++; piece < share->end; piece = share->next++) team->work(piece, team->context);
    }
}

/* ---- the helpers ---- */

static void await_job(struct team *team, unsigned seen) {
    for (int look = 0; look < LOOKS; look++) {
        if (team->jobs != seen) return;
        look_away();
    }
    pthread_mutex_lock(&team->mutex);
    team->sleepers++;
    while (team->jobs == seen) pthread_cond_wait(&team->job_given, &team->mutex);
    team->sleepers--;
    pthread_mutex_unlock(&team->mutex);
}

static void leave_job(struct team *team) {
    if (--team->working > 0 || !team->main_sleeps) return;
    pthread_mutex_lock(&team->mutex);
    pthread_cond_signal(&team->job_done);
    pthread_mutex_unlock(&team->mutex);
}

/* A helper enters at the job that it was started for: the caller counts it in before. */
static void *help(void *context) {
    const struct helper *helper = context;
    struct team *team = helper->team;
    for (unsigned seen = 0;; seen++) {
        await_job(team, seen);
        if (team->dismissed) return NULL;
        take_pieces(team, helper->number);
        leave_job(team);
    }
}

/* ---- the caller ---- */

static void free_memory(struct team *team) {
    mem_free(team->thread);
    mem_free(team->helper);
    mem_free_aligned(team->share);
    mem_free(team);
}

struct team *team_new(int threads) {
    struct team *team = mem_new(1, sizeof *team);
    if (!team) return NULL;
    team->threads = threads;
    team->thread = mem_new((size_t)threads, sizeof *team->thread);
    team->helper = mem_new((size_t)threads, sizeof *team->helper);
    team->share = mem_new_aligned((size_t)threads * sizeof *team->share);
    if (!team->thread || !team->helper || !team->share) {
        free_memory(team);
        return NULL;
    }
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->job_given, NULL);
    pthread_cond_init(&team->job_done, NULL);
    return team;
}

/* Every sleeper is awake, or sees the new number before it falls asleep. */
static void call_helpers(struct team *team) {
    team->jobs++;
    if (team->sleepers == 0) return;
    pthread_mutex_lock(&team->mutex);
    pthread_cond_broadcast(&team->job_given);
    pthread_mutex_unlock(&team->mutex);
}

static void await_helpers(struct team *team) {
    for (int look = 0; look < LOOKS; look++) {
        if (team->working == 0) return;
        look_away();
    }
    pthread_mutex_lock(&team->mutex);
    team->main_sleeps = true;
    while (team->working > 0) pthread_cond_wait(&team->job_done, &team->mutex);
    team->main_sleeps = false;
    pthread_mutex_unlock(&team->mutex);
}

void team_free(struct team *team) {
    if (!team) return;
    team->dismissed = true;
    call_helpers(team);
    for (int i = 0; i < team->started; i++) {
        int joined = pthread_join(team->thread[i], NULL);
        ch_assert(joined == 0);
    }
    pthread_cond_destroy(&team->job_given);
    pthread_cond_destroy(&team->job_done);
    pthread_mutex_destroy(&team->mutex);
    free_memory(team);
}

/* All at once, before the first job, so that each sees every job. Those that cannot be had are done without. The
 * program's signals are not theirs: its handlers run in its own threads. */
static void start_helpers(struct team *team) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (team->started < team->threads - 1) {
        struct helper *helper = &team->helper[team->started];
        *helper = (struct helper){team, team->started + 1};
        if (pthread_create(&team->thread[team->started], NULL, help, helper) != 0) break;
        team->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (team->started < team->threads - 1) team->threads = team->started + 1;
}

void parallel_for(struct team *team, int pieces, void (*work)(int, void *), void *context) {
    if (team && pieces > 1 && team->started < team->threads - 1) start_helpers(team);
    if (!team || pieces <= 1 || team->started == 0) {
        for (int piece = 0; piece < pieces; piece++) work(piece, context);
        return;
    }
    team->work = work;
    team->context = context;
    share_out(team, pieces);
    team->working = team->started;
    call_helpers(team);
    take_pieces(team, 0);
    await_helpers(team);
}

int team_threads(const struct team *team) {
    return team->threads;
}

static int processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

int parallel_threads(int asked) {
    const char *text = getenv("OMP_NUM_THREADS");
    long wanted = asked ? asked : text ? strtol(text, NULL, 10) : 0;
    int most = processors();
    return wanted >= 1 && wanted < most ? (int)wanted : most;
}
