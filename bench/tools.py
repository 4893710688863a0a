"""The piece `tools`: command-line tools in Wasm beside the same programs run natively, and
beside just-bash, which has them in JavaScript."""
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sides import (BUILD, CLOCHE, MODULES, NODE, ROOT, TOOLS, Failure, OverHttp, Table, asked, need,
                   our_server, quantile, times, us)

sys.path.insert(0, str(ROOT / "test"))
import compare  # noqa: E402

GUEST = BUILD / "guest"
# What is gated, as an agent would call it; each over the same file.
RATIOS = {
    "grep": ["-c", "word 77"],
    "sort": ["-k3"],
    "wc": [],
    "sha256sum": [],
    "gzip": ["-c"],
    "jq": ["-c", ".id"],
    "ripgrep": ["-c", "word 77"],
}
NATIVE = {"ripgrep": "rg", "awk": "gawk", "clang-format": "clang-format-19"}
# More of them, for the table in the documentation alone.
MORE = {
    "ag": ["-c", "word 77"],
    "awk": ["{ n += length($3) } END { print n }"],
    "b2sum": [],
    "base64": [],
    "brotli": ["-c", "-q", "5"],
    "cat": ["-n"],
    "cksum": [],
    "clang-format": ["--style=Google"],
    "cut": ["-c", "5-20"],
    "expand": [],
    "fold": ["-w", "30"],
    "head": ["-n", "-1000"],
    "md5sum": [],
    "nl": [],
    "od": ["-c"],
    "paste": ["-s", "-d", ","],
    "sed": ["s/word/term/"],
    "sha1sum": [],
    "sha512sum": [],
    "tac": [],
    "tail": ["-n", "+1000"],
    "uniq": ["-c"],
    "xxd": [],
    "xz": ["-c", "-1"],
}
# What lays out code gets that, and a fiftieth of it.
CODE = {"clang-format": "input.cpp"}
RATIOS_FILE = ROOT / "bench" / "tool-ratios.json"
OWN_FLAGS = {"sort": ["--parallel=1"], "ripgrep": ["-j1"]}
COMPRESSORS = {"brotli", "gzip", "xz"}  # their output need not be the same
GATED = set(RATIOS) - {"ripgrep"}  # which has AVX2 there


def write_lines(path, size):
    """JSON, one object a line: of the same text for all tools."""
    with open(path, "w", encoding="ascii") as file:
        written = i = 0
        while written < size:
            written += file.write(json.dumps(
                {"id": i, "name": f"word {i * 7919 % 1000}", "text": "of many others " * (i % 5)})
                + "\n")
            i += 1


def write_code(path, size):
    with open(path, "w", encoding="ascii") as file:
        written = i = 0
        while written < size:
            written += file.write(
                f"static int count_{i}(const char *text,int  limit ){{int n=0; // of letters\n"
                f"for(const char*p=text;*p;p++){{if(*p=='a'&&n<limit) n+=call_{i % 7}(p,text-p,{i});\n"
                f"else return n>{i}?n:limit;}}return n;}}\n")
            i += 1


def write_tree(folder):
    for i in range(1000):
        place = folder / f"part{i % 20}" / f"more{i % 7}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"file{i}.md").write_text(f"# {i}\n")
    write_lines(folder / "large.txt", 10_000_000)


def spent(command, environment, folder):
    start = time.perf_counter_ns()
    done = subprocess.run(list(map(str, command)), cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ns = time.perf_counter_ns() - start
    if done.returncode:
        raise Failure(f"{command[0]} failed: {done.stderr.decode()[:200]}")
    return ns, done.stdout


def worked(command, environment, folder):
    """The same in nanoseconds of processor: of a single thread, and whatever else runs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _, stdout = spent(command, environment, folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e9, stdout


def native(tool):
    command, env = compare.debian(NATIVE.get(tool, tool))()
    return command, env


def ratios(table, environment, rounds, there, megabytes):
    gated, kept = [], json.loads(RATIOS_FILE.read_text()) if RATIOS_FILE.exists() else {}
    env = {**environment, "LC_ALL": "C"}
    with tempfile.TemporaryDirectory() as folder:
        write_lines(Path(folder, "input"), megabytes * 1_000_000)
        write_code(Path(folder, "input.cpp"), megabytes * 20_000)
        for tool, words in {**RATIOS, **MORE}.items():
            if tool not in there:
                table.row(tool, "not built")
                continue
            own = [*OWN_FLAGS.get(tool, []), *words, CODE.get(tool, "input")]
            size = f"{megabytes / 50:g} MB of code" if tool in CODE else f"{megabytes} MB"
            ours = [CLOCHE, "tool", "run", "--timeout", "300000", "--mount", f"/work={folder}",
                    "--env", "LC_ALL=C", tool, *own]
            try:
                command, more = native(tool)
                ns = [], []
                for i in range(rounds):
                    (a, mine), (b, theirs) = (worked(ours, env, folder),
                                              worked([*command, *own], {**env, **more}, folder))
                    if tool not in COMPRESSORS and mine != theirs:
                        raise Failure(f"{tool}: not the same output")
                    ns[0].append(a), ns[1].append(b)
            except (Failure, OSError, StopIteration) as e:
                table.row(f"{tool}, {size}", f"not measured: {e}")
                continue
            a, b = min(ns[0]), min(ns[1])
            floor = tool in GATED
            gated += [b / a] * floor
            kept[tool] = round(a / b, 2)
            table.row(f"`{' '.join([tool, *words])}`, {size}", us(a), us(b), times(b / a),
                      "0.25" if floor else "", b / a >= 0.25 if floor else None)
    RATIOS_FILE.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    if gated:
        mean = statistics.geometric_mean(gated)
        table.row("geometric mean of these, but ripgrep", "", "", times(mean), "0.50", mean >= 0.5)


def warm(table, environment, count, there):
    need(TOOLS / "warm")
    rows = [("wc", "", "at most 1 ms", 1e6), ("jq", "length", "at most 3 ms", 3e6),
            ("sqlite3", ":memory:", "at most 3 ms", 3e6)]
    with asked([TOOLS / "warm", GUEST], environment) as ask:
        for tool, words, floor, most in rows:
            if tool not in there:
                table.row(f"`{tool}` on 1 KB, in process", "not built")
                continue
            stdin = 0 if tool == "sqlite3" else 1024
            ask(f"20 {stdin} {tool} {words}")
            ns = statistics.median(ask(f"{count} {stdin} {tool} {words}")["ns"])
            table.row(f"`{tool}` on 1 KB, in process, warm", us(ns), floor=floor, met=ns <= most)


def call_wc(table, environment, count):
    text = "of many words\n" * 73
    ns = []
    # What reads files is asked for; here a person has said so before.
    spent([CLOCHE, "tool", "permit", "wc", "always"], environment, "/")
    with our_server(environment) as (_, port):
        client = OverHttp(port)
        for i in range(count + 20):
            start = time.perf_counter_ns()
            client.call("wasm_wc", {"args": ["-w"], "stdin": text}, "219")
            if i >= 20:
                ns.append(time.perf_counter_ns() - start)
    ns.sort()
    table.row("`tools/call` of `wasm_wc` on 1 KB over HTTP", us(statistics.median(ns)),
              floor="at most 1 ms", met=statistics.median(ns) <= 1e6)
    table.row("99 of 100 of these within", us(quantile(ns, 0.99)))


def process(table, environment, count, there):
    if "true" not in there:
        return
    ns = [], []
    command, more = native("true")
    for _ in range(count):
        ns[0].append(spent([CLOCHE, "tool", "run", "true"], environment, "/")[0])
        ns[1].append(spent(command, {**environment, **more}, "/")[0])
    ours, theirs = map(statistics.median, ns)
    table.row("`cloche tool run true`, the whole process", us(ours), us(theirs),
              times(theirs / ours), "at most 20 ms", ours <= 20e6)


def just_bash(environment, rounds, there):
    table = Table("The same work in just-bash", "just-bash")
    need(NODE, MODULES / "just-bash", TOOLS / "warm")
    with tempfile.TemporaryDirectory() as folder:
        write_tree(Path(folder))
        with asked([TOOLS / "warm", GUEST, folder], environment) as ours, \
                asked([NODE, ROOT / "bench" / "peers" / "justbash.mjs", MODULES, folder],
                      environment) as peer:
            for tool, line, what in (("find", "find . -name *7.md", "find over 1,000 files"),
                                     ("grep", "grep -c word large.txt", "grep over 10 MB")):
                if tool not in there:
                    table.row(what, "not built")
                    continue
                quoted = line.replace("*7.md", "'*7.md'")
                ours(f"3 0 {line}"), peer(quoted), peer(quoted)
                ns = [], []
                for _ in range(rounds):
                    mine, theirs = ours(f"3 0 {line}"), peer(quoted)
                    if mine["exit"] or theirs["exit"]:
                        raise Failure(f"{line}: {mine['exit']}, {theirs}")
                    ns[0].append(statistics.median(mine["ns"])), ns[1].append(theirs["ns"])
                a, b = map(statistics.median, ns)
                table.row(what, us(a), us(b), times(b / a), "10", b / a >= 10)
    table.note("Ours reads the host's files through a mount, in a fresh world each time; "
               "just-bash has them in its memory, and is warm.")
    return table


def tools(environment, effort):
    rows = json.loads((GUEST / "tools" / "catalogue.json").read_text())
    there = {row["manifest"]["name"] for row in rows}
    table = Table("Command-line tools", "the native program")
    process(table, environment, max(5, round(30 * effort)), there)
    warm(table, environment, max(20, round(300 * effort)), there)
    if "wc" in there:
        call_wc(table, environment, max(50, round(1000 * effort)))
    ratios(table, environment, max(2, round(3 * effort)), there, 50 if effort >= 0.5 else 10)
    table.note("Native programs are Debian's, by its own loader; one thread, LC_ALL=C; whole "
               "processes; over the same input the processor's time, the least of a few in turn. "
               "Both sides must print the same. The ratios go to bench/tool-ratios.json, of which "
               "dev/tool-table makes the page of all tools.")
    other = just_bash(environment, max(3, round(5 * effort)), there)
    return type("Both", (), {"text": lambda self: table.text() + other.text()})()
