/* What the history knows of the notes that calls have changed. */
#include <stdio.h>

#include "notes/change.h"
#include "notes/name.h"
#include "notes/undo.h"

/* ---- which revisions ------------------------------------------------------ */

static bool read_span(struct str s, int64_t *ms)
{
    static const struct {
        char unit;
        int64_t ms;
    } units[] = {
        {'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', 86400000}, {'w', 604800000}};
    int64_t n = 0;
    if (s.n < 2 || s.n > 7)
        return false;
    for (size_t i = 0; i + 1 < s.n; i++) {
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
        n = n * 10 + (s.at[i] - '0');
    }
    for (size_t i = 0; i < LENGTH(units); i++)
        if (s.at[s.n - 1] == units[i].unit) {
            *ms = n * units[i].ms;
            return true;
        }
    return false;
}

static bool read_since(struct str s, int64_t now_ms, int64_t *out, struct err *e)
{
    int64_t span;
    *out = 0;
    if (!s.n || date_read(s, out))
        return true;
    if (!read_span(s, &span))
        return err_set(
            e, ERR_INVALID,
            "since must be a date such as \"2026-11-21T05:16:00Z\" or a time "
            "before now such as \"30m\", \"1h\", \"2d\" or \"1w\", not \"%.*s\"",
            STR_ARGS(str_cut(s, 40)));
    *out = now_ms - span;
    return true;
}

bool undo_read_filter(const struct json *o, int64_t now_ms, struct undo_filter *out,
                      struct err *e)
{
    struct str since = STR("");
    *out = (struct undo_filter){0};
    return options_str(o, "call", NULL, &out->call, e) &&
           options_str(o, "agent", NULL, &out->agent, e) &&
           options_str(o, "since", NULL, &since, e) &&
           read_since(since, now_ms, &out->since_ms, e);
}

void undo_bind(struct query *q, const struct undo_filter *f)
{
    query_bind_str(q, 1, f->call);
    query_bind_str(q, 2, f->agent);
    query_bind_int(q, 3, f->since_ms);
}

/* ---- moments -------------------------------------------------------------- */

static const char *row_text(struct query *q, int column, struct arena *a, struct err *e)
{
    struct str s = query_str(q, column);
    return arena_printf(a, e, "%.*s", STR_ARGS(s));
}

/* The row that the query's note (1) and number (2) name; number 0: there is none. */
static bool read_moment(struct query *q, int64_t key, int64_t number, struct arena *a,
                        struct undo_moment *out, struct err *e)
{
    *out = (struct undo_moment){.path = "", .hash = "", .author = "", .call = ""};
    query_bind_int(q, 1, key);
    query_bind_int(q, 2, number);
    if (query_next(q, e)) {
        struct str path = query_str(q, 0);
        out->there = query_is_null(q, 3) && name_is_file(path);
        out->path = row_text(q, 0, a, e);
        out->hash = row_text(q, 1, a, e);
        out->content = query_int(q, 2);
        out->number = number;
        out->author = row_text(q, 4, a, e);
        out->call = row_text(q, 5, a, e);
    }
    query_again(q);
    return e->code == ERR_NONE;
}

bool undo_same(const struct undo_moment *a, const struct undo_moment *b)
{
    return a->there == b->there &&
           (!a->there || (!strcmp(a->path, b->path) && !strcmp(a->hash, b->hash)));
}

/* ---- notes ---------------------------------------------------------------- */

static bool add_note(struct query *q, struct undo_note **all, size_t *capacity,
                     size_t *count, struct arena *a, struct err *e)
{
    if (*count == CHANGE_NOTES_MAX)
        return err_set(
            e, ERR_LIMIT,
            "more than %u notes were changed; narrow it by call, since or agent",
            CHANGE_NOTES_MAX);
    if (*count == *capacity) {
        size_t more = *capacity ? 2 * *capacity : 64;
        struct undo_note *grown = arena_get(a, more * sizeof *grown, e);
        if (!grown)
            return false;
        if (*count)
            memcpy(grown, *all, *count * sizeof *grown);
        *all = grown;
        *capacity = more;
    }
    (*all)[(*count)++] = (struct undo_note){.key = query_int(q, 0),
                                            .first = query_int(q, 1),
                                            .last = query_int(q, 2),
                                            .count = query_int(q, 3)};
    return true;
}

static bool list_notes(struct db *db, const struct undo_filter *f, struct arena *a,
                       struct undo_note **out, size_t *count, struct err *e)
{
    size_t capacity = 0;
    scoped(query_end) struct query *q = db_query(
        db,
        "SELECT note, min(number), max(number), count(*) FROM revisions r WHERE" UNDO_WHERE
        " GROUP BY note ORDER BY min(id)",
        e);
    *out = NULL;
    *count = 0;
    if (!q)
        return false;
    undo_bind(q, f);
    while (query_next(q, e))
        if (!add_note(q, out, &capacity, count, a, e))
            return false;
    return e->code == ERR_NONE;
}

static bool read_moments(struct db *db, struct query *q, struct undo_note *n,
                         struct arena *a, struct err *e)
{
    int64_t newest;
    return history_number(db, "SELECT max(number) FROM revisions WHERE note = ?", n->key,
                          &newest, e) &&
           read_moment(q, n->key, n->first - 1, a, &n->was, e) &&
           read_moment(q, n->key, n->last, a, &n->done, e) &&
           read_moment(q, n->key, newest, a, &n->now, e);
}

static bool undo_read_bytes(struct db *db, struct undo_note *n, struct arena *a,
                            struct err *e)
{
    scoped_buf struct buf bytes = buf_of(NOTE_SIZE_MAX + 4096);
    bool found;
    if (!n->was.there || !n->was.content)
        return true;
    if (!history_bytes(db, str_of(n->was.hash), &bytes, &found, e))
        return false;
    n->was.content = found ? n->was.content : 0;
    n->bytes = (struct str){arena_copy(a, bytes.at, bytes.n, e), bytes.n};
    return n->bytes.at != NULL;
}

bool undo_list(struct db *db, const struct undo_filter *f, struct arena *a,
               struct undo_note **out, size_t *count, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT path, hash, ifnull(content, 0), backup, author, ifnull(call, '')"
                 " FROM revisions WHERE note = ?1 AND number = ?2",
                 e);
    if (!q || !list_notes(db, f, a, out, count, e))
        return false;
    for (size_t i = 0; i < *count; i++)
        if (!read_moments(db, q, &(*out)[i], a, e) ||
            !undo_read_bytes(db, &(*out)[i], a, e))
            return false;
    return true;
}

const char *undo_objection(struct undo_note *n)
{
    if (n->first > 1 && !n->was.number)
        return "its earlier contents are no longer stored";
    if (n->was.there && !n->was.content && strcmp(n->was.hash, n->now.hash) != 0)
        return "its earlier contents were not stored";
    if (n->count != n->last - n->first + 1)
        return "it was changed in between";
    if (n->now.number != n->last && !undo_same(&n->now, &n->done)) {
        n->by = n->now.author;
        n->by_call = n->now.call;
        return "it was changed since";
    }
    return NULL;
}
