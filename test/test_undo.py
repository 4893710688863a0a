"""An agent's changes, shown and undone from the command line."""
import json
import os
import subprocess

import pytest

from conftest import ROOT

BIN = os.environ.get("CLOCHE_BIN", ROOT / "build" / "cloche")
NOTES = {"Plan.md": "# Plan\n\nsee [[Ideas]]\n", "Ideas.md": "# Ideas\n\none\n", "Old.md": "# Old\n"}


def run(vault, *words, code=0, **env):
    done = subprocess.run([BIN, words[0], "--vault", vault, *words[1:]], text=True,
                          capture_output=True, timeout=120, env=os.environ | env)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout if code != 2 else done.stderr


@pytest.fixture
def worked(tmp_path):
    """A vault in which an evaluation has changed, renamed, created and deleted notes."""
    vault = tmp_path / "notes"
    vault.mkdir()
    for name, text in NOTES.items():
        (vault / name).write_text(text)
    run(vault, "eval", "-e", """
        await notes.rename({identifier: 'Ideas.md', new_title: 'Thoughts', force: true});
        await notes.update({identifier: 'Thoughts.md', content: '# Thoughts\\n\\ntwo\\n', force: true});
        await notes.create({type: 'made', title: 'New'});
        await notes.delete('Old.md')""")
    return vault


def files(vault):
    return {str(p.relative_to(vault)): p.read_text() for p in vault.rglob("*.md")
            if ".cloche" not in p.parts}


def last_call(vault):
    return json.loads(run(vault, "log", "--json", "--limit", "1"))[0]["call"]


def test_the_log_names_the_call_and_each_note(worked):
    call = last_call(worked)
    told = run(worked, "log", "--diff")
    assert told.splitlines()[0].startswith(call) and "terminal" in told and "4 notes" in told
    assert "-one" in told and "+two" in told and "(was Ideas.md)" in told
    assert "\033" not in told
    assert run(worked, "log", "--agent", "nobody") == ""


def test_one_command_takes_a_call_back(worked):
    call = last_call(worked)
    before = files(worked)
    shown = run(worked, "undo", call, "--dry-run")
    assert "+one" in shown and "4 notes would be as before, 0 stay" in shown
    assert files(worked) == before
    assert "4 notes as before, 0 stay" in run(worked, "undo", call)
    assert files(worked) == NOTES
    # An undo is undone like any other call.
    assert json.loads(run(worked, "undo", "--json", last_call(worked)))["undone"] == 4
    assert files(worked) == before


def test_what_a_person_wrote_since_stays(worked):
    (worked / "Thoughts.md").write_text("# Thoughts\n\nmine\n")
    told = run(worked, "undo", "--since", "1h", code=1)
    assert "stays    note/Thoughts: another program has changed it since" in told
    assert "+two" in told and "+mine" in told
    now = files(worked)
    assert now.keys() == {"Plan.md", "Thoughts.md", "Old.md"}
    assert now["Thoughts.md"] == "# Thoughts\n\nmine\n"


def test_history_restore_and_trash(worked):
    assert "note/Old" in run(worked, "trash")
    assert "note/Old is as in revision" in run(worked, "restore", "Old.md")
    assert files(worked)["Old.md"] == NOTES["Old.md"]
    rows = json.loads(run(worked, "history", "Thoughts.md", "--json"))
    assert [r["action"] for r in rows] == ["update", "rename", "external"]
    assert "external" in run(worked, "history", "Thoughts")
    run(worked, "restore", "Thoughts", "1")
    assert files(worked)["Thoughts.md"] == NOTES["Ideas.md"]
    run(worked, "restore", "Thoughts")
    assert "two" in files(worked)["Thoughts.md"]


def test_wrong_calls_say_what_is_accepted(worked):
    assert "--since 1h" in run(worked, "undo", code=2)
    assert "30m" in run(worked, "undo", "--since", "yesterday", code=2)
    assert "whole number" in run(worked, "log", "--limit", "none", code=2)
    assert "give a NOTE" in run(worked, "history", code=2)
    run(worked, "undo", "none", code=1)
    run(worked, "history", "nothing", code=1)


def test_times_are_those_of_the_person(worked):
    utc, later = (run(worked, "log", TZ=zone).splitlines()[0] for zone in ("UTC", "UTC-14"))
    assert utc != later and len(utc) == len(later)


def test_a_call_that_is_denied_is_denied_as_a_part_of_others(worked):
    policy = worked / ".cloche" / "policy.json"
    policy.write_text('{"deniedAPIs": ["notes.delete"]}')
    before = files(worked)
    call = last_call(worked)
    for code in ("notes.delete('note/Plan')",
                 "notes.batch({changes: [{action: 'create', title: 'Other'},"
                 " {action: 'delete', identifier: 'note/Plan', confirm: true}]})",
                 "noteTypes.delete({type_name: 'made', action: 'delete', confirm: true})"):
        told = run(worked, "eval", "-e", f"await {code}", code=1)
        assert "PermissionDenied" in told and "notes.delete" in told, told
        assert files(worked) == before
    # A note that it created stays, and everything else is as before.
    told = json.loads(run(worked, "eval", "--raw", "-e",
                          f"return notes.undo({{call: '{call}'}})"))
    assert told["undone"] == 3 and told["kept"] == 1
    assert "notes.delete" in told["refused"][0]["reason"]
    now = files(worked)
    assert now.pop("made/New.md") == before["made/New.md"] and now == NOTES
    policy.unlink()
    run(worked, "undo", call)
    assert files(worked) == NOTES
