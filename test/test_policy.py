"""Policies: as the user sets them, and their effect on an agent."""
import json
import os
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest

import needs
from wire import call, structured


@pytest.fixture
def run(cloche):
    def run(*words, **how):
        return subprocess.run([cloche, *map(str, words)], capture_output=True, text=True, **how)
    return run


@pytest.fixture
def user_policy():
    """Writes the user's policy by hand."""
    def write(value):
        path = Path(os.environ["XDG_CONFIG_HOME"], "cloche", "policy.json")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path
    return write


def write_vault_policy(vault, value):
    path = vault / ".cloche" / "policy.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def evaluate(run, vault, code, *more):
    answer = json.loads(run("eval", "--vault", vault, *more, "-e", code).stdout)
    return answer["result"] if answer["success"] else answer["errorDetails"]["type"]


def values(run, *more):
    shown = json.loads(run("policy", "show", "--json", *more).stdout)
    return {v["key"]: (v["value"], v["from"]) for v in shown["values"]}


# ---- the command -----------------------------------------------------------------------

def test_show_tells_each_value_and_where_it_comes_from(run, vault, user_policy):
    user_policy({"cache": False, "limits": {"hostCalls": 50}})
    write_vault_policy(vault, {"limits": {"hostCalls": 20}})
    shown = values(run, "--vault", vault)
    assert shown["cache"] == (False, "user")
    assert shown["limits.hostCalls"] == (20, "vault")
    assert shown["level"] == ("full", "default")
    assert "limits.hostCalls" in run("policy", "show", "--vault", vault).stdout


def test_show_never_tells_a_secret(run, user_policy):
    user_policy({"network": {"secrets": {"KEY": {"value": "hunter2", "hosts": ["a.org"]}}}})
    for words in (["show"], ["show", "--json"]):
        done = run("policy", *words)
        assert done.returncode == 0 and "KEY" in done.stdout
        assert "hunter2" not in done.stdout + done.stderr


def test_set_writes_what_show_then_tells(run):
    assert run("policy", "set", "levels.full.timeout", "1234").returncode == 0
    assert run("policy", "set", "allowedAPIs", "notes", "utils").returncode == 0
    assert run("policy", "set", "lint", "refuse").returncode == 0
    shown = values(run)
    assert shown["levels.full.timeout"] == (1234, "user")
    assert shown["allowedAPIs"] == (["notes", "utils"], "user")
    assert shown["lint"] == ("refuse", "user")
    assert run("policy", "unset", "lint").returncode == 0
    assert values(run)["lint"][1] == "default"


@pytest.mark.parametrize("words, says", [
    (["set", "levls.full.timeout", "5"], "did you mean 'levels.full.timeout'?"),
    (["set", "readOnly", "perhaps"], "true or false"),
    (["set", "levels.full.timeout", "0"], "from 1 to 300000"),
    (["set", "deniedAPIs", "notes.delet"], "did you mean 'notes.delete'?"),
    (["set", "level", "zero", "full"], "takes one value"),
    (["sett"], "did you mean 'set'?"),
    (["set", "level"], "a KEY and its VALUE"),
])
def test_a_wrong_change_is_told_and_nothing_changes(run, user_policy, words, says):
    path = user_policy({"cache": False})
    before = path.read_text()
    done = run("policy", *words)
    assert done.returncode == 2 and says in done.stderr
    assert done.stderr.count("\n") == 1 and path.read_text() == before


def test_set_keeps_what_else_the_file_says(run, user_policy):
    path = user_policy({"$schema": "x.json", "limits": {"total": 700}, "cache": False})
    assert run("policy", "set", "limits.hostCalls", "9").returncode == 0
    assert json.loads(path.read_text()) == {
        "$schema": "x.json", "limits": {"total": 700, "hostCalls": 9}, "cache": False}


def test_set_for_a_vault_only_takes_away(run, vault):
    assert run("policy", "set", "--vault", vault, "readOnly", "true").returncode == 0
    assert json.loads((vault / ".cloche/policy.json").read_text()) == {"readOnly": True}
    refused = run("policy", "set", "--vault", vault, "vaultRoots", "/")
    assert refused.returncode == 2 and "only the user's policy" in refused.stderr


def test_changes_at_the_same_time_are_all_kept(cloche, run):
    keys = ["limits.total", "limits.hostCalls", "sessions.max", "levels.full.timeout",
            "levels.zero.timeout", "levels.limited.timeout"]
    running = [subprocess.Popen([cloche, "policy", "set", key, "300"]) for key in keys]
    assert [p.wait() for p in running] == [0] * len(keys)
    shown = values(run)
    assert all(shown[key] == (300, "user") for key in keys)


def test_check_tells_place_and_remedy(run, tmp_path, user_policy):
    file = tmp_path / "draft.json"
    file.write_text('{\n  "cache": true,\n  "leve": "zero"\n}')
    done = run("policy", "check", file)
    assert done.returncode == 1
    assert f"{file}:3:11: error: there is no key 'leve'; did you mean 'level'?" in done.stdout
    file.write_text('{"level": "zero"}')
    assert run("policy", "check", file).returncode == 0
    user_policy('{"level": }')
    found = json.loads(run("policy", "check", "--json").stdout)
    assert not found["ok"] and found["problems"][0]["column"] == 11


def test_a_vault_that_tries_to_grant_is_told_of(run, vault):
    write_vault_policy(vault, {"vaultRoots": ["/"], "levels": {"full": {"timeout": 300000}}})
    found = json.loads(run("policy", "check", "--vault", vault, "--json").stdout)
    assert found["ok"]
    assert {(p["key"], p["severity"]) for p in found["problems"]} == {
        ("vaultRoots", "warning"), ("levels.full.timeout", "warning")}
    checks = json.loads(run("doctor", "--vault", vault, "--json").stdout)["checks"]
    policy = next(c for c in checks if c["name"] == "policy")
    assert policy["ok"] and "is ignored" in policy["detail"]


def test_the_schema_agrees_with_the_reader(run, tmp_path):
    schema = json.loads(run("policy", "schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    published = Path(__file__).parent.parent / "docs" / "policy.schema.json"
    assert json.loads(published.read_text()) == schema, "cloche policy schema > docs/policy.schema.json"
    validator = jsonschema.Draft202012Validator(schema)
    shown = json.loads(run("policy", "show", "--json").stdout)["policy"]
    validator.validate(shown)
    file = tmp_path / "p.json"
    for value in [{}, shown, {"level": "zero"}, {"level": "none"}, {"x": 1}, {"limits": 4},
                  {"limits": {"total": 99}}, {"limits": {"total": 100}}, {"cache": None},
                  {"allowedAPIs": None}, {"allowedAPIs": "notes"}, {"mounts": [{}]},
                  {"network": {"hosts": ["a.org"], "secrets": {"A": {}}}}, {"webhook": "x"},
                  {"alerts": {"deletes": {"pause": True}}}, {"alerts": {"deletes": 1}}]:
        file.write_text(json.dumps(value))
        assert validator.is_valid(value) == (run("policy", "check", file).returncode == 0), value


def keys_of(schema, path=""):
    for name, inner in schema["properties"].items():
        if "properties" in inner:
            yield from keys_of(inner, f"{path}{name}.")
        elif name != "$schema":
            yield path + name


def test_every_key_stands_in_the_table_of_its_page(run):
    page = (Path(__file__).parent.parent / "docs" / "policy.md").read_text()
    told = []
    for row in re.findall(r"^\| (`.*?) \|", page, re.M):
        for span in re.findall(r"`(.*?)`", row):  # "`callers.stdio`, `.http`"
            told.append(told[-1].rpartition(".")[0] + span if span[0] == "." else span)
    told = [re.sub("LEVEL|KIND", r"\\w+", re.escape(key)) for key in told]
    keys = list(keys_of(json.loads(run("policy", "schema").stdout)))
    assert len(keys) > 60
    assert [key for key in keys if not any(re.fullmatch(t, key) for t in told)] == []



# ---- what an agent meets ---------------------------------------------------------------

def test_a_policy_that_does_not_parse_refuses_every_call(run, stdio, vault, user_policy):
    path = user_policy('{"level": "full",}')
    for tool, arguments in [("evaluate_note_code", {"code": "return 1"}),
                            ("get_note", {"identifier": "meeting/standup"}),
                            ("create_note", {"type": "a", "title": "b", "content": "c"})]:
        result = stdio.ask(call(tool, arguments))["result"]
        assert result["isError"]
        assert f"{path}:1:" in result["content"][0]["text"]
    assert not (vault / "a").exists()
    bad = [c for c in json.loads(run("doctor", "--json").stdout)["checks"] if not c["ok"]]
    assert "policy" in [c["name"] for c in bad]
    user_policy("{}")
    assert structured(stdio.ask(call("evaluate_note_code", {"code": "return 1"})))["result"] == 1


def test_a_policy_that_others_could_have_written_refuses_every_call(run, vault, user_policy):
    folder = user_policy({}).parent
    assert evaluate(run, vault, "return 1") == 1
    for mode in (0o770, 0o702):
        folder.chmod(mode)
        assert evaluate(run, vault, "return 1") == "PermissionDenied"
    folder.chmod(0o700)
    assert evaluate(run, vault, "return 1") == 1
    file = folder / "policy.json"
    for mode in (0o666, 0o620, 0o602):
        file.chmod(mode)
        assert evaluate(run, vault, "return 1") == "PermissionDenied"
    file.chmod(0o644)
    assert evaluate(run, vault, "return 1") == 1


@needs.system(os.geteuid() == 0, "only root can give files away")
def test_a_policy_of_another_account_refuses_every_call(run, vault, user_policy):
    file = user_policy({})
    os.chown(file, 65534, 65534)
    assert evaluate(run, vault, "return 1") == "PermissionDenied"


def test_rights_that_are_given_away_at_run_time_are_seen(stdio, user_policy):
    file = user_policy({})
    ask = lambda: structured(stdio.ask(call("evaluate_note_code", {"code": "1"})))
    assert ask()["success"]
    file.chmod(0o666)
    assert ask()["errorDetails"]["type"] == "PermissionDenied"
    file.chmod(0o600)
    assert ask()["success"]
    file.parent.chmod(0o777)
    file.write_text('{"deniedAPIs": []}')
    assert ask()["errorDetails"]["type"] == "PermissionDenied"


def test_what_a_person_changes_holds_for_the_next_call(run, stdio):
    ask = lambda: structured(stdio.ask(call(
        "evaluate_note_code", {"code": "return (await notes.list({limit: 1})).length"})))
    assert ask()["success"]
    assert run("policy", "set", "deniedAPIs", "notes.list").returncode == 0
    assert ask()["errorDetails"]["type"] == "PermissionDenied"
    assert run("policy", "unset", "deniedAPIs").returncode == 0
    assert ask()["success"]


def test_a_vaults_policy_goes_with_the_vault(run, vault, tmp_path):
    free = tmp_path / "free"
    free.mkdir()
    write_vault_policy(vault, {"readOnly": True})
    both = ["--vault", free, "--vault", vault]
    ids = json.loads(run("eval", "--vault", free, "--vault", vault, "-e",
                         "return (await vaults.list()).map(v => v.id)").stdout)["result"]
    create = "await notes.create({type: 'a', title: 'T%d', content: ''})"
    code = f"{create % 1}; await vaults.switch('{ids[1]}'); {create % 2}"
    answer = json.loads(run("eval", *both, "-e", code).stdout)
    assert answer["errorDetails"]["type"] == "PermissionDenied"
    assert (free / "a" / "T1.md").exists() and not (vault / "a").exists()
    # And the way back: what the first forbids, the second need not.
    code = f"await vaults.switch('{ids[0]}'); {create % 3}; return 1"
    assert json.loads(run("eval", "--vault", vault, "--vault", free, "-e",
                          code.replace(ids[0], ids[0])).stdout)["success"]
    # A switch and a write made at once do not slip past it either.
    race = (f"return (await Promise.allSettled([vaults.switch('{ids[1]}'), {create[6:] % 4},"
            f" {create[6:] % 5}])).map(r => r.status)")
    run("eval", *both, "-e", race)
    assert not (vault / "a").exists()


@pytest.mark.parametrize("where", ["user", "vault"])
def test_a_read_only_scope_holds_for_every_tool_and_call(
        run, stdio, vault, user_policy, where):
    before = {p: p.read_bytes() for p in vault.rglob("*.md")}
    user_policy({"readOnly": where == "user"})
    write_vault_policy(vault, {"readOnly": where == "vault"})
    # Every row that writes, in any namespace: the table says which.
    code = """
        const names = [];
        for (const space of ['notes', 'noteTypes', 'vaults', 'links', 'hierarchy',
                             'relationships', 'fs', 'net']) {
            let told = {};
            try { told = await api.describe(space); } catch {}
            for (const m of told.methods ?? [])
                if ((await api.describe(m.name)).writes) names.push(m.name);
        }
        return names;"""
    rows = structured(stdio.ask(call("evaluate_note_code", {"code": code})))["result"]
    assert {"notes.create", "notes.update", "notes.delete", "vaults.create"} <= set(rows)
    for name in rows:
        answer = structured(stdio.ask(call("evaluate_note_code", {
            "code": f"return await {name}({{identifier: 'x', type: 'a', title: 't', id: 'i',"
                    " name: 'n', path: 'p', content: ''})"})))
        assert answer["errorDetails"]["type"] == "PermissionDenied", (name, answer)
    for tool, arguments in [("create_note", {"type": "a", "title": "b", "content": ""}),
                            ("update_note", {"identifier": "x", "force": True})]:
        result = stdio.ask(call(tool, arguments))["result"]
        assert result["isError"] and "PermissionDenied" in result["content"][0]["text"]
    assert before == {p: p.read_bytes() for p in vault.rglob("*.md")}


def test_levels_by_the_way_in(run, vault, server, user_policy):
    user_policy({"callers": {"http": "zero"}})
    code = "return (await notes.search({query: 'a'})).length"
    answer = structured(server.post(call("evaluate_note_code", {"code": code})).json())
    assert answer["errorDetails"]["type"] == "PermissionDenied"
    assert "'zero'" in answer["error"]
    assert isinstance(evaluate(run, vault, code), int)


def test_a_person_may_grant_folders_for_new_vaults(run, vault, tmp_path, user_policy):
    code = f"return (await vaults.create({{id: 'n', name: 'N', path: '{tmp_path}/new'}})).id"
    assert evaluate(run, vault, code) == "PermissionDenied"
    write_vault_policy(vault, {"vaultRoots": [str(tmp_path)]})
    assert evaluate(run, vault, code) == "PermissionDenied"
    user_policy({"vaultRoots": [str(tmp_path)]})
    assert evaluate(run, vault, code) == "n"
