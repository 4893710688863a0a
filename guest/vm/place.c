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

static const uint8_t first_of[256] = {
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
        if (ends_row(s.op))
            return;
        index += s.size / 2u;
    }
}
