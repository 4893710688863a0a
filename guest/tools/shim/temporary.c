/* Temporary files: names that are free, in /tmp or where the caller wants them; and the
 * random bytes that make them so. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 100

/* Finds the six X before the last `tail` characters. */
static char *place(char *pattern, int tail)
{
    size_t n = strlen(pattern);
    if (tail < 0 || n < (size_t)tail + 6 || memcmp(pattern + n - tail - 6, "XXXXXX", 6) != 0) {
        errno = EINVAL;
        return NULL;
    }
    return pattern + n - tail - 6;
}

static void fill(char *at)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    uint8_t bytes[6];
    if (getentropy(bytes, sizeof bytes) != 0)
        memset(bytes, 0, sizeof bytes);
    for (int i = 0; i < 6; i++)
        at[i] = letters[bytes[i] % (sizeof letters - 1)];
}

int mkostemps(char *pattern, int tail, int flags)
{
    char *at = place(pattern, tail);
    for (int i = 0; at && i < TRIES; i++) {
        fill(at);
        int fd = open(pattern, (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

int mkostemp(char *pattern, int flags)
{
    return mkostemps(pattern, 0, flags);
}

int mkstemps(char *pattern, int tail)
{
    return mkostemps(pattern, tail, 0);
}

int mkstemp(char *pattern)
{
    return mkostemps(pattern, 0, 0);
}

char *mkdtemp(char *pattern)
{
    char *at = place(pattern, 0);
    for (int i = 0; at && i < TRIES; i++) {
        fill(at);
        if (mkdir(pattern, 0700) == 0)
            return pattern;
        if (errno != EEXIST)
            break;
    }
    return NULL;
}

char *mktemp(char *pattern)
{
    char *at = place(pattern, 0);
    struct stat s;
    for (int i = 0; at && i < TRIES; i++) {
        fill(at);
        if (lstat(pattern, &s) != 0)
            return pattern;
    }
    pattern[0] = '\0';
    return pattern;
}

FILE *tmpfile(void)
{
    char name[] = "/tmp/XXXXXX";
    int fd = mkstemp(name);
    if (fd < 0)
        return NULL;
    unlink(name);
    FILE *f = fdopen(fd, "w+");
    if (!f)
        close(fd);
    return f;
}

/* WASI gives any number at once; the C library asks for 256 at most. */
ssize_t getrandom(void *out, size_t n, unsigned flags)
{
    (void)flags;
    char *to = out;
    for (size_t done = 0, now; done < n; done += now) {
        now = n - done < 256 ? n - done : 256;
        if (getentropy(to + done, now) != 0)
            return -1;
    }
    return (ssize_t)n;
}
