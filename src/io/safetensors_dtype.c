/* The element types: a row each. */
#include "io/safetensors.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are copied as they lie in the file");

static void from_f64(const unsigned char *bytes, size_t count, real *out) {
    for (size_t i = 0; i < count; i++) {
        double value;
        memcpy(&value, bytes + 8 * i, sizeof value);
        out[i] = (real)value;
    }
}

static void from_f32(const unsigned char *bytes, size_t count, real *out) {
    for (size_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, bytes + 4 * i, sizeof value);
        out[i] = (real)value;
    }
}

/* BF16 is the upper half of an F32. */
static void from_bf16(const unsigned char *bytes, size_t count, real *out) {
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)bytes[2 * i] << 16 | (uint32_t)bytes[2 * i + 1] << 24;
        float value;
        memcpy(&value, &bits, sizeof value);
        out[i] = (real)value;
    }
}

/* F16: 1 sign bit, 5 bits of exponent (bias 15), 10 of fraction. Every value is exact in F32. */
static float f16_value(unsigned half) {
    unsigned exponent = half >> 10 & 31, fraction = half & 1023;
    float magnitude;
    if (exponent == 31)
        magnitude = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = ldexpf((float)fraction, -24);
    else
        magnitude = ldexpf((float)(1024 + fraction), (int)exponent - 25);
    return half >> 15 ? -magnitude : magnitude;
}

static void from_f16(const unsigned char *bytes, size_t count, real *out) {
    for (size_t i = 0; i < count; i++) out[i] = (real)f16_value(bytes[2 * i] | (unsigned)bytes[2 * i + 1] << 8);
}

static const struct st_dtype dtypes[] = {
    {"F32", 4, from_f32}, {"F16", 2, from_f16}, {"BF16", 2, from_bf16}, {"F64", 8, from_f64}, {"U8", 1, NULL},
    {"U16", 2, NULL},     {"U32", 4, NULL},     {"U64", 8, NULL},       {"I8", 1, NULL},      {"I16", 2, NULL},
    {"I32", 4, NULL},     {"I64", 8, NULL},     {"BOOL", 1, NULL},      {"F8_E5M2", 1, NULL}, {"F8_E4M3", 1, NULL},
};

const struct st_dtype *st_dtype_find(const char *name) {
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, name) == 0) return &dtypes[i];
    return NULL;
}
