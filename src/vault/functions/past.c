/* The versions of a function, for those who ask: listed, read, compared, brought back. */
#include <stdio.h>

#include "functions/internal.h"

#define LISTED_MAX 1000
#define DIFF_MAX ((size_t)64 << 10)
#define HISTORY_LOST                                                                      \
    "the history of the functions cannot be read (%s); the functions themselves are not " \
    "concerned"

/* The function whose versions are asked for. */
struct subject {
    struct str id, name;
    const struct function *fn; /* as it is now; NULL: it was removed */
    struct db *db;             /* NULL: there is no history here, only what is now */
};

/* The one with this id or, of those with this name, the last that went. */
static bool find_removed(struct subject *s, struct str name, struct arena *a,
                         struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(s->db,
                 "SELECT id, name FROM functions WHERE id = ?1 OR name = ?1"
                 " ORDER BY id = ?1 DESC, gone DESC LIMIT 1",
                 e);
    if (!q)
        return false;
    query_bind_str(q, 1, name);
    if (!query_next(q, e))
        return false;
    s->id = versions_keep(a, query_str(q, 0), e);
    s->name = versions_keep(a, query_str(q, 1), e);
    return !e->code;
}

static bool find_subject(struct functions *f, struct str name, struct arena *a,
                         struct subject *s, struct err *e)
{
    *s = (struct subject){0};
    const struct function_set *now = store_file(f, e);
    if (!now)
        return false;
    s->fn = function_named(now, name);
    struct err why = {0};
    if (f->own >= 0)
        s->db = versions_look(f, &why);
    if (why.code && why.code != ERR_DENIED && why.code != ERR_NOT_FOUND)
        return err_set(e, why.code, HISTORY_LOST, why.msg);
    if (s->fn) {
        s->id = s->fn->id;
        s->name = s->fn->name;
        return true;
    }
    if (s->db && find_removed(s, name, a, e))
        return true;
    return !e->code ? set_missing(now, name, e) : false;
}

/* ---- one version --------------------------------------------------------- */

#define ROW "number, time, by, maker, action, note, api, hash, definition"

static bool version_read_row(struct query *q, const struct subject *s, struct arena *a,
                             struct function *out, struct err *e)
{
    scoped_findings struct findings found;
    findings_init(&found);
    const struct json *v = json_read(query_str(q, 8), a, e);
    if (!v || !function_recall(v, a, out, &found, e))
        return err_set(e, ERR_IO, HISTORY_LOST, "a version does not contain a function");
    out->id = s->id;
    out->version = (uint32_t)query_int(q, 0);
    out->updated_ms = query_int(q, 1);
    out->updated_by = versions_keep(a, query_str(q, 2), e);
    out->api_version = versions_keep(a, query_str(q, 6), e);
    if (s->fn) {
        out->created_ms = s->fn->created_ms;
        out->created_by = s->fn->created_by;
    }
    return !e->code;
}

static bool no_version(const struct subject *s, uint32_t version, struct err *e)
{
    uint32_t last = s->fn ? s->fn->version : 0;
    if (s->db)
        last = versions_last(s->db, s->id, e);
    return err_set(e, ERR_NOT_FOUND,
                   "'%.*s' has no version %u that is kept; the last is %u",
                   STR_ARGS(s->name), version, last);
}

static bool read_version(const struct subject *s, uint32_t version, struct arena *a,
                         struct function *out, struct err *e)
{
    if (s->fn && (!version || version == s->fn->version)) {
        *out = *s->fn;
        return true;
    }
    if (!s->db)
        return no_version(s, version, e);
    scoped(query_end) struct query *q =
        db_query(s->db,
                 "SELECT " ROW " FROM versions WHERE function = ?1 AND"
                 " (?2 = 0 OR number = ?2) ORDER BY number DESC LIMIT 1",
                 e);
    if (!q)
        return false;
    query_bind_str(q, 1, s->id);
    query_bind_int(q, 2, version);
    if (query_next(q, e))
        return version_read_row(q, s, a, out, e);
    return !e->code ? no_version(s, version, e) : false;
}

/* Members of the set end with it: the copy does not. */
static bool copy_version(const struct function *fn, struct arena *a, struct function *out,
                         struct err *e)
{
    scoped_buf struct buf text = buf_of(2 * DEFINITION_MAX);
    struct json_writer w = json_writer(&text);
    function_write(fn, &w);
    scoped_findings struct findings found;
    findings_init(&found);
    const struct json *v =
        buf_check(&text, "a function", e) ? json_read(buf_view(&text), a, e) : NULL;
    return v && function_recall(v, a, out, &found, e);
}

bool functions_version(struct functions *f, struct str name, uint32_t version,
                       struct arena *a, struct function *out, struct err *e)
{
    scoped_store(f);
    struct subject s;
    struct function found;
    if (!find_subject(f, name, a, &s, e) || !read_version(&s, version, a, &found, e))
        return false;
    if (s.fn && found.version == s.fn->version)
        return copy_version(&found, a, out, e);
    *out = found;
    return true;
}

/* ---- the list ------------------------------------------------------------ */

static void put_version(const struct function *fn, struct str maker, struct str action,
                        struct str note, bool current, struct json_writer *out)
{
    json_open_object(out);
    json_pair_int(out, "version", fn->version);
    json_pair_time(out, "at", fn->updated_ms);
    json_pair_str(out, "by", fn->updated_by);
    json_pair_str(out, "maker", maker);
    json_pair_str(out, "action", action);
    if (note.n)
        json_pair_str(out, "note", note);
    json_pair_str(out, "name", fn->name);
    if (fn->api_version.n)
        json_pair_str(out, "apiVersion", fn->api_version);
    json_pair_bool(out, "current", current);
    json_close(out);
}

static bool put_versions(const struct subject *s, struct json_writer *out, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(s->db,
                 "SELECT number, time, by, maker, action, note, api, name FROM versions"
                 " WHERE function = ? ORDER BY number DESC LIMIT ?",
                 e);
    if (!q)
        return false;
    query_bind_str(q, 1, s->id);
    query_bind_int(q, 2, LISTED_MAX);
    while (query_next(q, e)) {
        const struct function fn = {.name = query_str(q, 7),
                                    .version = (uint32_t)query_int(q, 0),
                                    .updated_ms = query_int(q, 1),
                                    .updated_by = query_str(q, 2),
                                    .api_version = query_str(q, 6)};
        put_version(
            &fn, query_int(q, 3) == FUNCTION_BY_AGENT ? STR("agent") : STR("user"),
            query_str(q, 4), query_str(q, 5), s->fn && s->fn->version == fn.version, out);
    }
    return !e->code;
}

bool functions_versions(struct functions *f, struct str name, struct json_writer *out,
                        struct err *e)
{
    scoped_store(f);
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    struct subject s;
    if (!find_subject(f, name, a, &s, e))
        return false;
    json_open_object(out);
    json_pair_str(out, "id", s.id);
    json_pair_str(out, "name", s.name);
    json_pair_bool(out, "exists", s.fn);
    json_key(out, "versions");
    json_open_array(out);
    if (s.db && !put_versions(&s, out, e))
        return false;
    if (!s.db) /* nothing is kept here, where nothing can be written */
        put_version(s.fn,
                    s.fn->created_by == FUNCTION_BY_AGENT ? STR("agent") : STR("user"),
                    STR("found"), STR(""), true, out);
    json_close(out);
    json_close(out);
    return true;
}

/* ---- two of them --------------------------------------------------------- */

/* All but the code, a value a line. */
static void version_put_fields(const struct function *fn, struct buf *out)
{
    struct function rest = *fn;
    rest.code = STR("");
    struct json_writer w = json_writer(out);
    w.lines = true;
    function_write_definition(&rest, &w);
    buf_char(out, '\n');
}

static const struct json *definition_of(const struct function *fn, struct arena *a,
                                        struct err *e)
{
    scoped_buf struct buf text = buf_of(DEFINITION_MAX);
    struct json_writer w = json_writer(&text);
    function_write_definition(fn, &w);
    return buf_check(&text, "a function", e) ? json_read(buf_view(&text), a, e) : NULL;
}

static bool put_changed_fields(const struct function *from, const struct function *to,
                               struct arena *a, struct json_writer *out, struct err *e)
{
    const struct json *old = definition_of(from, a, e), *new = definition_of(to, a, e);
    if (!old || !new)
        return false;
    json_key(out, "fields");
    json_open_array(out);
    struct json_iter it = json_iter(old);
    while (json_next(&it))
        if (!json_equal(it.value, json_get_str(new, it.key)))
            json_put_str(out, it.key);
    it = json_iter(new);
    while (json_next(&it))
        if (!json_get_str(old, it.key))
            json_put_str(out, it.key);
    json_close(out);
    return true;
}

static void put_part(const char *what, const struct function *from,
                     const struct function *to, struct str old, struct str new,
                     struct buf *out)
{
    if (str_eq(old, new))
        return;
    buf_printf(out, "--- %s, version %u\n+++ %s, version %u\n", what, from->version, what,
               to->version);
    size_t left = DIFF_MAX > out->n ? DIFF_MAX - out->n : 0;
    if (!diff_put(old, new, left, out))
        buf_cstr(out, "(the rest is left out)\n");
}

static bool version_put_diff(const struct function *from, const struct function *to,
                             struct json_writer *out, struct err *e)
{
    scoped_buf struct buf old, new, diff;
    buf_init(&old, DEFINITION_MAX);
    buf_init(&new, DEFINITION_MAX);
    buf_init(&diff, 2 * DIFF_MAX);
    version_put_fields(from, &old);
    version_put_fields(to, &new);
    put_part("code", from, to, from->code, to->code, &diff);
    put_part("definition", from, to, buf_view(&old), buf_view(&new), &diff);
    if (!buf_check(&old, "a function", e) || !buf_check(&new, "a function", e) ||
        !buf_check(&diff, "a diff", e))
        return false;
    json_pair_str(out, "diff", buf_view(&diff));
    return true;
}

bool functions_diff(struct functions *f, struct str name, uint32_t from, uint32_t to,
                    struct json_writer *out, struct err *e)
{
    scoped_store(f);
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    struct subject s;
    struct function old, new;
    if (!find_subject(f, name, a, &s, e) || !read_version(&s, to, a, &new, e))
        return false;
    if (!from && new.version == 1)
        return err_set(e, ERR_INVALID,
                       "version 1 of '%.*s' is its first; name another to compare with",
                       STR_ARGS(s.name));
    if (!read_version(&s, from ? from : new.version - 1, a, &old, e))
        return false;
    json_open_object(out);
    json_pair_str(out, "name", s.name);
    json_pair_int(out, "from", old.version);
    json_pair_int(out, "to", new.version);
    if (!put_changed_fields(&old, &new, a, out, e) ||
        !version_put_diff(&old, &new, out, e))
        return false;
    json_close(out);
    return true;
}

/* ---- back ---------------------------------------------------------------- */

bool functions_rollback(struct functions *f, struct str name, uint32_t version,
                        uint32_t expected_version, const struct function_author *who,
                        const struct function_set **now, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    struct function old;
    bool exists;
    if (!functions_version(f, name, version, a, &old, e))
        return false;
    {
        scoped_store(f);
        const struct function_set *set = store_file(f, e);
        if (!set)
            return false;
        exists = function_named(set, old.id);
    }
    char note[60];
    (void)snprintf(note, sizeof note, "back to version %u", old.version);
    struct function_author author = *who;
    if (!author.note.n)
        author.note = str_of(note);
    old.source = NULL;
    struct function_change change = {.fn = &old,
                                     .of = exists ? old.id : STR(""),
                                     .expected_version = exists ? expected_version : 0,
                                     .action = exists ? "rolled back" : "brought back"};
    return functions_change(f, &change, 1, &author, now, e);
}
