"""The machine's processor alone: the emulator in Wasm, as it ships, beside the same sources as a
program of this computer. A bare program, so that no kernel and no device takes part."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from sides import BUILD, ROOT, Failure, Table, need

sys.path.insert(0, str(ROOT / "test"))
import riscv  # noqa: E402


def build(folder):
    program = folder / "core"
    subprocess.run([BUILD / "deps/zig", "cc", "-target", "riscv64-freestanding-none",
                    "-mcpu=generic_rv64+m+a+f+d+c+zicsr+zifencei", "-mcmodel=medany", "-O2",
                    "-ffreestanding", "-fno-sanitize=all", "-fno-stack-protector", "-nostdlib",
                    "-static", "-T", ROOT / "guest/vm/test/link.ld", ROOT / "bench/guest/core.c",
                    "-o", program], check=True)
    return program


def run_native(program, folder):
    """(instructions, nanoseconds of computing, what it left)."""
    left = folder / "left"
    done = subprocess.run([BUILD / "vm-native", "--bare", program, "--speed", "--signature", left],
                          capture_output=True, text=True)
    found = re.match(r"(\d+) instructions, (\d+) MIPS", done.stderr)
    if done.returncode or not found:
        raise Failure(f"vm-native: {done.stderr[:200]}")
    low, high = (int(word, 16) for word in left.read_text().split()[:2])
    return int(found[1]), int(found[1]) / int(found[2]) * 1e3, high << 32 | low


def run_wasm(pieces):
    done = subprocess.run([BUILD / "cloche-vm-core"], input=pieces, capture_output=True, cwd=ROOT)
    found = re.match(rb"computed (\d+) ns", done.stderr)
    if done.returncode or not found:
        raise Failure(f"cloche-vm-core: {done.stderr.decode()[:200]}")
    return int(found[1]), int.from_bytes(done.stdout[:8], "little")


def core(_environment, effort):
    need(BUILD / "vm-native", BUILD / "cloche-vm-core", BUILD / "guest/vm.bare.wasm")
    table = Table("The machine's processor, by CPU time", "the same core natively")
    native, wasm = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = build(folder)
        pieces = riscv.pieces(program.read_bytes())
        for _ in range(max(2, round(5 * effort))):
            count, ns, left = run_native(program, folder)
            native.append(ns)
            ns, other = run_wasm(pieces)
            wasm.append(ns)
            if left != other:
                raise Failure(f"the core: {left:#x} natively, {other:#x} in Wasm")
    ours, theirs = min(wasm), min(native)
    table.row("a sieve, CRC, sort, calls, doubles", f"{count / ours * 1e3:,.0f} MIPS",
              f"{count / theirs * 1e3:,.0f} MIPS", f"{theirs / ours:.2f}", "150 MIPS",
              count / ours * 1e3 >= 150)
    return table
