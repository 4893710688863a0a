/* programs/internal.h - may a command-line tool be run, and what was allowed for a session.
 * Private to the room. */
#pragma once
#include "guard/guard.h"
#include "programs/programs.h"

/* What a call that shows files, or none, lets a tool do with them. */
struct tool_files {
    bool reads, writes;
} tool_files(const struct tool *t, bool sees);
/* The permission for it, for any caller; *from ("default", "user", "vault"; NULL is fine)
 * said so. */
enum permission tool_permission(const struct policy *p, const struct tool *t, bool sees,
                                const char **from);

/* Is a person asked for the machine that the tool is a command of, whatever is said of the
 * tool itself? */
bool tool_asks_for_machine(const struct policy *p, const struct tool *t);

#define GRANTED_MAX 1024u /* of all sessions; the oldest is evicted */
/* Permissions granted for a session. Threads: safe. `session`, `vault`: never NULL.
 * `files`: the tool is shown files; a grant without files does not cover it. */
bool granted_has(struct granted *g, const char *session, const char *vault,
                 const struct tool *t, bool files);
void granted_add(struct granted *g, const char *session, const char *vault,
                 const struct tool *t, bool files);
