/* VECTORISED marks a function whose loops are compiled for several instruction sets; the loader picks one for
 * the machine it runs on. One binary runs anywhere and is fast where it can be. */
#ifndef CH_BASE_VECTOR_H
#define CH_BASE_VECTOR_H

#include "base/real.h"

#if defined(CH_VECTOR) && defined(__x86_64__) && __GNUC__ >= 12 && !defined(__clang__)
#define VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECTORISED
#endif

/* A helper of such a function: compiled into each of its copies, and so for their instruction sets. */
#define VECTOR_HELPER static inline __attribute__((always_inline))

/* Numbers side by side: whole vector registers on the widest machines, several registers on others. It may lie
 * anywhere, and over an array of real. */
enum { LANES = 16 };
typedef real reals __attribute__((vector_size(LANES * sizeof(real)), aligned(sizeof(real)), may_alias));

#endif
