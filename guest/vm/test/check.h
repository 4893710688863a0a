/* guest/vm/test/check.h - what bare test programs share: checks, traps caught, page tables.
 *
 * A program is run by `vm-native --kernel`. It starts untranslated in S mode, says what is
 * wrong by the SBI's console, a line each, and ends with 0 if nothing was.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE 4096ull
#define MAKE(name) #name
#define TEXT_OF(name) MAKE(name)

#define csr_read(name)                                                    \
    ({                                                                    \
        uint64_t v_;                                                      \
        __asm__ volatile("csrr %0, " TEXT_OF(name) : "=r"(v_)::"memory"); \
        v_;                                                               \
    })
#define csr_write(name, value) \
    __asm__ volatile("csrw " TEXT_OF(name) ", %0" ::"r"((uint64_t)(value)) : "memory")
#define csr_set(name, bits) \
    __asm__ volatile("csrs " TEXT_OF(name) ", %0" ::"r"((uint64_t)(bits)) : "memory")
#define csr_clear(name, bits) \
    __asm__ volatile("csrc " TEXT_OF(name) ", %0" ::"r"((uint64_t)(bits)) : "memory")
#define STIMECMP 0x14d

enum {
    STATUS_SIE = 1 << 1,
    STATUS_SPIE = 1 << 5,
    STATUS_SPP = 1 << 8,
    STATUS_FS = 3 << 13,
    STATUS_SUM = 1 << 18,
    STATUS_MXR = 1 << 19
};
enum { SOFTWARE = 1, TIMER = 5, EXTERNAL = 9 };
#define INTERRUPT (1ull << 63)

/* ---- checks ------------------------------------------------------------------------ */

void say(const char *text);
void say_number(uint64_t n);
/* Reports where and what, if it differs; true: it is as expected. */
bool check(const char *what, uint64_t line, uint64_t got, uint64_t expected);
#define CHECK(got, expected) \
    check(__FILE_NAME__ ": " #got, __LINE__, (uint64_t)(got), (uint64_t)(expected))
/* Begins a test; its name is printed before its first failure. */
void test(const char *name);

/* Defined by the program: runs all its tests. */
void tests(void);

/* Set by the host of the program, after the bytes SEED-of-a-test. */
uint64_t seed(void);
uint64_t any(void); /* the next random number */

/* ---- traps ------------------------------------------------------------------------- */

extern struct taken {
    uint64_t cause, value, pc, status;
} taken; /* the last one; the cause is NO_TRAP if there was none */
#define NO_TRAP 1000u

/* Calls f(a, b) in S mode and returns whether it trapped; interrupts are off again. */
bool attempt(uint64_t (*f)(uint64_t, uint64_t), uint64_t a, uint64_t b);
extern uint64_t given; /* the result of f, if it returned */
/* Jumps to `pc` in U mode with these in a0 and a1; returns when it traps. */
void attempt_user(uint64_t pc, uint64_t a, uint64_t b);

/* ---- memory ------------------------------------------------------------------------ */

enum { V = 1, R = 2, W = 4, X = 8, U = 16, G = 32, A = 64, D = 128 };

void *fresh_pages(unsigned n); /* zeros, aligned as one */
/* Maps all of RAM and the devices to their own addresses, with what map() adds. */
void paging_on(void);
void paging_off(void);
/* The entry of a page's address at a level (0: 4 KB, 1: 2 MB, 2: 1 GB); creates the
 * tables above it. */
uint64_t *entry_of(uint64_t va, unsigned level);
static inline uint64_t pte(const void *page, uint64_t flags)
{
    return (uint64_t)page / PAGE << 10 | flags;
}
static inline void flush(void)
{
    __asm__ volatile("sfence.vma" ::: "memory");
}
void map(uint64_t va, const void *page, uint64_t flags); /* 4 KB, and flushes */

/* ---- the SBI ----------------------------------------------------------------------- */

struct sbi_answer {
    int64_t error;
    uint64_t value;
};
struct sbi_answer sbi(uint64_t extension, uint64_t function, uint64_t a, uint64_t b,
                      uint64_t c);
