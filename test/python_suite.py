"""CPython's own tests, each module in a world of its own: how they are run.

    test/python_suite.py [MODULE...]     runs modules and prints a line of JSON for each

test_python_suite.py has what is expected of them.
"""
import json
import os
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

from conftest import ROOT, folders_in, policy_in
from wire import Stdio, call

SOURCES = ROOT / "build/deps/python/debian/python3.13"
FOLDER = ROOT / "build/python-tests"
WORLD = (ROOT / "test/python_suite_world.py").read_text()
# What tests import and the guest's library leaves out.
HELPERS = ("socketserver.py", "dbm/", "wsgiref/", "xmlrpc/", "pydoc_data/", "nturl2path.py", "_osx_support.py",
           "_apple_support.py", "_android_support.py", "webbrowser.py", "__phello__/", "this.py", "multiprocessing/",
           "ftplib.py", "imaplib.py", "poplib.py", "smtplib.py")
SECONDS = 300


def unpacked():
    """The folder of the tests, of the source that the guest is made of."""
    if (FOLDER / "test").exists():
        return FOLDER
    FOLDER.parent.mkdir(exist_ok=True)
    (archive,) = SOURCES.glob("*.orig.tar.*")
    with tempfile.TemporaryDirectory(dir=FOLDER.parent) as place, tarfile.open(archive) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 of Debian 12 has none
        for member in tar:
            _, _, name = member.name.partition("/Lib/")
            if name.startswith(("test/", *HELPERS)) and member.isreg():
                member.name = name
                tar.extract(member, place)
        if not FOLDER.exists():
            shutil.move(place, FOLDER)
            Path(place).mkdir()
    FOLDER.chmod(0o755)
    return FOLDER


def holds_tests(package):
    """Whether tests stand in the package itself, which has no modules of tests then."""
    text = package.read_text()
    return "    def test_" in text and "def load_tests" not in text


def modules():
    """The names of all modules of tests."""
    folder = unpacked()
    found = [p.with_suffix("") for p in (folder / "test").glob("test_*.py")]
    for inner in (folder / "test").glob("test_*/"):
        found += [p.with_suffix("") for p in inner.rglob("test*.py") if "data" not in p.parts]
        found += [p.parent for p in inner.glob("__init__.py") if holds_tests(p)]
    return sorted(".".join(p.relative_to(folder).parts) for p in found)


def read_failures(file):
    """{test, or module that cannot be run: reason}, of a list below lines that begin with #."""
    known, reason = {}, None
    for line in file.read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            known[line] = reason
    return known


class Worlds:
    """A server whose evaluations have a folder, and the time and memory that suites of tests need."""

    def __init__(self, cloche, place, guest, folder):
        policy_in(place, {"fileSystem": True, "limits": {"total": SECONDS * 1000, "hostCalls": 1000000},
                          "levels": {"full": {"timeout": SECONDS * 1000, "memoryLimit": 1024}},
                          "mounts": [{"guest": guest, "host": str(folder), "mode": "ro"}]})
        vault = Path(place) / "vault"
        vault.mkdir()
        self.client = Stdio([cloche, "mcp", "--vault", str(vault)], env=os.environ | folders_in(Path(place)))

    def evaluate(self, code, context):
        """The result, or {ended: why}."""
        reply = self.client.ask(call("evaluate_note_code", {
            "code": code, "language": "python", "enableFileSystem": True, "timeout": SECONDS * 1000,
            "memoryLimit": 1024, "context": context}), SECONDS + 60)
        answer = reply["result"]["structuredContent"]
        if answer["success"]:
            return answer["result"]
        told = answer["errorDetails"]
        return {"ended": f"{told['type']}: {told.get('message', '')[:300]}",
                "log": [e["message"][:200] for e in answer.get("logs", [])][-3:]}

    def close(self):
        self.client.__exit__(None, None, None)


class Suite(Worlds):
    def __init__(self, cloche, place):
        super().__init__(cloche, place, "/suite", unpacked())

    def run(self, module, without=()):
        """{ran, skipped, failed: {test: why}}, {needs: why} or {ended: why}."""
        return self.evaluate(WORLD, {"module": module, "without": list(without)})


def main(names):
    cloche = os.environ.get("CLOCHE_BIN", str(ROOT / "build/cloche"))
    with tempfile.TemporaryDirectory() as place:
        suite = Suite(cloche, Path(place))
        for name in names or modules():
            print(json.dumps({"module": name, **suite.run(name)}), flush=True)
        suite.close()


if __name__ == "__main__":
    main(sys.argv[1:])
