"""Help for agents: finding a method, and advice on a failure."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from wire import call, structured


@pytest.fixture
def run(cloche, vault):
    """Runs code over the vault; returns its whole answer."""

    def evaluate(code, *words):
        done = subprocess.run([cloche, "eval", "--vault", str(vault), *words, "-"], input=code,
                              capture_output=True, text=True, timeout=120)
        return json.loads(done.stdout)

    return evaluate


# ---- finding methods -----------------------------------------------------------------


@pytest.mark.parametrize("words, first", [
    ("full text search", "notes.search"), ("delete a note", "notes.delete"),
    ("format date", "utils.formatDate"), ("change the frontmatter", "notes.update")])
def test_a_search_in_code_finds_the_method(run, words, first):
    for code in (f"api.search('{words}')", f"await api.search('{words}')"):
        rows = run(code)["result"]
        assert rows[0]["name"] == first
        assert rows[0]["signature"].startswith(first + "(") and rows[0]["summary"]
    assert len(run(f"api.search({{query: '{words}', limit: 1}})")["result"]) == 1


@pytest.mark.parametrize("code, message", [
    ("api.search()", "needs search words"), ("api.search({query: 'a', limit: 51})", "1 to 50"),
    ("api.search({query: 'a', limit: 0})", "1 to 50"), ("api.describe(7)", "needs a name")])
def test_a_wrong_question_is_refused(run, code, message):
    details = run(code)["errorDetails"]
    assert details["type"] == "InvalidInput" and message in details["message"]


def test_a_description_in_code_tells_everything_of_a_method(run):
    told = run("api.describe('notes.update')")["result"]
    assert told["signature"].count("\n") == 1  # two overloads
    assert {"identifier", "content", "metadata"} <= {o["name"] for o in told["options"]}
    assert "Conflict" in told["errors"] and told["writes"] is True and told["level"] == "limited"
    assert {"Metadata", "UpdatedNote"} <= set(told["types"])
    everything = run("await api.describe()")["result"]
    assert "update" in everything["namespaces"]["notes"] and "Note" in everything["types"]


def test_the_api_is_told_at_every_level_with_what_is_allowed(run):
    rows = run("api.describe('notes').methods", "--level", "zero")["result"]
    allowed = {r["name"]: r.get("allowed", True) for r in rows}
    assert allowed["notes.get"] and allowed["notes.list"] and not allowed["notes.delete"]
    rows = run("api.search('delete')", "--allow", "notes.get")["result"]
    assert rows[0] | {"allowed": False} == rows[0]


def test_the_tools_tell_the_same(stdio):
    found = structured(stdio.ask(call("search_api", {"query": "delete a note"})))
    assert found["results"][0]["name"] == "notes.delete"
    told = structured(stdio.ask(call("describe_api", {"name": "notes.delete"}, id=2)))
    assert told["example"]
    refused = stdio.ask(call("describe_api", {"name": "notes.serach"}, id=3))["result"]
    assert refused["isError"] and "notes.search" in refused["content"][0]["text"]


def test_the_examples_run(stdio):
    """Of each method, over notes that are not those of the example: nothing but their being
    absent, or there already, may stop one. No person is there to be asked about a tool."""
    policy = Path(os.environ["XDG_CONFIG_HOME"]) / "cloche" / "policy.json"
    policy.parent.mkdir(parents=True, exist_ok=True)
    policy.write_text('{"tools": {"default": "always", "askSeconds": 1}}')
    everything = structured(stdio.ask(call("describe_api", {}, id=1)))["namespaces"]
    said = {}
    # Those that go to another vault come last.
    for space, methods in sorted(everything.items(), key=lambda pair: pair[0] == "vaults"):
        for method in methods:
            name = method if method == space else f"{space}.{method}"
            example = structured(stdio.ask(call("describe_api", {"name": name}, id=2))).get("example")
            answer = structured(stdio.ask(call("evaluate_note_code", {
                # A machine of a size that was never used boots first.
                "code": example, "enableFileSystem": True, "timeout": 30000}, id=3)))
            details = answer.get("errorDetails", {})
            if details and details["type"] not in ("NotFound", "Conflict", "PermissionDenied") and \
                    not details["message"].endswith((" of null", " of undefined")):
                said[name] = answer["error"]
    said.pop("fetch", None)  # is there only with enableNetwork
    assert said == {}


def test_the_command_line_tells_the_same(cloche):
    def api(*words):
        return subprocess.run([cloche, "api", *words], capture_output=True, text=True)

    assert "notes.get " in api().stdout
    assert api("notes").stdout.startswith("notes.create ")
    assert api("notes.get").stdout.startswith("### notes.get\n")
    assert api("Note").stdout.startswith("interface Note {\n")
    assert api("delete", "a", "note").stdout.startswith("notes.delete ")
    assert "declare const notes: {" in api("--types").stdout
    unknown = api("xyzzy")
    assert unknown.returncode == 1 and "'xyzzy'" in unknown.stderr
    assert api("--types", "notes").returncode == 2


# ---- what would help -----------------------------------------------------------------


@pytest.mark.parametrize("code, message, suggestion", [
    ("notes.serach('a')", "notes.serach is not a function", "Did you mean notes.search?"),
    ("const f = (x) => notes.serach(x); return f(1)", "notes.serach is not", "notes.search?"),
    ("await note.get('x')", "note is not defined", "Did you mean notes.get?"),
    ("await notes.getAll()", "notes.getAll is not a function", "notes.list"),
    ("await notes.findAll()", "notes.findAll is not a function", "notes.list"),
    ("await notes.list({typename: 'a'})", "typename", "Did you mean 'typeName'?"),
    ("await notes.search({querry: 'a'})", "querry", "Did you mean 'query'?"),
    ("await notes.update('project/grenhouse', {content: '', force: true})", "grenhouse",
     "Did you mean 'project/greenhouse'?"),
    ("await notes.delete('Grenhouse')", "Grenhouse", "'project/greenhouse'"),
    ("await relationships.findPath({start_note_id: 'project/greenhouse', end_note_id: 'person/mrta'})",
     "person/mrta", "Did you mean 'person/marta'?"),
    ("await vaults.switch('nowhere')", "nowhere", "vaults.list answers what there is."),
    ("await noteTypes.get('projct')", "projct", "noteTypes.list"),
    ("const n = await notes.get('project/grenhouse'); return n.content",
     "cannot read property 'content' of null", "Did you mean 'project/greenhouse'?"),
    ("const rows = notes.list(); return rows.filter((r) => r.size)", "not a function", "await"),
    ("fetch('http://example.org')", "fetch is not a function", "enableNetwork"),
    ("fs.readFile('a')", "fs is not defined", "enableFileSystem"),
    ("require('fs')", "require is not a function", "api.describe()"),
    ("await notes.create({type: 'project', title: 'greenhouse', content: ''})", "project/greenhouse",
     "notes.update"),
])
def test_a_failure_says_what_was_meant(run, code, message, suggestion):
    answer = run(code)
    assert not answer["success"]
    details = answer["errorDetails"]
    assert message in details["message"]
    assert suggestion in details["suggestion"]
    assert details["changed"] is False and details["retry"] is False


@pytest.mark.parametrize("code", [
    "throw new Error('mine')", "const a = {}; a.b()", "null.x", "const results = []; results.gte(1)"])
def test_nothing_is_made_up_where_nobody_knows(run, code):
    assert "Did you mean" not in run(code)["errorDetails"].get("suggestion", "")


def test_ids_are_not_told_to_whom_may_not_list_them(run):
    code = "const n = await notes.get('project/grenhouse'); return n.content"
    details = run(code, "--allow", "notes.get")["errorDetails"]
    assert "greenhouse'" not in details["suggestion"]


def test_a_failure_says_what_was_done_before(run):
    details = run("""
        await notes.create({type: 'a', title: 'one', content: ''});
        await notes.create({type: 'a', title: 'two', content: ''});
        await notes.update('a/one', {content: 'x'});
        throw new Error('half way')""")["errorDetails"]
    assert details["changed"] is True
    assert details["retry"] is False
    assert details["writes"] == {"notes.create": 2, "notes.update": 1}


@pytest.mark.parametrize("call", [
    "notes.create({type: 'a', title: 'one', content: '', dry_run: true})",
    "notes.update('project/greenhouse', {content: '', force: true, dry_run: true})",
    "notes.delete('project/greenhouse')",  # other notes link to it
])
def test_what_was_only_tried_has_changed_nothing(run, call):
    details = run(f"await {call}; throw new Error('then')")["errorDetails"]
    assert details["message"] == "then"
    assert details["changed"] is False and "writes" not in details
