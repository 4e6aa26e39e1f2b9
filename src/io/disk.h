/* The three system calls that decide what a crash leaves on the disk. Everything durable goes through here, one call
 * at a time and without a loop, so that a test can put its own in their place: they are weak symbols. */
#ifndef CH_IO_DISK_H
#define CH_IO_DISK_H

#include <stddef.h>
#include <sys/types.h>

ssize_t disk_write(int descriptor, const void *bytes, size_t length);
int disk_fsync(int descriptor);
int disk_rename(const char *from, const char *to);

#endif
