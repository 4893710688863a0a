"""Access over HTTP: tokens, exceptions from them, limits, and revoking."""
import json
import os
import re
import socket
import ssl
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from test_network import self_signed
from wire import Server, call, initialize, request, until


def make_token(cloche, name, *words):
    words += ("--unregistered",)  # what a server is given need not be registered
    made = subprocess.run([cloche, "token", "create", name, *words], capture_output=True,
                          text=True, timeout=60)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def revoke(cloche, name):
    subprocess.run([cloche, "token", "revoke", name], check=True, timeout=60)


def serve(cloche, vault, *words):
    return Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0", *words])


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def closed(cloche, vault):
    """A server that requires a token of everybody."""
    with serve(cloche, vault, "--require-token") as s:
        yield s


def evaluate(server, code, headers=None):
    answer = server.post(call("evaluate_note_code", {"code": code}, modern=True), headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]["structuredContent"]


# ---- who needs a token ----


def test_this_machine_needs_none_unless_asked(server, closed):
    ping = request("ping")
    assert server.post(ping).status_code == 200
    answer = closed.post(ping)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert "cloche token create" in answer.json()["error"]["message"]
    assert closed.http.get("/metrics").status_code == 401


@pytest.mark.parametrize("header", [
    {"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=127.0.0.1"}, {"Via": "1.1 proxy"},
    {"X-Real-IP": "127.0.0.1"}])
def test_what_came_through_a_proxy_is_not_from_this_machine(server, header):
    answer = server.post(request("ping"), header)
    assert answer.status_code == 401


def test_a_proxy_that_was_told_of_needs_tokens_for_all(cloche, vault):
    token = make_token(cloche, "ci")
    with serve(cloche, vault, "--behind-proxy") as s:
        assert s.post(request("ping")).status_code == 401
        forwarded = {"X-Forwarded-For": "203.0.113.9"}
        assert s.post(request("ping"), forwarded).status_code == 401
        assert s.post(request("ping"), forwarded | bearer(token)).status_code == 200


def test_it_does_not_start_open_to_the_network(cloche, vault):
    for address in ("0.0.0.0:0", "[::]:0", "192.0.2.1:0"):
        tried = subprocess.run([cloche, "serve", "--vault", str(vault), "--listen", address],
                               capture_output=True, text=True, timeout=60)
        assert tried.returncode == 2 and not tried.stdout
        assert "--behind-proxy" in tried.stderr, tried.stderr


def test_a_name_of_its_own_is_accepted_in_host(cloche, vault):
    token = make_token(cloche, "ci")
    with serve(cloche, vault, "--behind-proxy", "--public-url", "https://notes.example/x",
               "--allow-host", "other.example") as s:
        for host, status in (("notes.example", 200), ("other.example", 200),
                             ("evil.example", 403)):
            answer = s.post(request("ping"), bearer(token) | {"Host": host})
            assert answer.status_code == status


@pytest.mark.parametrize("words", [
    ("--allow-host", "https://x.example"), ("--allow-host", "*.x.example"), ("--allow-host", ""),
    ("--allow-origin", "x.example"), ("--allow-origin", "https://x.example/"),
    ("--allow-origin", "https://"), ("--allow-origin", "*")])
def test_a_name_that_no_client_can_have_is_told(cloche, vault, words):
    tried = subprocess.run([cloche, "serve", "--vault", str(vault), *words],
                           capture_output=True, text=True, timeout=60)
    assert tried.returncode == 2 and words[0] in tried.stderr and "accepted" in tried.stderr


@pytest.mark.parametrize("url", ["http://x.example", "notes.example", "https://",
                                 "https://a@b.example", "https:///x", "https://a?b"])
def test_a_public_url_that_is_none_is_told(cloche, vault, url):
    tried = subprocess.run([cloche, "serve", "--vault", str(vault), "--public-url", url],
                           capture_output=True, text=True, timeout=60)
    assert tried.returncode == 2 and "--public-url" in tried.stderr


@pytest.mark.parametrize("address", ["127.0.0.1:0", "0.0.0.0:0"])
def test_with_a_certificate_it_speaks_tls_and_others_need_tokens(
        cloche, vault, tmp_path, address):
    token, pem = make_token(cloche, "ci"), str(self_signed(tmp_path))
    process = subprocess.Popen(
        [cloche, "serve", "--vault", str(vault), "--listen", address, "--tls-cert", pem,
         "--tls-key", pem, "--public-url", "https://localhost"], stdout=subprocess.PIPE,
        text=True)
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("https://")
        url = f"https://localhost:{url.rpartition(':')[2]}"
        local = 200 if address.startswith("127") else 401
        with httpx.Client(base_url=url, trust_env=False, headers={"Host": "localhost"},
                          verify=ssl.create_default_context(cafile=pem)) as client:
            for headers, status in (({}, local), (bearer(token), 200), (bearer("x"), 401)):
                answer = client.post("/mcp", json=request("ping"), headers=headers)
                assert answer.status_code == status
        with pytest.raises(httpx.HTTPError):
            httpx.post(url.replace("https", "http") + "/mcp", json=request("ping"),
                       trust_env=False)
    finally:
        process.terminate()
        process.wait(60)


def test_a_certificate_and_its_key_go_together(cloche, vault, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir(), two.mkdir()
    pem, other = str(self_signed(one)), str(self_signed(two))
    for words in (["--tls-cert", pem], ["--tls-key", pem],
                  ["--tls-cert", pem, "--tls-key", other],
                  ["--tls-cert", pem + "x", "--tls-key", pem]):
        tried = subprocess.run([cloche, "serve", "--vault", str(vault), *words],
                               capture_output=True, text=True, timeout=60)
        assert tried.returncode != 0 and tried.stderr and not tried.stdout


# ---- what is a token ----


def test_it_comes_in_either_header_and_in_no_other_way(cloche, closed):
    token = make_token(cloche, "ci")
    ping = request("ping")
    assert closed.post(ping, bearer(token)).status_code == 200
    assert closed.post(ping, {"Authorization": f"bearer  {token}"}).status_code == 200
    assert closed.post(ping, {"X-API-Key": token}).status_code == 200
    assert closed.post(ping, {"Authorization": token}).status_code == 401
    assert closed.post(ping, {"Authorization": f"Basic {token}"}).status_code == 401
    assert closed.post(ping, {"Cookie": f"token={token}"}).status_code == 401
    assert closed.post(ping, bearer(token) | {"X-API-Key": token}).status_code == 400
    in_url = closed.http.post(f"/mcp?access_token={token}", json=ping)
    assert in_url.status_code == 400 and "URL" in in_url.text
    assert closed.http.post(f"/mcp?token={token}", json=ping).status_code == 401


def test_whether_it_answers_is_told_to_everybody(cloche, vault):
    with serve(cloche, vault, "--require-token") as server:
        answer = server.http.get("/healthz")
        assert (answer.status_code, answer.text) == (200, "ok\n")
        assert server.http.head("/healthz").status_code == 200
        assert server.http.post("/healthz", json={}).status_code == 405
        assert server.http.get("/healthz", headers={"Host": "evil.example"}).status_code == 403
        assert server.http.get("/metrics").status_code == 401
        lead = server.http.get("/")
        assert lead.status_code == 200 and "<!doctype html>" in lead.text
        assert server.http.get("/", headers={"X-Forwarded-For": "192.0.2.1"}).status_code == 401


def test_a_wrong_one_is_refused_on_this_machine_too(cloche, server):
    token = make_token(cloche, "ci")
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    for text in (wrong, "x", token + "x", "cloche_"):
        answer = server.post(request("ping"), bearer(text))
        assert answer.status_code == 401, text
    assert answer.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
    assert server.post(request("ping"), bearer(token)).status_code == 200


def test_without_an_issuer_no_oauth_document_is_published(closed, server):
    for s in (closed, server):
        for path in ("oauth-protected-resource", "oauth-protected-resource/mcp",
                     "oauth-authorization-server", "openid-configuration"):
            answer = s.http.get(f"/.well-known/{path}")
            assert answer.status_code in (401, 404)
            assert "resource_metadata" not in answer.headers.get("WWW-Authenticate", "")


def test_a_revoked_one_is_refused_at_once(cloche, closed):
    token = make_token(cloche, "ci")
    assert closed.post(request("ping"), bearer(token)).status_code == 200
    revoke(cloche, "ci")
    assert closed.post(request("ping"), bearer(token)).status_code == 401


def test_what_a_revoked_one_has_running_is_stopped(cloche, closed):
    token = make_token(cloche, "ci")
    other = make_token(cloche, "other")
    slow = call("evaluate_note_code", {"code": "await sleep(50000); return 1"}, modern=True)
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
               "Mcp-Name": "evaluate_note_code"}
    with closed.send_post(slow, headers | bearer(token)) as mine, \
            closed.send_post(slow, headers | bearer(other)) as theirs:
        revoke(cloche, "ci")
        mine.settimeout(20)
        assert b"Cancelled" in mine.recv(65536) or mine.recv(1) == b""
        theirs.settimeout(0.2)
        with pytest.raises(socket.timeout):
            theirs.recv(1)


def test_what_a_revoked_one_has_running_in_a_session_is_stopped(cloche, closed):
    token = make_token(cloche, "ci")
    session = {"Mcp-Session-Id": closed.post(initialize(), bearer(token))
               .headers["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-11-25"}
    slow = call("evaluate_note_code", {"code": "await sleep(50000); return 1"})
    with closed.send_post(slow, session | bearer(token)) as mine:
        revoke(cloche, "ci")
        mine.settimeout(20)
        assert b"Cancelled" in mine.recv(65536) or mine.recv(1) == b""
    assert closed.post(request("ping"), session | bearer(token)).status_code == 401


def test_a_task_of_a_revoked_one_is_stopped(cloche, closed):
    token, other = make_token(cloche, "ci"), make_token(cloche, "other", "--scope", "audit")
    slow = call("evaluate_note_code", {"code": "await sleep(50000); return 1"}, modern=True)
    slow["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = {
        "extensions": {"io.modelcontextprotocol/tasks": {}}}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
               "Mcp-Name": "evaluate_note_code"}
    answer = closed.post(slow, headers | bearer(token)).json()
    assert answer["result"]["resultType"] == "task"
    revoke(cloche, "ci")
    calls = re.compile(r"^cloche_tool_calls_total\{.*\} 1$", re.M)
    ended = until(lambda: calls.search(closed.http.get("/metrics", headers=bearer(other)).text))
    assert 'outcome="cancelled"' in ended[0]


def test_a_stream_of_a_revoked_one_ends(cloche, closed):
    token = make_token(cloche, "ci")
    session = {"Mcp-Session-Id": closed.post(initialize(), bearer(token))
               .headers["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-11-25",
               "Accept": "text/event-stream"}
    with closed.http.stream("GET", "/mcp", headers=session | bearer(token)) as stream:
        assert stream.status_code == 200
        revoke(cloche, "ci")
        try:
            for _ in stream.iter_raw():
                pass
        except httpx.HTTPError:
            pass


@pytest.mark.parametrize("take_away", ["revoke", "expire"])
def test_what_somebody_listens_on_ends_with_his_token(cloche, closed, take_away):
    token = make_token(cloche, "ci")
    listen = request("subscriptions/listen", {"notifications": {"toolsListChanged": True}},
                     modern=True)
    headers = {"Accept": "text/event-stream", "MCP-Protocol-Version": "2026-07-28",
               "Mcp-Method": "subscriptions/listen"} | bearer(token)
    if take_away == "expire":
        expire(time.time() + 3)
    with closed.http.stream("POST", "/mcp", headers=headers, json=listen) as stream:
        chunks = stream.iter_raw()
        assert b"acknowledged" in next(chunks)
        if take_away == "revoke":
            revoke(cloche, "ci")
        began = time.monotonic()
        try:
            assert not any(b"result" in chunk for chunk in chunks)
        except httpx.HTTPError:
            pass
        assert time.monotonic() - began < 30


def tokens_file():
    return Path(os.environ["XDG_CONFIG_HOME"]) / "cloche" / "tokens.json"


def expire(when):
    kept = json.loads(tokens_file().read_text())
    kept["tokens"][0]["expires"] = int(1000 * when)
    tokens_file().write_text(json.dumps(kept))


def test_an_expired_one_is_refused_and_told_so(cloche, closed):
    token = make_token(cloche, "ci")
    expire(1)
    answer = closed.post(request("ping"), bearer(token))
    assert answer.status_code == 401 and "expired" in answer.text


def test_a_damaged_file_lets_no_token_in_until_it_is_mended(cloche, closed, server):
    token = make_token(cloche, "ci")
    kept = tokens_file().read_text()
    tokens_file().write_text(kept[:-10])
    assert closed.post(request("ping"), bearer(token)).status_code == 401
    assert server.post(request("ping")).status_code == 200
    tokens_file().write_text(kept)
    assert closed.post(request("ping"), bearer(token)).status_code == 200


def test_a_file_that_others_could_have_written_lets_no_token_in(cloche, closed):
    token = make_token(cloche, "ci")
    assert closed.post(request("ping"), bearer(token)).status_code == 200
    for mode in (0o666, 0o620, 0o602):
        tokens_file().chmod(mode)
        assert closed.post(request("ping"), bearer(token)).status_code == 401
    tokens_file().chmod(0o600)
    assert closed.post(request("ping"), bearer(token)).status_code == 200
    if os.geteuid() == 0:
        os.chown(tokens_file(), 65534, 65534)
        assert closed.post(request("ping"), bearer(token)).status_code == 401


def test_its_use_is_noted_and_its_name_stands_in_the_audit(cloche, closed, vault):
    token = make_token(cloche, "ci")
    assert evaluate(closed, "1", bearer(token))["success"]
    listed = subprocess.run([cloche, "token", "list", "--json"], capture_output=True, text=True)
    assert json.loads(listed.stdout)[0]["last_used"]
    told = subprocess.run([cloche, "audit", "--vault", str(vault), "--json"],
                          capture_output=True, text=True)
    last = [json.loads(line) for line in told.stdout.splitlines()][-1]
    assert last["caller"] == "http token ci"


def test_who_was_not_let_in_stands_in_the_users_trail(cloche, closed):
    for _ in range(20):
        closed.post(request("ping"), bearer("cloche_wrong"))
    told = subprocess.run([cloche, "audit", "--json"], capture_output=True, text=True)
    events = [json.loads(line) for line in told.stdout.splitlines()]
    refused = [e for e in events if e["event"] == "refused"]
    assert [e["caller"] for e in refused] == ["http 127.0.0.1"]
    assert "cloche_wrong" not in told.stdout
    assert subprocess.run([cloche, "audit", "--verify"], timeout=60).returncode == 0


def test_no_secret_is_logged(cloche, vault, tmp_path):
    token = make_token(cloche, "ci")
    with open(tmp_path / "log", "wb") as log:
        command = [cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        url = process.stdout.readline().strip()
        for text in (token, token[:-1], "cloche_" + "0" * 12 + "_" + "s" * 43):
            httpx.post(url + "/mcp", json=request("ping"), headers=bearer(text),
                       trust_env=False)
        process.terminate()
        process.wait(60)
    said = (tmp_path / "log").read_text()
    assert "127.0.0.1 was refused" in said
    assert token[20:30] not in said and "s" * 20 not in said


# ---- what it grants ----


def test_its_level_is_a_ceiling(cloche, closed):
    zero = make_token(cloche, "zero", "--level", "zero")
    answer = evaluate(closed, "await notes.create({type: 't', title: 'x'})", bearer(zero))
    assert answer["errorDetails"]["type"] == "PermissionDenied"
    answer = closed.post(call("evaluate_note_code", {"code": "1", "timeout": 10000},
                              modern=True), bearer(zero))
    assert "InvalidInput" in answer.text


def test_a_scope_that_is_lacking_is_told(cloche, closed):
    reader = bearer(make_token(cloche, "reader", "--scope", "read"))
    notes = closed.post(call("search_notes", {"query": "e"}, modern=True), reader)
    assert notes.status_code == 200 and not notes.json()["result"].get("isError")
    for name, arguments, scope in (
            ("create_note", {"type": "t", "title": "x", "content": ""}, "write"),
            ("evaluate_note_code", {"code": "1"}, "evaluate")):
        for how in ({"modern": True}, {}):
            answer = closed.post(call(name, arguments, **how), reader)
            assert answer.status_code == 403 and f"'{scope}'" in answer.text, answer.text
            assert answer.headers["WWW-Authenticate"] == \
                f'Bearer error="insufficient_scope", scope="read {scope}"'
    runner = bearer(make_token(cloche, "runner", "--scope", "evaluate"))
    assert evaluate(closed, "1 + 1", runner)["result"] == 2
    denied = evaluate(closed, "await notes.list()", runner)
    assert denied["errorDetails"]["type"] == "PermissionDenied"


def test_metrics_are_for_the_person_and_for_auditors(cloche, closed, server):
    usual = bearer(make_token(cloche, "usual"))
    auditor = bearer(make_token(cloche, "auditor", "--scope", "audit"))
    narrow = bearer(make_token(cloche, "narrow", "--scope", "audit", "--vault", "vault"))
    assert server.http.get("/metrics").status_code == 200
    assert closed.http.get("/metrics", headers=auditor).status_code == 200
    for headers in (usual, narrow):
        answer = closed.http.get("/metrics", headers=headers)
        assert answer.status_code == 403
        assert 'error="insufficient_scope"' in answer.headers["WWW-Authenticate"]


# ---- limits ----


def test_a_caller_over_its_rate_is_told_to_wait_and_others_are_not(cloche, vault):
    a, b = bearer(make_token(cloche, "a")), bearer(make_token(cloche, "b"))
    with serve(cloche, vault, "--caller-rate", "1") as s:
        codes = [s.post(request("ping"), a).status_code for _ in range(20)]
        assert codes[:2] == [200, 200] and 429 in codes
        refused = next(r for r in (s.post(request("ping"), a) for _ in range(20))
                       if r.status_code == 429)
        assert int(refused.headers["Retry-After"]) >= 1
        assert refused.json()["error"]["code"] == -32005
        assert s.post(request("ping"), b).status_code == 200
        # The local user has no such limit.
        assert all(s.post(request("ping")).status_code == 200 for _ in range(20))


def test_each_message_of_a_batch_counts_for_the_rate(cloche, vault):
    a, b = bearer(make_token(cloche, "a")), bearer(make_token(cloche, "b"))
    batch = [request("ping", id=i) for i in range(60)]
    with serve(cloche, vault, "--caller-rate", "1") as s:
        old = {"MCP-Protocol-Version": "2025-03-26"}
        assert len(s.post(batch, a | old).json()) == 60
        refused = s.post(request("ping"), a)
        assert refused.status_code == 429 and int(refused.headers["Retry-After"]) >= 1
        assert s.post(batch, a | old).status_code == 429
        assert s.post(request("ping"), b).status_code == 200
        assert all(s.post(batch, old).status_code == 200 for _ in range(3))  # the local user's


def test_a_caller_runs_only_so_much_at_a_time(cloche, vault):
    a, b = bearer(make_token(cloche, "a")), bearer(make_token(cloche, "b"))
    slow = call("evaluate_note_code", {"code": "await sleep(50000); return 1"}, modern=True)
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
               "Mcp-Name": "evaluate_note_code"}
    with serve(cloche, vault, "--caller-running", "1") as s:
        with s.send_post(slow, headers | a):
            while s.post(request("ping"), a).status_code == 200:
                pass  # until the slow one has arrived
            assert s.post(request("ping"), a).status_code == 429
            assert s.post(request("ping"), b).status_code == 200
        while s.post(request("ping"), a).status_code != 200:
            pass  # until its end is seen


def test_wrong_tokens_are_slowed_down_and_right_ones_are_not(cloche, closed):
    token = make_token(cloche, "ci")
    codes = [closed.post(request("ping"), bearer("cloche_x")).status_code for _ in range(30)]
    assert codes[:10] == [401] * 10 and 429 in codes
    assert closed.post(request("ping"), bearer(token)).status_code == 200


@pytest.mark.parametrize("words", [["--caller-rate", "0"], ["--caller-rate", "x"],
                                   ["--caller-running", "-1"]])
def test_a_limit_that_is_none_is_told(cloche, vault, words):
    tried = subprocess.run([cloche, "serve", "--vault", str(vault), *words],
                           capture_output=True, text=True, timeout=60)
    assert tried.returncode == 2 and words[0] in tried.stderr


def test_one_callers_flood_leaves_workers_for_others(cloche, vault):
    a, b = bearer(make_token(cloche, "a")), bearer(make_token(cloche, "b"))
    slow = call("evaluate_note_code", {"code": "await sleep(50000); return 1"}, modern=True)
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
               "Mcp-Name": "evaluate_note_code"}
    with serve(cloche, vault) as s:
        flood = [s.send_post(slow, headers | a) for _ in range(60)]
        try:
            # All requests have arrived: a 61st would wait behind them.
            for _ in range(5):
                assert evaluate(s, "1 + 1", b)["result"] == 2
        finally:
            for connection in flood:
                connection.close()


def test_without_a_place_for_tokens_it_serves_this_machine_and_nobody_else(cloche, vault):
    token = make_token(cloche, "ci")
    folder = tokens_file().parent
    folder.chmod(0o777)
    try:
        with serve(cloche, vault) as s:
            assert s.post(request("ping")).status_code == 200
            assert s.post(request("ping"), bearer(token)).status_code == 401
    finally:
        folder.chmod(0o700)
