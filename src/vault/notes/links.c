/* Lists of links: of a note, to a note, broken ones; notes by their links. */
#include <stdio.h>

#include "notes/linked.h"
#include "notes/linkindex.h"
#include "notes/linkname.h"
#include "notes/linkrows.h"
#include "notes/markdown.h"
#include "notes/name.h"
#include "notes/notes.api.h"

/* ---- rows --------------------------------------------------------------- */

static enum link_kind kind_of(struct query *q)
{
    int64_t kind = query_int(q, KIND);
    return kind >= LINK_WIKI && kind <= LINK_EXTERNAL ? (enum link_kind)kind : LINK_WIKI;
}

static void put_row_end(struct query *q, struct json_writer *w)
{
    json_pair_str(w, "link_text", query_str(q, LABEL));
    json_pair_cstr(w, "link_type", link_kind_name(kind_of(q)));
    json_pair_int(w, "line", query_int(q, LINE));
}

/* Several notes are called so: it leads to one of them. */
static void put_ambiguous(struct query *q, struct json_writer *w)
{
    if (query_int(q, OUTCOME) == NAME_SEVERAL)
        json_pair_bool(w, "ambiguous", true);
}

void linkrow_put(struct query *q, struct json_writer *w)
{
    json_open_object(w);
    json_pair_str(w, "source_note_id", query_str(q, SOURCE));
    json_key(w, "target_note_id");
    if (query_is_null(q, NOTE))
        json_put_null(w);
    else
        json_put_str(w, query_str(q, NOTE));
    json_pair_str(w, "target", query_str(q, TARGET));
    put_row_end(q, w);
    if (query_is_null(q, NOTE) && query_int(q, IS_FILE))
        json_pair_bool(w, "file", true);
    put_ambiguous(q, w);
}

static void put_address(struct query *q, struct json_writer *w)
{
    json_open_object(w);
    json_pair_str(w, "source_note_id", query_str(q, SOURCE));
    json_pair_str(w, "url", query_str(q, TARGET));
    put_row_end(q, w);
    json_close(w);
}

/* ---- of a note ---------------------------------------------------------- */

bool put_outgoing(struct db *db, int64_t note, bool external, struct json_writer *w,
                  struct err *e)
{
    static const char *const queries[] = {
        LINK_COLUMNS " FROM links l JOIN notes s ON s.key = l.source"
                     " JOIN names m ON m.key = l.name LEFT JOIN notes t ON t.key = m.note"
                     " WHERE l.source = ? ORDER BY l.number",
        "SELECT " FIND_ID_OF("s") ", NULL, l.target, coalesce(l.label, l.target), l.kind,"
                                  " l.line FROM links l JOIN notes s ON s.key = l.source"
                                  " WHERE l.source = ? AND l.name IS NULL"
                                  " ORDER BY l.number",
    };
    scoped(query_end) struct query *q = db_query(db, queries[external], e);
    if (!q)
        return false;
    query_bind_int(q, 1, note);
    json_open_array(w);
    while (query_next(q, e)) {
        if (external) {
            put_address(q, w);
            continue;
        }
        linkrow_put(q, w);
        json_close(w);
    }
    json_close(w);
    return e->code == ERR_NONE;
}

bool put_incoming(struct db *db, int64_t note, struct json_writer *w, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db,
                 LINK_COLUMNS " FROM names m JOIN links l ON l.name = m.key"
                              " LEFT JOIN notes s ON s.key = l.source"
                              " JOIN notes t ON t.key = m.note"
                              " WHERE m.note = ? ORDER BY " SOURCE_PATH ", l.number",
                 e);
    if (!q)
        return false;
    query_bind_int(q, 1, note);
    json_open_array(w);
    while (query_next(q, e)) {
        linkrow_put(q, w);
        json_close(w);
    }
    json_close(w);
    return e->code == ERR_NONE;
}

static bool answer_for_note(struct db *db, struct question *q, struct json_writer *w,
                            struct err *e)
{
    json_open_object(w);
    json_key(w, "outgoing_internal");
    bool ok = put_outgoing(db, q->note, false, w, e);
    json_key(w, "outgoing_external");
    ok = ok && put_outgoing(db, q->note, true, w, e);
    json_key(w, "incoming");
    ok = ok && put_incoming(db, q->note, w, e);
    json_close(w);
    return ok;
}

bool links_get_for_note(struct vault *v, const struct json *identifier,
                        struct json_writer *out, struct err *e)
{
    return question_about(v, identifier, "links.getForNote", answer_for_note, out, e);
}

static bool answer_backlinks(struct db *db, struct question *q, struct json_writer *w,
                             struct err *e)
{
    return put_incoming(db, q->note, w, e);
}

bool links_get_backlinks(struct vault *v, const struct json *identifier,
                         struct json_writer *out, struct err *e)
{
    return question_about(v, identifier, "links.getBacklinks", answer_backlinks, out, e);
}

/* ---- all of them, and broken ones -------------------------------------------------------- */

bool linkpage_read_cursor(struct vault *v, struct linkpage *p, struct err *e)
{
    bool found;
    p->after[0] = '\0';
    if (!p->cursor.n)
        return true;
    if (name_is_canvas(p->cursor)) {
        (void)snprintf(p->after, sizeof p->after, "%.*s", STR_ARGS(p->cursor));
        return true;
    }
    if (!vault_resolve(v, p->cursor, p->after, &found, e))
        return false;
    return found || err_set(e, ERR_INVALID,
                            "cursor must be the id of the last row of the previous "
                            "page; there is no note \"%.*s\" (any more)",
                            STR_ARGS(str_cut(p->cursor, 80)));
}

bool linkpage_put(struct linkpage *p, struct db *db, struct err *e)
{
    buf_clear(&p->rows);
    struct json_writer w = json_writer(&p->rows);
    scoped(query_end) struct query *q = db_query(db, p->sql, e);
    if (!q)
        return false;
    query_bind_cstr(q, 1, p->after);
    char last[PATH_MAX] = "";
    json_open_array(&w);
    for (int64_t n = 0; query_next(q, e);) {
        struct str path = query_str(q, OUTCOME + 1);
        bool skip = false;
        if (n >= p->limit && !str_is(path, last))
            break;
        if (!p->put(p, q, &w, &skip, e))
            return false;
        if (skip)
            continue;
        (void)snprintf(last, sizeof last, "%.*s", STR_ARGS(path));
        n++;
    }
    json_close(&w);
    return e->code == ERR_NONE;
}

bool linkpage_read(const struct json *options, const char *call, const char *const *keys,
                   struct linkpage *p, struct err *e)
{
    p->limit = LINKS_LIST_LIMIT_USUAL;
    return !options || json_is(options, JSON_NULL) ||
           (options_check(options, call, keys, e) &&
            options_int(options, "limit", LINKS_LIST_LIMIT, &p->limit, e) &&
            options_str(options, "cursor", NULL, &p->cursor, e) &&
            options_bool(options, "hierarchy", &p->hierarchy, e));
}

static bool linkpage_work(struct db *db, void *arg, struct err *e)
{
    return linkpage_put(arg, db, e);
}

bool linkpage_ask(struct vault *v, struct linkpage *p, struct json_writer *out,
                  struct err *e)
{
    if (!linkpage_read_cursor(v, p, e))
        return false;
    buf_init(&p->rows, FIND_ANSWER_MAX);
    bool ok = find_use(v, linkpage_work, p, &p->rows, out, e);
    buf_done(&p->rows);
    return ok;
}

#define KIND_HIERARCHY 99 /* of a row that is no link */

static bool links_put_found(struct linkpage *p, struct query *q, struct json_writer *w,
                            bool *skip, struct err *e)
{
    (void)p, (void)skip, (void)e;
    bool beneath = query_int(q, KIND) == KIND_HIERARCHY;
    json_open_object(w);
    json_pair_str(w, "source", query_str(q, SOURCE));
    json_pair_str(w, "target", query_str(q, NOTE));
    json_pair_str(w, "text", query_str(q, LABEL));
    json_pair_cstr(w, "kind", beneath ? "hierarchy" : link_kind_name(kind_of(q)));
    json_pair_int(w, "line", query_int(q, LINE));
    put_ambiguous(q, w);
    json_close(w);
    return true;
}

/* CROSS: in the order of the paths, so that a page reads no more than itself. */
#define LINKS_ONLY                                                      \
    LINK_COLUMNS ", s.path AS place, l.number AS number"                \
                 " FROM notes s CROSS JOIN links l ON l.source = s.key" \
                 " CROSS JOIN names m ON m.key = l.name"                \
                 " CROSS JOIN notes t ON t.key = m.note WHERE s.path > ?1"
/* Canvases have few; `s` is none of them. */
#define AND_CANVASES                                                              \
    " UNION ALL " LINK_COLUMNS ", c.path, l.number"                               \
    " FROM canvases c CROSS JOIN links l ON l.source = -c.key"                    \
    " LEFT JOIN notes s ON s.key = l.source CROSS JOIN names m ON m.key = l.name" \
    " CROSS JOIN notes t ON t.key = m.note WHERE c.path > ?1"
/* Subnotes count behind a note's links. */
#define AND_HIERARCHY                                                                  \
    " UNION ALL SELECT " FIND_ID_OF("s") ", " FIND_ID_OF(                              \
        "t") ", m.text, t.title, 99, 0, 0, m.outcome, s.path, 1000000000 + b.position" \
             " FROM notes s CROSS JOIN subnotes b ON b.parent = s.key"                 \
             " CROSS JOIN names m ON m.key = b.name"                                   \
             " CROSS JOIN notes t ON t.key = m.note"                                   \
             " WHERE s.path > ?1 AND b.state = 1"
#define LINKS_END " ORDER BY place, number"

bool links_list(struct vault *v, const struct json *options, struct json_writer *out,
                struct err *e)
{
    struct linkpage p = {.put = links_put_found};
    if (!linkpage_read(options, "links.list", LINKS_LIST_KEYS, &p, e))
        return false;
    p.sql = p.hierarchy ? LINKS_ONLY AND_CANVASES AND_HIERARCHY LINKS_END
                        : LINKS_ONLY AND_CANVASES LINKS_END;
    return linkpage_ask(v, &p, out, e);
}

/* ---- notes by their links ----------------------------------------------- */

#define CRITERIA_MAX 1000 /* strings of one criterion */

struct search_by {
    struct linkpage page;
    struct buf to, from; /* JSON arrays of paths; empty: not asked for */
    struct buf domains;  /* of domains turned round */
    int broken;          /* -1: not asked for */
};

/* Calls `each` with the strings of a criterion: one, or an array of them. */
static bool each_string(const struct json *o, const char *key,
                        bool (*each)(void *arg, struct str s, struct err *e), void *arg,
                        struct err *e)
{
    const struct json *given = json_get(o, key);
    if (!given || json_is(given, JSON_NULL))
        return true;
    struct json_iter it = json_iter(json_is(given, JSON_ARRAY) ? given : NULL);
    bool one = json_is(given, JSON_STRING);
    bool ok = one || (json_length(given) >= 1 && json_length(given) <= CRITERIA_MAX);
    while (ok && json_next(&it))
        ok = json_is(it.value, JSON_STRING);
    if (!ok || (!one && !json_is(given, JSON_ARRAY)))
        return err_set(e, ERR_INVALID,
                       "%s must be a string, or an array of 1 to %d strings", key,
                       CRITERIA_MAX);
    if (one)
        return each(arg, json_str(given), e);
    it = json_iter(given);
    while (json_next(&it))
        if (!each(arg, json_str(it.value), e))
            return false;
    return true;
}

struct paths {
    struct vault *v;
    struct buf *out;
};

static void links_put_item(struct buf *out, struct str item)
{
    buf_char(out, out->n ? ',' : '[');
    struct json_writer w = json_writer(out);
    json_put_str(&w, item);
}

static bool add_path(void *arg, struct str identifier, struct err *e)
{
    struct paths *p = arg;
    char path[PATH_MAX];
    if (!vault_need(p->v, NULL, identifier, path, e))
        return false;
    links_put_item(p->out, str_of(path));
    return true;
}

static bool add_domain(void *arg, struct str domain, struct err *e)
{
    scoped_buf struct buf b = buf_of(BUF_LINE);
    domain = str_trim(domain);
    if (str_starts(domain, "*."))
        domain = (struct str){domain.at + 2, domain.n - 2};
    link_put_domain(domain, &b);
    if (!b.n || b.failed || memchr(b.at, '/', b.n))
        return err_set(e, ERR_INVALID,
                       "external_domains: \"%.*s\" is not a domain; for example "
                       "\"example.com\" is accepted",
                       STR_ARGS(str_cut(domain, 80)));
    links_put_item(arg, buf_view(&b));
    return true;
}

static bool read_search_by(struct vault *v, const struct json *o, struct search_by *s,
                           struct err *e)
{
    struct paths to = {v, &s->to}, from = {v, &s->from};
    bool broken;
    if (!options_check(o, "links.searchBy", LINKS_SEARCH_BY_KEYS, e) ||
        !each_string(o, "has_links_to", add_path, &to, e) ||
        !each_string(o, "linked_from", add_path, &from, e) ||
        !each_string(o, "external_domains", add_domain, &s->domains, e) ||
        !options_bool(o, "broken_links", &broken, e) ||
        !options_int(o, "limit", LINKS_SEARCH_BY_LIMIT, &s->page.limit, e) ||
        !options_str(o, "cursor", NULL, &s->page.cursor, e) ||
        !linkpage_read_cursor(v, &s->page, e))
        return false;
    s->broken = json_is(json_get(o, "broken_links"), JSON_BOOL) ? broken : -1;
    if (!s->to.n && !s->from.n && !s->domains.n && s->broken < 0)
        return err_set(e, ERR_INVALID,
                       "links.searchBy needs at least one of has_links_to, linked_from, "
                       "external_domains and broken_links");
    struct buf *lists[] = {&s->to, &s->from, &s->domains};
    for (size_t i = 0; i < LENGTH(lists); i++)
        if ((lists[i]->n && !buf_char(lists[i], ']')) || lists[i]->failed)
            return err_set(e, ERR_LIMIT, "links.searchBy: too many criteria");
    return true;
}

#define WITH_BROKEN                                                          \
    "n.key IN (SELECT l.source FROM broken b JOIN names m ON m.key = b.name" \
    " JOIN links l ON l.name = m.key WHERE m.note IS NULL AND l.file = 0)"

/* Only what is asked for stands in the query, so that the rarest decides. */
static void links_put_query(const struct search_by *s, struct buf *sql)
{
    buf_cstr(sql, "SELECT " FIND_ID ", n.title, n.type, n.created, n.updated, n.hash,"
                  " n.metadata FROM notes n WHERE n.path > ?1");
    if (s->to.n)
        buf_cstr(sql, " AND n.key IN (SELECT l.source FROM json_each(?3) j"
                      " JOIN notes t ON t.path = j.value JOIN names m ON m.note = t.key"
                      " JOIN links l ON l.name = m.key)");
    if (s->from.n)
        buf_cstr(sql, " AND n.key IN (SELECT m.note FROM json_each(?4) j"
                      " JOIN notes t ON t.path = j.value JOIN links l ON l.source = t.key"
                      " JOIN names m ON m.key = l.name WHERE m.note IS NOT NULL)");
    if (s->domains.n)
        buf_cstr(sql, " AND n.key IN (SELECT l.source FROM json_each(?5) j JOIN links l"
                      " ON l.domain = j.value UNION SELECT l.source FROM json_each(?5) j"
                      " JOIN links l ON l.domain > j.value || '.'"
                      " AND l.domain < j.value || '/')");
    if (s->broken >= 0)
        buf_cstr(sql, s->broken ? " AND " WITH_BROKEN : " AND NOT " WITH_BROKEN);
    buf_cstr(sql, " ORDER BY n.path LIMIT ?2");
}

static void links_put_note(struct query *q, struct json_writer *w)
{
    json_open_object(w);
    json_pair_str(w, "id", query_str(q, 0));
    json_pair_str(w, "title", query_str(q, 1));
    json_pair_str(w, "type", query_str(q, 2));
    json_pair_time(w, "created", query_int(q, 3));
    json_pair_time(w, "updated", query_int(q, 4));
    json_pair_str(w, "content_hash", query_str(q, 5));
    json_pair_raw(w, "metadata", query_str(q, 6));
    json_close(w);
}

static bool search_by_work(struct db *db, void *arg, struct err *e)
{
    struct search_by *s = arg;
    buf_clear(&s->page.rows);
    struct json_writer w = json_writer(&s->page.rows);
    scoped_buf struct buf sql = buf_of(BUF_PAGE);
    links_put_query(s, &sql);
    scoped(query_end) struct query *q = db_query(db, buf_cz(&sql), e);
    if (!q)
        return false;
    query_bind_cstr(q, 1, s->page.after);
    query_bind_int(q, 2, s->page.limit);
    if (s->to.n)
        query_bind_str(q, 3, buf_view(&s->to));
    if (s->from.n)
        query_bind_str(q, 4, buf_view(&s->from));
    if (s->domains.n)
        query_bind_str(q, 5, buf_view(&s->domains));
    json_open_array(&w);
    while (query_next(q, e))
        links_put_note(q, &w);
    json_close(&w);
    return e->code == ERR_NONE;
}

bool links_search_by(struct vault *v, const struct json *options, struct json_writer *out,
                     struct err *e)
{
    struct search_by s = {.broken = -1};
    struct buf *const bufs[] = {&s.to, &s.from, &s.domains, &s.page.rows};
    for (size_t i = 0; i < LENGTH(bufs); i++)
        buf_init(bufs[i], FIND_ANSWER_MAX);
    bool ok = read_search_by(v, options, &s, e) &&
              find_use(v, search_by_work, &s, &s.page.rows, out, e);
    for (size_t i = 0; i < LENGTH(bufs); i++)
        buf_done(bufs[i]);
    return ok;
}

/* ---- migrate ------------------------------------------------------------ */

#define DETAILS_MAX 100

struct failures {
    struct buf rows;
    int64_t count;
};

static bool failures_work(struct db *db, void *arg, struct err *e)
{
    struct failures *f = arg;
    buf_clear(&f->rows);
    f->count = 0;
    struct json_writer w = json_writer(&f->rows);
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT " FIND_ID
                 ", n.state FROM notes n WHERE n.state IN (2, 3) ORDER BY n.path",
                 e);
    if (!q)
        return false;
    json_open_array(&w);
    while (query_next(q, e)) {
        if (f->count++ >= DETAILS_MAX)
            continue;
        json_open_object(&w);
        json_pair_str(&w, "note_id", query_str(q, 0));
        json_pair_cstr(&w, "error",
                       query_int(q, 1) == INDEX_TOO_LARGE ? "the file is too large"
                                                          : "the file may not be read");
        json_close(&w);
    }
    json_close(&w);
    return e->code == ERR_NONE;
}

static bool read_force(const struct json *o, bool *force, struct err *e)
{
    *force = json_bool(o, false);
    return !o || json_is(o, JSON_NULL) || json_is(o, JSON_BOOL) ||
           (options_check(o, "links.migrate", LINKS_MIGRATE_KEYS, e) &&
            options_bool(o, "force", force, e));
}

bool links_migrate(struct vault *v, const struct json *options, struct json_writer *out,
                   struct err *e)
{
    bool force;
    struct index_counts counts = {0};
    struct failures f = {0};
    if (!read_force(options, &force, e) || !index_rebuild(v, force, &counts, e))
        return false;
    buf_init(&f.rows, FIND_ANSWER_MAX);
    bool ok = index_use(v, failures_work, &f, e) && buf_check(&f.rows, "the answer", e);
    if (ok) {
        json_open_object(out);
        json_pair_int(out, "total_notes", (int64_t)counts.notes);
        json_pair_int(out, "processed", (int64_t)counts.read);
        json_pair_int(out, "errors", f.count);
        if (f.count)
            json_pair_raw(out, "error_details", buf_view(&f.rows));
        json_close(out);
    }
    buf_done(&f.rows);
    return ok;
}

/* ---- the version -------------------------------------------------------- */

static bool version_work(struct db *db, void *arg, struct err *e)
{
    buf_clear(arg);
    return index_version(db, arg, e);
}

bool notes_index_is_gone(struct vault *v)
{
    return index_is_gone(v->index);
}

bool notes_version(struct vault *v, struct buf *out, struct err *e)
{
    scoped_buf struct buf text = buf_of(BUF_NAME);
    return index_use(v, version_work, &text, e) &&
           (buf_str(out, buf_view(&text)) || buf_check(out, "the version", e));
}
