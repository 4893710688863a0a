"""Fixtures of the tests of the real program: its path, a vault, a running server."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test"))
# All traffic is local, whatever proxies the environment names.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "*"
# No test starts the build of the type checker.
os.environ["CLOCHE_CHECKER"] = "off"

import needs  # noqa: E402
import spec  # noqa: E402
from wire import Server, Stdio  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "installed(*paths, by): test/needs.py")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    needs.require_marked(item)


def pytest_report_header():
    missing = [v for v in (spec.MODERN, *spec.LEGACY[:2]) if spec.path_of(v) is None]
    if missing:
        return (f"the specification's schemas of {', '.join(missing)} are not at {spec.FOLDER}:"
                " messages are held to JSON-RPC alone")


@pytest.fixture(scope="session")
def cloche():
    """The program under test: $CLOCHE_BIN, or the one that was built."""
    program = Path(os.environ.get("CLOCHE_BIN", ROOT / "build" / "cloche")).resolve()
    if not program.exists():
        pytest.fail(f"{program} is not there: build it, or set CLOCHE_BIN")
    return str(program)


@pytest.fixture(scope="session")
def fixtures(cloche):
    """The program with the fixtures of src/conformance, built beside it."""
    program = Path(cloche).with_name("cloche-conformance")
    if not program.exists():
        pytest.fail(f"{program} is not there: run 'make conformance'")
    return str(program)


def folders_in(place):
    """Settings that keep a program away from the user's vaults and policy."""
    return {f"XDG_{kind.upper()}_HOME": str(place / kind)
            for kind in ("config", "data", "state")}


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """No test sees or changes the vaults and settings of the user who runs it."""
    for name, folder in folders_in(tmp_path).items():
        monkeypatch.setenv(name, folder)


def policy_in(place, policy):
    """Writes the user's policy, in these settings' folders."""
    folder = place / "config" / "cloche"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.json").write_text(json.dumps(policy))


def sample_vault(place):
    return shutil.copytree(ROOT / "examples" / "vault", place / "vault",
                           ignore=shutil.ignore_patterns(".cloche"))


@pytest.fixture
def vault(tmp_path):
    """A writable copy of the sample vault."""
    return sample_vault(tmp_path)


@pytest.fixture
def stdio(cloche, vault):
    """`cloche mcp` over the vault, a line a message."""
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        yield client


@pytest.fixture
def server(cloche, vault):
    """`cloche serve` over the vault, on a port of its own."""
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"]) as s:
        yield s


@pytest.fixture(scope="module")
def served(fixtures, tmp_path_factory):
    """`cloche-conformance serve` for the tests of one file."""
    place = tmp_path_factory.mktemp("served")
    policy_in(place, {"tools": {"default": "always", "listed": ["jq"]}})
    with Server([fixtures, "serve", "--vault", str(sample_vault(place)), "--listen",
                 "127.0.0.1:0"], env=os.environ | folders_in(place)) as s:
        yield s


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """One for all tests of a file, whose `browser` takes a page of it."""
    from test_page import Browser
    with Browser(tmp_path_factory.mktemp("chromium")) as b:
        yield b


@pytest.fixture(scope="session", autouse=True)
def warm(cloche):
    """Compiles the guest once, so that no test waits for that."""
    line = ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":'
            '"evaluate_note_code","arguments":{"code":"return 1"}}}\n')
    subprocess.run([cloche, "mcp"], input=line, text=True, capture_output=True, timeout=300,
                   check=True)
