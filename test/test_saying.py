"""Messages to the client while an evaluation runs: console lines, progress, keep-alives, over stdio
and HTTP."""
import json
import threading

import pytest
from wire import META, call, initialize, request, structured

CODE = """
console.log('first', 1);
await notes.list();
console.warn('second');
utils.progress(1, 4, 'a quarter');
await notes.list();
utils.progress(4, 4);
console.error('third');
return 'done'
"""


def evaluation(code=CODE, token=None, level=None, **more):
    message = call("evaluate_note_code", {"code": code} | more, id=5)
    meta = {}
    if level:
        meta = META | {"io.modelcontextprotocol/logLevel": level}
    if token is not None:
        meta["progressToken"] = token
    if meta:
        message["params"]["_meta"] = meta
    return message


def until_answered(stdio):
    said = []
    while True:
        message = stdio.receive()
        if message.get("id") == 5:
            return said, message
        said.append(message)


def set_level(level):
    return request("logging/setLevel", {"level": level}, id=1)


def lines_of(said):
    return [(m["params"]["level"], m["params"]["data"]) for m in said
            if m["method"] == "notifications/message"]


def test_the_console_is_heard_from_the_level_that_was_set(stdio):
    stdio.ask(initialize())
    stdio.send(evaluation())
    assert until_answered(stdio)[0] == []
    stdio.ask(set_level("warning"))
    stdio.send(evaluation())
    assert lines_of(until_answered(stdio)[0]) == [("warning", "second"), ("error", "third")]
    stdio.ask(set_level("info"))
    stdio.send(evaluation())
    said, answer = until_answered(stdio)
    assert lines_of(said) == [("info", "first 1"), ("warning", "second"), ("error", "third")]
    assert len(structured(answer)["logs"]) == 3


def test_the_newer_revision_asks_for_it_in_each_request(stdio):
    stdio.send(evaluation(level="warning"))
    assert lines_of(until_answered(stdio)[0]) == [("warning", "second"), ("error", "third")]


def test_lines_are_heard_while_the_code_waits(stdio):
    stdio.ask(initialize())
    stdio.ask(set_level("debug"))
    stdio.send(evaluation("console.debug('now'); await sleep(30000)", timeout=5000))
    heard = stdio.receive()
    assert lines_of([heard]) == [("debug", "now")]
    stdio.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": 5}})
    assert stdio.ask(request("ping", id=9))["result"] == {}


def test_what_was_written_before_a_limit_is_heard_once(stdio):
    stdio.ask(initialize())
    stdio.ask(set_level("info"))
    stdio.send(evaluation("console.log('a'); await notes.list(); console.log('b'); for (;;);",
                          timeout=200))
    said, answer = until_answered(stdio)
    assert lines_of(said) == [("info", "a"), ("info", "b")]
    assert answer["result"]["isError"]


def test_progress_is_the_codes_own_and_that_of_its_calls(stdio):
    stdio.ask(initialize())
    stdio.send(evaluation(token="t"))
    said = [m["params"] for m in until_answered(stdio)[0]]
    assert all(p["progressToken"] == "t" for p in said)
    values = [p["progress"] for p in said]
    assert values == sorted(set(values)) and values[-1] == 4
    assert {"progressToken": "t", "progress": 1, "total": 4, "message": "a quarter"} in said
    assert "notes.list" in [p.get("message") for p in said]


@pytest.mark.parametrize("wrong", ["utils.progress()", "utils.progress(-1)",
                                   "utils.progress('x')", "utils.progress(NaN)",
                                   "utils.progress(1, -2)"])
def test_what_is_no_progress_is_refused(stdio, wrong):
    stdio.ask(initialize())
    stdio.send(evaluation(wrong))
    _, answer = until_answered(stdio)
    assert structured(answer)["errorDetails"]["type"] == "InvalidInput"


def test_progress_costs_nothing_where_nobody_asked(stdio):
    stdio.ask(initialize())
    stdio.send(evaluation("for (let i = 0; i < 2000; i++) utils.progress(i); return 1"))
    said, answer = until_answered(stdio)
    assert said == [] and structured(answer)["result"] == 1


# ---- HTTP ------------------------------------------------------------------------------


def events(response):
    """(id, message) of each event; the message of one without data is None."""
    found = []
    for block in response.text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "data" in fields:
            found.append((fields.get("id"),
                          json.loads(fields["data"]) if fields["data"] else None))
    return found


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26"])
def test_over_http_the_answer_is_the_last_event(server, version):
    mine = server.session(version)
    assert server.post(set_level("info"), mine).json()["result"] == {}
    answer = server.post(evaluation(token=7), mine)
    assert answer.headers["Content-Type"] == "text/event-stream"
    said = events(answer)
    assert len({id for id, _ in said}) == len(said)
    assert (said[0][1] is None) == (version == "2025-11-25")
    messages = [m for _, m in said if m]
    assert len(lines_of([m for m in messages if "method" in m])) == 3
    assert messages[-1]["id"] == 5 and structured(messages[-1])["result"] == "done"


def test_over_http_the_newer_revision_has_neither_ids_nor_sessions(server):
    answer = server.post(evaluation(level="info", token="x"))
    assert answer.headers["Content-Type"] == "text/event-stream"
    assert "Mcp-Session-Id" not in answer.headers
    said = events(answer)
    assert {id for id, _ in said} == {None}
    assert said[-1][1]["id"] == 5


def test_over_http_nothing_said_is_plain_json(server):
    answer = server.post(evaluation(), server.session())
    assert answer.headers["Content-Type"] == "application/json"


def test_what_a_lost_connection_missed_is_said_again(server, vault):
    mine = server.session()
    server.post(set_level("info"), mine)
    code = ("console.log('a'); while (!(await notes.get('a/Go'))) await sleep(20); "
            "console.log('b'); return 'late'")
    connection = server.send_post(evaluation(code), mine)
    heard = b""
    while b'"data":"a"' not in heard:
        heard += connection.recv(65536)
    connection.close()
    (vault / "a").mkdir()
    (vault / "a" / "Go.md").write_text("go")
    last = [line[4:] for line in heard.decode().split("\n") if line.startswith("id: ")][-1]
    again = server.http.get("/mcp", headers=mine | {"Accept": "text/event-stream",
                                                    "Last-Event-ID": last.strip()})
    messages = [m for _, m in events(again) if m]
    assert lines_of(messages[:-1]) == [("info", "b")]
    assert structured(messages[-1])["result"] == "late"


def test_streams_of_many_calls_do_not_mix(server):
    mine = server.session()
    server.post(set_level("info"), mine)
    wrong = []

    def client(n):
        message = evaluation(f"console.log({n}); await notes.list(); console.log({n}); return {n}")
        message["id"] = 100 + n
        said = [m for _, m in events(server.post(message, mine)) if m]
        if [d for _, d in lines_of(said[:-1])] != [str(n)] * 2 or said[-1]["id"] != 100 + n:
            wrong.append(said)
    threads = [threading.Thread(target=client, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_an_alert_reaches_the_sessions_of_who_raised_it(server):
    mine = server.session()
    code = "for (let i = 0; i < 20; i++) await notes.list().catch(() => 0); return 1"
    with server.http.stream("GET", "/mcp", headers=mine | {"Accept": "text/event-stream"}) as stream:
        lines = stream.iter_lines()
        assert next(lines).startswith("id: ")
        server.post(call("evaluate_note_code", {"code": code, "allowedAPIs": []}), mine)
        heard = next(line for line in lines if line.startswith("data: {"))
        message = json.loads(heard[6:])
        assert message["params"]["logger"] == "alerts"
        assert "20 refusals" in message["params"]["data"]["message"]
