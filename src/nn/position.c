#include "nn/position.h"

static const struct position_variant *const variants[] = {&position_sinusoidal, &position_learned, &position_none,
                                                          NULL};

const ch_variant *position_row(size_t i) {
    return variants[i] ? &variants[i]->variant : NULL;
}

ch_status position_declare(struct position *position, const struct position_variant *variant, struct params *params,
                           int width, int max_positions, ch_error *error) {
    *position = (struct position){.variant = variant, .width = width, .max_positions = max_positions, .table = -1};
    return variant->declare(position, params, error);
}
