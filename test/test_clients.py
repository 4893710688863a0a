"""The official clients against cloche-conformance: Python's and both of TypeScript, in the
revisions that each of them speaks, over stdio and HTTP; and the Inspector's command line.

A client goes once through everything that it can do with a server (test/clients); each
thing that came of it is a test.
"""
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import needs
from conftest import ROOT, folders_in, policy_in, sample_vault

sys.path.insert(0, str(ROOT / "test" / "clients"))
from drive import drive  # noqa: E402

DEPS = ROOT / "build" / "deps"
NODE = Path(os.environ.get("CLOCHE_NODE") or DEPS / "node")
PACKAGES = DEPS / "npm-test" / "node_modules"
INSPECTOR = PACKAGES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
TIMEOUT_S = 120
CLIENTS = [("python", "legacy"), ("python", "modern"), ("sdk", "legacy"),
           ("client", "legacy"), ("client", "modern")]
MANY = 1100  # notes, over stdio: more than one page holds
WATCHED = "test://watched-resource"

pytestmark = [
    needs.installed(INSPECTOR, NODE, by="deps/fetch test"),
    # What it warns of is what the newer revision gives up, and we want to see it work.
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")]


@pytest.fixture(scope="module")
def target(fixtures, served, tmp_path_factory):
    """What a client connects to, by transport, and its environment."""
    place = tmp_path_factory.mktemp("clients")
    vault = sample_vault(place)
    policy_in(place, {"tools": {"default": "always", "listed": ["jq"]}})
    (vault / "many").mkdir()
    for n in range(MANY):
        (vault / "many" / f"note-{n}.md").write_text(f"# Note {n}\n")
    command = [fixtures, "mcp", "--vault", str(vault)]
    return ({"stdio": command, "http": [served.url + "/mcp"]},
            os.environ | folders_in(place) | {"HOME": str(place)})


@pytest.fixture(scope="module")
def results(target):
    """(client, revision, transport) -> what came of each step; each is run once."""
    targets, env = target

    @functools.cache
    def run(client, era, transport):
        if client == "python":
            return drive(targets[transport], env, era)
        done = subprocess.run(
            [str(NODE), str(ROOT / "test/clients/drive.mjs"), str(PACKAGES), client, era,
             *targets[transport]], env=env, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(params=[(c, e, t) for t in ("stdio", "http") for c, e in CLIENTS],
                ids="-".join)
def run(request, results):
    client, era, transport = request.param
    got = results(client, era, transport)

    def value(step):
        assert "error" not in got[step], got[step]
        return got[step]["value"]

    value.steps, value.modern, value.client = got, era == "modern", client
    value.transport = transport
    return value


def test_it_connects_and_learns_who_is_there(run):
    run("connect")
    about = run("about")
    assert {"tools", "resources", "prompts", "completions"} <= set(about["capabilities"])
    assert len(about["instructions"]) > 100
    assert about["server"]["name"] == "cloche"
    assert about.get("version", "") in ("", "2026-07-28") if run.modern else True


def test_tools_are_listed_and_called(run):
    names = run("tools")["names"]
    assert {"evaluate_note_code", "get_note", "test_simple_text"} <= set(names)
    assert len(names) == len(set(names))
    assert run("text") == ["This is a simple text response for testing."]
    assert run("content") == ["text", "image", "resource"]


def test_structured_content_is_what_its_schema_says(run):
    """Each of the clients checks it against the tool's output schema by itself."""
    assert run("structured")["id"] == "project/greenhouse"


@needs.installed(ROOT / "build/guest/tools/jq", by="make tools")
def test_command_line_tools_are_listed_and_called(run):
    """One that the policy lists, among the actions; it is in a world of its own."""
    assert "wasm_jq" in run("tools")["names"]
    assert run("wasm") == {"stdout": "[1,2]\n", "exitCode": 0}


def test_failures_are_told(run):
    assert run("failure") == {"isError": True, "text": [
        "This tool intentionally returns an error for testing"]}
    assert run.steps["unknown"]["code"] == -32602
    assert run.steps["missing"]["code"] == (-32602 if run.modern or run.client == "client"
                                            else -32002)


def test_progress_arrives_in_order(run):
    assert [p["progress"] for p in run("progress")] == [0, 50, 100]
    assert {p["total"] for p in run("progress")} == {100}


def test_log_messages_arrive(run):
    assert run("log")[:3] == [["info", "Tool execution started"],
                              ["info", "Tool processing data"],
                              ["info", "Tool execution completed"]]


def test_resources_are_listed_and_read(run):
    uris = run("resources")["uris"]
    assert {"test://static-text", "test://static-binary", WATCHED} <= set(uris)
    assert len(uris) == len(set(uris))
    if run.transport == "stdio":
        # TypeScript's newer client puts the pages together by itself.
        assert run("resources")["pages"] > (0 if run.client == "client" else 2)
        assert sum("many%2Fnote-" in uri or "many/note-" in uri for uri in uris) == MANY
    assert run("read") == [{"uri": "test://static-text", "mimeType": "text/plain",
                            "text": "This is the content of the static text resource."}]
    assert run("blob") == "image/png"
    assert "test://template/{id}/data" in run("templates")
    assert run("template")["id"] == "7"


def test_prompts_are_listed_filled_in_and_completed(run):
    assert {"test_simple_prompt", "test_prompt_with_arguments"} <= set(run("prompts"))
    assert run("prompt") == [{"role": "user", "content": {
        "type": "text", "text": "Prompt with arguments: arg1='a', arg2='b'"}}]
    assert run("complete") == ["paris", "park", "party"]


def test_questions_reach_the_person_and_the_model(run):
    assert run("elicit")[0].startswith('User response: action=accept, content={')
    assert '"username":"ada"' in run("elicit")[0]
    assert run("decline")[0].startswith("User response: action=decline")
    assert run("sample") == ["LLM response: Paris"]
    assert run("roots") == ["1 roots, the first is file:///home/ada"]


def test_several_questions_and_rounds_of_them_are_answered(run):
    assert run("several") == ["Ada says: Paris; 1 roots"]
    assert run("rounds") == ["Ada likes red"]
    # Nobody is asked twice, also where the call is run again with the answers.
    assert sorted(run("asked")) == sorted([
        "Who are you?", "Who are you?", "sampling", "What is your name?", "sampling",
        "Step 1: What is your name?", "Step 2: What is your favorite color?"])


def test_what_changes_is_told_to_who_listens(run):
    if "events" in run.steps:
        run("events")
    run("subscribe")
    assert run("updated") == WATCHED
    assert run("changed") is True
    run("unsubscribe")


def test_a_cancelled_call_holds_nothing_up(run):
    assert run("cancel")["after"] == ["This is a simple text response for testing."]
    assert run("cancel")["what"] != "answered"
    run("close")


# ---- the Inspector's command line ------------------------------------------------------

@pytest.fixture(params=[(t, e) for t in ("stdio", "http") for e in ("legacy", "modern")],
                ids="-".join)
def inspect(request, target):
    transport, era = request.param
    targets, env = target

    def run(method, *options):
        done = subprocess.run(
            [str(NODE), str(INSPECTOR), "--cli", *targets[transport], "--protocol-era", era,
             "--format", "json", "--method", method, *options],
            env=env, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)["result"]

    return run


def test_the_inspector_lists_and_calls_tools(inspect):
    names = [t["name"] for t in inspect("tools/list")["tools"]]
    assert {"evaluate_note_code", "test_simple_text"} <= set(names)
    called = inspect("tools/call", "--tool-name", "evaluate_note_code", "--tool-arg",
                     "code=return (await notes.list({limit: 3})).length")
    assert called["structuredContent"]["result"] == 3


def test_the_inspector_reads_resources_and_prompts(inspect):
    assert WATCHED in [r["uri"] for r in inspect("resources/list")["resources"]]
    read = inspect("resources/read", "--uri", "test://static-text")
    assert read["contents"][0]["text"].startswith("This is the content")
    templates = inspect("resources/templates/list")["resourceTemplates"]
    assert "test://template/{id}/data" in [t["uriTemplate"] for t in templates]
    assert "test_simple_prompt" in [p["name"] for p in inspect("prompts/list")["prompts"]]
    prompt = inspect("prompts/get", "--prompt-name", "test_prompt_with_arguments",
                     "--prompt-args", "arg1=a", "arg2=b")
    assert "arg1='a', arg2='b'" in prompt["messages"][0]["content"]["text"]


def test_the_inspector_finds_our_schemas_portable(cloche, target):
    targets, env = target
    done = subprocess.run(
        [str(NODE), str(INSPECTOR), "--cli", cloche, *targets["stdio"][1:], "--method",
         "tools/list", "--strict"], env=env, capture_output=True, text=True,
        timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
