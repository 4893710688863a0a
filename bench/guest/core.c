/* A bare program for the machine's processor alone: a sieve, a CRC by table, calls, a sort, a
 * sum of doubles. Ends by writing tohost, as instruction tests do. */
#include <stdint.h>

enum { SIEVE = 100000, NUMBERS = 20000 };

static uint8_t sieve[SIEVE];
static uint32_t table[256], numbers[NUMBERS];
static uint8_t stack[65536] __attribute__((aligned(16), used));
volatile uint64_t tohost __attribute__((aligned(4096)));
uint64_t begin_signature[1], end_signature[1]; /* the result lies in the first */

__attribute__((naked, section(".text.start"))) void _start(void)
{
    __asm__("la sp, stack\n li t0, 65536\n add sp, sp, t0\n j run");
}

static uint64_t primes(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < SIEVE; i++)
        sieve[i] = 1;
    for (int i = 2; i < SIEVE; i++)
        if (sieve[i]) {
            sum += (uint64_t)i;
            for (int k = i * 2; k < SIEVE; k += i)
                sieve[k] = 0;
        }
    return sum;
}

static uint32_t crc(void)
{
    uint32_t sum = ~0u;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++)
            table[i] = table[i] & 1 ? 0xedb88320 ^ table[i] >> 1 : table[i] >> 1;
    }
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < SIEVE; i++)
            sum = table[(sum ^ sieve[i]) & 255] ^ sum >> 8;
    return sum;
}

static uint64_t fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static uint64_t sort(void)
{
    uint64_t seed = 1, sum = 0;
    for (int i = 0; i < NUMBERS; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        numbers[i] = (uint32_t)(seed >> 33);
    }
    for (int gap = NUMBERS / 2; gap; gap /= 2)
        for (int i = gap; i < NUMBERS; i++) {
            uint32_t v = numbers[i];
            int k = i;
            for (; k >= gap && numbers[k - gap] > v; k -= gap)
                numbers[k] = numbers[k - gap];
            numbers[k] = v;
        }
    for (int i = 0; i < NUMBERS; i++)
        sum = sum * 31 + numbers[i];
    return sum;
}

static uint64_t doubles(void)
{
    double sum = 0;
    for (int i = 1; i < 100000; i++)
        sum += 1.0 / i * (i & 1 ? 1 : -1);
    return (uint64_t)(sum * 1e15);
}

__attribute__((used, noreturn)) void run(void)
{
    uint64_t sum = 0;
    for (int round = 0; round < 30; round++) {
        sum = sum * 33 + primes();
        sum = sum * 33 + crc();
        sum = sum * 33 + sort();
        sum = sum * 33 + doubles();
        sum = sum * 33 + fibonacci(22);
    }
    begin_signature[0] = sum;
    tohost = 1;
    for (;;) {
    }
}
