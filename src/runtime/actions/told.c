/* Warnings of a run. */
#include "actions/told.h"

#include <inttypes.h>
#include <stdio.h>

#include "actions/calls.h"
#include "json/json.h"

/* Once each, and only as far as there is room. */
static void add(struct buf *all, struct str one)
{
    bool again = all->n && memmem(all->at, all->n, one.at, one.n);
    if (again || all->n + one.n + 1 > TOLD_MAX)
        return;
    if (all->n)
        buf_char(all, ',');
    buf_str(all, one);
}

void told_put(struct buf *all, const char *rule, struct str message,
              struct str suggestion)
{
    scoped_buf struct buf one;
    buf_init(&one, TOLD_MAX);
    struct json_writer w = json_writer(&one);
    json_open_object(&w);
    json_pair_cstr(&w, "rule", rule);
    json_pair_cstr(&w, "severity", "warning");
    json_pair_str(&w, "message", message);
    if (suggestion.n)
        json_pair_str(&w, "suggestion", suggestion);
    json_close(&w);
    if (!one.failed)
        add(all, buf_view(&one));
}

void told_add(struct evaluation *v, const char *rule, struct str message,
              struct str suggestion)
{
    pthread_mutex_lock(&v->lock);
    told_put(&v->told, rule, message, suggestion);
    pthread_mutex_unlock(&v->lock);
}

void told_rows(struct evaluation *v, struct str rows)
{
    if (!rows.n)
        return;
    pthread_mutex_lock(&v->lock);
    add(&v->told, rows);
    pthread_mutex_unlock(&v->lock);
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

/* ---- commands ---------------------------------------------------------------- */

void told_failure(struct evaluation *v, struct str code)
{
    static const char *const looks[] = {"exitCode", "success", "stderr", "outcome",
                                        "errorDetails"};
    for (size_t i = 0; i < LENGTH(looks); i++)
        if (code.n && memmem(code.at, code.n, looks[i], strlen(looks[i])))
            return;
    if (v->advice.command[0])
        told_add(v, "failed-command", str_of(v->advice.command),
                 STR("Look at exitCode or success before stdout."));
}

/* ---- results ---------------------------------------------------------------- */

static const char *advice_for(struct str what, bool many)
{
    if (str_is(what, "a promise"))
        return many ? "await Promise.all(...) over the array first." : "Await it.";
    if (str_is(what, "a function"))
        return "Call it, or leave it out.";
    if (str_is(what, "NaN"))
        return "Arithmetic with undefined, or with a text that is no number, gives NaN.";
    return "";
}

/* Has the linter said where an await is missing? */
static bool is_await_told(const struct evaluation *v)
{
    static const char rule[] = "\"rule\":\"missing-await\"";
    return v->warnings.n && memmem(v->warnings.at, v->warnings.n, rule, sizeof rule - 1);
}

static void tell_loss(struct evaluation *v, const struct json *row)
{
    scoped_buf struct buf text;
    buf_init(&text, TOLD_MAX);
    struct str what = json_str(json_get(row, "what"));
    if (str_is(what, "a promise") && is_await_told(v))
        return;
    int64_t others = json_int(json_get(row, "count"), 1) - 1;
    buf_printf(&text, "result%.*s is %.*s, and %s in JSON",
               STR_ARGS(json_str(json_get(row, "path"))), STR_ARGS(what),
               str_is(what, "a promise") ? "{}" : "null");
    if (others)
        buf_printf(&text, "; so %s %" PRId64 " other value%s", others > 1 ? "are" : "is",
                   others, others > 1 ? "s" : "");
    told_add(v, "lost-value", buf_view(&text), str_of(advice_for(what, others > 0)));
}

void told_losses(struct evaluation *v, const struct script_outcome *o)
{
    struct err none = {0};
    if (!o->lost.n)
        return;
    scoped(arena_free) struct arena *a = arena_new((size_t)1 << 20);
    struct json_iter it = json_iter(json_read(buf_view(&o->lost), a, &none));
    while (json_next(&it))
        tell_loss(v, it.value);
}
