/* The hart's view of memory: Sv39, the translation buffers of the fast paths, and the
 * slow paths. */
#include "vm/csr.h"
#include "vm/device.h"
#include "vm/hart.h"
#include "vm/ram.h"

#define PAGE 4096ull

enum access { READ, WRITE, FETCH };

/* ---- buffers ----------------------------------------------------------------------- */

static unsigned place(uint64_t va)
{
    return va / PAGE % TLB_ENTRIES;
}

static void forget(struct tlb *t, unsigned i)
{
    t->read[i].tag = t->write[i].tag = t->code[i].tag = TLB_NONE;
}

void tlb_init(struct hart *h)
{
    for (unsigned v = 0; v < VIEW_COUNT; v++) {
        struct tlb *t = &h->tlbs[v];
        for (unsigned i = 0; i < TLB_ENTRIES; i++)
            forget(t, i);
        for (unsigned i = 0; i < TLB_ENTRIES / 64; i++)
            t->used[i] = 0;
    }
    h->widest[0] = h->widest[1] = PAGE;
}

/* Drops entries for the pages of `size` bytes around va; all entries if size is 0. The
 * cost depends on entries in use: kernels flush often, and small programs use few. */
static void forget_around(struct tlb *t, uint64_t va, uint64_t size)
{
    uint64_t mask = 0 - size;
    for (unsigned w = 0; w < TLB_ENTRIES / 64; w++)
        for (uint64_t left = t->used[w]; left; left &= left - 1) {
            unsigned i = w * 64 + (unsigned)__builtin_ctzll(left);
            if (!((t->read[i].tag ^ va) & mask))
                t->read[i].tag = TLB_NONE;
            if (!((t->write[i].tag ^ va) & mask))
                t->write[i].tag = TLB_NONE;
            if (!((t->code[i].tag ^ va) & mask))
                t->code[i].tag = TLB_NONE;
        }
}

void tlb_flush(struct hart *h)
{
    for (unsigned v = 0; v < VIEW_COUNT; v++) {
        struct tlb *t = &h->tlbs[v];
        for (unsigned w = 0; w < TLB_ENTRIES / 64; w++) {
            for (uint64_t left = t->used[w]; left; left &= left - 1)
                forget(t, w * 64 + (unsigned)__builtin_ctzll(left));
            t->used[w] = 0;
        }
    }
    h->widest[0] = h->widest[1] = PAGE;
}

/* A large page may have an entry for each 4 KB of it. */
void tlb_flush_page(struct hart *h, uint64_t va)
{
    uint64_t size = h->widest[va >> 63];
    for (unsigned v = 0; v < VIEW_COUNT; v++)
        if (size == PAGE)
            forget(&h->tlbs[v], place(va));
        else
            forget_around(&h->tlbs[v], va, size);
}

void tlb_protect(struct hart *h, const uint8_t *page)
{
    for (unsigned v = 0; v < VIEW_COUNT; v++)
        for (unsigned i = 0; i < TLB_ENTRIES; i++) {
            struct tlb_entry *e = &h->tlbs[v].write[i];
            if (e->tag != TLB_NONE && e->less + (uintptr_t)e->tag == (uintptr_t)page)
                e->tag = TLB_NONE;
        }
}

void code_unmap(struct hart *h, const struct slot *slots)
{
    for (unsigned v = 0; v < VIEW_COUNT; v++)
        for (unsigned i = 0; i < TLB_ENTRIES; i++)
            if (h->tlbs[v].code[i].slots == slots)
                h->tlbs[v].code[i].tag = TLB_NONE;
}

static unsigned use(struct hart *h, uint64_t va)
{
    unsigned i = place(va);
    h->tlb->used[i / 64] |= 1ull << i % 64;
    return i;
}

static void remember_read(struct hart *h, uint64_t va, uint8_t *page)
{
    uint64_t tag = va & ~(PAGE - 1);
    h->tlb->read[use(h, va)] = (struct tlb_entry){tag, (uintptr_t)page - (uintptr_t)tag};
}

static void remember_write(struct hart *h, uint64_t va, uint8_t *page)
{
    uint64_t tag = va & ~(PAGE - 1);
    if (!is_code(page))
        h->tlb->write[use(h, va)] =
            (struct tlb_entry){tag, (uintptr_t)page - (uintptr_t)tag};
}

/* ---- Sv39 -------------------------------------------------------------------------- */

#define PTE_V 1u
#define PTE_R 2u
#define PTE_W 4u
#define PTE_X 8u
#define PTE_U 16u
#define PTE_A 64u
#define PTE_D 128u
#define PTE_RESERVED (0x3ffull << 54)
#define LEVELS 3

static const enum cause page_fault[] = {CAUSE_LOAD_PAGE, CAUSE_STORE_PAGE,
                                        CAUSE_FETCH_PAGE},
                        access_fault[] = {CAUSE_LOAD_ACCESS, CAUSE_STORE_ACCESS,
                                          CAUSE_FETCH_ACCESS};

/* Whether the access is permitted. */
static bool is_allowed(const struct hart *h, uint64_t pte, enum access how)
{
    bool user = h->privilege == USER, sum = h->sstatus & SSTATUS_SUM;
    if (pte & PTE_U ? !user && (how == FETCH || !sum) : user)
        return false;
    if (how == FETCH)
        return pte & PTE_X;
    if (how == WRITE)
        return pte & PTE_W;
    return pte & PTE_R || (pte & PTE_X && h->sstatus & SSTATUS_MXR);
}

enum walked { WALKED, NO_PAGE, NO_ACCESS };

static enum walked walk(struct hart *h, uint64_t va, enum access how, uint64_t *pa)
{
    if ((uint64_t)((int64_t)(va << 25) >> 25) != va)
        return NO_PAGE;
    uint64_t table = (h->satp & ((1ull << 44) - 1)) * PAGE;
    for (int level = LEVELS - 1; level >= 0; level--) {
        uint64_t at = table + (va >> (12 + 9 * level) & 511) * 8;
        uint64_t *slot = (uint64_t *)(void *)ram_at(at, 8);
        if (!slot)
            return NO_ACCESS;
        uint64_t pte = *slot;
        if (!(pte & PTE_V) || (pte & (PTE_R | PTE_W)) == PTE_W || pte & PTE_RESERVED)
            return NO_PAGE;
        uint64_t ppn = pte >> 10;
        if (!(pte & (PTE_R | PTE_X))) {
            if (pte & (PTE_A | PTE_D | PTE_U))
                return NO_PAGE;
            table = ppn * PAGE;
            continue;
        }
        uint64_t inside = (1ull << 9 * level) - 1;
        if (!is_allowed(h, pte, how) || ppn & inside)
            return NO_PAGE;
        uint64_t marks = PTE_A | (how == WRITE ? PTE_D : 0);
        if ((pte & marks) != marks) {
            code_written(at, 8);
            *slot = pte | marks;
        }
        if (h->widest[va >> 63] < (inside + 1) * PAGE)
            h->widest[va >> 63] = (inside + 1) * PAGE;
        *pa = (ppn | (va / PAGE & inside)) * PAGE + va % PAGE;
        return WALKED;
    }
    return NO_PAGE;
}

/* The physical address; false: it trapped. */
static bool translate(struct hart *h, uint64_t va, enum access how, uint64_t *pa)
{
    *pa = va;
    if (!(h->satp >> 60))
        return true;
    enum walked w = walk(h, va, how, pa);
    if (w != WALKED)
        trap(h, w == NO_PAGE ? page_fault[how] : access_fault[how], va);
    return w == WALKED;
}

/* ---- data -------------------------------------------------------------------------- */

static uint64_t get(const uint8_t *at, uint32_t size)
{
    uint64_t v = 0;
    for (uint32_t i = 0; i < size; i++)
        v |= (uint64_t)at[i] << 8 * i;
    return v;
}

static void put(uint8_t *at, uint32_t size, uint64_t v)
{
    for (uint32_t i = 0; i < size; i++)
        at[i] = (uint8_t)(v >> 8 * i);
}

/* Within one page. */
static bool load_within(struct hart *h, uint64_t va, uint32_t size, uint64_t *out)
{
    const struct tlb_entry *e = &h->tlb->read[place(va)];
    if (e->tag == (va & ~(PAGE - 1))) { /* it was only misaligned */
        *out = get((const uint8_t *)(e->less + (uintptr_t)va), size);
        return true;
    }
    uint64_t pa;
    if (!translate(h, va, READ, &pa))
        return false;
    uint8_t *at = ram_at(pa, size);
    if (at) {
        *out = get(at, size);
        remember_read(h, va, at - va % PAGE);
        return true;
    }
    if (!(va & (size - 1)) && device_read(pa, size, out))
        return true;
    trap(h, CAUSE_LOAD_ACCESS, va);
    return false;
}

bool load_slow(struct hart *h, uint64_t va, uint32_t size, uint64_t *out)
{
    uint32_t first = (uint32_t)(PAGE - va % PAGE);
    if (size <= first)
        return load_within(h, va, size, out);
    uint64_t low = 0, high = 0, one;
    for (uint32_t i = 0; i < size; i++) {
        if (!load_within(h, va + i, 1, &one))
            return false;
        *(i < first ? &low : &high) |= one << 8 * i;
    }
    *out = low | high;
    return true;
}

static bool store_within(struct hart *h, uint64_t va, uint32_t size, uint64_t pa,
                         uint64_t value)
{
    uint8_t *at = ram_at(pa, size);
    if (at) {
        uint8_t *page = at - va % PAGE;
        ram_written(pa, size);
        put(at, size, value);
        remember_write(h, va, page);
        return true;
    }
    if (!(va & (size - 1)) && device_write(pa, size, value))
        return true;
    trap(h, CAUSE_STORE_ACCESS, va);
    return false;
}

/* Across pages nothing is written until both are translated. */
bool store_slow(struct hart *h, uint64_t va, uint32_t size, uint64_t value)
{
    const struct tlb_entry *e = &h->tlb->write[place(va)];
    uint32_t first = (uint32_t)(PAGE - va % PAGE);
    if (size <= first && e->tag == (va & ~(PAGE - 1))) {
        put((uint8_t *)(e->less + (uintptr_t)va), size, value);
        return true;
    }
    uint64_t pa, behind;
    if (!translate(h, va, WRITE, &pa))
        return false;
    if (size <= first)
        return store_within(h, va, size, pa, value);
    if (!translate(h, va + first, WRITE, &behind))
        return false;
    for (uint32_t i = 0; i < size; i++)
        if (!store_within(h, va + i, 1, i < first ? pa + i : behind + i - first,
                          value >> 8 * i & 255))
            return false;
    return true;
}

void *atomic_at(struct hart *h, uint64_t va, uint32_t size, bool writes)
{
    enum access how = writes ? WRITE : READ;
    const struct tlb_entry *e =
        writes ? &h->tlb->write[place(va)] : &h->tlb->read[place(va)];
    if (e->tag == (va & ~(PAGE - 1)) && !(va & (size - 1)))
        return (void *)(e->less + (uintptr_t)va);
    if (va & (size - 1)) {
        trap(h, writes ? CAUSE_STORE_MISALIGNED : CAUSE_LOAD_MISALIGNED, va);
        return 0;
    }
    uint64_t pa;
    if (!translate(h, va, how, &pa))
        return 0;
    uint8_t *at = ram_at(pa, size);
    if (!at) {
        trap(h, access_fault[how], va);
        return 0;
    }
    if (writes) {
        code_written(pa, size);
        remember_write(h, va, at - va % PAGE);
    } else
        remember_read(h, va, at - va % PAGE);
    return at;
}

/* ---- code -------------------------------------------------------------------------- */

struct slot *code_at(struct hart *h, uint64_t va)
{
    const struct code_entry *e = &h->tlb->code[place(va)];
    uint64_t page = va & ~(PAGE - 1), pa;
    if (e->tag == page)
        return e->slots;
    if (!translate(h, va, FETCH, &pa))
        return 0;
    uint8_t *at = ram_at(pa & ~(PAGE - 1), PAGE);
    if (!at) {
        trap(h, CAUSE_FETCH_ACCESS, va);
        return 0;
    }
    struct code_page *code = code_page_at(at);
    h->tlb->code[use(h, va)] = (struct code_entry){page, code->slots};
    return code->slots;
}

bool fetch_half(struct hart *h, uint64_t va, uint16_t *out)
{
    uint64_t pa;
    if (!translate(h, va, FETCH, &pa))
        return false;
    const uint8_t *at = ram_at(pa, 2);
    if (!at) {
        trap(h, CAUSE_FETCH_ACCESS, va);
        return false;
    }
    *out = (uint16_t)get(at, 2);
    return true;
}
