/* tools_api/permission.h - may a command-line tool, or a command in a Linux machine, be
 * run? Source: docs/tools.md, "Permissions". Private to the room. */
#pragma once
#include "guard/guard.h"

struct actions;
struct granted;
struct tool;

/* What guard is told of a tool, where a call shows it all that it may see. */
struct permit_tool tool_facts(const struct tool *t);

#define GRANTED_MAX 1024u /* of all sessions; the oldest makes room */
struct granted *granted_new(void);
void granted_free(struct granted *g);
struct granted *tooling_granted(struct actions *a); /* that of all calls */

/* Threads: safe. `session`, `vault`: never NULL. `files`: it is shown files; what was
 * allowed without is not allowed with them. */
bool granted_has(struct granted *g, const char *session, const char *vault,
                 const struct tool *t, bool files);
void granted_add(struct granted *g, const char *session, const char *vault,
                 const struct tool *t, bool files);
