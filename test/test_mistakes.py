"""Errors and advice for agents' mistakes: test/mistakes.py, each against a server over the sample
vault. The position is that of the failing call, and advice appears where it is right."""
import json
import os
import subprocess

import pytest

from conftest import folders_in, sample_vault
from mistakes import FAILURES, FAILURES_TYPESCRIPT, SILENT
from wire import Stdio, call, initialize, request, structured


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


def test_a_refused_argument_has_changed_nothing(evaluate):
    read = "return (await notes.get('project/newsletter')).metadata"
    before = evaluate(read)["result"]
    for value in ("NaN", "-Infinity", "new Date('soon')", "() => 1", "Symbol('s')",
                  "[1, {a: NaN}]", "notes.list()"):
        answer = evaluate("await notes.get('project/newsletter');\n"
                          "return await notes.update('project/newsletter', "
                          f"{{metadata: {{status: {value}}}}})")
        assert answer["errorDetails"]["type"] == "InvalidInput", value
        assert answer["errorDetails"]["changed"] is False
    assert evaluate(read)["result"] == before
    # An undefined value was not meant, and null removes a key.
    answer = evaluate("await notes.get('project/newsletter');\n"
                      "return await notes.update('project/newsletter', "
                      "{metadata: {status: undefined, checked: null, mark: 1}})")
    assert answer["success"] and evaluate(read)["result"] == before | {"mark": 1}


def test_a_callback_for_fs_is_refused_and_missing_files_are_explained(evaluate):
    for code, error, advice in (
            ("fs.readFile('a.txt', 'utf8', (e, d) => console.log(d));\nreturn 1",
             "TypeError: fs.readFile takes no callback: it answers a promise", None),
            ("return await fs.readFile('project/greenhouse.md', 'utf8')", "Error: ENOENT",
             "fs has files of this evaluation alone; notes are read with notes.get, and"),
            ("await fs.writeFile('a/b.txt', 'x')", "Error: ENOENT",
             "fs has files of this evaluation alone; fs.mkdir(folder, {recursive: true}) makes"),
            ("await fs.readFile('b.txt')", "Error: ENOENT",
             "fs has files of this evaluation alone: those that it has written.")):
        said, place, suggestion = told(evaluate(code, enableFileSystem=True))
        assert said.startswith(error) and place[0] == 1
        assert advice in (suggestion or "") if advice else suggestion is None


def test_a_failure_is_told_once(evaluate):
    """A finding of the linter in the line that failed is part of the failure's advice."""
    for code in ("return await notes.listAll()", "return await notes.list({limt: 5})",
                 "const {results} = await notes.search('garden');\nreturn results.length",
                 "const buffer = require('buffer');\nreturn buffer.Buffer.from('x')"):
        answer = evaluate(code)
        assert answer["errorDetails"]["suggestion"] and "warnings" not in answer, code
    answer = evaluate("const n = notes.get('project/greenhouse');\nn.title;\n"
                      "return await notes.listAll()")
    assert [w["line"] for w in answer["warnings"]] == [1]


def test_whoever_gives_no_limit_is_told_that_there_may_be_more(cloche, vault):
    for i in range(1000):
        (vault / f"n{i}.md").write_text("a haystack\n")
    code = ("const [all, some, hits, few] = await Promise.all([notes.list(), "
            "notes.list({limit: 1000}), notes.search('haystack'), "
            "notes.search({query: 'haystack', limit: 50})]);\n"
            "return [all.length, some.length, hits.length, few.length]")
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        client.ask(initialize())
        answer = structured(client.ask(call("evaluate_note_code", {"code": code}, id=1)))
        assert answer["result"] == [1000, 1000, 50, 50]
        assert sorted((w["rule"], w["message"], w["suggestion"]) for w in answer["warnings"]) == [
            ("default-limit", "notes.list answered its default limit of 1000 notes; there may be "
             "more", "Give a limit, at most 10,000."),
            ("default-limit", "notes.search answered its default limit of 50 notes; there may be "
             "more", "Give a limit, at most 1,000.")]
        few = structured(client.ask(call("search_notes", {"query": "haystack"}, id=2)))
        assert [w["rule"] for w in few["warnings"]] == ["default-limit"]
        few = structured(client.ask(call("search_notes", {"query": "haystack", "limit": 50}, id=3)))
        assert "warnings" not in few


UNKNOWN_TOOLS = {
    "jq": "run_tool {name: 'jq'} does that",
    "rg": "run_tool {name: 'ripgrep'} does that",
    "delete_note": "evaluate_note_code does that: await notes.delete(...)",
    "listNotes": "evaluate_note_code does that: await notes.list(...)",
    "getNote": "get_note is its name", "get_notes": "get_note is its name",
    "double": "evaluate_note_code does that: await customFunctions.double(...)",
    "node": "evaluate_note_code runs JavaScript and TypeScript",
    "xyzzy": "there are: evaluate_note_code, get_note",
}


def test_a_tool_that_is_not_there_leads_to_what_does_that(stdio):
    stdio.ask(initialize())
    assert structured(stdio.ask(call("register_custom_function", DOUBLE, id=1)))["success"]
    for name, advice in UNKNOWN_TOOLS.items():
        error = stdio.ask(call(name, id=2))["error"]
        assert error["code"] == -32602
        assert error["message"].startswith(f"Unknown tool: {name}; {advice}")


@pytest.mark.parametrize("query, call", [
    ("delete a note", "notes.delete"), ("broken links", "links.findBroken"),
    ("history of a note", "notes.history"), ("sort lines", None), ("filter json", None)])
def test_find_tools_leads_to_what_code_calls(stdio, query, call):
    stdio.ask(initialize())
    found = structured(stdio.ask(request("tools/call", {
        "name": "find_tools", "arguments": {"query": query}}, id=1)))
    assert found.get("code", "").startswith(f"evaluate_note_code: await {call}(...)" if call else "")
    assert ("code" in found) == (call is not None)


@pytest.mark.parametrize("name, advice", [
    ("rg", "'ripgrep' does that"),
    ("jq .a", "the name is only 'jq'; put the rest into args, an array"),
    ("delete_note", "evaluate_note_code does that: await notes.delete(...)"),
    ("curl", "fetch does that in evaluate_note_code, with enableNetwork"),
    ("sotr", "the nearest is 'sort'"),
    ("nosuch", "find_tools finds tools by what they do"),
])
def test_so_does_a_command_line_tool(stdio, name, advice):
    stdio.ask(initialize())
    answer = stdio.ask(call("run_tool", {"name": name}, id=1))["result"]
    said = f"there is no tool '{name}'; {advice}"
    assert answer["isError"] and said in answer["content"][0]["text"]
    code = f"return await tools.run({json.dumps(name)}, {{}})"
    answer = structured(stdio.ask(call("evaluate_note_code", {"code": code}, id=2)))
    assert answer["error"].startswith(f"NotFound: {said}")


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
    code = "const title: string = 'Weekly';\n" + code
    said, at, _ = told(evaluate(code, language="typescript"))
    assert said.startswith("Conflict") and at == (2, 26)


def test_the_first_answers_of_a_new_server_have_their_warnings(cloche, vault):
    """Those that come while it is still loading its guests, too."""
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        client.send(initialize(), *[call("evaluate_note_code", {
            "code": f"const n = notes.get('project/greenhouse');\nreturn n.title + 'x{i}'"}, id=i)
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


@pytest.mark.parametrize("code", [
    "const ids = ['project/greenhouse']; return ids.map(async (id) => (await notes.get(id)).title)",
    "return (await notes.list()).filter(async (r) => (await notes.get(r.id)).size > 1e9).length",
    "const all = await notes.list(); return all.reduce(async (s, r) => s + r.size, 0) + 1",
])
def test_cloche_eval_tells_of_promises_in_place_of_values(cloche, vault, code):
    done = subprocess.run([cloche, "eval", "--vault", str(vault), "-e", code],
                          capture_output=True, text=True, timeout=60)
    answer = json.loads(done.stdout)
    assert answer["success"] and len(answer["warnings"]) == 1
    assert answer["warnings"][0]["rule"] in ("missing-await", "async-callback")


def test_cloche_eval_tells_of_a_function_that_is_not_awaited(cloche, vault, tmp_path):
    (tmp_path / "double.json").write_text(json.dumps(DOUBLE))
    for command in (["fn", "add", "--vault", str(vault), str(tmp_path / "double.json")],
                    ["eval", "--vault", str(vault), "-e",
                     "const {double} = customFunctions; const n = double(2); return n + 1"]):
        done = subprocess.run([cloche, *command], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["result"] == "[object Promise]1"
    assert [(w["rule"], w["suggestion"]) for w in answer["warnings"]] == [
        ("missing-await", "await double(2)")]


def test_a_context_that_is_given_is_known_to_the_check(cloche, stdio):
    done = subprocess.run([cloche, "eval", "--check", "--json", "--context", '{"given": 1}',
                           "-e", "return given + other"],
                          capture_output=True, text=True, timeout=60)
    findings = json.loads(done.stdout)["findings"]
    assert [(f["rule"], f["severity"], f["column"]) for f in findings] == [
        ("undefined-name", "error", 16)]
    stdio.ask(initialize())
    answer = structured(stdio.ask(call("check_code", {
        "code": "return given + other", "context": {"given": 1, "other": "a"}}, id=1)))
    assert answer["findings"] == [] and answer["ok"]


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


def test_an_operator_in_a_query_is_told_with_the_option_that_is_meant(stdio):
    stdio.ask(initialize())
    for query, option in (("tag:garden", "tags: ['"), ("type:project", "typeFilter")):
        found = structured(stdio.ask(call("search_notes", {"query": query}, id=1)))
        assert found["results"] == []
        (warning,) = found["warnings"]
        assert query in warning["message"] and option in warning["suggestion"]
    code = "return [await notes.search('tag:garden'), await notes.list('tag:garden')]"
    answer = structured(stdio.ask(call("evaluate_note_code", {"code": code}, id=2)))
    assert ["operators" in w["message"] for w in answer["warnings"]] == [True, False]


def test_rest_tells_of_a_class_that_no_note_has(server):
    base = f"/workspaces/{server.http.get('/workspaces').json()[0]['id']}"
    for answer in (server.http.get(f"{base}/notes?class=projct"),
                   server.http.get(f"{base}/search?q=garden&class=projct"),
                   server.http.post(f"{base}/query", json={"filter": {"class": "projct"}})):
        assert answer.json() == []
        assert "'projct'" in answer.headers["Warning"] and "meeting" in answer.headers["Warning"]
    assert "Warning" not in server.http.get(f"{base}/notes?class=project").headers


# ---- custom functions, and names that nobody declared ---------------------------------

DOUBLE = {"name": "double", "description": "Twice n", "returnType": "Promise<number>",
          "code": "async function double(n: number): Promise<number> { return 2 * n; }",
          "parameters": {"n": {"type": "number", "description": "a number"}}}


@pytest.fixture
def warnings(stdio):
    stdio.ask(initialize())
    assert structured(stdio.ask(call("register_custom_function", DOUBLE, id=1)))
    return lambda code, **more: [
        (w["rule"], w["severity"], w.get("suggestion")) for w in structured(stdio.ask(call(
            "evaluate_note_code", {"code": code, **more}, id=2))).get("warnings", [])]


def test_the_linter_knows_the_custom_functions(warnings):
    assert warnings("return [await customFunctions.double(2), 'nothing to be warned of']") == []
    assert warnings("return await customFunctions.duoble(2) + 'a long enough line'") == [
        ("unknown-function", "error", "Did you mean customFunctions.double?")]
    assert warnings("customFunctions.double(2);\nreturn 'the sum is not waited for'") == [
        ("unawaited-call", "warning", "await customFunctions.double(2)")]
    assert warnings("return await customFunctions.double(2, 3) + ' too many of them'") == [
        ("function-arguments", "warning", "double(n: number): Promise<number>")]
    assert [w[0] for w in warnings("return await customFunctions.double() + ' too few'")] == [
        "function-arguments"]
    assert warnings("return await customFunctions.double(...[1, 2]) + ' nobody can tell'") == []
    assert warnings("const {double} = customFunctions;\nreturn await double(2, 3) + ' too many'") == [
        ("function-arguments", "warning", "double(n: number): Promise<number>")]
    assert warnings("const own = customFunctions;\nreturn await own.duoble(2) + ' too'") == [
        ("unknown-function", "error", "Did you mean customFunctions.double?")]


@pytest.mark.parametrize("code, expected", [
    ("foo.bar();\nreturn 'a name that nobody declared'", ["undefined-name"]),
    ("const total = 1;\nreturn [totl, 'and one with a slip', totl]", ["undefined-name"]),
    ("if (true) { const inner = 1 }\nreturn inner + ' outside of its block'", ["undefined-name"]),
    ("function f(a, {b: [c]}, ...d) { return [a, c, d, arguments.length] }\n"
     "return f(1, {b: [2]})", []),
    ("loose = 5; for (k in {a: 1}) loose += k;\nreturn [loose, k, undefined, NaN === Infinity]", []),
    ("class A extends Array { static b = A.name; #c; d() { return this.#c } }\nreturn [A.b]", []),
    ("l: for (const x of [1]) { try { continue l } catch { break } }\nreturn typeof nowhere", []),
    ("return new Intl.NumberFormat('de').format(1.5)", []),
    ("return [Math, JSON, URL, sleep, crypto, structuredClone, Intl_ => Intl_].length", []),
    ("const f = function g() { return g.name }; var h = h || 1;\nreturn [f(), h, later()];\n"
     "function later() { return {k: 1, get l() { return 2 }} }", []),
])
def test_names_that_nobody_declared_are_told(stdio, code, expected):
    stdio.ask(initialize())
    found = structured(stdio.ask(call("check_code", {"code": code}, id=1)))["findings"]
    assert [f["rule"] for f in found if f["severity"] != "hint"] == expected


def test_names_of_the_context_and_of_a_session_are_known(warnings):
    code = "return given.length + ' is a name of the context'"
    assert warnings(code, context={"given": "x"}) == []
    assert warnings("const kept = 1;\nreturn kept + ' and a long enough line'", session="s") == []
    assert warnings("return kept + ' which the call before has declared'", session="s") == []


# ---- time -----------------------------------------------------------------------------


def timeouts(cloche, vault, code, *options):
    done = subprocess.run([cloche, "eval", "--vault", str(vault), *options, "-e", code],
                          capture_output=True, text=True, timeout=120)
    answer = json.loads(done.stdout)
    return answer["success"], (answer.get("errorDetails") or {}).get("message", "")


def test_timeout_bounds_waiting_too_unless_computing_has_a_limit_of_its_own(cloche, vault):
    ended, message = timeouts(cloche, vault, "await sleep(1e6)", "--timeout", "200")
    assert not ended and message.startswith("took longer than 200 ms: ")
    assert message.endswith(" ms of waiting")
    assert timeouts(cloche, vault, "await sleep(300); 1", "--compute-timeout", "200")[0]
    ended, message = timeouts(cloche, vault, "for (;;);", "--compute-timeout", "200")
    assert not ended and message == "computed for more than 200 ms"
    ended, message = timeouts(cloche, vault, "await sleep(1e6)", "--compute-timeout", "5000",
                              "--timeout", "200")
    assert not ended and message.startswith("took longer than 200 ms: ")


def test_timeouts_have_the_levels_and_the_policys_ceilings(stdio):
    stdio.ask(initialize())

    def refused(**limits):
        answer = structured(stdio.ask(call("evaluate_note_code", {"code": "1", **limits}, id=1)))
        return None if answer["success"] else answer["errorDetails"]["message"]
    assert refused(timeout=30_000) is None and refused(computeTimeout=30_000) is None
    assert refused(timeout=30_001) == "timeout is 30001 ms; 1 to 30000 is accepted here"
    assert "computeTimeout is 30001 ms" in refused(computeTimeout=30_001)
    assert refused(timeout=60_000, computeTimeout=1000) is None
    assert "1 to 60000 is accepted" in refused(timeout=60_001, computeTimeout=1000)
