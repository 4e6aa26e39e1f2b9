/* Bytes to a file that appears whole or not at all: temporary name in the same folder, fsync, rename. */
#ifndef CH_PLOT_SAVE_H
#define CH_PLOT_SAVE_H

#include "clearhead.h"

ch_status save_picture(const char *path, const void *bytes, size_t count, ch_error *error);

#endif
