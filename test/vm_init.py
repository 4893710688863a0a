"""Drives guest/vm/init, built for this computer, by the frames of guest/abi/vm.h.

It runs as PID 1 of its own namespaces, so that its processes end with it; as root in a cgroup of
its own, as another user without any.
"""
import contextlib
import os
import random
import selectors
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
(RESUME, TEXT, EXEC, INPUT, SIGNAL, RESIZE, CREDIT, CLOSE, QUIESCE, PING,
 POWER_OFF) = range(1, 12)
READY, STARTED, OUT, ERR, INPUT_TAKEN, EXIT, REFUSED, PONG = range(64, 72)
PTY, WITH_INPUT, APART = 1, 2, 4
TIMEOUT, BY_SIGNAL, SHELL, HELD, OOM = 1, 2, 4, 8, 16
FRAME_MAX = 65536
WINDOW = 256 << 10
WAIT = int(os.environ.get("CLOCHE_VM_WAIT", "60"))  # seconds, for anything at all


class Ended(Exception):
    """Init has ended."""


class Result:
    """The result of one command."""

    def __init__(self, id):
        self.id = id
        self.out = self.err = b""
        self.started = False
        self.refused = None
        self.status = self.flags = None
        self.cpu_ns = self.wall_ns = 0
        self.input_taken = 0
        self.unacknowledged = 0

    @property
    def ended(self):
        return self.refused is not None or self.status is not None

    def __repr__(self):
        return (f"<{self.status} flags {self.flags} out {self.out[:200]!r} "
                f"err {self.err[:200]!r} refused {self.refused!r}>")


def frame(verb, id=0, payload=b""):
    return struct.pack("<IIHH", len(payload), id, verb, 0) + payload


def exec_payload(session, flags, timeout_ms, rows, columns, cwd, env):
    cwd = cwd.encode()
    env = b"".join(e.encode() + b"\0" for e in env)
    return struct.pack("<IIIHHII", session, flags, timeout_ms, rows, columns, len(cwd),
                       len(env)) + cwd + env


class Peer:
    """The host's side. `cut`: a random.Random that cuts frames into small pieces."""

    def __init__(self, process, log, ours, cut=None):
        self.process, self.log, self.socket, self.cut = process, log, ours, cut
        self.results = {}
        self.pongs, self.readies = [], 0
        self.next_id = 1
        self.received = self.unsent = b""
        self.credits = True
        ours.setblocking(False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(ours, selectors.EVENT_READ)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.selector.close()
        self.socket.close()
        try:
            self.process.wait(WAIT)
        finally:
            self.process.kill()
            self.process.wait()
            self.log.close()

    def said(self):
        """What is on its console."""
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    # ---- frames

    def send(self, verb, id=0, payload=b""):
        self.unsent += frame(verb, id, payload)
        self.pump(0)

    def pump(self, timeout):
        """Sends and receives what is pending."""
        while self.unsent:
            n = len(self.unsent) if self.cut is None else self.cut.choice([1, 2, 7, 12, 13, 999])
            try:
                sent = self.socket.send(self.unsent[:n])
            except BlockingIOError:
                break
            except OSError:
                raise Ended(self.said()) from None
            self.unsent = self.unsent[sent:]
        self.selector.modify(self.socket, selectors.EVENT_READ |
                             (selectors.EVENT_WRITE if self.unsent else 0))
        if not self.selector.select(timeout):
            return
        try:
            got = self.socket.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            got = b""
        if not got:
            raise Ended(self.said())
        self.received += got
        self.take_frames()

    def take_frames(self):
        at = 0
        while len(self.received) - at >= 12:
            length, id, verb, zero = struct.unpack_from("<IIHH", self.received, at)
            assert length <= FRAME_MAX and zero == 0
            if len(self.received) - at - 12 < length:
                break
            self.take(verb, id, self.received[at + 12:at + 12 + length])
            at += 12 + length
        self.received = self.received[at:]

    def take(self, verb, id, payload):
        if verb == READY:
            assert id == 0
            self.readies += 1
            return
        if verb == PONG:
            self.pongs.append(payload)
            return
        r = self.results[id]
        assert not r.ended, "nothing follows the last frame of an id"
        if verb == STARTED:
            r.started = True
        elif verb in (OUT, ERR):
            assert payload and r.started
            r.unacknowledged += len(payload)
            assert r.unacknowledged <= WINDOW
            if verb == OUT:
                r.out += payload
            else:
                r.err += payload
            if self.credits:
                self.acknowledge(r)
        elif verb == INPUT_TAKEN:
            r.input_taken += struct.unpack("<I", payload)[0]
        elif verb == EXIT:
            r.status, r.flags, r.wall_ns, r.cpu_ns = struct.unpack("<IIQQ", payload)
        elif verb == REFUSED:
            r.refused = payload.decode()
        else:
            raise AssertionError(f"verb {verb}")

    def acknowledge(self, r):
        n, r.unacknowledged = r.unacknowledged, 0
        if n:
            self.unsent += frame(CREDIT, r.id, struct.pack("<I", n))

    def until(self, condition):
        end = time.monotonic() + WAIT
        while not condition():
            assert time.monotonic() < end, f"nothing came; {self.results} {self.said()}"
            self.pump(1)

    # ---- commands

    def start(self, command, session=1, flags=0, timeout_ms=0, rows=0, columns=0, cwd="",
              env=()):
        r = Result(self.next_id)
        self.next_id += 1
        self.results[r.id] = r
        text = command if isinstance(command, bytes) else command.encode()
        for at in range(0, len(text), FRAME_MAX):
            self.unsent += frame(TEXT, r.id, text[at:at + FRAME_MAX])
        self.send(EXEC, r.id, exec_payload(session, flags, timeout_ms, rows, columns, cwd, env))
        return r

    def wait(self, *results):
        self.until(lambda: all(r.ended for r in results))
        return results[0]

    def run(self, command, **how):
        return self.wait(self.start(command, **how))

    def feed(self, r, data):
        """Sends standard input within its window; then its end."""
        given = r.input_taken
        for at in range(0, len(data), FRAME_MAX):
            piece = data[at:at + FRAME_MAX]
            self.until(lambda: r.ended or given + len(piece) - r.input_taken <= WINDOW)
            self.send(INPUT, r.id, piece)
            given += len(piece)
        self.send(INPUT, r.id)

    def signal(self, r, number):
        self.send(SIGNAL, r.id, struct.pack("<I", number))


class Init(Peer):
    """Init as a program of this computer."""

    def __init__(self, binary, library, cut=None):
        ours, theirs = socket.socketpair()
        self.group = own_cgroup()
        log = tempfile.TemporaryFile()
        with theirs:
            process = subprocess.Popen(
                namespaces(self.group) +
                ["sh", "-c", SET_UP, "sh", self.group or "", str(binary), "--port",
                 str(theirs.fileno()), "--library", str(library)],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
        super().__init__(process, log, ours, cut)
        self.until(lambda: self.readies > 0)

    def close(self):
        super().close()
        remove_cgroup(self.group)


class Machine(Peer):
    """Init in the emulated machine."""

    def __init__(self, native, kernel, disk, disk2, folder, words=()):
        path = Path(folder) / "control"
        log = tempfile.TemporaryFile()
        process = subprocess.Popen(
            [str(native), "--kernel", str(kernel), "--disk", str(disk), "--disk2", str(disk2),
             "--control", str(path), *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        ours = socket.socket(socket.AF_UNIX)
        end = time.monotonic() + WAIT
        while True:
            try:
                ours.connect(str(path))
                break
            except OSError:
                assert time.monotonic() < end and process.poll() is None
                time.sleep(0.01)
        super().__init__(process, log, ours)
        self.until(lambda: self.readies > 0)

    def close(self):
        self.process.terminate()
        super().close()


# ---- where it runs

# $1: a cgroup to enter, or nothing. Then, inside of the namespaces, the same.
ENTER = '[ -z "$1" ] || echo $$ >"$1/cgroup.procs" || exit; shift; exec "$@"'
# Of Debian 12, mount puts no file system where the same one is mounted: hence the tmpfs.
SET_UP = """
[ -z "$1" ] || { mount -t tmpfs none /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup; } || exit
shift
exec "$@"
"""


def namespaces(group):
    """The command prefix that makes a command PID 1 of its own, in that cgroup if any."""
    return (["sh", "-c", ENTER, "sh", group or "", "unshare", "--mount", "--uts", "--pid", "--fork",
             "--kill-child", "--mount-proc"] + (["--cgroup"] if group else []) +
            ([] if os.geteuid() == 0 else ["--user", "--map-root-user"]))


def why_not():
    """None, or why no init can be run here."""
    if shutil.which("unshare") is None:
        return "no unshare(1) here"
    tried = subprocess.run(namespaces(None) + ["true"], capture_output=True, text=True)
    return None if tried.returncode == 0 else f"no namespaces here: {tried.stderr.strip()}"


def own_cgroup():
    """A new cgroup of version 2; None: none can be created, and init runs without."""
    if os.geteuid() != 0:
        return None
    for line in Path("/proc/mounts").read_text().splitlines():
        _, where, kind, options, *_ = line.split()
        if kind == "cgroup2" and "rw" in options.split(","):
            path = Path(where) / f"cloche-test-{os.getpid()}-{random.getrandbits(32):08x}"
            try:
                path.mkdir()
                return str(path)
            except OSError:
                return None
    return None


def remove_cgroup(group):
    if group is not None:
        for folder, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
