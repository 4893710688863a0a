"""The own tests of the packages in the guest's library, in worlds: two packages in each check, all with CLOCHE_PYTHON=deep.

Tests that fail are in python_packages_failures.txt, below reasons.
"""
import os

import pytest

from conftest import ROOT
from needs import installed
from python_packages import FOLDER, PARTS, Packages
from python_suite import read_failures

pytestmark = installed(ROOT / "build/guest/python.bare.wasm", FOLDER, by="make python, and deps/fetch test")

CHECKED = ["markupsafe", "tabulate"]
IS_DEEP = os.environ.get("CLOCHE_PYTHON") == "deep"
RAN_AT_LEAST = 18000 if IS_DEEP else 200  # tests
KNOWN = read_failures(ROOT / "test/python_packages_failures.txt")
ran = {}


@pytest.fixture(scope="module")
def packages(cloche, tmp_path_factory):
    made = Packages(cloche, tmp_path_factory.mktemp("packages"))
    yield made
    made.close()


@pytest.mark.parametrize("part", PARTS if IS_DEEP else CHECKED)
def test_a_package_passes_its_own_tests(packages, part):
    outcome = packages.run(part)
    assert outcome.get("status") in (0, 1), outcome
    assert not {test: why for test, why in outcome["failed"].items() if f"{part} {test}" not in KNOWN}
    ran[part] = outcome["ran"]


def test_most_of_the_tests_have_run():
    assert sum(ran.values()) >= RAN_AT_LEAST, sum(ran.values())


def test_each_failure_has_a_reason():
    assert all(KNOWN.values())
