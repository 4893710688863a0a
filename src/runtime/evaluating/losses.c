/* Notices about a successful run: commands that failed, and values that were lost. */
#include <inttypes.h>

#include "evaluating/internal.h"
#include "evaluating/limits.h"
#include "script/script.h"

/* ---- commands ---------------------------------------------------------------- */

void notice_failed_command(struct evaluation *v, struct str code)
{
    static const char *const looks[] = {"exitCode", "success", "stderr", "outcome",
                                        "errorDetails"};
    for (size_t i = 0; i < LENGTH(looks); i++)
        if (code.n && memmem(code.at, code.n, looks[i], strlen(looks[i])))
            return;
    if (v->advice.command[0])
        notice_add(v, "failed-command", str_of(v->advice.command),
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
        return "Arithmetic with a missing value, or with a text that is not a number, gives "
               "NaN.";
    return "";
}

static void notice_loss(struct evaluation *v, const struct json *row)
{
    scoped_buf struct buf text;
    buf_init(&text, NOTICES_MAX);
    struct str what = json_str(json_get(row, "what"));
    if (str_is(what, "a promise") && v->await_warned)
        return;
    int64_t others = json_int(json_get(row, "count"), 1) - 1;
    buf_printf(&text, "result%.*s is %.*s, and %s in JSON",
               STR_ARGS(json_str(json_get(row, "path"))), STR_ARGS(what),
               str_is(what, "a promise") ? "{}" : "null");
    if (others)
        buf_printf(&text, "; so %s %" PRId64 " other value%s", others > 1 ? "are" : "is",
                   others, others > 1 ? "s" : "");
    notice_add(v, "lost-value", buf_view(&text), str_of(advice_for(what, others > 0)));
}

void notice_losses(struct evaluation *v, const struct script_outcome *o)
{
    struct err none = {0};
    if (!o->lost.n)
        return;
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    struct json_iter it = json_iter(json_read(buf_view(&o->lost), a, &none));
    while (json_next(&it))
        notice_loss(v, it.value);
}
