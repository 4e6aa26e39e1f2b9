/*
 * Problems for attention cores, and their comparison: every row of the table, and each path of the fused core whatever
 * the shape, against the explicit one; and the weights of all of them against the definition in long double.
 *
 * Outputs and gradients agree to 84 epsilons of max(1, |b|), which is 1e-5 in float; weights, which are at most 1,
 * to 1e-6, 8.4 epsilons.
 */
#ifndef TESTS_CORES_H
#define TESTS_CORES_H

#include "kernels/kernels.h"
#include "support.h"

enum { MOST_HEADS = 12, ORIGINAL_HEADS = 3 * MOST_HEADS };

/* A descriptor and the arrays it speaks of. */
struct problem {
    struct batch_buffer query, key;
    struct scores scores;
    int kv_of_head[MOST_HEADS], original_head[MOST_HEADS];
    int ldq, ldk, ldv, ldo;
    real *q, *k, *v, *dout;
    uint8_t *drawn;
    real slope[ORIGINAL_HEADS];
    real *table; /* (buckets, ORIGINAL_HEADS) */
};

/* Over two batches, which it takes; everything else is the caller's to set, then problem_fill. */
struct problem problem_new(struct batch_buffer query, struct batch_buffer key, int heads, int kv_heads, int d_head);
void problem_fill(struct problem *p, uint64_t seed);
/* drawn: masks drawn beforehand. After problem_fill. */
void set_dropout(struct problem *p, double rate, bool drawn);
/* A bias by distance; ALiBi's slopes are those of so many heads, of which the problem's are some. */
void set_alibi(struct problem *p, int heads);
void set_buckets(struct problem *p, int count, int max_distance, bool bidirectional);
void problem_free(struct problem *p);

/* Every row of the table, then each path of the fused core as a core of its own; NULL past the end. */
const struct attention_core *core_at(size_t i);

/* What a core makes of a problem. */
struct result {
    real *out, *dq, *dk, *dv, *dtable, *saved, *scratch;
    size_t saved_size, scratch_size;
};

struct result run_core(const struct attention_core *core, const struct problem *p);
void result_free(struct result *r);

/* Maps against the definition, and times V against what the core really gave. */
void check_maps(const struct attention_core *core, const struct problem *p, const struct result *r);
/* All of it, for all cores; then against the definition (definition.h). */
void check_problem(const struct problem *p);
void check_problem_exactly(const struct problem *p);

/* The worst differences, around a group of tests. */
int start_figures(void **state);
int show_figures(void **state);

#endif
