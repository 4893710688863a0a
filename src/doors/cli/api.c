/* cloche api: what code finds, for people and their tools. */
#include <stdio.h>

#include "actions/actions.h"
#include "api/api.h"
#include "capability/capability.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "evaluating/evaluating.h"
#include "performing/performing.h"
#include "json/json.h"

#define WORDS_MAX 8
#define TEXT_MAX ((size_t)4 << 20)

static bool words_join(const char *const *words, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%s", i ? " " : "", words[i]);
    return !out->failed;
}

/* ---- of a vault ----------------------------------------------------------------- */

/* Puts the matching functions as rows of two columns; all of them without words. */
static bool api_put_rows(const struct json *rows, struct buf *out)
{
    struct json_iter it = json_iter(rows);
    while (json_next(&it)) {
        buf_printf(out, "%-34.*s ", STR_ARGS(json_str(json_get(it.value, "name"))));
        str_spell(json_str(json_get(it.value, "summary")), out);
        buf_char(out, '\n');
    }
    return !out->failed;
}

static bool next_line(struct str *rest, struct str *line)
{
    const char *end = rest->n ? memchr(rest->at, '\n', rest->n) : NULL;
    *line = (struct str){rest->at, end ? (size_t)(end - rest->at) : rest->n};
    size_t n = line->n + (end != NULL);
    *rest = (struct str){rest->at + n, rest->n - n};
    return line->n || end;
}

static void put_method(const struct json *about, struct buf *out)
{
    str_spell(json_str(json_get(about, "signature")), out);
    buf_cstr(out, "\n    ");
    str_spell(json_str(json_get(about, "summary")), out);
    struct json_iter it = json_iter(json_get(about, "parameters"));
    while (json_next(&it)) {
        struct str words = json_str(json_get(it.value, "description"));
        buf_printf(out, "\n    %.*s%s", STR_ARGS(json_str(json_get(it.value, "name"))),
                   words.n ? ": " : "");
        str_spell(words, out);
    }
    buf_cstr(out, "\n    for example: ");
    str_spell(json_str(json_get(about, "example")), out);
    struct str rest = json_str(json_get(about, "typeDefinition")), line;
    if (rest.n)
        buf_char(out, '\n');
    while (next_line(&rest, &line)) {
        buf_cstr(out, "\n    ");
        str_spell(line, out);
    }
    buf_char(out, '\n');
}

/* An action's answer, in `a`; NULL and *e. */
static const struct json *action_ask(struct actions *actions, const char *action,
                                     const char *key, struct str value, struct arena *a,
                                     struct err *e)
{
    struct caller terminal = {.name = "terminal"};
    struct answer answer = {0};
    scoped_buf struct buf text = buf_of(BUF_PAGE);
    buf_init(&answer.json, TEXT_MAX);
    buf_init(&answer.content, TEXT_MAX);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_str(&w, key, value);
    json_close(&w);
    const struct json *arguments = json_read(buf_view(&text), a, e);
    bool ok = arguments && actions_call(actions, action_named(actions, str_of(action)),
                                        arguments, &terminal, &answer, e);
    const struct json *said = ok ? json_read(buf_view(&answer.json), a, e) : NULL;
    buf_done(&answer.json);
    buf_done(&answer.content);
    return said;
}

static bool tell_vault(struct actions *actions, struct str name, struct buf *out,
                       struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    struct str space = STR("customFunctions");
    bool all = !name.n || str_eq(name, space);
    bool one = str_starts(name, "customFunctions.");
    const struct json *said =
        all || one
            ? action_ask(actions, "describe_api", "name", name.n ? name : space, a, e)
            : action_ask(actions, "search_api", "query", name, a, e);
    if (said && !all && !one && !json_length(json_get(said, "results")))
        return api_write_document(API_DOCUMENT_WORDS, name, out, e); /* which says so */
    if (one && said)
        put_method(said, out);
    else if (said)
        api_put_rows(json_get(said, all ? "methods" : "results"), out);
    return said && buf_check(out, "the answer", e);
}

static bool declare_vault(struct actions *actions, struct buf *out, struct err *e)
{
    struct caller terminal = {.name = "terminal"};
    struct work *w = work_begin(actions, &terminal, STR(""), "cloche api --types", e);
    bool ok = w && api_write_document(API_DOCUMENT_TYPES, STR(""), out, e);
    buf_char(out, '\n');
    ok = ok && custom_tell(w, true, out, e);
    if (w)
        work_end(w, ok ? NULL : e);
    return ok;
}

/* A method, a namespace or a type of the API itself. */
static bool is_of_the_api(struct actions *actions, struct str name)
{
    struct err none = {0};
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    return name.n && !str_starts(name, "customFunctions") &&
           action_ask(actions, "describe_api", "name", name, a, &none);
}

static bool api_print(const char *vault, enum api_document what, struct str name,
                      struct buf *out, struct err *e)
{
    const char *const vaults[] = {vault, NULL};
    if (!vault)
        return api_write_document(what, name, out, e);
    scoped(actions_close) struct actions *a =
        actions_open(&(struct actions_options){.vaults = vaults}, e);
    if (!a)
        return false;
    if (what == API_DOCUMENT_TYPES)
        return declare_vault(a, out, e);
    return is_of_the_api(a, name) ? api_write_document(what, name, out, e)
                                  : tell_vault(a, name, out, e);
}

int command_api(int argc, char **argv)
{
    bool types = false, reference = false, help = false;
    const char *words[WORDS_MAX], *vaults[2] = {NULL};
    const struct option_row rows[] = {
        OPTION_VALUE("--vault", vaults, "DIR", "with the custom functions of this vault"),
        OPTION_FLAG("--types", &types, "TypeScript declarations of everything"),
        OPTION_FLAG("--reference", &reference, "the reference page (docs/api.md)"),
        OPTION_FLAG("--help", &help, "this list"),
    };
    struct option_use use = {
        .usage =
            "cloche api [OPTIONS] [NAME | WORDS...]\n\n"
            "What code may call: all of it, one method or namespace, or what fits WORDS.\n"
            "With --vault, also its custom functions: what fits WORDS, all of them\n"
            "(customFunctions), or one (customFunctions.NAME).",
        OPTION_ROWS(rows, &help),
        .words = words,
        .max = WORDS_MAX,
    };
    int exit;
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    struct err e = {0};
    scoped_buf struct buf name;
    scoped_buf struct buf text;
    buf_init(&name, BUF_PAGE);
    buf_init(&text, TEXT_MAX);
    enum api_document what = types       ? API_DOCUMENT_TYPES
                             : reference ? API_DOCUMENT_REFERENCE
                                         : API_DOCUMENT_WORDS;
    if (vaults[0] && reference) {
        err_set(&e, ERR_INVALID, "--reference is about the API only; leave --vault out");
        return cli_fail(&e);
    }
    if (types + reference + (use.given > 0) > 1) {
        err_set(&e, ERR_INVALID, "give one of --types, --reference or a name");
        return cli_fail(&e);
    }
    if (!words_join(words, use.given, &name) ||
        !api_print(vaults[0], what, buf_view(&name), &text, &e))
        return cli_fail(&e);
    cli_put(buf_view(&text));
    return fflush(stdout) != 0 ? EXIT_FAILED : EXIT_DONE;
}
