/* The largest sizes of a model: what options, files and messages agree on. */
#ifndef CH_NN_LIMITS_H
#define CH_NN_LIMITS_H

enum {
    MOST_HEADS = 4096, /* dropout counts heads in 12 bits */
    MOST_WIDTH = 1000000,
    MOST_HIDDEN = 10000000,
    MOST_POSITIONS = 10000000,
    MOST_SYMBOLS = 10000000,
    MOST_LAYERS = 10000,
    MOST_ROPE_BASE = 1000000000, /* of these three the number itself is too much */
    MOST_ROPE_FACTOR = 1000000,
    MOST_SOFT_CAP = 1000000
};

#endif
