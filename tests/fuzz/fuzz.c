#include "fuzz.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void check_sentence(ch_status status, const ch_error *error) {
    ch_assert(status != CH_OK && error->status == status);
    ch_assert(strlen(error->message) > 10 && !strchr(error->message, '\n'));
}

int memory_file(const uint8_t *bytes, size_t length, char path[MEMORY_PATH]) {
    int memory = memfd_create("fuzz", MFD_CLOEXEC);
    ch_assert(memory >= 0);
    ssize_t wrote = length ? write(memory, bytes, length) : 0;
    ch_assert(wrote == (ssize_t)length);
    snprintf(path, MEMORY_PATH, "/proc/self/fd/%d", memory);
    return memory;
}
