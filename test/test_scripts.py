"""run_script: code whose only access is REST, on counted fuel."""
import hashlib
import json
import subprocess
import threading
import time

import pytest

from wire import Stdio, call, request, structured


@pytest.fixture
def script(cloche, vault):
    """run(code, ...): the answer of a script over the sample vault."""
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as server:
        def run(code, **more):
            arguments = {"code": code, "workspace_id": "vault"} | more
            return structured(server.ask(call("run_script", arguments)))
        yield run


def test_the_last_expression_is_the_result(script):
    answer = script("let n = 0;\nfor (const x of [1, 2, 3]) n += x;\n`${workspace_id}: ${n}`;")
    assert answer["success"] and answer["result"] == "vault: 6"
    assert answer["stats"]["fuel"] > 1000


def test_the_same_script_uses_the_same_fuel(cloche, vault, script):
    code = "Array.from({length: 3000}, (_, i) => (i * 7919) % 3001).sort((a, b) => a - b)[7]"
    used = {script(code)["stats"]["fuel"] for _ in range(5)}
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as another:
        arguments = {"code": code, "workspace_id": "vault"}
        used.add(structured(another.ask(call("run_script", arguments)))["stats"]["fuel"])
    assert len(used) == 1


@pytest.mark.parametrize("code, more, kind, name", [
    ("try { for (;;); } finally { for (;;); }", {"fuel": 10**8}, "FuelExhausted", None),
    ("/(a+)+$/.test('a'.repeat(60) + 'b')", {"fuel": 10**8}, "FuelExhausted", None),
    ("const a = []; for (;;) a.push(new Uint8Array(1e6))", {}, "MemoryExceeded", None),
    ("null.x", {}, "ExecutionError", "TypeError"),
    ("let = = 1", {}, "ExecutionError", "SyntaxError"),
    ("throw new Error('mine')", {}, "ExecutionError", "Error"),
    ("notes.list()", {}, "ExecutionError", "ReferenceError"),
    ("eval('1')", {}, "ExecutionError", "EvalError"),
    ("host.call('GET', '/no/such/route')", {}, "HostCallError", "HostCallError"),
    ("1", {"workspace_id": "other"}, "NotFound", None),
    ("1", {"fuel": 10**11 + 1}, "InvalidInput", None),
    ("1", {"fuel": -1}, "InvalidInput", None),
    ("1", {"timeout": 1}, "InvalidInput", None),
])
def test_each_failure_has_its_name(script, code, more, kind, name):
    answer = script(code, **more)
    assert not answer["success"] and answer["result"] is None
    details = answer["errorDetails"]
    assert details["type"] == kind, answer["error"]
    assert details.get("name") == name
    assert details["changed"] is False
    assert script("typeof left")["result"] == "undefined"


def test_the_policy_bounds_the_fuel(cloche, script):
    done = subprocess.run([cloche, "policy", "set", "limits.fuel", "2000000"], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert script("for (;;);")["stats"]["fuel"] == 2_000_000  # the default is lowered with it
    refused = script("1", fuel=2_000_001)["errorDetails"]
    assert refused["type"] == "InvalidInput" and "2000000" in refused["message"]


def test_a_run_is_recorded_without_its_code(cloche, vault, script):
    codes = {"'a secret phrase'": "success", "null.x // a secret phrase": "ExecutionError"}
    for code in codes:
        script(code)
    script("1", workspace_id="other")
    done = subprocess.run([cloche, "audit", "--json", "--vault", str(vault)],
                          capture_output=True, text=True, check=True)
    assert "secret phrase" not in done.stdout
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    rows = {r["code"]: r for r in rows if r.get("action") == "run_script"}
    for code, result in codes.items():
        row = rows[hashlib.sha256(code.encode()).hexdigest()]
        assert row["workspace"] == "vault" and row["result"] == result
        assert row["fuel"] > 0 and row["peak_memory_bytes"] > 0 and row["ms"] > 0
        assert row["time"] and row["host_calls"] == 0
    own = subprocess.run([cloche, "audit", "--json"], capture_output=True, text=True, check=True)
    assert '"workspace":"other"' in own.stdout


# ---- over the real routes ------------------------------------------------------------

SEED_EXAMPLE = r"""
// Find all pending tasks and create a summary
const tasks = host.call("POST", `/workspaces/${workspace_id}/query`, {
  filter: { class: "Task", "properties.Status": "pending" }
});

let report = "# Pending Tasks\n\n";
for (const task of tasks) {
  const due = task.properties.Due || "No due date";
  report += `- [ ] ${task.title} (Due: ${due})\n`;
}

// Return value is sent back to the AI
report;
"""
HOST_EXAMPLES = r"""
const noteId = "Task/buy";
const notes = host.call("GET", `/workspaces/${workspace_id}/notes`);
const note = host.call("GET", `/workspaces/${workspace_id}/notes/${noteId}`);
const created = host.call("POST", `/workspaces/${workspace_id}/notes`, {
  markdown: "# New Note\n\nContent here"
});
[notes.some((row) => row.id === noteId), note.title, created.title];
"""


@pytest.fixture
def tasks(vault):
    folder = vault / "Task"
    folder.mkdir()
    (folder / "buy.md").write_text("# Buy\n\n## Status\npending\n\n## Due\n2025-11-29\n")
    (folder / "sell.md").write_text("# Sell\n\n## Status\npending\n")
    (folder / "rest.md").write_text("# Rest\n\n## Status\ndone\n")


def test_the_seeds_programs_run_as_they_stand(tasks, script):
    answer = script(SEED_EXAMPLE)
    assert answer["success"], answer["error"]
    head, *rows = answer["result"].rstrip().split("\n")
    assert head == "# Pending Tasks"
    assert sorted(rows[1:]) == ["- [ ] Buy (Due: 2025-11-29)", "- [ ] Sell (Due: No due date)"]
    answer = script(HOST_EXAMPLES)
    assert answer["success"], answer["error"]
    assert answer["result"] == [True, "Buy", "New Note"]


def test_what_was_read_may_be_changed_and_what_was_not_may_not(tasks, script):
    path = "`/workspaces/${workspace_id}/notes/Task/buy`"
    change = f"host.call('PATCH', {path}, {{properties: {{Status: 'done'}}}})"
    refused = script(change)["errorDetails"]
    assert refused["type"] == "HostCallError" and refused["status"] == 428
    assert "GET it first" in refused["message"]
    answer = script(f"host.call('GET', {path}); {change}.properties.Status")
    assert answer["success"], answer["error"]
    assert answer["result"] == "done"


def test_what_another_program_changed_since_is_not_written_over(tasks, vault, script):
    """The script waits until the other has written, the other until the script has read."""
    def other():
        while not (vault / "note" / "Read.md").exists():
            time.sleep(0.01)
        (vault / "Task" / "buy.md").write_text("# Buy\n\nAnother wrote this.\n")
        (vault / "note" / "Go.md").write_text("# Go\n")
    writer = threading.Thread(target=other)
    writer.start()
    answer = script("""
        const w = `/workspaces/${workspace_id}/notes`;
        host.call('GET', `${w}/Task/buy`);
        host.call('POST', w, {markdown: '# Read'});
        for (;;) {
          try { host.call('GET', `${w}/note/Go`); break; } catch { await sleep(10); }
        }
        host.call('PUT', `${w}/Task/buy`, {markdown: '# Buy\\n\\nMine.'});""")
    writer.join()
    assert answer["errorDetails"]["status"] == 412, answer
    assert "Another wrote this." in (vault / "Task" / "buy.md").read_text()


def test_no_route_runs_code_or_reads_the_audit_from_within(script):
    for method, path in (("POST", "evaluate"), ("POST", "run"), ("GET", "audit")):
        answer = script(f"host.call('{method}', '/workspaces/vault/{path}', {{code: '1'}})")
        assert answer["errorDetails"]["status"] in (403, 404, 405), answer["error"]


def test_requests_add_to_the_scripts_own_record(cloche, vault, tasks, script):
    script("host.call('GET', '/workspaces/vault/notes/Task/buy');"
           "host.call('POST', '/workspaces/vault/notes', {markdown: '# Made'}); 1")
    done = subprocess.run([cloche, "audit", "--json", "--vault", str(vault)],
                          capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    (row,) = (r for r in rows if r["event"] == "call")
    assert row["action"] == "run_script" and row["host_calls"] == 2
    assert row["changed"] is True and row["notes"] == ["note/Made"]
    assert row["calls"]["notes.create"] == 1


def test_the_audit_is_a_resource(cloche, vault):
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as server:
        server.ask(call("run_script", {"code": "5", "workspace_id": "vault"}))
        read = server.ask(request("resources/read", {"uri": "ieapp://vault/audit"}, id=2))
        (content,) = read["result"]["contents"]
        rows = json.loads(content["text"])
        assert rows[0]["action"] == "run_script" and rows[0]["workspace"] == "vault"
        assert "vault" not in rows[0]
        missing = server.ask(request("resources/read", {"uri": "ieapp://none/audit"}, id=3))
        assert "error" in missing


def test_the_command_line_runs_scripts(cloche, vault):
    def run(*words):
        done = subprocess.run([cloche, "eval", "--vault", str(vault), *words],
                              capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr
    code = "host.call('GET', `/workspaces/${workspace_id}/notes?limit=2`).length"
    status, answer = run("--workspace", "vault", "-e", code)
    assert status == 0 and answer["result"] == 2 and answer["stats"]["fuel"] > 1000
    status, answer = run("--workspace", "vault", "--fuel", "2000000", "-e", "for (;;);")
    assert status == 1 and answer["errorDetails"]["type"] == "FuelExhausted"
    status, answer = run("--workspace", "vault", "--session", "s", "-e", "1")
    assert status == 2 and "--session" in answer
