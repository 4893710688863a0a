/* mcp/mirror.h - parameters of tools that clients repeat in headers, for those on the way
 * who look at no bodies: `x-mcp-header` in a tool's schema, Mcp-Param-* in a request.
 *
 * Header and body have to agree, else an intermediary decides about
 * another call than the one that runs. Private to the room mcp.
 * Source: 2026-07-28 basic/transports/streamable-http (Custom Headers from Tool
 * Parameters, Value Encoding, Server Validation), server/tools (x-mcp-header).
 */
#pragma once
#include "actions/actions.h"
#include "base/base.h"
#include "json/json.h"

#define MIRROR_DEPTH 8u /* properties inside each other */

struct mirrors {
    struct mirror *first;
};
void mirrors_done(struct mirrors *m);
/* Takes in what the input schema of one tool says. false and ERR_BUG: an annotation is
 * not what the specification allows, for which clients would leave the tool out. */
bool mirrors_read(struct mirrors *m, const struct action *tool, const struct json *schema,
                  struct err *e);

/* Reads a header's value, decoded where it is in the form =?base64?...?=, into `out`.
 * false: it holds what no header may, or is no base64. */
bool header_decode(struct str header, struct buf *out);

struct exchange;
/* Checks the headers of a tools/call over HTTP. false: answered with an error. */
bool mirrors_check(struct exchange *x, const struct action *tool,
                   const struct json *arguments);
