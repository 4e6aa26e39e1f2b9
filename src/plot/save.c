#include "plot/save.h"
#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SUFFIX = 48, ATTEMPTS = 1000 };

/* A new file in path's folder; its name, which is not made from path's own because that may be as long as a
 * name can be, goes to `name`. The mode is that of any new file, unlike mkstemp's. */
static int open_temporary(const char *path, char *name, size_t size) {
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0, file = -1;
    for (int i = 0; i < ATTEMPTS && file < 0; i++) {
        snprintf(name, size, "%.*s.picture-%ld-%d.tmp", folder, path, (long)getpid(), i);
        file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0 && errno != EEXIST) return -1;
    }
    return file;
}

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
    size_t size = strlen(path) + SUFFIX;
    char *name = mem_new(size, 1);
    if (!name) return fail_memory(error, "a file name");
    ch_status status = CH_OK;
    int file = open_temporary(path, name, size);
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
    mem_free(name);
    return status;
}
