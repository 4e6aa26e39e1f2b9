#include "nn/ffn.h"

#include <stdio.h>

static const struct ffn_variant *const variants[] = {&ffn_relu, NULL};

const ch_variant *ffn_row(size_t i) {
    return variants[i] ? &variants[i]->variant : NULL;
}

ch_status ffn_declare(struct ffn *ffn, const struct ffn_variant *variant, struct params *params, const char *name,
                      int width, int hidden, ch_error *error) {
    *ffn = (struct ffn){.variant = variant, .width = width, .hidden = hidden};
    snprintf(ffn->name, sizeof ffn->name, "%s", name);
    ffn->dropout_site = pass_site(name, "hidden");
    return variant->declare(ffn, params, error);
}
