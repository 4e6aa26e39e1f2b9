/*
 * Families: parts of which there are variants. A variant is a file that ends in a constant descriptor whose first
 * member is a ch_variant, and a row in its family's NULL-terminated table. Whatever lists, checks or tests
 * variants walks the table.
 */
#ifndef CH_BASE_FAMILY_H
#define CH_BASE_FAMILY_H

#include "base/error.h"

/* Row i of a family's table as its common head, or NULL past the end. */
typedef const ch_variant *(*family_row)(size_t i);

/* The row of that name; NULL after failing with "unknown norm 'foo'; have layernorm, rmsnorm". */
const ch_variant *family_find(const char *family, family_row row, const char *name, ch_error *error);

#endif
