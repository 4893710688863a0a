/* Slots are filled when they are first run, in rows: what follows will mostly run too. */
#include "vm/place.h"
#include "vm/decode.h"

#define HALVES (RAM_PAGE / 2u)
#define ROW 32u /* instructions at once */

static const uint8_t short_of[256] = {
#define VM_SHORT_FORM(name) [OP_##name] = OP_c_##name,
    VM_SHORT_OPS(VM_SHORT_FORM)
#undef VM_SHORT_FORM
};

/* Whether its only effect is to write x[rd]. */
static bool only_writes(enum vm_op op)
{
    return op == OP_lui || op == OP_auipc || (op >= OP_addi && op <= OP_remuw);
}

/* Whether it writes x[rd], and may trap or raise flags besides. */
static bool also_writes(enum vm_op op)
{
    unsigned of_single =
        op >= OP_fadd_d && op <= OP_fcvt_d_s ? op - OP_fadd_d + OP_fadd_s : op;
    return (op >= OP_lb && op <= OP_lwu) ||
           (of_single >= OP_feq_s && of_single <= OP_fmv_x_w) ||
           (of_single >= OP_fcvt_w_s && of_single <= OP_fcvt_lu_s);
}

static bool branches(enum vm_op op)
{
    return op >= OP_beq && op <= OP_bgeu;
}

/* The form of a jump whose target is in the page. */
static struct slot near(struct slot s, uint32_t index)
{
    int64_t to = (int64_t)index + s.imm / 2;
    if (index == PLACE_NONE || to < 0 || to >= HALVES)
        return s;
    if (branches(s.op))
        s.op = (uint8_t)(s.op - OP_beq + OP_beq_near);
    else
        s.op = s.rd ? OP_jal_near : OP_j_near;
    s.imm *= (int32_t)sizeof s / 2;
    return s;
}

struct slot place(struct slot s, uint32_t index)
{
    if (!s.rd && only_writes(s.op))
        s.op = OP_nop;
    else if (!s.rd && s.op == OP_jalr)
        s.op = OP_jr;
    else if (!s.rd && also_writes(s.op)) {
        s.rd = s.op;
        s.op = OP_idle;
    } else if (branches(s.op) || s.op == OP_jal)
        s = near(s, index);
    if (s.size == 2 && short_of[s.op])
        s.op = short_of[s.op];
    return s;
}

static const struct {
    uint8_t first, second, both;
} pairs[] = {
#define VM_PAIR(first, second) {OP_##first, OP_##second, OP_##first##_##second},
    VM_PAIRED_OPS(VM_PAIR)
#undef VM_PAIR
};

static const uint8_t first_of[256] = {[OP_shifting_copy] = OP_srl,
#define VM_PAIR(first, second) [OP_##first##_##second] = OP_##first,
                                      VM_PAIRED_OPS(VM_PAIR)
#undef VM_PAIR
};

enum vm_op place_first(enum vm_op op)
{
    return first_of[op] ? first_of[op] : op;
}

static uint8_t joined(enum vm_op first, enum vm_op second)
{
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].first == first && pairs[i].second == second)
            return pairs[i].both;
    return (uint8_t)first;
}

/* Whether the eight instructions from `code` on are the loop. Those registers that it writes
 * differ from each other and from those that it only reads. */
static bool is_shifting_copy(const uint16_t *code)
{
    static const struct {
        uint8_t op, size;
    } loop[] = {{OP_srl, 4}, {OP_ld, 2}, {OP_addi, 2}, {OP_sll, 4},
                {OP_or, 2},  {OP_sd, 2}, {OP_addi, 2}, {OP_bltu, 4}};
    struct slot s[8];
    for (unsigned i = 0; i < 8; i++) {
        s[i] = vm_decode((uint32_t)code[1] << 16 | code[0]);
        if (s[i].op != loop[i].op || s[i].size != loop[i].size)
            return false;
        code += s[i].size / 2;
    }
    uint8_t word = s[0].rs1, low = s[0].rd, from = s[1].rs1, high = s[3].rd,
            to = s[5].rs1;
    const uint8_t all[] = {
        word, low, from, high, to, 0, (uint8_t)s[0].imm, (uint8_t)s[3].imm, s[7].rd};
    for (unsigned i = 0; i < 5; i++)
        for (unsigned k = i + 1; k < sizeof all; k++)
            if (all[i] == all[k])
                return false;
    return s[1].rd == word && s[1].imm == 8 && s[2].rd == from && s[2].rs1 == from &&
           s[2].imm == 8 && s[3].rs1 == word && s[4].rd == high && s[4].rs1 == high &&
           s[4].imm == low && s[5].rd == high && s[5].imm == 0 && s[6].rd == to &&
           s[6].rs1 == to && s[6].imm == 8 && s[7].rs1 == to &&
           s[7].imm == -2 * COPY_BLTU;
}

/* Makes one of a loop whose last instruction was placed at `index`, if all others were. */
static void close_loop(struct code_page *page, uint32_t index)
{
    if (index < COPY_BLTU)
        return;
    struct slot *first = &page->slots[index - COPY_BLTU];
    static const uint8_t others[] = {COPY_LD,     COPY_LD + 1, COPY_SLL,
                                     COPY_SD - 1, COPY_SD,     COPY_SD + 1};
    bool placed = first->op == OP_srl;
    for (unsigned i = 0; i < sizeof others; i++)
        placed = placed && first[others[i]].op != OP_undecoded;
    if (placed && is_shifting_copy(page->code + index - COPY_BLTU))
        first->op = OP_shifting_copy;
}

static bool ends_row(enum vm_op op)
{
    return op == OP_jal || op == OP_jalr || op == OP_sret || op == OP_illegal;
}

void place_from(struct code_page *page, uint32_t index)
{
    struct slot *before = 0;
    page->writes = 0;
    for (uint32_t n = 0; n < ROW && index < HALVES; n++) {
        if (page->slots[index].op != OP_undecoded)
            return;
        uint32_t low = page->code[index];
        bool whole = (low & 3) == 3;
        if (whole && index == HALVES - 1) {
            page->slots[index] = (struct slot){.op = OP_across};
            return;
        }
        uint32_t word = low;
        if (whole) /* no `?:`: gcc 14 would read the next half in any case (STYLE.md) */
            word |= (uint32_t)page->code[index + 1] << 16;
        struct slot s = vm_decode(word);
        struct slot *at = &page->slots[index];
        *at = place(s, index);
        if (before)
            before->op = joined(before->op, at->op);
        before = at;
        if (s.op == OP_bltu)
            close_loop(page, index);
        if (ends_row(s.op))
            return;
        index += s.size / 2u;
    }
}
