/* Empty answers to filters that name something no note has: a warning, no error, because
 * code may ask before the first note of a type exists. */
#include "notes_api/unknown.h"
#include "notes_api/internal.h"

#include <stdio.h>

#include "notes/unknown.h"

const struct note_advice note_advice = {
    .not_found = "notes.list and notes.search answer the ids that there are.",
    .stale = "Read it again with notes.get, then repeat the change."};

#define NAMES_MAX 16u /* of one kind in a filter */

struct filter {
    struct filter_name names[FILTER_KINDS * NAMES_MAX];
    size_t count;
};

/* `used` counts those of its kind; the first NAMES_MAX are looked for. */
static void filter_add(struct filter *f, size_t *used, struct filter_name one)
{
    if ((*used)++ < NAMES_MAX)
        f->names[f->count++] = one;
}

/* "x", or each of ["x", "y"] */
static void add_names(struct filter *f, size_t *used, enum filter_kind kind,
                      const struct json *v)
{
    struct json_iter it = json_iter(v);
    if (json_is(v, JSON_STRING))
        filter_add(f, used, (struct filter_name){.kind = kind, .name = json_str(v)});
    while (json_is(v, JSON_ARRAY) && json_next(&it))
        if (json_is(it.value, JSON_STRING))
            filter_add(f, used,
                       (struct filter_name){.kind = kind, .name = json_str(it.value)});
}

/* The top-level key of a path such as 'a.b'. */
static void add_key(struct filter *f, size_t *used, struct str key)
{
    const char *dot = key.n ? memchr(key.at, '.', key.n) : NULL;
    struct str top = dot ? (struct str){key.at, (size_t)(dot - key.at)} : key;
    filter_add(f, used, (struct filter_name){.kind = FILTER_KEY, .name = top});
}

static void add_keys(struct filter *f, const struct json *o)
{
    size_t used = 0;
    struct json_iter it = json_iter(json_get(o, "metadata"));
    while (json_next(&it))
        add_key(f, &used, it.key);
    it = json_iter(json_get(o, "metadata_filters"));
    while (json_next(&it))
        if (!str_is(json_str(json_get(it.value, "operator")), "!="))
            add_key(f, &used, json_str(json_get(it.value, "key")));
}

static void add_value(struct filter *f, size_t *used, enum filter_kind kind,
                      struct str key, const struct json *value)
{
    bool plain = json_is(value, JSON_STRING) || json_is(value, JSON_NUMBER);
    if (plain && !(key.n && memchr(key.at, '.', key.n)))
        filter_add(f, used,
                   (struct filter_name){.kind = kind, .name = key, .value = value});
}

static void add_values(struct filter *f, const struct json *o)
{
    size_t used = 0;
    struct json_iter it = json_iter(json_get(o, "metadata"));
    while (json_next(&it))
        add_value(f, &used, FILTER_EQUAL, it.key, it.value);
    it = json_iter(json_get(o, "metadata_filters"));
    while (json_next(&it)) {
        struct str op = json_str(json_get(it.value, "operator"));
        bool orders =
            str_is(op, ">") || str_is(op, "<") || str_is(op, ">=") || str_is(op, "<=");
        if (!op.n || str_is(op, "=") || orders)
            add_value(f, &used, orders ? FILTER_ORDERED : FILTER_EQUAL,
                      json_str(json_get(it.value, "key")), json_get(it.value, "value"));
    }
}

/* The names in a list's or search's options; `alone`: the argument is a type. */
static void filter_of(const struct json *o, bool alone, struct filter *f)
{
    static const char *const types[] = {"typeName", "typeFilter", "type"};
    size_t used = 0, tags = 0;
    f->count = 0;
    if (alone && json_is(o, JSON_STRING))
        add_names(f, &used, FILTER_TYPE, o);
    for (size_t i = 0; i < LENGTH(types); i++)
        add_names(f, &used, FILTER_TYPE, json_get(o, types[i]));
    add_names(f, &tags, FILTER_TAG, json_get(o, "tags"));
    add_keys(f, o);
    add_values(f, o);
}

/* A number is compared with strings, or the other way round. */
static void put_mismatch(const char *call, const struct filter_name *one,
                         struct notices *all)
{
    scoped_buf struct buf text, value;
    buf_init(&text, 4000);
    buf_init(&value, 4000);
    bool numbers = !strcmp(one->holds, "numbers");
    struct json_writer w = json_writer(&value);
    json_put(&w, one->value);
    buf_printf(&text, "%s: '%.*s' holds %s, and the filter asks for the %s %.*s", call,
               STR_ARGS(str_cut(one->name, 60)), one->holds, numbers ? "text" : "number",
               STR_ARGS(buf_view(&value)));
    notice_put(all, "unknown-filter", buf_view(&text),
               numbers ? STR("Give a number, without quotes.")
                       : STR("Give a text, in quotes."));
}

static void put_unknown(const char *call, const struct filter_name *one,
                        struct notices *all)
{
    static const char *const kinds[] = {"type", "tag", "metadata key"};
    scoped_buf struct buf text, advice;
    buf_init(&text, 4000);
    buf_init(&advice, 4000);
    struct str name = str_cut(one->value ? json_str(one->value) : one->name, 60);
    struct str what = one->value ? str_cut(one->name, 60) : str_of(kinds[one->kind]);
    buf_printf(&text, "%s: no note has the %.*s '%.*s'", call, STR_ARGS(what),
               STR_ARGS(name));
    for (size_t i = 0; i < one->known_count; i++)
        buf_printf(&text, "%s%.*s", i ? ", " : "; there are: ", STR_ARGS(one->known[i]));
    if (one->nearest.n)
        buf_printf(&advice, "Did you mean '%.*s'?", STR_ARGS(one->nearest));
    notice_put(all, "unknown-filter", buf_view(&text), buf_view(&advice));
}

/* A query has no operators: a word such as tag:garden is searched for literally. */
static void put_query_operator(const char *call, const struct json *options,
                               struct notices *all)
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
    notice_put(all, "unknown-filter", buf_view(&text), buf_view(&advice));
}

void notice_unknown(struct vault *vault, const char *call, const struct json *options,
                    bool alone, struct notices *all)
{
    struct err none = {0};
    struct filter f;
    scoped(arena_free) struct arena *a = arena_new(ARENA_CALL);
    filter_of(options, alone, &f);
    if (!notes_unknown(vault, f.names, f.count, a, &none))
        return;
    if (!alone)
        put_query_operator(call, options, all);
    for (size_t i = 0; i < f.count; i++)
        if (f.names[i].holds)
            put_mismatch(call, &f.names[i], all);
        else if (f.names[i].unknown)
            put_unknown(call, &f.names[i], all);
}

/* ---- limits ------------------------------------------------------------------ */

void notice_limit(const char *name, const struct host_call *c, const struct json *options,
                  size_t found, struct notices *all)
{
    if (!c->rows.usual || json_get(options, "limit") || json_get(options, "cursor") ||
        found < c->rows.usual)
        return;
    char message[160], advice[120];
    (void)snprintf(message, sizeof message,
                   "%s answered its default limit of %zu notes; there may be more", name,
                   c->rows.usual);
    (void)snprintf(advice, sizeof advice, "Give a limit, at most %s.", c->rows.most);
    notice_put(all, "default-limit", str_of(message), str_of(advice));
}

/* ---- dry runs ------------------------------------------------------------------ */

void notice_dry_run(const char *call, const struct outcome *did, struct notices *all)
{
    char message[160];
    if (!did->dry || did->changes)
        return;
    (void)snprintf(message, sizeof message, "%s would change nothing%s", call,
                   did->held ? ": other notes link to this one, or are its subnotes"
                             : "");
    notice_put(all, "dry-run", str_of(message),
               str_of(did->held ? "confirm: true deletes it all the same." : ""));
}

/* ---- calls of code -------------------------------------------------------- */

void notice_empty(const struct calling *x)
{
    const struct host_call *c = x->c;
    const char *name = c->row.name;
    const struct json *options = json_at(x->args, 0);
    struct err none = {0};
    if (!c->filter && !x->outcome.dry)
        return;
    scoped_notices struct notices rows;
    notices_init(&rows);
    notice_dry_run(name, &x->outcome, &rows);
    notice_limit(name, c, options, x->outcome.rows, &rows);
    struct vault *vault =
        c->filter && !x->outcome.rows ? evaluation_vault(x->v, &none) : NULL;
    if (vault)
        notice_unknown(vault, name, options, c->filter == FILTER_OR_TYPE, &rows);
    notice_add_all(x->v, &rows);
}
