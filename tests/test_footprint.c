/*
 * What a run takes of the machine's memory beside what `clearhead summary` foresaw: the peak of resident memory that
 * training adds to the program's start, setting by setting, within a tenth.
 */
#include "child.h"
#include "kernels/gemm.h"
#include "support.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const settings[] = {
    "--steps 300",
    "--steps 300 --threads 1",
    "--steps 300 --threads 4",
    "--steps 200 --validation 0",
    "--steps 200 --validation 2000",
    "--steps 200 --batch-size 16",
    "--steps 40 --batch-size 256",
    "--steps 200 --log-gradients",
    "--steps 60 --rng torch",
    "--steps 200 --tie all --optimizer adamw",
    "--steps 40 --symbols 3000 --tie target-output", /* large matrices of tokens, small others */
    "--steps 60 --max-len 60",
    "--steps 60 --max-len 60 --attention explicit",
    "--steps 200 --preset modern",
    "--steps 200 --preset gpt2",
    "--steps 60 --preset llama --max-len 60",
    "--steps 40 --batch-size 512 --task brackets --preset bert",
    "--steps 2 --d-model 256 --heads 8 --d-ff 1024 --layers 4 --symbols 7997 --min-len 10 --max-len 60", /* small */
};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* Resident memory says nothing where each byte has a shadow. */
static bool is_shadowed(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
    return true;
#endif
#endif
    const char *preloaded = getenv("LD_PRELOAD"); /* so valgrind and its like */
    return preloaded && strstr(preloaded, "valgrind");
}

/* Bytes of a script's one program at its peak. It takes over the peak of the fork that it grew from: a shell's. */
static double peak_of(const char *script) {
    struct rusage usage;
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int nowhere = open("/dev/null", O_RDWR);
        dup2(nowhere, STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(wait4(pid, &status, 0, &usage), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("failed: %s", script);
    return 1024.0 * (double)usage.ru_maxrss;
}

static double foreseen(const char *options) {
    char script[512];
    snprintf(script, sizeof script, "\"$C\" summary --json %s", options);
    assert_int_equal(run(script), 0);
    json_t *summary = parse_output(), *row;
    double total = 0;
    size_t i;
    json_array_foreach(json_object_get(summary, "memory"), i, row) {
        bool training = strcmp(json_string_value(json_object_get(row, "mode")), "training") == 0;
        if (training) total += (double)json_integer_value(json_object_get(row, "bytes"));
    }
    json_decref(summary);
    return total;
}

static void training_takes_what_summary_says(void **state) {
    (void)state;
    if (is_shadowed() || strcmp(gemm_backend(), "OpenBLAS") == 0) skip(); /* its buffers are the machine's affair */
    double start = peak_of("exec \"$C\" --version"), shell = peak_of("exec true");
    assert_true(shell < start);
    int bad = 0;
    for (int i = 0; i < SETTINGS; i++) {
        char script[512];
        snprintf(script, sizeof script,
                 "exec \"$C\" train %s %s --save-every 20 --log-every 20 --quiet --out \"$D/run\"",
                 strstr(settings[i], "--task") ? "" : "reverse", settings[i]);
        double added = peak_of(script) - start, expected = foreseen(settings[i]);
        run("rm -r \"$D/run\"");
        print_message("%6.1f MB foreseen, %6.1f MB taken: %.3f  %s\n", expected / 1e6, added / 1e6, added / expected,
                      settings[i]);
        bad += fabs(added - expected) > 0.1 * expected;
    }
    assert_int_equal(bad, 0);
}

/* Lengths differ, and what grows with their squares is measured by the squares. */
static void longer_ranges_need_more(void **state) {
    (void)state;
    static const char *const core[] = {"fused", "explicit"};
    for (int c = 0; c < 2; c++) {
        char same[128], spread[128];
        snprintf(same, sizeof same, "--min-len 32 --max-len 32 --attention %s", core[c]);
        snprintf(spread, sizeof spread, "--min-len 4 --max-len 60 --attention %s", core[c]);
        assert_true(foreseen(same) < foreseen(spread));
    }
    assert_true(foreseen("--steps 1 --max-len 60") < foreseen("--steps 3000 --max-len 60"));
    assert_true(foreseen("--min-len 10 --steps 1") == foreseen("--min-len 10 --steps 3000"));
}

static int set_up(void **state) {
    (void)state;
    return child_set_up(CH_COMMAND, CH_TEST_DATA);
}

static int tear_down(void **state) {
    (void)state;
    return child_tear_down();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_takes_what_summary_says),
        cmocka_unit_test(longer_ranges_need_more),
    };
    return cmocka_run_group_tests_name("footprint", tests, set_up, tear_down);
}
