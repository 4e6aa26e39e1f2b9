/* VECTORISED marks a function whose loops are compiled for several instruction sets; the loader picks one for
 * the machine it runs on. One binary runs anywhere and is fast where it can be. */
#ifndef CH_BASE_VECTOR_H
#define CH_BASE_VECTOR_H

#include "base/real.h"

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

#endif
