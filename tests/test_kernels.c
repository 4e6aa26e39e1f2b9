/*
 * The small kernels against plain loops in long double: rows, layer norm, Adam, the score descriptor's refusals.
 * u is half an epsilon; a sum of n terms in 16 lanes rounds n/16 + 16 times on the way of any one term.
 */
#include "kernels/kernels.h"
#include "support.h"

#include <float.h>
#include <string.h>

static const double half_epsilon = sizeof(real) == sizeof(double) ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2;

enum { ROWS = 7, LONGEST = 70, MOST = ROWS * LONGEST };

/* ---- rows: sums in the order of the plain loop, so the bits are the same ---- */

static void biases(void **state) {
    (void)state;
    for (int channels = 1; channels <= LONGEST; channels++) {
        real y[MOST], b[LONGEST], db[LONGEST], expected[MOST], expected_db[LONGEST];
        size_t count = (size_t)(ROWS * channels);
        fill_random(y, count, 1, 1);
        fill_random(b, (size_t)channels, 2, 1);
        fill_random(db, (size_t)channels, 3, 1);
        for (int c = 0; c < channels; c++) {
            expected_db[c] = db[c];
            for (int n = 0; n < ROWS; n++) {
                expected_db[c] += y[n * channels + c];
                expected[n * channels + c] = y[n * channels + c] + b[c];
            }
        }
        bias_backward(db, y, ROWS, channels);
        bias_forward(y, b, ROWS, channels);
        check_same("y + b", y, expected, count);
        check_same("db", db, expected_db, (size_t)channels);
    }
}

static void additions_and_clearing(void **state) {
    (void)state;
    real x[MOST], y[MOST], before[MOST];
    fill_random(x, MOST, 1, 1);
    fill_random(y, MOST, 2, 1);
    memcpy(before, y, sizeof y);
    add(y, x, MOST - 3);
    for (int i = 0; i < MOST; i++) assert_true(y[i] == (i < MOST - 3 ? before[i] + x[i] : before[i]));
    memcpy(y, before, sizeof y);
    clear_rows(y + 5, LONGEST, ROWS, 9);
    for (int i = 0; i < MOST; i++) assert_true(y[i] == (i % LONGEST >= 5 && i % LONGEST < 14 ? 0 : before[i]));
}

static void relu(void **state) {
    (void)state;
    const real x[] = {-2, -RC(1e-30), 0, RC(1e-30), 3, RC(INFINITY), -RC(INFINITY), RC(NAN)};
    const real expected[] = {0, 0, 0, RC(1e-30), 3, RC(INFINITY), 0, RC(NAN)};
    const real expected_dx[] = {0, 0, 0, 13, 14, 15, 0, 0};
    real y[8], dx[8], dy[8];
    for (int i = 0; i < 8; i++) dy[i] = (real)(10 + i);
    relu_forward(y, x, 8);
    check_close("relu", y, expected, 8, 0);
    relu_backward(dx, dy, y, 8);
    check_close("dx of relu", dx, expected_dx, 8, 0);
    relu_backward(dy, dy, y, 8);
    check_close("dx of relu in place", dy, expected_dx, 8, 0);
    memcpy(y, x, sizeof y);
    relu_forward(y, y, 8);
    check_close("relu in place", y, expected, 8, 0);
}

static void embeddings(void **state) {
    (void)state;
    enum { VOCAB = 5, FROZEN = 3 };
    static const int token[ROWS] = {1, 3, 0, 1, 4, 1, 3};
    const real scale = RC(1.7);
    /* Three rows at most share a token, each term is below 3 and each sum below 10. A fused multiply-add rounds once,
     * the plain loop twice: three times 13 u on either side. */
    struct figure figure = {"gradient of an embedding", 2 * 3 * 13 * half_epsilon, 0};
    for (int width = 1; width <= LONGEST; width++) {
        real w[VOCAB * LONGEST], dw[VOCAB * LONGEST], expected_dw[VOCAB * LONGEST], y[MOST], expected[MOST];
        size_t table = (size_t)(VOCAB * width), count = (size_t)(ROWS * width);
        fill_random(w, table, 1, 1);
        fill_random(dw, table, 2, 1);
        memcpy(expected_dw, dw, sizeof dw);
        embedding_forward(y, w, token, scale, ROWS, width);
        for (int i = 0; i < ROWS * width; i++) {
            expected[i] = scale * w[token[i / width] * width + i % width];
            if (token[i / width] != FROZEN) expected_dw[token[i / width] * width + i % width] += scale * y[i];
        }
        check_same("an embedding", y, expected, count);
        embedding_backward(dw, y, token, scale, FROZEN, ROWS, width);
        figure_check(&figure, dw, expected_dw, table);
        check_same("the frozen row", dw + FROZEN * width, expected_dw + FROZEN * width, (size_t)width);
        real all[VOCAB * LONGEST] = {0};
        embedding_backward(all, y, token, scale, -1, ROWS, width);
        for (int d = 0; d < width; d++) assert_true(all[FROZEN * width + d] != 0);
    }
    figure_show(&figure);
}

static void positions(void **state) {
    (void)state;
    static const int position[ROWS] = {0, 1, 2, 0, 9, 4, 9};
    for (int width = 1; width <= LONGEST; width++) {
        real table[10 * LONGEST], y[MOST], expected[MOST];
        fill_random(table, (size_t)(10 * width), 1, 1);
        fill_random(y, (size_t)(ROWS * width), 2, 1);
        for (int i = 0; i < ROWS * width; i++) expected[i] = y[i] + table[position[i / width] * width + i % width];
        position_add(y, table, position, ROWS, width);
        check_same("positions", y, expected, (size_t)(ROWS * width));
    }
}

/* ---- layer norm ---- */

static const double epsilon = 1e-5;

struct exact_norm {
    long double mean, rstd, largest; /* largest |x| */
};

static struct exact_norm exact_norm(const real *x, int channels) {
    struct exact_norm exact = {0};
    long double variance = 0;
    for (int c = 0; c < channels; c++) {
        exact.mean += (long double)x[c] / channels;
        exact.largest = fmaxl(exact.largest, fabsl((long double)x[c]));
    }
    for (int c = 0; c < channels; c++) variance += powl((long double)x[c] - exact.mean, 2) / channels;
    exact.rstd = 1 / sqrtl(variance + (long double)(real)epsilon);
    return exact;
}

/*
 * The mean is off by (C/16 + 16 + 1) u of the largest |x|, which xhat sees times rstd; each difference rounds once
 * more; the sum of squares, the root and the quotient are off by (C/16 + 20) u of themselves. So xhat is off by at
 * most (C/16 + 20) u (1 + largest * rstd) (1 + |xhat|).
 */
static void layer_norm(void **state) {
    (void)state;
    double worst = 0;
    for (int channels = 1; channels <= LONGEST; channels++) {
        real x[MOST], y[MOST], w[LONGEST], b[LONGEST], mean[ROWS], rstd[ROWS];
        fill_random(x, (size_t)(ROWS * channels), (uint64_t)channels, 2);
        fill_random(w, (size_t)channels, 2, 2);
        fill_random(b, (size_t)channels, 3, 1);
        for (int i = 0; i < channels; i++) x[i] += 100; /* the first row: a mean far larger than its deviation */
        layernorm_forward(y, mean, rstd, x, w, b, RC(epsilon), ROWS, channels);
        for (int n = 0; n < ROWS; n++) {
            const real *in = x + n * channels;
            struct exact_norm exact = exact_norm(in, channels);
            double relative = (channels / 16 + 20) * half_epsilon, u = half_epsilon;
            double spread = 1 + (double)(exact.largest * exact.rstd);
            assert_true(fabs((double)mean[n] - (double)exact.mean) <= relative * (double)exact.largest);
            assert_true(fabs((double)rstd[n] / (double)exact.rstd - 1) <= relative * spread);
            for (int c = 0; c < channels; c++) {
                long double xhat = ((long double)in[c] - exact.mean) * exact.rstd;
                long double expected = xhat * (long double)w[c] + (long double)b[c];
                double allowed =
                    relative * spread * (1 + fabs((double)xhat)) * fabs((double)w[c]) + 2 * u * fabs((double)expected);
                double error = fabs((double)((long double)y[n * channels + c] - expected));
                if (!(error <= allowed)) fail_msg("C = %d: y(%d, %d) is off by %g", channels, n, c, error);
                worst = fmax(worst, error / allowed);
            }
        }
    }
    print_message("             layer norm: worst %.3f of what is allowed\n", worst);
}

/* A row without variance: epsilon keeps the quotient finite, and what is left is b. */
static void layer_norm_of_equal_elements(void **state) {
    (void)state;
    enum { CHANNELS = 32 }; /* a power of two: the mean is exact */
    real x[CHANNELS], y[CHANNELS], w[CHANNELS], b[CHANNELS], mean, rstd;
    fill_value(x, CHANNELS, RC(3.5));
    fill_random(w, CHANNELS, 1, 1);
    fill_random(b, CHANNELS, 2, 1);
    layernorm_forward(y, &mean, &rstd, x, w, b, RC(epsilon), 1, CHANNELS);
    check_same("y", y, b, CHANNELS);
    x[3] = RC(NAN);
    layernorm_forward(y, &mean, &rstd, x, w, b, RC(epsilon), 1, CHANNELS);
    for (int c = 0; c < CHANNELS; c++) assert_true(isnan(y[c]));
}

/* RMS norm is layer norm of a row and its negative, side by side: their mean is 0. */
static void rms_norm(void **state) {
    (void)state;
    for (int channels = 1; channels <= LONGEST / 2; channels++) {
        real x[LONGEST], y[LONGEST], w[LONGEST], zero[LONGEST] = {0}, expected[LONGEST], mean, rstd, again;
        fill_random(x, (size_t)channels, (uint64_t)channels, 2);
        fill_random(w, (size_t)channels, 2, 2);
        for (int c = 0; c < channels; c++) {
            x[channels + c] = -x[c];
            w[channels + c] = w[c];
        }
        layernorm_forward(expected, &mean, &rstd, x, w, zero, RC(epsilon), 1, 2 * channels);
        rmsnorm_forward(y, &again, x, w, RC(epsilon), 1, channels);
        check_close("rms norm", y, expected, (size_t)channels, 1e-6);
        check_close("rstd", &again, &rstd, 1, 1e-6);
    }
}

/* Without a bias a row has the bits of one whose bias is 0, and so have its gradients. */
static void layer_norm_without_bias(void **state) {
    (void)state;
    for (int channels = 1; channels <= LONGEST; channels++) {
        size_t count = (size_t)(ROWS * channels);
        real x[MOST], y[MOST], dy[MOST], dx[MOST], w[LONGEST], zero[LONGEST] = {0}, mean[ROWS], rstd[ROWS];
        real dw[LONGEST] = {0}, expected[MOST], expected_dw[LONGEST] = {0}, db[LONGEST] = {0};
        fill_random(x, count, (uint64_t)channels, 2);
        fill_random(dy, count, 2, 1);
        fill_random(w, (size_t)channels, 3, 2);
        layernorm_forward(expected, mean, rstd, x, w, zero, RC(epsilon), ROWS, channels);
        layernorm_forward(y, mean, rstd, x, w, NULL, RC(epsilon), ROWS, channels);
        check_same("y", y, expected, count);
        layernorm_backward(expected, expected_dw, db, dy, x, mean, rstd, w, ROWS, channels);
        layernorm_backward(dx, dw, NULL, dy, x, mean, rstd, w, ROWS, channels);
        check_same("dx", dx, expected, count);
        check_same("dw", dw, expected_dw, (size_t)channels);
    }
}

/* ---- rotary positions ---- */

/* Pair i of a head by the formula. */
static void exact_turn(long double *a, long double *b, const struct rope *rope, int position, int pair, bool back) {
    long double angle =
        position / (long double)rope->divisor * powl((long double)rope->base, -2.0L * pair / rope->d_head);
    long double was = *a, sine = back ? -sinl(angle) : sinl(angle);
    *a = was * cosl(angle) - *b * sine;
    *b = *b * cosl(angle) + was * sine;
}

enum { TURNED_HEADS = 2, GAP = 3, WIDEST = 2 * 70, TURNED = ROWS * (TURNED_HEADS * WIDEST + GAP) };

/* Angles are computed in double: at position 100,000 they are off by 1e5 epsilons of a double and so by less than
 * 1e-10. What is left are the roundings of a cosine, a sine, two products and their sum, all of them below 2. */
static void check_turned(const real *found, const real *x, const struct rope *rope, const int *position, bool back) {
    int half = rope->d_head / 2, ld = TURNED_HEADS * rope->d_head + GAP;
    for (int n = 0; n < ROWS; n++)
        for (int h = 0; h < TURNED_HEADS; h++)
            for (int i = 0; i < half; i++) {
                int at = n * ld + h * rope->d_head, first = at + (rope->interleaved ? 2 * i : i);
                int second = at + (rope->interleaved ? 2 * i + 1 : i + half);
                long double a = (long double)x[first], b = (long double)x[second];
                exact_turn(&a, &b, rope, position[n], i, back);
                double allowed = 8 * half_epsilon + 1e-10;
                assert_true(fabs((double)((long double)found[first] - a)) <= allowed);
                assert_true(fabs((double)((long double)found[second] - b)) <= allowed);
            }
    for (int n = 0; n < ROWS; n++) /* what lies between rows is nobody's */
        for (int c = ld - GAP; c < ld; c++) assert_true(found[n * ld + c] == x[n * ld + c]);
}

/* Every even width, pairs of both kinds, a table that ends before the positions do. */
static void rotary_positions(void **state) {
    (void)state;
    static const int position[ROWS] = {0, 1, 5, 6, 7, 1000, 100000};
    enum { KNOWN = 7 };
    for (int kind = 0; kind < 4; kind++)
        for (int d_head = 2; d_head <= WIDEST; d_head += 2) {
            struct rope rope = {.d_head = d_head,
                                .interleaved = kind & 1,
                                .base = 10000,
                                .divisor = kind & 2 ? 2.5 : 1,
                                .positions = KNOWN};
            real table[KNOWN * WIDEST], x[TURNED], y[TURNED], computed[TURNED];
            size_t count = (size_t)(ROWS * (TURNED_HEADS * d_head + GAP));
            fill_random(x, count, (uint64_t)d_head, 1);
            rope_table(table, &rope, KNOWN);
            rope.table = table;
            memcpy(y, x, sizeof y);
            rope_rotate(y, TURNED_HEADS * d_head + GAP, &rope, position, ROWS, TURNED_HEADS, false);
            check_turned(y, x, &rope, position, false);
            memcpy(y, x, sizeof y);
            rope_rotate(y, TURNED_HEADS * d_head + GAP, &rope, position, ROWS, TURNED_HEADS, true);
            check_turned(y, x, &rope, position, true);
            rope.positions = 0; /* the same angles, computed */
            memcpy(computed, x, sizeof computed);
            rope_rotate(computed, TURNED_HEADS * d_head + GAP, &rope, position, ROWS, TURNED_HEADS, true);
            check_close("angles that are computed", computed, y, count, 4 * half_epsilon);
        }
}

static real product(const real *a, const real *b, int count) {
    real sum = 0;
    for (int i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

/* q at p and k at j give what they give at p + shift and j + shift: three products of 16 terms below 1 each; an angle
 * is off by a few half epsilons of a double, which is 5e-12 at most. */
static void rotary_scores_know_distances_alone(void **state) {
    (void)state;
    enum { D_HEAD = 16, PAIR = 2 };
    for (int kind = 0; kind < 2; kind++) {
        struct rope rope = {.d_head = D_HEAD, .interleaved = kind, .base = 10000, .divisor = 1};
        for (int shift = 0; shift < 5000; shift += 123) {
            real x[PAIR * D_HEAD], moved[PAIR * D_HEAD], farther[PAIR * D_HEAD];
            const int near[PAIR] = {9, 4}, same[PAIR] = {9 + shift, 4 + shift}, other[PAIR] = {10 + shift, 4 + shift};
            fill_random(x, PAIR * D_HEAD, (uint64_t)shift, 1);
            memcpy(moved, x, sizeof x);
            memcpy(farther, x, sizeof x);
            rope_rotate(x, D_HEAD, &rope, near, PAIR, 1, false);
            rope_rotate(moved, D_HEAD, &rope, same, PAIR, 1, false);
            rope_rotate(farther, D_HEAD, &rope, other, PAIR, 1, false);
            real expected = product(x, x + D_HEAD, D_HEAD), found = product(moved, moved + D_HEAD, D_HEAD);
            check_close("a score", &found, &expected, 1, 3 * D_HEAD * (8 * half_epsilon + 5e-12));
            assert_true(fabs((double)(product(farther, farther + D_HEAD, D_HEAD) - expected)) > 1e-4);
        }
    }
}

/* ---- activations ---- */

static long double normal_below(long double x) {
    return erfcl(-x / sqrtl(2)) / 2;
}

static long double exact_gelu(long double x) {
    return x * normal_below(x);
}

static long double exact_gelu_slope(long double x) {
    return normal_below(x) + x * expl(-x * x / 2) / sqrtl(2 * 3.14159265358979323846L);
}

static long double exact_gelu_tanh(long double x) {
    return x / 2 * (1 + tanhl(sqrtl(2 / 3.14159265358979323846L) * (x + 0.044715L * x * x * x)));
}

static long double exact_gelu_tanh_slope(long double x) {
    long double root = sqrtl(2 / 3.14159265358979323846L), t = tanhl(root * (x + 0.044715L * x * x * x));
    return (1 + t) / 2 + x / 2 * (1 - t * t) * root * (1 + 3 * 0.044715L * x * x);
}

static long double exact_silu(long double x) {
    return x / (1 + expl(-x));
}

static long double exact_silu_slope(long double x) {
    long double s = 1 / (1 + expl(-x));
    return s + x * s * (1 - s);
}

static const struct {
    const char *name;
    void (*forward)(real *y, const real *x, size_t count);
    void (*forward_slope)(real *y, real *x, size_t count);
    void (*backward)(real *dx, const real *dy, const real *x, size_t count);
    long double (*exact)(long double x), (*slope)(long double x);
} activations[] = {
    {"gelu", gelu_forward, gelu_forward_slope, gelu_backward, exact_gelu, exact_gelu_slope},
    {"gelu-tanh", gelu_tanh_forward, gelu_tanh_forward_slope, gelu_tanh_backward, exact_gelu_tanh,
     exact_gelu_tanh_slope},
    {"silu", silu_forward, silu_forward_slope, silu_backward, exact_silu, exact_silu_slope},
};
enum { ACTIVATIONS = sizeof activations / sizeof *activations, POINTS = 30001 };

/* About a dozen roundings each, and what the polynomial of the normal tail leaves is two more. */
static void check_points(const char *name, const real *found, const real *x, long double (*exact)(long double)) {
    double worst = 0;
    for (int i = 0; i < POINTS; i++) {
        long double expected = exact((long double)x[i]);
        double allowed = 14 * half_epsilon * fmax(1, fabs((double)expected));
        double error = fabs((double)((long double)found[i] - expected));
        if (!(error <= allowed)) fail_msg("%s of %.9g is off by %g", name, (double)x[i], error);
        worst = fmax(worst, error / allowed);
    }
    print_message("             %s: worst %.3f of what is allowed\n", name, worst);
}

static void activations_are_exact(void **state) {
    (void)state;
    static real x[POINTS], y[POINTS], one[POINTS], slope[POINTS];
    for (int i = 0; i < POINTS; i++) {
        x[i] = RC((i - POINTS / 2) / 1000.0);
        one[i] = 1;
    }
    for (int a = 0; a < ACTIVATIONS; a++) {
        activations[a].forward(y, x, POINTS);
        check_points(activations[a].name, y, x, activations[a].exact);
        activations[a].backward(y, one, x, POINTS);
        check_points("its derivative", y, x, activations[a].slope);
        memcpy(slope, x, sizeof slope);
        activations[a].forward_slope(y, slope, POINTS);
        check_points("with its derivative", y, x, activations[a].exact);
        check_points("its derivative beside it", slope, x, activations[a].slope);
    }
}

/* In place, at every length, at the ends and with NaN. */
static void activations_anywhere(void **state) {
    (void)state;
    for (int a = 0; a < ACTIVATIONS; a++) {
        real x[50], y[50], dx[50], dy[50], copy[50];
        for (size_t n = 0; n <= 50; n++) {
            fill_random(x, 50, 7, 4);
            fill_random(dy, 50, 8, 1);
            activations[a].forward(y, x, 50);
            activations[a].backward(dx, dy, x, 50);
            memcpy(copy, x, sizeof copy);
            activations[a].forward(copy, copy, n);
            check_same(activations[a].name, copy, y, n);
            check_same("what lies behind", copy + n, x + n, 50 - n);
            activations[a].backward(dy, dy, x, n);
            check_same("in place", dy, dx, n);
            memcpy(copy, x, sizeof copy);
            activations[a].forward_slope(dx, copy, n);
            check_same("what lies behind slopes", copy + n, x + n, 50 - n);
        }
        const real far[] = {RC(1e10), -RC(1e10), 0, RC(NAN)};
        activations[a].forward(y, far, 4);
        assert_true(y[0] == far[0] && y[1] == 0 && y[2] == 0 && isnan(y[3]));
        for (int i = 0; i < 4; i++) dy[i] = 1;
        activations[a].backward(dx, dy, far, 4);
        assert_true(dx[0] == 1 && dx[1] == 0 && dx[2] == RC(0.5) && isnan(dx[3]));
    }
}

/* ---- optimiser ---- */

enum { WEIGHTS = 67, STEPS = 50 };

struct moments {
    long double w[WEIGHTS], m[WEIGHTS], v[WEIGHTS];
};

static const double lr = 0.01, beta1 = 0.9, beta2 = 0.98, adam_epsilon = 1e-3;

static void exact_adam(struct moments *a, const real *g, long double grad_scale, int t) {
    const long double b1 = (long double)beta1, b2 = (long double)beta2;
    for (int i = 0; i < WEIGHTS; i++) {
        long double grad = grad_scale * (long double)g[i];
        a->m[i] = b1 * a->m[i] + (1 - b1) * grad;
        a->v[i] = b2 * a->v[i] + (1 - b2) * grad * grad;
        long double mean = a->m[i] / (1 - powl(b1, t)), square = a->v[i] / (1 - powl(b2, t));
        a->w[i] -= (long double)lr * mean / (sqrtl(square) + (long double)adam_epsilon);
    }
}

/*
 * m is off by at most 20 u of the largest gradient (its rounding, remembered ten steps, and that of beta1), and the
 * root of v is at least a tenth of it within 50 steps: the quotient is off by 200 u, v and the constants add 60 u.
 * So a step puts w off by 260 u lr, and by u |w| when it is subtracted; |w| stays below 2.
 */
static void adam_equals_its_formula(void **state) {
    (void)state;
    struct figure figure = {"weights after 50 steps of Adam", STEPS * half_epsilon * (260 * lr + 2), 0};
    struct moments exact = {0};
    real w[WEIGHTS], m[WEIGHTS] = {0}, v[WEIGHTS] = {0}, g[WEIGHTS], expected[WEIGHTS];
    fill_random(w, WEIGHTS, 1, 1);
    for (int i = 0; i < WEIGHTS; i++) exact.w[i] = (long double)w[i];
    for (int t = 1; t <= STEPS; t++) {
        real grad_scale = t % 3 ? 1 : RC(0.25);
        fill_random(g, WEIGHTS, (uint64_t)(100 + t), 1);
        g[5] = 0; /* no gradient ever: nothing moves */
        adam_update(w, m, v, g, grad_scale, lr, beta1, beta2, adam_epsilon, 1 - pow(beta1, t), 1 - pow(beta2, t),
                    WEIGHTS);
        exact_adam(&exact, g, (long double)grad_scale, t);
        for (int i = 0; i < WEIGHTS; i++) expected[i] = (real)exact.w[i];
        figure_check(&figure, w, expected, WEIGHTS);
        assert_true(w[5] == expected[5]);
    }
    figure_show(&figure);
}

static void squares(void **state) {
    (void)state;
    real x[1003];
    fill_random(x, 1003, 1, 3);
    for (size_t n = 0; n <= 1003; n += n < 70 ? 1 : 933) {
        long double exact = 0;
        for (size_t i = 0; i < n; i++) exact += (long double)x[i] * (long double)x[i];
        double allowed = (double)(n / 8 + 9) * DBL_EPSILON / 2 * (double)exact; /* summed in double */
        assert_true(fabs((double)((long double)sum_of_squares(x, n) - exact)) <= allowed);
    }
    x[500] = RC(NAN);
    assert_true(isnan(sum_of_squares(x, 1003)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(biases),
        cmocka_unit_test(additions_and_clearing),
        cmocka_unit_test(relu),
        cmocka_unit_test(rms_norm),
        cmocka_unit_test(activations_are_exact),
        cmocka_unit_test(activations_anywhere),
        cmocka_unit_test(embeddings),
        cmocka_unit_test(positions),
        cmocka_unit_test(layer_norm),
        cmocka_unit_test(layer_norm_of_equal_elements),
        cmocka_unit_test(layer_norm_without_bias),
        cmocka_unit_test(rotary_positions),
        cmocka_unit_test(rotary_scores_know_distances_alone),
        cmocka_unit_test(adam_equals_its_formula),
        cmocka_unit_test(squares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
