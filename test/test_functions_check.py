"""Definitions of custom functions checked before they are stored, their examples run, and trials
without effects."""

import hashlib
import json
import shutil
import subprocess

import pytest

from conftest import policy_in
from wire import Stdio, call, initialize, structured


@pytest.fixture
def agent(cloche, vault, tmp_path):
    policy_in(tmp_path, {"tools": {"default": "always"}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as stdio:
        stdio.ask(initialize())
        yield lambda action, /, **given: structured(stdio.ask(call(action, given)))


def definition(name, code, parameters=None, returns="any", **more):
    given = {p: d if isinstance(d, dict) else {"type": d} for p, d in (parameters or {}).items()}
    return {"name": name, "description": f"{name} for a test", "parameters": given,
            "returnType": returns, "code": code, **more}


def codes(findings):
    return [(f["code"], f["field"], f.get("line", 0)) for f in findings]


def contents(vault):
    """Every byte beneath the vault, except the audit trail and SQLite's shared memory, which lists
    readers."""
    return {str(p.relative_to(vault)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(vault.rglob("*"))
            if p.is_file() and "audit" not in p.parts and not p.name.endswith("-shm")
            and not p.name.startswith("functions-usage.db")}  # that it ran is told there


ADD = definition("add", "function add(a: number, b: number = 1): number { return a + b; }",
                 {"a": "number", "b": {"type": "number", "default": 1}}, "number")


# ---- checking --------------------------------------------------------------------------


def test_a_sound_definition_is_valid(agent):
    found = agent("validate_custom_function", **ADD)
    assert found["valid"] is True
    assert found["errors"] == []
    assert found["security"] == {"issues": [], "safe": True}
    assert found["complexity"]["parameters"] == 2
    assert found["uses"] == {"functions": [], "dynamic": [], "calls": []}


def test_everything_wrong_is_told_at_once_with_its_place(agent):
    code = "\n".join([
        "interface Pair { a: string }",
        "export async function broken(x: Pair, notes?: string): Promise<void> {",
        "  eval(x.a);",
        "  const later = require('fs');",
        "  while (true) {}",
        "}"])
    found = agent("validate_custom_function", **definition(
        "notes", code, {"x": {"type": "string;", "optional": True}, "y": "number"}, "void"))
    assert found["valid"] is False
    errors = codes(found["errors"])
    for expected in [("RESERVED_NAME", "name", 0), ("INVALID_TYPE", "parameters.x.type", 0),
                     ("REQUIRED_AFTER_OPTIONAL", "parameters.y", 0), ("NO_EVAL", "code", 3),
                     ("NO_IMPORT", "code", 4), ("UNBOUNDED_LOOP", "code", 5),
                     ("NO_BINDING", "code", 2)]:
        assert expected in errors, (expected, errors)
    assert found["security"]["safe"] is False
    name = next(f for f in found["errors"] if f["field"] == "name")
    assert "'myNotes' is free" in name["suggestion"]


@pytest.mark.parametrize("code,expected,line", [
    ("function f() {\n  return (", "SYNTAX", 2),
    ("import fs from 'fs';\nfunction f() { return fs; }", "NO_IMPORT", 1),
    ("function f() {\n  return Function('return 1')();\n}", "NO_EVAL", 2),
    ("function f(o: any) {\n  const g = eval as any;\n  return g(o);\n}", "NO_EVAL", 2),
    ("enum E { A }\nfunction f() {\n  Array.prototype.at = null as any;\n}", "SHARED_STATE", 3),
    ("function f() {\n\n  return process.env.HOME;\n}", "ABSENT_GLOBAL", 3),
    ("function f() {\n  return 'x'['con' + 'structor'];\n}", "OBFUSCATED_CODE", 2),
    ("const f = 3;", "NO_BINDING", 1),
])
def test_code_that_may_not_be_kept_is_refused(agent, code, expected, line):
    found = agent("register_custom_function", **definition("f", code))
    assert found["success"] is False
    assert (expected, "code", line) in codes(found["errors"])
    assert agent("list_custom_functions")["total"] == 0


def test_much_is_warned_of_and_kept(agent):
    body = "\n".join(f"  if (a === {i}) return {i};" for i in range(150))
    code = f"function f(a: number, b: 1, c: 1, d: 1, e: 1, g: 1): number {{\n{body}\n  return 0;\n}}"
    given = {p: "number" if p == "a" else "1" for p in "abcdeg"}
    found = agent("register_custom_function", **definition("f", code, given, "number"))
    assert found["success"] is True, found
    assert {"COMPLEXITY", "LONG_FUNCTION", "MANY_PARAMETERS"} <= {
        f["code"] for f in found["warnings"]}


def test_a_name_that_is_taken_is_told_with_a_free_one(agent):
    assert agent("register_custom_function", **ADD)["success"]
    found = agent("validate_custom_function", **ADD)
    assert codes(found["errors"]) == [("NAME_TAKEN", "name", 0)]
    assert "'add2'" in found["errors"][0]["suggestion"]


# ---- who calls whom -----------------------------------------------------------------------


def test_what_is_missing_is_named_with_the_nearest(agent):
    assert agent("register_custom_function", **ADD)["success"]
    found = agent("validate_custom_function", **definition(
        "twice", "function twice(a: number): number {\n  return customFunctions.ad(a);\n}",
        {"a": "number"}, "number"))
    wrong = next(f for f in found["errors"] if f["code"] == "MISSING_FUNCTION")
    assert (wrong["line"], wrong["suggestion"]) == (2, "Did you mean 'add'?")


def test_circles_are_named(agent):
    for name, calls in [("c", "1"), ("b", "customFunctions.c()"), ("a", "customFunctions.b()")]:
        assert agent("register_custom_function", **definition(
            name, f"function {name}(): any {{ return {calls}; }}", returns="any"))["success"]
    found = agent("update_custom_function", name="c",
                  code="function c(): any { return customFunctions.a(); }")
    assert found["success"] is True, found
    circle = next(f for f in found["warnings"] if f["code"] == "CIRCULAR_CALLS")
    assert circle["message"] == "calls go in a circle: c -> a -> b -> c"


def test_who_breaks_is_told_before_it_happens(agent):
    assert agent("register_custom_function", **ADD)["success"]
    assert agent("register_custom_function", **definition(
        "twice", "function twice(a: number): number {\n  return customFunctions.add(a, a);\n}",
        {"a": "number"}, "number"))["success"]
    told = agent("delete_custom_function", names=["add"])
    assert told["success"] is False
    assert "twice" in json.dumps(told)
    assert agent("list_custom_functions")["total"] == 2


def test_all_that_is_missing_is_told_by_its_field(agent):
    told = agent("register_custom_function", name="x", code="function x() {}")
    assert [(f["field"], f["code"]) for f in told["errors"]] == [
        (field, "MISSING_FIELD") for field in ("description", "returnType", "parameters")]
    assert "has 3 errors, the first: description is missing" in told["error"]
    assert "nothing was changed" in told["error"]


@pytest.mark.parametrize("name, better", [("my-func", "myFunc"), ("2nd try", "ndTry"),
                                          ("tag note", "tagNote")])
def test_a_name_that_is_none_is_told_with_one(agent, name, better):
    told = agent("register_custom_function", **{**ADD, "name": name})
    assert told["errors"][0]["code"] == "INVALID_NAME"
    assert f"'{better}' would be one" in told["errors"][0]["suggestion"]


def test_the_first_error_is_in_the_sentence_of_the_refusal(agent):
    code = "function len(text: string): number {\n  return text.size;\n}"
    told = agent("register_custom_function", **definition("len", code, {"text": "string"}, "number"))
    assert told["error"] == ("the definition has 1 error: code, line 2: Property 'size' does not "
                             "exist on type 'string'; nothing was changed")


# ---- examples -----------------------------------------------------------------------------


def test_examples_run_when_it_is_registered(agent):
    examples = [{"name": "adds", "args": {"a": 1, "b": 2}, "expected": 3},
                {"args": [1], "expected": 2},
                {"args": [1, 2, 3], "error": "InvalidInput"},
                {"args": {"a": 1}, "matches": 2}]
    found = agent("register_custom_function", **ADD, examples=examples)
    assert found["success"] is True, found
    assert (found["tests"]["passed"], found["tests"]["failed"]) == (4, 0)


def test_a_version_whose_examples_fail_is_not_kept(agent):
    code = "function f(): any { return { items: [{ n: 1 }, { n: 2, more: true }] }; }"
    wanted = {"items": [{"n": 1}, {"n": 3}]}
    found = agent("register_custom_function", **definition(
        "f", code, examples=[{"expected": wanted}, {"matches": {"items": [{}, {"n": 2}]}}]))
    assert found["success"] is False
    assert (found["tests"]["passed"], found["tests"]["failed"]) == (1, 1)
    assert found["tests"]["results"][0]["difference"] == {
        "path": "result.items[1].n", "message": "result.items[1].n is another value",
        "expected": 3, "got": 2}
    assert agent("list_custom_functions")["total"] == 0
    forced = agent("register_custom_function", force=True, **definition(
        "f", code, examples=[{"expected": wanted}]))
    assert forced["success"] is True
    again = agent("test_custom_function", name="f")
    assert (again["success"], again["tests"]["failed"]) == (False, 1)


def test_examples_that_must_fail_and_do_not_are_told(agent):
    found = agent("test_custom_function", definition=definition(
        "f", "function f(bad: boolean) { if (bad) throw new RangeError('too far'); return 1; }",
        {"bad": "boolean"}, examples=[
            {"args": [True], "error": "RangeError: too far"},
            {"args": [True], "error": "TypeError"},
            {"args": [False], "error": "RangeError"}]))
    assert [r["success"] for r in found["tests"]["results"]] == [True, False, False]
    assert found["tests"]["results"][1]["error"] == "RangeError: too far"


def test_an_example_without_end_is_stopped(agent):
    found = agent("test_custom_function", definition=definition(
        "f", "function f(n: number) { let i = 0; while (i < n) i += 0; return i; }",
        {"n": "number"}, examples=[{"args": [1], "error": "Timeout"}, {"args": [0], "expected": 0}]))
    assert [r["success"] for r in found["tests"]["results"]] == [True, True]


# ---- trials -------------------------------------------------------------------------------


WRITER = definition("writer", """
    async function writer(title: string): Promise<any> {
      const made = await notes.create({ type: 'trial', title, content: 'one two' });
      const first = (await notes.list({ typeName: 'meeting', limit: 1 }))[0];
      const note = await notes.get(first.id);
      await notes.update({ identifier: first.id, content: note!.content + '\\nmore' });
      await notes.create({ type: 'trial', title: title + ' gone', content: 'x' });
      await notes.delete({ identifier: 'trial/' + title + ' gone', confirm: true });
      await noteTypes.create({ type_name: 'trial', description: 'for trials' });
      const found = await notes.search({ query: 'two' });
      console.log('found', found.length);
      return { id: made.id, again: (await notes.get(made.id))!.content.trim(),
               found: found.some((row) => row.id === made.id),
               history: (await notes.history(first.id)).length,
               types: (await noteTypes.list()).some((t) => t.name === 'trial') };
    }""", {"title": "string"}, "Promise<any>")


@pytest.fixture
def meeting(vault):
    (vault / "meeting").mkdir(exist_ok=True)
    (vault / "meeting" / "Standup.md").write_text("# Standup\n\ntalk\n")
    (vault / "meeting" / "board.png").write_bytes(b"\x89PNG" * 1000)


def test_a_trial_sees_what_it_writes_and_changes_nothing(agent, vault, meeting):
    agent("evaluate_note_code", code="return (await notes.search('x')).length")
    before = contents(vault)
    told = agent("test_custom_function", definition=WRITER, args={"title": "New"})
    assert told["success"] is True, told
    assert told["result"]["id"] == "trial/New"
    assert told["result"]["again"] == "one two"
    assert told["result"]["found"] is True and told["result"]["types"] is True
    assert told["result"]["history"] >= 1
    assert told["logs"][0]["message"].startswith("found")
    assert {(c["action"], c["path"]) for c in told["changes"]} == {
        ("update", "meeting/Standup.md"), ("create", "trial/New.md"),
        ("create", ".cloche/types/trial.md")}
    assert told["changeCount"] == 3
    assert contents(vault) == before


def test_examples_change_nothing_and_begin_anew_each(agent, vault, meeting):
    agent("evaluate_note_code", code="return (await notes.search('x')).length")
    before = contents(vault)
    found = agent("test_custom_function", definition=WRITER | {"examples": [
        {"args": ["Same"], "matches": {"id": "trial/Same"}},
        {"args": ["Same"], "matches": {"id": "trial/Same", "found": True}}]})
    assert found["success"] is True, found
    assert contents(vault) == before


def test_without_dry_run_it_is_done(agent, vault, meeting):
    told = agent("test_custom_function", definition=WRITER, args=["New"], dryRun=False)
    assert told["success"] is True, told
    assert "changes" not in told
    assert (vault / "trial" / "New.md").exists()


def test_a_trial_neither_makes_nor_leaves_vaults(agent, vault):
    for name in ["vaults.create({ id: 'x', name: 'x', path: '/tmp/x' })",
                 "vaults.switch('other')"]:
        told = agent("test_custom_function", args=[], definition=definition(
            "f", f"async function f() {{ return await {name}; }}", returns="Promise<any>"))
        assert told["success"] is False
        assert told["errorDetails"]["type"] == "PermissionDenied"
        assert "not for custom functions" in told["error"]


def test_a_trial_has_no_network(agent):
    told = agent("test_custom_function", args=[], definition=definition(
        "f", "async function f() { return typeof fetch; }", returns="Promise<string>"))
    assert told["result"] == "undefined"


def test_tools_in_a_trial_work_on_the_copy(agent, vault, meeting, tmp_path):
    agent("evaluate_note_code", code="return (await notes.search('x')).length")
    before = contents(vault)
    told = agent("test_custom_function", args=[], definition=definition(
        "f", "async function f() {"
        " await notes.create({ type: 'trial', title: 'A', content: 'b' });"
        " const seen = await tools.run('grep', { args: ['-rl', 'b', '/vault/trial'] });"
        " return seen.stdout ?? seen; }", returns="Promise<any>"))
    if told["success"]:
        assert "A.md" in json.dumps(told["result"])
    assert contents(vault) == before


def test_a_trial_asks_no_person(cloche, vault, meeting, tmp_path):
    policy_in(tmp_path, {"tools": {"default": "ask"}})
    grep = definition("f", "async function f() { return await tools.run('grep', "
                      "{ args: ['-rl', 'talk', '/vault'] }); }", returns="Promise<any>")
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as stdio:
        stdio.ask(initialize())
        told = structured(stdio.ask(call("test_custom_function",
                                         {"definition": grep, "args": []})))
        assert told["success"] is False
        assert told["errorDetails"]["type"] == "PermissionDenied"
        assert "in a dry run no person is asked" in told["error"]
    waiting = subprocess.run([cloche, "approvals", "list"], capture_output=True,
                             text=True)
    assert "grep" not in waiting.stdout


def test_a_definition_that_is_kept_nowhere_is_held_to_the_policys_lint(cloche, vault, tmp_path):
    policy_in(tmp_path, {"lint": "refuse"})
    made = definition("f", "async function f() { await notes.create({ type: 'trial', title: 'A',"
                      " content: 'b' }); return eval('1'); }", returns="Promise<any>")
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as stdio:
        stdio.ask(initialize())
        for how in [{"args": [], "dryRun": False}, {"args": []}, {}]:
            told = structured(stdio.ask(call("test_custom_function",
                                             {"definition": made} | how)))
            assert told["success"] is False
            assert told["errors"][0]["code"] == "NO_EVAL"
    assert not (vault / "trial").exists()


def test_wrong_arguments_are_refused_before_anything_runs(agent):
    told = agent("test_custom_function", definition=ADD, args={"nobody": 1})
    assert told["success"] is False
    assert "no parameter 'nobody' of add(" in told["error"]


def test_a_failed_trial_shows_the_functions_own_lines_alone(agent):
    code = "function boom(o: any): number {\n  return o.a.b;\n}"
    assert agent("register_custom_function", **definition("boom", code, {"o": "any"}, "number"))["success"]
    inside = agent("test_custom_function", name="boom", args=[{}])["errorDetails"]
    assert inside["function"]["line"] == 2 and "boom:2:" in inside["stack"]
    outside = agent("test_custom_function", name="boom", args=[1, 2, 3])["errorDetails"]
    for told in (inside, outside):
        assert "line" not in told and "frame" not in told
        assert "code.js" not in json.dumps(told) and "call.args" not in json.dumps(told)


def test_nothing_of_a_trial_stays_behind(agent, vault, meeting):
    agent("test_custom_function", definition=WRITER, args=["New"])
    left = [p for p in shutil.os.listdir("/dev/shm") if p.startswith("cloche-")] \
        if shutil.os.path.isdir("/dev/shm") else []
    assert left == []


def test_the_record_says_that_nothing_was_changed(agent, vault, meeting):
    agent("test_custom_function", definition=WRITER, args=["New"])
    records = [json.loads(line) for p in (vault / ".cloche" / "audit").rglob("*.jsonl")
               for line in p.read_text().splitlines()]
    own = [r for r in records if r.get("action") == "test_custom_function"]
    assert own and not own[-1].get("changed") and not own[-1].get("notes")
