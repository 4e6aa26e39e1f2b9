#include "io/disk.h"

#include <stdio.h>
#include <unistd.h>

__attribute__((weak)) ssize_t disk_write(int descriptor, const void *bytes, size_t length) {
    return write(descriptor, bytes, length);
}

__attribute__((weak)) int disk_fsync(int descriptor) {
    return fsync(descriptor);
}

__attribute__((weak)) int disk_rename(const char *from, const char *to) {
    return rename(from, to);
}
