/* cli/ask.h - requests of the REST interface to the vault that a command means, by the person
 * at the terminal. Private to cli.
 */
#pragma once
#include "cli/commands.h"
#include "cli/options.h"
#include "json/json.h"

#define ASK_WORDS_MAX 32u
#define ASK_TEXT_MAX (32u << 20) /* bytes of a note that a command writes */

struct asking {
    struct cloche *c;
    struct cloche_caller *who;
    struct arena *arena;
    char base[300];            /* "/workspaces/ID" */
    struct str body;           /* of the last answer; the arena's */
    const struct json *answer; /* the same, read */
    /* Options and words that such commands share. */
    const char *vault, *limit, *words[ASK_WORDS_MAX];
    bool json, help;
    bool brief; /* it looks once and ends: embed_options_brief() */
    int exit;   /* the command's exit code where it does not fail; 0 at the start */
};

/* Rows of a command's options that are members of `a`, a struct asking. */
#define ASK_VAULT(a) OPTION_VALUE("--vault", &(a).vault, "DIR", "the folder of notes")
#define ASK_LIMIT(a) OPTION_VALUE("--limit", &(a).limit, "N", "rows at most")
#define ASK_JSON(a) OPTION_FLAG("--json", &(a).json, "print JSON")
#define ASK_HELP(a) OPTION_FLAG("--help", &(a).help, "this list")

/* Runs a command: reads its options (`use` without words and help, which are a's), opens the
 * vault, calls run(command), where `a` is a member of `command`. The exit code; an error is
 * printed. */
int asking_run(struct asking *a, struct option_use *use,
               bool (*run)(void *command, struct err *e), void *command, int argc,
               char **argv);

/* Evaluates a program of the API over the vault, which sees the JSON `context` (an object) as
 * variables; its result is a->answer, its failure *e. One call of the log, whatever it did. */
bool asking_evaluate(struct asking *a, const char *code, const char *context,
                     struct err *e);
/* `path` stands behind the workspace's. `body` may be NULL; "*" is If-Match for a POST without
 * one. false and *e: its problem. */
bool asking_ask(struct asking *a, const char *method, const char *path, const char *body,
                struct err *e);
/* GET with ?limit=, that of --limit or else `limit`. */
bool asking_list(struct asking *a, struct buf *path, const char *limit, struct err *e);
/* Appends "?name=" or "&name=" and the value, escaped; nothing where it is NULL. */
void asking_put(struct buf *path, const char *name, const char *value);
/* Appends the path of the note that the first word names, and `rest`. false and ERR_INVALID:
 * there is no word. */
bool asking_put_note(const struct asking *a, struct buf *path, const char *rest,
                     struct err *e);
/* Prints the last answer where --json is given; false: it is not. */
bool asking_print_json(const struct asking *a);

/* "2026-11-21 06:16", in the person's time zone; what is no time stays as it is. */
#define ASK_TIME 40u
const char *ask_time(struct str utc, char out[static ASK_TIME]);
bool ask_is_terminal(void); /* does standard output go to one? */
/* Prints a unified diff; coloured where a terminal wants that (NO_COLOR). */
void ask_print_diff(struct str diff);
