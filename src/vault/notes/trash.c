#include "notes/trash.h"

#include <stdatomic.h>
#include <stdio.h>

#include "notes/name.h"

#define PREFIX TRASH_DIR "/"
#define STAMP 25 /* "20261121T051600Z-0123abcd/" */

/* The digits behind the second: its millisecond, a count and something random, so that names
 * are in the order of their deletion. */
static unsigned trash_digits(int64_t now_ms)
{
    static _Atomic unsigned count;
    unsigned random;
    os_random(&random, sizeof random);
    return (unsigned)(now_ms % 1000) << 22 | (count++ & 0x3ff) << 12 | (random & 0xfff);
}

bool trash_name(const char *path, int64_t now_ms, char out[static PATH_MAX],
                struct err *e)
{
    char time[25], compact[20];
    size_t n = 0;
    date_format(now_ms, time);
    for (size_t i = 0; i < 19; i++)
        if (time[i] != '-' && time[i] != ':')
            compact[n++] = time[i];
    compact[n] = '\0';
    int length = snprintf(out, PATH_MAX, PREFIX "%sZ-%08x/%s", compact,
                          trash_digits(now_ms), path);
    return (length > 0 && length < PATH_MAX) ||
           err_set(e, ERR_INVALID,
                   "the note's path is too long to be moved to the trash");
}

bool trash_is_path(struct str path, struct str *original)
{
    size_t head = sizeof PREFIX - 1;
    if (!str_starts(path, PREFIX) || path.n <= head || path.at[head] == '.')
        return false;
    const char *slash = memchr(path.at + head, '/', path.n - head);
    if (!slash)
        return false;
    size_t skip = (size_t)(slash + 1 - path.at);
    *original = (struct str){path.at + skip, path.n - skip};
    return path.n < PATH_MAX && name_is_path(*original);
}

int trash_compare(const char *a, const char *b)
{
    return strncmp(a, b, sizeof PREFIX - 1 + STAMP);
}

int64_t trash_time(struct str path)
{
    /* "20261121T051600Z" to "2026-11-21T05:16:00Z" */
    static const char shape[] = "0123-45-67T89:ab:cdZ", digits[] = "0123456789abcd";
    size_t head = sizeof PREFIX - 1;
    char text[sizeof shape];
    if (path.n < head + STAMP)
        return 0;
    for (size_t i = 0; i < sizeof shape; i++) {
        const char *digit = shape[i] ? strchr(digits, shape[i]) : NULL;
        size_t at = digit ? (size_t)(digit - digits) : 0;
        text[i] = digit ? path.at[head + at + (at >= 8)] : shape[i];
    }
    int64_t ms;
    return date_read(str_of(text), &ms) ? ms : 0;
}
