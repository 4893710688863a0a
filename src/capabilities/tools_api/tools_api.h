/* tools_api/tools_api.h - command-line tools as agents have them: to MCP clients as
 * wasm_<name> and through run_tool, to code as tools.<name>, to REST. Threads: safe. */
#pragma once
#include "capability/capability.h"

extern const struct capability tools_capability;
