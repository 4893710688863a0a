/* Search: words by FTS5, inside of words by comparison, patterns by PCRE2 in a world of
 * their own. */
#include <stdio.h>

#include "notes/excerpt.h"
#include "notes/find.h"
#include "notes/notes.api.h"
#include "notes/words.h"

#define PAGES_MAX 10000         /* rows that pages may reach */
#define LOOK_MAX (256u * 1024)  /* bytes of a note looked through for the excerpt */
#define TITLE_MAX (64u * 1024)  /* bytes of a title that patterns are held against */
#define TIME_MAX_NS 3000000000u /* for all of one search */

/* Fields of a row, by their bits. */
enum {
    ROW_ID = 1,
    ROW_NOTE_ID = 2,
    ROW_TITLE = 4,
    ROW_EXCERPT = 8,
    ROW_SCORE = 16,
    ROW_TYPE = 32,
    ROW_CREATED = 64,
    ROW_ALL = 127
};
static const char *const row_fields[] = {"id",    "note_id", "title",  "excerpt",
                                         "score", "type",    "created"};

struct search {
    struct vault *v;
    struct str query, type, cursor;
    int64_t limit, reach; /* rows asked for, rows looked at */
    int64_t seen;         /* rows looked at so far */
    unsigned fields;
    bool use_regex, exact, plain;
    struct words words;
    struct str part; /* looked for inside of words */
    bool passed;     /* the cursor's row */
    uint64_t until_ns;
    struct db *copy; /* of an index that others wait for, to match patterns in */
    struct buf rows;
    struct json_writer w;
    int64_t found;
};

/* ---- rows --------------------------------------------------------------- */

#define ROW_COLUMNS FIND_ID ", n.title, n.type, n.created, n.path"
/* By its title, the name of its file or an alias, as fold_put() makes it. */
#define IS_CALLED(name)                                            \
    "(n.title_key = " name " OR n.stem_key = " name " OR n.key IN" \
    " (SELECT note FROM aliases WHERE text_key = " name "))"
#define TYPE_FILTER "(?1 = '' OR n.type = ?1)"

static void search_put_row(struct search *s, struct query *q, struct str excerpt,
                           double score)
{
    struct json_writer *w = &s->w;
    if (!s->passed) {
        s->passed = str_eq(query_str(q, 0), s->cursor);
        return;
    }
    json_open_object(w);
    if (s->fields & ROW_ID)
        json_pair_str(w, "id", query_str(q, 0));
    if (s->fields & ROW_NOTE_ID)
        json_pair_str(w, "note_id", query_str(q, 0));
    if (s->fields & ROW_TITLE)
        json_pair_str(w, "title", query_str(q, 1));
    if (s->fields & ROW_EXCERPT)
        json_pair_str(w, "excerpt", excerpt);
    if (s->fields & ROW_SCORE)
        json_pair_number(w, "score", score);
    if (s->fields & ROW_TYPE)
        json_pair_str(w, "type", query_str(q, 2));
    if (s->fields & ROW_CREATED)
        json_pair_time(w, "created", query_int(q, 3));
    json_close(w);
    s->found++;
}

static bool is_full(const struct search *s)
{
    return s->found >= s->limit;
}

/* Pages end here, and not as if there were nothing behind. */
static bool is_beyond(struct search *s, struct err *e)
{
    return ++s->seen > PAGES_MAX &&
           !err_set(
               e, ERR_LIMIT,
               "more than %d notes match, and pages end there; narrow the search with "
               "typeFilter or more words",
               PAGES_MAX);
}

/* A row with the text around the place; its head when the place is not known. */
static void search_put_place(struct search *s, struct query *q, struct str body,
                             size_t at, size_t length, double score)
{
    scoped_buf struct buf text = buf_of(4 * EXCERPT_BYTES);
    excerpt_put(body, at < body.n ? at : 0, length, &text);
    search_put_row(s, q, buf_view(&text), score);
}

static bool search_is_late(const struct search *s, struct err *e)
{
    return os_mono_ns() > s->until_ns &&
           !err_set(e, ERR_LIMIT,
                    "the search took longer than %u s and was stopped; narrow "
                    "it with typeFilter or a plainer query",
                    (unsigned)(TIME_MAX_NS / 1000000000u));
}

/* ---- ways to search ----------------------------------------------------- */

/* Letters in the index count without their marks, in both cases: it has found the
 * note, but the place may be known to it alone. */
static bool search_words(struct search *s, struct db *db, bool any, struct err *e)
{
    scoped_buf struct buf match = buf_of(8 * WORDS_QUERY_MAX),
                          folded = buf_of(FOLD_KEY_MAX);
    words_put_match(&s->words, any, &match);
    scoped(query_end) struct query *q = db_query(
        db,
        "SELECT " ROW_COLUMNS ", m.score, texts.body FROM"
        " (SELECT t.rowid AS key, capped_bm25(texts, 10.0, 1.0, 5.0) AS score,"
        "  " IS_CALLED(
            "?4") " AS named FROM texts t"
                  "  JOIN notes n ON n.key = t.rowid WHERE texts MATCH ?2 AND " TYPE_FILTER
                  "  ORDER BY named DESC, score, n.updated DESC, n.path LIMIT ?3) m"
                  " JOIN notes n ON n.key = m.key JOIN texts ON texts.rowid = m.key"
                  " ORDER BY m.named DESC, m.score, n.updated DESC, n.path",
        e);
    if (!q)
        return false;
    query_bind_str(q, 1, s->type);
    query_bind_str(q, 2, buf_view(&match));
    query_bind_int(q, 3, s->reach);
    query_bind_str(q, 4, fold_key(str_trim(s->query), &folded));
    while (!is_full(s) && query_next(q, e) && !search_is_late(s, e) && !is_beyond(s, e)) {
        struct str body = str_cut(query_str(q, 6), LOOK_MAX);
        size_t length, at = excerpt_find(body, s->words.all, s->words.count, &length);
        search_put_place(s, q, body, at, length, -query_number(q, 5));
    }
    return e->code == ERR_NONE;
}

static struct query *query_texts(const struct search *s, struct db *db, struct err *e)
{
    struct query *q = db_query(db,
                               "SELECT " ROW_COLUMNS
                               ", 0, t.body FROM notes n JOIN texts t ON t.rowid = n.key"
                               " WHERE " TYPE_FILTER " ORDER BY n.updated DESC, n.path",
                               e);
    if (q)
        query_bind_str(q, 1, s->type);
    return q;
}

/* For what the index does not know as a word: parts of words, signs, scripts
 * without spaces. */
static bool search_inside(struct search *s, struct db *db, struct err *e)
{
    scoped(query_end) struct query *q = query_texts(s, db, e);
    if (!q)
        return false;
    s->part = str_trim(s->query);
    while (!is_full(s) && query_next(q, e) && !search_is_late(s, e)) {
        size_t length;
        struct str title = query_str(q, 1), body = query_str(q, 6);
        bool in_title = excerpt_find(title, &s->part, 1, &length) < title.n;
        size_t at = excerpt_find(body, &s->part, 1, &length);
        if (in_title || at < body.n)
            search_put_place(s, q, body, at, length, in_title ? 0.2 : 0.1);
    }
    return e->code == ERR_NONE;
}

static bool search_exact(struct search *s, struct db *db, struct err *e)
{
    scoped_buf struct buf folded = buf_of(FOLD_KEY_MAX);
    scoped(query_end) struct query *q = db_query(
        db,
        "SELECT " ROW_COLUMNS ", 0, t.body FROM notes n JOIN texts t ON t.rowid = n.key"
        " WHERE " TYPE_FILTER
        " AND " IS_CALLED("?2") " ORDER BY n.updated DESC, n.path LIMIT ?3",
        e);
    if (!q)
        return false;
    query_bind_str(q, 1, s->type);
    query_bind_str(q, 2, fold_key(str_trim(s->query), &folded));
    query_bind_int(q, 3, s->reach);
    while (!is_full(s) && query_next(q, e) && !is_beyond(s, e))
        search_put_place(s, q, query_str(q, 6), 0, 0, 1);
    return e->code == ERR_NONE;
}

/* The first line of the body that matches; else the title. What a note has beyond the
 * largest text is not looked at: invalid bytes grow when they are read. */
static bool match_note(struct search *s, struct matcher *m, struct query *q,
                       struct err *e)
{
    struct str body = str_cut(query_str(q, 6), MATCHER_TEXT_MAX);
    struct matcher_place p;
    if (!matcher_find(m, body, str_cut(query_str(q, 1), TITLE_MAX), &p, e))
        return false;
    if (!p.found)
        return true;
    if (p.in_whole) {
        search_put_row(s, q, query_str(q, 1), 2);
        return true;
    }
    scoped_buf struct buf text = buf_of(4 * EXCERPT_BYTES);
    excerpt_put(p.line, p.at, p.length, &text);
    search_put_row(s, q, buf_view(&text), 1);
    return true;
}

static struct matcher *make_matcher(struct search *s, struct err *e)
{
    scoped(matcher_close) struct matcher *m = vault_matcher(s->v, 0, s->until_ns, e);
    struct err why = {0};
    if (!m || matcher_set(m, s->query, &why))
        return take(m);
    if (why.code == ERR_INVALID)
        err_set(e, why.code,
                "query is not a regular expression: %.300s; for plain words leave "
                "useRegex out",
                why.msg);
    else
        err_pass(e, &why);
    return NULL;
}

static bool search_regex(struct search *s, struct db *db, struct err *e)
{
    scoped(query_end) struct query *q = query_texts(s, db, e);
    if (!q)
        return false;
    scoped(matcher_close) struct matcher *m = make_matcher(s, e);
    while (m && !is_full(s) && query_next(q, e))
        if (search_is_late(s, e) || !match_note(s, m, q, e))
            return false;
    return e->code == ERR_NONE;
}

static bool has_any(const struct search *s)
{
    return s->found || (s->cursor.n && s->passed);
}

static bool search_somehow(struct search *s, struct db *db, struct err *e)
{
    if (s->use_regex)
        return search_regex(s, db, e);
    if (s->exact)
        return search_exact(s, db, e);
    /* A page of what was found one way goes on in the same way. */
    words_split(s->query, s->plain, &s->words);
    if (s->words.count && !search_words(s, db, false, e))
        return false;
    if (s->words.count > 1 && !has_any(s) && !search_words(s, db, true, e))
        return false;
    return has_any(s) || search_inside(s, db, e);
}

static bool search_work(struct db *db, void *arg, struct err *e)
{
    struct search *s = arg;
    s->until_ns = os_mono_ns() + TIME_MAX_NS;
    s->found = 0;
    s->seen = 0;
    s->passed = s->cursor.n == 0;
    buf_clear(&s->rows);
    s->w = json_writer(&s->rows);
    json_open_array(&s->w);
    db_set_deadline(db, s->until_ns);
    struct err why = {0};
    bool ok = search_somehow(s, db, &why);
    db_set_deadline(db, 0);
    json_close(&s->w);
    if (ok)
        return s->passed || err_set(e, ERR_INVALID,
                                    "cursor must be the id of the last row of the page "
                                    "before; \"%.*s\" is not found (any more)",
                                    STR_ARGS(str_cut(s->cursor, 80)));
    if (why.code == ERR_TIMEOUT)
        return !search_is_late(s, e) && err_pass(e, &why);
    return err_pass(e, &why);
}

/* Patterns take time: an index that has one connection for all calls is left to others, and
 * a copy searched. */
static bool search_patterns(struct db *db, void *arg, struct err *e)
{
    struct search *s = arg;
    if (!index_is_shared(s->v->index, db))
        return search_work(db, s, e);
    db_close(s->copy);
    s->copy = db_copy(db, e);
    return s->copy != NULL;
}

/* ---- the door ----------------------------------------------------------- */

static bool search_read_fields(const struct json *fields, struct search *s, struct err *e)
{
    s->fields = ROW_ALL;
    if (!fields || json_is(fields, JSON_NULL))
        return true;
    s->fields = 0;
    struct json_iter it = json_iter(json_is(fields, JSON_ARRAY) ? fields : NULL);
    while (json_next(&it)) {
        unsigned i = 0;
        while (i < LENGTH(row_fields) && !str_is(json_str(it.value), row_fields[i]))
            i++;
        s->fields |= 1u << i;
    }
    return (s->fields && s->fields <= ROW_ALL) ||
           err_set(e, ERR_INVALID,
                   "fields must be an array of names among id, note_id, title, excerpt, "
                   "score, type and created");
}

static bool check_query(const struct search *s, struct err *e)
{
    if (str_trim(s->query).n == 0)
        return err_set(e, ERR_INVALID, "query must be a string that is not empty") ||
               err_because(e, CAUSE_SHAPE);
    if (s->query.n > WORDS_QUERY_MAX)
        return err_set(e, ERR_INVALID, "query is %zu bytes long; at most %u are accepted",
                       s->query.n, WORDS_QUERY_MAX);
    return !s->use_regex || !s->exact ||
           err_set(e, ERR_INVALID, "useRegex and exact exclude each other");
}

static bool read_search(const struct json *o, struct search *s, struct err *e)
{
    s->query = json_str(o);
    s->limit = NOTES_SEARCH_LIMIT_USUAL;
    if (!json_is(o, JSON_STRING) &&
        (!options_check(o, "notes.search", NOTES_SEARCH_KEYS, e) ||
         !options_str(o, "query", NULL, &s->query, e) ||
         !options_str(o, "typeFilter", "type", &s->type, e) ||
         !options_str(o, "cursor", NULL, &s->cursor, e) ||
         !options_int(o, "limit", NOTES_SEARCH_LIMIT, &s->limit, e) ||
         !options_bool(o, "useRegex", &s->use_regex, e) ||
         !options_bool(o, "exact", &s->exact, e)))
        return false;
    return search_read_fields(json_get(o, "fields"), s, e) && check_query(s, e);
}

static bool search_perform(struct search *s, struct json_writer *out, struct err *e)
{
    s->reach = s->cursor.n ? PAGES_MAX + 1 : s->limit;
    buf_init(&s->rows, FIND_ANSWER_MAX);
    bool ok = s->use_regex ? index_use(s->v, search_patterns, s, e) &&
                                 (!s->copy || search_work(s->copy, s, e))
                           : index_use(s->v, search_work, s, e);
    db_close(s->copy);
    ok = ok && buf_check(&s->rows, "the answer", e);
    if (ok)
        json_put_raw(out, buf_view(&s->rows));
    outcome_rows(s->v->view.outcome, (size_t)s->found);
    buf_done(&s->rows);
    return ok && buf_check(out->out, "the answer", e);
}

bool notes_search(struct vault *v, const struct json *options, struct json_writer *out,
                  struct err *e)
{
    struct search s = {.v = v};
    return read_search(options, &s, e) && search_perform(&s, out, e);
}

bool notes_search_by_text(struct vault *v, const struct json *options,
                          struct json_writer *out, struct err *e)
{
    struct search s = {.v = v,
                       .plain = true,
                       .query = json_str(options),
                       .limit = NOTES_SEARCH_BY_TEXT_LIMIT_USUAL};
    if (!json_is(options, JSON_STRING) &&
        (!options_check(options, "notes.searchByText", NOTES_SEARCH_BY_TEXT_KEYS, e) ||
         !options_str(options, "query", NULL, &s.query, e) ||
         !options_str(options, "type", "typeFilter", &s.type, e) ||
         !options_str(options, "cursor", NULL, &s.cursor, e) ||
         !options_int(options, "limit", NOTES_SEARCH_BY_TEXT_LIMIT, &s.limit, e)))
        return false;
    return search_read_fields(json_get(options, "fields"), &s, e) && check_query(&s, e) &&
           search_perform(&s, out, e);
}
