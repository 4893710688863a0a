/* The decoder. Bit fields are written as in the manual: field(bits, high, low). */
#include "vm/decode.h"

#include <stdbool.h>

static uint32_t field(uint32_t bits, unsigned high, unsigned low)
{
    return bits >> low & (uint32_t)((2ull << (high - low)) - 1);
}

/* The same, sign-extended. */
static int32_t extend(uint32_t value, unsigned width)
{
    return (int32_t)(value << (32 - width)) >> (32 - width);
}

static struct slot make(enum vm_op op, uint32_t rd, uint32_t rs1, int32_t imm)
{
    return (struct slot){.op = (uint8_t)op,
                         .rd = (uint8_t)REGISTER(rd),
                         .rs1 = (uint8_t)REGISTER(rs1),
                         .imm = imm};
}

static struct slot illegal(uint32_t bits)
{
    return make(OP_illegal, 0, 0, (int32_t)bits);
}

/* ---- instructions of four bytes -------------------------------------------------- */

static int32_t imm_i(uint32_t b)
{
    return extend(field(b, 31, 20), 12);
}

static int32_t imm_s(uint32_t b)
{
    return extend(field(b, 31, 25) << 5 | field(b, 11, 7), 12);
}

static int32_t imm_b(uint32_t b)
{
    return extend(field(b, 31, 31) << 12 | field(b, 7, 7) << 11 | field(b, 30, 25) << 5 |
                      field(b, 11, 8) << 1,
                  13);
}

static int32_t imm_j(uint32_t b)
{
    return extend(field(b, 31, 31) << 20 | field(b, 19, 12) << 12 |
                      field(b, 20, 20) << 11 | field(b, 30, 21) << 1,
                  21);
}

struct fields {
    uint32_t bits, rd, funct3, rs1, rs2, funct7;
};

static struct slot form_r(enum vm_op op, const struct fields *f)
{
    return make(op, f->rd, f->rs1, (int32_t)REGISTER(f->rs2));
}

static struct slot form_i(enum vm_op op, const struct fields *f)
{
    return make(op, f->rd, f->rs1, imm_i(f->bits));
}

/* One of eight by funct3; OP_illegal for none. */
#define OF_FUNCT3(f, ...) ((const uint8_t[8]){__VA_ARGS__}[(f)->funct3])

static struct slot load(const struct fields *f)
{
    uint8_t op =
        OF_FUNCT3(f, OP_lb, OP_lh, OP_lw, OP_ld, OP_lbu, OP_lhu, OP_lwu, OP_illegal);
    return op == OP_illegal ? illegal(f->bits) : form_i(op, f);
}

static struct slot store(const struct fields *f)
{
    uint8_t op = OF_FUNCT3(f, OP_sb, OP_sh, OP_sw, OP_sd, OP_illegal, OP_illegal,
                           OP_illegal, OP_illegal);
    return op == OP_illegal ? illegal(f->bits) : make(op, f->rs2, f->rs1, imm_s(f->bits));
}

static struct slot branch(const struct fields *f)
{
    uint8_t op = OF_FUNCT3(f, OP_beq, OP_bne, OP_illegal, OP_illegal, OP_blt, OP_bge,
                           OP_bltu, OP_bgeu);
    return op == OP_illegal ? illegal(f->bits) : make(op, f->rs2, f->rs1, imm_b(f->bits));
}

static struct slot op_imm(const struct fields *f)
{
    uint32_t top = field(f->bits, 31, 26), amount = field(f->bits, 25, 20);
    if (f->funct3 == 1)
        return top ? illegal(f->bits) : make(OP_slli, f->rd, f->rs1, (int32_t)amount);
    if (f->funct3 == 5) {
        if (top != 0 && top != 0x10)
            return illegal(f->bits);
        return make(top ? OP_srai : OP_srli, f->rd, f->rs1, (int32_t)amount);
    }
    return form_i(
        OF_FUNCT3(f, OP_addi, 0, OP_slti, OP_sltiu, OP_xori, 0, OP_ori, OP_andi), f);
}

static struct slot op_imm_32(const struct fields *f)
{
    if (f->funct3 == 0)
        return form_i(OP_addiw, f);
    if (f->funct3 == 1 && f->funct7 == 0)
        return make(OP_slliw, f->rd, f->rs1, (int32_t)f->rs2);
    if (f->funct3 == 5 && (f->funct7 == 0 || f->funct7 == 0x20))
        return make(f->funct7 ? OP_sraiw : OP_srliw, f->rd, f->rs1, (int32_t)f->rs2);
    return illegal(f->bits);
}

static struct slot op(const struct fields *f)
{
    if (f->funct7 == 0)
        return form_r(
            OF_FUNCT3(f, OP_add, OP_sll, OP_slt, OP_sltu, OP_xor, OP_srl, OP_or, OP_and),
            f);
    if (f->funct7 == 1)
        return form_r(OF_FUNCT3(f, OP_mul, OP_mulh, OP_mulhsu, OP_mulhu, OP_div, OP_divu,
                                OP_rem, OP_remu),
                      f);
    if (f->funct7 == 0x20 && (f->funct3 == 0 || f->funct3 == 5))
        return form_r(f->funct3 ? OP_sra : OP_sub, f);
    return illegal(f->bits);
}

static struct slot op_32(const struct fields *f)
{
    uint8_t made = OP_illegal;
    if (f->funct7 == 0)
        made = OF_FUNCT3(f, OP_addw, OP_sllw, OP_illegal, OP_illegal, OP_illegal, OP_srlw,
                         OP_illegal, OP_illegal);
    else if (f->funct7 == 1)
        made = OF_FUNCT3(f, OP_mulw, OP_illegal, OP_illegal, OP_illegal, OP_divw,
                         OP_divuw, OP_remw, OP_remuw);
    else if (f->funct7 == 0x20)
        made = OF_FUNCT3(f, OP_subw, OP_illegal, OP_illegal, OP_illegal, OP_illegal,
                         OP_sraw, OP_illegal, OP_illegal);
    return made == OP_illegal ? illegal(f->bits) : form_r(made, f);
}

static struct slot amo(const struct fields *f)
{
    static const struct {
        uint8_t code, op;
    } words[] = {{0x02, OP_lr_w},      {0x03, OP_sc_w},     {0x01, OP_amoswap_w},
                 {0x00, OP_amoadd_w},  {0x04, OP_amoxor_w}, {0x0c, OP_amoand_w},
                 {0x08, OP_amoor_w},   {0x10, OP_amomin_w}, {0x14, OP_amomax_w},
                 {0x18, OP_amominu_w}, {0x1c, OP_amomaxu_w}};
    uint32_t code = field(f->bits, 31, 27);
    if ((f->funct3 != 2 && f->funct3 != 3) || (code == 2 && f->rs2))
        return illegal(f->bits);
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i].code == code)
            return form_r(words[i].op + (f->funct3 == 3 ? OP_lr_d - OP_lr_w : 0), f);
    return illegal(f->bits);
}

static struct slot misc_mem(const struct fields *f)
{
    if (f->funct3 > 1)
        return illegal(f->bits);
    return make(f->funct3 ? OP_fence_i : OP_fence, 0, 0, (int32_t)f->bits);
}

static struct slot system(const struct fields *f)
{
    uint8_t csr = OF_FUNCT3(f, OP_illegal, OP_csrrw, OP_csrrs, OP_csrrc, OP_illegal,
                            OP_csrrwi, OP_csrrsi, OP_csrrci);
    if (csr != OP_illegal)
        return make(csr, f->rd, f->rs1, (int32_t)field(f->bits, 31, 20));
    if (f->funct3 == 0 && f->funct7 == 0x09 && !f->rd)
        return make(OP_sfence_vma, 0, f->rs1, (int32_t)REGISTER(f->rs2));
    switch (f->bits) {
    case 0x00000073:
        return make(OP_ecall, 0, 0, (int32_t)f->bits);
    case 0x00100073:
        return make(OP_ebreak, 0, 0, (int32_t)f->bits);
    case 0x10200073:
        return make(OP_sret, 0, 0, (int32_t)f->bits);
    case 0x10500073:
        return make(OP_wfi, 0, 0, (int32_t)f->bits);
    default:
        return illegal(f->bits);
    }
}

/* ---- floating point -------------------------------------------------------------- */

static struct slot form_f(enum vm_op op, const struct fields *f)
{
    return make(op, f->rd, f->rs1, (int32_t)(REGISTER(f->rs2) | f->funct3 << 16));
}

static bool rounds(const struct fields *f)
{
    return f->funct3 <= 4 || f->funct3 == ROUND_DYNAMIC;
}

static struct slot fused(enum vm_op single, const struct fields *f)
{
    uint32_t format = field(f->bits, 26, 25), rs3 = field(f->bits, 31, 27);
    if (format > 1 || !rounds(f))
        return illegal(f->bits);
    struct slot s = form_f(single + (format ? OP_fmadd_d - OP_fmadd_s : 0), f);
    s.imm |= (int32_t)(REGISTER(rs3) << 8);
    return s;
}

/* By funct7 without its lowest two bits, which are the format. */
static struct slot op_fp(const struct fields *f)
{
    uint32_t format = field(f->bits, 26, 25), which = field(f->bits, 31, 27);
    if (format > 1)
        return illegal(f->bits);
    unsigned up = format ? OP_fadd_d - OP_fadd_s : 0;
    uint8_t op = OP_illegal;
    switch (which) {
    case 0x00:
    case 0x01:
    case 0x02:
    case 0x03:
        op = rounds(f) ? (uint8_t)(OP_fadd_s + which) : OP_illegal;
        break;
    case 0x0b:
        op = rounds(f) && !f->rs2 ? OP_fsqrt_s : OP_illegal;
        break;
    case 0x04:
        op = f->funct3 < 3 ? (uint8_t)(OP_fsgnj_s + f->funct3) : OP_illegal;
        break;
    case 0x05:
        op = f->funct3 < 2 ? (uint8_t)(OP_fmin_s + f->funct3) : OP_illegal;
        break;
    case 0x08: /* the other format is in rs2 */
        if (rounds(f) && f->rs2 == 1 - format)
            return form_f(format ? OP_fcvt_d_s : OP_fcvt_s_d, f);
        break;
    case 0x14:
        op = OF_FUNCT3(f, OP_fle_s, OP_flt_s, OP_feq_s, OP_illegal, OP_illegal,
                       OP_illegal, OP_illegal, OP_illegal);
        break;
    case 0x18:
        op = rounds(f) && f->rs2 < 4 ? (uint8_t)(OP_fcvt_w_s + f->rs2) : OP_illegal;
        break;
    case 0x1a:
        op = rounds(f) && f->rs2 < 4 ? (uint8_t)(OP_fcvt_s_w + f->rs2) : OP_illegal;
        break;
    case 0x1c:
        if (!f->rs2 && f->funct3 < 2)
            op = f->funct3 ? OP_fclass_s : OP_fmv_x_w;
        break;
    case 0x1e:
        op = !f->rs2 && !f->funct3 ? OP_fmv_w_x : OP_illegal;
        break;
    }
    if (op == OP_illegal)
        return illegal(f->bits);
    return form_f(op + up, f);
}

static struct slot decode_whole(uint32_t bits)
{
    struct fields f = {.bits = bits,
                       .rd = field(bits, 11, 7),
                       .funct3 = field(bits, 14, 12),
                       .rs1 = field(bits, 19, 15),
                       .rs2 = field(bits, 24, 20),
                       .funct7 = field(bits, 31, 25)};
    switch (field(bits, 6, 2)) {
    case 0x00:
        return load(&f);
    case 0x01:
        if (f.funct3 != 2 && f.funct3 != 3)
            return illegal(bits);
        return make(f.funct3 == 2 ? OP_flw : OP_fld, f.rd, f.rs1, imm_i(bits));
    case 0x03:
        return misc_mem(&f);
    case 0x04:
        return op_imm(&f);
    case 0x05:
        return make(OP_auipc, f.rd, 0, (int32_t)(bits & 0xfffff000));
    case 0x06:
        return op_imm_32(&f);
    case 0x08:
        return store(&f);
    case 0x09:
        if (f.funct3 != 2 && f.funct3 != 3)
            return illegal(bits);
        return make(f.funct3 == 2 ? OP_fsw : OP_fsd, f.rs2, f.rs1, imm_s(bits));
    case 0x0b:
        return amo(&f);
    case 0x0c:
        return op(&f);
    case 0x0d:
        return make(OP_lui, f.rd, 0, (int32_t)(bits & 0xfffff000));
    case 0x0e:
        return op_32(&f);
    case 0x10:
        return fused(OP_fmadd_s, &f);
    case 0x11:
        return fused(OP_fmsub_s, &f);
    case 0x12:
        return fused(OP_fnmsub_s, &f);
    case 0x13:
        return fused(OP_fnmadd_s, &f);
    case 0x14:
        return op_fp(&f);
    case 0x18:
        return branch(&f);
    case 0x19:
        return f.funct3 ? illegal(bits) : form_i(OP_jalr, &f);
    case 0x1b:
        return make(OP_jal, f.rd, 0, imm_j(bits));
    case 0x1c:
        return system(&f);
    default:
        return illegal(bits);
    }
}

/* ---- instructions of two bytes ----------------------------------------------------- */

/* The registers x8 to x15, or f8 to f15. */
static uint32_t popular(uint32_t b, unsigned low)
{
    return 8 + field(b, low + 2, low);
}

static int32_t offset_w(uint32_t b)
{
    return (int32_t)(field(b, 5, 5) << 6 | field(b, 12, 10) << 3 | field(b, 6, 6) << 2);
}

static int32_t offset_d(uint32_t b)
{
    return (int32_t)(field(b, 6, 5) << 6 | field(b, 12, 10) << 3);
}

static int32_t short_imm(uint32_t b)
{
    return extend(field(b, 12, 12) << 5 | field(b, 6, 2), 6);
}

static int32_t short_amount(uint32_t b)
{
    return (int32_t)(field(b, 12, 12) << 5 | field(b, 6, 2));
}

static struct slot quadrant_0(uint32_t b)
{
    uint32_t low = popular(b, 2), base = popular(b, 7);
    switch (field(b, 15, 13)) {
    case 0: {
        int32_t imm = (int32_t)(field(b, 10, 7) << 6 | field(b, 12, 11) << 4 |
                                field(b, 5, 5) << 3 | field(b, 6, 6) << 2);
        return imm ? make(OP_addi, low, 2, imm) : illegal(b);
    }
    case 1:
        return make(OP_fld, low, base, offset_d(b));
    case 2:
        return make(OP_lw, low, base, offset_w(b));
    case 3:
        return make(OP_ld, low, base, offset_d(b));
    case 5:
        return make(OP_fsd, low, base, offset_d(b));
    case 6:
        return make(OP_sw, low, base, offset_w(b));
    case 7:
        return make(OP_sd, low, base, offset_d(b));
    default:
        return illegal(b);
    }
}

static struct slot arithmetic(uint32_t b)
{
    uint32_t rd = popular(b, 7), rs2 = popular(b, 2);
    switch (field(b, 11, 10)) {
    case 0:
        return make(OP_srli, rd, rd, short_amount(b));
    case 1:
        return make(OP_srai, rd, rd, short_amount(b));
    case 2:
        return make(OP_andi, rd, rd, short_imm(b));
    }
    static const uint8_t ops[8] = {OP_sub,  OP_xor,  OP_or,      OP_and,
                                   OP_subw, OP_addw, OP_illegal, OP_illegal};
    uint8_t op = ops[field(b, 12, 12) << 2 | field(b, 6, 5)];
    return op == OP_illegal ? illegal(b) : make(op, rd, rd, (int32_t)REGISTER(rs2));
}

static struct slot quadrant_1(uint32_t b)
{
    uint32_t rd = field(b, 11, 7);
    switch (field(b, 15, 13)) {
    case 0:
        return make(OP_addi, rd, rd, short_imm(b));
    case 1:
        return rd ? make(OP_addiw, rd, rd, short_imm(b)) : illegal(b);
    case 2:
        return make(OP_addi, rd, 0, short_imm(b));
    case 3: {
        if (rd == 2) {
            int32_t imm =
                extend(field(b, 12, 12) << 9 | field(b, 4, 3) << 7 | field(b, 5, 5) << 6 |
                           field(b, 2, 2) << 5 | field(b, 6, 6) << 4,
                       10);
            return imm ? make(OP_addi, 2, 2, imm) : illegal(b);
        }
        int32_t imm = short_imm(b);
        return imm ? make(OP_lui, rd, 0, (int32_t)((uint32_t)imm << 12)) : illegal(b);
    }
    case 4:
        return arithmetic(b);
    case 5: {
        uint32_t at = field(b, 12, 12) << 11 | field(b, 8, 8) << 10 |
                      field(b, 10, 9) << 8 | field(b, 6, 6) << 7 | field(b, 7, 7) << 6 |
                      field(b, 2, 2) << 5 | field(b, 11, 11) << 4 | field(b, 5, 3) << 1;
        return make(OP_jal, 0, 0, extend(at, 12));
    }
    default: {
        uint32_t at = field(b, 12, 12) << 8 | field(b, 6, 5) << 6 | field(b, 2, 2) << 5 |
                      field(b, 11, 10) << 3 | field(b, 4, 3) << 1;
        enum vm_op op = field(b, 13, 13) ? OP_bne : OP_beq;
        return make(op, 0, popular(b, 7), extend(at, 9));
    }
    }
}

static struct slot jumps_and_moves(uint32_t b)
{
    uint32_t rd = field(b, 11, 7), rs2 = field(b, 6, 2);
    bool second = field(b, 12, 12);
    if (rs2)
        return make(OP_add, rd, second ? rd : 0, (int32_t)REGISTER(rs2));
    if (rd)
        return make(OP_jalr, second, rd, 0);
    return second ? make(OP_ebreak, 0, 0, (int32_t)b) : illegal(b);
}

static struct slot quadrant_2(uint32_t b)
{
    uint32_t rd = field(b, 11, 7), rs2 = field(b, 6, 2);
    int32_t d =
        (int32_t)(field(b, 4, 2) << 6 | field(b, 12, 12) << 5 | field(b, 6, 5) << 3);
    int32_t w =
        (int32_t)(field(b, 3, 2) << 6 | field(b, 12, 12) << 5 | field(b, 6, 4) << 2);
    int32_t to_d = (int32_t)(field(b, 9, 7) << 6 | field(b, 12, 10) << 3);
    int32_t to_w = (int32_t)(field(b, 8, 7) << 6 | field(b, 12, 9) << 2);
    switch (field(b, 15, 13)) {
    case 0:
        return make(OP_slli, rd, rd, short_amount(b));
    case 1:
        return make(OP_fld, rd, 2, d);
    case 2:
        return rd ? make(OP_lw, rd, 2, w) : illegal(b);
    case 3:
        return rd ? make(OP_ld, rd, 2, d) : illegal(b);
    case 4:
        return jumps_and_moves(b);
    case 5:
        return make(OP_fsd, rs2, 2, to_d);
    case 6:
        return make(OP_sw, rs2, 2, to_w);
    default:
        return make(OP_sd, rs2, 2, to_d);
    }
}

struct slot vm_decode(uint32_t bits)
{
    static struct slot (*const quadrants[])(uint32_t) = {quadrant_0, quadrant_1,
                                                         quadrant_2};
    bool whole = (bits & 3) == 3;
    struct slot s = whole ? decode_whole(bits) : quadrants[bits & 3](bits & 0xffff);
    s.size = whole ? 4 : 2;
    return s;
}
