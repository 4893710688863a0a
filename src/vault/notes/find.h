/* notes/find.h - what list and search share.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/index.h"

#define FIND_ANSWER_MAX (64u << 20) /* bytes of rows gathered */

/* Calls `work`, which fills `rows` with one JSON value (and clears it first, as it
 * may be called twice), and appends that to `out` when all went well. */
bool find_use(struct vault *v, index_work *work, void *arg, struct buf *rows,
              struct json_writer *out, struct err *e);

/* The key of the note's row. false and ERR_NOT_FOUND: the note went in between. */
bool find_key(struct db *db, const char *path, int64_t *key, struct err *e);

/* Expressions for the public id of the note `n` of the query. */
#define FIND_SHADOWED_OF(n)           \
    "(instr(" n ".path, '/') = 0 AND" \
    " EXISTS(SELECT 1 FROM notes f WHERE f.path = 'note/' || " n ".path))"
#define FIND_ID_OF(n) \
    "CASE WHEN " FIND_SHADOWED_OF(n) " THEN " n ".path ELSE " n ".id END"
#define FIND_SHADOWED FIND_SHADOWED_OF("n")
#define FIND_ID FIND_ID_OF("n")
