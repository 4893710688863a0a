"""Waiting calls: long calls of one token delay no other, and waiting needs no thread."""
import json
import os
import threading

import pytest

from machine_doors import needs_image
from test_access import bearer, evaluate, make_token, serve
from test_network import policy, web  # noqa: F401 (fixtures)
from test_permissions import host, program, run, wait_for  # noqa: F401 (fixtures)
from wire import call, until

AT_ONCE = 12  # calls that answer much at once, of one evaluation
SEARCH = "await notes.search({query: 'nothing like it'}); return 0"


@pytest.fixture
def tokens(cloche):
    return [bearer(make_token(cloche, name))
            for name in ("busy", "other")]


def answers(server, token):
    got = evaluate(server, SEARCH, token)
    assert got["success"], got["error"]


def begin(server, code, token, **more):
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
               "Mcp-Name": "evaluate_note_code"}
    message = call("evaluate_note_code", {"code": code} | more, modern=True)
    return server.send_post(message, headers | token)


def answer_of(connection):
    data = b""
    while part := connection.recv(65536):
        data += part
        if b'"structuredContent"' in data and data.rstrip().endswith(b"}"):
            break
    return data


def is_silent(connection):
    connection.setblocking(False)
    try:
        connection.recv(1)
        return False
    except BlockingIOError:
        return True
    finally:
        connection.settimeout(60)


def threads(server):
    return len(os.listdir(f"/proc/{server.process.pid}/task"))


def test_slow_fetches_of_one_token_hold_up_no_other(cloche, vault, web, policy, tokens):
    go = threading.Event()

    def slowly(request, connection):
        go.wait(60)
        return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    site = web(slowly)
    policy(network={"allowPrivate": [f"127.0.0.1:{site.port}"]})
    code = (f"const all = await Promise.all(Array.from({{length: {AT_ONCE}}}, (x, i) => "
            f"fetch('{site.url}/' + i).then((r) => r.text()))); return all.join('')")
    busy, other = tokens
    with serve(cloche, vault) as server:
        answers(server, other)
        before = threads(server)
        slow = [begin(server, code, busy, enableNetwork=True) for _ in range(6)]
        try:
            until(lambda: len(site.requests) == 6 * AT_ONCE)
            # At most half of the threads for calls, a few besides, and not one for each.
            assert threads(server) - before < 24
            answers(server, other)
            assert all(is_silent(c) for c in slow)
            go.set()
            for connection in slow:
                assert b"okok" in answer_of(connection)
        finally:
            go.set()
            for connection in slow:
                connection.close()


QUERY = "SELECT count(*) FROM notes a, notes b, notes c, notes d, notes e, notes f"


def test_long_queries_of_one_token_hold_up_no_other(cloche, vault, tokens):
    code = (f"return await Promise.all(Array.from({{length: {AT_ONCE}}}, () => "
            f"notes.searchSQL({{query: {json.dumps(QUERY)}, timeout: 10000}})))")
    busy, other = tokens
    for n in range(40):
        (vault / f"many{n}.md").write_text(f"# Note {n}\n")
    with serve(cloche, vault) as server:
        answers(server, other)
        before = threads(server)
        slow = [begin(server, code, busy) for _ in range(6)]
        try:
            until(lambda: threads(server) > before)
            answers(server, other)
            assert all(is_silent(c) for c in slow)
        finally:
            for connection in slow:
                connection.close()


def test_code_that_waits_for_persons_has_no_thread(host, program):
    """More of one evaluation than its calls that are performed at once."""
    code = ("const all = await Promise.allSettled(Array.from({length: 16}, (x, i) => "
            "tools.reader({args: [String(i)]}))); return all.map((a) => a.reason?.name)")
    before = threads(host)
    waiting = begin(host, code, {})
    entries = wait_for(program, 16)
    assert threads(host) - before < 24
    for entry in entries:
        run(program, "approvals", "deny", entry["id"])
    assert answer_of(waiting).count(b"PermissionDenied") >= 16
    waiting.close()


@needs_image
def test_long_commands_of_one_token_hold_up_no_other(cloche, vault, policy, tokens):
    policy(vm={"permission": "always"})
    code = ("return await Promise.all(Array.from({length: 72}, (x, i) => vm.exec('sleep 20', "
            "{session: 's' + i % 24})))")
    busy, other = tokens
    with serve(cloche, vault) as server:
        answers(server, other)
        before = threads(server)
        slow = begin(server, code, busy)
        try:
            until(lambda: any(m["commands"] == 24 for m in
                                   server.http.get("/vm", headers=busy).json()))
            assert threads(server) - before < 24
            answers(server, other)
            assert is_silent(slow)
        finally:
            slow.close()
