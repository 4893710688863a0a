"""fetch: the servers an evaluation reaches, those it never reaches, and misbehaving servers.

The servers are this test's own, on loopback, where fetch comes only by an explicit grant.
"""
import gzip
import json
import os
import socket
import ssl
import subprocess
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from wire import Server, call, stop_listening, structured

HEAD = b"HTTP/1.1 200 OK\r\n"


class Web:
    """A server: `answer(request, connection)` returns the bytes of an answer, or writes them itself
    and returns None. `requests` are those that arrived."""

    def __init__(self, answer, context=None):
        self.answer, self.context = answer, context
        self.requests, self.gone = [], threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            with connection:
                request = self.read(connection)
                if request:
                    self.requests.append(request)
                    answer = self.answer(request, connection)
                    if answer is not None:
                        connection.sendall(answer)
        except OSError:
            self.gone.set()

    @staticmethod
    def read(connection):
        data = b""
        while b"\r\n\r\n" not in data:
            if not (part := connection.recv(65536)):
                return data
            data += part
        head, _, body = data.partition(b"\r\n\r\n")
        size = 0
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        while len(body) < size:
            body += connection.recv(65536)
        return head + b"\r\n\r\n" + body

    def close(self):
        stop_listening(self.socket)


@pytest.fixture
def web():
    """Starts servers, and ends them."""
    made = []

    def start(answer, **how):
        server = Web(answer if callable(answer) else lambda *_: answer, **how)
        made.append(server)
        return server

    yield start
    for server in made:
        server.close()


@pytest.fixture
def policy():
    """Writes the user's policy."""
    def write(**value):
        path = Path(os.environ["XDG_CONFIG_HOME"], "cloche", "policy.json")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(json.dumps(value))
    return write


@pytest.fixture
def grant(policy):
    """Lets fetch reach these servers, with further settings of the policy's network."""
    def write(*servers, **network):
        policy(network={"allowPrivate": [f"127.0.0.1:{s.port}" for s in servers], **network})
    return write


@pytest.fixture
def run(cloche):
    """Evaluates code with the network; returns its whole answer."""
    def evaluate(code, *words, network=True, **environment):
        done = subprocess.run([cloche, "eval", *(["--network"] if network else []), *words, "-"],
                              input=code, capture_output=True, text=True, timeout=120,
                              env={**os.environ, **environment})
        return json.loads(done.stdout)
    return evaluate


@pytest.fixture
def result(run):
    """The result of code that must succeed."""
    def evaluate(code, *words, **how):
        answer = run(code, *words, **how)
        assert answer["success"], answer["error"]
        return answer["result"]
    return evaluate


@pytest.fixture
def refusal(run):
    """The kind and the message of the error of a fetch of this URL."""
    def evaluate(url, init="{}"):
        details = run(f"return (await fetch({json.dumps(url)}, {init})).status")["errorDetails"]
        return details["type"], details["message"]
    return evaluate


def body_of(request):
    return request.partition(b"\r\n\r\n")[2]


def headers_of(request):
    lines = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    return {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}


# ---- who may fetch -------------------------------------------------------------------


def test_without_the_network_there_is_nothing_of_it(result):
    assert result("return [typeof fetch, typeof Headers, typeof Request, typeof Response]",
                  network=False) == ["undefined"] * 4


def test_a_policy_without_hosts_refuses_and_says_what_a_person_can_do(run):
    details = run("return 1")["errorDetails"]
    assert details["type"] == "PermissionDenied"
    assert "cloche policy set network.hosts" in details["message"]


def test_only_full_trust_reaches_the_network(run, web, grant):
    server = web(HEAD + b"\r\n")
    grant(server)
    for level in ["limited", "zero"]:
        details = run(f"return await fetch('{server.url}')", "--level", level)["errorDetails"]
        assert details["type"] == "PermissionDenied"
    assert run(f"return await fetch('{server.url}')", "--allow", "notes")["errorDetails"][
        "type"] == "PermissionDenied"
    assert not server.requests


def test_a_policy_that_only_reads_sends_nothing_that_could_change(run, web, policy):
    server = web(HEAD + b"\r\nread")
    policy(readOnly=True, network={"allowPrivate": [f"127.0.0.1:{server.port}"]})
    assert run(f"return (await fetch('{server.url}')).text()")["result"] == "read"
    details = run(f"return await fetch('{server.url}', {{method: 'DELETE'}})")["errorDetails"]
    assert details["type"] == "PermissionDenied" and "DELETE" in details["message"]
    assert len(server.requests) == 1


def test_a_vaults_policy_takes_hosts_away(cloche, web, grant, vault):
    server = web(HEAD + b"\r\n")
    grant(server)
    (vault / ".cloche").mkdir(exist_ok=True)
    (vault / ".cloche" / "policy.json").write_text('{"network": {"allowPrivate": []}}')
    done = subprocess.run([cloche, "eval", "--network", "--vault", vault, "-e",
                           f"return (await fetch('{server.url}')).status"],
                          capture_output=True, text=True)
    assert json.loads(done.stdout)["errorDetails"]["type"] == "PermissionDenied"
    assert not server.requests


# ---- what fetch is -------------------------------------------------------------------


def test_a_response_has_the_standards_shape(result, web, grant):
    server = web(b"HTTP/1.1 201 Made\r\nX-A: 1\r\nx-a: 2\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"
                 b"Content-Type: application/json\r\n\r\n" + '{"é": [1]}'.encode())
    grant(server)
    assert result(f"""
        const r = await fetch(new URL('{server.url}/p?q=1#f'));
        const copy = r.clone(), bytes = r.clone();
        const names = [...r.headers.keys()];
        return [r.status, r.ok, r.statusText, r.redirected, r.url, r.type, r.bodyUsed,
            r.headers.get('X-a'), r.headers.has('nope'), r.headers.get('nope'), r.headers.getSetCookie(),
            names, await r.json(), r.bodyUsed, await copy.text(), (await bytes.arrayBuffer()).byteLength,
            r instanceof Response, r.headers instanceof Headers]""") == [
        201, True, "Made", False, f"{server.url}/p?q=1", "basic", False,
        "1, 2", False, None, ["a=1", "b=2"],
        ["content-type", "set-cookie", "set-cookie", "x-a"], {"é": [1]}, True, '{"é": [1]}', 11,
        True, True]


def test_a_body_is_read_once(result, web, grant):
    server = web(HEAD + b"\r\nbody")
    grant(server)
    assert result(f"""
        const r = await fetch('{server.url}');
        const parts = [];
        for await (const part of r.body) parts.push(new TextDecoder().decode(part));
        const errors = [];
        for (const read of [() => r.text(), () => r.json(), () => r.clone()])
            try {{ await read(); }} catch (e) {{ errors.push(e.name); }}
        return [parts, errors]""") == [["body"], ["TypeError"] * 3]


@pytest.mark.parametrize("init, method, body, kind", [
    ("{method: 'post', body: 'text é'}", "POST", "text é".encode(), "text/plain;charset=UTF-8"),
    ("{method: 'PUT', body: new Uint8Array([0, 13, 10, 255])}", "PUT", b"\0\r\n\xff", None),
    ("{method: 'PATCH', body: new Uint8Array([1, 2, 3]).buffer}", "PATCH", b"\1\2\3", None),
    ("{method: 'POST', body: new URLSearchParams({a: '1 2', b: '&'})}", "POST", b"a=1+2&b=%26",
     "application/x-www-form-urlencoded;charset=UTF-8"),
    ("{method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify({a: 1})}",
     "POST", b'{"a":1}', "application/json"),
    ("{method: 'POST', body: ''}", "POST", b"", "text/plain;charset=UTF-8"),
    ("{method: 'DELETE'}", "DELETE", b"", None),
    ("new Request('http://127.0.0.1:1/', {method: 'DELETE'})", "DELETE", b"", None),
])
def test_bodies_arrive_as_they_were(result, web, grant, init, method, body, kind):
    server = web(HEAD + b"\r\n")
    grant(server)
    assert result(f"return (await fetch('{server.url}/x', {init})).status") == 200
    request = server.requests[0]
    assert request.startswith(f"{method} /x HTTP/1.1\r\n".encode())
    assert body_of(request) == body
    assert headers_of(request).get("content-type") == kind


def test_bytes_come_back_as_they_were(result, web, grant):
    server = web(HEAD + b"\r\n" + bytes(range(256)) * 100)
    grant(server)
    assert result(f"""
        const b = await (await fetch('{server.url}')).bytes();
        return b instanceof Uint8Array && b.length === 25600 && b.every((x, i) => x === i % 256)""")


def test_headers_are_given_in_every_way(result, web, grant):
    server = web(HEAD + b"\r\n")
    grant(server)
    for headers in ["{'X-One': 'a', Accept: 'text/x'}", "[['X-One', 'a'], ['Accept', 'text/x']]",
                    "new Headers({'X-One': 'a', Accept: 'text/x'})"]:
        result(f"return (await fetch('{server.url}', {{headers: {headers}}})).status")
        sent = headers_of(server.requests[-1])
        assert sent["x-one"] == "a" and sent["accept"] == "text/x"
        assert sent["host"] == f"127.0.0.1:{server.port}"
        assert "cookie" not in sent and "authorization" not in sent


def test_requests_run_at_the_same_time(result, web, grant):
    """Each is answered only once all three have arrived."""
    together = threading.Barrier(3)

    def answer(request, connection):
        together.wait(60)
        return HEAD + b"\r\n" + request.split()[1]

    server = web(answer)
    grant(server)
    assert result(f"""
        return await Promise.all(['/1', '/2', '/3'].map(
            async (p) => (await fetch('{server.url}' + p)).text()))""") == ["/1", "/2", "/3"]


def test_a_connection_is_kept_within_an_evaluation(result, web, grant):
    def answer(request, connection):
        while request:
            connection.sendall(HEAD + b"Content-Length: 2\r\n\r\nok")
            request = Web.read(connection)

    server = web(answer)
    grant(server)
    result(f"for (let i = 0; i < 5; i++) await (await fetch('{server.url}')).text();")
    assert len(server.requests) == 1


def test_what_is_no_request_is_a_type_error(result, web, grant):
    server = web(HEAD + b"\r\n")
    grant(server)
    assert result(f"""
        const names = [];
        for (const [url, init] of [['nope'], ['ftp://a.test/'], ['file:///etc/passwd'], ['data:,x'],
            ['http://a:b@127.0.0.1/'], ['{server.url}', {{method: 'CONNECT'}}],
            ['{server.url}', {{method: 'A B'}}], ['{server.url}', {{method: 'GET / HTTP/1.1\\r\\nA:'}}],
            ['{server.url}', {{body: 'x'}}], ['{server.url}', {{method: 'POST', body: {{a: 1}}}}],
            ['{server.url}', {{headers: {{'a b': '1'}}}}], ['{server.url}', {{headers: {{a: '1\\r\\nB: 2'}}}}],
            ['{server.url}', {{headers: {{'a\\r\\nb': '1'}}}}], ['{server.url}', {{headers: [['a']]}}],
            ['{server.url}', {{redirect: 'maybe'}}], ['{server.url}', {{signal: 1}}]])
            try {{ await fetch(url, init); names.push(url); }} catch (e) {{ names.push(e.name); }}
        return [...new Set(names)]""") == ["TypeError"]
    assert not server.requests


def test_responses_and_requests_can_be_made(result, web, grant):
    grant(web(b""))
    assert result("""
        const r = Response.json({a: 1}, {status: 201});
        const q = new Request('https://a.test/x', {method: 'post', body: 'b', headers: {A: '1'}});
        const again = new Request(q.clone(), {headers: {B: '2'}});
        let range;
        try { new Response('', {status: 99}) } catch (e) { range = e.name }
        return [r.status, r.headers.get('content-type'), await r.json(), q.method, q.url, await q.text(),
            await again.text(), again.headers.get('a'), again.headers.get('b'), Response.error().type, range]"""
    ) == [201, "application/json", {"a": 1}, "POST", "https://a.test/x", "b", "b", None, "2", "error",
          "RangeError"]


# ---- where fetch never comes ---------------------------------------------------------


def test_a_host_that_is_not_allowed_is_named(refusal, policy):
    policy(network={"hosts": ["api.example.org", "*.example.com"]})
    for url, host in [("https://evil.test/", "evil.test"), ("http://api.example.org/", "http://api"),
                      ("https://api.example.org:444/", ":444"), ("https://example.com/", "example.com"),
                      ("https://api.example.org.evil.test/", "evil.test")]:
        kind, message = refusal(url)
        assert kind == "PermissionDenied" and host in message and "network.hosts" in message


def test_a_name_that_leads_to_this_machine_is_refused(refusal, web, policy):
    """The rule allows the name; the address is checked when the socket is opened."""
    server = web(HEAD + b"\r\n")
    policy(network={"hosts": [f"http://localhost:{server.port}"]})
    kind, message = refusal(f"http://localhost:{server.port}/")
    assert kind == "PermissionDenied" and "allowPrivate" in message
    assert not server.requests


@pytest.mark.parametrize("host", [
    "127.0.0.1", "127.1", "0x7f.1", "0177.0.0.1", "2130706433", "0x7f000001", "127.0.0.1.", "0.0.0.0",
    "0", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]", "localhost", "LOCALHOST.", "%31%32%37.0.0.1", "①②⑦.0.0.1", "127。0。0。1",
    "169.254.169.254", "[fd00:ec2::254]", "10.0.0.1", "192.168.0.1", "100.64.0.1", "224.0.0.1"])
def test_no_spelling_of_an_inner_address_is_reached(refusal, web, policy, host):
    server = web(HEAD + b"\r\n")
    policy(network={"hosts": ["*", "http://*", f"*:{server.port}", f"http://*:{server.port}"]})
    kind, _ = refusal(f"http://{host}:{server.port}/")
    assert kind in ("PermissionDenied", "ExecutionError")  # the latter: no URL at all
    assert not server.requests


def test_another_spelling_of_a_granted_address_is_that_address(result, web, grant):
    server = web(HEAD + b"\r\nyes")
    grant(server)
    for host in ["127.1", "0x7f.1", "2130706433"]:
        assert result(f"return (await fetch('http://{host}:{server.port}/')).text()") == "yes"


@pytest.mark.parametrize("target", [
    "http://127.0.0.1:1/", "http://169.254.169.254/latest/meta-data/", "http://[::1]:1/",
    "http://localhost:1/", "//127.0.0.1:1/", "https://evil.test/", "http://2130706433:1/"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_leads_nowhere_else(refusal, web, grant, target, status):
    server = web(f"HTTP/1.1 {status} Go\r\nLocation: {target}\r\n\r\n".encode())
    grant(server)
    assert refusal(server.url)[0] == "PermissionDenied"
    assert len(server.requests) == 1


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/", "http://a:b@127.0.0.1/",
                                    "gopher://127.0.0.1:1/_x", "http://", "javascript:1"])
def test_a_redirect_to_what_cannot_be_fetched_is_refused(refusal, web, grant, target):
    server = web(f"HTTP/1.1 302 Go\r\nLocation: {target}\r\n\r\n".encode())
    grant(server)
    assert refusal(server.url)[0] in ("InvalidInput", "PermissionDenied")


def test_redirects_are_followed_left_alone_or_refused(result, run, web, grant):
    def answer(request, connection):
        if request.split()[1] == b"/there":
            return HEAD + b"\r\nthere"
        return b"HTTP/1.1 302 Found\r\nLocation: /there\r\n\r\n"

    server = web(answer)
    grant(server)
    assert result(f"""
        const r = await fetch('{server.url}/'), m = await fetch('{server.url}/', {{redirect: 'manual'}});
        return [r.redirected, r.url, await r.text(), m.status, m.headers.get('location'), m.redirected]"""
    ) == [True, f"{server.url}/there", "there", 302, "/there", False]
    assert run(f"await fetch('{server.url}', {{redirect: 'error'}})")["errorDetails"]["type"] == "IoError"


def test_a_circle_of_redirects_ends(refusal, web, grant):
    server = web(b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n")
    grant(server)
    assert refusal(server.url)[0] == "LimitExceeded"
    assert len(server.requests) == 11


def test_proxies_of_the_environment_are_not_asked(result, web, grant):
    server, proxy = web(HEAD + b"\r\ndirect"), web(HEAD + b"\r\nproxy")
    grant(server)
    where = {name: proxy.url for name in ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"]}
    assert result(f"return (await fetch('{server.url}')).text()", NO_PROXY="", no_proxy="",
                  **where) == "direct"
    assert not proxy.requests


def test_stored_credentials_and_cookies_are_not_used(result, web, grant, tmp_path):
    server = web(HEAD + b"Set-Cookie: a=1; Path=/\r\n\r\n")
    grant(server)
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password mine\n")
    result(f"await fetch('{server.url}'); await fetch('{server.url}');", HOME=str(tmp_path))
    for request in server.requests:
        assert "authorization" not in headers_of(request) and "cookie" not in headers_of(request)


def test_a_cloche_is_not_reached_from_inside(cloche, policy, vault):
    """Neither the one that runs the code, whose port no grant opens, nor another."""
    command = [cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"]
    with Server(command) as own, Server(command) as other:
        policy(network={"allowPrivate": [f"127.0.0.1:{own.port}", f"127.0.0.1:{other.port}"]})
        ask = """const r = await fetch(URL_OF + '/mcp', {method: 'POST',
            headers: {'content-type': 'application/json', accept: 'application/json, text/event-stream',
                      via: 'x', 'Content-Length': '0'},
            body: JSON.stringify({jsonrpc: '2.0', id: 1, method: 'tools/list'})});
            return r.status"""

        def fetch(url):
            answer = own.post(call("evaluate_note_code", {
                "code": ask, "enableNetwork": True, "context": {"URL_OF": url}}),
                headers=own.session())
            return structured(answer.json())

        assert fetch(own.url)["errorDetails"]["type"] == "PermissionDenied"
        assert fetch(other.url)["result"] == 401


def test_every_host_that_was_asked_for_stands_in_the_audit(cloche, run, web, grant):
    server = web(b"HTTP/1.1 302 Go\r\nLocation: https://evil.test/\r\n\r\n")
    grant(server)
    run(f"await fetch('{server.url}')")
    told = subprocess.run([cloche, "audit", "--json"], capture_output=True, text=True).stdout
    assert f'"127.0.0.1:{server.port}","evil.test"' in told.replace(" ", "")


# ---- certificates --------------------------------------------------------------------


def self_signed(folder):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(timezone.utc)
    certificate = (x509.CertificateBuilder().subject_name(name).issuer_name(name)
                   .public_key(key.public_key()).serial_number(1)
                   .not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
                   .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
                   .sign(key, hashes.SHA256()))
    path = folder / "self.pem"
    path.write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM))
    return path


def test_a_certificate_that_nobody_vouches_for_is_refused(refusal, web, policy, tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed(tmp_path))
    server = web(HEAD + b"\r\n", context=context)
    policy(network={"allowPrivate": [f"localhost:{server.port}"]})
    kind, message = refusal(f"https://localhost:{server.port}/")
    assert kind == "IoError" and "certificate" in message
    assert not server.requests


# ---- what servers may do -------------------------------------------------------------


def endless(begin, more):
    def answer(request, connection):
        connection.sendall(begin)
        while True:
            connection.sendall(more)
    return answer


@pytest.mark.parametrize("begin, more", [
    (HEAD + b"\r\n", b"x" * 65536),
    (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b"x" * 65536 + b"\r\n"),
    (HEAD, b"X-More: " + b"x" * 1000 + b"\r\n"),
    (HEAD + b"X-Long: ", b"x" * 1000),
    (b"", b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\n"),
    (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
    (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Trailer: " + b"x" * 1000 + b"\r\n"),
])
def test_what_never_ends_is_cut_off(run, web, grant, begin, more):
    server = web(endless(begin, more))
    grant(server)
    details = run(f"return (await (await fetch('{server.url}')).text()).length")["errorDetails"]
    assert details["type"] in ("LimitExceeded", "IoError")
    assert server.gone.wait(60)


def test_a_small_answer_that_unfolds_is_cut_off(run, web, grant):
    bomb = gzip.compress(bytes(64 << 20))
    assert len(bomb) < 100_000
    server = web(HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb) + bomb)
    grant(server)
    details = run(f"return await fetch('{server.url}')")["errorDetails"]
    assert details["type"] == "LimitExceeded" and "8388608" in details["message"]


def test_what_is_compressed_is_unfolded(result, web, grant):
    server = web(HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"hello " * 1000))
    grant(server)
    assert result(f"return (await (await fetch('{server.url}')).text()).length") == 6000


@pytest.mark.parametrize("answer", [
    b"", b"\r\n", b"nonsense\r\n\r\n", b"HTTP/1.1\r\n\r\n", b"HTTP/0.9 200 OK\r\n\r\nx", b"\x16\x03\x01\x02\x00",
    b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"HTTP/1.1 999 \r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nno gzip", b"HTTP/1.1 200 OK\r\n\0: \0\r\n\r\n",
    b"HTTP/1.1 200 \xff\xfe\r\nA: \xff\xfe\r\n\r\n\xff"])
def test_nonsense_is_an_error_or_an_answer_never_more(run, web, grant, answer):
    server = web(answer)
    grant(server)
    got = run(f"const r = await fetch('{server.url}'); return [r.status, [...r.headers], await r.text()]")
    assert got["success"] or got["errorDetails"]["type"] in ("IoError", "LimitExceeded", "Timeout",
                                                             "InvalidInput")


def dripping(request, connection):
    """One byte after another while the client is there: for ever."""
    connection.sendall(HEAD + b"\r\n")
    while True:
        connection.sendall(b"x")
        threading.Event().wait(0.02)


def test_a_run_that_is_over_waits_for_no_server(run, web, policy):
    server = web(dripping)
    policy(limits={"total": 1000}, network={"allowPrivate": [f"127.0.0.1:{server.port}"]})
    assert run(f"return await fetch('{server.url}')")["errorDetails"]["type"] == "Timeout"
    assert server.gone.wait(60)


def test_a_signal_ends_the_request_itself(result, web, grant):
    arrived = threading.Event()

    def answer(request, connection):
        if request.startswith(b"GET /arrived"):
            assert arrived.wait(60)
            connection.sendall(HEAD + b"\r\n")
        else:
            arrived.set()
            dripping(request, connection)

    server = web(answer)
    grant(server)
    assert result(f"""
        const c = new AbortController();
        const wait = fetch('{server.url}/first', {{signal: c.signal}});
        await fetch('{server.url}/arrived');
        setTimeout(() => c.abort(), 1);
        const names = [];
        try {{ await wait; }} catch (e) {{ names.push(e.name); }}
        try {{ await fetch('{server.url}/second', {{signal: AbortSignal.timeout(50)}}); }} catch (e) {{ names.push(e.name); }}
        try {{ await fetch('{server.url}/third', {{signal: AbortSignal.abort()}}); }} catch (e) {{ names.push(e.name); }}
        return names""") == ["AbortError", "TimeoutError", "AbortError"]
    assert server.gone.wait(60)
    asked = [request.split()[1] for request in server.requests]  # of the second, its time may have been over before
    assert {b"/first", b"/arrived"} <= set(asked) <= {b"/first", b"/arrived", b"/second"}, asked


def test_the_number_of_requests_is_limited(result, web, grant):
    server = web(HEAD + b"\r\n")
    grant(server)
    assert result(f"""
        let n = 0;
        try {{ for (;; n++) await fetch('{server.url}'); }} catch (e) {{ return [n, e.name]; }}""") == [
        100, "LimitExceeded"]
    assert len(server.requests) == 100


def test_what_is_sent_is_limited(run, web, grant):
    server = web(HEAD + b"\r\n")
    grant(server)
    for init in ["{method: 'POST', body: 'x'.repeat(5 << 20)}", "{headers: {a: 'x'.repeat(70000)}}",
                 "{headers: Array.from({length: 101}, (_, i) => ['a' + i, ''])}"]:
        assert run(f"await fetch('{server.url}', {init})")["errorDetails"]["type"] == "LimitExceeded"
    assert run(f"await fetch('{server.url}/' + 'x'.repeat(17000))")["errorDetails"][
        "type"] == "InvalidInput"
    assert not server.requests


# ---- secrets -------------------------------------------------------------------------

SECRET = "s3cr3t-v4lue-of-a-person"


def echo(request, connection):
    return HEAD + b"X-Echo: " + SECRET.encode() + b"\r\n\r\n" + request


def secret(server, **more):
    return {"KEY": {"env": "CLOCHE_TEST_SECRET", "hosts": [server.url], **more}}


def test_a_secret_goes_out_and_never_comes_in(run, web, grant):
    server = web(echo)
    grant(server, secrets=secret(server))
    answer = run(f"""
        const h = {{Authorization: 'Bearer {{{{secret:KEY}}}}'}};
        const r = await fetch('{server.url}', {{headers: h}});
        console.log(h.Authorization);
        return [await r.text(), [...r.headers]]""", CLOCHE_TEST_SECRET=SECRET)
    assert headers_of(server.requests[0])["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in json.dumps(answer)
    assert "authorization: bearer [secret:key]" in answer["result"][0].lower()


def test_a_secret_with_a_header_is_sent_by_itself(result, web, grant):
    server = web(echo)
    grant(server, secrets=secret(server, header="X-Api-Key", format="key={}"))
    text = result(f"return (await fetch('{server.url}')).text()", CLOCHE_TEST_SECRET=SECRET)
    assert headers_of(server.requests[0])["x-api-key"] == f"key={SECRET}"
    assert SECRET not in text and "key=[secret:KEY]" in text


def test_a_secret_stays_away_from_other_hosts(run, web, grant):
    own, other = web(echo), web(echo)
    grant(own, other, secrets=secret(own))
    details = run(f"await fetch('{other.url}', {{headers: {{A: '{{{{secret:KEY}}}}'}}}})",
                  CLOCHE_TEST_SECRET=SECRET)["errorDetails"]
    assert details["type"] == "PermissionDenied" and "KEY" in details["message"]
    assert not other.requests


def test_a_secret_does_not_follow_a_redirect_to_another_host(result, web, grant):
    other = web(echo)
    own = web(f"HTTP/1.1 307 Go\r\nLocation: {other.url}/\r\n\r\n".encode())
    grant(own, other, secrets=secret(own, header="X-Key"))
    result(f"""await fetch('{own.url}');
        await fetch('{own.url}', {{headers: {{'x-key': '{{{{secret:KEY}}}}', authorization: 'mine'}}}});""",
           CLOCHE_TEST_SECRET=SECRET)
    assert all(SECRET.encode() in request for request in own.requests)
    for request in other.requests:
        assert SECRET.encode() not in request and b"mine" not in request


@pytest.mark.parametrize("header, kind", [
    ("{{secret:NONE}}", "NotFound"), ("{{secret:KEY", "InvalidInput"), ("{{secret:}}", "InvalidInput")])
def test_a_secret_that_is_not_there_is_told(run, web, grant, header, kind):
    server = web(echo)
    grant(server, secrets=secret(server))
    details = run(f"await fetch('{server.url}', {{headers: {{A: '{header}'}}}})",
                  CLOCHE_TEST_SECRET=SECRET)["errorDetails"]
    assert details["type"] == kind and SECRET not in json.dumps(details)
    assert not server.requests
