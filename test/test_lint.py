"""The linter's findings before code runs, and their effect on an evaluation."""
import json
import os
import subprocess
from pathlib import Path

import pytest

from wire import Stdio, call, structured

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def check(cloche):
    """`cloche eval --check --json` of this code: the answer and the exit code."""
    def run(code, *words):
        done = subprocess.run([cloche, "eval", "--check", "--json", *words, "-"], input=code,
                              capture_output=True, text=True, timeout=120)
        return json.loads(done.stdout), done.returncode
    return run


@pytest.fixture
def policy():
    def write(**value):
        path = Path(os.environ["XDG_CONFIG_HOME"], "cloche", "policy.json")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(json.dumps(value))
    return write


def rules(answer):
    return [f["rule"] for f in answer["findings"]]


def test_findings_have_places_and_suggestions(check):
    answer, code = check("const n = 1;\n  await notes.serach({query: 'é'});\nreturn n")
    assert code == 1 and answer["ok"] is False
    assert (answer["errors"], answer["warnings"], answer["hints"]) == (1, 0, 0)
    assert answer["findings"] == [{
        "rule": "unknown-api", "severity": "error", "message": "there is no notes.serach", "line": 2,
        "column": 9, "endLine": 2, "endColumn": 21, "suggestion": "Did you mean notes.search?"}]


def test_warnings_do_not_fail_a_check(check):
    answer, code = check("notes.update('a', {content: ''});\nreturn 1")
    assert code == 0 and answer["ok"] is True and rules(answer) == ["unawaited-call"]


def test_findings_can_be_read(cloche, tmp_path):
    file = tmp_path / "plan.js"
    file.write_text("while (true) {}\neval('1')")
    done = subprocess.run([cloche, "eval", "--check", file], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"{file}:1:1: warning: " in done.stdout and "[unbounded-loop]" in done.stdout
    assert f"{file}:2:1: error: eval is refused" in done.stdout
    assert done.stdout.endswith("1 error, 1 warning, 0 hints\n")


def test_nothing_is_run(vault, check):
    before = sorted(vault.rglob("*.md"))
    check("await notes.create({type: 'x', title: 'y', content: ''})", "--vault", str(vault))
    assert sorted(vault.rglob("*.md")) == before


def test_the_table_of_host_calls_is_known(check):
    """Every method is known by its name, and unknown with a letter more."""
    for method in ["notes.rename", "links.getBacklinks", "hierarchy.getPath", "vaults.list",
                   "relationships.findPath", "utils.formatDate", "noteTypes.list", "api.describe"]:
        assert rules(check(f"return await {method}('a')")[0]) == []
        assert rules(check(f"return await {method}x('a')")[0]) == ["unknown-api"]


def test_the_network_is_there_where_it_is_asked_for(check):
    code = "return (await fetch('https://a.test')).status"
    assert rules(check(code)[0]) == ["absent-global"]
    assert rules(check(code, "--network")[0]) == []


def test_files_are_there_where_they_are_asked_for(check):
    code = ("fs.writeFileSync('/a', 'b'); const a = fs.readFileSync('/a'); if (fs.existsSync('/b')) return 1;\n"
            "const b = await fs.promises.readFile('/a', 'utf8'); return [a, b.length, await fs.readdir('/')]")
    assert rules(check(code, "--files")[0]) == []
    assert set(rules(check(code)[0])) == {"absent-global"}
    assert rules(check("fs.writeFile('/a', 'b');\nreturn 1", "--files")[0]) == ["unawaited-call"]


def test_sound_code_is_left_in_peace(check):
    """The examples and the programs that are measured."""
    for file in [*ROOT.glob("examples/*.js"), *ROOT.glob("bench/programs/*.js")]:
        assert check(file.read_text())[0]["findings"] == []


def test_an_agent_can_check_code(stdio):
    told = structured(stdio.ask(call("check_code", {"code": "return notes.get('a').title"})))
    assert told["ok"] is True and rules(told) == ["missing-await"]
    answer = stdio.ask(call("check_code", {"code": "x" * (2 << 20)}, id=2))
    assert answer["result"]["isError"] is True


def wait_for_linter(client):
    client.ask(call("check_code", {"code": "1"}, id=99))


DROPPED = "let text = 'a note';\ntext.replace('a', 'the');\nreturn text;"


def test_an_evaluation_carries_warnings(stdio):
    wait_for_linter(stdio)
    for n in range(2):
        answer = structured(stdio.ask(call("evaluate_note_code", {"code": DROPPED}, id=n)))
        assert answer["success"] and [w["rule"] for w in answer["warnings"]] == ["unused-result"]
        assert answer["warnings"][0]["line"] == 2


def test_typescript_is_checked_in_its_own_places(check):
    answer, code = check("interface A { a: string }\n\nconst a: string = 'é'; await notes.serach(a as any);", "--lang", "ts")
    assert code == 1
    assert [(f["rule"], f["line"], f["column"]) for f in answer["findings"]] == [("unknown-api", 3, 30)]
    answer, code = check("enum E { A, B }\nnamespace N { export const x: number = 1 }\nreturn E.A + N.x;", "--lang", "ts")
    assert code == 0 and answer["findings"] == []
    answer, code = check("const a: = 1", "--lang", "ts")
    assert code == 1 and rules(answer) == ["syntax"] and answer["findings"][0]["column"] > 1


def test_typescript_is_warned_of_in_its_own_places(stdio):
    wait_for_linter(stdio)
    code = "interface A { text: string }\n\nlet a: A = {text: 'a note'};\na.text.replace('a', 'the');\nreturn a.text;"
    answer = structured(stdio.ask(call("evaluate_note_code", {"code": code, "language": "typescript"})))
    assert answer["success"] and [(w["rule"], w["line"]) for w in answer["warnings"]] == [("unused-result", 4)]


def test_typescript_is_refused_in_its_own_places(cloche, policy):
    policy(lint="refuse")
    code = "interface A { text: string }\nenum E { A, B }\nif (E.A) eval('1');\nreturn 1 as number;"
    done = subprocess.run([cloche, "eval", "--lang", "ts", "-"], input=code, capture_output=True, text=True)
    answer = json.loads(done.stdout)
    assert answer["errorDetails"]["type"] == "PermissionDenied" and "line 3" in answer["error"]


def test_sound_code_carries_none(stdio):
    wait_for_linter(stdio)
    for n, code in enumerate(["return 1", "return 1 +" + " " * 50,
                              "const items = await notes.list({limit: 5});\nitems.length",
                              "return window.name + ' ' + window.place + ' and more'"]):
        answer = structured(stdio.ask(call("evaluate_note_code", {
            "code": code, "context": {"window": {"name": "a", "place": "b"}}}, id=n)))
        assert "warnings" not in answer


def test_a_policy_may_want_no_warnings(cloche, policy):
    policy(lint="off")
    with Stdio([cloche, "mcp"]) as client:
        wait_for_linter(client)
        answer = structured(client.ask(call("evaluate_note_code", {"code": DROPPED})))
        assert answer["success"] and "warnings" not in answer


@pytest.mark.parametrize("code, type", [
    ("console.log('ran'); return await notes.serach({query: 'a'})", "PermissionDenied"),
    ("console.log('ran'); if (false) eval('1'); return 1", "PermissionDenied"),
    ("console.log('ran'); return 1 +", "SyntaxError"), (DROPPED, None), ("return 1", None)])
def test_a_policy_may_refuse_code_with_errors(cloche, policy, code, type):
    policy(lint="refuse")
    done = subprocess.run([cloche, "eval", "-"], input=code, capture_output=True, text=True)
    answer = json.loads(done.stdout)
    assert answer["success"] is (type is None)
    if type:
        assert answer["errorDetails"]["type"] == type and answer["logs"] == []
    if type == "PermissionDenied":
        assert "line 1" in answer["error"] and "nothing was run" in answer["error"]


def test_a_vault_may_ask_to_refuse_and_not_to_allow(cloche, vault, policy):
    (vault / ".cloche").mkdir(exist_ok=True)
    file = vault / ".cloche" / "policy.json"
    for users, vaults, refused in [("off", "refuse", True), ("refuse", "off", True),
                                   ("warn", "off", False)]:
        policy(lint=users)
        file.write_text(json.dumps({"lint": vaults}))
        done = subprocess.run([cloche, "eval", "--vault", vault, "-e", "if (false) eval('1'); return 1"],
                              capture_output=True, text=True)
        assert json.loads(done.stdout)["success"] is not refused


def test_code_that_cannot_be_checked_still_runs(stdio):
    """Too deep for the linter: the check says so, the evaluation goes on without."""
    wait_for_linter(stdio)
    deep = "return " + "(" * 900 + "7" + ")" * 900
    stdio.ask(call("check_code", {"code": deep}))
    assert structured(stdio.ask(call("evaluate_note_code", {"code": deep}, id=2)))["result"] == 7
