/* cli/tool.h - the subcommands of `cloche tool`. Private to cli. */
#pragma once
#include "catalogue/catalogue.h"

/* Each reads its own words from argv[2] on (argv[1] is its name) and answers the exit
 * code. */
int tool_run(int argc, char **argv);
int tool_permit(int argc, char **argv);
int tool_listed(int argc, char **argv); /* list */
int tool_shown(int argc, char **argv);  /* show */
int tool_kept(int argc, char **argv);   /* install, update, remove, enable ... */
int tool_signed(int argc, char **argv); /* sign */
int tool_trusts(int argc, char **argv); /* trust */

/* The engine and the tools beside the program, for one command. */
struct toolbox {
    char *guest_dir, *ahead;
    struct engine *engine;
    struct catalogue *catalogue;
};
bool toolbox_open(struct toolbox *t, struct err *e);
/* Is there a vault of that id (NULL: none is meant): registered, or one that a tool is
 * installed for? A misspelt one would be a tool that nobody has. false and ERR_INVALID. */
bool tool_vault_known(struct toolbox *t, const char *vault, bool unregistered,
                      struct err *e);
#define UNREGISTERED_HELP "the vault is in no list: its id is the name of its folder"
/* Says on stderr how long a module has been compiled already. */
extern const struct tool_watch tool_progress;
void toolbox_close(struct toolbox *t);
#define scoped_toolbox __attribute__((cleanup(toolbox_close)))

/* Reads a person's file whole, "-" from standard input. ERR_LIMIT, named after `what`. */
bool tool_read_file(const char *path, const char *what, struct buf *out, struct err *e);
/* In the user's own trail, on the disk when it returns: what was done with `t`. `vault`,
 * `sha256`: NULL is none. */
bool tool_record(const char *event, const struct tool *t, const char *vault,
                 const char *sha256, struct err *e);
/* A stranger's words, a line each, behind `head`, to stderr. */
void tool_print_notes(const char *head, const struct buf *lines);
