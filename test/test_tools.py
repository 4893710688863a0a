"""The tools in a client's list, and those that need no code."""

import json
import os
import sys

from conftest import ROOT
from wire import call, request, structured

sys.path.insert(0, str(ROOT / "test" / "clients"))
from calls import make  # noqa: E402


def test_the_list_of_tools_is_short(stdio):
    """A client reads it before every conversation."""
    tools = stdio.ask(request("tools/list", modern=True))["result"]["tools"]
    assert len(tools) <= 12
    assert len(json.dumps(tools, ensure_ascii=False, separators=(",", ":")).encode()) <= 8192
    (code,) = (t for t in tools if t["name"] == "evaluate_note_code")
    assert len(code["description"].encode()) <= 1024


def test_the_seeds_tools_are_in_it(stdio):
    """Answers fit the output schemas of the list."""
    for modern in (False, True):
        names = [t["name"] for t in stdio.ask(request("tools/list", modern=modern))["result"]["tools"]]
        assert {"evaluate_note_code", "run_script", "register_custom_function"} <= set(names)


def test_the_python_client_finds_run_script_in_the_list(cloche, vault, caplog):
    """The client warns about answers without a schema."""
    script = ("run_script", {"code": "1 + 1", "workspace_id": "vault"})
    [told] = make([script], [cloche, "mcp", "--vault", str(vault)], dict(os.environ))
    assert told["content"]["result"] == 2
    assert "not listed" not in caplog.text


def test_the_description_names_every_namespace(stdio):
    tools = stdio.ask(request("tools/list", modern=True))["result"]["tools"]
    everything = structured(stdio.ask(call("describe_api", {}, id=2)))["namespaces"]
    always = [name for name in everything if name not in ("fetch", "fs")]
    missing = [name for name in always if name not in tools[0]["description"]]
    assert missing == []


def test_the_example_in_the_description_runs(stdio):
    tools = stdio.ask(request("tools/list", modern=True))["result"]["tools"]
    example = tools[0]["description"].split("Example:\n")[1]
    answer = structured(stdio.ask(call("evaluate_note_code", {"code": example}, id=2)))
    assert answer["success"], answer["error"]
    assert {row["id"] for row in answer["result"]} >= {"project/greenhouse"}


def test_a_note_is_renamed_or_moved(stdio, vault):
    note = structured(stdio.ask(call("get_note", {"identifier": "project/greenhouse"})))
    how = {"identifier": note["id"], "content_hash": note["content_hash"]}
    for wrong in ({}, {"new_title": "a", "new_type": "b"}):
        refused = stdio.ask(call("rename_note", how | wrong, id=2))["result"]
        assert refused["isError"] and "new_title" in refused["content"][0]["text"]
    renamed = structured(stdio.ask(call("rename_note", how | {"new_title": "Glasshouse"}, id=3)))
    assert renamed["new_id"] == "project/Glasshouse" and renamed["linksUpdated"] > 0
    assert "[[project/Glasshouse" in (vault / "Start here.md").read_text()
    moved = structured(stdio.ask(call("rename_note", {
        "identifier": renamed["new_id"], "new_type": "idea", "force": True}, id=4)))
    assert moved["new_id"] == "idea/Glasshouse"


def test_a_wrong_id_is_told_the_nearest(stdio):
    refused = stdio.ask(call("get_note", {"identifier": "project/grenhouse"}))["result"]
    assert refused["isError"] and "project/greenhouse" in refused["content"][0]["text"]
