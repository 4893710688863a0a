/* Traps, interrupts, CSRs, the timer and the SBI. */
#include "check.h"

#define USER_CODE 0x150000000ull
#define ECALL 0x73u
#define HERE(text) __asm__ volatile(text::: "memory")

/* ---- one instruction, in S and in U mode ------------------------------------------- */

static uint32_t *text; /* a page mapped at two addresses, for both modes */
#define SUPERVISOR_CODE 0x151000000ull

static uint64_t jump(uint64_t at, uint64_t a)
{
    return ((uint64_t (*)(uint64_t))at)(a);
}

/* The cause; NO_TRAP (or 8, the final `ecall` in U mode) if the instruction did not
 * trap. */
static uint64_t run_one(uint32_t instruction, bool user)
{
    text[0] = instruction;
    text[1] = user ? ECALL : 0x8067;
    HERE("fence.i");
    if (user)
        attempt_user(USER_CODE, 0, 0);
    else
        attempt(jump, SUPERVISOR_CODE, 0);
    return taken.cause;
}

static uint32_t csrr(uint32_t number)
{
    return number << 20 | 2 << 12 | 10 << 7 | 0x73; /* csrr a0, number */
}

static uint32_t csrrw(uint32_t number)
{
    return number << 20 | 10 << 15 | 1 << 12 | 0x73; /* csrw number, a0 */
}

static uint32_t csrrsi(uint32_t number)
{
    return number << 20 | 1 << 15 | 6 << 12 | 0x73; /* csrsi number, 1 */
}

static void set_up(void)
{
    text = fresh_pages(1);
    map(USER_CODE, text, V | R | X | U | A);
    map(SUPERVISOR_CODE, text, V | R | X | A);
}

/* ---- CSRs -------------------------------------------------------------------------- */

static bool is_one_of(uint32_t n, const uint16_t *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (list[i] == n)
            return true;
    return false;
}

static void csrs(void)
{
    static const uint16_t of_all[] = {1, 2, 3}, counters[] = {0xc00, 0xc01, 0xc02};
    static const uint16_t of_supervisor[] = {0x100, 0x104, 0x105, 0x106, 0x10a, 0x140,
                                             0x141, 0x142, 0x143, 0x144, 0x14d, 0x180};
    test("every CSR number");
    csr_write(scounteren, 0);
    csr_set(sstatus, STATUS_FS);
    for (uint32_t n = 0; n < 4096; n++) {
        bool all = is_one_of(n, of_all, 3), counter = is_one_of(n, counters, 3);
        bool ours = is_one_of(n, of_supervisor, 12);
        uint64_t s = run_one(csrr(n), false), u = run_one(csrr(n), true);
        if (!check("csrr in S", n, s, all || counter || ours ? NO_TRAP : 2) ||
            !check("csrr in U", n, u, all ? 8 : 2))
            return;
    }
    test("counters are for reading");
    for (unsigned i = 0; i < 3; i++) {
        CHECK(run_one(csrrw(counters[i]), false), 2);
        CHECK(run_one(csrrsi(counters[i]), false), 2);
    }
    test("scounteren opens each counter to users");
    for (unsigned open = 0; open < 8; open++) {
        csr_write(scounteren, open);
        for (unsigned i = 0; i < 3; i++)
            CHECK(run_one(csrr(counters[i]), true), open >> i & 1 ? 8 : 2);
    }
}

static void registers(void)
{
    test("what CSRs keep of what is written");
    csr_write(sepc, ~0ull);
    CHECK(csr_read(sepc), ~1ull);
    csr_write(sie, ~0ull);
    CHECK(csr_read(sie), 1 << SOFTWARE | 1 << TIMER | 1 << EXTERNAL);
    csr_write(sie, 0);
    csr_write(sip, ~0ull);
    CHECK(csr_read(sip) & 1 << SOFTWARE, 1 << SOFTWARE);
    CHECK(csr_read(sip) & 1 << EXTERNAL, 0);
    csr_write(sip, 0);
    CHECK(csr_read(sip), 0);
    uint64_t handler = csr_read(stvec);
    csr_write(stvec, 0x80001002); /* an unsupported mode */
    CHECK(csr_read(stvec) & 3, 0);
    csr_write(stvec, handler);
    csr_write(sscratch, 0x123456789abcdef0);
    CHECK(csr_read(sscratch), 0x123456789abcdef0);
    csr_write(stval, ~0ull);
    CHECK(csr_read(stval), ~0ull);
    csr_write(scounteren, ~0ull);
    CHECK(csr_read(scounteren), 7);
    uint64_t satp = csr_read(satp);
    csr_write(satp, 9ull << 60 | 5); /* Sv48 is not supported: nothing changes */
    CHECK(csr_read(satp), satp);
    CHECK(csr_read(sstatus) >> 32 & 3, 2);
}

static void floating_point(void)
{
    enum { FADD = 0x00107053, FLD = 0x00003007, FSD = 0x00003027, C_FLD = 0x2000 };
    static const uint32_t all[] = {FADD, FLD, FSD, C_FLD};
    test("floating point that is off is illegal");
    csr_clear(sstatus, STATUS_FS);
    for (unsigned i = 0; i < 4; i++)
        CHECK(run_one(all[i], false), 2);
    CHECK(run_one(csrr(1), false), 2);
    CHECK(run_one(csrrw(3), false), 2);
    CHECK(csr_read(sstatus) & STATUS_FS, 0);
    test("what changes its state makes it dirty");
    csr_set(sstatus, 1 << 13);
    CHECK(csr_read(sstatus) >> 63, 0);
    CHECK(run_one(FADD, false), NO_TRAP);
    CHECK(csr_read(sstatus) & STATUS_FS, STATUS_FS);
    CHECK(csr_read(sstatus) >> 63, 1);
    csr_clear(sstatus, STATUS_FS);
    csr_set(sstatus, 2 << 13);
    CHECK(run_one(csrr(1), false), NO_TRAP);
    CHECK(csr_read(sstatus) & STATUS_FS, 2 << 13);
    CHECK(run_one(csrrw(2), false), NO_TRAP);
    CHECK(csr_read(sstatus) & STATUS_FS, STATUS_FS);
}

/* ---- exceptions -------------------------------------------------------------------- */

static void exceptions(void)
{
    enum {
        EBREAK = 0x00100073,
        SRET = 0x10200073,
        WFI = 0x10500073,
        SFENCE = 0x12000073,
        MRET = 0x30200073,
        C_EBREAK = 0x9002,
        FENCE_I = 0x100f
    };
    test("causes");
    CHECK(run_one(ECALL, true), 8);
    CHECK(taken.pc, USER_CODE);
    CHECK(taken.value, 0);
    CHECK(run_one(EBREAK, true), 3);
    CHECK(taken.value, USER_CODE);
    CHECK(run_one(C_EBREAK, false), 3);
    CHECK(taken.pc, SUPERVISOR_CODE);
    CHECK(run_one(0, true), 2);
    CHECK(run_one(~0u, true), 2);
    CHECK(run_one(MRET, false), 2);
    CHECK(run_one(FENCE_I, true), 8);
    test("what is the supervisor's is illegal to users");
    CHECK(run_one(SRET, true), 2);
    CHECK(run_one(WFI, true), 2);
    CHECK(run_one(SFENCE, true), 2);
    CHECK(run_one(SFENCE, false), NO_TRAP);

    test("sstatus, into a trap and back");
    csr_write(sie, 0);
    csr_set(sstatus, STATUS_SIE);
    run_one(EBREAK, false);
    CHECK(taken.status & (STATUS_SIE | STATUS_SPIE | STATUS_SPP),
          STATUS_SPIE | STATUS_SPP);
    csr_clear(sstatus, STATUS_SIE);
    run_one(EBREAK, false);
    CHECK(taken.status & (STATUS_SIE | STATUS_SPIE | STATUS_SPP), STATUS_SPP);
    csr_set(sstatus, STATUS_SPIE);
    run_one(EBREAK, true);
    CHECK(taken.status & (STATUS_SIE | STATUS_SPIE | STATUS_SPP), STATUS_SPIE);
    uint64_t after;
    __asm__ volatile(
        "la t0, 1f\n csrw sepc, t0\n csrs sstatus, %1\n csrc sstatus, %2\n sret\n"
        "1: csrr %0, sstatus"
        : "=r"(after)
        : "r"((uint64_t)STATUS_SPP), "r"((uint64_t)(STATUS_SPIE | STATUS_SIE))
        : "t0", "memory");
    CHECK(after & (STATUS_SIE | STATUS_SPIE | STATUS_SPP), STATUS_SPIE);
}

/* ---- interrupts -------------------------------------------------------------------- */

#define UART 0x10000000ull
#define PLIC 0x0c000000ull
#define UART_LINE 31u

static void external(bool on)
{
    volatile uint32_t *plic = (void *)PLIC;
    plic[UART_LINE] = 1;
    plic[0x2000 / 4] = on ? 1u << UART_LINE : 0;
    plic[0x200000 / 4] = 0;
    *(volatile uint8_t *)(UART + 1) = on ? 2 : 0; /* interrupt when all is sent */
}

static uint64_t open_up(uint64_t a, uint64_t b)
{
    (void)a, (void)b;
    csr_set(sstatus, STATUS_SIE);
    HERE("nop");
    csr_clear(sstatus, STATUS_SIE);
    return 0;
}

static void interrupts(void)
{
    test("interrupts come in their order");
    csr_write(STIMECMP, 0);
    csr_set(sip, 1 << SOFTWARE);
    external(true);
    csr_write(sie, ~0ull);
    static const uint8_t order[] = {EXTERNAL, SOFTWARE, TIMER};
    for (unsigned i = 0; i < 3; i++) {
        attempt(open_up, 0, 0);
        CHECK(taken.cause, INTERRUPT | order[i]);
        CHECK(taken.value, 0);
        csr_clear(sie, 1 << order[i]);
    }
    attempt(open_up, 0, 0);
    CHECK(taken.cause, NO_TRAP);
    test("a user is interrupted whatever SIE says");
    csr_write(sie, 1 << TIMER);
    CHECK(run_one(0x6f, true), INTERRUPT | TIMER); /* j . */
    CHECK(run_one(0x8067, false), NO_TRAP);
    test("a vectored handler");
    csr_write(sie, 1 << SOFTWARE);
    uint64_t handler = csr_read(stvec);
    /* a table of jumps, one to the next, and the handler */
    uint32_t *table = fresh_pages(1);
    for (unsigned i = 0; i < 16; i++)
        table[i] = 0x00000013; /* nop */
    table[1] = 0x00100e13;     /* li t3, 1 */
    uint64_t *far = (uint64_t *)(table + 32);
    static const uint32_t go[] = {0x00000297, 0x0102b283,
                                  0x00028067}; /* auipc t0, 0; ld t0, 16(t0); jr t0 */
    __builtin_memcpy(table + 16, go, sizeof go);
    __builtin_memcpy(table + 20, &handler, 8);
    (void)far;
    csr_write(stvec, (uint64_t)table | 1);
    HERE("li t3, 0");
    attempt(open_up, 0, 0);
    uint64_t mark;
    __asm__ volatile("mv %0, t3" : "=r"(mark));
    CHECK(taken.cause, INTERRUPT | SOFTWARE);
    CHECK(mark, 1);
    csr_write(stvec, handler);
    csr_clear(sip, 1 << SOFTWARE);
    external(false);
    test("the PLIC hands a line out once");
    external(true);
    volatile uint32_t *claim = (void *)(PLIC + 0x200004);
    CHECK(csr_read(sip) >> EXTERNAL & 1, 1);
    CHECK(*claim, UART_LINE);
    CHECK(*claim, 0);
    CHECK(csr_read(sip) >> EXTERNAL & 1, 0);
    *claim = UART_LINE; /* the line is still up, so it is raised again */
    CHECK(csr_read(sip) >> EXTERNAL & 1, 1);
    CHECK(*(volatile uint8_t *)(UART + 2) & 15, 2); /* reading the cause clears it */
    CHECK(csr_read(sip) >> EXTERNAL & 1, 0);
    volatile uint32_t *threshold = (void *)(PLIC + 0x200000);
    external(false);
    external(true);
    *threshold = 1;
    CHECK(csr_read(sip) >> EXTERNAL & 1, 0);
    CHECK(*claim, 0);
    *threshold = 0;
    CHECK(csr_read(sip) >> EXTERNAL & 1, 1);
    external(false);
}

/* ---- time -------------------------------------------------------------------------- */

static void timer(void)
{
    csr_write(sie, 1 << TIMER);
    test("time goes on, and instructions are counted");
    uint64_t a = csr_read(time), i = csr_read(instret);
    for (volatile int n = 0; n < 100000; n++)
        ;
    CHECK(csr_read(time) > a, true);
    CHECK(csr_read(instret) - i > 100000, true);
    test("the timer is pending when its time has come, not before");
    csr_write(STIMECMP, csr_read(time) + 20000);
    CHECK(csr_read(sip) >> TIMER & 1, 0);
    HERE("wfi");
    CHECK(csr_read(sip) >> TIMER & 1, 1);
    csr_write(STIMECMP, ~0ull);
    CHECK(csr_read(sip) >> TIMER & 1, 0);
    test("wfi goes on with interrupts off, and with one pending at once");
    csr_write(STIMECMP, 0);
    HERE("wfi");
    CHECK(sbi(0x54494d45, 0, ~0ull, 0, 0).error, 0);
    CHECK(csr_read(sip) >> TIMER & 1, 0);
    CHECK(csr_read(STIMECMP), ~0ull);
}

/* ---- the SBI ----------------------------------------------------------------------- */

#define SBI_CHECK(extension, function, a, b, error_, value_)      \
    do {                                                          \
        struct sbi_answer r_ = sbi(extension, function, a, b, 0); \
        CHECK(r_.error, error_);                                  \
        CHECK(r_.value, value_);                                  \
    } while (0)

static void calls(void)
{
    static const uint64_t there[] = {0x10,     0x54494d45, 0x735049,  0x52464e43,
                                     0x48534d, 0x53525354, 0x4442434e};
    test("the SBI says what it has");
    SBI_CHECK(0x10, 0, 0, 0, 0, 2 << 24);
    for (unsigned i = 0; i < 7; i++)
        SBI_CHECK(0x10, 3, there[i], 0, 0, 1);
    SBI_CHECK(0x10, 3, 0x504d55, 0, 0, 0);
    SBI_CHECK(0x10, 99, 0, 0, -2, 0);
    SBI_CHECK(0x504d55, 0, 0, 0, -2, 0);
    test("its harts");
    SBI_CHECK(0x48534d, 2, 0, 0, 0, 0);
    SBI_CHECK(0x48534d, 2, 1, 0, -3, 0);
    SBI_CHECK(0x48534d, 0, 0, 0, -6, 0);
    SBI_CHECK(0x48534d, 0, 1, 0, -3, 0);
    test("its interrupts");
    SBI_CHECK(0x735049, 0, 1, 0, 0, 0);
    CHECK(csr_read(sip) >> SOFTWARE & 1, 1);
    csr_clear(sip, 1 << SOFTWARE);
    SBI_CHECK(0x735049, 0, 0, ~0ull, 0, 0);
    CHECK(csr_read(sip) >> SOFTWARE & 1, 1);
    csr_clear(sip, 1 << SOFTWARE);
    SBI_CHECK(0x735049, 0, 2, 0, -3, 0);
    CHECK(csr_read(sip) >> SOFTWARE & 1, 0);
    test("its console does not read outside of RAM");
    SBI_CHECK(0x4442434e, 0, 10, 0, -3, 0);
    SBI_CHECK(0x4442434e, 0, 0x100000, 0x83f80000, -3, 0);
    SBI_CHECK(0x4442434e, 1, 10, 0x80200000, 0, 0);
    SBI_CHECK(0x4442434e, 0, 0, 0x80200000, 0, 0);
    test("a reset of no known kind");
    SBI_CHECK(0x53525354, 0, 9, 0, -3, 0);
}

void tests(void)
{
    paging_on();
    set_up();
    csrs();
    registers();
    floating_point();
    exceptions();
    interrupts();
    timer();
    calls();
}
