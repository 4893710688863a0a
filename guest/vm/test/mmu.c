/* Sv39 and its faults: permissions, causes and addresses, accessed and dirty bits, large
 * pages, flushes, and code that is written. */
#include "check.h"

enum access { LOAD, STORE, FETCH };
static const uint64_t page_fault[] = {13, 15, 12}, access_fault[] = {5, 7, 1};

/* ---- ways to touch memory: s of S mode here, u of U mode on a page of its own ------ */

static uint64_t load(uint64_t at, uint64_t unused)
{
    (void)unused;
    uint64_t v;
    __asm__ volatile("ld %0, 0(%1)" : "=r"(v) : "r"(at) : "memory");
    return v;
}

static uint64_t store(uint64_t at, uint64_t value)
{
    __asm__ volatile("sd %0, 0(%1)" ::"r"(value), "r"(at) : "memory");
    return 0;
}

static uint64_t call(uint64_t at, uint64_t unused)
{
    return ((uint64_t (*)(uint64_t))at)(unused);
}

static uint64_t load_reserved(uint64_t at, uint64_t unused)
{
    (void)unused;
    uint64_t v;
    __asm__ volatile("lr.d %0, (%1)" : "=r"(v) : "r"(at) : "memory");
    return v;
}

static uint64_t conditional(uint64_t at, uint64_t value)
{
    uint64_t v;
    __asm__ volatile("sc.d %0, %2, (%1)" : "=r"(v) : "r"(at), "r"(value) : "memory");
    return v;
}

static uint64_t swap(uint64_t at, uint64_t value)
{
    uint64_t v;
    __asm__ volatile("amoswap.d %0, %2, (%1)" : "=r"(v) : "r"(at), "r"(value) : "memory");
    return v;
}

static bool touch(enum access how, uint64_t at)
{
    static uint64_t (*const ways[])(uint64_t, uint64_t) = {load, store, call};
    return attempt(ways[how], at, 0x0000806700008067); /* two `ret`s */
}

#define CODE_PAGE 0x150000000ull /* of the user */
#define AT 0x140000000ull        /* the address under test */
#define RET 0x8067u
#define LD_A0 0x00053503u /* ld a0, 0(a0) */
#define SD_A1 0x00b53023u /* sd a1, 0(a0) */
#define JR_A0 0x00050067u
#define ECALL 0x73u

static void as_user(enum access how, uint64_t at)
{
    static uint32_t *code;
    if (!code) {
        code = fresh_pages(1);
        static const uint32_t text[] = {LD_A0, ECALL, SD_A1, ECALL, JR_A0, ECALL};
        __builtin_memcpy(code, text, sizeof text);
        map(CODE_PAGE, code, V | R | X | U | A);
    }
    attempt_user(CODE_PAGE + 8 * how, at, 0x0000007300000073); /* two `ecall`s */
}

/* ---- permissions ------------------------------------------------------------------- */

/* The manual's rules, implemented again. */
static bool may(uint64_t flags, enum access how, bool user, bool sum, bool mxr)
{
    if (!(flags & V) || (flags & (R | W)) == W)
        return false;
    if (flags & U ? !user && (!sum || how == FETCH) : user)
        return false;
    if (how == FETCH)
        return flags & X;
    if (how == STORE)
        return flags & W;
    return flags & R || (mxr && flags & X);
}

static void try_right(uint64_t flags, enum access how, bool user, bool sum, bool mxr)
{
    /* Code that returns: by `ret` to us, by `ecall` from U mode. */
    uint32_t *page = (uint32_t *)(*entry_of(AT, 0) >> 10 << 12);
    page[0] = page[1] = user ? ECALL : RET;
    *entry_of(AT, 0) = pte(page, flags | (flags & V ? 0 : R));
    flush();
    csr_clear(sstatus, STATUS_SUM | STATUS_MXR);
    csr_set(sstatus, (sum ? STATUS_SUM : 0) | (mxr ? STATUS_MXR : 0));
    if (user)
        as_user(how, AT);
    else
        touch(how, AT);
    csr_clear(sstatus, STATUS_SUM | STATUS_MXR);
    bool good = may(flags, how, user, sum, mxr);
    uint64_t expected = !good ? page_fault[how] : user ? 8 : NO_TRAP;
    if (!CHECK(taken.cause, expected) || (!good && !CHECK(taken.value, AT))) {
        say("  with flags ");
        say_number(flags | (uint64_t)how << 8 | (uint64_t)user << 12 |
                   (uint64_t)sum << 16 | (uint64_t)mxr << 20);
        say("\n");
    }
    uint64_t marks = *entry_of(AT, 0) & (A | D);
    CHECK(marks, !good ? 0 : how == STORE ? A | D : A);
}

static void rights(void)
{
    test("rights");
    map(AT, fresh_pages(1), 0);
    as_user(LOAD, CODE_PAGE); /* makes that page */
    for (uint64_t flags = 0; flags < 32; flags++) {
        if ((flags & (V | R | W | X)) == V)
            continue; /* it would be a table */
        for (unsigned how = 0; how < 3; how++)
            for (unsigned mode = 0; mode < 8; mode++)
                try_right(flags, how, mode & 1, mode >> 1 & 1, mode >> 2);
    }
}

/* ---- invalid entries --------------------------------------------------------------- */

/* Without causes no access faults. */
static void expect(const char *name, uint64_t at, const uint64_t *causes)
{
    test(name);
    for (unsigned how = 0; how < 3; how++) {
        touch(how, at);
        CHECK(taken.cause, causes ? causes[how] : NO_TRAP);
        if (causes)
            CHECK(taken.value, at);
    }
}

static void wrong_entries(void)
{
    uint64_t good = pte(fresh_pages(1), V | R | W | X | A | D);
    uint64_t *e = entry_of(AT, 0), *table = entry_of(AT, 1), keep = *table;
    for (unsigned bit = 54; bit < 64; bit++) {
        *e = good | 1ull << bit;
        flush();
        expect("a reserved bit", AT + 8, page_fault);
    }
    *e = good;
    for (unsigned bit = 4; bit < 8; bit++) {
        *table = keep | 1ull << bit;
        flush();
        expect("a table's entry with U, A or D, or G", AT + 8,
               bit == 5 ? NULL : page_fault);
    }
    *table = keep;
    *e = pte(fresh_pages(1), V); /* a table where none is allowed */
    flush();
    expect("a table at the last level", AT + 8, page_fault);
    *table = pte((void *)0x40000000, V);
    flush();
    expect("a table that is not RAM", AT + 8, access_fault);
    *table = keep;
    *e = pte((void *)0x40000000, V | R | W | X | A | D);
    flush();
    expect("a page that is not RAM", AT + 8, access_fault);
    *e = good;
    flush();
}

static void addresses(void)
{
    static const uint64_t wild[] = {0x4000000000,       0x8000000000,
                                    0x7fffffffffffff00, 0xffffffbffffffff8,
                                    0xfffff00000000000, 0x8000000080000000};
    for (unsigned i = 0; i < sizeof wild / sizeof *wild; i++)
        expect("an address with wrong upper bits", wild[i], page_fault);
    uint8_t *page = fresh_pages(1);
    map(0xffffffc000000000, page, V | R | W | A | D);
    test("the lowest address of the upper half");
    attempt(store, 0xffffffc000000000, 77);
    CHECK(taken.cause, NO_TRAP);
    CHECK(page[0], 77);
}

/* ---- large pages ------------------------------------------------------------------- */

#define LARGE 0x160000000ull

static void large_pages(void)
{
    uint64_t *e = entry_of(LARGE, 1);
    *e = pte((void *)0x80001000, V | R | W | X);
    flush();
    expect("a large page that is not aligned", LARGE + 8, page_fault);
    *entry_of(0x3fc0000000, 2) = pte((void *)0x80200000, V | R);
    flush();
    test("a huge page that is not aligned");
    touch(LOAD, 0x3fc0000000);
    CHECK(taken.cause, 13);

    test("a large page");
    uint64_t *memory = fresh_pages(512);
    *e = pte(memory, V | R | W);
    flush();
    attempt(store, LARGE + 0x12345 * 8, 99);
    CHECK(memory[0x12345], 99);
    CHECK(*e & (A | D), A | D);
    test("flushing one address of a large page flushes all of it");
    CHECK(load(LARGE, 0), 0);
    uint64_t *other = fresh_pages(512);
    other[0x12345] = 5;
    *e = pte(other, V | R | W | A | D);
    __asm__ volatile("sfence.vma %0, zero" ::"r"(LARGE + 0x1000) : "memory");
    CHECK(load(LARGE + 0x12345 * 8, 0), 5);
}

/* ---- flushing ---------------------------------------------------------------------- */

static void flushing(void)
{
    uint64_t *one = fresh_pages(1), *two = fresh_pages(1);
    one[1] = 1, two[1] = 2;
    for (unsigned way = 0; way < 5; way++) {
        test("flushing");
        map(AT, one, V | R | W | A | D);
        CHECK(load(AT + 8, 0), 1);
        store(AT + 16, 7);
        *entry_of(AT, 0) = pte(two, V | R | W | A | D);
        uint64_t number = 0;
        switch (way) {
        case 0:
            __asm__ volatile("sfence.vma" ::: "memory");
            break;
        case 1:
            __asm__ volatile("sfence.vma %0, zero" ::"r"(AT + 100) : "memory");
            break;
        case 2:
            __asm__ volatile("sfence.vma %0, %1" ::"r"(AT), "r"(number) : "memory");
            break;
        case 3:
            __asm__ volatile("sfence.vma zero, %0" ::"r"(number) : "memory");
            break;
        default:
            sbi(0x52464e43, 1, 1, 0, 0); /* remote_sfence_vma of everything */
        }
        CHECK(load(AT + 8, 0), 2);
        store(AT + 8, 3);
        CHECK(two[1], 3);
        two[1] = 2;
    }
    test("another page that goes to the same place of a buffer");
    map(AT + 512 * PAGE, one, V | R | W | A | D);
    CHECK(load(AT + 8, 0), 2);
    CHECK(load(AT + 512 * PAGE + 8, 0), 1);
    CHECK(load(AT + 8, 0), 2);
    test("a page that becomes read-only");
    map(AT, one, V | R | W | A | D);
    store(AT, 1);
    map(AT, one, V | R | A);
    attempt(store, AT, 2);
    CHECK(taken.cause, 15);
    CHECK(one[0], 1);
}

/* ---- accesses across pages --------------------------------------------------------- */

static void page_ends(void)
{
    uint8_t *page = fresh_pages(1), *behind = fresh_pages(1);
    map(AT, page, V | R | W | X | A | D);
    map(AT + PAGE, behind, V | R | W | X | A | D);
    test("bytes over a page's end");
    attempt(store, AT + PAGE - 3, 0x8877665544332211);
    CHECK(taken.cause, NO_TRAP);
    CHECK(page[PAGE - 1], 0x33);
    CHECK(behind[0], 0x44);
    CHECK(behind[4], 0x88);
    CHECK(load(AT + PAGE - 3, 0), 0x8877665544332211);
    test("not aligned, within a page");
    attempt(store, AT + 33, 0x8877665544332211);
    CHECK(page[33], 0x11);
    CHECK(page[40], 0x88);
    CHECK(load(AT + 33, 0), 0x8877665544332211);

    map(AT + PAGE, behind, 0);
    test("what is missing is the second page");
    page[PAGE - 1] = 1;
    attempt(store, AT + PAGE - 3, ~0ull);
    CHECK(taken.cause, 15);
    CHECK(taken.value, AT + PAGE);
    CHECK(page[PAGE - 1], 1); /* nothing was written */
    attempt(load, AT + PAGE - 3, 0);
    CHECK(taken.cause, 13);
    CHECK(taken.value, AT + PAGE);

    test("an instruction over a page's end");
    static const uint8_t li[] = {0x13, 0x05, 0xa0, 0x02}; /* li a0, 42; then ret */
    __builtin_memcpy(page + PAGE - 2, li, 2);
    __builtin_memcpy(behind, li + 2, 2);
    uint32_t ret = RET;
    __builtin_memcpy(behind + 2, &ret, 4);
    attempt(call, AT + PAGE - 2, 0);
    CHECK(taken.cause, 12);
    CHECK(taken.value, AT + PAGE);
    CHECK(taken.pc, AT + PAGE - 2);
    map(AT + PAGE, behind, V | R | W | X | A | D);
    attempt(call, AT + PAGE - 2, 0);
    CHECK(given, 42);
    test("its second half is written");
    behind[1] = 0x03; /* li a0, 58 */
    __asm__ volatile("fence.i" ::: "memory");
    attempt(call, AT + PAGE - 2, 0);
    CHECK(given, 58);
}

/* ---- atomic operations ------------------------------------------------------------- */

static void atomics(void)
{
    uint64_t *page = fresh_pages(1);
    map(AT, page, V | R | A);
    test("atomic operations need the right to write");
    attempt(swap, AT, 1);
    CHECK(taken.cause, 15);
    CHECK(taken.value, AT);
    attempt(load_reserved, AT, 0);
    CHECK(taken.cause, NO_TRAP);
    map(AT, page, 0);
    attempt(load_reserved, AT, 0);
    CHECK(taken.cause, 13);
    map(AT, page, V | R | W);
    test("and to be aligned");
    attempt(swap, AT + 4, 1);
    CHECK(taken.cause, 6);
    CHECK(taken.value, AT + 4);
    attempt(load_reserved, AT + 4, 0);
    CHECK(taken.cause, 4);
    test("and mark the page");
    attempt(swap, AT, 9);
    CHECK(page[0], 9);
    CHECK(*entry_of(AT, 0) & (A | D), A | D);
    test("a reservation outlives the marking of its page");
    uint64_t got;
    map(AT, page, V | R | W);
    __asm__ volatile("lr.d t1, (%1)\n sc.d %0, t1, (%1)"
                     : "=r"(got)
                     : "r"(AT)
                     : "t1", "memory");
    CHECK(got, 0);
    CHECK(*entry_of(AT, 0) & (A | D), A | D);
    test("a reservation is lost by a trap");
    __asm__ volatile("lr.d t1, (%1)\n sc.d %0, t1, (%1)"
                     : "=r"(got)
                     : "r"(AT)
                     : "t1", "memory");
    CHECK(got, 0);
    load_reserved(AT, 0);
    attempt(load, 0, 0);
    CHECK(conditional(AT, 1), 1);
    CHECK(page[0], 9);
    test("atomic operations on devices");
    attempt(swap, 0x10000000, 1);
    CHECK(taken.cause, 7);
}

/* ---- self-modifying code ----------------------------------------------------------- */

static void written_code(void)
{
    uint32_t *page = fresh_pages(1);
    enum { LI = 0x00000513, NUMBER = 1 << 20 }; /* li a0, n */
    page[0] = LI + 1 * NUMBER;
    page[1] = RET;
    map(AT, page, V | R | W | X | A | D);
    map(AT + PAGE, page, V | R | W | A | D); /* the same page at another address */
    test("code is run as it was written last");
    CHECK(call(AT, 0), 1);
    *(volatile uint32_t *)AT = LI + 2 * NUMBER;
    __asm__ volatile("fence.i" ::: "memory");
    CHECK(call(AT, 0), 2);
    *(volatile uint32_t *)(AT + PAGE) = LI + 3 * NUMBER;
    __asm__ volatile("fence.i" ::: "memory");
    CHECK(call(AT, 0), 3);
    page[0] = LI + 4 * NUMBER;
    __asm__ volatile("fence.i" ::: "memory");
    CHECK(call(AT, 0), 4);
    swap(AT, (uint64_t)RET << 32 | (LI + 5 * NUMBER));
    __asm__ volatile("fence.i" ::: "memory");
    CHECK(call(AT, 0), 5);
    store(AT + 5, 0); /* not aligned, into the `ret` */
    page[1] = RET;
    __asm__ volatile("fence.i" ::: "memory");
    CHECK(call(AT, 0), 5);

    test("code that writes into its own page goes on");
    /* amoswap.d a0, a1, (a0); sd a1, 64(a2); li a0, 6; ret */
    static const uint32_t own[] = {0x08b5352f, 0x04b63023, LI + 6 * NUMBER, RET};
    __builtin_memcpy(page, own, sizeof own);
    __asm__ volatile("fence.i" ::: "memory");
    register uint64_t a0 __asm__("a0") = AT + 128;
    register uint64_t a1 __asm__("a1") = 123;
    register uint64_t a2 __asm__("a2") = AT;
    __asm__ volatile("jalr %3"
                     : "+r"(a0)
                     : "r"(a1), "r"(a2), "r"(AT)
                     : "ra", "t0", "t1", "memory");
    CHECK(a0, 6);
    CHECK(page[32], 123);
    CHECK(page[16], 123);

    test("code that writes the very instruction that it is at, and the next one");
    /* sw a1, 0(a2); sw a3, 8(a2); li a0, 1; ret */
    static const uint32_t self[] = {0x00b62023, 0x00d62423, LI + 1 * NUMBER, RET};
    __builtin_memcpy(page, self, sizeof self);
    __asm__ volatile("fence.i" ::: "memory");
    register uint64_t a3 __asm__("a3") = LI + 9 * NUMBER;
    for (unsigned round = 0; round < 100; round++) {
        a0 = 0;
        a1 = self[0];
        a2 = AT;
        __asm__ volatile("jalr %4"
                         : "+r"(a0)
                         : "r"(a1), "r"(a2), "r"(a3), "r"(AT)
                         : "ra", "t0", "t1", "memory");
        CHECK(a0, 9);
    }

    test("more code than is kept decoded");
    enum { MANY = 3500 };
    uint32_t *many = fresh_pages(4096);
    for (unsigned i = 0; i < MANY; i++) {
        many[i * 1024] = LI + i % 1000 * NUMBER;
        many[i * 1024 + 1] = RET;
    }
    __asm__ volatile("fence.i" ::: "memory");
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < MANY; i++)
            if (!CHECK(call((uint64_t)(many + i * 1024), 0), i % 1000))
                return;
}

void tests(void)
{
    paging_on();
    rights();
    wrong_entries();
    addresses();
    large_pages();
    flushing();
    page_ends();
    atomics();
    written_code();
}
