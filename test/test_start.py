"""What a start of the program loads, and what it loads later: libraries, compiled modules."""
import json
import os
import re
import subprocess
import uuid
import zipfile
from pathlib import Path

import pytest

from wire import Stdio, call, initialize, structured, until

ROOT = Path(__file__).resolve().parent.parent


def needed(program):
    """The libraries that are loaded before the program begins."""
    told = subprocess.run(["objdump", "-p", program], capture_output=True, text=True, check=True)
    return {line.split()[1] for line in told.stdout.splitlines() if "NEEDED" in line}


@pytest.fixture(scope="module")
def lazy(cloche):
    """The program, if it loads its libraries lazily."""
    if "libgnutls.so.30" in needed(cloche):
        pytest.skip("this build of the program is linked to its libraries")
    return cloche


def mapped(pid):
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {Path(line.split()[5]).name for line in lines if len(line.split()) > 5}


def test_the_program_begins_with_the_c_library_alone(lazy):
    assert needed(lazy) <= {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}


def test_a_server_on_stdio_loads_nothing_of_http_tls_and_archives(lazy, vault):
    with Stdio([lazy, "mcp", "--vault", str(vault)]) as client:
        client.ask(initialize())
        note = structured(client.ask(call("get_note", {"identifier": "Glossary"}, id=1)))
        assert note
        there = mapped(client.process.pid)
        assert any(name.startswith("libsqlite3") for name in there)
        for absent in ("libmicrohttpd", "libgnutls", "libzip", "libcurl"):
            assert not [name for name in there if name.startswith(absent)], absent


def test_a_library_that_cannot_be_loaded_is_named_when_it_is_needed(lazy, tmp_path):
    [libzip] = {name.decode() for name in re.findall(rb"libzip\.so\.\d+", Path(lazy).read_bytes())}
    (tmp_path / libzip).write_bytes(b"")
    how = {"capture_output": True, "text": True, "timeout": 60,
           "env": os.environ | {"LD_LIBRARY_PATH": str(tmp_path)}}
    assert subprocess.run([lazy, "eval", "-e", "return 1"], **how).returncode == 0
    told = subprocess.run([lazy, "doctor"], **how)
    assert told.returncode == 1 and libzip in told.stderr
    package = tmp_path / "package.zip"
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("manifest.json", "{}")
        archive.writestr("tool.wasm", b"\0asm" * 100)
    told = subprocess.run([lazy, "tool", "install", str(package)], **how)
    assert told.returncode == 1 and libzip in told.stderr


# ---- what a server holds ------------------------------------------------------------------


def private_bytes(pid):
    """Private or copied memory: not mapped from a file."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(re.search(rf"^{name}:\s+(\d+) kB", rollup, re.M)[1]) << 10
               for name in ("Pss_Anon", "Pss_Shmem"))


def typescript(number):
    """Code that was never run before."""
    code = f"const x: number = {number}; /* {uuid.uuid4()} */ return x"
    return call("evaluate_note_code", {"language": "typescript", "code": code}, id=number)


def matched(number):
    return call("evaluate_note_code", {
        "code": "return (await notes.search({query: 'TODO|Ada', useRegex: true})).length"}, id=number)


def test_what_nobody_has_used_for_a_while_is_given_back_and_loaded_again(cloche, vault):
    with Stdio([cloche, "mcp", "--vault", str(vault)],
               env=os.environ | {"CLOCHE_IDLE_MS": "1"}) as client:
        client.ask(initialize())
        for number in (1, 2, 3):
            told = structured(client.ask(typescript(number)))
            assert told["result"] == number
            until(lambda: "typescript.img" not in mapped(client.process.pid))
        assert structured(client.ask(matched(9)))["success"]
        until(lambda: "pattern.img" not in mapped(client.process.pid))


def test_what_is_used_stays_loaded(cloche, vault):
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        client.ask(initialize())
        client.ask(typescript(1))
        client.ask(matched(2))
        assert {"typescript.img", "pattern.img"} <= mapped(client.process.pid)


@pytest.mark.skipif(not (ROOT / "build/guest/checker.bare.wasm").exists(),
                    reason="the type checker is not built")
def test_a_server_at_rest_holds_less_than_15_mb(cloche, vault):
    checked = {"code": f"const n: number = 'text'; /* {uuid.uuid4()} */ return n",
               "language": "typescript", "typesOnly": True}
    with Stdio([cloche, "mcp", "--vault", str(vault)],
               env=os.environ | {"CLOCHE_IDLE_MS": "1"}) as client:
        client.ask(initialize())
        client.ask(typescript(1))
        assert private_bytes(client.process.pid) < 15 << 20
        found = client.ask(call("evaluate_note_code", checked, id=2))
        assert "not assignable" in json.dumps(found)
        until(lambda: private_bytes(client.process.pid) < 15 << 20)
