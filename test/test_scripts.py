"""run_script: code whose one way out is REST, on counted fuel."""
import hashlib
import json
import subprocess

import pytest

from wire import Stdio, call, structured


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
    ("eval('1')", {}, "PermissionDenied", "PermissionDenied"),
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
