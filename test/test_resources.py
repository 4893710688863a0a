"""MCP's other features: resources, prompts, completion; and answers that are too large."""
import asyncio
import json
import subprocess
import threading

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from wire import (MODERN, Server, call, delete_while_served, initialize, notification, request,
                  structured)

SENTENCES = {
    "summarize_workspace": "Read the index of the workspace and provide a high-level summary "
                           "of the topics covered.",
    "analyze_meetings": "Find all notes with class='Meeting' and summarize the key decisions.",
    "find_related": "Given a note ID, find all related notes via links and shared tags.",
}
PROMPTS = [*SENTENCES, "custom_functions"]
LIST, NOTE = "ieapp://vault/notes/list", "ieapp://vault/notes/meeting%2Fcouncil-2026-11-05"


def records(cloche, vault):
    done = subprocess.run([cloche, "audit", "--json", "--limit", "1000", "--vault", vault],
                          capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def read(client, uri, **how):
    (content,) = client.ask(request("resources/read", {"uri": uri}, id=9, **how))["result"]["contents"]
    assert content["uri"] == uri
    return content


def pages(ask, method, key, **how):
    params, rows = {}, []
    while True:
        result = ask(request(method, params, id=8, **how))["result"]
        assert len(result[key]) <= 500
        rows += result[key]
        if "nextCursor" not in result:
            return rows
        params = {"cursor": result["nextCursor"]}


# ---- resources ---------------------------------------------------------------------------

@pytest.mark.parametrize("modern", [False, True])
def test_the_seeds_resources_are_there(stdio, vault, modern):
    how = {"modern": modern}
    stdio.ask(initialize())
    rows = json.loads(read(stdio, LIST, **how)["text"])
    assert {r["id"] for r in rows} >= {"meeting/council-2026-11-05", "note/Glossary"}
    assert all(list(r)[:4] == ["id", "title", "class", "properties"] and r["updated_at"] for r in rows)
    glossary = next(r for r in rows if r["id"] == "note/Glossary")
    assert glossary["properties"]["Hospital"].startswith("The corner of the workshop")
    note = read(stdio, NOTE, **how)
    assert note["mimeType"] == "text/markdown"
    assert note["text"] == (vault / "meeting" / "council-2026-11-05.md").read_text()
    assert read(stdio, "ieapp://vault/notes/meeting/council-2026-11-05", **how)["text"] == note["text"]
    assert json.loads(read(stdio, NOTE + "/history", **how)["text"]) == []
    classes = json.loads(read(stdio, "ieapp://vault/classes", **how)["text"])
    (meeting,) = (row for row in classes if row["name"] == "meeting")
    assert meeting["description"] == "" and {"name": "tags", "type": "array", "required": False} in [
        {key: field[key] for key in ("name", "type", "required")} for field in meeting["fields"]]
    links = json.loads(read(stdio, "ieapp://vault/links", **how)["text"])
    assert links and all(list(r) == ["source", "target", "text", "kind", "line"] for r in links)
    assert {r["target"] for r in links} <= {r["id"] for r in rows}


def test_a_change_of_ours_is_in_the_history(stdio):
    note = structured(stdio.ask(call("get_note", {"identifier": "note/Glossary"})))
    stdio.ask(call("update_note", {"identifier": "note/Glossary", "content": "# Glossary\n",
                                   "contentHash": note["content_hash"]}, id=2))
    revisions = json.loads(read(stdio, "ieapp://vault/notes/note%2FGlossary/history")["text"])
    assert [list(r) for r in revisions] == [["revision", "updated_at", "author", "content_hash",
                                             "summary", "size"]] * len(revisions)
    assert revisions[0]["author"] == "stdio" and len(revisions) == 2


@pytest.mark.parametrize("modern, code", [(False, -32002), (True, -32602)])
@pytest.mark.parametrize("uri", [
    "ieapp://vault/notes/none", "ieapp://other/notes/list", "ieapp://vault/notes/..%2F..%2Fetc%2Fpasswd",
    "ieapp://vault/notes/.cloche%2Fpolicy", "ieapp://vault", "file:///etc/passwd", "", "x" * 100000])
def test_what_is_not_there_says_so(stdio, modern, code, uri):
    error = stdio.ask(request("resources/read", {"uri": uri}, modern=modern))["error"]
    assert error["code"] == code and error["data"]["uri"] == uri


def test_every_note_is_listed_once_while_others_come_and_go(stdio, vault):
    for i in range(1100):
        (vault / f"N{i:04}.md").write_text("x\n")
    stdio.ask(initialize())
    uris = []
    params = {}
    for turn in range(100):
        result = stdio.ask(request("resources/list", params, id=turn))["result"]
        uris += [r["uri"] for r in result["resources"]]
        if "nextCursor" not in result:
            break
        params = {"cursor": result["nextCursor"]}
        last = result["resources"][-1]["name"].partition("/")[2]
        (vault / f"{last}.md").unlink()
        (vault / f"A{turn}.md").write_text("new\n")
    assert turn == 2 and len(uris) == len(set(uris))
    assert {f"ieapp://vault/notes/note%2FN{i:04}" for i in range(1100)} <= set(uris)
    assert {LIST, NOTE, "cloche://api/declarations"} <= set(uris)


@pytest.mark.parametrize("method", ["resources/list", "resources/templates/list", "prompts/list",
                                    "tools/list"])
@pytest.mark.parametrize("cursor", ["", "x", "bm9uc2Vuc2U=", 7, {}, "A" * 100000])
def test_a_cursor_of_nobody_is_refused(stdio, method, cursor):
    error = stdio.ask(request(method, {"cursor": cursor}))["error"]
    assert error["code"] == -32602 and "cursor" in error["message"]


def test_a_cursor_is_of_its_list_alone(stdio, vault):
    for i in range(600):
        (vault / f"N{i:04}.md").write_text("x\n")
    cursor = stdio.ask(request("resources/list"))["result"]["nextCursor"]
    assert stdio.ask(request("prompts/list", {"cursor": cursor}, id=2))["error"]["code"] == -32602
    other = stdio.ask(request("resources/list", {"cursor": cursor}, id=3))["result"]
    assert stdio.ask(request("resources/list", {"cursor": cursor}, id=4))["result"] == other


def test_ten_thousand_notes_are_read_at_once(cloche, tmp_path):
    notes = tmp_path / "big"
    notes.mkdir()
    for i in range(10000):
        (notes / f"{i}.md").write_text(f"# Note {i}\n\n## Status\n{'open' if i % 2 else 'done'}\n")
    with Server([cloche, "serve", "--vault", notes, "--listen", "127.0.0.1:0"]) as server:
        answer = server.post(request("resources/read", {"uri": "ieapp://big/notes/list"}),
                             server.session()).json()
        rows = json.loads(answer["result"]["contents"][0]["text"])
        assert len(rows) == 10000 and rows[1]["properties"]["Status"] in ("open", "done")


# ---- changes -------------------------------------------------------------------------------

def subscribe(client, uri):
    assert client.ask(request("resources/subscribe", {"uri": uri}, id=uri))["result"] == {}


def heard(client, method, uri=None):
    """Waits for this notification; others are ignored."""
    while (message := client.receive()) is not None:
        if message.get("method") == method and message["params"].get("uri") == uri:
            return message
    raise AssertionError("the server has gone")


UPDATED, LISTED = "notifications/resources/updated", "notifications/resources/list_changed"


def settle(client, vault):
    """Returns once the vault is watched: an edit of this note is reported."""
    probe = "ieapp://vault/notes/probe%2FProbe"
    (vault / "probe").mkdir()
    (vault / "probe" / "Probe.md").write_text("0")
    subscribe(client, probe)
    done = threading.Event()

    def edit():
        turn = 0
        while not done.wait(0.3):
            turn += 1
            (vault / "probe" / "Probe.md").write_text(str(turn))
    editor = threading.Thread(target=edit)
    editor.start()
    heard(client, UPDATED, probe)
    done.set()
    editor.join()


def opened(client, vault):
    client.ask(initialize())
    client.send(notification("notifications/initialized"))
    settle(client, vault)


def test_edits_of_other_programs_are_told(stdio, vault):
    opened(stdio, vault)
    subscribe(stdio, NOTE)
    (vault / "meeting" / "council-2026-11-05.md").write_text("# Another\n")
    heard(stdio, UPDATED, NOTE)
    assert read(stdio, NOTE)["text"] == "# Another\n"
    (vault / "meeting" / "council-2026-11-05.md").unlink()
    heard(stdio, UPDATED, NOTE)


def test_another_process_of_ours_is_told_of_too(stdio, cloche, vault):
    opened(stdio, vault)
    subscribe(stdio, LIST)
    subprocess.run([cloche, "eval", "--vault", vault, "-e",
                    "return notes.create({type: 'task', title: 'New', content: 'x'})"], check=True,
                   capture_output=True)
    heard(stdio, UPDATED, LIST)
    assert "task/New" in [r["id"] for r in json.loads(read(stdio, LIST)["text"])]
    subprocess.run([cloche, "eval", "--vault", vault, "-e",
                    "return notes.delete({identifier: 'task/New', confirm: true})"], check=True,
                   capture_output=True)
    heard(stdio, LISTED)


def test_a_burst_is_told_in_few_messages(stdio, vault, tmp_path):
    opened(stdio, vault)
    subscribe(stdio, LIST)
    aside = tmp_path / "many"
    aside.mkdir()
    for i in range(3000):
        (aside / f"N{i}.md").write_text("x\n")
    before = len(stdio.lines)
    aside.rename(vault / "many")
    heard(stdio, UPDATED, LIST)
    assert len(json.loads(read(stdio, LIST)["text"])) > 3000
    rest, code = stdio.end()
    assert code == 0 and len(stdio.lines) - before < 20


def test_watching_a_vault_does_not_bring_back_its_index(stdio, vault):
    """It came back while the vault was being deleted, which failed then."""
    opened(stdio, vault)
    subscribe(stdio, LIST)
    delete_while_served(vault / ".cloche")
    (vault / "probe" / "Probe.md").unlink()
    heard(stdio, LISTED)
    (vault / "meeting" / "council-2026-11-05.md").write_text("# Another\n")
    heard(stdio, UPDATED, LIST)
    assert not (vault / ".cloche").exists()
    assert "probe/Probe" not in [r["id"] for r in json.loads(read(stdio, LIST)["text"])]
    assert (vault / ".cloche" / "index.db").exists()
    (vault / "probe" / "Later.md").write_text("1\n")
    subscribe(stdio, "ieapp://vault/notes/probe%2FLater")
    (vault / "probe" / "Later.md").write_text("2\n")
    heard(stdio, UPDATED, "ieapp://vault/notes/probe%2FLater")


def test_what_is_not_there_cannot_be_subscribed_to(stdio):
    stdio.ask(initialize())
    for uri in ("ieapp://other/notes/list", "file:///etc/passwd", "ieapp://vault"):
        assert stdio.ask(request("resources/subscribe", {"uri": uri}))["error"]["code"] == -32002


# ---- prompts and completion ----------------------------------------------------------------

def test_prompts_hold_the_seeds_sentences(stdio):
    prompts = pages(stdio.ask, "prompts/list", "prompts")
    assert [p["name"] for p in prompts] == PROMPTS
    for name, sentence in SENTENCES.items():
        arguments = {"note_id": "project/rain-garden"} if name == "find_related" else {}
        result = stdio.ask(request("prompts/get", {"name": name, "arguments": arguments}))["result"]
        contents = [m["content"] for m in result["messages"]]
        assert contents[0]["text"].startswith(sentence)
        assert any(c["type"] == "resource" for c in contents)
        assert all(m["role"] == "user" for m in result["messages"])


def test_meetings_are_found_in_a_folder_of_small_letters(stdio):
    result = stdio.ask(request("prompts/get", {"name": "analyze_meetings"}))["result"]
    uris = [m["content"]["resource"]["uri"] for m in result["messages"]
            if m["content"]["type"] == "resource"]
    assert NOTE in uris and all(u == LIST or "/meeting%2F" in u for u in uris)


@pytest.mark.parametrize("name, arguments, word", [
    ("nope", {}, "find_related"), ("find_related", {}, "note_id"),
    ("find_related", {"note_id": "nope"}, "nope"), ("summarize_workspace", {"x": "1"}, "workspace_id"),
    ("summarize_workspace", {"workspace_id": "other"}, "other"), ("find_related", [], "object"),
    ("find_related", {"note_id": 7}, "string")])
def test_wrong_prompts_say_what_is_right(stdio, name, arguments, word):
    error = stdio.ask(request("prompts/get", {"name": name, "arguments": arguments}))["error"]
    assert error["code"] == -32602 and word in error["message"]


def complete(client, ref, argument, value, known=None, **how):
    params = {"ref": ref, "argument": {"name": argument, "value": value}}
    if known:
        params["context"] = {"arguments": known}
    return client.ask(request("completion/complete", params, **how))["result"]["completion"]


def test_names_are_completed(stdio):
    related = {"type": "ref/prompt", "name": "find_related"}
    note = {"type": "ref/resource", "uri": "ieapp://{workspace_id}/notes/{note_id}"}
    assert complete(stdio, related, "note_id", "PERSON/m")["values"][0] == "person/marta"
    assert complete(stdio, note, "workspace_id", "v") == {"values": ["vault"], "total": 1,
                                                          "hasMore": False}
    fuzzy = complete(stdio, note, "note_id", "mtcncl", {"workspace_id": "vault"})["values"]
    assert "meeting/council-2026-11-05" in fuzzy
    assert complete(stdio, note, "note_id", "", {"workspace_id": "nope"})["values"] == []
    for params in ({"ref": related, "argument": {"name": "x", "value": ""}}, {"ref": {}},
                   {"ref": related, "argument": {"name": "note_id"}},
                   {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}}):
        assert stdio.ask(request("completion/complete", params))["error"]["code"] == -32602


# ---- the official client ---------------------------------------------------------------------

async def through_everything(client):
    resources = await client.list_resources()
    assert LIST in [str(r.uri) for r in resources.resources]
    row = next(r for r in resources.resources if str(r.uri) == NOTE)
    assert row.mime_type == "text/markdown" and row.size > 0 and row.annotations.last_modified
    templates = await client.list_resource_templates()
    assert "ieapp://{workspace_id}/notes/{note_id}" in [t.uri_template for t in templates.resource_templates]
    note = await client.read_resource(NOTE)
    assert note.contents[0].text.startswith("---")
    with pytest.raises(MCPError):
        await client.read_resource("ieapp://vault/notes/none")
    prompts = await client.list_prompts()
    assert [p.name for p in prompts.prompts] == PROMPTS
    got = await client.get_prompt("find_related", {"note_id": "project/rain-garden"})
    assert SENTENCES["find_related"] in got.messages[0].content.text


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
@pytest.mark.parametrize("mode", ["legacy", MODERN])
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_the_official_client_reads_everything(cloche, vault, mode, way):
    async def main(where):
        async with Client(where, mode=mode, read_timeout_seconds=60) as client:
            await through_everything(client)
    if way == "stdio":
        how = StdioServerParameters(command=cloche, args=["mcp", "--vault", str(vault)])
        asyncio.run(main(stdio_client(how)))
        return
    with Server([cloche, "serve", "--vault", vault, "--listen", "127.0.0.1:0"]) as server:
        asyncio.run(main(server.url + "/mcp"))


# ---- answers that are too large ----------------------------------------------------------------

@pytest.mark.parametrize("version", ["2025-11-25", "2025-03-26"])
def test_a_large_answer_is_told_in_part_and_kept_whole(stdio, vault, version):
    text = "äö\\ " * 300000
    (vault / "Large.md").write_text(text)
    stdio.ask(initialize(version))
    result = stdio.ask(call("get_note", {"identifier": "note/Large"}))["result"]
    part, notice, *links = result["content"]
    note = result["structuredContent"]
    assert json.loads(part["text"]) == note and len(part["text"].encode()) <= 400000
    assert note["id"] == "note/Large" and note["content_hash"]
    assert "cut here, of 1800000 bytes" in note["content"][-60:]
    uri = next(w for w in notice["text"].split() if w.startswith("cloche://results/"))
    assert [x["uri"] for x in links] == ([uri] if version == "2025-11-25" else [])
    whole = json.loads(read(stdio, uri)["text"])
    assert whole["content"] == text and whole["content_hash"] == note["content_hash"]
    assert not result["isError"]


def test_an_answer_that_is_small_enough_is_told_whole(stdio, vault):
    (vault / "Medium.md").write_text("x" * 390000)
    note = structured(stdio.ask(call("get_note", {"identifier": "note/Medium"})))
    assert note["content"] == "x" * 390000


# ---- the record ----------------------------------------------------------------------------------

def test_what_was_read_is_recorded(stdio, cloche, vault):
    read(stdio, NOTE)
    stdio.ask(request("resources/list"))
    stdio.ask(request("prompts/get", {"name": "summarize_workspace"}))
    stdio.ask(request("resources/read", {"uri": "ieapp://vault/notes/none"}))
    assert stdio.ask(call("no_such_tool"))["error"]["code"] == -32602
    told = [(r["action"], r["result"], r.get("calls")) for r in records(cloche, vault)
            if r["event"] == "call"]
    assert ("resources/read", "success", {"notes.get": 1}) in told
    assert ("resources/list", "success", {"notes.list": 1}) in told
    assert ("prompts/get", "success", {"notes.list": 1}) in told
    assert "resources/read" in [a for a, result, _ in told if result != "success"]
    assert [result for a, result, _ in told if a == "unknown: no_such_tool"] != ["success"]
    assert "unknown: no_such_tool" in [a for a, _, _ in told]
