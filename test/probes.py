"""Single instructions of any encoding, each run in a prepared state.

Every encoding is placed between the same prologue (registers that point into memory that has no
instruction) and a `c.ebreak`. It always ends in a trap, or in a signal if it runs as a Linux user
program: the trap's kind and address, all registers, fcsr and the memory around are hashed into one
number, which is written to the signature.
"""
import struct
from pathlib import Path

import riscv as rv

TOHOST, BARE, CURSOR, PTR = 0x80000400, 0x80000408, 0x80000410, 0x80000420
ACTION, STACK_T = 0x80000440, 0x80000460
SAVE = 0x80000500                      # as Linux keeps it: pc, x1 to x31, f, fcsr
REGISTERS = 0x80001000                 # x and f at the beginning
STACK = 0x80010000
TABLE, OUT = 0x80100000, 0x80300000
PRISTINE, MEMORY = 0x80800000, 0x80900000
SPAN = 5120                            # bytes of memory that are looked at
CENTER = MEMORY + SPAN // 2
CODE, SLOT = 0x80a00000, 0x80af0000    # in reach of one jump; zeros after, which are illegal
END = 0x80c00000
SIGNALS = {4: 1, 5: 2, 7: 3, 11: 4}    # SIGILL, SIGTRAP, SIGBUS, SIGSEGV
CAUSES = {2: 1, 3: 2, 4: 3, 6: 3}      # illegal, breakpoint, misaligned; else memory's: 4


def memory():
    """Data in which any two bytes are a reserved instruction, and neighbours differ."""
    return b"".join(struct.pack("<H", 0x8000 | (k * 37 & 0x7ff) << 2) for k in range(SPAN // 2))


def registers():
    x = [CENTER + 16 * n for n in range(32)]
    f = [0xffffffff3fc00000 + (n << 16) if n % 2 else 0x3ff8000000000000 + (n << 44)
         for n in range(32)]
    return struct.pack("<64Q", *x, *f)


class Text:
    """Code with labels, for jumps to what comes later."""

    def __init__(self, at):
        self.at, self.parts, self.places = at, [], {}
        self.size = 0

    def add(self, *instructions):
        made = rv.code(*instructions)
        self.parts.append(made)
        self.size += len(made)

    def mark(self, name):
        self.places[name] = self.size

    def jump(self, name, make=lambda offset: rv.jal(0, offset)):
        self.parts.append((name, self.size, make))
        self.size += 4

    def bytes(self):
        return b"".join(p if isinstance(p, bytes) else rv.code(p[2](self.places[p[0]] - p[1]))
                        for p in self.parts)


def program():
    t = Text(CODE)
    t.add(rv.load_address(5, BARE), rv.i("ld", 5, 5, 0))
    t.jump("linux", lambda o: rv.branch("beq", 5, 0, o))
    # Bare: traps come to `trap`.
    t.add(rv.auipc(6, 0))
    t.jump("trap", lambda o: rv.i("addi", 6, 6, o + 4))
    t.add(rv.csr("csrrw", 0, rv.STVEC, 6), rv.load_address(6, SAVE), rv.csr("csrrw", 0, 0x140, 6))
    t.jump("next")
    t.mark("linux")
    t.add(rv.auipc(6, 0))
    t.jump("signal", lambda o: rv.i("addi", 6, 6, o + 4))
    t.add(rv.load_address(7, ACTION), rv.store("sd", 6, 7, 0))
    t.add(rv.load_address(10, STACK_T), rv.i("addi", 11, 0, 0), rv.i("addi", 17, 0, 132), rv.ECALL)
    for signal in SIGNALS:
        t.add(rv.i("addi", 10, 0, signal), rv.load_address(11, ACTION), rv.i("addi", 12, 0, 0),
              rv.i("addi", 13, 0, 8), rv.i("addi", 17, 0, 134), rv.ECALL)

    t.mark("next")
    t.add(rv.load_address(5, CURSOR), rv.i("ld", 6, 5, 0), rv.i("lwu", 7, 6, 0))
    t.jump("done", lambda o: rv.branch("beq", 7, 0, o))
    t.add(rv.i("addi", 6, 6, 4), rv.store("sd", 6, 5, 0))
    t.add(rv.load_address(8, SLOT), rv.lui(9, 0x9000), rv.i("addi", 9, 9, 2))
    t.add(rv.i("andi", 10, 7, 3), rv.i("addi", 11, 0, 3), rv.store("sw", 7, 8, 0),
          rv.store("sh", 9, 8, 4), rv.branch("beq", 10, 11, 8), rv.store("sh", 9, 8, 2), rv.FENCE_I)
    t.add(rv.load_address(31, REGISTERS), rv.csr("csrrwi", 0, rv.FCSR, 0))
    for n in range(32):
        t.add(rv.i("fld", n, 31, 256 + 8 * n))
    for n in range(1, 32):
        t.add(rv.i("ld", n, 31, 8 * n))
    t.add(rv.jal(0, SLOT - (CODE + t.size)))

    t.mark("trap")
    t.add(rv.csr("csrrw", 31, 0x140, 31))
    for n in range(1, 31):
        t.add(rv.store("sd", n, 31, 8 * n))
    for n in range(32):
        t.add(rv.store("fsd", n, 31, 256 + 8 * n))
    t.add(rv.i("addi", 12, 31, 0), rv.csr("csrrw", 5, 0x140, 31), rv.store("sd", 5, 12, 8 * 31),
          rv.csr("csrrs", 5, rv.SEPC, 0), rv.store("sd", 5, 12, 0),
          rv.csr("csrrs", 5, rv.FCSR, 0), rv.store("sw", 5, 12, 512),
          rv.csr("csrrs", 6, rv.SCAUSE, 0), rv.i("addi", 10, 0, 4))
    for cause, kind in CAUSES.items():
        t.add(rv.i("addi", 7, 0, cause), rv.branch("bne", 6, 7, 8), rv.i("addi", 10, 0, kind))
    t.jump("sum")
    t.mark("signal")
    t.add(rv.i("addi", 12, 12, 176), rv.i("addi", 6, 10, 0), rv.i("addi", 10, 0, 0))
    for signal, kind in SIGNALS.items():
        t.add(rv.i("addi", 7, 0, signal), rv.branch("bne", 6, 7, 8), rv.i("addi", 10, 0, kind))

    # h in x5 begins as the kind; then 64 words of registers, fcsr, and the memory, put back.
    t.mark("sum")
    t.add(rv.load_constant(9, 0x9e3779b97f4a7c15), rv.i("addi", 5, 10, 0))
    mix = rv.code(rv.r("xor", 5, 5, 7), rv.r("mul", 5, 5, 9), rv.shift("srli", 7, 5, 29),
                  rv.r("xor", 5, 5, 7))
    t.add(rv.i("lwu", 7, 12, 512), mix, rv.i("addi", 8, 0, 64))
    loop = rv.code(rv.i("ld", 7, 12, 0)) + mix + rv.code(rv.i("addi", 12, 12, 8),
                                                         rv.i("addi", 8, 8, -1))
    t.add(loop, rv.branch("bne", 8, 0, -len(loop)))
    t.add(rv.load_address(11, MEMORY), rv.load_address(12, PRISTINE), rv.i("addi", 8, 0, SPAN // 8))
    loop = rv.code(rv.i("ld", 7, 11, 0), rv.i("ld", 6, 12, 0), rv.store("sd", 6, 11, 0)) + mix + \
        rv.code(rv.i("addi", 11, 11, 8), rv.i("addi", 12, 12, 8), rv.i("addi", 8, 8, -1))
    t.add(loop, rv.branch("bne", 8, 0, -len(loop)))
    # The kind stands in the lowest byte, to be read.
    t.add(rv.shift("slli", 5, 5, 8), rv.r("or", 5, 5, 10))
    t.add(rv.load_address(6, PTR), rv.i("ld", 7, 6, 0), rv.store("sd", 5, 7, 0),
          rv.i("addi", 7, 7, 8), rv.store("sd", 7, 6, 0))
    t.jump("next")

    t.mark("done")
    t.add(rv.load_address(5, BARE), rv.i("ld", 6, 5, 0))
    t.jump("write", lambda o: rv.branch("beq", 6, 0, o))
    t.add(rv.load_address(5, TOHOST), rv.i("addi", 6, 0, 1), rv.store("sd", 6, 5, 0), rv.jal(0, 0))
    t.mark("write")
    t.add(rv.i("addi", 10, 0, 1), rv.load_address(11, OUT), rv.load_address(12, PTR),
          rv.i("ld", 12, 12, 0), rv.r("sub", 12, 12, 11), rv.i("addi", 17, 0, 64), rv.ECALL,
          rv.i("addi", 10, 0, 0), rv.i("addi", 17, 0, 93), rv.ECALL)
    return t.bytes()


def write(path, encodings, bare):
    """An encoding of two bytes is a number below 0x10000; none is 0, which ends the table."""
    words = struct.pack("<5Q", 0, bare, TABLE, 0, OUT).ljust(ACTION - TOHOST, b"\0")
    words += struct.pack("<3Q", 0, 0x48000000, 0).ljust(STACK_T - ACTION, b"\0")
    words += struct.pack("<3Q", STACK, 0, 0x10000)
    table = struct.pack(f"<{len(encodings) + 1}I", *encodings, 0)
    end = OUT + 8 * len(encodings)
    assert len(table) <= OUT - TABLE and end <= PRISTINE
    Path(path).write_bytes(rv.elf(CODE, [
        (TOHOST, words, 0xc00), (REGISTERS, registers(), 512), (STACK, b"", 0x10000),
        (TABLE, table, len(table)), (OUT, b"", end - OUT), (PRISTINE, memory(), SPAN),
        (MEMORY, memory(), SPAN), (CODE, program(), END - CODE)],
        {"tohost": TOHOST, "begin_signature": OUT, "end_signature": end}))
    Path(path).chmod(0o755)
