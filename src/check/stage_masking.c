/*
 * Stage masking: the future-leak test. The decoder's input is changed at one position after another: no logit before it
 * may move, not by a bit, and those from it on must, or the test could not fail. Rows are computed by the same
 * operations in the same order whatever the other rows hold, so that "exactly zero" is a fair demand.
 */
#include "base/memory.h"
#include "check/bench.h"
#include "check/check.h"

#include <string.h>

/* Largest |a - b| over rows (count) of n; infinite where a number is not one. */
static double change(const real *a, const real *b, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]);
        if (!(d <= most)) most = isnan(d) ? (double)INFINITY : d;
    }
    return most;
}

struct leak {
    int position, row; /* of the changed token; the first row before it that moved, or -1 */
    double before, after;
};

/* Another token: a symbol, or where there is but one, a special one. */
static int another(const struct ch_vocab *vocab, int token) {
    int next = (token + 1) % vocab->symbols;
    return next != token ? next : ch_vocab_size(vocab) - 1;
}

static struct leak try_position(struct bench *bench, const real *base, int position) {
    int rows = frame_last(&bench->shard.frame)->rows, vocab = ch_vocab_size(&bench->model->vocab);
    int *token = &bench->shard.frame.target.token[position], old = *token;
    *token = another(&bench->model->vocab, old);
    const real *logits = bench_logits(bench);
    *token = old;
    struct leak leak = {.position = position, .row = -1};
    for (int n = 0; n < position; n++) {
        size_t at = (size_t)n * (size_t)vocab;
        double d = change(logits + at, base + at, (size_t)vocab);
        if (d > 0 && leak.row < 0) leak.row = n;
        leak.before = fmax(leak.before, d);
    }
    size_t at = (size_t)position * (size_t)vocab;
    leak.after = change(logits + at, base + at, (size_t)(rows - position) * (size_t)vocab);
    return leak;
}

/* The first row of x (rows, columns) with a number that is not finite, or -1. */
static int row_without_numbers(const real *x, int rows, int columns) {
    for (int i = 0; i < rows * columns; i++)
        if (!isfinite(x[i])) return i / columns;
    return -1;
}

static ch_status judge_all(struct check *check, struct bench *bench, const real *base) {
    int rows = frame_last(&bench->shard.frame)->rows,
        bad = row_without_numbers(base, rows, ch_vocab_size(&check->model->vocab));
    if (bad >= 0)
        return check_result(check, false,
                            "the logits at decoder token %d are not finite: a weight or an intermediate is not (check "
                            "shapes --verbose shows which)",
                            bad);
    double least = (double)INFINITY;
    for (int position = 0; position < rows; position++) {
        struct leak leak = try_position(bench, base, position);
        check_detail(check, "token %d changed: logits before it move by %g, from it on by %g", position, leak.before,
                     leak.after);
        if (leak.row >= 0)
            return check_result(check, false,
                                "the future leaks: changing token %d of the decoder's input moves the logits of "
                                "position %d by %g",
                                position, leak.row, leak.before);
        if (!(leak.after > 0) || isinf(leak.after))
            return check_result(check, false,
                                "changing token %d of the decoder's input moves no logit from there on (%g): a leak "
                                "could not be seen",
                                position, leak.after);
        least = fmin(least, leak.after);
    }
    return check_result(check, true,
                        "each of %d decoder tokens changed: the logits before it move by exactly 0, from it on by %.2g "
                        "or more",
                        rows, least);
}

static ch_status run(struct check *check, ch_error *error) {
    if (!check->model->config.arch->decoder)
        return check_result(check, true, "there is no future to hide: every row of an encoder sees all others");
    if (ch_vocab_size(&check->model->vocab) == 1)
        return check_result(check, true, "there is but one token, so that nothing can change");
    struct ch_examples pair;
    ch_status status = bench_pair(&pair, check->model, check->recipe, error);
    if (status != CH_OK) return status;
    struct pass pass = {.core = check->recipe->attention, .dropout = DROPOUT_OFF};
    struct bench bench;
    pair.count = 1; /* the longest */
    status = bench_new(&bench, check->model, &pass, &pair, false, error);
    if (status == CH_OK) {
        size_t count = (size_t)frame_last(&bench.shard.frame)->rows * (size_t)ch_vocab_size(&check->model->vocab);
        real *base = mem_new(count, sizeof *base);
        if (base) memcpy(base, bench_logits(&bench), count * sizeof *base);
        status = base ? judge_all(check, &bench, base) : fail_memory(error, "the logits");
        mem_free(base);
        bench_free(&bench);
    }
    examples_release(&pair);
    return status;
}

const struct stage stage_masking = {
    .variant = {"masking", "no logit moves when a later token changes: nothing of the future leaks"},
    .wants_model = true,
    .run = run,
};
