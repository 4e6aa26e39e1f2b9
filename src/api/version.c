#include "clearhead.h"

const char *ch_version(void) {
    return CH_VERSION;
}
