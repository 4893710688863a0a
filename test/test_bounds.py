"""Bounds: callers with fewer rights, untrusted vaults, and code that looks for the files behind all
this."""
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess

import pytest

import needs
from wire import call, delete_while_served, structured


@pytest.fixture
def config(tmp_path):
    folder = tmp_path / "config" / "cloche"
    folder.mkdir(parents=True, mode=0o700)
    return folder


@pytest.fixture
def evaluate(cloche, vault):
    """Runs code over the vault; the whole answer."""
    def evaluate(code, *options, vault=vault):
        place = ["--vault", vault] if vault else []
        done = subprocess.run([cloche, "eval", *place, *options, "-e", code],
                              capture_output=True, text=True, timeout=100)
        assert done.returncode >= 0, done.stderr
        return json.loads(done.stdout)
    return evaluate


def kind(answer):
    return "success" if answer["success"] else answer["errorDetails"]["type"]


def set_policy(folder, value):
    folder.mkdir(exist_ok=True)
    (folder / "policy.json").write_text(json.dumps(value))


def evaluated(client, code, **more):
    return structured(client.ask(call("evaluate_note_code", {"code": code, **more})))


def last_record(cloche, vault):
    done = subprocess.run([cloche, "audit", "--vault", vault, "--json"], capture_output=True,
                          text=True)
    return [json.loads(line) for line in done.stdout.splitlines()][-1]


# ---- dry runs ---------------------------------------------------------------------------

def test_a_dry_run_is_not_recorded_as_a_change(cloche, evaluate, vault):
    evaluate("return notes.create({title: 'X', type: 'meeting', dry_run: true})")
    assert "changed" not in last_record(cloche, vault)
    assert "notes" not in last_record(cloche, vault)
    evaluate("return notes.create({title: 'X', type: 'meeting'})")
    assert last_record(cloche, vault)["changed"] is True


def test_a_dry_run_shows_notes_only_to_whom_may_read_them(evaluate, config):
    code = ("const note = {identifier: 'meeting/council-2026-09-03', content: 'x', force: true};"
            "return notes.update({...note, dry_run: true})")
    [shown] = evaluate(code)["result"]["changes"]
    assert "-" in shown["diff"]
    for options in (["--allow", "notes.update"], []):
        if not options:
            set_policy(config, {"deniedAPIs": ["notes.get"]})
        answer = evaluate(code, *options)["result"]
        assert answer == {"dry_run": True, "hidden": "needs notes.get", "others": 0,
                          "changes": [{"id": shown["id"], "path": shown["path"],
                                       "action": "update", "diff": ""}]}


def test_a_dry_run_of_a_plain_tool_is_none_either(cloche, stdio, vault):
    stdio.ask(call("create_note", {"title": "X", "type": "meeting", "dry_run": True}))
    record = last_record(cloche, vault)
    assert record["action"] == "create_note" and "changed" not in record


# ---- the vault's own policy --------------------------------------------------------------

def test_a_vault_that_took_another_ones_place_brings_its_own_policy(stdio, vault):
    assert evaluated(stdio, "return 1")["success"]
    shutil.copytree(vault, vault.with_name("copy"))
    delete_while_served(vault)
    vault.with_name("copy").rename(vault)
    set_policy(vault / ".cloche", {"readOnly": True})
    answer = evaluated(stdio, "return notes.create({title: 'X', type: 'meeting'})")
    assert kind(answer) == "PermissionDenied"
    assert not list(vault.rglob("X.md"))


@pytest.mark.parametrize("place", ["fifo", "folder", "link", "dangling", "huge", "binary",
                                   "unreadable", "deep", "bool"])
def test_a_policy_that_is_none_refuses_everything(evaluate, vault, place, tmp_path):
    own = vault / ".cloche"
    own.mkdir(exist_ok=True)
    path = own / "policy.json"
    good = tmp_path / "good.json"
    good.write_text("{}")
    if place == "fifo":
        os.mkfifo(path)
    elif place == "folder":
        path.mkdir()
    elif place == "link":
        path.symlink_to(good)
    elif place == "dangling":
        path.symlink_to(tmp_path / "nowhere")
    elif place == "huge":
        path.write_text('{"level": "zero"' + " " * 50_000_000 + "}")
    elif place == "binary":
        path.write_bytes(bytes(range(256)))
    elif place == "unreadable":
        path.write_text("{}")
        path.chmod(0)
        if os.access(path, os.R_OK):
            needs.skip("root reads everything")
    elif place == "deep":
        path.write_text('{"a":' * 100_000)
    elif place == "bool":
        path.write_text("true")
    assert kind(evaluate("return notes.list({})")) == "PermissionDenied"


def test_a_vaults_own_folder_that_is_a_link_refuses(evaluate, vault, tmp_path):
    other = tmp_path / "elsewhere"
    set_policy(other, {})
    shutil.rmtree(vault / ".cloche", ignore_errors=True)
    (vault / ".cloche").symlink_to(other)
    answer = evaluate("return notes.create({title: 'X', type: 'meeting'})")
    assert not answer["success"]
    assert sorted(p.name for p in other.iterdir()) == ["policy.json"]


# ---- files ------------------------------------------------------------------------------

def mounted(config, host, mode="rw"):
    set_policy(config, {"mounts": [{"guest": "/m", "host": str(host), "mode": mode}]})


def test_no_mount_reaches_the_users_own_settings(evaluate, config, tmp_path):
    mounted(config, tmp_path)
    before = (config / "policy.json").read_text()
    for code in ("return fs.readFile('/m/config/cloche/policy.json', 'utf8')",
                 "return fs.writeFile('/m/config/cloche/policy.json', '{}')",
                 "return fs.rename('/m/config/cloche', '/m/c')",
                 "return fs.rename('/m/config', '/m/c')",
                 "return fs.readdir('/m/state/cloche')"):
        answer = evaluate(code, "--files")
        assert not answer["success"], code
    assert (config / "policy.json").read_text() == before


def test_no_mount_reaches_the_installed_tools(evaluate, config, tmp_path):
    records = tmp_path / "data" / "cloche" / "tools" / "records"
    records.mkdir(parents=True)
    for host in (records, records.parent, records.parent.parent):
        mounted(config, host)
        assert not evaluate("return fs.readdir('/m')", "--files")["success"], host


def test_no_mount_shows_a_vaults_own_folder(evaluate, config, vault, tmp_path):
    evaluate("return notes.list({})")
    host = vault / ".cloche"
    mounted(config, host)
    answer = evaluate("return fs.readdir('/m')", "--files")
    assert not answer["success"]


def test_no_writable_mount_holds_the_vault(evaluate, config, tmp_path):
    """Otherwise code could move the vault away, and its policy with it."""
    around = tmp_path / "around"
    inner = around / "notes"
    inner.mkdir(parents=True)
    (inner / "A.md").write_text("a")
    mounted(config, around)
    answer = evaluate("return fs.rename('/m/notes', '/m/gone')", "--files", vault=inner)
    assert kind(answer) == "PermissionDenied"
    assert "read-only" in answer["error"] and (inner / "A.md").exists()
    mounted(config, around, "ro")
    answer = evaluate("return fs.readFile('/m/notes/A.md', 'utf8')", "--files", vault=inner)
    assert answer["result"] == "a"


def test_files_follow_the_policy_of_the_vault_that_code_goes_on_to(cloche, config, vault,
                                                                  tmp_path):
    data = tmp_path / "data1"
    data.mkdir()
    (data / "secret").write_text("secret")
    mounted(config, data, "ro")
    other = tmp_path / "other"
    for policy in ({"mounts": []}, {"fileSystem": False}, {"level": "zero"}):
        other.mkdir(exist_ok=True)
        set_policy(other / ".cloche", policy)
        code = ("await fs.readFile('/m/secret', 'utf8'); await vaults.switch('other');"
                "return fs.readFile('/m/secret', 'utf8')")
        done = subprocess.run([cloche, "eval", "--vault", vault, "--vault", other, "--files",
                               "-e", code], capture_output=True, text=True)
        answer = json.loads(done.stdout)
        assert not answer["success"], (policy, answer)


# ---- vaults -----------------------------------------------------------------------------

def test_the_policys_roots_are_places_for_vaults(evaluate, config, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    make = f"return vaults.create({{id: 'n', name: 'N', path: '{root}/new'}})"
    assert kind(evaluate(make)) == "PermissionDenied"
    set_policy(config, {"vaultRoots": [str(root)]})
    assert kind(evaluate(make)) == "success"


@pytest.mark.parametrize("path", ["config/cloche", "config/cloche/x", "state/cloche",
                                  "state/cloche/audit", "config", "state"])
def test_no_root_lets_code_take_our_own_folders_for_a_vault(evaluate, config, tmp_path, path):
    set_policy(config, {"vaultRoots": [str(tmp_path)]})
    evaluate("return notes.list({})")
    answer = evaluate(f"return vaults.create({{id: 'n', name: 'N', path: '{tmp_path}/{path}'}})")
    assert kind(answer) == "PermissionDenied", answer


@pytest.mark.parametrize("path", ["", ".", "..", "../x", "a/../../x", "/", "//", "a/.cloche",
                                  ".cloche", "a/.cloche/b", "a\\u0000b", "x" * 5000, "/etc",
                                  "/proc/self/cwd", "a//b", "a/", "./a"])
def test_code_makes_no_vault_at_an_odd_place(evaluate, path, tmp_path):
    answer = evaluate(f'return vaults.create({{id: "n", name: "N", path: "{path}"}})')
    assert not answer["success"], answer


def test_a_read_only_evaluation_leaves_the_users_current_vault(cloche, config, tmp_path,
                                                              evaluate):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        subprocess.run([cloche, "vault", "add", tmp_path / name], check=True,
                       capture_output=True)
    before = (config / "vaults.json").read_text()
    set_policy(config, {"readOnly": True})
    evaluate("await vaults.switch('two')", vault=None)
    after = json.loads((config / "vaults.json").read_text())
    assert after["current"] == json.loads(before)["current"]


# ---- what a more trusted call left ---------------------------------------------------------

def test_what_a_trusted_call_kept_in_a_session_has_the_rights_of_who_uses_it(stdio, vault):
    made = evaluated(stdio, "const make = (t) => notes.create({title: t, type: 'meeting'});"
                            "const held = notes.create; 1", session="s")
    assert made["success"]
    for code in ("return make('A')", "return held({title: 'A', type: 'meeting'})"):
        answer = evaluated(stdio, code, session="s", allowedAPIs=["notes.get"])
        assert kind(answer) == "PermissionDenied", answer
    set_policy(vault / ".cloche", {"level": "zero"})
    assert kind(evaluated(stdio, "return make('A')", session="s")) == "PermissionDenied"
    assert not list(vault.rglob("A.md"))


def test_a_kept_answer_is_not_given_to_fewer_rights(stdio, vault):
    code = "return (await notes.search({query: 'a'})).length"
    assert evaluated(stdio, code, cache=True)["success"]
    assert evaluated(stdio, code, cache=True)["success"]
    assert kind(evaluated(stdio, code, cache=True, allowedAPIs=["notes.get"])) == \
        "PermissionDenied"
    for policy in ({"level": "zero"}, {"deniedAPIs": ["notes.search"]},
                   {"allowedAPIs": ["notes.get"]}):
        set_policy(vault / ".cloche", policy)
        assert kind(evaluated(stdio, code, cache=True)) == "PermissionDenied", policy


WRITES = """
notes.create({title: 'N', type: 'meeting'})
notes.update({identifier: ID, content: 'x', force: true})
notes.delete({identifier: ID, confirm: true})
notes.rename({identifier: ID, new_title: 'Other', force: true})
notes.move({identifier: ID, new_type: 'other', force: true})
notes.updateSection({identifier: ID, heading: 'H', content: 'x', mode: 'create', force: true})
notes.batch({changes: [{action: 'create', title: 'N', type: 'meeting'}]})
notes.restore({identifier: ID, revision: 1, force: true})
noteTypes.create({type_name: 'new', description: 'd'})
noteTypes.update({type_name: 'meeting', description: 'd'})
noteTypes.delete({type_name: 'meeting', action: 'delete', confirm: true})
hierarchy.addSubnote({parent_id: ID, child_id: ID2})
hierarchy.removeSubnote({parent_id: ID, child_id: ID2})
hierarchy.reorder({parent_id: ID, child_ids: []})
vaults.create({id: 'n', name: 'N', path: 'n'})
vaults.update({id: 'vault', name: 'N'})
vaults.remove('vault')
""".strip().splitlines()


def snapshot(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*")
            if p.is_file() and ".cloche" not in p.relative_to(folder).parts}


@pytest.mark.parametrize("code", WRITES)
def test_nothing_writes_where_the_policy_says_read_only(evaluate, vault, code, tmp_path):
    ids = [n["id"] for n in evaluate("return notes.list({})")["result"]][:2]
    set_policy(vault / ".cloche", {"readOnly": True})
    before = snapshot(vault)
    code = code.replace("ID2", json.dumps(ids[1])).replace("ID", json.dumps(ids[0]))
    for way in (f"return {code}", f"return await {code.split('(', 1)[0]}.call(null, "
                + code.split("(", 1)[1]):
        assert kind(evaluate(way)) == "PermissionDenied"
    assert snapshot(vault) == before
    assert not (tmp_path / "data/cloche/vaults/n").exists()
    assert not (vault / ".cloche" / "types").exists()


@pytest.mark.parametrize("tool, arguments", [
    ("create_note", {"title": "N", "type": "meeting"}),
    ("update_note", {"identifier": "ID", "content": "x", "force": True}),
    ("rename_note", {"identifier": "ID", "new_title": "Other"}),
    ("rename_note", {"identifier": "ID", "new_type": "other"})])
def test_no_plain_tool_writes_there_either(server, vault, tool, arguments):
    first = sorted(vault.rglob("*.md"))[0].relative_to(vault).with_suffix("")
    arguments = {k: str(first) if v == "ID" else v for k, v in arguments.items()}
    for policy in ({"readOnly": True}, {"level": "zero"}, {"deniedAPIs": ["notes"]},
                   {"allowedAPIs": ["utils"]}):
        set_policy(vault / ".cloche", policy)
        before = snapshot(vault)
        answer = server.post(call(tool, arguments)).json()
        assert answer["result"]["isError"] is True, (policy, answer)
        assert snapshot(vault) == before


def test_denials_hold_for_tools_that_only_read(server, vault):
    first = str(sorted(vault.rglob("*.md"))[0].relative_to(vault).with_suffix(""))
    for policy, tools in (({"deniedAPIs": ["notes.get", "notes.search"]},
                           [("get_note", {"identifier": first}),
                            ("search_notes", {"query": "a"})]),):
        set_policy(vault / ".cloche", policy)
        for tool, arguments in tools:
            answer = server.post(call(tool, arguments)).json()
            assert answer["result"]["isError"] is True, answer


# ---- looking for .cloche ---------------------------------------------------------------------

NAMES = ["../x", "..", ".", "a/b", "/etc", ".hidden", ".cloche", "a\\u0000b", "x" * 300, "",
         "../.cloche", ".cloche/types", "con/../..", "a\\nb"]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leads_out_of_the_notes(evaluate, vault, name):
    evaluate("return notes.list({})")
    outside = {p for p in vault.parent.iterdir()}
    own = snapshot(vault / ".cloche")
    q = f'"{name}"'
    for code in (f"noteTypes.create({{type_name: {q}, description: 'd'}})",
                 f"notes.get({q})", f"notes.get({{identifier: {q} + '/policy'}})",
                 f"notes.create({{title: 'policy', type: {q}}})",
                 f"notes.move({{identifier: 'x', new_type: {q}}})",
                 f"notes.restore({{backup_path: {q}}})",
                 f"notes.restore({{backup_path: '.cloche/trash/' + {q}}})",
                 f"notes.restore({{backup_path: '.cloche/trash/x/' + {q}}})",
                 f"notes.restore({{backup_path: '.cloche/' + {q}}})"):
        answer = evaluate("return " + code)
        if answer["success"]:
            assert answer["result"] is None or name == "", (code, answer)
    assert {p for p in vault.parent.iterdir()} == outside
    after = snapshot(vault / ".cloche")
    assert {k for k in after if not k.startswith(("audit/", "index.db", "history/"))} <= set(own)


@pytest.mark.parametrize("name", ["../x", "a/b", "ses_../x", "x" * 100, "a\nb"])
def test_no_session_has_a_name_that_is_a_path(cloche, vault, name):
    done = subprocess.run([cloche, "eval", "--vault", vault, "--session", name, "-e", "1"],
                          capture_output=True, text=True, timeout=100)
    assert done.returncode == 2 and done.stdout == ""
    assert "--session" in done.stderr


# ---- vaults of strangers -----------------------------------------------------------------------

EVERYTHING = ("await notes.list({}); await notes.search({query: 'a'}); await noteTypes.list();"
              "const n = await notes.create({title: 'Mine', type: 'meeting'});"
              "await notes.history(n.id); await notes.listTrash(); return n.id")


@pytest.mark.parametrize("name", ["index.db", "history/history.db", "history/lock", "audit",
                                  "history", "trash", "types", "types/meeting.md",
                                  "audit/audit-000001.jsonl", "index.db-wal",
                                  "history/history.db-wal", "history/stage"])
@pytest.mark.parametrize("what", ["fifo", "folder", "link", "garbage", "empty"])
def test_a_strangers_own_files_neither_hang_nor_lead_away(evaluate, vault, name, what, tmp_path):
    path = vault / ".cloche" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    target = tmp_path / "target"
    if what == "fifo":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
        (path / "inner").mkdir()
    elif what == "link":
        target.mkdir()
        path.symlink_to(target)
    else:
        path.write_bytes(os.urandom(100_000) if what == "garbage" else b"")
    answer = evaluate(EVERYTHING)
    assert answer["success"] or answer["errorDetails"]["message"]
    if what == "link":
        assert list(target.iterdir()) == []


def test_a_strangers_journal_moves_nothing_but_notes(evaluate, vault, tmp_path):
    evaluate("return notes.create({title: 'One', type: 'meeting'})")
    set_policy(vault / ".cloche", {"readOnly": True})
    victim = tmp_path / "victim.md"
    victim.write_text("mine")
    db = sqlite3.connect(vault / ".cloche" / "history" / "history.db")
    plain = hashlib.sha256(b"mine").hexdigest()
    hashes = [plain, "sha256:" + plain]
    step = 0
    for h in hashes:
        for a, b in ((".cloche/policy.json", ""), ("../victim.md", ""),
                     ("../victim.md", "meeting/stolen.md"),
                     (str(victim), "meeting/stolen.md"),
                     (".cloche/policy.json", "meeting/policy.md"),
                     ("", "../evil.md"), ("", ".cloche/evil.md"),
                     (".cloche/trash/../policy.json", "meeting/p.md")):
            db.execute("INSERT INTO pending VALUES(?, ?, ?, ?, ?, 0)",
                       (step, a, b, h if a else "", "" if not b else h))
            step += 1
    db.commit()
    db.close()
    (vault / ".cloche" / "history" / "lock").write_bytes(b"\x01")
    evaluate("return notes.list({})")
    assert kind(evaluate("return notes.create({title: 'Two', type: 'meeting'})")) == \
        "PermissionDenied"
    (vault / ".cloche" / "policy.json").unlink()
    assert evaluate("return notes.create({title: 'Two', type: 'meeting'})")["success"]
    assert victim.read_text() == "mine"
    assert not (tmp_path / "evil.md").exists()
    assert not (vault / "meeting" / "stolen.md").exists()


@pytest.mark.parametrize("name", ["index.db", "history/history.db"])
def test_a_strangers_triggers_and_views_do_nothing(evaluate, vault, name):
    evaluate(EVERYTHING)
    path = vault / ".cloche" / name
    db = sqlite3.connect(path)
    tables = [r[0] for r in db.execute(
        "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite%'"
        " AND sql NOT LIKE '%VIRTUAL%'")]
    for table in tables:
        for event in ("INSERT", "UPDATE", "DELETE"):
            try:
                db.execute(f"CREATE TRIGGER \"t_{table}_{event}\" BEFORE {event} ON \"{table}\" "
                           "BEGIN SELECT raise(abort, 'hostile'); END")
            except sqlite3.OperationalError:
                pass
    db.commit()
    db.close()
    answer = evaluate(EVERYTHING.replace("'Mine'", "'Mine 2'"))
    assert "hostile" not in json.dumps(answer)


@pytest.mark.parametrize("path", [".cloche/policy.json", "../victim.md", "/etc/passwd", "", "\0a"])
@pytest.mark.parametrize("column", ["path", "id", "uid"])
def test_a_strangers_index_names_no_other_file_as_a_note(evaluate, vault, tmp_path, path, column):
    evaluate("return notes.search({query: 'a'})")
    victim = tmp_path / "victim.md"
    victim.write_text("mine")
    set_policy(vault / ".cloche", {"keepCode": False})
    db = sqlite3.connect(vault / ".cloche" / "index.db")
    db.execute(f"UPDATE notes SET {column} = ? WHERE key = (SELECT min(key) FROM notes)", (path,))
    db.commit()
    db.close()
    code = ("const said = [];"
            "for (const i of [...(await notes.list({})).map((n) => n.id), context.path]) try {"
            "  said.push((await notes.get(i)).content);"
            "  await notes.delete({identifier: i, confirm: true}) } catch {} return said")
    said = json.dumps(evaluate(code, "--context", json.dumps({"path": path})))
    assert "keepCode" not in said and '"mine"' not in said and "root:" not in said
    assert victim.read_text() == "mine"
    assert (vault / ".cloche" / "policy.json").exists()


def test_a_strangers_trail_is_told_as_what_it_is(cloche, evaluate, vault):
    own = vault / ".cloche" / "audit"
    own.mkdir(parents=True)
    (own / "audit-000001.jsonl").write_text('{"n":1,"event":"call","mac":"00"}\n' * 1000)
    (own / "audit-000002.jsonl").write_text("x" * 5_000_000)
    (own / "audit-999999999999999999999.jsonl").write_text("{}\n")
    assert evaluate("return 1")["success"]
    assert evaluate("return notes.create({title: 'One', type: 'meeting'})")["success"]
    done = subprocess.run([cloche, "audit", "--vault", vault, "--json"], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0
    assert json.loads(done.stdout.splitlines()[-1])["changed"] is True


# ---- the trail -----------------------------------------------------------------------------------

def test_what_was_refused_or_wrong_is_recorded(cloche, stdio, vault):
    stdio.ask(call("get_note", {"nonsense": 1}))
    assert last_record(cloche, vault)["result"] == "InvalidInput"
    stdio.ask(call("evaluate_note_code", {"code": "return 1", "timeout": 10_000_000}))
    assert last_record(cloche, vault)["result"] == "InvalidInput"
    stdio.ask(call("evaluate_note_code", {"code": "return 1", "allowedAPIs": ["nonsense"]}))
    assert last_record(cloche, vault)["result"] == "InvalidInput"
    set_policy(vault / ".cloche", {"deniedAPIs": ["notes.get"]})
    stdio.ask(call("get_note", {"identifier": "x"}))
    assert last_record(cloche, vault)["result"] == "PermissionDenied"
    (vault / ".cloche" / "policy.json").write_text("{")
    stdio.ask(call("get_note", {"identifier": "x"}))
    assert last_record(cloche, vault)["result"] == "PermissionDenied"


def test_metrics_have_no_label_that_a_client_chooses(server, vault):
    for name in ('x"} 1\nevil{a="', "evaluate_note_code", "get_note"):
        server.post(call(name, {"code": "return 1", "session": 'a"b'}))
    server.post(call("evaluate_note_code",
                     {"code": "for (let i = 0; i < 50; i++) try { await notes['x' + i]() } "
                              "catch {}"}))
    text = server.http.get("/metrics").text
    assert "cloche_tool_calls" in text
    assert "evil" not in text and "x1" not in text
