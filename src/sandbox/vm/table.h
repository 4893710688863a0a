/* vm/table.h - the table of a process' machines. Its functions hold vms.lock, unless said
 * otherwise.
 *
 * Private to table.c, start.c and machines.c.
 */
#pragma once
#include "vm/internal.h"

struct vms {
    struct vms_options o;
    struct patience patience;
    char *image, *cache; /* behind o's */
    struct accounts *accounts;
    pthread_mutex_t images_lock;
    struct images *images; /* NULL: not looked for yet */

    pthread_mutex_t lock;     /* of all below, and of the machines' part of it */
    pthread_cond_t changed;   /* a place is free, or a machine has come up or not */
    pthread_cond_t work;      /* for the keeper */
    struct vm *first, **last; /* in the order of their start */
    struct vm_command *left;  /* that nobody waits for, and that have not ended */
    unsigned running;         /* that have, or will have, a machine.c */
    bool has_keeper, closing, noticed;
    pthread_t keeper;
};

struct str payer_of(struct str owner, const struct vm_options *o);
/* A machine that is starting, held by its maker, in the table. */
struct vm *table_add(struct vms *s, struct str owner, const struct vm_options *o);
/* Out of the table, and freed. */
void table_forget(struct vms *s, struct vm *m);
/* Forgets the oldest that have ended, of those who had many; `of` may be among them. */
void table_trim(struct vms *s, const struct vm *of);
bool table_owns(const struct vm *m, struct str owner);
bool table_is_over(struct vm *m);
/* The owner's last default machine of those that are over, or not; or NULL. */
struct vm *table_default(struct vms *s, struct str owner, bool over);
/* The running machines of an account, or (NULL) of all, with those just being ended. */
struct table_sum {
    unsigned machines, others; /* of them, of other owners */
    uint64_t ram_bytes;
};
struct table_sum table_sum(struct vms *s, const struct account *of, struct str owner);
/* How long nothing has run in it; 0 where something does, or may at once. */
uint64_t table_unused_ns(struct vm *m, uint64_t now);
/* Says why, with the seconds in it. */
void table_stop_unused(struct vms *s, struct vm *m, const char *why, uint64_t ns);
/* Stops the machine that was not used for longest: of all, or (not NULL) of an account's
 * other owners. false: there is none. */
bool table_make_place(struct vms *s, const struct account *of, struct str owner);
/* Joins the thread of a machine that is over. Without a lock; somebody holds it. */
void table_reap(struct vm *m);

/* machines.c: the thread that keeps house, once there is something to keep. ERR_BUSY. */
bool keeper_begin(struct vms *s, struct err *e);
/* start.c: vm_start(), or the owner's default machine. */
struct vm *vm_begin(struct vms *s, struct str owner, const struct vm_options *o,
                    bool is_default, struct err *e);
