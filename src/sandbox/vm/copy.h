/* vm/copy.h - what a copy of a machine holds.
 *
 * Private to the room vm. */
#pragma once
#include "vm/copies.h"
#include "vm/internal.h"
#include "vm/mounts.h"
#include "vm/table.h"

/* The shells of a machine. */
struct copy_session {
    uint32_t number;
    char name[VM_SESSION_NAME_MAX + 1];
};

#define COPY_PLACES_MAX ((size_t)VM_MOUNTS_MAX * VM_MOUNT_PLACE_MAX)

struct vm_copy {
    struct machine_copy *machine;
    uint32_t ram_mb;
    uint32_t last_id, last_session, unready;
    uint32_t execs[VM_EXECS_MAX]; /* that ran */
    size_t exec_count;
    struct copy_session sessions[VM_SESSIONS_MAX];
    size_t session_count;
    struct buf part; /* an incomplete frame from the machine */
    struct buf
        places; /* where it had mounts, each with a NUL: their server stays behind */
};

struct vm_copy *vm_copy_new(void); /* without a machine's */
/* As vm_copy(). `last`: the machine ends at that moment, for this reason; NULL: it goes on. */
struct vm_copy *vm_copy_ending(struct vm *m, const struct err *last, struct err *e);
/* A machine that has not begun gets what the copied one's connection knew. */
void copy_join(struct vm *m, const struct vm_copy *c);
/* Takes the mounts of the past away: what has a file open there gets ESTALE. With vm.lock held. */
void copy_end_mounts(struct vm *m, const struct vm_copy *c);
/* Ends the commands that ran when it was copied. With vm.lock held. */
void copy_end_execs(struct vm *m, const struct vm_copy *c);
