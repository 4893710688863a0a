/* cloche fn list, show, versions, diff. */
#include <stdio.h>

#include "cli/fn.h"
#include "cli/fn_source.h"
#include "cli/options.h"

#define WORDS_MAX 16u

/* ---- list ------------------------------------------------------------------------------- */

static void functions_print(const struct json *rows)
{
    struct json_iter it = json_iter(rows);
    while (json_next(&it)) {
        const struct json *meta = json_get(it.value, "metadata");
        printf("%-28.*s v%-3lld %-5.*s %6lld calls  ",
               SPELT_ARGS(json_str(json_get(it.value, "name"))),
               (long long)json_int(json_get(meta, "version"), 0),
               SPELT_ARGS(json_str(json_get(meta, "createdBy"))),
               (long long)json_int(json_get(meta, "usageCount"), 0));
        fn_print(str_cut(json_str(json_get(it.value, "description")), 100));
        putchar('\n');
    }
}

static void put_query(struct fn *f, const char *const *words)
{
    scoped_buf struct buf query = buf_of(BUF_TEXT);
    for (size_t i = 0; i < WORDS_MAX && words[i]; i++)
        buf_printf(&query, "%s%s", i ? " " : "", words[i]);
    if (query.n)
        json_pair_str(&f->w, "query", buf_view(&query));
}

static void put_strings(struct fn *f, const char *key, const char *const *list)
{
    if (!list[0])
        return;
    json_key(&f->w, key);
    json_open_array(&f->w);
    while (*list)
        json_put_cstr(&f->w, *list++);
    json_close(&f->w);
}

int fn_list(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    const char *words[WORDS_MAX + 1] = {0}, *tags[OPTION_REPEAT + 1] = {0};
    const char *by = NULL, *sort = NULL, *limit = NULL, *cursor = NULL, *order = NULL;
    const char *least = NULL, *most = NULL, *since = NULL, *idle = NULL;
    const struct option_row rows[] = {
        OPTION_VALUE("--tag", tags, "TAG...", "only those that have it; may be repeated"),
        OPTION_VALUE("--by", &by, "agent|user", "who registered it"),
        OPTION_VALUE(
            "--sort", &sort, "HOW",
            "name (else the greatest first), createdAt, updatedAt, usageCount, lastUsed"),
        OPTION_VALUE("--order", &order, "asc|desc", "the other way round"),
        OPTION_VALUE("--min-usage", &least, "N", "called so often at least"),
        OPTION_VALUE("--max-usage", &most, "N", "called so often at most; 0: never"),
        OPTION_VALUE("--used-since", &since, "DATE", "called since then"),
        OPTION_VALUE("--unused-since", &idle, "DATE", "not called since then"),
        OPTION_VALUE("--limit", &limit, "N", "rows (1000)"),
        OPTION_VALUE("--cursor", &cursor, "NAME", "continue after this one"),
        FN_OPTIONS(f),
    };
    int exit;
    if (!fn_options(
            &f,
            "cloche fn list [WORDS...] [OPTIONS]\n\nLists the custom functions of a "
            "vault; with words, those that have the words\nin their name, description "
            "or tags.",
            rows, LENGTH(rows), argc, argv, words, 0, WORDS_MAX, &exit))
        return exit;
    fn_begin(&f);
    put_query(&f, words);
    put_strings(&f, "tags", tags);
    if (by)
        json_pair_cstr(&f.w, "createdBy", by);
    const struct {
        const char *key, *value;
    } texts[] = {{"sort", sort},
                 {"order", order},
                 {"usedSince", since},
                 {"unusedSince", idle},
                 {"cursor", cursor}};
    for (size_t i = 0; i < LENGTH(texts); i++)
        if (texts[i].value)
            json_pair_cstr(&f.w, texts[i].key, texts[i].value);
    if (!fn_put_from(&f, "minUsage", least, 0, &exit) ||
        !fn_put_from(&f, "maxUsage", most, 0, &exit) ||
        !fn_put_number(&f, "limit", limit ? limit : "1000", &exit) ||
        !fn_call(&f, "list_custom_functions", &exit) || !fn_goes_on(&f, &exit))
        return exit;
    functions_print(json_get(f.answered, "functions"));
    struct str next = json_str(json_get(f.answered, "nextCursor"));
    if (next.n)
        printf("... and more: --cursor %.*s\n", SPELT_ARGS(next));
    return EXIT_DONE;
}

/* ---- show ---------------------------------------------------------------------------------- */

static void print_function(const struct json *answer)
{
    const struct json *fn = json_get(answer, "function");
    const struct json *meta = json_get(fn, "metadata");
    fn_print(json_str(json_get(answer, "signature")));
    printf("\n    ");
    fn_print(json_str(json_get(fn, "description")));
    struct json_iter it = json_iter(json_get(fn, "parameters"));
    while (json_next(&it)) {
        struct str about = json_str(json_get(it.value, "description"));
        printf("\n    %.*s%s", SPELT_ARGS(it.key), about.n ? ": " : "");
        fn_print(about);
    }
    printf("\n    version %lld, by %.*s, of %.*s; %lld calls\n    for example: ",
           (long long)json_int(json_get(meta, "version"), 0),
           SPELT_ARGS(json_str(json_get(meta, "createdBy"))),
           SPELT_ARGS(json_str(json_get(meta, "updatedAt"))),
           (long long)json_int(json_get(meta, "usageCount"), 0));
    fn_print(json_str(json_get(answer, "usage")));
    printf("\n\n");
    cli_put_line(json_str(json_get(fn, "code")));
}

int fn_show(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    const char *words[1] = {0}, *version = NULL, *output = NULL;
    bool source = false;
    const struct option_row rows[] = {
        OPTION_VALUE("--version", &version, "N", "that version"),
        OPTION_FLAG("--source", &source, "as a file that 'cloche fn add' takes"),
        OPTION_VALUE("--output", &output, "FILE", "with --source: write it there"),
        FN_OPTIONS(f),
    };
    int exit;
    if (!fn_options(&f, "cloche fn show NAME [OPTIONS]\n\nOne custom function.", rows,
                    LENGTH(rows), argc, argv, words, 1, 1, &exit))
        return exit;
    fn_begin(&f);
    json_pair_cstr(&f.w, "name", words[0]);
    if (!fn_put_number(&f, "version", version, &exit) ||
        !fn_call(&f, "get_custom_function", &exit) || !fn_goes_on(&f, &exit))
        return exit;
    if (!source && !output) {
        print_function(f.answered);
        return EXIT_DONE;
    }
    struct err e = {0};
    scoped_buf struct buf text = buf_of((size_t)4 << 20);
    fn_source_write(json_get(f.answered, "function"), &text);
    bool ok =
        buf_check(&text, "the file", &e) && fn_write_out(output, buf_view(&text), &e);
    return ok ? EXIT_DONE : cli_fail(&e);
}

/* ---- versions -------------------------------------------------------------------------------- */

int fn_versions(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    const char *words[1] = {0};
    int exit;
    if (!fn_plain(&f,
                  "cloche fn versions NAME [OPTIONS]\n\n"
                  "All versions of a custom function, the newest first.",
                  argc, argv, words, 1, 1, &exit))
        return exit;
    json_pair_cstr(&f.w, "name", words[0]);
    if (!fn_call(&f, "custom_function_versions", &exit) || !fn_goes_on(&f, &exit))
        return exit;
    struct json_iter it = json_iter(json_get(f.answered, "versions"));
    while (json_next(&it)) {
        printf("%c v%-4lld %.*s  ",
               json_bool(json_get(it.value, "current"), false) ? '*' : ' ',
               (long long)json_int(json_get(it.value, "version"), 0),
               SPELT_ARGS(json_str(json_get(it.value, "at"))));
        fn_print(json_str(json_get(it.value, "action")));
        fputs(" by ", stdout);
        fn_print(json_str(json_get(it.value, "by")));
        struct str note = json_str(json_get(it.value, "note"));
        fputs(note.n ? ": " : "", stdout);
        fn_print(note);
        putchar('\n');
    }
    return EXIT_DONE;
}

int fn_diff(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    const char *words[3] = {0};
    int exit;
    if (!fn_plain(&f,
                  "cloche fn diff NAME FROM [TO] [OPTIONS]\n\n"
                  "What changed between two versions; without TO, until now.",
                  argc, argv, words, 2, 3, &exit))
        return exit;
    json_pair_cstr(&f.w, "name", words[0]);
    if (!fn_put_number(&f, "from", words[1], &exit) ||
        !fn_put_number(&f, "to", words[2], &exit) ||
        !fn_call(&f, "custom_function_versions", &exit) || !fn_goes_on(&f, &exit))
        return exit;
    cli_put_line(json_str(json_get(json_get(f.answered, "diff"), "diff")));
    return EXIT_DONE;
}
