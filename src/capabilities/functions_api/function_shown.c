/* Actions that read custom functions. */
#include <stdio.h>

#include "functions_api/function_actions.h"
#include "functions_api/function_text.h"
#include "functions_api/functioning.h"
#include "functions_api/functions.api.h"

#define PAGE_REST 1024u /* bytes besides the rows */

/* ---- filters ------------------------------------------------------------------------- */

enum order { BY_NAME, BY_CREATED, BY_UPDATED, BY_COUNT, BY_LAST };
static const char *const orders[] = {"name", "createdAt", "updatedAt", "usageCount",
                                     "lastUsed"};

static enum order order_of(struct str name)
{
    size_t i = LENGTH(orders);
    while (i-- > 1)
        if (str_is(name, orders[i]))
            return (enum order)i;
    return BY_NAME;
}

static bool mentions(const struct function *fn, struct str word)
{
    bool found = str_holds(fn->name, word) || str_holds(fn->description, word);
    for (size_t i = 0; i < fn->tag_count && !found; i++)
        found = str_holds(fn->tags[i], word);
    return found;
}

/* Whether each word occurs in its name, description or tags. */
static bool fits_query(const struct function *fn, struct str query)
{
    while ((query = str_trim(query)).n) {
        size_t n = 0;
        while (n < query.n && !char_is_space(query.at[n]))
            n++;
        if (!mentions(fn, (struct str){query.at, n}))
            return false;
        query = (struct str){query.at + n, query.n - n};
    }
    return true;
}

static bool has_tag(const struct function *fn, struct str tag)
{
    for (size_t i = 0; i < fn->tag_count; i++)
        if (str_eq(fn->tags[i], tag))
            return true;
    return false;
}

/* A filter by use. */
struct used_filter {
    int64_t least, most;       /* calls */
    int64_t since_ms, idle_ms; /* used since; not used since; 0: any */
};

static bool read_date(const struct action_call *c, const char *name, int64_t *out,
                      struct err *e)
{
    struct str text = function_argument(c, name);
    return !text.n || date_read(text, out) ||
           err_set(e, ERR_INVALID,
                   "%s is '%.*s'; a date such as 2026-01-31, or a time such as "
                   "2026-01-31T12:00:00Z, is accepted",
                   name, STR_ARGS(str_cut(text, 60)));
}

static bool read_used(const struct action_call *c, struct used_filter *out, struct err *e)
{
    *out = (struct used_filter){
        .least = json_int(json_get(c->arguments, "minUsage"), 0),
        .most = json_int(json_get(c->arguments, "maxUsage"), INT64_MAX)};
    return read_date(c, "usedSince", &out->since_ms, e) &&
           read_date(c, "unusedSince", &out->idle_ms, e);
}

static bool function_fits(const struct action_call *c, const struct function *fn)
{
    struct str maker = function_argument(c, "createdBy");
    struct json_iter tags = json_iter(json_get(c->arguments, "tags"));
    while (json_next(&tags))
        if (!has_tag(fn, json_str(tags.value)))
            return false;
    if (maker.n && str_is(maker, "user") != (fn->created_by == FUNCTION_BY_USER))
        return false;
    return fits_query(fn, function_argument(c, "query"));
}

/* ---- order --------------------------------------------------------------------------------- */

struct used_function {
    const struct function *fn;
    uint64_t count;
    int64_t last_ms; /* 0: never */
};

/* The greater of the file's count and the statistics': a file may have been copied to
 * another vault, or a history lost. */
static struct used_function used_now(const struct function *fn,
                                     const struct usage_counts *counts)
{
    struct usage_count now = usage_count_of(counts, fn->id);
    return (struct used_function){
        .fn = fn,
        .count = now.calls > fn->usage_count ? now.calls : fn->usage_count,
        .last_ms = now.last_ms > fn->last_used_ms ? now.last_ms : fn->last_used_ms};
}

static bool fits_use(const struct used_filter *f, const struct used_function *u)
{
    int64_t count = u->count < INT64_MAX ? (int64_t)u->count : INT64_MAX;
    return count >= f->least && count <= f->most &&
           (!f->since_ms || u->last_ms >= f->since_ms) &&
           (!f->idle_ms || u->last_ms < f->idle_ms);
}

struct ordering {
    enum order by;
    bool down; /* descending */
};

static struct ordering ordering_of(const struct action_call *c)
{
    struct str way = function_argument(c, "order");
    enum order by = order_of(function_argument(c, "sort"));
    return (struct ordering){by, way.n ? str_is(way, "desc") : by != BY_NAME};
}

static int functions_by(const void *a, const void *b, void *how)
{
    const struct used_function *x = a, *y = b;
    const struct ordering *o = how;
    int64_t left = 0, right = 0;
    int names = str_cmp(x->fn->name, y->fn->name);
    switch (o->by) {
    case BY_NAME:
        return o->down ? -names : names;
    case BY_CREATED:
        left = x->fn->created_ms, right = y->fn->created_ms;
        break;
    case BY_UPDATED:
        left = x->fn->updated_ms, right = y->fn->updated_ms;
        break;
    case BY_COUNT:
        left = (int64_t)x->count, right = (int64_t)y->count;
        break;
    case BY_LAST:
        left = x->last_ms, right = y->last_ms;
        break;
    }
    return left != right ? ((left < right) == o->down ? 1 : -1) : names;
}

/* Ordered by name, as in the set; the caller frees. */
static struct used_function *with_usage(struct functions *f, const struct function_set *s,
                                        size_t *count)
{
    *count = function_count(s);
    scoped(usage_counts_free) struct usage_counts *counts =
        usage_count_all(functions_usage(f));
    struct used_function *all = mem_new((*count + 1) * sizeof *all);
    for (size_t i = 0; i < *count; i++)
        all[i] = used_now(function_at(s, i), counts);
    return all;
}

const struct function **functioning_ranked(struct functions *f,
                                           const struct function_set *s, size_t *count)
{
    struct ordering how = {BY_COUNT, true};
    scoped(free) struct used_function *all = with_usage(f, s, count);
    const struct function **out = mem_new((*count + 1) * sizeof(void *));
    if (*count > 1)
        qsort_r(all, *count, sizeof *all, functions_by, &how);
    for (size_t i = 0; i < *count; i++)
        out[i] = all[i].fn;
    return out;
}

/* ---- list_custom_functions ---------------------------------------------------------------------- */

static void row_put_parameters(const struct function *fn, struct json_writer *w)
{
    json_key(w, "parameters");
    json_open_object(w);
    for (size_t i = 0; i < fn->parameter_count; i++) {
        const struct function_parameter *p = &fn->parameters[i];
        json_key_str(w, p->name);
        json_open_object(w);
        json_pair_str(w, "type", p->type);
        if (p->description.n)
            json_pair_str(w, "description", p->description);
        if (p->optional)
            json_pair_bool(w, "optional", true);
        if (p->fallback)
            json_pair(w, "default", p->fallback);
        json_close(w);
    }
    json_close(w);
}

static void row_put_metadata(const struct used_function *u, struct json_writer *w)
{
    json_key(w, "metadata");
    json_open_object(w);
    json_pair_time_known(w, "createdAt", u->fn->created_ms);
    json_pair_time_known(w, "updatedAt", u->fn->updated_ms);
    json_pair_cstr(w, "createdBy",
                   u->fn->created_by == FUNCTION_BY_USER ? "user" : "agent");
    json_pair_int(w, "usageCount", (int64_t)u->count);
    json_pair_time_known(w, "lastUsed", u->last_ms);
    json_pair_int(w, "version", u->fn->version);
    json_close(w);
}

/* All but its code and examples. */
static void function_put_row(const struct function_set *s, const struct used_function *u,
                             struct json_writer *w)
{
    const struct function *fn = u->fn;
    scoped_buf struct buf text;
    buf_init(&text, BUF_LIST);
    buf_printf(&text, "customFunctions.%.*s", STR_ARGS(fn->name));
    function_put_signature(fn, FUNCTION_TEXT_MAX, &text);
    json_open_object(w);
    json_pair_str(w, "id", fn->id);
    json_pair_str(w, "name", fn->name);
    json_pair_str(w, "signature", buf_view(&text));
    json_pair_str(w, "description", fn->description);
    row_put_parameters(fn, w);
    json_pair_str(w, "returnType", fn->return_type);
    if (fn->language == FUNCTION_PYTHON)
        json_pair_cstr(w, "language", "python");
    json_key(w, "tags");
    json_open_array(w);
    for (size_t i = 0; i < fn->tag_count; i++)
        json_put_str(w, fn->tags[i]);
    json_close(w);
    row_put_metadata(u, w);
    if (fn->origin.n)
        json_pair_str(w, "origin", fn->origin);
    struct str hidden = function_hides(s, fn);
    if (hidden.n)
        json_pair_str(w, "hides", hidden);
    json_close(w);
}

/* Moves those that match to the front, in order. */
static size_t choose(const struct action_call *c, const struct used_filter *used,
                     struct used_function *all, size_t count)
{
    size_t n = 0;
    struct ordering how = ordering_of(c);
    for (size_t i = 0; i < count; i++)
        if (fits_use(used, &all[i]) && function_fits(c, all[i].fn))
            all[n++] = all[i];
    if (n > 1)
        qsort_r(all, n, sizeof *all, functions_by, &how);
    return n;
}

/* The index of the row after the one of this name. */
static bool find_page(const struct action_call *c, const struct used_function *all,
                      size_t count, size_t *at, struct err *e)
{
    struct str after = function_argument(c, "cursor");
    struct ordering how = ordering_of(c);
    bool by_name = how.by == BY_NAME;
    *at = 0;
    if (!after.n)
        return true;
    while (*at < count && (by_name ? (how.down ? str_cmp(after, all[*at].fn->name)
                                               : str_cmp(all[*at].fn->name, after)) <= 0
                                   : !str_eq(all[*at].fn->name, after)))
        ++*at;
    *at += !by_name;
    return *at <= count || err_set(e, ERR_INVALID,
                                   "the cursor '%.*s' leads nowhere any more; list "
                                   "without one",
                                   STR_ARGS(str_cut(after, 80)));
}

static bool put_page(const struct action_call *c, const struct function_set *s,
                     struct used_function *all, size_t count, struct answer *out,
                     struct err *e)
{
    size_t at, limit = (size_t)json_int(json_get(c->arguments, "limit"),
                                        LIST_CUSTOM_FUNCTIONS_LIMIT_USUAL);
    struct used_filter used;
    if (!read_used(c, &used, e))
        return false;
    size_t total = choose(c, &used, all, count);
    if (!find_page(c, all, total, &at, e))
        return false;
    size_t end = total - at < limit ? total : at + limit;
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_key(&w, "functions");
    json_open_array(&w);
    /* A caller with a small limit gets another page rather than a part of this one. */
    size_t room = out->most > PAGE_REST ? out->most - PAGE_REST : SIZE_MAX;
    for (size_t i = at; i < end; i++) {
        size_t before = out->json.n;
        function_put_row(s, &all[i], &w);
        if (i > at && out->json.n > room) {
            out->json.n = before;
            end = i;
        }
    }
    json_close(&w);
    json_pair_int(&w, "total", (int64_t)total);
    if (end < total)
        json_pair_str(&w, "nextCursor", all[end - 1].fn->name);
    json_close(&w);
    return buf_check(&out->json, "the list", e);
}

bool action_list_functions(const struct action_call *c, struct answer *out, struct err *e)
{
    struct functions *f;
    size_t count;
    scoped_set const struct function_set *s =
        functioning_now(c->actions, c->place, &f, e);
    if (!s)
        return false;
    scoped(free) struct used_function *all = with_usage(f, s, &count);
    return put_page(c, s, all, count, out, e);
}

/* ---- get_custom_function -------------------------------------------------------------------------- */

bool action_get_function(const struct action_call *c, struct answer *out, struct err *e)
{
    struct functions *f;
    struct function old;
    const struct function *fn = &old;
    struct str name = function_argument(c, "name");
    uint32_t version = (uint32_t)json_int(json_get(c->arguments, "version"), 0);
    scoped_set const struct function_set *s =
        functioning_now(c->actions, c->place, &f, e);
    if (!s)
        return false;
    if (version ? !functions_version(f, name, version, c->arena, &old, e)
                : !(fn = function_by_name(s, name, e)))
        return false;
    scoped(usage_counts_free) struct usage_counts *counts =
        usage_count_all(functions_usage(f));
    struct used_function now = used_now(fn, counts);
    struct function counted = *fn;
    counted.usage_count = now.count;
    counted.last_used_ms = now.last_ms;
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    function_put(&counted, &w);
    if (fn->origin.n)
        json_pair_str(&w, "origin", fn->origin);
    json_close(&w);
    return buf_check(&out->json, "the function", e);
}

bool action_function_versions(const struct action_call *c, struct answer *out,
                              struct err *e)
{
    struct functions *f = functioning_in(c->actions, c->place->vault, e);
    struct str name = function_argument(c, "name");
    uint32_t from = (uint32_t)json_int(json_get(c->arguments, "from"), 0);
    uint32_t to = (uint32_t)json_int(json_get(c->arguments, "to"), 0);
    scoped_buf struct buf text;
    buf_init(&text, out->json.ceiling);
    struct json_writer w = json_writer(&text);
    if (to && !from)
        return err_set(e, ERR_INVALID,
                       "give from beside to: the version to compare with");
    if (!f || !functions_versions(f, name, &w, e) || !buf_check(&text, "the versions", e))
        return false;
    if (!from) {
        buf_str(&out->json, buf_view(&text));
        return buf_check(&out->json, "the versions", e);
    }
    const struct json *all = json_read(buf_view(&text), c->arena, e);
    w = json_writer(&out->json);
    json_open_object(&w);
    json_put_pairs(&w, all, NULL);
    json_key(&w, "diff");
    bool ok = all && functions_diff(f, name, from, to, &w, e);
    json_close(&w);
    return ok && buf_check(&out->json, "the versions", e);
}

/* ---- templates --------------------------------------------------------------------------------- */

bool action_function_templates(const struct action_call *c, struct answer *out,
                               struct err *e)
{
    struct function fn;
    struct str which = function_argument(c, "template");
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    if (which.n) {
        if (!function_template(which, function_argument(c, "name"), c->arena, &fn, e)) {
            buf_clear(&out->json);
            return false;
        }
        function_put(&fn, &w);
    } else {
        json_key(&w, "templates");
        function_templates(&w);
    }
    json_close(&w);
    return buf_check(&out->json, "the answer", e);
}

/* ---- use ---------------------------------------------------------------------------------------- */

static struct usage_function known_as(const struct function *fn)
{
    return (struct usage_function){.id = fn->id,
                                   .name = fn->name,
                                   .code = fn->code,
                                   .version = fn->version,
                                   .made_ms = fn->created_ms,
                                   .counted = fn->usage_count};
}

static bool row_put_stats(struct functions *f, const struct function_set *s,
                          struct str name, struct json_writer *w, struct err *e)
{
    struct usage *u = functions_usage(f);
    if (name.n) {
        const struct function *fn = function_by_name(s, name, e);
        struct usage_function one = fn ? known_as(fn) : (struct usage_function){0};
        return fn && usage_stats_of(u, &one, w, e);
    }
    size_t count = function_count(s);
    scoped(free) struct usage_function *all = mem_new((count + 1) * sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[i] = known_as(function_at(s, i));
    return usage_stats(u, all, count, w, e);
}

bool action_function_stats(const struct action_call *c, struct answer *out, struct err *e)
{
    struct functions *f;
    struct json_writer w = json_writer(&out->json);
    scoped_set const struct function_set *s =
        functioning_now(c->actions, c->place, &f, e);
    if (s && row_put_stats(f, s, function_argument(c, "name"), &w, e))
        return buf_check(&out->json, "the figures", e);
    buf_clear(&out->json);
    return false;
}
