"""Raw MCP clients for stdio and HTTP, which check every message of the server against the
specification's schemas (spec.py)."""
import json
import queue
import shutil
import socket
import subprocess
import threading
import time

import httpx

from spec import LEGACY, MODERN, Conversation, validate  # noqa: F401 (for who imports this)

META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
WAIT_S = 180  # for what should come soon; only a failing test waits so long


def until(holds, said="it never came", within=WAIT_S):
    """Waits until `holds` returns a true value, and returns it."""
    end = time.monotonic() + within
    while not (answer := holds()):
        assert time.monotonic() < end, said() if callable(said) else said
        time.sleep(0.01)
    return answer


def stop_listening(listener):
    """Closes a listening socket, and ends the thread that waits in its accept(): after close() alone
    it waits on, and once it was interrupted takes the connections of the socket that got the number."""
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def delete_while_served(folder):
    """Deletes a vault that a running program serves: counts of use are written in the background,
    so a file may come while the folder is being deleted."""
    def is_gone():
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()
    until(is_gone, f"{folder} is still there")


def request(method, params=None, *, id=1, modern=False):
    """One request; modern: with the `_meta` that every newer one carries."""
    params = dict(params or {})
    if modern:
        params["_meta"] = dict(META)  # the caller's own, who may change it
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def notification(method, params=None):
    return {"jsonrpc": "2.0", "method": method, "params": params or {}}


def call(name, arguments=None, *, id=1, modern=False):
    params = {"name": name, "arguments": arguments or {}}
    return request("tools/call", params, id=id, modern=modern)


def initialize(version="2025-11-25", id=0):
    return request("initialize", {"protocolVersion": version, "capabilities": {},
                                  "clientInfo": {"name": "test", "version": "1"}}, id=id)


def structured(message):
    """The structured content of a call's answer, which its text repeats; of command-line tools the
    text alone, which is sent once."""
    result = message["result"]
    if "structuredContent" not in result:
        return json.loads(result["content"][0]["text"])
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    return result["structuredContent"]


class Stdio:
    """A server on standard input and output. Every line that it writes is stored in `lines` and
    must be one JSON-RPC message."""

    def __init__(self, command, **how):
        self.lines = []
        self._queue = queue.Queue()
        self._kept = []
        self._spoken = Conversation()
        self._begun = b""  # a line that was written in part
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, **how)
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def _read(self):
        for line in self.process.stdout:
            self._queue.put(line)
        self._queue.put(None)

    def write(self, data):
        data = data if isinstance(data, bytes) else data.encode()
        *lines, self._begun = (self._begun + data).split(b"\n")
        for line in lines:
            self._spoken.sent(line)
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, *messages):
        self.write("".join(json.dumps(m) + "\n" for m in messages))

    def receive(self, timeout=WAIT_S):
        """The next message; None at the end."""
        if self._kept:
            return self._kept.pop(0)
        line = self._queue.get(timeout=timeout)
        if line is None:
            return None
        assert line.endswith(b"\n")
        self.lines.append(line)
        return self._spoken.received(json.loads(line))

    def ask(self, message, timeout=WAIT_S):
        """Sends a request and waits for its answer; others are kept."""
        self.send(message)
        others = []
        while True:
            answer = self.receive(timeout)
            assert answer is not None, "the server has gone"
            if isinstance(answer, dict) and answer.get("id") == message["id"]:
                self._kept = others + self._kept
                return answer
            others.append(answer)

    def end(self, timeout=WAIT_S):
        """Closes the input; returns further messages, and the exit code."""
        self.process.stdin.close()
        rest = []
        while (message := self.receive(timeout)) is not None:
            rest.append(message)
        return rest, self.process.wait(timeout)


def events(text):
    """The messages of a text/event-stream that has ended."""
    datas = ["\n".join(line[5:].lstrip(" ") for line in event.splitlines()
                       if line.startswith("data:")) for event in text.split("\n\n")]
    return [json.loads(data) for data in datas if data]


def check_answer(message, answer, version):
    """Checks the answer to a POST against the schema of its version."""
    spoken = Conversation(version if version in LEGACY + [MODERN] else None)
    spoken.sent(message)
    kind = answer.headers.get("Content-Type", "").split(";")[0]
    if kind == "text/event-stream":
        for one in events(answer.text):
            spoken.received(one)
    elif kind == "application/json" and (answer.is_success or "jsonrpc" in answer.json()):
        spoken.received(answer.json())


class Server:
    """`cloche serve` and a client for it."""

    def __init__(self, command, **how):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **how)
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://"), "no address was printed"
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        self.host, self.port = host.strip("[]"), int(port)
        self.http = httpx.Client(base_url=self.url, timeout=WAIT_S, trust_env=False)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.http.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        self.process.terminate()
        return self.process.wait(WAIT_S)

    def post(self, message, headers=None, **how):
        """One message; a newer request gets the headers that repeat its body."""
        all_headers = {"Accept": "application/json, text/event-stream"}
        params = message.get("params") if isinstance(message, dict) else None
        if isinstance(params, dict) and "_meta" in params:
            all_headers |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": message["method"]}
            if message["method"] == "tools/call":
                all_headers["Mcp-Name"] = params["name"]
        all_headers |= headers or {}
        answer = self.http.post("/mcp", json=message,
                                headers={k: v for k, v in all_headers.items()
                                         if v is not None}, **how)
        check_answer(message, answer, all_headers.get("MCP-Protocol-Version"))
        return answer

    def session(self, version="2025-11-25"):
        """The headers of a session that was opened in the older way."""
        answer = self.post(initialize(version))
        assert answer.status_code == 200
        return {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"],
                "MCP-Protocol-Version": answer.json()["result"]["protocolVersion"]}

    def dial(self):
        return socket.create_connection((self.host, self.port), timeout=WAIT_S)

    def send_post(self, message, headers=None):
        """A POST on a socket of its own, whose answer is not awaited."""
        body = json.dumps(message).encode()
        lines = {"Host": f"{self.host}:{self.port}", "Content-Type": "application/json",
                 "Accept": "application/json, text/event-stream",
                 "Content-Length": len(body)} | (headers or {})
        connection = self.dial()
        connection.sendall("POST /mcp HTTP/1.1\r\n".encode() + "".join(
            f"{k}: {v}\r\n" for k, v in lines.items()).encode() + b"\r\n" + body)
        return connection
