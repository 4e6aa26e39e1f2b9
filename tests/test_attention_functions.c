/* Attention on plain arrays against PyTorch running the article's code, and its own conventions. */
#include "models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const ch_attention_sizes golden_sizes = {.batch = 2, .heads = 3, .queries = 5, .keys = 7, .d_head = 4};
static struct st_file *file;

/* "<case>.<name>" as floats, which a build in double needs made from its numbers; NULL if there is none. */
static float *floats(const char *group, const char *name, size_t *count) {
    char prefix[32];
    const struct st_tensor *tensor;
    snprintf(prefix, sizeof prefix, "%s%s", group, *group ? "." : "");
    real *value = golden(file, prefix, name, &tensor);
    if (!value) return NULL;
    float *out = malloc(tensor->count * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < tensor->count; i++) out[i] = (float)value[i];
    if (count) *count = tensor->count;
    free(value);
    return out;
}

static unsigned char *mask_of(const char *name) {
    size_t count;
    float *value = floats("", name, &count);
    unsigned char *mask = malloc(count);
    assert_non_null(mask);
    for (size_t i = 0; i < count; i++) mask[i] = value[i] != 0;
    free(value);
    return mask;
}

static void check_golden(const char *group, const char *name, float *got) {
    size_t count;
    float *expected = floats(group, name, &count);
    char what[64];
    snprintf(what, sizeof what, "%s.%s", group, name);
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(got[i] - expected[i]) <= 1e-5f * fmaxf(1, fabsf(expected[i]))))
            fail_msg("%s[%zu]: %.9g, expected %.9g", what, i, (double)got[i], (double)expected[i]);
    free(expected);
    free(got);
}

/* An array to fill of as many numbers as the golden one, with something in it that must be overwritten. */
static float *room_for(const char *group, const char *name) {
    size_t count;
    float *room = floats(group, name, &count);
    if (!room) return NULL;
    for (size_t i = 0; i < count; i++) room[i] = 77;
    return room;
}

static void check_dot_product(const char *group, const unsigned char *mask) {
    ch_error error;
    float *q = floats(group, "q", NULL), *k = floats(group, "k", NULL), *v = floats(group, "v", NULL);
    float *dout = floats(group, "dout", NULL), *out = room_for(group, "out"), *weights = room_for(group, "weights");
    float *dq = room_for(group, "dq"), *dk = room_for(group, "dk"), *dv = room_for(group, "dv");
    check_ok(ch_scaled_dot_product_attention(&golden_sizes, q, k, v, mask, out, weights, &error), &error);
    check_ok(ch_scaled_dot_product_attention_backward(&golden_sizes, q, k, v, mask, dout, dq, dk, dv, &error), &error);
    check_golden(group, "out", out);
    check_golden(group, "weights", weights);
    check_golden(group, "dq", dq);
    check_golden(group, "dk", dk);
    check_golden(group, "dv", dv);
    free(q), free(k), free(v), free(dout);
}

static void scaled_dot_product(void **state) {
    (void)state;
    unsigned char *mask = mask_of("mask");
    check_dot_product("plain", NULL);
    check_dot_product("masked", mask);
    free(mask);
}

enum { PARTS = 8 };
static const char *const parts[PARTS] = {"w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o"};

static void check_multi_head(const char *group, const char *mask_name) {
    ch_error error;
    ch_attention_sizes sizes = golden_sizes;
    float *x = floats(group, "x", NULL), *memory = floats(group, "memory", NULL), *dout = floats(group, "dout", NULL);
    float *w[PARTS], *dw[PARTS];
    unsigned char *mask = mask_of(mask_name);
    for (int i = 0; i < PARTS; i++) {
        char name[8];
        snprintf(name, sizeof name, "d%s", parts[i]);
        w[i] = floats(group, parts[i], NULL);
        dw[i] = room_for(group, name);
    }
    if (!memory) sizes.keys = sizes.queries;
    const ch_attention_parameters p = {w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]};
    const ch_attention_gradients g = {dw[0], dw[1], dw[2], dw[3], dw[4], dw[5], dw[6], dw[7]};
    float *out = room_for(group, "out"), *weights = room_for(group, "weights");
    float *dx = room_for(group, "dx"), *dmemory = room_for(group, "dmemory");
    check_ok(ch_multi_head_attention(&sizes, &p, x, memory, mask, out, weights, &error), &error);
    check_ok(ch_multi_head_attention_backward(&sizes, &p, x, memory, mask, dout, dx, dmemory, &g, &error), &error);
    check_golden(group, "out", out);
    check_golden(group, "weights", weights);
    check_golden(group, "dx", dx);
    if (memory) check_golden(group, "dmemory", dmemory);
    for (int i = 0; i < PARTS; i++) {
        char name[8];
        snprintf(name, sizeof name, "d%s", parts[i]);
        if (dw[i]) check_golden(group, name, dw[i]);
        free(w[i]);
    }
    free(x), free(memory), free(dout), free(mask);
}

static void multi_head(void **state) {
    (void)state;
    check_multi_head("self", "causal");
    check_multi_head("self_biased", "causal");
    check_multi_head("cross", "mask");
}

/* A query that sees nothing: zeros in and zeros back, where the article's own code gives NaN. */
static void nothing_to_see(void **state) {
    (void)state;
    const ch_attention_sizes sizes = {1, 1, 2, 3, 2};
    const float q[] = {1, 2, 3, 4}, k[] = {1, 0, 0, 1, 1, 1}, v[] = {1, 2, 3, 4, 5, 6}, dout[] = {1, 1, 1, 1};
    const unsigned char mask[] = {0, 0, 0, 255, 0, 1};
    float out[4], weights[6], dq[4], dk[6], dv[6];
    assert_int_equal(ch_scaled_dot_product_attention(&sizes, q, k, v, mask, out, weights, NULL), CH_OK);
    assert_int_equal(ch_scaled_dot_product_attention_backward(&sizes, q, k, v, mask, dout, dq, dk, dv, NULL), CH_OK);
    for (int i = 0; i < 3; i++) assert_true(weights[i] == 0);
    assert_true(out[0] == 0 && out[1] == 0 && dq[0] == 0 && dq[1] == 0);
    assert_true(weights[4] == 0 && weights[3] > 0 && fabsf(weights[3] + weights[5] - 1) < 1e-6f);
    assert_true(dk[2] == 0 && dk[3] == 0 && dv[2] == 0 && dv[3] == 0); /* nobody saw the second key */
}

/* What stands in a hidden key's row is nothing to the weights; its value is multiplied by 0, which no NaN survives
 * unseen: so in PyTorch, and so the header says. */
static void hidden_rows(void **state) {
    (void)state;
    static const float wild[] = {NAN, INFINITY, -INFINITY};
    const ch_attention_sizes sizes = {1, 1, 2, 2, 1};
    const float q[] = {1, 2};
    const unsigned char mask[] = {1, 0, 1, 1}; /* the second key: hidden from the first query only */
    float out[2], weights[4];
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        const float k[] = {1, wild[i]}, v[] = {5, 7}, good[] = {1, 1}, bad[] = {5, wild[i]};
        assert_int_equal(ch_scaled_dot_product_attention(&sizes, q, k, v, mask, out, weights, NULL), CH_OK);
        assert_true(weights[0] == 1 && weights[1] == 0 && out[0] == 5);
        assert_int_equal(ch_scaled_dot_product_attention(&sizes, q, good, bad, mask, out, weights, NULL), CH_OK);
        assert_true(weights[0] == 1 && weights[1] == 0 && isnan(out[0]));
    }
}

static void unwanted_outputs(void **state) {
    (void)state;
    const ch_attention_sizes sizes = {1, 1, 1, 1, 1};
    const float one[] = {1}, w[] = {2};
    float out[1];
    const ch_attention_parameters p = {.w_q = w, .w_k = w, .w_v = w, .w_o = w};
    assert_int_equal(ch_scaled_dot_product_attention(&sizes, one, one, one, NULL, NULL, NULL, NULL), CH_OK);
    assert_int_equal(ch_multi_head_attention(&sizes, &p, one, NULL, NULL, out, NULL, NULL), CH_OK);
    assert_true(out[0] == 4);
    assert_int_equal(ch_multi_head_attention_backward(&sizes, &p, one, NULL, NULL, one, NULL, NULL, NULL, NULL), CH_OK);
}

static void bad_sizes(void **state) {
    (void)state;
    ch_error error;
    const float one[] = {1};
    float out[1];
    ch_attention_sizes sizes = {1, 1, 1, 0, 1};
    check_sentence(ch_scaled_dot_product_attention(&sizes, one, one, one, NULL, out, NULL, &error), CH_USAGE, &error,
                   "keys", "expected 1", "found 0", NULL);
    sizes = (ch_attention_sizes){1 << 20, 1 << 20, 1 << 20, 1 << 20, 1};
    check_sentence(ch_scaled_dot_product_attention(&sizes, one, one, one, NULL, out, NULL, &error), CH_NO_MEMORY,
                   &error, "do not fit", NULL);
    sizes = (ch_attention_sizes){1, 1, 1, 2, 1};
    const ch_attention_parameters p = {.w_q = one, .w_k = one, .w_v = one, .w_o = one};
    check_sentence(ch_multi_head_attention(&sizes, &p, one, NULL, NULL, out, NULL, &error), CH_USAGE, &error, "keys",
                   "found 2", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scaled_dot_product), cmocka_unit_test(multi_head), cmocka_unit_test(nothing_to_see),
        cmocka_unit_test(unwanted_outputs),   cmocka_unit_test(bad_sizes),  cmocka_unit_test(hidden_rows),
    };
    file = open_golden(CH_TEST_DATA "/attention_functions.safetensors");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    st_close(file);
    return failed;
}
