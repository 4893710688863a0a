/* notes/find.h - what list and search share.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/index.h"

#define FIND_ANSWER_MAX (64u << 20) /* bytes of rows gathered */

void find_put_time(struct json_writer *w, const char *key, int64_t ms);

/* Calls `work`, which fills `rows` with one JSON value (and clears it first, as it
 * may be called twice), and appends that to `out` when all went well. */
bool find_use(struct vault *v, index_work *work, void *arg, struct buf *rows,
              struct json_writer *out, struct err *e);

/* An expression for the public id of the note `n`. */
#define FIND_SHADOWED             \
    "(instr(n.path, '/') = 0 AND" \
    " EXISTS(SELECT 1 FROM notes f WHERE f.path = 'note/' || n.path))"
#define FIND_ID "CASE WHEN " FIND_SHADOWED " THEN n.path ELSE n.id END"
