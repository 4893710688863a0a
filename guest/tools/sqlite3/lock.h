/* Locks and shared memory, which WASI has not: every lock is granted, since nobody else of the
 * same run could hold it, and what would be shared through a file is this process's alone. */
#pragma once
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define F_RDLCK  0
#define F_WRLCK  1
#define F_UNLCK  2
#define F_GETLK  12
#define F_SETLK  13
#define F_SETLKW 14

static int control(int fd, int command, ...)
{
    va_list more;
    va_start(more, command);
    void *argument = va_arg(more, void *);
    va_end(more);
    if (command == F_GETLK)
        ((struct flock *)argument)->l_type = F_UNLCK;
    if (command == F_GETLK || command == F_SETLK || command == F_SETLKW)
        return 0;
    return fcntl(fd, command, (int)(size_t)argument);
}
#define fcntl control

static void *shared_map(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    (void)at, (void)protection, (void)flags;
    char *memory = calloc(1, size);
    if (!memory || pread(fd, memory, size, offset) < 0) {
        free(memory);
        return MAP_FAILED;
    }
    return memory;
}

static int shared_unmap(void *at, size_t size)
{
    (void)size;
    free(at);
    return 0;
}
#define mmap   shared_map
#define munmap shared_unmap
