/* conformance/conformance.h - what the official conformance suite expects to find on a
 * server: tools that answer with every kind of content, that log, make progress and ask.
 *
 * Of build/cloche-conformance alone, the program with these added; they go through the
 * same code as its own tools. Nothing of this is in build/cloche.
 * Source: the scenarios of @modelcontextprotocol/conformance (pinned in deps/npm-test),
 * each of which describes its fixtures.
 */
#pragma once
#include "actions/actions.h"

const struct action_extra *conformance_tools(size_t *count);
