#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

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
