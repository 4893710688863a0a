"""The page on which a user decides: access, and its functions."""

import json
import os
import re
import subprocess
import threading
import time
from pathlib import Path

import pytest
from packages import package
from wire import Server, Stdio, call

from test_permissions import hello, lay_out, link, read_note, run, text_of, trail, wait_for, waiting

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
    for part in ("HttpOnly", "SameSite=Strict", "Path=/person", "Max-Age=2592000"):
        assert part in cookie
    assert page.link not in answer.text + cookie
    assert enter(page, page.link).status_code == 403
    another = run(program, "approvals", "link").strip().rpartition("#")[2]
    assert enter(page, another).status_code == 200
    assert enter(page, another).status_code == 403
    assert enter(page, "../../policy").status_code == 403


def test_wrong_links_fill_no_disk(page, program):
    began = time.monotonic()
    for i in range(200):
        assert enter(page, f"wrong {i}").status_code == 403
    seconds = int(time.monotonic() - began) + 1
    told = run(program, "audit", "--own", "--json", "--limit", "1000").splitlines()
    refused = [r for r in map(json.loads, told) if r["event"] == "page refused"]
    assert 1 <= len(refused) <= seconds + 1


def test_cookie_and_key_are_both_needed(page, seat):
    assert page.http.get("/person/today", headers=seat).status_code == 200
    assert page.http.get("/person/today").status_code == 401
    wrong = seat | {"X-Cloche-Key": "x" * 43}
    assert page.http.get("/person/today", headers=wrong).status_code == 401
    page.http.cookies.clear()
    assert page.http.get("/person/today", headers=seat).status_code == 401


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
    token = run(program, "token", "create", "agent", "--vault", "*", "--unregistered",
                "--scope", "read,write,evaluate,audit").split()[0]
    for headers in ({"Authorization": f"Bearer {token}"}, {"X-API-Key": token}):
        assert page.http.get("/person/today", headers=headers).status_code == 401
        assert page.http.post("/person/permit", json={}, headers=page.person | headers
                              ).status_code == 401


def test_no_code_reaches_it(page):
    session = page.session()
    code = (f"try {{ await fetch('{page.url}/person/today'); return 'in'; }}"
            " catch (e) { return e.name; }")
    answer = page.post(call("evaluate_note_code", {"code": code, "enableNetwork": True}),
                       headers=session)
    assert '"in"' not in answer.text
    script = "try { host.call('GET', '/person/today'); return 'in'; } catch (e) { return e.status; }"
    answer = page.post(call("run_script", {"script": script}), headers=session)
    assert '"in"' not in answer.text


def test_a_person_decides_and_it_is_recorded(page, seat, program, vault):
    with Stdio([program, "mcp", "--vault", str(vault)]) as client:
        client.ask(hello())
        client.send(read_note(words=["<b>x</b>\u202e"]))
        [entry] = wait_for(program, 1)
        [shown] = page.http.get("/person/approvals", headers=seat).json()["approvals"]
        # As it was asked for: the page itself spells control characters out.
        assert shown["id"] == entry["id"] and "<b>x</b>\\u202e" in json.dumps(shown["shown"])
        said = {"id": entry["id"], "allow": True, "remember": "session"}
        assert page.http.post("/person/decide", json=said, headers=seat).status_code == 200
        assert page.http.post("/person/decide", json=said, headers=seat).status_code in (404, 409)
        assert "Permission denied" not in text_of(client.receive())
        assert "Permission denied" not in text_of(client.ask(read_note(6, ["other"])))
    assert {"page opened", "decision", "approval"} <= {r["event"] for r in trail(vault)}


def test_an_agent_is_told_why_it_was_denied(page, seat, program, vault):
    with Stdio([program, "mcp", "--vault", str(vault)]) as client:
        client.ask(hello())
        client.send(read_note(words=["a"]))
        [entry] = wait_for(program, 1)
        said = {"id": entry["id"], "allow": False, "reason": "use\nthe other note"}
        wrong = page.http.post("/person/decide", json=said | {"allow": True}, headers=seat)
        assert wrong.status_code == 400
        long = page.http.post("/person/decide", json=said | {"reason": "x" * 301}, headers=seat)
        assert long.status_code == 400
        assert page.http.post("/person/decide", json=said, headers=seat).status_code == 200
        told = text_of(client.receive())
        assert "did not allow it, for this reason: 'use the other note'" in told


def test_a_person_edits_the_arguments(page, seat, program, vault):
    with Stdio([program, "mcp", "--vault", str(vault)]) as client:
        client.ask(hello())
        client.send(read_note(words=["a"]))
        [entry] = wait_for(program, 1)
        [shown] = page.http.get("/person/approvals", headers=seat).json()["approvals"]
        assert shown["arguments"] == {"args": ["a"]}
        said = {"id": entry["id"], "arguments": {"args": ["b"]}}
        wrong = page.http.post("/person/decide", json=said | {"arguments": "text"}, headers=seat)
        assert wrong.status_code == 400
        assert page.http.post("/person/decide", json=said, headers=seat).status_code == 200
        while [w["id"] for w in waiting(program)] in ([], [entry["id"]]):
            pass
        [second] = waiting(program)
        assert second["arguments"] == {"args": ["b"]}
        page.http.post("/person/decide", json={"id": second["id"], "allow": True}, headers=seat)
        assert "A person changed the arguments" in json.dumps(client.receive())
    assert "edited" in [r["result"] for r in trail(vault) if r["event"] == "decision"]


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
        [shown] = page.http.get("/person/approvals", headers=seat).json()["approvals"]
        assert shown["question"] == "May notes.update be called?" and shown["kind"] == "call"
        assert shown["client"]["name"] == "test" and shown["client"]["claimed"]
        assert "Old title" in str(shown["shown"]) and "+new" in str(shown["shown"])
        said = {"id": entry["id"], "allow": True, "remember": "always"}
        token = page.http.post("/person/decide", json=said, headers=seat).json()["confirm"]
        assert page.http.post("/person/decide", json=said | {"confirm": token},
                              headers=seat).status_code == 400
        said["remember"] = "call"
        assert page.http.post("/person/decide", json=said, headers=seat).status_code == 200
        while (answer := client.receive()).get("id") != 5:
            pass
        assert not answer["result"]["isError"]
    assert "new" in (vault / "q" / "junk.md").read_text()


def test_a_tools_permission_is_set_there(page, seat, program):
    tools = {t["name"]: t for t in page.http.get("/person/tools", headers=seat).json()["tools"]}
    assert tools["reader"]["permission"] == "ask" and tools["base64"]["permission"] == "always"
    said = {"tool": "reader", "permission": "never"}
    assert page.http.post("/person/permit", json=said, headers=seat).status_code == 200
    shown = json.loads(run(program, "policy", "show", "--json"))["policy"]["tools"]
    assert shown["permissions"] == {"reader": "never"}
    for wrong in ({"tool": "reader"}, {"tool": "../x", "permission": "ask"}, [], "x",
                  {"tool": "base64\0x", "permission": "never"}, {"permission": "never"},
                  {"tool": 1, "permission": "never"}, {"tool": "", "permission": "never"}):
        assert page.http.post("/person/permit", json=wrong, headers=seat).status_code == 400


def test_what_widens_a_permission_is_said_twice(page, seat, program):
    said = {"tool": "reader", "permission": "always"}
    answer = page.http.post("/person/permit", json=said, headers=seat)
    assert answer.status_code == 428 and "without asking you" in answer.json()["sentence"]
    again = said | {"confirm": answer.json()["confirm"]}
    other = again | {"tool": "writer"}
    assert page.http.post("/person/permit", json=other, headers=seat).status_code == 428
    answer = page.http.post("/person/permit", json=said, headers=seat)
    again = said | {"confirm": answer.json()["confirm"]}
    assert page.http.post("/person/permit", json=again, headers=seat).status_code == 200
    shown = json.loads(run(program, "policy", "show", "--json"))["policy"]["tools"]
    assert shown["permissions"] == {"reader": "always"}


def test_one_vault_has_settings_and_tools_of_its_own(page, seat, vault):
    [one] = page.http.get("/person/today", headers=seat).json()["vaults"]

    def tools(of):
        told = page.http.get("/person/tools", params={"vault": of}, headers=seat).json()
        return {t["name"]: t for t in told["tools"]}

    said = {"tool": "reader", "permission": "never", "vault": one["id"]}
    assert page.http.post("/person/permit", json=said, headers=seat).status_code == 200
    assert tools(one["id"])["reader"] | {"permission": "never", "from": "vault"} == \
        tools(one["id"])["reader"]
    assert tools("")["reader"]["permission"] == "ask"
    assert "never" in (vault / ".cloche/policy.json").read_text()
    package_of = package({"name": "idler"})
    assert give(page, seat, package_of, f"?vault={one['id']}").status_code == 200
    assert tools(one["id"])["idler"]["vault"] == one["id"] and "idler" not in tools("")
    said = {"tool": "idler", "vault": one["id"]}
    assert page.http.post("/person/remove", json={"tool": "idler"}, headers=seat).status_code == 404
    assert page.http.post("/person/remove", json=said, headers=seat).status_code == 200
    assert "idler" not in tools(one["id"])
    assert page.http.post("/person/remove", json={"tool": "reader"}, headers=seat).status_code == 400
    for deed, body in (("permit", {"tool": "reader", "permission": "ask"}),
                       ("switch", {"tool": "reader", "enabled": False}), ("remove", {"tool": "x"})):
        body["vault"] = "no-such"
        assert page.http.post(f"/person/{deed}", json=body, headers=seat).status_code == 404


def test_a_tool_is_tried_there(page, seat, program):
    [one] = page.http.get("/person/today", headers=seat).json()["vaults"]
    body = {"mode": "encode", "input": "a"}
    answer = page.http.post(f"/person/tools/base64?workspace={one['id']}", json=body, headers=seat)
    assert answer.status_code == 200 and answer.json()["stdout"] == "base64\nencode\na\n"
    assert page.http.post("/person/tools/base64", json=body).status_code == 403
    told = {t["name"]: t for t in page.http.get("/person/tools", headers=seat).json()["tools"]}
    mode, text = told["base64"]["parameters"]
    assert mode == {"name": "mode", "description": "Whether to encode or decode", "type": "string",
                    "choices": ["encode", "decode"], "required": True}
    assert text["required"] and told["base64"]["timeoutMs"] == 5000
    assert len(told["base64"]["sha256"]) == 64 and told["base64"]["files"] == "none"


def test_a_tool_is_disabled_and_enabled_there(page, seat, vault):
    for on in (False, True):
        said = {"tool": "reader", "enabled": on}
        assert page.http.post("/person/switch", json=said, headers=seat).status_code == 200
        tools = {t["name"]: t for t in page.http.get("/person/tools", headers=seat).json()["tools"]}
        assert tools["reader"]["enabled"] == on
    assert {("tool disable", "page"), ("tool enable", "page")} <= {
        (r["event"], r.get("caller")) for r in trail(vault)}
    said = {"tool": "reader\0x", "enabled": False}
    assert page.http.post("/person/switch", json=said, headers=seat).status_code == 400
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
    assert answer.json()["tool"] == {"name": "idler", "version": "2.0.0", "files": "none", "signer": ""}
    assert json.loads(run(program, "tool", "show", "idler", "--json"))["version"] == "1.0.0"
    assert give(page, seat, newer, "?replace=yes").status_code == 200
    assert json.loads(run(program, "tool", "show", "idler", "--json"))["version"] == "2.0.0"
    tools = {t["name"]: t for t in page.http.get("/person/tools", headers=seat).json()["tools"]}
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
    assert give(page, seat, bytes((16 << 20) + 1)).status_code == 400  # no ZIP
    answer = give(page, seat, bytes((50 << 20) + 1))
    assert answer.status_code == 413 and answer.json()["error"]
    answer = give(page, seat, bytes((16 << 20) + 1), **{"X-Cloche-Key": "x" * 43})
    assert answer.status_code == 413
    page.http.cookies.clear()
    assert give(page, seat, zip).status_code == 401
    assert "idler" not in run(program, "tool", "list")


def test_who_leaves_is_out(page, seat):
    assert page.http.post("/person/leave", json={}, headers=seat).status_code == 200
    assert page.http.get("/person/today", headers=seat).status_code == 401


def test_nothing_frames_it_or_runs_beside_it(page):
    text = page.http.get("/person").text
    assert not re.search(r"<script>|\son\w+=|style=", text)
    files = re.findall(r'"(/assets/[^"]+)"', text)
    assert any(f.endswith(".js") for f in files) and any(f.endswith(".css") for f in files)
    kept = {"/person/today": "no-store", "/person/today": "no-store", "/": "no-cache",
            "/review": "no-cache", "/person": "no-cache", "/assets/none.js": "no-store",
            **{f: "public, max-age=31536000, immutable" for f in files}}
    for path, cache in kept.items():
        headers = page.http.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and headers["Cache-Control"] == cache


def test_its_files_come_compressed_and_once(page):
    [script] = set(re.findall(r'"(/assets/main-[^"]+\.js)"', page.http.get("/").text))
    sizes = {}
    for coding in ("identity", "gzip", "br;q=1, gzip"):
        answer = page.http.get(script, headers={"Accept-Encoding": coding})
        told = answer.headers.get("Content-Encoding", "identity")
        sizes[told] = int(answer.headers["Content-Length"])
        again = page.http.get(script, headers={"Accept-Encoding": coding,
                                               "If-None-Match": answer.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert sizes["br"] < sizes["gzip"] < sizes["identity"]


def test_a_browser_is_known_at_the_next_server_until_it_leaves(page, seat, program, vault):
    cookie = page.http.cookies["cloche_person"]
    with Server([program, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"],
                stderr=subprocess.DEVNULL) as next_one:
        next_one.http.cookies.set("cloche_person", cookie)
        own = {"Origin": next_one.url}
        assert next_one.http.get("/person/today", headers=seat).status_code == 403
        assert next_one.http.get("/person/today", headers={
            "X-Cloche-Key": seat["X-Cloche-Key"]}).status_code == 401
        assert next_one.http.post("/person/enter", json={}).status_code == 403
        answer = next_one.http.post("/person/enter", json={}, headers=own)
        assert answer.status_code == 200 and "Set-Cookie" not in answer.headers
        own["X-Cloche-Key"] = answer.json()["key"]
        assert next_one.http.get("/person/today", headers=own).status_code == 200
        assert page.http.post("/person/leave", json={}, headers=seat).status_code == 200
        assert next_one.http.get("/person/today", headers=own).status_code == 401
        assert next_one.http.post("/person/enter", json={}, headers=own).status_code == 401


def test_always_is_said_twice(page, seat, program, vault):
    with Stdio([program, "mcp", "--vault", str(vault)]) as client:
        client.ask(hello())
        client.send(read_note(words=["once"]))
        [entry] = wait_for(program, 1)
        said = {"id": entry["id"], "allow": True, "remember": "always"}
        first = page.http.post("/person/decide", json=said, headers=seat)
        assert first.status_code == 428 and first.json()["sentence"]
        token = first.json()["confirm"]
        for wrong in ({"confirm": "x" * 43}, {"confirm": token, "id": "other"}):
            answer = page.http.post("/person/decide", json=said | wrong, headers=seat)
            assert answer.status_code == 428
        token = answer.json()["confirm"]  # of another request
        assert page.http.post("/person/decide", json=said | {"confirm": token},
                              headers=seat).status_code == 428
        token = page.http.post("/person/decide", json=said, headers=seat).json()["confirm"]
        assert page.http.post("/person/decide", json=said | {"confirm": token},
                              headers=seat).status_code == 200
        assert "Permission denied" not in text_of(client.receive())
    shown = json.loads(run(program, "policy", "show", "--json"))["policy"]["tools"]
    assert shown["permissions"] == {"reader": "always"}


EDIT = ("const n = await notes.get('q/plan'); await notes.update({identifier: n.id, "
        "content: n.content.replace('one', 'two'), contentHash: n.content_hash}); "
        "await notes.create({type: 'q', title: 'More', content: 'x'}); return 1")


def edited(page, seat, vault):
    """A call that changed one note and made another: its record."""
    (vault / "q").mkdir()
    (vault / "q" / "plan.md").write_text("# Plan\n\none\n")
    assert not page.post(call("evaluate_note_code", {"code": EDIT}),
                         headers=page.session()).json()["result"]["isError"]
    [record] = page.http.get("/person/activity?result=changed", headers=seat).json()["records"]
    return record


def test_a_call_tells_its_host_calls_in_time(page, seat, vault):
    record = edited(page, seat, vault)
    told = page.http.get("/person/call", params={"mac": record["mac"]}, headers=seat).json()
    calls = told["timeline"]["calls"]
    assert [c["call"] for c in calls] == ["notes.get", "notes.update", "notes.create"]
    assert all(set(c) == {"call", "at", "ms"} for c in calls) and "left" not in told["timeline"]
    assert [c["at"] for c in calls] == sorted(c["at"] for c in calls)
    assert all(c["at"] + c["ms"] <= record["ms"] for c in calls)
    # A refused one, and more than are kept.
    code = ("try { await notes.get('q/none'); } catch {} "
            "for (let n = 0; n < 300; n++) await notes.get('q/plan'); return 1")
    assert not page.post(call("evaluate_note_code", {"code": code}),
                         headers=page.session()).json()["result"]["isError"]
    [record] = page.http.get("/person/activity?limit=1&action=evaluate_note_code", headers=seat).json()["records"]
    told = page.http.get("/person/call", params={"mac": record["mac"]}, headers=seat).json()["timeline"]
    assert len(told["calls"]) + told["left"] == 301 and len(told["calls"]) >= 100 and told["leftMs"] > 0
    # What is kept has no arguments; what lies there may be damaged.
    ring = vault / ".cloche/audit/beside.ring"
    assert b"q/" not in ring.read_bytes()
    ring.write_bytes(ring.read_bytes().replace(b'"names":["notes.get"]', b'"names":[[7],"notes"]'))
    answer = page.http.get("/person/call", params={"mac": record["mac"]}, headers=seat)
    assert answer.status_code == 200 and answer.json()["timeline"]["calls"] == []


def test_a_call_is_taken_back_and_that_is_taken_back(page, seat, vault):
    record = edited(page, seat, vault)
    assert sorted(record["notes"]) == ["q/More", "q/plan"]
    told = page.http.get("/person/call", params={"mac": record["mac"]}, headers=seat).json()
    assert {c["id"] for c in told["history"]["changes"]} == {"q/More", "q/plan"}
    said = {"vault": told["vault"], "call": record["intent"]}
    dry = page.http.post("/person/undo", json=said | {"dryRun": True}, headers=seat)
    assert dry.status_code == 200 and not dry.json()["undone"]
    assert "two" in (vault / "q" / "plan.md").read_text()
    done = page.http.post("/person/undo", json=said, headers=seat)
    assert (done.status_code, done.json()["undone"]) == (200, True), done.text
    assert (vault / "q" / "plan.md").read_text() == "# Plan\n\none\n"
    assert not (vault / "q" / "More.md").exists()
    twice = page.http.post("/person/undo", json=said, headers=seat).json()
    assert (twice["undone"], twice["notes"], "call" in twice) == (True, 0, False)
    for turn in range(4):
        [back] = page.http.get("/person/activity", headers=seat, params={
            "action": "POST /person/undo", "result": "changed", "limit": 1}).json()["records"]
        assert (back["caller"], back["intent"]) == ("page", done.json()["call"])
        done = page.http.post("/person/undo", headers=seat,
                              json={"vault": told["vault"], "call": back["intent"]})
        assert (done.json()["undone"], done.json()["notes"]) == (True, 2), done.text
        assert ("two" in (vault / "q" / "plan.md").read_text()) == (turn % 2 == 0)
        assert (vault / "q" / "More.md").exists() == (turn % 2 == 0)


def test_what_was_in_the_trash_goes_back_there(page, seat, vault):
    edited(page, seat, vault)
    session = page.session()

    def run(code):
        assert not page.post(call("evaluate_note_code", {"code": code}), headers=session).json()["result"]["isError"]

    def undo():
        [record] = page.http.get("/person/activity?limit=1&action=evaluate_note_code", headers=seat).json()["records"]
        said = page.http.post("/person/undo", headers=seat, json={"vault": "", "call": record["intent"]})
        assert said.json()["undone"], said.text

    run("await notes.delete({identifier: 'q/More', confirm: true}); return 1")
    more = vault / "q" / "More.md"
    assert not more.exists()
    run("await notes.create({type: 'q', title: 'More', content: 'anew'}); return 1")
    assert "anew" in more.read_text()
    undo()
    assert not more.exists()

    # Taken out and thrown away again in one call.
    run("await notes.create({type: 'q', title: 'Once', content: 'x'}); await notes.delete({identifier: 'q/Once', confirm: true}); return 1")
    run("const all = await notes.listTrash(); await notes.restore({backup_path: all.find((one) => one.backup_path.endsWith('Once.md')).backup_path});"
        "await notes.delete({identifier: 'q/Once', confirm: true}); return 1")
    undo()
    assert not (vault / "q" / "Once.md").exists()


def test_what_was_changed_since_keeps_a_call_from_being_taken_back(page, seat, vault):
    record = edited(page, seat, vault)
    (vault / "q" / "plan.md").write_text("# Plan\n\nby hand\n")
    code = ("const n = await notes.get('q/plan'); await notes.update({identifier: n.id, "
            "content: 'later', contentHash: n.content_hash}); return 1")
    page.post(call("evaluate_note_code", {"code": code}), headers=page.session())
    answer = page.http.post("/person/undo", headers=seat,
                            json={"vault": "", "call": record["intent"]})
    assert answer.status_code == 409
    [kept] = answer.json()["refused"]
    assert (kept["id"], kept["reason"]) == ("q/plan", "it was changed since")
    assert "+later" in kept["diff_since"] and "+two" in kept["diff"]
    assert "later" in (vault / "q" / "plan.md").read_text()
    assert (vault / "q" / "More.md").exists()
    # The other note can be undone without it.
    assert answer.json()["notes"] == 1 and "call" not in answer.json()
    others = page.http.post("/person/undo", headers=seat,
                            json={"vault": "", "call": record["intent"], "others": True}).json()
    assert (others["undone"], others["notes"], [c["id"] for c in others["refused"]]) == (True, 1, ["q/plan"])
    assert "later" in (vault / "q" / "plan.md").read_text()
    assert not (vault / "q" / "More.md").exists()
    back = page.http.post("/person/undo", headers=seat, json={"vault": "", "call": others["call"]}).json()
    assert back["undone"] and (vault / "q" / "More.md").exists()


def test_the_stream_tells_what_any_process_does(page, seat, program, vault):
    assert page.http.get("/person/events").status_code == 401
    with page.http.stream("GET", "/person/events", headers=seat) as stream, \
         Stdio([program, "mcp", "--vault", str(vault)]) as client:
        assert stream.headers["Content-Type"] == "text/event-stream"
        lines = stream.iter_lines()
        while next(lines) != "event: hello":
            pass
        assert json.loads(next(lines).removeprefix("data: "))["version"]
        client.ask(hello())
        heard = threading.Event()

        def work(turn=10):
            while not heard.is_set():  # what came before the first look is not new
                client.ask(call("evaluate_note_code", {"code": "return 1"}, id=turn))
                turn += 1
        worker = threading.Thread(target=work)
        worker.start()
        try:
            line = next(one for one in lines if '"evaluate_note_code"' in one)
        finally:
            heard.set()
            worker.join()
        record = json.loads(line.removeprefix("data: "))["record"]
        assert (record["event"], record["caller"]) == ("call", "stdio")
        assert page.http.post("/person/leave", json={}, headers=seat).status_code == 200
        for _ in lines:  # it ends
            pass


def test_a_caller_is_paused_there_and_goes_on(page, seat, vault, program):
    page.post(call("evaluate_note_code", {"code": "return 1"}), headers=page.session())
    [agent] = page.http.get("/person/today", headers=seat).json()["agents"]
    said = {"vault": "", "caller": agent["caller"]}
    assert page.http.post("/person/pause", json=said, headers=seat).status_code == 200
    [agent] = page.http.get("/person/today", headers=seat).json()["agents"]
    assert agent["paused"]["why"] == "paused on the page"
    refused = page.post(call("evaluate_note_code", {"code": "return 1"}), headers=page.session())
    assert "paused" in refused.text
    assert page.http.post("/person/resume", json=said, headers=seat).status_code == 200
    assert page.http.post("/person/resume", json=said, headers=seat).status_code == 404


def test_rest_answers_the_person(page, seat, vault):
    edited(page, seat, vault)
    [one] = page.http.get("/person/workspaces", headers=seat).json()
    assert page.http.get("/person/workspaces").status_code == 401
    at = f"/person/workspaces/{one['id']}/notes/q%2Fplan"
    assert "two" in page.http.get(at, headers=seat).json()["markdown"]
    foreign = seat | {"Origin": "http://127.0.0.1:1"}
    assert page.http.delete(at, headers=foreign).status_code == 403
    assert page.http.delete(at, headers=seat).status_code < 300
    assert not (vault / "q" / "plan.md").exists()


def test_a_person_tries_what_an_agent_may_do(page, seat, vault):
    """The level is the lower for it, and never a higher one."""
    where = f"/person/workspaces/{page.http.get('/workspaces').json()[0]['id']}/evaluate"
    code = {"code": "return (await notes.create({type: 'plan', title: 'Bell'})).id"}
    for more in ({}, {"dryRun": True}):
        zero = page.http.post(where, json=code | more, headers=seat | {"X-Cloche-Level": "zero"})
        assert zero.json()["errorDetails"]["type"] == "PermissionDenied"
    assert not (vault / "plan" / "Bell.md").exists()
    for wrong in ("", "all", "z" * 100):
        assert page.http.post(where, json=code, headers=seat | {"X-Cloche-Level": wrong}).status_code == 400
    assert page.http.post(where, json=code, headers=seat).json()["result"] == "plan/Bell"


def test_the_audit_is_checked_there(page, seat, vault):
    edited(page, seat, vault)
    assert page.http.get("/person/verified", headers=seat).json()["ok"]
    [file] = (vault / ".cloche" / "audit").glob("audit-0*.jsonl")
    file.write_text(file.read_text().replace('"success"', '"succesS"', 1))
    assert not page.http.get("/person/verified", headers=seat).json()["ok"]


def test_a_server_that_wants_tokens_still_lets_its_person_in(program, vault):
    with Server([program, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0",
                 "--require-token"], stderr=subprocess.DEVNULL) as server:
        assert server.http.get("/person").status_code == 200
        assert server.http.get("/personal").status_code == 401
        assert server.http.get("/person/today").status_code == 401
