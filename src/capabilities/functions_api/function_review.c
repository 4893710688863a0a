#include "functions_api/function_review.h"

#include <ctype.h>
#include <stdio.h>

#include "functions_api/function_python.h"
#include "functions_api/functioning.h"
#include "lint/lint.h"

#define REVIEW_MAX ((size_t)512 << 10) /* bytes of one, as text */
#define CODE_NAME_MAX 40u

/* ---- review --------------------------------------------------------------------- */

/* Maps a position in the JavaScript to the function's own code. */
static struct typescript_place review_place(const struct json *at,
                                            const struct typescript_code *code)
{
    struct typescript_place p = {(uint32_t)json_int(json_get(at, "line"), 0),
                                 (uint32_t)json_int(json_get(at, "column"), 0)};
    return p.line ? typescript_origin(code, p) : p;
}

/* The same value with mapped positions; findings without one are left out. */
static void put_turned(const struct json *v, const struct typescript_code *code,
                       struct json_writer *w)
{
    struct typescript_place at = review_place(v, code);
    struct json_iter it = json_iter(v);
    json_open_object(w);
    while (json_next(&it)) {
        json_key_str(w, it.key);
        if (str_is(it.key, "line"))
            json_put_int(w, at.line);
        else if (str_is(it.key, "column"))
            json_put_int(w, at.column);
        else
            json_put(w, it.value);
    }
    json_close(w);
}

static void review_put_list(const struct json *list, const char *key,
                            const struct typescript_code *code, struct json_writer *w)
{
    struct json_iter it = json_iter(json_get(list, key));
    json_key(w, key);
    json_open_array(w);
    while (json_next(&it))
        put_turned(it.value, code, w);
    json_close(w);
}

static const struct json *turn(const struct json *given,
                               const struct typescript_code *code, struct arena *a,
                               struct err *e)
{
    scoped_buf struct buf text;
    buf_init(&text, REVIEW_MAX);
    struct json_writer w = json_writer(&text);
    const struct json *uses = json_get(given, "uses"),
                      *bound = json_get(given, "binding");
    json_open_object(&w);
    review_put_list(given, "findings", code, &w);
    json_key(&w, "uses");
    json_open_object(&w);
    review_put_list(uses, "functions", code, &w);
    review_put_list(uses, "dynamic", code, &w);
    json_pair(&w, "calls", json_get(uses, "calls"));
    json_close(&w);
    json_pair(&w, "complexity", json_get(given, "complexity"));
    if (json_is(bound, JSON_OBJECT)) {
        json_key(&w, "binding");
        put_turned(bound, code, &w);
    }
    json_close(&w);
    return buf_check(&text, "the review", e) ? json_read(buf_view(&text), a, e) : NULL;
}

static bool read_uses(struct review *v, struct arena *a, struct err *e)
{
    const struct json *list = json_get(json_get(v->json, "uses"), "functions");
    struct function_use *all = arena_get(a, (json_length(list) + 1) * sizeof *all, e);
    struct json_iter it = json_iter(list);
    if (!all)
        return false;
    v->uses.at = all;
    while (json_next(&it))
        all[v->uses.count++] =
            (struct function_use){json_str(json_get(it.value, "name")),
                                  (uint32_t)json_int(json_get(it.value, "line"), 0),
                                  (uint32_t)json_int(json_get(it.value, "column"), 0)};
    v->uses.dynamic = json_length(json_get(json_get(v->json, "uses"), "dynamic")) > 0;
    return true;
}

static bool review_make(const struct action_call *c, struct review *v,
                        const struct typescript_code *code, struct err *e)
{
    struct lint *lint = services_lint(c->actions->services, e);
    scoped_buf struct buf text;
    buf_init(&text, REVIEW_MAX);
    const struct json *given =
        lint && lint_review(lint, typescript_javascript(code), v->fn->code, v->fn->name,
                            c->who->cancel, &text, e)
            ? json_read(buf_view(&text), c->arena, e)
            : NULL;
    v->json = given ? turn(given, code, c->arena, e) : NULL;
    return v->json && read_uses(v, c->arena, e);
}

/* Whether the code is at fault, not a temporary condition. */
static bool is_its_own(const struct err *why)
{
    return why->code == ERR_SYNTAX || why->code == ERR_INVALID ||
           why->code == ERR_STACK || why->code == ERR_GUEST || why->code == ERR_OUTPUT ||
           why->code == ERR_TIMEOUT || why->code == ERR_MEMORY || why->code == ERR_LIMIT;
}

/* Its positions are the code's own. */
static bool review_python(const struct action_call *c, struct review *v, struct err *e)
{
    v->json = python_describe(c, v->fn->code, v->fn->name, &v->why);
    if (v->json && read_uses(v, c->arena, &v->why))
        return true;
    v->json = NULL;
    return is_its_own(&v->why) || err_pass(e, &v->why);
}

static bool review(const struct action_call *c, struct review *v, struct err *e)
{
    if (v->fn->language == FUNCTION_PYTHON)
        return review_python(c, v, e);
    struct typescript *t = services_typescript(c->actions->services, e);
    struct typescript_limits limits = {.cancel = c->who->cancel};
    if (!t)
        return false;
    scoped(typescript_drop) const struct typescript_code *code =
        typescript_transpile(t, v->fn->code, &limits, &v->where, &v->why);
    if (code && review_make(c, v, code, &v->why))
        return true;
    v->json = NULL;
    return is_its_own(&v->why) || err_pass(e, &v->why);
}

const struct review *review_of(struct reviews *r, const struct function *fn,
                               struct err *e)
{
    for (struct review *v = r->all; v; v = v->next)
        if (v->fn == fn)
            return v;
    struct review *made = arena_get(r->call->arena, sizeof *made, e);
    if (!made)
        return NULL;
    made->fn = fn;
    if (!review(r->call, made, e))
        return NULL;
    made->next = r->all;
    return r->all = made;
}

/* ---- findings -------------------------------------------------------------------- */

/* "no-eval" as NO_EVAL: a constant, allocated in the call's arena. */
static void code_of(struct str rule, char out[static CODE_NAME_MAX])
{
    size_t n = 0;
    for (; n < rule.n && n < CODE_NAME_MAX - 1; n++)
        out[n] = (char)(rule.at[n] == '-' ? '_' : toupper((unsigned char)rule.at[n]));
    out[n] = '\0';
}

/* Those of the linter's hints that matter in code that is called repeatedly. */
static bool is_worth_reporting(struct str rule, struct str severity)
{
    return !str_is(severity, "hint") || str_is(rule, "await-in-loop");
}

static void review_put_finding(const struct json *f, struct findings *out)
{
    struct str rule = json_str(json_get(f, "rule"));
    struct str severity = json_str(json_get(f, "severity"));
    char code[CODE_NAME_MAX];
    code_of(rule, code);
    struct finding what = {.field = str_is(rule, "many-parameters") ? STR("parameters")
                                                                    : STR("code"),
                           .line = (uint32_t)json_int(json_get(f, "line"), 0),
                           .column = (uint32_t)json_int(json_get(f, "column"), 0),
                           .code = code,
                           .message = json_str(json_get(f, "message")),
                           .suggestion = json_str(json_get(f, "suggestion"))};
    if (is_worth_reporting(rule, severity))
        (str_is(severity, "error") ? findings_error : findings_warn)(out, &what);
}

void review_list(const struct json *review, struct findings *out)
{
    struct json_iter it = json_iter(json_get(review, "findings"));
    while (json_next(&it))
        review_put_finding(it.value, out);
}

static const char *why_code(const struct review *v)
{
    if (v->why.cause == CAUSE_IMPORT)
        return "NO_IMPORT";
    return v->why.code == ERR_SYNTAX || v->why.code == ERR_INVALID ? "SYNTAX"
                                                                   : "NOT_CHECKED";
}

void review_findings(const struct review *v, struct findings *out)
{
    if (!v->json) {
        findings_error(out,
                       &(struct finding){.field = STR("code"),
                                         .line = v->where.line,
                                         .column = v->where.line ? v->where.column : 0,
                                         .code = why_code(v),
                                         .message = str_of(v->why.msg),
                                         .suggestion = STR("")});
        return;
    }
    review_list(v->json, out);
}
