#include "base/memory.h"
#include "base/error.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIGNMENT = 64 }; /* a cache line, and the widest vector register */

/* The process-wide allocator is the library's only mutable global, besides the count of its calls. */
static struct {
    void *(*allocate)(size_t);
    void *(*reallocate)(void *, size_t);
    void (*release)(void *);
} allocator = {malloc, realloc, free};

static _Atomic uint64_t allocations;

void ch_set_allocator(void *(*allocate)(size_t), void *(*reallocate)(void *, size_t), void (*release)(void *)) {
    bool all = allocate && reallocate && release;
    ch_assert(all || (!allocate && !reallocate && !release));
    allocator.allocate = all ? allocate : malloc;
    allocator.reallocate = all ? reallocate : realloc;
    allocator.release = all ? release : free;
}

/* Zeroed memory. calloc knows what is zero already, so that a large block takes a page only where it is written. */
static void *zeroed(size_t bytes) {
    allocations++;
    if (allocator.allocate == malloc) return calloc(bytes, 1);
    void *memory = allocator.allocate(bytes);
    if (memory) memset(memory, 0, bytes);
    return memory;
}

void *mem_new(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    return zeroed(bytes ? bytes : 1);
}

void *mem_new_aligned(size_t bytes) {
    if (bytes > SIZE_MAX - 2 * ALIGNMENT) return NULL;
    char *raw = zeroed(bytes + 2 * ALIGNMENT);
    if (!raw) return NULL;
    char *aligned = raw + ALIGNMENT + (ALIGNMENT - (uintptr_t)raw % ALIGNMENT) % ALIGNMENT;
    memcpy(aligned - sizeof raw, &raw, sizeof raw); /* what mem_free_aligned gives back */
    return aligned;
}

bool mem_grow(void **items, size_t *capacity, size_t needed, size_t size) {
    if (needed <= *capacity) return true;
    size_t count = *capacity < 8 ? 8 : *capacity;
    while (count < needed) {
        if (count > SIZE_MAX / 2) return false;
        count *= 2;
    }
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return false;
    allocations++;
    void *grown = allocator.reallocate(*items, bytes);
    if (!grown) return false;
    *items = grown;
    *capacity = count;
    return true;
}

char *mem_copy_string(const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = mem_new(bytes, 1);
    if (copy) memcpy(copy, text, bytes);
    return copy;
}

void mem_free(void *memory) {
    if (memory) allocator.release(memory);
}

void mem_free_aligned(void *memory) {
    if (!memory) return;
    void *raw;
    memcpy(&raw, (char *)memory - sizeof raw, sizeof raw);
    allocator.release(raw);
}

uint64_t mem_allocations(void) {
    return allocations;
}

uint64_t mem_physical(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
}

uint64_t mem_times(uint64_t a, uint64_t b) {
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t mem_plus(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

void ch_string_free(char *string) {
    mem_free(string);
}
