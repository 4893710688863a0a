"""The official conformance suite over HTTP: the scenarios that need no fixtures.

The npm package and node come from build/deps; $CLOCHE_CONFORMANCE (the folder of an
installed @modelcontextprotocol/conformance) and $CLOCHE_NODE (22 or newer) name others.
"""
import json
import os
import subprocess
from pathlib import Path

import pytest

DEPS = Path(__file__).resolve().parent.parent / "build" / "deps"
PACKAGE = Path(os.environ.get("CLOCHE_CONFORMANCE") or
               DEPS / "npm-test/node_modules/@modelcontextprotocol/conformance")
NODE = Path(os.environ.get("CLOCHE_NODE") or DEPS / "node")

pytestmark = pytest.mark.skipif(
    not PACKAGE.exists() or not NODE.exists(),
    reason="the conformance suite is not installed: deps/fetch test brings it")

SCENARIOS = [
    ("2025-11-25", "server-initialize"),
    ("2025-11-25", "ping"),
    ("2025-11-25", "tools-list"),
    ("2025-11-25", "resources-list"),
    ("2025-11-25", "dns-rebinding-protection"),
    ("2025-11-25", "server-session-lifecycle"),
    ("2026-07-28", "server-stateless"),
    ("2026-07-28", "tools-list"),
    ("2026-07-28", "resources-list"),
    ("2026-07-28", "sep-2164-resource-not-found"),
    ("2026-07-28", "dns-rebinding-protection"),
    ("2026-07-28", "http-header-validation"),
    ("2026-07-28", "caching"),
    ("2026-07-28", "input-required-result-unsupported-methods"),
]

# What such a scenario checks besides, of what a server may leave out: it says that it
# found no fixture to check with, or no such method.
NOT_OFFERED = ("Not testable:", "prompts/list returned JSON-RPC error -32601")


@pytest.mark.parametrize("version, scenario", SCENARIOS)
def test_scenario(server, tmp_path, version, scenario):
    entry = PACKAGE / "dist" / "index.js"
    done = subprocess.run(
        [str(NODE), str(entry), "server", "--url", server.url + "/mcp", "--scenario", scenario,
         "--spec-version", version, "--output-dir", str(tmp_path)],
        capture_output=True, text=True, timeout=120)
    reports = list(tmp_path.glob("**/checks.json"))
    assert reports, done.stdout + done.stderr
    checks = json.loads(reports[0].read_text())
    failed = [f"{c['id']}: {c.get('errorMessage')}" for c in checks
              if c["status"] == "FAILURE"
              and not str(c.get("errorMessage")).startswith(NOT_OFFERED)]
    assert failed == []
    assert any(c["status"] == "SUCCESS" for c in checks)


def test_the_release_has_none_of_the_fixtures(cloche):
    fixtures = [b"test_simple_text", b"test_input_required_result", b"test://"]
    text = Path(cloche).read_bytes()
    assert [f for f in fixtures if f in text] == []
