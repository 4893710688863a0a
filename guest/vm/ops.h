/* guest/vm/ops.h - the operations that code is decoded into: one table for the decoder,
 * the executor, disassembly, and later the translator to Wasm.
 *
 * The decoder expands compressed instructions: each is one of these. Some operations have
 * further forms, for their place in a page of code (place.c).
 *
 * Source: The RISC-V Instruction Set Manual, volume I (RV64IMAFDC, Zicsr, Zifencei) and
 * volume II (supervisor). */
#pragma once
#include <stdint.h>

/* What an instruction's fields are, and where a slot has them. A register is its place in the
 * hart's row of x or f in bytes: its number times 8.
 *   R       rd, rs1, rs2 in `imm`
 *   I       rd, rs1, imm                      also loads and shifts
 *   S, B    rs1, rs2 in `rd`, imm             stores; branches, imm from this instruction
 *   U, J    rd, imm                           imm as it is added
 *   CSR     rd, rs1 or a number times 8 in `rs1`, the CSR's number in `imm`
 *   F2, F3  rd, rs1, and in `imm`: rs2, rs3 << 8, the rounding mode << 16
 *   NONE    imm is the instruction itself, as it stands in memory */
enum vm_format { NONE, R, I, S, B, U, J, CSR, F2, F3 };

/* clang-format off */
#define VM_OPS(OP)                                                                       \
    /* Not an instruction: the slot is still to be decoded; a page's end; an             \
     * instruction of four bytes that goes on in the next page. */                       \
    OP(undecoded, NONE) OP(page_end, NONE) OP(across, NONE) OP(illegal, NONE)            \
    OP(lui, U) OP(auipc, U) OP(jal, J) OP(jalr, I)                                       \
    OP(beq, B) OP(bne, B) OP(blt, B) OP(bge, B) OP(bltu, B) OP(bgeu, B)                  \
    OP(lb, I) OP(lh, I) OP(lw, I) OP(ld, I) OP(lbu, I) OP(lhu, I) OP(lwu, I)             \
    OP(sb, S) OP(sh, S) OP(sw, S) OP(sd, S)                                              \
    OP(addi, I) OP(slti, I) OP(sltiu, I) OP(xori, I) OP(ori, I) OP(andi, I)              \
    OP(slli, I) OP(srli, I) OP(srai, I)                                                  \
    OP(add, R) OP(sub, R) OP(sll, R) OP(slt, R) OP(sltu, R) OP(xor, R) OP(srl, R)        \
    OP(sra, R) OP(or, R) OP(and, R)                                                      \
    OP(addiw, I) OP(slliw, I) OP(srliw, I) OP(sraiw, I)                                  \
    OP(addw, R) OP(subw, R) OP(sllw, R) OP(srlw, R) OP(sraw, R)                          \
    OP(mul, R) OP(mulh, R) OP(mulhsu, R) OP(mulhu, R) OP(div, R) OP(divu, R)             \
    OP(rem, R) OP(remu, R) OP(mulw, R) OP(divw, R) OP(divuw, R) OP(remw, R)              \
    OP(remuw, R)                                                                         \
    OP(lr_w, R) OP(sc_w, R) OP(amoswap_w, R) OP(amoadd_w, R) OP(amoxor_w, R)             \
    OP(amoand_w, R) OP(amoor_w, R) OP(amomin_w, R) OP(amomax_w, R) OP(amominu_w, R)      \
    OP(amomaxu_w, R)                                                                     \
    OP(lr_d, R) OP(sc_d, R) OP(amoswap_d, R) OP(amoadd_d, R) OP(amoxor_d, R)             \
    OP(amoand_d, R) OP(amoor_d, R) OP(amomin_d, R) OP(amomax_d, R) OP(amominu_d, R)      \
    OP(amomaxu_d, R)                                                                     \
    OP(fence, NONE) OP(fence_i, NONE) OP(ecall, NONE) OP(ebreak, NONE) OP(sret, NONE)    \
    OP(wfi, NONE) OP(sfence_vma, R)                                                      \
    OP(csrrw, CSR) OP(csrrs, CSR) OP(csrrc, CSR) OP(csrrwi, CSR) OP(csrrsi, CSR)         \
    OP(csrrci, CSR)                                                                      \
    OP(flw, I) OP(fsw, S) OP(fld, I) OP(fsd, S)                                          \
    OP(fadd_s, F2) OP(fsub_s, F2) OP(fmul_s, F2) OP(fdiv_s, F2) OP(fsqrt_s, F2)          \
    OP(fmadd_s, F3) OP(fmsub_s, F3) OP(fnmsub_s, F3) OP(fnmadd_s, F3)                    \
    OP(fsgnj_s, F2) OP(fsgnjn_s, F2) OP(fsgnjx_s, F2) OP(fmin_s, F2) OP(fmax_s, F2)      \
    OP(feq_s, F2) OP(flt_s, F2) OP(fle_s, F2) OP(fclass_s, F2) OP(fmv_x_w, F2)           \
    OP(fmv_w_x, F2) OP(fcvt_w_s, F2) OP(fcvt_wu_s, F2) OP(fcvt_l_s, F2)                  \
    OP(fcvt_lu_s, F2) OP(fcvt_s_w, F2) OP(fcvt_s_wu, F2) OP(fcvt_s_l, F2)                \
    OP(fcvt_s_lu, F2) OP(fcvt_s_d, F2)                                                   \
    OP(fadd_d, F2) OP(fsub_d, F2) OP(fmul_d, F2) OP(fdiv_d, F2) OP(fsqrt_d, F2)          \
    OP(fmadd_d, F3) OP(fmsub_d, F3) OP(fnmsub_d, F3) OP(fnmadd_d, F3)                    \
    OP(fsgnj_d, F2) OP(fsgnjn_d, F2) OP(fsgnjx_d, F2) OP(fmin_d, F2) OP(fmax_d, F2)      \
    OP(feq_d, F2) OP(flt_d, F2) OP(fle_d, F2) OP(fclass_d, F2) OP(fmv_x_d, F2)           \
    OP(fmv_d_x, F2) OP(fcvt_w_d, F2) OP(fcvt_wu_d, F2) OP(fcvt_l_d, F2)                  \
    OP(fcvt_lu_d, F2) OP(fcvt_d_w, F2) OP(fcvt_d_wu, F2) OP(fcvt_d_l, F2)                \
    OP(fcvt_d_lu, F2) OP(fcvt_d_s, F2)
/* clang-format on */

/* Operations with a form for instructions of two bytes, which are a slot shorter. */
/* clang-format off */
#define VM_SHORT_OPS(OP)                                                                 \
    OP(nop) OP(lui) OP(jalr) OP(jr) OP(beq_near) OP(bne_near) OP(j_near)                 \
    OP(lw) OP(ld) OP(sw) OP(sd) OP(fld) OP(fsd)                                          \
    OP(addi) OP(addiw) OP(slli) OP(srli) OP(srai) OP(andi) OP(add) OP(sub) OP(xor)       \
    OP(or) OP(and) OP(addw) OP(subw)
/* Forms of operations: one that would only write x0 does nothing; one that does more
 * besides (loads, floating point) is an `idle` one with its operation in `rd`; jumps
 * without a link; and jumps within the page, whose imm is in bytes of slots. */
#define VM_PLACED_OPS(OP)                                                                \
    OP(nop, NONE) OP(idle, NONE) OP(jr, I) OP(j_near, J) OP(jal_near, J)                                \
    OP(beq_near, B) OP(bne_near, B) OP(blt_near, B) OP(bge_near, B) OP(bltu_near, B)     \
    OP(bgeu_near, B)
/* Two instructions that often follow each other, run as one: the first one's slot is the
 * pair, the second one's is as it would be alone, for jumps to it. */
#define VM_PAIRED_OPS(OP)                                                                \
    OP(c_ld, c_ld) OP(c_sd, c_sd) OP(ld, ld) OP(sd, sd) OP(lbu, lbu) OP(c_ld, c_addi)    \
    OP(c_ld, c_add) OP(c_add, c_ld) OP(c_addi, c_sd) OP(c_addi, c_addi)                  \
    OP(c_slli, c_add) OP(slli, c_add) OP(auipc, ld) OP(auipc, addi) OP(lui, addi)        \
    OP(c_add, c_add) OP(andi, c_slli) OP(c_addi, c_jr) OP(c_addi, bltu_near)
/* clang-format on */
/* A loop that is run as one: the slot of its first instruction is the loop, the others are as
 * they would be alone. `shifting_copy` is that of Linux's copies between addresses of different
 * alignment; all that a machine receives goes through it, since Ethernet's header has 14 bytes:
 *
 *   srl low, word, right;  ld word, 8(from);  addi from, from, 8;  sll high, word, left;
 *   or high, high, low;  sd high, 0(to);  addi to, to, 8;  bltu to, end, back to the srl */
#define COPY_LD 2 /* where its instructions are: slots from the first */
#define COPY_SLL 4
#define COPY_SD 7
#define COPY_BLTU 9
#define COPY_END 11

enum vm_op {
#define VM_OP_NUMBER(name, format) OP_##name,
    VM_OPS(VM_OP_NUMBER) VM_PLACED_OPS(VM_OP_NUMBER)
#undef VM_OP_NUMBER
#define VM_OP_NUMBER(name) OP_c_##name,
        VM_SHORT_OPS(VM_OP_NUMBER)
#undef VM_OP_NUMBER
#define VM_OP_NUMBER(first, second) OP_##first##_##second,
            VM_PAIRED_OPS(VM_OP_NUMBER)
#undef VM_OP_NUMBER
                OP_shifting_copy,
    VM_OP_COUNT
};
_Static_assert(VM_OP_COUNT <= 256, "an operation's number is a byte");

/* A decoded instruction; there is one slot for each two bytes of code. */
struct slot {
    uint8_t op;
    uint8_t size; /* of the instruction in bytes: 2 or 4 */
    uint8_t rd;
    uint8_t rs1;
    int32_t imm;
};
#define REGISTER(n) ((n) * 8u)
#define ROUND_DYNAMIC 7u /* in F2 and F3: as frm says */
