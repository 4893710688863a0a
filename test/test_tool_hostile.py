"""Damaged input harms nothing: each tool gets files with random damage, and either copes,
complains or is stopped by a limit; the program that runs it stays well.

CLOCHE_DAMAGED says how many for each tool (50; `make deep`: 1,000)."""
import json
import os
import random
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from compare import ENV, PACKAGES, all_cases, as_bytes, fill
from test_tool_cases import settings  # noqa: F401

COUNT = int(os.environ.get("CLOCHE_DAMAGED", "50"))
MILLISECONDS = 3000  # that a tool may compute on one of them
NAMES = sorted(json.loads(f.read_text())["name"] for f in PACKAGES.glob("*/*.json"))


def damaged(data, r):
    """The bytes with some of them turned, cut out, doubled or blown up."""
    data = bytearray(data)
    for _ in range(r.randint(1, 8)):
        at = r.randrange(len(data) + 1)
        kind = r.randrange(6)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << r.randrange(8)
        elif kind == 1 and data:
            data[at % len(data)] = r.choice((0, 0x7F, 0x80, 0xFF, r.randrange(256)))
        elif kind == 2:
            del data[at:at + r.randint(1, 64)]
        elif kind == 3:
            data[at:at] = data[at:at + r.randint(1, 256)] * r.randint(1, 4)
        elif kind == 4:
            data[at:at] = bytes([r.randrange(256)]) * r.choice((1, 3, 100, 5000))
        else:
            del data[at:]
    return bytes(data)


def damaged_cases(tool):
    """COUNT cases of the tool with damage in their input; the same each time."""
    seeds = [one for name, _, one, _ in all_cases()
             if name == tool and (one.stdin or any(not n.endswith("/") for n in one.files))]
    if not seeds:
        return
    r = random.Random(tool)
    for n in range(COUNT):
        one = seeds[n % len(seeds)]
        files = {k: as_bytes(v() if callable(v) else v) for k, v in one.files.items()}
        stdin = one.stdin
        whole = [k for k in files if not k.endswith("/")]
        if stdin and (not whole or r.random() < 0.5):
            stdin = damaged(stdin, r)
        else:
            name = r.choice(whole)
            files[name] = damaged(files[name], r)
        yield type(one)(one.args, stdin, files, one.env)


@pytest.mark.parametrize("tool", NAMES)
def test_damaged_input_harms_nothing(cloche, settings, tmp_path, tool):  # noqa: F811
    def run(numbered):
        number, one = numbered
        folder = tmp_path / f"d{number}"
        folder.mkdir()
        fill(folder, one)
        outside = tmp_path / f"outside{number}"
        outside.write_text("not to be touched")
        given = [f"--env={k}={v}" for k, v in {**ENV, **one.env}.items()]
        done = subprocess.run(
            [cloche, "tool", "run", "--timeout", str(MILLISECONDS), "--mount",
             f"/work={folder}:rw", *given, tool, *one.args],
            input=one.stdin, capture_output=True, env=settings, timeout=60)
        return number, one, done, outside.read_text()

    with ThreadPoolExecutor(2) as pool:
        for number, one, done, outside in pool.map(run, enumerate(damaged_cases(tool))):
            shown = f"number {number}: {tool} {one.args}: {done.returncode} {done.stderr[-400:]!r}"
            # The tool may crash (134) or be stopped (124, 137); who runs it may not.
            assert 0 <= done.returncode < 256, shown
            assert b"Sanitizer" not in done.stderr, shown
            assert outside == "not to be touched", shown
