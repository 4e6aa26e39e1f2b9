/*
 * Family ffn: the network applied to every position alike. A variant is an activation in one of two skeletons:
 *   two layers   y = dropout(act(x W1t + b1)) W2t + b2          rows "net.0", "net.3", as in the lesson's nn.Sequential
 *   gated        y = dropout(act(x Gt) * (x Ut)) Dt             rows "gate", "up", "down", without biases
 * Where the derivative can be read off the output (ReLU), nothing else is kept; elsewhere the first keeps the
 * derivative, and the second what the activation got.
 */
#ifndef CH_NN_FFN_H
#define CH_NN_FFN_H

#include "nn/dropout.h"
#include "nn/linear.h"

struct ffn;

struct ffn_saved {
    const real *x;      /* (N, D) */
    const real *before; /* (N, F) the activation's slope, or what it gave if that tells; gated: (N, 2F), gate and up */
    const real *hidden; /* (N, F) after activation and dropout: what the last layer saw */
    struct dropout_saved dropout;
};

/* y = f(x); the same and, in place of x, f'(x), which has most of its work in common; dx = dy * f'(x). In place is
 * allowed. */
struct activation {
    void (*forward)(real *y, const real *x, size_t count);
    void (*forward_slope)(real *y, real *x, size_t count); /* NULL: backward takes y for x, and nothing is kept */
    void (*backward)(real *dx, const real *dy, const real *x, size_t count);
};

struct ffn_variant {
    ch_variant variant;
    struct activation activation;
    ch_status (*declare)(struct ffn *ffn, struct params *params, ch_error *error);
    real *(*forward)(struct pass *pass, const struct ffn *ffn, const real *x, const struct batch *batch,
                     struct ffn_saved *saved);
    real *(*backward)(struct pass *pass, const struct ffn *ffn, const real *dy, int rows,
                      const struct ffn_saved *saved);
};

struct ffn {
    const struct ffn_variant *variant;
    char name[PARAM_NAME];
    int width, hidden;
    bool biased; /* of two layers; gated ones have no biases */
    struct linear up, down;
    struct linear gate, joined; /* gated: `up` lies behind the gate, one product serves both */
    uint32_t dropout_site;
};

extern const struct ffn_variant ffn_relu, ffn_gelu, ffn_gelu_tanh, ffn_swiglu, ffn_geglu;
const ch_variant *ffn_row(size_t i);

ch_status ffn_declare(struct ffn *ffn, const struct ffn_variant *variant, struct params *params, const char *name,
                      int width, int hidden, bool biased, ch_error *error);

/* ---- the skeletons: members of a variant ---- */

ch_status two_layers_declare(struct ffn *ffn, struct params *params, ch_error *error);
real *two_layers_forward(struct pass *pass, const struct ffn *ffn, const real *x, const struct batch *batch,
                         struct ffn_saved *saved);
real *two_layers_backward(struct pass *pass, const struct ffn *ffn, const real *dy, int rows,
                          const struct ffn_saved *saved);

ch_status gated_declare(struct ffn *ffn, struct params *params, ch_error *error);
real *gated_forward(struct pass *pass, const struct ffn *ffn, const real *x, const struct batch *batch,
                    struct ffn_saved *saved);
real *gated_backward(struct pass *pass, const struct ffn *ffn, const real *dy, int rows, const struct ffn_saved *saved);

#endif
