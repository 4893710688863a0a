/* Checks of a custom function and its callers, by validity, lint and the type checker. */
#include <stdio.h>

#include "functions_api/checking.h"
#include "functions_api/function_review.h"
#include "functions_api/functioning.h"

#define BREAKS_MAX 100u /* callers that are checked */

static struct name_words taken(void)
{
    size_t count;
    const char *const *names = host_call_names(&count);
    return (struct name_words){names, count};
}

static const struct function_uses *uses_of(void *arg, const struct function *fn,
                                           struct err *e)
{
    static const struct function_uses none;
    if (!function_may_call(fn, STR("")))
        return &none;
    const struct review *v = review_of(arg, fn, e);
    return v ? &v->uses : NULL;
}

/* ---- types -------------------------------------------------------------------- */

/* What customFunctions is to the code that is checked. */
struct meaning {
    const struct function *fn; /* the caller */
    const struct function_uses *uses;
    const struct function_set *among;
    const struct function *old, *instead; /* NULL: nothing is replaced */
};

static const struct function *meant(const struct meaning *m, struct str name)
{
    const struct function *fn =
        str_eq(name, m->fn->name) ? m->fn : function_found(m->among, name);
    return fn && fn == m->old ? m->instead : fn;
}

/* Whether checking_put_functions() gives the same, so that its cached answer holds. */
static bool meaning_is_plain(const struct meaning *m)
{
    for (size_t i = 0; i < m->uses->count; i++)
        if (str_eq(m->uses->at[i].name, m->fn->name))
            return false;
    return !m->old && !m->uses->dynamic;
}

/* Each by the name that the code uses. */
static void put_meaning(const struct meaning *m, struct buf *out)
{
    if (meaning_is_plain(m)) {
        checking_put_known(m->fn, m->among, out);
        return;
    }
    size_t count = 0, most = m->uses->count + 1;
    scoped(free) struct function *copies = mem_new(most * sizeof *copies);
    scoped(free) const struct function **row = mem_new(most * sizeof *row);
    for (size_t i = 0; i < m->uses->count; i++) {
        const struct function *fn = meant(m, m->uses->at[i].name);
        if (!fn)
            continue;
        copies[count] = *fn;
        copies[count].name = m->uses->at[i].name;
        row[count] = &copies[count];
        count++;
    }
    if (m->fn->language == FUNCTION_PYTHON) {
        functioning_define(row, count, CHECKER_OWN_BYTES / 2, out);
        return;
    }
    if (count)
        functioning_declare(row, count, CHECKER_OWN_BYTES / 2, false, "customFunctions$",
                            out);
    buf_printf(out, "declare const customFunctions: %s%s;\n",
               count ? "typeof customFunctions$" : "{}",
               m->uses->dynamic
                   ? " & { readonly [name: string]: (...args: any[]) => any }"
                   : "");
}

static bool check_types(const struct action_call *c, const struct meaning *m, bool strict,
                        struct findings *out, struct err *e)
{
    scoped_buf struct buf own;
    buf_init(&own, CHECKER_OWN_BYTES);
    put_meaning(m, &own);
    return buf_check(&own, "the declarations", e) &&
           checking_find(c, m->fn, buf_view(&own), strict, out, e);
}

/* ---- one function ----------------------------------------------------------------- */

/* Checks its name among the set's: the version it replaces has its id. */
bool function_check(const struct action_call *c, const struct function *fn,
                    const struct function_set *among, struct findings *out, struct err *e)
{
    struct reviews all = {.call = c};
    const struct name_words names = taken();
    function_validate(fn, among, &names, out);
    const struct review *v = review_of(&all, fn, e);
    if (!v)
        return false;
    review_findings(v, out);
    if (!v->json)
        return true;
    const struct meaning m = {.fn = fn, .uses = &v->uses, .among = among};
    function_missing(fn, &v->uses, among, out);
    return function_circles(fn, among, uses_of, &all, out, e) &&
           check_types(c, &m, false, out, e);
}

bool function_lint(const struct action_call *c, const struct function *fn,
                   struct findings *out, struct err *e)
{
    struct reviews all = {.call = c};
    const struct review *v = review_of(&all, fn, e);
    if (v)
        review_findings(v, out);
    return v;
}

/* ---- facts --------------------------------------------------------------------------- */

static bool is_security(struct str rule)
{
    static const char *const rules[] = {
        "no-eval",      "no-import", "absent-global",    "unbounded-loop",
        "shared-state", "no-with",   "prototype-access", "obfuscated-code"};
    for (size_t i = 0; i < LENGTH(rules); i++)
        if (str_is(rule, rules[i]))
            return true;
    return false;
}

static void put_security(const struct review *v, struct json_writer *out)
{
    bool safe = v->json != NULL;
    struct json_iter it = json_iter(json_get(v->json, "findings"));
    json_key(out, "security");
    json_open_object(out);
    json_key(out, "issues");
    json_open_array(out);
    while (json_next(&it)) {
        if (!is_security(json_str(json_get(it.value, "rule"))))
            continue;
        safe = safe && !str_is(json_str(json_get(it.value, "severity")), "error");
        json_put(out, it.value);
    }
    json_close(out);
    json_pair_bool(out, "safe", safe);
    json_close(out);
}

bool function_facts(const struct action_call *c, const struct function *fn,
                    struct json_writer *out, struct err *e)
{
    struct reviews all = {.call = c};
    const struct review *v = review_of(&all, fn, e);
    if (!v)
        return false;
    put_security(v, out);
    json_pair(out, "complexity", json_get(v->json, "complexity"));
    json_pair(out, "uses", json_get(v->json, "uses"));
    return true;
}

/* ---- breaking callers ------------------------------------------------------------------- */

/* One caller of the function that changes. */
struct caller_of {
    const struct action_call *c;
    struct reviews *all;
    const struct function_set *among;
    struct str name;
    const struct function *instead; /* NULL: it is removed */
    struct findings *out;
};

static const struct function_use *use_of(const struct function_uses *uses,
                                         struct str name)
{
    for (size_t i = 0; i < uses->count; i++)
        if (str_eq(uses->at[i].name, name))
            return &uses->at[i];
    return NULL;
}

static void report_broken(const struct caller_of *x, const struct function *by,
                          uint32_t line, uint32_t column, const char *code,
                          const char *what, struct str detail)
{
    scoped_buf struct buf field, text;
    buf_init(&field, BUF_LINE);
    buf_init(&text, BUF_PAGE);
    buf_printf(&field, "customFunctions.%.*s", STR_ARGS(by->name));
    buf_printf(&text, "'%.*s' %s", STR_ARGS(by->name), what);
    if (detail.n)
        buf_printf(&text, ": %.*s", STR_ARGS(str_cut(detail, 600)));
    findings_warn(x->out, &(struct finding){.field = buf_view(&field),
                                            .line = line,
                                            .column = column,
                                            .code = code,
                                            .message = buf_view(&text),
                                            .suggestion = STR("Change it as well.")});
}

static bool types_of(const struct caller_of *x, const struct function *by,
                     const struct function_uses *uses, bool replaced,
                     struct findings *out, struct err *e)
{
    struct meaning m = {.fn = by, .uses = uses, .among = x->among};
    if (replaced) {
        m.old = function_found(x->among, x->name);
        m.instead = x->instead;
    }
    return check_types(x->c, &m, true, out, e);
}

/* The first error in its code that is new. */
static bool check_caller_types(const struct caller_of *x, const struct function *by,
                               const struct function_uses *uses, struct err *e)
{
    scoped_findings struct findings before, after;
    findings_init(&before);
    findings_init(&after);
    if (!types_of(x, by, uses, true, &after, e))
        return false;
    if (!after.error_count)
        return true;
    if (!types_of(x, by, uses, false, &before, e))
        return false;
    if (after.error_count <= before.error_count)
        return true;
    report_broken(x, by, after.first.line, after.first.column, "CALLER_BREAKS",
                  "does not fit any more", str_of(after.first.message));
    return true;
}

static bool look_at_caller(const struct caller_of *x, const struct function *by,
                           struct err *e)
{
    const struct review *v = review_of(x->all, by, e);
    if (!v)
        return false;
    const struct function_use *use = use_of(&v->uses, x->name);
    if (use && !x->instead)
        report_broken(x, by, use->line, use->column, "CALLER_BREAKS",
                      "calls it, and will not find it any more", STR(""));
    else if (use)
        return check_caller_types(x, by, &v->uses, e);
    else if (v->uses.dynamic)
        report_broken(x, by, 0, 0, "CALLER_MAY_BREAK",
                      "calls functions in a way that cannot be determined without "
                      "running it",
                      STR(""));
    return true;
}

/* Whether the caller-visible part is the same. */
static bool same_for_callers(const struct function *a, const struct function *b)
{
    scoped_buf struct buf one, two;
    buf_init(&one, BUF_LIST);
    buf_init(&two, BUF_LIST);
    function_signature(a, &one);
    function_signature(b, &two);
    return !one.failed && !two.failed && str_eq(buf_view(&one), buf_view(&two));
}

/* But for those that are gone themselves. */
static bool check_callers(const struct caller_of *x, const struct function *now,
                          const struct function *const *gone, size_t count, struct err *e)
{
    size_t looked = 0;
    for (size_t i = 0; i < function_count(x->among) && looked < BREAKS_MAX; i++) {
        const struct function *by = function_at(x->among, i);
        bool skip = by == now || (x->instead && str_eq(by->id, x->instead->id));
        for (size_t k = 0; k < count && !skip; k++)
            skip = by == gone[k];
        if (skip || !function_may_call(by, x->name))
            continue;
        looked++;
        if (!look_at_caller(x, by, e))
            return false;
    }
    return true;
}

bool function_breaks(const struct action_call *c, struct str name,
                     const struct function *fn, const struct function_set *among,
                     struct findings *out, struct err *e)
{
    struct reviews all = {.call = c};
    const struct function *now = function_found(among, name);
    struct function instead = *fn;
    instead.name = name; /* callers follow its name */
    const struct caller_of x = {c, &all, among, name, &instead, out};
    return !now || same_for_callers(now, &instead) || check_callers(&x, now, NULL, 0, e);
}

bool functions_break(const struct action_call *c, const struct function *const *gone,
                     size_t count, const struct function_set *among, struct findings *out,
                     struct err *e)
{
    struct reviews all = {.call = c};
    for (size_t i = 0; i < count; i++) {
        const struct caller_of x = {c, &all, among, gone[i]->name, NULL, out};
        if (!check_callers(&x, gone[i], gone, count, e))
            return false;
    }
    return true;
}
