"""Elementary functions, correctly rounded to double: the reference for mathematics libraries.
Computed in decimal arithmetic with far more digits than a double has; a result halfway between two
doubles would need more, and these functions have none but the exact ones."""
import decimal
import math
from decimal import Decimal
from functools import lru_cache

DIGITS = 90
TINY = Decimal("1e-25")  # below it, two terms of the series are exact enough
LARGE = 1000             # exp of it exceeds a double
decimal.getcontext().Emax = decimal.MAX_EMAX
decimal.getcontext().Emin = decimal.MIN_EMIN
decimal.getcontext().prec = DIGITS


@lru_cache(None)
def pi(digits):
    """By Machin: 16 atan(1/5) - 4 atan(1/239)."""
    one = 10 ** (digits + 10)

    def inverse_tangent(n):
        term, total, k = one // n, one // n, 1
        while term:
            term //= -n * n
            k += 2
            total += term // k
        return total
    with decimal.localcontext() as context:
        context.prec = digits + 5
        return Decimal(16 * inverse_tangent(5) - 4 * inverse_tangent(239)) / one


def series(x, terms):
    """x + x^3 * terms[0] + x^5 * terms[1] ..., for a tiny x."""
    return x + sum(Decimal(a) / b * x ** (2 * i + 3) for i, (a, b) in enumerate(terms))


def exponential(x):
    return Decimal(0) if x < -LARGE else Decimal("Infinity") if x > LARGE else x.exp()


def expm1(x):
    return x + x * x / 2 + x ** 3 / 6 if abs(x) < TINY else exponential(x) - 1


def log1p(x):
    return x - x * x / 2 + x ** 3 / 3 if abs(x) < TINY else (1 + x).ln()


def sinh(x):
    if abs(x) < TINY:
        return series(x, [(1, 6)])
    return (exponential(x) - exponential(-x)) / 2


def cosh(x):
    return (exponential(x) + exponential(-x)) / 2


def tanh(x):
    if abs(x) < TINY:
        return series(x, [(-1, 3)])
    if abs(x) > LARGE:
        return Decimal(1).copy_sign(x)
    return 1 - 2 / ((2 * x).exp() + 1)


def asinh(x):
    if abs(x) < TINY:
        return series(x, [(-1, 6)])
    return (abs(x) + (x * x + 1).sqrt()).ln().copy_sign(x)


def acosh(x):
    return (x + ((x - 1) * (x + 1)).sqrt()).ln()


def atanh(x):
    return series(x, [(1, 3)]) if abs(x) < TINY else ((1 + x) / (1 - x)).ln() / 2


def atan(x):
    halvings = 12
    for _ in range(halvings):
        x = x / (1 + (1 + x * x).sqrt())
    total, power, k = x, x, 1
    while abs(power) > abs(x) * Decimal(10) ** -DIGITS:
        power *= -x * x
        k += 2
        total += power / k
        if not power:
            break
    return total * 2 ** halvings


def asin(x):
    if abs(x) == 1:
        return (pi(DIGITS) / 2).copy_sign(x)
    return atan(x / ((1 - x) * (1 + x)).sqrt())


def acos(x):
    return pi(DIGITS) if x == -1 else 2 * atan(((1 - x) / (1 + x)).sqrt())


def atan2(y, x):
    if x == 0:
        return (pi(DIGITS) / 2).copy_sign(y)
    if x > 0:
        return atan(y / x)
    return (pi(DIGITS) - atan(abs(y) / -x)).copy_sign(y)


def turned(x):
    """(quarters of a turn, the rest), with as many digits left as elsewhere."""
    digits = DIGITS + max(x.adjusted(), 0) + 30
    with decimal.localcontext() as context:
        context.prec = digits
        quarter = pi(digits) / 2
        count = (x / quarter).to_integral_value()
        rest = x - count * quarter
    return int(count) % 4, +rest


def sine_series(x, first, k):
    term = total = first
    while term and abs(term) > abs(total) * Decimal(10) ** -DIGITS:
        term *= -x * x / ((k + 1) * (k + 2))
        k += 2
        total += term
    return total


def sine(x, quarters=0):
    count, rest = turned(x)
    count = (count + quarters) % 4
    value = sine_series(rest, rest, 1) if count % 2 == 0 else sine_series(rest, Decimal(1), 0)
    return -value if count >= 2 else value


def power(x, y):
    """For finite numbers other than 0; an x below 0 only for integer y."""
    exponent = y * abs(x).ln()
    return exponential(exponent).copy_sign(x if x < 0 and y % 2 else Decimal(1))


FUNCTIONS = {
    "exp": exponential, "expm1": expm1, "log": lambda x: x.ln(), "log1p": log1p,
    "log2": lambda x: x.ln() / Decimal(2).ln(), "log10": lambda x: x.log10(),
    "sinh": sinh, "cosh": cosh, "tanh": tanh, "asinh": asinh, "acosh": acosh,
    "atanh": atanh, "sin": sine, "cos": lambda x: sine(x, 1),
    "tan": lambda x: sine(x) / sine(x, 1), "asin": asin, "acos": acos, "atan": atan,
    "atan2": atan2, "cbrt": lambda x: (abs(x).ln() / 3).exp().copy_sign(x),
    "sqrt": lambda x: x.sqrt(), "hypot": lambda x, y: (x * x + y * y).sqrt(), "pow": power,
}


def rounded(name, *values):
    """The double nearest to the function's value; arguments are finite and in its domain."""
    if not any(values) and name not in ("exp", "cos", "cosh", "acos"):
        return math.nan  # zeros have rules of their own
    return float(FUNCTIONS[name](*(Decimal(v) for v in values)))


def place(x):
    """A double's rank, an integer: neighbours differ by 1."""
    import struct
    bits = struct.unpack("<q", struct.pack("<d", x))[0]
    return bits if bits >= 0 else -(bits & 0x7fffffffffffffff)
