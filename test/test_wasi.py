"""WASI as others test it: Go's own tests of its files, compiled for wasip1, run in
`cloche tool run` and in wasmtime's WASI on copies of the same folders. What passes there
passes here.

CLOCHE_WASI=deep runs more packages, and the long tests."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import packages
import pytest
from conftest import ROOT

DEPS = ROOT / "build/deps"
GO = DEPS / "go"
PEER = [DEPS / "venv-build/bin/python", ROOT / "test/wasi_peer.py"]
DEEP = os.environ.get("CLOCHE_WASI") == "deep"
PACKAGES = ["path/filepath"]
DEEP_PACKAGES = ["os", "io", "io/fs", "io/ioutil", "bufio", "archive/tar", "archive/zip"]

# Tests that run for minutes on either side, or depend on speed.
LONG = "TestRootMulti|TestRootConsistency|TestHugeFile|TestLargeWriteToConsole"


def go_environment():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return dict(os.environ, GOOS="wasip1", GOARCH="wasm", GOTOOLCHAIN="local",
                GOPROXY="off", GOSUMDB="off", GOFLAGS="-trimpath",
                GOCACHE=f"{cache}/cloche-build/go")


def go_root():
    return subprocess.run([GO, "env", "GOROOT"], env=go_environment(), check=True,
                          capture_output=True, text=True).stdout.strip()


def compile_tests(package, to):
    subprocess.run([GO, "test", "-c", "-ldflags=-s -w", "-o", to, package],
                   env=go_environment(), check=True)


def outcomes(text):
    """{name: "PASS", "FAIL" or "SKIP"} of all tests and their parts."""
    return {name: word for word, name in
            re.findall(r"^ *--- (PASS|FAIL|SKIP): (\S+)", text, re.MULTILINE)}


def words():
    return ["-test.v"] + ([] if DEEP else ["-test.short", f"-test.skip={LONG}"])


def with_tool(cloche, tmp, name, wasm):
    """The program in a folder of its own, with this one tool as a built-in one."""
    home = tmp / "program"
    place = home / "guest/tools" / name
    place.mkdir(parents=True)
    shutil.copy(cloche, home / "cloche")
    built = Path(cloche).parent
    (home / "lib").symlink_to(built / "lib")
    for guest in (built / "guest").iterdir():
        if guest.is_file() and guest.name.startswith("script."):
            shutil.copy(guest, home / "guest")  # no link leads out of it
    shutil.copy(wasm, place / f"{name}.wasm")
    (place / f"{name}.json").write_text(json.dumps(packages.manifest(
        name=name, execution={"argStyle": "cli", "fileAccess": "readwrite",
                              "timeout": 300000, "memoryLimit": 1 << 30})))
    subprocess.run([ROOT / "dev/catalogue", place.parent, name], check=True)
    return home / "cloche"


def ours(program, name, package, source):
    return subprocess.run(
        [program, "tool", "run", "--mount", f"/src={source}:rw", "--cwd", f"/src/{package}",
         "--env", "GOROOT=/", "--env", "PATH=/bin", name, *words()],
        capture_output=True, text=True, stdin=subprocess.DEVNULL)


def theirs(tmp, wasm, package, source):
    place = tmp / "tmp"
    place.mkdir()
    return subprocess.run(
        [*PEER, wasm, f"/src={source}", f"/tmp={place}", "--", "program", *words()],
        env={"PWD": f"/src/{package}", "GOROOT": "/", "HOME": "/tmp", "TMPDIR": "/tmp",
             "PATH": "/bin"},
        capture_output=True, text=True, stdin=subprocess.DEVNULL)


def copied(package, tmp, side):
    """The package's folder of the sources, and files beside it that its tests read."""
    source = tmp / side
    for name in {package, "os", "io/fs", "path/filepath", "testdata"}:
        shutil.copytree(f"{go_root()}/src/{name}", source / name, symlinks=True,
                        dirs_exist_ok=True)
    for folder, _, _ in os.walk(source):
        os.chmod(folder, 0o755)
    return source


@pytest.mark.parametrize("package", PACKAGES + (DEEP_PACKAGES if DEEP else []))
def test_gos_own_tests_pass_here_as_elsewhere(cloche, tmp_path, package):
    name = package.replace("/", "-")
    wasm = tmp_path / f"{name}.wasm"
    compile_tests(package, wasm)
    program = with_tool(cloche, tmp_path, f"go-{name}", wasm)
    mine = ours(program, f"go-{name}", package, copied(package, tmp_path, "ours"))
    other = theirs(tmp_path, wasm, package, copied(package, tmp_path, "theirs"))
    here, there = outcomes(mine.stdout), outcomes(other.stdout)
    passed = {test for test, word in there.items() if word == "PASS"}
    assert len(passed) > 20, other.stderr[-2000:]
    missing = {test: here.get(test) for test in passed if here.get(test) != "PASS"}
    assert not missing, mine.stdout[-20000:] + mine.stderr[-2000:]
