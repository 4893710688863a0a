"""Counters at /metrics, alerts, and callers that are paused."""
import json
import os
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from wire import Server, Stdio, call, initialize, request, structured

DENIED = "for (let i = 0; i < {n}; i++) await notes.list().catch(() => 0); return 1"


@pytest.fixture
def run(cloche):
    def run(*words, **how):
        return subprocess.run([cloche, *map(str, words)], capture_output=True, text=True, **how)
    return run


def records(run, vault, event):
    lines = run("audit", "--json", "--limit", 1000, "--vault", vault).stdout.splitlines()
    return [r for r in map(json.loads, lines) if r["event"] == event]


# ---- metrics ---------------------------------------------------------------------------

def parse(text):
    """The text format, strictly: {(name, labels): value} and {name: type}."""
    samples, types = {}, {}
    assert text.endswith("\n")
    label = r'[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*"'
    for line in text.splitlines():
        if line.startswith("# HELP "):
            assert re.fullmatch(r"# HELP [a-zA-Z_:][\w:]* .+", line)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types and kind in ("counter", "gauge", "histogram")
            types[name] = kind
        else:
            found = re.fullmatch(rf"([a-zA-Z_:][\w:]*)(?:\{{({label}(?:,{label})*)\}})? (\S+)", line)
            assert found, line
            key = (found[1], tuple(sorted(re.findall(rf"{label}", found[2] or ""))))
            assert key not in samples, line
            samples[key] = float(found[3])
            base = re.sub(r"_(bucket|sum|count)$", "", found[1])
            assert found[1] in types or types.get(base) == "histogram", line
    return samples, types


def test_metrics_count_tools_methods_and_callers(server):
    for _ in range(3):
        server.post(call("evaluate_note_code", {"code": "await notes.list(); return 1"}))
    server.post(call("evaluate_note_code", {"code": "for(;;);", "timeout": 10}))
    server.post(call("get_note", {"identifier": "nowhere"}))
    server.post(call("evaluate_note_code", {"code": DENIED.format(n=2), "allowedAPIs": []}))
    answer = server.http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    samples, types = parse(answer.text)
    tool = lambda name, outcome: samples["cloche_tool_calls_total",
                                         (f'outcome="{outcome}"', f'tool="{name}"')]
    assert tool("evaluate_note_code", "success") == 4
    assert tool("evaluate_note_code", "limit") == 1
    assert tool("get_note", "error") == 1
    method = lambda outcome: samples["cloche_host_calls_total",
                                     ('method="notes.list"', f'outcome="{outcome}"')]
    assert method("success") == 3 and method("denied") == 2
    assert samples["cloche_caller_calls_total", ('caller="http"', 'outcome="success"')] == 4
    assert types["cloche_tool_calls_duration_seconds"] == "histogram"
    assert samples["cloche_audit_records_total", ()] >= 6
    assert samples["cloche_audit_lost_records_total", ()] == 0


def test_buckets_grow_and_end_in_the_count(server):
    for i in range(5):
        server.post(call("evaluate_note_code", {"code": f"await sleep({i * 3}); return 1"}))
    text = server.http.get("/metrics").text
    rows = re.findall(r'tool_calls_duration_seconds_bucket\{tool="evaluate_note_code",le="([^"]+)"\} (\d+)', text)
    bounds = [float(le.replace("+Inf", "inf")) for le, _ in rows]
    counts = [int(n) for _, n in rows]
    assert bounds == sorted(bounds) and bounds[-1] == float("inf")
    assert counts == sorted(counts) and counts[-1] == 5
    assert 'tool_calls_duration_seconds_count{tool="evaluate_note_code"} 5' in text


def test_metrics_are_told_to_this_machine_alone(server):
    assert server.http.get("/metrics", headers={"Host": "evil.example"}).status_code == 403
    assert server.http.get("/metrics", headers={"Origin": "https://evil.example"}).status_code == 403
    assert server.http.post("/metrics").status_code == 405


def test_no_name_from_outside_becomes_a_label(server):
    for i in range(5):
        server.post(call(f"made_up_{i}"))
        server.post(call("evaluate_note_code", {"code": f"notes.made_up_{i}()"}))
    assert "made_up" not in server.http.get("/metrics").text


# ---- alerts ----------------------------------------------------------------------------

def test_a_burst_of_denials_is_recorded_logged_and_told_to_the_client(run, cloche, vault):
    with Stdio([cloche, "mcp", "--vault", str(vault)], stderr=subprocess.PIPE) as client:
        capabilities = client.ask(initialize())["result"]["capabilities"]
        assert capabilities["logging"] == {}
        client.ask(call("evaluate_note_code",
                        {"code": DENIED.format(n=25), "allowedAPIs": ["notes.get"]}, id=7))
        rest, _ = client.end()
        log = client.process.stderr.read().decode()
    # It may precede the answer or follow it.
    message = [m for m in rest + list(map(json.loads, client.lines))
               if m.get("method") == "notifications/message"][0]["params"]
    assert message["level"] == "warning" and message["data"]["caller"] == "stdio"
    assert "25 refusals" in message["data"]["message"] and "alert: stdio: 25 refusals" in log
    alert = records(run, vault, "alert")
    assert len(alert) == 1 and alert[0]["kind"] == "denials" and not alert[0]["paused"]


def test_a_client_may_not_want_to_hear(cloche, vault):
    with Stdio([cloche, "mcp", "--vault", str(vault)], stderr=subprocess.DEVNULL) as client:
        client.ask(initialize())
        assert client.ask(request("logging/setLevel", {"level": "error"}, id=2))["result"] == {}
        assert client.ask(request("logging/setLevel", {"level": "loud"}, id=3))["error"]["code"] == -32602
        client.ask(call("evaluate_note_code",
                        {"code": DENIED.format(n=25), "allowedAPIs": ["notes.get"]}, id=7))
        rest, _ = client.end()
        assert not any(b"notifications/message" in line for line in client.lines)


@pytest.mark.parametrize("kind, arguments, times", [
    ("limits", {"code": "for(;;);", "timeout": 5}, 3),
    ("errors", {"code": "throw 1"}, 3),
])
def test_thresholds_are_the_policys(run, stdio, vault, kind, arguments, times):
    assert run("policy", "set", f"alerts.{kind}.count", times).returncode == 0
    for i in range(times - 1):
        stdio.ask(call("evaluate_note_code", arguments, id=i + 1))
    assert not records(run, vault, "alert")
    for i in range(3):
        stdio.ask(call("evaluate_note_code", arguments, id=100 + i))
    # One alert while it goes on, not one a call.
    assert [a["kind"] for a in records(run, vault, "alert")].count(kind) == 1


def test_mass_deletes_pause_the_caller_in_the_middle(run, vault):
    assert run("policy", "set", "alerts.deletes.count", 5).returncode == 0
    assert run("policy", "set", "alerts.deletes.pause", "true").returncode == 0
    for i in range(12):
        (vault / f"Doomed {i}.md").write_text(f"# {i}\n")
    code = ("for (let i = 0; i < 12; i++) "
            "await notes.delete({identifier: `note/Doomed ${i}`, confirm: true});")
    answer = json.loads(run("eval", "--vault", vault, "-e", code).stdout)
    assert answer["errorDetails"]["type"] == "PermissionDenied" and "paused" in answer["error"]
    assert len(list(vault.glob("Doomed *.md"))) == 7
    # In every process, also for reading, until the user lifts it.
    refused = json.loads(run("eval", "--vault", vault, "-e", "return 1").stdout)
    assert "cloche callers resume 'terminal'" in refused["error"]
    assert "terminal" in json.loads(run("callers", "--json").stdout)["paused"]
    assert run("callers", "resume", "terminal", "--vault", vault).returncode == 0
    assert json.loads(run("eval", "--vault", vault, "-e", "return 1").stdout)["success"]
    assert [a["paused"] for a in records(run, vault, "alert") if a["kind"] == "deletes"] == [True]
    assert records(run, vault, "resume")[0]["caller"] == "terminal"


def test_deletes_are_counted_by_what_is_gone(run, vault):
    assert run("policy", "set", "alerts.deletes.count", 5).returncode == 0
    for i in range(6):
        (vault / f"Doomed {i}.md").write_text(f"# {i}\n")
    (vault / "Linked.md").write_text("# L\n")
    (vault / "Linking.md").write_text("[[Linked]]\n")
    eval_ = lambda code: json.loads(run("eval", "--vault", vault, "-e", code).stdout)["success"]
    # Neither a dry run nor a call that needs confirmation.
    assert eval_("for (let i = 0; i < 12; i++) { await notes.delete('Linked');"
                 " await notes.delete({identifier: 'note/Doomed 0', dry_run: true}); }")
    assert not records(run, vault, "alert")
    assert eval_("await notes.batch({changes: [0, 1, 2, 3, 4, 5].map((i) => "
                 "({action: 'delete', identifier: `note/Doomed ${i}`, confirm: true}))})")
    assert [a["kind"] for a in records(run, vault, "alert")] == ["deletes"]


@pytest.mark.parametrize("damage", ["{", "[]", "", "\0"])
def test_a_damaged_list_of_paused_callers_lets_nobody_in(run, vault, damage):
    assert run("eval", "--vault", vault, "-e", "return 1").returncode == 0
    assert run("callers", "pause", "terminal", "--vault", vault).returncode == 0
    list_of_them = Path(os.environ["XDG_STATE_HOME"], "cloche", "paused.json")
    list_of_them.write_text(damage)
    answer = json.loads(run("eval", "--vault", vault, "-e", "return 1").stdout)
    assert answer["errorDetails"]["type"] == "PermissionDenied" and "paused.json" in answer["error"]
    refused = run("callers", "resume", "terminal", "--vault", vault)
    assert refused.returncode == 1 and list_of_them.read_text() == damage
    listed = run("callers", "--vault", vault)
    assert listed.returncode == 1 and "paused.json" in listed.stderr and "terminal: " in listed.stdout
    list_of_them.unlink()
    assert json.loads(run("eval", "--vault", vault, "-e", "return 1").stdout)["success"]


def test_a_person_may_pause_a_caller(run, stdio):
    assert run("callers", "pause", "stdio").returncode == 0
    result = stdio.ask(call("get_note", {"identifier": "meeting/standup"}))["result"]
    assert result["isError"] and "by a person" in result["content"][0]["text"]
    assert run("callers", "resume", "stdio").returncode == 0
    assert run("callers", "resume", "stdio").returncode == 1
    assert run("callers", "resume").returncode == 2
    for name, said in (("sdtio", "did you mean 'stdio'?"), ("nobody at all", "'cloche callers' lists"),
                       ("http token none", "nobody was paused")):
        refused = run("callers", "pause", name)
        assert refused.returncode == 2 and said in refused.stderr
    assert json.loads(run("callers", "--json").stdout)["paused"] == {}
    assert structured(stdio.ask(call("evaluate_note_code", {"code": "return 1"})))["success"]


def test_an_alert_is_sent_to_the_users_webhook(run, vault):
    got = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self):
            got.append((self.headers["Content-Type"],
                        json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass
    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/hook"
        (vault / ".cloche").mkdir(exist_ok=True)
        (vault / ".cloche" / "policy.json").write_text(json.dumps({"webhook": url}))
        code = DENIED.format(n=25)
        run("eval", "--vault", vault, "--allow", "notes.get", "-e", code)
        assert not got, "a vault names no webhook"
        assert run("policy", "set", "webhook", url).returncode == 0
        # The command ends when pending alerts are sent.
        run("eval", "--vault", vault, "--allow", "notes.get", "-e", code)
        assert got[0][0] == "application/json"
        assert got[0][1]["kind"] == "denials" and got[0][1]["caller"] == "terminal"
    finally:
        server.shutdown()
