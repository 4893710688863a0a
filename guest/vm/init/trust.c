/* vm/init/trust.c - see trust.h. The bundle that programs read is extended here:
 * update-ca-certificates, which would write it anew with the same result, takes seconds. */
#include "vm/init/trust.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "vm/init/log.h"

#define BUNDLE "/etc/ssl/certs/ca-certificates.crt"
#define FOLDER "/usr/local/share/ca-certificates"

static const char end_line[] = "-----END CERTIFICATE-----\n";

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, bytes, n);
        if (done <= 0)
            return false;
        bytes += done;
        n -= (size_t)done;
    }
    return true;
}

static void put(const char *path, int flags, const char *pem, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
    if (fd < 0 || !write_all(fd, pem, n))
        log_line("%s: %m", path);
    if (fd >= 0)
        close(fd);
}

void trust(const char *pem, size_t n)
{
    const size_t end_n = sizeof end_line - 1;
    if (n == 0)
        return;
    put(BUNDLE, O_APPEND, pem, n);
    for (unsigned i = 1; n > 0; i++) {
        const char *end = memmem(pem, n, end_line, end_n);
        size_t one = end == NULL ? n : (size_t)(end - pem) + end_n;
        char path[sizeof FOLDER + 32];
        snprintf(path, sizeof path, FOLDER "/cloche-%u.crt", i);
        put(path, O_TRUNC, pem, one);
        pem += one;
        n -= one;
    }
}
