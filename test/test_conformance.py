"""The official conformance suite over HTTP: the scenarios that need no fixtures.

$CLOCHE_CONFORMANCE is the folder of the installed npm package
@modelcontextprotocol/conformance, $CLOCHE_NODE a node of version 22 or newer.
"""
import json
import os
import subprocess
from pathlib import Path

import pytest

PACKAGE = os.environ.get("CLOCHE_CONFORMANCE")
NODE = os.environ.get("CLOCHE_NODE")

pytestmark = pytest.mark.skipif(
    not PACKAGE or not NODE,
    reason="CLOCHE_CONFORMANCE (the suite's package folder) and CLOCHE_NODE (node 22 or "
           "newer) are not both set")

SCENARIOS = [
    ("2025-11-25", "server-initialize"),
    ("2025-11-25", "ping"),
    ("2025-11-25", "tools-list"),
    ("2025-11-25", "dns-rebinding-protection"),
    ("2025-11-25", "server-session-lifecycle"),
    ("2026-07-28", "server-stateless"),
    ("2026-07-28", "tools-list"),
    ("2026-07-28", "dns-rebinding-protection"),
    ("2026-07-28", "http-header-validation"),
    ("2026-07-28", "caching"),
    ("2026-07-28", "input-required-result-unsupported-methods"),
]

# What such a scenario checks besides, of what a server may leave out: it says that it
# found no fixture to check with, or no such method.
NOT_OFFERED = ("Not testable:", "prompts/list returned JSON-RPC error -32601",
               "resources/list returned JSON-RPC error -32601",
               "resources/templates/list returned JSON-RPC error -32601")


@pytest.mark.parametrize("version, scenario", SCENARIOS)
def test_scenario(server, tmp_path, version, scenario):
    entry = Path(PACKAGE) / "dist" / "index.js"
    done = subprocess.run(
        [NODE, str(entry), "server", "--url", server.url + "/mcp", "--scenario", scenario,
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
