/* What commands for people ask of their vault, and how they show it. */
#include "cli/ask.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/pager.h"
#include "embed/embed.h"
#include "uri/uri.h"

#define ARENA_MAX ((size_t)512 << 20)

static bool request(struct asking *a, const char *method, const char *target,
                    const char *body, struct err *e)
{
    int status = 0;
    scoped(cloche_error_free) struct cloche_error *why = cloche_error_new();
    scoped(cloche_text_free) struct cloche_text *out = cloche_text_new();
    const char *match = !strcmp(method, "POST") && !body ? "*" : NULL;
    if (cloche_request(a->c, a->who, method, target, body, match, NULL, &status, out,
                       why))
        return err_set(e, ERR_IO, "%s", cloche_error_message(why));
    size_t n = cloche_text_size(out);
    const char *copy = arena_copy(a->arena, cloche_text_at(out), n, e);
    a->body = (struct str){copy, n};
    a->answer = copy ? json_read(a->body, a->arena, e) : NULL;
    bool evaluated = json_is(json_get(a->answer, "errorDetails"), JSON_OBJECT);
    if (!a->answer || status < 400 || evaluated)
        return a->answer != NULL;
    struct str detail = json_str(json_get(a->answer, "detail"));
    return err_set(e,
                   status == 400   ? ERR_INVALID
                   : status == 404 ? ERR_NOT_FOUND
                                   : ERR_CONFLICT,
                   "%.*s", STR_ARGS(str_cut(detail, 900)));
}

static bool asking_open(struct asking *a)
{
    const char *const vaults[] = {a->vault, NULL};
    struct err e = {0};
    scoped(cloche_error_free) struct cloche_error *why = cloche_error_new();
    scoped(cloche_options_free) struct cloche_options *options =
        cli_options(vaults, NULL);
    if (a->brief)
        embed_options_brief(options);
    a->c = cloche_open(options, why);
    if (!a->c) {
        a->exit = cli_fail_open(why);
        return false;
    }
    a->arena = arena_new(ARENA_MAX);
    a->who = cloche_caller_new("terminal", CLOCHE_FULL);
    scoped_buf struct buf id = buf_of(256);
    bool ok = request(a, "GET", "/workspaces", NULL, &e);
    struct str first = json_str(json_get(json_at(a->answer, 0), "id"));
    if (ok && !first.n)
        ok = err_set(&e, ERR_INVALID,
                     "there is no vault: give --vault DIR, or register "
                     "one with cloche vault add DIR");
    uri_escape(first, &id);
    (void)snprintf(a->base, sizeof a->base, "/workspaces/%s", buf_cz(&id));
    if (!ok)
        a->exit = cli_fail(&e);
    return ok;
}

int asking_run(struct asking *a, struct option_use *use,
               bool (*run)(void *command, struct err *e), void *command, int argc,
               char **argv)
{
    struct err e = {0};
    use->help = &a->help;
    use->words = a->words;
    if (!options_begin(use, argc, argv, &a->exit))
        return a->exit;
    if (a->words[0] && !a->words[0][0]) {
        (void)err_set(&e, ERR_INVALID, "the first argument is empty");
        return cli_fail(&e);
    }
    if (asking_open(a)) {
        if (use->pages && !a->json)
            pager_begin();
        bool ok = run(command, &e);
        pager_end();
        a->exit = ok ? a->exit : cli_fail(&e);
    }
    cloche_caller_free(a->who);
    cloche_close(a->c);
    arena_free(a->arena);
    return a->exit;
}

bool asking_ask(struct asking *a, const char *method, const char *path, const char *body,
                struct err *e)
{
    const char *target = arena_printf(a->arena, e, "%s%s", a->base, path);
    return target && request(a, method, target, body, e);
}

static enum err_code code_of(struct str told)
{
    return str_is(told, "INVALID")     ? ERR_INVALID
           : str_is(told, "NOT_FOUND") ? ERR_NOT_FOUND
           : str_is(told, "CONFLICT")  ? ERR_CONFLICT
                                       : ERR_IO;
}

bool asking_evaluate(struct asking *a, const char *code, const char *context,
                     struct err *e)
{
    scoped_buf struct buf body = buf_of(ARENA_MAX / 8);
    struct json_writer w = json_writer(&body);
    json_open_object(&w);
    json_pair_cstr(&w, "code", code);
    json_pair_raw(&w, "context", str_of(context));
    json_pair_bool(&w, "atomic", true); /* of mv, say: a new name, and no new folder */
    json_close(&w);
    if (!buf_check(&body, "the request", e) ||
        !asking_ask(a, "POST", "/evaluate", buf_cz(&body), e))
        return false;
    const struct json *why = json_get(a->answer, "errorDetails");
    if (json_is(why, JSON_OBJECT))
        return err_set(e, code_of(json_str(json_get(why, "code"))), "%.*s",
                       STR_ARGS(str_cut(json_str(json_get(why, "message")), 900)));
    a->answer = json_get(a->answer, "result");
    scoped_buf struct buf text = buf_of(ARENA_MAX / 8);
    struct json_writer shown = json_writer(&text);
    json_put(&shown, a->answer);
    const char *copy = buf_check(&text, "the answer", e)
                           ? arena_copy(a->arena, text.at, text.n, e)
                           : NULL;
    a->body = (struct str){copy, text.n};
    return copy != NULL;
}

void asking_put(struct buf *path, const char *name, const char *value)
{
    if (!value)
        return;
    buf_printf(path, "%c%s=", memchr(path->at, '?', path->n) ? '&' : '?', name);
    uri_escape(str_of(value), path);
}

bool asking_list(struct asking *a, struct buf *path, const char *limit, struct err *e)
{
    long long n;
    if (a->limit && !options_number("--limit", a->limit, 1, 1000, &n, e))
        return false;
    asking_put(path, "limit", a->limit ? a->limit : limit);
    return buf_check(path, "the request", e) &&
           asking_ask(a, "GET", buf_cz(path), NULL, e);
}

bool asking_put_note(const struct asking *a, struct buf *path, const char *rest,
                     struct err *e)
{
    if (!a->words[0])
        return err_set(e, ERR_INVALID, "give a NOTE: its id, path or title");
    buf_cstr(path, "/notes/");
    uri_escape(str_of(a->words[0]), path);
    buf_cstr(path, rest);
    return true;
}

bool asking_print_json(const struct asking *a)
{
    if (a->json)
        cli_put_line(a->body);
    return a->json;
}

const char *ask_time(struct str utc, char out[static ASK_TIME])
{
    int64_t ms;
    struct tm local;
    time_t s;
    if (date_read(utc, &ms) && (s = (time_t)(ms / 1000), localtime_r(&s, &local)) &&
        strftime(out, ASK_TIME, "%Y-%m-%d %H:%M", &local))
        return out;
    (void)snprintf(out, ASK_TIME, "%.*s", SPELT_ARGS(str_cut(utc, 30)));
    return out;
}

bool ask_is_terminal(void)
{
    return pager_is_terminal();
}

static const char *color_of(struct str line)
{
    return str_starts(line, "+") ? "\033[32m" : str_starts(line, "-") ? "\033[31m" : "";
}

void ask_print_diff(struct str diff)
{
    const char *plain = getenv("NO_COLOR");
    bool colored = ask_is_terminal() && !(plain && *plain);
    while (diff.n) {
        const char *end = memchr(diff.at, '\n', diff.n);
        size_t n = end ? (size_t)(end - diff.at) : diff.n;
        struct str line = {diff.at, n};
        const char *color = colored ? color_of(line) : "";
        printf("    %s", color);
        cli_put(line);
        printf("%s\n", *color ? "\033[0m" : "");
        diff.at += end ? n + 1 : n;
        diff.n -= end ? n + 1 : n;
    }
}
