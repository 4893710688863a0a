/* base/system_test.h - what tests ask of the system: the threads of this process, all bytes of a
 * socket. Only for *_test.c. */
#pragma once
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

static inline unsigned threads(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/task");
    assert_non_null(d);
    for (struct dirent *x; (x = readdir(d));)
        n += x->d_name[0] != '.';
    closedir(d);
    return n;
}

/* All bytes until the other side closes, and closes it; valid until the next call. */
static inline const char *hear(int fd)
{
    static struct buf b;
    if (!b.ceiling)
        buf_init(&b, 8 << 20);
    buf_clear(&b);
    char piece[4096];
    ssize_t n;
    while ((n = recv(fd, piece, sizeof piece, 0)) > 0)
        buf_put(&b, piece, (size_t)n);
    close(fd);
    return buf_cz(&b);
}
