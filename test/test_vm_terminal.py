"""A session typed at `cloche vm shell` and in qemu-system-riscv64, with the same kernel, root and
init, gives the same screens."""
import os
import re
import time

import machine_terminal as terminal
import pytest
from machine import Native, Qemu
from machine_doors import needs_image

pytestmark = needs_image
PATIENCE_S = 120  # only a defect takes that long


@pytest.fixture
def theirs(tmp_path):
    place = tmp_path / "qemu"
    place.mkdir()
    with Qemu(place) as qemu:
        yield terminal.Theirs(qemu)


@pytest.fixture
def ours(cloche, tmp_path):
    if os.environ.get("CLOCHE_MACHINE") == "Native":
        place = tmp_path / "native"
        place.mkdir()
        with Native(place) as native:
            yield terminal.Theirs(native)
        return
    shell = terminal.Ours([cloche, "vm", "shell"], {**os.environ, "TERM": "xterm-256color"})
    yield shell
    shell.close()


def shows(side, wanted, before):
    """Whether its screen shows what is waited for."""
    if wanted is terminal.PROMPT:
        return side.prompt() not in (None, before)
    return re.search(wanted, side.text(), re.M) is not None


def settle(sides, wanted, before):
    """Waits until both show it and are equal. Reports both screens if that never happens."""
    end = time.monotonic() + PATIENCE_S
    while not (all(shows(s, wanted, b) for s, b in zip(sides, before)) and
               sides[0].text() == sides[1].text()):
        assert time.monotonic() < end, "\n".join(
            f"--- {name}\n{s.text()}" for name, s in zip(("ours", "qemu"), sides))
        for side in sides:
            side.pump(0.02)


def first_prompt(sides):
    end = time.monotonic() + PATIENCE_S
    while not all(s.text().endswith("# " + terminal.CURSOR) for s in sides):
        assert time.monotonic() < end, [s.text() for s in sides]
        for side in sides:
            side.pump(0.02)


def test_a_session_of_many_commands_draws_what_it_draws_under_qemu(ours, theirs):
    sides = ours, theirs
    first_prompt(sides)
    for keys, wanted in terminal.SESSION[:-1]:
        if isinstance(keys, terminal.Resize):
            for side in sides:
                side.resize(*keys.size)
            if not wanted:
                continue
        before = [side.last_prompt() for side in sides]
        for side in sides:
            if isinstance(keys, str):
                side.write(keys.encode())
        try:
            settle(sides, wanted, before)
        except AssertionError as e:
            raise AssertionError(f"after {keys!r}:\n{e}") from None
    for side in sides:
        side.write(terminal.SESSION[-1][0].encode())
        with pytest.raises(EOFError):
            while True:
                side.pump(10)
    assert [side.ended() for side in sides] == [3, 3]
