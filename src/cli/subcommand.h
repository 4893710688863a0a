/* cli/subcommand.h - commands that are made of others: `cloche tool list`. Private to cli. */
#pragma once
#include <stddef.h>

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

/* Runs the one that argv[2] names, or prints the help; the exit code. */
int subcommands_run(const struct subcommands *s, int argc, char **argv);
