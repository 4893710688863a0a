"""What a start of the program loads, and what comes later: libraries, compiled modules."""
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from wire import Stdio, call, initialize, structured


def needed(program):
    """The libraries that are loaded before the program begins."""
    told = subprocess.run(["objdump", "-p", program], capture_output=True, text=True, check=True)
    return {line.split()[1] for line in told.stdout.splitlines() if "NEEDED" in line}


@pytest.fixture(scope="module")
def lazy(cloche):
    """The program, where it loads its libraries when it calls them."""
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
    (tmp_path / "libzip.so.4").write_bytes(b"")
    how = {"capture_output": True, "text": True, "timeout": 60,
           "env": os.environ | {"LD_LIBRARY_PATH": str(tmp_path)}}
    assert subprocess.run([lazy, "eval", "-e", "return 1"], **how).returncode == 0
    told = subprocess.run([lazy, "doctor"], **how)
    assert told.returncode == 1 and "libzip.so.4" in told.stderr
    package = tmp_path / "package.zip"
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("manifest.json", "{}")
        archive.writestr("tool.wasm", b"\0asm" * 100)
    told = subprocess.run([lazy, "tool", "install", str(package)], **how)
    assert told.returncode == 1 and "libzip.so.4" in told.stderr
