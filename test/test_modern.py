"""The era without sessions (2026-07-28): questions in answers, subscriptions, calls that continue
as tasks, traces."""
import json
import signal
import subprocess

import pytest

from wire import META, MODERN, WAIT_S, Stdio, call, initialize, request

TASKS = "io.modelcontextprotocol/tasks"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
ALL = {"elicitation": {}, "sampling": {}, "roots": {}, "extensions": {TASKS: {}}}


def able(message, capabilities=ALL, **more):
    """The same request, of a client that declares these capabilities."""
    message["params"]["_meta"] = META | {CAPABILITIES: capabilities} | more
    return message


def listen(filter, id=1):
    return able(request("subscriptions/listen", {"notifications": filter}, id=id))


@pytest.fixture
def asking(fixtures, vault):
    """`cloche-conformance mcp`: its tools ask, and report changes."""
    with Stdio([fixtures, "mcp", "--vault", str(vault)]) as client:
        yield client


class Stream:
    """A request over HTTP with a streamed answer."""

    def __init__(self, server, message):
        self.context = server.http.stream(
            "POST", "/mcp", json=message,
            headers={"Accept": "application/json, text/event-stream",
                     "MCP-Protocol-Version": MODERN, "Mcp-Method": message["method"]})

    def __enter__(self):
        self.response = self.context.__enter__()
        self.lines = self.response.iter_lines()
        return self

    def __exit__(self, *error):
        self.context.__exit__(*error)

    def __next__(self):
        signs = 0  # of life, each 15 s: nothing else comes any more
        for line in self.lines:
            if line.startswith("data:"):
                return json.loads(line[5:])
            signs += line.startswith(":")
            assert signs < 3, "nothing was told"
        return None


def change_a_note(vault, text="# Changed\n"):
    (vault / "meeting").mkdir(exist_ok=True)
    (vault / "meeting" / "by-another.md").write_text(text)


# ---- questions ----------------------------------------------------------------------


def answer_of(result, values):
    return {"inputResponses": {key: {"action": "accept", "content": values}
                               for key in result["inputRequests"]},
            "requestState": result["requestState"]}


def asks(id=1, **params):
    return able(request("tools/call", {"name": "test_input_required_result_multi_round",
                                       "arguments": {}, **params}, id=id))


def test_a_state_lasts_no_longer_than_its_server(fixtures, vault):
    command = [fixtures, "mcp", "--vault", str(vault)]
    with Stdio(command) as client:
        first = client.ask(asks())["result"]
        assert first["resultType"] == "input_required"
        second = client.ask(asks(2, **answer_of(first, {"name": "Ada"})))["result"]
        assert list(second["inputRequests"]) == ["step2"]
    with Stdio(command) as client:
        refused = client.ask(asks(3, **answer_of(second, {"color": "red"})))
        assert refused["error"]["code"] == -32602
        assert "since it started" in refused["error"]["message"]


def test_a_question_over_and_over_is_the_same_question(asking):
    state = asking.ask(asks())["result"]
    for id in range(2, 6):
        state = asking.ask(asks(id, **answer_of(state, {"wrong": 1})))["result"]
        assert list(state["inputRequests"]) == ["step1"]
    state = asking.ask(asks(6, **answer_of(state, {"name": "Ada"})))["result"]
    done = asking.ask(asks(7, **answer_of(state, {"color": "red"})))["result"]
    assert done["content"][0]["text"] == "Ada likes red"


# ---- subscriptions ------------------------------------------------------------------


def test_what_another_program_changes_is_told_over_http(server, vault):
    listed = server.post(able(request("resources/list"))).json()["result"]["resources"]
    notes = next(r["uri"] for r in listed if r["uri"].endswith("/notes/list"))
    with Stream(server, listen({"resourcesListChanged": True, "toolsListChanged": True,
                                "resourceSubscriptions": [notes, "nobody://x"]},
                               id="s")) as stream:
        assert stream.response.headers["Content-Type"].startswith("text/event-stream")
        assert stream.response.headers["X-Accel-Buffering"] == "no"
        first = next(stream)
        assert first["method"] == "notifications/subscriptions/acknowledged"
        assert first["params"]["notifications"] == {
            "toolsListChanged": True, "resourcesListChanged": True,
            "resourceSubscriptions": [notes]}
        change_a_note(vault)
        told = {}
        while len(told) < 2:
            message = next(stream)
            assert message["params"]["_meta"][SUBSCRIPTION] == "s"
            told[message["method"]] = message["params"]
        assert told["notifications/resources/updated"]["uri"] == notes
        assert "notifications/resources/list_changed" in told


def test_what_another_program_changes_is_told_on_stdio(stdio, vault):
    listed = stdio.ask(able(request("resources/list")))["result"]["resources"]
    notes = next(r["uri"] for r in listed if r["uri"].endswith("/notes/list"))
    stdio.send(listen({"resourceSubscriptions": [notes]}, id=7))
    assert stdio.receive()["params"]["notifications"] == {"resourceSubscriptions": [notes]}
    change_a_note(vault)
    told = stdio.receive()
    assert told["method"] == "notifications/resources/updated"
    assert told["params"] == {"_meta": {SUBSCRIPTION: 7}, "uri": notes}
    stdio.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": 7}})
    change_a_note(vault, "# Changed once more\n")
    assert stdio.end() == ([], 0)


def test_several_subscriptions_are_told_apart(asking):
    asking.send(listen({"toolsListChanged": True}, id=1), listen({}, id=2),
                listen({"toolsListChanged": True, "promptsListChanged": True}, id="3"))
    for _ in range(3):
        assert asking.receive()["method"] == "notifications/subscriptions/acknowledged"
    asking.ask(call("test_trigger_tool_change", id=9, modern=True))
    told = [asking.receive()["params"]["_meta"][SUBSCRIPTION] for _ in range(2)]
    assert sorted(map(str, told)) == ["1", "3"]


def test_the_end_of_the_input_answers_who_listens(asking):
    asking.send(listen({"toolsListChanged": True}, id="mine"))
    assert asking.receive()["method"] == "notifications/subscriptions/acknowledged"
    rest, status = asking.end()
    assert status == 0
    assert [m["id"] for m in rest] == ["mine"]
    assert rest[0]["result"]["_meta"][SUBSCRIPTION] == "mine"


def test_the_servers_end_answers_who_listens(server):
    with Stream(server, listen({"toolsListChanged": True}, id=5)) as stream:
        next(stream)
        server.process.send_signal(signal.SIGTERM)
        last = next(stream)
        assert last["id"] == 5 and last["result"]["resultType"] == "complete"
        assert next(stream) is None
    assert server.process.wait(WAIT_S) == 0


def test_who_hangs_up_is_forgotten(served):
    for _ in range(200):
        with Stream(served, listen({"toolsListChanged": True})) as stream:
            next(stream)
    with Stream(served, listen({"toolsListChanged": True}, id="last")) as stream:
        next(stream)
        served.post(call("test_trigger_tool_change", modern=True))
        assert next(stream)["method"] == "notifications/tools/list_changed"


def test_a_session_subscribes_on_stdio(asking):
    asking.ask(initialize())
    uri = {"uri": "test://watched-resource"}
    assert asking.ask(request("resources/subscribe", uri, id=1))["result"] == {}
    asking.ask(call("test_trigger_resource_change", id=2))
    told = asking.receive()
    assert told == {"jsonrpc": "2.0", "method": "notifications/resources/updated",
                    "params": uri}
    assert asking.ask(request("resources/unsubscribe", uri, id=3))["result"] == {}
    asking.ask(call("test_trigger_resource_change", id=4))
    asking.ask(call("test_trigger_tool_change", id=5))
    assert asking.receive()["method"] == "notifications/tools/list_changed"
    refused = asking.ask(request("resources/subscribe", {"uri": "nobody://x"}, id=6))
    assert refused["error"]["code"] == -32002


# ---- tasks --------------------------------------------------------------------------


def ask_task(client, id, method="tasks/get", **more):
    return client.ask(able(request(method, {"taskId": id, **more}, id=99)))["result"]


def await_task(client, id, *statuses):
    while (task := ask_task(client, id))["status"] not in statuses:
        pass
    return task


def test_code_that_runs_long_becomes_a_task(stdio, vault):
    code = "while (!(await notes.get('a/Go'))) await sleep(50); return (await notes.list()).length"
    task = stdio.ask(able(call("evaluate_note_code", {"code": code})))["result"]
    assert task["resultType"] == "task" and task["status"] == "working"
    (vault / "a").mkdir()
    (vault / "a" / "Go.md").write_text("go")
    done = await_task(stdio, task["taskId"], "completed", "failed")
    assert done["result"]["structuredContent"]["result"] > 0
    assert ask_task(stdio, task["taskId"])["result"] == done["result"]


def test_a_task_is_cancelled(stdio):
    task = stdio.ask(able(call("evaluate_note_code",
                               {"code": "await sleep(30000)"})))["result"]
    assert ask_task(stdio, task["taskId"], "tasks/cancel").keys() == {"resultType", "_meta"}
    assert ask_task(stdio, task["taskId"])["status"] == "cancelled"


def test_a_task_asks_and_its_states_are_told(asking):
    task = asking.ask(able(call("confirm_delete", {"filename": "x"})))["result"]
    id = task["taskId"]
    await_task(asking, id, "input_required")
    asking.send(listen({"taskIds": [id, "nobody's"]}, id="t"))
    assert asking.receive()["params"]["notifications"] == {"taskIds": [id]}
    key, = ask_task(asking, id)["inputRequests"]
    ask_task(asking, id, "tasks/update",
             inputResponses={key: {"action": "accept", "content": {"confirm": True}}})
    while (told := asking.receive())["params"]["status"] != "completed":
        assert told["method"] == "notifications/tasks"
    assert told["params"]["taskId"] == id
    assert "confirm" in told["params"]["result"]["content"][0]["text"]


def test_tasks_end_with_their_server(fixtures, vault):
    command = [fixtures, "mcp", "--vault", str(vault)]
    with Stdio(command) as client:
        task = client.ask(able(call("slow_compute", {"seconds": 60})))["result"]
        assert client.end() == ([], 0)
    with Stdio(command) as client:
        gone = client.ask(able(request("tasks/get", {"taskId": task["taskId"]})))
        assert gone["error"]["code"] == -32602
        assert "end with the server" in gone["error"]["message"]


# ---- traces -------------------------------------------------------------------------


def test_a_trace_stands_in_the_record_of_its_call(cloche, stdio, vault):
    trace = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
             "tracestate": "a=1", "baggage": "user=x"}
    stdio.ask(able(call("evaluate_note_code", {"code": "return 1"}), **trace))
    stdio.ask(able(call("evaluate_note_code", {"code": "return 1"}, id=2),
                   traceparent="what is no trace"))
    stdio.end()
    done = subprocess.run([cloche, "audit", "--json", "--vault", str(vault)],
                          capture_output=True, text=True, timeout=WAIT_S, check=True)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r.get("trace") for r in records if r.get("action") == "evaluate_note_code"] in (
        [trace, None], [None, trace])
