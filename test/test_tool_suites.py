"""Upstream tests of the tools, as far as they run without a shell: jq's own tests, the
specification of CommonMark, toml-test, and the programs of gawk's tests and the code in
clang-format's, whose output must equal the native program's."""
import ast
import datetime
import json
import math
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from compare import ENV, ROOT, debian
from test_tool_cases import settings  # noqa: F401

SOURCES = ROOT / "build" / "deps" / "debian"
# toml-test as the parser's own module carries it: TOML 1.0, and four cases of 1.1.
TOML = ROOT / "build/deps/go-tools/github.com/!burnt!sushi/toml@v1.5.0/internal/toml-test/tests"
TOML_1_1 = {"datetime/no-seconds", "inline-table/newline", "string/escape-esc",
            "string/hex-escape"}
# What the parser lets pass, as its makers know: tables that are added to afterwards.
TOML_PASSED_OVER = {
    "array/extend-defined-aot", "inline-table/duplicate-key-3", "inline-table/overwrite-02",
    "inline-table/overwrite-08", "spec/inline-table-2-0", "spec/table-9-1",
    "table/append-to-array-with-dotted-keys", "table/append-with-dotted-keys-1",
    "table/append-with-dotted-keys-2", "table/duplicate-key-dotted-table",
    "table/duplicate-key-dotted-table2", "table/redefine-2", "table/redefine-3"}
SECONDS = 60


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Unpacks the tests of a package's source archive, once; returns the folder."""
    place, there = tmp_path_factory.mktemp("suites"), {}

    def unpack(package, folder):
        if package not in there:
            archive = next((SOURCES / package).glob("*.orig.tar.*"))
            (place / package).mkdir()
            subprocess.run(["tar", "-xf", archive, "-C", place / package, "--strip-components=1",
                            "--wildcards", "--no-wildcards-match-slash", f"*/{folder}"], check=True)
            there[package] = place / package / folder
        return there[package]
    return unpack


def run(cloche, settings, folder, tool, *args, env=None):  # noqa: F811
    given = [f"--env={k}={v}" for k, v in {**ENV, **(env or {})}.items()]
    return subprocess.run([cloche, "tool", "run", "--mount", f"/work={folder}:ro", *given, tool,
                           *args], capture_output=True, env=settings, timeout=SECONDS,
                          stdin=subprocess.DEVNULL)


def run_native(folder, program, *args):
    command, env = debian(program)()
    return subprocess.run([*command, *args], capture_output=True, cwd=folder,
                          env={**ENV, **env}, timeout=SECONDS, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("suite", ["jq", "man", "manonig", "onig", "optional", "base64"])
def test_jq_passes_its_own_tests(cloche, settings, sources, suite):  # noqa: F811
    folder = sources("jq", "tests")
    done = run(cloche, settings, folder, "jq", "-L", "modules", "--run-tests", f"{suite}.test",
               env={"PAGER": "less"})
    last = done.stdout.decode().splitlines()[-1]
    passed, of = last.split()[0], last.split()[2]
    assert done.returncode == 0 and passed == of and int(of) > 2, last
    assert "(0 malformed, 0 skipped)" in last


def test_markdown_passes_the_specification_of_commonmark(cloche, settings,  # noqa: F811
                                                         sources, tmp_path):
    folder = sources("cmark-gfm", "test")
    program = tmp_path / "markdown"
    program.write_text(f'#!/bin/sh\nexec "{cloche}" tool run markdown "$@"\n')
    program.chmod(0o755)
    done = subprocess.run([sys.executable, "spec_tests.py", "--program", str(program),
                           "--spec", "spec.txt"], cwd=folder, env=settings, timeout=300,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-1000:]
    assert " passed, 0 failed, 0 errored, 0 skipped" in done.stdout


def test_awk_runs_the_programs_of_gawks_tests(cloche, settings, sources):  # noqa: F811
    folder = sources("gawk", "test")
    calls = {}
    for program in sorted(folder.glob("*.awk")):
        data, text = program.with_suffix(".in"), program.read_bytes()
        # What starts other programs, waits, asks for a network or looks at the machine is no
        # matter of a tool's.
        if any(word in text for word in (b"system(", b"getline", b'" |', b'| "', b"/inet", b"@load",
                                         b"PROCINFO", b"srand", b"systime", b"strftime", b"ENVIRON",
                                         b"/dev/", b"fflush", b"|&", b"@include", b"ERRNO")):
            continue
        # They print their own name, count records beyond a long of 64 bits, want a pipe to sort.
        if program.stem in ("argcasfile", "mpfrnr", "longwrds"):
            continue
        if data.exists() and program.with_suffix(".ok").exists():
            calls[program.stem] = ["-f", program.name, data.name]
    assert len(calls) > 80
    differing = []
    for name, args in calls.items():
        ours, native = run(cloche, settings, folder, "awk", *args), run_native(folder, "gawk", *args)
        if (ours.stdout, ours.returncode) != (native.stdout, native.returncode):
            differing.append(name)
    assert differing == []


# The languages that the tests of clang-format are in; C++ where it is not said.
LANGUAGES = {"FormatTestCSharp": "cs", "FormatTestJS": "ts", "FormatTestJava": "java",
             "FormatTestJson": "json", "FormatTestObjC": "m", "FormatTestProto": "proto",
             "FormatTestTableGen": "td", "FormatTestTextProto": "textproto",
             "FormatTestVerilog": "sv", "SortImportsTestJS": "js", "SortImportsTestJava": "java"}
STRING = r'"(?:[^"\\\n]|\\.)*"'


def snippets(folder):
    """The code in the tests' strings, as (name of a file, text)."""
    for source in sorted(folder.glob("*Test*.cpp")):
        found = re.finditer(rf"(?:{STRING}\s*)+", source.read_text())
        for number, strings in enumerate(found):
            # What C++ writes in another way than Python is left out.
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    text = "".join(map(ast.literal_eval, re.findall(STRING, strings[0])))
            except SyntaxError:
                continue
            if len(text) > 5:
                yield f"{source.stem}-{number}.{LANGUAGES.get(source.stem, 'cpp')}", text


def test_clang_format_lays_out_the_code_of_its_own_tests(cloche, settings,  # noqa: F811
                                                         sources, tmp_path):
    names = []
    for name, text in snippets(sources("llvm-toolchain-19", "clang/unittests/Format")):
        names.append(name)
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    assert len(names) > 10000
    for at in range(0, len(names), 500):
        args = ["--style=Google", *names[at:at + 500]]
        ours = run(cloche, settings, tmp_path, "clang-format", *args)
        native = run_native(tmp_path, "clang-format-19", *args)
        assert ours.returncode == native.returncode == 0, (names[at], ours.stderr, native.stderr)
        assert ours.stdout == native.stdout, names[at]


def same_toml(wanted, got):
    """As toml-test compares: floats as numbers, times as times, the rest as strings."""
    if isinstance(wanted, list):
        return isinstance(got, list) and len(wanted) == len(got) and \
            all(map(same_toml, wanted, got))
    if set(wanted) != set(got):
        return False
    if set(wanted) != {"type", "value"} or not isinstance(wanted["value"], str):
        return all(same_toml(wanted[key], got[key]) for key in wanted)
    if wanted["type"] != got["type"]:
        return False
    w, g = wanted["value"], got["value"]
    if wanted["type"] == "float":
        w, g = float(w), float(g)
        return w == g or (math.isnan(w) and math.isnan(g))
    if wanted["type"].startswith("datetime"):
        return datetime.datetime.fromisoformat(w) == datetime.datetime.fromisoformat(g)
    if wanted["type"] == "time-local":
        return datetime.time.fromisoformat(w) == datetime.time.fromisoformat(g)
    return w == g


@pytest.mark.parametrize("kind, but", [("valid", TOML_1_1), ("invalid", TOML_PASSED_OVER)])
def test_toml2json_passes_toml_test(cloche, settings, kind, but):  # noqa: F811
    files = sorted((TOML / kind).rglob("*.toml"))
    assert len(files) > 150

    def one(file):
        done = subprocess.run([cloche, "tool", "run", "toml2json", "-t"], env=settings,
                              input=file.read_bytes(), capture_output=True, timeout=SECONDS)
        if kind == "invalid":
            return done.returncode == 1 and not done.stdout
        return done.returncode == 0 and same_toml(
            json.loads(file.with_suffix(".json").read_bytes()), json.loads(done.stdout))

    with ThreadPoolExecutor(2) as pool:
        wrong = {str(f.relative_to(TOML / kind).with_suffix(""))
                 for f, ok in zip(files, pool.map(one, files)) if not ok}
    assert wrong == but
