/* strtod, which QuickJS calls for each number of a JSON text.
 *
 * The C library's computes in long double, which Wasm has not: 128 bits, in
 * software. Numbers of up to 15 digits and a small power of ten are exact in double
 * arithmetic (Clinger, 1990); for the others QuickJS itself has a reader. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "dtoa.h"

#define EXACT_DIGITS 15
#define EXACT_POWER 22

static const double powers[EXACT_POWER + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Digits into the value; `*count` counts those from the first that is not 0. */
static const char *read_digits(const char *p, uint64_t *value, int *count)
{
    for (; *p >= '0' && *p <= '9'; p++) {
        if (*count < EXACT_DIGITS + 1)
            *value = *value * 10 + (uint64_t)(*p - '0');
        *count += *count > 0 || *p != '0';
    }
    return p;
}

static const char *read_exponent(const char *p, int *exponent)
{
    if (*p != 'e' && *p != 'E')
        return p;
    bool negative = p[1] == '-';
    const char *q = p + 1 + (p[1] == '-' || p[1] == '+');
    if (*q < '0' || *q > '9')
        return p;
    int n = 0;
    for (; *q >= '0' && *q <= '9'; q++)
        n = n < 10000 ? n * 10 + (*q - '0') : n;
    *exponent += negative ? -n : n;
    return q;
}

double strtod(const char *restrict text, char **restrict end)
{
    uint64_t value = 0;
    int count = 0, exponent = 0;
    bool negative = *text == '-';
    const char *p = text + (negative || *text == '+'), *digits = p;
    p = read_digits(p, &value, &count);
    bool simple = p > digits;
    if (*p == '.') {
        const char *fraction = p + 1;
        p = read_digits(fraction, &value, &count);
        exponent -= (int)(p - fraction);
    }
    p = read_exponent(p, &exponent);
    if (simple && count <= EXACT_DIGITS && exponent >= -EXACT_POWER &&
        exponent <= EXACT_POWER) {
        double d = (double)value;
        d = exponent < 0 ? d / powers[-exponent] : d * powers[exponent];
        if (end)
            *end = (char *)(uintptr_t)p;
        return negative ? -d : d;
    }
    JSATODTempMem memory;
    const char *next;
    double d = js_atod(text, &next, 10, 0, &memory);
    if (end)
        *end = (char *)(uintptr_t)next;
    return d;
}
