/*
 * Stage initial-loss: the loss of fresh weights against what arithmetic predicts.
 *
 * A model that knows nothing pays ln V. Random logits of deviation sigma cost more: the loss is the mean over rows of
 *   ln sum_v exp(z_v) - z_label = ln V + [ln mean_v exp(z_v) - mean z] - [z_label - mean z].
 * The first bracket is never negative (Jensen) and, as the mean of the exponential of a normal number is
 * exp(sigma^2 / 2), about sigma^2 / 2 for large V; but V is finite, and that mean over V deviates by the share
 *   e = sqrt((exp(sigma^2) - 1) / V).
 * The second bracket is 0 on average, but a batch is finite: it deviates by
 *   sigma sqrt(sum_v (p_v - 1/V)^2 + 1/N),   p_v the share of label v in the N labels.
 * Both are the most that they can be: they suppose the rows of the last layer as alike as can be, and weights of the
 * generator that are drawn independently. Four deviations each way make the band:
 *   ln V - m .. ln V + sigma^2 / 2 + sqrt(m^2 + ln(1 + 4 e)^2),   m four times the second.
 * An output that is tied to the embedding is not independent of its rows: the token just read has its own embedding in
 * its row, and a row of length sqrt(D) and an embedding of length sqrt(D variance) give it a logit of at most
 *   a = D sqrt(variance) (1 + 4 / sqrt(2 D)),   the bracket for four deviations of that length.
 * So the loss may come to ln(exp(high) + exp(a)), and a label that repeats the token just read may cost nothing.
 * sigma is not taken from the logits, which a wrong initialisation would make wide, but from what the initialisation is
 * meant to do: a normalised row has the squared length D, so sigma^2 = D variance(matrix) + variance(bias).
 */
#include "base/memory.h"
#include "check/bench.h"
#include "check/check.h"

enum { EXAMPLES = 64 }; /* whatever the batch: few labels would make the band wide */

struct measure {
    double loss, sigma; /* mean over rows; root of the mean variance of a row's logits */
    double spread;      /* sqrt(sum_v (p_v - 1/V)^2 + 1/N) */
    double repeats;     /* share of labels that are the token just read */
};

/* One row: adds its loss and the variance of its logits. */
static void add_row(struct measure *m, const real *z, int label, int vocab) {
    double most = (double)-INFINITY, sum = 0, mean = 0, variance = 0;
    for (int v = 0; v < vocab; v++) {
        most = fmax(most, (double)z[v]);
        mean += (double)z[v] / vocab;
    }
    for (int v = 0; v < vocab; v++) {
        sum += exp((double)z[v] - most);
        variance += ((double)z[v] - mean) * ((double)z[v] - mean) / vocab;
    }
    m->loss += most + log(sum) - (double)z[label];
    m->sigma += variance;
}

/* share (V), zeroed */
static struct measure measure(struct bench *bench, double *share) {
    struct measure m = {0};
    const struct frame *frame = &bench->shard.frame;
    int rows = frame->counted, vocab = bench->model->net.outputs;
    const int *read = (bench->model->net.arch->decoder ? &frame->target : &frame->source)->token;
    const real *logits = bench_logits(bench);
    for (int n = 0; n < frame->labels; n++) {
        int label = frame->label[n];
        if (label < 0) continue;
        add_row(&m, logits + (size_t)n * (size_t)vocab, label, vocab);
        share[label] += 1.0 / rows;
        m.repeats += read[n] == label ? 1.0 / rows : 0;
    }
    m.loss /= rows;
    m.sigma = sqrt(m.sigma / rows);
    m.spread = 1.0 / rows;
    for (int v = 0; v < vocab; v++) m.spread += (share[v] - 1.0 / vocab) * (share[v] - 1.0 / vocab);
    m.spread = sqrt(m.spread);
    return m;
}

struct band {
    double uniform, sigma, low, high;
};

static struct band band_of(const struct check *check, const struct measure *m) {
    const struct init *init = check->recipe->init;
    int width = check->model->config.d_model, vocab = check->model->net.outputs; /* or classes */
    double bias = check->model->config.bias->output ? init->bias_variance(width) : 0;
    double of_matrix = init->matrix_variance(vocab, width), variance = width * of_matrix + bias;
    struct band band = {.uniform = log(vocab), .sigma = sqrt(variance)};
    double labels = 4 * band.sigma * m->spread, few = log(1 + 4 * sqrt((exp(variance) - 1) / vocab));
    band.low = fmax(band.uniform - labels, 0); /* no loss is below */
    band.high = band.uniform + variance / 2 + hypot(labels, few);
    if (check->model->config.tie->output) {
        double own = width * sqrt(of_matrix) * (1 + 4 / sqrt(2.0 * width));
        band.high = fmax(band.high, own) + log1p(exp(-fabs(band.high - own)));
        band.low *= 1 - m->repeats;
    }
    return band;
}

static void explain(const struct check *check, const struct measure *m, const struct band *b) {
    int vocab = check->model->net.outputs;
    double offset = m->sigma * m->sigma / 2;
    check_line(check, "ln V = %.4f for V = %d: what a model that knows nothing pays", b->uniform, vocab);
    check_line(check,
               "logits deviate by sigma = %s (the initialisation predicts %s); sigma^2/2 = %s, ln V + "
               "sigma^2/2 = %s",
               check_number(m->sigma, 2).text, check_number(b->sigma, 2).text, check_number(offset, 2).text,
               check_number(b->uniform + offset, 2).text);
    check_line(check, "fresh weights lie within %s to %s; the lesson's band, for V = 13: 2.5 to 3.5",
               check_number(b->low, 2).text, check_number(b->high, 2).text);
}

/* A model of which nobody knows how far it was trained: everything below ln V was learned. */
static ch_status judge_model(struct check *check, const struct measure *m, const struct band *b) {
    if (m->loss < b->low)
        return check_result(check, true, "loss %.4f, far below ln V = %.4f: this model is trained, so that is right",
                            m->loss, b->uniform);
    if (m->loss <= b->high)
        return check_result(check, true, "loss %s, within %s to %s: no better than fresh weights",
                            check_number(m->loss, 4).text, check_number(b->low, 2).text, check_number(b->high, 2).text);
    return check_result(check, false,
                        "loss %s, above %s: worse than fresh weights; is it another task, or an output layer that "
                        "is wrong?",
                        check_number(m->loss, 4).text, check_number(b->high, 2).text);
}

static ch_status judge(struct check *check, const struct measure *m) {
    if (!isfinite(m->loss))
        return check_result(check, false,
                            "the loss is not finite: a weight or an intermediate is not (check shapes --verbose shows "
                            "which)");
    struct band b = band_of(check, m);
    explain(check, m, &b);
    if (!check->fresh) return judge_model(check, m, &b);
    if (m->loss >= b.low && m->loss <= b.high)
        return check_result(check, true, "loss %s, expected %s to %s", check_number(m->loss, 4).text,
                            check_number(b.low, 2).text, check_number(b.high, 2).text);
    const char *why =
        m->loss < b.low ? "are labels leaking into the input?" : "is the output layer or the initialisation wrong?";
    return check_result(check, false, "loss %s, expected %s to %s: %s", check_number(m->loss, 4).text,
                        check_number(b.low, 2).text, check_number(b.high, 2).text, why);
}

static ch_status measure_batch(struct check *check, const struct ch_examples *examples, ch_error *error) {
    struct pass pass = {.core = check->recipe->attention, .dropout = DROPOUT_OFF};
    struct bench bench;
    ch_status status = bench_new(&bench, check->model, &pass, examples, false, error);
    if (status != CH_OK) return status;
    double *share = mem_new((size_t)check->model->net.outputs, sizeof *share);
    if (share) {
        struct measure m = measure(&bench, share);
        status = judge(check, &m);
    } else
        status = fail_memory(error, "the shares of the labels");
    mem_free(share);
    bench_free(&bench);
    return status;
}

static ch_status run(struct check *check, ch_error *error) {
    ch_examples *examples;
    ch_status status = check_examples(check, EXAMPLES, &examples, error);
    if (status != CH_OK) return status;
    status = measure_batch(check, examples, error);
    ch_examples_free(examples);
    return status;
}

const struct stage stage_initial_loss = {
    .variant = {"initial-loss", "the loss of fresh weights is what ln V and the initialisation predict"},
    .wants_model = true,
    .needs_task = true,
    .run = run,
};
