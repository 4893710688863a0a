/* guest/vm/hart.h - the one hart: registers, CSRs, translation buffers, execution.
 *
 * RV64IMAFDC, Zicsr, Zifencei, Zicntr, Sstc, Svadu (A and D are set by the hardware), S
 * and U modes, Sv39. There is no M mode: what would trap there goes to sbi.c.
 *
 * Source: The RISC-V Instruction Set Manual, volumes I and II (20240411). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "vm/ops.h"

enum privilege { USER, SUPERVISOR };

enum cause {
    CAUSE_FETCH_MISALIGNED = 0,
    CAUSE_FETCH_ACCESS = 1,
    CAUSE_ILLEGAL = 2,
    CAUSE_BREAKPOINT = 3,
    CAUSE_LOAD_MISALIGNED = 4,
    CAUSE_LOAD_ACCESS = 5,
    CAUSE_STORE_MISALIGNED = 6,
    CAUSE_STORE_ACCESS = 7,
    CAUSE_ECALL_USER = 8,
    CAUSE_ECALL_SUPERVISOR = 9,
    CAUSE_FETCH_PAGE = 12,
    CAUSE_LOAD_PAGE = 13,
    CAUSE_STORE_PAGE = 15,
};
/* Bits of sip and sie. */
enum interrupt { INT_SOFTWARE = 1 << 1, INT_TIMER = 1 << 5, INT_EXTERNAL = 1 << 9 };

/* ---- translation buffers ------------------------------------------------------- */

#define TLB_ENTRIES 512u /* of each; a power of two */

/* The host address of a page. The tag is the page's virtual address, so that one
 * comparison finds what is aligned, in this page and permitted; TLB_NONE matches no address. */
struct tlb_entry {
    uint64_t tag;
    uintptr_t less; /* the host's address of a byte, less its virtual address */
};
#define TLB_NONE UINT64_MAX

/* The translations of one view of memory: as user, as supervisor, and as supervisor with
 * access to the user's pages (SUM): kernels switch among these all the time. Pages with
 * decoded code are never in `write`; devices are in none. */
struct tlb {
    struct tlb_entry read[TLB_ENTRIES], write[TLB_ENTRIES];
    struct code_entry {
        uint64_t tag;
        struct slot *slots;
    } code[TLB_ENTRIES];
    uint64_t used[TLB_ENTRIES / 64]; /* a bit an entry: those that a flush has to visit */
};
enum view { VIEW_USER, VIEW_SUPERVISOR, VIEW_SUM, VIEW_COUNT };

/* ---- the hart -------------------------------------------------------------------- */

struct hart {
    uint64_t x[32]; /* x[0] is always 0 */
    uint64_t f[32]; /* binary32 boxed in ones */
    uint64_t pc;
    uint32_t frm, fflags;
    enum privilege privilege;
    uint64_t sstatus, sie, sip, stvec, sscratch, sepc, scause, stval, satp;
    uint64_t scounteren, stimecmp, senvcfg;
    uint64_t reserved;       /* address reserved by LR; UINT64_MAX: none */
    uint64_t reserved_value; /* the value that LR read: SC compares it */
    uint32_t reserved_size;
    uint64_t retired; /* instructions, as CSRs count them */
    bool waiting;     /* wfi: until an interrupt is pending */
    bool attention;   /* hart_run() has to return */
    /* The code that runs (exec.c): the page's slots and address, or those of a single
     * instruction, and the number of instructions that may follow. */
    struct slot *page_slots;
    uint64_t page_pc;
    int64_t left;
    struct slot alone[3];
    bool fp_dirty;   /* sstatus says so: fast paths need not set it */
    bool fp_quick;   /* and NX is set, and frm is RNE: flags can be ignored */
    struct tlb *tlb; /* of the current view */
    struct tlb tlbs[VIEW_COUNT];
    uint64_t
        /* page in the buffers, of the lower and upper half of the address space */
        widest[2];
};

/* The only hart: in Wasm its address is a constant of the code. */
extern struct hart the_hart;

void hart_reset(struct hart *h, uint64_t pc);
/* Runs about `limit` instructions, until the hart waits, or `attention` is set. */
void hart_run(struct hart *h, uint64_t limit);
/* Runs one instruction, or takes an interrupt. */
void hart_step(struct hart *h);

/* ---- traps (trap.c) --------------------------------------------------------------- */

/* Enters the supervisor's handler: h->pc is the instruction that trapped, and then the
 * handler. */
void trap(struct hart *h, enum cause cause, uint64_t value);
void trap_return(struct hart *h); /* sret; h->pc follows sepc */
/* Takes the enabled pending interrupt of the highest priority, if any. */
bool interrupt(struct hart *h);
/* Selects the translations, after a change of privilege, sstatus or satp. */
void view_changed(struct hart *h);

/* ---- CSRs (csr.c) ------------------------------------------------------------------ */

/* Reads the CSR, then (where `writes`) gives it `set` | (old & ~clear ...). false: it is an
 * illegal instruction. *moved: translations or interrupts may have changed. */
bool csr_read(struct hart *h, uint32_t number, uint64_t *out);
bool csr_write(struct hart *h, uint32_t number, uint64_t value, bool *moved);
bool csr_may(const struct hart *h, uint32_t number, bool writes);

/* ---- memory (mmu.c) ---------------------------------------------------------------- */

/* The slow path of loads and stores: translates, fills a buffer, reaches devices, splits
 * misaligned accesses. false: it trapped (h->pc must be the instruction's). `size` in
 * bytes. */
bool load_slow(struct hart *h, uint64_t va, uint32_t size, uint64_t *out);
bool store_slow(struct hart *h, uint64_t va, uint32_t size, uint64_t value);
/* The host address of naturally aligned bytes, for an atomic operation that writes. NULL:
 * it trapped. */
void *atomic_at(struct hart *h, uint64_t va, uint32_t size, bool writes);
/* The slots of the page of pc; NULL: it trapped. */
struct slot *code_at(struct hart *h, uint64_t va);
/* Two bytes of code, for an instruction across pages. false: it trapped. */
bool fetch_half(struct hart *h, uint64_t va, uint16_t *out);
void tlb_init(struct hart *h);
void tlb_flush(struct hart *h); /* all */
void tlb_flush_page(struct hart *h, uint64_t va);
/* Removes translations through which this frame could be written unseen. */
void tlb_protect(struct hart *h, const uint8_t *page);
/* Removes translations to these slots. */
void code_unmap(struct hart *h, const struct slot *slots);
