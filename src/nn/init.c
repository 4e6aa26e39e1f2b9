#include "nn/init.h"

static const struct init *const variants[] = {&init_xavier, NULL};

const ch_variant *init_row(size_t i) {
    return variants[i] ? &variants[i]->variant : NULL;
}
