/* notes.searchAdvanced: notes by anything that the index knows of them.
 *
 * Each condition becomes a part of one WHERE, with its values bound (where.h). */
#include <ctype.h>
#include <stdio.h>

#include "crypto/crypto.h"
#include "notes/excerpt.h"
#include "notes/find.h"
#include "notes/name.h"
#include "notes/notes.api.h"
#include "notes/where.h"
#include "notes/words.h"

#define TIME_MAX_NS 3000000000u
#define LOOK_MAX (256u * 1024) /* bytes of a note looked through for the excerpt */
#define SORTS_MAX 5u
#define OFFSET_MAX 1000000

struct advanced {
    struct vault *v;
    struct arena *arena;
    struct where where;
    struct buf order;
    struct words words;
    struct str place; /* content_contains, for the excerpt */
    bool by_words;    /* joined with the index of words */
    int64_t limit, offset;
    unsigned fields;
    char print[17]; /* of the question, for its cursors */
    uint64_t began_ns;
    struct buf rows;
};

/* ---- fields ------------------------------------------------------------------------ */

static const struct field {
    const char *name;
    const char *sort; /* what it is sorted by; NULL: it cannot be */
    bool usual;       /* answered where no fields are asked for */
} fields[] = {
    {"id", "n.id", true},           {"title", "n.title COLLATE NOCASE", true},
    {"type", "n.type", true},       {"created", "n.created", true},
    {"updated", "n.updated", true}, {"size", "n.size", true},
    {"tags", NULL, true},           {"path", "n.path", true},
    {"excerpt", NULL, true}, /* where something was looked for in the text */
    {"score", "score", true},       {"uid", NULL, false},
    {"filename", NULL, false},      {"content_hash", NULL, false},
    {"metadata", NULL, false},
};
enum {
    ID,
    TITLE,
    TYPE,
    CREATED,
    UPDATED,
    SIZE,
    TAGS,
    PATH,
    EXCERPT,
    SCORE,
    UID,
    FILENAME,
    HASH,
    METADATA
};

static void put_field_names(struct buf *out, bool for_sort)
{
    for (size_t i = 0; i < LENGTH(fields); i++)
        if (!for_sort || fields[i].sort)
            buf_printf(out, "%s%s", out->n ? ", " : "", fields[i].name);
}

static int field_named(struct str name)
{
    for (size_t i = 0; i < LENGTH(fields); i++)
        if (str_is(name, fields[i].name))
            return (int)i;
    return -1;
}

static bool advanced_read_fields(const struct json *list, struct advanced *s,
                                 struct err *e)
{
    s->fields = 0;
    for (unsigned i = 0; i < LENGTH(fields); i++)
        s->fields |= fields[i].usual ? 1u << i : 0;
    if (!list || json_is(list, JSON_NULL))
        return true;
    s->fields = 0;
    int i = 0;
    struct json_iter it = json_iter(json_is(list, JSON_ARRAY) ? list : NULL);
    while (i >= 0 && json_next(&it)) {
        i = field_named(json_str(it.value));
        s->fields |= i >= 0 ? 1u << i : 0;
    }
    if (i >= 0 && s->fields)
        return true;
    scoped_buf struct buf names = buf_of(BUF_LINE);
    put_field_names(&names, false);
    return err_set(e, ERR_INVALID, "fields must be an array of names among %s",
                   buf_cz(&names));
}

/* ---- other conditions ------------------------------------------------------------------- */

/* A string or an array of strings; `count` 0: it is not there. */
static bool read_texts(const struct json *v, const char *name, struct str *out,
                       size_t *count, struct err *e)
{
    *count = 0;
    if (!v || json_is(v, JSON_NULL))
        return true;
    if (json_is(v, JSON_STRING)) {
        out[(*count)++] = json_str(v);
        return true;
    }
    bool ok = json_is(v, JSON_ARRAY) && json_length(v) <= WHERE_LIST_MAX;
    struct json_iter it = json_iter(ok ? v : NULL);
    while (ok && json_next(&it)) {
        ok = json_is(it.value, JSON_STRING);
        out[(*count)++] = json_str(it.value);
    }
    return ok || err_set(e, ERR_INVALID, "%s must be a string or an array of at most %u",
                         name, WHERE_LIST_MAX);
}

static bool read_types(const struct json *v, struct advanced *s, struct err *e)
{
    struct str types[WHERE_LIST_MAX];
    size_t count;
    if (!read_texts(v, "type", types, &count, e))
        return false;
    for (size_t i = 0; i < count; i++)
        buf_printf(&s->where.sql, "%s?%d", i ? ", " : " AND n.type IN (",
                   where_str(&s->where, types[i]));
    buf_cstr(&s->where.sql, count ? ")" : "");
    return true;
}

static bool advanced_read_tags(const struct json *v, struct advanced *s, struct err *e)
{
    struct str tags[WHERE_LIST_MAX];
    size_t count;
    if (!read_texts(v, "tags", tags, &count, e))
        return false;
    for (size_t i = 0; i < count; i++) {
        while (tags[i].n && tags[i].at[0] == '#')
            tags[i].at++, tags[i].n--;
        int tag = where_str(&s->where, tags[i]);
        /* And those beneath: '0' comes behind '/'. */
        buf_printf(&s->where.sql,
                   " AND n.key IN (SELECT note FROM tags WHERE tag = ?%d OR"
                   " (tag > ?%d || '/' AND tag < ?%d || '0'))",
                   tag, tag, tag);
    }
    return true;
}

static bool advanced_read_date(const struct json *o, const char *key, const char *column,
                               const char *sign, struct advanced *s, struct err *e)
{
    struct str text;
    int64_t ms;
    if (!options_str(o, key, NULL, &text, e))
        return false;
    if (!text.n)
        return true;
    if (!date_read(text, &ms))
        return err_set(e, ERR_INVALID,
                       "%s is \"%.*s\"; a date such as \"2026-11-21\" or "
                       "\"2026-11-21T05:16:00Z\" is accepted",
                       key, STR_ARGS(str_cut(text, 60)));
    buf_printf(&s->where.sql, " AND n.%s %s ?%d", column, sign, where_int(&s->where, ms));
    return true;
}

/* "7d": that long ago, or later. */
static bool read_within(const struct json *o, const char *key, const char *column,
                        struct advanced *s, struct err *e)
{
    static const struct {
        char unit;
        int64_t ms;
    } units[] = {{'m', 60000},
                 {'h', 3600000},
                 {'d', 86400000},
                 {'w', 604800000},
                 {'y', 31536000000}};
    struct str text;
    if (!options_str(o, key, NULL, &text, e))
        return false;
    if (!text.n)
        return true;
    int64_t n = 0, unit = 0;
    size_t i = 0;
    for (; i < text.n && i < 6 && isdigit((unsigned char)text.at[i]); i++)
        n = 10 * n + (text.at[i] - '0');
    for (size_t k = 0; k < LENGTH(units); k++)
        if (i > 0 && i + 1 == text.n && text.at[i] == units[k].unit)
            unit = units[k].ms;
    if (!unit || !n)
        return err_set(
            e, ERR_INVALID,
            "%s is \"%.*s\"; a number and a unit of m, h, d, w or y is accepted, "
            "such as \"7d\"",
            key, STR_ARGS(str_cut(text, 60)));
    buf_printf(&s->where.sql, " AND n.%s >= ?%d", column,
               where_int(&s->where, os_real_ms() - n * unit));
    return true;
}

static bool read_dates(const struct json *o, struct advanced *s, struct err *e)
{
    return advanced_read_date(o, "created_after", "created", ">=", s, e) &&
           advanced_read_date(o, "created_before", "created", "<", s, e) &&
           advanced_read_date(o, "updated_after", "updated", ">=", s, e) &&
           advanced_read_date(o, "updated_before", "updated", "<", s, e) &&
           read_within(o, "created_within", "created", s, e) &&
           read_within(o, "updated_within", "updated", s, e);
}

static bool advanced_read_words(const struct json *o, struct advanced *s, struct err *e)
{
    struct str query;
    if (!options_str(o, "query", NULL, &query, e) ||
        !options_str(o, "content_contains", NULL, &s->place, e))
        return false;
    if (query.n > WORDS_QUERY_MAX || s->place.n > WHERE_TEXT_MAX)
        return err_set(e, ERR_INVALID, "query and content_contains have at most %u bytes",
                       WHERE_TEXT_MAX);
    words_split(query, false, &s->words);
    if (str_trim(query).n && !s->words.count)
        return err_set(e, ERR_INVALID,
                       "query has no letter or digit; content_contains finds signs");
    if (s->words.count) {
        scoped_buf struct buf match = buf_of(8 * WORDS_QUERY_MAX);
        words_put_match(&s->words, false, &match);
        const char *copy = arena_copy(s->arena, buf_view(&match).at, match.n, e);
        if (!copy)
            return false;
        s->by_words = true;
        buf_printf(&s->where.sql, " AND texts MATCH ?%d",
                   where_str(&s->where, str_of(copy)));
    }
    if (s->place.n)
        buf_printf(&s->where.sql,
                   " AND instr(lower((SELECT b.body FROM texts b WHERE b.rowid = n.key)),"
                   " lower(?%d)) > 0",
                   where_str(&s->where, s->place));
    return true;
}

/* ---- order and pages ----------------------------------------------------------------------- */

static bool put_sort(struct advanced *s, struct str field, struct err *e)
{
    struct str key = field;
    if (str_starts(field, "metadata.")) {
        key = (struct str){field.at + 9, field.n - 9};
        buf_cstr(&s->order, "json_extract(n.metadata, ");
        bool ok = where_path(&s->where, key, &s->order, e);
        buf_char(&s->order, ')');
        return ok;
    }
    int i = field_named(field);
    if (i == SCORE && !s->by_words)
        return err_set(e, ERR_INVALID,
                       "sort: there is a score only where a query is given");
    if (i >= 0 && fields[i].sort) {
        buf_cstr(&s->order, fields[i].sort);
        return true;
    }
    scoped_buf struct buf names = buf_of(BUF_LINE);
    put_field_names(&names, true);
    return err_set(e, ERR_INVALID,
                   "sort knows no field \"%.*s\"; it takes %s and metadata.KEY",
                   STR_ARGS(str_cut(field, 60)), buf_cz(&names));
}

static bool put_direction(struct advanced *s, struct str field, const struct json *order,
                          struct err *e)
{
    struct str word = json_str(order);
    bool up = str_is(word, "asc"), down = str_is(word, "desc");
    if (order && !up && !down)
        return err_set(e, ERR_INVALID,
                       "sort: order is \"%.*s\"; asc and desc are accepted",
                       STR_ARGS(str_cut(word, 40)));
    /* FTS5 makes the best the least. */
    bool score = str_is(field, "score");
    bool descending = score ? up : down;
    buf_cstr(&s->order, descending ? " DESC NULLS LAST, " : " ASC NULLS LAST, ");
    return true;
}

static bool read_sort(const struct json *list, struct advanced *s, struct err *e)
{
    if (json_is(list, JSON_NULL))
        list = NULL;
    if (list && (!json_is(list, JSON_ARRAY) || json_length(list) > SORTS_MAX))
        return err_set(e, ERR_INVALID,
                       "sort must be an array of at most %u objects {field, order}",
                       SORTS_MAX);
    struct json_iter it = json_iter(list);
    while (json_next(&it)) {
        struct str field;
        if (!options_check(it.value, "sort", ADVANCED_SORT_KEYS, e) ||
            !options_str(it.value, "field", NULL, &field, e) || !put_sort(s, field, e) ||
            !put_direction(s, field, json_get(it.value, "order"), e))
            return false;
    }
    if (json_length(list) == 0)
        buf_cstr(&s->order, s->by_words ? "score, " : "");
    buf_cstr(&s->order, "n.updated DESC, n.id, n.path");
    return true;
}

/* A hash of the question without its page: a cursor belongs to one question. */
static void print_question(const struct json *o, char out[static 17])
{
    scoped_buf struct buf text = buf_of(BUF_LIST);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_put_pairs(&w, o, (const char *const[]){"cursor", "limit", "fields", NULL});
    char hash[CRYPTO_HASH_HEX];
    crypto_hash_hex(buf_view(&text), hash);
    (void)snprintf(out, 17, "%.16s", hash);
}

static bool advanced_read_cursor(const struct json *o, struct advanced *s, struct err *e)
{
    struct str cursor;
    print_question(o, s->print);
    if (!options_str(o, "cursor", NULL, &cursor, e))
        return false;
    size_t i = 0;
    for (; i < cursor.n && i < 7 && isdigit((unsigned char)cursor.at[i]); i++)
        s->offset = 10 * s->offset + (cursor.at[i] - '0');
    bool mine = i > 0 && i < cursor.n && cursor.at[i] == '.' && s->offset <= OFFSET_MAX &&
                str_is((struct str){cursor.at + i + 1, cursor.n - i - 1}, s->print);
    return !cursor.n || mine ||
           err_set(
               e, ERR_INVALID,
               "cursor must be what the page before has answered, to the same question");
}

static bool read_question(const struct json *o, struct advanced *s, struct err *e)
{
    if (!options_check(o, "notes.searchAdvanced", NOTES_SEARCH_ADVANCED_KEYS, e) ||
        !advanced_read_words(o, s, e) || !read_types(json_get(o, "type"), s, e) ||
        !advanced_read_tags(json_get(o, "tags"), s, e) ||
        !where_metadata(&s->where, json_get(o, "metadata"), e) ||
        !where_filters(&s->where, json_get(o, "metadata_filters"), e) ||
        !read_dates(o, s, e) || !read_sort(json_get(o, "sort"), s, e) ||
        !options_int(o, "limit", NOTES_SEARCH_ADVANCED_LIMIT, &s->limit, e) ||
        !advanced_read_cursor(o, s, e) ||
        !advanced_read_fields(json_get(o, "fields"), s, e))
        return false;
    if (s->where.bound > WHERE_BINDS_MAX)
        return err_set(e, ERR_LIMIT, "the search has %d values; at most %d are accepted",
                       s->where.bound, WHERE_BINDS_MAX);
    return buf_check(&s->where.sql, "the search", e) &&
           buf_check(&s->order, "the search", e);
}

/* ---- asking --------------------------------------------------------------------------------- */

static bool count_all(struct advanced *s, struct db *db, int64_t *total, struct err *e)
{
    scoped_buf struct buf sql = buf_of(BUF_TEXT);
    buf_printf(&sql, "SELECT count(*) FROM %s WHERE 1%s",
               s->by_words ? "texts JOIN notes n ON n.key = texts.rowid" : "notes n",
               buf_cz(&s->where.sql));
    scoped(query_end) struct query *q =
        buf_check(&sql, "the search", e) ? db_query_once(db, buf_cz(&sql), e) : NULL;
    if (!q)
        return false;
    where_bind(&s->where, q);
    if (!query_next(q, e))
        return false;
    *total = query_int(q, 0);
    return true;
}

static bool wants(const struct advanced *s, unsigned field)
{
    return s->fields >> field & 1;
}

static void put_excerpt(struct advanced *s, struct query *q, struct json_writer *w)
{
    struct str body = str_cut(query_str(q, 13), LOOK_MAX);
    scoped_buf struct buf text = buf_of(4 * EXCERPT_BYTES);
    size_t length = 0, at;
    if (s->place.n)
        at = excerpt_find(body, &s->place, 1, &length);
    else
        at = excerpt_find(body, s->words.all, s->words.count, &length);
    excerpt_put(body, at < body.n ? at : 0, length, &text);
    json_pair_str(w, "excerpt", buf_view(&text));
}

/* Columns: 0 id, title, type, 3 created, updated, size, tags, 7 path, uid, stem, 10 hash,
 * metadata, score, 13 body. */
static void advanced_put_row(struct advanced *s, struct query *q, struct json_writer *w)
{
    json_open_object(w);
    if (wants(s, ID))
        json_pair_str(w, "id", query_str(q, 0));
    if (wants(s, TITLE))
        json_pair_str(w, "title", query_str(q, 1));
    if (wants(s, TYPE))
        json_pair_str(w, "type", query_str(q, 2));
    if (wants(s, CREATED))
        json_pair_time(w, "created", query_int(q, 3));
    if (wants(s, UPDATED))
        json_pair_time(w, "updated", query_int(q, 4));
    if (wants(s, SIZE))
        json_pair_int(w, "size", query_int(q, 5));
    if (wants(s, TAGS))
        json_pair_raw(w, "tags", query_str(q, 6));
    if (wants(s, PATH))
        json_pair_str(w, "path", query_str(q, 7));
    if (wants(s, HASH))
        json_pair_str(w, "content_hash", query_str(q, 10));
    if (wants(s, FILENAME))
        json_pair_str(w, "filename", name_file(query_str(q, 7)));
    if (wants(s, UID) && !query_is_null(q, 8))
        json_pair_str(w, "uid", query_str(q, 8));
    if (wants(s, METADATA))
        json_pair_raw(w, "metadata", query_str(q, 11));
    if (wants(s, EXCERPT) && (s->by_words || s->place.n))
        put_excerpt(s, q, w);
    if (wants(s, SCORE) && s->by_words)
        json_pair_number(w, "score", -query_number(q, 12));
    json_close(w);
}

/* First the keys in their order, then what is told of those on the page. */
static void put_select(struct advanced *s, struct buf *sql)
{
    bool body = wants(s, EXCERPT) && (s->by_words || s->place.n);
    const char *from =
        s->by_words ? "texts JOIN notes n ON n.key = texts.rowid" : "notes n";
    buf_cstr(sql,
             "SELECT " FIND_ID ", n.title, n.type, n.created, n.updated, n.size, n.tags,"
             " n.path, n.uid, n.stem, n.hash, n.metadata, score, ");
    buf_printf(sql,
               "%s FROM (SELECT n.key AS key, %s AS score FROM %s WHERE 1%s ORDER BY %s"
               " LIMIT %lld OFFSET %lld) m JOIN notes n ON n.key = m.key ORDER BY %s",
               body ? "(SELECT t.body FROM texts t WHERE t.rowid = n.key)" : "NULL",
               s->by_words ? "capped_bm25(texts, 10.0, 1.0, 5.0)" : "0", from,
               buf_cz(&s->where.sql), buf_cz(&s->order), (long long)s->limit,
               (long long)s->offset, buf_cz(&s->order));
}

static bool advanced_put_page(struct advanced *s, struct db *db, struct json_writer *w,
                              int64_t *count, struct err *e)
{
    scoped_buf struct buf sql = buf_of(BUF_TEXT);
    put_select(s, &sql);
    scoped(query_end) struct query *q =
        buf_check(&sql, "the search", e) ? db_query_once(db, buf_cz(&sql), e) : NULL;
    if (!q)
        return false;
    where_bind(&s->where, q);
    for (*count = 0; query_next(q, e); ++*count)
        advanced_put_row(s, q, w);
    return e->code == ERR_NONE;
}

static bool advanced_answer(struct advanced *s, struct db *db, struct err *e)
{
    int64_t total, count;
    buf_clear(&s->rows);
    struct json_writer w = json_writer(&s->rows);
    /* Both must be of one state. */
    scoped_transaction struct transaction t = {0};
    json_open_object(&w);
    json_key(&w, "results");
    json_open_array(&w);
    if (!db_begin_read(&t, db, e) || !advanced_put_page(s, db, &w, &count, e))
        return false;
    json_close(&w);
    outcome_rows(s->v->view.outcome, (size_t)count);
    bool all = s->offset == 0 && count < s->limit;
    total = count;
    if (!all && !count_all(s, db, &total, e))
        return false;
    bool more = s->offset + count < total;
    json_pair_int(&w, "total", total);
    json_pair_bool(&w, "has_more", more);
    if (more && s->offset + count <= OFFSET_MAX) {
        char cursor[40];
        (void)snprintf(cursor, sizeof cursor, "%lld.%s", (long long)(s->offset + count),
                       s->print);
        json_pair_cstr(&w, "cursor", cursor);
    }
    json_pair_number(&w, "query_time_ms", (double)(os_mono_ns() - s->began_ns) / 1e6);
    json_close(&w);
    return true;
}

static bool answer_work(struct db *db, void *arg, struct err *e)
{
    struct err why = {0};
    db_set_deadline(db, os_mono_ns() + TIME_MAX_NS);
    bool ok = advanced_answer(arg, db, &why);
    db_set_deadline(db, 0);
    if (why.code == ERR_TIMEOUT)
        return err_set(
            e, ERR_LIMIT,
            "the search took longer than %u s and was stopped; narrow it with a "
            "query, a type or tags",
            (unsigned)(TIME_MAX_NS / 1000000000u));
    return ok || err_pass(e, &why);
}

bool notes_search_advanced(struct vault *v, const struct json *options,
                           struct json_writer *out, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_CALL);
    struct advanced *s = arena_get(a, sizeof *s, e);
    if (!s)
        return false;
    *s =
        (struct advanced){.v = v, .arena = a, .where.arena = a, .began_ns = os_mono_ns()};
    buf_init(&s->where.sql, BUF_TEXT);
    buf_init(&s->order, BUF_PAGE);
    buf_init(&s->rows, FIND_ANSWER_MAX);
    const struct json *none = json_read(STR("{}"), a, e);
    bool absent = !options || json_is(options, JSON_NULL);
    bool ok = read_question(absent ? none : options, s, e) &&
              find_use(v, answer_work, s, &s->rows, out, e);
    buf_done(&s->where.sql);
    buf_done(&s->order);
    buf_done(&s->rows);
    return ok;
}
