/* guest/vm/fast.h - arithmetic of the executor's fast path, inline.
 *
 * Floating point: Wasm's instructions round to nearest and report no flags. They are used
 * where that does not matter: the mode is RNE, NX is set already (programs set it with
 * their first inexact result and seldom clear it), and the result is so far from
 * overflow, underflow and NaN that no other flag can be raised. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define likely(x) __builtin_expect(!!(x), 1)

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- integers ----------------------------------------------------------------- */

static inline uint64_t sign_8(uint64_t v)
{
    return (uint64_t)(int64_t)(int8_t)v;
}

static inline uint64_t sign_16(uint64_t v)
{
    return (uint64_t)(int64_t)(int16_t)v;
}

static inline uint64_t sign_32(uint64_t v)
{
    return (uint64_t)(int64_t)(int32_t)v;
}

/* By halves: Wasm has no wider product, and would call a function. */
static inline uint64_t high_unsigned(uint64_t a, uint64_t b)
{
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t middle = ah * bl + (al * bl >> 32);
    uint64_t other = al * bh + (uint32_t)middle;
    return ah * bh + (middle >> 32) + (other >> 32);
}

static inline uint64_t high_mixed(uint64_t a, uint64_t b)
{
    return high_unsigned(a, b) - ((int64_t)a < 0 ? b : 0);
}

static inline uint64_t high_signed(uint64_t a, uint64_t b)
{
    return high_mixed(a, b) - ((int64_t)b < 0 ? a : 0);
}

static inline uint64_t quotient(uint64_t a, uint64_t b)
{
    if (!b)
        return UINT64_MAX;
    if (b == UINT64_MAX) /* also for the least number */
        return 0 - a;
    return (uint64_t)((int64_t)a / (int64_t)b);
}

static inline uint64_t remainder_of(uint64_t a, uint64_t b)
{
    if (!b)
        return a;
    if (b == UINT64_MAX)
        return 0;
    return (uint64_t)((int64_t)a % (int64_t)b);
}

static inline uint64_t quotient_w(uint32_t a, uint32_t b)
{
    if (!b)
        return UINT64_MAX;
    if (b == UINT32_MAX)
        return sign_32(0 - a);
    return sign_32((uint32_t)((int32_t)a / (int32_t)b));
}

static inline uint64_t quotient_uw(uint32_t a, uint32_t b)
{
    return b ? sign_32(a / b) : UINT64_MAX;
}

static inline uint64_t remainder_w(uint32_t a, uint32_t b)
{
    if (!b)
        return sign_32(a);
    if (b == UINT32_MAX)
        return 0;
    return sign_32((uint32_t)((int32_t)a % (int32_t)b));
}

static inline uint64_t remainder_uw(uint32_t a, uint32_t b)
{
    return sign_32(b ? a % b : a);
}

/* ---- floating point ------------------------------------------------------------- */

static inline double as_double(uint64_t bits)
{
    double d;
    __builtin_memcpy(&d, &bits, 8);
    return d;
}

static inline float as_single(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float f;
    __builtin_memcpy(&f, &low, 4);
    return f;
}

static inline uint64_t of_double(double d)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &d, 8);
    return bits;
}

static inline uint64_t boxed(uint64_t v)
{
    return 0xffffffff00000000ull | v;
}

static inline bool are_boxed(uint64_t a, uint64_t b)
{
    return (a & b) >> 32 == UINT32_MAX;
}

static inline uint64_t with_sign(uint64_t magnitude, uint64_t sign)
{
    return (magnitude & INT64_MAX) | (sign & 1ull << 63);
}

/* Of the imm of F2: RNE, or dynamic, which is RNE where this is used. */
static inline bool is_nearest(int32_t imm)
{
    return !(((uint32_t)imm + (1u << 16)) >> 17 & 3);
}

/* Finite, and above the least normal number: no flag but NX is raised. */
static inline bool quick_d(double result, uint64_t *out)
{
    *out = of_double(result);
    return (*out >> 52 & 0x7ff) - 2 < 0x7fd;
}

static inline bool quick_s(float result, uint64_t *out)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &result, 4);
    *out = boxed(bits);
    return (bits >> 23 & 0xff) - 2 < 0xfd;
}

/* Truncates a value in range. */
static inline bool to_int_32(double a, uint64_t *out)
{
    if (!(a > -2147483649.0 && a < 2147483648.0))
        return false;
    *out = (uint64_t)(int64_t)(int32_t)a;
    return true;
}

static inline bool to_int_64(double a, uint64_t *out)
{
    if (!(a >= -9223372036854775808.0 && a < 9223372036854775808.0))
        return false;
    *out = (uint64_t)(int64_t)a;
    return true;
}
