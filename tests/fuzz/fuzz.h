/* What libFuzzer calls with bytes of its making, and replay.c with the corpus: one definition in each fuzz_*.c. It
 * returns 0 and stops the program where the code under test breaks a promise. */
#ifndef CH_FUZZ_H
#define CH_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

#endif
