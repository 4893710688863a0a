/* Type checks of custom functions: each against its own definition, and against those
 * that its code calls. */
#include <stdio.h>

#include "evaluating/evaluating.h"
#include "functions_api/checking.h"
#include "functions_api/functioning.h"

#define NAMESPACE "customFunctions"
#define SHAPES_MEMORY ((size_t)16 << 20) /* to parse an answer */

static bool is_word(char c)
{
    return char_is_letter(c) || char_is_digit(c) || c == '_' || c == '$' || (c & 0x80);
}

/* The next name after "customFunctions." or "custom_functions."; empty for another access,
 * which may mean any of them. false: no further access. */
static bool next_named(struct str *code, struct str *name)
{
    static const char *const spaces[] = {NAMESPACE, "custom_functions"};
    const char *at = NULL;
    size_t head = 0, n = 0;
    for (size_t k = 0; k < LENGTH(spaces); k++) {
        const char *found = memmem(code->at, code->n, spaces[k], strlen(spaces[k]));
        if (found && (!at || found < at)) {
            at = found;
            head = strlen(spaces[k]);
        }
    }
    if (!at)
        return false;
    size_t i = (size_t)(at - code->at) + head;
    i += i < code->n && code->at[i] == '?';
    if (i < code->n && code->at[i] == '.')
        while (i + 1 + n < code->n && is_word(code->at[i + 1 + n]))
            n++;
    *name = (struct str){code->at + i + (n > 0), n};
    *code = (struct str){code->at + i, code->n - i};
    return true;
}

/* Those of `all` that the code names; all of them if that is unknown, or it names a
 * missing one. So the checker's question, and its cached answer, stay the same when
 * others change. */
static size_t select_named(const struct function_set *all, struct str code,
                           const struct function **out)
{
    struct str name;
    size_t count = 0;
    while (next_named(&code, &name)) {
        const struct function *fn = name.n ? function_named(all, name) : NULL;
        if (!fn || !str_eq(fn->name, name)) {
            for (size_t i = 0; i < function_count(all); i++)
                out[i] = function_at(all, i);
            return function_count(all);
        }
        size_t i = 0;
        while (i < count && out[i] != fn)
            i++;
        out[i] = fn;
        count += i == count;
    }
    return count;
}

void checking_put_functions(const struct function_set *all, struct str code,
                            struct buf *out)
{
    size_t known = all ? function_count(all) : 0;
    scoped(free) const struct function **row = mem_new((known + 1) * sizeof *row);
    size_t count = known ? select_named(all, code, row) : 0;
    if (count)
        functioning_declarations(row, count, CHECKER_OWN_BYTES / 2, false, out);
    else
        buf_cstr(out, "declare const " NAMESPACE ": {};\n");
}

void checking_define_functions(const struct function_set *all, struct str code,
                               struct buf *out)
{
    struct str rest = code, name;
    if (!all || !next_named(&rest, &name))
        return;
    scoped(free) const struct function **row =
        mem_new((function_count(all) + 1) * sizeof *row);
    functioning_define(row, select_named(all, code, row), CHECKER_OWN_BYTES / 2, out);
}

void checking_put_known(const struct function *fn, const struct function_set *among,
                        struct buf *out)
{
    (fn->language == FUNCTION_PYTHON ? checking_define_functions
                                     : checking_put_functions)(among, fn->code, out);
}

/* ---- one function ------------------------------------------------------------ */

static void put_fallback(const struct json *value, struct buf *out)
{
    struct json_writer w = json_writer(out);
    if (value)
        json_put(&w, value);
}

/* A question about a function. */
struct asking {
    struct checker_parameter row[FUNCTION_LIST_MAX];
    struct buf defaults[FUNCTION_LIST_MAX];
    struct checker_signature signature;
    struct checker_question question;
};

static void begin_asking(struct asking *k, const struct function *fn, struct str own,
                         struct cancel *cancel)
{
    k->signature = (struct checker_signature){fn->name, k->row, 0, fn->return_type};
    for (size_t i = 0; i < fn->parameter_count && i < FUNCTION_LIST_MAX; i++) {
        const struct function_parameter *p = &fn->parameters[i];
        buf_init(&k->defaults[i], FUNCTION_CODE_MAX);
        put_fallback(p->fallback, &k->defaults[i]);
        k->row[k->signature.count++] = (struct checker_parameter){
            p->name, p->type, p->optional, buf_view(&k->defaults[i])};
    }
    k->question = (struct checker_question){.code = fn->code,
                                            .declared = CHECKING_ALL,
                                            .own = own,
                                            .function = &k->signature,
                                            .cancel = cancel};
}

static void end_asking(struct asking *k)
{
    for (size_t i = 0; i < k->signature.count; i++)
        buf_done(&k->defaults[i]);
}

static const struct checker_answer *checker_ask(struct actions *a,
                                                const struct function *fn, struct str own,
                                                struct cancel *cancel, struct err *e)
{
    struct asking k;
    struct checker *checker = services_checker(a->services, e);
    const struct checker_question python = {
        .code = fn->code, .python = true, .functions = own, .cancel = cancel};
    if (fn->language == FUNCTION_PYTHON)
        return checker ? checker_check(checker, &python, e) : NULL;
    begin_asking(&k, fn, own, cancel);
    const struct checker_answer *answer =
        checker ? checker_check(checker, &k.question, e) : NULL;
    end_asking(&k);
    return answer;
}

const struct checker_answer *checking_function(struct actions *a,
                                               const struct function *fn,
                                               const struct function_set *among,
                                               struct cancel *cancel, struct err *e)
{
    scoped_buf struct buf own;
    buf_init(&own, CHECKER_OWN_BYTES);
    checking_put_known(fn, among, &own);
    return buf_check(&own, "the declarations", e)
               ? checker_ask(a, fn, buf_view(&own), cancel, e)
               : NULL;
}

/* ---- shapes --------------------------------------------------------------------- */

/* Whether its types can depend on another function's, as with `Parameters<typeof
 * customFunctions.x>`: a change of that one may break it. */
static bool has_types_of_others(const struct function *fn)
{
    bool named = memmem(fn->code.at, fn->code.n, NAMESPACE, sizeof NAMESPACE - 1);
    bool meant = memmem(fn->code.at, fn->code.n, "typeof", 6);
    for (size_t i = 0; i < fn->parameter_count; i++) {
        struct str type = fn->parameters[i].type;
        named |= memmem(type.at, type.n, NAMESPACE, sizeof NAMESPACE - 1) != NULL;
        meant |= memmem(type.at, type.n, "typeof", 6) != NULL;
    }
    return named && meant;
}

bool checking_put_shapes(struct actions *a, const struct function *fn,
                         const struct function_set *among, struct json_writer *out)
{
    struct asking k;
    struct err none = {0};
    struct checker *checker = services_checker(a->services, &none);
    if (!checker || fn->language == FUNCTION_PYTHON || !fn->parameter_count ||
        has_types_of_others(fn) || !checker_is_there(checker))
        return false;
    begin_asking(&k, fn, STR(""), NULL);
    scoped_checked const struct checker_answer *known =
        checker_known(checker, &k.question);
    end_asking(&k);
    if (!known) {
        if (atomic_load(&a->serves))
            later_check(functioning_of(a)->later, fn, among);
        return false;
    }
    scoped(arena_free) struct arena *arena = arena_new(SHAPES_MEMORY);
    const struct json *shapes =
        json_get(json_read(checker_json(known), arena, &none), "shapes");
    if (json_length(json_get(shapes, "parameters")) != fn->parameter_count)
        return false;
    json_put(out, shapes);
    return true;
}

/* ---- findings --------------------------------------------------------------------- */

/* `mild`: its language leaves types open, so that a finding is a warning. */
static void diagnostic_put(const struct json *d, bool mild, struct findings *out)
{
    char code[40];
    (void)snprintf(code, sizeof code, "%.*s", STR_ARGS(json_str(json_get(d, "code"))));
    struct finding f = {.field = json_str(json_get(d, "field")),
                        .line = (uint32_t)json_int(json_get(d, "line"), 0),
                        .column = (uint32_t)json_int(json_get(d, "column"), 0),
                        .code = code,
                        .message = json_str(json_get(d, "message")),
                        .suggestion = json_str(json_get(d, "suggestion"))};
    if (!mild && str_is(json_str(json_get(d, "severity")), "error"))
        findings_error(out, &f);
    else
        findings_warn(out, &f);
}

static void put_unchecked(const struct err *why, struct findings *out)
{
    findings_warn(out, &(struct finding){.field = STR("code"),
                                         .code = "TYPES_UNCHECKED",
                                         .message = str_of(why->msg)});
}

/* Whether the code is at fault, so that a retry would not help. */
static bool is_code_error(const struct err *why)
{
    return why->code == ERR_TIMEOUT || why->code == ERR_MEMORY ||
           why->code == ERR_STACK || why->code == ERR_GUEST || why->code == ERR_LIMIT ||
           why->code == ERR_OUTPUT;
}

bool checking_find(const struct action_call *c, const struct function *fn, struct str own,
                   bool strict, struct findings *out, struct err *e)
{
    struct err why = {0};
    scoped_checked const struct checker_answer *a =
        checker_ask(c->actions, fn, own, c->who->cancel, &why);
    const struct json *all = a ? json_read(checker_json(a), c->arena, &why) : NULL;
    bool mild = fn->language == FUNCTION_PYTHON;
    if (!all && (why.code == ERR_NOT_FOUND || (mild && is_code_error(&why)))) {
        put_unchecked(&why, out);
        return true;
    }
    if (!all && is_code_error(&why)) {
        findings_error(out, &(struct finding){.field = STR("code"),
                                              .code = "TYPES_UNCHECKED",
                                              .message = str_of(why.msg)});
        return true;
    }
    if (!all)
        return err_pass(e, &why);
    struct json_iter it = json_iter(json_get(all, "diagnostics"));
    while (json_next(&it))
        diagnostic_put(it.value, mild && !strict, out);
    return true;
}
