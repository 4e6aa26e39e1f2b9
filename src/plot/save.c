#include "plot/save.h"
#include "base/error.h"
#include "base/memory.h"
#include "io/temporary.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool write_all(int file, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t written = write(file, bytes, count);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

ch_status save_picture(const char *path, const void *bytes, size_t count, ch_error *error) {
    char *name = mem_new(strlen(path) + TEMPORARY_ROOM, 1);
    if (!name) return fail_memory(error, "a file name");
    ch_status status = CH_OK;
    int lock, file = temporary_open(path, name, &lock);
    if (file < 0) {
        status = fail_errno(error, "cannot write '%s'", path);
    } else {
        bool done = write_all(file, bytes, count) && fsync(file) == 0;
        int reason = errno;
        if (close(file) != 0 && done) {
            done = false;
            reason = errno;
        }
        if (done && rename(name, path) != 0) {
            done = false;
            reason = errno;
        }
        if (!done) {
            unlink(name);
            errno = reason;
            status = fail_errno(error, "cannot write '%s'", path);
        }
    }
    if (lock >= 0) close(lock);
    mem_free(name);
    return status;
}
