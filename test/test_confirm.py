"""The policy's `confirm`: a user's decision before a call, over stdio and HTTP."""
import json
import os
from pathlib import Path

import anyio
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from test_permissions import run, trail, wait_for, waiting
from wire import META, call, initialize, request, structured


def put_policy(policy):
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "cloche"
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    (folder / "policy.json").write_text(json.dumps(policy))


@pytest.fixture(autouse=True)
def policy():
    put_policy({"confirm": ["notes.create", "notes.delete"]})


def hello(capabilities):
    message = initialize()
    message["params"]["capabilities"] = capabilities
    return message


MAKE = {"title": "Asked", "type": "idea", "content": "the whole of it"}
CODE = "return (await notes.create({title: 'Asked', type: 'idea', content: 'the whole of it'})).id"


def heard(client):
    """The next message, but for news of tools and notes: a policy that was just written is."""
    while True:
        message = client.receive()
        if not (message and message.get("method", "").endswith("list_changed")):
            return message


def answer_to(question, action, **content):
    return {"jsonrpc": "2.0", "id": question["id"],
            "result": {"action": action} | ({"content": content} if content else {})}


def last_record(vault):
    lines = [line for file in sorted((vault / ".cloche" / "audit").glob("*.jsonl"))
             for line in file.read_text().splitlines()]
    return json.loads(lines[-1])


@pytest.mark.parametrize("message", [call("create_note", MAKE, id=5),
                                     call("evaluate_note_code", {"code": CODE}, id=5)])
def test_a_person_who_says_yes_is_shown_all_of_it(stdio, vault, message):
    stdio.ask(hello({"elicitation": {}}))
    stdio.send(message)
    question = heard(stdio)
    assert question["method"] == "elicitation/create"
    for part in ("notes.create", "Asked", "idea", "the whole of it"):
        assert part in question["params"]["message"]
    assert not (vault / "idea" / "Asked.md").exists()
    stdio.send(answer_to(question, "accept", decision="allow"))
    answer = heard(stdio)
    assert answer["id"] == 5 and not answer["result"]["isError"]
    record = last_record(vault)
    assert record["asked"] == 1 and record["allowed"] == 1
    assert (vault / "idea" / "Asked.md").exists()


@pytest.mark.parametrize("reply", [{"action": "decline"}, {"action": "cancel"},
                                   {"action": "accept", "decision": "deny"}])
def test_anything_but_yes_is_no(stdio, vault, reply):
    stdio.ask(hello({"elicitation": {}}))
    stdio.send(call("create_note", MAKE, id=5))
    stdio.send(answer_to(heard(stdio), **reply))
    answer = heard(stdio)
    assert answer["result"]["isError"]
    assert "did not allow" in answer["result"]["content"][0]["text"]
    assert not (vault / "idea" / "Asked.md").exists()


@pytest.mark.parametrize("message", [call("create_note", MAKE, id=5),
                                     call("evaluate_note_code", {"code": CODE}, id=5)])
def test_who_has_no_window_waits_for_the_terminal(cloche, stdio, vault, message):
    stdio.ask(hello({}))
    stdio.send(message)
    [entry] = wait_for(cloche, 1)
    assert entry["kind"] == "call" and entry["question"] == "May notes.create be called?"
    assert entry["choices"] == ["call"] and entry["waiting"]
    assert entry["client"] == {"name": "test", "version": "1", "claimed": True}
    told = run(cloche, "approvals", "list")
    for part in ("notes.create", "title: Asked", "content: the whole of it", str(vault),
                 "which says it is 'test 1' (claimed)"):
        assert part in told
    assert not (vault / "idea" / "Asked.md").exists()
    run(cloche, "approvals", "allow", entry["id"])
    answer = heard(stdio)
    assert answer["id"] == 5 and not answer["result"]["isError"]
    assert (vault / "idea" / "Asked.md").exists()
    said = [r for r in trail(vault) if r["event"] == "approval"]
    assert [(r["kind"], r["calls"], r["result"], r["by"]) for r in said] == [
        ("call", ["notes.create"], "allowed", "terminal")]


def test_a_word_that_comes_too_late_is_found_by_the_same_call_once(cloche, stdio, vault):
    put_policy({"confirm": ["notes.create"], "tools": {"askSeconds": 1}})
    stdio.ask(hello({}))
    answer = stdio.ask(call("create_note", MAKE, id=5))
    text = answer["result"]["content"][0]["text"]
    assert "was made within 1 s" in text and "cloche approvals allow" in text
    [entry] = waiting(cloche)
    run(cloche, "approvals", "allow", entry["id"])
    other = stdio.ask(call("create_note", MAKE | {"title": "Other"}, id=6))
    assert other["result"]["isError"] and not (vault / "idea" / "Other.md").exists()
    assert not stdio.ask(call("create_note", MAKE, id=7))["result"]["isError"]
    assert (vault / "idea" / "Asked.md").exists()
    (vault / "idea" / "Asked.md").unlink()
    assert stdio.ask(call("create_note", MAKE, id=8))["result"]["isError"]


def test_the_policy_may_keep_the_clients_window_out_of_it(cloche, stdio, vault):
    put_policy({"confirm": ["notes.create"], "tools": {"askClient": False}})
    stdio.ask(hello({"elicitation": {}}))
    stdio.send(call("create_note", MAKE, id=5))
    [entry] = wait_for(cloche, 1)
    run(cloche, "approvals", "deny", entry["id"])
    answer = heard(stdio)
    assert answer["id"] == 5 and "did not allow" in answer["result"]["content"][0]["text"]
    assert not (vault / "idea" / "Asked.md").exists()


def modern(message, capabilities=None):
    if capabilities is None:
        capabilities = {"elicitation": {"form": {}}}
    message["params"]["_meta"] = META | {
        "io.modelcontextprotocol/clientCapabilities": capabilities}
    return message


def accepted(first, **content):
    return {"requestState": first["requestState"], "inputResponses": {
        key: {"action": "accept", "content": content or {"decision": "allow"}}
        for key in first["inputRequests"]}}


def test_a_plain_tool_of_the_newer_revision_comes_back_with_the_answer(stdio, vault):
    first = stdio.ask(modern(call("create_note", MAKE, id=5)))["result"]
    assert first["resultType"] == "input_required"
    [question] = first["inputRequests"].values()
    assert "the whole of it" in question["params"]["message"]
    assert not (vault / "idea" / "Asked.md").exists()
    again = modern(call("create_note", MAKE, id=6))
    again["params"] |= accepted(first)
    assert not stdio.ask(again)["result"]["isError"]
    assert (vault / "idea" / "Asked.md").exists()


def test_a_state_runs_one_call(stdio, vault):
    first = stdio.ask(modern(call("create_note", MAKE, id=5)))["result"]
    answers = []
    for id in (6, 7, 8):
        again = modern(call("create_note", MAKE, id=id))
        again["params"] |= accepted(first)
        answers.append(stdio.ask(again))
        (vault / "idea" / "Asked.md").unlink(missing_ok=True)
    assert not answers[0]["result"]["isError"]
    for answer in answers[1:]:
        assert answer["error"]["code"] == -32602
        assert "was used already" in answer["error"]["message"]


def test_answers_to_what_was_not_asked_run_nothing(stdio, vault):
    first = stdio.ask(modern(call("create_note", MAKE, id=5)))["result"]
    answers = accepted(first)["inputResponses"]
    [said] = answers.values()
    wrong = {"requestState": first["requestState"], "inputResponses": {"approval-other": said}}
    for id, more in enumerate(({"inputResponses": answers}, wrong), 6):
        again = modern(call("create_note", MAKE, id=id))
        again["params"] |= more
        assert stdio.ask(again)["result"]["resultType"] == "input_required"
    forged = modern(call("create_note", MAKE, id=9))
    forged["params"] |= accepted(first) | {"requestState": first["requestState"][:-4] + "AAAA"}
    assert stdio.ask(forged)["error"]["code"] == -32602
    assert not (vault / "idea" / "Asked.md").exists()


def test_an_answer_for_one_call_is_none_for_another(stdio, vault):
    first = stdio.ask(modern(call("create_note", MAKE, id=5)))["result"]
    other = modern(call("create_note", MAKE | {"title": "Other"}, id=6))
    other["params"] |= accepted(first)
    stdio.ask(other)
    assert not (vault / "idea" / "Other.md").exists()


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"form": {}}}])
def test_code_of_the_newer_revision_waits_for_the_terminal(cloche, stdio, vault, capabilities):
    stdio.send(modern(call("evaluate_note_code", {"code": CODE}, id=5), capabilities))
    [entry] = wait_for(cloche, 1)
    assert not (vault / "idea" / "Asked.md").exists()
    run(cloche, "approvals", "allow", entry["id"])
    assert structured(heard(stdio))["success"]
    assert (vault / "idea" / "Asked.md").exists()


def test_cancelling_takes_the_question_back(stdio, vault):
    stdio.ask(hello({"elicitation": {}}))
    stdio.send(call("create_note", MAKE, id=5))
    question = heard(stdio)
    stdio.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": 5}})
    gone = heard(stdio)
    assert gone["method"] == "notifications/cancelled"
    assert gone["params"]["requestId"] == question["id"]
    stdio.send(answer_to(question, "accept", decision="allow"))
    assert stdio.ask(request("ping", id=9))["result"] == {}
    assert not (vault / "idea" / "Asked.md").exists()


def test_over_http_the_question_comes_on_the_calls_stream(server, vault):
    opened = server.post(hello({"elicitation": {}}))
    mine = {"Mcp-Session-Id": opened.headers["Mcp-Session-Id"],
            "MCP-Protocol-Version": "2025-11-25"}
    connection = server.send_post(call("create_note", MAKE, id=5), mine)
    heard = b""
    while b"elicitation/create" not in heard or not heard.endswith(b"\n\n\r\n"):
        heard += connection.recv(65536)
    data = [line for line in heard.split(b"\n") if line.startswith(b"data: {")][-1]
    question = json.loads(data[6:])
    assert server.post(answer_to(question, "accept", decision="allow"), mine).status_code == 202
    while b'"id":5' not in heard:
        piece = connection.recv(65536)
        assert piece
        heard += piece
    connection.close()
    assert (vault / "idea" / "Asked.md").exists()


@pytest.mark.parametrize("vaults", [["--vault", "vault"], []])
def test_a_token_for_some_vaults_is_asked_without_paths(cloche, server, vault, vaults):
    bearer = {"Authorization": f"Bearer {run(cloche, 'token', 'create', 'one', '--unregistered', *vaults).split()[0]}"}
    first = server.post(modern(call("create_note", MAKE)), bearer).json()["result"]
    [question] = first["inputRequests"].values()
    lines = question["params"]["message"].split("\n")
    if not vaults:
        assert f"  vault       {vault} (vault)" in lines
    else:
        assert "  vault       vault" in lines and str(vault) not in json.dumps(first)
    opened = server.post(hello({"elicitation": {}}), bearer)
    mine = bearer | {"Mcp-Session-Id": opened.headers["Mcp-Session-Id"],
                     "MCP-Protocol-Version": "2025-11-25"}
    with server.http.stream("POST", "/mcp", json=call("create_note", MAKE, id=5),
                            headers=mine | {"Accept": "application/json, text/event-stream"}) as s:
        asked = next(line for line in s.iter_lines() if "elicitation/create" in line)
    assert (str(vault) in asked) == (not vaults)


def test_nobody_is_asked_for_what_a_token_for_some_vaults_may_not_do(cloche, server, vault):
    put_policy({"confirm": ["vaults"], "tools": {"askSeconds": 1}})
    bearer = {"Authorization": "Bearer " + run(cloche, "token", "create", "one", "--vault",
                                               "vault", "--unregistered").split()[0]}
    for code in ("vaults.update({id: 'vault', name: 'x'})", "vaults.remove('vault')"):
        answer = server.post(call("evaluate_note_code", {"code": f"await {code}"}, modern=True),
                             bearer).json()["result"]
        assert "a token for some vaults only" in json.dumps(answer)
        assert str(vault) not in json.dumps(answer)
    assert waiting(cloche) == []


@pytest.mark.parametrize("message", [
    call("evaluate_note_code", {"code": CODE}, id=5),
    call("run_script", {"workspace_id": "vault", "code": "host.call('POST', "
                        "'/workspaces/vault/notes', {markdown: '# Asked'})"}, id=5)])
def test_code_does_not_run_out_of_time_while_a_person_thinks(stdio, policy, vault, message):
    put_policy({"confirm": ["notes.create"], "limits": {"total": 1500}})
    stdio.ask(hello({"elicitation": {}}))
    stdio.send(message)
    question = heard(stdio)
    assert question["method"] == "elicitation/create"
    # A later one has timed out.
    stdio.send(call("evaluate_note_code", {"code": "await sleep(60000)"}, id=6))
    late = heard(stdio)
    assert late["id"] == 6 and late["result"]["isError"], late
    stdio.send(answer_to(question, "accept", decision="allow"))
    answer = heard(stdio)
    assert answer["id"] == 5 and not answer["result"]["isError"], answer


# ---- what would change -------------------------------------------------------------


def policy_of(*calls, **tools):
    put_policy({"confirm": list(calls), "tools": tools})


def write(vault, path, text):
    (vault / path).parent.mkdir(parents=True, exist_ok=True)
    (vault / path).write_text(text)


def code_of(statement):
    return call("evaluate_note_code", {"code": f"return await {statement}"}, id=5)


def shown(entry):
    return "\n".join(entry["shown"]["would change"])


def test_the_note_is_shown_and_not_only_its_name(cloche, stdio, vault):
    write(vault, "q/junk.md", "---\nid: u-17\ntitle: Tax papers of 2024\n---\nthe only copy\n")
    stdio.ask(hello({}))
    stdio.send(code_of("notes.delete({identifier: 'q/junk', confirm: true})"))
    [entry] = wait_for(cloche, 1)
    for part in ("delete q/junk.md", "Tax papers of 2024", "uid u-17", "sha256:",
                 "-the only copy"):
        assert part in shown(entry)
    run(cloche, "approvals", "allow", entry["id"])
    assert structured(heard(stdio))["success"]
    assert not (vault / "q" / "junk.md").exists()


@pytest.mark.parametrize("message", [
    code_of("notes.delete({identifier: 'q/junk', confirm: true})"),
    code_of("notes.update({identifier: 'q/junk', content: 'x', force: true})"),
    code_of("notes.batch({changes: [{action: 'delete', identifier: 'q/junk', confirm: true}]})"),
    code_of("noteTypes.delete({type_name: 'q', action: 'delete', confirm: true})"),
    call("update_note", {"identifier": "q/junk", "content": "x", "force": True}, id=5),
    call("rename_note", {"identifier": "q/junk", "new_title": "other", "force": True}, id=5),
    call("rename_note", {"identifier": "q/junk", "new_type": "other", "force": True}, id=5)])
@pytest.mark.parametrize("window", [{}, {"elicitation": {}}])
def test_another_note_by_that_name_is_a_conflict(cloche, stdio, vault, message, window):
    policy_of("notes", "noteTypes")
    write(vault, "q/junk.md", "# Junk\n\nnothing\n")
    stdio.ask(hello(window))
    stdio.send(message)
    if window:
        question = heard(stdio)
        assert "q/junk" in question["params"]["message"]
    else:
        [entry] = wait_for(cloche, 1)
    write(vault, "q/junk.md", "# Treasure\n\nall that I own\n")
    if window:
        stdio.send(answer_to(question, "accept", decision="allow"))
    else:
        run(cloche, "approvals", "allow", entry["id"])
    answer = heard(stdio)
    assert answer["id"] == 5
    assert "the target changed after the user approved" in json.dumps(answer) and "Conflict" in json.dumps(answer)
    assert (vault / "q" / "junk.md").read_text() == "# Treasure\n\nall that I own\n"
    assert not (vault / "other").exists()


def test_in_the_newer_revision_another_note_is_asked_for_anew(stdio, vault):
    policy_of("notes")
    write(vault, "q/junk.md", "# Junk\n\nnothing\n")
    wish = {"identifier": "q/junk", "content": "x", "force": True}
    first = stdio.ask(modern(call("update_note", wish, id=5)))["result"]
    write(vault, "q/junk.md", "# Treasure\n\nall that I own\n")
    again = modern(call("update_note", wish, id=6))
    again["params"] |= accepted(first)
    second = stdio.ask(again)["result"]
    assert second["resultType"] == "input_required"
    assert "Treasure" in json.dumps(second["inputRequests"])
    assert "Treasure" in (vault / "q" / "junk.md").read_text()
    last = modern(call("update_note", wish, id=7))
    last["params"] |= accepted(second)
    assert not stdio.ask(last)["result"]["isError"]


def test_links_that_would_follow_are_shown_and_compared(cloche, stdio, vault):
    policy_of("notes.rename")
    write(vault, "q/junk.md", "# Junk\n")
    for i in range(120):
        write(vault, f"far/{i}.md", f"# N{i}\n\nsee [[Junk]]\n")
    stdio.ask(hello({}))
    rename = code_of("notes.rename({identifier: 'q/junk', new_title: 'Gold', force: true})")
    stdio.send(rename)
    [entry] = wait_for(cloche, 1)
    text = shown(entry)
    assert "rename q/junk.md -> q/Gold.md" in text and "update far/" in text
    assert "and 21 more notes" in text and "+see [[Gold]]" in text
    write(vault, "far/119.md", "# N119\n\nno link\n")
    run(cloche, "approvals", "allow", entry["id"])
    assert "Conflict" in json.dumps(heard(stdio))
    assert (vault / "q" / "junk.md").exists() and "[[Junk]]" in (vault / "far/1.md").read_text()
    stdio.send(rename)
    [entry] = wait_for(cloche, 1)
    run(cloche, "approvals", "allow", entry["id"])
    assert structured(heard(stdio))["success"]
    assert "[[Gold]]" in (vault / "far/1.md").read_text()


def test_what_would_fail_or_change_nothing_asks_nobody(cloche, stdio, vault):
    policy_of("notes", askSeconds=1)
    write(vault, "q/junk.md", "# Junk\n")
    write(vault, "q/other.md", "see [[Junk]]\n")
    stdio.ask(hello({}))
    gone = structured(stdio.ask(code_of("notes.delete('q/gone')")))
    assert gone["errorDetails"]["type"] == "NotFound"
    linked = structured(stdio.ask(code_of("notes.delete('q/junk')")))
    assert linked["result"]["deleted"] is False and linked["result"]["warnings"]
    dry = structured(stdio.ask(code_of(
        "notes.update({identifier: 'q/junk', content: 'x', force: true, dry_run: true})")))
    assert dry["result"]["changes"]
    assert waiting(cloche) == []


def test_who_may_not_read_is_not_shown_notes_by_a_question(stdio, vault):
    put_policy({"confirm": ["notes"], "deniedAPIs": ["notes.get"]})
    write(vault, "q/junk.md", "# A secret title\n\nsecret words\n")
    stdio.ask(hello({"elicitation": {}}))
    stdio.send(code_of("notes.delete({identifier: 'q/junk', confirm: true})"))
    question = heard(stdio)
    assert "delete q/junk.md" in question["params"]["message"]
    assert "secret" not in question["params"]["message"].lower()
    stdio.send(answer_to(question, "decline"))
    heard(stdio)


FUNCTION = {"name": "twice", "description": "Doubles a number that it is given.",
            "parameters": {"x": {"type": "number", "description": "the number", "required": True}},
            "returnType": "number", "code": "function twice(x: number): number {\n  return x * 2;\n}"}


def test_a_function_is_shown_beside_what_it_becomes(cloche, stdio):
    policy_of()
    stdio.ask(hello({}))
    made = stdio.ask(call("register_custom_function", FUNCTION, id=3))
    assert not made["result"]["isError"], made
    policy_of("customFunctions.update")
    change = call("update_custom_function", {"name": "twice", "code": FUNCTION["code"].replace("x * 2", "x + x")}, id=5)
    stdio.send(change)
    [entry] = wait_for(cloche, 1)
    for part in ("twice version 1", "twice(x: number)", "-  return x * 2;", "+  return x + x;"):
        assert part in shown(entry)
    policy_of("customFunctions.delete")
    other = stdio.ask(call("update_custom_function", {
        "name": "twice", "code": FUNCTION["code"].replace("x * 2", "2 * x")}, id=6))
    while other["id"] != 6:
        other = heard(stdio)
    assert not other["result"]["isError"]
    run(cloche, "approvals", "allow", entry["id"])
    answer = heard(stdio)
    assert answer["id"] == 5 and "the target changed after the user approved" in json.dumps(answer)


@pytest.mark.parametrize("text", [
    "a\u202egnp.exe", "a\u2066b\u2069", "zero\u200bwidth\ufeff", "tag\U000e0041\U000e007f",
    "line\u2028sep\u2029", "next\u0085line", "esc\u001b[2J\u001b[H", "cr\rlf\nx", "bell\u0007",
    "soft\u00adhyphen", "variation\ufe0f\ufe01", "hangul\u3164fill", "blank\u2800"])
@pytest.mark.parametrize("window", [{}, {"elicitation": {}}])
def test_nothing_in_a_question_turns_or_hides_its_text(cloche, stdio, vault, text, window):
    policy_of("notes.update")
    write(vault, "q/junk.md", f"# J\n\nold {text}\n")
    stdio.ask(hello(window))
    stdio.send(call("update_note", {"identifier": "q/junk", "content": f"new {text}",
                                    "force": True}, id=5))
    if window:
        question = heard(stdio)
        told = question["params"]["message"]
        stdio.send(answer_to(question, "decline"))
    else:
        [entry] = wait_for(cloche, 1)
        told = run(cloche, "approvals", "list").replace(entry["id"], "ID")
        run(cloche, "approvals", "deny", entry["id"])
    assert heard(stdio)["id"] == 5
    seen = [c for c in told if c != "\n" and (not c.isprintable() or c in text.replace(" ", "")
                                              and not c.isascii())]
    assert seen == [] and "\\" in told
    assert not any(line.startswith(("x", "lf")) for line in told.splitlines())


# ---- an official client --------------------------------------------------------------


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_official_client_asks_its_person(cloche, vault, mode):
    """For a plain tool in both revisions; code asks in the older one only."""
    asked = []

    async def elicit(context, params):
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"decision": "allow"})

    async def use():
        server = StdioServerParameters(command=cloche, args=["mcp", "--vault", str(vault)],
                                       env=dict(os.environ))
        async with Client(server, mode=mode, elicitation_callback=elicit) as client:
            made = await client.call_tool("create_note", MAKE)
            assert not made.is_error, made
            if mode == "legacy":
                code = CODE.replace("Asked", "Twice")
                ran = await client.call_tool("evaluate_note_code", {"code": code})
                assert ran.structured_content["success"], ran

    anyio.run(use)
    assert (vault / "idea" / "Asked.md").exists()
    assert len(asked) == (2 if mode == "legacy" else 1)
    assert all("May notes.create be called?" in message for message in asked)
