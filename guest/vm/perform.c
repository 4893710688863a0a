/* Instructions that the executor hands over. */
#include "vm/perform.h"
#include "vm/csr.h"
#include "vm/fp.h"
#include "vm/sbi.h"

static uint64_t sext(uint64_t v)
{
    return (uint64_t)(int64_t)(int32_t)v;
}

/* ---- registers, by their place ----------------------------------------------------- */

static uint64_t x_of(const struct hart *h, int32_t place)
{
    return h->x[(uint32_t)place / REGISTER(1)];
}

static void set_x(struct hart *h, uint32_t place, uint64_t v)
{
    if (place)
        h->x[place / REGISTER(1)] = v;
}

/* ---- atomic memory operations ------------------------------------------------------ */

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

/* lr and sc: a write in between is found by comparing the value, which is enough with one
 * hart: another program's write comes with a trap, and that ends the reservation. */
static bool reserve(struct hart *h, const struct slot *s, uint32_t size)
{
    uint64_t va = x_of(h, s->rs1);
    const void *at = atomic_at(h, va, size, false);
    if (!at)
        return false;
    h->reserved = va;
    h->reserved_size = size;
    h->reserved_value = read_at(at, size);
    set_x(h, s->rd, h->reserved_value);
    return true;
}

static bool conditional(struct hart *h, const struct slot *s, uint32_t size)
{
    uint64_t va = x_of(h, s->rs1), value = x_of(h, s->imm);
    void *at = atomic_at(h, va, size, true);
    if (!at)
        return false;
    bool holds = h->reserved == va && h->reserved_size == size &&
                 read_at(at, size) == h->reserved_value;
    h->reserved = UINT64_MAX;
    if (holds)
        write_at(at, size, value);
    set_x(h, s->rd, !holds);
    return true;
}

static bool atomic(struct hart *h, const struct slot *s)
{
    if (s->op == OP_lr_w || s->op == OP_lr_d)
        return reserve(h, s, s->op == OP_lr_d ? 8 : 4);
    if (s->op == OP_sc_w || s->op == OP_sc_d)
        return conditional(h, s, s->op == OP_sc_d ? 8 : 4);
    uint32_t size = s->op > OP_amomaxu_w ? 8 : 4;
    void *at = atomic_at(h, x_of(h, s->rs1), size, true);
    if (!at)
        return false;
    uint64_t old = read_at(at, size), by = x_of(h, s->imm);
    write_at(at, size,
             size == 8 ? changed_d(s->op, old, by)
                       : changed_w(s->op, (uint32_t)old, (uint32_t)by));
    set_x(h, s->rd, old);
    return true;
}

/* ---- system instructions ----------------------------------------------------------- */

/* Goes on after the instruction at h->pc, which succeeded. */
static void pass(struct hart *h, const struct slot *s)
{
    h->pc += s->size;
}

static void csr(struct hart *h, const struct slot *s)
{
    bool by_number = s->op >= OP_csrrwi;
    uint64_t by = by_number ? s->rs1 / REGISTER(1) : x_of(h, s->rs1), old = 0;
    bool swaps = s->op == OP_csrrw || s->op == OP_csrrwi;
    bool sets = s->op == OP_csrrs || s->op == OP_csrrsi;
    bool reads = !swaps || s->rd, writes = swaps || s->rs1;
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
    set_x(h, s->rd, old);
    pass(h, s);
    if (moved)
        view_changed(h);
}

/* Everything but jumps that ends a round. */
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
            tlb_flush_page(h, x_of(h, s->rs1));
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

/* ---- memory ------------------------------------------------------------------------ */

/* Bytes, and whether a load extends the sign. */
struct width {
    uint8_t size;
    bool is_signed;
};

static struct width width_of(enum vm_op op)
{
    switch (op) {
    case OP_lb:
        return (struct width){1, true};
    case OP_lh:
        return (struct width){2, true};
    case OP_lw:
    case OP_c_lw:
        return (struct width){4, true};
    case OP_lbu:
    case OP_sb:
        return (struct width){1, false};
    case OP_lhu:
    case OP_sh:
        return (struct width){2, false};
    case OP_lwu:
    case OP_flw:
    case OP_fsw:
    case OP_sw:
    case OP_c_sw:
        return (struct width){4, false};
    default:
        return (struct width){8, false};
    }
}

static bool is_of_fp(enum vm_op op)
{
    return op == OP_flw || op == OP_fld || op == OP_c_fld || op == OP_fsw ||
           op == OP_fsd || op == OP_c_fsd;
}

static bool fp_is_off(struct hart *h)
{
    if (h->sstatus & SSTATUS_FS)
        return false;
    trap(h, CAUSE_ILLEGAL, 0);
    return true;
}

static bool load(struct hart *h, const struct slot *s)
{
    uint64_t v, va = x_of(h, s->rs1) + (uint64_t)(int64_t)s->imm;
    struct width w = width_of(s->op);
    bool fp = is_of_fp(s->op);
    if ((fp && fp_is_off(h)) || !load_slow(h, va, w.size, &v))
        return false;
    unsigned behind = 64 - 8u * w.size;
    if (w.is_signed)
        v = (uint64_t)((int64_t)(v << behind) >> behind);
    if (!fp)
        set_x(h, s->rd, v);
    else
        set_f(h, s->rd / REGISTER(1), w.size == 4 ? 0xffffffff00000000ull | v : v);
    pass(h, s);
    return true;
}

/* It may have been a device, or have written this very code: always false. */
static bool store(struct hart *h, const struct slot *s)
{
    uint64_t va = x_of(h, s->rs1) + (uint64_t)(int64_t)s->imm;
    bool fp = is_of_fp(s->op);
    if (fp && fp_is_off(h))
        return false;
    uint64_t v = fp ? h->f[s->rd / REGISTER(1)] : x_of(h, s->rd);
    if (store_slow(h, va, width_of(s->op).size, v))
        pass(h, s);
    return false;
}

bool perform(struct hart *h, const struct slot *s)
{
    enum vm_op op = s->op;
    if (op == OP_idle) {
        const struct slot to_zero = {
            .op = s->rd, .size = s->size, .rs1 = s->rs1, .imm = s->imm};
        return perform(h, &to_zero);
    }
    if ((op >= OP_lb && op <= OP_lwu) || op == OP_flw || op == OP_fld || op == OP_c_lw ||
        op == OP_c_ld || op == OP_c_fld)
        return load(h, s);
    if ((op >= OP_sb && op <= OP_sd) || op == OP_fsw || op == OP_fsd || op == OP_c_sw ||
        op == OP_c_sd || op == OP_c_fsd)
        return store(h, s);
    if (op >= OP_lr_w && op <= OP_amomaxu_d) {
        if (atomic(h, s))
            pass(h, s);
        return false;
    }
    if (op >= OP_fadd_s && op <= OP_fcvt_d_s) {
        if (!fp_execute(h, s))
            return false;
        pass(h, s);
        return true;
    }
    if (op >= OP_csrrw && op <= OP_csrrci)
        csr(h, s);
    else
        system_op(h, s);
    return false;
}
