/* conformance/conformance.h - what the official conformance suite expects to find on a
 * server: tools that answer with every kind of content, that log, make progress and ask.
 *
 * For build/cloche-conformance alone, the program with these added; they go through the
 * same code as its own tools. Nothing of this is in build/cloche.
 * Source: the scenarios of @modelcontextprotocol/conformance (pinned in deps/npm-test),
 * each of which describes its fixtures.
 */
#pragma once
#include "capability/capability.h"
#include "workspaces/workspaces.h"

#define CONFORMANCE_TOOLS_MAX 64

/* Fills in `tools` and answers how many they are. Some say that something has changed:
 * to those who hear of `*open`, which is set before the first call. */
size_t conformance_tools(struct action_extra tools[static CONFORMANCE_TOOLS_MAX],
                         struct workspaces **open);
struct workspaces_options conformance_readable(void);
