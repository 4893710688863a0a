"""Damaged input: each tool gets files with random damage, and copes, reports an error or is stopped
by a limit; the program that runs it is unharmed. And system calls show that no file is opened for a
tool but those it was given.

CLOCHE_DAMAGED is the number of files for each tool (50; `make deep`: 1,000).
"""
import json
import os
import random
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

import needs
from compare import ENV, PACKAGES, all_cases, as_bytes, fill
from test_tool_cases import settings  # noqa: F401

COUNT = int(os.environ.get("CLOCHE_DAMAGED", "50"))
MILLISECONDS = 3000  # that a tool may compute on one of them
NAMES = sorted(json.loads(f.read_text())["name"] for f in PACKAGES.glob("*/*.json"))


def damaged(data, r):
    """The bytes with some of them flipped, removed, repeated or inserted."""
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


# ---- what is opened ---------------------------------------------------------------------

OPENED = re.compile(r"open(?:at|at2)?\(.*= \d+<(.*)>$")


def opened_by(command, settings, log):
    """The paths that a run and its threads have opened."""
    done = subprocess.run(["strace", "-f", "-y", "-s", "4096", "-e", "trace=open,openat,openat2",
                           "-o", str(log), *command], env=settings, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=60)
    if b"PTRACE" in done.stderr or b"ptrace" in done.stderr:
        needs.skip("nothing may be traced: " + done.stderr.decode()[:200])
    lines = log.read_text(errors="replace").splitlines()
    itself = re.compile(f"^/proc/({'|'.join({line.split()[0] for line in lines})})/")
    return {itself.sub("/proc/self/", m[1]) for m in map(OPENED.search, lines) if m}, done


@pytest.mark.parametrize("tool, args", [
    ("grep", ["-r", "word", ".", "out", "/etc/passwd", "../../etc/passwd"]),
    ("cat", ["inside.txt", "out", "folder-out/secret.txt", "/etc/passwd"]),
    ("ripgrep", ["--follow", "--hidden", "--no-ignore", "word", "."]),
    ("tar", ["-chf", "/tmp/all.tar", "."]),
    ("find", ["-L", ".", "/etc", "-type", "f"]),
    ("jq", [".", "inside.txt", "out"]),
    ("sqlite3", [":memory:", "SELECT readfile('inside.txt'), readfile('out'), "
                             "readfile('/etc/passwd'); ATTACH '/etc/passwd' AS p;"]),
    ("exiftool", ["-r", ".", "out"]),
    ("yq", [".", "inside.txt", "folder-out/secret.txt"]),
    ("asciidoctor", ["inside.txt", "-o", "-"]),
])
def test_nothing_is_opened_but_what_was_given(cloche, settings, tmp_path, tool,  # noqa: F811
                                              args):
    folder, outside = tmp_path / "given", tmp_path / "outside"
    folder.mkdir(), outside.mkdir()
    (folder / "inside.txt").write_text('"word"\n\ninclude::/etc/passwd[]\n')
    (outside / "secret.txt").write_text("a word that nobody gave\n")
    (folder / "out").symlink_to(outside / "secret.txt")
    (folder / "folder-out").symlink_to(outside)
    run = [cloche, "tool", "run", "--mount", f"/work={folder}:ro"]
    # Once without being seen: then its module is compiled.
    subprocess.run([*run, tool, *args], env=settings, capture_output=True,
                   stdin=subprocess.DEVNULL, timeout=120)
    usual, _ = opened_by([*run, "true"], settings, tmp_path / "usual")
    opened, done = opened_by([*run, tool, *args], settings, tmp_path / "opened")
    assert str(folder) in opened and tool == "find" or str(folder / "inside.txt") in opened, done
    assert b"nobody gave" not in done.stdout
    # What a tool's own run takes besides: its module and its data.
    cache = settings.get("XDG_CACHE_HOME") or settings["HOME"] + "/.cache"
    own = (f"{folder}/", f"{os.path.dirname(os.path.realpath(cloche))}/", f"{cache}/cloche/")
    assert {p for p in opened - usual if not f"{p}/".startswith(own)} == set()
