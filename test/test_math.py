"""All of Math over a grid of hard values, against correctly rounded results (elementary.py): no
further than one unit in the last place.

CLOCHE_MATH=N draws so many values for each function, besides the known ones.
"""
import math
import os
import random
import struct

import elementary
import pytest
from wire import call, structured

BATCH = 5000  # evaluated at a time
CASES = int(os.environ.get("CLOCHE_MATH", 1200))


def near(*values, steps=3):
    """The values and their neighbours."""
    for v in values:
        up = down = v
        yield v
        for _ in range(steps):
            up, down = math.nextafter(up, math.inf), math.nextafter(down, -math.inf)
            yield up
            yield down


def anywhere(chance):
    """Of any size, subnormal ones too."""
    while True:
        x = struct.unpack("<d", chance.randbytes(8))[0]
        if math.isfinite(x) and x:
            yield x


def of_sizes(chance, low, high):
    """Of either sign, with a logarithm to base 2 that is spread evenly between the two."""
    while True:
        yield math.copysign(2.0 ** chance.uniform(low, high), chance.random() - 0.5)


def drawn(*sources, n):
    for _ in range(n):
        for source in sources:
            yield next(source)


# Where implementations change their ways, and results their kind.
BOUNDS = [5e-324, 1e-320, 2.0 ** -1022, 2.0 ** -1000, 2.0 ** -60, 2.0 ** -28, 2.0 ** -27,
          2.0 ** -26, 1e-8, 2.0 ** -14, 2.0 ** -8, 0.125, 0.25, 0.35, 0.5, math.log(2) / 2,
          0.7, 0.75, math.pi / 4, 0.9, 1 - 2.0 ** -20, 1.0, 1 + 2.0 ** -20, math.log(2) * 3 / 2,
          math.sqrt(2), 1.5, math.pi / 2, 2.0, math.e, 3.0, math.pi, 7.0, 10.0, 20.0, 22.0,
          36.7, 40.0, 100.0, 700.0, 708.39, 709.78271289338397, 710.4758600739439, 745.13,
          1e5, 2.0 ** 20 * math.pi, 1e10, 2.0 ** 26, 2.0 ** 28, 2.0 ** 53, 1e22, 2.0 ** 60,
          2.0 ** 511.5, 1e200, 6381956970095103.0 * 2.0 ** 797, 1.7976931348623157e308]
DOMAIN = {
    "log": lambda x: x > 0, "log2": lambda x: x > 0, "log10": lambda x: x > 0,
    "sqrt": lambda x: x > 0, "log1p": lambda x: x > -1, "acosh": lambda x: x >= 1,
    "asin": lambda x: abs(x) <= 1, "acos": lambda x: abs(x) <= 1, "atanh": lambda x: abs(x) < 1,
}
# Where most of the digits are lost on the way.
INTERVALS = {
    "exp": (-30, 9.5), "expm1": (-30, 9.5), "sinh": (-30, 9.5), "cosh": (-30, 9.5),
    "tanh": (-30, 5), "log": (-3, 3), "log2": (-3, 3), "log10": (-8, 8), "log1p": (-60, 3),
    "asinh": (-30, 30), "acosh": (0, 30), "atanh": (-30, 0), "sin": (-30, 60), "cos": (-30, 60),
    "tan": (-30, 60), "asin": (-30, 0), "acos": (-30, 0), "atan": (-30, 60), "cbrt": (-9, 9),
    "sqrt": (-9, 9),
}
# Where musl's functions, and those made of them, are two units off.
TWO_OFF = {
    "sinh": "-0x1.e28a91de0e8b2p-2 -0x1.e28a91de0e83fp-2 -0x1.e28a9546c5f6ep-2",
    "tanh": "0x1.bfa26c7595ceep-3 0x1.bfa26c7595d13p-3 0x1.b94bc96a5b10ap-3 0x1.bfa26c7598bccp-3",
    "asinh": "0x1.f135aa8004a26p-3 0x1.f135aa8004d35p-3",
    "acosh": "0x1.07732efeee1b7p+0 0x1.07732eff089d8p+0 0x1.07732efae2744p+0 0x1.0764e1edc3888p+0",
    "atanh": "0x1.e1d18c469655fp-3",
    "atan2": "0x1.a959e2ab5ce29p-6,0x1.a80c557719084p-4 0x1.a959e2ab3254ap-6,0x1.a81f513a7ff7fp-4",
}


def arguments(name):
    chance = random.Random(name)
    inside = DOMAIN.get(name, lambda x: True)
    bounds = [x for b in BOUNDS for x in near(b, -b) if x and math.isfinite(x)]
    whole = [float(n) for n in range(-30, 400)] + [10.0 ** n for n in range(-300, 300, 7)]
    powers = [2.0 ** n for n in range(-1074, 1024, 9)]
    sizes = of_sizes(chance, *INTERVALS[name])
    any_size = anywhere(chance)
    ones = (1 + x for x in of_sizes(chance, -52, -1))
    rest = drawn(sizes, any_size, ones, n=5 * CASES)
    given = [x for x in bounds + whole + powers if x and inside(x)]
    return [(x,) for x in given] + [(x,) for x in rest if inside(x)][:CASES]


def pairs(name):
    chance = random.Random(name)
    sizes, any_size = of_sizes(chance, -30, 30), anywhere(chance)
    some = [x for x in BOUNDS if 1e-300 < x < 1e300]
    given = [(a, s * b) for a in some for b in some for s in (1, -1)]
    both = list(drawn(sizes, any_size, n=2 * CASES))
    drawn_pairs = list(zip(both[::2], both[1::2])) + list(zip(both[::4], both[2::4]))
    # x to the y is a double for these y alone.
    drawn_pairs += [(abs(x), chance.uniform(-1080, 1030) / (math.log2(abs(x)) or 1))
                    for x in drawn(sizes, any_size, (1 + x for x in of_sizes(chance, -40, -1)),
                                   n=CASES)]
    if name == "pow":
        return [(abs(a), b) for a, b in given + drawn_pairs] + \
            [(float(a), float(b)) for a in range(-12, 13) for b in range(-40, 41) if a and b]
    return given + drawn_pairs


CODE = """
const wide = new Float64Array(1), bits = new BigInt64Array(wide.buffer);
const f = Math[name];
return rows.map((row) => { wide[0] = f(...row); return String(bits[0]); });
"""


def answers(evaluate, name, rows):
    answer = []
    for i in range(0, len(rows), BATCH):
        answer += evaluate(CODE, {"name": name, "rows": rows[i:i + BATCH]})
    return [struct.unpack("<d", struct.pack("<q", int(text)))[0] for text in answer]


@pytest.fixture
def evaluate(stdio):
    def run(code, context):
        answer = structured(stdio.ask(call("evaluate_note_code", {
            "code": code, "context": context, "timeout": 20000})))
        assert answer["success"], answer
        return answer["result"]
    return run


@pytest.mark.parametrize("name", sorted(elementary.FUNCTIONS))
def test_it_is_the_nearest_double_or_a_neighbour_of_it(evaluate, name):
    rows = pairs(name) if name in ("atan2", "hypot", "pow") else arguments(name)
    rows += [tuple(map(float.fromhex, row.split(",")))
             for row in TWO_OFF.get(name, "").split()]
    far = []
    for row, got in zip(rows, answers(evaluate, name, rows)):
        want = elementary.rounded(name, *row)
        if abs(elementary.place(got) - elementary.place(want)) > 1 or math.isnan(got):
            far.append((row, got, want))
    assert not far, f"{len(far)} of {len(rows)}: {far[:5]}"


def test_constants_are_what_functions_answer(evaluate):
    assert evaluate("""return [
        Math.exp(1) === Math.E, Math.log(Math.E) === 1, Math.log(2) === Math.LN2,
        Math.log(10) === Math.LN10, Math.log2(Math.E) === Math.LOG2E,
        Math.log10(Math.E) === Math.LOG10E, Math.sqrt(2) === Math.SQRT2,
        Math.acos(-1) === Math.PI, Math.atan2(0, -1) === Math.PI, Math.asin(1) === Math.PI / 2,
    ]""", {}) == [True] * 10


def test_exact_results_are_exact(evaluate):
    assert evaluate("""
        const wrong = [];
        const same = (what, got, want) => { if (!Object.is(got, want)) wrong.push([what, got]); };
        for (let n = -307; n <= 308; n++) same(`log10(1e${n})`, Math.log10(Number(`1e${n}`)), n);
        for (let n = -1074; n <= 1023; n++) same(`log2(2 ** ${n})`, Math.log2(2 ** n), n);
        for (let n = -200; n <= 200; n++) same(`cbrt(${n} ** 3)`, Math.cbrt(n ** 3), n);
        for (let n = 0; n <= 22; n++) same(`10 ** ${n}`, Math.pow(10, n), Number(`1e${n}`));
        for (let a = 3; a < 200; a += 2)
          same(`hypot(${a})`, Math.hypot(a, (a * a - 1) / 2), (a * a + 1) / 2);
        return wrong""", {}) == []


def test_outside_of_the_domain_there_is_no_number(evaluate):
    assert evaluate("""
        const wrong = [];
        const none = {acosh: [0, -0, 0.5, -1, -2, -117104.44, -1e300, -Infinity, 1 - 2 ** -53],
          log: [-1, -5e-324, -Infinity], log2: [-1, -5e-324, -Infinity],
          log10: [-1, -5e-324, -1e-300, -Infinity], log1p: [-1.5, -Infinity, -1 - 2 ** -52],
          atanh: [1.5, -1.5, 1 + 2 ** -52, Infinity, -Infinity], sqrt: [-1, -5e-324, -Infinity],
          asin: [1.5, -1 - 2 ** -52, Infinity], acos: [1.5, -1 - 2 ** -52, -Infinity],
          sin: [Infinity, -Infinity], cos: [Infinity, -Infinity], tan: [Infinity, -Infinity]};
        for (const [name, row] of Object.entries(none))
          for (const x of [...row, NaN, undefined, 'x', {}])
            if (!Number.isNaN(Math[name](x))) wrong.push([name, x, Math[name](x)]);
        return wrong""", {}) == []
