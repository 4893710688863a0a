"""Every command-line tool gives the native program's results (compare.py)."""
import json
import os

import pytest
from compare import PACKAGES, all_cases, errors_of, run_native, run_wasm

ALL = list(all_cases())
MANIFESTS = {json.loads(f.read_text())["name"]: f for f in sorted(PACKAGES.glob("*/*.json"))}


@pytest.fixture(scope="session")
def settings(tmp_path_factory):
    """Folders of their own, but a shared cache of compiled modules."""
    place = tmp_path_factory.mktemp("tool-settings")
    kept = {k: v for k, v in os.environ.items() if k in ("HOME", "XDG_CACHE_HOME", "PATH")}
    return kept | {f"XDG_{k}_HOME": str(place / k.lower()) for k in ("CONFIG", "DATA", "STATE")}


def described(one):
    return " ".join(one.args)[:60]


@pytest.mark.parametrize("tool,number,one,reference", ALL,
                         ids=[f"{t}-{n}" for t, n, _, _ in ALL])
def test_a_tool_answers_as_its_native_program(cloche, settings, tool, number, one, reference):
    ours = run_wasm(cloche, tool, one, settings)
    if one.check:
        assert one.check(ours), f"{tool} {described(one)}: {ours}"
        return
    native = run_native(reference, one)
    shown = f"{tool} {described(one)}: {ours.stderr[-300:]!r}, natively {native.stderr[-300:]!r}"
    assert ours.stdout == native.stdout, shown
    assert ours.exit == native.exit, shown
    assert ours.files == native.files, shown
    if errors := errors_of(tool):
        assert errors(ours.stderr.decode(), ours.folder) == errors(
            native.stderr.decode(), native.folder), shown


@pytest.mark.parametrize("tool", MANIFESTS)
def test_a_tool_has_at_least_ten_cases(tool):
    assert sum(1 for t, *_ in ALL if t == tool) >= 10
