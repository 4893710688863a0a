/* Empty answers of filters that name what no note has: told as a warning, because code may ask
 * before the first note of a type is there. */
#include "notes_api/unknown.h"
#include "notes_api/internal.h"

#include <stdio.h>

#define FILTER_MAX ((size_t)64 << 10)

/* "x", or each of ["x", "y"] */
static void put_texts(const struct json *v, struct json_writer *w)
{
    struct json_iter it = json_iter(v);
    if (json_is(v, JSON_STRING))
        json_put_str(w, json_str(v));
    while (json_is(v, JSON_ARRAY) && json_next(&it))
        if (json_is(it.value, JSON_STRING))
            json_put_str(w, json_str(it.value));
}

/* Of a path such as 'a.b' the key at the top. */
static void put_key(struct str key, struct json_writer *w)
{
    const char *dot = key.n ? memchr(key.at, '.', key.n) : NULL;
    json_put_str(w, dot ? (struct str){key.at, (size_t)(dot - key.at)} : key);
}

static void put_keys(const struct json *o, struct json_writer *w)
{
    struct json_iter it = json_iter(json_get(o, "metadata"));
    while (json_next(&it))
        put_key(it.key, w);
    it = json_iter(json_get(o, "metadata_filters"));
    while (json_next(&it))
        if (!str_is(json_str(json_get(it.value, "operator")), "!="))
            put_key(json_str(json_get(it.value, "key")), w);
}

static bool is_plain_value(const struct json *v)
{
    return json_is(v, JSON_STRING) || json_is(v, JSON_NUMBER);
}

static void put_value(struct str key, const struct json *value, bool equal,
                      struct json_writer *w)
{
    if (!is_plain_value(value) || (key.n && memchr(key.at, '.', key.n)))
        return;
    json_open_object(w);
    json_pair_str(w, "key", key);
    json_pair(w, "value", value);
    json_pair_bool(w, "equal", equal);
    json_close(w);
}

static void put_values(const struct json *o, struct json_writer *w)
{
    struct json_iter it = json_iter(json_get(o, "metadata"));
    while (json_next(&it))
        put_value(it.key, it.value, true, w);
    it = json_iter(json_get(o, "metadata_filters"));
    while (json_next(&it)) {
        struct str op = json_str(json_get(it.value, "operator"));
        bool orders =
            str_is(op, ">") || str_is(op, "<") || str_is(op, ">=") || str_is(op, "<=");
        if (!op.n || str_is(op, "=") || orders)
            put_value(json_str(json_get(it.value, "key")), json_get(it.value, "value"),
                      !orders, w);
    }
}

/* What the options of a list or search name; `alone`: the argument is no object but means
 * the type. */
static void write_filter(const struct json *o, bool alone, struct buf *out)
{
    static const char *const types[] = {"typeName", "typeFilter", "type"};
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_key(&w, "types");
    json_open_array(&w);
    if (alone && json_is(o, JSON_STRING))
        json_put_str(&w, json_str(o));
    for (size_t i = 0; i < LENGTH(types); i++)
        put_texts(json_get(o, types[i]), &w);
    json_close(&w);
    json_key(&w, "tags");
    json_open_array(&w);
    put_texts(json_get(o, "tags"), &w);
    json_close(&w);
    json_key(&w, "keys");
    json_open_array(&w);
    put_keys(o, &w);
    json_close(&w);
    json_key(&w, "values");
    json_open_array(&w);
    put_values(o, &w);
    json_close(&w);
    json_close(&w);
}

/* A number is looked for where there are texts, or the other way round. */
static void put_mismatch(const char *call, const struct json *one, struct buf *all)
{
    scoped_buf struct buf text, advice, value;
    buf_init(&text, 4000);
    buf_init(&advice, 4000);
    buf_init(&value, 4000);
    struct str holds = json_str(json_get(one, "holds"));
    bool numbers = str_is(holds, "numbers");
    struct json_writer w = json_writer(&value);
    json_put(&w, json_get(one, "name"));
    buf_printf(&text, "%s: '%.*s' holds %.*s, and the filter asks for the %s %.*s", call,
               STR_ARGS(json_str(json_get(one, "what"))), STR_ARGS(holds),
               numbers ? "text" : "number", STR_ARGS(buf_view(&value)));
    buf_printf(&advice,
               numbers ? "Give a number, without quotes." : "Give a text, in quotes.");
    told_put(all, "unknown-filter", buf_view(&text), buf_view(&advice));
}

static void put_one(const char *call, const struct json *one, struct buf *all)
{
    scoped_buf struct buf text, advice;
    buf_init(&text, 4000);
    buf_init(&advice, 4000);
    struct str what = json_str(json_get(one, "what"));
    struct str near = json_str(json_get(one, "nearest"));
    struct json_iter known = json_iter(json_get(one, "known"));
    buf_printf(&text, "%s: no note has the %.*s '%.*s'", call, STR_ARGS(what),
               STR_ARGS(json_str(json_get(one, "name"))));
    for (const char *before = "; there are: "; json_next(&known); before = ", ")
        buf_printf(&text, "%s%.*s", before, STR_ARGS(json_str(known.value)));
    if (near.n)
        buf_printf(&advice, "Did you mean '%.*s'?", STR_ARGS(near));
    told_put(all, "unknown-filter", buf_view(&text), buf_view(&advice));
}

/* A query has no operators: a word such as tag:garden is searched for as it stands. */
static void put_operator(const char *call, const struct json *options, struct buf *all)
{
    const struct json *given = json_get(options, "query");
    struct str query = str_trim(json_str(given ? given : options));
    bool tag = str_starts(query, "tag:") || str_starts(query, "tags:");
    if (!tag && !str_starts(query, "type:"))
        return;
    scoped_buf struct buf text, advice;
    buf_init(&text, 4000);
    buf_init(&advice, 4000);
    buf_printf(&text, "%s: a query has no operators; '%.*s' was searched for as text",
               call, STR_ARGS(str_cut(query, 60)));
    buf_cstr(&advice, tag ? "Notes with a tag: notes.searchAdvanced({tags: ['...']})."
                          : "Notes of a type: give typeFilter.");
    told_put(all, "unknown-filter", buf_view(&text), buf_view(&advice));
}

void unknown_tell(struct vault *vault, const char *call, const struct json *options,
                  bool alone, struct buf *all)
{
    struct err none = {0};
    scoped_buf struct buf filter;
    scoped_buf struct buf found;
    buf_init(&filter, FILTER_MAX);
    buf_init(&found, (size_t)1 << 20);
    write_filter(options, alone, &filter);
    scoped(arena_free) struct arena *a = arena_new((size_t)4 << 20);
    struct json_writer w = json_writer(&found);
    const struct json *asked =
        filter.failed ? NULL : json_read(buf_view(&filter), a, &none);
    if (!asked || !notes_unknown(vault, asked, &w, &none))
        return;
    if (!alone)
        put_operator(call, options, all);
    struct json_iter it = json_iter(json_read(buf_view(&found), a, &none));
    while (json_next(&it))
        if (json_get(it.value, "holds"))
            put_mismatch(call, it.value, all);
        else
            put_one(call, it.value, all);
}

/* ---- limits ------------------------------------------------------------------ */

void told_limit(const char *name, const struct host_call *c, const struct json *options,
                size_t found, struct buf *all)
{
    if (!c->rows.usual || json_get(options, "limit") || json_get(options, "cursor") ||
        found < c->rows.usual)
        return;
    char message[160], advice[120];
    (void)snprintf(message, sizeof message,
                   "%s answered its default limit of %zu notes; there may be more", name,
                   c->rows.usual);
    (void)snprintf(advice, sizeof advice, "Give a limit, at most %s.", c->rows.most);
    told_put(all, "default-limit", str_of(message), str_of(advice));
}

/* ---- dry runs ------------------------------------------------------------------ */

void told_dry(const char *call, const struct outcome *did, struct buf *all)
{
    char message[160];
    if (!did->dry || did->changes)
        return;
    (void)snprintf(message, sizeof message, "%s would change nothing%s", call,
                   did->held ? ": other notes link to this one, or are its subnotes"
                             : "");
    told_put(all, "dry-run", str_of(message),
             str_of(did->held ? "confirm: true deletes it all the same." : ""));
}

/* ---- calls of code -------------------------------------------------------- */

void unknown_noted(const struct calling *x)
{
    const struct host_call *c = x->c;
    const char *name = c->row.name;
    const struct json *options = json_at(x->args, 0);
    struct err none = {0};
    if (!c->filter && !x->outcome.dry)
        return;
    scoped_buf struct buf rows;
    buf_init(&rows, TOLD_MAX);
    told_dry(name, &x->outcome, &rows);
    told_limit(name, c, options, x->outcome.rows, &rows);
    struct vault *vault =
        c->filter && !x->outcome.rows ? actions_vault(x->v, &none) : NULL;
    if (vault)
        unknown_tell(vault, name, options, c->filter == FILTER_OR_TYPE, &rows);
    told_rows(x->v, buf_view(&rows));
}
