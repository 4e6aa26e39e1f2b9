/* Runs a fuzzer's function over a folder of files without libFuzzer: each file as it is, cut at every length, and with
 * one bit turned in every byte (of a long file, at some hundreds of places). So every build tests what fuzzing has
 * found. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 16, PLACES = 256 };

/* In a block of exactly its size, so that the sanitizers see the first byte too far. */
static void run(const uint8_t *bytes, size_t length) {
    uint8_t *copy = malloc(length ? length : 1);
    if (!copy) abort();
    memcpy(copy, bytes, length);
    LLVMFuzzerTestOneInput(copy, length);
    free(copy);
}

static void replay(uint8_t *bytes, size_t length) {
    run(bytes, length);
    size_t stride = 1 + length / PLACES;
    for (size_t cut = 0; cut < length; cut += stride) run(bytes, cut);
    for (size_t i = 0; i < length; i += stride) {
        uint8_t bit = (uint8_t)(1u << i / stride % 8);
        bytes[i] ^= bit;
        run(bytes, length);
        bytes[i] ^= bit;
    }
}

static int replay_file(const char *folder, const char *name) {
    static uint8_t bytes[LARGEST];
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    replay(bytes, length);
    return 1;
}

int main(int count, char **arguments) {
    DIR *dir = count == 2 ? opendir(arguments[1]) : NULL;
    if (!dir) {
        fprintf(stderr, "usage: %s FOLDER\n", arguments[0]);
        return 2;
    }
    int files = 0;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
        if (entry->d_name[0] != '.') files += replay_file(arguments[1], entry->d_name);
    closedir(dir);
    printf("%d files replayed\n", files);
    return files > 0 ? 0 : 1;
}
