"""Single sentences of the specification, tested with raw messages that no client of ours would
send."""
import pytest

from spec import MODERN
from wire import META, call, request

LEVEL = "io.modelcontextprotocol/logLevel"


def stdio_answer(stdio, text):
    stdio.write(text + "\n")
    return stdio.receive()


# ---- ids ----


@pytest.mark.parametrize("broken", [
    r'"half \ud83d"', '{"a": 1, "a": 2}', "[" * 500 + "]" * 500,
])
def test_who_asked_in_json_that_is_not_taken_is_told(stdio, broken):
    """Text cut in the middle of an emoji, say: no other answer would end the wait."""
    answer = stdio_answer(stdio, '{"method": "tools/call", "params": {"name": "get_note",'
                          '"arguments": {"identifier": ' + broken + '}},'
                          '"jsonrpc": "2.0", "id": "mine"}')
    assert answer["id"] == "mine" and answer["error"]["code"] == -32600
    assert stdio.ask(request("ping", id=2))["result"] == {}


def test_it_is_told_over_http_too(server):
    answer = server.http.post(
        "/mcp", content=r'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\udc00"}}',
        headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["id"] == 7


# ---- versions in headers ----


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_no_method_takes_a_version_nobody_knows(server, method):
    session = server.session()
    wrong = session | {"MCP-Protocol-Version": "1900-01-01", "Accept": "text/event-stream"}
    assert server.http.request(method, "/mcp", headers=wrong).status_code == 400
    newer = wrong | {"MCP-Protocol-Version": MODERN}
    assert server.http.request(method, "/mcp", headers=newer).status_code == 405
    assert server.post(request("ping"), session).status_code == 200


def test_a_newer_notification_says_what_its_headers_say(server):
    notice = {"jsonrpc": "2.0", "method": "notifications/x", "params": {"_meta": META}}
    assert server.post(notice).status_code == 202
    answer = server.post(notice, {"Mcp-Method": "tools/list"})
    assert answer.status_code == 400 and answer.json()["error"]["code"] == -32020


# ---- logging ----


@pytest.mark.parametrize("level", ["loud", "DEBUG", "", 3])
def test_a_level_that_no_log_has_is_refused(stdio, level):
    message = call("get_note", {"identifier": "x"}, modern=True)
    message["params"]["_meta"] = META | {LEVEL: level}
    assert stdio.ask(message)["error"]["code"] == -32602
