/* Functions of <math.h> that musl has with errors of up to two units in the last place, with
 * little more than half of one. (Those of the others' are below one.)
 *
 * All take musl's logarithm of pow(), which is a sum of two doubles with an error of
 * 2^-68 of it: exp(x) is corrected by what its logarithm differs from x, and inverse
 * functions are logarithms of a sum of two doubles. Sums and products are those of Knuth and
 * Dekker, without fused operations, which Wasm has not. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define atan2 atan2_of_musl
#include "atan2.c"
#undef atan2
#include "pow.c"

/* hi + lo, where lo is no larger than what hi rounds away. */
struct pair {
    double hi, lo;
};

static const struct pair ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
static const struct pair per_ln10 = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
static const struct pair half_turn = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};

#define SMALL 0x1p-28 /* a function that begins with x is x here */
#define LARGE 0x1p28  /* x * x + 1 is x * x here */

static struct pair sum(double a, double b)
{
    double s = a + b, from_b = s - a;
    return (struct pair){s, (a - (s - from_b)) + (b - from_b)};
}

/* Of numbers that neither overflow nor underflow. */
static struct pair product(double a, double b)
{
    double p = a * b, c = 0x1p27 + 1;
    double ah = c * a - (c * a - a), al = a - ah;
    double bh = c * b - (c * b - b), bl = b - bh;
    return (struct pair){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static struct pair plus(struct pair a, double b)
{
    struct pair s = sum(a.hi, b);
    return sum(s.hi, s.lo + a.lo);
}

static struct pair quotient(struct pair a, struct pair b)
{
    double q = a.hi / b.hi;
    struct pair p = product(q, b.hi);
    return (struct pair){q, ((a.hi - p.hi) - p.lo + a.lo - q * b.lo) / b.hi};
}

static struct pair root(struct pair a)
{
    double r = sqrt(a.hi);
    struct pair p = product(r, r);
    return (struct pair){r, ((a.hi - p.hi) - p.lo + a.lo) / (2 * r)};
}

/* Of a normal number above 0. */
static struct pair log_of(struct pair a)
{
    struct pair l;
    l.hi = log_inline(asuint64(a.hi), &l.lo);
    l.lo += a.lo / a.hi;
    return l;
}

/* Of x from 0 to where it overflows. */
static struct pair exp_of(double x)
{
    struct pair e = {exp(x), 0}, l = log_of(e);
    e.lo = e.hi * ((x - l.hi) - l.lo);
    return e;
}

/* (exp(x) + sign * exp(-x)) / 2, for x of at least 0. */
static double mean(double x, double sign)
{
    if (x > 709) {
        struct pair h = exp_of(x / 2);
        return x > 711 ? 0x1p1023 * 2 * x : 0.5 * h.hi * h.hi + h.hi * h.lo;
    }
    struct pair e = exp_of(x), i = {0};
    if (x < 40)
        i = quotient((struct pair){1, 0}, e);
    struct pair s = sum(e.hi, sign * i.hi);
    return 0.5 * (s.hi + (s.lo + (e.lo + sign * i.lo)));
}

double cosh(double x)
{
    return isnan(x) ? x : mean(fabs(x), 1);
}

/* That of musl 1.2.2 calls a function that musl 1.2.5, in zig, has with other arguments. */
float coshf(float x)
{
    return (float)cosh(x);
}

double sinh(double x)
{
    double a = fabs(x), q = a * a;
    if (a < SMALL || isnan(x))
        return x;
    if (a < 0.25)
        return x +
               x * (q * (1.0 / 6 +
                         q * (1.0 / 120 +
                              q * (1.0 / 5040 +
                                   q * (1.0 / 362880 + q * (1.0 / 39916800 +
                                                            q * (1.0 / 6227020800 +
                                                                 q / 1307674368000)))))));
    return copysign(mean(a, -1), x);
}

double tanh(double x)
{
    double a = fabs(x), q = a * a;
    if (a < SMALL || isnan(x))
        return x;
    if (a < 0.0625)
        return x + x * (q * (-1.0 / 3 +
                             q * (2.0 / 15 +
                                  q * (-17.0 / 315 +
                                       q * (62.0 / 2835 +
                                            q * (-1382.0 / 155925 +
                                                 q * (21844.0 / 6081075 -
                                                      q * (929569.0 / 638512875))))))));
    if (a > 22)
        return copysign(1, x);
    struct pair e = exp_of(2 * a), t = quotient(plus(e, -1), plus(e, 1));
    return copysign(t.hi + t.lo, x);
}

/* log(a + root), for a of at least SMALL. */
static double log_of_sum(double a, struct pair r)
{
    struct pair s = sum(r.hi, a);
    s.lo += r.lo;
    struct pair l = log_of(s);
    return l.hi + l.lo;
}

static double log_of_twice(double a)
{
    struct pair l = log_of((struct pair){a, 0}), s = sum(l.hi, ln2.hi);
    return s.hi + (s.lo + (l.lo + ln2.lo));
}

double asinh(double x)
{
    double a = fabs(x);
    if (a < SMALL || !isfinite(x))
        return x;
    return copysign(
        a > LARGE ? log_of_twice(a) : log_of_sum(a, root(plus(product(a, a), 1))), x);
}

double acosh(double x)
{
    if (!(x > 1) || isinf(x))
        return x < 1 ? (x - x) / 0.0 : x == 1 ? 0 : x;
    return x > LARGE ? log_of_twice(x) : log_of_sum(x, root(plus(product(x, x), -1)));
}

double atanh(double x)
{
    double a = fabs(x);
    if (a < SMALL || isnan(x))
        return x;
    if (a >= 1)
        return a == 1 ? x / 0.0 : (x - x) / 0.0;
    struct pair l = log_of(quotient(sum(1, a), sum(1, -a)));
    return copysign(0.5 * (l.hi + l.lo), x);
}

double log10(double x)
{
    if (!(x > 0) || isinf(x))
        return x == 0 ? -1 / 0.0 : x < 0 ? (x - x) / 0.0 : x;
    bool is_small = x < 0x1p-1000;
    struct pair l = log_of((struct pair){is_small ? x * 0x1p100 : x, 0});
    if (is_small) { /* 100 * ln2.hi is exact in two */
        struct pair p = product(100, ln2.hi), s = sum(l.hi, -p.hi);
        l = sum(s.hi, s.lo + (l.lo - p.lo - 100 * ln2.lo));
    }
    struct pair p = product(l.hi, per_ln10.hi);
    return p.hi + (p.lo + (l.hi * per_ln10.lo + l.lo * per_ln10.hi));
}

double atan2(double y, double x)
{
    int n;
    double b = frexp(fabs(x), &n), a = fabs(y), q = a / fabs(x);
    /* Zeros, infinities, NaN; and where the result is a quarter, a half or the quotient. */
    if (!(q > 0x1p-60 && q < 0x1p60))
        return atan2_of_musl(y, x);
    a = scalbn(a, -n);
    struct pair p = product(q, b);
    double z = atan(q), lo = ((a - p.hi) - p.lo) / b / (1 + q * q);
    if (!signbit(x))
        return copysign(z + lo, y);
    struct pair s = sum(half_turn.hi, -z);
    return copysign(s.hi + (s.lo + (half_turn.lo - lo)), y);
}
