"""No change without a record, also if the program is killed, with many vaults, long lists, or on a
full disk; and a record is about one vault only."""
import hashlib
import json
import random
import signal
import sqlite3
import subprocess

import pytest

from test_audit import calls, records, run, verify  # noqa: F401 (run is a fixture)
from wire import Stdio, call, initialize, structured


def history(vault):
    """(call, path, number) of all revisions that calls made."""
    place = vault / ".cloche" / "history" / "history.db"
    if not place.exists():
        return []
    with sqlite3.connect(place) as db:
        return db.execute("SELECT call, path, number FROM revisions"
                          " WHERE call IS NOT NULL").fetchall()


def each_change_has_one_record(run, vault):
    """The records of changes equal the history, each once."""
    ended = [r for r in records(run, "--vault", vault, limit=100000) if r["event"] == "call"]
    named = [r["intent"] for r in ended if "intent" in r]
    assert len(named) == len(set(named))
    made = history(vault)
    assert {c for c, *_ in made} <= set(named)
    by_call = {r["intent"]: r for r in ended if "intent" in r}
    for c, path, _ in made:
        assert by_call[c]["changed"] is True
        assert path.removesuffix(".md") in by_call[c]["notes"]
    assert verify(run, vault)["ok"]
    return ended


# ---- what was killed ---------------------------------------------------------------------

@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_evaluation_that_was_killed_is_recorded_with_what_it_had_changed(
        run, cloche, vault, how):
    code = ("await notes.create({type: 'a', title: 'G', content: ''});"
            "console.log('made'); await sleep(60000)")
    with subprocess.Popen([cloche, "eval", "--vault", vault, "-e", code],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        note = vault / "a" / "G.md"
        while not note.exists():
            assert p.poll() is None
        p.send_signal(how)
    each_change_has_one_record(run, vault)
    r = calls(run, "--vault", vault)[-1]
    assert r["notes"] == ["a/G"] and r["action"] == "evaluate_note_code"
    assert r["caller"] == "terminal"
    if how == signal.SIGKILL:
        assert r["result"] == "Interrupted" and r["begun"] <= r["time"]


def test_of_kills_at_any_moment_each_change_is_recorded_once(run, cloche, vault):
    chance = random.Random(20260728)
    rounds, number = 60, 0
    for _ in range(rounds):
        with Stdio([cloche, "mcp", "--vault", vault], stderr=subprocess.DEVNULL) as s:
            s.ask(initialize())
            for i in range(chance.randrange(1, 12)):
                number += 1
                s.send(call("create_note", {"type": "k", "title": f"N{number}",
                                            "content": "x"}, id=i + 1))
            for _ in range(chance.randrange(0, 3)):
                s.receive()
            s.process.kill()
    ended = each_change_has_one_record(run, vault)
    assert any(r["result"] == "Interrupted" for r in ended)
    assert {p for _, p, _ in history(vault)} >= {
        p.relative_to(vault).as_posix() for p in (vault / "k").glob("*.md")}


def test_what_is_no_note_is_announced_as_well(run, cloche, vault):
    """The intent is recorded before the change: of a type, which has no history."""
    run("eval", "--vault", vault, "-e",
        "await noteTypes.create({type_name: 't', description: 'd'})")
    all_records = records(run, "--vault", vault)
    intent = next(r for r in all_records if r["event"] == "intent")
    end = next(r for r in all_records if r["event"] == "call")
    assert intent["call"] == "noteTypes.create" and intent["intent"] == end["intent"]
    assert intent["n"] < end["n"] and end["changed"] is True


def test_verify_tells_a_change_that_no_record_names(run, vault):
    run("eval", "--vault", vault, "-e",
        "await notes.create({type: 'a', title: 'One', content: ''})")
    assert verify(run, vault)["ok"]
    with sqlite3.connect(vault / ".cloche" / "history" / "history.db") as db:
        db.execute("UPDATE revisions SET call = 'abcabcabcabcabcabcabcabc'")
    found = verify(run, vault)
    assert not found["ok"] and found["trails"][0]["ok"]
    row = found["history"]["unrecorded"][0]
    assert row["id"] == "a/One" and row["revision"] == 1 and row["time"]


@pytest.mark.parametrize("cut", ["DELETE FROM revisions WHERE id = 1",
                                 "DELETE FROM revisions WHERE id = 2", None])
def test_verify_tells_a_history_that_was_cut(run, vault, cut):
    for title in ("One", "Two"):
        run("eval", "--vault", vault, "-e",
            f"await notes.create({{type: 'a', title: '{title}', content: ''}})")
    place = vault / ".cloche" / "history"
    if cut:
        with sqlite3.connect(place / "history.db") as db:
            db.execute(cut)
    else:
        for file in place.glob("history.db*"):
            file.unlink()
    found = verify(run, vault)
    assert not found["ok"] and not found["history"]["ok"]


# ---- by vault ------------------------------------------------------------------------------

def test_an_evaluation_in_64_vaults_is_recorded_in_each(run, vault, tmp_path):
    places = [vault] + [tmp_path / f"v{i}" for i in range(63)]
    for place in places:
        place.mkdir(exist_ok=True)
        assert run("vault", "add", place).returncode == 0
    done = run("eval", "--timeout", "30000", "-e", """
        for (const v of await vaults.list()) {
            await vaults.switch(v.id);
            await notes.create({type: 'a', title: 'In ' + v.id, content: ''});
        }""")
    assert json.loads(done.stdout)["success"], done.stdout
    for place in places:
        each_change_has_one_record(run, place)
        r = calls(run, "--vault", place)[-1]
        assert len(r["notes"]) == 1 and r["calls"]["notes.create"] == 1
        assert (place / f"{r['notes'][0]}.md").exists()


def test_the_audit_of_one_vault_tells_nothing_of_another(run, vault, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    ids = json.loads(run("eval", "--vault", vault, "--vault", other, "-e",
                         "return (await vaults.list()).map(v => v.id)").stdout)["result"]
    run("eval", "--vault", vault, "--vault", other, "-e", f"""
        await notes.create({{type: 'a', title: 'Here', content: ''}});
        await vaults.switch('{ids[1]}');
        for (let i = 0; i < 7; i++)
            await notes.create({{type: 'secret', title: 'There' + i, content: ''}});
        await notes.list();""")
    here = calls(run, "--vault", vault)[-1]
    there = calls(run, "--vault", other)[-1]
    assert here["notes"] == ["a/Here"] and here["host_calls"] == 2
    assert here["calls"] == {"notes.create": 1, "vaults.switch": 1}
    assert len(there["notes"]) == 7 and there["calls"] == {"notes.create": 7, "notes.list": 1}
    assert here["code"] == there["code"] and here["intent"] != there["intent"]


# ---- long lists ------------------------------------------------------------------------------

def test_a_record_of_many_notes_counts_those_it_does_not_name(run, vault):
    done = run("eval", "--vault", vault, "-e", """
        for (let b = 0; b < 10; b++) {
            const changes = [];
            for (let i = 0; i < 1000; i++)
                changes.push({action: 'create', type: 'n'.repeat(100),
                              title: 'x'.repeat(190) + (1000 * b + i), content: ''});
            await notes.batch({changes});
        }
        return 1""", "--timeout", "30000")
    assert json.loads(done.stdout)["success"], done.stdout
    r = calls(run, "--vault", vault)[-1]
    assert r["changed"] is True and len(r["notes"]) + r["more_notes"] == 10000
    assert verify(run, vault)["ok"]


def test_names_of_any_bytes_leave_a_record(run, vault):
    code = "\n".join("try { await notes.create({type: 'a', title: %s, content: ''}) } catch {}"
                     % json.dumps(chr(27) * n + "é" * n + f"{n}") for n in range(30))
    run("eval", "--vault", vault, "-e", code)
    each_change_has_one_record(run, vault)


# ---- on a terminal ---------------------------------------------------------------------------

FORGERIES = ["\x1b[2K\rforged", "a\nforged 2026 line", "\x07bell", "x\u202eetirw", "\u2066i\u2069",
             "zero\u200bwidth", "\x9b31m", "tag\U000e0041", "\x00nul", "tab\there"]


def test_what_others_wrote_makes_no_line_of_its_own(run, cloche, vault):
    with Stdio([cloche, "mcp", "--vault", vault]) as s:
        s.ask(initialize())
        for i, text in enumerate(FORGERIES):
            s.ask(call("get_note", {"identifier": text}, id=i + 1))
            s.ask(call("no such tool " + text, {}, id=100 + i))
    listed = run("audit", "--vault", vault, "--limit", 1000)
    shown = [run("audit", "show", str(r["n"]), "--vault", vault).stdout
             for r in records(run, "--vault", vault)]
    own = run("callers", "--vault", vault).stdout
    for text in (listed.stdout, own, *shown):
        assert not any(ord(c) < 32 and c != "\n" or 0x7f <= ord(c) <= 0xa0 or c in
                       "\u202e\u2066\u2069\u200b\u2028\u2029" or ord(c) > 0xe0000 for c in text)
        assert "forged 2026 line" not in text.splitlines()
    assert len(listed.stdout.splitlines()) == len(
        [r for r in records(run, "--vault", vault) if r["event"] != "intent"])


def test_callers_tells_the_programs_that_came_by_one_name(run, cloche, vault):
    for name in ("One", "Two"):
        with Stdio([cloche, "mcp", "--vault", vault]) as s:
            hello = initialize()
            hello["params"]["clientInfo"] = {"name": name, "version": "1"}
            s.ask(hello)
            s.ask(call("get_note", {"identifier": "x"}))
    seen = json.loads(run("callers", "--vault", vault, "--json").stdout)["seen"]
    assert {(r["caller"], r["client"]["name"], r["calls"]) for r in seen} == {
        ("stdio", "One", 1), ("stdio", "Two", 1)}


# ---- on the disk -------------------------------------------------------------------------------

def user_policy(tmp_path, policy):
    folder = tmp_path / "config" / "cloche"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.json").write_text(json.dumps(policy))


def test_an_agent_whose_records_took_their_share_is_refused_and_others_go_on(
        run, cloche, vault, tmp_path):
    user_policy(tmp_path, {"audit": {"callerMegabytes": 1}})
    long = "a/" + "x" * 190
    with Stdio([cloche, "mcp", "--vault", vault], stderr=subprocess.DEVNULL) as s:
        s.ask(initialize())
        for i in range(6000):
            got = s.ask(call("get_note", {"identifier": long}, id=i + 1))
            text = got["result"]["content"][0]["text"]
            if text.startswith("Busy"):
                break
        assert "audit.callerMegabytes" in text
        size = sum(p.stat().st_size for p in (vault / ".cloche/audit").glob("*.jsonl"))
        assert 900_000 < size < 1_300_000
        for i in range(200):
            s.ask(call("get_note", {"identifier": long}, id=10_000 + i))
        assert sum(p.stat().st_size for p in
                   (vault / ".cloche/audit").glob("*.jsonl")) - size < 10_000
    done = run("eval", "--vault", vault, "-e", "await notes.create({title: 'Mine', content: ''})")
    assert json.loads(done.stdout)["success"]
    alerts = [r for r in records(run, "--vault", vault, limit=100000) if r["event"] == "alert"]
    alerts = [a for a in alerts if a["kind"] == "disk"]
    assert len(alerts) == 1 and alerts[0]["client"]["name"] == "test"


def test_an_agent_that_has_written_its_share_changes_nothing_more(run, cloche, vault, tmp_path):
    user_policy(tmp_path, {"disk": {"callerMegabytes": 1}})
    code = ("let n = 0; try { for (; n < 40; n++) await notes.create({title: 'N' + n, content: "
            "'x'.repeat(100000)}) } catch (e) { return [n, e.type ?? e.name, e.message] }")
    with Stdio([cloche, "mcp", "--vault", vault], stderr=subprocess.DEVNULL) as s:
        s.ask(initialize())
        n, kind, why = structured(s.ask(call("evaluate_note_code", {"code": code})))["result"]
        assert n == 11 and "disk.callerMegabytes" in why, (n, kind, why)
        assert len(list((vault / "note").glob("N*.md"))) == n
        read = "return (await notes.get('note/N1')).size"
        assert structured(s.ask(call("evaluate_note_code", {"code": read})))["result"] > 100000
    alerts = [r for r in records(run, "--vault", vault, limit=1000) if r["event"] == "alert"]
    assert len([a for a in alerts if a["kind"] == "disk"]) == 1
    done = run("eval", "--vault", vault, "-e", "await notes.create({title: 'Mine', content: ''})")
    assert json.loads(done.stdout)["success"]


TYPES = """let n = 0;
try {
    for (; n < 300; n++) {
        await noteTypes.create({type_name: 'd', description: 'x'.repeat(15000)});
        await noteTypes.delete({type_name: 'd', action: 'error'});
    }
} catch (e) { return [n, e.message] }
return [n, '']"""


def test_types_and_functions_count_for_what_an_agent_writes(run, cloche, vault, tmp_path):
    user_policy(tmp_path, {"disk": {"callerMegabytes": 1}})
    function = {"name": "shout", "description": "Says it.", "parameters": {}, "returnType": "string"}
    with Stdio([cloche, "mcp", "--vault", vault], stderr=subprocess.DEVNULL) as s:
        s.ask(initialize())
        n, why = structured(s.ask(call("evaluate_note_code", {"code": TYPES})))["result"]
        assert 60 < n < 75 and "disk.callerMegabytes" in why, (n, why)
        deleted = list((vault / ".cloche/types/deleted").iterdir())
        assert sum(f.stat().st_size for f in deleted) < 1.2e6
        code = "function shout() { return 'x' } // " + "y" * 1000
        got = s.ask(call("register_custom_function", function | {"code": code}))
        assert "disk.callerMegabytes" in json.dumps(got)
    with Stdio([cloche, "mcp", "--vault", vault], stderr=subprocess.DEVNULL) as s:
        s.ask(initialize())
        for i in range(30):
            code = f"function shout{i}() {{ return '{i}' }} // " + "y" * 100000
            got = s.ask(call("register_custom_function", function | {"name": f"shout{i}", "code": code}))
            if "disk.callerMegabytes" in json.dumps(got):
                break
        assert 8 <= i < 12, got
    done = run("eval", "--vault", vault, "-e", "await noteTypes.create({type_name: 'mine', description: 'x'})")
    assert json.loads(done.stdout)["success"], done.stdout


def test_of_deleted_types_the_last_are_kept(run, vault):
    folder = vault / ".cloche" / "types" / "deleted"
    folder.mkdir(parents=True)
    (folder / "a person's own.md").write_text("mine")
    for i in range(150):
        (folder / f"old {i} 2020-01-01T00.00.{i // 60:02}.{i:03}Z.md").write_text("x")
    code = ("for (let i = 0; i < 20; i++) { await noteTypes.create({type_name: 't' + i, description: 'x'});"
            "await noteTypes.delete({type_name: 't' + i, action: 'error'}) }")
    done = run("eval", "--vault", vault, "-e", code)
    assert json.loads(done.stdout)["success"], done.stdout
    kept = {f.name.split(" 20")[0] for f in folder.iterdir()}
    assert kept == {"a person's own.md"} | {f"t{i}" for i in range(20)} | {f"old {i}" for i in range(70, 150)}
    (folder / "large 2031-01-01T00.00.00.000Z.md").write_bytes(b"x" * (17 << 20))
    run("eval", "--vault", vault, "-e", code)
    assert {f.name.split(" 20")[0] for f in folder.iterdir()} == {"a person's own.md", "large"}


def test_a_full_trail_refuses_agents_until_a_person_exports_it(run, cloche, vault, tmp_path):
    user_policy(tmp_path, {"audit": {"maxMegabytes": 1, "callerMegabytes": 100}})
    folder = vault / ".cloche" / "audit"
    run("eval", "--vault", vault, "-e", "1")
    (folder / "audit-60-000001.jsonl").write_bytes(b"x" * (1 << 20))
    with Stdio([cloche, "mcp", "--vault", vault], stderr=subprocess.DEVNULL) as s:
        s.ask(initialize())
        text = s.ask(call("get_note", {"identifier": "x"}))["result"]["content"][0]["text"]
    assert text.startswith("Busy") and "cloche audit export" in text
    doctor = json.loads(run("doctor", "--vault", vault, "--json").stdout)
    disk = next(c for c in doctor["checks"] if c["name"] == "disk")
    assert not disk["ok"] and "export" in disk["detail"]
    assert json.loads(run("eval", "--vault", vault, "-e", "1").stdout)["success"]
    (folder / "audit-60-000001.jsonl").unlink()
    with Stdio([cloche, "mcp", "--vault", vault]) as s:
        s.ask(initialize())
        assert "Busy" not in json.dumps(s.ask(call("get_note", {"identifier": "x"})))


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 48 MB of its own."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", place],
                          capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def test_agents_leave_the_reserve_of_the_disk_and_the_person_goes_on(run, cloche, small_disk):
    def create(title):
        got = s.ask(call("create_note", {"type": "a", "title": title, "content": ""}))
        return json.dumps(got)
    with Stdio([cloche, "mcp", "--vault", small_disk]) as s:
        s.ask(initialize())
        assert "reserved for the person" not in create("One")
        (small_disk / "ballast").write_bytes(b"x" * (46 << 20))
        assert "reserved for the person" in create("Two")
        assert not (small_disk / "a" / "Two.md").exists()
        (small_disk / "ballast").unlink()
        assert "reserved for the person" not in create("Three")
        (small_disk / "ballast").write_bytes(b"x" * (45 << 20))
        done = run("eval", "--vault", small_disk, "-e",
                   "await notes.create({type: 'a', title: 'Mine', content: ''})")
        assert json.loads(done.stdout)["success"], done.stdout
    told = [r for r in records(run, "--vault", small_disk) if r["event"] == "alert"]
    assert [r["kind"] for r in told] == ["disk"]


# ---- exported ------------------------------------------------------------------------------------

def exported(run, vault, out, *more):
    done = run("audit", "export", "--vault", vault, "--out", out, *more)
    assert done.returncode == 0, done.stderr


def test_what_is_exported_can_be_taken_out_and_the_chain_goes_on(run, vault, tmp_path):
    for n in range(3):
        run("eval", "--vault", vault, "-e",
            f"await notes.create({{type: 'a', title: 'N{n}', content: ''}})")
    before = records(run, "--vault", vault)
    exported(run, vault, tmp_path / "x", "--remove")
    assert run("audit", "--verify", "--file", tmp_path / "x").returncode == 0
    kept = [json.loads(line) for line in (tmp_path / "x").read_text().splitlines()[1:-1]]
    assert [r["mac"] for r in before] == [r["mac"] for r in kept][:len(before)]
    found = verify(run, vault)
    assert found["ok"] and found["trails"][0]["exported_to"] == len(kept)
    run("eval", "--vault", vault, "-e", "await notes.create({type: 'a', title: 'L', content: ''})")
    exported(run, vault, tmp_path / "y", "--remove")
    assert run("audit", "--verify", "--file", tmp_path / "y").returncode == 0
    assert verify(run, vault)["ok"]
    told = [r for r in records(run, "--vault", vault) if r["event"] == "export"]
    assert told[-1]["removed"] is True and told[-1]["records"] > 0
    last = sorted((vault / ".cloche" / "audit").glob("*.jsonl"))[0]
    last.unlink()
    assert not verify(run, vault)["ok"]


@pytest.mark.parametrize("how", ["byte", "line", "end", "exchange"])
def test_a_change_of_an_export_shows(run, vault, tmp_path, how):
    run("eval", "--vault", vault, "-e", "await notes.create({type: 'a', title: 'N', content: ''})")
    exported(run, vault, tmp_path / "x")
    lines = (tmp_path / "x").read_text().splitlines()
    if how == "byte":
        lines[2] = lines[2].replace("terminal", "terminaI").replace("policy", "policX", 1)
    elif how == "line":
        del lines[-2]
    elif how == "end":
        del lines[-1]
    else:
        lines[2], lines[3] = lines[3], lines[2]
    (tmp_path / "x").write_text("\n".join(lines) + "\n")
    assert run("audit", "--verify", "--file", tmp_path / "x").returncode == 1


def test_only_files_that_are_old_enough_are_exported(run, vault, tmp_path):
    run("eval", "--vault", vault, "-e", "1")
    exported(run, vault, tmp_path / "x", "--before", "2000-01-01", "--remove")
    assert (tmp_path / "x").read_text() == ""
    assert verify(run, vault)["ok"]


def test_kept_code_has_a_bound_and_the_oldest_goes_first(run, cloche, vault, tmp_path):
    user_policy(tmp_path, {"keepCode": True, "audit": {"codeMegabytes": 1}})
    with Stdio([cloche, "mcp", "--vault", vault]) as s:
        s.ask(initialize())
        for i in range(6):
            s.ask(call("evaluate_note_code", {"code": f"/*{'x' * 250_000}*/{i}"}, id=i + 1))
    kept = list((vault / ".cloche" / "audit" / "code").iterdir())
    assert sum(p.stat().st_size for p in kept) <= 1 << 20
    last = calls(run, "--vault", vault)[-1]["code"]
    assert last in {p.stem for p in kept}


# ---- commands that were refused ----------------------------------------------------------------

@pytest.mark.parametrize("policy", [{"vm": {"permission": "never"}}, {"deniedAPIs": ["vm.exec"]},
                                    {"level": "limited"}, {"allowedAPIs": ["notes"]}])
def test_a_command_that_the_policy_refuses_leaves_its_hash(run, cloche, vault, tmp_path, policy):
    user_policy(tmp_path, policy)
    wanted = hashlib.sha256(b"rm -rf /").hexdigest()
    with Stdio([cloche, "mcp", "--vault", vault]) as s:
        s.ask(initialize())
        s.ask(call("vm_exec", {"command": "rm -rf /"}, id=1))
        s.ask(call("evaluate_note_code", {"code": "await vm.exec('rm -rf /')"}, id=2))
    for r in calls(run, "--vault", vault):
        (m,) = r["machines"]
        assert m["call"] == "vm.exec" and m["command"] == wanted
        assert m["result"] == "PermissionDenied" and m["command_bytes"] == 8
