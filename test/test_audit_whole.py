"""Nothing changes without a record: not where the program is killed, in many vaults, with
long lists, or on a full disk; and a record tells of one vault alone."""
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
    """What is recorded of changes is what the history has, once."""
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
    """The intent is there before the change is: of a type, which has no history."""
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
    done = run("eval", "-e", """
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
