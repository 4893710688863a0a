/* cloche fn: the custom functions of a vault, as a person keeps them. Each subcommand is one
 * of the actions that agents have, called at the terminal. */
#include "cli/fn.h"

#include <stdio.h>

#include "cli/options.h"
#include "cli/subcommand.h"

static const struct subcommand subcommands[] = {
    {"list", "[WORDS...]", "which there are", fn_list},
    {"show", "NAME [--version N] [--source]", "one, with its code", fn_show},
    {"add", "FILE.ts | FILE.py | FILE.json", "register one: checked and tested first",
     fn_add},
    {"update", "NAME [FILE] [--rename NEW]", "change one (makes a new version)",
     fn_update},
    {"new", "NAME --template T", "register one from a template", fn_new},
    {"templates", "", "which templates there are", fn_templates},
    {"validate", "FILE", "check a definition, register nothing", fn_validate},
    {"test", "NAME [ARGS]", "run it as a dry run, or its examples", fn_test},
    {"delete", "NAME...", "delete functions; their versions stay", fn_delete},
    {"duplicate", "NAME NEW", "a copy under another name", fn_duplicate},
    {"versions", "NAME", "its versions", fn_versions},
    {"diff", "NAME FROM [TO]", "what changed between two versions", fn_diff},
    {"rollback", "NAME VERSION", "make an older version the current one", fn_rollback},
    {"stats", "[NAME]", "how they are used, what could be better", fn_stats},
    {"export", "[NAME...] [--output FILE]", "a file for another vault", fn_export},
    {"import", "FILE [--conflict HOW]", "import functions from a file", fn_import},
    {"backup", "", "keep a copy of all as they are now", fn_backup},
    {"backups", "", "which copies there are", fn_backups},
    {"restore", "[BACKUP]", "restore all from a copy", fn_restore},
    {"migrate", "", "check all against the current API", fn_migrate},
};

int command_fn(int argc, char **argv)
{
    static const struct subcommands all = {
        .of = "fn",
        .about = "Functions stored in a vault, which code calls as "
                 "customFunctions.NAME().",
        .note = "; all take --vault DIR and --json",
        .rows = subcommands,
        .count = LENGTH(subcommands),
    };
    return subcommands_run(&all, argc, argv);
}

/* ---- calls ------------------------------------------------------------------------- */

#define FN_MEMORY ((size_t)256 << 20)

void fn_begin(struct fn *f)
{
    f->arena = arena_new(FN_MEMORY);
    buf_init(&f->text, FN_MEMORY);
    f->w = json_writer(&f->text);
    json_open_object(&f->w);
}

void fn_done(struct fn *f)
{
    cloche_text_free(f->held);
    arena_free(f->arena);
    buf_done(&f->text);
}

bool fn_call(struct fn *f, const char *action, int *exit)
{
    struct err e = {0};
    int failed = 0;
    json_close(&f->w);
    *exit = EXIT_FAILED;
    if (!buf_check(&f->text, "the call", &e)) {
        *exit = cli_fail(&e);
        return false;
    }
    scoped(cloche_error_free) struct cloche_error *why = cloche_error_new();
    scoped(cloche_options_free) struct cloche_options *options =
        cli_options(f->vaults, NULL);
    scoped(cloche_close) struct cloche *c = cloche_open(options, why);
    scoped(cloche_caller_free) struct cloche_caller *terminal =
        cloche_caller_new("terminal", CLOCHE_FULL);
    if (!f->held)
        f->held = cloche_text_new();
    if (!c || cloche_call_tool(c, terminal, action, buf_cz(&f->text), NULL, f->held,
                               &failed, why)) {
        *exit = cli_fail_open(why);
        return false;
    }
    f->failed = failed != 0;
    f->answer = (struct str){cloche_text_at(f->held), cloche_text_size(f->held)};
    f->answered = json_read(f->answer, f->arena, &e);
    *exit = f->failed ? EXIT_FAILED : EXIT_DONE;
    if (memmem(f->answer.at, f->answer.n, "\"TYPES_UNCHECKED\"", 17))
        cli_build_checker();
    return f->answered != NULL;
}

bool fn_goes_on(struct fn *f, int *exit)
{
    struct str error = json_str(json_get(f->answered, "error"));
    if (f->json) {
        cli_put_line(f->answer);
        return false;
    }
    if (!f->failed)
        return true;
    /* A refusal of another kind is its sentence alone. */
    if (json_get(json_at(json_get(f->answered, "errors"), 0), "field"))
        fn_print_findings("error", json_get(f->answered, "errors"), f->first_line);
    fn_print_findings("warning", json_get(f->answered, "warnings"), f->first_line);
    fn_print_tests(json_get(f->answered, "tests"));
    fn_print_breaking(f->answered);
    /* The sentence counts lines as the code has them, and its file has more. */
    size_t errors = json_length(json_get(f->answered, "errors"));
    if (error.n && f->first_line && errors)
        fprintf(stderr, "cloche: the definition has %zu error%s; nothing was changed\n",
                errors, str_plural((int64_t)errors));
    else if (error.n)
        fprintf(stderr, "cloche: %.*s%s\n", SPELT_ARGS(error),
                json_get(f->answered, "breaking") ? " (--force)" : "");
    *exit = EXIT_FAILED;
    return false;
}

void fn_print(struct str text)
{
    scoped_buf struct buf safe = buf_of(FN_MEMORY);
    str_spell(text, &safe);
    fputs(buf_cz(&safe), stdout);
}

/* "code:3:7: error: ... [TS2322]" */
void fn_print_findings(const char *kind, const struct json *list, unsigned before)
{
    struct json_iter it = json_iter(list);
    while (json_next(&it)) {
        struct str field = json_str(json_get(it.value, "field"));
        int64_t line = json_int(json_get(it.value, "line"), 0);
        if (line && str_is(field, "code"))
            line += before;
        struct str suggestion = json_str(json_get(it.value, "suggestion"));
        fn_print(field);
        if (line)
            printf("%s%lld:%lld", field.n ? ":" : "", (long long)line,
                   (long long)json_int(json_get(it.value, "column"), 1));
        printf("%s%s: ", field.n || line ? ": " : "", kind);
        fn_print(json_str(json_get(it.value, "message")));
        printf(" [%.*s]\n", SPELT_ARGS(json_str(json_get(it.value, "code"))));
        if (suggestion.n) {
            fputs("    ", stdout);
            fn_print(suggestion);
            putchar('\n');
        }
    }
}

void fn_print_breaking(const struct json *answer)
{
    struct json_iter reasons = json_iter(json_get(answer, "reasons"));
    struct json_iter callers = json_iter(json_get(answer, "callers"));
    struct json_iter followed = json_iter(json_get(answer, "rewritten"));
    while (json_next(&reasons)) {
        fputs("breaking: ", stdout);
        fn_print(json_str(reasons.value));
        putchar('\n');
    }
    for (bool first = true; json_next(&callers); first = false)
        printf("%s%.*s", first ? "called by " : ", ",
               SPELT_ARGS(json_str(callers.value)));
    if (json_length(json_get(answer, "callers")))
        putchar('\n');
    while (json_next(&followed))
        printf("%.*s: changed with it\n", SPELT_ARGS(json_str(followed.value)));
}

static void fn_print_value(const char *what, const struct json *v)
{
    scoped_buf struct buf text = buf_of(FN_MEMORY);
    struct json_writer w = json_writer(&text);
    if (!v)
        return;
    json_put(&w, v);
    printf("    %s: ", what);
    fn_print(buf_view(&text));
    putchar('\n');
}

/* Prints an example's expected and actual result. */
static void print_difference(const struct json *result)
{
    const struct json *d = json_get(result, "difference");
    struct str message = json_str(json_get(d, "message"));
    if (message.n) {
        fputs("    ", stdout);
        fn_print(message);
        putchar('\n');
    }
    fn_print_value("expected", json_get(d, "expected"));
    fn_print_value("got", json_get(d, "got"));
    fn_print_value("expected error", json_get(result, "expectedError"));
    fn_print_value("result", json_get(result, "result"));
    if (json_get(result, "hint")) {
        fputs("    ", stdout);
        fn_print(json_str(json_get(result, "hint")));
        putchar('\n');
    }
}

void fn_print_tests(const struct json *tests)
{
    struct json_iter it = json_iter(json_get(tests, "results"));
    if (!tests)
        return;
    while (json_next(&it)) {
        struct str name = json_str(json_get(it.value, "name"));
        struct str skipped = json_str(json_get(it.value, "skipped"));
        bool ok = skipped.n || json_bool(json_get(it.value, "success"), false);
        struct str why = json_str(json_get(it.value, "message"));
        if (!why.n)
            why = json_str(json_get(it.value, "error"));
        printf("%s ", skipped.n ? "skipped" : ok ? "ok    " : "failed");
        fn_print(name);
        fputs(skipped.n ? ": " : "", stdout);
        fn_print(skipped);
        fputs(!ok && why.n ? ": " : "", stdout);
        if (!ok)
            fn_print(why);
        putchar('\n');
        if (!ok)
            print_difference(it.value);
    }
    long long skipped_count = (long long)json_int(json_get(tests, "skipped"), 0);
    printf("%lld passed, %lld failed", (long long)json_int(json_get(tests, "passed"), 0),
           (long long)json_int(json_get(tests, "failed"), 0));
    if (skipped_count)
        printf(", %lld not run", skipped_count);
    putchar('\n');
}

/* ---- words ---------------------------------------------------------------------------- */

bool fn_options(struct fn *f, const char *usage, const struct option_row *rows,
                size_t count, int argc, char **argv, const char **words, size_t least,
                size_t most, int *exit)
{
    struct option_use use = {.usage = usage,
                             .rows = rows,
                             .count = count,
                             .help = &f->help,
                             .words = words,
                             .max = most};
    if (!options_begin(&use, argc, argv, exit))
        return false;
    if (use.given >= least)
        return true;
    struct err e = {0};
    const char *line = strchr(usage, '\n');
    err_set(&e, ERR_INVALID, "an argument is missing; usage: %.*s",
            (int)(line ? line - usage : (long)strlen(usage)), usage);
    *exit = cli_fail(&e);
    return false;
}

bool fn_plain(struct fn *f, const char *usage, int argc, char **argv, const char **words,
              size_t least, size_t most, int *exit)
{
    const struct option_row rows[] = {FN_OPTIONS(*f)};
    bool goes_on =
        fn_options(f, usage, rows, LENGTH(rows), argc, argv, words, least, most, exit);
    if (goes_on)
        fn_begin(f);
    return goes_on;
}

bool fn_put_number(struct fn *f, const char *key, const char *text, int *exit)
{
    return fn_put_from(f, key, text, 1, exit);
}

bool fn_put_from(struct fn *f, const char *key, const char *text, long long least,
                 int *exit)
{
    struct err e = {0};
    long long n;
    if (!text)
        return true;
    if (!options_number(key, text, least, UINT32_MAX, &n, &e)) {
        *exit = cli_fail(&e);
        return false;
    }
    json_pair_int(&f->w, key, n);
    return true;
}

bool fn_write_out(const char *path, struct str text, struct err *e)
{
    if (!path) {
        cli_put_line(text.n && text.at[text.n - 1] == '\n'
                         ? (struct str){text.at, text.n - 1}
                         : text);
        return fflush(stdout) == 0 || err_set(e, ERR_IO, "cannot write: %m");
    }
    FILE *to = fopen(path, "we");
    if (!to)
        return err_set(e, ERR_IO, "cannot write %.200s: %m", path);
    bool ok = fwrite(text.at, 1, text.n, to) == text.n;
    ok = fclose(to) == 0 && ok;
    return ok || err_set(e, ERR_IO, "cannot write %.200s: %m", path);
}
