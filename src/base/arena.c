#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"

enum { ALIGNMENT = 64 };

struct arena arena_measure(void) {
    return (struct arena){.memory = NULL, .capacity = SIZE_MAX};
}

bool arena_reserve(struct arena *arena, size_t capacity) {
    *arena = (struct arena){.memory = mem_new_aligned(capacity), .capacity = capacity};
    return arena->memory != NULL;
}

void arena_release(struct arena *arena) {
    mem_free_aligned(arena->memory);
    *arena = (struct arena){0};
}

bool arena_measuring(const struct arena *arena) {
    return arena->memory == NULL;
}

void *arena_take(struct arena *arena, size_t count, size_t size) {
    size_t bytes, end;
    bool overflow = __builtin_mul_overflow(count, size, &bytes) ||
                    __builtin_add_overflow(bytes, (size_t)ALIGNMENT - 1, &bytes) ||
                    __builtin_add_overflow(arena->used, bytes / ALIGNMENT * ALIGNMENT, &end);
    if (arena_measuring(arena)) {
        overflow = overflow || end > SIZE_MAX / 2;
        arena->used = overflow ? SIZE_MAX / 2 : end; /* saturates far above any limit */
        if (arena->used > arena->peak) arena->peak = arena->used;
        return (void *)(uintptr_t)ALIGNMENT; /* not NULL, so that offsets from it are defined; never read */
    }
    ch_assert(!overflow && end <= arena->capacity);
    void *memory = arena->memory + arena->used;
    arena->used = end;
    if (end > arena->peak) arena->peak = end;
    return memory;
}

size_t arena_mark(const struct arena *arena) {
    return arena->used;
}

void arena_reset(struct arena *arena, size_t mark) {
    ch_assert(mark <= arena->used);
    arena->used = mark;
}
