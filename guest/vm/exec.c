/* The executor: one dense switch over slots, which engines make a jump table of (threaded
 * code by tail calls is several times slower in Wasm).
 *
 * run_fast() calls nothing, so that what it goes by stays in registers: engines keep none of
 * them over a call. It ends at what it cannot do at full speed (memory that no buffer has,
 * code of another page, the system's instructions, floating point with consequences), which
 * hart_run() then does, one instruction, before it goes on. What is seldom needed stands in
 * `the_hart`, whose address is part of the code.
 *
 * Slots are found by adding; jumps count the budget down, which is enough: code without a
 * jump reaches its page's end.
 */
#include "vm/csr.h"
#include "vm/decode.h"
#include "vm/fast.h"
#include "vm/hart.h"
#include "vm/perform.h"
#include "vm/place.h"
#include "vm/ram.h"
#include "vm/softfp.h"

/* ---- slots and registers ----------------------------------------------------------- */

#define AT(row, place) (*(uint64_t *)(void *)((char *)the_hart.row + (place)))
#define RD AT(x, s->rd)
#define RS1 AT(x, s->rs1)
#define RS2 AT(x, (uint8_t)s->imm) /* of R; stores and branches have it in rd */
#define FD AT(f, s->rd)
#define F1 AT(f, s->rs1)
#define F2 AT(f, (uint8_t)s->imm)
#define IMM ((uint64_t)(int64_t)s->imm)
#define PC              \
    (the_hart.page_pc + \
     (uint64_t)(uint32_t)((const char *)s - (const char *)the_hart.page_slots) / 4u)

/* Goes on to the slot after an instruction of so many bytes. */
#define NEXT(bytes)       \
    {                     \
        left--;           \
        s += (bytes) / 2; \
        continue;         \
    }
/* An operation with instructions of four bytes; of four and of two. */
#define OP(name, what) \
    case OP_##name: {  \
        what;          \
    }                  \
        NEXT(4)
#define OPS(name, what) \
    OP(name, what)      \
    case OP_c_##name: { \
        what;           \
    }                   \
        NEXT(2)

/* Jumps within the page: imm is in bytes of slots. The budget is checked when the jump is
 * taken. */
#define NEAR(condition, bytes)                                   \
    {                                                            \
        if (condition) {                                         \
            s = (const struct slot *)((const char *)s + s->imm); \
            if (likely(--left > 0))                              \
                continue;                                        \
            break;                                               \
        }                                                        \
        NEXT(bytes)                                              \
    }
/* Jumps to an address that may be in another page: goes on if its slots are at hand. */
#define GO(address)                                                              \
    {                                                                            \
        uint64_t there = (address);                                              \
        const struct code_entry *c = &tlb->code[there / RAM_PAGE % TLB_ENTRIES]; \
        if (likely(c->tag == (there & ~(uint64_t)(RAM_PAGE - 1)) && left > 0)) { \
            the_hart.page_pc = c->tag;                                           \
            the_hart.page_slots = c->slots;                                      \
            s = c->slots + there % RAM_PAGE / 2;                                 \
            continue;                                                            \
        }                                                                        \
        the_hart.pc = there;                                                     \
        the_hart.left = left;                                                    \
        return 0;                                                                \
    }
#define FAR(condition)    \
    {                     \
        left--;           \
        if (condition)    \
            GO(PC + IMM)  \
        s += s->size / 2; \
        continue;         \
    }
#define JALR(link, bytes)                  \
    {                                      \
        uint64_t to = (RS1 + IMM) & ~1ull; \
        if (link)                          \
            RD = PC + (bytes);             \
        left--;                            \
        GO(to)                             \
    }

/* ---- memory ------------------------------------------------------------------------ */

/* Memory that is not in the buffer, or a misaligned access across pages, is performed. */
#define TAG(va, size) ((va) & (~(uint64_t)(RAM_PAGE - 1) | ((size) - 1)))
#define FIND(way, address, size)                                        \
    uint64_t va = (address);                                            \
    const struct tlb_entry *e = &tlb->way[va / RAM_PAGE % TLB_ENTRIES]; \
    if (!likely(e->tag == TAG(va, size))) {                             \
        SELDOM;                                                         \
        if (e->tag != TAG(va, 1) || va % RAM_PAGE > RAM_PAGE - (size))  \
            break;                                                      \
    }
/* Keeps compilers from computing what follows in any case. */
#define SELDOM __asm__ volatile("")
#define FIND_ALIGNED(way, address, size)                                \
    uint64_t va = (address);                                            \
    const struct tlb_entry *e = &tlb->way[va / RAM_PAGE % TLB_ENTRIES]; \
    if (!likely(e->tag == TAG(va, size)))                               \
    break
/* An object at any address. */
#define LOOSE(type) \
    struct {        \
        type any;   \
    } __attribute__((packed, may_alias))
#define THERE(type) (((LOOSE(type) *)(e->less + (uintptr_t)va))->any)
#define LOAD(type, size, as)     \
    FIND(read, RS1 + IMM, size); \
    RD = as(THERE(const type))
#define STORE(type, size)         \
    FIND(write, RS1 + IMM, size); \
    THERE(type) = (type)AT(x, s->rd)
#define FP_LOAD(type, size, as)  \
    if (!the_hart.fp_dirty)      \
        break;                   \
    FIND(read, RS1 + IMM, size); \
    FD = as(THERE(const type))
#define FP_STORE(type, size)      \
    if (!the_hart.fp_dirty)       \
        break;                    \
    FIND(write, RS1 + IMM, size); \
    THERE(type) = (type)FD
#define AMO(type, size, as, new)            \
    FIND_ALIGNED(write, RS1, size);         \
    type old = THERE(type), by = (type)RS2; \
    THERE(type) = (type)(new);              \
    if (s->rd)                              \
    RD = as(old)
/* An AMO of words and of double words, signed or unsigned. */
#define AMOS(name, new)                           \
    OP(name##_w, AMO(uint32_t, 4, sign_32, new)); \
    OP(name##_d, AMO(uint64_t, 8, PLAIN, new))
#define PLAIN(v) (v)

/* ---- pairs ---------------------------------------------------------------------------------- */

#define DO_addi RD = RS1 + IMM
#define DO_c_addi DO_addi
#define DO_add RD = RS1 + RS2
#define DO_c_add DO_add
#define DO_slli RD = RS1 << (s->imm & 63)
#define DO_c_slli DO_slli
#define DO_andi RD = RS1 & IMM
#define DO_lui RD = IMM
#define DO_auipc RD = PC + IMM
#define DO_lbu LOAD(uint8_t, 1, PLAIN)
#define DO_ld LOAD(uint64_t, 8, PLAIN)
#define DO_c_ld DO_ld
#define DO_sd STORE(uint64_t, 8)
#define DO_c_sd DO_sd

/* The first instruction of a pair, of so many bytes; then the second. */
#define FIRST(first, bytes) \
    {                       \
        DO_##first;         \
    }                       \
    left--;                 \
    s += (bytes) / 2
#define PAIR(first, bytes, second, bytes_of_second) \
    case OP_##first##_##second: {                   \
        FIRST(first, bytes);                        \
        DO_##second;                                \
    }                                               \
        NEXT(bytes_of_second)

/* ---- floating point ---------------------------------------------------------------- */

/* For results without side effects (fast.h); otherwise the operation is performed. */
#define NEED(condition)     \
    if (!likely(condition)) \
    break
#define QUICK(call)                               \
    NEED(the_hart.fp_quick &&is_nearest(s->imm)); \
    uint64_t r;                                   \
    NEED(call);                                   \
    FD = r
#define TO_INT(quick)                             \
    NEED(the_hart.fp_quick && s->imm >> 16 == 1); \
    uint64_t r;                                   \
    NEED(quick);                                  \
    RD = r
#define COMPARE(operator)                        \
    double a = as_double(F1), b = as_double(F2); \
    NEED(the_hart.fp_dirty &&a == a && b == b);  \
    RD = a operator b
#define MOVE(into, value)    \
    NEED(the_hart.fp_dirty); \
    into = (value)

/* Runs from `s` on; `the_hart` has the page and the budget. Returns the slot of an
 * instruction to be performed, its address in pc; or NULL, if pc is in a page that is not
 * at hand. Either may be returned when the budget is used up. */
__attribute__((noinline)) static const struct slot *run_fast(const struct slot *s)
{
    const struct tlb *const tlb = the_hart.tlb;
    int64_t left = the_hart.left;
    for (;;) {
        switch ((enum vm_op)s->op) {
            OPS(nop, );
            OP(fence, );
            OPS(lui, DO_lui);
            OP(auipc, DO_auipc);
            OPS(addi, DO_addi);
            OP(slti, RD = (int64_t)RS1 < (int64_t)IMM);
            OP(sltiu, RD = RS1 < IMM);
            OP(xori, RD = RS1 ^ IMM);
            OP(ori, RD = RS1 | IMM);
            OPS(andi, DO_andi);
            OPS(slli, DO_slli);
            OPS(srli, RD = RS1 >> (s->imm & 63));
            OPS(srai, RD = (uint64_t)((int64_t)RS1 >> (s->imm & 63)));
            OPS(add, DO_add);
            OPS(sub, RD = RS1 - RS2);
            OP(sll, RD = RS1 << (RS2 & 63));
            OP(slt, RD = (int64_t)RS1 < (int64_t)RS2);
            OP(sltu, RD = RS1 < RS2);
            OPS(xor, RD = RS1 ^ RS2);
            OP(srl, RD = RS1 >> (RS2 & 63));
            OP(sra, RD = (uint64_t)((int64_t)RS1 >> (RS2 & 63)));
            OPS(or, RD = RS1 | RS2);
            OPS(and, RD = RS1 & RS2);
            OPS(addiw, RD = sign_32(RS1 + IMM));
            OP(slliw, RD = sign_32(RS1 << (s->imm & 31)));
            OP(srliw, RD = sign_32((uint32_t)RS1 >> (s->imm & 31)));
            OP(sraiw, RD = (uint64_t)(int64_t)((int32_t)RS1 >> (s->imm & 31)));
            OPS(addw, RD = sign_32(RS1 + RS2));
            OPS(subw, RD = sign_32(RS1 - RS2));
            OP(sllw, RD = sign_32(RS1 << (RS2 & 31)));
            OP(srlw, RD = sign_32((uint32_t)RS1 >> (RS2 & 31)));
            OP(sraw, RD = (uint64_t)(int64_t)((int32_t)RS1 >> (RS2 & 31)));
            OP(mul, RD = RS1 * RS2);
            OP(mulh, RD = high_signed(RS1, RS2));
            OP(mulhsu, RD = high_mixed(RS1, RS2));
            OP(mulhu, RD = high_unsigned(RS1, RS2));
            OP(div, RD = quotient(RS1, RS2));
            OP(divu, RD = RS2 ? RS1 / RS2 : UINT64_MAX);
            OP(rem, RD = remainder_of(RS1, RS2));
            OP(remu, RD = RS2 ? RS1 % RS2 : RS1);
            OP(mulw, RD = sign_32(RS1 * RS2));
            OP(divw, RD = quotient_w((uint32_t)RS1, (uint32_t)RS2));
            OP(divuw, RD = quotient_uw((uint32_t)RS1, (uint32_t)RS2));
            OP(remw, RD = remainder_w((uint32_t)RS1, (uint32_t)RS2));
            OP(remuw, RD = remainder_uw((uint32_t)RS1, (uint32_t)RS2));

            OP(lb, LOAD(uint8_t, 1, sign_8));
            OP(lh, LOAD(uint16_t, 2, sign_16));
            OPS(lw, LOAD(uint32_t, 4, sign_32));
            OPS(ld, DO_ld);
            OP(lbu, DO_lbu);
            OP(lhu, LOAD(uint16_t, 2, PLAIN));
            OP(lwu, LOAD(uint32_t, 4, PLAIN));
            OP(sb, STORE(uint8_t, 1));
            OP(sh, STORE(uint16_t, 2));
            OPS(sw, STORE(uint32_t, 4));
            OPS(sd, DO_sd);
            OP(flw, FP_LOAD(uint32_t, 4, boxed));
            OPS(fld, FP_LOAD(uint64_t, 8, PLAIN));
            OP(fsw, FP_STORE(uint32_t, 4));
            OPS(fsd, FP_STORE(uint64_t, 8));
            AMOS(amoswap, by);
            AMOS(amoadd, old + by);
            AMOS(amoxor, old ^ by);
            AMOS(amoand, old & by);
            AMOS(amoor, old | by);

        case OP_beq_near:
            NEAR(RS1 == AT(x, s->rd), 4)
        case OP_bne_near:
            NEAR(RS1 != AT(x, s->rd), 4)
        case OP_blt_near:
            NEAR((int64_t)RS1 < (int64_t)AT(x, s->rd), 4)
        case OP_bge_near:
            NEAR((int64_t)RS1 >= (int64_t)AT(x, s->rd), 4)
        case OP_bltu_near:
            NEAR(RS1 < AT(x, s->rd), 4)
        case OP_bgeu_near:
            NEAR(RS1 >= AT(x, s->rd), 4)
        case OP_c_beq_near:
            NEAR(!RS1, 2)
        case OP_c_bne_near:
            NEAR(RS1, 2)
        case OP_jal_near:
            RD = PC + 4;
            NEAR(true, 4)
        case OP_j_near:
        case OP_c_j_near:
            NEAR(true, 4)
        case OP_beq:
            FAR(RS1 == AT(x, s->rd))
        case OP_bne:
            FAR(RS1 != AT(x, s->rd))
        case OP_blt:
            FAR((int64_t)RS1 < (int64_t)AT(x, s->rd))
        case OP_bge:
            FAR((int64_t)RS1 >= (int64_t)AT(x, s->rd))
        case OP_bltu:
            FAR(RS1 < AT(x, s->rd))
        case OP_bgeu:
            FAR(RS1 >= AT(x, s->rd))
        case OP_jal:
            if (s->rd)
                RD = PC + s->size;
            FAR(true)
        case OP_jalr:
            JALR(true, 4)
        case OP_c_jalr:
            JALR(true, 2)
        case OP_jr:
        case OP_c_jr:
            JALR(false, 0)
        case OP_page_end:
            GO(PC)

            OP(fadd_d, QUICK(quick_d(as_double(F1) + as_double(F2), &r)));
            OP(fsub_d, QUICK(quick_d(as_double(F1) - as_double(F2), &r)));
            OP(fmul_d, QUICK(quick_d(as_double(F1) * as_double(F2), &r)));
            OP(fdiv_d, QUICK(quick_d(as_double(F1) / as_double(F2), &r)));
            OP(fsqrt_d, QUICK(quick_d(__builtin_sqrt(as_double(F1)), &r)));
            OP(fadd_s,
               QUICK(are_boxed(F1, F2) && quick_s(as_single(F1) + as_single(F2), &r)));
            OP(fsub_s,
               QUICK(are_boxed(F1, F2) && quick_s(as_single(F1) - as_single(F2), &r)));
            OP(fmul_s,
               QUICK(are_boxed(F1, F2) && quick_s(as_single(F1) * as_single(F2), &r)));
            OP(fdiv_s,
               QUICK(are_boxed(F1, F2) && quick_s(as_single(F1) / as_single(F2), &r)));
            OP(fcvt_s_d, QUICK(quick_s((float)as_double(F1), &r)));
            OP(fcvt_d_l, QUICK((r = of_double((double)(int64_t)RS1), true)));
            OP(fcvt_d_lu, QUICK((r = of_double((double)RS1), true)));
            OP(fcvt_d_w, MOVE(FD, of_double((double)(int32_t)RS1)));
            OP(fcvt_d_wu, MOVE(FD, of_double((double)(uint32_t)RS1)));
            OP(fcvt_w_d, TO_INT(to_int_32(as_double(F1), &r)));
            OP(fcvt_l_d, TO_INT(to_int_64(as_double(F1), &r)));
            OP(feq_d, COMPARE(==));
            OP(flt_d, COMPARE(<));
            OP(fle_d, COMPARE(<=));
            OP(fsgnj_d, MOVE(FD, with_sign(F1, F2)));
            OP(fsgnjn_d, MOVE(FD, with_sign(F1, ~F2)));
            OP(fsgnjx_d, MOVE(FD, with_sign(F1, F1 ^ F2)));
            OP(fmv_x_d, MOVE(RD, F1));
            OP(fmv_d_x, MOVE(FD, RS1));
            OP(fmv_x_w, MOVE(RD, sign_32(F1)));
            OP(fmv_w_x, MOVE(FD, boxed(RS1)));
            PAIR(c_ld, 2, c_ld, 2);
            PAIR(c_sd, 2, c_sd, 2);
            PAIR(ld, 4, ld, 4);
            PAIR(sd, 4, sd, 4);
            PAIR(lbu, 4, lbu, 4);
            PAIR(c_ld, 2, c_addi, 2);
            PAIR(c_ld, 2, c_add, 2);
            PAIR(c_add, 2, c_ld, 2);
            PAIR(c_addi, 2, c_sd, 2);
            PAIR(c_addi, 2, c_addi, 2);
            PAIR(c_add, 2, c_add, 2);
            PAIR(c_slli, 2, c_add, 2);
            PAIR(slli, 4, c_add, 2);
            PAIR(andi, 4, c_slli, 2);
            PAIR(auipc, 4, ld, 4);
            PAIR(auipc, 4, addi, 4);
            PAIR(lui, 4, addi, 4);
        case OP_c_addi_c_jr:
            FIRST(c_addi, 2);
            JALR(false, 0)
        case OP_c_addi_bltu_near:
            FIRST(c_addi, 2);
            NEAR(RS1 < AT(x, s->rd), 4)
        default:
            break;
        }
        break;
    }
    the_hart.pc = PC;
    the_hart.left = left;
    return s;
}

/* ---- slow paths -------------------------------------------------------------------- */

/* Makes these the slots that run. */
static const struct slot *enter(struct hart *h, struct slot *slots, uint64_t pc)
{
    h->page_slots = slots;
    h->page_pc = pc & ~(uint64_t)(RAM_PAGE - 1);
    return slots + pc % RAM_PAGE / 2;
}

/* The instruction at pc in slots of its own, after which the round ends: one that begins
 * in the last two bytes of a page, or that is run by itself. NULL: it trapped. */
static const struct slot *alone(struct hart *h)
{
    uint16_t low, high = 0;
    if (!fetch_half(h, h->pc, &low) ||
        ((low & 3) == 3 && !fetch_half(h, h->pc + 2, &high)))
        return 0;
    h->alone[0] = place(vm_decode((uint32_t)high << 16 | low), PLACE_NONE);
    h->alone[h->alone[0].size / 2] = (struct slot){.op = OP_page_end};
    h->page_slots = h->alone;
    h->page_pc = h->pc;
    return h->alone;
}

/* Runs as many rounds of the loop as lie within both pages and the budget; where there is none, its
 * first instruction alone. Returns the slot to go on from. */
static const struct slot *shifting_copy(struct hart *h, const struct slot *s)
{
    const struct slot *load = s + COPY_LD, *store = s + COPY_SD;
    uint64_t from = AT(x, load->rs1) + 8, to = AT(x, store->rs1),
             until = AT(x, s[COPY_BLTU].rd), n = (until - to + 7) / 8;
    n = least(n, (RAM_PAGE - from % RAM_PAGE) / 8);
    n = least(n, least((RAM_PAGE - to % RAM_PAGE) / 8, (uint64_t)h->left / 8));
    const struct tlb_entry *r = &h->tlb->read[from / RAM_PAGE % TLB_ENTRIES],
                           *w = &h->tlb->write[to / RAM_PAGE % TLB_ENTRIES];
    if (to >= until || n == 0 || r->tag != TAG(from, 8) || w->tag != TAG(to, 8)) {
        RD = RS1 >> (RS2 & 63);
        h->left--;
        h->retired++;
        h->pc += s->size;
        return s + s->size / 2;
    }
    const uint64_t *source = (const void *)(r->less + (uintptr_t)from);
    uint64_t *target = (void *)(w->less + (uintptr_t)to);
    uint64_t word = RS1, low = 0, high = 0, right = RS2 & 63,
             left = AT(x, (uint8_t)s[COPY_SLL].imm) & 63;
    for (uint64_t i = 0; i < n; i++) {
        low = word >> right;
        word = source[i];
        target[i] = high = word << left | low;
    }
    RD = low;
    RS1 = word;
    AT(x, s[COPY_SLL].rd) = high;
    AT(x, load->rs1) = from + 8 * (n - 1);
    AT(x, store->rs1) = to + 8 * n;
    h->left -= (int64_t)(8 * n);
    h->retired += 8 * n;
    if (to + 8 * n >= until)
        s += COPY_END;
    h->pc = PC;
    return s;
}

/* Performs the instruction that run_fast() returned. Returns the slot to go on from;
 * NULL: by pc. */
static const struct slot *handle(struct hart *h, const struct slot *s)
{
    if (s->op == OP_undecoded) {
        place_from(code_page_of(h->page_slots), (uint32_t)(s - h->page_slots));
        return s;
    }
    if (s->op == OP_across) {
        /* It counts against the budget, or with a budget of one it would never run. */
        const struct slot *whole = alone(h);
        h->left -= !whole;
        return whole;
    }
    if (s->op == OP_shifting_copy)
        return shifting_copy(h, s);
    h->left--;
    /* A copy, since a store may drop the very slot that it is run from. */
    struct slot now = *s;
    now.op = (uint8_t)place_first(now.op);
    bool straight = perform(h, &now);
    h->retired++;
    return straight ? s + now.size / 2 : 0;
}

/* The slots at pc; NULL: it trapped, or an interrupt was taken. */
static const struct slot *at_pc(struct hart *h)
{
    if (h->sip & h->sie && interrupt(h))
        return 0;
    struct slot *slots = code_at(h, h->pc);
    if (!slots) {
        h->left--; /* or a missing handler would be looked for without end */
        return 0;
    }
    return enter(h, slots, h->pc);
}

/* Runs from `s` and performs what run_fast() returns. Returns the slot to go on from;
 * NULL: by pc. */
static const struct slot *run_from(struct hart *h, const struct slot *s)
{
    /* The instruction may have changed either. */
    h->fp_dirty = (h->sstatus & SSTATUS_FS) == SSTATUS_FS && h->frm <= FP_RMM;
    h->fp_quick = h->fp_dirty && h->frm == FP_RNE && h->fflags & FP_NX;
    int64_t before = h->left;
    s = run_fast(s);
    h->retired += (uint64_t)(before - h->left);
    return s && h->left > 0 ? handle(h, s) : 0;
}

void hart_run(struct hart *h, uint64_t limit)
{
    const struct slot *s = 0;
    h->left = limit < INT32_MAX ? (int64_t)limit : INT32_MAX;
    while (h->left > 0 && !h->waiting && !h->attention) {
        if (!s)
            s = at_pc(h);
        if (s)
            s = run_from(h, s);
    }
}

void hart_step(struct hart *h)
{
    h->left = 1;
    if (h->sip & h->sie && interrupt(h))
        return;
    const struct slot *s = alone(h);
    if (s)
        (void)run_from(h, s);
}
