/*
 * Sampler: the next token from its logits. In this order, that of Hugging Face's transformers:
 *   repetition penalty   logits of tokens that came before are divided by it if positive, else multiplied
 *                        (Keskar et al. 2019, CTRL, section 4.1)
 *   temperature t        softmax(logits / t); t = 0: the largest logit, and nothing below is done
 *   top-k                the k largest, and whatever equals the last of them (Fan et al. 2018)
 *   top-p                of those the smallest set that has the share p (Holtzman et al. 2020); equals: the lower token
 *   min-p                of those whatever has at least the share p of the likeliest (Nguyen et al. 2024)
 *   one draw             a function of (seed, position)
 */
#ifndef CH_DECODE_SAMPLER_H
#define CH_DECODE_SAMPLER_H

#include "base/error.h"
#include "base/real.h"

/* A token that is left, with its logit or its weight, unnormalised. */
struct candidate {
    double score;
    int token;
};

struct sampler {
    ch_sampling options;
    int vocab;
    struct candidate *candidate; /* (V) */
    bool *seen;                  /* (V) all false between calls */
    int *marked;                 /* (V) which those are */
};

/* Each value in its range, or a sentence that names it. */
ch_status sampling_check(const ch_sampling *options, ch_error *error);

/* For a vocabulary of V tokens; checks the options. */
ch_status sampler_new(struct sampler *sampler, const ch_sampling *options, int vocab, ch_error *error);
void sampler_free(struct sampler *sampler);

/* The token at a position from its logits (V) and the tokens so far (length), from 0 to V - 1. A logit that is NaN or
 * minus infinity is never chosen; -1: there is no other. */
int sampler_next(struct sampler *sampler, const real *logits, const int *history, size_t length, uint64_t position);

#endif
