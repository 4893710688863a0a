#include <stdio.h>
#include <time.h>

#include "base/base.h"

static atomic_int level_now = LOG_WARN;
static struct {
    void (*fn)(void *arg, enum log_level level, const char *line);
    void *arg;
} sink;

void log_to(void (*fn)(void *arg, enum log_level level, const char *line), void *arg)
{
    sink.fn = fn;
    sink.arg = arg;
}

void log_set_level(enum log_level level)
{
    atomic_store(&level_now, (int)level);
}

void log_line(enum log_level level, const char *fmt, ...)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    if ((int)level > atomic_load(&level_now))
        return;

    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';            /* names from outside may hold line ends */
    scoped_buf struct buf plain; /* and what moves a cursor in other ways */
    buf_init(&plain, 6 * sizeof text);
    str_escape(str_of(text), &plain);
    if (sink.fn) {
        sink.fn(sink.arg, level, buf_cz(&plain));
        return;
    }
    /* A single call, so that lines of several threads do not mix. */
    fprintf(stderr, "cloche: %s: %s\n", names[level], buf_cz(&plain));
}
