"""REST: the notes of a workspace over plain HTTP."""
import json
import socket
import subprocess
import threading

import httpx
import pytest

from wire import Server

SYNC = """# Weekly Sync

## Date
2025-11-29

## Attendees
- Alice
- Bob
"""


@pytest.fixture
def api(server):
    with httpx.Client(base_url=server.url, timeout=60) as client:
        yield client


@pytest.fixture
def notes(api):
    """The path of the sample vault's notes."""
    [workspace] = api.get("/workspaces").json()
    return f"/workspaces/{workspace['id']}/notes"


def made(api, notes, markdown=SYNC, **more):
    answer = api.post(notes, json={"markdown": markdown, **more})
    assert answer.status_code == 201, answer.text
    return answer


def problem(answer, status):
    """A failure is a problem document (RFC 9457), whatever its cause."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told["status"] == status
    assert told["type"] == "about:blank"
    assert told["title"] and told["detail"] and told["code"]
    return told


# ---- notes ------------------------------------------------------------------


def test_a_note_is_what_the_seed_shows(api, notes):
    answer = made(api, notes, SYNC, **{"class": "Meeting"})
    note = answer.json()
    assert note["id"] == "Meeting/Weekly Sync"
    assert answer.headers["location"] == f"{notes}/Meeting%2FWeekly%20Sync"
    assert note["markdown"] == SYNC
    assert note["properties"] == {"Date": "2025-11-29", "Attendees": "- Alice\n- Bob"}
    rows = api.get(notes, params={"class": "Meeting"}).json()
    assert [sorted(row) for row in rows] == [
        ["class", "id", "properties", "title", "updated_at"]]
    assert rows[0]["properties"]["Date"] == "2025-11-29"
    assert rows[0]["updated_at"] == note["updated_at"]


@pytest.mark.parametrize("path", ["Meeting%2FWeekly%20Sync", "Meeting/Weekly%20Sync",
                                  "Meeting%2fWeekly%20Sync", "Meeting/Weekly%20Sync/"])
def test_an_id_is_one_part_of_the_path_or_two(api, notes, path):
    made(api, notes, SYNC, **{"class": "Meeting"})
    assert api.get(f"{notes}/{path}").json()["id"] == "Meeting/Weekly Sync"


def test_markdown_goes_in_and_out_as_it_is(api, notes):
    answer = api.post(notes, content=SYNC.encode(),
                      headers={"content-type": "text/markdown"})
    assert answer.status_code == 201
    at = answer.headers["location"]
    got = api.get(at, headers={"accept": "text/markdown"})
    assert got.text == SYNC
    assert got.headers["content-type"].startswith("text/markdown")
    assert got.headers["vary"] == "Accept"
    put = api.put(at, content=b"# Weekly Sync\n", headers={
        "content-type": "text/markdown", "if-match": got.headers["etag"]})
    assert put.status_code == 200
    assert put.json()["markdown"] == "# Weekly Sync\n"
    assert api.get(at).headers["etag"] == put.headers["etag"]


def test_a_note_of_parts(api, notes):
    answer = api.post(notes, json={"title": "Buy milk", "type": "Task", "content": "Soon.",
                                   "properties": {"Status": "pending", "Due": "2025-12-01"}})
    assert answer.status_code == 201
    note = answer.json()
    assert note["id"] == "Task/Buy milk"
    assert note["class"] == "Task"
    assert note["properties"]["Status"] == "pending"
    problem(api.post(notes, json={"title": "Buy milk", "type": "Task"}), 409)


def test_a_patch_merges_properties_where_they_stand(api, notes):
    at = made(api, notes, SYNC).headers["location"]
    answer = api.patch(at, headers={"if-match": "*"}, json={
        "title": "Monthly Sync",
        "properties": {"Date": "2025-12-31", "Attendees": ["Carol", "Dan"], "Room": 3}})
    note = answer.json()
    assert note["title"] == "Monthly Sync"
    assert "## Date\n2025-12-31" in note["markdown"]
    assert "## Attendees\n- Carol\n- Dan" in note["markdown"]
    assert note["properties"]["Room"] == 3
    assert answer.headers["location"].endswith("Monthly%20Sync")
    gone = api.patch(answer.headers["location"], headers={"if-match": "*"},
                     json={"properties": {"Date": None, "Room": None}}).json()
    assert list(gone["properties"]) == ["Attendees"]
    problem(api.get(at), 404)


def test_merge_patch_is_a_type_of_its_own(api, notes):
    at = made(api, notes).headers["location"]
    answer = api.patch(at, content=json.dumps({"content": "short"}), headers={
        "if-match": "*", "content-type": "application/merge-patch+json"})
    assert answer.json()["markdown"] == "short"


def test_pages_are_linked(api, notes):
    for n in range(7):
        made(api, notes, f"# Page {n}", **{"class": "page"})
    seen, answer = [], api.get(notes, params={"class": "page", "limit": 3})
    while True:
        seen += [row["id"] for row in answer.json()]
        if "next" not in answer.links:
            break
        answer = api.get(answer.links["next"]["url"])
        assert len(answer.json()) <= 3
    assert sorted(seen) == [f"page/Page {n}" for n in range(7)]


def test_history_is_read_and_restored(api, notes):
    answer = made(api, notes)
    at = answer.headers["location"]
    api.put(at, json={"markdown": "# Weekly Sync\n\nnew"},
            headers={"if-match": answer.headers["etag"]})
    rows = api.get(f"{at}/history").json()
    assert [row["revision"] for row in rows] == [2, 1]
    assert all(row["author"].startswith("http") for row in rows)
    assert api.get(f"{at}/history/1").json()["markdown"] == SYNC
    assert api.get(f"{at}/history/1", headers={"accept": "text/markdown"}).text == SYNC
    problem(api.post(f"{at}/history/1/restore"), 428)
    back = api.post(f"{at}/history/1/restore", headers={"if-match": "*"})
    assert back.json()["markdown"] == SYNC
    page = api.get(f"{at}/history", params={"limit": 1})
    assert len(page.json()) == 1
    assert api.get(page.links["next"]["url"]).json()[0]["revision"] == 2


# ---- versions -----------------------------------------------------------------


def test_no_update_is_lost(api, notes):
    answer = made(api, notes)
    at, tag = answer.headers["location"], answer.headers["etag"]
    problem(api.put(at, json={"markdown": "x"}), 428)
    problem(api.patch(at, json={"content": "x"}), 428)
    problem(api.put(at, json={"markdown": "x"}, headers={"if-match": '"sha256:00"'}), 412)
    both = {"markdown": "x", "content_hash": "sha256:00"}
    for tag in ("*", api.get(at).headers["etag"], f'"sha256:01", {api.get(at).headers["etag"]}'):
        problem(api.put(at, json=both, headers={"if-match": tag}), 412)
    assert api.put(at, json={"markdown": "# Weekly Sync\none"},
                   headers={"if-match": tag}).status_code == 200
    for method, body in [("PUT", {"markdown": "two"}), ("PATCH", {"content": "two"}),
                         ("PATCH", {"title": "two"}), ("DELETE", None)]:
        problem(api.request(method, at, json=body, headers={"if-match": tag}), 412)
    assert api.get(at).json()["markdown"] == "# Weekly Sync\none"
    now = api.get(at).headers["etag"]
    assert api.put(at, json={"markdown": "two"},
                   headers={"if-match": f'"sha256:00", {now}'}).status_code == 200


def test_of_two_writers_one_is_told(api, notes, server):
    answer = made(api, notes)
    at, tag = answer.headers["location"], answer.headers["etag"]
    codes = []

    def write(n):
        with httpx.Client(base_url=server.url, timeout=60) as client:
            codes.append(client.put(at, json={"markdown": f"# W\n{n}"},
                                    headers={"if-match": tag}).status_code)

    writers = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for w in writers:
        w.start()
    for w in writers:
        w.join()
    assert sorted(codes) == [200] + 7 * [412]


def test_what_is_known_is_not_sent_again(api, notes):
    at = made(api, notes).headers["location"]
    for path in (at, notes, "/workspaces"):
        tag = api.get(path).headers["etag"]
        again = api.get(path, headers={"if-none-match": f'"other", W/{tag}'})
        assert again.status_code == 304
        assert again.content == b""
        assert again.headers["etag"] == tag
        assert again.headers["cache-control"] == "private, no-cache"


def test_deleting_twice_is_not_found(api, notes):
    at = made(api, notes).headers["location"]
    gone = api.delete(at)
    assert gone.status_code == 200
    assert gone.json()["backup_path"].startswith(".cloche/trash/")
    problem(api.delete(at), 404)


def test_a_note_that_others_link_to_is_not_deleted_by_accident(api, notes):
    at = made(api, notes).headers["location"]
    made(api, notes, "# Other\n\n[[Weekly Sync]]")
    assert "confirm" in problem(api.delete(at), 409)["detail"]
    assert api.get(at).status_code == 200
    assert api.delete(at, params={"confirm": "true"}).status_code == 200


# ---- HTTP -----------------------------------------------------------------------


def test_methods_that_a_path_does_not_take(api, notes):
    answer = api.put(notes, json={})
    problem(answer, 405)
    assert answer.headers["allow"] == "GET, HEAD, POST, OPTIONS"
    options = api.options(f"{notes}/x")
    assert options.status_code == 204
    assert options.headers["allow"] == "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"
    problem(api.request("BREW", notes), 405)


def test_head_is_get_without_its_body(api, notes):
    get, head = api.get(notes), api.head(notes)
    assert head.status_code == 200
    assert head.content == b""
    for name in ("etag", "content-type", "content-length"):
        assert head.headers[name] == get.headers[name]
    assert api.head(f"{notes}/nothing").status_code == 404


def test_types_that_are_not_taken(api, notes):
    problem(api.post(notes, content="title=x", headers={
        "content-type": "application/x-www-form-urlencoded"}), 415)
    problem(api.get(notes, headers={"accept": "image/png"}), 406)
    problem(api.get(notes, headers={"accept": "application/json;q=0"}), 406)
    assert api.get(notes, headers={"accept": "application/*;q=0.1"}).status_code == 200


@pytest.mark.parametrize("path", [
    "..%2F..%2Fetc%2Fpasswd", "%2Fetc%2Fpasswd", ".cloche%2Fpolicy", ".cloche/audit",
    "note%2F..%2F..%2Fx", "task%2F.hidden", "a" * 3000, "%F0%9F%A6%8A", "x%2F%2Fy",
    "note/" + "x/" * 8 + "y", "%25", "CON", "a%3Fb", "%22", "*"])
def test_ids_lead_nowhere_else(api, notes, path):
    for method in ("GET", "DELETE"):
        problem(api.request(method, f"{notes}/{path}"), 404)
    problem(api.put(f"{notes}/{path}", json={"markdown": "# x"},
                    headers={"if-match": "*"}), 404)


def raw(server, target, method="GET", body=b"", more=b""):
    """A request whose target no client library has normalised."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as s:
        s.sendall(method.encode() + b" " + target + b" HTTP/1.1\r\nHost: " +
                  f"{host}:{port}".encode() + b"\r\nConnection: close\r\n" + more +
                  b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body)
        got = b""
        while part := s.recv(65536):
            got += part
    return int(got.split(b" ")[1]), got


@pytest.mark.parametrize("target", [
    b"/../../etc/passwd", b"/%2e%2e/x", b"/%00", b"/%ff", b"/%zz", b"/%", b"//x", b"/%c0%af",
    b"/x%5c..%5cy", b"/%ed%a0%80"])
def test_targets_that_are_none(server, api, notes, target):
    status, got = raw(server, notes.encode() + target)
    assert status in (400, 404), got


@pytest.mark.parametrize("body", [
    b"", b"{", b"null", b"[]", b'"x"', b"{}", b'{"markdown": 1}', b'{"markdown": null}',
    b'{"title": ""}', b'{"title": "a", "title": "b"}', b'{"title": "a", "extra": 1}',
    b'{"title": "\xff"}', b'{"title": "\\ud800"}', b"[" * 100000, b'{"a":' * 5000,
    b'{"title": "a", "properties": []}', b'{"title": "a", "properties": {"id": "x"}}',
    b'{"title": "a", "class": "../up"}', b'{"title": "a", "class": ".cloche"}',
    b'{"title": "a", "type": 5}', b'{"markdown": "no heading"}',
    b'{"markdown": "---\\n[: bad\\n---\\n# x"}', b'{"title": "\\u0000"}', b"nan",
    b'{"title": "a"} {}', b'{"title": 1e999}'])
def test_bodies_that_are_none(api, notes, body):
    before = len(api.get(notes).json())
    answer = api.post(notes, content=body, headers={"content-type": "application/json"})
    problem(answer, 400)
    assert len(api.get(notes).json()) == before


def test_a_huge_body_is_refused(api, notes):
    answer = api.post(notes, content=b'{"title": "' + b"x" * (20 << 20) + b'"}',
                      headers={"content-type": "application/json"})
    assert problem(answer, 413)["code"] == "LIMIT"


def test_field_errors_name_the_field(api, notes):
    told = problem(api.post(notes, json={"title": "a", "properties": 3}), 400)
    assert told["errors"][0]["field"].startswith("body.properties")


def test_other_sites_are_told_nothing(api, notes):
    answer = api.get(notes, headers={"origin": "https://evil.example"})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers
    assert "access-control-allow-origin" not in api.get(notes).headers


def test_what_was_done_is_in_the_audit(api, notes, vault, cloche):
    made(api, notes)
    trail = next((vault / ".cloche" / "audit").glob("*.jsonl")).read_text()
    actions = [json.loads(line).get("action") for line in trail.splitlines()]
    assert "POST /workspaces/{workspace_id}/notes" in actions


# ---- more than notes ------------------------------------------------------------------


def base_of(notes):
    return notes.removesuffix("/notes")


def test_the_seeds_query_and_its_script(api, notes):
    base = base_of(notes)
    for title, status in (("Buy milk", "pending"), ("Sleep", "done")):
        made(api, notes, f"# {title}\n\n## Status\n{status}\n\n## Due\n2025-12-01\n",
             **{"class": "Task"})
    rows = api.post(f"{base}/query", json={
        "filter": {"class": "Task", "properties.Status": "pending"}}).json()
    assert [row["title"] for row in rows] == ["Buy milk"]
    code = """
        const tasks = host.call("POST", `/workspaces/${workspace_id}/query`, {
          filter: { class: "Task", "properties.Status": "pending" }
        });
        let report = "# Pending Tasks\\n\\n";
        for (const task of tasks) {
          const due = task.properties.Due || "No due date";
          report += `- [ ] ${task.title} (Due: ${due})\\n`;
        }
        report;"""
    ran = api.post(f"{base}/run", json={"code": code})
    assert ran.status_code == 200
    assert ran.json()["result"] == "# Pending Tasks\n\n- [ ] Buy milk (Due: 2025-12-01)\n"


def test_code_has_the_status_of_its_error(api, notes):
    base = base_of(notes)
    good = api.post(f"{base}/evaluate", json={"code": "return (await notes.list()).length"})
    assert good.status_code == 200
    assert good.json()["success"] and good.json()["result"] > 0
    bad = api.post(f"{base}/evaluate", json={"code": "throw new Error('no')"})
    assert bad.status_code == 422
    assert bad.json()["errorDetails"]["type"] == "ExecutionError"
    slow = api.post(f"{base}/evaluate", json={"code": "for (;;);", "timeout": 50})
    assert slow.status_code == 408
    fuel = api.post(f"{base}/run", json={"code": "for (;;);", "fuel": 100000})
    assert fuel.status_code == 422
    assert fuel.json()["errorDetails"]["type"] == "FuelExhausted"
    problem(api.post(f"{base}/run", json={"code": "1", "workspace_id": "x"}), 400)
    problem(api.post("/workspaces/none/evaluate", json={"code": "1"}), 404)


@pytest.mark.parametrize("route", ["evaluate", "run", "audit"])
def test_a_script_reaches_neither_code_nor_the_audit(api, notes, route):
    method, body = ("GET", "undefined") if route == "audit" else ("POST", '{code: "1"}')
    code = (f'try {{ host.call("{method}", `/workspaces/${{workspace_id}}/{route}`, {body}) }}'
            " catch (e) { e.status }")
    assert api.post(f"{base_of(notes)}/run", json={"code": code}).json()["result"] == 403


def test_the_audit_tells_of_scripts_as_the_seed_lists(api, notes):
    base = base_of(notes)
    api.post(f"{base}/run", json={"code": "host.call('GET', '/workspaces'); 1"})
    [record] = api.get(f"{base}/audit", params={"action": "run_script"}).json()
    assert record["result"] == "success"
    assert f"/workspaces/{record['workspace']}" == base
    assert len(record["code"]) == 64
    assert record["fuel"] > 0 and record["time"] and record["peak_memory_bytes"] > 0
    assert "host.call" not in json.dumps(record)
    page = api.get(f"{base}/audit", params={"limit": 1})
    assert len(page.json()) == 1
    older = api.get(page.links["next"]["url"]).json()
    assert older[0]["time"] <= page.json()[0]["time"]
    problem(api.get(f"{base}/audit", params={"since": "yesterday"}), 400)
    assert api.get(f"{base}/audit", params={"since": "2999"}).json() == []


def test_search_links_and_classes(api, notes):
    base = base_of(notes)
    made(api, notes, "# Otter\n\nA zyzzyva in the [[Start here]]\n", **{"class": "animal"})
    [hit] = api.get(f"{base}/search", params={"q": "zyzzyva"}).json()
    assert hit["id"] == "animal/Otter" and "zyzzyva" in hit["excerpt"]
    assert api.get(f"{base}/search", params={"q": "zyzzyva", "class": "note"}).json() == []
    links = api.get(f"{base}/links").json()
    assert {"source": "animal/Otter", "target": "note/Start here", "text": "Start here",
            "kind": "wiki", "line": 3} in links
    pages, answer = [], api.get(f"{base}/links", params={"limit": 5})
    while True:
        pages += answer.json()
        if "next" not in answer.links:
            break
        answer = api.get(answer.links["next"]["url"])
    assert pages == links
    names = [row["name"] for row in api.get(f"{base}/classes").json()]
    assert "animal" in names
    assert api.get(f"{base}/classes/animal").json()["fields"] == []


def test_hits_come_in_pages(api, notes):
    base = base_of(notes)
    for n in range(5):
        made(api, notes, f"# Z{n}\n\nqwertz\n")
    seen, answer = [], api.get(f"{base}/search", params={"q": "qwertz", "limit": 2})
    while True:
        seen += [row["title"] for row in answer.json()]
        if "next" not in answer.links:
            break
        answer = api.get(answer.links["next"]["url"])
    assert sorted(seen) == [f"Z{n}" for n in range(5)]


# ---- who may ----------------------------------------------------------------------------


def test_a_credential_that_is_not_enough_is_told_what_would_be(cloche, api, notes):
    made_token = subprocess.run([cloche, "token", "create", "reader", "--scope", "read"],
                                capture_output=True, text=True, timeout=60, check=True)
    api.headers["authorization"] = f"Bearer {made_token.stdout.strip()}"
    base = base_of(notes)
    assert api.get(notes).status_code == 200
    assert api.post(f"{base}/query", json={}).status_code == 200
    for method, path, body, scope in [("POST", notes, {"title": "x"}, "write"),
                                      ("POST", f"{base}/evaluate", {"code": "1"}, "evaluate"),
                                      ("GET", f"{base}/audit", None, "audit")]:
        answer = api.request(method, path, json=body)
        assert answer.status_code == 403
        assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]
        assert scope in answer.headers["www-authenticate"]
    api.headers["authorization"] = "Bearer cloche_wrong"
    assert api.get(notes).status_code == 401


def test_a_workspace_that_is_not_granted_is_not_there(cloche, tmp_path):
    for name in ("mine", "yours"):
        (tmp_path / name).mkdir()
    token = subprocess.run([cloche, "token", "create", "t", "--vault", "mine",
                            "--unregistered"],
                           capture_output=True, text=True, timeout=60, check=True)
    with Server([cloche, "serve", "--vault", str(tmp_path / "mine"), "--vault",
                 str(tmp_path / "yours"), "--listen", "127.0.0.1:0"]) as server:
        with httpx.Client(base_url=server.url, timeout=60, headers={
                "authorization": f"Bearer {token.stdout.strip()}"}) as client:
            assert [w["id"] for w in client.get("/workspaces").json()] == ["mine"]
            assert client.get("/workspaces/mine/notes").json() == []
            there = client.get("/workspaces/yours/notes")
            none = client.get("/workspaces/nobody/notes")
            assert there.status_code == none.status_code == 404
            assert (there.json()["detail"].replace("yours", "") ==
                    none.json()["detail"].replace("nobody", ""))


# ---- who may ------------------------------------------------------------------


def test_who_is_not_let_in_is_told_as_all_others_are(api, notes):
    for target in (notes, "/workspaces", "/openapi.json"):
        for fields, status, code in (({"Authorization": "Bearer wrong"}, 401, "DENIED"),
                                     ({"X-Forwarded-For": "192.0.2.1"}, 401, "DENIED"),
                                     ({"Host": "evil.example"}, 403, "DENIED"),
                                     ({"Origin": "https://evil.example"}, 403, "DENIED")):
            answer = api.get(target, headers=fields | {"Accept": "*/*"})
            told = problem(answer, status)
            assert (told["code"], told["instance"], told["retry"]) == (code, target, False)
            assert ("WWW-Authenticate" in answer.headers) == (status == 401)


def test_a_method_that_is_not_taken_is_told_with_those_that_are(api, notes):
    told = problem(api.put(notes), 405)
    assert told["detail"].endswith("does not take PUT; it takes GET, HEAD, POST, OPTIONS")


def test_a_path_where_nothing_is_tells_what_there_is(api):
    answer = api.get("/nothing")
    assert answer.status_code == 404
    assert "there are /mcp, /metrics, /healthz, /workspaces, /tools, /vm, /openapi.json" in answer.text
