"""Random streams of instructions, the same for every emulator that runs them.

A stream is a row of units: an instruction, or a few that belong together (an address and its
use). Units jump forwards only, over others; the whole row is run a few times. A stream has
registers of its own beginning and 8 KiB of memory of its own, and leaves a record: all
registers, fcsr and a sum over its memory.

It can be run as a user's program of Linux as well as bare: the record is the signature, which
ends in a call of `write`, or in a write of `tohost`, by the word `BARE`.
"""
import random
import struct
from pathlib import Path

import riscv as rv

TEXT, DATA, TABLE, OUT = 0x80000000, 0x84000000, 0x86000000, 0x87000000
TOHOST, BARE = TEXT + 0x1000, TEXT + 0x1008
CODE = TEXT + 0x2000
PAGE = 8192          # a stream's memory; its base stands in the middle
RECORD = (32 + 32 + 2) * 8
ROUNDS = 8
# Registers that streams leave alone: what memory is reached by, and what counts.
SP, OUT_AT, SCRATCH, BASE, COUNT = 2, 3, 4, 8, 31
KEPT = {SP, OUT_AT, BASE, COUNT}
FREE = [n for n in range(32) if n not in KEPT]
SHORT = [n for n in range(9, 16)]  # those that RVC names in three bits, without BASE

EDGES = [0, 1, 2, 0x7f, 0x80, 0x7fff, 0x8000, 0x7fffffff, 0x80000000, 0xffffffff,
         0x100000000, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]
SINGLES = [0, 1, 0x7fffff, 0x800000, 0x800001, 0x3f800000, 0x3f7fffff, 0x40000000, 0x7f7fffff,
           0x7f800000, 0x7fc00000, 0x7f800001, 0x7fffffff, 0x33800000, 0x4b000001, 0x4f000000,
           0x5f000000, 0x3effffff, 0x3f000000, 0x4effffff, 0x34000000, 0x0c000000]
DOUBLES = [0, 1, 2**52 - 1, 2**52, 2**52 + 1, 0x3ff << 52, (0x3ff << 52) - 1, 0x400 << 52,
           0x7fefffffffffffff, 0x7ff << 52, 0x7ff8 << 48, 0x7ff0000000000001, 2**63 - 1,
           0x3ca << 52, 0x433 << 52 | 1, 0x41e << 52, 0x43e << 52, 0x3fdfffffffffffff,
           0x3fe << 52, 0x380 << 52, 0x47efffffe0000000, 0x36a0000000000000, 0x47f << 52]
BOX = 0xffffffff << 32

MIXES = {  # how often each kind of unit comes
    "integer": {"register": 8, "immediate": 8, "shift": 5, "upper": 2, "memory": 6,
                "branch": 4, "jump": 1, "far": 1, "misc": 1},
    "compressed": {"short": 20, "register": 3, "memory": 2, "branch": 2, "immediate": 2},
    "atomic": {"atomic": 10, "register": 4, "immediate": 4, "memory": 3, "branch": 2},
    "floating": {"float": 14, "fused": 4, "convert": 8, "float_memory": 5, "float_state": 3,
                 "immediate": 2, "register": 2, "branch": 1},
    "all": {"register": 4, "immediate": 4, "shift": 2, "upper": 1, "memory": 3, "branch": 3,
            "jump": 1, "far": 1, "misc": 1, "short": 8, "atomic": 2, "float": 4, "fused": 1,
            "convert": 2, "float_memory": 2, "float_state": 1},
}


def float_bits(rng):
    """A register of f: mostly something that is near an edge, sometimes not well boxed."""
    kind = rng.random()
    if kind < 0.3:
        return BOX | rng.choice(SINGLES) | rng.getrandbits(1) << 31
    if kind < 0.6:
        return rng.choice(DOUBLES) | rng.getrandbits(1) << 63
    if kind < 0.75:
        return BOX | rng.getrandbits(1) << 31 | rng.randrange(120, 136) << 23 | rng.getrandbits(23)
    if kind < 0.9:
        return rng.getrandbits(1) << 63 | rng.randrange(1010, 1040) << 52 | rng.getrandbits(52)
    return rng.getrandbits(64)


def word(rng):
    kind = rng.random()
    if kind < 0.4:
        return rng.choice(EDGES)
    return rng.getrandbits(64) >> rng.randrange(64)


def imm12(rng):
    return rng.choice([-2048, -1, 0, 1, 2047]) if rng.random() < 0.2 else \
        rng.randrange(-2048, 2048)


class Units:
    """Makes units of one stream. Each method returns bytes, or a jump for place() to end."""

    def __init__(self, rng):
        self.rng = rng
        self.any = lambda: rng.randrange(32)

    def free(self):
        return self.rng.choice(FREE)

    def mode(self):
        return self.rng.choice([0, 1, 2, 3, 4, 7, 7, 7])

    def register(self):
        return rv.r(self.rng.choice(list(rv.R)), self.free(), self.any(), self.any())

    def immediate(self):
        return rv.i(self.rng.choice(list(rv.I)), self.free(), self.any(), imm12(self.rng))

    def shift(self):
        name = self.rng.choice(list(rv.SHIFT))
        return rv.shift(name, self.free(), self.any(), self.rng.randrange(rv.SHIFT[name][3]))

    def upper(self):
        make = self.rng.choice([rv.lui, rv.auipc])
        return make(self.free(), self.rng.getrandbits(32))

    def offset(self):
        """From BASE; what crosses the page's end is among them."""
        return self.rng.randrange(-8, 8) if self.rng.random() < 0.1 else imm12(self.rng)

    def memory(self):
        if self.rng.random() < 0.55:
            name = self.rng.choice(["lb", "lh", "lw", "ld", "lbu", "lhu", "lwu"])
            return rv.i(name, self.free(), BASE, self.offset())
        return rv.store(self.rng.choice(["sb", "sh", "sw", "sd"]), self.any(), BASE,
                        self.offset())

    def float_memory(self):
        if self.rng.random() < 0.6:
            return rv.i(self.rng.choice(["flw", "fld"]), self.any(), BASE, self.offset())
        return rv.store(self.rng.choice(["fsw", "fsd"]), self.any(), BASE, self.offset())

    def masked(self, bits):
        """Puts an address of some register's choice into SCRATCH."""
        return rv.code(rv.i("andi", SCRATCH, self.any(), bits),
                       rv.r("add", SCRATCH, SCRATCH, BASE))

    def far(self):
        if self.rng.random() < 0.5:
            use = rv.i(self.rng.choice(["ld", "lw", "lhu", "lb"]), self.free(), SCRATCH,
                       self.rng.randrange(-64, 64))
        else:
            use = rv.store(self.rng.choice(["sd", "sw", "sh", "sb"]), self.any(), SCRATCH,
                           self.rng.randrange(-64, 64))
        return self.masked(0x3ff) + rv.code(use)

    def atomic(self):
        width, order = self.rng.choice([4, 8]), self.rng.getrandbits(2)
        at = self.masked(0x3f8 if width == 8 else 0x3fc)
        if self.rng.random() < 0.25:  # what lies between is not memory's, as the manual asks
            between = rv.code(self.immediate()) if self.rng.random() < 0.5 else b""
            loaded = self.rng.choice([n for n in FREE if n != SCRATCH])
            between = between if rv.mask(int.from_bytes(between[:4], "little") >> 7, 5) \
                != SCRATCH else b""
            return at + rv.code(rv.amo("lr", width, loaded, SCRATCH, 0, order)) + between + \
                rv.code(rv.amo("sc", width, self.free(), SCRATCH, self.any(), order))
        name = self.rng.choice([n for n in rv.AMO if n not in ("lr", "sc")])
        return at + rv.code(rv.amo(name, width, self.free(), SCRATCH, self.any(), order))

    def branch(self):
        name = self.rng.choice(list(rv.BRANCH))
        rs1, rs2 = self.any(), self.any()
        return 4, lambda offset: rv.branch(name, rs1, rs2, offset)

    def jump(self):
        rd, low = self.free(), self.rng.getrandbits(1)
        which = self.rng.randrange(3)
        if which == 0:
            return 4, lambda offset: rv.jal(rd, offset)
        if which == 1:  # the lowest bit does not count
            return 8, lambda offset: rv.code(rv.auipc(SCRATCH, 0),
                                             rv.jalr(rd, SCRATCH, offset | low))
        make = self.rng.choice([rv.c_jr, rv.c_jalr])
        return 10, lambda offset: rv.code(rv.auipc(SCRATCH, 0),
                                          rv.i("addi", SCRATCH, SCRATCH, offset | low),
                                          make(SCRATCH))

    def misc(self):
        return self.rng.choice([rv.FENCE, rv.FENCE_I, rv.C_NOP, rv.i("addi", 0, 0, 5),
                                rv.csr("csrrs", self.free(), rv.FCSR, 0)])

    def short(self):
        rng, low = self.rng, self.rng.choice(SHORT)
        other = rng.randrange(8, 16)
        free = rng.choice([n for n in FREE if n])
        six = rng.randrange(-32, 32)
        makers = [
            lambda: rv.c_addi4spn(low, rng.randrange(1, 256) * 4),
            lambda: rv.c_load_store(2, low, BASE, rng.randrange(32) * 4, 4),
            lambda: rv.c_load_store(3, low, BASE, rng.randrange(32) * 8, 8),
            lambda: rv.c_load_store(6, other, BASE, rng.randrange(32) * 4, 4),
            lambda: rv.c_load_store(7, other, BASE, rng.randrange(32) * 8, 8),
            lambda: rv.c_load_store(1, other, BASE, rng.randrange(32) * 8, 8),
            lambda: rv.c_load_store(5, other, BASE, rng.randrange(32) * 8, 8),
            lambda: rv.c_immediate(0, self.free(), six),
            lambda: rv.c_immediate(1, free, six),
            lambda: rv.c_immediate(2, self.free(), six),
            lambda: rv.c_immediate(3, self.free(), six or 1),
            lambda: rv.c_shift_and(0, low, rng.randrange(64)),
            lambda: rv.c_shift_and(1, low, rng.randrange(64)),
            lambda: rv.c_shift_and(2, low, six),
            lambda: rv.c_arithmetic(rng.randrange(6), low, other),
            lambda: rv.c_slli(self.free(), rng.randrange(64)),
            lambda: rv.c_from_sp(2, free, rng.randrange(64) * 4, 4),
            lambda: rv.c_from_sp(3, free, rng.randrange(64) * 8, 8),
            lambda: rv.c_from_sp(1, self.any(), rng.randrange(64) * 8, 8),
            lambda: rv.c_to_sp(6, self.any(), rng.randrange(64) * 4, 4),
            lambda: rv.c_to_sp(7, self.any(), rng.randrange(64) * 8, 8),
            lambda: rv.c_to_sp(5, self.any(), rng.randrange(64) * 8, 8),
            lambda: rv.c_mv(self.free(), rng.randrange(1, 32)),
            lambda: rv.c_add(self.free(), rng.randrange(1, 32)),
            lambda: (2, rv.c_j),
            lambda: (2, lambda offset: rv.c_branch(False, other, offset)),
            lambda: (2, lambda offset: rv.c_branch(True, other, offset)),
            # There and back: SP is what it was.
            lambda: rv.code(rv.c_addi16sp(six * 16 or 16), rv.c_mv(free, SP),
                            rv.c_addi16sp(-six * 16 or -16)) if six != -32 else rv.C_NOP,
        ]
        return rng.choice(makers)()

    def float(self):
        rng, form = self.rng, self.rng.choice("sd")
        if rng.random() < 0.6:
            name = rng.choice([*rv.F_ROUNDING, "fsqrt"])
            rs2 = 0 if name == "fsqrt" else self.any()
            return rv.fp(rv.F_ROUNDING.get(name, 11), form, self.any(), self.any(), rs2,
                         self.mode())
        name = rng.choice(list(rv.F_FIXED))
        funct5, rm = rv.F_FIXED[name]
        rd = self.free() if funct5 == 20 else self.any()
        return rv.fp(funct5, form, rd, self.any(), self.any(), rm)

    def fused(self):
        return rv.fused(self.rng.choice(list(rv.F_FUSED)), self.rng.choice("sd"), self.any(),
                        self.any(), self.any(), self.any(), self.mode())

    def convert(self):
        rng, form = self.rng, self.rng.choice("sd")
        which = rng.randrange(6)
        if which == 0:
            return rv.fp(24, form, self.free(), self.any(), rng.randrange(4), self.mode())
        if which == 1:
            return rv.fp(26, form, self.any(), self.any(), rng.randrange(4), self.mode())
        if which == 2:
            return rv.fp(8, form, self.any(), self.any(), form == "s", self.mode())
        if which == 3:
            return rv.fp(28, form, self.free(), self.any(), 0, rng.getrandbits(1))
        return rv.fp(30, form, self.any(), self.any(), 0, 0)

    def float_state(self):
        rng = self.rng
        which = rng.randrange(4)
        if which == 0:
            return rv.csr(rng.choice(["csrrwi", "csrrsi", "csrrci"]), self.free(), rv.FFLAGS,
                          rng.randrange(32))
        if which == 1:
            return rv.csr("csrrwi", self.free(), rv.FRM, rng.randrange(5))
        if which == 2:
            return rv.csr("csrrs", self.free(), rng.choice([rv.FFLAGS, rv.FRM, rv.FCSR]), 0)
        return rv.csr("csrrw", self.free(), rv.FFLAGS, self.any())


def make_units(seed, mix, count):
    rng = random.Random(seed)
    units, kinds, weights = Units(rng), list(MIXES[mix]), list(MIXES[mix].values())
    made = []
    for kind in rng.choices(kinds, weights, k=count):
        unit = getattr(units, kind)()
        made.append((unit, rng.randrange(1, 6)) if isinstance(unit, tuple) else
                    rv.code(unit) if isinstance(unit, int) else unit)
    return made


def place(units):
    """The row's bytes: jumps go to the beginning of a unit that comes later, or its end."""
    sizes = [u[0][0] if isinstance(u, tuple) else len(u) for u in units]
    out = []
    for n, unit in enumerate(units):
        if isinstance(unit, tuple):
            (_, make), over = unit
            unit = rv.code(make(sum(sizes[n:n + over + 1])))
        out.append(unit)
    return b"".join(out)


def table(rng):
    """A stream's registers at its beginning: 32 of x, 32 of f, fcsr."""
    x = [word(rng) for _ in range(32)]
    f = [float_bits(rng) for _ in range(32)]
    return x, f, rng.randrange(5) << 5 | rng.choice([0, 1, 31])


class Program:
    """Streams in one file. `begins` has each one's address."""

    def __init__(self, streams, seed):
        """`streams`: rows of units, each with the seed of its beginning."""
        self.begins, self.tables, self.n = [], b"", len(streams)
        rng = random.Random(seed)
        body, pool = self.head(), b"".join(struct.pack("<Q", rng.choice(
            [float_bits, word])(rng)) for _ in range(4 * PAGE // 8))
        data = []
        for k, (units, start) in enumerate(streams):
            body += self.stream(k, place(units), CODE + len(body))
            rng = random.Random(start)
            x, f, fcsr = table(rng)
            base = DATA + k * PAGE + PAGE // 2
            x[SP], x[BASE], x[COUNT] = base - 1024, base, ROUNDS
            self.tables += struct.pack("<65Q", *x, *f, fcsr)
            at = rng.randrange(0, 3 * PAGE, 8)
            data.append(pool[at:at + PAGE])
        body += self.tail()
        self.body, self.data = body, b"".join(data)

    def head(self):
        """_start jumps over two routines: `begin` (table in SCRATCH, back by x1), and `end`
        (back by SCRATCH)."""
        begin = b"".join(rv.code(rv.i("fld", n, SCRATCH, (32 + n) * 8)) for n in range(32))
        begin += rv.code(rv.i("ld", 5, SCRATCH, 64 * 8), rv.csr("csrrw", 0, rv.FCSR, 5))
        begin += b"".join(rv.code(rv.i("ld", n, SCRATCH, n * 8)) for n in range(5, 32))
        begin += rv.code(rv.i("ld", SP, SCRATCH, SP * 8),
                         rv.i("ld", SCRATCH, SCRATCH, SCRATCH * 8), rv.jalr(0, 1, 0))
        end = b"".join(rv.code(rv.store("sd", n, OUT_AT, n * 8))
                       for n in range(32) if n not in (OUT_AT, SCRATCH))
        end += b"".join(rv.code(rv.store("fsd", n, OUT_AT, (32 + n) * 8)) for n in range(32))
        end += rv.code(rv.csr("csrrs", 5, rv.FCSR, 0), rv.store("sd", 5, OUT_AT, 64 * 8))
        end += rv.code(rv.i("addi", 5, 0, 0), rv.i("addi", 6, BASE, -2048),
                       rv.i("addi", 7, 0, 514))
        end += rv.load_constant(9, 0x9e3779b97f4a7c15)
        loop = rv.code(rv.i("ld", 10, 6, 0), rv.r("xor", 5, 5, 10), rv.r("mul", 5, 5, 9),
                       rv.shift("srli", 10, 5, 29), rv.r("xor", 5, 5, 10),
                       rv.i("addi", 6, 6, 8), rv.i("addi", 7, 7, -1))
        end += loop + rv.code(rv.branch("bne", 7, 0, -len(loop)))
        end += rv.code(rv.store("sd", 5, OUT_AT, 65 * 8), rv.i("addi", OUT_AT, OUT_AT, RECORD),
                       rv.jalr(0, SCRATCH, 0))
        start = rv.load_address(OUT_AT, OUT)
        jump = rv.code(rv.jal(0, 4 + len(begin) + len(end)))
        self.begin_at = CODE + len(start) + len(jump)
        self.end_at = self.begin_at + len(begin)
        return start + jump + begin + end

    def stream(self, k, row, at):
        made = rv.load_address(SCRATCH, TABLE + k * 65 * 8)
        made += rv.code(rv.jal(1, self.begin_at - (at + len(made))))
        self.begins.append(at + len(made))
        made += row + rv.code(rv.i("addi", COUNT, COUNT, -1), rv.branch("beq", COUNT, 0, 8))
        made += rv.code(rv.jal(0, self.begins[-1] - (at + len(made))))
        return made + rv.code(rv.jal(SCRATCH, self.end_at - (at + len(made))))

    def tail(self):
        """As a user's program: write(1, OUT, n), exit(0). Bare: tohost = 1."""
        bare = rv.load_address(5, TOHOST) + rv.code(
            rv.i("addi", 6, 0, 1), rv.store("sd", 6, 5, 0), rv.jal(0, 0))
        made = rv.load_address(5, BARE)
        made += rv.code(rv.i("ld", 6, 5, 0), rv.branch("beq", 6, 0, 4 + len(bare))) + bare
        made += rv.code(rv.i("addi", 10, 0, 1)) + rv.load_address(11, OUT)
        made += rv.load_constant(12, self.n * RECORD)
        return made + rv.code(rv.i("addi", 17, 0, 64), rv.ECALL, rv.i("addi", 10, 0, 0),
                              rv.i("addi", 17, 0, 93), rv.ECALL)

    def write(self, path, bare):
        flag = struct.pack("<QQ", 0, bare)
        Path(path).write_bytes(rv.elf(CODE, [
            (TOHOST, flag, len(flag)), (CODE, self.body, len(self.body)),
            (DATA, self.data, len(self.data)), (TABLE, self.tables, len(self.tables)),
            (OUT, b"", self.n * RECORD)],
            {"tohost": TOHOST, "begin_signature": OUT, "end_signature": OUT + self.n * RECORD}))
