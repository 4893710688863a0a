/* cloche fn export, import, backup, backups, restore, migrate. */
#include <stdio.h>

#include "cli/fn.h"
#include "cli/options.h"
#include "cli/tool.h"

#define NAMES_MAX 256u
#define FILE_MAX ((size_t)32 << 20)

static void put_names(struct fn *f, const char *const *names)
{
    if (!names[0])
        return;
    json_key(&f->w, "names");
    json_open_array(&f->w);
    while (*names)
        json_put_cstr(&f->w, *names++);
    json_close(&f->w);
}

/* ---- export, import --------------------------------------------------------------------- */

int fn_export(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    const char *words[NAMES_MAX + 1] = {0}, *output = NULL;
    const struct option_row rows[] = {
        OPTION_VALUE("--output", &output, "FILE", "write it there"),
        FN_OPTIONS(f),
    };
    int exit;
    if (!fn_options(
            &f,
            "cloche fn export [NAME...] [OPTIONS]\n\n"
            "One, several or all custom functions as a file that 'cloche fn import'\n"
            "takes.",
            rows, LENGTH(rows), argc, argv, words, 0, NAMES_MAX, &exit))
        return exit;
    struct err e = {0};
    fn_begin(&f);
    put_names(&f, words);
    if (!fn_call(&f, "export_custom_functions", &exit) || !fn_goes_on(&f, &exit))
        return exit;
    struct str text = json_str(json_get(f.answered, "text"));
    if (!fn_write_out(output, text, &e))
        return cli_fail(&e);
    if (output)
        printf("%s: %lld functions\n", output,
               (long long)json_int(json_get(f.answered, "count"), 0));
    return EXIT_DONE;
}

static void print_import(const struct json *answer)
{
    struct json_iter it = json_iter(json_get(answer, "functions"));
    while (json_next(&it)) {
        struct str renamed = json_str(json_get(it.value, "newName"));
        fn_print(json_str(json_get(it.value, "name")));
        printf(": %.*s", SPELT_ARGS(json_str(json_get(it.value, "action"))));
        if (renamed.n)
            printf(" as %.*s", SPELT_ARGS(renamed));
        putchar('\n');
        fn_print_findings("  error", json_get(it.value, "errors"), 0);
        fn_print_findings("  warning", json_get(it.value, "warnings"), 0);
    }
}

int fn_import(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    const char *words[1] = {0}, *names[OPTION_REPEAT + 1] = {0}, *conflict = NULL;
    bool dry = false;
    const struct option_row rows[] = {
        OPTION_VALUE("--conflict", &conflict, "HOW",
                     "where a name is taken: skip (so else), rename, replace or version"),
        OPTION_VALUE("--name", names, "NAME...", "only this one; may be repeated"),
        OPTION_FLAG("--dry-run", &dry, "report the result, change nothing"),
        FN_OPTIONS(f),
    };
    int exit;
    if (!fn_options(
            &f,
            "cloche fn import FILE [OPTIONS]\n\n"
            "Takes functions over from an export, or another custom-functions.json;\n"
            "none of them is run. - is standard input.",
            rows, LENGTH(rows), argc, argv, words, 1, 1, &exit))
        return exit;
    struct err e = {0};
    scoped_buf struct buf text = buf_of(FILE_MAX);
    if (!tool_read_file(words[0], "a file of functions", &text, &e))
        return cli_fail(&e);
    fn_begin(&f);
    json_pair_str(&f.w, "text", buf_view(&text));
    if (conflict)
        json_pair_cstr(&f.w, "conflict", conflict);
    put_names(&f, names);
    if (dry)
        json_pair_bool(&f.w, "dryRun", true);
    if (!fn_call(&f, "import_custom_functions", &exit))
        return exit;
    if (!f.json)
        print_import(f.answered);
    (void)fn_goes_on(&f, &exit);
    return exit;
}

/* ---- backups ----------------------------------------------------------------------------------- */

static int backups(int argc, char **argv, bool list, const char *usage)
{
    scoped_fn struct fn f = {0};
    const char *words[1] = {0};
    int exit;
    if (!fn_plain(&f, usage, argc, argv, words, 0, 0, &exit))
        return exit;
    if (list)
        json_pair_bool(&f.w, "list", true);
    if (!fn_call(&f, "backup_custom_functions", &exit) || !fn_goes_on(&f, &exit))
        return exit;
    struct str made = json_str(json_get(f.answered, "backup"));
    struct json_iter it = json_iter(json_get(f.answered, "backups"));
    if (made.n)
        printf("%.*s\n", SPELT_ARGS(made));
    while (list && json_next(&it))
        printf("%.*s  %lld functions%s\n",
               SPELT_ARGS(json_str(json_get(it.value, "backup"))),
               (long long)json_int(json_get(it.value, "functions"), 0),
               json_bool(json_get(it.value, "sound"), true) ? "" : " (damaged)");
    return EXIT_DONE;
}

int fn_backup(int argc, char **argv)
{
    return backups(
        argc, argv, false,
        "cloche fn backup [OPTIONS]\n\n"
        "Keeps a copy of all custom functions as they are now, and prints its name.\n"
        "The last ten are kept.");
}

int fn_backups(int argc, char **argv)
{
    return backups(argc, argv, true,
                   "cloche fn backups [OPTIONS]\n\n"
                   "The copies of all custom functions, the newest first.");
}

int fn_restore(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    const char *words[1] = {0};
    int exit;
    if (!fn_plain(
            &f,
            "cloche fn restore [BACKUP] [OPTIONS]\n\n"
            "Puts all custom functions back to a copy, the newest good one where none\n"
            "is named. What there is now is copied first.",
            argc, argv, words, 0, 1, &exit))
        return exit;
    if (words[0])
        json_pair_cstr(&f.w, "backup", words[0]);
    if (!fn_call(&f, "restore_custom_functions", &exit) || !fn_goes_on(&f, &exit))
        return exit;
    printf("restored from %.*s\n", SPELT_ARGS(json_str(json_get(f.answered, "backup"))));
    return EXIT_DONE;
}

/* ---- migrate -------------------------------------------------------------------------------------- */

int fn_migrate(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    const char *words[1] = {0};
    int exit;
    if (!fn_plain(
            &f,
            "cloche fn migrate [OPTIONS]\n\n"
            "Checks all custom functions again, against the API of this program, and\n"
            "tells which of them do not fit it any more. Exit 1 where there are some.",
            argc, argv, words, 0, 0, &exit))
        return exit;
    if (!fn_call(&f, "migrate_custom_functions", &exit))
        return exit;
    if (f.json || json_get(f.answered, "errorDetails")) {
        (void)fn_goes_on(&f, &exit);
        return exit;
    }
    struct json_iter it = json_iter(json_get(f.answered, "functions"));
    while (json_next(&it)) {
        printf("%.*s: %.*s\n", SPELT_ARGS(json_str(json_get(it.value, "name"))),
               SPELT_ARGS(json_str(json_get(it.value, "action"))));
        fn_print_findings("  error", json_get(it.value, "errors"), 0);
    }
    printf("%lld checked, %lld do not fit\n",
           (long long)json_int(json_get(f.answered, "checked"), 0),
           (long long)json_int(json_get(f.answered, "failed"), 0));
    return exit;
}
