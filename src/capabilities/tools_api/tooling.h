/* tools_api/tooling.h - the list of tools, and how they are run: every interface calls
 * tooling_run(), which checks permission, lays out the files, runs the tools, writes
 * changes to the vault, records them, and writes one answer. Private to the room. */
#pragma once
#include "api/api.h"
#include "calls/calls.h"
#include "capability/capability.h"
#include "catalogue/catalogue.h"
#include "crypto/crypto.h"
#include "evaluation/evaluation.h"
#include "guard/guard.h"
#include "permits/permits.h"
#include "place/place.h"
#include "programs/programs.h"
#include "record/record.h"
#include "tools/tools.h"
#include "json/json.h"

struct catalogue;
struct tool_list;

bool tools_installed(struct actions *a);
/* Opened at first use. NULL and *e: there are no guests. */
struct catalogue *actions_catalogue(struct actions *a, struct err *e);

action_fn action_wasm;      /* tool_actions.c */
#define TOOL_PREFIX "wasm_" /* before a tool's name, in its action's name */

/* The enabled tool of this name in the vault of this number: its own name, or the
 * spelling that code uses ("clangFormat", "clang_format"). NULL and *e as tool_find(). */
const struct tool *tooling_find(struct actions *a, unsigned vault, struct str name,
                                struct err *e);
/* The tools that are enabled there. false and *e. */
bool tooling_list(struct actions *a, unsigned vault, struct tool_list *out,
                  struct err *e);
void tooling_list_release(struct actions *a, struct tool_list *l);
/* Whether this policy offers it to agents (NULL: no). */
bool tooling_offers(const struct policy *p, const struct tool *t);
/* The action "wasm_<name>" of a tool that is enabled in any vault, always the same
 * pointer; NULL: none. */
const struct action *tooling_action(struct actions *a, struct str name);
/* The row of such an action; NULL: another kind of action. */
const struct action_row *tooling_row(struct actions *a, const struct action *which);
/* Their part of a client's list of tools, and a number that changes with it. */
extern const struct action_family tools_family;
uint64_t tooling_version(struct actions *a);
void *tooling_open(struct actions *a);
void tooling_close(void *own);
/* Counts a run of a command-line tool; writes those counters. */
void tooling_count(struct actions *a, const struct tool *tool, enum err_code outcome,
                   uint64_t ns);
void tooling_metrics(struct actions *a, struct buf *out);

/* One stage: the tool's name, and an object with its parameters and the options below. */
struct tool_order {
    struct str name;
    const struct json *options; /* NULL: none */
    bool
        in_machine; /* no tool: a command that struct tool_runner reads from the options */
};

/* Runs the stages, each one's standard output as the next one's input, and writes the
 * answer (docs/tools.md). Options are those of tools_run() and tool_call_read(), and
 * `arguments`, an object with more parameters; a pipeline has `stdin`, `files` and `cwd`
 * in `shared` (NULL: no pipeline). *success: all exited with 0, or with a code that the
 * manifest allows. false and *e: nothing ran, or the changes could not be written to the
 * vault (ERR_CONFLICT), and nothing was changed. */
bool tooling_run(const struct tool_call *c, const struct tool_order *orders, size_t count,
                 const struct json *shared, struct json_writer *out, bool *success,
                 struct err *e);
/* The stages of [{tool, ...options}, ...], of which some may be commands in the caller's
 * machine instead (struct tool_runner); `out` has room for TOOL_STAGES_MAX. false and
 * ERR_INVALID. */
bool tooling_orders(const struct json *pipeline, struct tool_order *out, size_t *count,
                    struct err *e);
/* The answer of tools.list() in code, or, of one tool, of tools.describe(). */
bool actions_tools(struct actions *a, const struct caller *who, struct str name,
                   struct buf *out, struct err *e);
/* Runs of tools, in audit records. */
extern const struct account_list tools_record;
/* Writes members of an open object: name, version, description, category, parameters ...
 * `whole`: all of them; else those that a call needs. */
void tooling_describe(const struct tool *t, bool whole, struct json_writer *out);
/* Members of an open object: `results`, those that match the words, best first, at most
 * `max`; `more`, the names of others. Tools, and actions that are not listed. */
bool tooling_found(struct actions *a, const struct place *place, struct str words,
                   struct str category, size_t max, struct json_writer *out,
                   struct err *e);
/* Whether the name is that of a tool in code ("tools.jq") and of no row. */
bool tooling_is_name(struct str name);
/* api.describe of such a name, an object. ERR_NOT_FOUND. */
bool tooling_describe_call(struct actions *a, const struct place *place, struct str name,
                           struct json_writer *out, struct err *e);
/* TypeScript: the members of `tools`, one for each tool of this installation. */
void tooling_write_types(struct buf *out);
capability_meant_fn tooling_meant; /* tool_meant.c */
extern const struct host_call_group tools_calls;
extern const struct route_group tool_routes;
