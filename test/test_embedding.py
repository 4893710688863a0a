"""The C library: its exports, and a program that uses it."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import needs
from conftest import ROOT, sample_vault
from test_permissions import link
from wire import Stdio, call, initialize, notification, request, structured

HEADER = ROOT / "include" / "cloche.h"
LIBRARY = ROOT / "build" / "lib" / "libcloche.so"


def output(*command, **how):
    return subprocess.run(command, capture_output=True, text=True, check=True, **how).stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Where `make install` put it."""
    place = tmp_path_factory.mktemp("installed")
    output("make", "-C", str(ROOT), "install", f"PREFIX={place}")
    return place


def test_makes_beside_each_other_share_no_file_that_is_being_written():
    rules = output("make", "-C", str(ROOT), "-n", "-W", "dev/lazy", "-W", "src/doors/cli/cli.c",
                   "build/release/lazy.o")
    assert "ar rcs build/release/cloche.a.$$ " in rules and "mv build/release/cloche.a.$$ " in rules
    assert "own=build/release/lazy.$$;" in rules and "lazy.S" not in rules


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
        pytest.fail("c++ is missing: deps/apt build test brings it")
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
    """It can be moved: no path of the build is in it."""
    moved = shutil.copytree(installed, tmp_path / "moved", symlinks=True,
                            ignore=shutil.ignore_patterns("vm"))
    answer = output(str(moved / "bin" / "cloche"), "eval", "-e", "6 * 7")
    assert json.loads(answer)["result"] == 42
    (tmp_path / "vault").mkdir()
    answer = output(str(moved / "bin" / "cloche"), "eval", "--vault", str(tmp_path / "vault"), "-e",
                    "return (await notes.searchSQL('SELECT 6 * 7 AS n')).rows[0].n")
    assert json.loads(answer)["result"] == 42


# What `make` builds besides what is always there, and where that is installed.
PARTS = {"tools": ("guest/tools", "guest/tools"), "vm": ("vm", "vm"),
         "checker": ("guest/checker.*", "guest/checker.bare.wasm")}
NOT_INSTALLED = {"debug", "asan", "tsan", "vault", "probe", "web"}


def checkout_with(parts, place):
    """This checkout, in whose build/ these parts were built."""
    for entry in ROOT.iterdir():
        if entry.name != "build":
            (place / entry.name).symlink_to(entry)
    shutil.copytree(ROOT / "build", place / "build", symlinks=True,
                    copy_function=lambda a, b: link(Path(a), Path(b)),
                    ignore=lambda folder, _: NOT_INSTALLED if folder == str(ROOT / "build") else ())
    for part in PARTS.keys() - parts:
        for found in (place / "build").glob(PARTS[part][0]):
            shutil.rmtree(found) if found.is_dir() else found.unlink()
    return place


@needs.installed(ROOT / "build/vm/machine-512.mem", by="make vm")
@needs.installed(ROOT / "build/guest/tools", by="make tools")
@needs.installed(ROOT / "build/guest/checker.bare.wasm", by="make checker")
@pytest.mark.parametrize("parts", [set(), *({p} for p in PARTS), set(PARTS)],
                         ids=lambda parts: "+".join(sorted(parts)) or "none")
def test_whatever_was_built_is_installed(parts, tmp_path):
    (tmp_path / "checkout").mkdir()
    checkout = checkout_with(parts, tmp_path / "checkout")
    output("make", "-C", str(checkout), "install", f"DESTDIR={tmp_path}/root", "PREFIX=/usr")
    there = tmp_path / "root/usr/lib/cloche"
    assert {p for p, (_, file) in PARTS.items() if (there / file).exists()} == parts
    answer = output(str(tmp_path / "root/usr/bin/cloche"), "eval", "-e", "6 * 7")
    assert json.loads(answer)["result"] == 42


@needs.installed(ROOT / "build/vm/machine-512.mem", by="make vm")
def test_an_installed_program_finds_its_machine(installed):
    program = str(installed / "bin" / "cloche")
    assert output(program, "vm", "exec", "--", "echo", "hi") == "hi\n"
    image = [f.stat() for f in (installed / "lib/cloche/vm").iterdir()]
    assert sum(f.st_blocks for f in image) * 512 <= 135_000_000  # holes stay holes
    assert all(f.st_mode & 0o777 == 0o644 for f in image)


def test_the_page_about_it_tells_of_functions_that_are_there():
    page = (ROOT / "docs" / "embedding.md").read_text() + \
        Path(ROOT / "examples" / "embed" / "greet.c").read_text()
    declared = set(re.findall(r"\b(cloche_\w+)\(", HEADER.read_text()))
    assert set(re.findall(r"\b(cloche_\w+)\(", page)) <= declared
