/* vmtools/vmtools.h - stages of tools that are commands of Linux machines: the command's
 * files, streams and limits in a machine that its caller has started for it.
 *
 * The caller decides who may run it, whose machine it is and what that may reach.
 * Threads: safe; a run blocks its caller alone, and reads its input on a thread of its own.
 */
#pragma once
#include "base/base.h"
#include "tools/tools.h"
#include "vm/vm.h"

/* What a run used, for its record; also of one that was stopped. */
struct vmtool_use {
    uint64_t input_bytes, stdout_bytes, stderr_bytes;
    uint64_t wall_ns, cpu_ns;
    int exit_code;
};

/* The MB of RAM that its machine is to have, for the manifest's memoryLimit. */
uint32_t vmtool_ram_mb(const struct tool_command *c);
/* Appends the command, as bash takes it. ERR_LIMIT: it is too long. */
bool vmtool_text(const struct tool_command *c, struct buf *out, struct err *e);
/* Runs that text, by bash, with the streams and limits of `c`, apart from the machine's
 * sessions. The places of `c` are mounted while it runs; processes that it leaves behind
 * lose them. The machine goes on: it is the caller's to stop. As a tool_command_fn answers.
 */
bool vmtool_run(struct vm *m, const struct tool_command *c, struct str text,
                struct vmtool_use *use, struct tool_outcome *out, struct err *e);
