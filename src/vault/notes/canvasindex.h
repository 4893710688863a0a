/* notes/canvasindex.h - the links of canvases in the index: its table "canvases".
 *
 * A canvas is no note: it is not listed, searched or read by calls. Its links are rows of
 * "links" whose source is its key, negative.
 *
 * Threads: as the connection. Private to the room notes.
 */
#pragma once
#include "db/db.h"
#include "notes/vault.h"

/* Gathers canvases to look at. */
struct canvases {
    struct arena *arena; /* of the paths */
    const char **all;
    size_t count, capacity;
};
bool canvases_add(struct canvases *c, struct str path, struct err *e);
/* Adds the canvases that the index has; of the folder `name`, or the canvas, alone where it
 * is not NULL. */
bool canvases_add_known(struct canvases *c, struct db *db, const char *name,
                        struct err *e);
void canvases_done(struct canvases *c);

/* Makes the index say what these files say, in a transaction of its own where any differs. */
bool canvases_refresh(struct canvases *c, struct vault *v, struct db *db, struct err *e);

/* Expressions for the source of the link `l`, whose note is `s`, which is joined by LEFT. */
#define SOURCE_PATH                                                              \
    "CASE WHEN l.source < 0 THEN (SELECT v.path FROM canvases v WHERE v.key = -" \
    "l.source) ELSE s.path END"
#define SOURCE_ID                                                                \
    "CASE WHEN l.source < 0 THEN (SELECT v.path FROM canvases v WHERE v.key = -" \
    "l.source) ELSE " FIND_ID_OF("s") " END"
