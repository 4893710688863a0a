"""What the pieces of `bench/run` share: tables, the two servers and clients of them."""
import json
import os
import re
import select
import socket
import subprocess
import time
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
TOOLS = BUILD / "release" / "bench"
CLOCHE = BUILD / "cloche"
NODE = BUILD / "deps" / "node"
MODULES = BUILD / "deps" / "npm-bench" / "node_modules"
EVERYTHING = MODULES / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
FIXTURES = BUILD / "cloche-conformance"
EVALUATE = ("evaluate_note_code", {"code": "return 1"}, '"success":true')
ECHO = ("echo", {"message": "return 1"}, "Echo: return 1")

PATIENCE_S = 60


class Failure(Exception):
    """A piece could not be measured; the message says why."""


# ---- tables -----------------------------------------------------------------------------

class Table:
    """Rows of one piece: what was measured, ours, the peer's, their ratio, the floor."""

    def __init__(self, title, peer):
        self.title, self.peer, self.rows, self.notes = title, peer, [], []

    def row(self, what, ours, peer="", ratio="", floor="", met=None):
        verdict = "" if met is None else "met" if met else "**missed**"
        self.rows.append((what, ours, peer, ratio, floor, verdict))

    def note(self, text):
        self.notes.append(text)

    def text(self):
        head = ("", "Cloche", self.peer, "ratio", "floor", "")
        width = [max(map(len, column)) for column in zip(head, *self.rows)]
        line = lambda cells: "| " + " | ".join(map(str.ljust, cells, width)) + " |\n"
        rule = "|" + "|".join("-" * (w + 2) for w in width) + "|\n"
        body = f"\n## {self.title}\n\n"
        if self.rows:
            body += line(head) + rule + "".join(map(line, self.rows))
        return body + "".join(f"\n{note}\n" for note in self.notes)


def us(ns):
    return f"{ns / 1e3:,.1f} us" if ns < 1e6 else f"{ns / 1e6:,.2f} ms"


def quantile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def times(ratio):
    return f"{ratio:,.2f}" if ratio < 10 else f"{ratio:,.0f}"


# ---- programs that run beside us --------------------------------------------------------

def need(*files):
    for file in files:
        if not file.exists():
            raise Failure(f"{file.relative_to(ROOT)} is missing; `make bench` makes it")


@contextmanager
def running(command, environment, **options):
    process = subprocess.Popen([str(c) for c in command], env=environment, **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Lines:
    """The lines that a program prints. Its unbuffered pipe is read in large pieces: an
    io.RawIOBase would read a line byte by byte, and measure that."""

    def __init__(self, process, patience_s=PATIENCE_S):
        self.process, self.fd, self.text = process, process.stdout.fileno(), b""
        self.patience_s = patience_s

    def next(self):
        while b"\n" not in self.text:
            if not select.select([self.fd], [], [], self.patience_s)[0]:
                raise Failure(f"{self.process.args[0]} does not answer")
            part = os.read(self.fd, 1 << 20)
            if not part:
                raise Failure(f"{self.process.args[0]} ended by itself")
            self.text += part
        line, _, self.text = self.text.partition(b"\n")
        return line


@contextmanager
def asked(command, environment):
    """A program that answers each line with a line of JSON: a function that asks it."""
    with running(command, environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                 bufsize=0) as process:
        lines = Lines(process)

        def ask(line):
            process.stdin.write(line.encode() + b"\n")
            return json.loads(lines.next())
        yield ask


@contextmanager
def in_process_sides(environment):
    need(TOOLS / "fresh", BUILD / "guest" / "script.img", NODE, MODULES)
    with asked([TOOLS / "fresh", BUILD / "guest"], environment) as ours, \
            asked([NODE, ROOT / "bench" / "peers" / "quickjs.mjs", MODULES], environment) as peer:
        yield ours, peer


def free_port():
    with closing(socket.socket()) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for_port(port, process):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and process.poll() is None:
        with closing(socket.socket()) as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise Failure(f"{process.args[0]} does not listen on port {port}")


@contextmanager
def our_server(environment, program=CLOCHE, *options):
    need(program)
    command = [program, "serve", "--listen", "127.0.0.1:0", *options]
    with running(command, environment, stdout=subprocess.PIPE, bufsize=0) as process:
        url = Lines(process).next().decode()
        yield process, int(re.search(r":(\d+)\D*$", url)[1])


@contextmanager
def their_server(environment):
    need(NODE, EVERYTHING)
    port = free_port()
    with running([NODE, EVERYTHING, "streamableHttp"], {**environment, "PORT": str(port)},
                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for_port(port, process)
        yield process, port


INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {},
              "clientInfo": {"name": "bench", "version": "1"}}


class OverHttp:
    """One MCP client over HTTP."""

    def __init__(self, port):
        self.http = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        self.session = {}
        response, _ = self.post({"id": 0, "method": "initialize", "params": INITIALIZE})
        if session := response.getheader("mcp-session-id"):
            self.session = {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-06-18"}
        self.post({"method": "notifications/initialized"})

    def post(self, message):
        self.http.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}), {
            "Content-Type": "application/json", **self.session,
            "Accept": "application/json, text/event-stream"})
        response = self.http.getresponse()
        return response, response.read().decode()

    def call(self, tool, arguments, expected):
        _, text = self.post({"id": 1, "method": "tools/call",
                             "params": {"name": tool, "arguments": arguments}})
        if expected not in text:
            raise Failure(f"{tool} answered {text[:200]}")


class OverStdio:
    """One MCP client over a child's stdin and stdout."""

    def __init__(self, process):
        self.process, self.lines, self.id = process, Lines(process), 0
        self.request("initialize", INITIALIZE)
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def request(self, method, params):
        self.id += 1
        self.send({"id": self.id, "method": method, "params": params})
        while True:
            answer = json.loads(self.lines.next())
            if answer.get("id") == self.id and "method" not in answer:
                return answer

    def call_all(self, tool, arguments, expected, count):
        """Calls one after the other; answers each one's time, the client's own work with
        JSON left out."""
        line = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "tools/call",
                           "params": {"name": tool, "arguments": arguments}}).encode() + b"\n"
        ns = []
        for _ in range(count):
            start = time.perf_counter_ns()
            self.process.stdin.write(line)
            answer = self.lines.next()
            while b'"method"' in answer:  # a notification
                answer = self.lines.next()
            ns.append(time.perf_counter_ns() - start)
            if expected.encode() not in answer:
                raise Failure(f"{tool} answered {answer[:200]}")
        return ns


# ---- load and memory --------------------------------------------------------------------

CONNECTIONS = 16


def load(port, seconds, method, params, expected, *options):
    """What `load` (load.c) tells of one run."""
    done = subprocess.run(
        [TOOLS / "load", *options, "127.0.0.1", str(port), str(CONNECTIONS), str(seconds),
         method, json.dumps(params, separators=(",", ":")), expected],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise Failure(done.stderr.decode().strip())
    answer = json.loads(done.stdout)
    if answer["mistakes"]:
        raise Failure(f"{method}: {answer['mistakes']} answers were not what was expected")
    return answer


def load_call(port, call, seconds, *options):
    tool, arguments, expected = call
    return load(port, seconds, "tools/call", {"name": tool, "arguments": arguments}, expected,
                *options)


def private_bytes(process):
    """(anonymous, shared memory) of its proportional set size: what is not file-backed."""
    text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    field = lambda name: int(re.search(rf"^{name}:\s+(\d+) kB", text, re.M)[1]) * 1024
    return field("Pss_Anon"), field("Pss_Shmem")
