"""Notes as a person looks for them at the command line."""
import json
import os
import subprocess

import pytest

from conftest import ROOT

BIN = os.environ.get("CLOCHE_BIN", ROOT / "build" / "cloche")


@pytest.fixture
def look(tmp_path):
    vault = tmp_path / "notes"
    (vault / "plan").mkdir(parents=True)
    (vault / "Garden.md").write_bytes(b"# Garden\r\n\r\nbasil and caf\xc3\xa9\r\n")
    (vault / "plan" / "Water.md").write_text("---\ntags: [x]\n---\nbasil, too\n")

    def run(*words, code=0):
        done = subprocess.run([BIN, words[0], "--vault", vault, *words[1:]],
                              capture_output=True, timeout=120)
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout.decode() if code == 0 else done.stderr.decode()
    return run


def test_a_pipe_gets_ids(look):
    assert sorted(look("search", "basil").split("\n")) == ["", "note/Garden", "plan/Water"]
    assert look("search", "basil", "café") == "note/Garden\n"
    assert look("search", "nothing") == ""
    assert look("ls", "--type", "plan") == "plan/Water\n"
    assert len(look("ls").splitlines()) == 2
    assert len(look("ls", "--limit", "1").splitlines()) == 1


def test_json_is_the_answer_of_the_route(look):
    assert [row["id"] for row in json.loads(look("ls", "--json", "--type", "plan"))] == ["plan/Water"]
    assert json.loads(look("search", "too", "--json"))[0]["id"] == "plan/Water"
    assert json.loads(look("get", "Water", "--json"))["tags"] == ["x"]


def test_a_note_is_printed_byte_for_byte(look):
    assert look("get", "Garden") == "# Garden\r\n\r\nbasil and café\r\n"
    assert look("get", "plan/Water").endswith("basil, too\n")


def test_wrong_words_are_refused(look):
    assert "no note" in look("get", "None", code=1)
    assert "WORDS" in look("search", code=2)
    assert "NOTE" in look("get", code=2)
    assert "whole number" in look("ls", "--limit", "0", code=2)
    assert "--limit needs a value" in look("search", "basil", "--limit", "--json", code=2)
    assert "did you mean --type" in look("ls", "--tipe", "x", code=2)


@pytest.mark.parametrize("words", [["get", ""], ["links", ""], ["history", ""], ["edit", ""], ["mv", "Garden", ""], ["search", "x" * 70000]],
                         ids=lambda words: f"{words[0]} {words[-1][:3]}")
def test_what_says_nothing_is_refused(look, words):
    said = look(*words, code=2)
    assert said.startswith("cloche: ") and "WORDS" not in said


@pytest.mark.parametrize("words", [["get", "Garden"], ["search", "basil"], ["ls"], ["tags"], ["search", "basil", "--json"], ["policy", "show"], ["--help"]], ids=" ".join)
def test_output_that_is_lost_is_a_failure(tmp_path, words):
    (tmp_path / "Garden.md").write_text("basil #herb\n")
    vault = [] if words == ["--help"] else ["--vault", tmp_path]
    with open("/dev/full", "w") as full:
        done = subprocess.run([BIN, *words, *vault], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 1
    assert "could not be written: No space left on device" in done.stderr


def test_a_move_that_fails_leaves_the_name_as_it_was(look):
    assert "folder" in look("mv", "plan/Water", "../Wine", code=2)
    assert look("get", "plan/Water").endswith("basil, too\n")
    assert look("mv", "plan/Water", "new/Wine") == "new/Wine\n"


def test_a_raw_result_is_the_string_itself(look):
    assert look("eval", "--raw", "-e", "return 'a\\n\u0062'") == "a\nb"
    assert look("eval", "--raw", "-e", "return {a: [1, null]}") == '{"a":[1,null]}\n'
    assert look("eval", "--raw", "-e", "return undefined") == "null\n"
