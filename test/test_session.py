"""Sessions: state that one evaluation leaves to the next, in every interface."""

import json
import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from wire import Stdio, call, until


@pytest.fixture
def run(cloche, vault):
    """One `cloche eval` over the vault in a session: a process for each call."""

    def evaluate(code, *options, session="s", where=vault):
        done = subprocess.run(
            [cloche, "eval", "--vault", str(where), "--session", session, *options, "-e", code],
            capture_output=True, text=True, timeout=60)
        return json.loads(done.stdout) if done.stdout else done

    return evaluate


@pytest.fixture
def sessions(cloche):
    """`cloche session`: its output, parsed."""

    def command(*words):
        return subprocess.run([cloche, "session", *words], capture_output=True, text=True,
                              timeout=60)

    return command


def files(tmp_path):
    return sorted((tmp_path / "state" / "cloche" / "sessions").glob("*.session"))


def test_each_process_goes_on_where_the_last_one_stopped(run):
    first = run("let n = 1; const grow = () => ++n; class A { v = 7 } state.list = ['a']; n")
    assert first["result"] == 1
    assert first["session"]["new"] and first["session"]["kept"]
    second = run("state.list.push('b'); return [grow(), n, new A().v, state.list]")
    assert second["result"] == [2, 2, 7, ["a", "b"]]
    assert not second["session"]["new"] and second["session"]["calls"] == 2
    assert second["session"]["handle"] == first["session"]["handle"]
    assert run("let n = 10; grow()")["result"] == 11
    assert run("typeof n", session="other")["result"] == "undefined"


def test_host_calls_work_in_a_session(run):
    assert run("const rows = await notes.list({limit: 3}); rows.length")["result"] == 3
    got = run("const all = await Promise.all(rows.map((r) => notes.get(r.id))); "
              "all.map((n) => n.id).join() === rows.map((r) => r.id).join()")
    assert got["result"] is True
    made = run("const made = await notes.create({type: 'idea', title: 'Kept', content: 'x'}); "
               "made.id")
    assert made["result"] == "idea/Kept"
    # Versions read are an evaluation's own: another call's hash is not remembered.
    refused = run("await notes.update({identifier: made.id, content: 'y'})")
    assert refused["success"] is False
    assert run("(await notes.get(made.id)).content.trim()")["result"] == "x"


def test_a_session_belongs_to_its_vault(run, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    handle = run("let here = 1")["session"]["handle"]
    assert run("typeof here", where=other)["result"] == "undefined"
    strange = run("1", session=handle, where=other)
    assert strange["errorDetails"]["code"] == "NOT_FOUND"
    assert run("here", session=handle)["result"] == 1


def test_a_limit_leaves_it_as_it_was(run):
    run("let list = [1]")
    stopped = run("list.push(2); while (true) {}", "--timeout", "50")
    assert stopped["errorDetails"]["type"] == "Timeout"
    assert stopped["session"]["kept"] is False
    assert "as it was" in stopped["session"]["reason"]
    assert run("list")["result"] == [1]
    first = run("while (true) {}", "--timeout", "50", session="young")
    assert "not begun" in first["session"]["reason"] and "calls" not in first["session"]
    assert run("list.push(3); throw new Error('own')")["session"]["kept"] is True
    assert run("list")["result"] == [1, 3]


def test_what_needs_more_memory_is_told_and_stays(run):
    run("const held = []; for (let i = 0; i < 30; i++) held.push(new Uint8Array(1e6)); 0")
    small = run("1", "--memory", "16")
    assert small["errorDetails"]["type"] == "MemoryExceeded"
    assert "memoryLimit" in small["errorDetails"]["message"]
    assert run("held.length")["result"] == 30


def test_what_is_too_large_is_not_kept_but_answered(run, tmp_path):
    policy = tmp_path / "config" / "cloche" / "policy.json"
    policy.parent.mkdir(parents=True, exist_ok=True)
    policy.write_text('{"sessions": {"megabytes": 1}}')
    policy.chmod(0o600)
    run("let n = 1")
    large = run("n = 2; const noise = crypto.getRandomValues(new Uint8Array(65536));"
                "const all = Array.from({length: 40}, () => noise.map((x) => x + Math.random() * 9));"
                "all.length")
    assert large["result"] == 40 and large["session"]["kept"] is False
    assert "1048576 bytes" in large["session"]["reason"]
    assert "as it was before" in large["session"]["reason"]
    assert run("n")["result"] == 1


def test_names_are_checked(run):
    for name in ["a b", "", "x" * 41, "../a", "ä"]:
        refused = run("1", session=name)
        assert refused.returncode == 2 and "--session" in refused.stderr, name
    assert run("1", session="ses_" + "a" * 43)["errorDetails"]["code"] == "NOT_FOUND"


def test_idle_ones_are_gone(run, tmp_path):
    run("let x = 1")
    (file,) = files(tmp_path)
    os.utime(file, (1000, 1000))
    again = run("typeof x")
    assert again["result"] == "undefined" and again["session"]["new"]


def test_a_damaged_one_is_told_and_begins_anew(run, tmp_path):
    run("let x = 1")
    (file,) = files(tmp_path)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    lost = run("x")
    assert lost["errorDetails"]["code"] == "CONFLICT" and "corrupt" in lost["error"]
    assert run("typeof x")["session"]["new"]


def test_there_may_be_only_so_many(run, tmp_path):
    policy = tmp_path / "config" / "cloche" / "policy.json"
    policy.parent.mkdir(parents=True, exist_ok=True)
    policy.write_text('{"sessions": {"max": 2}}')
    policy.chmod(0o600)
    for name in ["a", "b"]:
        assert run("1", session=name)["success"]
    refused = run("1", session="c")
    assert refused["errorDetails"]["code"] == "LIMIT"
    assert "close_session" in refused["error"]
    assert run("2", session="b")["result"] == 2


def test_a_person_lists_and_closes_them(run, sessions, tmp_path):
    handle = run("let a = 1")["session"]["handle"]
    run("let b = 1", session="t")
    listed = json.loads(sessions("list", "--json").stdout)
    assert [(s["name"], s["caller"], s["calls"]) for s in listed] == [
        ("t", "terminal", 1), ("s", "terminal", 1)]
    assert "s  " in sessions("list").stdout and handle in sessions().stdout
    assert sessions("close", "t").returncode == 0
    assert sessions("close", "t").returncode == 1
    assert sessions("close", handle).returncode == 0
    assert run("typeof a")["result"] == "undefined"
    run("1", session="u")
    assert sessions("close", "--all").returncode == 0
    assert json.loads(sessions("list", "--json").stdout) == []
    for wrong in [("close",), ("open",), ("close", "a", "--all"), ("list", "x")]:
        assert sessions(*wrong).returncode == 2, wrong


def test_agents_have_their_own(stdio, server, cloche, vault):
    def over_stdio(name, arguments):
        return stdio.ask(call(name, arguments))["result"]

    code = lambda text: {"code": text, "session": "shared"}
    assert over_stdio("evaluate_note_code", code("let who = 'stdio'; who"))[
        "structuredContent"]["result"] == "stdio"
    answer = over_stdio("evaluate_note_code", code("who"))["structuredContent"]
    assert answer["result"] == "stdio"
    done = subprocess.run([cloche, "eval", "--vault", str(vault), "--session", "shared", "-e",
                           "typeof who"], capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout)["result"] == "undefined"
    stranger = subprocess.run([cloche, "eval", "--vault", str(vault), "--session",
                               answer["session"]["handle"], "-e", "typeof who"],
                              capture_output=True, text=True, timeout=60)
    assert json.loads(stranger.stdout)["errorDetails"]["code"] == "NOT_FOUND"
    assert over_stdio("close_session", {"session": "shared"})["structuredContent"]["closed"]
    assert over_stdio("close_session", {"session": "shared"})["isError"]
    assert over_stdio("evaluate_note_code", code("typeof who"))[
        "structuredContent"]["result"] == "undefined"


def test_calls_at_once_take_turns(cloche, vault):
    answers = []

    def work():
        with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
            for _ in range(10):
                reply = client.ask(call("evaluate_note_code", {
                    "session": "count", "code": "state.n = (state.n ?? 0) + 1; "
                                                "await sleep(1); state.n"}))
                answers.append(reply["result"]["structuredContent"]["result"])

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(answers) == list(range(1, 31))


def test_a_killed_process_leaves_it_as_it_was(cloche, vault, run):
    run("let n = 1")
    child = subprocess.Popen([cloche, "eval", "--vault", str(vault), "--session", "s", "-e",
                              "n = 2; await notes.create({type: 'a', title: 'In', content: ''}); await sleep(60000)"])
    until((vault / "a" / "In.md").exists)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert run("n")["result"] == 1


def test_nothing_is_written_without_a_session(cloche, vault, tmp_path):
    subprocess.run([cloche, "eval", "--vault", str(vault), "-e", "1"], check=True,
                   capture_output=True, timeout=60)
    assert not (tmp_path / "state").exists() or not files(tmp_path)


def test_they_are_nobody_elses(run, tmp_path):
    run("let secret = 1")
    folder = tmp_path / "state" / "cloche" / "sessions"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(p.stat().st_mode & 0o077 == 0 for p in folder.iterdir())


def test_without_a_place_it_is_told(cloche, vault, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    done = subprocess.run([cloche, "eval", "--vault", str(vault), "--session", "s", "-e", "1"],
                          capture_output=True, text=True, timeout=60)
    answer = json.loads(done.stdout)
    assert answer["success"] is False and "sessions" in answer["error"]


def test_secrets_of_the_files_are_not_shown(run, tmp_path):
    answer = run("1")
    secret = (tmp_path / "state" / "cloche" / "sessions" / "secret").read_bytes()
    assert len(secret) == 32 and Path(files(tmp_path)[0]).stem == answer["session"]["handle"]
