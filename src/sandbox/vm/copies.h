/* vm/copies.h - copies of machines: in memory, which further machines start from, and saved
 * on the disk under a name.
 *
 * Saved ones belong to a payer, and are in a folder of his own (docs/formats.md). A file is
 * complete or not there: it is written under another name, synced and renamed.
 * Threads: safe. */
#pragma once
#include "vm/vm.h"

/* A machine at one moment: its memory and the blocks of its disk that differ from the
 * image's. Ends before vms_close(). What shares pages with it goes on. */
struct vm_copy;
/* The machine goes on; commands that run in it are ended in the machines made of the copy.
 * NULL and ERR_BUSY (no memory), ERR_IO, or as vm_find() if it has ended. */
struct vm_copy *vm_copy(struct vm *m, struct err *e);
void vm_copy_drop(struct vm_copy *c); /* NULL is fine */
SCOPED(vm_copy, vm_copy_drop);
uint32_t vm_copy_ram_mb(const struct vm_copy *c);

/* ---- saved on the disk ------------------------------------------------------ */

enum vm_saved_kind {
    VM_SAVED_SNAPSHOT,
    VM_SAVED_KEPT, /* a machine that is kept, as it was last frozen */
};
const char *vm_saved_kind_name(enum vm_saved_kind k); /* "snapshot", "machine" */

struct vm_saved {
    char payer[VM_OWNER_MAX + 1];
    char name[VM_NAME_MAX + 1];
    enum vm_saved_kind kind;
    char label[VM_LABEL_MAX +
               1]; /* of whom it is, for a person; "": its head is damaged */
    uint32_t ram_mb;
    uint64_t bytes;  /* of the file */
    int64_t made_ms; /* since 1970 */
    bool fits;       /* made with the image that is installed, where one is */
};

/* The name of a saved copy: letters, digits, '.', '_' and '-', not first. ERR_INVALID. */
bool vm_saved_check_name(struct str name, struct err *e);
/* Saves it, in place of one of that name and kind. ERR_INVALID (the name), ERR_NOT_FOUND (no
 * folder for copies), ERR_LIMIT (the quota), ERR_BUSY (another one is being saved for long),
 * ERR_IO: nothing has changed. `out` may be NULL. */
bool vm_save(struct vms *s, const struct vm_shelf *shelf, enum vm_saved_kind kind,
             struct str name, const struct vm_copy *c, struct vm_saved *out,
             struct err *e);
/* Reads all of it. NULL and ERR_NOT_FOUND, ERR_INVALID (damaged: the message names it),
 * ERR_CONFLICT (made with another version of the image), ERR_IO. */
struct vm_copy *vm_saved_open(struct vms *s, struct str payer, enum vm_saved_kind kind,
                              struct str name, struct err *e);
/* false and ERR_NOT_FOUND, ERR_BUSY (a machine that runs), ERR_IO. */
bool vm_saved_remove(struct vms *s, struct str payer, enum vm_saved_kind kind,
                     struct str name, struct err *e);
typedef void vm_saved_fn(void *arg, const struct vm_saved *one);
/* All of a payer (empty: of all payers), by name. `each` must not call into this room. */
bool vm_saved_list(struct vms *s, struct str payer, vm_saved_fn *each, void *arg,
                   struct err *e);

/* ---- machines that are kept --------------------------------------------------- */

/* The payer's machine that is kept under that name, held for the caller: the one that runs,
 * whichever owner of the payer's started it; else started as it was last frozen; else, if
 * `make`, a new one. It is frozen when it is idle, and by vms_close(). NULL and
 * ERR_NOT_FOUND, ERR_BUSY (another process has it), or as vm_start(). `o->shelf` is needed. */
struct vm *vm_find_kept(struct vms *s, struct str owner, struct str name, bool make,
                        const struct vm_options *o, struct err *e);
/* Freezes and ends it. false: it runs on. */
bool vm_freeze(struct vm *m, struct err *e);
const char *vm_kept_name(const struct vm *m); /* "": it is not kept; while it is held */
