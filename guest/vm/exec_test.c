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
        cmocka_unit_test_setup_teardown(a_run_with_a_budget_of_one_gets_on, make, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
