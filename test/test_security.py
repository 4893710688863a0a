"""docs/security.md: every numbered sentence of it has a test, here or where it says.

Two tenants, A and B, share one server: each has a token for a vault of its own, and both
have one for a third. What one can learn of the other's is asked in every way there is."""
import fcntl
import json
import re
import subprocess
from pathlib import Path

import pytest

from test_access import bearer, make_token, revoke, tokens_file
from wire import Server, call, initialize, request

ROOT = Path(__file__).resolve().parent.parent


class Tenant:
    def __init__(self, server, token):
        self.server, self.headers = server, bearer(token)

    def ask(self, message):
        return self.server.post(message, self.headers)

    def evaluate(self, code, **more):
        answer = self.ask(call("evaluate_note_code", {"code": code, **more}, modern=True))
        return answer.json()["result"]["structuredContent"]

    def get(self, path):
        return self.server.http.get(path, headers=self.headers)

    def read(self, uri):
        return self.server.post(request("resources/read", {"uri": uri}, modern=True),
                                self.headers | {"Mcp-Name": uri})


@pytest.fixture
def folders(tmp_path):
    """Three vaults, each with a note that names its owner."""
    made = {}
    for name in ("alpha", "beta", "common"):
        made[name] = tmp_path / "homes" / name
        (made[name] / "plan").mkdir(parents=True)
        (made[name] / "plan" / f"{name}-note.md").write_text(f"# {name} note\n\n{name}-word\n")
    return made


@pytest.fixture
def tenants(cloche, folders):
    every = "read,write,evaluate,audit"
    a = make_token(cloche, "a", "--vault", "alpha", "--vault", "common", "--scope", every)
    b = make_token(cloche, "b", "--vault", "beta", "--vault", "common", "--scope", every)
    command = [cloche, "serve", "--listen", "127.0.0.1:0", "--require-token"]
    for folder in folders.values():
        command += ["--vault", str(folder)]
    with Server(command) as s:
        yield Tenant(s, a), Tenant(s, b)


def same_but(one, two, id_one, id_two):
    """The same answer, without the id of the request."""
    assert one.status_code == two.status_code
    assert one.text.replace(id_one, id_two) == two.text


# ---- the page and its tests ----


SENTENCE = re.compile(r"^- \*\*S(\d+)\*\* (.*(?:\n  .*)*)", re.M)
POINTER = re.compile(r"`([\w/]+\.(?:py|c))`: (`\w+`(?:, `\w+`)*)")


def sentences():
    return {int(n): text for n, text in
            SENTENCE.findall((ROOT / "docs" / "security.md").read_text())}


def test_no_two_sentences_have_one_number():
    numbers = [n for n, _ in SENTENCE.findall((ROOT / "docs" / "security.md").read_text())]
    assert len(numbers) == len(set(numbers))


def find_test(file, name):
    text = (ROOT / file).read_text()
    if file.endswith(".py"):
        return f"\ndef {name}(" in text
    return f"static void {name}(void **state)" in text and text.count(name) > 1


def test_every_sentence_has_its_test_and_every_test_its_sentence():
    here = Path(__file__).read_text()
    mine = {int(n) for n in re.findall(r"^def test_s(\d+)_", here, re.M)}
    told = sentences()
    assert len(told) > 30 and sorted(told) == list(range(1, len(told) + 1))
    assert mine <= set(told), f"no sentence: {sorted(mine - set(told))}"
    for number, text in told.items():
        pointers = POINTER.findall(text)
        assert pointers or number in mine, f"S{number} has no test: {text}"
        for file, names in pointers:
            for name in re.findall(r"\w+", names):
                assert find_test(file, name), f"S{number}: {file} has no {name}"


# ---- tenants ----


def test_s20_a_tenant_sees_no_vault_but_his_own(tenants):
    a, b = tenants
    seen = a.evaluate("await vaults.list()")["result"]
    assert [v["id"] for v in seen] == ["alpha", "common"]
    assert [v["id"] for v in b.evaluate("await vaults.list()")["result"]] == ["beta", "common"]
    assert a.evaluate("(await vaults.getCurrent()).id")["result"] == "alpha"
    assert b.evaluate("(await vaults.getCurrent()).id")["result"] == "beta"
    for path in ("/workspaces", "/workspaces/beta/notes"):
        answer = b.get(path)
        assert answer.status_code == 200 and "alpha" not in answer.text
    for method in ("resources/list", "resources/templates/list", "prompts/list", "tools/list"):
        answer = b.ask(request(method, modern=True))
        assert answer.status_code == 200 and "alpha" not in answer.text
    names = b.evaluate("(await notes.list({limit: 100})).map((n) => n.id)")["result"]
    assert names == ["plan/beta-note"]
    found = b.ask(call("search_notes", {"query": "word"}, modern=True))
    assert "beta" in found.text and "alpha" not in found.text


WAYS = {
    "switch": lambda t, id: t.ask(call("evaluate_note_code", {
        "code": f"try {{ await vaults.switch('{id}') }} catch (e) {{ e.message }}"},
        modern=True)),
    "script": lambda t, id: t.ask(call("run_script", {
        "workspace_id": id, "code": f"host.call('GET', '/workspaces/{id}/notes')"},
        modern=True)),
    "rest": lambda t, id: t.get(f"/workspaces/{id}"),
    "rest notes": lambda t, id: t.get(f"/workspaces/{id}/notes"),
    "rest note": lambda t, id: t.get(f"/workspaces/{id}/notes/plan/alpha-note"),
    "rest audit": lambda t, id: t.get(f"/workspaces/{id}/audit"),
    "list": lambda t, id: t.read(f"ieapp://{id}/notes/list"),
    "note": lambda t, id: t.read(f"ieapp://{id}/notes/plan/alpha-note"),
    "links": lambda t, id: t.read(f"ieapp://{id}/links"),
    "prompt": lambda t, id: t.server.post(request("prompts/get", {
        "name": "summarize_workspace", "arguments": {"workspace_id": id}}, modern=True),
        t.headers | {"Mcp-Name": "summarize_workspace"}),
    "completion": lambda t, id: t.ask(request("completion/complete", {
        "ref": {"type": "ref/resource", "uri": "ieapp://{workspace_id}/notes/{note_id}"},
        "argument": {"name": "note_id", "value": "plan"},
        "context": {"arguments": {"workspace_id": id}}}, modern=True)),
}


def without_figures(answer):
    """Times and the like differ from call to call."""
    return re.sub(r'\\?"(executionTime|\w+_ms|\w+_bytes|fuel|code_sha256)\\?": ?[\d.]+', "",
                  answer.text)


@pytest.mark.parametrize("way", WAYS)
def test_s21_what_is_anothers_is_refused_in_the_words_for_what_is_not_there(tenants, way):
    _, b = tenants
    theirs, none = WAYS[way](b, "alpha"), WAYS[way](b, "gamma")
    assert theirs.status_code == none.status_code
    assert "alpha-word" not in theirs.text
    assert without_figures(theirs).replace("alpha", "gamma") == \
        without_figures(none).replace("alpha", "gamma")


def test_s22_no_path_of_the_disk_is_told_to_a_tenant(tenants, folders):
    _, b = tenants
    assert [v["path"] for v in b.evaluate("await vaults.list()")["result"]] == ["", ""]
    home = str(folders["alpha"].parent)
    for way in WAYS:
        for id in ("alpha", "beta", "common"):
            assert home not in WAYS[way](b, id).text, way


def test_s23_sessions_of_code_belong_to_their_token(tenants):
    a, b = tenants
    mine = a.evaluate("await vaults.switch('common'); let secret = 42; secret", session="s")
    assert mine["result"] == 42
    handle = mine["session"]["handle"]
    assert b.evaluate("typeof secret", session="s")["result"] == "undefined"
    stolen = b.evaluate("secret", session=handle)
    unknown = b.evaluate("secret", session="ses_" + "A" * 43)
    assert stolen["errorDetails"]["type"] == unknown["errorDetails"]["type"] == "NotFound"
    assert stolen["error"].replace(handle, "X") == \
        unknown["error"].replace("ses_" + "A" * 43, "X")
    ended = b.ask(call("close_session", {"session": handle}, modern=True))
    assert ended.json()["result"]["isError"]
    assert a.evaluate("secret", session="s")["result"] == 42


def test_s24_a_session_of_mcp_belongs_to_its_token(tenants):
    a, b = tenants
    opened = a.ask(initialize())
    id = opened.headers["Mcp-Session-Id"]
    for t, status in ((a, 200), (b, 404), (a, 200)):
        answer = t.server.post(request("ping"), t.headers | {
            "Mcp-Session-Id": id, "MCP-Protocol-Version": "2025-11-25"})
        assert answer.status_code == status


def test_s25_kept_answers_belong_to_their_token(tenants):
    a, b = tenants
    code = "(await notes.list({limit: 5})).length"
    assert not a.evaluate(code, cache=True).get("cached")
    assert a.evaluate(code, cache=True)["cached"]
    assert not b.evaluate(code, cache=True).get("cached")


def test_s26_large_results_belong_to_their_token(tenants):
    a, b = tenants
    uri = a.evaluate("return 'x'.repeat(2000000)")["errorDetails"]["resource"]
    assert a.read(uri).status_code == 200 and "x" * 1000 in a.read(uri).text
    other = "cloche://results/" + "A" * 43
    theirs, none = b.read(uri), b.read(other)
    assert theirs.status_code == none.status_code and "xxx" not in theirs.text
    assert theirs.text.replace(uri, other) == none.text
    pieces = b.ask(call("read_result", {"resource": uri}, modern=True))
    assert pieces.json()["result"]["isError"]


def test_s27_the_audit_is_read_for_ones_own_vaults(tenants):
    a, b = tenants
    a.evaluate("await notes.list()")
    b.evaluate("1 + 1")
    mine = b.get("/workspaces/beta/audit")
    assert mine.status_code == 200
    assert {r["caller"] for r in mine.json()} == {"http token b"}
    assert b.get("/workspaces/alpha/audit").status_code == 404
    assert b.get("/metrics").status_code == 403


def with_tasks(message):
    meta = json.loads(json.dumps(message))
    capabilities = meta["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    capabilities["extensions"] = {"io.modelcontextprotocol/tasks": {}}
    return meta


def test_s55_a_task_belongs_to_the_token_that_began_it(tenants):
    a, b = tenants
    slow = call("evaluate_note_code", {"code": "await sleep(20000); return 'a-word'"},
                modern=True)
    begun = a.ask(with_tasks(slow)).json()["result"]
    assert begun["resultType"] == "task"
    for method in ("tasks/get", "tasks/cancel", "tasks/update"):
        asked = [with_tasks(request(method, {"taskId": id, "inputResponses": {}},
                                    modern=True)) for id in (begun["taskId"], "A" * 43)]
        theirs, none = (b.server.post(m, b.headers | {"Mcp-Name": m["params"]["taskId"]})
                        for m in asked)
        assert theirs.status_code == none.status_code
        assert theirs.text.replace(begun["taskId"], "A" * 43) == none.text
    mine = with_tasks(request("tasks/get", {"taskId": begun["taskId"]}, modern=True))
    told = a.server.post(mine, a.headers | {"Mcp-Name": begun["taskId"]}).json()["result"]
    assert told["status"] == "working"


def test_s56_nobody_is_told_of_changes_in_anothers_vault(tenants, folders):
    a, b = tenants
    session = {"Mcp-Session-Id": b.ask(initialize()).headers["Mcp-Session-Id"],
               "MCP-Protocol-Version": "2025-11-25"}
    subscribe = [b.server.post(request("resources/subscribe", {"uri": f"ieapp://{id}/notes/list"}),
                               b.headers | session) for id in ("alpha", "gamma")]
    assert subscribe[0].status_code == subscribe[1].status_code
    assert subscribe[0].text.replace("alpha", "gamma") == subscribe[1].text
    own = b.server.post(request("resources/subscribe", {"uri": "ieapp://beta/notes/list"}),
                        b.headers | session)
    assert "result" in own.json()
    with b.server.http.stream("GET", "/mcp", headers=b.headers | session
                              | {"Accept": "text/event-stream"}) as stream:
        a.evaluate("await notes.create({type: 't', title: 'of a'})")
        b.evaluate("await notes.create({type: 't', title: 'of b'})")
        for line in stream.iter_lines():
            assert "alpha" not in line and "of-a" not in line
            if "beta" in line:
                break


def test_s28_a_pause_is_one_tokens(tenants, cloche):
    a, b = tenants
    subprocess.run([cloche, "callers", "pause", "http token a"], check=True, timeout=60,
                   capture_output=True)
    assert a.evaluate("1")["errorDetails"]["type"] == "PermissionDenied"
    assert b.evaluate("1")["result"] == 1


def test_s29_a_vault_that_is_held_up_delays_nobody_in_another(tenants, folders):
    a, b = tenants
    a.evaluate("await notes.create({type: 't', title: 'first'})")
    with open(folders["alpha"] / ".cloche" / "notes.lock", "r+b") as held:
        fcntl.lockf(held, fcntl.LOCK_EX)
        headers = a.headers | {"MCP-Protocol-Version": "2026-07-28",
                               "Mcp-Method": "tools/call", "Mcp-Name": "create_note"}
        waiting = [a.server.send_post(call("create_note", {
            "type": "t", "title": f"late {i}", "content": ""}, modern=True), headers)
            for i in range(4)]
        for i in range(10):
            made = b.evaluate(f"(await notes.create({{type: 't', title: 'n{i}'}})).id")
            assert made["success"], made
        for connection in waiting:
            connection.setblocking(False)
            with pytest.raises(BlockingIOError):
                connection.recv(1)
            connection.close()


def test_s30_the_list_of_vaults_is_not_a_tenants_to_change(tenants):
    _, b = tenants
    for code in ("vaults.create({id: 'n', name: 'n', path: 'n'})", "vaults.remove('beta')",
                 "vaults.update({id: 'beta', name: 'x'})"):
        assert b.evaluate(f"await {code}")["errorDetails"]["type"] == "PermissionDenied"


def test_s31_a_token_that_names_no_vaults_is_for_all(cloche, tenants):
    a, _ = tenants
    everywhere = Tenant(a.server, make_token(cloche, "everywhere"))
    seen = everywhere.evaluate("await vaults.list()")["result"]
    assert [v["id"] for v in seen] == ["alpha", "beta", "common"]


def test_s32_where_it_works_is_its_own(tenants):
    a, b = tenants
    for t in (a, b):
        session = {"Mcp-Session-Id": t.ask(initialize()).headers["Mcp-Session-Id"],
                   "MCP-Protocol-Version": "2025-11-25"}
        t.session = t.headers | session

    def where(t):
        answer = t.server.post(call("evaluate_note_code", {
            "code": "(await vaults.getCurrent()).id"}), t.session)
        return answer.json()["result"]["structuredContent"]["result"]
    a.server.post(call("evaluate_note_code", {"code": "await vaults.switch('common')"}),
                  a.session)
    assert where(a) == "common" and where(b) == "beta"


# ---- tokens and agents ----


def test_s9_no_agent_reaches_tokens(cloche, server, stdio):
    token = make_token(cloche, "ci")
    names = [t["name"] for t in server.post(request("tools/list", modern=True))
             .json()["result"]["tools"]]
    assert not [n for n in names if "token" in n]
    for code in ("Object.keys(globalThis).filter((n) => /token|credential/i.test(n))",
                 "(await api.search('token')).filter((r) => /token/i.test(r.name))"):
        answer = server.post(call("evaluate_note_code", {"code": code}, modern=True))
        assert not re.search(r'"result":\[?"', answer.text), answer.text
    reading = server.post(call("evaluate_note_code", {
        "code": f"await fs.readFile('{tokens_file()}', 'utf8')", "enableFileSystem": True},
        modern=True))
    assert token[20:] not in reading.text and '"hash"' not in reading.text
    assert tokens_file().exists()


def test_s13_a_level_of_the_policy_holds_over_a_token(cloche, tenants):
    a, _ = tenants
    subprocess.run([cloche, "policy", "set", "callers.http", "zero"], check=True, timeout=60)
    answer = a.evaluate("await notes.create({type: 't', title: 'x'})")
    assert answer["errorDetails"]["type"] == "PermissionDenied"


def test_s14_a_vaults_policy_holds_over_a_token(tenants, folders):
    a, _ = tenants
    a.evaluate("1")
    (folders["alpha"] / ".cloche" / "policy.json").write_text('{"readOnly": true}')
    answer = a.evaluate("await notes.create({type: 't', title: 'x'})")
    assert answer["errorDetails"]["type"] == "PermissionDenied"
    answer = a.evaluate("await vaults.switch('common'); "
                        "(await notes.create({type: 't', title: 'x'})).id")
    assert answer["success"]


def test_s12_a_scope_is_asked_for_in_every_way(cloche, tenants):
    a, _ = tenants
    reader = Tenant(a.server, make_token(cloche, "reader", "--scope", "read"))
    assert reader.get("/workspaces/alpha/notes").status_code == 200
    for name, arguments in (("create_note", {"type": "t", "title": "x", "content": ""}),
                            ("evaluate_note_code", {"code": "1"}),
                            ("run_script", {"code": "1", "workspace_id": "alpha"})):
        answer = reader.ask(call(name, arguments, modern=True))
        assert "scope" in answer.text and "PermissionDenied" in answer.text or \
            answer.status_code == 403, answer.text
    made = reader.server.http.post("/workspaces/alpha/notes", headers=reader.headers,
                                   json={"markdown": "# X"})
    assert made.status_code == 403
    assert reader.get("/workspaces/alpha/audit").status_code == 403
    # None of them created anything.
    names = a.evaluate("(await notes.list({limit: 100})).map((n) => n.id)")["result"]
    assert names == ["plan/alpha-note"]


def test_s15_code_has_no_more_scopes_than_its_token(cloche, tenants):
    a, _ = tenants
    runner = Tenant(a.server, make_token(cloche, "runner", "--scope", "evaluate,read"))
    answer = runner.evaluate("await notes.create({type: 't', title: 'x'})")
    assert answer["errorDetails"]["type"] == "PermissionDenied"
    answer = runner.ask(call("run_script", {
        "workspace_id": "alpha",
        "code": "host.call('POST', '/workspaces/alpha/notes', {markdown: '# X'})"},
        modern=True))
    assert "403" in answer.text or "PermissionDenied" in answer.text
    assert "plan/alpha-note" in runner.get("/workspaces/alpha/notes").text


def test_s15_who_may_write_and_not_read_learns_nothing_of_a_note(cloche, tenants, folders):
    a, _ = tenants
    (folders["alpha"] / "plan" / "alpha-note.md").write_text(
        "---\ntitle: QUINCE\n---\n# QUINCE\n\n## QUINCE\n\nQUINCE\n")
    (folders["alpha"] / "plan" / "QUINCE.md").write_text("see [[plan/alpha-note]]")
    writer = Tenant(a.server, make_token(cloche, "writer", "--scope", "write,evaluate",
                                         "--vault", "alpha"))
    note = {"identifier": "plan/alpha-note", "content": "x", "force": True}
    asked = [
        call("evaluate_note_code", {"code": f"""
            const out = [];
            const tries = [['update', {{content: 'x'}}], ['rename', {{new_title: 'y'}}],
                ['move', {{new_type: 'z'}}], ['delete', {{confirm: undefined}}],
                ['updateSection', {{heading: 'no', content: 'x'}}]];
            for (const dry_run of [true, false])
                for (const [name, more] of tries)
                    try {{
                        out.push(await notes[name]({{identifier: 'plan/alpha-note', dry_run,
                            ...(name == 'delete' ? {{}} : {{force: true}}), ...more}}));
                    }} catch (e) {{ out.push(e.message); }}
            return out;"""}, modern=True),
        call("update_note", {**note, "dry_run": True}, modern=True),
        call("update_note", {"identifier": "plan/alpha-note", "content": "x"}, modern=True),
        call("rename_note", {"identifier": "plan/alpha-note", "new_title": "y",
                             "force": True, "dry_run": True}, modern=True),
    ]
    for message in asked:
        answer = writer.ask(message)
        assert answer.status_code == 200 and "QUINCE" not in answer.text, answer.text
    answer = writer.server.http.patch(
        "/workspaces/alpha/notes/plan%2Falpha-note", json={"content": "new"},
        headers={**writer.headers, "If-Match": "*"})
    assert "QUINCE" not in answer.text, answer.text


def test_s11_a_change_of_rights_is_a_new_token(cloche, tenants):
    a, _ = tenants
    revoke(cloche, "a")
    assert a.ask(request("ping")).status_code == 401
    again = subprocess.run([cloche, "token", "create", "a"], capture_output=True, text=True)
    assert again.returncode == 1


def test_s8_answers_to_strangers_tell_nothing_of_what_is_there(cloche, tenants):
    a, _ = tenants
    answers = [a.server.http.get(path) for path in
               ("/workspaces", "/workspaces/alpha/notes", "/workspaces/gamma/notes",
                "/metrics", "/nothing", "/mcp")]
    assert {r.status_code for r in answers} == {401}
    # Problem documents of REST repeat the request's own path, and nothing else.
    rest = [r.json() for r in answers[:3]]
    assert [r.pop("instance") for r in rest] == [r.url.path for r in answers[:3]]
    assert rest[0] == rest[1] == rest[2]
    assert {r.text.strip() for r in answers[3:5]} == {rest[0]["detail"]}
