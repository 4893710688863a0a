"""Every floating-point instruction over tables of operands, in every rounding mode.

One instruction is run over a whole table (three registers of f, one of x, the flags set before),
and leaves a checksum of results and flags in the signature: one number an instruction.
"""
import itertools
import random
import struct
from pathlib import Path

import riscv as rv
from streams import BOX, DOUBLES, EDGES, SINGLES, float_bits

TOHOST, BARE, CODE, TABLE, OUT = 0x80000400, 0x80000408, 0x80001000, 0x80200000, 0x80f00000
ROW = 5 * 8


def instructions():
    """(name, encoding, frm, whether the result is an x register): f4 or x11 is the result, of f1,
    f2, f3 or x10."""
    made = []
    for form, (rm, frm) in itertools.product("sd", [*((n, 0) for n in range(5)),
                                                    *((7, n) for n in range(5))]):
        tail = f".{form} rm={rm} frm={frm}"
        for name, funct5 in rv.F_ROUNDING.items():
            made.append((name + tail, rv.fp(funct5, form, 4, 1, 2, rm), frm, False))
        made.append(("fsqrt" + tail, rv.fp(11, form, 4, 1, 0, rm), frm, False))
        for name in rv.F_FUSED:
            made.append((name + tail, rv.fused(name, form, 4, 1, 2, 3, rm), frm, False))
        for n, kind in enumerate(rv.INTEGERS):
            made.append((f"fcvt.{kind}" + tail, rv.fp(24, form, 11, 1, n, rm), frm, True))
            made.append((f"fcvt to{tail} from {kind}", rv.fp(26, form, 4, 10, n, rm), frm, False))
        made.append((f"fcvt to{tail}", rv.fp(8, form, 4, 1, form == "s", rm), frm, False))
    for form in "sd":
        for name, (funct5, rm) in rv.F_FIXED.items():
            to_x = funct5 == 20
            made.append((f"{name}.{form}", rv.fp(funct5, form, 11 if to_x else 4, 1, 2, rm), 0,
                         to_x))
        made.append((f"fclass.{form}", rv.fp(28, form, 11, 1, 0, 1), 0, True))
        made.append((f"fmv.x.{form}", rv.fp(28, form, 11, 1, 0, 0), 0, True))
        made.append((f"fmv.{form}.x", rv.fp(30, form, 4, 10, 0, 0), 0, False))
    return made


def operands(count, seed):
    """All pairs of edge values, of both formats, then `count` random rows."""
    rng = random.Random(seed)
    singles = [BOX | v | sign << 31 for v in SINGLES for sign in (0, 1)]
    doubles = [v | sign << 63 for v in DOUBLES for sign in (0, 1)]
    rows = []
    for edges in (singles, doubles):
        rows += [(a, b, rng.choice(edges)) for a, b in itertools.product(edges, edges)]
    for _ in range(count):
        a, b, c = (float_bits(rng) for _ in range(3))
        if rng.random() < 0.2:  # a sum that nearly vanishes
            c = a ^ 1 << 63 if rng.random() < 0.5 else BOX | a ^ 1 << 31
            b = 0x3ff << 52 if rng.random() < 0.5 else BOX | 0x3f800000
        rows.append((a, b, c))
    return [(*row, rng.choice([rng.choice(EDGES), rng.getrandbits(64) >> rng.randrange(64)]),
             rng.choice([0, 1, 1, 31])) for row in rows]


def one(encoding, frm, gives_x, count):
    made = rv.load_address(5, TABLE) + rv.load_constant(6, count)
    made += rv.code(rv.i("addi", 7, 0, 0), rv.csr("csrrwi", 0, rv.FRM, frm))
    loop = rv.code(rv.i("fld", 1, 5, 0), rv.i("fld", 2, 5, 8), rv.i("fld", 3, 5, 16),
                   rv.i("ld", 10, 5, 24), rv.i("ld", 12, 5, 32),
                   rv.csr("csrrw", 0, rv.FFLAGS, 12), encoding)
    if not gives_x:
        loop += rv.code(rv.fp(28, "d", 11, 4, 0, 0))
    loop += rv.code(rv.csr("csrrs", 12, rv.FFLAGS, 0))
    for register in (11, 12):
        loop += rv.code(rv.r("xor", 7, 7, register), rv.r("mul", 7, 7, 9),
                        rv.shift("srli", 13, 7, 29), rv.r("xor", 7, 7, 13))
    loop += rv.code(rv.i("addi", 5, 5, ROW), rv.i("addi", 6, 6, -1))
    return made + loop + rv.code(rv.branch("bne", 6, 0, -len(loop)), rv.store("sd", 7, 8, 0),
                                 rv.i("addi", 8, 8, 8))


def write(path, tried, rows, bare):
    body = rv.load_constant(9, 0x9e3779b97f4a7c15) + rv.load_address(8, OUT)
    body += b"".join(one(encoding, frm, gives_x, len(rows)) for _, encoding, frm, gives_x in tried)
    ends = rv.load_address(5, TOHOST) + rv.code(rv.i("addi", 6, 0, 1), rv.store("sd", 6, 5, 0),
                                                rv.jal(0, 0))
    body += rv.load_address(5, BARE) + rv.code(rv.i("ld", 6, 5, 0),
                                               rv.branch("beq", 6, 0, 4 + len(ends))) + ends
    body += rv.code(rv.i("addi", 10, 0, 1)) + rv.load_address(11, OUT)
    body += rv.load_constant(12, 8 * len(tried)) + rv.code(
        rv.i("addi", 17, 0, 64), rv.ECALL, rv.i("addi", 10, 0, 0), rv.i("addi", 17, 0, 93),
        rv.ECALL)
    table = b"".join(struct.pack("<5Q", *row) for row in rows)
    assert CODE + len(body) <= TABLE and TABLE + len(table) <= OUT
    end = OUT + 8 * len(tried)
    Path(path).write_bytes(rv.elf(CODE, [
        (TOHOST, struct.pack("<QQ", 0, bare), 16), (CODE, body, len(body)),
        (TABLE, table, len(table)), (OUT, b"", end - OUT)],
        {"tohost": TOHOST, "begin_signature": OUT, "end_signature": end}))
    Path(path).chmod(0o755)
