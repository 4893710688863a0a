"""The program's output on a terminal: nothing that a vault, a note, a function, a policy or code
wrote moves the cursor, makes a line, hides or reverses text."""
import json
import os
import pty
import subprocess

import pytest

HOSTILE = ("\x9b2J\x9b31m\x85FORGED\u2028LINE\u2029 \u202egnp\u2066\u200b\ufeff\u00ad"
           "\x7f\x1b]0;title\x07 \U000e0041 end")
NAMES = "x\x9b2J\x85y\u202ez\u2028"


def unseen(text):
    return {hex(ord(c)) for c in text
            if ord(c) < 32 and c not in "\r\n\t" or 0x7f <= ord(c) <= 0xa0 or c in
            "\xad\u200b\u2028\u2029\u202e\u2066\ufeff" or 0xe0000 <= ord(c)}


def at_terminal(command):
    """Its output to a terminal that is its stdout and stderr."""
    ours, its = pty.openpty()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=its, stderr=its) as run:
        os.close(its)
        said = b""
        try:
            while piece := os.read(ours, 65536):
                said += piece
        except OSError:  # nobody has it open any more
            pass
        os.close(ours)
        run.wait(60)
    return said.decode()


@pytest.fixture
def hostile(cloche, vault):
    """A vault in which every text is hostile to terminals."""
    own = vault / ".cloche"
    own.mkdir(exist_ok=True)
    (vault / "idea" / f"{NAMES}.md").write_text(f"---\ntitle: 't {NAMES}'\n---\n# {HOSTILE}\n")
    code = "async function shout(a: string): Promise<string> { return a; }"
    function = {"name": "shout", "description": f"Says {HOSTILE}", "code": code,
                "parameters": {"a": {"type": "string", "description": HOSTILE}},
                "returnType": "string", "tags": [NAMES]}
    odd = function | {"name": "odd", "code": code + "// " + HOSTILE}
    (own / "custom-functions.json").write_text(json.dumps(
        {"version": 1, "functions": [function, odd]}, ensure_ascii=False))
    return vault


@pytest.fixture
def policy(vault):
    (vault / ".cloche").mkdir(exist_ok=True)
    (vault / ".cloche" / "policy.json").write_text(json.dumps(
        {"tools": {"disabled": [HOSTILE]}, "deniedAPIs": [HOSTILE], HOSTILE: HOSTILE},
        ensure_ascii=False))
    return vault


def printed(cloche, words):
    """The same by a pipe: the bytes, as they are."""
    return subprocess.run([cloche, *words], capture_output=True, timeout=60).stdout.decode()


READ = "(await notes.list({limit: 100})).map((n) => n.title)"


@pytest.mark.parametrize("words", [
    ["eval", "-e", f"return {READ}"],
    ["eval", "-e", "return (await Promise.all((await notes.list({limit: 100}))"
     ".map((n) => notes.get(n.id)))).map((n) => n.content).filter((c) => c.includes('FORGED'))[0]"],
    ["eval", "-e", f"console.log({READ}); return 1"],
    ["eval", "--trace", "-e", f"try {{ await notes.get({json.dumps(NAMES)}) }} catch (e) {{ throw e }}"],
    ["eval", "--check", "--json", "-e", f"const {{a}} = {json.dumps(HOSTILE)}; return b"]])
def test_json_for_a_terminal_has_the_same_value_and_nothing_unseen(cloche, vault, hostile, words):
    command = [cloche, words[0], "--vault", str(vault), *words[1:]]
    said = at_terminal(command)
    assert unseen(said) == set()
    value = json.loads(said[:said.rindex("}") + 1])
    piped = json.loads(printed(cloche, command[1:]))
    if not isinstance(value, dict) or "stats" not in value:
        assert value == piped
    for key in ("result", "logs", "error"):
        assert value.get(key) == piped.get(key)


def test_a_pipe_gets_the_bytes(cloche, vault):
    (vault / "note.md").write_text(HOSTILE)
    said = printed(cloche, ["eval", "--vault", str(vault), "-e",
                            "return (await notes.get('note')).content"])
    assert "\x9b2J" in said and "\u202egnp" in said


@pytest.mark.parametrize("words", [
    ["fn", "list"], ["fn", "list", "--json"], ["fn", "show", "shout"], ["fn", "show", "shout", "--json"],
    ["fn", "show", "odd"], ["fn", "export"], ["fn", "stats"], ["fn", "stats", "--json"],
    ["audit"], ["audit", "--json"], ["audit", "show", "1"], ["audit", "show", "1", "--json"],
    ["audit", "--verify"], ["audit", "--verify", "--json"], ["audit", "export"],
    ["callers"], ["callers", "--json"], ["doctor"], ["doctor", "--json"],
    ["reindex"], ["reindex", "--json"]])
def test_no_command_writes_to_a_terminal_what_is_not_seen(cloche, hostile, words):
    printed(cloche, ["eval", "--vault", str(hostile), "-e", f"await notes.get({json.dumps(NAMES)})"])
    said = at_terminal([cloche, *words, "--vault", str(hostile)])
    assert said.strip() and "usage:" not in said
    assert unseen(said) == set()
    if "--json" in words:  # beside what stands on standard error
        values = [json.loads(line) for line in said.splitlines() if line[0] in "{["]
        assert values


@pytest.mark.parametrize("words", [["show"], ["show", "--json"], ["check"], ["check", "--json"]])
def test_a_vaults_policy_moves_no_cursor(cloche, policy, words):
    said = at_terminal([cloche, "policy", *words, "--vault", str(policy)])
    assert "FORGED" in said and unseen(said) == set()


def test_a_trail_that_a_stranger_wrote_moves_no_cursor(cloche, vault):
    folder = vault / ".cloche" / "audit"
    folder.mkdir(parents=True)
    record = {"n": 1, "time": HOSTILE, "caller": HOSTILE, "action": HOSTILE, "event": "call",
              "mac": "0" * 64}
    (folder / "audit-000001.jsonl").write_text(
        json.dumps(record, ensure_ascii=False) + "\n" + HOSTILE + "\n", newline="\n")
    for words in (["audit"], ["audit", "--json"], ["audit", "show", "1"], ["audit", "--verify"],
                  ["audit", "show", "1", "--json"], ["audit", "--verify", "--json"], ["audit", "export"]):
        assert unseen(at_terminal([cloche, *words, "--vault", str(vault)])) == set()
