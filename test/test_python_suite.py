"""CPython's own tests in worlds: 40 modules in each check, all of them with CLOCHE_PYTHON=deep.

Tests that fail are in python_suite_failures.txt below reasons, grouped by what their errors say. Modules
for which CPython itself finds something missing (threads, sockets, processes, a screen) do not run.
"""
import os

import pytest

from conftest import ROOT
from needs import installed
from python_suite import Suite, modules, read_failures

pytestmark = installed(ROOT / "build/guest/python.bare.wasm", ROOT / "build/deps/python", by="make python")

# Of math and hashlib all passes, too; they take a minute each.
CHECKED = [f"test.test_{name}" for name in (
    "abc", "array", "base64", "bisect", "bool", "calendar", "cmath", "collections", "contextlib", "copy", "csv",
    "datetime", "dict", "difflib", "enum", "float", "fnmatch", "fractions", "functools", "generators",
    "heapq", "html", "htmlparser", "int", "itertools", "json.test_decode", "json.test_dump", "keyword", "list",
    "operator", "pathlib.test_pathlib", "patma", "re", "set", "string", "struct", "textwrap", "tomllib.test_misc", "tuple",
    "uuid", "xml_etree", "zlib")]
FAILURES = ROOT / "test/python_suite_failures.txt"
IS_DEEP = os.environ.get("CLOCHE_PYTHON") == "deep"
RAN_AT_LEAST = 31000  # tests, of all modules


KNOWN = read_failures(FAILURES)
ran = {}


@pytest.fixture(scope="module")
def suite(cloche, tmp_path_factory):
    made = Suite(cloche, tmp_path_factory.mktemp("suite"))
    yield made
    made.close()


@pytest.mark.parametrize("module", modules() if IS_DEEP else CHECKED)
def test_a_module_of_cpython_passes(suite, module):
    outcome = suite.run(module)
    if "needs" in outcome and module not in CHECKED:
        return
    if module in KNOWN:
        assert "ended" in outcome, f"{module} runs now: its line in {FAILURES.name} is out of date"
        return
    assert "failed" in outcome, outcome
    new = {test: why for test, why in outcome["failed"].items() if test not in KNOWN}
    assert not new
    ran[module] = outcome["ran"]
    assert outcome["ran"] or module not in CHECKED


def test_most_of_the_suite_has_run():
    assert sum(ran.values()) >= (RAN_AT_LEAST if IS_DEEP else 2000), sum(ran.values())


def test_each_failure_has_a_reason():
    assert all(KNOWN.values())
    assert len(CHECKED) >= 40
