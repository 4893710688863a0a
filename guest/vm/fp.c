/* Floating-point instructions in full generality: registers, NaN boxing, rounding modes
 * and flags around softfp. Simple cases are the executor's (fast.h). */
#include "vm/fp.h"
#include "vm/csr.h"
#include "vm/softfp.h"

#define BOX 0xffffffff00000000ull
#define NAN_S 0x7fc00000ull

void set_f(struct hart *h, unsigned i, uint64_t bits)
{
    h->f[i] = bits;
    h->sstatus |= SSTATUS_FS;
}

/* A value that is not properly boxed is a NaN. */
static uint64_t single(uint64_t bits)
{
    return (bits & BOX) == BOX ? bits & ~BOX : NAN_S;
}

/* ---- execution --------------------------------------------------------------------- */

/* The operands of one instruction, in one format. */
struct operands {
    const struct fp_format *f;
    uint64_t a, b, c;
    enum fp_rounding mode;
    uint32_t *flags;
    uint64_t sign; /* its bit in the format */
};

static uint64_t fused(const struct operands *o, unsigned which)
{
    /* fmadd, fmsub, fnmsub, fnmadd: +-(a * b) +- c */
    uint64_t a = which >= 2 ? o->a ^ o->sign : o->a;
    uint64_t c = which == 1 || which == 3 ? o->c ^ o->sign : o->c;
    return fp_fma(o->f, a, o->b, c, o->mode, o->flags);
}

static uint64_t arithmetic(const struct operands *o, unsigned op)
{
    switch (op) {
    case OP_fadd_s:
        return fp_add(o->f, o->a, o->b, o->mode, o->flags);
    case OP_fsub_s:
        return fp_sub(o->f, o->a, o->b, o->mode, o->flags);
    case OP_fmul_s:
        return fp_mul(o->f, o->a, o->b, o->mode, o->flags);
    case OP_fdiv_s:
        return fp_div(o->f, o->a, o->b, o->mode, o->flags);
    case OP_fsqrt_s:
        return fp_sqrt(o->f, o->a, o->mode, o->flags);
    case OP_fsgnj_s:
        return (o->a & ~o->sign) | (o->b & o->sign);
    case OP_fsgnjn_s:
        return (o->a & ~o->sign) | (~o->b & o->sign);
    case OP_fsgnjx_s:
        return o->a ^ (o->b & o->sign);
    case OP_fmin_s:
        return fp_min(o->f, o->a, o->b, o->flags);
    case OP_fmax_s:
        return fp_max(o->f, o->a, o->b, o->flags);
    default:
        return fused(o, op - OP_fmadd_s);
    }
}

/* Instructions whose result goes to an x register. */
static uint64_t to_x(const struct operands *o, unsigned op, uint64_t raw)
{
    switch (op) {
    case OP_feq_s:
        return fp_eq(o->f, o->a, o->b, o->flags);
    case OP_flt_s:
        return fp_lt(o->f, o->a, o->b, o->flags);
    case OP_fle_s:
        return fp_le(o->f, o->a, o->b, o->flags);
    case OP_fclass_s:
        return fp_class(o->f, o->a);
    case OP_fmv_x_w:
        return o->f == &fp_single ? (uint64_t)(int64_t)(int32_t)raw : raw;
    case OP_fcvt_w_s:
    case OP_fcvt_wu_s:
        return (uint64_t)(int64_t)(int32_t)fp_to_int(o->f, o->a, 32, op == OP_fcvt_w_s,
                                                     o->mode, o->flags);
    default:
        return fp_to_int(o->f, o->a, 64, op == OP_fcvt_l_s, o->mode, o->flags);
    }
}

static uint64_t from_x(const struct operands *o, unsigned op, uint64_t x)
{
    switch (op) {
    case OP_fmv_w_x:
        return x;
    case OP_fcvt_s_w:
        return fp_from_int(o->f, (uint64_t)(int64_t)(int32_t)x, true, o->mode, o->flags);
    case OP_fcvt_s_wu:
        return fp_from_int(o->f, (uint32_t)x, false, o->mode, o->flags);
    default:
        return fp_from_int(o->f, x, op == OP_fcvt_s_l, o->mode, o->flags);
    }
}

static bool gives_x(unsigned op)
{
    return (op >= (unsigned)OP_feq_s && op <= OP_fmv_x_w) ||
           (op >= OP_fcvt_w_s && op <= OP_fcvt_lu_s);
}

static bool takes_x(unsigned op)
{
    return op == OP_fmv_w_x || (op >= OP_fcvt_s_w && op <= OP_fcvt_s_lu);
}

static bool rounds(unsigned op)
{
    return op <= OP_fnmadd_s || (op >= OP_fcvt_w_s && op <= OP_fcvt_s_d);
}

bool fp_execute(struct hart *h, const struct slot *s)
{
    bool is_double = s->op >= OP_fadd_d;
    /* The same operation of binary32: the table has both in one order. */
    unsigned op = s->op - (is_double ? (unsigned)(OP_fadd_d - OP_fadd_s) : 0u);
    unsigned mode = (unsigned)s->imm >> 16 & 7;
    mode = rounds(op) && mode == ROUND_DYNAMIC ? h->frm : mode;
    if (!(h->sstatus & SSTATUS_FS) || (rounds(op) && mode > FP_RMM)) {
        trap(h, CAUSE_ILLEGAL, 0);
        return false;
    }
    uint64_t result;
    uint64_t a = h->f[s->rs1 / REGISTER(1)], b = h->f[(s->imm & 255) / REGISTER(1)],
             c = h->f[(s->imm >> 8 & 255) / REGISTER(1)];
    struct operands o = {.f = is_double ? &fp_double : &fp_single,
                         .a = is_double ? a : single(a),
                         .b = is_double ? b : single(b),
                         .c = is_double ? c : single(c),
                         .mode = mode,
                         .flags = &h->fflags,
                         .sign = is_double ? 1ull << 63 : 1ull << 31};
    uint32_t before = h->fflags;
    if (gives_x(op)) {
        uint64_t x = to_x(&o, op, a);
        if (s->rd)
            h->x[s->rd / REGISTER(1)] = x;
        h->sstatus |= h->fflags != before ? SSTATUS_FS : 0;
        return true;
    }
    if (op == OP_fcvt_s_d) /* the other format, in both senses */
        result = is_double ? fp_convert(&fp_double, &fp_single, single(a), mode, o.flags)
                           : fp_convert(&fp_single, &fp_double, a, mode, o.flags);
    else if (takes_x(op))
        result = from_x(&o, op, h->x[s->rs1 / REGISTER(1)]);
    else
        result = arithmetic(&o, op);
    set_f(h, s->rd / REGISTER(1), is_double ? result : BOX | (result & ~BOX));
    return true;
}
