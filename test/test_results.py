"""Results that are too large for their answer: a preview, and a resource with the whole."""

import json
import os
import subprocess

import pytest

from wire import MODERN, Server, call, initialize, request, structured, validate

LARGE = "return Array.from({length: 150000}, (_, i) => `n\u00famero ${i}`)"
WHOLE = [f"n\u00famero {i}" for i in range(150000)]


def put_aside(answer):
    details = structured(answer)["errorDetails"]
    assert details["type"] == "OutputTooLarge"
    assert details["preview"].startswith('["n\u00famero 0",')
    assert details["size"] == len(json.dumps(WHOLE, ensure_ascii=False, separators=(",", ":")).encode())
    assert "read_result" in details["suggestion"]
    return details["resource"]


def test_the_tool_reads_it_in_pieces(stdio):
    uri = put_aside(stdio.ask(call("evaluate_note_code", {"code": LARGE})))
    text, offset, pieces = "", 0, 0
    while offset is not None:
        piece = structured(stdio.ask(call("read_result", {"resource": uri, "offset": offset,
                                                          "limit": 500000}, id=2)))
        text += piece["text"]
        offset = piece.get("next_offset")
        pieces += 1
    assert pieces > 3 and json.loads(text) == WHOLE
    usual = structured(stdio.ask(call("read_result", {"resource": uri}, id=3)))
    assert len(usual["text"].encode()) <= 50000 and usual["next_offset"]
    behind = stdio.ask(call("read_result", {"resource": uri, "offset": 10**9}, id=4))["result"]
    assert behind["isError"] and "bytes" in behind["content"][0]["text"]


@pytest.mark.parametrize("modern", [False, True])
def test_resources_read_answers_the_whole(stdio, modern):
    how = {"modern": modern}
    if not modern:
        opened = stdio.ask(initialize())
        assert "resources" in opened["result"]["capabilities"]
    uri = put_aside(stdio.ask(call("evaluate_note_code", {"code": LARGE}, **how)))
    answer = stdio.ask(request("resources/read", {"uri": uri}, id=2, **how))
    validate(answer, "resources/read", MODERN if modern else "2025-11-25")
    (content,) = answer["result"]["contents"]
    assert content["uri"] == uri and content["mimeType"] == "application/json"
    assert json.loads(content["text"]) == WHOLE
    for method in ("resources/list", "resources/templates/list"):
        listed = stdio.ask(request(method, id=3, **how))
        validate(listed, method, MODERN if modern else "2025-11-25")
    assert "cloche://results/{id}" in [t["uriTemplate"] for t in
                                       listed["result"]["resourceTemplates"]]


@pytest.mark.parametrize("modern, code", [(False, -32002), (True, -32602)])
def test_a_resource_that_is_not_there_is_an_error(stdio, modern, code):
    missing = stdio.ask(request("resources/read", {"uri": "cloche://results/none"}, modern=modern))
    assert missing["error"]["code"] == code
    assert missing["error"]["data"] == {"uri": "cloche://results/none"}
    nothing = stdio.ask(request("resources/read", {}, id=2, modern=modern))
    assert nothing["error"]["code"] == -32602


def test_another_session_cannot_read_it(server):
    mine, other = server.session(), server.session()
    uri = put_aside(server.post(call("evaluate_note_code", {"code": LARGE}), mine).json())
    read = request("resources/read", {"uri": uri})
    assert "result" in server.post(read, mine).json()
    assert server.post(read, other).json()["error"]["code"] == -32002
    tool = server.post(call("read_result", {"resource": uri}), other).json()
    assert tool["result"]["isError"]


def test_over_http_in_the_newer_era(server):
    uri = put_aside(server.post(call("evaluate_note_code", {"code": LARGE}, modern=True)).json())
    read = request("resources/read", {"uri": uri}, modern=True)
    assert server.post(read).status_code == 400  # the header Mcp-Name must repeat the uri
    answer = server.post(read, {"Mcp-Name": uri})
    assert json.loads(answer.json()["result"]["contents"][0]["text"]) == WHOLE
    gone = request("resources/read", {"uri": uri + "x"}, modern=True)
    assert server.post(gone, {"Mcp-Name": uri + "x"}).status_code == 400


def test_eval_writes_it_to_a_file(cloche, tmp_path):
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    for _ in range(22):
        done = subprocess.run([cloche, "eval", "-e", LARGE], capture_output=True, text=True,
                              timeout=120, env=env)
        assert done.returncode == 1
        assert json.loads(done.stdout)["errorDetails"]["type"] == "OutputTooLarge"
    path = done.stderr.removeprefix("cloche: the whole result is in ").strip()
    assert json.loads(open(path).read()) == WHOLE
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert len(list((tmp_path / "cloche" / "results").iterdir())) == 20
