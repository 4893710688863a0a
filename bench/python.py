"""The piece about Python: evaluations in fresh worlds, beside CPython as a process."""
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sides import BUILD, CLOCHE, OverStdio, Table, need, quantile, running, times, us

ONE = "1+1"
TWENTY = """
import json, re
from dataclasses import dataclass, asdict
@dataclass
class Task:
    title: str
    done: bool
    words: int
text = "- [ ] buy seeds\\n- [x] mend the barrel\\n- [ ] call Ada\\n" * 10
tasks = []
for line in text.splitlines():
    found = re.match(r"- \\[( |x)\\] (.*)", line)
    if found:
        tasks.append(Task(found[2], found[1] == "x", len(found[2].split())))
by = {}
for t in tasks:
    by.setdefault(t.done, []).append(asdict(t))
{"open": len(by[False]), "text": len(json.dumps({str(k): v for k, v in by.items()}))}
"""
ADDITIONS = "def f():\n    n = 0\n    for i in range(10_000_000):\n        n += i\n    return n\nf()"


def evaluated(client, code, count):
    return client.call_all("evaluate_note_code", {"code": code, "language": "python", "timeout": 20000},
                           '"success":true', count)


def native(code, count):
    ns = []
    for _ in range(count):
        start = time.perf_counter_ns()
        subprocess.run([shutil.which("python3") or sys.executable, "-c", code], check=True, capture_output=True)
        ns.append(time.perf_counter_ns() - start)
    return ns


def python(environment, effort):
    table = Table("Python in a fresh world, over stdio", "python3, a process each")
    need(BUILD / "guest" / "python.bare.wasm")
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder, "vault")
        vault.mkdir()
        (vault / "one.md").write_text("# One\n")
        with running([CLOCHE, "mcp", "--vault", vault], environment, stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE, bufsize=0) as process:
            client = OverStdio(process)
            evaluated(client, ONE, 20)
            for what, code, count in (("1+1", ONE, 200), ("20 lines of json, re and dataclass", TWENTY, 50),
                                      ("ten million additions", ADDITIONS, 3)):
                rounds = max(3, round(count * effort))
                ours, theirs = evaluated(client, code, rounds), native(code, min(rounds, 20))
                table.row(what, us(statistics.median(ours)), us(statistics.median(theirs)),
                          times(statistics.median(ours) / statistics.median(theirs)))
                table.row(f"{what}, p99", us(quantile(ours, 0.99)), us(quantile(theirs, 0.99)))
    return table
