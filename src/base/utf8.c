#include "base/utf8.h"

/* How many bytes the character has that begins with this one; 0: none begins with it. */
static size_t bytes_of(unsigned char lead) {
    return lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
}

size_t utf8_decode(const char *text, size_t length, uint32_t *point) {
    static const uint32_t least[UTF8_BYTES + 1] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    if (length == 0) return 0;
    size_t bytes = bytes_of(s[0]);
    if (bytes == 0 || bytes > length) return 0;
    uint32_t value = bytes == 1 ? s[0] : s[0] & (0x7Fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if (s[i] >> 6 != 2) return 0;
        value = value << 6 | (s[i] & 0x3Fu);
    }
    if (value < least[bytes] || value >= UTF8_POINTS || value >> 11 == 0x1B) return 0; /* 0x1B: surrogates */
    *point = value;
    return bytes;
}

size_t utf8_unfinished(const char *text, size_t length) {
    const unsigned char *end = (const unsigned char *)text + length;
    for (size_t bytes = 1; bytes < UTF8_BYTES && bytes <= length; bytes++) {
        unsigned char lead = *(end - bytes);
        if (lead >> 6 != 2) return bytes_of(lead) > bytes ? bytes : 0;
    }
    return 0;
}

size_t utf8_encode(uint32_t point, char out[UTF8_BYTES]) {
    size_t bytes = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    uint32_t mark = bytes == 1 ? 0 : 0xF00u >> bytes & 0xFFu; /* as many ones as there are bytes */
    for (size_t i = bytes - 1; i > 0; i--) {
        out[i] = (char)(0x80u | (point & 0x3Fu));
        point >>= 6;
    }
    out[0] = (char)(mark | point);
    return bytes;
}
