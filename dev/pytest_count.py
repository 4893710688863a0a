"""A pytest plugin for ./check: writes "PASSED FAILED SKIPPED" to build/pytest.count and what
failed to build/pytest.failed, a line each (the test, and the first line of its error), and
prints each reason for a skip with the number of tests that it concerns. A skip that is not a
fact of this computer (test/needs.py) counts as a failure. The files that take longest begin
first, so that no worker still has one to run when the others are done (with xdist's
--no-loadscope-reorder); the seconds of the 30 longest files are printed at the end.
"""
from collections import Counter
from pathlib import Path

SYSTEM = "this system: "
# Those of more than half a minute on two cores, the longest first; the list that a run prints.
LONGEST = (
    "test_page_firefox", "test_machine_network", "test_machine_servers", "test_tool_cases", "test_tool_hostile",
    "test_page", "test_vm_image", "test_page_firefox_dark", "test_mounts_here", "test_vm_programs", "test_page_keys",
    "test_machine_peers", "test_page_views", "test_oauth", "test_tool_suites", "test_vm_init", "test_machine_escapes",
    "test_client_node", "test_tool_machine", "test_machine_ipv6", "test_machine_copies")


def reason(report):
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


def error(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    return (crash.message if crash else str(report.longrepr)).partition("\n")[0][:200]


def pytest_terminal_summary(terminalreporter):
    seen = {name: len(terminalreporter.stats.get(name, []))
            for name in ("passed", "failed", "error")}
    reasons = Counter(map(reason, terminalreporter.stats.get("skipped", [])))
    unfounded = {why: n for why, n in reasons.items() if not why.startswith(SYSTEM)}
    for why, n in sorted(reasons.items()):
        word = "FAILED, not run" if why in unfounded else "skipped"
        terminalreporter.write_line(f"{n} {word}: {why}")
    broken = [f"{report.nodeid}: {error(report)}"
              for kind in ("failed", "error") for report in terminalreporter.stats.get(kind, [])]
    broken += [f"{n} not run: {why}" for why, n in sorted(unfounded.items())]
    Path("build/pytest.failed").write_text("".join(f"{line}\n" for line in broken))
    failed = seen["failed"] + seen["error"] + sum(unfounded.values())
    skipped = sum(reasons.values()) - sum(unfounded.values())
    seconds = Counter()
    for report in sum(terminalreporter.stats.values(), []):
        if hasattr(report, "duration"):
            seconds[report.nodeid.split("::")[0]] += report.duration
    terminalreporter.write_line("the longest files, in seconds: " + ", ".join(
        f"{Path(name).stem} {s:.0f}" for name, s in seconds.most_common(30)))
    Path("build/pytest.count").write_text(f"{seen['passed']} {failed} {skipped}\n")


def pytest_sessionfinish(session, exitstatus):
    """The run fails, too."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and exitstatus == 0 and any(
            not reason(r).startswith(SYSTEM) for r in reporter.stats.get("skipped", [])):
        session.exitstatus = 1


def pytest_collection_modifyitems(items):
    places = {f"test/{name}.py": n for n, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.location[0], len(places)))
