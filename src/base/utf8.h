/* UTF-8 (RFC 3629), strictly: the shortest form of code points up to U+10FFFF, surrogates left out. */
#ifndef CH_BASE_UTF8_H
#define CH_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { UTF8_BYTES = 4, UTF8_POINTS = 0x110000 };

/* Bytes of the character that `length` bytes begin with, 1 to 4, and its code point; 0 if they begin with none. */
size_t utf8_decode(const char *text, size_t length, uint32_t *point);
/* Bytes of a character that is begun at the end of the text and goes on behind it: 0 to 3. */
size_t utf8_unfinished(const char *text, size_t length);
/* Writes the character of a code point that utf8_decode can give; how many bytes it has. */
size_t utf8_encode(uint32_t point, char out[UTF8_BYTES]);

#endif
