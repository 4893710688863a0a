"""README's commands are run as they stand, and what it claims of the program is so."""
import os
import re
import shutil
import subprocess

import pytest

from conftest import ROOT, folders_in

README = (ROOT / "README.md").read_text()
LINES = [line[4:].split("    ")[0].strip() for line in README.splitlines()
         if line.startswith("    ") and re.match(r" {4}(build/cloche|\./)", line)]


@pytest.fixture
def home(tmp_path, cloche):
    """A clone with the program in build/, and ~/notes."""
    shutil.copytree(ROOT / "examples" / "vault", tmp_path / "notes", ignore=shutil.ignore_patterns(".cloche"))
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "build").symlink_to(os.path.dirname(cloche))
    env = {**os.environ, **folders_in(tmp_path), "HOME": str(tmp_path)}

    def run(line, **how):
        return subprocess.run(["bash", "-c", line], cwd=tmp_path / "clone", env=env, capture_output=True, text=True,
                              timeout=300, stdin=subprocess.DEVNULL, **how)
    run.place = tmp_path
    return run


def test_each_command_of_it_is_known():
    assert LINES[0] == "./quickstart" and len(LINES) > 6


def test_connect_shows_what_it_would_write_and_writes_nothing_unasked(home):
    line = next(line for line in LINES if " connect " in line)
    done = home(line)
    assert "mcpServers" in done.stdout and "notes" in done.stdout
    assert not list(home.place.rglob("claude_desktop_config.json"))
    written = home(line + " --yes")
    assert written.returncode == 0, written
    assert len(list(home.place.rglob("claude_desktop_config.json"))) == 1


def test_the_program_in_it_runs(home):
    body = README.split("a program that it\nmight send:")[-1] if "a program that it\nmight send:" in README \
        else README.split("a program that it might send:")[-1]
    code = "\n".join(line[4:] for line in body.split("It runs in WebAssembly")[0].splitlines() if line.startswith("    "))
    (home.place / "todo.js").write_text(code)
    done = home(f"build/cloche eval --raw --vault ~/notes {home.place}/todo.js")
    assert done.returncode == 0 and '"todos"' in done.stdout, done


@pytest.mark.parametrize("line", [line for line in LINES if "build/cloche" in line and " connect " not in line and " serve " not in line])
def test_a_command_of_it_runs_after_an_agents_call(home, line):
    made = home("build/cloche eval --vault ~/notes -e \"await notes.create({title: 'Agent', content: '[[Glossary]]'})\"")
    assert made.returncode == 0, made
    done = home(line)
    assert done.returncode == 0 and done.stdout, done


def test_every_page_that_it_names_is_there():
    for path in re.findall(r"\]\(([^)#]+)", README):
        assert path.startswith("http") or (ROOT / path).exists(), path


def test_the_picture_shows_what_the_program_says(cloche):
    done = subprocess.run([ROOT / "dev" / "cast", "--check"], env={**os.environ, "CLOCHE_BIN": cloche},
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
