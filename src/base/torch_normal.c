/*
 * normal_ of PyTorch's CPU generator. 16 numbers and more come in blocks of 16 in float: the cosines of Box and
 * Muller's pairs in the first half of a block, the sines in the second. Logarithm, sine and cosine are Moshier's of the
 * Cephes library in single precision (his reductions and coefficients), with the roundings of PyTorch's code for
 * processors with AVX2: a product whose sum follows is not rounded. Fewer than 16 numbers are drawn one by one in
 * double.
 */
#include "base/torch_rng.h"

#include <string.h>

enum { BLOCK = 16, HALF = 8 };
static const double two_pi = 6.28318530717958647693;

/* a[0] x^(n-1) + ... + a[n-1] */
static float horner(const float *a, int n, float x) {
    float y = a[0];
    for (int i = 1; i < n; i++) y = fmaf(y, x, a[i]);
    return y;
}

/* x > 0: 2^exponent times m in sqrt(1/2)..sqrt(2), and a polynomial in m - 1. */
static float logarithm(float x) {
    static const float a[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                              -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                              2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
    int exponent;
    float m = frexpf(x, &exponent);
    if (m < 0.70710678118654752440f) {
        exponent--;
        m *= 2;
    }
    float d = m - 1, square = d * d, e = (float)exponent;
    float y = fmaf(horner(a, 9, d) * d, square, e * -2.12194440e-4f); /* ln 2 in two parts */
    y = fmaf(square, -0.5f, y);
    return fmaf(e, 0.693359375f, d + y);
}

/* Both of 0..2 pi: what is left of the nearest even multiple of pi / 4, one polynomial for each. */
static void sine_cosine(float x, float *sine, float *cosine) {
    static const float a[] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
    static const float b[] = {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f};
    int octant = ((int)(x * 1.27323954473516f) + 1) & ~1;
    float n = (float)octant;
    x = fmaf(n, -0.78515625f, x); /* pi / 4 in three parts */
    x = fmaf(n, -2.4187564849853515625e-4f, x);
    x = fmaf(n, -3.77489497744594108e-8f, x);
    float square = x * x;
    float s = fmaf(horner(a, 3, square) * square, x, x);
    float c = fmaf(horner(b, 3, square) * square, square, square * -0.5f) + 1;
    bool turned = octant & 2; /* by a quarter: sine and cosine change places */
    *sine = turned ? c : s;
    *cosine = turned ? s : c;
    if (octant & 4) *sine = -*sine;
    if (!((octant - 2) & 4)) *cosine = -*cosine;
}

static void draw_block(struct torch_rng *rng, real *out, float deviation) {
    float unit[BLOCK];
    for (int i = 0; i < BLOCK; i++) unit[i] = torch_rng_uniform_float(rng, 0, 1);
    for (int i = 0; i < HALF; i++) {
        float radius = sqrtf(-2 * logarithm(1 - unit[i])), sine, cosine;
        sine_cosine((float)two_pi * unit[i + HALF], &sine, &cosine);
        out[i] = radius * cosine * deviation;
        out[i + HALF] = radius * sine * deviation;
    }
}

static double draw_one(struct torch_rng *rng, double *spare) {
    rng->spare_normal = !rng->spare_normal;
    if (!rng->spare_normal) return *spare;
    double turn = torch_rng_uniform_double(rng), radius = sqrt(-2 * log(1 - torch_rng_uniform_double(rng)));
    *spare = radius * sin(two_pi * turn);
    return radius * cos(two_pi * turn);
}

void torch_rng_normal(struct torch_rng *rng, double *spare, real *out, int64_t n, double deviation) {
    if (n < BLOCK) {
        for (int64_t i = 0; i < n; i++) out[i] = (real)(float)(draw_one(rng, spare) * deviation);
        return;
    }
    for (int64_t i = 0; i + BLOCK <= n; i += BLOCK) draw_block(rng, out + i, (float)deviation);
    if (n % BLOCK == 0) return;
    for (int64_t i = 0; i < n % BLOCK; i++) torch_rng_u32(rng); /* drawn, and replaced by a last whole block */
    draw_block(rng, out + n - BLOCK, (float)deviation);
}
