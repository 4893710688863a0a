"""Man pages and completions, made of what the program says of itself."""
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import ROOT

BIN = os.environ.get("CLOCHE_BIN", ROOT / "build" / "cloche")
SHELLS = {"bash": "bash", "zsh": "zsh", "fish": "fish", "mandoc": "mandoc"}


def output(*command, **how):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, **how).stdout


def need(program):
    if shutil.which(program) is None:
        pytest.fail(f"{program} is missing: deps/apt build test brings it")
    return program


@pytest.fixture(scope="module")
def manual(tmp_path_factory):
    folder = tmp_path_factory.mktemp("manual")
    output(ROOT / "dev" / "manual", BIN, folder)
    return folder


def commands():
    return [row["name"] for row in json.loads(output(BIN, "--describe"))["commands"]]


def test_each_command_has_a_page_that_says_what_its_help_says(manual):
    pages = {page.stem for page in (manual / "man1").iterdir()}
    assert pages == {"cloche"} | {f"cloche-{name}" for name in commands()}
    for name in commands():
        text = output(need("mandoc"), "-T", "utf8", "-O", "width=1000", manual / "man1" / f"cloche-{name}.1")
        text = re.sub(".\b", "", text)
        for option in json.loads(output(BIN, name, "--describe")).get("options", []):
            assert option["name"] in text and " ".join(option["help"].split()) in " ".join(text.split()), option


def test_no_page_has_an_error(manual):
    for page in sorted((manual / "man1").iterdir()):
        done = subprocess.run([need("mandoc"), "-T", "lint", "-W", "error", page], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def bash(manual, *words):
    script = """source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cloche; printf '%s\\n' "${COMPREPLY[@]}" """
    return output("bash", "-c", script, "bash", manual / "completions" / "cloche.bash", *words).split()


def test_bash_completes_commands_verbs_and_options(manual):
    assert set(commands()) <= set(bash(manual, "cloche", ""))
    assert bash(manual, "cloche", "ev") == ["eval"]
    assert bash(manual, "cloche", "eval", "--comp") == ["--compute-timeout"]
    assert bash(manual, "cloche", "vault", "re") == ["remove"]
    assert "--mount" in bash(manual, "cloche", "tool", "run", "--m")
    assert bash(manual, "cloche", "eval", "--lang", "t") == ["ts"]


def test_bash_completes_folders_where_one_is_wanted(manual, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "nothing.txt").touch()
    assert bash(manual, "cloche", "eval", "--vault", f"{tmp_path}/no") == [f"{tmp_path}/notes"]


def test_fish_completes_commands_and_options(manual, tmp_path):
    def fish(line):
        done = output(need("fish"), "-N", "-c", f"source {manual}/completions/cloche.fish; complete -C '{line}'",
                      env={**os.environ, "HOME": str(tmp_path)})
        return [row.split("\t")[0] for row in done.splitlines()]
    assert set(commands()) <= set(fish("cloche "))
    assert fish("cloche eval --comp") == ["--compute-timeout"]
    assert "remove" in fish("cloche vault re")
    assert "ts" in fish("cloche eval --lang ")


def test_zsh_completes_commands_and_options(manual, tmp_path):
    """In a terminal of its own, as a person types."""
    script = tmp_path / "ask.zsh"
    script.write_text("""
zmodload zsh/zpty
ask() {
    zpty z zsh -f -i
    zpty -w z "PROMPT=; fpath=($1 \\$fpath); autoload -Uz compinit; compinit -u -d $2/dump; zstyle ':completion:*' list-prompt ''; LISTMAX=0; setopt list_rows_first; print READY"
    local line all=
    while zpty -r z line; do [[ $line == *READY* && $line != *print* ]] && break; done
    zpty -w -n z "$3"$'\\t\\t'
    sleep 2
    zpty -w -n z $'\\C-u'"print -r DO''NE"$'\\n'
    while zpty -r z line; do all+=$line; [[ $line == *DONE* ]] && break; done
    zpty -d z
    print -r -- $all
}
ask "$@"
""")
    def zsh(line):
        text = output(need("zsh"), "-f", script, manual / "completions", tmp_path, line,
                      env={**os.environ, "HOME": str(tmp_path), "TERM": "dumb"})
        return text
    assert "compute-timeout" in zsh("cloche eval --comp")
    listed = zsh("cloche ")
    assert all(name in listed for name in ("eval", "serve", "undo"))


def test_they_are_installed_where_man_and_shells_look(tmp_path):
    output("make", "-C", ROOT, "install", f"PREFIX={tmp_path}")
    share = tmp_path / "share"
    assert (share / "man" / "man1" / "cloche-eval.1").is_file()
    for path in ("bash-completion/completions/cloche", "zsh/site-functions/_cloche",
                 "fish/vendor_completions.d/cloche.fish"):
        assert (share / path).is_file()
