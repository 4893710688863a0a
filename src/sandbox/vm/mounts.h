/* vm/mounts.h - file trees of the host that a machine sees at places of its own.
 *
 * A mount is a folder of a tree (vfs/vfs.h), which says what may be done there. Several at once;
 * they come and go while the machine runs.
 *
 * Threads: safe. What blocks, blocks its caller alone.
 */
#pragma once
#include "vm/vm.h"

struct vfs;

#define VM_MOUNTS_MAX 64u        /* of a machine, at a time */
#define VM_MOUNT_PLACE_MAX 1024u /* bytes of a place */

/* A mount as a person writes it: HOST:/GUEST[:ro|:rw|:overlay][:links][:apply]. */
struct vm_mount_words {
    char host[4096], place[VM_MOUNT_PLACE_MAX];
    bool read_only, overlay, links;
    bool apply; /* what changes in the overlay may be written to the folder */
};
/* false and ERR_INVALID, which begins with the option's name. */
bool vm_mount_read(const char *text, struct vm_mount_words *out, struct err *e);

struct vm_mount {
    struct vfs *tree;
    const char *at;    /* the folder of the tree */
    const char *place; /* in the machine: an absolute path, whose folders are made */
    bool writable;     /* else the machine's kernel knows that it is not */
    bool alone;        /* nothing changes in it but by this machine */
    const char *label; /* of the caller's own, told by vm_each_mount(); NULL: none */
};

/* Mounts the tree, which is the machine's until vm_unmount(), or freed with it. Several
 * folders of one tree may be mounted in one machine: then all have to be unmounted before
 * it is released. false and
 * ERR_INVALID (the place), ERR_CONFLICT (a mount is there), ERR_LIMIT, ERR_TIMEOUT, or as
 * vm_find() if it has ended: the tree is the caller's still. */
bool vm_mount(struct vm *m, const struct vm_mount *what, struct err *e);
/* What is done there afterwards fails in the machine. The tree is the caller's again, also
 * that of a machine that has ended. NULL: nothing is mounted there. */
struct vfs *vm_unmount(struct vm *m, const char *place);
/* Calls `look` with the tree that is mounted there, whose folder is `at`, while the machine asks
 * nothing of it. `look` must not call this room. false: nothing is mounted there. */
bool vm_look(struct vm *m, const char *place,
             void (*look)(void *arg, struct vfs *tree, const char *at), void *arg);
/* Calls `each` for each mount that has a label, in the order in which they came, until it answers
 * false, which is then the answer. It must not call this room. */
bool vm_each_mount(struct vm *m,
                   bool (*each)(void *arg, const char *place, const char *label,
                                bool writable),
                   void *arg);
