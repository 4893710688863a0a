/* The runtime of bare test programs. */
#include "check.h"

__attribute__((used)) volatile uint64_t tohost;
struct taken taken;
uint64_t given;
__attribute__((used)) static uint64_t
    context[15]; /* ra, sp, s0 .. s11; whether a trap is expected */

__asm__(".section .text.start\n"
        ".globl _start\n"
        "_start: la sp, stack_end\n"
        "  la t0, trapped\n"
        "  csrw stvec, t0\n"
        "  call run\n"
        "1: j 1b\n"
        ".text\n"
        ".macro saved op\n"
        "  \\op ra, 0(t0)\n \\op sp, 8(t0)\n \\op s0, 16(t0)\n \\op s1, 24(t0)\n"
        "  \\op s2, 32(t0)\n \\op s3, 40(t0)\n \\op s4, 48(t0)\n \\op s5, 56(t0)\n"
        "  \\op s6, 64(t0)\n \\op s7, 72(t0)\n \\op s8, 80(t0)\n \\op s9, 88(t0)\n"
        "  \\op s10, 96(t0)\n \\op s11, 104(t0)\n"
        ".endm\n"
        "attempt_f: la t0, context\n"
        "  saved sd\n"
        "  li t1, 1\n sd t1, 112(t0)\n"
        "  mv t1, a0\n mv a0, a1\n mv a1, a2\n"
        "  jalr t1\n"
        "  la t0, given\n sd a0, 0(t0)\n"
        "  la t0, context\n ld ra, 0(t0)\n sd zero, 112(t0)\n"
        "  li a0, 0\n"
        "  ret\n"
        "attempt_u: la t0, context\n"
        "  saved sd\n"
        "  li t1, 1\n sd t1, 112(t0)\n"
        "  csrw sepc, a0\n"
        "  li t0, 0x100\n csrc sstatus, t0\n"
        "  mv a0, a1\n mv a1, a2\n"
        "  sret\n"
        ".balign 4\n"
        ".globl trapped\n"
        "trapped: la t0, taken\n"
        "  csrr t1, scause\n sd t1, 0(t0)\n"
        "  csrr t1, stval\n sd t1, 8(t0)\n"
        "  csrr t1, sepc\n sd t1, 16(t0)\n"
        "  csrr t1, sstatus\n sd t1, 24(t0)\n"
        "  la t0, context\n"
        "  ld t1, 112(t0)\n sd zero, 112(t0)\n beqz t1, stray\n"
        "  saved ld\n"
        "  li a0, 1\n"
        "  ret\n"
        ".bss\n .balign 16\n .skip 65536\n stack_end:\n");

bool attempt_f(uint64_t (*f)(uint64_t, uint64_t), uint64_t a, uint64_t b);
void attempt_u(uint64_t pc, uint64_t a, uint64_t b);

bool attempt(uint64_t (*f)(uint64_t, uint64_t), uint64_t a, uint64_t b)
{
    taken = (struct taken){.cause = NO_TRAP};
    return attempt_f(f, a, b);
}

void attempt_user(uint64_t pc, uint64_t a, uint64_t b)
{
    taken = (struct taken){.cause = NO_TRAP};
    attempt_u(pc, a, b);
}

/* ---- messages ---------------------------------------------------------------------- */

struct sbi_answer sbi(uint64_t extension, uint64_t function, uint64_t a, uint64_t b,
                      uint64_t c)
{
    register uint64_t a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c;
    register uint64_t a6 __asm__("a6") = function, a7 __asm__("a7") = extension;
    __asm__ volatile("ecall" : "+r"(a0), "+r"(a1) : "r"(a2), "r"(a6), "r"(a7) : "memory");
    return (struct sbi_answer){(int64_t)a0, a1};
}

void say(const char *text)
{
    for (; *text; text++)
        sbi(0x4442434e, 2, (uint8_t)*text, 0, 0);
}

void say_number(uint64_t n)
{
    char digits[17];
    int i = 16;
    digits[i] = 0;
    do
        digits[--i] = "0123456789abcdef"[n & 15];
    while (n >>= 4);
    say("0x");
    say(digits + i);
}

static const char *current;
static uint64_t failures;

void test(const char *name)
{
    current = name;
}

bool check(const char *what, uint64_t line, uint64_t got, uint64_t expected)
{
    if (got == expected)
        return true;
    failures++;
    say(current);
    say(": line ");
    say_number(line);
    say(" ");
    say(what);
    say(" is ");
    say_number(got);
    say(", expected ");
    say_number(expected);
    say("\n");
    return false;
}

/* An unexpected trap. */
__attribute__((used)) void stray(void)
{
    check("a trap that should not be", taken.pc, taken.cause, NO_TRAP);
    check("its value", taken.pc, taken.value, 0);
    tohost = 3;
    for (;;)
        ;
}

/* ---- random numbers ---------------------------------------------------------------- */

static volatile struct {
    char mark[16];
    uint64_t value;
} seed_given = {"SEED-of-a-test:", 1};

uint64_t seed(void)
{
    return seed_given.value;
}

uint64_t any(void)
{
    static uint64_t state;
    if (!state)
        state = seed() * 0x9e3779b97f4a7c15u + 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1du;
}

/* ---- memory ------------------------------------------------------------------------ */

void *memset(void *at, int value, size_t n)
{
    volatile uint8_t *p = at;
    while (n--)
        *p++ = (uint8_t)value;
    return at;
}

void *memcpy(void *to, const void *from, size_t n)
{
    volatile uint8_t *d = to;
    const uint8_t *s = from;
    while (n--)
        *d++ = *s++;
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const volatile uint8_t *x = a, *y = b;
    for (; n && *x == *y; n--, x++, y++)
        ;
    return n ? *x - *y : 0;
}

void *fresh_pages(unsigned n)
{
    static uint64_t next = 0x81000000; /* after the program, whatever its size */
    next = (next + n * PAGE - 1) / (n * PAGE) * (n * PAGE);
    void *at = (void *)next;
    next += n * PAGE;
    return memset(at, 0, n * PAGE);
}

static uint64_t *root;

uint64_t *entry_of(uint64_t va, unsigned level)
{
    uint64_t *table = root;
    for (unsigned l = 2; l > level; l--) {
        uint64_t *e = &table[va >> (12 + 9 * l) & 511];
        if (!(*e & V))
            *e = pte(fresh_pages(1), V);
        table = (uint64_t *)(*e >> 10 << 12);
    }
    return &table[va >> (12 + 9 * level) & 511];
}

void map(uint64_t va, const void *page, uint64_t flags)
{
    *entry_of(va, 0) = pte(page, flags);
    flush();
}

void paging_on(void)
{
    if (!root) {
        root = fresh_pages(1);
        root[0] = pte(0, V | R | W | A | D);
        root[2] = pte((void *)0x80000000, V | R | W | X | A | D);
    }
    csr_write(satp, 8ull << 60 | (uint64_t)root / PAGE);
    flush();
}

void paging_off(void)
{
    csr_write(satp, 0);
    flush();
}

__attribute__((used)) void run(void)
{
    tests();
    tohost = failures << 1 | 1;
}
