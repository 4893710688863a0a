/* notes/linkrows.h - pages of links: what links.c and broken.c share.
 *
 * Private to the room notes.
 */
#pragma once
#include "notes/canvasindex.h"
#include "notes/find.h"

/* Of the tables links l, names m, and by LEFT JOIN notes s (its source) and t (its target). */
#define LINK_COLUMNS                                                            \
    "SELECT " SOURCE_ID ", CASE WHEN t.key IS NULL THEN NULL ELSE " FIND_ID_OF( \
        "t") " END, coalesce(l.target, m.text),"                                \
             " coalesce(l.label, l.target, m.text), l.kind, l.line, l.file, m.outcome"

enum link_column { SOURCE, NOTE, TARGET, LABEL, KIND, LINE, IS_FILE, OUTCOME };

struct linkpage {
    int64_t limit;
    struct str cursor;
    char after[PATH_MAX]; /* the cursor's path, or "" */
    struct buf rows;
    bool hierarchy; /* links.list: and who stands beneath whom */
    /* LINK_COLUMNS and the source's path, behind ?1, by which they are sorted; and a row of
     * it, unless *skip. */
    const char *sql;
    bool (*put)(struct linkpage *p, struct query *q, struct json_writer *w, bool *skip,
                struct err *e);
    void *arg;
};

/* Reads the options of a call that takes a limit, a cursor and other `keys`. */
bool linkpage_read(const struct json *options, const char *call, const char *const *keys,
                   struct linkpage *p, struct err *e);
/* The path that the page's cursor stands for: of a note, or a canvas. */
bool linkpage_read_cursor(struct vault *v, struct linkpage *p, struct err *e);
/* Puts the rows of a page from `db`: it ends with a whole source. */
bool linkpage_put(struct linkpage *p, struct db *db, struct err *e);
/* The same from the vault's index, to `out`. */
bool linkpage_ask(struct vault *v, struct linkpage *p, struct json_writer *out,
                  struct err *e);
/* Puts a link; leaves the object open. */
void linkrow_put(struct query *q, struct json_writer *w);
