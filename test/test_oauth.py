"""`cloche serve --oauth-issuer`: tokens of an external issuer, the invalid ones, and how a client
finds the issuer. The issuer is part of the test."""
import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from mcp.client.auth.utils import (build_protected_resource_metadata_discovery_urls,
                                   extract_resource_metadata_from_www_auth,
                                   extract_scope_from_www_auth)
from mcp.shared.auth import ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed

from test_access import bearer, make_token
from wire import Server, call, request

DOCUMENT = "/.well-known/oauth-protected-resource"
OAUTH, OPENID = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
WAIT_S = 30


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(n, size=None):
    return b64(n.to_bytes(size or (n.bit_length() + 7) // 8, "big"))


RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
WEAK = rsa.generate_private_key(public_exponent=65537, key_size=1024)
EC, ED = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
KEYS = {"RS256": RSA, "PS256": RSA, "ES256": EC, "EdDSA": ED}


def jwk(key, **more):
    public = key.public_key()
    if isinstance(key, rsa.RSAPrivateKey):
        n = public.public_numbers()
        return {"kty": "RSA", "n": number(n.n), "e": number(n.e)} | more
    if isinstance(key, ec.EllipticCurvePrivateKey):
        n = public.public_numbers()
        return {"kty": "EC", "crv": "P-256", "x": number(n.x, 32), "y": number(n.y, 32)} | more
    return {"kty": "OKP", "crv": "Ed25519", "x": b64(public.public_bytes_raw())} | more


def sign(key, alg, data):
    if alg == "RS256":
        return key.sign(data, padding.PKCS1v15(), hashes.SHA256())
    if alg == "PS256":
        pss = padding.PSS(padding.MGF1(hashes.SHA256()), salt_length=32)
        return key.sign(data, pss, hashes.SHA256())
    if alg == "ES256":
        r, s = decode_dss_signature(key.sign(data, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")
    return key.sign(data)


class Issuer:
    """Serves `pages`: a path and its JSON; other paths are 404."""

    def __init__(self, path="", place=OAUTH, port=0):
        pages = self.pages = {}
        asked = self.asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                page = pages.get(self.path)
                if page is None:
                    self.send_error(404)
                    return
                status, body = page if isinstance(page, tuple) else (200, page)
                body = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                if status == 302:
                    self.send_header("Location", "/moved")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.http.server_address[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        self.url = self.origin + path
        self.pages[place] = {"issuer": self.url, "jwks_uri": self.origin + "/keys"}
        self.publish(jwk(RSA, kid="rsa", use="sig"), jwk(EC, kid="ec"), jwk(ED, kid="ed"))

    def publish(self, *keys):
        self.pages["/keys"] = {"keys": list(keys)}

    def __enter__(self):
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.http.shutdown()
        self.http.server_close()

    def token(self, server, *, alg="RS256", key=None, header=None, raw=None, **claims):
        """None for a claim, or a member of the header, leaves it out."""
        now = int(time.time())
        kid = {"RS256": "rsa", "PS256": "rsa", "ES256": "ec"}.get(alg, "ed")
        head = {"alg": alg, "typ": "at+jwt", "kid": kid} | (header or {})
        body = {"iss": self.url, "aud": server.url + "/mcp", "sub": "ada", "iat": now,
                "exp": now + 600, "scope": "read write evaluate"} | claims
        parts = [json.dumps({k: v for k, v in p.items() if v is not None})
                 for p in (head, body)]
        return self.signed(*(raw or parts), key=key or KEYS[alg], alg=alg)

    @staticmethod
    def signed(head, body, *, key, alg):
        data = f"{b64(head.encode())}.{b64(body.encode())}"
        return f"{data}.{b64(sign(key, alg, data.encode()))}"


def serve(cloche, vault, issuer, *words, **how):
    return Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0",
                   "--oauth-issuer", issuer.url, "--oauth-vault", "*", "--require-token",
                   *words], **how)


def ask(server, token, message=None):
    """The answer, once the server is ready."""
    until = time.monotonic() + WAIT_S
    while True:
        answer = server.post(message or request("ping"), bearer(token))
        if answer.status_code != 503 or time.monotonic() > until:
            return answer
        assert answer.headers["Retry-After"]
        time.sleep(0.05)


@pytest.fixture
def issuer():
    with Issuer() as made:
        yield made


@pytest.fixture
def server(cloche, vault, issuer):
    with serve(cloche, vault, issuer) as s:
        yield s


NOW = 1_000_000_000  # stands for the time of the test, as "+" for the right URL


def as_of_now(value, url):
    """Replaces placeholders of the test's time and URL."""
    if isinstance(value, (list, dict)):
        return json.loads(json.dumps(value).replace("+", url))
    if isinstance(value, str):
        return value.replace("+", url).replace(str(NOW + 600), str(int(time.time()) + 600))
    near = type(value) is int and abs(value - NOW) < 999
    return value - NOW + int(time.time()) if near else value


# ---- whom to ask ----


def test_who_has_no_token_is_told_where_one_is_had(server, issuer):
    answer = server.post(request("ping"))
    assert answer.status_code == 401
    where = extract_resource_metadata_from_www_auth(answer)
    assert where == server.url + DOCUMENT + "/mcp"
    assert extract_scope_from_www_auth(answer) == "read write evaluate"
    places = build_protected_resource_metadata_discovery_urls(where, server.url + "/mcp")
    assert places[0] == where and server.url + DOCUMENT in places
    for place in (where, server.url + DOCUMENT):
        told = httpx.get(place, trust_env=False)
        assert told.status_code == 200 and told.headers["Content-Type"] == "application/json"
        document = ProtectedResourceMetadata.model_validate(told.json())
        assert str(document.resource) == server.url + "/mcp"
        assert check_resource_allowed(server.url + "/mcp", str(document.resource))
        assert told.json()["authorization_servers"] == [issuer.url]
        assert {"read", "write", "evaluate"} <= set(document.scopes_supported)
        assert document.bearer_methods_supported == ["header"]
    assert httpx.head(where, trust_env=False).status_code == 200
    assert server.http.get("/workspaces").headers["WWW-Authenticate"] == \
        answer.headers["WWW-Authenticate"]


def test_the_document_is_all_that_is_public(server):
    assert server.http.post(DOCUMENT).status_code == 401
    assert server.http.get("/healthz").text == "ok\n"
    for path in (DOCUMENT + "/workspaces", OAUTH, "/.well-known/", "/openapi.json", "/metrics", "/healthz/x"):
        assert server.http.get(path).status_code == 401, path


def test_without_an_issuer_there_is_no_document(cloche, vault):
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"]) as s:
        assert s.http.get(DOCUMENT).status_code == 404
        assert s.http.get(DOCUMENT + "/mcp").status_code == 404
        answer = s.post(request("ping"), bearer("a.b.c"))
        assert answer.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'


def test_the_public_url_is_the_resource(cloche, vault, issuer):
    with serve(cloche, vault, issuer, "--behind-proxy", "--public-url",
               "https://notes.example/x/") as s:
        host = {"Host": "notes.example"}
        where = extract_resource_metadata_from_www_auth(s.post(request("ping"), host))
        assert where == "https://notes.example/x" + DOCUMENT + "/mcp"
        told = s.http.get(DOCUMENT + "/mcp", headers=host).json()
        assert told["resource"] == "https://notes.example/x/mcp"
        assert ask(s, issuer.token(s, aud="https://notes.example/x/mcp")).status_code == 200
        assert ask(s, issuer.token(s)).status_code == 401


def test_this_machine_needs_none_as_before(cloche, vault, issuer):
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0",
                 "--oauth-issuer", issuer.url]) as s:
        assert s.post(request("ping")).status_code == 200
        assert s.post(request("ping"), bearer("x.y.z")).status_code == 401


# ---- what is good ----


@pytest.mark.parametrize("alg", KEYS)
def test_each_algorithm_is_understood(server, issuer, alg):
    for _ in range(20):  # of ES256, one in 128 has a number that begins with zeros
        assert ask(server, issuer.token(server, alg=alg)).status_code == 200


GOOD = [{"aud": "+"}, {"aud": ["https://else.example", "+/mcp"]}, {"aud": "+/mcp/"},
        {"nbf": NOW + 30}, {"exp": 4e9 + 0.5}, {"scope": ["read"]}, {"scope": None, "scp": "read"},
        {"scope": "openid cloche:read"}, {"sub": "x" * 255}, {"sub": "Ada / \U0001f600"},
        {"nbf": None, "iat": None}, {"header": {"typ": "JWT"}},
        {"header": {"typ": "application/AT+JWT"}}, {"header": {"x5t": "ignored"}},
        {"header": {"jku": "http://127.0.0.1:1/"}}]


def test_what_issuers_differ_in_is_good(server, issuer):
    for what in GOOD:
        made = {name: as_of_now(value, server.url) if name != "header" else value
                for name, value in what.items()}
        assert ask(server, issuer.token(server, **made)).status_code == 200, what


def test_tokens_of_ours_are_good_besides(cloche, server):
    assert ask(server, make_token(cloche, "ci")).status_code == 200


# ---- what is refused ----


WRONG = [
    {"header": {"alg": "none"}}, {"header": {"alg": "None"}}, {"header": {"alg": "HS256"}},
    {"header": {"alg": "RS512"}}, {"header": {"alg": None}}, {"header": {"alg": ["RS256"]}},
    {"header": {"alg": "PS256"}}, {"header": {"kid": "ec"}}, {"header": {"kid": "ed"}},
    {"header": {"kid": 7}}, {"header": {"kid": None}, "key": OTHER},
    {"header": {"crit": ["exp"]}}, {"header": {"crit": []}}, {"header": {"zip": "DEF"}},
    {"header": {"cty": "JWT"}}, {"header": {"b64": False}}, {"header": {"typ": None}},
    {"header": {"typ": "dpop+jwt"}}, {"header": {"typ": "id_token"}}, {"key": OTHER},
    {"exp": NOW - 1}, {"exp": None}, {"exp": "soon"}, {"exp": str(NOW + 600)},
    {"exp": True}, {"exp": -1}, {"exp": 1e300}, {"nbf": NOW + 120}, {"nbf": "now"},
    {"iat": []}, {"iss": None}, {"iss": "https://else.example"}, {"iss": "+/"},
    {"iss": ["+"]}, {"aud": None}, {"aud": []}, {"aud": ""}, {"aud": "https://else.example/mcp"},
    {"aud": "+/mcp/x"}, {"aud": "+x"}, {"aud": [["+/mcp"]]}, {"aud": {"+/mcp": 1}},
    {"aud": ["+/mcp", 7]}, {"sub": None}, {"sub": ""}, {"sub": 7}, {"sub": "x" * 256},
    {"scope": 7}, {"cloche_level": "root"}, {"cloche_level": 0}, {"cloche_vaults": "alpha"},
    {"cloche_vaults": [1]}, {"cloche_vaults": ["a\0b"]}, {"cloche_vaults": ["v"] * 101}]


@pytest.mark.parametrize("first", range(0, len(WRONG), 8))
def test_what_is_wrong_with_a_token_refuses_it(server, issuer, first):
    """Eight a server: after the tenth an address has to wait."""
    assert ask(server, issuer.token(server)).status_code == 200
    for what in WRONG[first:first + 8]:
        made = {name: as_of_now(value, server.url if name == "aud" else issuer.url)
                if name not in ("header", "key") else value for name, value in what.items()}
        answer = ask(server, issuer.token(server, **made))
        assert answer.status_code == 401, what
        assert answer.headers["WWW-Authenticate"].startswith('Bearer error="invalid_token", ')
        assert extract_resource_metadata_from_www_auth(answer) == \
            server.url + DOCUMENT + "/mcp"
        assert answer.json()["error"]["message"]


def test_a_text_that_is_not_in_its_one_form_is_refused(server, issuer):
    """Ten of them are counted as wrong tokens at once; so each is asked in turn."""
    good = issuer.token(server)
    assert ask(server, good).status_code == 200
    head, body, signature = good.split(".")
    claims = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode()
    header = base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)).decode()
    last = signature[-1]  # 256 bytes leave four bits over, of which two must be zero
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    odd = alphabet[alphabet.index(last) | 1]
    assert odd != last
    forms = [good + "=", f"{head}=.{body}.{signature}", f"{head}.{body}.{signature[:-1]}{odd}",
             f"{head}.{body}.", f".{body}.{signature}", f"{head}..{signature}",
             f"{head}.{body}", good + ".x", f"{head}.{body}.{signature[:-4]}",
             good.replace(".", " .", 1)]
    resign = [(header, claims[:-1] + ', "sub": "eve"}'), (header[:-1] + ', "alg": "RS256"}', claims),
              (header, claims[:-1] + ', "x": {"a": 1, "a": 2}}'), (header, "[]"), (header, claims + "x"),
              (header, claims[:-1] + ', "x": ' + "[" * 200 + "]" * 200 + "}"),
              (json.dumps(good), claims), (header, json.dumps(good))]
    forms += [Issuer.signed(h, b, key=RSA, alg="RS256") for h, b in resign]
    for form in forms:
        assert server.post(request("ping"), bearer(form)).status_code in (401, 429), form
    assert ask(server, good).status_code == 200


def test_a_token_of_any_size_does_no_harm(server, issuer):
    assert ask(server, issuer.token(server, extra="x" * 6000)).status_code == 200
    for size in (9000, 12500, 20000):
        try:
            answer = server.post(request("ping"),
                                 bearer(issuer.token(server, extra="x" * size)))
            assert answer.status_code in (200, 401, 431)
        except httpx.TransportError:
            assert size == 20000  # its head is not read to its end
    assert ask(server, issuer.token(server)).status_code == 200


def test_who_comes_with_an_expired_one_is_always_told_to_renew_it(server, issuer):
    assert ask(server, issuer.token(server)).status_code == 200
    expired = issuer.token(server, exp=int(time.time()) - 1)
    for _ in range(15):
        answer = server.post(request("ping"), bearer(expired))
        assert answer.status_code == 401 and "expired" in answer.json()["error"]["message"]


def test_a_public_key_is_no_secret(server, issuer):
    """HS256 with a public key of the set as the secret, the oldest attack."""
    import hashlib
    import hmac
    token = issuer.token(server, header={"alg": "HS256"})
    data = token.rpartition(".")[0]
    for secret in (json.dumps(jwk(RSA)).encode(), jwk(RSA)["n"].encode()):
        forged = b64(hmac.digest(secret, data.encode(), hashlib.sha256))
        assert server.post(request("ping"), bearer(f"{data}.{forged}")).status_code == 401


# ---- what it grants ----


def names(answer):
    assert answer.status_code == 200, answer.text
    return {v["id"] for v in answer.json()}


@pytest.fixture
def folders(tmp_path):
    made = []
    for name in ("alpha", "beta"):
        folder = tmp_path / "homes" / name
        folder.mkdir(parents=True)
        (folder / f"{name}.md").write_text(f"# {name}\n")
        made.append(folder)
    return made


def test_scopes_are_asked_for_step_by_step(server, issuer):
    """In both eras of MCP, and in REST."""
    token = issuer.token(server, scope="read")
    needed = call("evaluate_note_code", {"code": "return 1"}, modern=True)
    rest = ask(server, token) and server.http.post(
        f"/workspaces/{server.http.get('/workspaces', headers=bearer(token)).json()[0]['id']}/notes",
        json={"markdown": "# new"}, headers=bearer(token))
    for answer, scope in ((ask(server, token, needed), "read evaluate"), (rest, "read write")):
        assert answer.status_code == 403, answer.text
        assert 'error="insufficient_scope"' in answer.headers["WWW-Authenticate"]
        assert extract_scope_from_www_auth(answer) == scope
        assert extract_resource_metadata_from_www_auth(answer) == \
            server.url + DOCUMENT + "/mcp"
    assert ask(server, issuer.token(server, scope="read evaluate"), needed).status_code == 200


@pytest.mark.parametrize("scope", [None, "", "openid profile", "Read"])
def test_without_any_scope_it_comes_no_further_than_the_door(server, issuer, scope):
    answer = ask(server, issuer.token(server, scope=scope))
    assert answer.status_code == 403
    assert extract_scope_from_www_auth(answer) == "read write evaluate"


def test_its_level_is_a_ceiling(server, issuer):
    wish = call("evaluate_note_code", {"code": "return 1", "timeout": 20_000}, modern=True)
    assert not ask(server, issuer.token(server), wish).json()["result"].get("isError")
    zero = ask(server, issuer.token(server, cloche_level="zero"), wish)
    assert zero.json()["result"]["isError"]


def test_vaults_are_those_of_the_token_or_else_of_the_server(cloche, folders, issuer):
    command = [cloche, "serve", "--listen", "127.0.0.1:0", "--oauth-issuer", issuer.url]
    for folder in folders:
        command += ["--vault", str(folder)]
    for words, usual in (([], set()), (["--oauth-vault", "beta"], {"beta"}),
                         (["--oauth-vault", "*"], {"alpha", "beta"})):
        with Server(command + words) as s:
            def reached(**claims):
                token = issuer.token(s, **claims)
                assert ask(s, token).status_code == 200
                return names(s.http.get("/workspaces", headers=bearer(token)))
            assert reached() == usual
            assert reached(cloche_vaults=["alpha"]) == {"alpha"}
            assert reached(cloche_vaults=[]) == set()
            assert reached(cloche_vaults=["*", "nothing"]) == set()


def test_a_subject_is_told_by_its_name_and_differs_from_all_others(cloche, server, issuer):
    """Sessions of MCP belong to one subject, whatever token it comes with."""
    from wire import initialize
    subjects = ["ada", "ada~1", "token ci", "a" * 44, "a" * 45, "a" * 46, "A" * 44]
    opened = {}
    for sub in subjects:
        answer = ask(server, issuer.token(server, sub=sub), initialize("2025-11-25"))
        assert answer.status_code == 200
        opened[sub] = {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"],
                       "MCP-Protocol-Version": "2025-11-25"}
    for owner, session in opened.items():
        for sub in subjects:
            answer = server.post(request("ping"),
                                 bearer(issuer.token(server, sub=sub)) | session)
            assert answer.status_code == (200 if sub == owner else 404), (owner, sub)


# ---- the issuer ----


@pytest.mark.parametrize("path, place", [
    ("", OAUTH), ("", OPENID), ("/", OAUTH), ("/a/b", OAUTH + "/a/b"),
    ("/a/b", OPENID + "/a/b"), ("/a/b", "/a/b" + OPENID), ("/a/", "/a" + OPENID)])
def test_its_keys_are_found_by_its_url(cloche, vault, path, place):
    with Issuer(path, place) as issuer, serve(cloche, vault, issuer) as s:
        assert ask(s, issuer.token(s)).status_code == 200


def test_a_new_key_is_fetched_when_a_token_names_it(server, issuer):
    old = issuer.token(server)
    assert ask(server, old).status_code == 200
    issuer.publish(jwk(OTHER, kid="new"))
    new = issuer.token(server, key=OTHER, header={"kid": "new"})
    first = server.post(request("ping"), bearer(new))
    assert first.status_code == 503 and first.json()["error"]["message"]
    assert ask(server, new).status_code == 200
    assert ask(server, old).status_code == 401, "its key was withdrawn"


def test_keys_that_nobody_has_are_asked_for_once_a_minute(server, issuer):
    assert ask(server, issuer.token(server)).status_code == 200
    assert issuer.asked.count("/keys") == 1
    for i in range(5):
        assert ask(server, issuer.token(server, header={"kid": f"no-{i}"})).status_code == 401
    assert issuer.asked.count("/keys") == 2


def test_a_stream_of_a_key_that_was_withdrawn_ends(server, issuer):
    token = issuer.token(server)
    assert ask(server, token).status_code == 200
    listen = request("subscriptions/listen", {"notifications": {"toolsListChanged": True}},
                     modern=True)
    headers = bearer(token) | {"Accept": "application/json, text/event-stream",
                               "MCP-Protocol-Version": "2026-07-28",
                               "Mcp-Method": "subscriptions/listen"}
    with server.http.stream("POST", "/mcp", json=listen, headers=headers) as stream:
        assert stream.status_code == 200
        issuer.publish(jwk(OTHER, kid="new"))
        assert ask(server, issuer.token(server, key=OTHER,
                                        header={"kid": "new"})).status_code == 200
        with pytest.raises(httpx.RemoteProtocolError):  # broken off
            list(stream.iter_raw())


def test_an_issuer_may_come_later(cloche, vault, tmp_path):
    with Issuer() as gone:
        port = gone.port
    with open(tmp_path / "log", "w+") as log, \
            serve(cloche, vault, gone, stderr=log) as s:
        assert s.post(request("ping")).status_code == 401
        assert s.http.get(DOCUMENT).status_code == 200
        assert s.post(request("ping"), bearer(make_token(cloche, "ci"))).status_code == 200
        waiting = s.post(request("ping"), bearer(gone.token(s)))
        assert waiting.status_code == 503 and "Retry-After" in waiting.headers
        with Issuer(port=port) as issuer:
            assert ask(s, issuer.token(s)).status_code == 200
        s.stop()
        log.seek(0)
        told = log.read()
        assert "cannot be fetched" in told and "are there now" in told


def test_what_it_knew_stays_when_an_issuer_goes(cloche, vault):
    with Issuer() as issuer, serve(cloche, vault, issuer) as s:
        assert ask(s, issuer.token(s)).status_code == 200
        issuer.pages.clear()
        unknown = issuer.token(s, header={"kid": "new"})
        assert s.post(request("ping"), bearer(unknown)).status_code == 503
        assert ask(s, issuer.token(s, sub="bob")).status_code == 200


@pytest.mark.parametrize("page", [
    {"issuer": "https://else.example", "jwks_uri": "{}/keys"}, {"jwks_uri": "{}/keys"},
    {"issuer": "{}/", "jwks_uri": "{}/keys"}, {"issuer": "{}"},
    {"issuer": "{}", "jwks_uri": "http://192.0.2.1/keys"},
    {"issuer": "{}", "jwks_uri": "file:///etc/passwd"},
    {"issuer": "{}", "jwks_uri": "https://127.0.0.1:1/keys"},
    {"issuer": "{}", "jwks_uri": "{}/missing"}, {"issuer": "{}", "jwks_uri": "{}/moved"},
    [], "text", (200, b"<html>"), (200, b"x" * 300_000), (302, b""), (500, b"{{}}")],
    ids=lambda page: str(page)[:50])
def test_metadata_that_cannot_be_believed_is_not(cloche, vault, issuer, page):
    page = json.loads(json.dumps(page).replace("{}", issuer.origin)) \
        if not isinstance(page, tuple) else page
    issuer.pages[OAUTH] = page
    issuer.pages["/moved"] = (302, b"")
    with serve(cloche, vault, issuer, stderr=-3) as s:
        for _ in range(5):
            assert s.post(request("ping"), bearer(issuer.token(s))).status_code == 503


@pytest.mark.parametrize("keys", [
    [], "x", {"keys": 1}, [jwk(WEAK, kid="rsa")], [jwk(RSA, kid="rsa", use="enc")],
    [jwk(RSA, kid="rsa", key_ops=["sign"])], [jwk(RSA, kid="rsa", alg="RS512")],
    [jwk(RSA, kid="rsa") | {"e": "AQAB="}], [jwk(RSA, kid="rsa") | {"kty": "rsa"}],
    [{"kty": "oct", "k": "c2VjcmV0", "kid": "rsa"}], [jwk(RSA, kid=7)],
    [jwk(OTHER, kid=str(i)) for i in range(65)]], ids=range(12))
def test_keys_that_are_none_are_passed_over(cloche, vault, issuer, keys):
    issuer.pages["/keys"] = {"keys": keys}
    with serve(cloche, vault, issuer, stderr=-3) as s:
        assert s.post(request("ping"), bearer(issuer.token(s))).status_code == 503


def test_a_key_serves_what_it_is_for_and_one_name_means_one_key(cloche, vault, issuer):
    issuer.publish(jwk(RSA, kid="rsa", alg="PS256"), jwk(EC, kid="ec"), jwk(OTHER, kid="ec"),
                   jwk(ED))
    with serve(cloche, vault, issuer) as s:
        assert ask(s, issuer.token(s, alg="PS256")).status_code == 200
        assert ask(s, issuer.token(s, alg="RS256")).status_code == 401
        assert ask(s, issuer.token(s, alg="ES256")).status_code == 401
        assert ask(s, issuer.token(s, alg="EdDSA", header={"kid": None})).status_code == 200


@pytest.mark.parametrize("words", [
    ["--oauth-issuer", "http://issuer.example"], ["--oauth-issuer", "issuer.example"],
    ["--oauth-issuer", "https://a@b.example"], ["--oauth-issuer", "https://"],
    ["--oauth-issuer", "https://x.example/?q"], ["--oauth-issuer", "http://127.0.0.1.evil.example"],
    ["--oauth-issuer", "https://" + "x" * 600], ["--oauth-vault", "a"],
    ["--oauth-issuer", "https://x.example", "--behind-proxy"],
    ["--oauth-issuer", "https://x.example", "--public-url", "https://h/" + "x" * 400]])
def test_options_that_cannot_be_meant_are_told(cloche, vault, words):
    import subprocess
    tried = subprocess.run([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0",
                            *words], capture_output=True, text=True, timeout=60)
    assert tried.returncode == 2 and not tried.stdout
    assert "--oauth-" in tried.stderr or "--public-url" in tried.stderr


def test_no_token_stands_in_a_log_or_the_audit(cloche, vault, issuer, tmp_path):
    with open(tmp_path / "log", "w+") as log, \
            serve(cloche, vault, issuer, stderr=log) as s:
        good = issuer.token(s, scope="read audit")
        assert ask(s, good).status_code == 200
        wrong = issuer.token(s, key=OTHER)
        assert s.post(request("ping"), bearer(wrong)).status_code == 401
        s.stop()
        log.seek(0)
        told = log.read()
        for token in (good, wrong):
            assert token not in told and token.rpartition(".")[2] not in told
