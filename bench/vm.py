"""The piece `vm`: the Linux machine beside npm's v86, a PC in Wasm with a JIT, and beside
qemu-riscv64, which translates the same programs natively."""
import contextlib
import json
import math
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import network
import pc
from sides import (BUILD, CLOCHE, MODULES, NODE, ROOT, Failure, Lines, OverHttp, OverStdio, Table,
                   need, our_server, private_bytes, running, times, us)

sys.path.insert(0, str(ROOT / "test"))
import machine  # noqa: E402

PEER = ROOT / "bench" / "peers" / "v86.mjs"
V86 = MODULES / "v86"
PC = BUILD / "deps" / "bench-peers" / "i386"
IMAGE = BUILD / "vm"
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
# The same text for busybox on every side; what counts to N is short enough for v86.
LOOPS = {
    "awk, 300,000 rounds": ["awk", "BEGIN { for (i = 0; i < 300000; i++) s += i; print s }"],
    "ash, 20,000 rounds": ["ash", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo $i"],
    "sha256sum of 20 MB": ["ash", "-c", "busybox head -c 20000000 /dev/zero | busybox sha256sum"],
}
PYTHON_LOOP = "s = 0\nfor i in range(500000): s += i * i\nprint(s)"
PATIENCE_S = 600  # the peer boots in 14 s where nothing else runs


def peer_command(mode, *files):
    return [NODE, PEER, V86, mode, PC, *files]


class Peer:
    """v86 with a restored state: answers shell commands."""

    def __init__(self, process):
        self.process, self.lines = process, Lines(process, PATIENCE_S)

    def run(self, words):
        """(nanoseconds, what it printed)."""
        self.process.stdin.write(shlex.join(words).encode().replace(b"\n", b"'$'\\n''") + b"\n")
        answer = json.loads(self.lines.next())
        return answer["ns"], answer["text"]


class Ours:
    """A session of the default machine of an MCP client."""

    def __init__(self, client):
        self.client = client

    def call(self, tool, arguments):
        start = time.perf_counter_ns()
        answer = self.client.request("tools/call", {"name": tool, "arguments": arguments})
        ns = time.perf_counter_ns() - start
        if "error" in answer or answer["result"].get("isError"):
            raise Failure(f"{tool}: {json.dumps(answer)[:300]}")
        return ns, answer["result"]["structuredContent"]

    def run(self, words, **options):
        command = words if isinstance(words, str) else shlex.join(words)
        ns, got = self.call("vm_exec", {"command": command, "timeoutMs": 300_000, **options})
        if got["exitCode"]:
            raise Failure(f"{command[:60]} ended with {got['exitCode']}: {got['stderr'][:200]}")
        return ns, got["stdout"]


def whole_process(command, environment, line=None):
    """Nanoseconds from a process's start to its first answer, and that answer."""
    start = time.perf_counter_ns()
    with running(command, environment, **PIPES) as process:
        if line:
            process.stdin.write(line.encode() + b"\n")
        answer = Lines(process, PATIENCE_S).next().decode()
        ns = time.perf_counter_ns() - start
    return ns, answer


# ---- the parts ------------------------------------------------------------------------------

def start(table, environment, rounds, boot_ns, state):
    cold, ours, theirs = [], [], []
    for i in range(rounds + 1):
        begun = time.perf_counter_ns()
        done = subprocess.run([CLOCHE, "vm", "exec", "--", "true"], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True)
        ns = time.perf_counter_ns() - begun
        if done.returncode:
            raise Failure(f"cloche vm exec: {done.stderr.decode()[:300]}")
        first, hi = whole_process([CLOCHE, "vm", "exec", "--", "echo", "hi"], environment)
        other, _ = whole_process(peer_command("restore", state), environment, "echo hi")
        if hi != "hi":
            raise Failure(f"the machine said {hi[:100]}")
        if i:
            cold.append(ns), ours.append(first), theirs.append(other)
    cold, ours, theirs = map(statistics.median, (cold, ours, theirs))
    table.row("`cloche vm exec -- true`, the whole process", us(cold), floor="under 120 ms",
              met=cold < 120e6)
    table.row("from a process's start to its first answer; a restored state", us(ours), us(theirs),
              times(theirs / ours), "3", theirs / ours >= 3)
    table.row("the same; its boot", us(ours), us(boot_ns), times(boot_ns / ours), "100",
              boot_ns / ours >= 100)


def server(table, environment, rounds, peer):
    with our_server(environment) as (process, port):
        client = Ours(HttpClient(port))
        new, builtin, hi = [], [], []
        time.sleep(2)  # what the server itself makes ready once is not a machine's
        for _ in range(max(rounds, 20)):
            begun = time.perf_counter_ns()
            handle = client.call("vm_start", {})[1]["machine"]
            client.run("echo hi", machine=handle)
            new.append(time.perf_counter_ns() - begun)
            client.call("vm_stop", {"machine": handle})
        time.sleep(2)
        before = sum(private_bytes(process))
        client.run("true")
        for _ in range(rounds * 20):
            builtin.append(client.run("echo hi")[0])
            hi.append(peer.run(["echo", "hi"])[0])
        new, builtin, hi = map(statistics.median, (new, builtin, hi))
        table.row("a running server: a new machine's first answer", us(new), floor="under 30 ms",
                  met=new < 30e6)
        table.row("a builtin of the shell in a session", us(builtin), us(hi), times(hi / builtin),
                  "under 4 ms", builtin < 4e6)
        time.sleep(2)
        idle = sum(private_bytes(process)) - before
        resident = resident_bytes(peer.process)
        table.row("memory of an idle machine (private)", f"{idle / 1e6:,.1f} MB",
                  f"{resident / 1e6:,.0f} MB (the process)", times(resident / max(idle, 1)),
                  "at most 25 MB", idle <= 25e6)


# Of clients/node: says when the machine is ready, then how long a command takes.
LIBRARY = """
import { AgentVM } from %s;
await using vm = new AgentVM({ program: %s });
await vm.start();
console.log('ready');
const ns = [];
for (let i = 0; i < 200; i++) {
  const begun = process.hrtime.bigint();
  await vm.exec('true');
  ns.push(Number(process.hrtime.bigint() - begun));
}
console.log(ns.sort((a, b) => a - b)[100]);
"""


def library(table, environment, rounds):
    script = LIBRARY % tuple(json.dumps(str(p)) for p in (ROOT / "clients/node/index.js", CLOCHE))
    started, commands = [], []
    for i in range(rounds + 1):
        begun = time.perf_counter_ns()
        with running([NODE, "--input-type=module", "-e", script], environment, **PIPES) as process:
            lines = Lines(process, PATIENCE_S)
            if lines.next() != b"ready":
                raise Failure("the machine of clients/node does not start")
            ready = time.perf_counter_ns() - begun
            command = float(lines.next())
        if i:
            started.append(ready), commands.append(command)
    ready, command = statistics.median(started), statistics.median(commands)
    table.row("a new node process, until `AgentVM.start()` is done", us(ready), floor="under 150 ms",
              met=ready < 150e6)
    table.row("`exec('true')` in it", us(command), floor="under 5 ms", met=command < 5e6)


class HttpClient(OverHttp):
    def request(self, method, params):
        _, text = self.post({"id": 1, "method": method, "params": params})
        for line in text.splitlines() if not text.startswith("{") else [text]:
            message = line.removeprefix("data:").strip()
            if message.startswith("{") and '"id"' in message and '"method"' not in message:
                return json.loads(message)
        raise Failure(f"{method}: {text[:300]}")


def resident_bytes(process):
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) * 1024


def by_qemu(words, zeros):
    command = machine.qemu_user(machine.SYSROOT / "usr/bin/busybox", *words)
    if words[0] == "python3":
        command = machine.qemu_user(machine.SYSROOT / "usr/bin/python3.13", *words[1:])
    if "sha256sum" in words[-1]:  # there, no program can start another
        command = machine.qemu_user(machine.SYSROOT / "usr/bin/busybox", "sha256sum", zeros)
    begun = time.perf_counter_ns()
    done = subprocess.run(command, capture_output=True, text=True)
    return time.perf_counter_ns() - begun, done.stdout


def programs(table, ours, peer, rounds, zeros):
    ours.run("true")
    loops = {name: (["busybox", *words], words) for name, words in LOOPS.items()}
    loops["python3, a loop of 500,000"] = (["python3", "-c", PYTHON_LOOP],) * 2
    started = ["python3", "-c", "print(1)"]
    best = {}
    for _ in range(rounds):
        for name, (mine, theirs) in {"`python3 -c 'print(1)'`": (started, started), **loops}.items():
            answers = ours.run(mine), peer.run(theirs), by_qemu(theirs, zeros)
            said = {text.split()[0] for _, text in answers}
            if len(said) != 1:
                raise Failure(f"{name}: the sides do not agree: {said}")
            for side, (ns, _) in enumerate(answers):
                best[name, side] = min(best.get((name, side), math.inf), ns)
    ratio = {name: best[name, 1] / best[name, 0] for name, side in best if not side}
    upper = {name: best[name, 2] / best[name, 0] for name in ratio}
    for name in ratio:
        floor = None if name in loops else 2
        table.row(name, us(best[name, 0]), us(best[name, 1]), times(ratio[name]), str(floor or ""),
                  ratio[name] >= floor if floor else None)
    mean = statistics.geometric_mean(ratio[name] for name in loops)
    table.row("the four loops, geometric mean", "", "", times(mean), "1", mean >= 1)
    for name in ratio:
        table.row(f"{name}: qemu-riscv64", us(best[name, 0]), us(best[name, 2]), f"{upper[name]:.3f}")
    mean = statistics.geometric_mean(upper[name] for name in loops)
    table.row("the four loops beside qemu-riscv64, geometric mean", "", "", f"{mean:.3f}")


def speed(table, ours, environment, folder):
    """Instructions a second of an integer mix, as a program of Linux sees them."""
    program = folder / "mix"
    subprocess.run([BUILD / "deps/zig", "cc", "-target", "riscv64-linux-musl", "-static", "-s",
                    "-O2", "-fno-sanitize=undefined", ROOT / "bench/guest/mix.c", "-o", program],
                   check=True, env=environment)
    command = "cat >/tmp/mix && chmod +x /tmp/mix && for i in 1 2 3; do /tmp/mix; done"
    done = subprocess.run([CLOCHE, "vm", "exec", "--timeout", "300000", "--", "sh", "-c", command],
                          input=program.read_bytes(), env=environment, capture_output=True)
    if done.returncode:
        raise Failure(f"the mix: {done.stderr.decode()[:200]}")
    runs = [line.split() for line in done.stdout.decode().splitlines()]
    native = subprocess.run(machine.qemu_user(program), capture_output=True, text=True).stdout.split()
    if {sums for _, _, sums in runs} != {native[2]}:
        raise Failure("the mix: not what qemu-riscv64 computes")
    mips = max(int(n) / int(ns) * 1e3 for n, ns, _ in runs)
    upper = int(runs[0][0]) / int(native[1]) * 1e3
    table.row("an integer mix in Linux, beside qemu-riscv64", f"{mips:,.0f} MIPS",
              f"{upper:,.0f} MIPS (qemu)", f"{mips / upper:.3f}", "at least 150", mips >= 150)


def vm(environment, effort):
    need(CLOCHE, NODE, PEER, V86, PC, IMAGE / "Image")
    table = Table("A Linux machine", "v86")
    rounds = max(2, round(5 * effort))
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        state, archive, zeros = folder / "state", folder / "initramfs", folder / "zeros"
        archive.write_bytes(pc.initramfs(PC))
        zeros.write_bytes(bytes(20_000_000))
        booted = subprocess.run(list(map(str, peer_command("boot", archive, state))),
                                env=environment, capture_output=True, check=True)
        boot_ns = json.loads(booted.stdout)["ns"]
        start(table, environment, rounds * 2, boot_ns, state)
        peer = Peer(stack.enter_context(running(peer_command("restore", state), environment, **PIPES)))
        server(table, environment, rounds * 2, peer)
        library(table, environment, rounds * 2)
        ours = Ours(OverStdio(stack.enter_context(running([CLOCHE, "mcp"], environment, **PIPES))))
        programs(table, ours, peer, rounds, zeros)
        speed(table, ours, environment, folder)
        network.network(table, environment, rounds)
    size = int(subprocess.run(["du", "-sk", IMAGE], capture_output=True, text=True).stdout.split()[0])
    table.row("the image on disk", f"{size / 1000:,.0f} MB", floor="at most 130 MB",
              met=size <= 130_000)
    table.note(f"Medians for starts, minima of {rounds} rounds for programs, everything in the page "
               "cache. The peer boots the kernel and programs of Debian for i386 (busybox and Python of "
               "the same versions) with a tuned command line, and is hot: one process runs all its "
               "rounds. qemu-riscv64 runs ours as processes of this computer, without a kernel in "
               "between; what it is ahead is what translating hot code would bring.")
    return table
