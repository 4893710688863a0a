/* Commands that are made of others: their help, and which one is meant. */
#include "cli/subcommand.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/commands.h"
#include "json/json.h"

static int longer(int n, const char *text)
{
    int length = (int)strlen(text);
    return length > n ? length : n;
}

static int subcommands_print(const struct subcommands *s, int exit)
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

void subcommands_describe(const struct subcommand *rows, size_t count, const char *about)
{
    scoped_buf struct buf text = buf_of(BUF_LIST);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_cstr(&w, "about", about);
    json_key(&w, "commands");
    json_open_array(&w);
    for (size_t i = 0; i < count; i++) {
        json_open_object(&w);
        json_pair_cstr(&w, "name", rows[i].name);
        json_pair_cstr(&w, "words", rows[i].words);
        json_pair_cstr(&w, "help", rows[i].help);
        json_close(&w);
    }
    json_close(&w);
    json_close(&w);
    cli_put_line(buf_view(&text));
}

int subcommands_run(const struct subcommands *s, int argc, char **argv)
{
    const char *name = argc > 2 ? argv[2] : "";
    if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        return subcommands_print(s, EXIT_DONE);
    if (argc == 3 && options_describes(argc, argv)) {
        subcommands_describe(s->rows, s->count, s->about);
        return EXIT_DONE;
    }
    /* "cloche tool help run" is "cloche tool run --help". */
    char *help[] = {argv[0], argc > 3 ? argv[3] : NULL, (char[]){"--help"}, NULL};
    if (!strcmp(name, "help")) {
        for (size_t i = 0; i < s->count && argc > 3; i++)
            if (!strcmp(argv[3], s->rows[i].name))
                return s->rows[i].run(3, help);
        return subcommands_print(s, EXIT_DONE);
    }
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(name, s->rows[i].name))
            return s->rows[i].run(argc - 1, argv + 1);
    if (!*name)
        return subcommands_print(s, EXIT_WRONG);
    struct err e = {0};
    const char *names[SUBCOMMANDS_MAX];
    must(s->count <= LENGTH(names));
    for (size_t i = 0; i < s->count; i++)
        names[i] = s->rows[i].name;
    (void)cli_no_command(s->of, name, names, s->count, &e);
    return cli_fail(&e);
}

/* ---- verbs -------------------------------------------------------------- */

static bool is_named_in(const char *name, const char *text)
{
    const char *at = text ? strstr(text, name) : NULL;
    size_t n = strlen(name);
    while (at && at[n] && !strchr(" ,", at[n]))
        at = strstr(at + n, name);
    return at != NULL;
}

/* No option may be given that is another verb's alone. */
static bool check_options(const char *of, const struct verb *v, const struct verb *other,
                          const struct option_use *use, struct err *e)
{
    for (size_t i = 0; i < use->count; i++) {
        const struct option_row *row = &use->rows[i];
        if ((row->flag ? *row->flag : *row->value != NULL) &&
            is_named_in(row->name, other->only) && !is_named_in(row->name, v->only))
            return err_set(e, ERR_INVALID, "%s belong%s to cloche %s %s", other->only,
                           strchr(other->only, ' ') ? "" : "s", of, other->name);
    }
    return true;
}

bool verbs_run(const char *of, const struct verb *rows, size_t count,
               const struct option_use *use, void *command, struct err *e)
{
    const char *names[SUBCOMMANDS_MAX];
    const struct verb *v = use->given ? NULL : rows;
    must(count <= LENGTH(names));
    for (size_t i = 0; i < count; i++) {
        names[i] = rows[i].name;
        if (use->given && !strcmp(use->words[0], rows[i].name))
            v = &rows[i];
    }
    if (!v)
        return cli_no_command(of, use->words[0], names, count, e);
    for (size_t i = 0; i < count; i++)
        if (!check_options(of, v, &rows[i], use, e))
            return false;
    size_t words = use->given ? use->given - 1 : 0;
    if (words < v->least || words > v->most)
        return err_set(e, ERR_INVALID, "cloche %s %s is followed by %s", of, v->name,
                       v->takes ? v->takes : "no further argument");
    return v->run(command, e);
}

int verbs_command(const char *of, const struct verb *rows, size_t count,
                  struct option_use *use, void *command, int argc, char **argv)
{
    int exit;
    struct err e = {0};
    if (!options_begin(use, argc, argv, &exit))
        return exit;
    return verbs_run(of, rows, count, use, command, &e) ? EXIT_DONE : cli_fail(&e);
}
