"""The C library of guests and tools (guest/libc) returns what this computer's does, in the corner
cases of libc.c."""
import shutil
import subprocess

import pytest
from conftest import ROOT
from test_wasi import with_tool

ZIG, LIBRARY = ROOT / "build/deps/zig", ROOT / "build/guest/libc.o"
# Functions, not what a compiler knows of them.
FLAGS = ["-std=gnu17", "-O1", "-fno-builtin", "-w", str(ROOT / "test/libc.c")]


@pytest.fixture(scope="module")
def answers(cloche, tmp_path_factory):
    """[here, in the sandbox], line by line, with pipes for standard streams."""
    place = tmp_path_factory.mktemp("libc")
    native, wasm = place / "libc", place / "libc.wasm"
    subprocess.run(["cc", *FLAGS, "-o", native, "-lm"], check=True)
    subprocess.run([ZIG, "cc", "-target", "wasm32-wasi", LIBRARY, *FLAGS, "-o", wasm], check=True)
    program = with_tool(cloche, place, "libc", wasm)
    runs = [subprocess.run(command, input="", capture_output=True, text=True)
            for command in ([native], [program, "tool", "run", "libc"])]
    assert [run.returncode for run in runs] == [0, 0], runs[1].stderr
    shutil.rmtree(program.parent)
    return [run.stdout.splitlines() for run in runs]


@pytest.mark.parametrize("what", [
    "0: reads", "1: writes", "2: writes", "find", "copy", "wide", "bytes", "compare", "split",
    "kinds of characters", "whole", "sort", "strtol", "strtod", "%", "exact",
])
def test_it_answers_as_natively(answers, what):
    here, there = ([line for line in lines if line.startswith(what)] for lines in answers)
    assert here and here == there


def test_there_is_nothing_else_to_compare(answers):
    here, there = answers
    assert len(here) > 1000 and here == there
