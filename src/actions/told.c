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

/* What notes.list and the searches take without a limit, and what they take at most. */
static const struct {
    const char *call;
    size_t rows;
    const char *most;
} limits[] = {
    {"notes.list", 1000, "10,000"},
    {"notes.search", 50, "1,000"},
    {"search_notes", 50, "1,000"},
};

/* The elements of a JSON array that we wrote. */
static size_t length(struct str array)
{
    size_t depth = 0, commas = 0;
    bool in_text = false;
    for (size_t i = 0; i < array.n; i++) {
        char c = array.at[i];
        if (in_text && c == '\\')
            i++;
        else if (c == '"')
            in_text = !in_text;
        else if (in_text)
            continue;
        else if (c == '[' || c == '{')
            depth++;
        else if (c == ']' || c == '}')
            depth--;
        else if (c == ',' && depth == 1)
            commas++;
    }
    return array.n > 2 ? commas + 1 : 0;
}

void told_limit(const char *call, const struct json *options, struct str found,
                struct buf *all)
{
    size_t i = 0;
    while (i < LENGTH(limits) && strcmp(limits[i].call, call) != 0)
        i++;
    if (i == LENGTH(limits) || json_get(options, "limit") ||
        json_get(options, "cursor") || length(found) < limits[i].rows)
        return;
    char message[160], advice[120];
    (void)snprintf(message, sizeof message,
                   "%s answered its default limit of %zu notes; there may be more", call,
                   limits[i].rows);
    (void)snprintf(advice, sizeof advice, "Give a limit, at most %s.", limits[i].most);
    told_put(all, "default-limit", str_of(message), str_of(advice));
}

/* ---- dry runs ------------------------------------------------------------------ */

void told_dry(const char *call, const struct json *options, struct str answer,
              struct buf *all)
{
    char message[160];
    if (!str_is(answer, "{\"dry_run\":true,\"changes\":[]}"))
        return;
    bool held_back =
        !strcmp(call, "notes.delete") && !json_bool(json_get(options, "confirm"), false);
    (void)snprintf(message, sizeof message, "%s would change nothing%s", call,
                   held_back ? ": other notes link to this one, or are its subnotes"
                             : "");
    told_put(all, "dry-run", str_of(message),
             str_of(held_back ? "confirm: true deletes it all the same." : ""));
}

/* ---- commands ---------------------------------------------------------------- */

#define COMMAND_ANSWER_MAX ((size_t)1 << 20) /* a longer one is not looked into */

bool told_command(const char *call, struct str answer, struct buf *out)
{
    struct err none = {0};
    bool runs = !strcmp(call, "tools.run") || !strcmp(call, "tools.pipe") ||
                !strcmp(call, "vm.exec");
    static const char failed[] = "\"success\":false";
    if (!runs || answer.n > COMMAND_ANSWER_MAX ||
        !memmem(answer.at, answer.n, failed, sizeof failed - 1))
        return false;
    scoped(arena_free) struct arena *a = arena_new((size_t)16 << 20);
    const struct json *o = json_read(answer, a, &none);
    struct str said = str_trim(json_str(json_get(o, "stderr")));
    const struct json *code = json_get(o, "exitCode");
    if (json_bool(json_get(o, "success"), true) || !json_is_int(code) ||
        json_get(o, "outcome"))
        return false;
    const char *end = said.n ? memchr(said.at, '\n', said.n) : NULL;
    struct str line = {said.at, end ? (size_t)(end - said.at) : said.n};
    buf_printf(out, "%s: a command ended with exit code %" PRId64 "%s%.*s", call,
               json_int(code, 0), line.n ? ": " : "", STR_ARGS(str_cut(line, 120)));
    return true;
}

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
