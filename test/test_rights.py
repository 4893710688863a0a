"""What a person says on the page of what agents may do: the policy, tokens, and the guard's answers."""
import json
import re
import subprocess

import pytest

from wire import Server, Stdio, call

from test_permissions import hello, run, text_of, trail


@pytest.fixture
def page(cloche, vault):
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"],
                stderr=subprocess.PIPE) as server:
        link = re.search(r"/person#(\S+)", server.process.stderr.readline())[1]
        person = {"Origin": server.url}
        answer = server.http.post("/person/enter", json={"link": link}, headers=person)
        server.seat = person | {"X-Cloche-Key": answer.json()["key"]}
        yield server
        server.process.stderr.close()


def get(page, path, **query):
    answer = page.http.get(f"/person/{path}", params=query, headers=page.seat)
    assert answer.status_code == 200, answer.text
    return answer.json()


def post(page, path, **said):
    return page.http.post(f"/person/{path}", json=said, headers=page.seat)


def twice(page, path, **said):
    """What widens rights is said again, with the token of the first answer."""
    first = post(page, path, **said)
    assert first.status_code == 428 and first.json()["sentence"]
    return post(page, path, **said, confirm=first.json()["confirm"])


def value_of(told, key):
    return next(v for v in told["shown"]["values"] if v["key"] == key)


def test_every_key_is_told_with_a_sentence_and_its_origin(page, cloche):
    run(cloche, "policy", "set", "level", "limited")
    told = get(page, "policy")
    assert len(told["shown"]["values"]) > 60
    assert all(v["summary"] and v["from"] in ("default", "user") for v in told["shown"]["values"])
    assert value_of(told, "level") | {"value": "limited", "from": "user"} == value_of(told, "level")
    assert told["schema"]["properties"]["level"]["enum"] == ["full", "limited", "zero"]
    vault = get(page, "today")["vault"]
    assert post(page, "policy", vault=vault, make=True,
                edits=[{"key": "readOnly", "value": True}]).status_code == 200
    assert value_of(get(page, "policy", vault=vault), "readOnly")["from"] == "vault"
    assert value_of(get(page, "policy"), "readOnly")["from"] == "default"


def test_an_edit_is_tried_before_it_is_made(page, cloche):
    tried = post(page, "policy", edits=[{"key": "limits.total", "value": 999999999}]).json()
    assert not tried["ok"] and tried["problems"][0]["key"] == "limits.total"
    tried = post(page, "policy", edits=[{"key": "limits.total", "value": 5000}]).json()
    assert tried["ok"] and not tried["made"] and not tried["wider"]
    assert json.loads(tried["text"]) == {"limits": {"total": 5000}}
    assert value_of(get(page, "policy"), "limits.total")["from"] == "default"


def test_what_gives_agents_more_is_said_twice(page, cloche):
    edits = [{"key": "limits.total", "value": 5000}]
    assert post(page, "policy", edits=edits, make=True).json()["made"]
    more = [{"key": "limits.total"}]
    first = post(page, "policy", edits=more, make=True)
    assert first.status_code == 428
    # The token is for that very request.
    other = [{"key": "limits.total", "value": 60000}]
    assert post(page, "policy", edits=other, make=True,
                confirm=first.json()["confirm"]).status_code == 428
    assert value_of(get(page, "policy"), "limits.total")["value"] == 5000
    assert twice(page, "policy", edits=more, make=True).json()["made"]
    assert value_of(get(page, "policy"), "limits.total")["value"] == 60000
    told = [json.loads(line) for line in
            run(cloche, "audit", "--own", "--json", "--limit", "50").splitlines()]
    assert [r["caller"] for r in told if r["event"] == "policy set"] == ["page", "page"]


def test_a_secret_is_written_and_never_read(page, cloche):
    secret = {"value": "hunter2", "hosts": ["api.example.org"], "header": "Authorization"}
    edits = [{"key": "network.secrets.TEA", "value": secret}]
    tried = post(page, "policy", edits=edits)
    made = twice(page, "policy", edits=edits, make=True)
    assert tried.json()["wider"] and made.json()["made"]
    for answer in (tried.text, made.text, json.dumps(get(page, "policy")),
                   run(cloche, "audit", "--own", "--json", "--limit", "50")):
        assert "TEA" in answer and "hunter2" not in answer
    # Others stay as they are, though nobody on the page knows them.
    more = [{"key": "network.secrets.CUP", "value": secret | {"value": "hunter3"}}]
    assert twice(page, "policy", edits=more, make=True).json()["made"]
    assert set(value_of(get(page, "policy"), "network.secrets")["value"]) == {"TEA", "CUP"}
    assert post(page, "policy", edits=[{"key": "network.secrets.TEA"}], make=True).json()["made"]
    assert set(value_of(get(page, "policy"), "network.secrets")["value"]) == {"CUP"}


@pytest.mark.parametrize("edits", [None, {}, "x", [{"key": "none"}], [{"key": 1}], [{}], [1],
                                   [{"key": "level", "value": "x"}], [{"key": "level"}] * 65])
def test_what_is_no_edit_changes_nothing(page, edits):
    assert post(page, "policy", edits=edits, make=True).status_code in (400, 409)
    assert all(v["from"] == "default" for v in get(page, "policy")["shown"]["values"])


def test_a_policy_that_refuses_all_is_told(page, cloche):
    run(cloche, "policy", "set", "level", "limited")
    file = json.loads(run(cloche, "policy", "show", "--json"))["files"][0]["file"]
    with open(file, "w") as f:
        f.write('{"levle": "zero"}')
    told = get(page, "policy")
    assert told["shown"] is None and told["check"]["problems"][0]["key"] == "levle"


def may(page, what, **query):
    told = get(page, "may", **query)
    return next(a for a in told["answers"] if a["call"] == what)


def test_the_guards_own_answer_is_what_calls_get(page, cloche, vault):
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        client.ask(hello())

        def get_note(id):
            return text_of(client.ask(call("get_note", {"identifier": "x"}, id=id)))
        assert may(page, "notes.get")["may"] == "yes" and "deniedAPIs" not in get_note(5)
        run(cloche, "policy", "set", "deniedAPIs", "notes.get")
        told = may(page, "notes.get")
        assert told["may"] == "no" and told["why"] in get_note(6)
        run(cloche, "policy", "set", "deniedAPIs", "notes.list")
        run(cloche, "policy", "set", "confirm", "notes.delete")
        assert may(page, "notes.delete")["may"] == "asks"
        assert may(page, "notes.delete", level="zero")["may"] == "no"
        run(cloche, "policy", "set", "vm.permission", "never")
        assert may(page, "vm.permission")["may"] == "no"


def test_a_token_is_shown_once_works_and_is_revoked(page, cloche):
    vault = get(page, "today")["vault"]
    said = {"name": "reader", "level": "full", "scopes": "read", "expires": "1d", "vaults": [vault]}
    token = twice(page, "token", **said).json()["token"]
    assert token not in json.dumps(get(page, "tokens"))
    [row] = get(page, "tokens")["tokens"]
    assert row["scopes"] == ["read"] and row["vaults"] == [vault] and row["expires"]
    headers = {"Authorization": f"Bearer {token}"}
    notes = f"/workspaces/{vault}/notes"
    assert page.http.get(notes, headers=headers).status_code == 200
    assert page.http.post(notes, json={"type": "a", "title": "b", "content": "c"},
                          headers=headers).status_code == 403
    assert may(page, "notes.create", token="reader")["may"] == "no"
    assert may(page, "notes.get", token="reader")["may"] == "yes"
    # A token is no person.
    assert page.http.get("/person/tokens", headers=headers).status_code == 401
    assert post(page, "revoke", name="reader").status_code == 200
    assert page.http.get(notes, headers=headers).status_code == 401
    told = run(cloche, "audit", "--own", "--json", "--limit", "50")
    assert token not in told
    events = [json.loads(line) for line in told.splitlines()]
    assert {"token create", "token revoke"} <= {r["event"] for r in events if r.get("caller") == "page"}


@pytest.mark.parametrize("said", [{}, {"name": "a b"}, {"name": "a", "scopes": "all", "expires": "1d"},
                                  {"name": "a", "scopes": "read", "expires": "soon"},
                                  {"name": "a", "scopes": "read", "expires": "1d", "vaults": []},
                                  {"name": "a", "scopes": "read", "expires": "1d", "vaults": ["none"]},
                                  {"name": "a", "scopes": "read", "expires": "1d", "level": "x"}])
def test_what_is_no_token_is_refused_at_once(page, said):
    answer = post(page, "token", **said)
    if answer.status_code == 428:
        answer = post(page, "token", **said, confirm=answer.json()["confirm"])
    assert answer.status_code in (400, 404)
    assert get(page, "tokens")["tokens"] == []


def test_how_calls_went_is_told_over_time(page, cloche, vault):
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        client.ask(hello())
        client.ask(call("evaluate_note_code", {"code": "return (await notes.list()).length"}, id=5))
        client.ask(call("evaluate_note_code", {"code": "throw new Error('x')"}, id=6))
        told = get(page, "performance", range="hour")["trends"]
        assert told["total"]["calls"] == 2 and told["total"]["failed"] == 1
        assert {"name": "notes.list", "calls": 1, "failed": 0, "denied": 0} in told["methods"]
        assert told["callers"][0]["client"] == "test"
        [slow, *_] = told["slowest"]
        assert get(page, "call", mac=slow["mac"])["record"]["action"] == slow["action"]
        # What comes later is added, and nothing is counted twice.
        client.ask(call("evaluate_note_code", {"code": "return 1"}, id=7))
        assert get(page, "performance", range="month")["trends"]["total"]["calls"] == 3
        assert get(page, "performance", range="week", kind="error",
                   name=told["errors"][0]["name"])["trends"]["total"]["calls"] == 1
    assert page.http.get("/person/performance?range=year", headers=page.seat).status_code == 400
    assert trail(vault)
