"""The trace of host calls in an answer, and hints."""

import json
import subprocess

import pytest

from wire import call, initialize, structured


@pytest.fixture
def run(cloche, vault):
    def evaluate(code, *options):
        done = subprocess.run([cloche, "eval", "--vault", str(vault), *options, "-e", code],
                              capture_output=True, text=True, timeout=60)
        return json.loads(done.stdout)

    return evaluate


def test_a_trace_tells_every_call(run):
    answer = run("const [a] = await notes.list({limit: 1});\n"
                 "await notes.get(a.id);\n"
                 "try { await notes.get('no/such') } catch {}\n"
                 "try { await notes.delete({identifier: 'no/such'}) } catch {}\n"
                 "await notes.create({type: 'idea', title: 'x', content: 'y'.repeat(500)})",
                 "--trace")
    trace = answer["trace"]
    assert [t["call"] for t in trace] == [
        "notes.list", "notes.get", "notes.get", "notes.delete", "notes.create"]
    assert [t["line"] for t in trace] == [1, 2, 3, 4, 5]
    assert [t["outcome"] for t in trace] == ["ok", "ok", "ok", "NotFound", "ok"]
    assert trace[0]["args"] == '{"limit":1}' and trace[0]["args_bytes"] == 13
    assert trace[4]["args"].endswith("...") and len(trace[4]["args"]) < 100
    assert trace[4]["args_bytes"] > 500
    assert all(t["ms"] >= 0 and t["at"] >= 0 for t in trace)
    assert trace[1]["bytes"] > 100 and trace[3]["bytes"] == 0


def test_a_trace_is_bounded_and_only_there_when_asked_for(run):
    answer = run("for (let i = 0; i < 1100; i++) await notes.get('no/such' + i)", "--trace")
    assert len(answer["trace"]) == 1000 and answer["traceDropped"] == 100
    assert "trace" not in run("await notes.get('no/such')")


def test_a_failed_call_is_told_too(run):
    answer = run("await notes.get(5)", "--trace")
    assert answer["success"] is False
    assert answer["trace"][0]["outcome"] == "InvalidInput"


@pytest.mark.parametrize("code, words", [
    ("const rows = await notes.list({limit: 9}); for (const r of rows) await notes.get(r.id)",
     ["9 calls of notes.get", "Promise.all"]),
    ("for (const q of ['a', 'b', 'c']) await notes.search({query: q})",
     ["3 calls of notes.search", "Promise.all"]),
    ("await Promise.all(Array.from({length: 4}, () => notes.get('no/such')))",
     ['notes.get("no/such")', "4 times"]),
    ("const rows = await notes.list({}); while (rows.length < 20) rows.push(rows[0]);"
     "await Promise.all(rows.map((r) => notes.get(r.id)))",
     ["after notes.list", "fields"]),
])
def test_hints_tell_what_could_cost_less(run, code, words):
    hints = run(code)["hints"]
    assert any(all(w in h for w in words) for h in hints), hints
    assert len(hints) <= 3


@pytest.mark.parametrize("code", [
    "1",
    "const rows = await notes.list({limit: 9});"
    "await Promise.all(rows.map((r) => notes.get(r.id)))",
    "for (let i = 0; i < 7; i++) await notes.get('no/such' + i)",
    # With a write between them, answers may differ.
    "for (let i = 0; i < 4; i++) { await notes.get('idea/n' + 0);"
    "await notes.create({type: 'idea', title: 'n' + i, content: ''}) }",
    # Writes are not repeated for nothing, and keep their order.
    "for (let i = 0; i < 12; i++) await notes.create({type: 'idea', title: 'm' + i, content: ''})",
    "for (let i = 0; i < 5; i++) try { await notes.get(5) } catch {}",
    "for (let i = 0; i < 20; i++) utils.formatDate(0)",
])
def test_no_hints_where_there_is_nothing_to_say(run, code):
    assert "hints" not in run(code)


NOTE = """const note = await notes.get('%s');
const lines = (note?.content ?? '').split('\\n');
const open = lines.filter((line) => line.startsWith('- [ ]'));
const texts = open.map((line) => line.slice(6).trim());
return { count: texts.length, texts };"""


def evaluate(client, code, id):
    answer = structured(client.ask(call("evaluate_note_code", {"code": code}, id=id)))
    assert answer["success"], answer
    return [hint for hint in answer.get("hints", []) if "register_custom_function" in hint]


def test_code_that_comes_a_third_time_could_be_a_function(stdio):
    stdio.ask(initialize())
    assert evaluate(stdio, NOTE % "note/one", 1) == []
    assert evaluate(stdio, (NOTE % "note/two").replace("texts", "found"), 2) == []
    [hint] = evaluate(stdio, "// once more\n" + NOTE % "note/three", 3)
    assert "'note/one' (line 1)" in hint and "- [ ]" not in hint
    assert evaluate(stdio, NOTE % "note/four", 4) == []


def test_code_that_differs_or_is_short_gets_no_such_hint(stdio):
    stdio.ask(initialize())
    for i in range(6):
        assert evaluate(stdio, "const a = await notes.list();\nreturn a.length", i + 1) == []
        other = NOTE % "note/one" + f"\nfunction f{'x' * i}() {{ return {'1 +' * i} 1 }}"
        assert evaluate(stdio, other, i + 10) == []
