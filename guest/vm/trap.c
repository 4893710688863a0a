/* Traps and interrupts: all go to the supervisor, as there is no machine mode. */
#include "vm/csr.h"
#include "vm/hart.h"

void view_changed(struct hart *h)
{
    enum view v = h->privilege == USER       ? VIEW_USER
                  : h->sstatus & SSTATUS_SUM ? VIEW_SUM
                                             : VIEW_SUPERVISOR;
    h->tlb = &h->tlbs[v];
}

static void enter(struct hart *h, uint64_t cause, uint64_t value, uint64_t handler)
{
    h->sepc = h->pc;
    h->scause = cause;
    h->stval = value;
    h->sstatus &= ~(SSTATUS_SPP | SSTATUS_SPIE);
    h->sstatus |= h->privilege == SUPERVISOR ? SSTATUS_SPP : 0;
    h->sstatus |= h->sstatus & SSTATUS_SIE ? SSTATUS_SPIE : 0;
    h->sstatus &= ~SSTATUS_SIE;
    h->privilege = SUPERVISOR;
    h->reserved = UINT64_MAX;
    h->pc = handler;
    view_changed(h);
}

void trap(struct hart *h, enum cause cause, uint64_t value)
{
    enter(h, cause, value, h->stvec & ~3ull);
}

void trap_return(struct hart *h)
{
    h->pc = h->sepc;
    h->privilege = h->sstatus & SSTATUS_SPP ? SUPERVISOR : USER;
    h->sstatus &= ~(SSTATUS_SPP | SSTATUS_SIE);
    h->sstatus |= h->sstatus & SSTATUS_SPIE ? SSTATUS_SIE : 0;
    h->sstatus |= SSTATUS_SPIE;
    h->reserved = UINT64_MAX;
    view_changed(h);
}

bool interrupt(struct hart *h)
{
    uint64_t pending = h->sip & h->sie;
    bool open = h->privilege == USER || h->sstatus & SSTATUS_SIE;
    if (!pending || !open)
        return false;
    static const uint8_t order[] = {9, 1, 5}; /* external, software, timer */
    for (unsigned i = 0; i < sizeof order; i++) {
        if (!(pending >> order[i] & 1))
            continue;
        uint64_t base = h->stvec & ~3ull;
        enter(h, 1ull << 63 | order[i], 0, h->stvec & 1 ? base + 4u * order[i] : base);
        return true;
    }
    return false;
}
