"""The official conformance suite over HTTP, against build/cloche-conformance: the program with the
fixtures that the suite expects (src/doors/conformance). Every scenario that a revision requires is
a test of its own; so is every one that does not count.

The npm package and node come from build/deps; $CLOCHE_CONFORMANCE (the folder of an installed
@modelcontextprotocol/conformance) and $CLOCHE_NODE (22 or newer) name others.
"""
import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import needs

DEPS = Path(__file__).resolve().parent.parent / "build" / "deps"
PACKAGE = Path(os.environ.get("CLOCHE_CONFORMANCE") or
               DEPS / "npm-test/node_modules/@modelcontextprotocol/conformance")
NODE = Path(os.environ.get("CLOCHE_NODE") or DEPS / "node")
REQUIRED = {"2025-11-25": 30, "2026-07-28": 37}  # scenarios, as the suite's release says
TIMEOUT_S = 240

pytestmark = needs.installed(PACKAGE, NODE, by="deps/fetch test")


def listed(version):
    """(scenario, does it count) of all that are run against a server of a revision."""
    path = PACKAGE / "requirements" / f"{version}.yaml"
    if not path.exists():
        return []
    section, found = None, []
    for line in path.read_text().splitlines():
        if line and not line.startswith((" ", "#")):
            section = line.rstrip(":")
        elif section == "server" and (name := re.match(r"  - ([\w/-]+)$", line)):
            found.append((name[1], True))
        elif section == "not_scored" and (name := re.match(r"  - scenario: ([\w/-]+)", line)):
            found.append((name[1], None))
        elif found and found[-1][1] is None and "leg:" in line:
            scenario, _ = found.pop()
            if line.split()[-1] == "server":
                found.append((scenario, False))
    return found


SCENARIOS = [(version, name) for version in REQUIRED for name, _ in listed(version)]


@pytest.fixture(scope="module")
def reports(served, tmp_path_factory):
    """{revision: {scenario: its checks}}, of one run a revision over one server."""
    found = {}
    for version in REQUIRED:
        out = tmp_path_factory.mktemp("report")
        done = subprocess.run(
            [str(NODE), str(PACKAGE / "dist" / "index.js"), "server", "--url",
             served.url + "/mcp", "--requirements", version, "--output-dir", str(out)],
            capture_output=True, text=True, timeout=TIMEOUT_S)
        found[version] = {
            re.fullmatch(r"server-(.+?)-\d{4}-\d\d-\d\dT[\dTZ-]+", file.parent.name)[1]:
                json.loads(file.read_text()) for file in out.glob("**/checks.json")}
        assert found[version], done.stdout + done.stderr
        assert served.process.poll() is None, "the server has gone"
    return found


@pytest.mark.parametrize("version, scenario", SCENARIOS)
def test_scenario(reports, version, scenario):
    checks = reports[version].get(scenario)
    assert checks is not None, "it was not run"
    # What a server should do but need not is a warning to the suite.
    assert [f"{c['status']} {c['id']}: {c.get('errorMessage')}" for c in checks
            if c["status"] in ("FAILURE", "WARNING")] == []
    # Nothing but information about what the suite did: nothing was offered to check.
    assert any(c["status"] in ("SUCCESS", "SKIPPED") for c in checks)


@pytest.mark.parametrize("version", REQUIRED)
def test_nothing_required_is_left_out(reports, version, capsys):
    required = [name for name, counts in listed(version) if counts]
    assert len(required) == REQUIRED[version]
    assert set(required) <= set(reports[version])
    counted = Counter(c["status"] for checks in reports[version].values() for c in checks)
    with capsys.disabled():
        print(f"\n{version}: {len(reports[version])} scenarios, {len(required)} of them "
              f"required; checks: {dict(sorted(counted.items()))}")


def test_the_release_has_none_of_the_fixtures(cloche):
    fixtures = [b"test_simple_text", b"test_input_required_result", b"test://"]
    text = Path(cloche).read_bytes()
    assert [f for f in fixtures if f in text] == []
