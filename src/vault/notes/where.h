/* notes/where.h - the conditions of a search: a WHERE over the notes of the index, called n,
 * with its values bound.
 *
 * Metadata are looked at where they lie, as JSON: a value that is a list meets a condition
 * when one of its elements does. Threads: one. Private to the room notes.
 */
#pragma once
#include "db/db.h"
#include "notes/vault.h"

#define WHERE_TEXT_MAX 1000u /* bytes of a value */
#define WHERE_LIST_MAX 50u
#define WHERE_BINDS_MAX 160

struct bind {
    enum { BIND_STR, BIND_INT, BIND_NUMBER } kind;
    struct str str;
    int64_t n;
    double number;
};

struct where {
    struct arena *arena;
    struct buf sql; /* " AND ..." for each */
    struct bind binds[WHERE_BINDS_MAX];
    int bound; /* may be more than there is room for */
};
/* Numbers of parameters, from 1; what is too much shows in `bound`. */
int where_str(struct where *w, struct str v);
int where_int(struct where *w, int64_t v);
/* Binds the values; the order's come last, and a count has none. */
void where_bind(const struct where *w, struct query *q);
/* "a.b" is the key "a.b", or where there is none, b inside of a. Appends an expression for
 * the path of JSON. */
bool where_path(struct where *w, struct str key, struct buf *out, struct err *e);
/* [{key, operator, value}] */
bool where_filters(struct where *w, const struct json *list, struct err *e);
/* {key: value}: all of them equal; a list of values means any of them. */
bool where_metadata(struct where *w, const struct json *o, struct err *e);
