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

/* Over the zeros that end at `last`. */
static void put_digits(char *last, int n)
{
    for (; n; n /= 10)
        *last-- = (char)('0' + n % 10);
}

void os_format_utc(int64_t ms, char out[static 25])
{
    time_t seconds = (time_t)(ms / 1000);
    int rest = (int)(ms % 1000);
    if (rest < 0) {
        rest += 1000;
        seconds--;
    }
    struct tm t;
    if (!gmtime_r(&seconds, &t) || t.tm_year < -1900 || t.tm_year > 8099) {
        memcpy(out, "1970-01-01T00:00:00.000Z", 25);
        return;
    }
    memcpy(out, "0000-00-00T00:00:00.000Z", 25);
    put_digits(out + 3, t.tm_year + 1900);
    put_digits(out + 6, t.tm_mon + 1);
    put_digits(out + 9, t.tm_mday);
    put_digits(out + 12, t.tm_hour);
    put_digits(out + 15, t.tm_min);
    put_digits(out + 18, t.tm_sec);
    put_digits(out + 22, rest);
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
