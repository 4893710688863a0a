"""Callers' SQL queries: they run in a separate process, which can be killed."""
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import policy_in
from test_access import bearer, evaluate, make_token, revoke, serve
from wire import call, until

# An endless query, without a step at which SQLite could be stopped.
ENDLESS = "SELECT instr(zeroblob(19000000), CAST(zeroblob(9000000)||x'01' AS BLOB)) AS n"
ATTACKS = [
    "SELECT instr(zeroblob(8000000), CAST(zeroblob(4000000)||x'01' AS BLOB))",
    ENDLESS,
    "SELECT rtrim(replace(hex(zeroblob(300000)), '0', 'a'), "
    "replace(hex(zeroblob(50000)), '0', 'b') || 'a')",
]
GRACE_S = 9  # of a busy machine: less than the 10 s that a query may take at most


def search(sql, timeout=3000):
    return f"await notes.searchSQL({{query: {json.dumps(sql)}, timeout: {timeout}}})"


def workers(server):
    """The server's child processes."""
    found = []
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        try:
            found += map(int, (task / "children").read_text().split())
        except OSError:
            pass
    return [p for p in found if is_alive(p)]


def is_alive(pid):
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def busy(server):
    """Those that have used some CPU time."""
    def ticks(pid):
        try:
            return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])
        except OSError:
            return 0
    return [p for p in workers(server) if ticks(p) >= 5]


def begin(server, code, headers=None):
    """A call whose answer is not awaited."""
    return server.send_post(
        call("evaluate_note_code", {"code": code}, modern=True),
        {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
         "Mcp-Name": "evaluate_note_code"} | (headers or {}))


@pytest.mark.parametrize("sql", ATTACKS)
def test_no_function_outlasts_the_time_of_its_query(server, sql):
    evaluate(server, f"return {search('SELECT 1')}")
    begun = time.monotonic()
    answer = evaluate(server, f"return {search(sql, 100)}")
    assert time.monotonic() - begun < GRACE_S
    assert answer["errorDetails"]["code"] == "TIMEOUT"
    assert evaluate(server, f"return ({search('SELECT 1 AS n')}).rows")["result"] == [{"n": 1}]


def test_queries_of_one_token_do_not_keep_anothers(cloche, vault):
    a, b = bearer(make_token(cloche, "a", "--scope", "read,evaluate")), bearer(make_token(cloche, "b"))
    twelve = f"return Promise.all(Array.from({{length: 12}}, () => {search(ENDLESS, 10000)[6:]}))"
    with serve(cloche, vault) as s:
        evaluate(s, f"return {search('SELECT 1')}", b)
        connections = [begin(s, twelve, a)]
        until(lambda: busy(s))
        for _ in range(3):
            found = evaluate(s, f"return ({search('SELECT count(*) AS n FROM notes')}).rows", b)
            assert found["result"][0]["n"] > 0
            assert evaluate(s, "return (await notes.search('a')).length >= 0", b)["result"]
        assert busy(s)  # all that came in between
        assert len(busy(s)) <= 5
        for connection in connections:
            connection.close()
        until(lambda: not busy(s))


def test_who_hangs_up_or_is_revoked_ends_his_query(cloche, vault):
    token = make_token(cloche, "ci")
    with serve(cloche, vault, "--require-token") as s:
        connection = begin(s, f"return {search(ENDLESS, 10000)}", bearer(token))
        until(lambda: busy(s))
        begun = time.monotonic()
        connection.close()
        until(lambda: not busy(s))
        assert time.monotonic() - begun < GRACE_S
        connection = begin(s, f"return {search(ENDLESS, 10000)}", bearer(token))
        until(lambda: busy(s))
        begun = time.monotonic()
        revoke(cloche, "ci")
        until(lambda: not busy(s))
        assert time.monotonic() - begun < GRACE_S
        connection.close()


def test_the_end_of_the_code_ends_its_queries(cloche, vault, tmp_path):
    policy_in(tmp_path, {"limits": {"total": 1000}})
    with serve(cloche, vault) as s:
        begun = time.monotonic()
        answer = evaluate(s, f"return {search(ENDLESS, 10000)}")
        assert answer["success"] is False
        assert time.monotonic() - begun < 1 + GRACE_S
        until(lambda: not busy(s))


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_ends_leaves_no_query(cloche, vault, how):
    """SIGTERM waits six seconds for calls that run, whatever they do, and no longer."""
    with serve(cloche, vault) as s:
        connection = begin(s, f"return {search(ENDLESS, 10000)}")
        until(lambda: busy(s))
        left = workers(s)
        begun = time.monotonic()
        s.process.send_signal(how)
        s.process.wait(20)
        until(lambda: not any(map(is_alive, left)))
        assert time.monotonic() - begun < GRACE_S + (6 if how == signal.SIGTERM else 0)
        connection.close()


def test_a_query_that_takes_all_memory_harms_nobody(server):
    many = ", ".join(f"notes n{i}" for i in range(6))
    error = evaluate(server, "return " + search(
        f"SELECT n0.id FROM {many} ORDER BY hex(randomblob(50000))", 10000))["errorDetails"]
    assert error["code"] == "LIMIT" and "256 MB" in error["message"]
    assert evaluate(server, f"return ({search('SELECT 1 AS n')}).rows")["result"] == [{"n": 1}]


def test_memory_is_each_querys_own(server):
    """A query that sorts 100 MB does not make others fail."""
    numbers = json.dumps(list(range(1000)), separators=(",", ":"))
    big = (f"SELECT length(x) AS n FROM (SELECT hex(zeroblob(50000)) || value AS x FROM "
           f"json_each('{numbers}')) ORDER BY x")
    code = f"const a = await Promise.all([1, 2, 3, 4].map(() => {search(big, 10000)[6:]}));" \
           "return a.map((x) => x.row_count)"
    assert evaluate(server, code)["result"] == [1000] * 4


def test_a_process_that_is_killed_is_an_error_and_the_next_works(server):
    evaluate(server, f"return {search('SELECT 1')}")
    code = f"try {{ {search(ENDLESS, 10000)} }} catch (e) {{ return [e.code ?? e.name, e.message] }}"
    with begin(server, code) as connection:
        until(lambda: busy(server))
        for pid in busy(server):
            os.kill(pid, signal.SIGKILL)
        connection.settimeout(20)
        assert b"was ended (signal 9)" in connection.recv(65536)
    assert evaluate(server, f"return ({search('SELECT 1 AS n')}).rows")["result"] == [{"n": 1}]
    for pid in workers(server):  # one that waits for a query
        os.kill(pid, signal.SIGKILL)
    until(lambda: not workers(server))
    assert evaluate(server, f"return ({search('SELECT 2 AS n')}).rows")["result"] == [{"n": 2}]


def test_it_has_no_rights_and_few_files(server, vault):
    evaluate(server, f"return {search('SELECT count(*) AS n FROM notes')}")
    [pid] = workers(server)
    status = dict(line.split(":\t", 1) for line in
                  Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
    assert (status["Seccomp"], status["NoNewPrivs"]) == ("2", "1")
    try:
        files = {os.readlink(f) for f in Path(f"/proc/{pid}/fd").iterdir()}
    except PermissionError:
        return
    own = {str(vault / ".cloche" / n) for n in ("index.db", "index.db-wal", "index.db-shm")}
    assert {f for f in files if f.startswith("/")} <= own | {"/dev/null"}


def test_the_schema_is_not_read_by_joining(server):
    for sql in ("SELECT name FROM (SELECT 1 AS name) FULL JOIN sqlite_master USING(name)",
                "SELECT key FROM (SELECT 1 AS key) FULL JOIN names USING(key)",
                "SELECT count(*) FROM (SELECT 'notes' AS name) NATURAL JOIN sqlite_schema"):
        assert evaluate(server, f"return {search(sql)}")["errorDetails"]["code"] == "DENIED", sql


def test_a_query_sees_what_was_written_before_it(server):
    code = """const out = [];
        for (let i = 0; i < 30; i++) {
            await notes.create({type: 'n', title: `N ${i}`, content: 'x'});
            out.push((await notes.searchSQL("SELECT count(*) AS n FROM notes WHERE type = 'n'"))
                .rows[0].n);
        }
        return out"""
    assert evaluate(server, code)["result"] == list(range(1, 31))


def test_an_index_that_was_made_anew_is_read(server, vault):
    count = f"return ({search('SELECT count(*) AS n FROM notes')}).rows[0].n"
    n = evaluate(server, count)["result"]
    for f in (vault / ".cloche").glob("index.db*"):
        f.unlink()
    (vault / "one-more.md").write_text("x")
    assert evaluate(server, count)["result"] == n + 1


def test_without_the_program_it_is_said(cloche, vault, tmp_path):
    there, place = Path(cloche).parent, tmp_path / "place"
    (place / "guest").mkdir(parents=True)
    shutil.copy(cloche, place / "cloche")
    (place / "lib").symlink_to(there / "lib")
    shutil.copytree(there / "guest" / "ahead", place / "guest" / "ahead")
    for name in ("script.bare.wasm", "script.img"):
        shutil.copy(there / "guest" / name, place / "guest" / name)
    told = subprocess.run([place / "cloche", "eval", "--vault", vault, "-e",
                           f"return {search('SELECT 1')}"], capture_output=True, text=True)
    assert "cloche-sql" in json.loads(told.stdout)["error"]
    told = subprocess.run([place / "cloche", "doctor"], capture_output=True, text=True)
    assert told.returncode != 0
    assert any(line.startswith("BAD") and "SQL queries" in line and "cloche-sql" in line
               for line in told.stdout.splitlines())
    told = subprocess.run([cloche, "doctor"], capture_output=True, text=True)
    assert "ok   SQL queries" in told.stdout
