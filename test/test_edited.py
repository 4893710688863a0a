"""A person edits the arguments of a call that asks: the call is made again with these, asks anew with
what they would change, and the agent is told."""
import json
import time

import pytest
from test_confirm import put_policy
from test_permissions import client, hello, policy, program, run, text_of, trail, wait_for, waiting  # noqa: F401
from wire import call, structured

ASK = {"reader": "ask"}


def edit(program, entry, arguments, code=0):  # noqa: F811
    return run(program, "approvals", "edit", entry["id"], json.dumps(arguments), code=code)


def next_waiting(program, before):  # noqa: F811
    """The entry that waits instead of the one before."""
    for _ in range(300):
        entries = [w for w in waiting(program) if w["id"] != before["id"]]
        if entries:
            return entries[0]
        time.sleep(0.1)
    raise AssertionError("no other request waits")


def test_a_tool_runs_with_the_arguments_of_a_person(client, program, vault):  # noqa: F811
    policy(permissions=ASK)
    for name in "ab":
        (vault / f"{name}.txt").write_text(f"text of {name}")
    client.ask(hello())
    client.send(call("wasm_reader", {"args": ["cat", "/vault/a.txt"]}, id=5))
    [first] = wait_for(program, 1)
    assert first["arguments"] == {"args": ["cat", "/vault/a.txt"]}
    assert "asks again" in edit(program, first, {"args": ["cat", "/vault/b.txt"]})
    second = next_waiting(program, first)
    assert "/vault/b.txt" in json.dumps(second["shown"]) and "a.txt" not in json.dumps(second["shown"])
    run(program, "approvals", "allow", second["id"])
    answer = client.receive()
    assert answer["id"] == 5 and structured(answer)["stdout"] == "text of b"
    told = answer["result"]["content"][-1]["text"]
    assert told.startswith("A person changed the arguments") and "/vault/b.txt" in told
    said = [r["result"] for r in trail(vault) if r["event"] == "approval"]
    assert said == ["edited", "allowed"]


def test_what_the_edited_call_would_change_is_shown(stdio, cloche, vault):
    put_policy({"confirm": ["notes.create"]})
    stdio.ask(hello())
    stdio.send(call("create_note", {"title": "Asked", "type": "idea", "content": "one"}, id=5))
    [first] = wait_for(cloche, 1)
    edit(cloche, first, {"title": "Given", "type": "idea", "content": "two"})
    second = next_waiting(cloche, first)
    assert "Given" in json.dumps(second["shown"]["would change"])
    run(cloche, "approvals", "allow", second["id"])
    answer = stdio.receive()
    assert not answer["result"]["isError"] and structured(answer)["id"] == "idea/Given"
    assert not (vault / "idea" / "Asked.md").exists()


def test_a_call_that_was_edited_can_be_denied(client, program, vault):  # noqa: F811
    policy(permissions=ASK)
    client.ask(hello())
    client.send(call("wasm_reader", {"args": ["ls", "/vault"]}, id=5))
    [first] = wait_for(program, 1)
    edit(program, first, {"args": ["ls", "/"]})
    second = next_waiting(program, first)
    run(program, "approvals", "deny", second["id"], "--reason", "not today")
    answer = client.receive()
    assert answer["result"]["isError"] and "not today" in text_of(answer)


def test_arguments_that_do_not_fit_do_nothing(client, program):  # noqa: F811
    policy(permissions=ASK)
    client.ask(hello())
    client.send(call("wasm_reader", {"args": ["ls", "/vault"]}, id=5))
    [first] = wait_for(program, 1)
    edit(program, first, {"args": 7})
    answer = client.receive()
    assert answer["result"]["isError"] and "args" in text_of(answer)
    assert waiting(program) == []


@pytest.mark.parametrize("arguments", [[1], 7, "text", {"args": ["x" * 40000]}])
def test_what_are_no_arguments_is_refused(client, program, arguments):  # noqa: F811
    policy(permissions=ASK)
    client.ask(hello())
    client.send(call("wasm_reader", {"args": ["ls", "/vault"]}, id=5))
    [first] = wait_for(program, 1)
    assert "arguments must be an object" in edit(program, first, arguments, code=2)
    run(program, "approvals", "deny", first["id"])
    assert client.receive()["result"]["isError"]


def test_calls_of_code_cannot_be_edited(client, program):  # noqa: F811
    policy(permissions=ASK)
    client.ask(hello())
    code = "return (await tools.reader({args: ['ls', '/vault']})).exitCode"
    client.send(call("evaluate_note_code", {"code": code}, id=5))
    [first] = wait_for(program, 1)
    assert "arguments" not in first
    assert "cannot be edited" in edit(program, first, {"args": []}, code=2)
    run(program, "approvals", "allow", first["id"])
    assert structured(client.receive())["success"]
