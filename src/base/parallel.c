#include "base/parallel.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

int parallel_default_threads(void) {
    const char *text = getenv("OMP_NUM_THREADS");
    char *end;
    long wanted = text ? strtol(text, &end, 10) : 0;
    if (wanted >= 1 && wanted <= 1024) return (int)wanted;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 0 ? (int)processors : 1;
}
