/*
 * Arena: memory that is handed out in order and taken back all at once.
 *
 * A pass over a model runs twice through the same code: once with an arena that has no memory and only
 * counts (arena_measure), then, with that many bytes reserved, for real. So nobody writes size formulas,
 * `summary` knows the memory before it exists, and a training step allocates nothing.
 */
#ifndef CH_BASE_ARENA_H
#define CH_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena {
    char *memory;    /* NULL while measuring */
    size_t capacity; /* bytes */
    size_t used;
    size_t peak; /* the most that was ever in use at once */
};

/* An arena that only counts: arena_take returns an address that nobody may read, and `peak` grows. */
struct arena arena_measure(void);
/* Gives the arena `capacity` bytes, zeroed; false if memory runs out. */
bool arena_reserve(struct arena *arena, size_t capacity);
void arena_release(struct arena *arena);

bool arena_measuring(const struct arena *arena);

/* count * size bytes, 64-byte aligned, not cleared. More than was reserved is a bug (the measuring pass
 * saw another shape than the real one) and stops the program. */
void *arena_take(struct arena *arena, size_t count, size_t size);

/* What is taken after arena_mark is given back by arena_reset to that mark. */
size_t arena_mark(const struct arena *arena);
void arena_reset(struct arena *arena, size_t mark);

#endif
