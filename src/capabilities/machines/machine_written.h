/* machines/machine_written.h - what changed in an overlay, written to the folder that it is of.
 * Private to the room. */
#pragma once
#include "calls/calls.h"
#include "programs/programs.h"
#include "record/record.h"
#include "vfs/vfs.h"
#include "writeback/writeback.h"
#include "json/json.h"

#define MACHINE_APPLIED_MAX \
    ((size_t)1 << 20) /* bytes of JSON about all overlays of a command */

struct machine_apply {
    const struct tool_call *call;
    struct writeback folder; /* without its changes */
    struct str mount;        /* the policy's name of it */
    const char *at;          /* in the machine */
    struct vfs *tree;
    const char *tree_at;
    bool dry; /* they are told, not written */
};
/* Writes {at, mount, applied, created, changed, deleted, more, conflicts} as the next value. false and
 * *e: nothing was written. */
bool machine_apply_tree(const struct machine_apply *a, struct json_writer *w,
                        struct err *e);
extern const struct account_list machine_written_record;
