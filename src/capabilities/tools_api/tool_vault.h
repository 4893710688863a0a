/* tools_api/tool_vault.h - the vault as command-line tools see it: at /vault, as far as the
 * manifest, the policy and the caller's credential go.
 *
 * A tool that may write changes an overlay in memory; what is different when it has ended
 * goes to the vault as one change set, or not at all. A tool that is stopped has changed
 * nothing.
 * Private to the room.
 */
#pragma once
#include "catalogue/catalogue.h"

struct notes_file;
struct tool_call;
struct vfs;
struct vfs_mount;

struct tool_vault {
    const struct tool_call *call;
    bool shown, overlay, owner_only; /* the last: new files are 0600 */
    int64_t since_ns;                /* when the run began, since 1970 */
    struct arena *arena;
    struct notes_file *files; /* what is different, of all stages */
    size_t count, capacity;
    struct buf kept; /* the same, told: a JSON object; empty: nothing */
    struct err why;  /* it could not be taken out of a tree */
};

/* Adds the mount, where there is a vault that may be seen; out->dir is the caller's to
 * close. false and *e: the folder cannot be opened. */
bool tool_vault_open(struct tool_vault *t, const struct tool_call *c,
                     enum tool_access access, struct vfs_mount *mounts, size_t *count,
                     struct err *e);
void tool_vault_begin(struct tool_vault *t); /* the tools start now */

/* Takes out what differs in the tree of one stage. */
void tool_vault_take(struct tool_vault *t, struct vfs *tree);
/* Puts all of it into the vault. false and *e: nothing was changed. */
bool tool_vault_keep(struct tool_vault *t, struct err *e);
void tool_vault_close(struct tool_vault *t); /* one of zeros is fine */
