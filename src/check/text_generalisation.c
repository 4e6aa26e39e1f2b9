/*
 * Stage generalisation of a text: the loss on what is held out, against two that need no context,
 *   ln V                                       of guesses without any knowledge,
 *   mean of -ln((n_v + 1) / (N + V))           of frequencies, n_v times token v among the N of the training part.
 * A model that is above the second has learned nothing of what stands behind what.
 */
#include "base/memory.h"
#include "check/text.h"
#include "recipe/material.h"

/* The tokens of the training part, specials of lines included, into count (V); how many. */
static double count_tokens(const struct corpus *corpus, double *count) {
    int lines = corpus->framing->is_line ? corpus->split : 0, end = lines ? corpus->begin[lines] : corpus->split;
    for (int i = 0; i < end; i++) count[corpus->token[i]]++;
    if (!lines) return end;
    count[corpus->sos] += lines;
    count[corpus->eos] += lines;
    return (double)end + 2.0 * lines;
}

/* Mean over the labels that are held out. */
static double loss_of_frequencies(const struct ch_examples *examples, const double *count, double total) {
    double loss = 0;
    int64_t labels = 0;
    for (int i = 0; i < examples->count; i++) {
        ch_sequence target = ch_examples_target(examples, (size_t)i);
        for (size_t t = examples->kind == EXAMPLE_SEQUENCE; t < target.length; t++) {
            if (target.tokens[t] < 0) continue;
            loss -= log((count[target.tokens[t]] + 1) / (total + examples->vocab.size));
            labels++;
        }
    }
    return loss / (double)labels;
}

static ch_status measure_frequencies(const struct material *material, double *loss, ch_error *error) {
    struct ch_examples examples;
    ch_status status = material_examples(material, &examples, material->corpus.held_out, error);
    if (status != CH_OK) return status;
    double *count = mem_new((size_t)examples.vocab.size, sizeof *count);
    if (count) {
        material_hold_out(material, &examples);
        *loss = loss_of_frequencies(&examples, count, count_tokens(&material->corpus, count));
    } else
        status = fail_memory(error, "the frequencies of tokens");
    mem_free(count);
    examples_release(&examples);
    return status;
}

static ch_status judge(struct check *check, const ch_evaluation *e, double frequencies, int vocab) {
    double uniform = log(vocab);
    check_line(check, "ln V = %.4f for V = %d: what guesses without knowledge pay", uniform, vocab);
    check_line(check, "%.4f: what the frequencies of the training part's tokens give, without any context",
               frequencies);
    if (!isnan(e->bits_per_character))
        check_line(check, "%s bits per character", check_number(e->bits_per_character, 4).text);
    bool passed = e->loss <= frequencies;
    return check_result(check, passed,
                        "loss %s on %lld held-out predictions, expected at most %.4f, that of frequencies%s",
                        check_number(e->loss, 4).text, (long long)e->total, frequencies,
                        passed ? "" : ": it makes nothing of what it reads");
}

ch_status text_generalisation(struct check *check, const struct ch_model *model, ch_error *error) {
    struct material material;
    struct vocab_plan vocab = config_vocab(&model->config);
    ch_evaluation evaluation;
    double frequencies = 0;
    ch_status status = ch_evaluate(model, check->recipe, 1, &evaluation, error);
    if (status == CH_OK) status = material_open(&material, check->recipe, &vocab, error);
    if (status != CH_OK) return status;
    status = measure_frequencies(&material, &frequencies, error);
    material_free(&material);
    return status == CH_OK ? judge(check, &evaluation, frequencies, model->net.outputs) : status;
}
