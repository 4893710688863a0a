"""Runs a package's own tests in a world, by pytest, and says how each test ended.

It is code of an evaluation: /packages is a mount with `library`, the folder of pytest and of what
tests import besides, and `root`, that of the package's source. `paths` are the tests in it.
"""
import importlib.util
import io
import os
import sys

ROOT = "/packages/" + root


class Beside:
    """Finds tests that stand within a package, whose other modules are those of the library."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        base = f"{ROOT}/{name.replace('.', '/')}"
        if os.path.exists(base + "/__init__.py"):
            return importlib.util.spec_from_file_location(name, base + "/__init__.py", submodule_search_locations=[base])
        return importlib.util.spec_from_file_location(name, base + ".py") if os.path.exists(base + ".py") else None


class Outcome:
    def __init__(self):
        self.ran, self.skipped, self.failed = set(), set(), {}

    def put(self, report):
        text = getattr(report.longrepr, "reprcrash", None)
        text = text.message if text else str(report.longrepr)
        lines = [line for line in text.strip().splitlines() if line.strip()] or [""]
        self.failed.setdefault(report.nodeid, (lines[0] if len(lines) < 2 or text is not str(report.longrepr) else lines[-1])[:300])

    def pytest_collectreport(self, report):
        if report.failed:
            self.put(report)
        elif report.skipped:
            self.skipped.add(report.nodeid)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.put(report)
        elif report.skipped and not hasattr(report, "wasxfail"):
            self.skipped.add(report.nodeid)
        if report.when == "call" and not report.skipped:
            self.ran.add(report.nodeid)


def run():
    import pytest
    outcome = Outcome()
    kept = sys.stdout
    sys.stdout = io.StringIO()
    try:
        ended = pytest.main(["-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:threadexception", "--assert=plain",
                             "--capture=sys", "--basetemp=/temporary", "-o", "addopts=", "-o", "filterwarnings=",
                             "--continue-on-collection-errors", "--rootdir", ROOT, "-q",
                             *[f"--deselect={name}" for name in without], *paths], plugins=[outcome])
        text = sys.stdout.getvalue()
    finally:
        sys.stdout = kept
    told = {"ran": len(outcome.ran), "skipped": len(outcome.skipped), "failed": outcome.failed, "status": int(ended)}
    return told if ended < 2 else {**told, "told": text[-2000:]}


# The library's modules are shown as if they were those beside the tests.
os.environ["PY_IGNORE_IMPORTMISMATCH"] = "1"
sys.meta_path.append(Beside)
sys.path[:0] = ["/packages/library", *[f"{ROOT}/{folder}".rstrip("/") for folder in folders]]
sys.argv = ["pytest"]
os.chdir(ROOT)
return run()
