/*
 * Temporary files: what a file is called until it is whole, in the folder of the one whose place it takes. Its name is
 * made from that one's, so that who writes it next finds what a killed program left, and takes it away. A writer at
 * work holds a lock, which ends with its process whatever kills it; where a file system has no locks, leftovers are
 * stepped over.
 */
#ifndef CH_IO_TEMPORARY_H
#define CH_IO_TEMPORARY_H

#include <stdbool.h>
#include <stddef.h>

enum { TEMPORARY_ROOM = 64 }; /* bytes that a temporary name may be longer than the path */

/* Makes a new file to write in place of `path`, with the permissions that a new file gets, and its name into `name` of
 * strlen(path) + TEMPORARY_ROOM bytes. Returns its descriptor, or -1 and errno. *lock is a second descriptor of it (or
 * -1), to be closed when the file has been renamed or removed. */
int temporary_open(const char *path, char *name, int *lock);

/* Whether a file of this name, without folder, is one. */
bool temporary_is(const char *name);

#endif
