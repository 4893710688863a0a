/* What a run that ended well is warned of: commands that failed, and what its result lost. */
#include <inttypes.h>

#include "evaluating/internal.h"
#include "evaluating/limits.h"
#include "script/script.h"

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
