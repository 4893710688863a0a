/* The executor: one dense switch over slots, which engines make a jump table of (threaded
 * code by tail calls is several times slower in Wasm).
 *
 * A round enters a page of code; in it, the next slot is found by adding. What leaves the
 * page, traps, or changes how memory is seen, sets h->pc and ends the round. The host is
 * only looked at between rounds, so jumps count the budget down, which is enough: code
 * without a jump reaches its page's end.
 */
#include "vm/csr.h"
#include "vm/decode.h"
#include "vm/fp.h"
#include "vm/hart.h"
#include "vm/ram.h"
#include "vm/sbi.h"

#define PAGE 4096ull

/* ---- what is the same in many -------------------------------------------------------- */

static uint64_t sext(uint64_t v)
{
    return (uint64_t)(int64_t)(int32_t)v;
}

static uint64_t high_unsigned(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b >> 64);
}

static uint64_t high_signed(uint64_t a, uint64_t b)
{
    return (uint64_t)((__int128)(int64_t)a * (int64_t)b >> 64);
}

static uint64_t high_mixed(uint64_t a, uint64_t b)
{
    return (uint64_t)((__int128)(int64_t)a * (__int128)b >> 64);
}

static uint64_t quotient(uint64_t a, uint64_t b)
{
    if (!b)
        return UINT64_MAX;
    if ((int64_t)a == INT64_MIN && b == UINT64_MAX)
        return a;
    return (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t remainder_of(uint64_t a, uint64_t b)
{
    if (!b)
        return a;
    if (b == UINT64_MAX)
        return 0;
    return (uint64_t)((int64_t)a % (int64_t)b);
}

static uint64_t quotient_w(uint32_t a, uint32_t b)
{
    if (!b)
        return UINT64_MAX;
    if ((int32_t)a == INT32_MIN && b == UINT32_MAX)
        return sext(a);
    return sext((uint32_t)((int32_t)a / (int32_t)b));
}

static uint64_t remainder_w(uint32_t a, uint32_t b)
{
    if (!b)
        return sext(a);
    if (b == UINT32_MAX)
        return 0;
    return sext((uint32_t)((int32_t)a % (int32_t)b));
}

/* ---- atomic memory operations ---------------------------------------------------------- */

static uint64_t changed_w(enum vm_op op, uint32_t old, uint32_t by)
{
    switch (op) {
    case OP_amoswap_w:
        return by;
    case OP_amoadd_w:
        return old + by;
    case OP_amoxor_w:
        return old ^ by;
    case OP_amoand_w:
        return old & by;
    case OP_amoor_w:
        return old | by;
    case OP_amomin_w:
        return (int32_t)old < (int32_t)by ? old : by;
    case OP_amomax_w:
        return (int32_t)old > (int32_t)by ? old : by;
    case OP_amominu_w:
        return old < by ? old : by;
    default:
        return old > by ? old : by;
    }
}

static uint64_t changed_d(enum vm_op op, uint64_t old, uint64_t by)
{
    switch (op) {
    case OP_amoswap_d:
        return by;
    case OP_amoadd_d:
        return old + by;
    case OP_amoxor_d:
        return old ^ by;
    case OP_amoand_d:
        return old & by;
    case OP_amoor_d:
        return old | by;
    case OP_amomin_d:
        return (int64_t)old < (int64_t)by ? old : by;
    case OP_amomax_d:
        return (int64_t)old > (int64_t)by ? old : by;
    case OP_amominu_d:
        return old < by ? old : by;
    default:
        return old > by ? old : by;
    }
}

static uint64_t read_at(const void *at, uint32_t size)
{
    return size == 8 ? *(const uint64_t *)at : sext(*(const uint32_t *)at);
}

static void write_at(void *at, uint32_t size, uint64_t v)
{
    if (size == 8)
        *(uint64_t *)at = v;
    else
        *(uint32_t *)at = (uint32_t)v;
}

/* lr and sc: whoever wrote in between is found by what stands there, which is enough where
 * one hart runs: another's write comes with a trap, and that ends the reservation. */
static bool reserve(struct hart *h, const struct slot *s, uint32_t size)
{
    uint64_t va = h->x[s->rs1];
    const void *at = atomic_at(h, va, size, false);
    if (!at)
        return false;
    h->reserved = va;
    h->reserved_size = size;
    h->reserved_value = read_at(at, size);
    h->x[s->rd] = h->reserved_value;
    return true;
}

static bool conditional(struct hart *h, const struct slot *s, uint32_t size)
{
    uint64_t va = h->x[s->rs1], value = h->x[s->imm];
    void *at = atomic_at(h, va, size, true);
    if (!at)
        return false;
    bool holds = h->reserved == va && h->reserved_size == size &&
                 read_at(at, size) == h->reserved_value;
    h->reserved = UINT64_MAX;
    if (holds)
        write_at(at, size, value);
    h->x[s->rd] = !holds;
    return true;
}

static bool atomic(struct hart *h, const struct slot *s)
{
    if (s->op == OP_lr_w || s->op == OP_lr_d)
        return reserve(h, s, s->op == OP_lr_d ? 8 : 4);
    if (s->op == OP_sc_w || s->op == OP_sc_d)
        return conditional(h, s, s->op == OP_sc_d ? 8 : 4);
    uint32_t size = s->op > OP_amomaxu_w ? 8 : 4;
    void *at = atomic_at(h, h->x[s->rs1], size, true);
    if (!at)
        return false;
    uint64_t old = read_at(at, size), by = h->x[s->imm];
    write_at(at, size,
             size == 8 ? changed_d(s->op, old, by)
                       : changed_w(s->op, (uint32_t)old, (uint32_t)by));
    h->x[s->rd] = old;
    return true;
}

/* ---- the system's ------------------------------------------------------------------------ */

/* What follows the instruction at h->pc, which ended well. */
static void pass(struct hart *h, const struct slot *s)
{
    h->pc += s->step / 4u;
}

static void csr(struct hart *h, const struct slot *s)
{
    bool by_number = s->op >= OP_csrrwi;
    uint64_t by = by_number ? s->rs1 : h->x[s->rs1], old = 0;
    bool swaps = s->op == OP_csrrw || s->op == OP_csrrwi;
    bool sets = s->op == OP_csrrs || s->op == OP_csrrsi;
    bool reads = !swaps || s->rd != SINK, writes = swaps || s->rs1;
    uint32_t number = (uint32_t)s->imm;
    bool moved = false;
    bool ok = csr_may(h, number, writes) && (!reads || csr_read(h, number, &old)) &&
              (!writes || csr_write(h, number,
                                    swaps  ? by
                                    : sets ? old | by
                                           : old & ~by,
                                    &moved));
    if (!ok) {
        trap(h, CAUSE_ILLEGAL, 0);
        return;
    }
    h->x[s->rd] = old;
    pass(h, s);
    if (moved)
        view_changed(h);
}

/* Everything that ends a round besides jumps. */
static void system_op(struct hart *h, const struct slot *s)
{
    switch (s->op) {
    case OP_ecall:
        if (h->privilege == SUPERVISOR && sbi_call(h)) {
            pass(h, s);
            return;
        }
        trap(h, h->privilege == USER ? CAUSE_ECALL_USER : CAUSE_ECALL_SUPERVISOR, 0);
        return;
    case OP_ebreak:
        trap(h, CAUSE_BREAKPOINT, h->pc);
        return;
    case OP_sret:
        if (h->privilege == USER)
            break;
        trap_return(h);
        return;
    case OP_wfi:
        if (h->privilege == USER)
            break;
        h->waiting = !(h->sip & h->sie);
        pass(h, s);
        return;
    case OP_sfence_vma:
        if (h->privilege == USER)
            break;
        if (s->rs1)
            tlb_flush_page(h, h->x[s->rs1]);
        else
            tlb_flush(h);
        pass(h, s);
        return;
    case OP_fence_i: /* decoded code follows every write by itself */
    case OP_fence:
        pass(h, s);
        return;
    default:
        break;
    }
    trap(h, CAUSE_ILLEGAL, (uint32_t)s->imm);
}

/* ---- a round ---------------------------------------------------------------------------------- */

/* Some slots and the address of the first; jumps within `span` bytes of slots stay there. */
struct stretch {
    const struct slot *slots;
    uint64_t pc;
    uint32_t span;
};
#define PAGE_SPAN (2048u * (uint32_t)sizeof(struct slot))

#define likely(x) __builtin_expect(!!(x), 1)
#define TAG(va, size) ((va) & (~(PAGE - 1) | ((size) - 1)))

#define PC (t.pc + (uint64_t)((const char *)s - (const char *)t.slots) / 4u)
#define IMM ((uint64_t)(int64_t)s->imm)
#define RS1 (x[s->rs1])
#define RS2 (x[s->imm]) /* of R; stores and branches have it in rd */
#define NEXT                                                  \
    {                                                         \
        n++;                                                  \
        s = (const struct slot *)((const char *)s + s->step); \
        continue;                                             \
    }
#define SET(value)          \
    {                       \
        x[s->rd] = (value); \
        NEXT                \
    }
/* To `offset` bytes of code from here: in these slots where that is, and the budget lasts. */
#define JUMP(offset)                                                        \
    {                                                                       \
        n++;                                                                \
        uint32_t to = (uint32_t)((const char *)s - (const char *)t.slots) + \
                      (uint32_t)(offset) * 4u;                              \
        if (likely(to < t.span && n < limit)) {                             \
            s = (const struct slot *)((const char *)t.slots + to);          \
            continue;                                                       \
        }                                                                   \
        GO(PC + (uint64_t)(int64_t)(int32_t)(offset))                       \
    }
/* To an address whose page may be another one; the round goes on where its slots are at
 * hand. */
#define GO(address)                                                          \
    {                                                                        \
        uint64_t there = (address);                                          \
        h->pc = there;                                                       \
        const struct code_entry *c = &tlb->code[there / PAGE % TLB_ENTRIES]; \
        if (n >= limit || c->tag != (there & ~(PAGE - 1)))                   \
            break;                                                           \
        t.slots = c->slots;                                                  \
        t.pc = c->tag;                                                       \
        t.span = PAGE_SPAN;                                                  \
        s = t.slots + there % PAGE / 2;                                      \
        continue;                                                            \
    }
#define BRANCH(condition) \
    {                     \
        if (condition)    \
            JUMP(s->imm)  \
        NEXT              \
    }
/* What is not in the buffer, not aligned, or no memory, goes the slow way, which may trap. */
#define LOAD(type, size, as, give)                                       \
    {                                                                    \
        uint64_t va = RS1 + IMM, v;                                      \
        const struct tlb_entry *e = &tlb->read[va / PAGE % TLB_ENTRIES]; \
        if (likely(e->tag == TAG(va, size))) {                           \
            give(as(*(const type *)(e->less + (uintptr_t)va)));          \
            NEXT                                                         \
        }                                                                \
        h->pc = PC;                                                      \
        if (load_slow(h, va, size, &v)) {                                \
            give(as((type)v));                                           \
            NEXT                                                         \
        }                                                                \
        break;                                                           \
    }
#define STORE(type, size, value)                                          \
    {                                                                     \
        uint64_t va = RS1 + IMM;                                          \
        const struct tlb_entry *e = &tlb->write[va / PAGE % TLB_ENTRIES]; \
        if (likely(e->tag == TAG(va, size))) {                            \
            *(type *)(e->less + (uintptr_t)va) = (type)(value);           \
            NEXT                                                          \
        }                                                                 \
        h->pc = PC;                                                       \
        if (!store_slow(h, va, size, value))                              \
            break;                                                        \
        /* It may have been a device, or have written this very code. */  \
        n++;                                                              \
        h->pc += s->step / 4u;                                            \
        break;                                                            \
    }
#define TO_X(v) x[s->rd] = (v)
#define TO_F(v) set_f(h, s->rd, v)
#define BOXED(v) (0xffffffff00000000ull | (v))
#define SIGNED_BYTE(v) ((uint64_t)(int64_t)(int8_t)(v))
#define SIGNED_HALF(v) ((uint64_t)(int64_t)(int16_t)(v))
#define PLAIN(v) (v)
#define FP_LOAD(type, size, as)           \
    {                                     \
        if (!(h->sstatus & SSTATUS_FS)) { \
            h->pc = PC;                   \
            trap(h, CAUSE_ILLEGAL, 0);    \
            break;                        \
        }                                 \
        LOAD(type, size, as, TO_F)        \
    }
#define FP_STORE(type, size)              \
    {                                     \
        if (!(h->sstatus & SSTATUS_FS)) { \
            h->pc = PC;                   \
            trap(h, CAUSE_ILLEGAL, 0);    \
            break;                        \
        }                                 \
        STORE(type, size, h->f[s->rd])    \
    }

/* An instruction that begins in the last two bytes of a page: a stretch of its own, behind
 * which the page after that begins. false: it trapped. */
static bool across(struct hart *h, struct stretch *t)
{
    uint16_t low, high;
    if (!fetch_half(h, h->pc, &low) || !fetch_half(h, h->pc + 2, &high))
        return false;
    h->across[0] = vm_decode((uint32_t)high << 16 | low);
    h->across[2] = (struct slot){.op = OP_page_end};
    *t = (struct stretch){.slots = h->across, .pc = h->pc};
    return true;
}

/* Slots are made when they are first run; their page's code lies where its slots say. */
static void decode_at(const struct stretch *t, const struct slot *s)
{
    struct code_page *page = code_page_of(t->slots);
    uint32_t i = (uint32_t)(s - t->slots);
    uint32_t low = page->code[i];
    bool whole = (low & 3) == 3;
    if (whole && i == PAGE / 2 - 1)
        page->slots[i] = (struct slot){.op = OP_across, .step = sizeof(struct slot)};
    else
        page->slots[i] = vm_decode(whole ? low | (uint32_t)page->code[i + 1] << 16 : low);
}

/* Runs from `s` until something ends the round, and says how many instructions retired. */
static uint64_t run_round(struct hart *h, struct stretch t, const struct slot *s,
                          uint64_t limit)
{
    uint64_t *const x = h->x;
    const struct tlb *const tlb = h->tlb;
    uint64_t n = 0;
    for (;;) {
        switch ((enum vm_op)s->op) {
        case OP_lui:
            SET(IMM)
        case OP_auipc:
            SET(PC + IMM)
        case OP_jal: {
            x[s->rd] = PC + s->step / 4u;
            JUMP(s->imm)
        }
        case OP_jalr: {
            uint64_t to = (RS1 + IMM) & ~1ull, pc = PC;
            x[s->rd] = pc + s->step / 4u;
            n++;
            GO(to)
        }
        case OP_beq:
            BRANCH(RS1 == x[s->rd])
        case OP_bne:
            BRANCH(RS1 != x[s->rd])
        case OP_blt:
            BRANCH((int64_t)RS1 < (int64_t)x[s->rd])
        case OP_bge:
            BRANCH((int64_t)RS1 >= (int64_t)x[s->rd])
        case OP_bltu:
            BRANCH(RS1 < x[s->rd])
        case OP_bgeu:
            BRANCH(RS1 >= x[s->rd])

        case OP_lb:
            LOAD(uint8_t, 1, SIGNED_BYTE, TO_X)
        case OP_lh:
            LOAD(uint16_t, 2, SIGNED_HALF, TO_X)
        case OP_lw:
            LOAD(uint32_t, 4, sext, TO_X)
        case OP_ld:
            LOAD(uint64_t, 8, PLAIN, TO_X)
        case OP_lbu:
            LOAD(uint8_t, 1, PLAIN, TO_X)
        case OP_lhu:
            LOAD(uint16_t, 2, PLAIN, TO_X)
        case OP_lwu:
            LOAD(uint32_t, 4, PLAIN, TO_X)
        case OP_sb:
            STORE(uint8_t, 1, x[s->rd])
        case OP_sh:
            STORE(uint16_t, 2, x[s->rd])
        case OP_sw:
            STORE(uint32_t, 4, x[s->rd])
        case OP_sd:
            STORE(uint64_t, 8, x[s->rd])

        case OP_addi:
            SET(RS1 + IMM)
        case OP_slti:
            SET((int64_t)RS1 < (int64_t)IMM)
        case OP_sltiu:
            SET(RS1 < IMM)
        case OP_xori:
            SET(RS1 ^ IMM)
        case OP_ori:
            SET(RS1 | IMM)
        case OP_andi:
            SET(RS1 & IMM)
        case OP_slli:
            SET(RS1 << s->imm)
        case OP_srli:
            SET(RS1 >> s->imm)
        case OP_srai:
            SET((uint64_t)((int64_t)RS1 >> s->imm))
        case OP_add:
            SET(RS1 + RS2)
        case OP_sub:
            SET(RS1 - RS2)
        case OP_sll:
            SET(RS1 << (RS2 & 63))
        case OP_slt:
            SET((int64_t)RS1 < (int64_t)RS2)
        case OP_sltu:
            SET(RS1 < RS2)
        case OP_xor:
            SET(RS1 ^ RS2)
        case OP_srl:
            SET(RS1 >> (RS2 & 63))
        case OP_sra:
            SET((uint64_t)((int64_t)RS1 >> (RS2 & 63)))
        case OP_or:
            SET(RS1 | RS2)
        case OP_and:
            SET(RS1 & RS2)
        case OP_addiw:
            SET(sext(RS1 + IMM))
        case OP_slliw:
            SET(sext(RS1 << s->imm))
        case OP_srliw:
            SET(sext((uint32_t)RS1 >> s->imm))
        case OP_sraiw:
            SET((uint64_t)(int64_t)((int32_t)RS1 >> s->imm))
        case OP_addw:
            SET(sext(RS1 + RS2))
        case OP_subw:
            SET(sext(RS1 - RS2))
        case OP_sllw:
            SET(sext(RS1 << (RS2 & 31)))
        case OP_srlw:
            SET(sext((uint32_t)RS1 >> (RS2 & 31)))
        case OP_sraw:
            SET((uint64_t)(int64_t)((int32_t)RS1 >> (RS2 & 31)))

        case OP_mul:
            SET(RS1 * RS2)
        case OP_mulh:
            SET(high_signed(RS1, RS2))
        case OP_mulhsu:
            SET(high_mixed(RS1, RS2))
        case OP_mulhu:
            SET(high_unsigned(RS1, RS2))
        case OP_div:
            SET(quotient(RS1, RS2))
        case OP_divu:
            SET(RS2 ? RS1 / RS2 : UINT64_MAX)
        case OP_rem:
            SET(remainder_of(RS1, RS2))
        case OP_remu:
            SET(RS2 ? RS1 % RS2 : RS1)
        case OP_mulw:
            SET(sext(RS1 * RS2))
        case OP_divw:
            SET(quotient_w((uint32_t)RS1, (uint32_t)RS2))
        case OP_divuw:
            SET((uint32_t)RS2 ? sext((uint32_t)RS1 / (uint32_t)RS2) : UINT64_MAX)
        case OP_remw:
            SET(remainder_w((uint32_t)RS1, (uint32_t)RS2))
        case OP_remuw:
            SET(sext((uint32_t)RS2 ? (uint32_t)RS1 % (uint32_t)RS2 : RS1))

        case OP_flw:
            FP_LOAD(uint32_t, 4, BOXED)
        case OP_fld:
            FP_LOAD(uint64_t, 8, PLAIN)
        case OP_fsw:
            FP_STORE(uint32_t, 4)
        case OP_fsd:
            FP_STORE(uint64_t, 8)

        case OP_undecoded:
            decode_at(&t, s);
            continue;
        case OP_page_end:
            GO(PC)
        case OP_across:
            h->pc = PC;
            if (!across(h, &t))
                break;
            s = t.slots;
            continue;
        case OP_fence:
        NEXT case OP_illegal:
        case OP_fence_i:
        case OP_ecall:
        case OP_ebreak:
        case OP_sret:
        case OP_wfi:
        case OP_sfence_vma:
            h->pc = PC;
            system_op(h, s);
            n++;
            break;
        case OP_csrrw:
        case OP_csrrs:
        case OP_csrrc:
        case OP_csrrwi:
        case OP_csrrsi:
        case OP_csrrci:
            h->pc = PC;
            h->retired_now = n;
            csr(h, s);
            n++;
            break;
        default:
            h->pc = PC;
            if (s->op < OP_fence ? atomic(h, s) : fp_execute(h, s))
                NEXT break;
        }
        return n;
    }
}

void hart_run(struct hart *h, uint64_t limit)
{
    uint64_t n = 0;
    while (n < limit && !h->waiting && !h->attention) {
        if (h->sip & h->sie && interrupt(h))
            continue;
        struct slot *slots = code_at(h, h->pc);
        if (!slots) {
            n++; /* or a handler that is nowhere would be looked for for ever */
            continue;
        }
        struct stretch t = {.slots = slots, .pc = h->pc & ~(PAGE - 1), .span = PAGE_SPAN};
        uint64_t did = run_round(h, t, slots + h->pc % PAGE / 2, limit - n);
        h->retired += did;
        n += did;
    }
}
