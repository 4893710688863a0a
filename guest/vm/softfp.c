/* Floating point in integer arithmetic. A number is unpacked into a sign, an exponent and
 * a significand whose leading bit is bit 63; an operation makes one of up to 128 bits,
 * lower bits folded into its last bit (sticky); fp_round() packs it. */
#include "vm/softfp.h"

typedef unsigned __int128 wide;

const struct fp_format fp_single = {8, 23}, fp_double = {11, 52};

enum kind { ZERO, FINITE, INFINITE, QUIET, SIGNALING };

/* The value of a FINITE one is significand * 2^(exponent - 63): 1.xxx * 2^exponent. */
struct parts {
    enum kind kind;
    bool negative;
    int exponent;
    uint64_t significand;
};

/* ---- patterns --------------------------------------------------------------- */

static int bias(const struct fp_format *f)
{
    return (1 << (f->exponent_bits - 1)) - 1;
}

static uint64_t sign_bit(const struct fp_format *f, bool negative)
{
    return (uint64_t)negative << (f->exponent_bits + f->fraction_bits);
}

static uint64_t infinity(const struct fp_format *f, bool negative)
{
    return sign_bit(f, negative) | ((1ull << f->exponent_bits) - 1) << f->fraction_bits;
}

static uint64_t largest(const struct fp_format *f, bool negative)
{
    return infinity(f, negative) - 1;
}

static uint64_t canonical_nan(const struct fp_format *f)
{
    return infinity(f, false) | 1ull << (f->fraction_bits - 1);
}

static uint64_t invalid(const struct fp_format *f, uint32_t *flags)
{
    *flags |= FP_NV;
    return canonical_nan(f);
}

static bool is_nan(struct parts p)
{
    return p.kind >= QUIET;
}

static struct parts take_apart(const struct fp_format *f, uint64_t a)
{
    uint64_t fraction = a & ((1ull << f->fraction_bits) - 1);
    int exponent = (int)(a >> f->fraction_bits) & ((1 << f->exponent_bits) - 1);
    struct parts p = {.negative = a >> (f->exponent_bits + f->fraction_bits) & 1};
    if (exponent == (1 << f->exponent_bits) - 1) {
        bool quiet = fraction >> (f->fraction_bits - 1);
        p.kind = !fraction ? INFINITE : quiet ? QUIET : SIGNALING;
    } else if (exponent) {
        p.kind = FINITE;
        p.exponent = exponent - bias(f);
        p.significand = 1ull << 63 | fraction << (63 - f->fraction_bits);
    } else if (fraction) {
        int up = __builtin_clzll(fraction);
        p.kind = FINITE;
        p.exponent = 1 - bias(f) - (up - (63 - f->fraction_bits));
        p.significand = fraction << up;
    }
    return p;
}

/* ---- rounding ------------------------------------------------------------------ */

/* Whether the magnitude is rounded up; `odd` is its last kept bit, `behind` has the
 * dropped bits (1 in the highest place alone is one half). */
static bool rounds_up(enum fp_rounding r, bool negative, bool odd, uint64_t behind)
{
    const uint64_t half = 1ull << 63;
    switch (r) {
    case FP_RNE:
        return behind > half || (behind == half && odd);
    case FP_RMM:
        return behind >= half;
    case FP_RDN:
        return negative && behind;
    case FP_RUP:
        return !negative && behind;
    case FP_RTZ:
        break;
    }
    return false;
}

/* Shifts right by `n` places; a one that falls out sets the last bit. */
static wide shift_sticky(wide v, int n)
{
    if (n <= 0)
        return v;
    if (n >= 128)
        return v != 0;
    return v >> n | ((v << (128 - n)) != 0);
}

static uint64_t overflow(const struct fp_format *f, bool negative, enum fp_rounding r,
                         uint32_t *flags)
{
    *flags |= FP_OF | FP_NX;
    bool away = r == FP_RNE || r == FP_RMM || r == (negative ? FP_RDN : FP_RUP);
    return away ? infinity(f, negative) : largest(f, negative);
}

/* The pattern of v * 2^(exponent - 127), v's highest bit set: v is 1.xxx. */
static uint64_t round_normal(const struct fp_format *f, bool negative, int exponent,
                             wide v, enum fp_rounding r, uint32_t *flags)
{
    int least = 1 - bias(f), drop = 127 - f->fraction_bits;
    bool tiny = exponent < least;
    if (tiny) {
        /* After rounding: whether it is still tiny at full precision. */
        uint64_t kept = (uint64_t)(v >> drop);
        uint64_t behind =
            (uint64_t)(v << (128 - drop) >> 64) | ((uint64_t)(v << (128 - drop)) != 0);
        bool up = rounds_up(r, negative, kept & 1, behind);
        bool carries = up && kept == (2ull << f->fraction_bits) - 1;
        tiny = !(carries && exponent == least - 1);
        v = shift_sticky(v, least - exponent);
        exponent = least;
    }
    uint64_t kept = (uint64_t)(v >> drop);
    uint64_t behind =
        (uint64_t)(v << (128 - drop) >> 64) | ((uint64_t)(v << (128 - drop)) != 0);
    if (behind)
        *flags |= FP_NX | (tiny ? FP_UF : 0u);
    kept += rounds_up(r, negative, kept & 1, behind);
    /* The leading bit adds one to the exponent's field, as does a carry out of it. */
    uint64_t field = (uint64_t)(exponent - least);
    uint64_t pattern = (field << f->fraction_bits) + kept;
    if (pattern >= infinity(f, false))
        return overflow(f, negative, r, flags);
    return sign_bit(f, negative) | pattern;
}

/* The same for any v but 0. */
static uint64_t fp_round(const struct fp_format *f, bool negative, int exponent, wide v,
                         enum fp_rounding r, uint32_t *flags)
{
    uint64_t high = (uint64_t)(v >> 64);
    int up = high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)v);
    return round_normal(f, negative, exponent - up, v << up, r, flags);
}

/* ---- sums ------------------------------------------------------------------------ */

static uint64_t nan_of(const struct fp_format *f, struct parts a, struct parts b,
                       uint32_t *flags)
{
    if (a.kind == SIGNALING || b.kind == SIGNALING)
        *flags |= FP_NV;
    return canonical_nan(f);
}

static uint64_t zero_sum(const struct fp_format *f, bool a, bool b, enum fp_rounding r)
{
    return sign_bit(f, a == b ? a : r == FP_RDN);
}

/* (-1)^an * av * 2^(ae - 127) + (-1)^bn * bv * 2^(be - 127): neither is 0, each below 2^127,
 * so that the sum fits. */
static uint64_t sum(const struct fp_format *f, bool an, int ae, wide av, bool bn, int be,
                    wide bv, enum fp_rounding r, uint32_t *flags)
{
    if (ae < be || (ae == be && av < bv)) {
        bool n = an;
        int e = ae;
        wide v = av;
        an = bn, ae = be, av = bv;
        bn = n, be = e, bv = v;
    }
    bv = shift_sticky(bv, ae - be);
    /* The shifted one may be the greater: their exponents were only bounds. */
    bool swapped = an != bn && av < bv;
    wide v = an == bn ? av + bv : swapped ? bv - av : av - bv;
    if (!v)
        return zero_sum(f, an, bn, r);
    return fp_round(f, swapped ? bn : an, ae, v, r, flags);
}

static uint64_t add_parts(const struct fp_format *f, struct parts a, struct parts b,
                          enum fp_rounding r, uint32_t *flags)
{
    if (is_nan(a) || is_nan(b))
        return nan_of(f, a, b, flags);
    if (a.kind == INFINITE)
        return b.kind == INFINITE && a.negative != b.negative ? invalid(f, flags)
                                                              : infinity(f, a.negative);
    if (b.kind == INFINITE)
        return infinity(f, b.negative);
    if (a.kind == ZERO && b.kind == ZERO)
        return zero_sum(f, a.negative, b.negative, r);
    if (a.kind == ZERO || b.kind == ZERO) {
        struct parts p = a.kind == ZERO ? b : a;
        return fp_round(f, p.negative, p.exponent, (wide)p.significand << 64, r, flags);
    }
    return sum(f, a.negative, a.exponent + 1, (wide)a.significand << 63, b.negative,
               b.exponent + 1, (wide)b.significand << 63, r, flags);
}

uint64_t fp_add(const struct fp_format *f, uint64_t a, uint64_t b, enum fp_rounding r,
                uint32_t *flags)
{
    return add_parts(f, take_apart(f, a), take_apart(f, b), r, flags);
}

uint64_t fp_sub(const struct fp_format *f, uint64_t a, uint64_t b, enum fp_rounding r,
                uint32_t *flags)
{
    struct parts taken = take_apart(f, b);
    taken.negative = !taken.negative;
    return add_parts(f, take_apart(f, a), taken, r, flags);
}

/* ---- products ---------------------------------------------------------------------- */

uint64_t fp_mul(const struct fp_format *f, uint64_t x, uint64_t y, enum fp_rounding r,
                uint32_t *flags)
{
    struct parts a = take_apart(f, x), b = take_apart(f, y);
    bool negative = a.negative != b.negative;
    if (is_nan(a) || is_nan(b))
        return nan_of(f, a, b, flags);
    if (a.kind == INFINITE || b.kind == INFINITE)
        return a.kind == ZERO || b.kind == ZERO ? invalid(f, flags)
                                                : infinity(f, negative);
    if (a.kind == ZERO || b.kind == ZERO)
        return sign_bit(f, negative);
    return fp_round(f, negative, a.exponent + b.exponent + 1,
                    (wide)a.significand * b.significand, r, flags);
}

uint64_t fp_fma(const struct fp_format *f, uint64_t x, uint64_t y, uint64_t z,
                enum fp_rounding r, uint32_t *flags)
{
    struct parts a = take_apart(f, x), b = take_apart(f, y), c = take_apart(f, z);
    bool negative = a.negative != b.negative;
    bool impossible =
        (a.kind == INFINITE && b.kind == ZERO) || (a.kind == ZERO && b.kind == INFINITE);
    if (impossible)
        return invalid(f, flags);
    if (is_nan(a) || is_nan(b) || is_nan(c)) {
        (void)nan_of(f, a, b, flags);
        return nan_of(f, c, c, flags);
    }
    if (a.kind == INFINITE || b.kind == INFINITE)
        return c.kind == INFINITE && c.negative != negative ? invalid(f, flags)
                                                            : infinity(f, negative);
    if (c.kind == INFINITE)
        return infinity(f, c.negative);
    if (a.kind == ZERO || b.kind == ZERO)
        return c.kind == ZERO ? zero_sum(f, negative, c.negative, r)
                              : fp_round(f, c.negative, c.exponent,
                                         (wide)c.significand << 64, r, flags);
    /* A product has at most 106 significant bits at the top of 128: one place down loses
     * nothing and leaves room for a carry. */
    wide product = (wide)a.significand * b.significand;
    int exponent = a.exponent + b.exponent + 1;
    if (c.kind == ZERO)
        return fp_round(f, negative, exponent, product, r, flags);
    return sum(f, negative, exponent + 1, product >> 1, c.negative, c.exponent + 1,
               (wide)c.significand << 63, r, flags);
}

/* ---- quotients and roots ----------------------------------------------------------- */

uint64_t fp_div(const struct fp_format *f, uint64_t x, uint64_t y, enum fp_rounding r,
                uint32_t *flags)
{
    struct parts a = take_apart(f, x), b = take_apart(f, y);
    bool negative = a.negative != b.negative;
    if (is_nan(a) || is_nan(b))
        return nan_of(f, a, b, flags);
    if (a.kind == INFINITE)
        return b.kind == INFINITE ? invalid(f, flags) : infinity(f, negative);
    if (b.kind == INFINITE)
        return sign_bit(f, negative);
    if (b.kind == ZERO) {
        if (a.kind == ZERO)
            return invalid(f, flags);
        *flags |= FP_DZ;
        return infinity(f, negative);
    }
    if (a.kind == ZERO)
        return sign_bit(f, negative);
    /* 64 bits of quotient, one at a time: there is no 128-bit division. */
    wide rest = a.significand;
    uint64_t quotient = 0;
    for (int i = 0; i < 64; i++) {
        quotient <<= 1;
        if (rest >= b.significand) {
            rest -= b.significand;
            quotient |= 1;
        }
        rest <<= 1;
    }
    return fp_round(f, negative, a.exponent - b.exponent,
                    (wide)quotient << 64 | (rest != 0), r, flags);
}

uint64_t fp_sqrt(const struct fp_format *f, uint64_t x, enum fp_rounding r,
                 uint32_t *flags)
{
    struct parts a = take_apart(f, x);
    if (is_nan(a))
        return nan_of(f, a, a, flags);
    if (a.kind == ZERO)
        return x;
    if (a.negative)
        return invalid(f, flags);
    if (a.kind == INFINITE)
        return x;
    /* The root of m * 2^e with e even and m from 1 up to 4: 62 bits, each from two bits
     * of m. */
    bool odd = a.exponent & 1;
    uint64_t m = a.significand >> (odd ? 0 : 1);
    wide rest = 0;
    uint64_t root = 0;
    for (int i = 0; i < 62; i++) {
        rest = rest << 2 | (i < 32 ? m >> (62 - 2 * i) & 3 : 0);
        wide trial = (wide)root << 2 | 1;
        root <<= 1;
        if (rest >= trial) {
            rest -= trial;
            root |= 1;
        }
    }
    return fp_round(f, false, (a.exponent - odd) / 2 + 2, (wide)root << 64 | (rest != 0),
                    r, flags);
}

/* ---- order ------------------------------------------------------------------------- */

static bool is_below(struct parts a, struct parts b, uint64_t x, uint64_t y)
{
    if (a.kind == ZERO && b.kind == ZERO)
        return false;
    if (a.negative != b.negative)
        return a.negative;
    return a.negative ? x > y : x < y;
}

/* minimumNumber where `least`, else maximumNumber. */
static uint64_t extreme(const struct fp_format *f, uint64_t x, uint64_t y, bool least,
                        uint32_t *flags)
{
    struct parts a = take_apart(f, x), b = take_apart(f, y);
    if (a.kind == SIGNALING || b.kind == SIGNALING)
        *flags |= FP_NV;
    if (is_nan(a))
        return is_nan(b) ? canonical_nan(f) : y;
    if (is_nan(b))
        return x;
    if (a.kind == ZERO && b.kind == ZERO)
        return a.negative == least ? x : y;
    return is_below(a, b, x, y) == least ? x : y;
}

uint64_t fp_min(const struct fp_format *f, uint64_t a, uint64_t b, uint32_t *flags)
{
    return extreme(f, a, b, true, flags);
}

uint64_t fp_max(const struct fp_format *f, uint64_t a, uint64_t b, uint32_t *flags)
{
    return extreme(f, a, b, false, flags);
}

bool fp_eq(const struct fp_format *f, uint64_t x, uint64_t y, uint32_t *flags)
{
    struct parts a = take_apart(f, x), b = take_apart(f, y);
    if (is_nan(a) || is_nan(b)) {
        (void)nan_of(f, a, b, flags);
        return false;
    }
    return x == y || (a.kind == ZERO && b.kind == ZERO);
}

bool fp_lt(const struct fp_format *f, uint64_t x, uint64_t y, uint32_t *flags)
{
    struct parts a = take_apart(f, x), b = take_apart(f, y);
    if (is_nan(a) || is_nan(b)) {
        *flags |= FP_NV;
        return false;
    }
    return is_below(a, b, x, y);
}

bool fp_le(const struct fp_format *f, uint64_t x, uint64_t y, uint32_t *flags)
{
    struct parts a = take_apart(f, x), b = take_apart(f, y);
    if (is_nan(a) || is_nan(b)) {
        *flags |= FP_NV;
        return false;
    }
    return !is_below(b, a, y, x);
}

uint32_t fp_class(const struct fp_format *f, uint64_t x)
{
    struct parts a = take_apart(f, x);
    switch (a.kind) {
    case QUIET:
        return 1u << 9;
    case SIGNALING:
        return 1u << 8;
    case INFINITE:
        return a.negative ? 1u << 0 : 1u << 7;
    case ZERO:
        return a.negative ? 1u << 3 : 1u << 4;
    case FINITE:
        break;
    }
    bool normal = a.exponent >= 1 - bias(f);
    return a.negative ? (normal ? 1u << 1 : 1u << 2) : (normal ? 1u << 6 : 1u << 5);
}

/* ---- other numbers ----------------------------------------------------------------- */

uint64_t fp_convert(const struct fp_format *to, const struct fp_format *from, uint64_t x,
                    enum fp_rounding r, uint32_t *flags)
{
    struct parts a = take_apart(from, x);
    if (is_nan(a))
        return nan_of(to, a, a, flags);
    if (a.kind == INFINITE)
        return infinity(to, a.negative);
    if (a.kind == ZERO)
        return sign_bit(to, a.negative);
    return fp_round(to, a.negative, a.exponent, (wide)a.significand << 64, r, flags);
}

uint64_t fp_to_int(const struct fp_format *f, uint64_t x, int bits, bool is_signed,
                   enum fp_rounding r, uint32_t *flags)
{
    struct parts a = take_apart(f, x);
    uint64_t all = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    uint64_t most = is_signed ? all >> 1 : all;
    uint64_t least = is_signed ? most + 1 : 0; /* its magnitude */
    bool negative = a.negative && !is_nan(a);
    uint64_t end = negative ? 0 - least : most;
    if (a.kind == ZERO)
        return 0;
    if (a.kind != FINITE || a.exponent > 63) {
        *flags |= FP_NV;
        return end;
    }
    /* 64 bits before the point, 64 after it. */
    wide v = a.exponent >= -1 ? (wide)a.significand << (a.exponent + 1)
                              : shift_sticky(a.significand, -1 - a.exponent);
    uint64_t whole = (uint64_t)(v >> 64), behind = (uint64_t)v;
    bool up = rounds_up(r, negative, whole & 1, behind);
    if ((up && whole == UINT64_MAX) || whole + up > (negative ? least : most)) {
        *flags |= FP_NV;
        return end;
    }
    if (behind)
        *flags |= FP_NX;
    whole += up;
    return negative ? 0 - whole : whole;
}

uint64_t fp_from_int(const struct fp_format *f, uint64_t x, bool is_signed,
                     enum fp_rounding r, uint32_t *flags)
{
    bool negative = is_signed && x >> 63;
    uint64_t magnitude = negative ? 0 - x : x;
    if (!magnitude)
        return 0;
    return fp_round(f, negative, 63, (wide)magnitude << 64, r, flags);
}
