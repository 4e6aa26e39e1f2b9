/* Named tensors as text and JSON: what dump and compare print. */
#ifndef CLI_TENSORS_H
#define CLI_TENSORS_H

#include "clearhead.h"

#include <jansson.h>

enum { TENSOR_SHAPE = 112 };

size_t tensor_count(const ch_tensor *tensor);
/* "(2, 5, 7)" */
void tensor_shape(const ch_tensor *tensor, char out[TENSOR_SHAPE]);
json_t *tensor_shape_json(const ch_tensor *tensor);
/* Element number `element`, counted row by row, as an index: "(1, 0, 3)". */
void tensor_index(const ch_tensor *tensor, int64_t element, char out[TENSOR_SHAPE]);
json_t *tensor_index_json(const ch_tensor *tensor, int64_t element);

/* Mean and deviation of all elements. */
struct tensor_figures {
    double mean, deviation;
};
struct tensor_figures tensor_figures(const double *value, size_t count);

/* The numbers in aligned rows, each behind its own, the matrices of a tensor (heads, rows, columns) apart; a tensor of
 * more than a thousand elements shows the first and the last three of each dimension. False as soon as standard output
 * has failed. */
bool tensor_put(const ch_tensor *tensor, const double *value);
/* Nested arrays of all of them. */
json_t *tensor_json(const ch_tensor *tensor, const double *value);

#endif
