/* io/file: sentences for what cannot be read, and writing whole or not at all, whatever fails or dies on the way. */
#include "io/file.h"
#include "base/memory.h"
#include "io/disk.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a disk that fails on demand: these replace the weak ones of io/disk.c ---------------------- */

static struct {
    int calls;         /* so far */
    int bad_call;      /* the number of the call that goes wrong; 0: none */
    int reason;        /* what it fails with; 0: the process dies there */
    bool after;        /* it dies behind the call, not before it */
    bool interrupting; /* every second call is interrupted */
    size_t most;       /* bytes that one write takes; 0: all */
} disk;

static bool call_fails(void) {
    disk.calls++;
    if (disk.interrupting && disk.calls % 2) {
        errno = EINTR;
        return true;
    }
    if (disk.calls != disk.bad_call || disk.after) return false;
    if (!disk.reason) _exit(77);
    errno = disk.reason;
    return true;
}

static void call_done(void) {
    if (disk.calls == disk.bad_call && disk.after) _exit(77);
}

ssize_t disk_write(int descriptor, const void *bytes, size_t length) {
    if (call_fails()) return -1;
    ssize_t wrote = write(descriptor, bytes, disk.most && disk.most < length ? disk.most : length);
    call_done();
    return wrote;
}

int disk_fsync(int descriptor) {
    if (call_fails()) return -1;
    int result = fsync(descriptor);
    call_done();
    return result;
}

int disk_rename(const char *from, const char *to) {
    if (call_fails()) return -1;
    int result = rename(from, to);
    call_done();
    return result;
}

/* ---- a folder of our own ------------------------------------------------------------------------ */

static char folder[PATH_MAX];

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info, (void)kind, (void)place;
    return remove(path);
}

static int make_scratch(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/clearhead-file-XXXXXX", base ? base : "/tmp");
    memset(&disk, 0, sizeof disk);
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_scratch(void **state) {
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A path in the folder; good until the eighth call from here. */
static const char *in(const char *name) {
    static char paths[8][PATH_MAX + 300];
    static size_t next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int entries(void) {
    DIR *dir = opendir(folder);
    int count = -2; /* . and .. */
    while (readdir(dir)) count++;
    closedir(dir);
    return count;
}

static void assert_content(const char *path, const char *expected) {
    char *text;
    size_t length;
    ch_error error;
    if (file_read(path, 1000, &text, &length, &error) != CH_OK) fail_msg("%s", error.message);
    assert_int_equal(length, strlen(expected));
    assert_string_equal(text, expected);
    mem_free(text);
}

/* Writes "old", then forgets that it called the disk. */
static const char *old_file(void) {
    const char *path = in("model");
    assert_int_equal(file_write(path, "old", 3, NULL), CH_OK);
    disk.calls = 0;
    return path;
}

/* ---- reading ------------------------------------------------------------------------------------ */

static void assert_refused(const char *path, size_t limit, const char *says) {
    char *text = (char *)1;
    size_t length = 1;
    ch_error error = {0};
    assert_int_equal(file_read(path, limit, &text, &length, &error), CH_FAILED);
    assert_null(text);
    assert_int_equal(length, 0);
    if (!strstr(error.message, path)) fail_msg("'%s' does not name %s", error.message, path);
    if (!strstr(error.message, says)) fail_msg("'%s' does not say '%s'", error.message, says);
    assert_int_equal(file_read(path, limit, &text, &length, NULL), CH_FAILED);
}

static void what_cannot_be_read(void **state) {
    (void)state;
    assert_refused(in("missing"), 100, "No such file");
    assert_refused(folder, 100, "expected a file, found a folder");
    assert_int_equal(file_write(in("empty"), NULL, 0, NULL), CH_OK);
    assert_refused(in("empty"), 100, "is empty");
    assert_int_equal(file_write(in("four"), "four", 4, NULL), CH_OK);
    assert_refused(in("four"), 3, "expected at most 3 bytes, found 4");
    assert_content(in("four"), "four");
    assert_int_equal(mkfifo(in("pipe"), 0600), 0);
    assert_refused(in("pipe"), 100, "device or pipe");
    assert_refused("/dev/null", 100, "device or pipe");
}

static void a_file_that_shrinks_is_a_failure(void **state) {
    (void)state;
    const char *path = old_file();
    int descriptor;
    uint64_t bytes;
    char out[8];
    ch_error error;
    assert_int_equal(file_open(path, &descriptor, &bytes, NULL), CH_OK);
    assert_int_equal(bytes, 3);
    assert_int_equal(file_read_at(descriptor, path, 1, out, 2, NULL), CH_OK);
    assert_memory_equal(out, "ld", 2);
    assert_int_equal(file_read_at(descriptor, path, 1, out, 8, &error), CH_FAILED);
    assert_non_null(strstr(error.message, "ends at byte 3 while it is read, expected 9 bytes"));
    close(descriptor);
}

/* ---- writing ------------------------------------------------------------------------------------ */

static void permissions_and_links_stay(void **state) {
    (void)state;
    const char *path = old_file(), *link = in("link");
    struct stat info;
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("model", link), 0);
    assert_int_equal(file_write(link, "new", 3, NULL), CH_OK);
    assert_content(path, "new");
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    mode_t mask = umask(027); /* and a new file's are those that the user asks for */
    assert_int_equal(file_write(in("fresh"), "x", 1, NULL), CH_OK);
    umask(mask);
    assert_int_equal(stat(in("fresh"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
}

static void abandoned_writing_leaves_nothing(void **state) {
    (void)state;
    const char *path = old_file();
    struct file_writer writer;
    assert_int_equal(file_writer_open(&writer, path, NULL), CH_OK);
    assert_int_equal(file_writer_append(&writer, "half", 4, NULL), CH_OK);
    assert_int_equal(entries(), 2);
    file_writer_abandon(&writer);
    file_writer_abandon(&writer);
    assert_int_equal(entries(), 1);
    assert_content(path, "old");
}

static void two_writers_do_not_meet(void **state) {
    (void)state;
    struct file_writer one, two;
    assert_int_equal(file_writer_open(&one, in("one"), NULL), CH_OK);
    assert_int_equal(file_writer_open(&two, in("two"), NULL), CH_OK);
    assert_int_equal(file_writer_append(&one, "1", 1, NULL), CH_OK);
    assert_int_equal(file_writer_append(&two, "2", 1, NULL), CH_OK);
    assert_int_equal(file_writer_commit(&two, NULL), CH_OK);
    assert_int_equal(file_writer_commit(&one, NULL), CH_OK);
    assert_content(in("one"), "1");
    assert_content(in("two"), "2");
    assert_int_equal(entries(), 2);
}

/* More than a piece at a time, and the parts of a last one. */
static void a_copy_is_whole_or_not_there(void **state) {
    (void)state;
    enum { SIZE = 40000 };
    char *bytes = malloc(SIZE), *copied;
    size_t length;
    ch_error error;
    for (int i = 0; i < SIZE; i++) bytes[i] = (char)(i * 7 % 251);
    assert_int_equal(file_write(in("from"), bytes, SIZE, NULL), CH_OK);
    assert_int_equal(file_copy(in("from"), in("to"), NULL), CH_OK);
    assert_int_equal(file_read(in("to"), SIZE, &copied, &length, NULL), CH_OK);
    assert_int_equal(length, SIZE);
    assert_memory_equal(copied, bytes, SIZE);
    mem_free(copied);
    free(bytes);
    const char *old = old_file();
    assert_int_equal(file_copy(in("nowhere"), old, &error), CH_FAILED);
    assert_non_null(strstr(error.message, in("nowhere")));
    disk.bad_call = 2; /* the second piece */
    disk.reason = ENOSPC;
    assert_int_equal(file_copy(in("from"), old, &error), CH_FAILED);
    assert_non_null(strstr(error.message, "No space left"));
    disk.bad_call = 0;
    assert_content(old, "old");
    assert_int_equal(entries(), 3);
}

static void short_and_interrupted_writes(void **state) {
    (void)state;
    disk.most = 3;
    disk.interrupting = true;
    struct file_writer writer;
    assert_int_equal(file_writer_open(&writer, in("slow"), NULL), CH_OK);
    assert_int_equal(file_writer_append(&writer, "0123456789", 10, NULL), CH_OK);
    assert_int_equal(file_writer_append(&writer, "abc", 3, NULL), CH_OK);
    disk.interrupting = false; /* the system never interrupts a rename */
    assert_int_equal(file_writer_commit(&writer, NULL), CH_OK);
    assert_content(in("slow"), "0123456789abc");
}

static void an_interrupted_sync_is_repeated(void **state) {
    (void)state;
    const char *path = old_file();
    disk.bad_call = 2;
    disk.reason = EINTR;
    assert_int_equal(file_write(path, "new", 3, NULL), CH_OK);
    assert_int_equal(disk.calls, 5); /* write, sync twice, rename, sync the folder */
    assert_content(path, "new");
}

/* The acts of a save: write, sync, rename, sync of the folder. */
enum { ACTS = 4 };

static void every_act_can_fail(void **state) {
    (void)state;
    for (int bad = 1; bad <= ACTS; bad++) {
        const char *path = old_file();
        ch_error error;
        disk.bad_call = bad;
        disk.reason = ENOSPC;
        assert_int_equal(file_write(path, "new", 3, &error), CH_FAILED);
        disk.bad_call = 0;
        assert_non_null(strstr(error.message, folder));
        assert_non_null(strstr(error.message, "No space left"));
        assert_int_equal(entries(), 1);
        assert_content(path, bad == ACTS ? "new" : "old"); /* the rename had been done */
    }
    const char *path = old_file();
    assert_int_equal(file_write(path, "new", 3, NULL), CH_OK);
    assert_int_equal(disk.calls, ACTS);
}

/* A child that dies before or behind its n-th act; whatever it leaves, the file is whole and can be replaced. */
static void every_act_can_be_the_last(void **state) {
    (void)state;
    for (int i = 0; i < 2 * ACTS; i++) {
        const char *path = old_file();
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            disk.bad_call = i / 2 + 1;
            disk.after = i % 2;
            file_write(path, "new", 3, NULL);
            _exit(1);
        }
        int how;
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 77);
        assert_content(path, i < 5 ? "old" : "new"); /* acts 0-1 write, 2-3 sync, 4-5 rename, 6-7 sync the folder */
        assert_int_equal(file_write(path, "next", 4, NULL), CH_OK);
        assert_content(path, "next");
    }
}

/* The system's own refusal: a limit on the size of files, in a child of its own. */
static void a_full_disk_keeps_the_old_file(void **state) {
    (void)state;
    const char *path = old_file();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static char big[10000];
        struct rlimit limit = {4096, 4096};
        ch_error error;
        signal(SIGXFSZ, SIG_IGN);
        bool ok = setrlimit(RLIMIT_FSIZE, &limit) == 0 && file_write(path, big, sizeof big, &error) == CH_FAILED &&
                  strstr(error.message, path) && strstr(error.message, "File too large");
        _exit(ok ? 0 : 1);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_int_equal(entries(), 1);
    assert_content(path, "old");
}

/* What a killed writer left goes when its file is written again, and not before: another file is none of its business.
 */
static void leftovers_go(void **state) {
    (void)state;
    struct file_writer writer;
    int how;
    pid_t child = fork();
    if (child == 0) {
        if (file_writer_open(&writer, in("model"), NULL) == CH_OK) file_writer_append(&writer, "half", 4, NULL);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how));
    assert_int_equal(entries(), 1);
    assert_int_equal(file_write(in("other"), "x", 1, NULL), CH_OK);
    assert_int_equal(entries(), 2);
    assert_int_equal(file_write(in("model"), "new", 3, NULL), CH_OK);
    assert_int_equal(entries(), 2);
    assert_content(in("model"), "new");
    assert_int_equal(file_writer_open(&writer, in("model"), NULL), CH_OK); /* one at work is left alone */
    assert_int_equal(file_write(in("model"), "newer", 5, NULL), CH_OK);
    assert_int_equal(file_writer_append(&writer, "last", 4, NULL), CH_OK);
    assert_int_equal(file_writer_commit(&writer, NULL), CH_OK);
    assert_content(in("model"), "last");
    assert_int_equal(entries(), 2);
}

static void assert_not_written(const char *path, const char *says) {
    ch_error error = {0};
    assert_int_equal(file_write(path, "x", 1, &error), CH_FAILED);
    if (!strstr(error.message, says)) fail_msg("'%s' does not say '%s'", error.message, says);
    assert_int_equal(file_write(path, "x", 1, NULL), CH_FAILED);
}

static void where_nothing_can_be_written(void **state) {
    (void)state;
    char name[300];
    assert_not_written(folder, "expected a file, found a folder");
    assert_not_written("/dev/null", "device or pipe");
    assert_not_written(in("missing/model"), "No such file");
    assert_not_written("/proc/model", "/proc/model");
    assert_not_written("", "No such file");
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_not_written(name, "File name too long");
    name[255] = '\0'; /* the longest name there is; the temporary one must not be longer */
    assert_int_equal(file_write(in(name), "x", 1, NULL), CH_OK);
    assert_content(in(name), "x");
    assert_int_equal(entries(), 1);
}

static void a_name_without_folder(void **state) {
    (void)state;
    char *home = getcwd(NULL, 0);
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(file_write("bare", "x", 1, NULL), CH_OK);
    assert_int_equal(file_make_folder("made/deep", NULL), CH_OK);
    assert_int_equal(file_rename("bare", "made/deep/bare", NULL), CH_OK);
    assert_int_equal(chdir(home), 0);
    free(home);
    assert_content(in("made/deep/bare"), "x");
    assert_int_equal(entries(), 1);
}

/* ---- folders ------------------------------------------------------------------------------------ */

static void folders(void **state) {
    (void)state;
    ch_error error;
    assert_int_equal(file_make_folder(in("a/b//c/"), NULL), CH_OK);
    assert_int_equal(file_make_folder(in("a/b/c"), NULL), CH_OK);
    assert_int_equal(file_make_folder("/", NULL), CH_OK);
    assert_int_equal(file_write(in("a/b/c/file"), "x", 1, NULL), CH_OK);
    assert_int_equal(file_make_folder(in("a/b/c/file/d"), &error), CH_FAILED);
    assert_non_null(strstr(error.message, "a/b/c/file: expected a folder, found a file"));
    assert_int_equal(file_make_folder("", &error), CH_FAILED);
    assert_int_equal(file_make_folder("/proc/nothing", &error), CH_FAILED);
    assert_non_null(strstr(error.message, "cannot make the folder /proc/nothing"));
    char name[PATH_MAX + 1];
    memset(name, 'n', sizeof name);
    name[PATH_MAX] = '\0';
    assert_int_equal(file_make_folder(name, &error), CH_FAILED);
    assert_int_equal(file_sync_folder(in("a"), NULL), CH_OK);
    assert_int_equal(file_sync_folder(in("gone"), &error), CH_FAILED);
    assert_int_equal(file_rename(in("a/b"), in("moved"), NULL), CH_OK);
    assert_content(in("moved/c/file"), "x");
    assert_int_equal(file_rename(in("a/b"), in("moved"), &error), CH_FAILED);
    assert_non_null(strstr(error.message, "cannot rename"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_scratch, remove_scratch)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_cannot_be_read),
        TEST(a_file_that_shrinks_is_a_failure),
        TEST(permissions_and_links_stay),
        TEST(abandoned_writing_leaves_nothing),
        TEST(two_writers_do_not_meet),
        TEST(a_copy_is_whole_or_not_there),
        TEST(short_and_interrupted_writes),
        TEST(an_interrupted_sync_is_repeated),
        TEST(every_act_can_fail),
        TEST(every_act_can_be_the_last),
        TEST(a_full_disk_keeps_the_old_file),
        TEST(leftovers_go),
        TEST(where_nothing_can_be_written),
        TEST(a_name_without_folder),
        TEST(folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
