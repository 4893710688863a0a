#!/usr/bin/env python3
"""What open pages cost an agent's calls: build/deps/venv-test/bin/python bench/pages.py

One client calls over HTTP, in turns without a page and beside 20 event streams of a person, which another process reads.
Prints the medians of both: calls per second, their ratio, and what a call takes of the server's processor time.
"""
import json
import os
import re
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test"))
from conftest import folders_in  # noqa: E402
from sides import EVALUATE, OverHttp  # noqa: E402
from wire import Server  # noqa: E402

CLOCHE = os.environ.get("CLOCHE") or str(ROOT / "build/cloche")
STREAMS = 20
ROUNDS = int(os.environ.get("ROUNDS", "10"))
ROUND_S = 2
CALLS = (("return 1", EVALUATE), ("a note is created", ("create_note", {"title": "Tea", "type": "plan", "content": "x"}, "")))


def seat(server):
    """The headers of who came by the link."""
    link = re.search(r"/person#(\S+)", server.process.stderr.readline())[1]
    own = {"Origin": server.url, "Content-Type": "application/json"}
    answer = server.http.post("/person/enter", json={"link": link}, headers=own)
    assert answer.status_code == 200, answer.text
    return {"Cookie": answer.headers["Set-Cookie"].split(";")[0], "X-Cloche-Key": answer.json()["key"]}


def read_streams(port, headers):
    """Opens the streams, says so, and reads until it is ended."""
    head = "".join(f"{k}: {v}\r\n" for k, v in headers.items())
    all_of_them = selectors.DefaultSelector()
    for _ in range(STREAMS):
        s = socket.create_connection(("127.0.0.1", port))
        s.sendall(f"GET /person/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{head}\r\n".encode())
        text = b""
        while b"event: hello" not in text:
            text += s.recv(1 << 16)
        all_of_them.register(s, selectors.EVENT_READ)
    print("open", flush=True)
    while True:
        for key, _ in all_of_them.select():
            if not key.fileobj.recv(1 << 18):
                return


def processor_s(server):
    """Of all the server's threads."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rate(server, client, what):
    """Calls a second, and what each took of the server's processor time, in us."""
    n, spent, began = 0, processor_s(server), time.monotonic()
    while time.monotonic() < began + ROUND_S:
        client.call(what[0], {**what[1], **({"title": f"Tea {time.monotonic_ns()}"} if "title" in what[1] else {})}, what[2])
        n += 1
    return n / (time.monotonic() - began), (processor_s(server) - spent) / n * 1e6


def beside(server, headers, client, what):
    port = server.url.rsplit(":", 1)[1]
    with subprocess.Popen([sys.executable, __file__, port, json.dumps(headers)], stdout=subprocess.PIPE, text=True) as pages:
        assert pages.stdout.readline() == "open\n"
        try:
            return rate(server, client, what)
        finally:
            pages.kill()


def median(values):
    return sorted(values)[len(values) // 2]


def report(name, alone, others):
    ratios = [b[0] / a[0] for a, b in zip(alone, others)]
    calls = [f"{median([r for r, _ in side]):,.0f}" for side in (alone, others)]
    spent = [f"{median([s for _, s in side]):,.0f} us" for side in (alone, others)]
    print(f"| {name} | {calls[0]} | {calls[1]} | {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) | {spent[0]} | {spent[1]} |", flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        os.environ.update(folders_in(place), NO_PROXY="*")
        (place / "vault").mkdir()
        with Server([CLOCHE, "serve", "--vault", str(place / "vault"), "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE) as server:
            headers, client = seat(server), OverHttp(int(server.url.rsplit(":", 1)[1]))
            print(f"| an agent's calls a second | alone | beside {STREAMS} pages | ratio | processor, a call | beside |\n| --- | ---: | ---: | ---: | ---: | ---: |")
            for name, what in CALLS:
                rate(server, client, what)
                alone, others = [], []
                for i in range(ROUNDS):
                    sides = [lambda: alone.append(rate(server, client, what)), lambda: others.append(beside(server, headers, client, what))]
                    for side in sides[::-1] if i % 2 else sides:
                        side()
                report(name, alone, others)
            server.process.stderr.close()


if __name__ == "__main__":
    if len(sys.argv) == 3:
        read_streams(int(sys.argv[1]), json.loads(sys.argv[2]))
    else:
        main()
