/* real: the number everything is computed in. float; double in the build that checks gradients. */
#ifndef CH_BASE_REAL_H
#define CH_BASE_REAL_H

#include <math.h>

#ifdef CH_DOUBLE
typedef double real;
#define REAL_DTYPE "F64"
#define R(name) name
#else
typedef float real;
#define REAL_DTYPE "F32"
#define R(name) name##f
#endif

/* R(exp)(x) is exp or expf; RC(0.5) is a constant of type real. */
#define RC(constant) ((real)(constant))

#endif
