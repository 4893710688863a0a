"""Secrets for programs in a machine: the proxy at its gateway puts them in, and the machine never has them."""
import hashlib
import http.server
import threading

import pytest

from wire import Stdio
from conftest import policy_in
from machine_doors import needs_image
from test_machine import vm
from test_machine_reach import events

pytestmark = needs_image
VALUE = "v3ry-s3cret-value"

ASK = """python3 -c '
import sys, urllib.request as u
opener = u.build_opener(u.ProxyHandler({"http": "http://192.168.127.1:3128"}))
request = u.Request(sys.argv[1], headers={"Authorization": "Bearer {{secret:API}}"},
                    data=b"x" * int(sys.argv[2]) if int(sys.argv[2]) else None)
try:
    answer = opener.open(request, timeout=180)
    print(answer.status, answer.read().decode())
except u.HTTPError as e:
    print(e.code, e.read().decode())' """


@pytest.fixture
def api():
    class Api(http.server.BaseHTTPRequestHandler):
        heard = []

        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.heard.append((self.command, self.path, self.headers["Authorization"], len(body)))
            said = f"you are {self.headers['Authorization']}".encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_POST = do_GET

        def log_message(self, *all):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api) as server:
        server.heard = Api.heard
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def policy_of(port, **more):
    at = f"http://127.0.0.1:{port}"
    return {"vm": {"network": "always"},
            "network": {"allowPrivate": [f"127.0.0.1:{port}"],
                        "secrets": {"API": {"value": VALUE, "hosts": [at]}}}} | more


def ask(agent, url, body=0, **more):
    return vm(agent, command=f"{ASK} {url} {body}", **more)


def test_a_secret_reaches_its_host_and_not_the_machine(cloche, vault, tmp_path, api):
    port = api.server_address[1]
    policy_in(tmp_path, policy_of(port))
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        said = ask(agent, f"http://127.0.0.1:{port}/items", network=True)
        assert said["stdout"].startswith("200 you are Bearer ") and VALUE not in str(said)
        said = ask(agent, f"http://127.0.0.1:{port}/upload", body=300_000)
        assert said["stdout"].startswith("200 ")
        assert api.heard == [("GET", "/items", f"Bearer {VALUE}", 0), ("POST", "/upload", f"Bearer {VALUE}", 300_000)]
        said = ask(agent, f"http://127.0.0.1:{port + 1}/")
        assert said["stdout"].startswith("403 ") and "allowPrivate" in said["stdout"]
        said = ask(agent, "http://other.example/")
        assert said["stdout"].startswith("403 ") and "network.hosts" in said["stdout"]
    told = events(cloche, vault)
    assert [(r["name"], r["result"]) for r in told if r.get("proxy") and r["port"] == port] == \
        [("127.0.0.1", "success")] * 2
    assert VALUE not in str(told)


def test_without_a_network_there_is_no_proxy(cloche, vault, tmp_path, api):
    port = api.server_address[1]
    policy_in(tmp_path, policy_of(port))
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        said = ask(agent, f"http://127.0.0.1:{port}/")
        assert said["exitCode"] == 1 and "unreachable" in said["stderr"] or "No route" in said["stderr"]
    assert api.heard == []


def test_a_policy_that_only_reads_passes_on_only_reading(cloche, vault, tmp_path, api):
    port = api.server_address[1]
    policy_in(tmp_path, policy_of(port, readOnly=True))
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        said = ask(agent, f"http://127.0.0.1:{port}/", body=3, network=True)
        assert said["stdout"].startswith("403 ") and "readOnly" in said["stdout"]
        assert ask(agent, f"http://127.0.0.1:{port}/")["stdout"].startswith("200 ")
    assert [method for method, *_ in api.heard] == ["GET"]


@pytest.fixture
def streams():
    """Answers that take their time: `turn` lets /events go on."""
    class Api(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        turn = threading.Semaphore(0)
        block = bytes(range(256)) * 4096

        def chunk(self, data):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

        def do_GET(self):
            self.send_response(200)
            if self.path == "/long":
                self.send_header("Content-Length", str(20 * len(self.block)))
                self.end_headers()
                for _ in range(20):
                    self.wfile.write(self.block)
                return
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            if self.path == "/go":
                self.turn.release()
            if self.path == "/events":
                self.chunk(b"data: first\n\n")
                self.turn.acquire()
                self.chunk(b"data: key " + VALUE[:7].encode())
                self.chunk(VALUE[7:].encode() + b"\n\n")
            if self.path == "/half":
                self.chunk(b"half of it\n")
                self.close_connection = True
                return
            self.chunk(b"")

        def log_message(self, *all):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api) as server:
        server.block = Api.block
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_answers_come_as_they_are_sent(cloche, vault, tmp_path, streams):
    port = streams.server_address[1]
    at = f"http://127.0.0.1:{port}"
    policy_in(tmp_path, policy_of(port))
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        curl = "curl -sS -x http://192.168.127.1:3128"
        # The second event is sent when the first one was read.
        said = vm(agent, command=f"""{curl} -N {at}/events | while read -r line; do
            echo "$line"; [ "$line" = 'data: first' ] && {curl} {at}/go; done""", network=True)
        assert said["stdout"] == "data: first\n\ndata: key [secret:API]\n\n", said
        said = vm(agent, command=f"{curl} {at}/long | sha256sum")
        assert said["stdout"].split()[0] == hashlib.sha256(streams.block * 20).hexdigest()
        said = vm(agent, command=f"{curl} {at}/half")
        assert said["exitCode"] == 18 and said["stdout"] == "half of it\n", said  # CURLE_PARTIAL_FILE
        assert "127.0.0.1" in str(said["networkRefused"])
        said = vm(agent, command=f"{curl} {at}/long | head -c 100000 | wc -c")
        assert said["stdout"].strip() == "100000"
    told = [r for r in events(cloche, vault) if r.get("proxy")]
    assert sorted(r["result"] for r in told) == ["failed", "reset", "success", "success", "success"]
    long = max(told, key=lambda r: r["received_bytes"])
    size = 20 * len(streams.block)
    assert size < long["received_bytes"] < size + 1000 and long["result"] == "success" and long["ms"] > 0
    assert next(r for r in told if r["result"] == "failed")["why"]


def test_the_bytes_of_a_long_answer_count_while_it_comes(cloche, vault, tmp_path, streams):
    port = streams.server_address[1]
    policy_in(tmp_path, policy_of(port) | {"vm": {"network": "always", "networkMB": 5}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        said = vm(agent, command=f"curl -sS -x http://192.168.127.1:3128 http://127.0.0.1:{port}/long | wc -c",
                  network=True)
        assert 0 < int(said["stdout"]) <= 5 << 20 and "curl: (" in said["stderr"], said
