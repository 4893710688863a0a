"""The piece about Python: evaluations in fresh worlds, beside CPython as a process."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sides import BUILD, CLOCHE, TOOLS, Failure, OverStdio, Table, asked, need, quantile, running, times, us

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
MACHINE = BUILD / "vm" / "Image"
EXECUTOR = """
from concurrent.futures import ThreadPoolExecutor
def f(m):
    n = 0
    for i in range(m):
        n += i
    return n
with ThreadPoolExecutor(2) as pool:
    print(*pool.map(f, [500_000, 500_000]))
"""
VENV = BUILD / "deps/venv-bench/bin/python"
MILLION = "n = 0\nfor i in range(1_000_000):\n    n += i\nn"
ADDITIONS = "def f():\n    n = 0\n    for i in range(10_000_000):\n        n += i\n    return n\nf()"


def evaluated(client, code, count, **more):
    return client.call_all("evaluate_note_code", {"code": code, "language": "python", "timeout": 20000, **more},
                           '"success":true', count)


def whole_process(vault, environment, count):
    """`cloche eval -e`, from its start to its end."""
    ns = []
    for _ in range(count):
        start = time.perf_counter_ns()
        subprocess.run([CLOCHE, "eval", "--lang", "py", "--vault", vault, "-e", ONE], check=True, capture_output=True,
                       env=environment)
        ns.append(time.perf_counter_ns() - start)
    return ns


def dirty_kib(pid):
    """What the process has written, which no other shares."""
    return next(int(line.split()[1]) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
                if line.startswith("Private_Dirty:"))


def native(code, count):
    ns = []
    for _ in range(count):
        start = time.perf_counter_ns()
        subprocess.run([shutil.which("python3") or sys.executable, "-c", code], check=True, capture_output=True)
        ns.append(time.perf_counter_ns() - start)
    return ns


def side_by_side(client, code, count, at_once):
    """Calls of one client, so many under way at all times: what each took of the whole."""
    line = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": {
        "name": "evaluate_note_code", "arguments": {"code": code, "language": "python", "timeout": 20000}}})
    line = line.encode() + b"\n"
    start = time.perf_counter_ns()
    client.process.stdin.write(line * at_once)
    for left in range(count - at_once, -at_once, -1):
        answer = client.lines.next()
        if left > 0:
            client.process.stdin.write(line)
        if b'"success":true' not in answer:
            raise Failure(f"evaluate_note_code answered {answer[:200]}")
    return (time.perf_counter_ns() - start) / count


def natives_side_by_side(code, count, at_once):
    """The same for processes of python3."""
    command = [shutil.which("python3") or sys.executable, "-c", code]
    start = time.perf_counter_ns()
    for _ in range(count // at_once):
        batch = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(at_once)]
        if any(process.wait() for process in batch):
            raise Failure("python3 failed")
    return (time.perf_counter_ns() - start) / (count // at_once * at_once)


def two_at_once(table, client, effort):
    """One call after the other and two side by side, in turn; the floor is that of two processors."""
    rounds = max(3, round(5 * effort))
    for what, code, count, floor in (("1+1", ONE, 200, None), ("a million additions", MILLION, 8, 1.6)):
        one, two, native_one, native_two = [], [], [], []
        for _ in range(rounds):
            one.append(side_by_side(client, code, count, 1))
            two.append(side_by_side(client, code, count, 2))
            native_one.append(natives_side_by_side(code, 4, 1))
            native_two.append(natives_side_by_side(code, 4, 2))
        ratio, other = (statistics.median(a) / statistics.median(b) for a, b in ((one, two), (native_one, native_two)))
        table.row(f"{what}, two calls side by side: times as many", times(ratio), times(other), "",
                  f"{floor} x" if floor else "", ratio >= floor if floor else None)


def beside_machine(table, client, effort):
    """python3 as a command of a Linux machine that runs already."""
    from vm import Ours  # which needs what the machines' bench needs
    machine = Ours(client)
    machine.run(["python3", "-c", ONE])
    for what, code, count in (("1+1", ONE, 10), ("a million additions", MILLION, 3)):
        rounds = max(3, round(count * effort))
        ours = statistics.median(evaluated(client, code, rounds))
        theirs = statistics.median(machine.run(["python3", "-c", code])[0] for _ in range(rounds))
        table.row(f"{what}, beside python3 in a Linux machine", us(ours), us(theirs), times(theirs / ours))


def monty(environment, effort):
    """A part of Python, in Rust, in processes that wait for code: in turn with ours."""
    table = Table("Python beside pydantic-monty, both warm", "pydantic-monty")
    need(BUILD / "guest" / "python.bare.wasm", VENV)
    rounds = max(3, round(5 * effort))
    with tempfile.TemporaryDirectory() as folder, \
            running([VENV, Path(__file__).parent / "peers/monty.py"], environment, stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, text=True) as peer, \
            running([CLOCHE, "mcp", "--vault", folder], environment, stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, bufsize=0) as process:
        client = OverStdio(process)

        def ask_peer(code, count):
            peer.stdin.write(json.dumps({"code": code, "count": count}) + "\n")
            peer.stdin.flush()
            return json.loads(peer.stdout.readline())
        for what, code, count in (("1+1", ONE, 100), ("a million additions", MILLION, 2)):
            ask_peer(code, count), evaluated(client, code, count)
            ours, theirs = [], []
            for _ in range(rounds):
                ours += evaluated(client, code, count)
                theirs += ask_peer(code, count)
            middle, other = statistics.median(ours), statistics.median(theirs)
            table.row(what, us(middle), us(other), times(other / middle))
    table.note("Ours is a call over stdio; the peer's is one of its own library to a process of its pool, which has a part "
               "of the language and of the standard library.")
    return table


def two_threads(table, environment, effort):
    """Worlds in process, one and two at a time, in turn: no client takes a part of the processors."""
    need(TOOLS / "fresh")
    if os.cpu_count() < 2:
        return
    one, two = [], []
    with asked([TOOLS / "fresh", BUILD / "guest"], environment) as ours:
        ours("python fresh 500 1")
        for _ in range(max(5, round(10 * effort))):
            one.append(ours("python fresh 500 1"))
            two.append(ours("python fresh 500 2"))
    ns = [n for batch in one for n in batch["ns"]]
    table.row("a world for `return 1`, in process", us(statistics.median(ns)))
    table.row("a world for `return 1`, in process, p99", us(quantile(ns, 0.99)), floor="300 us", met=quantile(ns, 0.99) <= 300e3)
    rate = [statistics.median(len(b["ns"]) / b["seconds"] for b in batches) for batches in (one, two)]
    table.row("the same by two threads: times as many a second", f"{rate[1] / rate[0]:.2f}", floor="1.6 x", met=rate[1] / rate[0] >= 1.6)


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
            time.sleep(1)  # until what it loads beside, once it has begun, is there
            before = dirty_kib(process.pid)
            evaluated(client, ONE, 20)
            grown = (dirty_kib(process.pid) - before) / 1024
            table.row("memory that the server wrote for small worlds", f"{grown:.1f} MiB")
            for what, code, count, median_us, p99_us, slower in (
                    ("1+1", ONE, 3000, 120, 300, None),
                    ("20 lines of json, re and dataclass", TWENTY, 300, 1500, None, None),
                    ("ten million additions", ADDITIONS, 3, None, None, 2.0)):
                rounds = max(3, round(count * effort))
                evaluated(client, code, rounds // 10 + 1)
                ours, theirs = evaluated(client, code, rounds), native(code, min(rounds, 20))
                middle, last, ratio = statistics.median(ours), quantile(ours, 0.99), statistics.median(theirs) / statistics.median(ours)
                table.row(what, us(middle), us(statistics.median(theirs)), times(ratio),
                          f"{median_us} us" if median_us else f"{1 / slower:.2f} x" if slower else "",
                          middle / 1000 <= median_us if median_us else ratio >= 1 / slower if slower else None)
                table.row(f"{what}, p99", us(last), us(quantile(theirs, 0.99)), "", f"{p99_us} us" if p99_us else "",
                          last / 1000 <= p99_us if p99_us else None)
            ours = statistics.median(evaluated(client, EXECUTOR, max(3, round(10 * effort))))
            theirs = statistics.median(native(EXECUTOR, max(3, round(10 * effort))))
            table.row("two halves of a million additions by an executor", us(ours), us(theirs), times(theirs / ours))
            two_at_once(table, client, effort)
            if MACHINE.exists():
                try:
                    beside_machine(table, client, effort)
                except Failure as why:
                    table.note(f"The Linux machine was not measured: {why}")
            evaluated(client, "n = 0", 1, session="bench")
            middle = statistics.median(evaluated(client, "n += 1\nn", max(20, round(100 * effort)), session="bench"))
            table.row("a session's call", us(middle), "", "", "1500 us", middle / 1000 <= 1500)
        two_threads(table, environment, effort)
        ours, theirs = whole_process(vault, environment, 20), native(ONE, 20)
        table.row("cloche eval -e '1+1', the whole process", us(statistics.median(ours)), us(statistics.median(theirs)),
                  times(statistics.median(theirs) / statistics.median(ours)), "40 ms", statistics.median(ours) <= 40e6)
    return table
