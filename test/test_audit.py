"""The audit trail: records exist, say what happened, and show tampering."""
import json
import os
import random
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import pytest

import needs
from wire import Server, Stdio, call, initialize, notification, structured


@pytest.fixture
def run(cloche):
    def run(*words, **how):
        return subprocess.run([cloche, *map(str, words)], capture_output=True, text=True, **how)
    return run


def records(run, *more, limit=1000):
    done = run("audit", "--json", "--limit", limit, *more)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def calls(run, *more):
    return [r for r in records(run, *more) if r["event"] == "call"]


def verify(run, vault):
    done = run("audit", "--verify", "--json", "--vault", vault)
    found = json.loads(done.stdout)
    assert done.returncode == (0 if found["ok"] else 1)
    return found


def trail(vault):
    return sorted((vault / ".cloche" / "audit").glob("*.jsonl"))


# ---- who it was ------------------------------------------------------------------------

def claimed(record):
    return record["client"]["name"], record["client"]["version"], record["client"]["claimed"]


def as_client(message, name, version):
    """The same message, from a client of this name."""
    message = json.loads(json.dumps(message))
    told = {"name": name, "version": version}
    meta = message["params"].get("_meta")
    (meta if meta else message["params"])[
        "io.modelcontextprotocol/clientInfo" if meta else "clientInfo"] = told
    return message


def test_clients_over_stdio_are_told_apart_by_what_they_claim(run, cloche, vault):
    for name, version in (("Claude Code", "2.0"), ("Cursor\x1b[2J\n", "1" * 99)):
        with Stdio([cloche, "mcp", "--vault", vault]) as s:
            s.ask(as_client(initialize(), name, version))
            s.ask(call("evaluate_note_code", {"code": "1"}))
    first, second = calls(run, "--vault", vault)
    assert claimed(first) == ("Claude Code", "2.0", True)
    assert claimed(second) == ("Cursor[2J", "1" * 32, True)


def test_clients_over_http_are_told_apart_by_what_they_claim(run, server, vault):
    opened = server.post(as_client(initialize(), "Old", "1"))
    session = {"Mcp-Session-Id": opened.headers["Mcp-Session-Id"]}
    server.post(call("evaluate_note_code", {"code": "1"}), session)
    server.post(as_client(call("evaluate_note_code", {"code": "2"}, modern=True), "New", "2"))
    old, new = calls(run, "--vault", vault)
    assert claimed(old) == ("Old", "1", True) and claimed(new) == ("New", "2", True)


# ---- what is recorded ------------------------------------------------------------------

def test_a_record_says_who_what_and_how_it_ended(run, vault):
    code = ("await notes.create({type: 'a', title: 'One', content: ''});"
            "await notes.list(); return (await notes.list()).length")
    run("eval", "--vault", vault, "-e", code)
    r = calls(run, "--vault", vault)[-1]
    assert r["caller"] == "terminal" and r["action"] == "evaluate_note_code"
    assert r["vault"] == str(vault) and r["level"] == "full" and r["result"] == "success"
    assert r["calls"] == {"notes.create": 1, "notes.list": 2}
    assert r["changed"] is True and r["notes"] == ["a/One"]
    assert r["cpu_ms"] > 0 and r["peak_memory_bytes"] > 0 and r["ms"] > 0
    import hashlib
    assert r["code"] == hashlib.sha256(code.encode()).hexdigest()
    assert r["code_bytes"] == len(code)


@pytest.mark.parametrize("words, result", [
    (["-e", "throw new Error('x')"], "ExecutionError"),
    (["-e", "syntax error here"], "SyntaxError"),
    (["--timeout", "20", "-e", "for (;;);"], "Timeout"),
    (["--memory", "8", "-e", "const a = []; for (;;) a.push('x'.repeat(1e5))"], "MemoryExceeded"),
    (["--level", "zero", "-e", "await notes.search({query: 'x'})"], "PermissionDenied"),
    (["--timeout", "999999999", "-e", "1"], "InvalidInput"),
    (["--allow", "notes.gett", "-e", "1"], "InvalidInput"),
])
def test_what_failed_or_was_refused_is_recorded_too(run, vault, words, result):
    run("eval", "--vault", vault, *words)
    r = calls(run, "--vault", vault)[-1]
    assert r["result"] == result
    if result == "PermissionDenied":
        assert r["denied"] == {"notes.search": 1} and r["level"] == "zero"


def test_a_caught_refusal_is_recorded(run, vault):
    run("eval", "--vault", vault, "--allow", "notes.get", "-e",
        "for (let i = 0; i < 3; i++) await notes.list().catch(() => 0); return 1")
    r = calls(run, "--vault", vault)[-1]
    assert r["result"] == "success" and r["denied"] == {"notes.list": 3}


def test_plain_tools_wrong_arguments_and_cancelled_calls_are_recorded(run, vault, stdio):
    stdio.ask(call("get_note", {"identifier": "meeting/standup"}, id=1))
    stdio.ask(call("get_note", {"wrong": 1}, id=2))
    stdio.send(call("evaluate_note_code", {"code": "await sleep(60000)"}, id=3))
    stdio.ask(call("get_note", {"identifier": "nowhere"}, id=4))
    stdio.send(notification("notifications/cancelled", {"requestId": 3}))
    stdio.end()
    seen = [(r["action"], r["result"]) for r in calls(run, "--vault", vault)]
    assert ("get_note", "InvalidInput") in seen and ("get_note", "NotFound") in seen
    assert ("evaluate_note_code", "Cancelled") in seen
    assert any(r.get("target") == "nowhere" and r["caller"] == "stdio"
               for r in calls(run, "--vault", vault))


def test_without_a_vault_the_users_own_trail_has_it(run, cloche):
    run("eval", "-e", "return 1")
    assert calls(run)[-1]["result"] == "success"
    assert "vault" not in calls(run)[-1]
    state = Path(os.environ["XDG_STATE_HOME"], "cloche", "audit")
    assert (state / "key").stat().st_mode & 0o777 == 0o600
    assert state.stat().st_mode & 0o077 == 0 or state.parent.stat().st_mode & 0o077 == 0


def test_the_code_is_kept_only_where_the_policy_says_so(run, vault):
    run("eval", "--vault", vault, "-e", "return 'not kept'")
    assert run("policy", "set", "keepCode", "true").returncode == 0
    run("eval", "--vault", vault, "-e", "return 'kept'")
    before, after = calls(run, "--vault", vault)[-2:]
    show = lambda r: json.loads(
        run("audit", "show", r["mac"][:12], "--json", "--vault", vault).stdout)
    assert "code" not in show(before)
    assert show(after)["code"] == "return 'kept'"
    assert "not kept" not in "".join(p.read_text() for p in trail(vault))
    assert run("policy", "set", "--vault", vault, "keepCode", "false").returncode == 0
    run("eval", "--vault", vault, "-e", "return 'taken away'")
    assert "code" not in show(calls(run, "--vault", vault)[-1])
    missing = run("audit", "show", "ffffffffffff", "--vault", vault)
    assert missing.returncode == 1 and "no record" in missing.stderr


def test_a_record_is_shown_with_its_host_calls_in_time(run, vault):
    code = "const all = await notes.list(); try { await notes.update({identifier: 'nowhere', content: 'x', contentHash: 'x'}); } catch {} return all.length"
    assert run("eval", "--vault", vault, "-e", code).returncode == 0
    show = ["audit", "show", calls(run, "--vault", vault)[-1]["mac"][:12], "--vault", vault]
    told = json.loads(run(*show, "--json").stdout)["timeline"]["calls"]
    assert [(c["call"], c.get("outcome")) for c in told] == [("notes.list", None), ("notes.update", "NotFound")]
    lines = run(*show).stdout.splitlines()[-2:]
    assert [line.split()[4:] for line in lines] == [["notes.list"], ["notes.update", "NotFound"]]
    at = [float(line.split()[0]) for line in lines]
    assert at == [c["at"] for c in told] and at == sorted(at)


def test_wrong_arguments_do_not_look_like_another_policy(run, vault, stdio):
    for id, arguments in enumerate(({"identifier": "nowhere"}, {}, {"identifier": "nowhere"})):
        stdio.ask(call("get_note", arguments, id=id))
    stdio.end()
    told = records(run, "--vault", vault)
    assert [r["result"] for r in told if r["event"] == "call"][1] == "InvalidInput"
    assert len([r for r in told if r["event"] == "policy"]) == 1


def test_the_users_own_trail_is_read_also_where_there_are_vaults(cloche, run, vault):
    for words in (["vault", "add", vault, "--id", "mine"], ["token", "create", "ci"]):
        assert subprocess.run([cloche, *words], timeout=60).returncode == 0
    run("eval", "-e", "1")
    assert "token create" not in [r["event"] for r in records(run)]
    assert "token create" in [r["event"] for r in records(run, "--own")]
    assert "token create ci\n" in run("audit", "--own").stdout
    assert run("audit", "--own", "--vault", vault).returncode == 2
    misled = run("audit", "--vault", "mine")
    assert misled.returncode == 2 and f'with this id is in "{vault}"' in misled.stderr


def test_a_change_of_the_policy_is_recorded_however_it_was_made(run, vault):
    run("eval", "--vault", vault, "-e", "1")
    run("policy", "set", "limits.total", "5000")
    run("eval", "--vault", vault, "-e", "2")
    told = [r for r in records(run, "--vault", vault) if r["event"] == "policy"]
    assert told[-1]["values"] == {"limits.total": 5000} and told[0]["values"] == {}
    Path(os.environ["XDG_CONFIG_HOME"], "cloche", "policy.json").write_text('{"cache": 5}')
    run("eval", "--vault", vault, "-e", "3")
    last = records(run, "--vault", vault)[-2:]
    assert "cache is number" in last[0]["why"]
    assert last[1]["result"] == "PermissionDenied"
    sets = [r for r in records(run) if r["event"] == "policy set"]
    assert sets[-1]["key"] == "limits.total" and sets[-1]["value"] == 5000


def test_a_switch_of_vaults_is_recorded_in_both(run, vault, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    ids = json.loads(run("eval", "--vault", vault, "--vault", other, "-e",
                         "return (await vaults.list()).map(v => v.id)").stdout)["result"]
    run("eval", "--vault", vault, "--vault", other, "-e",
        f"await vaults.switch('{ids[1]}'); await notes.create({{type:'a',title:'B',content:''}})")
    assert calls(run, "--vault", other)[-1]["notes"] == ["a/B"]
    began = calls(run, "--vault", vault)[-1]
    assert began["calls"] == {"vaults.switch": 1} and "notes" not in began


# ---- tampering -------------------------------------------------------------------------

@pytest.fixture
def filled(run, vault):
    for i in range(4):
        run("eval", "--vault", vault, "-e", f"return {i}")
    assert verify(run, vault)["ok"]
    return vault


def test_verify_names_the_first_bad_record(run, filled):
    file = trail(filled)[0]
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:3] + [lines[3].replace("success", "succes$")] + lines[4:]))
    done = run("audit", "--verify", "--vault", filled)
    assert done.returncode == 1
    assert "record 4" in done.stdout and f"{file.name}:4" in done.stdout


def test_any_byte_of_a_record_counts(run, filled):
    file = trail(filled)[0]
    whole = file.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for at in random.Random(1).sample(range(last, len(whole)), 12):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:])
        assert not verify(run, filled)["ok"], at
    file.write_bytes(whole)
    assert verify(run, filled)["ok"]


def test_a_cut_tail_is_named(run, filled):
    file = trail(filled)[0]
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:-2]))
    missing = verify(run, filled)["trails"][0]["missing"]
    assert (missing["from"], missing["to"]) == (len(lines) - 1, len(lines))
    run("eval", "--vault", filled, "-e", "return 'goes on'")
    assert not verify(run, filled)["ok"]


@pytest.mark.parametrize("what", ["file", "folder", "all of .cloche"])
def test_what_is_deleted_is_missed(run, filled, what):
    if what == "file":
        trail(filled)[0].unlink()
    else:
        shutil.rmtree(filled / ".cloche" / ("audit" if what == "folder" else ""))
    done = run("audit", "--verify", "--vault", filled)
    assert done.returncode == 1 and "BAD" in done.stdout


# ---- several, kills, and places that cannot be written ---------------------------------

def test_several_processes_append_and_every_call_is_there(run, cloche, vault):
    clients = [Stdio([cloche, "mcp", "--vault", str(vault)]) for _ in range(3)]

    def work(client, who):
        for i in range(20):
            client.ask(call("evaluate_note_code", {"code": f"return '{who}-{i}'"}, id=i + 1))
        client.end()
    threads = [threading.Thread(target=work, args=(c, n)) for n, c in enumerate(clients)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(calls(run, "--vault", vault)) == 60
    assert verify(run, vault)["ok"]


def test_no_answered_call_is_lost_to_a_kill(run, cloche, vault):
    answered = 0
    for moment in range(8):
        with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
            for i in range(1 + moment):
                client.ask(call("evaluate_note_code", {"code": "return 1"}, id=i + 1))
                answered += 1
            client.send(call("evaluate_note_code", {"code": "return 2"}, id=99))
            client.process.send_signal(signal.SIGKILL)
    assert len(calls(run, "--vault", vault)) >= answered
    assert verify(run, vault)["ok"]


def test_what_cannot_be_recorded_is_not_written(run, vault, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    create = "await notes.create({type: 'a', title: 'B', content: ''}); return 1"
    answer = json.loads(run("eval", "--vault", vault, "-e", create).stdout)
    assert answer["errorDetails"]["type"] == "IoError"
    assert "could not be recorded" in answer["error"] and not (vault / "a").exists()
    read = json.loads(run("eval", "--vault", vault, "-e", "return (await notes.list()).length").stdout)
    assert read["success"]
    assert run("policy", "set", "audit.required", "false").returncode == 0
    assert json.loads(run("eval", "--vault", vault, "-e", create).stdout)["success"]


@needs.system(os.geteuid() != 0, "root may write anywhere")
def test_a_vault_that_may_not_be_written_is_audited_aside(run, vault):
    vault.chmod(0o555)
    run("eval", "--vault", vault, "-e", "return 1")
    vault.chmod(0o755)
    assert calls(run, "--vault", vault) and not (vault / ".cloche" / "audit").exists()


@pytest.fixture
def brought(run, vault):
    """A vault that came with a file which is no trail, and is larger than any disk."""
    folder = vault / ".cloche" / "audit"
    folder.mkdir(parents=True)
    with open(folder / "audit-000001.jsonl", "wb") as f:
        f.truncate(300 << 30)
    run("eval", "--vault", vault, "-e", "return 'mine'")
    return vault


@pytest.mark.parametrize("words", [[], ["--json"], ["show", "1"], ["show", "99"], ["--verify"], ["export"]])
def test_a_file_of_any_size_that_a_vault_brought_along_ends_no_command(run, brought, words):
    done = run("audit", *words, "--vault", brought, timeout=60)
    if done.returncode:
        assert "audit-000001.jsonl has a line longer than 32768 bytes" in done.stderr
    assert words == ["show", "99"] or "evaluate_note_code" in done.stdout or words[0] in ("show", "--verify")
    assert "mine" not in done.stderr
    told = run("callers", "--vault", brought, timeout=60)
    assert told.stdout.startswith("terminal: 1 call,") and "audit-000001.jsonl" in told.stderr


def test_a_hole_in_the_trail_refuses_no_agent(brought, server):
    """A sparse file does not fill the trail."""
    answer = server.post(call("evaluate_note_code", {"code": "return 1"})).json()
    assert structured(answer)["success"]
    rows = server.http.get("/workspaces/vault/audit", timeout=60).json()
    assert {row["action"] for row in rows} == {"evaluate_note_code"}


@pytest.fixture
def large(vault):
    """A trail larger than any request's memory: links to one file."""
    folder = vault / ".cloche" / "audit"
    folder.mkdir(parents=True)
    line = json.dumps({"n": 1, "time": "2020-01-01T00:00:00.000Z", "event": "call", "action": "old",
                       "pad": "y" * 600, "mac": "0" * 64}, separators=(",", ":")) + "\n"
    (folder / "audit-000001.jsonl").write_text(line * ((16 << 20) // len(line)))
    for i in range(2, 48):
        os.link(folder / "audit-000001.jsonl", folder / f"audit-{i:06}.jsonl")
    return vault


def test_the_newest_of_a_large_trail_are_read_at_once(run, large, server):
    vault = large
    run("eval", "--vault", vault, "-e", "return 1")
    assert calls(run, "--vault", vault)[-1]["action"] == "evaluate_note_code"
    page = server.http.get("/workspaces/vault/audit?limit=3").json()
    assert [row["action"] for row in page] == ["evaluate_note_code", "old", "old"]
    assert run("audit", "show", calls(run, "--vault", vault)[-1]["mac"][:12], "--vault", vault).returncode == 0


def test_follow_prints_what_comes(cloche, run, vault):
    run("eval", "--vault", vault, "-e", "return 'before'")
    process = subprocess.Popen([cloche, "audit", "--follow", "--json", "--vault", vault],
                               stdout=subprocess.PIPE, text=True)
    try:
        seen = [json.loads(process.stdout.readline()) for _ in range(3)]
        assert seen[-1]["event"] == "call"
        run("eval", "--vault", vault, "--level", "zero", "-e", "return 'after'")
        while True:
            r = json.loads(process.stdout.readline())
            if r.get("level") == "zero":
                break
    finally:
        process.kill()
        process.wait()


def test_files_are_begun_anew_at_their_size(run, cloche, vault):
    assert run("policy", "set", "audit.rotateMegabytes", "1").returncode == 0
    big = "/*" + "x" * 100 + "*/ return 1"
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"]) as server:
        session = server.session()
        for i in range(60):
            many = [f"notes.get('x{n}').catch(() => 0)" for n in range(2)]
            server.post(call("evaluate_note_code", {"code": big + ";" + ";".join(many)}), session)
        assert server.stop() == 0
    assert verify(run, vault)["ok"]
    assert len(calls(run, "--vault", vault)) == 60


def test_a_record_is_shown_by_any_beginning_that_is_its_own(run, cloche, vault):
    """Two processes at a time have chains of their own."""
    with Stdio([cloche, "mcp", "--vault", vault]) as s:
        s.ask(initialize())
        s.ask(call("get_note", {"identifier": "a"}))
        run("eval", "--vault", vault, "-e", "return 1")
        s.ask(call("get_note", {"identifier": "b"}, id=2))
    all_of_them = records(run, "--vault", vault)
    numbers = [r["n"] for r in all_of_them]
    twice = next(n for n in numbers if numbers.count(n) > 1)
    refused = run("audit", "show", str(twice), "--vault", vault)
    assert refused.returncode == 1 and refused.stdout == ""
    for r in all_of_them:
        assert (r["mac"][:12] in refused.stderr) == (r["n"] == twice)
        macs = [other["mac"] for other in all_of_them]
        length = next(n for n in range(1, 64) if sum(m.startswith(r["mac"][:n]) for m in macs) == 1)
        beginning = r["mac"][:length]
        if beginning.isdigit() and int(beginning) in numbers:
            continue
        shown = run("audit", "show", beginning, "--json", "--vault", vault)
        assert json.loads(shown.stdout)["record"] == r


def test_records_are_listed_by_their_time(run, vault):
    assert run("policy", "set", "cache", "false").returncode == 0
    run("token", "create", "one", "--unregistered", "--vault", "x")
    run("eval", "--vault", vault, "-e", "return 1")
    for place in (["--own"], ["--vault", vault]):
        times = [line.split()[0] for line in run("audit", *place).stdout.splitlines()]
        assert len(times) > 1 and times == sorted(times)


def test_a_line_names_key_code_workspace_and_fuel(run, vault):
    assert run("policy", "set", "--vault", vault, "levels.full.timeout", "4000").returncode == 0
    run("eval", "--vault", vault, "-e", "return 1")
    [evaluated] = calls(run, "--vault", vault)
    lines = run("audit", "--vault", vault).stdout.splitlines()
    assert any(line.endswith(" policy set levels.full.timeout") for line in lines)
    assert f"; code {evaluated['code'][:12]}" in lines[-1]
