"""The piece about the protocol alone: lists, a trivial tool, streams that say nothing."""
import shutil
import socket
import statistics
import time
from contextlib import ExitStack, contextmanager

from sides import (CLOCHE, CONNECTIONS, ECHO, FIXTURES, ROOT, TOOLS, Failure, Lines, OverHttp,
                   Table, load, load_call, need, our_server, private_bytes, running, their_server,
                   times, us)

SIMPLE = ("test_simple_text", {}, "This is a simple text response")
NOTE = ("get_note", {"identifier": "project/greenhouse"}, "Greenhouse")
LISTED = ("tools/list", {}, '"inputSchema"')
STREAMS = 500
LISTEN = ('{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":'
          '{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":'
          '"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}')


@contextmanager
def blank(environment):
    need(TOOLS / "blank")
    with running([TOOLS / "blank"], environment, stdout=-1, bufsize=0) as process:
        yield int(Lines(process).next())


def rates_in_turn(sides, seconds):
    """Requests a second of each side, three runs in turn after a warm-up."""
    for measure in sides:
        measure(seconds / 2)
    runs = [[] for _ in sides]
    for _ in range(3):
        for side, measure in zip(runs, sides):
            answer = measure(seconds)
            side.append(answer["requests"] / answer["seconds"])
    return runs


def compare(table, what, ours, peer, seconds, floor=None):
    """A row; answers the highest rate of each side."""
    runs = rates_in_turn((ours, peer), seconds)
    ratio = statistics.median(map(lambda a, b: a / b, *runs))
    mine, theirs = map(statistics.median, runs)
    table.row(what, f"{mine:,.0f} /s", f"{theirs:,.0f} /s", times(ratio),
              str(floor or ""), ratio >= floor if floor else None)
    return mine, theirs


def at_half(table, rates, ports, seconds):
    """The time that 99 of 100 stay within when half of the highest load comes."""
    tails = []
    for rate, port, call in zip(rates, ports, (SIMPLE, ECHO)):
        answers = [load_call(port, call, seconds, "-r", str(rate / 2)) for _ in range(3)]
        tails.append(statistics.median(a["p99_us"] for a in answers))
    table.row("the trivial tool at half of that, 99 of 100 within", us(tails[0] * 1e3),
              us(tails[1] * 1e3), times(tails[1] / tails[0]), "5 ms", tails[0] < 5000)


def hold_streams(stack, port, head, body=""):
    """Opens streams and leaves them so; each has begun when this returns."""
    for _ in range(STREAMS):
        s = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
        session = head() if callable(head) else head
        s.sendall(f"{session}Host: 127.0.0.1:{port}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
                  .encode())
        answer = s.recv(4096)
        if b" 200 " not in answer:
            raise Failure(f"no stream: {answer[:120]}")


def get_stream(port):
    """The head of a GET in a new session."""
    client = OverHttp(port)
    client.http.close()
    return "GET /mcp HTTP/1.1\r\nAccept: text/event-stream\r\n" + "".join(
        f"{k}: {v}\r\n" for k, v in client.session.items())


MODERN_HEAD = ("POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json, "
               "text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
               "Mcp-Method: subscriptions/listen\r\n")


def memory_of_streams(process, port, *stream):
    time.sleep(0.5)
    before = sum(private_bytes(process))
    with ExitStack() as stack:
        hold_streams(stack, port, *stream)
        time.sleep(0.5)
        return (sum(private_bytes(process)) - before) / STREAMS


def idle_streams(table, environment):
    with our_server(environment) as (process, port), \
            their_server(environment) as (their, their_port):
        time.sleep(1)
        rest = sum(private_bytes(process)), sum(private_bytes(their))
        table.row("memory before the first call", *(f"{n / 1e6:.2f} MB" for n in rest),
                  times(rest[1] / rest[0]), "under 15 MB", rest[0] < 15e6)
        legacy = memory_of_streams(process, port, lambda: get_stream(port))
        peer = memory_of_streams(their, their_port, lambda: get_stream(their_port))
        table.row("an idle GET stream and its session", f"{legacy / 1e3:.1f} kB",
                  f"{peer / 1e3:.1f} kB", times(peer / legacy))
        modern = memory_of_streams(process, port, MODERN_HEAD, LISTEN)
        table.row("an idle subscription (2026-07-28)", f"{modern / 1e3:.1f} kB")


def protocol(environment, effort):
    need(CLOCHE, FIXTURES, TOOLS / "load")
    table = Table(f"The protocol over HTTP, {CONNECTIONS} connections", "server-everything")
    seconds = max(0.5, 2 * effort)
    with ExitStack() as stack:
        enter = stack.enter_context
        vault = shutil.copytree(ROOT / "examples" / "vault", environment["XDG_DATA_HOME"] + "/v",
                                ignore=shutil.ignore_patterns(".cloche"))
        ours = enter(our_server(environment, CLOCHE, "--vault", vault))[1]
        fixtures = enter(our_server(environment, FIXTURES))[1]
        peer = enter(their_server(environment))[1]
        bare = enter(blank(environment))
        top = max(map(statistics.mean, rates_in_turn(
            [lambda s: load(bare, s, *LISTED[:2], "tools")] * 2, seconds)))
        echo = lambda s: load_call(peer, ECHO, s)
        compare(table, "tools/list", lambda s: load(ours, s, *LISTED),
                lambda s: load(peer, s, *LISTED), seconds, 10)
        compare(table, "tools/list of 2026-07-28", lambda s: load(ours, s, *LISTED, "-m"),
                lambda s: load(peer, s, *LISTED), seconds)
        rates = compare(table, "a trivial tool (`test_simple_text`, `echo`)",
                        lambda s: load_call(fixtures, SIMPLE, s), echo, seconds, 10)
        compare(table, "the same of 2026-07-28",
                lambda s: load_call(fixtures, SIMPLE, s, "-m"), echo, seconds)
        compare(table, "`get_note`, `echo`", lambda s: load_call(ours, NOTE, s), echo, seconds)
        at_half(table, rates, (fixtures, peer), seconds)
    idle_streams(table, environment)
    table.note(f"The load itself reaches {top:,.0f} requests a second against a server of one "
               "thread that only sends one fixed answer (`blank`): a rate of ours near that is "
               "the load's limit, and its ratio a lower bound. The peer speaks no 2026-07-28: "
               "those rows stand beside its older revision.")
    table.note(f"Rates: medians of 3 runs of {seconds:g} s in turn, after a warm-up. Times at half "
               "of the highest load count from when a request was due. Memory is Pss less "
               f"file-backed pages, of a stream the growth by {STREAMS} of them.")
    return table
