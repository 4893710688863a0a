"""The pager of commands for people."""
import os
import pty
import subprocess

import pytest

from conftest import ROOT

BIN = os.environ.get("CLOCHE_BIN", ROOT / "build" / "cloche")


@pytest.fixture
def shown(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "Plan.md").write_text("# Plan\n\n\x1b[31mred\n")

    def run(*words, **env):
        """What stands on the terminal."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([BIN, *words, "--vault", tmp_path / "notes"], stdin=theirs, stdout=theirs,
                                   stderr=theirs, env={k: v for k, v in os.environ.items() if k != "LESS"} | env)
        os.close(theirs)
        out = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            out += piece
        os.close(ours)
        assert process.wait(timeout=60) == 0, out
        return out.decode()
    return run


def test_a_list_goes_through_the_pager_that_is_named(shown):
    assert "<< note/Plan" in shown("ls", PAGER="sed 's/.*note/<< note/'")
    assert "<< note/Plan" in shown("ls", PAGER="false", CLOCHE_PAGER="sed 's/.*note/<< note/'")
    assert "LESS is FRX" in shown("ls", PAGER='echo "LESS is $LESS"')


def test_what_moves_a_cursor_is_written_out_for_it_too(shown):
    out = shown("get", "Plan", PAGER="sed s/red/RED/")
    assert "RED" in out and "\x1b[31m" not in out


@pytest.mark.parametrize("pager", ["", "cat"])
def test_an_empty_one_is_none(shown, pager):
    assert "note/Plan" in shown("ls", PAGER=pager)


def test_it_can_be_left_out(shown):
    assert "<<" not in shown("--no-pager", "ls", PAGER="sed s/note/\\<\\</")


def test_what_is_no_terminal_has_none(tmp_path):
    (tmp_path / "Plan.md").write_text("# Plan\n")
    out = subprocess.run([BIN, "ls", "--vault", tmp_path], stdout=subprocess.PIPE, text=True, timeout=60,
                         env=os.environ | {"PAGER": "sed s/note/xxx/"})
    assert out.stdout == "note/Plan\n"


def test_json_and_a_pager_that_ends_early_do_no_harm(shown):
    assert "xxx" not in shown("ls", "--json", PAGER="sed s/note/xxx/")
    assert shown("ls", PAGER="true") == ""
