"""MCP over HTTP: the official client in both eras, and raw requests."""
import asyncio
import base64
import json
import signal
import socket
import subprocess
import threading
import time

import pytest
from mcp import Client, MCPError

import needs
from wire import (LEGACY, META, MODERN, WAIT_S, Server, call, initialize, notification,
                  request, structured, until, validate)

ENDLESS = "for(;;){}"


def begun(vault, title="Begun"):
    """Code that reports that it runs, and how the report is received."""
    return (f"await notes.create({{type: 'a', title: '{title}', content: ''}});",
            (vault / "a" / f"{title}.md").exists)


def evaluate(code, **how):
    more = {k: how.pop(k) for k in ("timeout", "context") if k in how}
    return call("evaluate_note_code", {"code": code, **more}, **how)


def hear(connection):
    """All that still arrives on a socket."""
    heard = b""
    try:
        while piece := connection.recv(65536):
            heard += piece
            head, end, body = heard.partition(b"\r\n\r\n")
            length = [line.partition(b":")[2] for line in head.split(b"\r\n")
                      if line.lower().startswith(b"content-length:")]
            if end and length and len(body) >= int(length[0]):
                break
    finally:
        connection.close()
    return heard


# ---- the official client ------------------------------------------------------------


def run_client(server, mode, work):
    async def main():
        async with Client(server.url + "/mcp", mode=mode, read_timeout_seconds=60) as client:
            await work(client)
    asyncio.run(main())


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
@pytest.mark.parametrize("mode", ["legacy", "auto", MODERN])
def test_the_official_client_evaluates_code(server, mode):
    async def work(client):
        assert client.protocol_version == (LEGACY[0] if mode == "legacy" else MODERN)
        if mode != MODERN:
            assert client.server_info.name == "cloche"
        if mode == "legacy":
            await client.send_ping()
        tools = await client.list_tools()
        assert tools.tools[0].name == "evaluate_note_code"
        result = await client.call_tool("evaluate_note_code", {"code": "return 1+1"})
        assert not result.is_error
        assert result.structured_content["success"] is True
        assert result.structured_content["result"] == 2
    run_client(server, mode, work)


@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_the_official_client_reads_and_writes_notes(server, vault, mode):
    async def work(client):
        async def use(name, **arguments):
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result.content
            return result.structured_content

        made = await use("create_note", type="idea", title="Zinc roof",
                         content="# Zinc roof\n\nxylophone umbrella\n")
        note = await use("get_note", identifier=made["id"])
        found = await use("search_notes", query="xylophone")
        assert [row["id"] for row in found["results"]] == [made["id"]]
        await use("update_note", identifier=made["id"], contentHash=note["content_hash"],
                  content="# Zinc roof\n\nToo loud.\n")
        stale = await client.call_tool("update_note", {
            "identifier": made["id"], "contentHash": note["content_hash"], "content": "lost"})
        assert stale.is_error
        assert "Conflict" in stale.content[0].text
        assert "Too loud." in (vault / made["path"]).read_text()
    run_client(server, mode, work)


@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_bad_input_is_a_result_that_says_what_would_do(server, mode):
    async def work(client):
        result = await client.call_tool("evaluate_note_code", {"source": "return 1"})
        assert result.is_error
        assert "code" in result.content[0].text
        with pytest.raises(MCPError) as error:
            await client.call_tool("no_such_tool", {})
        assert error.value.code == -32602
    run_client(server, mode, work)


@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_the_official_client_gives_up_on_a_call(server, mode):
    async def work(client):
        started = time.monotonic()
        with pytest.raises(MCPError):
            await client.call_tool("evaluate_note_code", {"code": ENDLESS, "timeout": 30000},
                                   read_timeout_seconds=0.5)
        result = await client.call_tool("evaluate_note_code", {"code": "return 'on'"})
        assert result.structured_content["result"] == "on"
        assert time.monotonic() - started < 25
    run_client(server, mode, work)


# ---- who may come in ----------------------------------------------------------------


@pytest.mark.parametrize("headers, status", [
    ({"Host": "evil.example"}, 403),
    ({"Host": "localhost.evil.example"}, 403),
    ({"Host": "localhost:1"}, 403),
    ({"Host": "127.0.0.1:{port}"}, 200),
    ({"Host": "localhost:{port}"}, 200),
    ({"Host": "[::1]:{port}"}, 200),
    ({"Origin": "http://evil.example"}, 403),
    ({"Origin": "https://evil.example:{port}"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "http://localhost.evil.example"}, 403),
    ({"Origin": "http://127.0.0.1:{port}"}, 200),
    ({"Host": "localhost:{port}", "Origin": "http://localhost:{port}"}, 200),
    ({"Origin": "http://localhost:{port}"}, 403),
    ({"Origin": "https://127.0.0.1:{port}"}, 403),
    ({"Origin": "http://127.0.0.1:5173"}, 403),
    ({"Origin": "http://127.0.0.1"}, 403),
    ({"Origin": "https://[::1]:5173"}, 403),
    ({"Sec-Fetch-Site": "same-origin"}, 200),
    ({"Sec-Fetch-Site": "same-site"}, 403),
    ({"Sec-Fetch-Site": "cross-site"}, 403),
    ({"X-Forwarded-For": "10.0.0.1"}, 401),
    ({"Forwarded": "for=10.0.0.1"}, 401),
])
@pytest.mark.parametrize("path", ["/mcp", "/", "/nothing"])
def test_only_this_machine_may_come_in(server, headers, status, path):
    headers = {k: v.format(port=server.port) for k, v in headers.items()}
    answer = server.http.post(path, json=initialize(), headers=headers)
    if status == 200 and path != "/mcp":
        assert answer.status_code == {"/": 405, "/nothing": 404}[path]
    else:
        assert answer.status_code == status


def test_other_machines_are_not_listened_to(cloche):
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"]:
        done = subprocess.run([cloche, "serve", "--listen", address], capture_output=True,
                              text=True, timeout=WAIT_S)
        assert done.returncode != 0
        assert "tokens" in done.stderr and address in done.stderr
        assert done.stdout == ""


def test_the_newer_kind_of_address_is_served(cloche):
    if not socket.has_ipv6:
        needs.skip("no IPv6")
    try:
        socket.socket(socket.AF_INET6).bind(("::1", 0))
    except OSError:
        needs.skip("no IPv6 loopback")
    with Server([cloche, "serve", "--listen", "[::1]:0"]) as server:
        assert server.post(request("ping")).json()["result"] == {}


# ---- HTTP ---------------------------------------------------------------------------


def test_requests_get_json_and_the_rest_gets_202(server):
    answer = server.post(request("ping"))
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    for message in [notification("notifications/initialized"),
                    {"jsonrpc": "2.0", "id": 1, "result": {}}]:
        answer = server.post(message)
        assert (answer.status_code, answer.content) == (202, b"")


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
def test_other_methods_are_405_and_allow_says_what_is_not(server, method):
    answer = server.http.request(method, "/mcp", headers={"Accept": "text/event-stream"})
    assert answer.status_code == 405
    assert "POST" in answer.headers["Allow"]


def test_options_tells_what_is_allowed(server):
    answer = server.http.options("/mcp")
    assert answer.status_code in (200, 204)
    assert "POST" in answer.headers["Allow"]


@pytest.mark.parametrize("kind, status", [
    ("application/json", 200), ("application/json; charset=utf-8", 200),
    ("APPLICATION/JSON", 200), ("text/plain", 415), ("application/x-www-form-urlencoded", 415),
    ("multipart/form-data; boundary=x", 415), ("", 415),
])
def test_only_json_is_taken(server, kind, status):
    answer = server.http.post("/mcp", content=json.dumps(request("ping")),
                              headers={"Content-Type": kind})
    assert answer.status_code == status


@pytest.mark.parametrize("accept, status", [
    ("application/json, text/event-stream", 200), ("application/json", 200), ("*/*", 200),
    ("text/event-stream", 200), (None, 200), ("text/html", 406),
])
def test_accept_is_read_kindly(server, accept, status):
    answer = server.post(request("ping"), {"Accept": accept})
    assert answer.status_code == status


@pytest.mark.parametrize("body, code", [
    (b"", -32700), (b"{", -32700), (b"\xff", -32700), (b"[" * 100000, -32700),
    (b"[]", -32600), (b"7", -32600), (b"{}", -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
])
def test_what_is_no_request_is_400(server, body, code):
    answer = server.http.post("/mcp", content=body,
                              headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == code
    assert "id" not in answer.json()


@pytest.mark.parametrize("version", ["2025-03-26", "2025-11-25", "2026-07-28", None])
@pytest.mark.parametrize("body", [b"{", b"7", b" " * 17_000_000])
def test_an_answer_to_what_could_not_be_read_has_no_id(server, version, body):
    headers = {"MCP-Protocol-Version": version} if version else {}
    answer = server.http.post("/mcp", content=body, headers={
        "Content-Type": "application/json"} | headers).json()
    assert answer["error"]["code"] < 0 and "id" not in answer


def test_a_hundred_megabytes_are_refused_early(server):
    connection = server.dial()
    connection.sendall(f"POST /mcp HTTP/1.1\r\nHost: localhost:{server.port}\r\n"
                       "Content-Type: application/json\r\n"
                       f"Content-Length: {100 << 20}\r\n\r\n".encode())
    assert hear(connection).startswith(b"HTTP/1.1 413 ")  # before any of them came

    def flood():  # in chunks, whose sum is not known before
        for _ in range(100):
            yield b" " * (1 << 20)
    answer = server.http.post("/mcp", content=flood(),
                              headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    answer = server.http.post("/mcp", content=b" " * (100 << 20),
                              headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert server.post(request("ping")).status_code == 200


def test_requests_can_share_a_connection(server):
    ping = json.dumps(request("ping")).encode()
    head = (f"POST /mcp HTTP/1.1\r\nHost: localhost:{server.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(ping)}\r\n")
    with server.dial() as connection:
        connection.sendall(3 * (head.encode() + b"\r\n" + ping))
        heard = b""
        while heard.count(b'"result":{}') < 3:
            piece = connection.recv(65536)
            assert piece
            heard += piece


def test_a_slow_client_is_waited_for(server):
    body = json.dumps(request("ping")).encode()
    with server.dial() as connection:
        for byte in (f"POST /mcp HTTP/1.1\r\nHost: localhost:{server.port}\r\n"
                     "Content-Type: application/json\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n").encode() + body:
            connection.sendall(bytes([byte]))
        assert b'"result":{}' in hear(connection)


# ---- the older era ------------------------------------------------------------------


@pytest.mark.parametrize("asked", [*LEGACY, "2024-11-05", MODERN])
def test_a_version_is_agreed_on(server, asked):
    answer = server.post(initialize(asked))
    agreed = answer.json()["result"]["protocolVersion"]
    assert agreed == (asked if asked in LEGACY else LEGACY[0])
    validate(answer.json(), "initialize", agreed)
    session = answer.headers["Mcp-Session-Id"]
    assert len(session) >= 22 and all("!" <= c <= "~" for c in session)
    headers = {"Mcp-Session-Id": session, "MCP-Protocol-Version": agreed}
    assert server.post(notification("notifications/initialized"), headers).status_code == 202
    listed = server.post(request("tools/list"), headers)
    validate(listed.json(), "tools/list", agreed)
    called = server.post(evaluate("return 1+1"), headers)
    validate(called.json(), "tools/call", agreed)
    assert structured(called.json())["result"] == 2


def test_sessions_differ_and_end(server):
    mine, other = server.session(), server.session()
    assert mine["Mcp-Session-Id"] != other["Mcp-Session-Id"]
    assert server.http.delete("/mcp", headers=mine).status_code in (200, 204)
    assert server.post(request("ping"), mine).status_code == 404
    assert server.post(request("ping"), other).status_code == 200
    assert server.post(request("ping")).status_code == 200  # without any
    for wrong in ["x", "0" * 32, "~" * 32, "é".encode().hex()]:
        assert server.post(request("ping"), {"Mcp-Session-Id": wrong}).status_code == 404
    assert server.post(request("ping"), {"Mcp-Session-Id": "\x7f" * 32}).status_code == 400


def test_a_version_nobody_knows_is_400(server):
    for headers in [{}, server.session()]:
        for version in ["1900-01-01", "banana", ""]:
            answer = server.post(request("ping"), headers | {"MCP-Protocol-Version": version})
            assert answer.status_code == 400


def test_errors_of_the_older_era_are_not_the_transports(server):
    headers = server.session()
    answer = server.post(request("nope"), headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, -32601)
    answer = server.post(call("nope"), headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, -32602)


def test_batches_are_for_the_version_that_has_them(server):
    batch = [request("ping", id=1), evaluate("return 3", id=2)]
    assert server.post(batch, server.session("2025-11-25")).status_code == 400
    answer = server.post(batch, server.session("2025-03-26"))
    assert [m["id"] for m in answer.json()] == [1, 2]


# ---- the newer era ------------------------------------------------------------------


def test_discover_tells_what_is_served(server):
    answer = server.post(request("server/discover", modern=True))
    assert answer.status_code == 200
    assert "Mcp-Session-Id" not in answer.headers
    validate(answer.json(), "server/discover", MODERN)
    assert answer.json()["result"]["supportedVersions"] == [MODERN]
    listed = server.post(request("tools/list", modern=True)).json()
    validate(listed, "tools/list", MODERN)
    called = server.post(evaluate("return 1", modern=True)).json()
    validate(called, "tools/call", MODERN)


@pytest.mark.parametrize("change", [
    {"MCP-Protocol-Version": None}, {"MCP-Protocol-Version": "2025-11-25"},
    {"MCP-Protocol-Version": "1900-01-01"}, {"Mcp-Method": None},
    {"Mcp-Method": "tools/list"}, {"Mcp-Method": "TOOLS/CALL"}, {"Mcp-Name": None},
    {"Mcp-Name": "get_note"}, {"Mcp-Name": "=?base64?Z2V0X25vdGU=?="},
    {"Mcp-Name": "=?base64?!?="},
])
def test_headers_must_repeat_the_body(server, change):
    answer = server.post(evaluate("return 1", modern=True), change)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32020
    assert answer.json()["id"] == 1
    validate(answer.json(), version=MODERN)


@pytest.mark.parametrize("headers", [
    {"Mcp-Name": "=?base64?" + base64.b64encode(b"evaluate_note_code").decode() + "?="},
    {"mcp-method": "tools/call"}, {"MCP-NAME": "evaluate_note_code"},
    {"Mcp-Name": "  evaluate_note_code \t"}, {"Mcp-Session-Id": "ignored"},
    {"Last-Event-ID": "7"},
])
def test_headers_may_be_written_in_other_ways(server, headers):
    lines = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call",
             "Mcp-Name": "evaluate_note_code"}
    names = {k.lower() for k in headers}
    lines = {k: v for k, v in lines.items() if k.lower() not in names} | headers
    heard = hear(server.send_post(evaluate("return 1", modern=True), lines))
    assert heard.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("missing", ["protocolVersion", "clientCapabilities"])
def test_a_newer_request_must_be_whole(server, missing):
    message = request("tools/list")
    message["params"]["_meta"] = {k: v for k, v in META.items() if not k.endswith(missing)}
    answer = server.post(message)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32602)


def test_a_version_that_is_not_served_is_named(server):
    message = request("tools/list")
    message["params"]["_meta"] = META | {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    answer = server.post(message, {"MCP-Protocol-Version": "2099-01-01"})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == -32022
    assert error["data"] == {"supported": [MODERN], "requested": "2099-01-01"}


@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "nope",
                                    "resources/subscribe"])
def test_what_the_newer_era_has_not_is_404(server, method):
    answer = server.post(request(method, modern=True))
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, -32601)


# ---- calls that run on --------------------------------------------------------------


def busy(server):
    """CPU ticks used by the server."""
    with open(f"/proc/{server.process.pid}/stat") as f:
        return sum(map(int, f.read().rpartition(")")[2].split()[11:13]))


def await_idle(server):
    """Waits until the server uses no more CPU time: what ran has ended."""
    def rests():
        before = busy(server)
        time.sleep(0.3)  # what is measured
        return busy(server) - before <= 2
    until(rests, "the server goes on working")


@pytest.mark.parametrize("modern", [False, True])
def test_hanging_up_stops_the_call(server, vault, modern):
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call",
               "Mcp-Name": "evaluate_note_code"} if modern else {}
    for i in range(20):  # one after the other they would hold all workers
        code, runs = begun(vault, f"Begun {i}")
        connection = server.send_post(evaluate(code + ENDLESS, timeout=30000, modern=modern), headers)
        until(runs)
        connection.close()
    answer = server.post(evaluate("return 'on'"))
    assert structured(answer.json())["result"] == "on"
    await_idle(server)


def test_a_call_is_cancelled_within_its_session(server, vault):
    mine, other = server.session(), server.session()
    code, runs = begun(vault)
    connection = server.send_post(evaluate(code + ENDLESS, timeout=30000, id=5), mine)
    until(runs)
    assert server.post(notification("notifications/cancelled", {"requestId": 5}),
                       other).status_code == 202
    before = busy(server)
    until(lambda: busy(server) > before + 20)  # the other session's 5 is not ours
    assert server.post(notification("notifications/cancelled", {"requestId": 5}),
                       mine).status_code == 202
    head, _, body = hear(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200") and b"text/event-stream" in head
    assert b"data" not in body  # a cancelled request has no answer
    await_idle(server)


def test_pings_and_cancellations_do_not_queue_behind_calls(server):
    mine = server.session()
    before = busy(server)
    connections = [server.send_post(evaluate(ENDLESS, timeout=30000, id=i), mine)
                   for i in range(40)]
    until(lambda: busy(server) > before + 20)
    started = time.monotonic()
    assert server.post(request("ping"), mine).status_code == 200
    for i in range(40):
        server.post(notification("notifications/cancelled", {"requestId": i}), mine)
    for connection in connections:
        assert hear(connection).startswith(b"HTTP/1.1 200")
    assert time.monotonic() - started < 25
    await_idle(server)


def test_many_clients_are_served_at_a_time(server):
    wrong = []

    def client(n):
        for i in range(20):
            answer = server.post(evaluate(f"return {n} * 100 + {i}", id=i))
            if structured(answer.json())["result"] != n * 100 + i:
                wrong.append(answer.text)
    threads = [threading.Thread(target=client, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# ---- the end ------------------------------------------------------------------------


def test_it_ends_at_sigterm_when_idle(server):
    server.post(request("ping"))
    started = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - started < 25


def test_at_sigterm_what_runs_is_finished_first(server, vault):
    code, runs = begun(vault)
    connection = server.send_post(evaluate(code + "await sleep(700); return 'done'"))
    until(runs)
    server.process.terminate()
    heard = hear(connection)
    assert b'"result":"done"' in heard
    assert server.process.wait(WAIT_S) == 0


def test_a_terminal_that_is_gone_ends_it_like_sigterm(server, vault):
    code, runs = begun(vault)
    connection = server.send_post(evaluate(code + "await sleep(700); return 'done'"))
    until(runs)
    server.process.send_signal(signal.SIGHUP)
    assert b'"result":"done"' in hear(connection)
    assert server.process.wait(WAIT_S) == 0


def test_under_nohup_it_goes_on_without_its_terminal(cloche, vault):
    with Server(["nohup", cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"]) as server:
        server.process.send_signal(signal.SIGHUP)
        for _ in range(20):
            assert server.post(request("ping")).json()["result"] == {}
        assert server.stop() == 0


def test_an_idle_server_uses_no_time(server):
    server.post(evaluate("return 1"))

    def rests():
        before = busy(server)
        time.sleep(1)  # what is measured
        return busy(server) - before <= 2
    until(rests)
