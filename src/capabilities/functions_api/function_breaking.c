/* Breaking changes of a custom function: compares its signature with the old one, and its
 * name with its callers' code, which can follow it. */
#include <stdio.h>

#include "evaluating/evaluating.h"
#include "functions_api/checking.h"
#include "functions_api/function_actions.h"
#include "functions_api/function_review.h"
#include "functions_api/functioning.h"

#define CALLERS_MAX 100u /* functions that are searched */

void breaking_init(struct breaking *b)
{
    *b = (struct breaking){0};
    buf_init(&b->reasons, BUF_TEXT);
    buf_init(&b->callers, BUF_TEXT);
}

void breaking_done(struct breaking *b)
{
    buf_done(&b->reasons);
    buf_done(&b->callers);
}

static void texts_add(struct buf *list, struct str text)
{
    struct json_writer w = json_writer(list);
    if (list->n)
        buf_char(list, ',');
    json_put_str(&w, text);
}

static void put_reason(struct breaking *b, const char *what, struct str name,
                       struct str now, struct str was)
{
    scoped_buf struct buf text;
    buf_init(&text, BUF_PAGE);
    buf_printf(&text, what, STR_ARGS(str_cut(name, 100)), STR_ARGS(str_cut(now, 200)),
               STR_ARGS(str_cut(was, 200)));
    texts_add(&b->reasons, buf_view(&text));
    if (!b->is)
        (void)snprintf(b->first, sizeof b->first, "%.*s",
                       STR_ARGS(str_cut(buf_view(&text), 250)));
    b->is = true;
}

/* ---- parameters by name ------------------------------------------------------------- */

static size_t parameter_place(const struct function *fn, struct str name)
{
    size_t i = 0;
    while (i < fn->parameter_count && !str_eq(fn->parameters[i].name, name))
        i++;
    return i;
}

static bool must_be_given(const struct function_parameter *p)
{
    bool rest;
    (void)function_parameter_name(p, &rest);
    return !p->optional && !p->fallback && !rest;
}

/* An old parameter: removed, moved, or required now. */
static void compare_old(const struct function *was, size_t i, const struct function *fn,
                        struct breaking *b)
{
    const struct function_parameter *p = &was->parameters[i];
    size_t now = parameter_place(fn, p->name);
    if (now == fn->parameter_count)
        put_reason(b, "the parameter '%.*s' is gone%.*s%.*s", p->name, STR(""), STR(""));
    else if (now != i)
        put_reason(b, "the parameter '%.*s' has another place in the order%.*s%.*s",
                   p->name, STR(""), STR(""));
    else if (must_be_given(&fn->parameters[now]) && !must_be_given(p))
        put_reason(b, "the parameter '%.*s' cannot be left out any more%.*s%.*s", p->name,
                   STR(""), STR(""));
}

static void compare_names(const struct function *was, const struct function *fn,
                          struct breaking *b)
{
    for (size_t i = 0; i < was->parameter_count; i++)
        compare_old(was, i, fn, b);
    for (size_t i = 0; i < fn->parameter_count; i++)
        if (parameter_place(was, fn->parameters[i].name) == was->parameter_count &&
            must_be_given(&fn->parameters[i]))
            put_reason(b, "the parameter '%.*s' is new, and must be given%.*s%.*s",
                       fn->parameters[i].name, STR(""), STR(""));
}

/* ---- types ---------------------------------------------------------------------------- */

static bool has_own_types(const struct function *fn)
{
    static const char *const kinds[] = {"interface", "type ", "class", "enum"};
    bool any = false;
    for (size_t i = 0; fn->language != FUNCTION_PYTHON && i < LENGTH(kinds); i++)
        any = any || memmem(fn->code.at, fn->code.n, kinds[i], strlen(kinds[i]));
    return any;
}

static bool same_text(struct str a, struct str b)
{
    size_t i = 0, k = 0;
    for (;;) {
        while (i < a.n && (unsigned char)a.at[i] <= ' ')
            i++;
        while (k < b.n && (unsigned char)b.at[k] <= ' ')
            k++;
        if (i == a.n || k == b.n)
            return i == a.n && k == b.n;
        if (a.at[i++] != b.at[k++])
            return false;
    }
}

/* A pair of types, of a parameter in both versions (or of both results). */
struct pair {
    const struct function_parameter *was, *now; /* NULL: both results */
    bool breaks;
};

static void report_pair(const struct pair *p, const struct function *was,
                        const struct function *fn, struct breaking *b)
{
    if (p->was)
        put_reason(
            b, "the type of the parameter '%.*s' is %.*s, and does not take all of %.*s",
            p->was->name, p->now->type, p->was->type);
    else
        put_reason(b, "it answers %.*s%.*s, which does not fit %.*s, as it did", STR(""),
                   fn->return_type, was->return_type);
}

static void put_namespace(const char *name, const struct function *fn, bool with_code,
                          struct buf *out)
{
    buf_printf(out, "namespace %s {\n", name);
    if (with_code)
        buf_printf(out, "%.*s\n", STR_ARGS(fn->code));
    for (size_t i = 0; i < fn->parameter_count; i++)
        buf_printf(out, "export type P$%zu = %.*s;\n", i,
                   STR_ARGS(fn->parameters[i].type));
    buf_printf(out, "export type R$ = %.*s;\n}\n", STR_ARGS(fn->return_type));
}

/* A line for each pair, which has an error if one type does not fit the other. */
static uint32_t put_question(const struct function *was, const struct function *fn,
                             const struct pair *pairs, size_t count, struct buf *out)
{
    put_namespace("before$", was, has_own_types(was), out);
    put_namespace("after$", fn, has_own_types(fn), out);
    uint32_t line = 1;
    for (size_t i = 0; i < out->n; i++)
        line += out->at[i] == '\n';
    for (size_t i = 0; i < count; i++)
        if (pairs[i].was)
            buf_printf(out,
                       "export const c$%zu: after$.P$%zu = null! as before$.P$%zu;\n", i,
                       (size_t)(pairs[i].now - fn->parameters),
                       (size_t)(pairs[i].was - was->parameters));
        else /* a caller that got no value does not depend on it */
            buf_printf(out,
                       "export const c$%zu: [before$.R$] extends [void | Promise<void>] "
                       "? any : before$.R$ = null! as after$.R$;\n",
                       i);
    return line;
}

/* false: the checker cannot say. */
static bool types_compare(const struct action_call *c, const struct function *was,
                          const struct function *fn, const struct function_set *among,
                          struct pair *pairs, size_t count)
{
    struct err none = {0};
    scoped_buf struct buf code, own;
    buf_init(&code, CHECKER_CODE_BYTES);
    buf_init(&own, CHECKER_OWN_BYTES);
    uint32_t first = put_question(was, fn, pairs, count, &code);
    checking_put_functions(among, buf_view(&code), &own);
    struct checker *checker = services_checker(c->actions->services, &none);
    struct checker_question q = {.code = buf_view(&code),
                                 .declared = CHECKING_ALL,
                                 .own = buf_view(&own),
                                 .cancel = c->who->cancel};
    scoped_checked const struct checker_answer *a =
        checker && !code.failed && !own.failed ? checker_check(checker, &q, &none) : NULL;
    const struct json *said = a ? json_read(checker_json(a), c->arena, &none) : NULL;
    if (!said || json_get(said, "dropped"))
        return false;
    struct json_iter it = json_iter(json_get(said, "diagnostics"));
    while (json_next(&it)) {
        int64_t line = json_int(json_get(it.value, "line"), 0);
        if (line >= first && line < (int64_t)(first + count))
            pairs[line - first].breaks = true;
    }
    return true;
}

static void compare_signatures(const struct action_call *c, const struct function *was,
                               const struct function *fn,
                               const struct function_set *among, struct breaking *b)
{
    struct pair pairs[FUNCTION_LIST_MAX + 1];
    size_t count = 0;
    bool own = has_own_types(was) || has_own_types(fn);
    if (own && str_eq(was->code, fn->code))
        own = false;
    for (size_t i = 0; i < was->parameter_count && i < FUNCTION_LIST_MAX; i++) {
        size_t now = parameter_place(fn, was->parameters[i].name);
        if (now < fn->parameter_count &&
            (own || !same_text(was->parameters[i].type, fn->parameters[now].type)))
            pairs[count++] = (struct pair){&was->parameters[i], &fn->parameters[now], 0};
    }
    if (own || !same_text(was->return_type, fn->return_type))
        pairs[count++] = (struct pair){0};
    bool asked = count && types_compare(c, was, fn, among, pairs, count);
    for (size_t i = 0; i < count; i++) {
        bool same = pairs[i].was ? same_text(pairs[i].was->type, pairs[i].now->type)
                                 : same_text(was->return_type, fn->return_type);
        if (asked ? pairs[i].breaks : !same)
            report_pair(&pairs[i], was, fn, b);
    }
}

/* ---- callers ----------------------------------------------------------------------------- */

static bool calls(const struct function_uses *uses, struct str name)
{
    for (size_t i = 0; i < uses->count; i++)
        if (str_eq(uses->at[i].name, name))
            return true;
    return false;
}

static void cannot_follow(const struct function *by, struct breaking *b)
{
    put_reason(b,
               "'%.*s' may call it by its old name, and cannot be changed with "
               "it%.*s%.*s",
               by->name, STR(""), STR(""));
}

/* A caller gets the new name in its code, or the reason why not. */
static bool follow(struct reviews *all, const struct function *by, struct str from,
                   struct str to, struct breaking *b, struct err *e)
{
    struct arena *a = all->call->arena;
    struct function *made = arena_get(a, sizeof *made, e);
    bool changed = false;
    if (!made || !function_uses_renamed(by, from, to, a, made, &changed, e))
        return false;
    const struct review *v = changed && !by->origin.n ? review_of(all, made, e) : NULL;
    if (e->code)
        return false;
    if (!v || calls(&v->uses, from) || v->uses.dynamic)
        cannot_follow(by, b);
    else
        b->rewritten[b->rewritten_count++] = made;
    return true;
}

static bool check_breaking_callers(const struct action_call *c,
                                   const struct function *was, const struct function *fn,
                                   const struct function_set *among, struct breaking *b,
                                   struct err *e)
{
    struct reviews all = {.call = c};
    bool renamed = !str_eq(was->name, fn->name);
    size_t looked = 0;
    b->rewritten = arena_get(c->arena, (CALLERS_MAX + 1) * sizeof(void *), e);
    for (size_t i = 0; b->rewritten && i < function_count(among); i++) {
        const struct function *by = function_at(among, i);
        if (by == was || !function_may_call(by, STR("")))
            continue;
        if (looked++ == CALLERS_MAX)
            return err_set(e, ERR_LIMIT,
                           "more than %u functions call others; nothing was changed",
                           CALLERS_MAX);
        const struct review *v = review_of(&all, by, e);
        if (!v)
            return false;
        bool named = calls(&v->uses, was->name);
        if (named)
            texts_add(&b->callers, by->name);
        if (renamed && named && !follow(&all, by, was->name, fn->name, b, e))
            return false;
        if (renamed && !named && v->uses.dynamic)
            cannot_follow(by, b);
    }
    return b->rewritten != NULL;
}

bool function_breaking(const struct action_call *c, const struct function *was,
                       const struct function *fn, const struct function_set *among,
                       struct breaking *b, struct err *e)
{
    compare_names(was, fn, b);
    compare_signatures(c, was, fn, among, b);
    return (!b->is && str_eq(was->name, fn->name)) ||
           check_breaking_callers(c, was, fn, among, b, e);
}

void breaking_leave(struct breaking *b)
{
    for (size_t i = 0; i < b->rewritten_count; i++)
        cannot_follow(b->rewritten[i], b);
    b->rewritten_count = 0;
}

/* ---- answer -------------------------------------------------------------------------------- */

static void texts_put(const char *key, const struct buf *inside, struct json_writer *w)
{
    json_key(w, key);
    json_open_array(w);
    if (inside->n)
        json_put_raw(w, buf_view(inside));
    json_close(w);
}

void breaking_write(const struct breaking *b, struct json_writer *w)
{
    if (b->is) {
        json_pair_bool(w, "breaking", true);
        texts_put("reasons", &b->reasons, w);
        texts_put("callers", &b->callers, w);
    }
    if (!b->rewritten_count)
        return;
    json_key(w, "rewritten");
    json_open_array(w);
    for (size_t i = 0; i < b->rewritten_count; i++)
        json_put_str(w, b->rewritten[i]->name);
    json_close(w);
}

bool breaking_passes(const struct action_call *c, const struct judgement *j,
                     struct answer *out)
{
    struct err why = {0};
    if (!j->breaking.is || function_flag(c, "force", false) ||
        function_flag(c, "dryRun", false))
        return true;
    err_set(&why, ERR_CONFLICT,
            "this is a breaking change: %s (see reasons and callers); nothing was "
            "changed: give force: true, or keep it compatible with its callers",
            j->breaking.first);
    function_refuse(&why, j, out);
    c->account->outcome = ERR_CONFLICT;
    return false;
}
