"""MCP over stdio: the official client in both eras, and raw messages."""
import asyncio
import json
import os
import signal
import subprocess
import time

import pytest
from mcp import Client, MCPError, StdioServerParameters

from wire import (LEGACY, META, MODERN, call, initialize, notification, request,
                  structured, until, validate)

ENDLESS = "for(;;){}"


def evaluate(code, **how):
    more = {k: how.pop(k) for k in ("timeout", "context") if k in how}
    return call("evaluate_note_code", {"code": code, **more}, **how)


# ---- the official client ------------------------------------------------------------


def run_client(cloche, vault, mode, work):
    async def main():
        server = StdioServerParameters(command=cloche, args=["mcp", "--vault", str(vault)])
        async with Client(server, mode=mode, read_timeout_seconds=60) as client:
            await work(client)
    asyncio.run(main())


@pytest.mark.parametrize("mode", ["legacy", "auto", MODERN])
def test_the_official_client_evaluates_code(cloche, vault, mode):
    async def work(client):
        assert client.protocol_version == (LEGACY[0] if mode == "legacy" else MODERN)
        if mode != MODERN:  # which asks for nothing before its first call
            assert client.server_info.name == "cloche"
            assert client.server_capabilities.tools is not None
            assert 0 < len(client.instructions) < 2048
        tools = await client.list_tools()
        names = [t.name for t in tools.tools]
        assert names[0] == "evaluate_note_code"
        assert {"get_note", "search_notes", "create_note", "update_note"} <= set(names)
        for tool in tools.tools:
            assert tool.input_schema["type"] == "object"
            assert "$schema" not in tool.input_schema
            if tool.name != "run_tool":  # whose answer is told once, as text
                assert tool.output_schema["type"] == "object"
            assert len(tool.description.encode()) < 2048
        result = await client.call_tool("evaluate_note_code", {"code": "return 1+1"})
        assert not result.is_error
        assert result.structured_content["success"] is True
        assert result.structured_content["result"] == 2
    run_client(cloche, vault, mode, work)


@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_the_official_client_reads_and_writes_notes(cloche, vault, mode):
    async def work(client):
        async def use(name, **arguments):
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result.content
            return result.structured_content

        made = await use("create_note", type="meeting", title="Bell foundry visit",
                         content="# Bell foundry visit\n\nBronze, quicksilver and a zebra.\n")
        note = await use("get_note", identifier=made["id"])
        assert "quicksilver" in note["content"]
        found = await use("search_notes", query="quicksilver zebra")
        assert [row["id"] for row in found["results"]] == [made["id"]]
        changed = await use("update_note", identifier=made["id"],
                            contentHash=note["content_hash"],
                            content="# Bell foundry visit\n\nCancelled.\n")
        assert changed["updated"] is True
        note = await use("get_note", identifier=made["id"])
        assert "Cancelled." in note["content"] and "quicksilver" not in note["content"]
        assert "Cancelled." in (vault / made["path"]).read_text()
    run_client(cloche, vault, mode, work)


@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_bad_input_is_a_result_that_says_what_would_do(cloche, vault, mode):
    async def work(client):
        for name, arguments, hint in [
            ("evaluate_note_code", {}, "code"),
            ("evaluate_note_code", {"code": 7}, "string"),
            ("evaluate_note_code", {"code": "1", "tiemout": 5}, "timeout"),
            ("evaluate_note_code", {"code": "1", "timeout": -5}, "timeout"),
            ("get_note", {"id": "x"}, "identifier"),
        ]:
            result = await client.call_tool(name, arguments)
            assert result.is_error
            assert hint in result.content[0].text
        with pytest.raises(MCPError) as error:
            await client.call_tool("no_such_tool", {})
        assert error.value.code == -32602
        assert "evaluate_note_code" in error.value.message
    run_client(cloche, vault, mode, work)


@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_the_official_client_gives_up_on_a_call(cloche, vault, mode):
    async def work(client):
        started = time.monotonic()
        with pytest.raises(MCPError):
            await client.call_tool("evaluate_note_code", {"code": ENDLESS, "timeout": 30000},
                                   read_timeout_seconds=0.5)
        result = await client.call_tool("evaluate_note_code", {"code": "return 'on'"})
        assert result.structured_content["result"] == "on"
        assert time.monotonic() - started < 25
    run_client(cloche, vault, mode, work)


# ---- opening ------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [*LEGACY, "2024-11-05", MODERN, "banana"])
def test_a_version_is_agreed_on(stdio, asked):
    answer = stdio.ask(initialize(asked))
    agreed = answer["result"]["protocolVersion"]
    assert agreed == (asked if asked in LEGACY else LEGACY[0])
    validate(answer, "initialize", agreed)
    stdio.send(notification("notifications/initialized"))
    assert stdio.ask(request("ping", id=1)) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_discover_opens_the_newer_era(stdio):
    answer = stdio.ask(request("server/discover", modern=True))
    validate(answer, "server/discover", MODERN)
    result = answer["result"]
    assert result["supportedVersions"] == [MODERN]
    assert result["resultType"] == "complete"
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "cloche"


def test_a_version_that_is_not_served_is_named(stdio):
    message = request("server/discover")
    message["params"]["_meta"] = META | {"io.modelcontextprotocol/protocolVersion": "1900-01-01"}
    error = stdio.ask(message)["error"]
    assert error["code"] == -32022
    assert error["data"] == {"supported": [MODERN], "requested": "1900-01-01"}


@pytest.mark.parametrize("missing", ["protocolVersion", "clientCapabilities"])
def test_a_newer_request_must_be_whole(stdio, missing):
    message = request("server/discover")
    message["params"]["_meta"] = {k: v for k, v in META.items() if not k.endswith(missing)}
    error = stdio.ask(message)["error"]
    assert error["code"] == -32602
    assert missing in error["message"]


def test_what_is_unknown_is_told_at_once_even_before_initialize(stdio):
    assert stdio.ask(request("roots/list"))["error"]["code"] == -32601
    assert stdio.ask(request("server/nope", id=2))["error"]["code"] == -32601
    assert stdio.ask(request("ping", id=3, modern=True))["error"]["code"] == -32601
    assert stdio.ask(request("initialize", id=4, modern=True))["error"]["code"] == -32601


def test_both_eras_are_served_in_one_process(stdio):
    stdio.ask(initialize())
    older = stdio.ask(evaluate("return 1", id=1))
    newer = stdio.ask(evaluate("return 1", id=2, modern=True))
    validate(older, "tools/call")
    validate(newer, "tools/call", MODERN)
    assert structured(older)["result"] == structured(newer)["result"] == 1
    assert "resultType" not in older["result"]


def test_the_list_of_tools_never_changes_its_order(stdio):
    lists = [stdio.ask(request("tools/list", id=i, modern=True)) for i in range(3)]
    validate(lists[0], "tools/list", MODERN)
    assert len({json.dumps(m["result"]) for m in lists}) == 1
    assert lists[0]["result"]["ttlMs"] >= 0
    older = stdio.ask(request("tools/list", id=9))
    validate(older, "tools/list")
    assert older["result"]["tools"] == lists[0]["result"]["tools"]
    error = stdio.ask(request("tools/list", {"cursor": "page2"}, id=10))["error"]
    assert error["code"] == -32602


# ---- lines --------------------------------------------------------------------------


def test_every_line_is_a_message_the_schema_allows(stdio):
    asked = {0: initialize(), 1: request("ping", id=1), "two": request("tools/list", id="two"),
             3: evaluate("return {a: [1, null, 'x\\ny']}", id=3),
             4: evaluate("throw new Error('no')", id=4), 5: evaluate("][", id=5),
             6: call("no_such_tool", id=6), 7: request("nope", id=7),
             8: call("get_note", {"identifier": "no/such"}, id=8)}
    stdio.send(*asked.values())
    stdio.write("junk\n")
    answers, code = stdio.end()
    assert code == 0
    assert len(answers) == len(asked) + 1
    for answer in answers:
        validate(answer, asked[answer["id"]]["method"] if answer.get("id") is not None else None)
    assert all(line.count(b"\n") == 1 for line in stdio.lines)


@pytest.mark.parametrize("text, code", [
    ("junk", -32700), ("{", -32700), ('{"jsonrpc":"2.0","id":1,"method":"ping"', -32700),
    ("[" * 100000, -32700), ('{"a":' * 50000, -32700), ('"\\ud800"', -32700),
    ("[]", -32600), ("7", -32600), ("{}", -32600), ('{"jsonrpc":"2.0","id":1}', -32600),
    ('{"jsonrpc":"1.0","id":null,"method":"ping"}', -32600),
    ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    ('{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', -32600),
    ('{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
    ('{"jsonrpc":"2.0","id":[],"method":7}', -32600),
    ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
])
def test_what_is_no_request_is_answered_with_an_error(stdio, text, code):
    stdio.write(text + "\n")
    answer = stdio.receive()
    assert answer["error"]["code"] == code
    assert answer["id"] is None or '"id":1' in text
    assert stdio.ask(request("ping", id="on"))["result"] == {}


def test_an_id_that_could_not_be_read_is_left_out_where_the_version_knows_no_null(stdio):
    stdio.ask(initialize("2025-11-25"))
    stdio.write("{\n" + " " * (17 << 20) + "\n")
    assert "id" not in stdio.receive() and "id" not in stdio.receive()


def test_bytes_that_are_no_text_are_a_parse_error(stdio):
    stdio.write(b'{"jsonrpc":"2.0","id":1,"method":"p\xff\xfeng"}\n')
    assert stdio.receive()["error"]["code"] == -32700
    stdio.write(b"\x00\x01\x02\n")
    assert stdio.receive()["error"]["code"] == -32700
    assert stdio.ask(request("ping", id=2))["result"] == {}


@pytest.mark.parametrize("params", [[], "x", 7, True])
def test_parameters_that_are_no_object_are_invalid(stdio, params):
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}
    assert stdio.ask(message)["error"]["code"] == -32602


@pytest.mark.parametrize("id", [0, -1, 2**53 + 1, 2**64, 10**30, "", "a", "1", "\u0000é"])
def test_an_id_comes_back_as_it_was(stdio, id):
    assert stdio.ask(request("ping", id=id))["id"] == id


def test_a_line_over_16_mib_is_refused_and_passed_over(stdio):
    stdio.write(b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (17 << 20))
    error = stdio.receive()
    assert error["id"] is None and error["error"]["code"] == -32600
    stdio.write(b"x" * 1000 + b'"}\n')
    assert stdio.ask(request("ping", id=2))["result"] == {}


def test_a_line_of_some_megabytes_is_read(stdio):
    text = "é" * (1 << 20)
    answer = stdio.ask(call("search_notes", {"query": text}))
    assert "result" in answer


def test_a_long_method_is_not_repeated_whole(stdio):
    answer = stdio.ask(request("x" * 1000000))
    assert answer["error"]["code"] == -32601
    assert len(stdio.lines[-1]) < 1000


def test_blank_lines_and_carriage_returns_do_not_matter(stdio):
    stdio.write('\n\r\n  \n{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n')
    assert stdio.receive() == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_batches_are_for_the_version_that_has_them(stdio):
    batch = json.dumps([request("ping", id=1), notification("notifications/x"),
                        evaluate("return 3", id=2)]) + "\n"
    stdio.ask(initialize("2025-11-25"))
    stdio.write(batch)
    assert stdio.receive()["error"]["code"] == -32600
    stdio.ask(initialize("2025-03-26", id="again"))
    stdio.write(batch)
    answers = stdio.receive()
    assert [a["id"] for a in answers] == [1, 2]
    assert structured(answers[1])["result"] == 3


def test_nothing_is_said_to_notifications_and_responses(stdio):
    stdio.send(notification("notifications/initialized"), notification("notifications/nope"),
               notification("notifications/cancelled", {"requestId": 99}),
               notification("notifications/cancelled", {"requestId": {}}),
               {"jsonrpc": "2.0", "id": 5, "result": {}},
               {"jsonrpc": "2.0", "method": "tools/call",
                "params": {"name": "create_note", "arguments": {}}})
    assert stdio.ask(request("ping", id=1))["id"] == 1
    assert len(stdio.lines) == 1


# ---- calls that run on --------------------------------------------------------------


@pytest.mark.parametrize("modern", [False, True])
def test_a_cancelled_call_ends_and_is_not_answered(stdio, modern):
    stdio.send(evaluate(ENDLESS, timeout=30000, id="long", modern=modern))
    assert stdio.ask(request("ping", id=1))["result"] == {}  # it runs, or will
    stdio.send(notification("notifications/cancelled", {"requestId": "long", "reason": "x"}))
    started = time.monotonic()
    rest, code = stdio.end()
    assert time.monotonic() - started < 25
    assert code == 0
    assert rest == []


def test_many_calls_run_beside_each_other_and_can_be_cancelled(stdio):
    for i in range(20):  # more than there are threads
        stdio.send(evaluate(ENDLESS, timeout=30000, id=i))
    assert stdio.ask(request("ping", id="p"), timeout=25)["result"] == {}
    for i in range(20):
        stdio.send(notification("notifications/cancelled", {"requestId": i}))
    answer = stdio.ask(evaluate("return 'free'", id="last"), timeout=20)
    assert structured(answer)["result"] == "free"
    assert len(stdio.lines) == 2


def test_a_call_that_runs_too_long_is_stopped_by_its_own_limit(stdio):
    answer = stdio.ask(evaluate(ENDLESS, timeout=200))
    assert answer["result"]["isError"] is True
    details = structured(answer)["errorDetails"]
    assert details["type"] == "Timeout"
    assert structured(stdio.ask(evaluate("return 1", id=2)))["result"] == 1


# ---- the end ------------------------------------------------------------------------


def test_what_was_asked_before_the_end_is_answered(cloche, vault):
    messages = [initialize(), notification("notifications/initialized"),
                *(evaluate(f"return {i}", id=i) for i in range(1, 40))]
    done = subprocess.run([cloche, "mcp", "--vault", str(vault)], capture_output=True,
                          input="".join(json.dumps(m) + "\n" for m in messages).encode(),
                          timeout=60)
    assert done.returncode == 0
    answers = {a["id"]: a for a in map(json.loads, done.stdout.splitlines())}
    assert sorted(answers) == list(range(40))
    assert all(structured(answers[i])["result"] == i for i in range(1, 40))


def test_a_last_line_without_its_end_counts(cloche):
    done = subprocess.run([cloche, "mcp"], input=json.dumps(request("ping")).encode(),
                          capture_output=True, timeout=60)
    assert json.loads(done.stdout)["result"] == {}


def test_it_ends_with_its_input(stdio):
    stdio.ask(initialize())
    started = time.monotonic()
    rest, code = stdio.end()
    assert (rest, code) == ([], 0)
    assert time.monotonic() - started < 25


def test_it_ends_when_nobody_reads_any_more(cloche, vault):
    process = subprocess.Popen([cloche, "mcp", "--vault", str(vault)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    process.stdin.write((json.dumps(evaluate(ENDLESS, timeout=30000)) + "\n").encode())
    process.stdin.flush()
    process.stdout.close()
    assert process.wait(20) == 0
    process.stdin.close()


def test_a_file_is_served_to_its_end(cloche, vault, tmp_path):
    calls = [evaluate(f"return {i}", id=i) for i in range(20)]
    said = tmp_path / "said"
    said.write_text("".join(json.dumps(m) + "\n" for m in calls))
    with said.open() as source:
        done = subprocess.run([cloche, "mcp", "--vault", str(vault)], stdin=source,
                              capture_output=True, text=True, timeout=60, check=True)
    assert sorted(json.loads(line)["id"] for line in done.stdout.splitlines()) == list(range(20))


def test_it_ends_at_sigterm_whatever_runs(stdio):
    stdio.send(evaluate(ENDLESS, timeout=30000, id="long"))
    stdio.ask(request("ping"))
    stdio.process.send_signal(signal.SIGTERM)
    stdio.process.wait(5)


def test_an_idle_server_uses_no_time(stdio):
    stdio.ask(request("ping"))
    stdio.ask(evaluate("return 1", id=2))

    def ticks():
        with open(f"/proc/{stdio.process.pid}/stat") as f:
            return sum(map(int, f.read().rpartition(")")[2].split()[11:13]))

    # What it began at its start (worlds, an index) may still end: then it rests.
    def rests():
        before = ticks()
        time.sleep(1)  # what is measured
        return ticks() - before <= 0.05 * os.sysconf("SC_CLK_TCK")
    until(rests, "it never rested")
