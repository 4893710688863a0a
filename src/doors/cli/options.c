#include "cli/options.h"

#include <errno.h>
#include <stdio.h>

#include "cli/commands.h"
#include "json/json.h"

static const struct option_row *option_find(const struct option_row *rows, size_t count,
                                            const char *word)
{
    const char *equals = strchr(word, '=');
    struct str name = {word, equals ? (size_t)(equals - word) : strlen(word)};
    if (str_is(name, "-h"))
        name = STR("--help");
    for (size_t i = 0; i < count; i++)
        if (str_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}

static bool refuse_unknown(const struct option_row *rows, size_t count, const char *word,
                           struct err *e)
{
    const char *names[OPTIONS_MAX];
    scoped_buf struct buf known = buf_of(BUF_LINE);
    must(count <= LENGTH(names));
    for (size_t i = 0; i < count; i++) {
        names[i] = rows[i].name;
        buf_printf(&known, "%s%s", i ? " " : "", rows[i].name);
    }
    struct str given = {word, strcspn(word, "=")};
    const char *near = given.n > 2 ? str_nearest(given, names, count) : NULL;
    if (near)
        return err_set(e, ERR_INVALID, "unknown option '%.60s'; did you mean %s?", word,
                       near);
    return err_set(e, ERR_INVALID, "unknown option '%.60s'; options: %s", word,
                   buf_cz(&known));
}

/* `next` may be another option: then the value was forgotten, unless it stands behind '='. */
static bool take_option(const struct option_row *row, const struct option_row *next,
                        int argc, char **argv, int *i, struct err *e)
{
    const char *equals = strchr(argv[*i], '=');
    if (row->flag) {
        *row->flag = true;
        return !equals || err_set(e, ERR_INVALID, "%s takes no value", row->name);
    }
    size_t given = 0, max = str_ends(str_of(row->argument), "...") ? OPTION_REPEAT : 1;
    while (given < max && row->value[given])
        given++;
    if (given == max)
        return err_set(e, ERR_INVALID,
                       max == 1 ? "%s is given twice" : "%s is given too often",
                       row->name);
    bool forgotten = *i + 1 == argc || (next && !strcmp(next->name, argv[*i + 1]));
    if (!equals && forgotten)
        return err_set(e, ERR_INVALID, "%s needs a value: %s", row->name, row->argument);
    row->value[given] = equals ? equals + 1 : argv[++*i];
    return true;
}

bool options_read(const struct option_row *rows, size_t count, int argc, char **argv,
                  int at, const char **words, size_t max, size_t *word_count,
                  struct err *e)
{
    bool options = true;
    *word_count = 0;
    for (int i = at; i < argc; i++) {
        const char *word = argv[i];
        if (options && !strcmp(word, "--")) {
            options = false;
        } else if (options && word[0] == '-' && word[1]) {
            const struct option_row *row = option_find(rows, count, word);
            if (!row)
                return refuse_unknown(rows, count, word, e);
            const struct option_row *next =
                i + 1 < argc ? option_find(rows, count, argv[i + 1]) : NULL;
            if (!take_option(row, next, argc, argv, &i, e))
                return false;
        } else if (*word_count == max) {
            return err_set(e, ERR_INVALID, "unexpected argument '%.60s'", word);
        } else {
            words[(*word_count)++] = word;
        }
    }
    return true;
}

int options_first_word(const struct option_row *rows, size_t count, int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--"))
            return i + 1;
        if (argv[i][0] != '-')
            return i;
        for (size_t k = 0; k < count; k++)
            if (!strcmp(argv[i], rows[k].name) && !rows[k].flag)
                i++;
    }
    return argc;
}

bool options_number(const char *name, const char *text, long long min, long long max,
                    long long *out, struct err *e)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (end != text && !*end && errno == 0 && *out >= min && *out <= max)
        return true;
    return err_set(e, ERR_INVALID,
                   "%s is '%.40s'; a whole number from %lld to %lld is accepted", name,
                   text, min, max);
}

static void options_print(const struct option_use *use)
{
    printf("usage: %s\n\n", use->usage);
    for (size_t i = 0; i < use->count; i++) {
        const struct option_row *row = &use->rows[i];
        char left[40];
        (void)snprintf(left, sizeof left, "%s %s", row->name,
                       row->argument ? row->argument : "");
        printf("  %-26s %s\n", left, row->help);
    }
}

bool options_describes(int argc, char **argv)
{
    return argc > 1 && !strcmp(argv[argc - 1], OPTION_DESCRIBE);
}

static void describe(const struct option_use *use)
{
    scoped_buf struct buf text = buf_of(BUF_LIST);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_cstr(&w, "usage", use->usage);
    json_key(&w, "options");
    json_open_array(&w);
    for (size_t i = 0; i < use->count; i++) {
        json_open_object(&w);
        json_pair_cstr(&w, "name", use->rows[i].name);
        if (use->rows[i].argument)
            json_pair_cstr(&w, "argument", use->rows[i].argument);
        json_pair_cstr(&w, "help", use->rows[i].help);
        json_close(&w);
    }
    json_close(&w);
    json_close(&w);
    cli_put_line(buf_view(&text));
}

bool options_begin(struct option_use *use, int argc, char **argv, int *exit)
{
    struct err e = {0};
    if (options_describes(argc, argv)) {
        describe(use);
        *exit = EXIT_DONE;
        return false;
    }
    if (!options_read(use->rows, use->count, argc, argv, 2, use->words, use->max,
                      &use->given, &e)) {
        *exit = cli_fail(&e);
        return false;
    }
    if (*use->help) {
        options_print(use);
        *exit = EXIT_DONE;
    }
    return !*use->help;
}
