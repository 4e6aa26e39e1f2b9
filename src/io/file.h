/*
 * Files: read whole, written whole or not at all.
 *
 * A file is written under a temporary name in its own folder, synced, renamed over the old one, and the folder is
 * synced. Whatever fails or dies on the way, the name holds either the old content or the new, and after a failure
 * that we live to report no temporary file stays behind; what a death left goes when the file is written again.
 */
#ifndef CH_IO_FILE_H
#define CH_IO_FILE_H

#include "base/error.h"

/* Opens a regular file for reading; *bytes gets its size. A folder, a device and a missing file get their sentence. */
ch_status file_open(const char *path, int *descriptor, uint64_t *bytes, ch_error *error);
/* Exactly `length` bytes from `offset`; a file that ends before is a failure that says so. */
ch_status file_read_at(int descriptor, const char *path, uint64_t offset, void *out, size_t length, ch_error *error);

/* The whole of a file of 1 to `limit` bytes, with a NUL behind it that `length` does not count. Free with mem_free. */
ch_status file_read(const char *path, size_t limit, char **text, size_t *length, ch_error *error);

struct file_writer {
    char *path, *temporary; /* NULL: nothing under way */
    int descriptor, lock;   /* of the temporary file; lock: until it has the final name */
};

/* Starts writing. An existing file keeps its permissions, and a symbolic link keeps pointing: its target is
 * replaced. */
ch_status file_writer_open(struct file_writer *writer, const char *path, ch_error *error);
ch_status file_writer_append(struct file_writer *writer, const void *bytes, size_t length, ch_error *error);
/* Puts the new file in place. If the very last act fails, syncing the folder, the new file is in place all the same. */
ch_status file_writer_commit(struct file_writer *writer, ch_error *error);
/* Drops what was written. Every failure above has done so already; a second time, or after commit, does nothing. */
void file_writer_abandon(struct file_writer *writer);

/* All of that in one call: recipes, and the small files that point to a checkpoint. */
ch_status file_write(const char *path, const void *bytes, size_t length, ch_error *error);

/* Writes what another file holds, piece by piece. */
ch_status file_copy(const char *from, const char *to, ch_error *error);

/* Makes a folder and those above it; one that exists is fine. */
ch_status file_make_folder(const char *path, ch_error *error);
/* Makes the names in a folder durable. */
ch_status file_sync_folder(const char *path, ch_error *error);
/* Removes the temporary files that killed programs left in a folder that is ours alone; others stay. */
void file_remove_leftovers(const char *folder);
/* Renames a file or folder, durably. */
ch_status file_rename(const char *from, const char *to, ch_error *error);

#endif
