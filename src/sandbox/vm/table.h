/* vm/table.h - the table of a process' machines. Its functions are called with vms.lock
 * held, unless said otherwise.
 *
 * Private to table.c, start.c and machines.c. */
#pragma once
#include "vm/internal.h"

struct vms {
    struct vms_options o;
    struct vm_timeouts timeouts;
    char *image, *cache, *copies; /* `o` borrows them */
    pthread_mutex_t naming; /* held while a machine that is kept is found or started */
    struct accounts *accounts;
    pthread_mutex_t images_lock;
    struct images *images; /* NULL: not opened yet */

    pthread_mutex_t lock;     /* guards all below, and the machines' members under it */
    pthread_cond_t changed;   /* a place became free, or a start succeeded or failed */
    pthread_cond_t work;      /* wakes the keeper */
    struct vm *first, **last; /* in the order of their starts */
    struct vm_command *left;  /* without a caller, and still running */
    unsigned running;         /* machines that have, or get, a machine.c */
    bool has_keeper, closing, noticed;
    pthread_t keeper;
};

struct str payer_of(struct str owner, const struct vm_options *o);
/* Adds a machine that is starting, held by the caller. */
struct vm *table_add(struct vms *s, struct str owner, const struct vm_options *o);
/* Removes and frees it. */
void table_forget(struct vms *s, struct vm *m);
/* Removes the oldest ended machines of owners with many; `of` may be one of them. */
void table_trim(struct vms *s, const struct vm *of);
bool table_owns(const struct vm *m, struct str owner);
bool table_is_over(struct vm *m);
/* The owner's last default machine that is over, or is not; or NULL. */
struct vm *table_default(struct vms *s, struct str owner, bool over);
/* The running machines of an account, or (NULL) of all; ending ones included. */
struct table_sum {
    unsigned machines, others; /* all; those of other owners */
    uint64_t ram_bytes;
};
struct table_sum table_sum(struct vms *s, const struct account *of, struct str owner);
/* Time since the last command; 0: one runs, or may begin at once. */
uint64_t table_unused_ns(struct vm *m, uint64_t now);
/* Stops it, or has it frozen if it is kept; the message has the seconds. */
void table_stop_unused(struct vms *s, struct vm *m, const char *why, uint64_t ns);
/* Stops the least recently used machine: of all, or (not NULL) of an account's other
 * owners. false: there is none. */
bool table_evict(struct vms *s, const struct account *of, struct str owner);
/* Joins the thread of a machine that is over. Without a lock, while it is held. */
void table_reap(struct vm *m);

/* machines.c: starts the maintenance thread, when there is work for it. ERR_BUSY. */
bool keeper_begin(struct vms *s, struct err *e);
/* start.c: vm_start(), also for the owner's default machine. */
struct vm *vm_begin(struct vms *s, struct str owner, const struct vm_options *o,
                    bool is_default, struct err *e);
