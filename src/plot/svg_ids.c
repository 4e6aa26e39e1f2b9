#include "plot/svg_ids.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ids {
    long *number; /* rising */
    size_t count, capacity;
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Where the number of a surface's name begins if that name begins here, and how many digits it has. */
static size_t find_number(const char *text, size_t length, size_t at, size_t *digits) {
    static const char *const word[] = {"surface", "image", "source"};
    *digits = 0;
    if (at == 0 || (text[at - 1] != '"' && text[at - 1] != '#')) return at;
    for (size_t i = 0; i < sizeof word / sizeof *word && *digits == 0; i++) {
        size_t from = at + strlen(word[i]);
        if (from >= length || memcmp(text + at, word[i], strlen(word[i])) != 0) continue;
        if (text[from] == '-') from++;
        while (from + *digits < length && is_digit(text[from + *digits])) ++*digits;
        if (*digits > 0) return from;
    }
    return at;
}

/* From 1 for the smallest: never longer than the number itself. */
static size_t rank(const struct ids *ids, long number) {
    size_t i = 0;
    while (i < ids->count && ids->number[i] < number) i++;
    return i + 1;
}

static bool add(struct ids *ids, long number) {
    size_t at = rank(ids, number) - 1;
    if (at < ids->count && ids->number[at] == number) return true;
    if (!mem_grow((void **)&ids->number, &ids->capacity, ids->count + 1, sizeof *ids->number)) return false;
    memmove(ids->number + at + 1, ids->number + at, (ids->count++ - at) * sizeof *ids->number);
    ids->number[at] = number;
    return true;
}

static size_t rewrite(char *text, size_t length, const struct ids *ids) {
    size_t used = 0, digits;
    for (size_t at = 0; at < length;) {
        size_t from = find_number(text, length, at, &digits);
        if (digits == 0) {
            text[used++] = text[at++];
            continue;
        }
        char number[24];
        int written = snprintf(number, sizeof number, "%zu", rank(ids, strtol(text + from, NULL, 10)));
        memmove(text + used, text + at, from - at);
        used += from - at;
        memcpy(text + used, number, (size_t)written);
        used += (size_t)written;
        at = from + digits;
    }
    return used;
}

bool svg_renumber(char *text, size_t *length) {
    struct ids ids = {0};
    bool complete = true;
    for (size_t at = 0, digits; at < *length && complete; at++) {
        size_t from = find_number(text, *length, at, &digits);
        if (digits > 0) complete = add(&ids, strtol(text + from, NULL, 10));
    }
    if (complete) *length = rewrite(text, *length, &ids);
    mem_free(ids.number);
    return complete;
}
