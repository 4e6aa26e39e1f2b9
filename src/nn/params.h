/*
 * The parameter table: the single list of what a model owns. Layers declare named, shaped rows; one commit
 * lays out one block of values. Gradients and optimiser moments are blocks of the same layout. Optimiser,
 * clipping, files, listings and golden tests walk the table.
 *
 * Rows stand in declaration order, which is the registration order of the lesson's PyTorch module; so are the
 * draws of the initialisation. Their places in the block follow `together`: matrices that are multiplied with
 * the same input (W_q, W_k, W_v) lie side by side, so that one product serves them all.
 */
#ifndef CH_NN_PARAMS_H
#define CH_NN_PARAMS_H

#include "base/error.h"
#include "base/real.h"

#include <stdbool.h>

enum { PARAM_NAME = 96, PARAM_RANK = 3 };

/* Which layer's constructor a row belongs to: the initialiser needs it to draw in PyTorch's order. */
enum param_role { ROLE_EMBEDDING, ROLE_LINEAR_WEIGHT, ROLE_LINEAR_BIAS, ROLE_NORM_WEIGHT, ROLE_NORM_BIAS, ROLE_BUFFER };

struct param {
    char name[PARAM_NAME];
    int rank;
    int64_t shape[PARAM_RANK];
    size_t count;  /* elements */
    size_t offset; /* of the first element in the block, after params_commit */
    enum param_role role;
    int fan_in;     /* of its linear layer; 0 elsewhere */
    int frozen_row; /* a row that gets no gradient (the padding row of an embedding); -1: none */
    bool product;   /* rows are multiplied with it, as with the weight of a linear layer */
    bool residual;  /* the matrix that ends a residual branch */
    int together;   /* the row that this one lies behind; itself if it starts a group */
    int next;       /* the row that lies behind this one in its group; -1: none */
};

/* A layer that was given another row's matrix in place of its own, which PyTorch had drawn by then. */
struct replaced {
    int before, row; /* constructed before the row declared as number `before` */
    enum param_role role;
};
enum { MOST_REPLACED = 2 };

struct params {
    struct param *row;
    int count, capacity;
    struct replaced replaced[MOST_REPLACED];
    int replaced_count;
    size_t trained; /* elements of the block up to the last trained row, alignment included; buffers come behind */
    size_t block;   /* elements of the whole block */
    real *value;    /* NULL before params_allocate */
};

struct param_spec {
    enum param_role role;
    int rank;
    int64_t shape[PARAM_RANK];
    int fan_in;
    int frozen_row_plus_1; /* 0: none */
    int together_plus_1;   /* 0: starts a group of its own; else 1 + the id of the group's first row */
};

/* Adds a row called "<prefix>.<name>" (or `name` if prefix is empty); *id gets its number. */
ch_status params_declare(struct params *params, const char *prefix, const char *name, struct param_spec spec, int *id,
                         ch_error *error);
/* A layer of a role takes a row that is there instead of declaring its own. */
void params_share(struct params *params, int row, enum param_role role);
/* Fixes the offsets. Sizes are checked for overflow. */
ch_status params_commit(struct params *params, ch_error *error);
/* The block of values, zeroed. */
ch_status params_allocate(struct params *params, ch_error *error);
void params_free(struct params *params);

/* A block of the trained rows' layout, zeroed (gradients, moments); free with mem_free_aligned. */
real *params_new_block(const struct params *params);
/* Makes such a block of gradients 0, but for the weights of products: the first pass may write those (pass->fresh). */
void params_clear_sums(const struct params *params, real *grad);

/* Weights of products with the same input are multiplied as one matrix (out, in), the rows of a group together. A
 * product with its transpose (in, out) is faster, so who makes many keeps a block of them: this fills in the group that
 * starts at a row (nothing for other rows). */
void params_turn(const struct params *params, real *turned, int row);
/* Whether that is worth its memory: reading large ones is what takes the time. */
bool params_turn_pays(const struct params *params);
/* Room for that block, which may be read a vector beyond its end. */
real *params_new_turned(const struct params *params);

/* The row of that name, or NULL. */
const struct param *params_find(const struct params *params, const char *name);
bool param_is_trained(const struct param *param);
/* Elements of trained rows: what a person counts as parameters. */
int64_t params_count_trained(const struct params *params);
/* "(64, 256)" into out. */
void shape_text(int rank, const int64_t *shape, char *out, size_t size);

#endif
