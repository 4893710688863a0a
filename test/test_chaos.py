"""A client with everything at once, much of it wrong: requests of both revisions with parts
replaced by junk, questions answered, refused, answered twice or not at all, calls cancelled,
connections closed at any moment. Every message of the server must fit the specification's schema
(wire.py), nothing is answered twice or unasked, and at the end the server must answer as before.

The same messages each time; CLOCHE_CHAOS is the number of other rounds to try (make deep).
"""
import json
import os
import random
import threading
from collections import Counter

import httpx
import pytest

from wire import LEGACY, META, MODERN, WAIT_S, Conversation, Server, Stdio, initialize, request

SEEDS = range(1, 3 + int(os.environ.get("CLOCHE_CHAOS", "0")))
MESSAGES = 300
WATCHED = "test://watched-resource"
ABLE = {"elicitation": {"form": {}}, "sampling": {}, "roots": {},
        "extensions": {"io.modelcontextprotocol/tasks": {}}}
JUNK = [None, True, 0, -1, 1.5, 1e300, 2**53, "", "x", "\u0000", "\U0001f600" * 3, "\ud800", "a" * 5000,
        [], {}, [[[]]], {"a": {"b": {}}}, "2026-07-28", "../../etc/passwd", "test://", "%"]
TOOLS = ["test_simple_text", "test_error_handling", "test_tool_with_logging",
         "test_logging_tool", "test_tool_with_progress", "test_sampling", "test_elicitation",
         "test_missing_capability", "test_input_required_result_multi_round",
         "test_input_required_result_multiple_inputs", "test_elicitation_sep1330_enums",
         "test_trigger_tool_change", "test_trigger_resource_change", "slow_compute",
         "failing_job", "confirm_delete", "evaluate_note_code", "get_note", "no_such_tool"]
ARGUMENTS = {"message": "Who?", "prompt": "What?", "filename": "a", "seconds": 0,
             "code": "return 1", "identifier": "project/greenhouse", "arg1": "a", "arg2": "b"}


class Chaos:
    """Makes messages: mostly right, and sometimes with a part of them replaced."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.ids = []

    def one(self, *choices):
        return self.random.choice(choices)

    def params(self):
        r = self.random
        name = r.choice(TOOLS)
        return r.choice([
            ("tools/call", {"name": name, "arguments": dict(ARGUMENTS)}),
            ("tools/call", {"name": name, "arguments": {}}),
            ("tools/list", {}), ("resources/list", {}), ("prompts/list", {}),
            ("resources/read", {"uri": self.one(WATCHED, "test://template/1/data", "x:")}),
            ("resources/subscribe", {"uri": WATCHED}),
            ("resources/unsubscribe", {"uri": WATCHED}),
            ("prompts/get", {"name": "test_prompt_with_arguments",
                             "arguments": {"arg1": "a", "arg2": "b"}}),
            ("prompts/get", {"name": "test_input_required_result_prompt"}),
            ("completion/complete", {"ref": {"type": "ref/prompt", "name": "find_related"},
                                     "argument": {"name": "note_id", "value": "pro"}}),
            ("logging/setLevel", {"level": self.one("debug", "error", "loud")}),
            ("subscriptions/listen", {"notifications": {
                "toolsListChanged": True, "resourceSubscriptions": [WATCHED]}}),
            ("tasks/get", {"taskId": "none"}), ("tasks/cancel", {"taskId": "none"}),
            ("server/discover", {}), ("ping", {}), ("none/such", {})])

    def replaced(self, value):
        """`value` with one of its parts, at any depth, replaced by junk or removed."""
        if isinstance(value, dict) and value and self.random.random() < 0.8:
            key = self.random.choice(sorted(value))
            if self.random.random() < 0.2:
                return {k: v for k, v in value.items() if k != key}
            return value | {key: self.replaced(value[key])}
        return self.random.choice(JUNK)

    def request(self, modern):
        method, params = self.params()
        params = dict(params)
        id = len(self.ids) + 1
        self.ids.append(id)
        meta = {"progressToken": id} if self.random.random() < 0.5 else {}
        if modern:
            meta |= META | {"io.modelcontextprotocol/clientCapabilities": ABLE}
            if self.random.random() < 0.5:
                meta["io.modelcontextprotocol/logLevel"] = "debug"
        if meta:
            params["_meta"] = meta
        message = request(method, params, id=id)
        if self.random.random() < 0.3:
            message["params"] = self.replaced(message["params"])
        return message

    def cancel(self):
        return {"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": self.one(*self.ids[-5:], "none")}}

    def answer(self, question):
        """The reply to a question; None: none."""
        right = {"elicitation/create": {"action": "accept", "content": {
                     "name": "a", "username": "b", "email": "c", "color": "d", "ok": True}},
                 "sampling/createMessage": {"role": "assistant", "model": "m", "content": {
                     "type": "text", "text": "t"}},
                 "roots/list": {"roots": []}}[question["method"]]
        said = self.one(right, right, {"action": "decline"}, self.replaced(right), None)
        return said and {"jsonrpc": "2.0", "id": question["id"],
                         "result": said if isinstance(said, dict) else {"action": said}}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_over_stdio(fixtures, vault, era, seed):
    chaos = Chaos(seed)
    hello = initialize(id="hello")
    hello["params"]["capabilities"] = {k: v for k, v in ABLE.items() if k != "extensions"}
    with Stdio([fixtures, "mcp", "--vault", str(vault)]) as client:
        answered, questions = Counter(), set()

        def heard(message):
            if "method" not in message:
                answered[message["id"]] += 1
            elif "id" in message:
                questions.add(message["id"])  # what is no answer to it is refused by its id
                if said := chaos.answer(message):
                    client.send(*[said] * chaos.one(1, 1, 2))

        if era == "legacy":
            client.ask(hello)
        for n in range(MESSAGES):
            client.send(chaos.request(era == "modern"))
            if chaos.random.random() < 0.1:
                client.send(chaos.cancel())
            if n % 20 == 19:  # no further ahead of the server than its queue
                done = client.ask(request("tools/list", {"_meta": META} if era == "modern" else {},
                                          id=f"ahead {n}"))
                assert done["result"]["tools"]
                kept, client._kept = client._kept, []
                for message in kept:
                    heard(message)
        rest, code = client.end()
        for message in rest:
            if "method" not in message:
                heard(message)
    assert code == 0
    # null is the id of answers to what could not be read.
    assert [id for id, times in answered.items()
            if times > 1 and id is not None and id not in questions] == []
    assert len(answered) > MESSAGES / 2


class Peer:
    """One client over HTTP, on a thread of its own."""

    def __init__(self, server, seed, era):
        self.chaos, self.server, self.modern = Chaos(seed), server, era == "modern"
        self.http = httpx.Client(base_url=server.url, timeout=WAIT_S, trust_env=False)
        self.headers = {"Accept": "application/json, text/event-stream",
                        "Content-Type": "application/json"}
        self.failure = None

    def hello(self):
        message = initialize(id="hello")
        message["params"]["capabilities"] = {"elicitation": {}, "sampling": {}, "roots": {}}
        answer = self.http.post("/mcp", json=message, headers=self.headers)
        self.headers |= {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"],
                         "MCP-Protocol-Version": LEGACY[0]}

    def post(self, message):
        params = message.get("params")
        headers = dict(self.headers)
        if self.modern:
            headers |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": message["method"]}
            name = params.get("name", params.get("uri", params.get("taskId"))) \
                if isinstance(params, dict) else None
            if isinstance(name, str) and name.isprintable() and name.isascii():
                headers["Mcp-Name"] = name
        spoken = Conversation(headers["MCP-Protocol-Version"])
        spoken.sent(message)
        with self.http.stream("POST", "/mcp", content=json.dumps(message),
                              headers=headers) as answer:
            kind = answer.headers.get("Content-Type", "").split(";")[0]
            if kind != "text/event-stream":
                text = answer.read()
                if kind == "application/json":
                    spoken.received(json.loads(text))
                return
            self.follow(answer, spoken)

    def follow(self, answer, spoken):
        """Reads a stream as far as it likes."""
        patience = self.chaos.one(1, 3, 1000)
        for line in answer.iter_lines():
            if not line.startswith("data:") or not line[5:].strip():
                continue
            heard = spoken.received(json.loads(line[5:]))
            patience -= 1
            if heard.get("method") == "notifications/subscriptions/acknowledged":
                patience = 0  # nothing else may ever come
            if "id" in heard and "method" in heard:
                said = self.chaos.answer(heard)
                if said:
                    self.http.post("/mcp", content=json.dumps(said), headers=self.headers)
                else:
                    patience = 0
            if patience <= 0:
                return

    def run(self):
        try:
            if not self.modern:
                self.hello()
            for _ in range(MESSAGES // 4):
                self.post(self.chaos.request(self.modern))
                if not self.modern and self.chaos.random.random() < 0.1:
                    self.http.post("/mcp", json=self.chaos.cancel(), headers=self.headers)
        except Exception as e:
            self.failure = e
        finally:
            self.http.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_over_http(fixtures, vault, seed):
    with Server([fixtures, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"]) as server:
        peers = [Peer(server, 100 * seed + n, era)
                 for n, era in enumerate(["legacy", "modern"] * 3)]
        threads = [threading.Thread(target=p.run) for p in peers]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for failure in (p.failure for p in peers if p.failure):
            raise failure
        assert server.process.poll() is None
        listed = server.post(request("tools/list", modern=True)).json()
        assert listed["result"]["tools"]
        assert server.stop() == 0
