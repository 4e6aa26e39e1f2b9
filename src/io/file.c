#include "io/file.h"
#include "base/memory.h"
#include "io/disk.h"
#include "io/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ---------------------------------------------------------------------------------- */

/* Folders and devices can be opened and even read; none of them is a file of ours. */
static ch_status check_kind(const char *path, mode_t mode, ch_error *error) {
    if (S_ISREG(mode)) return CH_OK;
    return fail(error, CH_FAILED, "%s: expected a file, found a %s", path, S_ISDIR(mode) ? "folder" : "device or pipe");
}

ch_status file_open(const char *path, int *descriptor, uint64_t *bytes, ch_error *error) {
    *bytes = 0;
    *descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is to be refused, not waited for */
    if (*descriptor < 0) return fail_errno(error, "cannot open %s", path);
    struct stat info;
    ch_status status = fstat(*descriptor, &info) == 0 ? check_kind(path, info.st_mode, error)
                                                      : fail_errno(error, "cannot read %s", path);
    if (status != CH_OK) {
        close(*descriptor);
        *descriptor = -1;
        return status;
    }
    *bytes = (uint64_t)info.st_size;
    return CH_OK;
}

ch_status file_read_at(int descriptor, const char *path, uint64_t offset, void *out, size_t length, ch_error *error) {
    for (size_t done = 0; done < length;) {
        ssize_t got = pread(descriptor, (char *)out + done, length - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(error, "cannot read %s", path);
        if (got == 0)
            return fail(error, CH_FAILED, "%s ends at byte %" PRIu64 " while it is read, expected %" PRIu64 " bytes",
                        path, offset + done, offset + length);
        done += (size_t)got;
    }
    return CH_OK;
}

static ch_status read_open_file(int descriptor, const char *path, uint64_t bytes, size_t limit, char **text,
                                ch_error *error) {
    if (bytes == 0) return fail(error, CH_FAILED, "%s is empty", path);
    if (bytes > limit)
        return fail(error, CH_FAILED, "%s: expected at most %zu bytes, found %" PRIu64, path, limit, bytes);
    *text = mem_new((size_t)bytes + 1, 1);
    if (!*text) return fail_memory(error, path);
    return file_read_at(descriptor, path, 0, *text, (size_t)bytes, error);
}

ch_status file_read(const char *path, size_t limit, char **text, size_t *length, ch_error *error) {
    ch_assert(path && text && length && limit < SIZE_MAX);
    *text = NULL;
    *length = 0;
    int descriptor;
    uint64_t bytes;
    ch_status status = file_open(path, &descriptor, &bytes, error);
    if (status != CH_OK) return status;
    status = read_open_file(descriptor, path, bytes, limit, text, error);
    close(descriptor);
    if (status == CH_OK) {
        *length = (size_t)bytes;
    } else {
        mem_free(*text);
        *text = NULL;
    }
    return status;
}

/* ---- folders ---------------------------------------------------------------------------------- */

/* The folder that a path lies in, into out[PATH_MAX]. */
static ch_status parent_folder(const char *path, char *out, ch_error *error) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    while (length > 0 && path[length - 1] != '/') length--;
    while (length > 1 && path[length - 1] == '/') length--;
    if (length >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return fail_errno(error, "cannot use the path %s", path);
    }
    snprintf(out, PATH_MAX, "%.*s", length ? (int)length : 1, length ? path : ".");
    return CH_OK;
}

static int sync_retrying(int descriptor) {
    int result;
    do result = disk_fsync(descriptor);
    while (result != 0 && errno == EINTR);
    return result;
}

ch_status file_sync_folder(const char *path, ch_error *error) {
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return fail_errno(error, "cannot open the folder %s", path);
    ch_status status = CH_OK;
    /* Some network file systems cannot sync a folder and say EINVAL: then the rename is all they offer. */
    if (sync_retrying(descriptor) != 0 && errno != EINVAL)
        status = fail_errno(error, "cannot write the folder %s to disk", path);
    close(descriptor);
    return status;
}

static ch_status sync_parent(const char *path, ch_error *error) {
    char folder[PATH_MAX];
    ch_status status = parent_folder(path, folder, error);
    return status == CH_OK ? file_sync_folder(folder, error) : status;
}

static ch_status make_one_folder(const char *path, ch_error *error) {
    if (mkdir(path, 0777) == 0) return sync_parent(path, error);
    int reason = errno;
    struct stat info;
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) return CH_OK;
        return fail(error, CH_FAILED, "%s: expected a folder, found a file", path);
    }
    errno = reason;
    return fail_errno(error, "cannot make the folder %s", path);
}

ch_status file_make_folder(const char *path, ch_error *error) {
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof part) {
        errno = length ? ENAMETOOLONG : ENOENT;
        return fail_errno(error, "cannot make the folder '%s'", path);
    }
    memcpy(part, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (part[i] != '/' && part[i] != '\0') continue;
        part[i] = '\0';
        ch_status status = make_one_folder(part, error);
        if (status != CH_OK) return status;
        part[i] = path[i];
    }
    return CH_OK;
}

ch_status file_rename(const char *from, const char *to, ch_error *error) {
    if (disk_rename(from, to) != 0) return fail_errno(error, "cannot rename %s to %s", from, to);
    return sync_parent(to, error);
}

/* ---- writing ---------------------------------------------------------------------------------- */

static ch_status open_temporary(struct file_writer *writer, ch_error *error) {
    char folder[PATH_MAX];
    ch_status status = parent_folder(writer->path, folder, error);
    if (status != CH_OK) return status;
    writer->temporary = mem_new(strlen(writer->path) + TEMPORARY_ROOM, 1);
    if (!writer->temporary) return fail_memory(error, writer->path);
    writer->descriptor = temporary_open(writer->path, writer->temporary, &writer->lock);
    if (writer->descriptor >= 0) return CH_OK;
    status = fail_errno(error, "cannot create a file in %s to write %s", folder, writer->path);
    mem_free(writer->temporary); /* it is not ours to unlink */
    writer->temporary = NULL;
    return status;
}

void file_remove_leftovers(const char *folder) {
    DIR *listing = opendir(folder);
    if (!listing) return;
    for (struct dirent *entry; (entry = readdir(listing));)
        if (temporary_is(entry->d_name)) unlinkat(dirfd(listing), entry->d_name, 0);
    closedir(listing);
}

/* What stands at the path now: nothing, or a file whose permissions the new one takes over. */
static ch_status inspect_target(const char *path, bool *exists, mode_t *mode, ch_error *error) {
    struct stat info;
    *exists = stat(path, &info) == 0;
    if (!*exists) return errno == ENOENT ? CH_OK : fail_errno(error, "cannot write %s", path);
    *mode = info.st_mode & 0777;
    return check_kind(path, info.st_mode, error);
}

static ch_status writer_start(struct file_writer *writer, const char *path, ch_error *error) {
    bool exists;
    mode_t mode = 0;
    ch_status status = inspect_target(path, &exists, &mode, error);
    if (status != CH_OK) return status;
    char target[PATH_MAX]; /* behind symbolic links */
    if (exists && !realpath(path, target)) return fail_errno(error, "cannot write %s", path);
    writer->path = mem_copy_string(exists ? target : path);
    if (!writer->path) return fail_memory(error, path);
    status = open_temporary(writer, error);
    if (status == CH_OK && exists && fchmod(writer->descriptor, mode) != 0)
        status = fail_errno(error, "cannot set the permissions of %s", path);
    return status;
}

ch_status file_writer_open(struct file_writer *writer, const char *path, ch_error *error) {
    ch_assert(writer && path);
    *writer = (struct file_writer){.descriptor = -1, .lock = -1};
    ch_status status = writer_start(writer, path, error);
    if (status != CH_OK) file_writer_abandon(writer);
    return status;
}

static ch_status writer_failed(struct file_writer *writer, ch_error *error) {
    ch_status status = fail_errno(error, "cannot write %s", writer->path);
    file_writer_abandon(writer);
    return status;
}

ch_status file_writer_append(struct file_writer *writer, const void *bytes, size_t length, ch_error *error) {
    ch_assert(writer->temporary && (bytes || length == 0));
    for (size_t done = 0; done < length;) {
        ssize_t wrote = disk_write(writer->descriptor, (const char *)bytes + done, length - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote == 0) errno = EIO; /* a disk that takes nothing and gives no reason */
        if (wrote <= 0) return writer_failed(writer, error);
        done += (size_t)wrote;
    }
    return CH_OK;
}

ch_status file_writer_commit(struct file_writer *writer, ch_error *error) {
    ch_assert(writer->temporary);
    if (sync_retrying(writer->descriptor) != 0) return writer_failed(writer, error);
    int closed = close(writer->descriptor);
    writer->descriptor = -1; /* closed, whatever close said */
    if (closed != 0) return writer_failed(writer, error);
    if (disk_rename(writer->temporary, writer->path) != 0) return writer_failed(writer, error);
    mem_free(writer->temporary);
    writer->temporary = NULL; /* it has become the file */
    ch_status status = sync_parent(writer->path, error);
    file_writer_abandon(writer);
    return status;
}

void file_writer_abandon(struct file_writer *writer) {
    if (writer->descriptor >= 0) close(writer->descriptor);
    if (writer->temporary) unlink(writer->temporary);
    if (writer->lock >= 0) close(writer->lock);
    mem_free(writer->temporary);
    mem_free(writer->path);
    *writer = (struct file_writer){.descriptor = -1, .lock = -1};
}

ch_status file_write(const char *path, const void *bytes, size_t length, ch_error *error) {
    struct file_writer writer;
    ch_status status = file_writer_open(&writer, path, error);
    if (status == CH_OK) status = file_writer_append(&writer, bytes, length, error);
    if (status == CH_OK) status = file_writer_commit(&writer, error);
    return status;
}

static ch_status append_all(struct file_writer *writer, int descriptor, const char *from, uint64_t bytes,
                            ch_error *error) {
    char piece[16 * 1024];
    ch_status status = CH_OK;
    for (uint64_t at = 0; at < bytes && status == CH_OK; at += sizeof piece) {
        size_t length = bytes - at < sizeof piece ? (size_t)(bytes - at) : sizeof piece;
        status = file_read_at(descriptor, from, at, piece, length, error);
        if (status == CH_OK) status = file_writer_append(writer, piece, length, error);
    }
    return status;
}

ch_status file_copy(const char *from, const char *to, ch_error *error) {
    struct file_writer writer;
    int descriptor;
    uint64_t bytes;
    ch_status status = file_open(from, &descriptor, &bytes, error);
    if (status != CH_OK) return status;
    status = file_writer_open(&writer, to, error);
    if (status == CH_OK) status = append_all(&writer, descriptor, from, bytes, error);
    if (status == CH_OK) status = file_writer_commit(&writer, error);
    file_writer_abandon(&writer);
    close(descriptor);
    return status;
}
