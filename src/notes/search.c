/* Search: words by FTS5, inside of words by comparison, patterns by PCRE2. */
#include <stdio.h>

#include "notes/excerpt.h"
#include "notes/find.h"
#include "notes/regex.h"

#define QUERY_MAX 1000u /* bytes */
#define WORDS_MAX 32u
#define LOOK_MAX (256u * 1024)  /* bytes of a note looked through for the excerpt */
#define TIME_MAX_NS 3000000000u /* for all of one search */

enum joint { JOIN_AND, JOIN_OR };

struct word {
    struct str text;
    bool phrase;
};

struct search {
    struct vault *v;
    struct str query, type;
    int64_t limit;
    bool use_regex, exact;
    struct regex *regex;
    struct word words[WORDS_MAX];
    struct str places[WORDS_MAX]; /* the same, to look for in the text */
    size_t count;
    uint64_t until_ns;
    struct buf rows;
    struct json_writer w;
    int64_t found;
};

/* ---- the query ---------------------------------------------------------- */

/* Has it a letter or digit? The index knows no others. */
static bool has_letter(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
            c >= 0x80)
            return true;
    }
    return false;
}

static void add_word(struct search *s, struct str text, bool phrase)
{
    if (s->count < WORDS_MAX && has_letter(text)) {
        s->places[s->count] = text;
        s->words[s->count++] = (struct word){text, phrase};
    }
}

/* Words between spaces; what stands in double quotes is one. */
static void split_query(struct search *s)
{
    struct str q = s->query;
    for (size_t i = 0; i < q.n;) {
        if (q.at[i] == ' ' || q.at[i] == '\t' || q.at[i] == '\n' || q.at[i] == '\r') {
            i++;
            continue;
        }
        const char *close =
            q.at[i] == '"' ? memchr(q.at + i + 1, '"', q.n - i - 1) : NULL;
        if (close) {
            size_t end = (size_t)(close - q.at);
            add_word(s, (struct str){q.at + i + 1, end - i - 1}, true);
            i = end + 1;
            continue;
        }
        size_t end = i;
        while (end < q.n && q.at[end] != ' ' && q.at[end] != '\t' && q.at[end] != '\n' &&
               q.at[end] != '\r' && (end == i || q.at[end] != '"'))
            end++;
        add_word(s, (struct str){q.at + i, end - i}, false);
        i = end;
    }
}

/* Each word in quotes, so that nothing of it is syntax to FTS5. */
static void put_match(const struct search *s, enum joint joint, struct buf *out)
{
    for (size_t i = 0; i < s->count; i++) {
        if (i)
            buf_cstr(out, joint == JOIN_OR ? " OR " : " AND ");
        buf_char(out, '"');
        for (size_t k = 0; k < s->words[i].text.n; k++) {
            char c = s->words[i].text.at[k];
            if (c == '"')
                buf_char(out, '"');
            buf_char(out, c ? c : ' ');
        }
        buf_char(out, '"');
        if (i + 1 == s->count && !s->words[i].phrase)
            buf_char(out, '*');
    }
}

/* ---- rows --------------------------------------------------------------- */

#define ROW_COLUMNS FIND_ID ", n.title, n.type, n.created, n.path"
#define TYPE_FILTER "(?1 = '' OR n.type = ?1)"

static void put_row(struct search *s, struct query *q, struct str excerpt, double score)
{
    struct json_writer *w = &s->w;
    json_open_object(w);
    json_pair_str(w, "id", query_str(q, 0));
    json_pair_str(w, "note_id", query_str(q, 0));
    json_pair_str(w, "title", query_str(q, 1));
    json_pair_str(w, "excerpt", excerpt);
    json_pair_number(w, "score", score);
    json_pair_str(w, "type", query_str(q, 2));
    find_put_time(w, "created", query_int(q, 3));
    json_close(w);
    s->found++;
}

/* A row with the text around the place; its head when the place is not known. */
static void put_place(struct search *s, struct query *q, struct str body, size_t at,
                      size_t length, double score)
{
    scoped_buf struct buf text;
    buf_init(&text, 4 * EXCERPT_BYTES);
    excerpt_put(body, at < body.n ? at : 0, length, &text);
    put_row(s, q, buf_view(&text), score);
}

static bool is_late(const struct search *s, struct err *e)
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
static bool search_words(struct search *s, struct db *db, enum joint joint, struct err *e)
{
    scoped_buf struct buf match;
    buf_init(&match, 8 * QUERY_MAX);
    put_match(s, joint, &match);
    scoped(query_end) struct query *q = db_query(
        db,
        "SELECT " ROW_COLUMNS ", m.score, texts.body FROM"
        " (SELECT t.rowid AS key, bm25(texts, 10.0, 1.0, 5.0) AS score FROM texts t"
        "  JOIN notes n ON n.key = t.rowid WHERE texts MATCH ?2 AND " TYPE_FILTER
        "  ORDER BY score, n.updated DESC, n.path LIMIT ?3) m"
        " JOIN notes n ON n.key = m.key JOIN texts ON texts.rowid = m.key"
        " ORDER BY m.score, n.updated DESC, n.path",
        e);
    if (!q)
        return false;
    query_bind_str(q, 1, s->type);
    query_bind_str(q, 2, buf_view(&match));
    query_bind_int(q, 3, s->limit);
    while (query_next(q, e) && !is_late(s, e)) {
        struct str body = str_cut(query_str(q, 6), LOOK_MAX);
        size_t length, at = excerpt_find(body, s->places, s->count, &length);
        put_place(s, q, body, at, length, -query_number(q, 5));
    }
    return e->code == ERR_NONE;
}

/* For what the index does not know as a word: parts of words, signs, scripts
 * without spaces. */
static bool search_inside(struct search *s, struct db *db, struct err *e)
{
    scoped(query_end) struct query *q = db_query(
        db,
        "SELECT " ROW_COLUMNS ", 0, t.body FROM notes n JOIN texts t ON t.rowid = n.key"
        " WHERE " TYPE_FILTER " ORDER BY n.updated DESC, n.path",
        e);
    if (!q)
        return false;
    query_bind_str(q, 1, s->type);
    s->places[0] = str_trim(s->query);
    s->count = 1;
    while (s->found < s->limit && query_next(q, e) && !is_late(s, e)) {
        size_t length;
        struct str title = query_str(q, 1), body = query_str(q, 6);
        bool in_title = excerpt_find(title, s->places, 1, &length) < title.n;
        size_t at = excerpt_find(body, s->places, 1, &length);
        if (in_title || at < body.n)
            put_place(s, q, body, at, length, in_title ? 0.2 : 0.1);
    }
    return e->code == ERR_NONE;
}

static bool search_exact(struct search *s, struct db *db, struct err *e)
{
    scoped(query_end) struct query *q = db_query(
        db,
        "SELECT " ROW_COLUMNS ", 0, t.body FROM notes n JOIN texts t ON t.rowid = n.key"
        " WHERE " TYPE_FILTER " AND (n.title = ?2 COLLATE NOCASE OR"
        " n.stem = ?2 COLLATE NOCASE) ORDER BY n.updated DESC, n.path LIMIT ?3",
        e);
    if (!q)
        return false;
    query_bind_str(q, 1, s->type);
    query_bind_str(q, 2, str_trim(s->query));
    query_bind_int(q, 3, s->limit);
    while (query_next(q, e))
        put_place(s, q, query_str(q, 6), 0, 0, 1);
    return e->code == ERR_NONE;
}

/* The first line of the body that matches; else the title. */
static bool match_note(struct search *s, struct query *q, bool *found, struct err *e)
{
    struct str body = query_str(q, 6), title = query_str(q, 1);
    size_t at, length;
    for (size_t i = 0; i < body.n;) {
        const char *nl = memchr(body.at + i, '\n', body.n - i);
        size_t end = nl ? (size_t)(nl - body.at) : body.n;
        struct str line = {body.at + i, end - i};
        if (line.n && line.at[line.n - 1] == '\r')
            line.n--;
        if (!regex_match(s->regex, line, found, &at, &length, e) || is_late(s, e))
            return false;
        if (*found) {
            scoped_buf struct buf text;
            buf_init(&text, 4 * EXCERPT_BYTES);
            excerpt_put(line, at, length, &text);
            put_row(s, q, buf_view(&text), 1);
            return true;
        }
        i = end + 1;
    }
    if (!regex_match(s->regex, title, found, &at, &length, e))
        return false;
    if (*found)
        put_row(s, q, title, 2);
    return true;
}

static bool search_regex(struct search *s, struct db *db, struct err *e)
{
    scoped(query_end) struct query *q = db_query(
        db,
        "SELECT " ROW_COLUMNS ", 0, t.body FROM notes n JOIN texts t ON t.rowid = n.key"
        " WHERE " TYPE_FILTER " ORDER BY n.updated DESC, n.path",
        e);
    if (!q)
        return false;
    query_bind_str(q, 1, s->type);
    while (s->found < s->limit && query_next(q, e)) {
        bool found;
        if (is_late(s, e) || !match_note(s, q, &found, e))
            return false;
    }
    return e->code == ERR_NONE;
}

static bool search_somehow(struct search *s, struct db *db, struct err *e)
{
    if (s->use_regex)
        return search_regex(s, db, e);
    if (s->exact)
        return search_exact(s, db, e);
    s->count = 0;
    split_query(s);
    if (s->count && !search_words(s, db, JOIN_AND, e))
        return false;
    if (s->count > 1 && !s->found && !search_words(s, db, JOIN_OR, e))
        return false;
    return s->found || search_inside(s, db, e);
}

static bool search_work(struct db *db, void *arg, struct err *e)
{
    struct search *s = arg;
    s->until_ns = os_mono_ns() + TIME_MAX_NS;
    s->found = 0;
    buf_clear(&s->rows);
    s->w = json_writer(&s->rows);
    json_open_array(&s->w);
    db_set_deadline(db, s->until_ns);
    struct err why = {0};
    bool ok = search_somehow(s, db, &why);
    db_set_deadline(db, 0);
    json_close(&s->w);
    if (ok)
        return true;
    if (why.code == ERR_TIMEOUT)
        return !is_late(s, e) && err_set(e, why.code, "%s", why.msg);
    return err_set(e, why.code, "%s", why.msg);
}

/* ---- the door ----------------------------------------------------------- */

static bool read_search(const struct json *o, struct search *s, struct err *e)
{
    static const char *const keys[] = {"query",    "typeFilter", "type", "limit",
                                       "useRegex", "exact",      NULL};
    s->query = json_str(o);
    s->limit = 50;
    if (!json_is(o, JSON_STRING) && (!options_check(o, "notes.search", keys, e) ||
                                     !options_str(o, "query", NULL, &s->query, e) ||
                                     !options_str(o, "typeFilter", "type", &s->type, e) ||
                                     !options_limit(o, 50, 1000, &s->limit, e) ||
                                     !options_bool(o, "useRegex", &s->use_regex, e) ||
                                     !options_bool(o, "exact", &s->exact, e)))
        return false;
    if (str_trim(s->query).n == 0)
        return err_set(e, ERR_INVALID, "query must be a string that is not empty");
    if (s->query.n > QUERY_MAX)
        return err_set(e, ERR_INVALID, "query is %zu bytes long; at most %u are accepted",
                       s->query.n, QUERY_MAX);
    if (s->use_regex && s->exact)
        return err_set(e, ERR_INVALID, "useRegex and exact exclude each other");
    return true;
}

bool notes_search(struct vault *v, const struct json *options, struct json_writer *out,
                  struct err *e)
{
    struct search s = {.v = v};
    if (!read_search(options, &s, e))
        return false;
    if (s.use_regex && !(s.regex = regex_new(s.query, e)))
        return false;
    buf_init(&s.rows, FIND_ANSWER_MAX);
    bool ok = find_use(v, search_work, &s, &s.rows, out, e);
    buf_done(&s.rows);
    regex_free(s.regex);
    return ok;
}
