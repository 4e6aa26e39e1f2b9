/* Family init: the first values of the parameters. */
#ifndef CH_NN_INIT_H
#define CH_NN_INIT_H

#include "base/family.h"
#include "base/philox.h"
#include "base/torch_rng.h"
#include "nn/params.h"

struct init {
    ch_variant variant;
    /* Fills every trained row of the table. torch: draw in PyTorch's order; NULL: Philox from the seed. */
    void (*fill)(struct params *params, uint64_t seed, struct torch_rng *torch);
    /* The variance that it is meant to give the elements of a matrix (out, in) and of the bias of that linear layer:
     * what a check of fresh weights compares with. */
    double (*matrix_variance)(int64_t out, int64_t in);
    double (*bias_variance)(int64_t in);
};

extern const struct init init_xavier, init_normal;
const ch_variant *init_row(size_t i);

/* ---- what variants share ---- */

/* Embeddings, learned positions among them, and weights of linear layers. */
bool init_is_matrix(const struct param *row);
/* Norms from weight 1 and bias 0. */
void init_norms(struct params *params);
void init_constant(struct params *params, const struct param *row, real value);

/* Four numbers of a distribution from four words; scale is its own. */
typedef void (*init_four)(double scale, const uint32_t bits[4], double number[4]);
/* Fills a row from its own stream, which its name chooses. */
void init_philox(struct params *params, const struct param *row, struct philox_key key, init_four four, double scale);

/* Draws what PyTorch's constructors draw, row after row. spare: of the normal numbers; NULL: nobody wants them. */
void init_torch_construct(struct params *params, struct torch_rng *torch, double *spare);

#endif
