/* Teams of threads: every piece is done once, job after job, whether the threads look or sleep between them. */
#include "base/parallel.h"
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_PIECES = 100 };

struct tally {
    _Atomic int times[MOST_PIECES];
};

static void count_piece(int piece, void *context) {
    struct tally *tally = context;
    tally->times[piece]++;
}

static void check_job(struct team *team, int pieces) {
    struct tally tally = {0};
    parallel_for(team, pieces, count_piece, &tally);
    for (int piece = 0; piece < MOST_PIECES; piece++) assert_int_equal(tally.times[piece], piece < pieces);
}

static void every_piece_once(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 3, 8, 64};
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        struct team *team = team_new(threads[t]);
        assert_non_null(team);
        assert_int_equal(team_threads(team), threads[t]);
        for (int pieces = 0; pieces <= MOST_PIECES; pieces += 1 + pieces / 3) check_job(team, pieces);
        team_free(team);
    }
}

static void without_a_team(void **state) {
    (void)state;
    check_job(NULL, 7);
    team_free(NULL);
}

/* Jobs that follow at once find threads that look; after a pause the threads sleep and have to be woken. */
static void many_jobs(void **state) {
    (void)state;
    struct team *team = team_new(3);
    for (int job = 0; job < 3000; job++) {
        if (job % 500 == 0) usleep(20000);
        check_job(team, 2 + job % 5);
    }
    team_free(team);
}

static void add_piece(int piece, void *context) {
    int *sum = context;
    sum[piece] += piece;
}

/* What a job wrote is there when it is over, for the caller and for the next job. */
static void jobs_see_each_other(void **state) {
    (void)state;
    struct team *team = team_new(4);
    int sum[16] = {0};
    for (int job = 0; job < 1000; job++) parallel_for(team, 16, add_piece, sum);
    for (int piece = 0; piece < 16; piece++) assert_int_equal(sum[piece], 1000 * piece);
    team_free(team);
}

static void teams_that_never_worked(void **state) {
    (void)state;
    for (int threads = 1; threads < 20; threads++) team_free(team_new(threads));
}

static bool blocks(int number) {
    sigset_t mask;
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
    return sigismember(&mask, number);
}

/* A slow piece each, so that the helpers have theirs. */
static void look_at_signals(int piece, void *context) {
    (void)piece;
    pthread_t *caller = context;
    bool mine = pthread_equal(pthread_self(), *caller);
    if (blocks(SIGINT) == mine || blocks(SIGTERM) == mine) abort();
    usleep(20000);
}

static void signals_are_the_callers(void **state) {
    (void)state;
    pthread_t caller = pthread_self();
    struct team *team = team_new(3);
    parallel_for(team, 3, look_at_signals, &caller);
    assert_false(blocks(SIGINT) || blocks(SIGTERM));
    team_free(team);
}

static void no_more_threads_than_processors(void **state) {
    (void)state;
    unsetenv("OMP_NUM_THREADS");
    int all = parallel_threads(0);
    assert_true(all >= 1);
    assert_int_equal(parallel_threads(1), 1);
    assert_int_equal(parallel_threads(100000), all);
    static const char *const texts[] = {"1", "", "x", "-3", "0", "99999999999999999999"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        setenv("OMP_NUM_THREADS", texts[t], 1);
        assert_int_equal(parallel_threads(0), t == 0 ? 1 : all);
        assert_int_equal(parallel_threads(1), 1);
    }
    unsetenv("OMP_NUM_THREADS");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_once),
        cmocka_unit_test(without_a_team),
        cmocka_unit_test(many_jobs),
        cmocka_unit_test(jobs_see_each_other),
        cmocka_unit_test(teams_that_never_worked),
        cmocka_unit_test(signals_are_the_callers),
        cmocka_unit_test(no_more_threads_than_processors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
