"""Clients over HTTP without a token: programs of the account that serves, no other account of this
computer, and no page but the server's own."""
import encodings.idna  # noqa: F401 (what a client needs cannot be read as another account)
import http.client
import json
import os
import re
import socket
import stat
import subprocess
import tempfile
import traceback
from pathlib import Path

import httpx
import pytest
from mcp import Client

import needs
from test_access import bearer, make_token, serve
from wire import WAIT_S, Server, call, initialize, request, structured

NOBODY = 65534
RUN = {"code": "return 6 * 7"}
root = needs.system(os.geteuid() == 0, "only root can become another account")


def as_nobody(work):
    """The result of `work` in a process of another account: JSON."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            told = work()
        except BaseException:
            told = traceback.format_exc()
        try:
            os.write(writing, json.dumps(told).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return json.loads(told)


def ask(server, method, path, body=None, headers=()):
    """One request by a minimal client: [status, body]."""
    c = http.client.HTTPConnection(server.host, server.port, timeout=WAIT_S)
    c.request(method, path, body, dict(headers))
    answer = c.getresponse()
    return [answer.status, answer.read().decode()]


# ---- other accounts -----------------------------------------------------------------


@root
@pytest.mark.parametrize("address", ["127.0.0.1:0", "[::1]:0"])
def test_another_account_of_this_computer_needs_a_token(cloche, vault, address):
    token = make_token(cloche, "ci")
    command = [cloche, "serve", "--vault", str(vault), "--listen", address]
    with Server(command) as s:
        for method, path, body in (("GET", "/workspaces", None), ("GET", "/metrics", None),
                                   ("GET", "/person", None), ("GET", "/openapi.json", None),
                                   ("POST", "/workspaces/vault/evaluate", json.dumps(RUN)),
                                   ("POST", "/mcp", json.dumps(request("tools/list")))):
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            status, told = as_nobody(lambda: ask(s, method, path, body, headers))
            assert status == 401, (path, told)
            assert "another account of this computer" in told
            assert "vault" not in told.replace(path, "")
        assert ask(s, "GET", "/workspaces")[0] == 200
        assert as_nobody(lambda: ask(s, "GET", "/workspaces", None, bearer(token)))[0] == 200


@root
def test_one_connection_is_asked_of_once_and_says_the_same_for_all_requests(server):
    def several():
        c = http.client.HTTPConnection(server.host, server.port, timeout=WAIT_S)
        statuses = []
        for _ in range(3):
            c.request("GET", "/workspaces")
            answer = c.getresponse()
            answer.read()
            statuses.append(answer.status)
        return statuses
    assert as_nobody(several) == [401, 401, 401]
    assert several() == [200, 200, 200]


@root
def test_who_hangs_up_at_once_is_not_taken_for_root(server, vault):
    """The kernel reports root as the owner of an unowned socket."""
    body = json.dumps({"title": "Left behind", "content": "x"})
    text = (f"POST /workspaces/vault/notes HTTP/1.1\r\nHost: localhost:{server.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}")

    def many():
        for _ in range(200):
            with socket.create_connection((server.host, server.port), timeout=WAIT_S) as s:
                s.sendall(text.encode())
        return True
    assert as_nobody(many)
    # Whatever they sent has been looked at by the time that a later request is answered.
    assert ask(server, "GET", "/workspaces")[0] == 200
    assert not list(vault.rglob("Left behind*"))


def test_the_account_that_serves_needs_none(server):
    assert ask(server, "GET", "/workspaces")[0] == 200
    assert structured(server.post(call("evaluate_note_code", RUN)).json())["result"] == 42


def test_doctor_says_who_needs_a_token(cloche):
    told = subprocess.run([cloche, "doctor", "--json"], capture_output=True, text=True,
                          timeout=WAIT_S)
    checks = {c["name"]: c for c in json.loads(told.stdout)["checks"]}
    detail = checks["programs of this machine"]["detail"]
    assert "need no token" in detail and "includes forwarders" in detail


@root
def test_where_all_need_a_token_no_account_is_told_of(cloche, vault):
    with serve(cloche, vault, "--require-token") as s:
        status, told = as_nobody(lambda: ask(s, "GET", "/workspaces"))
        assert status == 401 and "another account" not in told


# ---- pages ------------------------------------------------------------------------------

FOREIGN = [
    {"Origin": "http://localhost:1"}, {"Origin": "http://localhost"},
    {"Origin": "http://127.0.0.1:3000"}, {"Origin": "http://[::1]:{port}"},
    {"Origin": "https://127.0.0.1:{port}"}, {"Origin": "http://localhost:{port}"},
    {"Origin": "null"}, {"Origin": "https://evil.example"},
    {"Origin": "http://127.0.0.1:{port}.evil.example"}, {"Origin": ""},
    {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:{port}"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
]
OWN = [{}, {"Origin": "http://127.0.0.1:{port}"}, {"Sec-Fetch-Site": "same-origin"},
       {"Sec-Fetch-Site": "none"},
       {"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:{port}"}]


def with_port(headers, server):
    return {k: v.replace("{port}", str(server.port)) for k, v in headers.items()}


@pytest.mark.parametrize("headers", FOREIGN, ids=lambda h: " ".join(f"{k}={v}" for k, v
                                                                   in h.items()))
def test_no_page_of_another_site_runs_or_reads_anything(server, headers):
    headers = with_port(headers, server)
    for method, path, body in (("POST", "/workspaces/vault/evaluate", json.dumps(RUN)),
                               ("POST", "/mcp", json.dumps(initialize())),
                               ("GET", "/workspaces", None), ("GET", "/mcp", None),
                               ("DELETE", "/workspaces/vault/notes/x", None),
                               ("OPTIONS", "/mcp", None), ("GET", "/person", None)):
        for kind in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/json"}):
            status, told = ask(server, method, path, body, headers | kind)
            assert status == 403, (method, path, kind, told)
            assert "vault" not in told.replace(path, "")


@pytest.mark.parametrize("headers", OWN, ids=str)
def test_a_page_of_its_own_comes_in(server, headers):
    headers = with_port(headers, server) | {"Content-Type": "application/json"}
    status, told = ask(server, "POST", "/workspaces/vault/evaluate", json.dumps(RUN), headers)
    assert status == 200 and json.loads(told)["result"] == 42


def test_a_page_that_a_person_named_comes_in(cloche, vault):
    with serve(cloche, vault, "--allow-origin", "https://app.example") as s:
        for site in ("cross-site", "same-site"):
            named = {"Origin": "https://app.example", "Sec-Fetch-Site": site}
            assert ask(s, "GET", "/workspaces", None, named)[0] == 200
            other = named | {"Origin": "https://other.example"}
            assert ask(s, "GET", "/workspaces", None, other)[0] == 403
            assert ask(s, "GET", "/workspaces", None, {"Sec-Fetch-Site": site})[0] == 403


def test_no_preflight_is_granted(server):
    for path in ("/mcp", "/workspaces/vault/evaluate", "/person/enter"):
        answer = server.http.options(path, headers={
            "Origin": server.url, "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type"})
        assert not [h for h in answer.headers if h.startswith("access-control-")]


# ---- bodies ---------------------------------------------------------------------------------


def routes_with_a_body(server):
    paths = server.http.get("/openapi.json").json()["paths"]
    rows = [(method.upper(), re.sub(r"\{[^}]*\}", "x", path).replace("/workspaces/x",
                                                                     "/workspaces/vault"))
            for path, operations in paths.items() for method in operations
            if method in ("post", "put", "patch", "delete")]
    return rows + [("POST", "/mcp"), ("POST", "/person/enter"), ("POST", "/person/decide"),
                   ("POST", "/person/install"), ("POST", "/metrics")]


def test_a_body_without_a_type_is_refused_everywhere(server):
    rows = routes_with_a_body(server)
    assert len(rows) > 20
    for method, path in rows:
        for body in ('{"code": "1"}', [b'{"code"', b': "1"}']):  # whole, and in chunks
            for headers in ({}, {"Content-Type": ""}):
                status, told = ask(server, method, path, body, headers)
                assert status == 415, (method, path, headers, told)


def test_what_runs_code_takes_json_alone(server):
    """Pages may send these without asking; what says nothing of them is looked at, too."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        for path in ("/workspaces/vault/evaluate", "/workspaces/vault/notes", "/mcp"):
            status, _ = ask(server, "POST", path, json.dumps(RUN), {"Content-Type": kind})
            assert status == 415, (kind, path)


# ---- a socket in the file system -----------------------------------------------------------


class Socket:
    """`cloche serve --listen unix:PATH`."""

    def __init__(self, cloche, vault, folder, *options):
        folder.mkdir(mode=0o700, exist_ok=True)
        self.path = folder / "cloche.sock"
        self.process = subprocess.Popen(
            [cloche, "serve", "--vault", str(vault), "--listen", f"unix:{self.path}", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.end()

    def end(self, kill=False):
        if self.process.poll() is None:
            (self.process.kill if kill else self.process.terminate)()
        code = self.process.wait(WAIT_S)
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def client(self, **how):
        return httpx.Client(transport=httpx.HTTPTransport(uds=str(self.path)),
                            base_url="http://localhost", timeout=WAIT_S, **how)


@pytest.fixture
def sock(cloche, vault, tmp_path):
    with Socket(cloche, vault, tmp_path / "run") as s:
        yield s


def test_all_is_there_over_a_socket(sock):
    assert sock.said == f"unix:{sock.path}"
    with sock.client() as c:
        assert [w["id"] for w in c.get("/workspaces").json()] == ["vault"]
        assert c.post("/workspaces/vault/evaluate", json=RUN).json()["result"] == 42
        assert "<!doctype html>" in c.get("/person").text
        assert c.get("/metrics").status_code == 200
        answer = c.post("/mcp", json=initialize(), headers={
            "Accept": "application/json, text/event-stream"})
        assert answer.json()["result"]["serverInfo"]["name"] == "cloche"


@needs.installed(Path("/usr/bin/curl"), by="deps/apt test")
def test_curl_speaks_to_it(sock):
    done = subprocess.run(["curl", "-sS", "--unix-socket", str(sock.path),
                           "http://localhost/workspaces"], capture_output=True, text=True,
                          timeout=WAIT_S)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["id"] == "vault"


def test_the_official_client_speaks_to_it(sock):
    import anyio
    from mcp.client.streamable_http import streamable_http_client

    async def work():
        transport = httpx.AsyncHTTPTransport(uds=str(sock.path))
        async with httpx.AsyncClient(transport=transport, timeout=WAIT_S) as http, \
                Client(streamable_http_client("http://localhost/mcp", http_client=http)) as c:
            return (await c.call_tool("evaluate_note_code", RUN)).structured_content
    assert anyio.run(work)["result"] == 42


def test_it_is_for_one_account_alone(sock):
    there = os.stat(sock.path)
    assert stat.S_IMODE(there.st_mode) == 0o600 and there.st_uid == os.geteuid()


@root
def test_another_account_that_gets_to_it_needs_a_token(sock):
    """As if a user had opened folder and socket to another account."""
    for place in sock.path.parents:
        if place.is_relative_to(tempfile.gettempdir()) and place.stat().st_mode & 0o005 != 0o005:
            place.chmod(0o755)
    sock.path.chmod(0o777)

    def knock():
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(str(sock.path))
            s.sendall(b"GET /workspaces HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return s.recv(4096).decode()
    told = as_nobody(knock)
    assert told.startswith("HTTP/1.1 401 ") and "another account" in told


@pytest.mark.parametrize("host, status", [
    ("localhost", 200), ("localhost:9000", 200), ("unix", 200), ("%2Frun%2Fcloche.sock", 200),
    ("evil.example", 403), ("10.0.0.1", 403)])
def test_clients_call_it_as_they_like_but_not_as_pages_do(sock, host, status):
    with sock.client(headers={"Host": host}) as c:
        assert c.get("/workspaces").status_code == status


def test_a_page_through_a_forwarder_is_judged_by_its_own_address(sock):
    with sock.client(headers={"Host": "localhost:9000"}) as c:
        own = {"Origin": "http://localhost:9000", "Sec-Fetch-Site": "same-origin"}
        assert c.post("/workspaces/vault/evaluate", json=RUN, headers=own).status_code == 200
        for foreign in ({"Origin": "http://localhost:1"}, {"Origin": "http://evil.example"},
                        {"Sec-Fetch-Site": "same-site"}):
            answer = c.post("/workspaces/vault/evaluate", json=RUN, headers=foreign)
            assert answer.status_code == 403


def test_it_goes_with_its_server_and_one_that_was_left_is_replaced(cloche, vault, tmp_path):
    folder = tmp_path / "run"
    first = Socket(cloche, vault, folder)
    assert first.end() == 0 and not first.path.exists()
    killed = Socket(cloche, vault, folder)
    killed.end(kill=True)
    assert killed.path.exists()
    with Socket(cloche, vault, folder) as again, again.client() as c:
        assert c.get("/workspaces").status_code == 200
        second = subprocess.run([cloche, "serve", "--vault", str(vault), "--listen",
                                 f"unix:{again.path}"], capture_output=True, text=True,
                                timeout=WAIT_S)
        assert second.returncode != 0 and "another server" in second.stderr
        assert c.get("/workspaces").status_code == 200


def test_a_folder_of_others_is_refused(cloche, vault, tmp_path):
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    for where in (open_folder / "s", "relative.sock", tmp_path / "none" / "s"):
        tried = subprocess.run([cloche, "serve", "--vault", str(vault), "--listen",
                                f"unix:{where}"], capture_output=True, text=True, timeout=WAIT_S)
        assert tried.returncode != 0 and "cannot listen" in tried.stderr
        assert not tried.stdout


def test_tokens_hold_over_a_socket_too(cloche, vault, tmp_path):
    token = make_token(cloche, "ci", "--scope", "read")
    with Socket(cloche, vault, tmp_path / "run", "--require-token") as s, s.client() as c:
        assert c.get("/workspaces").status_code == 401
        assert c.get("/workspaces", headers=bearer(token)).status_code == 200
        refused = c.post("/workspaces/vault/evaluate", json=RUN, headers=bearer(token))
        assert refused.status_code == 403


def test_the_audit_says_that_it_came_over_a_socket(cloche, sock, vault):
    with sock.client() as c:
        assert c.post("/workspaces/vault/evaluate", json=RUN).status_code == 200
    told = subprocess.run([cloche, "audit", "--vault", str(vault), "--json"],
                          capture_output=True, text=True, timeout=WAIT_S)
    assert '"http unix"' in told.stdout
