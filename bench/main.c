/* The command line: which cases, for how long, and how the results are written. */
#include "bench.h"
#include "base/parallel.h"

#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const struct kind *const kinds[] = {&kind_gemm, &kind_attention, &kind_rows, &kind_train, &kind_decode};
enum { KINDS = sizeof kinds / sizeof *kinds, MOST_CASES = 1024, EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct options {
    double seconds;
    int threads;
    bool json, list;
    const char *results; /* a file; NULL: none */
    char *const *patterns;
    int pattern_count;
};

static const char usage[] =
    "usage: clearhead-bench [options] [PATTERN ...]\n"
    "\n"
    "Times kernels and whole models beside what this machine can do. Each case is first compared with its reference\n"
    "over the inputs that are timed; one that is wrong is not timed, and the exit code is 1.\n"
    "A PATTERN is the beginning of a case's name up to a slash, or has wildcards: attention/fused, 'gemm/*/up/*'.\n"
    "\n"
    "  --list        the names of the cases, and nothing else\n"
    "  --seconds S   time for each case, at least five samples (0.3)\n"
    "  --threads N   threads of whole models and of their limit; 0: one for each processor (0)\n"
    "  --json        a line of JSON for the machine, and one for each case\n"
    "  --results F   the same lines appended to a file, too\n"
    "  --help        this\n";

static int complain(int code, const char *what, const char *found) {
    fprintf(stderr, "clearhead-bench: %s%s%s%s\n", what, found ? ", found '" : "", found ? found : "",
            found ? "'" : "");
    return code;
}

/* ---- which cases ---- */

static bool matches_one(const char *pattern, const char *name) {
    size_t length = strlen(pattern);
    bool begins = strncmp(name, pattern, length) == 0 && (name[length] == '/' || name[length] == '\0');
    return begins || fnmatch(pattern, name, 0) == 0;
}

static bool matches(const struct options *options, const char *name) {
    for (int p = 0; p < options->pattern_count; p++)
        if (matches_one(options->patterns[p], name)) return true;
    return options->pattern_count == 0;
}

/* Calls `each` for every case that was asked for, until one does not return 0. */
static int walk(const struct options *options, int (*each)(const struct kind *, size_t, const char *, void *),
                void *context) {
    for (size_t k = 0; k < KINDS; k++) {
        char row[CASE_NAME], name[2 * CASE_NAME];
        for (size_t i = 0; kinds[k]->row(i, row); i++) {
            snprintf(name, sizeof name, "%s/%s", kinds[k]->name, row);
            if (!matches(options, name)) continue;
            int code = each(kinds[k], i, name, context);
            if (code) return code;
        }
    }
    return EXIT_DONE;
}

static int show_name(const struct kind *kind, size_t i, const char *name, void *context) {
    (void)kind, (void)i, (void)context;
    return printf("%s\n", name) >= 0 ? EXIT_DONE : EXIT_FAILED;
}

static int stop_at_first(const struct kind *kind, size_t i, const char *name, void *context) {
    (void)kind, (void)i, (void)name, (void)context;
    return EXIT_FAILED;
}

/* A pattern that no case has is a slip of the fingers. */
static bool all_match(const struct options *options) {
    for (int p = 0; p < options->pattern_count; p++) {
        struct options one = {.patterns = &options->patterns[p], .pattern_count = 1};
        if (walk(&one, stop_at_first, NULL)) continue;
        complain(EXIT_USAGE, "expected the name of a case or a pattern that one has (--list shows them)",
                 options->patterns[p]);
        return false;
    }
    return true;
}

/* ---- timing ---- */

struct session {
    const struct options *options;
    struct machine machine;
    FILE *json, *results; /* NULL: none */
    int count, wrong;
    const struct kind *kind;   /* that is being timed */
    double median[MOST_CASES]; /* of its cases; 0: not timed, or wrong */
};

static int write_failed(void) {
    return complain(EXIT_FAILED, "cannot write to standard output", NULL);
}

static int results_failed(const struct options *options) {
    fprintf(stderr, "clearhead-bench: cannot write to %s: %s\n", options->results, strerror(errno));
    return EXIT_FAILED;
}

static void set_beside_plain(struct session *session, const struct kind *kind, size_t i, struct timing *timing) {
    if (session->kind != kind) memset(session->median, 0, sizeof session->median);
    session->kind = kind;
    ch_assert(i < MOST_CASES);
    session->median[i] = timing->median;
    size_t plain = kind->plain ? kind->plain(i) : i;
    if (plain != i && session->median[plain] > 0) timing->of_plain = timing->median / session->median[plain];
}

/* A case that is wrong does not keep the others from being timed. */
static int time_case(const struct kind *kind, size_t i, const char *name, void *context) {
    struct session *session = context;
    struct timing timing;
    double limit = 0;
    ch_error error;
    session->count++;
    ch_status status = CH_FAILED;
    void *state = kind->open(i, session->machine.threads, &error);
    if (state) status = measure(kind, state, session->options->seconds, &timing, &error);
    kind->close(state);
    if (status == CH_OK) status = machine_limit(&session->machine, kind, &timing, &limit, &error);
    if (status == CH_OK) {
        set_beside_plain(session, kind, i, &timing);
        if (!report_case(name, kind, &timing, limit, session->json)) return write_failed();
        bool kept = !session->results || report_case(name, kind, &timing, limit, session->results);
        return kept ? EXIT_DONE : results_failed(session->options);
    }
    fprintf(stderr, "clearhead-bench: %s is not timed: %s\n", name, error.message);
    session->wrong++;
    return EXIT_DONE;
}

static int time_cases(struct session *session) {
    ch_error error;
    if (machine_measure(&session->machine, session->options->threads, &error))
        return complain(EXIT_FAILED, error.message, NULL);
    if (!report_machine(&session->machine, session->json)) return write_failed();
    if (session->results && !report_machine(&session->machine, session->results))
        return results_failed(session->options);
    int code = walk(session->options, time_case, session);
    if (code || !session->wrong) return code;
    fprintf(stderr, "clearhead-bench: %d of %d cases failed\n", session->wrong, session->count);
    return EXIT_FAILED;
}

static int time_all(const struct options *options) {
    struct session session = {.options = options, .json = options->json ? stdout : NULL};
    if (options->results && !(session.results = fopen(options->results, "a"))) return results_failed(options);
    int code = time_cases(&session);
    if (session.results && fclose(session.results) != 0 && !code) return results_failed(options);
    return code;
}

/* ---- options ---- */

static bool number(const char *text, double most, double *value) {
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    return *text && !*end && !errno && *value >= 0 && *value <= most;
}

static int parse(int count, char **words, struct options *options) {
    static const struct option table[] = {{"list", no_argument, NULL, 'l'},
                                          {"seconds", required_argument, NULL, 's'},
                                          {"threads", required_argument, NULL, 't'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"results", required_argument, NULL, 'r'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    double threads = 0;
    for (int option; (option = getopt_long(count, words, "h", table, NULL)) != -1;) {
        if (option == '?') return EXIT_USAGE; /* getopt has said why */
        if (option == 'h') return fputs(usage, stdout) >= 0 && fflush(stdout) == 0 ? -1 : write_failed();
        if (option == 'l') options->list = true;
        if (option == 'j') options->json = true;
        if (option == 'r') options->results = optarg;
        if (option == 's' && !number(optarg, 3600, &options->seconds))
            return complain(EXIT_USAGE, "--seconds: expected a number from 0 to 3600", optarg);
        if (option == 't' && (!number(optarg, 1024, &threads) || threads != floor(threads)))
            return complain(EXIT_USAGE, "--threads: expected a whole number from 0 to 1024", optarg);
    }
    options->threads = parallel_threads((int)threads);
    options->patterns = words + optind;
    options->pattern_count = count - optind;
    return EXIT_DONE;
}

int main(int count, char **words) {
    struct options options = {.seconds = 0.3};
    int code = parse(count, words, &options);
    if (code) return code < 0 ? EXIT_DONE : code;
    if (!all_match(&options)) return EXIT_USAGE;
    if (!options.list) return time_all(&options);
    return walk(&options, show_name, NULL) || fflush(stdout) ? write_failed() : EXIT_DONE;
}
