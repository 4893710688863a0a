/* TypeScript: transpiled before it runs; positions in the outcome are mapped back. */
#include "evaluating/language.h"
#include "evaluating/evaluating.h"
#include "evaluating/explaining.h"
#include "evaluating/internal.h"
#include "typescript/typescript.h"

bool custom_tell(struct work *w, bool types, struct buf *out, struct err *e)
{
    const struct custom_code *custom = capability_custom();
    return custom ? custom->tell(w, types, out, e)
                  : err_set(e, ERR_NOT_FOUND, "there are no custom functions");
}

bool language_is_typescript(const struct action_call *c)
{
    return str_is(json_str(json_get(c->arguments, "language")), "typescript");
}

bool language_is_python(const struct action_call *c)
{
    return str_is(json_str(json_get(c->arguments, "language")), "python");
}

struct script *language_guest(const struct action_call *c, struct err *e)
{
    struct services *s = c->actions->services;
    return language_is_python(c) ? services_python(s, e) : services_script(s, e);
}

static void turn_place(void *arg, uint32_t *line, uint32_t *column)
{
    struct typescript_place at =
        typescript_origin(arg, (struct typescript_place){*line, *column});
    *line = at.line;
    *column = at.column;
}

struct script_origin language_origin(const struct typescript_code *code,
                                     struct str source)
{
    return (struct script_origin){.source = source,
                                  .file = "code.ts",
                                  .place = turn_place,
                                  .arg = (void *)(uintptr_t)code};
}

const struct typescript_code *language_translate(const struct action_call *c,
                                                 struct str source, uint64_t until_ns,
                                                 struct typescript_place *where,
                                                 struct err *e)
{
    struct typescript *t = services_typescript(c->actions->services, e);
    struct typescript_limits limits = {.compute_ms = permit_timeout_ms(&c->place->permit),
                                       .until_ns = until_ns,
                                       .cancel = c->who->cancel};
    return t ? typescript_transpile(t, source, &limits, where, e) : NULL;
}

/* NULL and *e; or, for an error in the code, an outcome and no *e. */
static const struct typescript_code *translate(const struct action_call *c,
                                               const struct script_request *q,
                                               struct script_outcome *o, struct err *e)
{
    struct typescript_place where;
    uint64_t until_ns = q->total_ms ? os_in_ms(q->total_ms) : 0;
    const struct typescript_code *code =
        language_translate(c, q->code, until_ns, &where, e);
    if (!code && e->code == ERR_SYNTAX) {
        script_outcome_syntax(o, q->code, where.line, where.column, e->msg);
        *e = (struct err){0};
    }
    return code;
}

void language_explain(struct evaluation *v, struct script_outcome *o,
                      const struct script_origin *code)
{
    size_t count = 0;
    const struct custom_code *custom = capability_custom();
    scoped(free) struct script_origin *further =
        custom ? custom->origins(v, &count) : NULL;
    if ((further && count) || code)
        script_outcome_origin(o, code, further, further ? count : 0);
}

/* Runs JavaScript, with the linter before or after, as the policy says. */
static bool run_checked(const struct action_call *c, struct script *script,
                        struct script_request *q, const struct script_origin *from,
                        struct script_outcome *o, struct err *e)
{
    struct evaluation *v = q->perform_arg;
    if (!check_passes(c, q, from, e) || !script_run(script, q, o, e))
        return false;
    check_explains(c, v, q, o);
    check_warns(c, q, o, from, buf_view(&v->explained.suggestion), v);
    language_explain(v, o, from);
    return true;
}

bool language_run(const struct action_call *c, struct script *script,
                  struct script_request *q, struct script_outcome *o, struct err *e)
{
    if (language_is_python(c))
        return python_run(c, script, q, o, e);
    if (!language_is_typescript(c))
        return run_checked(c, script, q, NULL, o, e);
    uint64_t start = os_mono_ns();
    scoped(typescript_drop) const struct typescript_code *code = translate(c, q, o, e);
    uint64_t ms = (os_mono_ns() - start) / 1000000;
    o->stats.total_ms = (double)(os_mono_ns() - start) / 1e6;
    if (!code) {
        check_explains_syntax(c, q->perform_arg, o);
        return !e->code;
    }
    struct script_origin origin = language_origin(code, q->code);
    double translating = o->stats.total_ms;
    q->code = typescript_javascript(code);
    q->total_ms = q->total_ms > ms ? q->total_ms - ms : 1;
    bool ran = run_checked(c, script, q, &origin, o, e);
    q->code = origin.source;
    o->stats.total_ms += translating;
    return ran;
}
