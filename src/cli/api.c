/* cloche api: what code finds, for people and their tools. */
#include <stdio.h>

#include "actions/actions.h"
#include "cli/commands.h"
#include "cli/options.h"

#define WORDS_MAX 8
#define TEXT_MAX ((size_t)4 << 20)

static bool join(const char *const *words, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%s", i ? " " : "", words[i]);
    return !out->failed;
}

int command_api(int argc, char **argv)
{
    bool types = false, reference = false, help = false;
    const char *words[WORDS_MAX];
    const struct option_row rows[] = {
        {"--types", NULL, &types, NULL, "TypeScript declarations of everything"},
        {"--reference", NULL, &reference, NULL, "the reference page (docs/api.md)"},
        {"--help", NULL, &help, NULL, "this list"},
    };
    struct option_use use = {
        .usage =
            "cloche api [OPTIONS] [NAME | WORDS...]\n\n"
            "What code may call: all of it, one method or namespace, or what fits WORDS.",
        .rows = rows,
        .count = LENGTH(rows),
        .help = &help,
        .words = words,
        .max = WORDS_MAX,
    };
    int exit;
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    struct err e = {0};
    scoped_buf struct buf name;
    scoped_buf struct buf text;
    buf_init(&name, 4096);
    buf_init(&text, TEXT_MAX);
    enum actions_api what = types       ? ACTIONS_API_TYPES
                            : reference ? ACTIONS_API_REFERENCE
                                        : ACTIONS_API_WORDS;
    if (types + reference + (use.given > 0) > 1) {
        err_set(&e, ERR_INVALID, "give one of --types, --reference or a name");
        return cli_fail(&e);
    }
    if (!join(words, use.given, &name) || !actions_api(what, buf_view(&name), &text, &e))
        return cli_fail(&e);
    fwrite(text.at, 1, text.n, stdout);
    return fflush(stdout) != 0 ? EXIT_FAILED : EXIT_DONE;
}
