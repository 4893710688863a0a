"""Notes made, edited, moved and removed at the command line."""
import json
import os
import subprocess

import pytest

from conftest import ROOT

BIN = os.environ.get("CLOCHE_BIN", ROOT / "build" / "cloche")


@pytest.fixture
def keep(tmp_path):
    vault = tmp_path / "notes"
    (vault / "plan").mkdir(parents=True)
    (vault / "plan" / "Water.md").write_text("---\nup: \"[[Garden]]\"\ntags: [dry]\n---\n[[Garden]] #dry/bed\n")
    (vault / "Garden.md").write_text("# Garden\n\nbasil\n")

    def run(*words, code=0, input=None, **env):
        done = subprocess.run([BIN, words[0], "--vault", vault, *words[1:]], input=input, text=True,
                              capture_output=True, timeout=120, env={**os.environ, **env})
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout if code == 0 else done.stderr
    run.vault = vault
    return run


def test_a_note_is_made_of_words_or_standard_input(keep):
    assert keep("new", "Beans", "sow in May", "--folder", "plan") == "plan/Beans\n"
    assert (keep.vault / "plan" / "Beans.md").read_text().endswith("sow in May")
    assert keep("new", "Peas", "-", "--type", "plan", input="sow in\nMarch\n") == "plan/Peas\n"
    assert (keep.vault / "plan" / "Peas.md").read_text().endswith("sow in\nMarch\n")
    assert "exists" in keep("new", "Peas", "--type", "plan", code=1)
    assert keep("new", "Leek", "--folder", "plan", "--dry-run").startswith("create   plan/Leek.md")
    assert not (keep.vault / "plan" / "Leek.md").exists()


def test_the_daily_note_is_made_once_and_lines_are_added(keep):
    today = keep("daily", "--dry-run")
    assert today.startswith("create")
    made = keep("daily", "2026-12-01", "--append", "- [ ] water the beans").strip()
    assert "2026-12-01" in made
    assert keep("daily", "2026-12-01", "--append", "-", input="one\ntwo\n").strip() == made
    assert keep("get", made).endswith("- [ ] water the beans\none\ntwo\n")
    assert keep("daily", "2026-12-01").strip() == made
    assert json.loads(keep("daily", "2026-12-01", "--json"))["created"] is False
    assert "date" in keep("daily", "someday", code=2)


def test_links_follow_a_note_that_is_renamed_or_moved(keep):
    water = keep.vault / "plan" / "Water.md"
    assert "-> plan/Garden.md" in keep("mv", "Garden", "plan/", "--dry-run")
    assert keep("mv", "Garden", "Allotment") == "note/Allotment\n"
    assert water.read_text() == "---\nup: \"[[Allotment]]\"\ntags: [dry]\n---\n[[Allotment]] #dry/bed\n"
    assert keep("mv", "Allotment", "plan/old/Garden") == "plan/old/Garden\n"
    assert (keep.vault / "plan" / "old" / "Garden.md").exists()
    assert water.read_text() == "---\nup: \"[[Garden]]\"\ntags: [dry]\n---\n[[Garden]] #dry/bed\n"
    assert "no note" in keep("mv", "None", "X", code=1)
    assert "TITLE" in keep("mv", "Garden", code=2)


def test_a_note_that_others_link_to_stays_unless_forced(keep):
    assert "linked from plan/Water" in keep("rm", "Garden", code=1)
    assert (keep.vault / "Garden.md").exists()
    assert "delete" in keep("rm", "Garden", "Water", "--dry-run")
    gone = keep("rm", "Garden", "plan/Water").split()
    assert len(gone) == 2 and all((keep.vault / path).exists() for path in gone)
    assert keep("ls") == ""
    call = keep("log").split()[0]
    keep("undo", call)
    assert sorted(keep("ls").split()) == ["note/Garden", "plan/Water"]
    keep("rm", "--force", "Garden")
    assert keep("links", "--broken") == "plan/Water\tGarden\nplan/Water\tGarden\n"


def test_links_of_a_note_go_both_ways(keep):
    assert keep("links", "Garden") == "<-\tplan/Water\n<-\tplan/Water\n"
    assert keep("links", "Water") == "->\tnote/Garden\n->\tnote/Garden\n"
    assert json.loads(keep("links", "Water", "--json"))["outgoing_internal"][1]["line"] == 1
    assert keep("links", "--broken") == ""
    assert "NOTE" in keep("links", code=2)


def test_a_tag_is_renamed_with_those_beneath_it(keep):
    assert keep("tags") == "dry\ndry/bed\n"
    assert keep("tags", "rename", "dry", "arid", "--dry-run").endswith("1 note would be changed\n")
    assert keep("tags", "rename", "dry", "arid") == "1 note changed\n"
    assert keep("tags") == "arid\narid/bed\n"
    assert json.loads(keep("tags", "--json")) == [{"tag": "arid", "notes": 1}, {"tag": "arid/bed", "notes": 1}]
    assert "no note has the tag" in keep("tags", "rename", "dry", "x", code=1)
    assert "rename TAG NEW" in keep("tags", "rename", "dry", code=2)


def test_an_editor_gets_the_file_and_its_text_comes_back(keep, tmp_path):
    garden = keep.vault / "Garden.md"
    editor = tmp_path / "my editor"
    editor.write_text('#!/bin/sh\necho "$1 $2" >"$EDITED"\necho leek >>"$2"\n')
    editor.chmod(0o755)
    command = f"'{editor}' --wait"
    assert keep("edit", "Garden", VISUAL=command, EDITED=str(tmp_path / "e")) == "note/Garden changed\n"
    assert garden.read_text() == "# Garden\n\nbasil\nleek\n"
    words = (tmp_path / "e").read_text().split()
    assert words[0] == "--wait" and words[1].endswith("/Garden.md") and not os.path.exists(words[1])
    assert keep("edit", "Garden", VISUAL="true") == "note/Garden unchanged\n"
    assert "nothing was written" in keep("edit", "Garden", VISUAL="false", code=1)
    # Somebody else writes meanwhile.
    editor.write_text(f'#!/bin/sh\necho mine >"$2"\necho theirs >"{garden}"\n')
    why = keep("edit", "Garden", VISUAL=command, code=1)
    assert garden.read_text() == "theirs\n"
    kept = next(word for word in why.replace(":", " ").split() if word.startswith("/tmp/cloche-edit-"))
    assert open(kept).read() == "mine\n"


def test_a_note_opens_in_obsidian_or_its_own_program(keep):
    assert keep("open", "Garden", CLOCHE_OPENER="echo") == f"{keep.vault}/Garden.md\n"
    (keep.vault / ".obsidian").mkdir()
    opened = keep("open", "Garden", CLOCHE_OPENER="echo")
    assert opened.startswith("obsidian://open?path=%2F") and opened.endswith("Garden.md\n")


def test_tasks_of_all_notes_are_listed(keep):
    (keep.vault / "plan" / "Beds.md").write_text("- [ ] dig 📅 2026-12-01 #garden\n- [x] rest\n- [ ] sow\n")
    assert keep("tasks") == "[ ] dig 📅 2026-12-01 #garden\tplan/Beds:1\n[ ] sow\tplan/Beds:3\n"
    assert keep("tasks", "--done") == "[x] rest\tplan/Beds:2\n"
    assert keep("tasks", "--tag", "garden") == keep("tasks", "dig") == keep("tasks", "--due-before", "2026-12-02")
    assert len(json.loads(keep("tasks", "--all", "--json"))) == 3
    assert "2026-12-01" in keep("tasks", "--due-before", "May", code=2)


def test_git_keeps_what_is_a_persons_own_and_nothing_else(keep):
    def git(*words):
        return subprocess.run(["git", "-C", keep.vault, *words], check=True, capture_output=True, text=True).stdout
    git("init", "-q")
    keep("new", "Beans")
    (keep.vault / ".cloche" / "types").mkdir()
    (keep.vault / ".cloche" / "types" / "plan.md").write_text("# plan\n")
    (keep.vault / ".cloche" / "settings.json").write_text("{}")
    untracked = git("ls-files", "--others", "--exclude-standard", ".cloche").split()
    assert untracked == [".cloche/.gitignore", ".cloche/settings.json", ".cloche/types/plan.md"]
    # Whoever removes it is rid of it.
    (keep.vault / ".cloche" / ".gitignore").unlink()
    keep("new", "Peas")
    assert not (keep.vault / ".cloche" / ".gitignore").exists()
