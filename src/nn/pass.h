/*
 * Pass: everything that one walk through a model needs besides the model and the batch. Nothing is global.
 * Faults, gates and whatever else substitutes a part of the computation hang here, so that layers stay as they are.
 */
#ifndef CH_NN_PASS_H
#define CH_NN_PASS_H

#include "base/arena.h"
#include "base/profile.h"
#include "base/torch_rng.h"
#include "kernels/kernels.h"
#include "nn/params.h"

/* Someone who wants to see intermediates. A site is a layer's name and a word: "dec.1.cross_attn", "weights". */
struct capture {
    bool (*wants)(void *context, const char *layer, const char *site);
    /* x (N, channels), rows ld apart. */
    void (*rows)(void *context, const char *layer, const char *site, const real *x, int ld, int channels,
                 const struct batch *batch);
    /* x (T, S) of one sequence and head. */
    void (*map)(void *context, const char *layer, const char *site, int sequence, int head, const real *x, int queries,
                int keys);
    /* dx (rows, channels): the gradient of a site's rows, in the order of backward. NULL: nobody asks. */
    void (*gradient)(void *context, const char *layer, const char *site, const real *dx, int ld, int channels,
                     int rows);
    /* dx (T, S): the gradient of a map, before those of query, key and value. NULL: nobody asks. */
    void (*map_gradient)(void *context, const char *layer, const char *site, int sequence, int head, const real *dx,
                         int queries, int keys);
    void *context;
};

enum dropout_kind { DROPOUT_OFF, DROPOUT_PHILOX, DROPOUT_TORCH };

/* Multiplies the heads of one attention by numbers; names are unique. */
struct gate {
    const char *layer;
    const real *value; /* (H) */
};

/* Edges that one attention may not use. */
struct cut {
    const char *layer;
    const struct knockout *knockouts;
    int count;
};

struct pass {
    const struct params *params;
    const real *turned;  /* weights of linear layers as params_turn leaves them; NULL: nobody keeps them */
    real *grad;          /* a block of gradients to add to; NULL: inference, nothing is saved for backward */
    bool fresh;          /* those of products are written, not added to: params_clear_sums has left them as they were */
    struct arena *arena; /* measuring: the walk only counts memory */
    const struct attention_core *core;
    enum dropout_kind dropout;
    real dropout_rate;
    struct philox_key dropout_key;
    struct torch_rng *torch; /* for DROPOUT_TORCH: drawn in order, over the padded tensor */
    const struct capture *capture;
    struct profile *profile; /* of this thread; NULL: nobody asks where the time goes */
    const struct gate *gates;
    int gate_count;
    const struct cut *cuts;
    int cut_count;
};

/* Leaves of the walk return after taking their memory when this is true. */
bool pass_measures(const struct pass *pass);

real *pass_take(struct pass *pass, size_t rows, size_t channels);
const real *pass_value(const struct pass *pass, int param);
real *pass_grad(const struct pass *pass, int param);

bool pass_wants(const struct pass *pass, const char *layer, const char *site);
/* Shows rows to whoever asked for them. */
void pass_show(const struct pass *pass, const char *layer, const char *site, const real *x, int ld, int channels,
               const struct batch *batch);

/* Shows the gradient of what pass_show showed. */
void pass_show_gradient(const struct pass *pass, const char *layer, const char *site, const real *dx, int ld,
                        int channels, int rows);

/* The number of a dropout site: the same for the same name in every model. */
uint32_t pass_site(const char *layer, const char *site);

/* A mask over rows (N, channels) or over weights (T, S) of every head, as this pass drops. */
struct dropout pass_dropout_rows(struct pass *pass, uint32_t site, const struct batch *batch, int channels);
struct dropout pass_dropout_weights(struct pass *pass, uint32_t site, const struct batch *queries,
                                    const struct batch *keys, int heads);

#endif
