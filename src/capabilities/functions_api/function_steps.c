/* Parts that the actions on custom functions share. */
#include <stdio.h>

#include "crypto/crypto.h"
#include "functions_api/function_actions.h"
#include "functions_api/function_text.h"
#include "functions_api/functioning.h"
#include "watching/watching.h"

/* ---- arguments -------------------------------------------------------------------- */

struct str function_argument(const struct action_call *c, const char *name)
{
    return json_str(json_get(c->arguments, name));
}

bool function_flag(const struct action_call *c, const char *name, bool fallback)
{
    return json_bool(json_get(c->arguments, name), fallback);
}

const struct function *function_by_name(const struct function_set *s, struct str name,
                                        struct err *e)
{
    const struct function *fn = function_named(s, name), *near = NULL;
    size_t least = name.n / 2 + 1;
    if (fn)
        return fn;
    for (size_t i = 0; i < function_count(s); i++) {
        size_t d = str_distance(name, function_at(s, i)->name);
        if (d < least) {
            least = d;
            near = function_at(s, i);
        }
    }
    struct str other = near ? near->name : STR("");
    err_set(e, ERR_NOT_FOUND, "there is no custom function '%.*s'%s%.*s%s",
            STR_ARGS(str_cut(name, 80)), near ? "; did you mean '" : "", STR_ARGS(other),
            near ? "'?" : "; list_custom_functions lists them");
    return NULL;
}

/* function_author.admits: bounds what an agent writes. */
static bool admits_function(void *arg, size_t bytes, struct err *e)
{
    const struct action_call *c = arg;
    return ward_admit(c->place->ward, c->who, bytes, e);
}

struct function_author function_author_of(const struct action_call *c)
{
    bool user = caller_way(c->who) == WAY_TERMINAL || c->who->is_program;
    return (struct function_author){.by = str_of(c->who->name),
                                    .admits = admits_function,
                                    .arg = (void *)(uintptr_t)c,
                                    .maker = user ? FUNCTION_BY_USER : FUNCTION_BY_AGENT,
                                    .note = function_argument(c, "note")};
}

struct str function_api_version(const struct action_call *c, struct err *e)
{
    scoped_buf struct buf types;
    char hash[CRYPTO_HASH_HEX];
    buf_init(&types, BUF_FILE);
    api_write_types(&types);
    crypto_hash_hex(buf_view(&types), hash);
    return str_of(arena_printf(c->arena, e, CLOCHE_VERSION "-%.8s", hash));
}

/* ---- judgements ----------------------------------------------------------------------- */

struct changed_row {
    char name[100];
    const char *operation; /* "registered" */
    uint32_t version;      /* the new version; 0: none */
};

static void change_put_row(const void *row, struct json_writer *w)
{
    const struct changed_row *k = row;
    json_pair_cstr(w, "name", k->name);
    json_pair_cstr(w, "action", k->operation);
    if (k->version)
        json_pair_int(w, "version", k->version);
}

const struct account_list changed_record = {.name = "functions_changed",
                                            .more = "more_functions_changed",
                                            .size = sizeof(struct changed_row),
                                            .changes = true,
                                            .put = change_put_row};

void function_changed(const struct action_call *c, const char *operation, struct str name,
                      uint32_t version)
{
    struct changed_row row = {.operation = operation, .version = version};
    (void)snprintf(row.name, sizeof row.name, "%.*s",
                   STR_ARGS(str_cut(name, sizeof row.name - 1)));
    account_row(c->place->part, &changed_record, &row);
    watching_functions(c->actions->watching);
}

void judgement_init(struct judgement *j)
{
    *j = (struct judgement){0};
    findings_init(&j->found);
    breaking_init(&j->breaking);
    buf_init(&j->tests, BUF_FILE);
}

void judgement_done(struct judgement *j)
{
    findings_done(&j->found);
    breaking_done(&j->breaking);
    buf_done(&j->tests);
}

static bool same_value(const struct json *a, const struct json *b)
{
    return a == b || (a && b && json_equal(a, b));
}

static bool same_example(const struct function_example *a,
                         const struct function_example *b)
{
    return same_value(a->args, b->args) && same_value(a->expected, b->expected) &&
           same_value(a->matches, b->matches) && same_value(a->notes, b->notes) &&
           str_eq(a->error, b->error) && a->now_ms == b->now_ms;
}

bool function_only_words(const struct function *a, const struct function *b)
{
    bool same = str_eq(a->code, b->code) && str_eq(a->return_type, b->return_type) &&
                a->parameter_count == b->parameter_count &&
                a->example_count == b->example_count;
    for (size_t i = 0; same && i < a->parameter_count; i++) {
        const struct function_parameter *x = &a->parameters[i], *y = &b->parameters[i];
        same = str_eq(x->name, y->name) && str_eq(x->type, y->type) &&
               x->optional == y->optional && same_value(x->fallback, y->fallback);
    }
    for (size_t i = 0; same && i < a->example_count; i++)
        same = same_example(&a->examples[i], &b->examples[i]);
    return same;
}

bool function_judge(const struct action_call *c, const struct function *fn,
                    struct str name, const struct function_set *among,
                    enum examples which, struct judgement *j, struct err *e)
{
    const struct function *was = name.n ? function_named(among, name) : NULL;
    if (!function_check(c, fn, among, &j->found, e) ||
        (was && !function_breaks(c, name, fn, among, &j->found, e)) ||
        (was && !function_breaking(c, was, fn, among, &j->breaking, e)))
        return false;
    if (j->found.error_count || !fn->example_count)
        return true;
    struct json_writer w = json_writer(&j->tests);
    return function_examples(c, fn, among, which, &w, &j->failed, e) &&
           buf_check(&j->tests, "the results of the tests", e);
}

static void findings_put_list(const char *key, const struct buf *inside,
                              struct json_writer *w)
{
    scoped_buf struct buf text;
    buf_init(&text, inside->n + 2);
    buf_char(&text, '[');
    buf_str(&text, buf_view(inside));
    buf_char(&text, ']');
    json_pair_raw(w, key, buf_view(&text));
}

void judgement_write(const struct judgement *j, struct json_writer *w)
{
    breaking_write(&j->breaking, w);
    findings_put_list("errors", &j->found.errors, w);
    findings_put_list("warnings", &j->found.warnings, w);
    if (j->found.error_count > FINDINGS_MAX)
        json_pair_int(w, "errorCount", j->found.error_count);
    if (j->found.warning_count > FINDINGS_MAX)
        json_pair_int(w, "warningCount", j->found.warning_count);
    if (j->tests.n)
        json_pair_raw(w, "tests", buf_view(&j->tests));
}

/* ---- refusals ------------------------------------------------------------------------- */

void function_put_error(enum err_code code, const char *message, struct json_writer *w)
{
    const struct err_kind *kind = err_kind(code);
    json_pair_cstr(w, "error", message);
    json_key(w, "errorDetails");
    json_open_object(w);
    json_pair_cstr(w, "type", kind->name);
    json_pair_cstr(w, "code", kind->code);
    json_pair_cstr(w, "message", message);
    json_pair_bool(w, "retry", kind->retry);
    json_pair_bool(w, "changed", false);
    json_close(w);
}

void function_refused(const struct err *why, struct answer *out)
{
    struct json_writer w = json_writer(&out->json);
    buf_clear(&out->json);
    json_open_object(&w);
    json_pair_bool(&w, "success", false);
    function_put_error(why->code, why->msg, &w);
    json_key(&w, "errors");
    json_open_array(&w);
    json_open_object(&w);
    json_pair_cstr(&w, "code", err_kind(why->code)->code);
    json_pair_cstr(&w, "message", why->msg);
    json_close(&w);
    json_close(&w);
    json_pair_raw(&w, "warnings", STR("[]"));
    json_close(&w);
    out->is_error = true;
}

void function_refuse(const struct err *why, const struct judgement *j, struct answer *out)
{
    struct json_writer w = json_writer(&out->json);
    buf_clear(&out->json);
    json_open_object(&w);
    json_pair_bool(&w, "success", false);
    function_put_error(why->code, why->msg, &w);
    judgement_write(j, &w);
    json_close(&w);
    out->is_error = true;
}

/* Many clients show this sentence alone, so it has the first error. */
static void say_errors(const struct findings *f, struct err *why)
{
    struct str field = str_of(f->first.field), message = str_of(f->first.message);
    uint32_t line = f->first.line;
    char place[24] = "";
    if (line)
        (void)snprintf(place, sizeof place, ", line %u", line);
    /* The message about an unreadable definition begins with the field. */
    if (message.n >= field.n && !memcmp(message.at, field.at, field.n))
        field.n = 0;
    if (str_ends(message, "."))
        message.n--;
    err_set(why, ERR_INVALID,
            "the definition has %u error%s: %.*s%s%s%.*s; nothing was changed",
            f->error_count, f->error_count == 1 ? "" : "s, the first", STR_ARGS(field),
            place, field.n || line ? ": " : "", STR_ARGS(str_cut(message, 220)));
}

bool function_passes(const struct action_call *c, const struct judgement *j,
                     struct answer *out)
{
    struct err why = {0};
    uint32_t errors = j->found.error_count;
    if (!errors && (!j->failed || function_flag(c, "force", false)))
        return true;
    if (errors)
        say_errors(&j->found, &why);
    else
        err_set(&why, ERR_INVALID,
                "%u of its examples failed (see tests); nothing was changed: fix it, or "
                "give force: true",
                j->failed);
    function_refuse(&why, j, out);
    c->account->outcome = ERR_INVALID;
    return false;
}

/* ---- answers --------------------------------------------------------------------------- */

void function_put(const struct function *fn, struct json_writer *w)
{
    scoped_buf struct buf text;
    buf_init(&text, BUF_LIST);
    json_key(w, "function");
    function_write(fn, w);
    if (fn->version)
        json_pair_int(w, "version", fn->version);
    buf_printf(&text, "customFunctions.%.*s", STR_ARGS(fn->name));
    function_put_signature(fn, FUNCTION_TEXT_MAX, &text);
    json_pair_str(w, "signature", buf_view(&text));
    buf_clear(&text);
    functioning_declarations(&fn, 1, SIZE_MAX, true, &text);
    json_pair_str(w, "typeDefinition", buf_view(&text));
    buf_clear(&text);
    function_put_usage(fn, &text);
    json_pair_str(w, "usage", buf_view(&text));
}
