/* No positions: only a causal mask tells the order of tokens, and an encoder sees a bag of them. */
#include "nn/position.h"

const struct position_variant position_none = {
    .variant = {"none", "no positions: only a causal mask tells the order"},
    .can_extend = true,
};
