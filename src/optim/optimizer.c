#include "optim/optimizer.h"

static const struct optimizer *const variants[] = {&optimizer_adam, &optimizer_adam_default, &optimizer_adamw, NULL};

const ch_variant *optimizer_row(size_t i) {
    return variants[i] ? &variants[i]->variant : NULL;
}

struct optimizer_constants optimizer_resolve(const struct optimizer *optimizer, struct optimizer_constants asked) {
    const struct optimizer_constants *own = &optimizer->own;
    return (struct optimizer_constants){.beta1 = asked.beta1 > 0 ? asked.beta1 : own->beta1,
                                        .beta2 = asked.beta2 > 0 ? asked.beta2 : own->beta2,
                                        .epsilon = asked.epsilon > 0 ? asked.epsilon : own->epsilon};
}
