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
FOLDER = ROOT / "build/python-suite"
WORLD = (ROOT / "test/python_suite_world.py").read_text()
HELPERS = ("socketserver.py", "dbm/", "wsgiref/")  # that tests import and the guest's library leaves out
SECONDS = 300
POLICY = {"fileSystem": True, "limits": {"total": SECONDS * 1000, "hostCalls": 1000000},
          "levels": {"full": {"timeout": SECONDS * 1000, "memoryLimit": 1024}},
          "mounts": [{"guest": "/suite", "host": str(FOLDER), "mode": "ro"}]}


def unpacked():
    """The folder of the tests, of the source that the guest is made of."""
    if (FOLDER / "test").exists():
        return FOLDER
    FOLDER.parent.mkdir(exist_ok=True)
    (archive,) = SOURCES.glob("*.orig.tar.*")
    with tempfile.TemporaryDirectory(dir=FOLDER.parent) as place, tarfile.open(archive) as tar:
        for member in tar:
            _, _, name = member.name.partition("/Lib/")
            if name.startswith(("test/", *HELPERS)) and member.isreg():
                member.name = name
                tar.extract(member, place, filter="data")
        if not FOLDER.exists():
            shutil.move(place, FOLDER)
            Path(place).mkdir()
    FOLDER.chmod(0o755)
    return FOLDER


def modules():
    """The names of all modules of tests."""
    folder = unpacked() / "test"
    return sorted({f"test.{p.stem}" for p in folder.glob("test_*.py")} |
                  {f"test.{p.parent.name}.{p.stem}" for p in folder.glob("test_*/test_*.py")})


class Suite:
    """A server whose evaluations have the tests, and the time and memory that these need."""

    def __init__(self, cloche, place):
        unpacked()
        policy_in(place, POLICY)
        vault = Path(place) / "vault"
        vault.mkdir()
        self.client = Stdio([cloche, "mcp", "--vault", str(vault)], env=os.environ | folders_in(Path(place)))

    def run(self, module, without=()):
        """{ran, skipped, failed: {test: why}}, {needs: why} or {ended: why}."""
        reply = self.client.ask(call("evaluate_note_code", {
            "code": WORLD, "language": "python", "enableFileSystem": True, "timeout": SECONDS * 1000,
            "memoryLimit": 1024, "context": {"module": module, "without": list(without)}}), SECONDS + 60)
        answer = reply["result"]["structuredContent"]
        if answer["success"]:
            return answer["result"]
        told = answer["errorDetails"]
        return {"ended": f"{told['type']}: {told.get('message', '')[:300]}",
                "log": [e["message"][:200] for e in answer.get("logs", [])][-3:]}

    def close(self):
        self.client.__exit__(None, None, None)


def main(names):
    cloche = os.environ.get("CLOCHE_BIN", str(ROOT / "build/cloche"))
    with tempfile.TemporaryDirectory() as place:
        suite = Suite(cloche, Path(place))
        for name in names or modules():
            print(json.dumps({"module": name, **suite.run(name)}), flush=True)
        suite.close()


if __name__ == "__main__":
    main(sys.argv[1:])
