"""The machine's processor compared with QEMU's, instruction by instruction.

The same code runs in build/vm-native (--bare) and, as a user program, in qemu-riscv64; the final
states are compared bit by bit. CLOCHE_STREAMS is the number of random streams of each mix.
"""
import os
import random
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import arithmetic
import probes
import riscv as rv
import streams

ROOT = Path(__file__).resolve().parent.parent
EMULATOR = os.environ.get("CLOCHE_VM_NATIVE", str(ROOT / "build/vm-native"))
# RV64GC and nothing else. The peer has one defect of its own: it runs the vector extension's
# loads and stores of whole registers even where that extension is off.
QEMU = [os.environ.get("QEMU", str(ROOT / "build/deps/machine-peers/native/usr/bin/qemu-riscv64")),
        "-cpu", "rv64i,m=true,a=true,f=true,d=true,c=true,zicsr=true,zifencei=true,priv_spec=v1.12.0"]
STREAMS = int(os.environ.get("CLOCHE_STREAMS", 500))
MOST = 4_000_000_000  # instructions of one program


def bare(path, *options):
    return subprocess.run([EMULATOR, "--bare", path, "--max", str(MOST), *options],
                          capture_output=True, timeout=600)


def ours(write, folder):
    """The signature of a program, and the number of its instructions."""
    path, signature = folder / "bare", folder / "signature"
    write(path, 1)
    done = bare(path, "--speed", "--signature", signature)
    assert done.returncode == 0, done.stderr.decode()
    words = signature.read_text().split()
    return struct.pack(f"<{len(words)}I", *(int(w, 16) for w in words)), \
        int(done.stderr.split()[0])


def in_wasm(write, folder):
    """The signature of the emulator that ships: the same sources in Wasm."""
    path = folder / "bare"
    write(path, 1)
    done = subprocess.run([ROOT / "build/cloche-vm-core"], input=rv.pieces(path.read_bytes()),
                          capture_output=True, timeout=600, cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def theirs(write, folder):
    path = folder / "user"
    write(path, 0)
    path.chmod(0o755)
    with open(folder / "theirs", "w+b") as out:  # the program writes once, which a pipe may cut short
        done = subprocess.run([*QEMU, path], stdout=out, stderr=subprocess.PIPE, timeout=600)
        assert done.returncode == 0, (done.returncode, done.stderr.decode()[-500:])
        out.seek(0)
        return out.read()


def both(write, folder):
    folder.mkdir(exist_ok=True)
    with ThreadPoolExecutor(1) as pool:
        peer = pool.submit(theirs, write, folder)
        made, count = ours(write, folder)
        return made, peer.result(), count


# ---- random streams ---------------------------------------------------------------------------

NAMES = [f"x{n}" for n in range(32)] + [f"f{n}" for n in range(32)] + ["fcsr", "memory"]


def fields(record):
    return dict(zip(NAMES, struct.unpack("<66Q", record)))


def run_streams(rows, folder):
    return both(streams.Program(rows, "pool").write, folder)


def first_difference(units, seed, folder):
    """The difference of the shortest failing prefix of a stream: text for people."""
    low, high = 0, len(units)
    while high - low > 1:
        middle = (low + high) // 2
        made, peer, _ = run_streams([(units[:middle], seed)], folder)
        low, high = (low, middle) if made != peer else (middle, high)
    made, peer, _ = run_streams([(units[:high], seed)], folder)
    last = units[high - 1]
    last = last.hex(" ", 2) if isinstance(last, bytes) else "a jump"
    mine, other = fields(made), fields(peer)
    return f"seed {seed}, unit {high - 1} ({last}): " + ", ".join(
        f"{name} is {mine[name]:#x}, not {other[name]:#x}" for name in NAMES
        if mine[name] != other[name])


@pytest.mark.parametrize("mix", streams.MIXES)
def test_random_streams_end_as_the_peers_do(mix, tmp_path):
    begin = random.Random(f"{mix} 1").getrandbits(32)
    total = 0
    for first in range(0, STREAMS, 500):
        seeds = [f"{mix} {begin} {k}" for k in range(first, min(first + 500, STREAMS))]
        rows = [(streams.make_units(seed, mix, 250), seed) for seed in seeds]
        made, peer, count = run_streams(rows, tmp_path / "all")
        total += count
        if made == peer:
            continue
        size = streams.RECORD
        for k, (units, seed) in enumerate(rows):
            if made[k * size:(k + 1) * size] != peer[k * size:(k + 1) * size]:
                pytest.fail(first_difference(units, seed, tmp_path / "one"))
    # Ten millions in all five of them, at least.
    assert total >= 2_000_000 * min(STREAMS, 500) // 500


@pytest.mark.parametrize("mix", streams.MIXES)
def test_random_streams_end_the_same_in_wasm(mix, tmp_path):
    rows = [(streams.make_units(f"wasm {mix} {k}", mix, 250), f"{mix} {k}")
            for k in range(min(STREAMS, 200))]
    write = streams.Program(rows, "pool").write
    made, _ = ours(write, tmp_path)
    assert in_wasm(write, tmp_path) == made


# ---- every encoding -----------------------------------------------------------------------------

def jumps_to_itself(bits):
    if bits & 3 == 1:
        return bits == 0xa001 or (bits >> 14 == 3 and not bits & 0x1c7c)
    opcode = bits & 0x7f
    return (opcode == 0x6f and not bits >> 12) or (opcode == 0x63 and not bits & 0xfe000f80)


def is_peers_defect(bits):
    """vl1re8.v and similar ones."""
    return bits & 0x5f == 7 and bits >> 12 & 7 in (0, 5, 6, 7) and bits >> 20 & 0x1f == 8


def compare(encodings, folder):
    made, peer, _ = both(lambda path, flag: probes.write(path, encodings, flag), folder)
    pairs = zip(encodings, struct.unpack(f"<{len(encodings)}Q", made),
                struct.unpack(f"<{len(encodings)}Q", peer))
    kinds = {1: "illegal", 2: "ran", 3: "misaligned", 4: "out of memory"}
    return [f"{bits:#x}: {kinds.get(a & 255)}, theirs {kinds.get(b & 255)}"
            for bits, a, b in pairs if a != b]


def test_every_instruction_of_two_bytes_does_what_it_does_there(tmp_path):
    every = [bits for bits in range(1, 0x10000) if bits & 3 != 3 and not jumps_to_itself(bits)]
    assert len(every) == 49134 and compare(every, tmp_path) == []


def some_encoding(rng):
    bits = rng.randrange(32) << 2 | 3 | rng.getrandbits(25) << 7
    opcode = bits & 0x7f
    if opcode == 0x73:  # the system's: a user's program may not
        return None
    if rng.random() < 0.6:  # most of what is legal has zeros there
        bits &= ~(rng.choice([0xf8000000, 0xb0000000, 0xfe000000, 0xfc000000]))
    if opcode == 0x6f:  # not back to where the program is
        bits &= 0x7fffffff
    if opcode == 0x2f and bits >> 27 in (2, 3):  # LR and SC have to come together
        return None
    return None if jumps_to_itself(bits) or is_peers_defect(bits) else bits


def test_encodings_of_four_bytes_are_what_they_are_there(tmp_path):
    rng = random.Random("four bytes")
    some = [bits for _ in range(60000) if (bits := some_encoding(rng))]
    assert compare(some, tmp_path) == []


def test_every_major_opcode_and_function_is_decided_alike(tmp_path):
    """All of opcode, funct3 and funct7; registers as they come."""
    rng, every = random.Random("functions"), []
    for opcode in range(32):
        for function in range(1024):
            bits = opcode << 2 | 3 | (function & 7) << 12 | function >> 3 << 25 | \
                rng.choice([0, 1, 2, 3, 4, 9]) << 20 | rng.randrange(1, 32) << 15 | \
                rng.randrange(32) << 7
            sc = opcode == 11 and bits >> 27 in (2, 3)
            if opcode in (0x1c, 0x1b) or sc or jumps_to_itself(bits) or is_peers_defect(bits):
                continue
            every.append(bits)
    assert compare(every, tmp_path) == []


# ---- floating point -----------------------------------------------------------------------------

def test_floating_point_gives_the_same_results_and_flags(tmp_path):
    tried, rows = arithmetic.instructions(), arithmetic.operands(4000, "operands")

    def differ(which, over):
        made, peer, _ = both(lambda path, flag: arithmetic.write(path, which, over, flag),
                             tmp_path)
        size = 8
        return [one for k, one in enumerate(which)
                if made[k * size:(k + 1) * size] != peer[k * size:(k + 1) * size]]

    wrong = differ(tried, rows)
    told = []
    for one in wrong[:3]:
        over = rows
        while len(over) > 1:
            half = over[:len(over) // 2]
            over = half if differ([one], half) else over[len(over) // 2:]
        told.append(f"{one[0]} of {', '.join(hex(v) for v in over[0])}")
    assert not wrong, f"{len(wrong)} of {len(tried)} instructions: {'; '.join(told)}"


def test_floating_point_and_every_short_instruction_are_the_same_in_wasm(tmp_path):
    tried, rows = arithmetic.instructions(), arithmetic.operands(1000, "operands")
    every = [bits for bits in range(1, 0x10000) if bits & 3 != 3 and not jumps_to_itself(bits)]
    for write in (lambda path, flag: arithmetic.write(path, tried, rows, flag),
                  lambda path, flag: probes.write(path, every[::7], flag)):
        made, _ = ours(write, tmp_path)
        assert in_wasm(write, tmp_path) == made


# ---- bare programs --------------------------------------------------------------------------------

TEXT, TOHOST = 0x80000000, 0x80001000


def program(folder, *instructions, at=TEXT, symbols=None, entry=TEXT):
    path = folder / "program"
    body = rv.code(*instructions)
    path.write_bytes(rv.elf(entry, [(at, body, len(body)), (TOHOST, b"", 4096)],
                            {"tohost": TOHOST} if symbols is None else symbols))
    return path


def ends_with(value):
    """Writes register `value` to tohost, as instruction tests do, and stays there."""
    return rv.load_address(5, TOHOST) + rv.code(rv.store("sw", value, 5, 0), rv.jal(0, 0))


@pytest.mark.parametrize("told, code", [(1, 0), (3, 1), (15, 7), (511, 255), (1023, 255), (2, 1)])
def test_a_program_exits_with_tohost_by_two(told, code, tmp_path):
    path = program(tmp_path, rv.i("addi", 10, 0, told), ends_with(10))
    assert bare(path).returncode == code


def test_it_starts_in_supervisor_mode_without_anything_else(tmp_path):
    """sstatus is there and sret goes to the user; the device tree, devices and the SBI are not."""
    handler, after = rv.load_address(6, TEXT + 256), rv.load_address(7, TEXT + 128)
    body = handler + rv.code(rv.csr("csrrw", 0, rv.STVEC, 6), rv.csr("csrrs", 12, 0x100, 0),
                             rv.i("addi", 13, 0, 0x100), rv.csr("csrrc", 0, 0x100, 13)) + after
    body += rv.code(rv.csr("csrrw", 0, rv.SEPC, 7), 0x10200073)  # sret
    body = body.ljust(128, b"\0") + rv.code(rv.csr("csrrs", 0, 0x100, 0))  # a user may not
    body = body.ljust(256, b"\0") + rv.code(rv.csr("csrrs", 14, rv.SCAUSE, 0)) + \
        rv.code(rv.i("addi", 15, 0, 2), rv.i("addi", 10, 0, 1), rv.branch("beq", 14, 15, 8),
                rv.i("addi", 10, 0, 3)) + ends_with(10)
    assert bare(program(tmp_path, body)).returncode == 0
    # An ecall finds no SBI: it is a trap like any other, and UART and PLIC are not there.
    for cause, tried in [(9, rv.code(rv.ECALL)),
                         (5, rv.code(rv.lui(9, 0x10000000), rv.i("lbu", 9, 9, 5))),
                         (7, rv.code(rv.lui(9, 0x0c000000), rv.store("sw", 9, 9, 0)))]:
        body = rv.load_address(6, TEXT + 256) + rv.code(rv.csr("csrrw", 0, rv.STVEC, 6)) + tried
        body = body.ljust(256, b"\0") + rv.code(rv.csr("csrrs", 14, rv.SCAUSE, 0),
                                                rv.shift("slli", 14, 14, 1)) + ends_with(14)
        assert bare(program(tmp_path, body)).returncode == cause


@pytest.mark.parametrize("rm, frm, legal", [(5, 0, False), (6, 0, False), (7, 0, True), (7, 4, True),
                                            (7, 5, False), (7, 6, False), (7, 7, False),
                                            (0, 7, True), (4, 5, True)])
def test_rounding_modes_that_are_none_are_illegal(rm, frm, legal, tmp_path):
    """Of the instruction, or of frm where the instruction leaves it to that; exact or not."""
    for tried in (rv.fp(0, "d", 1, 2, 3, rm), rv.fp(26, "d", 1, 9, 0, rm),
                  rv.fp(8, "s", 1, 2, 1, rm), rv.fused("fmadd", "s", 1, 2, 3, 4, rm)):
        body = rv.load_address(6, TEXT + 256) + rv.code(
            rv.csr("csrrw", 0, rv.STVEC, 6), rv.csr("csrrwi", 0, rv.FRM, frm), tried,
            rv.i("addi", 10, 0, 1)) + ends_with(10)
        body = body.ljust(256, b"\0") + rv.code(rv.csr("csrrs", 14, rv.SCAUSE, 0),
                                                rv.shift("slli", 14, 14, 1)) + ends_with(14)
        assert bare(program(tmp_path, body)).returncode == (0 if legal else 2)


def test_floating_point_that_is_off_traps(tmp_path):
    loop = [rv.fp(0, "d", 1, 2, 3, 0), rv.i("fld", 1, 9, 0), rv.store("fsd", 1, 9, 0), 0x2000 | 1 << 2,
            rv.csr("csrrs", 10, rv.FCSR, 0), rv.fp(28, "d", 0, 1, 0, 0)]
    for tried in loop:
        body = rv.load_address(6, TEXT + 256) + rv.load_address(9, TOHOST + 256) + \
            rv.load_address(8, TOHOST + 256) + rv.code(
                rv.csr("csrrw", 0, rv.STVEC, 6), rv.lui(7, 0x6000), rv.csr("csrrc", 0, 0x100, 7),
                tried, rv.i("addi", 10, 0, 1)) + ends_with(10)
        body = body.ljust(256, b"\0") + rv.code(rv.csr("csrrs", 14, rv.SCAUSE, 0),
                                                rv.shift("slli", 14, 14, 1)) + ends_with(14)
        assert bare(program(tmp_path, body)).returncode == 2, hex(tried)


def refused(path, *options):
    done = subprocess.run([EMULATOR, "--bare", path, *options], capture_output=True, timeout=60)
    return done.returncode, done.stderr.decode()


def test_what_cannot_be_run_is_said(tmp_path):
    fine = program(tmp_path, ends_with(0))
    whole = fine.read_bytes()
    cases = {
        "it is not an ELF file": b"#!/bin/sh\n" * 20,
        "it is not a linked program of 64-bit RISC-V": whole[:18] + b"\x3e\0" + whole[20:],
        "its program headers are not all in the file": whole[:100],
        "a segment's bytes are not all in the file": whole[:4096],
    }
    for told, data in cases.items():
        fine.write_bytes(data)
        code, text = refused(fine)
        assert code == 126 and told in text and "nothing was run" in text
    assert "no symbol `tohost`" in refused(program(tmp_path, ends_with(0), symbols={}))[1]
    assert "not in RAM" in refused(program(tmp_path, ends_with(0), at=0x1000))[1]
    assert "its entry" in refused(program(tmp_path, ends_with(0), entry=0x1000))[1]
    assert refused(tmp_path / "none")[0] == 126
    assert refused(program(tmp_path, ends_with(0)), "--max", "-1")[0] == 126
    assert refused(program(tmp_path, ends_with(0)), "--signature")[0] == 126


def test_damaged_files_are_refused_or_run_and_nothing_else(tmp_path):
    whole = bytearray(program(tmp_path, rv.i("addi", 10, 0, 1), ends_with(10)).read_bytes())
    rng = random.Random("damage")
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            place = rng.choice([rng.randrange(64), rng.randrange(64, 176),
                                rng.randrange(len(data) - 400, len(data))])
            data[place] = rng.choice([0, 1, 0x7f, 0x80, 0xff, rng.randrange(256)])
        path = tmp_path / "damaged"
        path.write_bytes(data[:rng.randrange(len(data))] if rng.random() < 0.2 else data)
        assert refused(path, "--max", "10000")[0] >= 0


def test_a_program_that_does_not_end_is_given_up(tmp_path):
    code, text = refused(program(tmp_path, rv.jal(0, 0)), "--max", "5000")
    assert code == 124 and "after 5000 instructions" in text and "0x80000000" in text
    code, text = refused(program(tmp_path, 0x10500073, rv.jal(0, -4)))  # wfi
    assert code == 124 and "waits for an interrupt" in text


def test_a_trace_shows_each_instruction(tmp_path):
    path = program(tmp_path, rv.i("addi", 10, 0, 3), rv.c_mv(11, 10), ends_with(11))
    code, text = refused(path, "--trace")
    lines = text.splitlines()
    assert code == 1
    assert lines[0] == "0000000080000000 00300513 addi 10, 0, 3"
    assert lines[1].startswith("0000000080000004 000085aa add 11, 0, ")
