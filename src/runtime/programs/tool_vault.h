/* programs/tool_vault.h - the vault as programs see it: command-line tools, and commands of
 * Linux machines. It is mounted at /vault, as far as the program's manifest or the call, the
 * policy and the caller's credential allow.
 *
 * A tool that may write changes an overlay in memory; when it has ended, the difference
 * is written to the vault as one change set, or not at all. A tool that is stopped has
 * changed nothing. Threads: one at a time. */
#pragma once
#include "catalogue/catalogue.h"

#define TOOL_VAULT "/vault" /* the mount point */

struct notes_file;
struct tool_call;
struct vfs;
struct vfs_mount;

struct tool_vault {
    const struct tool_call *call;
    bool shown, overlay, owner_only; /* owner_only: new files are 0600 */
    int64_t since_ns;                /* start of the run, since 1970 */
    struct arena *arena;
    struct notes_file *files; /* files that differ, of all stages */
    size_t count, capacity;
    struct buf kept; /* those changes as a JSON object; empty: none */
    struct err why;  /* why the difference could not be read */
};

/* Adds the mount, if there is a vault that may be seen; the caller closes out->dir. false
 * and *e: the folder cannot be opened. */
bool tool_vault_open(struct tool_vault *t, const struct tool_call *c,
                     enum tool_access access, struct vfs_mount *mounts, size_t *count,
                     struct err *e);
void tool_vault_begin(struct tool_vault *t); /* the tools start now */

/* Collects the files that differ in the tree of one stage. */
void tool_vault_take(struct tool_vault *t, struct vfs *tree);
/* Writes them to the vault. false and *e: nothing was changed. */
bool tool_vault_keep(struct tool_vault *t, struct err *e);
void tool_vault_close(struct tool_vault *t); /* one of zeros is fine */
