"""The C library: what it shows, and a program that uses it as any other would."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, sample_vault
from wire import Stdio, call, initialize, notification, request, structured

HEADER = ROOT / "include" / "cloche.h"
LIBRARY = ROOT / "build" / "lib" / "libcloche.so"
NEEDED = ("cc", "make", "pkg-config", "nm", "readelf")
pytestmark = pytest.mark.skipif(any(shutil.which(p) is None for p in NEEDED),
                                reason=f"needs {', '.join(NEEDED)}")


def output(*command, **how):
    return subprocess.run(command, capture_output=True, text=True, check=True, **how).stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Where `make install` put it."""
    place = tmp_path_factory.mktemp("installed")
    output("make", "-C", str(ROOT), "install", f"PREFIX={place}")
    return place


@pytest.fixture(scope="module")
def example(installed, tmp_path_factory):
    folder = shutil.copytree(ROOT / "examples" / "embed", tmp_path_factory.mktemp("e") / "embed")
    env = os.environ | {"PKG_CONFIG_PATH": str(installed / "lib" / "pkgconfig"),
                        "CFLAGS": "-Werror"}
    output("make", "-C", str(folder), env=env)
    return str(folder / "greet")


def test_the_library_shows_its_header_and_nothing_else():
    shown = {line.split()[-1] for line in output("nm", "-D", "--defined-only", LIBRARY).splitlines()}
    declared = set(re.findall(r"CLOCHE_API[^;(]*?\b(cloche_\w+)\(", HEADER.read_text()))
    assert shown == declared


def test_the_soname_follows_the_version():
    major, minor = (re.search(rf"CLOCHE_VERSION_{part} (\d+)", HEADER.read_text())[1]
                    for part in ("MAJOR", "MINOR"))
    soname = f"libcloche.so.{major}.{minor}" if major == "0" else f"libcloche.so.{major}"
    assert f"[{soname}]" in output("readelf", "-d", LIBRARY)


@pytest.mark.parametrize("language", [["-x", "c", "-std=c99", "-Wpedantic"],
                                      ["-x", "c++", "-std=c++11", "-Wpedantic"]])
def test_the_header_stands_alone(tmp_path, language):
    if "c++" in language and shutil.which("c++") is None:
        pytest.skip("no C++ compiler")
    source = tmp_path / "alone"
    source.write_text("#include <cloche.h>\n")
    output("cc", *language, "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
           f"-I{HEADER.parent}", source)


def test_the_example_does_what_it_says(example, tmp_path):
    done = output(example, str(sample_vault(tmp_path)))
    said = dict(line.split(": ", 1) for line in done.splitlines())
    version = "".join(re.findall(r"CLOCHE_VERSION_\w+ (\d+)", HEADER.read_text()))
    assert said["version"].replace(".", "") == version
    evaluated = json.loads(said["evaluated"])
    assert evaluated["success"] and evaluated["result"] > 20
    assert json.loads(said["greeted"]) == {"greeting": "Hello", "to": {"name": "Ada"}}
    assert "name" in said["refused"]
    assert json.loads(said["read"])[0]["text"] == "all is well"
    assert said["stopped"] == "yes"
    assert int(said["records"]) >= 4  # two evaluations, the tool twice


def test_the_examples_calls_are_in_the_audit(cloche, example, tmp_path):
    vault = sample_vault(tmp_path)
    output(example, str(vault))
    rows = [json.loads(line) for line in
            output(cloche, "audit", "--json", "--vault", str(vault)).splitlines()]
    calls = [(r["caller"], r["action"], r["result"]) for r in rows if r["event"] == "call"]
    assert ("greeter", "greet", "success") in calls
    assert ("greeter", "greet", "InvalidInput") in calls
    assert ("embedder", "evaluate_note_code", "Cancelled") in calls


def test_an_mcp_client_finds_what_the_example_adds(example, tmp_path):
    with Stdio([example, str(sample_vault(tmp_path)), "serve"]) as server:
        server.ask(initialize())
        server.send(notification("notifications/initialized"))
        tools = server.ask(request("tools/list", id=1))["result"]["tools"]
        assert {"evaluate_note_code", "greet"} <= {t["name"] for t in tools}
        answer = server.ask(call("greet", {"name": "Grace"}, id=2))
        assert structured(answer)["to"] == {"name": "Grace"}
        read = server.ask(request("resources/read", {"uri": "greet://status"}, id=3))
        assert read["result"]["contents"][0]["text"] == "all is well"
        assert server.end()[1] == 0


def test_an_installed_program_finds_its_guests(installed, tmp_path):
    """Moved as a whole, too: nothing in it knows where it was built."""
    moved = shutil.copytree(installed, tmp_path / "moved", symlinks=True,
                            ignore=shutil.ignore_patterns("vm"))
    answer = output(str(moved / "bin" / "cloche"), "eval", "-e", "6 * 7")
    assert json.loads(answer)["result"] == 42
    (tmp_path / "vault").mkdir()
    answer = output(str(moved / "bin" / "cloche"), "eval", "--vault", str(tmp_path / "vault"), "-e",
                    "return (await notes.searchSQL('SELECT 6 * 7 AS n')).rows[0].n")
    assert json.loads(answer)["result"] == 42


@pytest.mark.skipif(not (ROOT / "build/vm/machine-512.mem").exists(), reason="there is no image: make vm")
def test_an_installed_program_finds_its_machine(installed):
    program = str(installed / "bin" / "cloche")
    assert output(program, "vm", "exec", "--", "echo", "hi") == "hi\n"
    image = [f.stat() for f in (installed / "lib/cloche/vm").iterdir()]
    assert sum(f.st_blocks for f in image) * 512 <= 110_000_000  # holes stay holes
    assert all(f.st_mode & 0o777 == 0o644 for f in image)


def test_the_page_about_it_tells_of_functions_that_are_there():
    page = (ROOT / "docs" / "embedding.md").read_text() + \
        Path(ROOT / "examples" / "embed" / "greet.c").read_text()
    declared = set(re.findall(r"\b(cloche_\w+)\(", HEADER.read_text()))
    assert set(re.findall(r"\b(cloche_\w+)\(", page)) <= declared
