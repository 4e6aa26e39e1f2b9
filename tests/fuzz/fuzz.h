/* What libFuzzer calls with bytes of its making, and replay.c with the corpus: one definition in each fuzz_*.c. It
 * returns 0 and stops the program where the code under test breaks a promise. And what the fuzzers share. */
#ifndef CH_FUZZ_H
#define CH_FUZZ_H

#include "clearhead.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* A refusal says why: one line, of more than a name. */
void check_sentence(ch_status status, const ch_error *error);

enum { MEMORY_PATH = 64 };
/* A file without a folder, which goes away when the descriptor is closed; `path` opens it. */
int memory_file(const uint8_t *bytes, size_t length, char path[MEMORY_PATH]);

#endif
