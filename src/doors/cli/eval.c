/* cloche eval: one evaluation, its answer as one JSON object on stdout. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "os/os.h"
#include "json/json.h"

#define CODE_MAX ((size_t)64 << 20) /* the action has a lower limit, and says so */

struct eval {
    const char *vaults[OPTION_REPEAT + 1], *roots[OPTION_REPEAT + 1];
    const char *lang, *timeout, *compute, *memory, *level, *allow, *context, *session,
        *code;
    const char *workspace, *fuel; /* of a script */
    bool help, network, files, trace, atomic, check, as_json, raw;
    const char *file;
    enum cloche_level trust;
};

static bool eval_read_code(const struct eval *o, struct buf *out, struct err *e)
{
    if (o->code)
        return buf_cstr(out, o->code) || err_set(e, ERR_LIMIT, "the code is too long");
    bool from_stdin = !strcmp(o->file, "-");
    scoped_fd int fd =
        from_stdin ? dup(STDIN_FILENO) : open(o->file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(e, ERR_INVALID, "cannot open the file %.200s: %m", o->file);
    return os_read_fd(fd, out, e) ||
           err_wrap(e, "%.200s", from_stdin ? "standard input" : o->file);
}

static void put_allowed(struct json_writer *w, const char *list)
{
    json_key(w, "allowedAPIs");
    json_open_array(w);
    while (*list) {
        size_t n = strcspn(list, ",");
        struct str one = str_trim((struct str){list, n});
        if (one.n)
            json_put_str(w, one);
        list += n + (list[n] == ',');
    }
    json_close(w);
}

static bool is_typescript(const struct eval *o)
{
    if (o->lang)
        return !strcmp(o->lang, "ts") || !strcmp(o->lang, "typescript");
    return o->file && str_ends(str_of(o->file), ".ts");
}

static bool is_python(const struct eval *o)
{
    if (o->lang)
        return !strcmp(o->lang, "py") || !strcmp(o->lang, "python");
    return o->file && str_ends(str_of(o->file), ".py");
}

/* The action's arguments from the options. */
static bool write_arguments(const struct eval *o, struct str code, struct buf *out,
                            struct err *e)
{
    long long n;
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_str(&w, "code", code);
    if (is_typescript(o))
        json_pair_cstr(&w, "language", "typescript");
    if (is_python(o))
        json_pair_cstr(&w, "language", "python");
    if (o->files)
        json_pair_bool(&w, "enableFileSystem", true);
    if (o->network)
        json_pair_bool(&w, "enableNetwork", true);
    if (o->context)
        json_pair_raw(&w, "context", str_of(o->context));
    if (o->check) { /* the others are of running */
        json_close(&w);
        return buf_check(out, "the call", e);
    }
    if (o->timeout) {
        if (!options_number("--timeout", o->timeout, 1, 1000000000, &n, e))
            return false;
        json_pair_int(&w, "timeout", n);
    }
    if (o->compute) {
        if (!options_number("--compute-timeout", o->compute, 1, 1000000000, &n, e))
            return false;
        json_pair_int(&w, "computeTimeout", n);
    }
    if (o->memory) {
        if (!options_number("--memory", o->memory, 1, 1000000, &n, e))
            return false;
        json_pair_int(&w, "memoryLimit", n);
    }
    if (o->workspace)
        json_pair_cstr(&w, "workspace_id", o->workspace);
    if (o->fuel) {
        if (!options_number("--fuel", o->fuel, 1, INT64_MAX, &n, e))
            return false;
        json_pair_int(&w, "fuel", n);
    }
    if (o->allow)
        put_allowed(&w, o->allow);
    if (o->session)
        json_pair_cstr(&w, "session", o->session);
    if (o->trace)
        json_pair_bool(&w, "trace", true);
    if (o->atomic)
        json_pair_bool(&w, "atomic", true);
    json_close(&w);
    return buf_check(out, "the call", e);
}

/* Scripts and evaluations have options of their own. */
static bool eval_check_kind(const struct eval *o, struct err *e)
{
    const struct {
        bool given;
        const char *name;
    } others[] = {{is_typescript(o), "TypeScript"},
                  {is_python(o), "Python"},
                  {o->timeout, "--timeout"},
                  {o->compute, "--compute-timeout"},
                  {o->allow, "--allow"},
                  {o->context, "--context"},
                  {o->session, "--session"},
                  {o->files, "--files"},
                  {o->network, "--network"},
                  {o->trace, "--trace"},
                  {o->atomic, "--atomic"}};
    if (o->fuel && !o->workspace)
        return err_set(e, ERR_INVALID, "--fuel is for scripts: give --workspace ID, too");
    for (size_t i = 0; o->workspace && i < LENGTH(others); i++)
        if (others[i].given)
            return err_set(e, ERR_INVALID,
                           "%s is not for scripts: with --workspace go --fuel, --memory, "
                           "--level and --vault",
                           others[i].name);
    return true;
}

static bool check_words(struct eval *o, size_t words, struct err *e)
{
    if (o->lang && strcmp(o->lang, "js") != 0 && strcmp(o->lang, "javascript") != 0 &&
        !is_typescript(o) && !is_python(o))
        return err_set(e, ERR_INVALID, "--lang is '%.40s'; js, ts and py are accepted",
                       o->lang);
    static const char *const levels[] = {"full", "limited", "zero"};
    unsigned level = 0;
    while (o->level && level < LENGTH(levels) && strcmp(o->level, levels[level]) != 0)
        level++;
    if (level == LENGTH(levels))
        return err_set(e, ERR_INVALID,
                       "--level is '%.40s'; full, limited and zero are accepted",
                       o->level);
    o->trust = (enum cloche_level)level;
    if ((o->code != NULL) == (words > 0))
        return err_set(e, ERR_INVALID,
                       "give the code once: -e CODE, a FILE, or - for "
                       "standard input");
    return eval_check_kind(o, e);
}

/* The context is the one option that is JSON itself: a mistake in it is named. */
static bool check_context(const char *context, struct err *e)
{
    if (!context)
        return true;
    scoped(arena_free) struct arena *a = arena_new((size_t)256 << 20);
    return json_read(str_of(context), a, e) || err_wrap(e, "--context");
}

/* Puts the command line's names of options in place of the action's. */
static void put_sentence(struct str message, struct err *e)
{
    static const char *const names[][2] = {
        {"memoryLimit ", "--memory "},     {"timeout ", "--timeout "},
        {"allowedAPIs ", "--allow "},      {"context ", "--context "},
        {"session ", "--session "},        {"language ", "--lang "},
        {"workspace_id ", "--workspace "}, {"fuel ", "--fuel "},
    };
    const char *option = "";
    for (size_t i = 0; i < LENGTH(names) && !*option; i++)
        if (str_starts(message, names[i][0])) {
            option = names[i][1];
            message.at += strlen(names[i][0]);
            message.n -= strlen(names[i][0]);
        }
    err_set(e, ERR_INVALID, "%s%.*s", option, STR_ARGS(message));
}

/* Was the call wrong, so that nothing ran? Then *e says what is wrong with it. */
static bool is_refused(struct str answer, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_VAULT);
    const struct json *details = json_get(json_read(answer, a, e), "errorDetails");
    if (!str_is(json_str(json_get(details, "code")), "INVALID") ||
        json_get(details, "name"))
        return false;
    put_sentence(json_str(json_get(details, "message")), e);
    return true;
}

/* The result alone: a string as it is, all else as JSON. */
static bool put_raw(struct str answer, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new((size_t)1 << 30);
    scoped_buf struct buf text = buf_of((size_t)1 << 30);
    const struct json *result = json_get(json_read(answer, a, e), "result");
    struct json_writer w = json_writer(&text);
    if (json_is(result, JSON_STRING)) {
        cli_put(json_str(result));
        return true;
    }
    json_put(&w, result);
    if (!buf_check(&text, "the result", e))
        return false;
    cli_put_line(buf_view(&text));
    return true;
}

static int evaluate(struct eval *o, struct cloche *c, const char *arguments)
{
    int failed = 0;
    struct err wrong = {0};
    scoped(cloche_error_free) struct cloche_error *e = cloche_error_new();
    scoped(cloche_text_free) struct cloche_text *out = cloche_text_new();
    scoped(cloche_caller_free) struct cloche_caller *terminal =
        cloche_caller_new("terminal", o->trust);
    if (o->check)
        return cli_check(c,
                         o->file && strcmp(o->file, "-") ? o->file
                         : is_typescript(o)              ? "code.ts"
                         : is_python(o)                  ? "code.py"
                                                         : "code.js",
                         arguments, terminal, o->as_json);
    const char *tool = o->workspace ? "run_script" : "evaluate_note_code";
    if (cloche_call_tool(c, terminal, tool, arguments, NULL, out, &failed, e))
        return cli_fail_library(e);
    struct str answer = {cloche_text_at(out), cloche_text_size(out)};
    if (failed && is_refused(answer, &wrong))
        return cli_fail(&wrong);
    if (failed)
        cli_keep_result(c, terminal, answer);
    /* The code has run: its answer is printed whatever becomes of this. */
    if (cloche_keep_vault(c, terminal, e))
        (void)cli_fail_library(e);
    if (!o->raw || failed)
        cli_put_line(answer);
    else if (!put_raw(answer, &wrong))
        return cli_fail(&wrong);
    if (fflush(stdout) != 0)
        return EXIT_FAILED;
    return failed ? EXIT_FAILED : EXIT_DONE;
}

static int eval_run(struct eval *o)
{
    struct err e = {0};
    scoped_buf struct buf code = buf_of(CODE_MAX);
    scoped_buf struct buf arguments = buf_of(8 * CODE_MAX);
    if (!check_context(o->context, &e) || !eval_read_code(o, &code, &e) ||
        !write_arguments(o, buf_view(&code), &arguments, &e))
        return cli_fail(&e);
    scoped(cloche_error_free) struct cloche_error *why = cloche_error_new();
    scoped(cloche_options_free) struct cloche_options *options =
        cli_options(o->vaults, o->roots);
    scoped(cloche_close) struct cloche *c = cloche_open(options, why);
    return c ? evaluate(o, c, buf_cz(&arguments)) : cli_fail_open(why);
}

int command_eval(int argc, char **argv)
{
    struct eval o = {0};
    const struct option_row rows[] = {
        OPTION_VALUE("--vault", o.vaults, "DIR...", VAULT_HELP),
        OPTION_VALUE("--vault-root", o.roots, "DIR...", ROOT_HELP),
        OPTION_VALUE("-e", &o.code, "CODE", "the code itself, instead of a FILE or -"),
        OPTION_VALUE("--lang", &o.lang, "js|ts|py", "the code's language (js)"),
        OPTION_VALUE("--timeout", &o.timeout, "MS",
                     "time in all, waiting included (5000)"),
        OPTION_VALUE("--compute-timeout", &o.compute, "MS",
                     "computing time alone; --timeout may then be longer"),
        OPTION_VALUE("--memory", &o.memory, "MB", "memory (128)"),
        OPTION_VALUE("--level", &o.level, "LEVEL",
                     "full, limited or zero: how far it is trusted"),
        OPTION_VALUE("--allow", &o.allow, "A,B",
                     "only these calls, such as notes.get,utils"),
        OPTION_VALUE("--context", &o.context, "JSON",
                     "an object of values the code finds"),
        OPTION_VALUE("--session", &o.session, "NAME",
                     "variables are there again in the next call with it"),
        OPTION_FLAG("--files", &o.files, "fs: files in memory, for this evaluation"),
        OPTION_FLAG("--network", &o.network,
                    "fetch is there, for the hosts that the policy allows"),
        OPTION_FLAG("--trace", &o.trace, "report every host call"),
        OPTION_FLAG("--atomic", &o.atomic, "undo what it changed in notes, if it fails"),
        OPTION_VALUE("--workspace", &o.workspace, "ID",
                     "run it as a script over the REST routes, for this vault"),
        OPTION_VALUE("--fuel", &o.fuel, "N",
                     "with --workspace: computing that it may use"),
        OPTION_FLAG("--check", &o.check,
                    "check the code without running it; exit 1 if there is an error"),
        OPTION_FLAG("--raw", &o.raw, "print only the result, a string without quotes"),
        OPTION_FLAG("--json", &o.as_json, "with --check: the findings as JSON"),
        OPTION_FLAG("--help", &o.help, "this list"),
    };
    struct option_use use = {
        .usage = "cloche eval [OPTIONS] (-e CODE | FILE | -)\n\n"
                 "Runs code in a sandbox and prints one JSON object; exit 0 when its\n"
                 "\"success\" is true.",
        OPTION_ROWS(rows, &o.help),
        .words = &o.file,
        .max = 1,
    };
    int exit;
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    struct err e = {0};
    return check_words(&o, use.given, &e) ? eval_run(&o) : cli_fail(&e);
}
