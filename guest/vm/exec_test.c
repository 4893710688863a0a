/* Arbitrary bytes as code: they trap, jump or compute, and never leave the machine
 * (checked by sanitizers in MODE=asan). Also, decoded code follows writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vm/csr.h"
#include "vm/hart.h"
#include "vm/ram.h"
#include "vm/sbi.h"

#define ROUNDS 300
#define RAM_BYTES (64u << 10) /* small, so that wild addresses still hit it */

static uint64_t state = 1;

static uint64_t any(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uint8_t *ram;

static int make(void **unused)
{
    (void)unused;
    ram = aligned_alloc(4096, RAM_BYTES);
    assert_non_null(ram);
    memset(ram, 0, RAM_BYTES);
    ram_init(&the_hart, ram, RAM_BYTES);
    hart_reset(&the_hart, RAM_BASE);
    sbi_init(false);
    the_hart.sstatus |= SSTATUS_FS;
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    code_forget();
    free(ram);
    return 0;
}

/* An address in or near RAM, or any number. */
static uint64_t some_value(void)
{
    switch (any() % 4) {
    case 0:
        return any();
    case 1:
        return RAM_BASE + any() % (RAM_BYTES + 64) - 32;
    default:
        return RAM_BASE + any() % RAM_BYTES / 8 * 8;
    }
}

/* Words that are mostly instructions, of every major opcode. */
static void fill_with_code(void)
{
    for (uint32_t at = 0; at < RAM_BYTES; at += 4) {
        uint32_t word = (uint32_t)any();
        if (any() % 4)
            word |= 3;
        if (any() % 2)
            word &= ~0xf8000000u;
        memcpy(ram + at, &word, 4);
    }
}

static void start_anywhere(void)
{
    struct hart *h = &the_hart;
    for (unsigned i = 1; i < 32; i++)
        h->x[i] = some_value();
    for (unsigned i = 0; i < 32; i++)
        h->f[i] = any();
    h->fflags = any() & 31;
    h->frm = any() & 7;
    h->pc = RAM_BASE + any() % RAM_BYTES / 2 * 2;
    h->stvec = RAM_BASE + any() % RAM_BYTES / 4 * 4;
    h->privilege = any() & 1;
    h->waiting = false;
    view_changed(h);
}

/* Each run ends by its budget alone. */
static void random_bytes_as_code_stay_in_the_machine(void **unused)
{
    (void)unused;
    for (unsigned round = 0; round < ROUNDS; round++) {
        code_forget();
        tlb_flush(&the_hart);
        fill_with_code();
        for (unsigned i = 0; i < 100; i++) {
            start_anywhere();
            hart_run(&the_hart, 300);
            assert_int_equal(the_hart.x[0], 0);
        }
    }
}

static void random_page_tables_stay_in_the_machine(void **unused)
{
    (void)unused;
    for (unsigned round = 0; round < ROUNDS; round++) {
        code_forget();
        fill_with_code();
        /* Entries that lead into RAM, in one page of four. */
        for (uint32_t at = 0; at < RAM_BYTES; at += 8) {
            uint64_t entry = ((RAM_BASE / 4096 + any() % (RAM_BYTES / 4096 + 2)) << 10) |
                             (any() & 0xff) | 1;
            if (at / 4096 % 4 == 0)
                memcpy(ram + at, &entry, 8);
        }
        for (unsigned i = 0; i < 50; i++) {
            start_anywhere();
            the_hart.pc = any() % 4 ? any() % 4096 / 2 * 2 : any() & ~1ull;
            the_hart.satp = 8ull << 60 | (RAM_BASE / 4096 + any() % 4 * 4);
            tlb_flush(&the_hart);
            hart_run(&the_hart, 300);
            assert_int_equal(the_hart.x[0], 0);
        }
    }
}

/* ---- code that is written ---------------------------------------------------------- */

#define ADDI(rd, rs1, imm) ((uint32_t)(imm) << 20 | (rs1) << 15 | (rd) << 7 | 0x13u)

/* A loop that overwrites an instruction of its own, with another one each time: what was
 * decoded of it, or paired with it, is dropped each time. */
static void code_follows_what_is_written_over_it(void **unused)
{
    (void)unused;
    static const uint32_t code[] = {
        0x0062a023,       /* sw x6, 0(x5): the next but one */
        ADDI(7, 7, 1),    /* */
        ADDI(8, 8, 100),  /* is written over with ADDI(8, 8, 1 or 2) */
        0x00b34333,       /* xor x6, x6, x11: the other one */
        ADDI(9, 9, 4095), /* -1 */
        0xfe0496e3,       /* bne x9, x0, -20 */
        0x0000006f,       /* j . */
    };
    memcpy(ram, code, sizeof code);
    struct hart *h = &the_hart;
    h->x[5] = RAM_BASE + 8;
    h->x[6] = ADDI(8, 8, 1);
    h->x[11] = ADDI(8, 8, 1) ^ ADDI(8, 8, 2);
    h->x[9] = 1000;
    hart_run(h, 6010);
    assert_int_equal(h->pc, RAM_BASE + 24);
    assert_int_equal(h->x[7], 1000);
    assert_int_equal(h->x[8], 1500);
}

/* Data beside code, in one page: stores do not disturb slots around them. */
static void data_may_stand_beside_code(void **unused)
{
    (void)unused;
    static const uint32_t code[] = {
        0x0092a023,       /* sw x9, 0(x5) */
        0x0002a303,       /* lw x6, 0(x5) */
        0x00640433,       /* add x8, x8, x6 */
        ADDI(9, 9, 4095), /* -1 */
        0xfe0498e3,       /* bne x9, x0, -16 */
        0x0000006f,       /* j . */
    };
    memcpy(ram, code, sizeof code);
    struct hart *h = &the_hart;
    h->x[5] = RAM_BASE + 2048;
    h->x[9] = 1000;
    hart_run(h, 5010);
    assert_int_equal(h->pc, RAM_BASE + 20);
    assert_int_equal(h->x[8], 1000 * 1001 / 2);
}

/* ---- memory ------------------------------------------------------------------------- */

/* Linux's copy between addresses of different alignment, and another loop in one page. */
static const uint32_t copy_code[] = {
    0x01c7d733, /* srl a4, a5, t3 */
    0x05a1659c, /* ld a5, 8(a1); addi a1, a1, 8 */
    0x01d79633, /* sll a2, a5, t4 */
    0xe1108e59, /* or a2, a2, a4; sd a2, 0(a0) */
    0x67e30521, /* addi a0, a0, 8; bltu a0, t1, -18 */
    0x0001fe65, /* nop */
    0x0000006f, /* j . */
};
#define COPY_CODE_END 22u

static void start_copy(struct hart *h, uint64_t from, uint64_t to, uint64_t bytes)
{
    for (uint32_t i = 16384; i < RAM_BYTES; i++)
        ram[i] = (uint8_t)(i * 7 + i / 256);
    h->pc = RAM_BASE;
    uint64_t shift = from % 8 * 8, *first = (void *)(ram + from / 8 * 8);
    h->x[10] = RAM_BASE + to;
    h->x[11] = RAM_BASE + from / 8 * 8;
    h->x[6] = RAM_BASE + to + bytes;
    h->x[15] = *first;
    h->x[28] = shift;
    h->x[29] = 64 - shift;
    h->x[12] = h->x[14] = 0;
}

/* As it is when each instruction is run by itself, whatever budgets and pages' ends do. */
static void a_loop_run_as_one_does_what_its_instructions_do(void **unused)
{
    (void)unused;
    struct hart *h = &the_hart;
    uint8_t *expected = malloc(RAM_BYTES);
    assert_non_null(expected);
    for (unsigned round = 0; round < 300; round++) {
        uint64_t from = 16384 + any() % 8192, to = 32768 + any() % 1024 * 8,
                 bytes = any() % 3 ? any() % 12000 : any() % 40;
        if (round % 5 == 0)
            to = from / 8 * 8 + any() % 16 * 8; /* one overlaps the other */
        code_forget();
        tlb_flush(h);
        memcpy(ram, copy_code, sizeof copy_code);
        start_copy(h, from, to, bytes);
        uint64_t begun = h->retired;
        while (h->pc != RAM_BASE + COPY_CODE_END)
            hart_step(h);
        uint64_t retired = h->retired - begun, x[32];
        memcpy(x, h->x, sizeof x);
        memcpy(expected, ram, RAM_BYTES);
        start_copy(h, from, to, bytes);
        begun = h->retired;
        while (h->pc < RAM_BASE + COPY_CODE_END)
            hart_run(h, round % 2 ? 1 + any() % 600 : 8 * (1 + any() % 75));
        assert_memory_equal(x, h->x, sizeof x);
        assert_memory_equal(expected, ram, RAM_BYTES);
        assert_in_range(h->retired - begun, retired, retired + 600);
    }
    free(expected);
}

/* Any of the loop's instructions may be written over. */
static void a_loop_run_as_one_follows_what_is_written_over_it(void **unused)
{
    (void)unused;
    struct hart *h = &the_hart;
    memcpy(ram, copy_code, sizeof copy_code);
    for (unsigned at = 0; at < COPY_CODE_END - 4; at += 2) {
        start_copy(h, 20001, 32768, 4000);
        hart_run(h, 9000);
        assert_true(h->pc >= RAM_BASE + COPY_CODE_END);
        /* c.j to itself: whoever gets there stays. */
        uint16_t before, jump = 0xa001;
        memcpy(&before, ram + at, 2);
        memcpy(ram + at, &jump, 2);
        ram_written(RAM_BASE + at, 2);
        start_copy(h, 20001, 32768, 4000);
        hart_run(h, 9000);
        if (at == 0 || at == 4 || at == 6 || at == 8 || at == 12 || at == 14 || at == 16)
            assert_int_equal(h->pc, RAM_BASE + at);
        memcpy(ram + at, &before, 2);
        ram_written(RAM_BASE + at, 2);
    }
}

/* Loads and stores at each offset, also over the end of a page. */
static void misaligned_accesses_are_those_of_their_bytes(void **unused)
{
    (void)unused;
    static const uint32_t code[] = {
        0x0002b303, /* ld x6, 0(x5) */
        0x0002a383, /* lw x7, 0(x5) */
        0x0002d403, /* lhu x8, 0(x5) */
        0x0064b023, /* sd x6, 0(x9) */
        0x0074a423, /* sw x7, 8(x9) */
        0x00849623, /* sh x8, 12(x9) */
        0x0000006f, /* j . */
    };
    memcpy(ram, code, sizeof code);
    struct hart *h = &the_hart;
    for (uint32_t i = 16384; i < RAM_BYTES; i++)
        ram[i] = (uint8_t)any();
    for (uint32_t round = 0; round < 2; round++) /* the second finds the pages at hand */
        for (uint32_t at = 20480 - 20; at <= 20480; at++) {
            uint8_t *to = ram + 36864 - 20 + at % 23, expected[14];
            memcpy(expected, ram + at, 8);
            memcpy(expected + 8, ram + at, 4);
            memcpy(expected + 12, ram + at, 2);
            memset(to, 0, sizeof expected);
            h->pc = RAM_BASE;
            h->x[5] = RAM_BASE + at;
            h->x[9] = RAM_BASE + (uint64_t)(to - ram);
            hart_run(h, 8);
            assert_memory_equal(to, expected, sizeof expected);
        }
}

/* ---- budgets ------------------------------------------------------------------------- */

/* Also where an instruction crosses a page's end: a caller with a small budget would
 * otherwise loop for ever. */
static void a_run_with_a_budget_of_one_gets_on(void **unused)
{
    (void)unused;
    static const uint32_t code[] = {
        ADDI(7, 7, 1), /* */
        ADDI(8, 8, 1), /* */
        0xff9ff06f,    /* j -8 */
    };
    struct hart *h = &the_hart;
    for (uint32_t at = 4096 - 14; at <= 4096; at += 2) {
        code_forget();
        tlb_flush(h);
        memcpy(ram + at, code, sizeof code);
        h->pc = RAM_BASE + at;
        for (unsigned i = 0; i < 300; i++) {
            uint64_t before = h->retired;
            hart_run(h, 1);
            assert_in_range(h->retired - before, 1, 3);
        }
        assert_in_range(h->x[7] - h->x[8], 0, 1);
        h->x[7] = h->x[8];
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_bytes_as_code_stay_in_the_machine, make,
                                        end),
        cmocka_unit_test_setup_teardown(random_page_tables_stay_in_the_machine, make,
                                        end),
        cmocka_unit_test_setup_teardown(code_follows_what_is_written_over_it, make, end),
        cmocka_unit_test_setup_teardown(data_may_stand_beside_code, make, end),
        cmocka_unit_test_setup_teardown(a_loop_run_as_one_does_what_its_instructions_do,
                                        make, end),
        cmocka_unit_test_setup_teardown(a_loop_run_as_one_follows_what_is_written_over_it,
                                        make, end),
        cmocka_unit_test_setup_teardown(misaligned_accesses_are_those_of_their_bytes,
                                        make, end),
        cmocka_unit_test_setup_teardown(a_run_with_a_budget_of_one_gets_on, make, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
