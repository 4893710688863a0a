/* tools_api/tooling.h - which tools there are, and how they are run: all ways end in
 * tooling_run(), which asks for permission, lays out the files, runs, puts what was changed
 * into the vault, accounts for it, and writes one answer. Private to the room. */
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
#include "record/record.h"
#include "tools/tools.h"
#include "json/json.h"

struct tool_call;
struct tool_list;

action_fn action_wasm;      /* tool_actions.c */
#define TOOL_PREFIX "wasm_" /* of a tool's name among the actions */

/* The enabled tool that `name` means in the vault of this number: its own name, or as
 * code may have to spell that ("clangFormat", "clang_format"). NULL and *e as
 * tool_find(). */
const struct tool *tooling_find(struct actions *a, unsigned vault, struct str name,
                                struct err *e);
/* The tools that are enabled there. false and *e. */
bool tooling_list(struct actions *a, unsigned vault, struct tool_list *out,
                  struct err *e);
void tooling_list_release(struct actions *a, struct tool_list *l);
/* Is it there for agents, as far as this policy goes (NULL: it is not)? */
bool tooling_offers(const struct policy *p, const struct tool *t);
/* The action "wasm_<name>" of an enabled tool of any vault; NULL. As long as the actions
 * live it is the same. */
const struct action *tooling_action(struct actions *a, struct str name);
/* The row behind such an action; NULL: it is none. */
const struct action_row *tooling_row(struct actions *a, const struct action *which);
/* What a client's list of tools shows of them; another number when there are others. */
extern const struct action_family tools_family;
uint64_t tooling_version(struct actions *a);
void *tooling_open(struct actions *a);
void tooling_close(void *own);
/* A run of a command-line tool is counted; all that were are told. */
void tooling_count(struct actions *a, const struct tool *tool, enum err_code outcome,
                   uint64_t ns);
void tooling_metrics(struct actions *a, struct buf *out);

/* One stage as it was asked for: a tool's name, and an object with its parameters and the
 * words below. */
struct tool_order {
    struct str name;
    const struct json *options; /* NULL: none */
};

/* Runs the stages, each one's standard output the next one's input, and writes the answer
 * (docs/tools.md). Options are what tools_run() and tool_call_read() read, and `arguments`,
 * an object with more parameters; of a pipeline `stdin`, `files` and `cwd` stand in
 * `shared` (NULL: it is none). *success: all ended with 0, or
 * with a code that the manifest calls an answer. false and *e: nothing has run, or what was changed in the
 * vault could not be kept (ERR_CONFLICT), and nothing was changed. */
bool tooling_run(const struct tool_call *c, const struct tool_order *orders, size_t count,
                 const struct json *shared, struct json_writer *out, bool *success,
                 struct err *e);
/* The stages of [{tool, ...options}, ...]; `out` has room for TOOL_STAGES_MAX. false and
 * ERR_INVALID. */
bool tooling_orders(const struct json *pipeline, struct tool_order *out, size_t *count,
                    struct err *e);
/* Its runs, in records of the audit. */
extern const struct account_list tools_record;
#define TOOL_VAULT "/vault" /* where a tool finds it */
/* As a pair list of an open object: name, version, description, category, parameters ...
 * `whole`: as much as there is; else as much as it takes to call it. */
void tooling_describe(const struct tool *t, bool whole, struct json_writer *out);
/* Members of an open object: `results`, those that fit the words, best first, at most
 * `max`; `more`, the names of others. Tools, and actions that are not listed. */
bool tooling_found(struct actions *a, const struct place *place, struct str words,
                   struct str category, size_t max, struct json_writer *out,
                   struct err *e);
/* Is this "tools.jq", which no row of the table of host calls is called? */
bool tooling_is_name(struct str name);
/* What api.describe tells of it, an object. ERR_NOT_FOUND. */
bool tooling_describe_call(struct actions *a, const struct place *place, struct str name,
                           struct json_writer *out, struct err *e);
/* TypeScript: the members of `tools`, one a tool beside this program. */
void tooling_write_types(struct buf *out);
extern const struct host_call_group tools_calls;
