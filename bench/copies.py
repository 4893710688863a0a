"""The pieces `copies`, `clients` and `mounts`: forks, snapshots and restores of machines, and folders of the host in
them beside the machine's own disk. No program beside us does the same; the floors are the goals."""
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from sides import BUILD, CLOCHE, Failure, OverStdio, Table, need, running, times, us
from vm import PIPES, Ours

IMAGE = BUILD / "vm"
MEGABYTES = 200
# A process with modules of Python that has written to memory what does not compress, and stays.
TOUCH = f"""
import json, os, ssl, time, urllib.request
block = os.urandom(1 << 20)
b = bytearray({MEGABYTES} << 20)
for i in range({MEGABYTES}): b[i << 20:(i + 1) << 20] = block
print("touched", flush=True)
time.sleep(100000)
"""


def cpu_ns(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 10**9 // os.sysconf("SC_CLK_TCK")


class Measured:
    """Minima of wall-clock time and of our process's computing time."""

    def __init__(self, table, process, ours, rounds):
        self.table, self.process, self.ours, self.rounds = table, process, ours, rounds

    def row(self, what, tool, arguments, floor_ms=None):
        wall, computed = [], []
        for i in range(self.rounds + 1):
            before = cpu_ns(self.process)
            ns, answer = self.ours.call(tool, arguments)
            if i:
                wall.append(ns), computed.append(cpu_ns(self.process) - before)
            if tool != "vm_snapshot":
                self.ours.call("vm_stop", {"machine": answer["machine"]})
        self.table.row(what, us(min(wall)), us(min(computed)), floor=f"under {floor_ms:,} ms" if floor_ms else "",
                       met=min(wall) < floor_ms * 1e6 if floor_ms else None)


def copies(environment, effort):
    need(CLOCHE, IMAGE / "Image")
    table = Table("Copies of machines", "computing time")
    rounds = max(3, round(7 * effort))
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "config/cloche").mkdir(parents=True)
        (place / "config/cloche/policy.json").write_text(json.dumps({"vm": {"machines": 8, "totalRamMB": 4096}}))
        environment = {**environment, "XDG_CONFIG_HOME": str(place / "config"), "XDG_STATE_HOME": str(place / "state")}
        with running([CLOCHE, "mcp"], environment, **PIPES) as process:
            ours = Ours(OverStdio(process))
            measured = Measured(table, process, ours, rounds)
            handle = ours.call("vm_start", {})[1]["machine"]
            ours.run("true", machine=handle)
            measured.row("a start, for comparison", "vm_start", {})
            measured.row("a fork of a machine that has run a command", "vm_fork", {"machine": handle})
            ours.run("cat >/root/touch.py && (python3 /root/touch.py >/root/said &) && "
                     "until grep -q touched /root/said; do sleep .1; done", machine=handle, stdin=TOUCH)
            measured.row(f"a fork with Python at work, {MEGABYTES} MB touched", "vm_fork", {"machine": handle}, 50)
            measured.row("a snapshot of it", "vm_snapshot", {"machine": handle, "name": "touched"})
            measured.row("a restore of it", "vm_restore", {"name": "touched"})
            ours.call("vm_stop", {"machine": handle})
            handle = ours.call("vm_start", {})[1]["machine"]
            ours.run(TOUCH_DISK, machine=handle)
            measured.row("a snapshot of 100 MB of changes", "vm_snapshot", {"machine": handle, "name": "disk"}, 1000)
            measured.row("a restore of it", "vm_restore", {"name": "disk"}, 100)
        megabytes = {f.stem: f.stat().st_size / 1e6 for f in place.rglob("*.snapshot")}
    table.note(f"Minima of {rounds}, over MCP; the second column is the computing time of our process. The files: " +
               ", ".join(f"{size:,.0f} MB ({what})" for what, size in sorted(megabytes.items())) + ".")
    return table


# A new node process with the package agentvm: milliseconds from its beginning to a machine that is ready, of the first
# command, and of the fastest of fifty further ones.
CLIENT = """
const { AgentVM } = await import(process.argv[1]);
const imported = performance.now();
const vm = new AgentVM();
await vm.start();
const started = performance.now();
await vm.exec('true');
const first = performance.now() - started;
let least = Infinity;
for (let i = 0; i < 50; i++) {
  const begun = performance.now();
  await vm.exec('true');
  least = Math.min(least, performance.now() - begun);
}
console.log(JSON.stringify({ bare: imported, ready: started, start: started - imported, first, least }));
await vm.stop();
"""


def clients(environment, effort):
    node, package = BUILD / "deps/node", BUILD.parent / "clients/node/index.js"
    need(CLOCHE, IMAGE / "Image", node)
    table = Table("The package agentvm", "")
    environment = {**environment, "CLOCHE_BIN": str(CLOCHE)}
    seen = []
    for _ in range(max(3, round(10 * effort))):
        done = subprocess.run([node, "--input-type=module", "-e", CLIENT, str(package)], env=environment, text=True,
                              capture_output=True)
        if done.returncode:
            raise Failure(f"the package agentvm: {done.stderr[:300]}")
        seen.append(json.loads(done.stdout))
    for what, key, most in (("node and the package, until start() is called", "bare", None),
                            ("AgentVM.start() in a new process", "start", 150), ("both, until it is ready", "ready", None),
                            ("the first exec('true')", "first", None), ("a further one", "least", 5)):
        ms = min(run[key] for run in seen)
        table.row(what, us(ms * 1e6), floor=f"under {most} ms" if most else "", met=ms < most if most else None)
    table.note(f"Minima of {len(seen)} processes.")
    return table


# Written past the page cache, so that the changes are on the disk alone.
TOUCH_DISK = "head -c 1M /dev/urandom >/tmp/m; for i in $(seq 100); do cat /tmp/m; done | dd of=/root/f bs=1M oflag=direct iflag=fullblock status=none"

# One line of JSON for each place: what took how many seconds.
INSIDE = """
import json, os, subprocess, sys, time
def drop():
    os.sync()
    open('/proc/sys/vm/drop_caches', 'w').write('3')
def timed(f):
    begun = time.perf_counter()
    f()
    return time.perf_counter() - begun
def write():
    with open('big', 'wb', buffering=0) as f:
        for _ in range(64): f.write(block)
        os.fsync(f.fileno())
def read():
    b = bytearray(1 << 20)
    with open('big', 'rb', buffering=0) as f:
        while f.readinto(b): pass
def create():
    for i in range(2000):
        fd = os.open(f'small/{i}', os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
        os.write(fd, b'x')
        os.close(fd)
git = lambda *words: subprocess.run(['git', '-C', 'g', '-c', 'user.name=x', '-c', 'user.email=x@x', *words], check=True)
block = os.urandom(1 << 20)
files = int(sys.argv[1])
for root in '/work', '/root/own':
    os.makedirs(f'{root}/small'), os.makedirs(f'{root}/g'), os.chdir(root)
    t = {'write': timed(write)}
    drop()
    t |= {'read': timed(read), 'create': timed(create)}
    git('init', '-q', '.')
    for i in range(files):
        if i % 100 == 0: os.mkdir(f'g/d{i // 100}')
        with open(f'g/d{i // 100}/{i}', 'w') as f: f.write(str(i))
    git('add', '.'), git('commit', '-qm', 'one')
    drop()
    t |= {'cold': timed(lambda: git('status', '--porcelain')), 'warm': timed(lambda: git('status', '--porcelain'))}
    print(json.dumps(t), flush=True)
"""


def mounts(environment, effort):
    need(CLOCHE, IMAGE / "Image")
    table = Table("A folder of the host in a machine", "the machine's own disk")
    files = 10_000 if effort >= 1 else 2_000
    seen = []
    for _ in range(max(1, round(2 * effort))):
        with tempfile.TemporaryDirectory() as name:
            done = subprocess.run([CLOCHE, "vm", "exec", "--mount", f"{name}:/work", "--", "python3", "-c", INSIDE,
                                   str(files)], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"a machine with a mount: {done.stderr[:300]}")
        seen.append([json.loads(line) for line in done.stdout.splitlines()])
    mount, own = ({what: min(run[side][what] for run in seen) for what in seen[0][side]} for side in (0, 1))

    def row(what, key, amount, unit, least):
        ours, theirs = amount / mount[key], amount / own[key]
        table.row(what, f"{ours:,.0f} {unit}", f"{theirs:,.0f} {unit}", times(ours / theirs),
                  f"at least {least:,}", ours >= least)

    row("64 MB written, with fsync", "write", 64, "MB/s", 80)
    row("64 MB read, from the host's cache", "read", 64, "MB/s", 150)
    row("small files made by Python", "create", 2000, "a second", 2000)
    for key, what, most in (("cold", "nothing cached in the machine", 3), ("warm", "at once again", 1)):
        table.row(f"`git status` of {files:,} files, {what}", us(mount[key] * 1e9), us(own[key] * 1e9),
                  times(own[key] / mount[key]), f"under {most} s" if files == 10_000 else "",
                  mount[key] < most if files == 10_000 else None)
    table.note("Minima, by the machine's clock. Nearly all of this time is the machine's kernel at work: a request "
               "takes some 10,000 of its instructions, and the answer on the host a few microseconds.")
    return table
