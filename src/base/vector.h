/* VECTORISED marks a function whose loops are compiled for several instruction sets; the loader picks one for
 * the machine it runs on. One binary runs anywhere and is fast where it can be. */
#ifndef CH_BASE_VECTOR_H
#define CH_BASE_VECTOR_H

#if defined(CH_VECTOR) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define VECTORISED __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define VECTORISED
#endif

#endif
