/* cli/options.h - the command line's words, read from a table. Private to cli. */
#pragma once
#include "base/base.h"

#define OPTION_REPEAT 32u
#define OPTIONS_MAX 40u /* rows of one table */

/* An option: `--name VALUE` or `--name=VALUE`, or a bare `--name`; -h is --help. */
struct option_row {
    const char *name; /* "--vault", or "-e" */
    /* Where its value goes; NULL: it has none. Where `argument` ends with "..." it may
     * be given up to OPTION_REPEAT times: room for one more, so that NULL ends them. */
    const char **value;
    bool *flag;           /* where its being there goes; NULL: it has a value */
    const char *argument; /* for help: "DIR" */
    const char *help;
};

/* Rows of a table. */
#define OPTION_VALUE(name_, value_, argument_, help_) \
    {.name = name_, .value = value_, .argument = argument_, .help = help_}
#define OPTION_FLAG(name_, flag_, help_) {.name = name_, .flag = flag_, .help = help_}

/* Reads `argv` from `*at` on; what is no option is collected in `words`, `max` at
 * most. "--" ends the options. false and ERR_INVALID, with what is accepted. */
bool options_read(const struct option_row *rows, size_t count, int argc, char **argv,
                  int at, const char **words, size_t max, size_t *word_count,
                  struct err *e);
/* Where what is another program's begins, from argv[2] on: behind "--", or with the first
 * word that is no option of ours; argc: nowhere. */
int options_first_word(const struct option_row *rows, size_t count, int argc,
                       char **argv);
/* A whole number within bounds; false and ERR_INVALID names the option. */
bool options_number(const char *name, const char *text, long long min, long long max,
                    long long *out, struct err *e);

/* The last word, for dev/manual: help as JSON, of which man pages and completions are made. */
#define OPTION_DESCRIBE "--describe"
bool options_describes(int argc, char **argv);

/* A command's first step: reads its own words and, where --help is
 * among them, prints `usage` and the options; where the last is OPTION_DESCRIBE, the same as
 * {usage, options: [{name, argument?, help}]}. true: the command goes on; false: it
 * ends with `*exit`. */
struct option_use {
    const char *usage; /* "cloche eval [OPTIONS] FILE\n\nWhat it does." */
    const struct option_row *rows;
    size_t count;
    const bool *help;   /* the flag of --help among the rows */
    const char **words; /* room for `max` words that are no options */
    size_t max, given;
    bool pages; /* its output may be long: see pager.h */
};
/* Initialisers of an option_use: its table with the flag of --help, its words. */
#define OPTION_ROWS(table, flag) .rows = table, .count = LENGTH(table), .help = flag
#define OPTION_WORDS(array) .words = array, .max = LENGTH(array)
bool options_begin(struct option_use *use, int argc, char **argv, int *exit);
