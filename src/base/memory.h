/* The one place that allocates: counted, replaceable, overflow-checked. */
#ifndef CH_BASE_MEMORY_H
#define CH_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* count * size zeroed bytes, or NULL (out of memory, or the product overflows). Free with mem_free. */
void *mem_new(size_t count, size_t size);
/* 64-byte aligned and zeroed. Free with mem_free_aligned. */
void *mem_new_aligned(size_t bytes);
/* Grows *items to hold `needed` items of `size` bytes, doubling; false and unchanged when memory runs out. */
bool mem_grow(void **items, size_t *capacity, size_t needed, size_t size);
char *mem_copy_string(const char *text);
void mem_free(void *memory);
void mem_free_aligned(void *memory);

/* Calls that allocated or grew memory, since the program began: what the zero-allocation tests read. */
uint64_t mem_allocations(void);

/* What the machine has, bytes. */
uint64_t mem_physical(void);

/* a * b and a + b, UINT64_MAX when they do not fit: for estimates that are compared with a limit. */
uint64_t mem_times(uint64_t a, uint64_t b);
uint64_t mem_plus(uint64_t a, uint64_t b);

#endif
