/* VECTORISED marks a function whose loops are compiled for several instruction sets; the loader picks one for
 * the machine it runs on. One binary runs anywhere and is fast where it can be. */
#ifndef CH_BASE_VECTOR_H
#define CH_BASE_VECTOR_H

#include "base/real.h"

#include <stdbool.h>

#if defined(CH_VECTOR) && defined(__x86_64__) && __GNUC__ >= 12 && !defined(__clang__)
#if CH_VECTOR >= 4
#define VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECTORISED __attribute__((target_clones("arch=x86-64-v3", "default")))
#endif
#else
#define VECTORISED
#endif

/* A helper of such a function: compiled into each of its copies, and so for their instruction sets. */
#define VECTOR_HELPER static inline __attribute__((always_inline))

/* Numbers side by side: whole vector registers on the widest machines, several registers on others. They may lie
 * anywhere, and over an array of real. */
enum { LANES = 16 };
typedef real reals __attribute__((vector_size(LANES * sizeof(real)), aligned(sizeof(real)), may_alias));

/* Whether one register holds LANES numbers. Where it does not, compilers keep variables of type reals in memory, and a
 * loop over arrays of LANES, which fills registers of any width, is several times as fast. */
VECTOR_HELPER bool lanes_fit_register(void) {
#if defined(CH_VECTOR) && CH_VECTOR >= 4 && defined(__x86_64__) && __GNUC__ >= 12 && !defined(__clang__)
    return sizeof(reals) == 64 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

/* The first n of LANES numbers, zeros behind them; and back. */
VECTOR_HELPER void take_lanes(reals *to, const real *from, int n) {
    if (n >= LANES) {
        *to = *(const reals *)from;
        return;
    }
    *to = (reals){0};
    for (int l = 0; l < n; l++) (*to)[l] = from[l];
}

VECTOR_HELPER void put_lanes(real *to, const reals *from, int n) {
    if (n >= LANES)
        *(reals *)to = *from;
    else
        for (int l = 0; l < n; l++) to[l] = (*from)[l];
}

/* Halves are added until one number is left: a fixed order, and a short one. */
VECTOR_HELPER real sum_lanes(const reals *x) {
    typedef real half __attribute__((vector_size(8 * sizeof(real))));
    typedef real quarter __attribute__((vector_size(4 * sizeof(real))));
    half h = __builtin_shufflevector(*x, *x, 0, 1, 2, 3, 4, 5, 6, 7) +
             __builtin_shufflevector(*x, *x, 8, 9, 10, 11, 12, 13, 14, 15);
    quarter q = __builtin_shufflevector(h, h, 0, 1, 2, 3) + __builtin_shufflevector(h, h, 4, 5, 6, 7);
    return (q[0] + q[2]) + (q[1] + q[3]);
}

/* Half of that. */
enum { EIGHT = 8 };
typedef real eight __attribute__((vector_size(EIGHT * sizeof(real)), aligned(sizeof(real)), may_alias));

/* a = the larger of both; a NaN in b is not. */
VECTOR_HELPER void take_larger(eight *a, const eight *b) {
    typedef __typeof__(*a > *b) mask;
    mask other = *b > *a;
    *a = (eight)(((mask)*b & other) | ((mask)*a & ~other));
}

/* The largest, found by halves. */
VECTOR_HELPER real largest_of(const eight *from) {
    eight x = *from, other = __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    take_larger(&x, &other);
    other = __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
    take_larger(&x, &other);
    return x[0] > x[1] ? x[0] : x[1];
}

/* Row i becomes column i: neighbours change places one, two and four steps apart. */
VECTOR_HELPER void turn_square(eight a[EIGHT]) {
    eight b[EIGHT];
    for (int i = 0; i < EIGHT; i += 2) {
        b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < EIGHT; i += 4)
        for (int j = i; j < i + 2; j++) {
            a[j] = __builtin_shufflevector(b[j], b[j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            a[j + 2] = __builtin_shufflevector(b[j], b[j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int j = 0; j < EIGHT / 2; j++) {
        eight low = a[j], high = a[j + 4];
        a[j] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 8, 9, 10, 11);
        a[j + 4] = __builtin_shufflevector(low, high, 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

#endif
