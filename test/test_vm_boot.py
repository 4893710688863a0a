"""The kernel's messages at boot: the same in our machine as in qemu-system-riscv64, except for the
differences listed here, with reasons. CLOCHE_VM: the folder that `make vm` fills."""
import difflib
import re

import pytest

import needs
from machine import IMAGE, Native, Qemu

pytestmark = needs.installed(IMAGE / "root.erofs", by="make vm")

# Numbers: sizes, speeds, addresses.
NUMBERS = [
    (r"^\[ *\d+\.\d+\] ", ""),
    (r"\b(0x)?[0-9a-f]{8,16}\b", "ADDRESS"),
    (r"\b\d+ ?K(iB)?\b", "SIZE"),  # what firmware and device tree take of RAM
]

# Lines of either that the other may lack or word differently, and why.
MAY_DIFFER = [
    r"Machine model: ",         # it is another machine
    r"SBI implementation ID=",  # theirs is OpenSBI, a program in M mode ...
    r"OF: reserved mem: ",      # ... which keeps RAM for itself; ours keeps none
    r"  node   0: \[mem ",      # and so theirs has a hole
    r"ASID allocator ",         # we have no ASIDs: one hart's buffers are flushed
    r"riscv-plic: ",            # theirs has 95 lines, and a context for M mode
    r"riscv: (base|ELF) ",      # QEMU's processor has more extensions than ours
    r"\w+\.serial: ttyS0 ",     # its line and its clock
    r"Free page reporting ",    # the peer is started without a balloon
]


def messages(machine):
    text = machine.exec("dmesg --notime 2>/dev/null || dmesg").stdout.decode()
    lines = []
    for line in text.splitlines():
        for pattern, name in NUMBERS:
            line = re.sub(pattern, name, line)
        if not any(re.match(pattern, line) for pattern in MAY_DIFFER):
            lines.append(line)
    return lines


def test_the_kernel_boots_with_the_same_words_as_in_qemu(tmp_path):
    said = {}
    for kind in (Native, Qemu):
        place = tmp_path / kind.__name__
        place.mkdir()
        with kind(place) as machine:
            said[kind] = messages(machine)
    assert len(said[Native]) > 40, said[Native]
    # Drivers' messages follow the order of the device tree, which may differ.
    ours, theirs = sorted(said[Native]), sorted(said[Qemu])
    assert ours == theirs, "\n".join(difflib.unified_diff(theirs, ours, "qemu", "ours", lineterm="", n=0))
