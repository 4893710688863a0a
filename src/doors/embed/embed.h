/* embed/embed.h - the library: include/cloche.h, and what our own command line needs of
 * it besides.
 *
 * Joins actions, workspaces and the transports as an embedder finds them.
 * Threads: as include/cloche.h says.
 */
#pragma once
#include <cloche.h>

#include "actions/actions.h"
#include "base/base.h"
#include "mcp/mcp.h"
#include "workspaces/workspaces.h"

/* Tools, resources and prompts in our own words; borrowed until cloche_close(). */
void embed_options_extras(struct cloche_options *o, const struct action_extra *tools,
                          size_t tool_count, const struct workspaces_options *readable);

/* Folders that machines may mount besides those of the policy: "HOST:/GUEST[:ro|:overlay][:links]",
 * up to a NULL; borrowed until cloche_close(). What is wrong is told by the call that names it. */
void embed_options_mounts(struct cloche_options *o, const char *const *mounts);

/* For a program that ends after a question or two: vaults are not watched until they are used
 * a second time. */
void embed_options_brief(struct cloche_options *o);

/* The parts of one that is open, until it is closed. */
struct actions *embed_actions(struct cloche *c);
struct workspaces *embed_workspaces(struct cloche *c);
/* Made when first asked for. NULL and *e as mcp_open(). */
struct mcp *embed_mcp(struct cloche *c, struct err *e);

/* A failure in our own words; of none ERR_NONE. */
const struct err *embed_error(const struct cloche_error *e);
