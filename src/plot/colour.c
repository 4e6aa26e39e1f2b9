/*
 * The rising map is viridis, by Stéfan van der Walt, Nathaniel J. Smith and Eric Firing, who gave it to the public
 * domain (CC0). Equal steps of value look like equal steps of colour, lightness only rises, and it survives grey
 * printing and colour blindness. 33 of its points, with straight lines between, stay within 2/255 of it in every
 * channel.
 *
 * The diverging map is this project's own (MIT, as all of it): straight lines in CIELAB from a dark blue, L* 25, over
 * an almost white, L* 96, to an orange, L* 49. Blue against orange is told apart with any kind of colour blindness, and
 * the ends differ in lightness, so that grey print does not make one of them out of both.
 *
 * Lines have the colours of Okabe and Ito, "Color Universal Design", 2008, which are free to use: those of them
 * whose contrast to white is 3 or more, as WCAG 2 asks of graphics. Their yellow, orange and light blue fall short.
 */
#include "plot/colour.h"

#include <math.h>

static const uint32_t viridis[COLOUR_ANCHORS] = {
    0x440154, 0x470d60, 0x48186a, 0x482374, 0x472d7b, 0x453681, 0x424086, 0x3f4989, 0x3b528b, 0x375a8d, 0x33638d,
    0x2f6a8e, 0x2c728e, 0x297a8e, 0x26818e, 0x23898e, 0x21908c, 0x1f988b, 0x1f9f88, 0x21a685, 0x28ae80, 0x31b57b,
    0x3ebc74, 0x4cc26c, 0x5dc963, 0x6ece58, 0x82d34c, 0x96d83f, 0xabdc32, 0xc0df24, 0xd5e21a, 0xeae51a, 0xfde725,
};

static const uint32_t blue_orange[COLOUR_ANCHORS] = {
    0x123a72, 0x27447a, 0x384e81, 0x465889, 0x546390, 0x616e98, 0x6f79a0, 0x7c84a8, 0x8990af, 0x969cb7, 0xa3a8bf,
    0xb1b4c7, 0xbec0cf, 0xcbccd7, 0xd9d9df, 0xe6e5e7, 0xf4f2ef, 0xf4e8e0, 0xf3ded2, 0xf2d3c3, 0xf1c9b5, 0xefbfa7,
    0xedb599, 0xeaab8b, 0xe7a17e, 0xe49770, 0xe08d63, 0xdc8355, 0xd87948, 0xd36f3b, 0xce652d, 0xc95b1e, 0xc4500c,
};

static struct colour unpack(uint32_t rgb) {
    return (struct colour){(uint8_t)(rgb >> 16), (uint8_t)(rgb >> 8), (uint8_t)rgb};
}

struct colour colour_anchor(enum colour_map map, int i) {
    return unpack(map == COLOUR_DIVERGING ? blue_orange[i] : viridis[i]);
}

struct colour colour_line(int i) {
    static const uint32_t line[COLOUR_LINES] = {0x0072b2, 0xd55e00, 0x000000, 0x009e73, 0xcc79a7};
    return unpack(line[i % COLOUR_LINES]);
}

static uint8_t between(uint8_t from, uint8_t to, double share) {
    return (uint8_t)lround(from + (to - from) * share);
}

struct colour colour_of(enum colour_map map, double t) {
    if (isnan(t)) return (struct colour){128, 128, 128};
    double place = fmin(fmax(t, 0), 1) * (COLOUR_ANCHORS - 1);
    int i = place < COLOUR_ANCHORS - 1 ? (int)place : COLOUR_ANCHORS - 2;
    struct colour a = colour_anchor(map, i), b = colour_anchor(map, i + 1);
    double share = place - i;
    return (struct colour){between(a.red, b.red, share), between(a.green, b.green, share),
                           between(a.blue, b.blue, share)};
}

static double linear(uint8_t channel) {
    double c = channel / 255.0;
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

double colour_luminance(struct colour colour) {
    return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
}

bool colour_wants_black(struct colour colour) {
    double luminance = colour_luminance(colour);
    return (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05); /* the two contrast ratios of WCAG 2 */
}

static int squared(struct colour a, int red, int green, int blue) {
    int r = a.red - red, g = a.green - green, b = a.blue - blue;
    return r * r + g * g + b * b;
}

/* 16..231 are a cube with these six levels a side; 232..255 are greys 8, 18, ..., 238. */
int colour_in_256(struct colour colour) {
    static const int level[6] = {0, 95, 135, 175, 215, 255};
    int best = 16, least = squared(colour, 0, 0, 0);
    for (int i = 17; i < 256; i++) {
        int cube = i - 16, grey = 8 + 10 * (i - 232);
        int distance = i < 232 ? squared(colour, level[cube / 36], level[cube / 6 % 6], level[cube % 6])
                               : squared(colour, grey, grey, grey);
        if (distance >= least) continue;
        least = distance;
        best = i;
    }
    return best;
}
