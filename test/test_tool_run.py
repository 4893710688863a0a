"""`cloche tool run` as a Unix program: pipes, signals, terminals, mounts; and hostile modules. The
tools are those of guest/probe."""

import hashlib
import json
import os
import pty
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

PROBE = ROOT / "build" / "probe" / "tools"


# --- a program with these tools beside it ------------------------------------------------

def lay_out(place, cloche):
    """The program, with the tools for tests in the place of its own."""
    built = Path(cloche).resolve().parent
    shutil.copy(cloche, place / "cloche")
    (place / "lib").symlink_to(ROOT / "build" / "lib")
    (place / "guest").mkdir()
    shutil.copy(ROOT / "build" / "guest" / "script.bare.wasm", place / "guest")
    if not PROBE.exists():
        pytest.fail(f"{PROBE} is not there: run 'make conformance' ({built})")
    shutil.copytree(PROBE, place / "guest" / "tools")
    return str(place / "cloche")


@pytest.fixture(scope="module")
def program(cloche, tmp_path_factory):
    return lay_out(tmp_path_factory.mktemp("probe"), cloche)


def run(program, *words, stdin=b"", **how):
    given = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    return subprocess.run([program, "tool", "run", *map(str, words)], **given,
                          capture_output=True, timeout=120, **how)


# --- a program among others --------------------------------------------------------------

def test_bytes_and_exit_codes_pass_through(program):
    every = bytes(range(256)) * 1000
    done = run(program, "probe", "cat", stdin=every)
    assert (done.returncode, done.stdout, done.stderr) == (0, every, b"")
    assert run(program, "probe", "exit", 77).returncode == 77
    done = run(program, "probe", "complain")
    assert (done.returncode, done.stdout, done.stderr) == (4, b"", b"something is wrong\n")


def test_words_behind_the_name_are_the_tools(program):
    done = run(program, "--env", "A=b", "--", "base64", "--mount", "--help", "", "-e")
    assert done.stdout == b"base64\n--mount\n--help\n\n-e\n"
    assert b"usage: cloche tool run" in run(program, "--help").stdout


def test_output_is_not_kept_back_or_cut(program):
    done = run(program, "probe", "flood", 30_000_000)
    assert done.stdout == b"x" * 30_000_000


def test_it_stands_in_a_pipeline_of_the_shell(program):
    line = f"'{program}' tool run probe yes | head -n 2; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=60)
    assert done.stdout == b"y\ny\n141\n"
    ignored = f"trap '' PIPE; {line}"
    done = subprocess.run(["bash", "-c", ignored], capture_output=True, timeout=60)
    assert done.stdout == b"y\ny\n141\n"


def test_no_byte_more_is_read_than_the_tool_reads(program):
    line = f"'{program}' tool run probe take 3; cat"
    done = subprocess.run(["bash", "-c", line], input=b"abcdef", capture_output=True, timeout=60)
    assert done.stdout == b"abcdef"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_as_it_ends_anybody(program, number):
    with subprocess.Popen([program, "tool", "run", "probe", "yes"], stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"y\n"
        p.send_signal(number)
        assert p.wait(30) == -number


def test_a_terminal_sees_at_once_what_is_written(program):
    ours, theirs = pty.openpty()
    with subprocess.Popen([program, "tool", "run", "probe", "ask"], stdin=theirs, stdout=theirs,
                          stderr=theirs, close_fds=True) as p:
        os.close(theirs)
        seen = b""
        while not seen.endswith(b"name? "):
            seen += os.read(ours, 100)
        os.write(ours, b"Ada\n")
        while b"hello Ada" not in seen:
            seen += os.read(ours, 100)
        assert p.wait(30) == 0
    os.close(ours)


def test_a_tool_may_look_whether_there_is_input(program):
    with subprocess.Popen([program, "tool", "run", "probe", "look"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"nothing yet\n"
        p.stdin.write(b"abc")
        p.stdin.flush()
        assert p.stdout.readline() == b"3 bytes\n"
    assert p.returncode == 0
    assert run(program, "probe", "look").stdout.endswith(b"\n0 bytes\n")
    done = run(program, "probe", "look", stdin=subprocess.DEVNULL)
    assert done.stdout == b"something\n0 bytes\n"


def test_streams_that_do_not_wait_are_waited_for(program):
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with subprocess.Popen([program, "tool", "run", "probe", "count"], stdin=reader,
                          stdout=subprocess.PIPE) as p:
        os.close(reader)
        os.write(writer, b"12345")
        os.close(writer)
        assert p.stdout.read() == b"5\n"


def test_closed_streams_are_no_crash(program):
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        line = f"'{program}' tool run probe cat {closed}"
        done = subprocess.run(["bash", "-c", line], input=b"x", capture_output=True, timeout=60)
        assert done.returncode in (0, 1), done


# --- what it sees ------------------------------------------------------------------------

@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "folder"
    (place / "sub").mkdir(parents=True)
    (place / "old").write_text("text")
    (place / ".hidden").write_text("seen")
    return place


def test_only_mounts_are_seen(program, folder):
    done = run(program, "probe", "cat", folder / "old")
    assert done.returncode == 1 and b"--mount" in done.stderr
    assert run(program, "--mount", f"/v={folder}", "probe", "cat", "/v/old").stdout == b"text"
    assert run(program, "--mount", f"/v={folder}", "probe", "ls", "/work").stdout == b""
    for place in ("/etc", str(folder), "/proc/self"):
        done = run(program, "--mount", f"/v={folder}", "--cwd", "/tmp", "probe", "ls", place)
        assert b"old" not in done.stdout and b"passwd" not in done.stdout


def test_the_first_mount_is_the_working_folder(program, folder):
    mounts = "--mount", f"/v={folder}:rw", "--mount", f"/w={folder}/sub:rw"
    assert run(program, *mounts, "probe", "cat", "old", ".hidden").stdout == b"textseen"
    assert b"PWD=/v\n" in run(program, *mounts, "probe", "env").stdout
    assert run(program, *mounts, "--cwd", "/w", "probe", "put", "new", "x").returncode == 0
    assert (folder / "sub" / "new").read_text() == "x"


def test_a_mount_is_read_only_unless_said_otherwise(program, folder):
    for suffix in ("", ":ro"):
        done = run(program, "--mount", f"/v={folder}{suffix}", "probe", "put", "new", "x")
        assert done.returncode == 1 and b"Read-only" in done.stderr
        assert not (folder / "new").exists()


def test_fileaccess_holds_for_persons_too(program, folder):
    mount = "--mount", f"/v={folder}:rw"
    done = run(program, *mount, "alone", "cat", "old", cwd=folder)
    assert done.returncode == 1 and b"standard input" in done.stderr
    assert run(program, *mount, "reader", "put", "new", "x").returncode == 1
    assert run(program, *mount, "writer", "put", "new", "x").returncode == 0
    assert run(program, *mount, "writer", "cat", "old").returncode == 1


@pytest.mark.parametrize("mount, says", [
    ("work=.", "GUEST=HOST"), ("/work", "GUEST=HOST"), ("/work=", "--mount /work="),
    ("/work=/nowhere/at/all", "/nowhere/at/all"), ("/=.", "below /"), ("/a/../b=.", "/a/../b"),
])
def test_wrong_mounts_are_named(program, mount, says):
    done = run(program, "--mount", mount, "probe", "exit", 0)
    assert done.returncode in (1, 2) and says in done.stderr.decode()


def test_wrong_calls_are_named(program):
    for words, says in ((["prob"], "'probe'"), ([], "name"), (["--cwd", "/no", "probe"], "/no"),
                        (["--timeout", "0", "probe"], "--timeout"), (["--nope"], "--nope")):
        done = run(program, *words)
        assert done.returncode in (1, 2) and says in done.stderr.decode(), done


# --- limits ------------------------------------------------------------------------------

def test_limits_are_told(program):
    for words, code, says in ((["--timeout", "50", "probe", "spin"], 124, "50 ms"),
                              (["--timeout", "50", "probe", "sleep", "60000"], 124, "50 ms"),
                              (["probe", "eat"], 137, "32 MB"),
                              (["--memory", "20", "probe", "eat"], 137, "20 MB"),
                              (["probe", "abort"], 134, "unreachable")):
        done = run(program, *words)
        assert done.returncode == code and says in done.stderr.decode(), done


def test_stats_say_what_it_took(program):
    assert b"of computing" in run(program, "--stats", "probe", "exit", "0").stderr


# --- modules that mean no good -----------------------------------------------------------

def leb(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def section(number, *items):
    body = leb(len(items)) + b"".join(items) if number != 8 else items[0]
    return bytes([number]) + leb(len(body)) + body


def name(text):
    return leb(len(text)) + text.encode()


NOTHING = b"\x60\0\0"  # a function without arguments and results
PRINTS = b"\x60\4\x7f\x7f\x7f\x7f\1\x7f"
START = name("_start") + b"\0\0"
LOOP = b"\3\x40\x0c\0\x0b"
GROW = b"\3\x40\x41\x10\x40\0\x1a\x0c\0\x0b"  # 16 pages more, for ever


def module(*sections):
    return b"\0asm\1\0\0\0" + b"".join(sections)


def body(code=b""):
    return leb(len(code) + 2) + b"\0" + code + b"\x0b"


def command(code=b"", memory=b"\0\1", *more):
    """A command whose _start is this code."""
    return module(section(1, NOTHING, PRINTS), section(3, b"\0"),
                  *([section(5, memory)] if memory else []), *more,
                  section(7, START, *([name("memory") + b"\2\0"] if memory else [])),
                  section(10, body(code)))


FOUR_GB = b"\0" + leb(65536)
HOSTILE = {
    "no-module": (b"#!/bin/sh\n", 1, "not a Wasm module"),
    "empty": (b"", 1, ""),
    "half": (command()[:-3], 1, "not a Wasm module"),
    "no-start": (module(section(1, NOTHING), section(5, b"\0\1")), 1, "_start"),
    "start-with-values": (module(section(1, b"\x60\1\x7f\0"), section(3, b"\0"),
                                 section(7, START), section(10, body())), 1, "_start"),
    "start-is-memory": (module(section(5, b"\0\1"), section(7, name("_start") + b"\2\0")),
                        1, "_start"),
    "other-import": (module(section(1, NOTHING), section(2, name("env") + name("system") + b"\0\0"),
                            section(7, START)), 1, "env"),
    "wrong-type": (module(section(1, NOTHING),
                          section(2, name("wasi_snapshot_preview1") + name("fd_write") + b"\0\0"),
                          section(7, START)), 1, "fd_write"),
    "starts-looping": (module(section(1, NOTHING), section(3, b"\0"), section(7, START),
                              section(8, b"\0"), section(10, body(LOOP))), 124, "ms"),
    "starts-trapping": (module(section(1, NOTHING), section(3, b"\0"), section(7, START),
                               section(8, b"\0"), section(10, body(b"\0"))), 134, "unreachable"),
    "loops": (command(LOOP, b""), 124, "ms"),
    "recurses": (command(b"\x10\0"), 139, "stack"),
    "grows": (command(GROW), 137, "memory"),
    "four-gigabytes": (command(b"", FOUR_GB), 137, "memory"),
    "hidden-gigabytes": (module(section(1, NOTHING), section(3, b"\0"), section(5, FOUR_GB),
                                section(7, START), section(10, body())), 137, "memory"),
    "huge-table": (module(section(1, NOTHING), section(3, b"\0"),
                          section(4, b"\x70\0" + leb(200_000_000)), section(7, START),
                          section(10, body())), 137, "table"),
    "two-memories": (module(section(1, NOTHING), section(3, b"\0"), section(5, b"\0\1", b"\0\1"),
                            section(7, START), section(10, body())), 1, "memor"),
    "shared-memory": (command(b"", b"\3\1\2"), 1, ""),
    "memory-of-others": (module(section(1, NOTHING),
                                section(2, name("env") + name("memory") + b"\2\0\1"),
                                section(3, b"\0"), section(7, START), section(10, body())),
                         1, "env"),
    "prints-without-memory": (
        module(section(1, NOTHING, PRINTS),
               section(2, name("wasi_snapshot_preview1") + name("fd_write") + b"\0\1"),
               section(3, b"\0"), section(7, name("_start") + b"\0\1"),
               section(10, body(b"\x41\1\x41\0\x41\1\x41\0\x10\0\x1a"))), 0, ""),
}


@pytest.fixture(scope="module")
def hostile(cloche, tmp_path_factory):
    place = tmp_path_factory.mktemp("hostile")
    program = lay_out(place, cloche)
    tools = place / "guest" / "tools"
    rows = json.loads((tools / "catalogue.json").read_text())
    like = next(row for row in rows if row["manifest"]["name"] == "probe")
    rows = []
    for tool, (wasm, _, _) in HOSTILE.items():
        (tools / tool).mkdir()
        (tools / tool / f"{tool}.wasm").write_bytes(wasm)
        rows.append({**like, "package": tool, "wasm_sha256": hashlib.sha256(wasm).hexdigest(),
                     "wasm_blake2b": hashlib.blake2b(wasm, digest_size=32).hexdigest(),
                     "manifest": {**like["manifest"], "name": tool}})
    (tools / "catalogue.json").write_text(json.dumps(rows))
    return program


@pytest.mark.parametrize("tool", HOSTILE)
def test_hostile_modules_end_with_a_sentence(hostile, tool):
    _, code, says = HOSTILE[tool]
    done = run(hostile, tool)
    assert (done.returncode in (1, 2) if code == 1 else done.returncode == code), done
    said = done.stderr.decode()
    assert said.count("\n") == (code != 0) and says in said
    assert code == 0 or (said.startswith("cloche: ") and tool in said), said
