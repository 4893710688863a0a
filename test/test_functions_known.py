"""What a new conversation is told of the custom functions of a vault: in the instructions, in
the description of what runs code, by api.search and in declarations."""
import json

import pytest

from conftest import policy_in
from test_functions import HOSTILE, agent, fn, sized  # noqa: F401
from wire import MODERN, Server, Stdio, call, initialize, notification, request, structured

DAILY = {"name": "dailyNote", "description": "Creates or updates the daily note",
         "parameters": {"content": {"type": "string", "description": "what to append"},
                        "date": {"type": "string", "optional": True}},
         "returnType": "Promise<Note | null>",
         "code": "async function dailyNote(content: string, date?: string): "
                 "Promise<Note | null> { return await notes.get((date || '') + content); }"}


def begin(cloche, vault, *more):
    """A conversation that begins now: its instructions, and what it reads of evaluating."""
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
    assert "no instructions" in said and "vault 'vault'" in said
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
    ("daily note", "customFunctions.createDailyNote"),
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
