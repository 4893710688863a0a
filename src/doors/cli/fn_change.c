/* cloche fn add, update, new, validate, test, delete, duplicate, rollback. */
#include <stdio.h>

#include "cli/fn.h"
#include "cli/fn_source.h"
#include "cli/options.h"
#include "cli/tool.h"

#define FILE_MAX ((size_t)4 << 20)
#define NAMES_MAX 256u

/* ---- files -------------------------------------------------------------------------------- */

/* A definition: of a .json file as it stands there, of a .py file as Python, of any other as
 * TypeScript. NULL and *e. */
static const struct json *read_definition(struct fn *f, const char *path,
                                          const char *name, struct err *e)
{
    scoped_buf struct buf text, definition, others;
    buf_init(&text, FILE_MAX);
    buf_init(&definition, 8 * FILE_MAX);
    buf_init(&others, BUF_PAGE);
    if (!tool_read_file(path, "a file of a function", &text, e))
        return NULL;
    if (!str_is_utf8(buf_view(&text))) {
        err_set(e, ERR_INVALID, "%.200s is not UTF-8", path);
        return NULL;
    }
    const struct json *read =
        str_ends(str_of(path), ".json") ? json_read(buf_view(&text), f->arena, e)
        : (str_ends(str_of(path), ".py")
               ? fn_source_python_read(buf_view(&text), str_of(name), &definition,
                                       &f->first_line, e)
               : fn_source_read(buf_view(&text), str_of(name), &definition, &others,
                                &f->first_line, e))
            ? json_read(buf_view(&definition), f->arena, e)
            : NULL;
    if (!read)
        (void)err_wrap(e, "%.200s", path);
    else if (!json_is(read, JSON_OBJECT) || json_get(read, "functions"))
        err_set(e, ERR_INVALID,
                "%.200s holds more than one definition; 'cloche fn import' takes it",
                path);
    if (!e->code && others.n)
        (void)fprintf(stderr,
                      "cloche: %s has other functions as well: %s; --name NAME selects "
                      "one\n",
                      path, buf_cz(&others));
    return e->code ? NULL : read;
}

/* Its fields, but those that are not for registering. */
static void change_put_fields(struct fn *f, const struct json *definition, bool with_name)
{
    static const char *const fields[] = {"name",       "description", "parameters",
                                         "returnType", "code",        "language",
                                         "tags",       "examples"};
    for (size_t i = with_name ? 0 : 1; i < LENGTH(fields); i++) {
        const struct json *v = json_get(definition, fields[i]);
        if (v)
            json_pair(&f->w, fields[i], v);
    }
}

/* Begins a call with the definition in a file. false: *exit, and why is printed. */
static bool begin_with_file(struct fn *f, const char *path, const char *name, int *exit)
{
    struct err e = {0};
    fn_begin(f);
    const struct json *definition = read_definition(f, path, name, &e);
    if (definition)
        change_put_fields(f, definition, true);
    else
        *exit = cli_fail(&e);
    return definition != NULL;
}

struct how {
    bool force, dry;
};
#define HOW_OPTIONS(h, what)                   \
    {"--force", NULL, &(h).force, NULL, what}, \
        {"--dry-run", NULL, &(h).dry, NULL, "report the result, change nothing"}

static void put_how(struct fn *f, const struct how *h)
{
    if (h->force)
        json_pair_bool(&f->w, "force", true);
    if (h->dry)
        json_pair_bool(&f->w, "dryRun", true);
}

/* "daily: registered as version 1", with what there is to say of it. */
static int print_kept(struct fn *f, int exit)
{
    if (!fn_goes_on(f, &exit))
        return exit;
    const struct json *tests = json_get(f->answered, "tests");
    fn_print_findings("warning", json_get(f->answered, "warnings"), f->first_line);
    if (json_length(json_get(tests, "results")))
        fn_print_tests(tests);
    fn_print_breaking(f->answered);
    printf("%.*s: %.*s",
           SPELT_ARGS(json_str(json_get(json_get(f->answered, "function"), "name"))),
           SPELT_ARGS(json_str(json_get(f->answered, "action"))));
    if (json_bool(json_get(f->answered, "dryRun"), false))
        printf(" (not really: --dry-run)\n");
    else
        printf(", version %lld\n",
               (long long)json_int(json_get(f->answered, "version"), 0));
    return EXIT_DONE;
}

/* ---- add, update, new, validate ----------------------------------------------------------------- */

int fn_add(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    struct how how = {0};
    const char *words[1] = {0}, *name = NULL;
    const struct option_row rows[] = {
        OPTION_VALUE("--name", &name, "NAME", "which function of the file"),
        HOW_OPTIONS(how, "although its examples fail"),
        FN_OPTIONS(f),
    };
    int exit;
    if (!fn_options(
            &f,
            "cloche fn add FILE [OPTIONS]\n\nRegisters a custom function. FILE.ts "
            "contains the function; the comment\nbefore it describes it (@param, "
            "@returns, @tags, @example as in\n'cloche fn show NAME --source'). "
            "FILE.py contains the function in Python; its docstring and\nannotations "
            "describe it. FILE.json contains a definition. - is\nstandard input.",
            rows, LENGTH(rows), argc, argv, words, 1, 1, &exit))
        return exit;
    if (!begin_with_file(&f, words[0], name, &exit))
        return exit;
    put_how(&f, &how);
    return fn_call(&f, "register_custom_function", &exit) ? print_kept(&f, exit) : exit;
}

int fn_update(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    struct how how = {0};
    const char *words[2] = {0}, *renamed = NULL, *note = NULL, *version = NULL,
               *description = NULL;
    const struct option_row rows[] = {
        OPTION_VALUE("--rename", &renamed, "NAME", "call it this from now on"),
        OPTION_VALUE("--description", &description, "TEXT", "what it does"),
        OPTION_VALUE("--note", &note, "TEXT", "why, for the list of versions"),
        OPTION_VALUE("--expected", &version, "VERSION",
                     "refuse where it has another by now"),
        HOW_OPTIONS(how, "although its examples fail, or it breaks callers"),
        FN_OPTIONS(f),
    };
    int exit;
    if (!fn_options(
            &f,
            "cloche fn update NAME [FILE] [OPTIONS]\n\n"
            "Changes a custom function: a new version. FILE is as for 'cloche fn add'.\n"
            "Functions that call it are changed with its name. What breaks callers\n"
            "is refused without --force.",
            rows, LENGTH(rows), argc, argv, words, 1, 2, &exit))
        return exit;
    struct err e = {0};
    fn_begin(&f);
    json_pair_cstr(&f.w, "name", words[0]);
    /* A file of several functions: the one of this name, if it is there. */
    const struct json *definition =
        words[1] ? read_definition(&f, words[1], words[0], &e) : NULL;
    if (words[1] && !definition) {
        e = (struct err){0};
        definition = read_definition(&f, words[1], NULL, &e);
    }
    if (e.code)
        return cli_fail(&e);
    struct str own = json_str(json_get(definition, "name"));
    if (definition && !description)
        change_put_fields(&f, definition, false);
    if (renamed || (own.n && !str_is(own, words[0])))
        json_pair_str(&f.w, "newName", renamed ? str_of(renamed) : own);
    if (description)
        json_pair_cstr(&f.w, "description", description);
    if (note)
        json_pair_cstr(&f.w, "note", note);
    put_how(&f, &how);
    return fn_put_number(&f, "expectedVersion", version, &exit) &&
                   fn_call(&f, "update_custom_function", &exit)
               ? print_kept(&f, exit)
               : exit;
}

/* The definition that a template makes; NULL: *exit says how it ended. */
static const struct json *from_template(struct fn *f, const char *template,
                                        const char *name, int *exit)
{
    scoped_fn struct fn asked = {.vaults = {f->vaults[0]}};
    fn_begin(&asked);
    json_pair_cstr(&asked.w, "template", template);
    json_pair_cstr(&asked.w, "name", name);
    if (!fn_call(&asked, "custom_function_templates", exit))
        return NULL;
    struct err e = {0};
    return json_get(json_read(asked.answer, f->arena, &e), "function");
}

int fn_new(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    struct how how = {0};
    const char *words[1] = {0}, *template = NULL, *output = NULL;
    const struct option_row rows[] = {
        OPTION_VALUE("--template", &template, "T", "one of 'cloche fn templates'"),
        OPTION_VALUE("--output", &output, "FILE",
                     "write it there, to be changed and added"),
        HOW_OPTIONS(how, "although its examples fail"),
        FN_OPTIONS(f),
    };
    int exit;
    if (!fn_options(&f,
                    "cloche fn new NAME --template T [OPTIONS]\n\n"
                    "Registers a custom function that is made of a template.",
                    rows, LENGTH(rows), argc, argv, words, 1, 1, &exit))
        return exit;
    struct err e = {0};
    fn_begin(&f);
    if (!template) {
        err_set(&e, ERR_INVALID, "give --template; 'cloche fn templates' lists them");
        return cli_fail(&e);
    }
    const struct json *definition = from_template(&f, template, words[0], &exit);
    if (!definition)
        return exit;
    if (output) {
        scoped_buf struct buf text = buf_of(FILE_MAX);
        fn_source_write(definition, &text);
        return fn_write_out(output, buf_view(&text), &e) ? EXIT_DONE : cli_fail(&e);
    }
    change_put_fields(&f, definition, true);
    put_how(&f, &how);
    return fn_call(&f, "register_custom_function", &exit) ? print_kept(&f, exit) : exit;
}

int fn_validate(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    const char *words[1] = {0}, *name = NULL;
    const struct option_row rows[] = {
        OPTION_VALUE("--name", &name, "NAME", "which function of the file"),
        FN_OPTIONS(f),
    };
    int exit;
    if (!fn_options(
            &f,
            "cloche fn validate FILE [OPTIONS]\n\nChecks a custom function. FILE is "
            "as for 'cloche fn add'. Exit 1 if there\nis an error.",
            rows, LENGTH(rows), argc, argv, words, 1, 1, &exit))
        return exit;
    if (!begin_with_file(&f, words[0], name, &exit))
        return exit;
    if (!fn_call(&f, "validate_custom_function", &exit))
        return exit;
    bool valid = json_bool(json_get(f.answered, "valid"), false);
    if (fn_goes_on(&f, &exit)) {
        fn_print_findings("error", json_get(f.answered, "errors"), f.first_line);
        fn_print_findings("warning", json_get(f.answered, "warnings"), f.first_line);
        size_t errors = json_length(json_get(f.answered, "errors"));
        size_t warnings = json_length(json_get(f.answered, "warnings"));
        printf("%s: %zu error%s, %zu warning%s\n", words[0], errors,
               str_plural((int64_t)errors), warnings, str_plural((int64_t)warnings));
    }
    return valid ? EXIT_DONE : EXIT_FAILED;
}

/* ---- test ------------------------------------------------------------------------------------------ */

int fn_test(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    bool keep = false;
    long long ms = 0;
    const char *words[2] = {0}, *timeout = NULL;
    const struct option_row rows[] = {
        OPTION_VALUE("--timeout", &timeout, "MS",
                     "time of a run, waiting included (5000)"),
        OPTION_FLAG("--keep", &keep, "keep what it writes, as in a normal call"),
        FN_OPTIONS(f),
    };
    int exit;
    if (!fn_options(
            &f,
            "cloche fn test NAME [ARGS] [OPTIONS]\n\n"
            "Runs a custom function with ARGS, a JSON object by name or an array, and\n"
            "prints the answer; without ARGS, all examples that are kept with it.\n"
            "What it writes is thrown away.",
            rows, LENGTH(rows), argc, argv, words, 1, 2, &exit))
        return exit;
    struct err e = {0};
    fn_begin(&f);
    const struct json *args = words[1] ? json_read(str_of(words[1]), f.arena, &e) : NULL;
    if (e.code) {
        struct err why = {0};
        err_set(&why, ERR_INVALID,
                "ARGS '%.80s' is not JSON: an array, '[\"2026-01-31\", 3]', or an object "
                "by name, '{\"date\": \"2026-01-31\"}', is accepted; nothing was run",
                words[1]);
        return cli_fail(&why);
    }
    json_pair_cstr(&f.w, "name", words[0]);
    if (args)
        json_pair(&f.w, "args", args);
    if (keep)
        json_pair_bool(&f.w, "dryRun", false);
    if (timeout && !options_number("--timeout", timeout, 1, 1000000000, &ms, &e))
        return cli_fail(&e);
    if (timeout)
        json_pair_int(&f.w, "timeout", ms);
    if (!fn_call(&f, "test_custom_function", &exit))
        return exit;
    if (f.json || args) {
        cli_put_line(f.answer);
        return exit;
    }
    if (fn_goes_on(&f, &exit))
        fn_print_tests(json_get(f.answered, "tests"));
    return exit;
}

/* ---- delete, duplicate, rollback ---------------------------------------------------------------------- */

int fn_delete(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    struct how how = {0};
    const char *words[NAMES_MAX + 1] = {0};
    const struct option_row rows[] = {
        HOW_OPTIONS(how, "although other functions call them"),
        FN_OPTIONS(f),
    };
    int exit;
    if (!fn_options(
            &f,
            "cloche fn delete NAME... [OPTIONS]\n\n"
            "Takes custom functions away, all or none. 'cloche fn rollback' brings one\n"
            "back.",
            rows, LENGTH(rows), argc, argv, words, 1, NAMES_MAX, &exit))
        return exit;
    fn_begin(&f);
    json_key(&f.w, "names");
    json_open_array(&f.w);
    for (size_t i = 0; words[i]; i++)
        json_put_cstr(&f.w, words[i]);
    json_close(&f.w);
    put_how(&f, &how);
    if (!fn_call(&f, "delete_custom_function", &exit) || !fn_goes_on(&f, &exit))
        return exit;
    fn_print_findings("warning", json_get(f.answered, "warnings"), f.first_line);
    struct json_iter it = json_iter(json_get(f.answered, "deleted"));
    while (json_next(&it))
        printf("%.*s: %s\n", SPELT_ARGS(json_str(it.value)),
               how.dry ? "would be deleted" : "deleted");
    return EXIT_DONE;
}

int fn_duplicate(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    const char *words[2] = {0};
    int exit;
    if (!fn_plain(&f,
                  "cloche fn duplicate NAME NEW [OPTIONS]\n\n"
                  "Registers a copy of a custom function under another name.",
                  argc, argv, words, 2, 2, &exit))
        return exit;
    json_pair_cstr(&f.w, "name", words[0]);
    json_pair_cstr(&f.w, "newName", words[1]);
    return fn_call(&f, "duplicate_custom_function", &exit) ? print_kept(&f, exit) : exit;
}

int fn_rollback(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    struct how how = {0};
    const char *words[2] = {0};
    const struct option_row rows[] = {
        HOW_OPTIONS(how, "although it does not fit any more"),
        FN_OPTIONS(f),
    };
    int exit;
    if (!fn_options(
            &f,
            "cloche fn rollback NAME VERSION [OPTIONS]\n\n"
            "Makes an older version the current one, as a new version; also of a\n"
            "function that was deleted.",
            rows, LENGTH(rows), argc, argv, words, 2, 2, &exit))
        return exit;
    fn_begin(&f);
    json_pair_cstr(&f.w, "name", words[0]);
    put_how(&f, &how);
    return fn_put_number(&f, "version", words[1], &exit) &&
                   fn_call(&f, "rollback_custom_function", &exit)
               ? print_kept(&f, exit)
               : exit;
}
