#include "decode/sampler.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/text.h"

#include <math.h>

/* ---- options ---- */

ch_sampling ch_sampling_default(void) {
    return (ch_sampling){.top_p = 1, .repetition_penalty = 1};
}

ch_status sampling_check(const ch_sampling *o, ch_error *error) {
    if (!(o->temperature >= 0 && isfinite(o->temperature)))
        return fail(error, CH_USAGE, "temperature: expected a number from 0, which is greedy, found %g",
                    text_number(o->temperature));
    if (o->top_k < 0)
        return fail(error, CH_USAGE, "top-k: expected a whole number from 0, which is all tokens, found %d", o->top_k);
    if (!(o->top_p > 0 && o->top_p <= 1))
        return fail(error, CH_USAGE, "top-p: expected a share above 0, up to 1, found %g", text_number(o->top_p));
    if (!(o->min_p >= 0 && o->min_p <= 1))
        return fail(error, CH_USAGE, "min-p: expected a share from 0 to 1, found %g", text_number(o->min_p));
    if (!(o->repetition_penalty > 0 && isfinite(o->repetition_penalty)))
        return fail(error, CH_USAGE, "repetition-penalty: expected a number above 0, 1 for none, found %g",
                    text_number(o->repetition_penalty));
    if (o->repetition_window < 0)
        return fail(error, CH_USAGE,
                    "repetition-window: expected a whole number from 0, which is all tokens so far, found %d",
                    o->repetition_window);
    return CH_OK;
}

ch_status sampler_new(struct sampler *sampler, const ch_sampling *options, int vocab, ch_error *error) {
    ch_assert(vocab >= 1);
    *sampler = (struct sampler){0};
    ch_status status = sampling_check(options, error);
    if (status != CH_OK) return status;
    size_t tokens = (size_t)vocab;
    *sampler = (struct sampler){.options = *options,
                                .vocab = vocab,
                                .candidate = mem_new(tokens, sizeof *sampler->candidate),
                                .seen = mem_new(tokens, sizeof *sampler->seen),
                                .marked = mem_new(tokens, sizeof *sampler->marked)};
    if (sampler->candidate && sampler->seen && sampler->marked) return CH_OK;
    sampler_free(sampler);
    return fail_memory(error, "a sampler");
}

void sampler_free(struct sampler *sampler) {
    mem_free(sampler->candidate);
    mem_free(sampler->seen);
    mem_free(sampler->marked);
    *sampler = (struct sampler){0};
}

/* ---- the candidates, with their logits ---- */

/* Marks what came before, each token once; how many there are in sampler->marked. */
static int mark_seen(struct sampler *s, const int *history, size_t length) {
    size_t window = (size_t)s->options.repetition_window, from = window && window < length ? length - window : 0;
    int count = 0;
    if (s->options.repetition_penalty == 1) return 0;
    for (size_t i = from; i < length; i++) {
        ch_assert(history[i] >= 0 && history[i] < s->vocab);
        if (s->seen[history[i]]) continue;
        s->seen[history[i]] = true;
        s->marked[count++] = history[i];
    }
    return count;
}

/* What has a number, penalised; how many there are. */
static int gather(struct sampler *s, const real *logits, const int *history, size_t length) {
    int seen = mark_seen(s, history, length), count = 0;
    double penalty = s->options.repetition_penalty;
    for (int token = 0; token < s->vocab; token++) {
        double score = (double)logits[token];
        if (isnan(score) || score == -HUGE_VAL) continue;
        if (s->seen[token]) score = score > 0 ? score / penalty : score * penalty;
        s->candidate[count++] = (struct candidate){score, token};
    }
    for (int i = 0; i < seen; i++) s->seen[s->marked[i]] = false;
    return count;
}

/* ---- in descending order, as far as it is needed: a heap whose root is the largest ---- */

static bool goes_before(struct candidate a, struct candidate b) {
    return a.score > b.score || (a.score == b.score && a.token < b.token);
}

static void sink(struct candidate *heap, int at, int count) {
    struct candidate moved = heap[at];
    for (int child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && goes_before(heap[child + 1], heap[child])) child++;
        if (!goes_before(heap[child], moved)) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static void make_heap(struct candidate *heap, int count) {
    for (int at = count / 2 - 1; at >= 0; at--) sink(heap, at, count);
}

/* The root behind the heap, which then has one less. */
static struct candidate take_root(struct candidate *heap, int *count) {
    struct candidate root = heap[0];
    heap[0] = heap[--*count];
    sink(heap, 0, *count);
    heap[*count] = root;
    return root;
}

/* The candidates that were taken lie behind the heap in ascending order: to the front, descending. */
static void to_front(struct candidate *all, int from, int count) {
    for (int i = 0; i < count - from; i++) {
        int at = count - 1 - i;
        if (at < i) break;
        struct candidate front = all[i];
        all[i] = all[at];
        all[at] = front;
    }
}

/* The k first and those that equal the last of them. */
static int keep_top_k(struct candidate *all, int count, int k) {
    if (k == 0 || k >= count) return count;
    int left = count;
    double last = 0;
    make_heap(all, count);
    for (int i = 0; left > 0 && (i < k || all[0].score == last); i++) last = take_root(all, &left).score;
    to_front(all, left, count);
    return count - left;
}

/* ---- weights ---- */

static double largest(const struct candidate *all, int count) {
    double most = all[0].score;
    for (int i = 1; i < count; i++)
        if (all[i].score > most) most = all[i].score;
    return most;
}

/* Logits to exp((logit - largest) / t), 1 for the largest, also where it is infinite; their sum. */
static double weigh(struct candidate *all, int count, double temperature) {
    double most = largest(all, count), sum = 0;
    for (int i = 0; i < count; i++) {
        all[i].score = all[i].score == most ? 1 : exp((all[i].score - most) / temperature);
        sum += all[i].score;
    }
    return sum;
}

/* The first ones, as few as have the share p of the sum. */
static int keep_top_p(struct candidate *all, int count, double p, double sum) {
    if (p == 1) return count;
    int left = count;
    make_heap(all, count);
    for (double kept = 0; left > 0 && (left == count || kept < p * sum);) kept += take_root(all, &left).score;
    to_front(all, left, count);
    return count - left;
}

/* The largest weight is 1. */
static int keep_min_p(struct candidate *all, int count, double p) {
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (all[i].score >= p) all[kept++] = all[i];
    return kept;
}

/* ---- the choice ---- */

static int greedy_choice(const struct candidate *all, int count) {
    struct candidate best = all[0]; /* tokens ascend, so that of equals the lowest is taken */
    for (int i = 1; i < count; i++)
        if (all[i].score > best.score) best = all[i];
    return best.token;
}

/* 0 to below 1. */
static double draw(uint64_t seed, uint64_t position) {
    static const uint32_t counter[4] = {0};
    uint32_t word[4];
    philox(philox_derive(seed, PHILOX_SAMPLING, position), counter, word);
    return (double)(((uint64_t)word[0] << 32 | word[1]) >> 11) * 0x1p-53;
}

/* Where the draw falls among the weights that stand side by side. */
static int choose(const struct candidate *all, int count, double unit) {
    double sum = 0, passed = 0;
    for (int i = 0; i < count; i++) sum += all[i].score;
    int last = 0;
    for (int i = 0; i < count; i++) {
        if (all[i].score == 0) continue;
        passed += all[i].score;
        last = i;
        if (unit * sum < passed) break;
    }
    return all[last].token;
}

int sampler_next(struct sampler *s, const real *logits, const int *history, size_t length, uint64_t position) {
    const ch_sampling *o = &s->options;
    int count = gather(s, logits, history, length);
    if (count == 0) return -1;
    if (o->temperature == 0) return greedy_choice(s->candidate, count);
    count = keep_top_k(s->candidate, count, o->top_k);
    double sum = weigh(s->candidate, count, o->temperature);
    count = keep_top_p(s->candidate, count, o->top_p, sum);
    count = keep_min_p(s->candidate, count, o->min_p);
    return choose(s->candidate, count, draw(o->seed, position));
}
