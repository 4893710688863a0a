"""What a test needs besides the program that it tests.

Two things are told apart. Something that a command of this project installs or builds is
`installed`: where it is missing, the test fails and names the command. Something that this
computer cannot have (a kernel's feature, a right, a file beside the checkout) is a fact of
the `system`: the test is skipped, and ./check prints why (dev/pytest_count.py).
"""
import pytest

SYSTEM = "this system: "


def installed(*paths, by):
    """A mark: the files are there, or the test fails. `by`: the command that brings them."""
    return pytest.mark.installed(*paths, by=by)


def require(*paths, by):
    """The same from within a fixture or a test."""
    missing = [str(p) for p in paths if not p.exists()]
    if missing:
        pytest.fail(f"{', '.join(missing)} is missing: {by} brings it", pytrace=False)


def require_marked(item):
    for mark in item.iter_markers("installed"):
        require(*mark.args, **mark.kwargs)


def system(has, lacks):
    """A mark: skipped where the system has it not. `lacks` says what, in a few words."""
    return pytest.mark.skipif(not has, reason=SYSTEM + lacks)


def skip(lacks):
    """The same from within a fixture or a test."""
    pytest.skip(SYSTEM + lacks)
