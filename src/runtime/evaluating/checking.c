/* Type checks of code that does not run: the declarations that the checker gets, and its
 * answers to agents and users. */
#include "evaluating/checking.h"
#include "calls/calls.h"
#include "capability/capability.h"
#include "checker/checker.h"
#include "evaluating/evaluating.h"
#include "evaluating/internal.h"
#include "evaluating/language.h"
#include "evaluating/report.h"

/* ---- declarations of one evaluation ------------------------------------------ */

static void put_own(const struct action_call *c, bool session, struct buf *out)
{
    context_put_types(json_get(c->arguments, "context"), false, out);
    if (session)
        buf_cstr(out, "declare let state: any;\n");
    if (capability_custom())
        capability_custom()->declare(c, out);
}

/* ---- check --------------------------------------------------------------------- */

const struct checker_answer *checking_code(const struct action_call *c, struct err *e)
{
    struct checker *checker = services_checker(c->actions->services, e);
    scoped_buf struct buf own, functions;
    buf_init(&own, CHECKER_OWN_BYTES);
    buf_init(&functions, CHECKER_OWN_BYTES);
    bool session = json_get(c->arguments, "session") != NULL;
    bool python = language_is_python(c);
    if (python) {
        context_put_types(json_get(c->arguments, "context"), true, &own);
        if (capability_custom())
            capability_custom()->define(c, &functions);
    } else {
        put_own(c, session, &own);
    }
    if (!checker || !buf_check(&own, "the context's types", e))
        return NULL;
    struct checker_question q = {.code = json_str(json_get(c->arguments, "code")),
                                 .javascript = !python && !language_is_typescript(c),
                                 .python = python,
                                 .declared = 1u | features_asked(c->arguments) << 1,
                                 .own = buf_view(&own),
                                 .functions = buf_view(&functions),
                                 .remembers = session,
                                 .cancel = c->who->cancel};
    return checker_check(checker, &q, e);
}

/* ---- answer ---------------------------------------------------------------------- */

/* The first error of a list, or NULL. */
static const struct json *first_error(const struct json *list)
{
    struct json_iter it = json_iter(list);
    while (json_next(&it))
        if (str_is(json_str(json_get(it.value, "severity")), "error"))
            return it.value;
    return NULL;
}

/* "2 type errors; the first: Cannot find name 'x'. (TS2304)" */
static void put_message(const struct checker_answer *a, const struct json *first,
                        struct buf *out)
{
    uint32_t n = checker_errors(a);
    if (n > 1)
        buf_printf(out, "%u type errors; the first: ", n);
    buf_printf(out, "%.*s (%.*s)", STR_ARGS(json_str(json_get(first, "message"))),
               STR_ARGS(json_str(json_get(first, "code"))));
}

/* Turns the checker's answer into an evaluation's outcome. */
static void turn_answer(const struct action_call *c, const struct checker_answer *a,
                        const struct json *list, struct script_outcome *o)
{
    const struct json *first = first_error(list);
    scoped_buf struct buf message;
    buf_init(&message, BUF_PAGE);
    buf_cstr(&o->logs, "[]");
    o->success = !first;
    if (!first) {
        buf_cstr(&o->result, "null");
        return;
    }
    put_message(a, first, &message);
    script_outcome_syntax(o, json_str(json_get(c->arguments, "code")),
                          (uint32_t)json_int(json_get(first, "line"), 0),
                          (uint32_t)json_int(json_get(first, "column"), 0),
                          buf_cz(&message));
    buf_clear(&o->name);
    buf_cstr(&o->name, "TypeCheckError");
}

bool action_types_only(const struct action_call *c, struct answer *out, struct err *e)
{
    uint64_t start = os_mono_ns();
    scoped_checked const struct checker_answer *a = checking_code(c, e);
    const struct json *all = a ? json_read(checker_json(a), c->arena, e) : NULL;
    if (!all)
        return false;
    struct evaluation v;
    struct script_outcome o;
    scoped_buf struct buf list;
    buf_init(&list, BUF_FILE);
    struct json_writer text = json_writer(&list);
    json_put(&text, json_get(all, "diagnostics"));
    evaluation_init(&v, c);
    v.diagnostics = buf_view(&list);
    script_outcome_init(&o);
    turn_answer(c, a, json_get(all, "diagnostics"), &o);
    o.stats.total_ms = (double)(os_mono_ns() - start) / 1e6;
    struct json_writer w = json_writer(&out->json);
    report_write(&v, &o, &w);
    out->is_error = !o.success;
    out->outcome = o.success ? ERR_NONE : o.type;
    script_outcome_done(&o);
    evaluation_done(&v);
    return buf_check(&out->json, "the answer", e);
}

/* ---- merging with the linter's findings ----------------------------------- */

/* Missing names and members, and for Python what does not parse: the linter looks for them as well. */
static bool is_about_names(const struct json *diagnostic)
{
    static const char *const codes[] = {"TS2304", "TS2339",          "TS2551",
                                        "TS2552", "name-defined",    "attr-defined",
                                        "syntax", "unused-coroutine"};
    struct str code = json_str(json_get(diagnostic, "code"));
    for (size_t i = 0; i < LENGTH(codes); i++)
        if (str_is(code, codes[i]))
            return true;
    return false;
}

static bool is_same_place(const struct json *diagnostic, const struct json *finding)
{
    int64_t column = json_int(json_get(diagnostic, "column"), 0);
    return json_int(json_get(diagnostic, "line"), 0) ==
               json_int(json_get(finding, "line"), -1) &&
           column >= json_int(json_get(finding, "column"), 0) &&
           column <= json_int(json_get(finding, "endColumn"), 0);
}

/* The finding of `list` that equals `other`; one is the checker's, one the linter's. */
static bool has_same(const struct json *list, const struct json *other, bool list_is_lint,
                     bool (*fits)(const struct json *, const struct json *))
{
    struct json_iter it = json_iter(list);
    while (json_next(&it)) {
        const struct json *diagnostic = list_is_lint ? other : it.value;
        const struct json *finding = list_is_lint ? it.value : other;
        if (is_about_names(diagnostic) && is_same_place(diagnostic, finding) &&
            fits(diagnostic, finding))
            return true;
    }
    return false;
}

static bool is_error(const struct json *told)
{
    return str_is(json_str(json_get(told, "severity")), "error");
}

static bool finding_is_name(const struct json *finding)
{
    return str_is(json_str(json_get(finding, "rule")), "undefined-name");
}

/* TypeScript with a type error is refused; the linter would only warn. */
static bool type_error_says_more(const struct json *diagnostic,
                                 const struct json *finding)
{
    return finding_is_name(finding) && is_error(diagnostic);
}

static bool linter_says_more(const struct json *diagnostic, const struct json *finding)
{
    static const char *const rules[] = {"unknown-api", "absent-global", "unknown-call",
                                        "syntax", "missing-await"};
    struct str rule = json_str(json_get(finding, "rule"));
    bool says = finding_is_name(finding);
    for (size_t i = 0; i < LENGTH(rules); i++)
        says |= str_is(rule, rules[i]);
    return says && !type_error_says_more(diagnostic, finding);
}

/* JavaScript is written without types: a finding in it is a warning. */
static void put_mild(const struct json *diagnostic, struct json_writer *w)
{
    struct json_iter it = json_iter(diagnostic);
    json_open_object(w);
    while (json_next(&it)) {
        json_key_str(w, it.key);
        if (str_is(it.key, "severity"))
            json_put_str(w, STR("warning"));
        else
            json_put(w, it.value);
    }
    json_close(w);
}

/* Removes findings that the types report. */
static void drop_reported(struct lint_findings *found, const struct json *lint,
                          const struct json *types)
{
    struct lint_findings left;
    lint_findings_init(&left);
    struct json_writer w = json_writer(&left.json);
    struct json_iter it = json_iter(lint);
    left.errors = found->errors;
    left.warnings = found->warnings;
    left.hints = found->hints;
    json_open_array(&w);
    while (json_next(&it)) {
        if (!has_same(types, it.value, false, type_error_says_more))
            json_put(&w, it.value);
        else if (is_error(it.value))
            left.errors--;
        else
            left.warnings--;
    }
    json_close(&w);
    lint_findings_done(found);
    *found = left;
}

void checking_write(const struct action_call *c, struct lint_findings *found,
                    struct json_writer *w, uint32_t *errors)
{
    struct err why = {0};
    scoped_checked const struct checker_answer *a = checking_code(c, &why);
    const struct json *all = a ? json_read(checker_json(a), c->arena, &why) : NULL;
    const struct json *lint =
        all ? json_read(buf_view(&found->json), c->arena, &why) : NULL;
    *errors = 0;
    if (!lint) {
        json_pair_cstr(w, "typesUnchecked", why.msg);
        return;
    }
    const struct json *types = json_get(all, "diagnostics");
    bool strict = language_is_typescript(c);
    struct json_iter it = json_iter(types);
    json_key(w, "types");
    json_open_array(w);
    while (json_next(&it)) {
        if (has_same(lint, it.value, true, linter_says_more) ||
            (!strict && has_same(lint, it.value, true, type_error_says_more)))
            continue;
        *errors += strict && is_error(it.value);
        if (strict)
            json_put(w, it.value);
        else
            put_mild(it.value, w);
    }
    json_close(w);
    if (strict)
        drop_reported(found, lint, types);
    json_pair_int(w, "typeErrors", *errors);
}
