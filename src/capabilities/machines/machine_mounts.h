/* machines/machine_mounts.h - what a command's machine sees of the host: folders that the policy
 * mounts, and the vault, for as long as the command runs. Private to the room. */
#pragma once
#include "machines/machine_tree.h"
#include "programs/tool_vault.h"
#include "vm/mounts.h"
#include "writeback/writeback.h"

#define MACHINE_MOUNTS_MAX 16u /* of a command */

struct machine_mounts {
    size_t count;
    struct machine_mount {
        struct str of; /* the policy's guest path, or TOOL_VAULT; empty: `tree` */
        struct machine_tree tree;
        const char *at; /* in the machine */
        enum machine_mount_mode { MOUNT_USUAL, MOUNT_RO, MOUNT_RW, MOUNT_OVERLAY } mode;
        bool mounted;
        bool tells, applies;     /* what changed in the overlay is told, and is written */
        struct writeback folder; /* of such a one */
    } all[MACHINE_MOUNTS_MAX];
    struct tool_vault vault;
    bool has_vault;
    struct machine_told told; /* files of trees */
    struct buf applied;       /* of overlays: objects and commas */
    const struct tool_call *call;
};

/* Reads the option `mounts`: a list of paths, of {mount, at, mode}, and of {files, at, mode}. false and
 * ERR_INVALID. */
bool machine_mounts_read(struct machine_mounts *m, const struct json *v, struct arena *a,
                         struct err *e);
/* Mounts them. false and *e, and none is: ERR_NOT_FOUND (the policy mounts nothing of that
 * name), ERR_DENIED, or as vm_mount(). */
bool machine_mounts_open(struct machine_mounts *m, const struct tool_call *c,
                         struct vm *in, struct err *e);
/* The same for as long as the machine is there; the vault and files are no such mounts (ERR_INVALID). */
bool machine_mounts_stay(struct machine_mounts *m, const struct tool_call *c,
                         struct vm *in, struct err *e);
/* Adds the mounts that stay in a machine, for a copy of it: overlays begin anew. What `m` has at the same
 * place comes before. false and *e: ERR_LIMIT. */
bool machine_mounts_again(struct machine_mounts *m, struct vm *of, struct arena *a,
                          struct err *e);
/* May the call see what stays mounted in the machine? false and ERR_DENIED: the policy of its
 * vault does not mount all of it. */
bool machine_mounts_may(const struct tool_call *c, struct vm *in, struct err *e);
/* Takes them away; `keep`: what the command changed in the vault is written to it, files are told. false and
 * *e: it was not, and the vault is as it was. */
bool machine_mounts_close(struct machine_mounts *m, struct vm *in, bool keep,
                          struct err *e);
/* Members of an open object that say what was changed in the vault, and in files; and how long they are. */
size_t machine_mounts_size(const struct machine_mounts *m);
void machine_mounts_put(const struct machine_mounts *m, struct json_writer *w);
uint64_t machine_mounts_given(
    const struct machine_mounts *m); /* bytes of files in memory */
/* An overlay that stays in the machine at this place: what of it the policy gives now. false and *e:
 * ERR_NOT_FOUND, ERR_DENIED (not for `tells` alone). The folder is open then. */
struct machine_overlay {
    char label[4200];
    struct writeback folder;
};
bool machine_overlay_find(const struct tool_call *c, struct vm *in, const char *place,
                          bool applies, struct machine_overlay *out, struct err *e);
/* A new one in its place, with nothing changed; or `tree` again. */
bool machine_overlay_mount(struct vm *in, const char *place,
                           const struct machine_overlay *o, struct vfs *tree,
                           struct err *e);
void machine_mounts_free(struct machine_mounts *m);
