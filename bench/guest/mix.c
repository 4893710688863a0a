/* An integer mix for the Linux machine: sorting, hashing, searching, dividing, copying, calls.
 * Prints how many instructions it took and how many nanoseconds, by the machine's counters. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { COUNT = 1 << 14, TEXT = 1 << 16 };

static uint32_t numbers[COUNT], seed = 1;
static unsigned char text[TEXT];

static uint32_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    return seed ^= seed << 5;
}

static void sort(uint32_t *a, long low, long high)
{
    while (low < high) {
        uint32_t middle = a[(low + high) / 2];
        long i = low, j = high;
        while (i <= j) {
            while (a[i] < middle)
                i++;
            while (a[j] > middle)
                j--;
            if (i > j)
                break;
            uint32_t t = a[i];
            a[i++] = a[j];
            a[j--] = t;
        }
        sort(a, low, j);
        low = i;
    }
}

static uint32_t crc(const unsigned char *at, size_t n)
{
    uint32_t sum = ~0u;
    while (n--) {
        sum ^= *at++;
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (0xedb88320u & -(sum & 1));
    }
    return ~sum;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    return b ? gcd(b, a % b) : a;
}

static unsigned sieve(unsigned char *composite, unsigned n)
{
    unsigned primes = 0;
    memset(composite, 0, n);
    for (unsigned i = 2; i < n; i++) {
        if (composite[i])
            continue;
        primes++;
        for (unsigned long j = (unsigned long)i * i; j < n; j += i)
            composite[j] = 1;
    }
    return primes;
}

static uint64_t once(void)
{
    for (int i = 0; i < COUNT; i++)
        numbers[i] = next();
    sort(numbers, 0, COUNT - 1);
    uint64_t sum = sieve(text, TEXT);
    for (int i = 1; i < COUNT; i++)
        sum += gcd(numbers[i], numbers[i - 1] | 1) * (numbers[i] % 1000);
    for (int i = 0; i < TEXT; i++)
        text[i] = (unsigned char)next();
    for (int i = 0; i < 16; i++)
        memmove(text + i, text + TEXT / 2 - i * 3, TEXT / 2 - 100);
    return sum * 31 + crc(text, TEXT);
}

static uint64_t instructions(void)
{
    uint64_t n;
    __asm__ volatile("rdinstret %0" : "=r"(n));
    return n;
}

int main(void)
{
    struct timespec from, to;
    uint64_t sum = once();
    clock_gettime(CLOCK_MONOTONIC, &from);
    uint64_t begun = instructions();
    for (int i = 0; i < 20; i++)
        sum = sum * 33 + once();
    uint64_t n = instructions() - begun;
    clock_gettime(CLOCK_MONOTONIC, &to);
    int64_t ns = (to.tv_sec - from.tv_sec) * 1000000000ll + to.tv_nsec - from.tv_nsec;
    printf("%llu %lld %016llx\n", (unsigned long long)n, (long long)ns, (unsigned long long)sum);
    return 0;
}
