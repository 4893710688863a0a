/* cli/fn.h - the subcommands of `cloche fn`. Private to cli. */
#pragma once
#include "cli/commands.h"
#include "json/json.h"

/* A person's call of an action, and its answer. */
struct fn {
    const char *vaults[2];
    bool json, help;
    struct arena *arena;
    struct buf text; /* the arguments, while they are put together */
    struct json_writer w;
    struct str answer;           /* as it came */
    const struct json *answered; /* NULL: the call failed, and that was said */
    bool failed;                 /* it was not done: success is false */
    unsigned first_line;         /* of the file, before the code that the call is about */
    struct cloche_text *held;
};
void fn_begin(struct fn *f);
void fn_done(struct fn *f);
#define scoped_fn __attribute__((cleanup(fn_done)))
/* Calls it with what was put into `w`. false: that failed, and *exit says how. */
bool fn_call(struct fn *f, const char *action, int *exit);
/* After fn_call(): prints the answer as it is where that was asked for, or what was wrong;
 * false: nothing more is to be printed, and *exit says how it ends. */
bool fn_goes_on(struct fn *f, int *exit);
/* A stranger's text, with nothing in it that could move a terminal's cursor. */
void fn_print(struct str text);
/* `before`: lines of the file that stand before the code. */
void fn_print_findings(const char *kind, const struct json *list, unsigned before);
void fn_print_tests(const struct json *tests);
/* Why a change is a breaking one, and whom it breaks; nothing where it is none. */
void fn_print_breaking(const struct json *answer);

/* Each reads its own words from argv[2] on (argv[1] is its name). */
int fn_list(int argc, char **argv);
int fn_show(int argc, char **argv);
int fn_versions(int argc, char **argv);
int fn_diff(int argc, char **argv);
int fn_stats(int argc, char **argv);
int fn_templates(int argc, char **argv);
int fn_add(int argc, char **argv);
int fn_update(int argc, char **argv);
int fn_new(int argc, char **argv);
int fn_validate(int argc, char **argv);
int fn_test(int argc, char **argv);
int fn_delete(int argc, char **argv);
int fn_duplicate(int argc, char **argv);
int fn_rollback(int argc, char **argv);
int fn_export(int argc, char **argv);
int fn_import(int argc, char **argv);
int fn_backup(int argc, char **argv);
int fn_backups(int argc, char **argv);
int fn_restore(int argc, char **argv);
int fn_migrate(int argc, char **argv);

/* The options that all have, for the table of one's own. */
#define FN_OPTIONS(f)                                                        \
    {"--vault", (f).vaults, NULL, "DIR",                                     \
     "a folder of notes, instead of your current vault"},                    \
        {"--json", NULL, &(f).json, NULL, "print the whole answer as JSON"}, \
        {"--help", NULL, &(f).help, NULL, "this list"}
/* Reads the words and options of one; false: it ends with *exit. `least`: words it needs. */
struct option_row;
bool fn_options(struct fn *f, const char *usage, const struct option_row *rows,
                size_t count, int argc, char **argv, const char **words, size_t least,
                size_t most, int *exit);
/* The same where there are no options but those, and begins the arguments. */
bool fn_plain(struct fn *f, const char *usage, int argc, char **argv, const char **words,
              size_t least, size_t most, int *exit);
/* A number of an option or word into the arguments, where it is given. */
bool fn_put_number(struct fn *f, const char *key, const char *text, int *exit);
/* The same, where less than 1 is a number, too. */
bool fn_put_from(struct fn *f, const char *key, const char *text, long long least,
                 int *exit);
/* Writes a file of the person's, or prints it where `path` is NULL. */
bool fn_write_out(const char *path, struct str text, struct err *e);
