/* Floating point in integer arithmetic, compared with this computer's FPU: results and
 * flags, in the four rounding modes that it has. */
#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "vm/softfp.h"

#define ROUNDS 150000

static uint64_t state = 88172645463325252ull;

static uint64_t any(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double as_double(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static float as_single(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, sizeof f);
    return f;
}

static uint64_t of_double(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return isnan(d) ? 0x7ff8000000000000ull : bits;
}

static uint64_t of_single(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return isnan(f) ? 0x7fc00000u : bits;
}

/* A random pattern, mostly near an edge: of exponents, or of fractions. */
static uint64_t pattern(const struct fp_format *f)
{
    uint64_t fraction = any() & ((1ull << f->fraction_bits) - 1);
    unsigned most = (1u << f->exponent_bits) - 1, bias = most / 2;
    static const unsigned near = 30;
    uint64_t exponent = any() & most;
    switch (any() % 6) {
    case 0:
        exponent = any() % 3;
        break;
    case 1:
        exponent = most - any() % 3;
        break;
    case 2:
    case 3:
        exponent = bias - near + any() % (2 * near);
        break;
    }
    switch (any() % 5) {
    case 0:
        fraction = 0;
        break;
    case 1:
        fraction = ((1ull << f->fraction_bits) - 1) >> any() % (unsigned)f->fraction_bits;
        break;
    case 2:
        fraction = 1ull << any() % (unsigned)f->fraction_bits;
        break;
    }
    uint64_t sign = any() & 1;
    return (sign << f->exponent_bits | exponent) << f->fraction_bits | fraction;
}

static const struct {
    enum fp_rounding ours;
    int theirs;
} modes[] = {{FP_RNE, FE_TONEAREST},
             {FP_RTZ, FE_TOWARDZERO},
             {FP_RDN, FE_DOWNWARD},
             {FP_RUP, FE_UPWARD}};

static uint32_t raised(void)
{
    int e = fetestexcept(FE_ALL_EXCEPT);
    return (e & FE_INEXACT ? FP_NX : 0u) | (e & FE_UNDERFLOW ? FP_UF : 0u) |
           (e & FE_OVERFLOW ? FP_OF : 0u) | (e & FE_DIVBYZERO ? FP_DZ : 0u) |
           (e & FE_INVALID ? FP_NV : 0u);
}

/* Other processors detect tininess before rounding. */
#ifdef __x86_64__
#define COMPARED UINT32_MAX
#else
#define COMPARED (~(uint32_t)FP_UF)
#endif

static unsigned wrong;

static void tell(const char *what, enum fp_rounding r, const uint64_t *of, uint64_t got,
                 uint32_t flags, uint64_t want, uint32_t want_flags)
{
    if (got == want && (flags & COMPARED) == (want_flags & COMPARED))
        return;
    if (wrong++ < 10)
        print_error("%s, mode %d, of %#jx %#jx %#jx: %#jx with %#x, not %#jx with %#x\n",
                    what, (int)r, (uintmax_t)of[0], (uintmax_t)of[1], (uintmax_t)of[2],
                    (uintmax_t)got, flags, (uintmax_t)want, want_flags);
}

/* Compares softfp and the FPU in this mode. */
#define SAME(what, as_bits, soft, fpu)                               \
    do {                                                             \
        uint32_t flags = 0;                                          \
        uint64_t got = (soft);                                       \
        fesetround(modes[m].theirs);                                 \
        feclearexcept(FE_ALL_EXCEPT);                                \
        r = (fpu);                                                   \
        uint32_t want = raised();                                    \
        fesetround(FE_TONEAREST);                                    \
        tell(what, modes[m].ours, of, got, flags, as_bits(r), want); \
    } while (0)

/* inf * 0 + NaN raises no flag on x86; the standard leaves that open, and RISC-V raises
 * NV. */
static bool is_open(double a, double b, double c)
{
    return isnan(c) && ((isinf(a) && b == 0) || (a == 0 && isinf(b)));
}

/* The tests of one format's arithmetic. */
#define OF_FORMAT(name, format, real, as_real, of_real, root, fused)                     \
    static void name(void **unused)                                                      \
    {                                                                                    \
        (void)unused;                                                                    \
        const struct fp_format *f = &(format);                                           \
        wrong = 0;                                                                       \
        for (unsigned i = 0; i < ROUNDS; i++) {                                          \
            unsigned m = i % 4;                                                          \
            enum fp_rounding mode = modes[m].ours;                                       \
            const uint64_t of[3] = {pattern(f), pattern(f), pattern(f)};                 \
            volatile real a = as_real(of[0]), b = as_real(of[1]), c = as_real(of[2]), r; \
            SAME("add", of_real, fp_add(f, of[0], of[1], mode, &flags), a + b);          \
            SAME("sub", of_real, fp_sub(f, of[0], of[1], mode, &flags), a - b);          \
            SAME("mul", of_real, fp_mul(f, of[0], of[1], mode, &flags), a * b);          \
            SAME("div", of_real, fp_div(f, of[0], of[1], mode, &flags), a / b);          \
            SAME("sqrt", of_real, fp_sqrt(f, of[0], mode, &flags), root(a));             \
            if (!is_open(a, b, c))                                                       \
                SAME("fma", of_real, fp_fma(f, of[0], of[1], of[2], mode, &flags),       \
                     fused(a, b, c));                                                    \
            volatile int64_t whole = (int64_t)any() >> any() % 64;                       \
            SAME("from integer", of_real,                                                \
                 fp_from_int(f, (uint64_t)whole, true, mode, &flags), (real)whole);      \
        }                                                                                \
        assert_int_equal(wrong, 0);                                                      \
    }

OF_FORMAT(doubles_are_those_of_the_fpu, fp_double, double, as_double, of_double, sqrt,
          fma)
OF_FORMAT(singles_are_those_of_the_fpu, fp_single, float, as_single, of_single, sqrtf,
          fmaf)

static void conversions_are_those_of_the_fpu(void **unused)
{
    (void)unused;
    wrong = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned m = i % 4;
        enum fp_rounding mode = modes[m].ours;
        const uint64_t of[3] = {pattern(&fp_double), pattern(&fp_single), 0};
        volatile double wide = as_double(of[0]);
        volatile float narrow = as_single(of[1]);
        {
            volatile float r;
            SAME("to single", of_single,
                 fp_convert(&fp_single, &fp_double, of[0], mode, &flags), (float)wide);
        }
        {
            volatile double r;
            SAME("to double", of_double,
                 fp_convert(&fp_double, &fp_single, of[1], mode, &flags), (double)narrow);
        }
    }
    assert_int_equal(wrong, 0);
}

/* By a pointer: compilers' inline code rounds negative numbers the other way. */
static double (*volatile round_by_mode)(double) = rint;

/* The FPU's result of a rounded value; outside of [least, most] and for NaN the nearer
 * end, NaN being above all, and NV alone. */
static void check_to_int(uint64_t bits, unsigned m, int width, bool is_signed,
                         double least, double above)
{
    const uint64_t of[3] = {bits};
    uint32_t flags = 0, want_flags = 0;
    uint64_t got = fp_to_int(&fp_double, bits, width, is_signed, modes[m].ours, &flags);
    volatile double a = as_double(bits);
    fesetround(modes[m].theirs);
    double whole = round_by_mode(a);
    fesetround(FE_TONEAREST);
    uint64_t all = width == 64 ? UINT64_MAX : UINT32_MAX,
             most = is_signed ? all / 2 : all;
    uint64_t want;
    if (isnan(a) || whole >= above)
        want = most;
    else if (whole < least)
        want = is_signed ? 0 - most - 1 : 0;
    else
        want = whole < 0 ? (uint64_t)(int64_t)whole : (uint64_t)whole;
    if (isnan(a) || whole >= above || whole < least)
        want_flags = FP_NV;
    else if (whole != a)
        want_flags = FP_NX;
    tell("to integer", modes[m].ours, of, got, flags, want, want_flags);
}

static void integers_are_rounded_and_bounded(void **unused)
{
    (void)unused;
    wrong = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t bits = pattern(&fp_double);
        check_to_int(bits, i % 4, 64, true, -0x1p63, 0x1p63);
        check_to_int(bits, i % 4, 64, false, 0, 0x1p64);
        check_to_int(bits, i % 4, 32, true, -0x1p31, 0x1p31);
        check_to_int(bits, i % 4, 32, false, 0, 0x1p32);
    }
    assert_int_equal(wrong, 0);
}

/* The mode that the FPU lacks: halves are rounded away from 0. */
static void halves_go_away_from_zero_in_the_fifth_mode(void **unused)
{
    (void)unused;
    static const struct {
        double of;
        int64_t gives;
    } cases[] = {{0.5, 1}, {-0.5, -1}, {1.5, 2}, {2.5, 3}, {-2.5, -3}, {2.4999, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t flags = 0;
        uint64_t got =
            fp_to_int(&fp_double, of_double(cases[i].of), 64, true, FP_RMM, &flags);
        assert_int_equal((int64_t)got, cases[i].gives);
        assert_int_equal(flags, FP_NX);
    }
    /* 1 + 2^-53 lies half way between 1 and what follows it. */
    uint32_t flags = 0;
    assert_int_equal(fp_add(&fp_double, of_double(1), of_double(0x1p-53), FP_RMM, &flags),
                     of_double(1 + 0x1p-52));
    assert_int_equal(fp_add(&fp_double, of_double(1), of_double(0x1p-53), FP_RNE, &flags),
                     of_double(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_are_those_of_the_fpu),
        cmocka_unit_test(singles_are_those_of_the_fpu),
        cmocka_unit_test(conversions_are_those_of_the_fpu),
        cmocka_unit_test(integers_are_rounded_and_bounded),
        cmocka_unit_test(halves_go_away_from_zero_in_the_fifth_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
