/* cli/commands.h - the commands. Private to cli. */
#pragma once
#include <cloche.h>

#include "base/base.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_WRONG = 2 };

/* Each reads its own words from argv[2] on and answers the exit code. */
int command_eval(int argc, char **argv);
int command_connect(int argc, char **argv);
int command_reindex(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_api(int argc, char **argv);
int command_vault(int argc, char **argv);
int command_session(int argc, char **argv);
int command_token(int argc, char **argv);
int command_approvals(int argc, char **argv);
int command_callers(int argc, char **argv);
int command_audit(int argc, char **argv);
int command_policy(int argc, char **argv);
int command_tool(int argc, char **argv);
int command_fn(int argc, char **argv);
int command_vm(int argc, char **argv);
int command_search(int argc, char **argv);
int command_get(int argc, char **argv);
int command_ls(int argc, char **argv);
int command_new(int argc, char **argv);
int command_daily(int argc, char **argv);
int command_edit(int argc, char **argv);
int command_open(int argc, char **argv);
int command_mv(int argc, char **argv);
int command_rm(int argc, char **argv);
int command_links(int argc, char **argv);
int command_tags(int argc, char **argv);
int command_tasks(int argc, char **argv);
int command_log(int argc, char **argv);
int command_undo(int argc, char **argv);
int command_history(int argc, char **argv);
int command_restore(int argc, char **argv);
int command_trash(int argc, char **argv);
int command_service(int argc, char **argv);
struct cli_extras;
int command_mcp(int argc, char **argv, const struct cli_extras *extras);
int command_serve(int argc, char **argv, const struct cli_extras *extras);

#define VAULT_HELP "a folder of notes, instead of the registered vaults; may be repeated"
#define ROOT_HELP "code may make new vaults in there; may be repeated"

/* The vault that a command means: what --vault says, else the user's current one, else
 * NULL; the caller frees. */
char *cli_vault_path(const char *given);
struct guard;
struct ward;
/* A guard, and the ward of that vault or of none. NULL and *e. */
struct guard *cli_guard(const char *vault, struct ward **ward, struct err *e);

/* Strangers' text for printf, spelt out (str_spell()) and cut: `"%.*s", SPELT_ARGS(text)`. */
struct cli_text {
    char at[4096];
};
struct str cli_spelt(struct cli_text *t, struct str text);
#define SPELT_ARGS(text) STR_ARGS(cli_spelt(&(struct cli_text){{0}}, text))

/* Text as it stands, JSON for the most part, to standard output; a terminal gets what would
 * move its cursor, hide or turn there as JSON escapes (str_escape()). */
void cli_put(struct str text);
void cli_put_line(struct str text); /* and a line end */

/* Prints the error on stderr; returns its exit code. */
int cli_fail(const struct err *e);
/* There is no such command, of `of` ("tool", or NULL): ERR_INVALID says which one was meant,
 * or all. Answers false. */
bool cli_no_command(const char *of, const char *name, const char *const *names,
                    size_t count, struct err *e);
/* The same of a failure of the library. */
int cli_fail_library(const struct cloche_error *e);
/* The same where a vault could not be opened: one that is not there is a wrong call. */
int cli_fail_open(const struct cloche_error *e);

/* The library over these folders, or the user's vaults; lists end in NULL. */
SCOPED(cloche, cloche_close);
SCOPED(cloche_options, cloche_options_free);
SCOPED(cloche_error, cloche_error_free);
SCOPED(cloche_text, cloche_text_free);
SCOPED(cloche_caller, cloche_caller_free);
struct cloche_options *cli_options(const char *const *vaults, const char *const *roots);

/* Writes a result that was too large for its answer, if there is one, to a file in the
 * user's cache, and names it on stderr. */
void cli_keep_result(struct cloche *c, struct cloche_caller *who, struct str answer);

/* Prints what the action check_code finds with these arguments, JSON; the exit code: 1
 * where there is an error among it. `file` is named before each finding. */
int cli_check(struct cloche *c, const char *file, const char *arguments,
              struct cloche_caller *who, bool as_json);

/* A descriptor that becomes readable at SIGINT, SIGTERM or SIGHUP (unless that is ignored);
 * -1 and ERR_IO. Call
 * before any thread is made. */
int cli_stop_signal(struct err *e);

/* Types went unchecked because the checker of this checkout is not built: begins that in the
 * background, and says so (dev/checker-later). For what a person asked for alone. */
void cli_build_checker(void);
