/* What this machine can do: products of 1024 x 1024 x 1024 and copies, measured by the harness like every other case.
 */
#include "bench.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "kernels/gemm.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double seconds_each = 0.25;

/* ---- products: each thread has its own, and its own clock of processor time, so that what others do on the machine
 * does not lower the limit; what the threads take from each other does ---- */

enum { EDGE = 1024 };

struct products {
    real *a, *b, *c; /* (EDGE, EDGE), and a c for each thread */
    double *best;    /* (threads) seconds of a product */
};

static void products_free(struct products *p) {
    mem_free_aligned(p->a);
    mem_free_aligned(p->b);
    mem_free_aligned(p->c);
    mem_free(p->best);
}

static bool products_new(struct products *p, int threads, ch_error *error) {
    size_t square = (size_t)EDGE * EDGE;
    *p = (struct products){.a = input_reals(square, error),
                           .b = input_reals(square, error),
                           .c = input_reals(square * (size_t)threads, error),
                           .best = mem_new((size_t)threads, sizeof *p->best)};
    if (p->a && p->b && p->c && p->best) {
        input_fill(p->a, square, 1);
        input_fill(p->b, square, 2);
        return true;
    }
    products_free(p);
    fail_memory(error, "the machine's limits");
    return false;
}

static double processor_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void multiply(int thread, void *context) {
    struct products *p = context;
    double started = processor_time(), before = started, now = started;
    p->best[thread] = (double)INFINITY;
    while (now - started < seconds_each) {
        gemm(GEMM_N, GEMM_N, EDGE, EDGE, EDGE, p->a, EDGE, p->b, EDGE, false, p->c + (size_t)thread * EDGE * EDGE,
             EDGE);
        now = processor_time();
        p->best[thread] = fmin(p->best[thread], now - before);
        before = now;
    }
}

static ch_status best_products(int threads, double *rate, ch_error *error) {
    struct products p;
    struct team *team = team_new(threads);
    if (!team) return fail_memory(error, "the machine's limits");
    if (!products_new(&p, threads, error)) {
        team_free(team);
        return CH_NO_MEMORY;
    }
    parallel_for(team, threads, multiply, &p);
    *rate = 0;
    for (int t = 0; t < threads; t++) *rate += 2.0 * EDGE * EDGE * EDGE / p.best[t];
    products_free(&p);
    team_free(team);
    return CH_OK;
}

/* ---- copies ---- */

struct copy {
    char *from, *to;
    size_t bytes;
};

static ch_status nothing_to_verify(void *state, ch_error *error) {
    (void)state, (void)error;
    return CH_OK;
}

static ch_status copy_run(void *state, ch_error *error) {
    struct copy *c = state;
    (void)error;
    memcpy(c->to, c->from, c->bytes);
    __asm__ volatile("" ::"r"(c->to) : "memory"); /* nobody reads the copy, and it is made all the same */
    return CH_OK;
}

static struct work copy_work(const void *state) {
    return (struct work){.bytes = 2 * (double)((const struct copy *)state)->bytes};
}

/* Of so many bytes in all, read and written, up to a limit beyond any cache. */
static ch_status best_copy(double bytes, double *rate, ch_error *error) {
    const size_t most = (size_t)128 << 20;
    const struct kind kind = {.verify = nothing_to_verify, .run = copy_run, .work = copy_work};
    struct timing timing;
    struct copy copy = {.bytes = bytes / 2 < (double)most ? (size_t)(bytes / 2) : most};
    copy.from = mem_new_aligned(copy.bytes);
    copy.to = mem_new_aligned(copy.bytes);
    ch_status status = copy.from && copy.to ? CH_OK : fail_memory(error, "the machine's limits");
    if (status == CH_OK) {
        memset(copy.from, 1, copy.bytes); /* pages of zeros would all be one page */
        status = measure(&kind, &copy, seconds_each / 5, &timing, error);
    }
    if (status == CH_OK) *rate = timing.work.bytes / timing.least;
    mem_free_aligned(copy.from);
    mem_free_aligned(copy.to);
    return status;
}

/* ---- the public face ---- */

static void read_processor(char *name, size_t size) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, size, "unknown processor");
    while (file && fgets(line, sizeof line, file)) {
        char *value = strstr(line, ": ");
        if (strncmp(line, "model name", 10) != 0 || !value) continue;
        value[strcspn(value, "\n")] = '\0';
        snprintf(name, size, "%.*s", (int)size - 1, value + 2);
        break;
    }
    if (file) fclose(file);
}

ch_status machine_measure(struct machine *machine, int threads, ch_error *error) {
    *machine = (struct machine){.threads = threads};
    if (getloadavg(&machine->load, 1) != 1) machine->load = 0;
    read_processor(machine->processor, sizeof machine->processor);
    ch_status status = best_products(1, &machine->gemm_one, error);
    machine->gemm_all = machine->gemm_one;
    if (status == CH_OK && threads > 1) status = best_products(threads, &machine->gemm_all, error);
    if (status == CH_OK) status = best_copy(1e9, &machine->copy, error);
    return status;
}

ch_status machine_limit(const struct machine *machine, const struct kind *kind, const struct timing *timing,
                        double *limit, ch_error *error) {
    if (timing->work.flop <= 0) return best_copy(timing->work.bytes, limit, error);
    *limit = kind->threaded ? machine->gemm_all : machine->gemm_one;
    return CH_OK;
}
