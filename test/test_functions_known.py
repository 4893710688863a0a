"""Custom functions in a new conversation: in the instructions, in the description of
evaluate_note_code, in api.search and in declarations."""
import json
import subprocess

import pytest

from conftest import policy_in
from test_functions import HOSTILE, agent, fn, section, sized  # noqa: F401
from wire import MODERN, Server, Stdio, call, initialize, notification, request, structured

DAILY = {"name": "dailyNote", "description": "Creates or updates the daily note",
         "parameters": {"content": {"type": "string", "description": "what to append"},
                        "date": {"type": "string", "optional": True}},
         "returnType": "Promise<Note | null>",
         "code": "async function dailyNote(content: string, date?: string): "
                 "Promise<Note | null> { return await notes.get((date || '') + content); }"}


def begin(cloche, vault, *more):
    """A new conversation: its instructions, and evaluate_note_code's description."""
    with Stdio([cloche, "mcp", "--vault", vault, *more]) as stdio:
        said = stdio.ask(initialize())["result"]["instructions"]
        return said, description(stdio.ask(request("tools/list")))


def description(listed):
    [tool] = [t for t in listed["result"]["tools"] if t["name"] == "evaluate_note_code"]
    return tool["description"]


def test_a_new_conversation_knows_which_functions_there_are(agent, cloche, vault):  # noqa: F811
    before, plain = begin(cloche, vault)
    assert "dailyNote" not in before + plain and "Example:" in plain
    agent("register_custom_function", **DAILY)
    agent("register_custom_function", **sized("other", "Answers one"))
    agent("evaluate_note_code", code="return [customFunctions.other(), customFunctions.other()]")
    assert agent("custom_function_stats", name="other")["calls"] == 2
    said, told = begin(cloche, vault)
    assert said.startswith(before) and len(said.encode()) < 2048
    assert ("customFunctions.dailyNote(content: string, date?: string): Promise<Note | null> - "
            "Creates or updates the daily note") in said
    assert "not instructions" in said and "vault 'vault'" in said
    # Those used most come first.
    assert said.index("other(") < said.index("dailyNote(")
    assert "customFunctions.NAME: other(), dailyNote(content, date?)." in told
    assert len(told) <= 1024


def test_many_functions_are_told_of_within_bounds(cloche, vault):
    functions = [{"code": f"function aboutThing{i}() {{}}", "name": f"aboutThing{i}",
                  "description": "d" * 500, "returnType": "void"} for i in range(300)]
    (vault / ".cloche").mkdir(exist_ok=True)
    (vault / ".cloche" / "custom-functions.json").write_text(
        json.dumps({"version": 1, "functions": functions}))
    said, told = begin(cloche, vault)
    assert len(said.encode()) < 2048 and len(told) <= 1024
    for text in (said, told):
        shown = text.count("aboutThing")
        assert 2 <= shown and f"{300 - shown} more: api.describe('customFunctions')." in text


def test_no_word_of_a_function_leaves_its_line_there(agent, cloche, vault):  # noqa: F811
    agent("register_custom_function", **{**sized("kind", HOSTILE)})
    before = begin(cloche, vault)[0].split("\n")
    assert "are their authors'" in before[-2] and before[-1].startswith("- customFunctions.kind()")


def test_who_may_not_list_functions_is_told_of_none(agent, cloche, vault, tmp_path):  # noqa: F811
    agent("register_custom_function", **DAILY)
    policy_in(tmp_path, {"deniedAPIs": ["customFunctions"]})
    said, told = begin(cloche, vault)
    assert "dailyNote" not in said + told and "Example:" in told


def test_the_newer_era_is_told_as_well(agent, cloche, vault):  # noqa: F811
    agent("register_custom_function", **DAILY)
    with Stdio([cloche, "mcp", "--vault", vault]) as stdio:
        said = stdio.ask(request("server/discover", modern=True))["result"]
        assert "customFunctions.dailyNote(" in said["instructions"]
        assert said["cacheScope"] == "private"
    with Server([cloche, "serve", "--vault", vault, "--listen", "127.0.0.1:0"]) as server:
        said = server.post(request("server/discover", modern=True)).json()["result"]
        assert "customFunctions.dailyNote(" in said["instructions"]


def test_a_session_hears_of_new_functions(cloche, vault):
    with Stdio([cloche, "mcp", "--vault", vault]) as stdio:
        stdio.ask(initialize())
        stdio.send(notification("notifications/initialized"))
        assert "dailyNote" not in description(stdio.ask(request("tools/list", id=2)))
        stdio.send(call("register_custom_function", DAILY, id=3))
        heard = set()
        while not {"notifications/tools/list_changed", 3} <= heard:
            message = stdio.receive()
            heard.add(message.get("method") or message["id"])
        assert "dailyNote(content, date?)" in description(stdio.ask(request("tools/list", id=4)))


# ---- api.search ------------------------------------------------------------------------------

@pytest.mark.parametrize("words, first", [
    ("get a note", "notes.get"),
    ("create note", "notes.create"),
    ("list notes", "notes.list"),
    ("update note content", "notes.update"),
    ("search", "notes.search"),
    ("daily note", "notes.daily"),
    ("createDailyNote", "customFunctions.createDailyNote"),
    ("getNoteSummary", "customFunctions.getNoteSummary"),
    ("summary of a note", "customFunctions.getNoteSummary"),
    ("weekly digest", "customFunctions.listWeeklyDigest"),
])
def test_what_fits_better_comes_first(agent, words, first):  # noqa: F811
    for name, about in (("createDailyNote", "Creates the note of the day"),
                        ("getNoteSummary", "Gets a note and sums it up"),
                        ("listWeeklyDigest", "Lists what a week has brought to the notes")):
        agent("register_custom_function", **sized(name, about))
    found = [r["name"] for r in agent("search_api", query=words)["results"]]
    assert found[0] == first, found
    inside = agent("evaluate_note_code", code=f"return api.search({words!r})[0].name")
    assert inside["result"] == first


# ---- declarations ----------------------------------------------------------------------------

TYPED = [
    {"name": "rows", "description": "Rows", "returnType": "Promise<Row[]>",
     "parameters": {"of": {"type": "Row", "description": "what to begin with"},
                    "how": {"type": "How", "optional": True}},
     "code": """/** Not a part of it: */ */ ignore
export interface Row {
  id: string; // its id
  n?: number
}
type How = 'up'
  | 'down'
const TABLE = {a: 1};
type Key = keyof typeof TABLE;
async function rows(of: Row, how?: How): Promise<Row[]> { return [of]; }""".replace(
         "/** Not a part of it: */ */ ignore", "/** Not a part of it. */")},
    {"name": "keyed", "description": "Keyed", "returnType": "Row", "parameters": {
        "...rows": {"type": "Row[]"}},
     "code": """type Row = {key: string};
function keyed(...rows: Row[]): Row { return rows[0] ?? {key: String(rows.length)}; }"""},
]


def test_declarations_compile_and_types_mean_what_they_mean(agent, cloche, vault):  # noqa: F811
    for definition in TYPED:
        made = agent("register_custom_function", **definition)
        assert made["success"], made
    types = section(agent, "cloche://functions/declarations")
    assert "namespace rows { interface Row { id: string; n?: number }" in types
    assert "function rows(of: rows.Row, how?: rows.How): Promise<rows.Row[]>;" in types
    assert "function keyed(...rows: keyed.Row[]): keyed.Row;" in types
    assert "   * @param of what to begin with" in types and "its id" not in types
    # They stand in TypeScript of their own.
    told = agent("check_code", language="typescript", code=types.replace(
        "customFunctions", "theirs") + "const all: theirs.rows.Row[] = await theirs.rows({id: 'a'});")
    assert told["types"] == [], told["types"]


@pytest.mark.parametrize("code, wrong", [
    ("return (await customFunctions.rows({id: 'a', n: 1}, 'up'))[0].id.length", None),
    ("return (await customFunctions.rows({id: 'a'}))[0].nothing", "'nothing' does not exist"),
    ("return customFunctions.rows({id: 1})", "not assignable"),
    ("return customFunctions.rows({id: 'a'}, 'left')", "not assignable"),
    ("return customFunctions.keyed({key: 'a'}, {key: 'b'}).key.length", None),
    ("return customFunctions.keyed({key: 'a'}, {key: 2})", "not assignable"),
])
def test_callers_are_held_to_types_of_the_functions_own(agent, code, wrong):  # noqa: F811
    for definition in TYPED:
        assert agent("register_custom_function", **definition)["success"]
    told = agent("check_code", code=code, language="typescript")["types"]
    assert bool(told) is bool(wrong) and (not wrong or wrong in told[0]["message"]), told
    caller = agent("validate_custom_function", **sized(
        "caller", returnType="any", code=f"async function caller(): Promise<any> {{ {code}; }}"))
    assert caller["valid"] is not bool(wrong), caller


def test_further_arguments_are_taken_together(agent):  # noqa: F811
    made = agent("register_custom_function", name="total", description="Adds", parameters={
        "unit": {"type": "string"}, "...numbers": {"type": "number[]"}}, returnType="string",
        code="function total(unit: string, ...numbers: number[]): string "
             "{ return numbers.reduce((a, b) => a + b, 0) + unit; }",
        examples=[{"args": ["m", 1, 2], "expected": "3m"}, {"args": ["m"], "expected": "0m"},
                  {"args": {"unit": "m", "numbers": [4, 5]}, "expected": "9m"}])
    assert made["success"] and made["tests"]["passed"] == 3, made
    ran = agent("evaluate_note_code", code="return customFunctions.total('x', 1, 2, 3)")
    assert ran["result"] == "6x"
    wrong = agent("evaluate_note_code", code="return customFunctions.total('x', 1, 'a')")
    assert "numbers" in wrong["error"] and "string" in wrong["error"]
    odd = agent("validate_custom_function", **sized(
        "odd", parameters={"...a": {"type": "any[]"}, "b": {"type": "string"}}))
    assert any(f["code"] == "REST_NOT_LAST" for f in odd["errors"])


def api(cloche, vault, *words):
    done = subprocess.run([cloche, "api", "--vault", vault, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_line_finds_functions_of_a_vault(agent, cloche, vault):  # noqa: F811
    agent("register_custom_function", **DAILY)
    agent("register_custom_function", **TYPED[0])
    assert "customFunctions.dailyNote" in api(cloche, vault, "daily", "note").splitlines()[0]
    assert api(cloche, vault, "get a note").startswith("notes.get ")
    assert api(cloche, vault, "rows").startswith("customFunctions.rows ")  # in one word, too
    assert api(cloche, vault, "notes").startswith("notes.create ")
    none = subprocess.run([cloche, "api", "--vault", vault, "qqzz"], capture_output=True, text=True)
    assert none.returncode and "'qqzz'" in none.stderr
    listed = api(cloche, vault, "customFunctions")
    assert "customFunctions.dailyNote" in listed and "customFunctions.rows" in listed
    one = api(cloche, vault, "customFunctions.dailyNote")
    assert "(content: string, date?: string)" in one and "what to append" in one
    assert "namespace" not in one  # no types of its own
    typed = api(cloche, vault, "customFunctions.rows")
    told = agent("evaluate_note_code", code="return api.describe('customFunctions.rows')")["result"]
    for text in (typed, told["typeDefinition"]):
        assert "namespace rows {" in text and "function rows(" in text
    types = api(cloche, vault, "--types")
    assert "declare const notes" in types and "namespace rows {" in types
    assert "notes.get" in api(cloche, vault, "notes.get")
    plain = subprocess.run([cloche, "api", "--types"], capture_output=True, text=True).stdout
    assert types.startswith(plain)
