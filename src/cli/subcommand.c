/* Commands that are made of others: their help, and which one is meant. */
#include "cli/subcommand.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/commands.h"

static int longer(int n, const char *text)
{
    int length = (int)strlen(text);
    return length > n ? length : n;
}

static int print_help(const struct subcommands *s, int exit)
{
    FILE *to = exit ? stderr : stdout;
    int name = 0, words = 0;
    for (size_t i = 0; i < s->count; i++) {
        name = longer(name, s->rows[i].name);
        words = longer(words, s->rows[i].words);
    }
    fprintf(to, "usage: cloche %s COMMAND [OPTIONS]\n\n%s\n\n", s->of, s->about);
    for (size_t i = 0; i < s->count; i++)
        fprintf(to, "  %-*s %-*s %s\n", name + 1, s->rows[i].name, words + 1,
                s->rows[i].words, s->rows[i].help);
    fprintf(to, "\n  cloche %s COMMAND --help    says more%s\n", s->of, s->note);
    return exit;
}

int subcommands_run(const struct subcommands *s, int argc, char **argv)
{
    const char *name = argc > 2 ? argv[2] : "";
    if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        return print_help(s, EXIT_DONE);
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(name, s->rows[i].name))
            return s->rows[i].run(argc - 1, argv + 1);
    if (!*name)
        return print_help(s, EXIT_WRONG);
    scoped_buf struct buf known;
    buf_init(&known, 300);
    for (size_t i = 0; i < s->count; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", s->rows[i].name);
    struct err e = {0};
    err_set(&e, ERR_INVALID, "there is no 'cloche %s %.60s'; known here: %s", s->of, name,
            buf_cz(&known));
    return cli_fail(&e);
}
