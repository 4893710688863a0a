/* mcp/lines.h - lines from a descriptor, each bounded.
 *
 * Threads: one at a time, but for lines_stop(). Private to the room mcp.
 */
#pragma once
#include "base/base.h"

struct lines {
    int in, out, stop; /* borrowed; -1: none */
    int wake;
    size_t max;
    char *at;                    /* what was read: [from, to), of `size` bytes */
    size_t size, from, to, seen; /* up to `seen` there is no line end */
    bool skipping;               /* the rest of a line that was too long */
    bool readable;               /* see lines_readable() */
    bool ended;
    struct err failure; /* why it ended, when not by its end */
};

enum lines_got { LINES_LINE, LINES_TOO_LONG, LINES_END };

/* `out` is where answers go: when nobody reads there any more, or `stop` can be
 * read, the input ends. `max` is in bytes. false and ERR_IO. */
bool lines_init(struct lines *l, int in, int out, int stop, size_t max, struct err *e);
void lines_done(struct lines *l);
/* Waits for the next line that is not blank: without its end, valid until the
 * next call. LINES_TOO_LONG comes once a line, as soon as it is. A last line
 * without an end counts. */
enum lines_got lines_next(struct lines *l, struct str *line);
/* The input was seen to have something, which nobody has read since: the next read does
 * not look first. */
void lines_readable(struct lines *l);
/* Would lines_next() have something to say without waiting, for all that is known? */
bool lines_are_there(const struct lines *l);
/* Ends the input. Threads: safe. */
void lines_stop(struct lines *l);
