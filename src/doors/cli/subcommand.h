/* cli/subcommand.h - commands that are made of others: `cloche tool list`, each with options
 * and help of its own; and those that share one page of help: `cloche token list`. Private to
 * cli. */
#pragma once
#include "cli/options.h"

#define SUBCOMMANDS_MAX 24u

struct subcommand {
    const char *name, *words, *help; /* "show", "NAME [--json]", what it does */
    /* Reads its own words from argv[2] on (argv[1] is its name). */
    int (*run)(int argc, char **argv);
};
struct subcommands {
    const char *of;    /* "tool" */
    const char *about; /* a sentence or two, of the help */
    const char *note;  /* behind "cloche tool COMMAND --help    says more" */
    const struct subcommand *rows;
    size_t count;
};

/* Prints {commands: [{name, words, help}]} with what else is given, for dev/manual. */
void subcommands_describe(const struct subcommand *rows, size_t count, const char *about);
/* Runs the one that argv[2] names, or prints the help; the exit code. */
int subcommands_run(const struct subcommands *s, int argc, char **argv);

/* A verb of a command, whose verbs share one list of options. */
struct verb {
    const char *name,
        *takes;         /* "create", "a NAME": what stands behind it; NULL: nothing */
    size_t least, most; /* how many words that are */
    const char *only;   /* "--scope and --level": options for it alone; NULL: none */
    bool (*run)(void *command, struct err *e);
};
/* Runs the verb that use->words[0] names; the first of them where there is no word. false
 * and *e: ERR_INVALID, or what it failed with. */
bool verbs_run(const char *of, const struct verb *rows, size_t count,
               const struct option_use *use, void *command, struct err *e);
/* The same for a command that needs nothing before: it also reads the options. The exit code. */
int verbs_command(const char *of, const struct verb *rows, size_t count,
                  struct option_use *use, void *command, int argc, char **argv);
