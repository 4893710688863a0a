/* vm/no_copies_test.h - for tests with a machine that is a double: it is copied, but nothing is
 * saved. Only for tests. */
#pragma once
#include "vm/internal.h"
#include "vm/kept.h"

void machine_copy_drop(struct machine_copy *c)
{
    free(c);
}

/* What its connection knows, and nothing of the machine. */
struct machine_copy *machine_copy(struct machine *m, void (*with)(void *arg), void *arg,
                                  struct err *e)
{
    (void)m, (void)e;
    if (with)
        with(arg);
    return mem_new(sizeof(struct machine_copy));
}

void kept_freeze_due(struct vms *s)
{
    (void)s;
}

void kept_freeze_all(struct vms *s)
{
    (void)s;
}
