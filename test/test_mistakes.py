"""What an agent is told that made a mistake: test/mistakes.py, each against a server over the
sample vault. The place is that of the failing call, and advice is there where it is right."""
import json
import os
import subprocess

import pytest

from conftest import folders_in, sample_vault
from mistakes import FAILURES, FAILURES_TYPESCRIPT, SILENT
from wire import Stdio, call, initialize, structured


@pytest.fixture(scope="module")
def evaluate(cloche, tmp_path_factory):
    place = tmp_path_factory.mktemp("mistakes")
    env = os.environ | folders_in(place)
    with Stdio([cloche, "mcp", "--vault", str(sample_vault(place))], env=env) as client:
        client.ask(initialize())
        count = iter(range(1, 10_000))
        yield lambda code, **more: structured(client.ask(call(
            "evaluate_note_code", {"code": code, **more}, id=next(count))))


def told(answer):
    details = answer.get("errorDetails", {})
    place = (details["line"], details["column"]) if "line" in details else None
    return answer.get("error"), place, details.get("suggestion")


def differences(evaluate, rows, **more):
    for code, error, place, advice in rows:
        said, at, suggestion = told(evaluate(code, **more))
        right = advice in (suggestion or "") if advice else suggestion is None
        if not said or not said.startswith(error) or at != place or not right:
            yield f"{code}\n  said {said!r} at {at}, advised {suggestion!r}"


def test_there_are_at_least_a_hundred():
    assert len({row[0] for row in FAILURES}) >= 100


def test_failures_have_their_place_and_the_advice_that_is_right(evaluate):
    assert list(differences(evaluate, FAILURES)) == []


def test_so_have_those_of_typescript(evaluate):
    assert list(differences(evaluate, FAILURES_TYPESCRIPT, language="typescript")) == []


def test_what_goes_wrong_in_silence_is_warned_of(evaluate):
    wrong = []
    for code, expected in SILENT:
        answer = evaluate(code)
        messages = [w["message"] for w in answer.get("warnings", [])]
        if not answer["success"] or len(messages) != len(expected) or not all(
                part in message for part, message in zip(expected, messages)):
            wrong.append((code, messages))
    assert wrong == []


def test_scenario_1_run_twice_fails_at_the_call_that_failed(evaluate):
    code = """const note = await notes.create({
  type: 'meeting',
  title: 'Weekly',
  content: ['# Weekly', String(new Date(0))].join('\\n'),
  metadata: {date: new Date(0).toISOString(), attendees: ['Alice'].map(String)}
});
return note.id;"""
    assert evaluate(code)["result"] == "meeting/Weekly"
    said, at, suggestion = told(evaluate(code))
    assert said.startswith("Conflict") and at == (1, 26)
    assert "notes.update" in suggestion
    said, at, _ = told(evaluate("const title: string = 'Weekly';\n" + code, language="typescript"))
    assert said.startswith("Conflict") and at == (2, 26)


def test_the_first_answers_of_a_new_server_have_their_warnings(cloche, vault):
    """Those that come while it is still loading its guests, too."""
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        client.send(initialize(), *[call("evaluate_note_code", {
            "code": f"const n = notes.get('project/greenhouse');\nreturn n.title + {i}"}, id=i)
            for i in range(1, 6)])
        answers = {}
        while len(answers) < 6:
            message = client.receive()
            answers[message.get("id")] = message
    for i in range(1, 6):
        assert [w["rule"] for w in structured(answers[i])["warnings"]] == ["missing-await"]


def test_cloche_eval_tells_of_a_missing_await(cloche, vault):
    done = subprocess.run([cloche, "eval", "--vault", str(vault), "-e",
                           "notes.get('project/greenhouse').title"],
                          capture_output=True, text=True, timeout=60)
    answer = json.loads(done.stdout)
    assert answer["success"] and answer["result"] is None
    assert [w["rule"] for w in answer["warnings"]] == ["missing-await"]


def test_an_unknown_type_is_told_by_the_search_tool_and_a_declared_one_is_fine(stdio):
    stdio.ask(initialize())
    found = structured(stdio.ask(call(
        "search_notes", {"query": "garden", "typeFilter": "projct"}, id=1)))
    assert found["results"] == []
    (warning,) = found["warnings"]
    assert warning["rule"] == "unknown-filter" and "'projct'" in warning["message"]
    assert "meeting" in warning["message"] and warning["suggestion"] == "Did you mean 'project'?"
    code = ("await noteTypes.create({type_name: 'task', description: 'to do'});\n"
            "return [await notes.list({typeName: 'task'}), await notes.list({typeName: 'taks'})]")
    answer = structured(stdio.ask(call("evaluate_note_code", {"code": code}, id=2)))
    assert answer["result"] == [[], []]
    assert ["'taks'" in w["message"] for w in answer["warnings"]] == [True]
