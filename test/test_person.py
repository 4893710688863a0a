"""The page on which a person decides: who gets in, and what is done there."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from packages import package
from wire import Server, Stdio, call

from test_permissions import hello, lay_out, link, read_note, run, text_of, trail, wait_for

assert link  # what lay_out() is made with


@pytest.fixture(scope="module")
def program(cloche, tmp_path_factory):
    return lay_out(tmp_path_factory.mktemp("program"), cloche)


@pytest.fixture
def page(program, vault):
    with Server([program, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"],
                stderr=subprocess.PIPE) as server:
        greeting = server.process.stderr.readline()
        server.link = re.search(r"/person#(\S+)", greeting)[1]
        server.person = {"Origin": server.url}
        yield server
        server.process.stderr.close()


def enter(server, link, **headers):
    return server.http.post("/person/enter", json={"link": link},
                            headers=server.person | headers)


@pytest.fixture
def seat(page):
    """Who came by the link: the headers that the page sends; the client keeps the cookie."""
    answer = enter(page, page.link)
    assert answer.status_code == 200
    return page.person | {"X-Cloche-Key": answer.json()["key"]}


def test_a_link_is_good_once(page, program):
    answer = enter(page, page.link)
    cookie = answer.headers["Set-Cookie"]
    for part in ("HttpOnly", "SameSite=Strict", "Path=/person", "Max-Age="):
        assert part in cookie
    assert page.link not in answer.text + cookie
    assert enter(page, page.link).status_code == 403
    another = run(program, "approvals", "link").strip().rpartition("#")[2]
    assert enter(page, another).status_code == 200
    assert enter(page, another).status_code == 403
    assert enter(page, "../../policy").status_code == 403


def test_cookie_and_key_are_both_needed(page, seat):
    assert page.http.get("/person/state", headers=seat).status_code == 200
    assert page.http.get("/person/state").status_code == 401
    wrong = seat | {"X-Cloche-Key": "x" * 43}
    assert page.http.get("/person/state", headers=wrong).status_code == 401
    page.http.cookies.clear()
    assert page.http.get("/person/state", headers=seat).status_code == 401


@pytest.mark.parametrize("headers", [{"Origin": "http://127.0.0.1:1"}, {"Origin": "null"},
                                     {"Sec-Fetch-Site": "cross-site"},
                                     {"Sec-Fetch-Site": "same-site"},
                                     {"X-Forwarded-For": "10.0.0.1"}])
def test_only_the_page_itself_may_ask(page, seat, headers):
    answer = page.http.post("/person/permit", json={"tool": "reader", "permission": "always"},
                            headers=seat | headers)
    assert answer.status_code == (401 if "X-Forwarded-For" in headers else 403)
    del seat["Origin"]
    answer = page.http.post("/person/permit", json={"tool": "reader", "permission": "always"},
                            headers=seat)
    assert answer.status_code == 403


def test_no_token_opens_it(page, program):
    token = run(program, "token", "create", "agent", "--vault", "*",
                "--scope", "read,write,evaluate,audit").split()[0]
    for headers in ({"Authorization": f"Bearer {token}"}, {"X-API-Key": token}):
        assert page.http.get("/person/state", headers=headers).status_code == 401
        assert page.http.post("/person/permit", json={}, headers=page.person | headers
                              ).status_code == 401


def test_no_code_reaches_it(page):
    session = page.session()
    code = (f"try {{ await fetch('{page.url}/person/state'); return 'in'; }}"
            " catch (e) { return e.name; }")
    answer = page.post(call("evaluate_note_code", {"code": code, "enableNetwork": True}),
                       headers=session)
    assert '"in"' not in answer.text
    script = "try { host.call('GET', '/person/state'); return 'in'; } catch (e) { return e.status; }"
    answer = page.post(call("run_script", {"script": script}), headers=session)
    assert '"in"' not in answer.text


def test_a_person_decides_and_it_is_recorded(page, seat, program, vault):
    with Stdio([program, "mcp", "--vault", str(vault)]) as client:
        client.ask(hello())
        client.send(read_note(words=["<b>x</b>\u202e"]))
        [entry] = wait_for(program, 1)
        [shown] = page.http.get("/person/state", headers=seat).json()["approvals"]
        assert shown["id"] == entry["id"] and "\\u{202e}" in shown["text"]
        said = {"id": entry["id"], "allow": True, "remember": "session"}
        assert page.http.post("/person/decide", json=said, headers=seat).status_code == 200
        assert page.http.post("/person/decide", json=said, headers=seat).status_code in (404, 409)
        assert "Permission denied" not in text_of(client.receive())
        assert "Permission denied" not in text_of(client.ask(read_note(6, ["other"])))
    assert {"page opened", "decision", "approval"} <= {r["event"] for r in trail(vault)}


def test_a_call_that_the_policy_keeps_is_decided_there(page, seat, program, vault):
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "cloche"
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    (folder / "policy.json").write_text('{"confirm": ["notes.update"]}')
    (vault / "q").mkdir()
    (vault / "q" / "junk.md").write_text("# Old title\n\nwords\n")
    with Stdio([program, "mcp", "--vault", str(vault)]) as client:
        client.ask(hello())
        client.send(call("update_note", {"identifier": "q/junk", "content": "new",
                                         "force": True}, id=5))
        [entry] = wait_for(program, 1)
        [shown] = page.http.get("/person/state", headers=seat).json()["approvals"]
        assert shown["question"] == "May notes.update be called?" and shown["kind"] == "call"
        assert "which says it is 'test 1' (claimed)" in shown["caller"]
        assert "Old title" in shown["text"] and "+new" in shown["text"]
        said = {"id": entry["id"], "allow": True, "remember": "always"}
        assert page.http.post("/person/decide", json=said, headers=seat).status_code == 400
        said["remember"] = "call"
        assert page.http.post("/person/decide", json=said, headers=seat).status_code == 200
        while (answer := client.receive()).get("id") != 5:
            pass
        assert not answer["result"]["isError"]
    assert "new" in (vault / "q" / "junk.md").read_text()


def test_a_tools_permission_is_set_there(page, seat, program):
    tools = {t["name"]: t for t in page.http.get("/person/state", headers=seat).json()["tools"]}
    assert tools["reader"]["permission"] == "ask" and tools["base64"]["permission"] == "always"
    said = {"tool": "reader", "permission": "never"}
    assert page.http.post("/person/permit", json=said, headers=seat).status_code == 200
    shown = json.loads(run(program, "policy", "show", "--json"))["policy"]["tools"]
    assert shown["permissions"] == {"reader": "never"}
    for wrong in ({"tool": "reader"}, {"tool": "../x", "permission": "ask"}, [], "x"):
        assert page.http.post("/person/permit", json=wrong, headers=seat).status_code == 400


def test_a_tool_is_disabled_and_enabled_there(page, seat, vault):
    for on in (False, True):
        said = {"tool": "reader", "enabled": on}
        assert page.http.post("/person/switch", json=said, headers=seat).status_code == 200
        tools = {t["name"]: t for t in page.http.get("/person/state", headers=seat).json()["tools"]}
        assert tools["reader"]["enabled"] == on
    assert {("tool disable", "page"), ("tool enable", "page")} <= {
        (r["event"], r.get("caller")) for r in trail(vault)}
    said = {"tool": "no-such", "enabled": True}
    assert page.http.post("/person/switch", json=said, headers=seat).status_code == 404


def give(page, seat, zip, words="", **headers):
    return page.http.post(f"/person/install{words}", content=zip,
                          headers=seat | {"Content-Type": "application/zip"} | headers)


def test_a_tool_is_installed_there_from_a_zip(page, seat, program, vault):
    assert give(page, seat, package({"name": "idler"})).status_code == 200
    newer = package({"name": "idler", "version": "2.0.0"})
    answer = give(page, seat, newer)
    assert answer.status_code == 409
    assert answer.json()["tool"] == {"name": "idler", "version": "2.0.0"}
    assert json.loads(run(program, "tool", "show", "idler", "--json"))["version"] == "1.0.0"
    assert give(page, seat, newer, "?replace=yes").status_code == 200
    assert json.loads(run(program, "tool", "show", "idler", "--json"))["version"] == "2.0.0"
    tools = {t["name"]: t for t in page.http.get("/person/state", headers=seat).json()["tools"]}
    assert tools["idler"]["source"] == "user" and tools["idler"]["permission"] == "ask"
    done = [r for r in trail(vault) if r["event"] == "tool install" and r["caller"] == "page"]
    assert [(r["why"], r["version"]) for r in done] == [("idler", "1.0.0"), ("idler", "2.0.0")]


def test_a_zip_that_is_none_is_refused_in_the_loaders_words(page, seat, program, tmp_path):
    for wrong in (b"", b"no ZIP at all", package({"name": "idler", "category": None}),
                  package({"name": "idler"}, wasm=b"\0asm")):
        (tmp_path / "wrong.zip").write_bytes(wrong)
        told = run(program, "tool", "install", str(tmp_path / "wrong.zip"), code=2)
        answer = give(page, seat, wrong)
        assert 400 <= answer.status_code < 500 and answer.json()["error"] in told
    assert "idler" not in run(program, "tool", "list")


def test_what_a_zip_says_is_spelt_out(page, seat, program, tmp_path):
    zip = package({"name": "idler", "version": "1\u202e"})
    assert give(page, seat, zip).json()["tool"]["version"] == "1\\u{202e}"
    (tmp_path / "tool.zip").write_bytes(zip)
    assert "\\u{202e}" in run(program, "tool", "install", "--update", str(tmp_path / "tool.zip"))


def test_only_the_page_itself_installs(page, seat, program):
    zip = package({"name": "idler"})
    assert give(page, seat, zip, **{"Origin": "http://127.0.0.1:1"}).status_code == 403
    assert give(page, seat, zip, **{"X-Cloche-Key": "x" * 43}).status_code == 401
    assert give(page, seat, zip, **{"Content-Type": "text/plain"}).status_code == 400
    answer = give(page, seat, bytes((16 << 20) + 1))
    assert answer.status_code == 413 and answer.json()["error"]
    page.http.cookies.clear()
    assert give(page, seat, zip).status_code == 401
    assert "idler" not in run(program, "tool", "list")


def test_who_leaves_is_out(page, seat):
    assert page.http.post("/person/leave", json={}, headers=seat).status_code == 200
    assert page.http.get("/person/state", headers=seat).status_code == 401


def test_nothing_frames_it_or_runs_beside_it(page):
    for path in ("/person", "/person/page.js", "/person/page.css", "/person/state"):
        headers = page.http.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and headers["Cache-Control"] == "no-store"
    text = page.http.get("/person").text
    assert not re.search(r"<script>|\son\w+=|style=", text)


def test_a_server_that_wants_tokens_still_lets_its_person_in(program, vault):
    with Server([program, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0",
                 "--require-token"], stderr=subprocess.DEVNULL) as server:
        assert server.http.get("/person").status_code == 200
        assert server.http.get("/personal").status_code == 401
        assert server.http.get("/person/state").status_code == 401
