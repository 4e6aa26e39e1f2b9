#include "io/run_folder.h"
#include "base/memory.h"
#include "io/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

ch_status run_path(char *out, const char *folder, const char *name, ch_error *error) {
    size_t length = strlen(folder);
    const char *slash = length && folder[length - 1] == '/' ? "" : "/";
    int written = snprintf(out, RUN_PATH, "%s%s%s", folder, slash, name);
    if (written < 0 || written >= RUN_PATH)
        return fail(error, CH_FAILED, "the path of '%s' in '%.80s...' is longer than %d characters", name, folder,
                    RUN_PATH);
    return CH_OK;
}

bool run_exists(const char *path) {
    struct stat status;
    return stat(path, &status) == 0;
}

static bool is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

ch_status run_checkpoint(char *out, const char *folder, int64_t step, ch_error *error) {
    char name[48];
    snprintf(name, sizeof name, RUN_CHECKPOINTS "/%lld", (long long)step);
    return run_path(out, folder, name, error);
}

ch_status run_lock(const char *folder, int *descriptor, ch_error *error) {
    *descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*descriptor < 0) return fail_errno(error, "cannot open %s", folder);
    if (flock(*descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return CH_OK;
    close(*descriptor);
    *descriptor = -1;
    return fail(error, CH_FAILED, "%s: another process is training in it", folder);
}

int64_t run_step_of(const char *name) {
    if (!*name || strlen(name) > 18 || strspn(name, "0123456789") != strlen(name)) return -1;
    return strtoll(name, NULL, 10);
}

static ch_status newest(char *out, const char *checkpoints, ch_error *error) {
    int64_t step = -1;
    char name[32];
    *out = '\0';
    DIR *listing = opendir(checkpoints);
    if (!listing) return errno == ENOENT ? CH_OK : fail_errno(error, "cannot read %s", checkpoints);
    for (struct dirent *entry; (entry = readdir(listing));)
        if (run_step_of(entry->d_name) > step) step = run_step_of(entry->d_name);
    closedir(listing);
    if (step < 0) return CH_OK;
    snprintf(name, sizeof name, "%lld", (long long)step);
    return run_path(out, checkpoints, name, error);
}

enum { LONGEST_NAME = 64 };

ch_status run_latest(char *out, const char *folder, ch_error *error) {
    char checkpoints[RUN_PATH], pointer[RUN_PATH], *name;
    size_t length;
    ch_status status = run_path(checkpoints, folder, RUN_CHECKPOINTS, error);
    if (status == CH_OK) status = run_path(pointer, checkpoints, RUN_LATEST, error);
    if (status != CH_OK) return status;
    if (!run_exists(pointer)) return newest(out, checkpoints, error);
    status = file_read(pointer, LONGEST_NAME, &name, &length, error);
    if (status != CH_OK) return status;
    name[strcspn(name, "\n")] = '\0';
    if (run_step_of(name) < 0)
        status = fail(error, CH_FAILED, "%s: expected the number of a checkpoint, found '%s'", pointer, name);
    else
        status = run_path(out, checkpoints, name, error);
    mem_free(name);
    return status;
}

ch_status run_model_file(char *out, const char *path, ch_error *error) {
    if (!is_folder(path)) {
        size_t length = strlen(path);
        if (length >= RUN_PATH) return fail(error, CH_FAILED, "the path '%.80s...' is too long", path);
        memcpy(out, path, length + 1);
        return CH_OK;
    }
    char latest[RUN_PATH];
    ch_status status = run_path(out, path, RUN_MODEL, error);
    if (status != CH_OK || run_exists(out)) return status;
    status = run_latest(latest, path, NULL);
    if (status != CH_OK || !*latest)
        return fail(error, CH_FAILED, "%s: expected a run or checkpoint folder, and it holds no %s and no checkpoint",
                    path, RUN_MODEL);
    return run_path(out, latest, RUN_MODEL, error);
}
