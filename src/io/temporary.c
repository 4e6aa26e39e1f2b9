#include "io/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES = 1000 }; /* of writers of one file that are at work, and of leftovers where there are no locks */
#define START ".clearhead-"
#define END ".tmp"

/* FNV-1a: short whatever the length of the name, which may be as long as a name can be. */
static uint32_t hash(const char *name) {
    uint32_t h = 2166136261u;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

/* False if another has it. */
static bool lock_file(int file, bool without) {
    return flock(file, LOCK_EX | LOCK_NB) == 0 || (without && errno != EWOULDBLOCK);
}

/* Whether the name still stands for the open file. */
static bool is_at(int file, const char *name) {
    struct stat open_one, named;
    return fstat(file, &open_one) == 0 && stat(name, &named) == 0 && open_one.st_dev == named.st_dev &&
           open_one.st_ino == named.st_ino;
}

/* Removes what nobody writes any more. */
static bool remove_leftover(const char *name) {
    int file = open(name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return errno == ENOENT;
    bool left = lock_file(file, false) && is_at(file, name) && unlink(name) == 0;
    close(file);
    return left;
}

/* A new file of this name, locked; -1 and EEXIST if somebody else has it. */
static int create(const char *name) {
    static const int how = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    int file = open(name, how, 0666);
    if (file < 0 && errno == EEXIST) {
        file = remove_leftover(name) ? open(name, how, 0666) : -1;
        if (file < 0) errno = EEXIST;
    }
    if (file < 0) return -1;
    if (lock_file(file, true) && is_at(file, name)) return file;
    close(file); /* who looks for leftovers was faster than the lock */
    errno = EEXIST;
    return -1;
}

int temporary_open(const char *path, char *name, int *lock) {
    const char *slash = strrchr(path, '/'), *own = slash ? slash + 1 : path;
    int file = -1;
    *lock = -1;
    errno = EEXIST;
    for (int i = 0; i < NAMES && file < 0 && errno == EEXIST; i++) {
        snprintf(name, strlen(path) + TEMPORARY_ROOM, "%.*s" START "%08lx-%d" END, (int)(own - path), path,
                 (unsigned long)hash(own), i);
        file = create(name);
    }
    if (file >= 0) *lock = fcntl(file, F_DUPFD_CLOEXEC, 0);
    return file;
}

bool temporary_is(const char *name) {
    size_t length = strlen(name), start = strlen(START), end = strlen(END);
    return length > start + end && strncmp(name, START, start) == 0 && strcmp(name + length - end, END) == 0;
}
