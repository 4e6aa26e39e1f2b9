#include "nn/pass.h"

#include <string.h>

bool pass_measures(const struct pass *pass) {
    return arena_measuring(pass->arena);
}

real *pass_take(struct pass *pass, size_t rows, size_t channels) {
    size_t count;
    if (__builtin_mul_overflow(rows, channels, &count)) count = SIZE_MAX;
    return arena_take(pass->arena, count, sizeof(real));
}

const real *pass_value(const struct pass *pass, int param) {
    return pass->params->value + pass->params->row[param].offset;
}

real *pass_grad(const struct pass *pass, int param) {
    return pass->grad + pass->params->row[param].offset;
}

bool pass_wants(const struct pass *pass, const char *layer, const char *site) {
    return pass->capture && !pass_measures(pass) && pass->capture->wants(pass->capture->context, layer, site);
}

void pass_show(const struct pass *pass, const char *layer, const char *site, const real *x, int ld, int channels,
               const struct batch *batch) {
    if (pass_wants(pass, layer, site)) pass->capture->rows(pass->capture->context, layer, site, x, ld, channels, batch);
}

void pass_show_gradient(const struct pass *pass, const char *layer, const char *site, const real *dx, int ld,
                        int channels, int rows) {
    if (!pass_wants(pass, layer, site) || !pass->capture->gradient) return;
    pass->capture->gradient(pass->capture->context, layer, site, dx, ld, channels, rows);
}

/* FNV-1a */
static uint32_t hash(uint32_t h, const char *text) {
    for (; *text; text++) h = (h ^ (uint8_t)*text) * 16777619u;
    return h;
}

uint32_t pass_site(const char *layer, const char *site) {
    return hash(hash(hash(2166136261u, layer), "."), site);
}

static struct dropout dropout_of(const struct pass *pass, uint32_t site) {
    bool off = pass->dropout == DROPOUT_OFF;
    return (struct dropout){.rate = off ? 0 : pass->dropout_rate, .key = pass->dropout_key, .site = site};
}

/* PyTorch draws the padded tensor (B, longest, channels) in order; real rows are kept, the rest is drawn and lost. */
struct dropout pass_dropout_rows(struct pass *pass, uint32_t site, const struct batch *batch, int channels) {
    struct dropout dropout = dropout_of(pass, site);
    if (dropout.rate == 0 || pass->dropout != DROPOUT_TORCH) return dropout;
    uint8_t *drawn = arena_take(pass->arena, (size_t)batch->rows, (size_t)channels);
    if (pass_measures(pass)) return dropout;
    double keep = 1.0 - (double)dropout.rate;
    for (int b = 0; b < batch->sequences; b++)
        for (int t = 0; t < batch->longest; t++) {
            uint8_t *row = t < batch->length[b] ? drawn + (size_t)(batch->offset[b] + t) * (size_t)channels : NULL;
            for (int c = 0; c < channels; c++) {
                bool kept = torch_rng_bernoulli(pass->torch, keep);
                if (row) row[c] = kept;
            }
        }
    dropout.drawn = drawn;
    return dropout;
}

static void draw_map(struct torch_rng *torch, uint8_t *map, double keep, int queries, int keys, int all_queries,
                     int all_keys) {
    for (int i = 0; i < all_queries; i++)
        for (int j = 0; j < all_keys; j++) {
            bool kept = torch_rng_bernoulli(torch, keep);
            if (i < queries && j < keys) map[(size_t)i * (size_t)keys + (size_t)j] = kept;
        }
}

struct dropout pass_dropout_weights(struct pass *pass, uint32_t site, const struct batch *queries,
                                    const struct batch *keys, int heads) {
    struct dropout dropout = dropout_of(pass, site);
    if (dropout.rate == 0 || pass->dropout != DROPOUT_TORCH) return dropout;
    struct scores shape = {.query = queries, .key = keys, .heads = heads};
    uint8_t *drawn = arena_take(pass->arena, scores_packed_size(&shape), 1);
    if (pass_measures(pass)) return dropout;
    for (int b = 0; b < queries->sequences; b++)
        for (int h = 0; h < heads; h++)
            draw_map(pass->torch, drawn + scores_packed(&shape, b, h), 1.0 - (double)dropout.rate, queries->length[b],
                     keys->length[b], queries->longest, keys->longest);
    dropout.drawn = drawn;
    return dropout;
}
