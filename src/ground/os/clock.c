#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

static uint64_t read_ns(clockid_t clock)
{
    struct timespec t;
    must(clock_gettime(clock, &t) == 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t os_mono_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t os_thread_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t os_real_ms(void)
{
    return (int64_t)(read_ns(CLOCK_REALTIME) / 1000000u);
}

void os_random(void *out, size_t n)
{
    for (unsigned char *p = out; n > 0;) {
        ssize_t got = getrandom(p, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        must(got > 0);
        p += got;
        n -= (size_t)got;
    }
}

/* The zone that a path below a folder `zoneinfo` is of; NULL: it is below none. */
static const char *zone_of_path(const char *path)
{
    static const char folder[] = "zoneinfo/";
    const char *at = strstr(path, folder);
    return at ? at + sizeof folder - 1 : NULL;
}

size_t os_zone_name(char name[OS_ZONE_MAX])
{
    char path[PATH_MAX];
    const char *zone = getenv("TZ");
    if (zone && *zone == ':')
        zone++;
    if (!zone || *zone == '/') {
        ssize_t n = zone ? snprintf(path, sizeof path, "%s", zone)
                         : readlink("/etc/localtime", path, sizeof path - 1);
        path[n > 0 && (size_t)n < sizeof path ? n : 0] = '\0';
        zone = zone_of_path(path);
    }
    size_t n = zone ? strlen(zone) : 0;
    if (n == 0 || n > OS_ZONE_MAX)
        zone = "UTC", n = 3;
    memcpy(name, zone, n);
    return n;
}
