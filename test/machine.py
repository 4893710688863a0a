"""Drivers of Linux machines: ours, by the real program, and qemu-system-riscv64 with the same
kernel, root and init, through its control port (guest/abi/vm.h)."""
import io
import os
import selectors
import socket
import struct
import subprocess
import tarfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import vm_init

ROOT = Path(__file__).resolve().parent.parent
IMAGE = Path(os.environ.get("CLOCHE_VM", ROOT / "build" / "vm"))
PEERS = ROOT / "build" / "deps" / "machine-peers"
SYSROOT = PEERS / "riscv64"
# The limit of a test for anything.
PATIENCE_S = 7200 if os.environ.get("CLOCHE_PROGRAMS") == "deep" else 600


@dataclass
class Done:
    stdout: bytes
    stderr: bytes
    exit: int


# --- others' programs ------------------------------------------------------------------

def native(program, *args):
    """A program of deps/debian-machine.in for this machine, by the loader that came with it."""
    root = (PEERS / "native").resolve()
    loader = next(root.glob("usr/lib64/ld-linux-*.so.*"), None) or \
        next(root.glob("usr/lib/ld-linux-*.so.*"))
    libraries = ":".join(str(p.parent) for p in root.glob("usr/lib/*/libc.so.6"))
    return [str(loader), "--argv0", program, "--library-path", libraries,
            str(root / "usr" / "bin" / program), *map(str, args)]


def qemu_user(program, *args):
    """A riscv64 program on this machine's own kernel; what it needs is in SYSROOT."""
    return [str(PEERS / "native/usr/bin/qemu-riscv64"), "-L", str(SYSROOT.resolve()), str(program),
            *map(str, args)]


def libraries_of(program):
    """All shared libraries beneath SYSROOT that a riscv64 program is linked to."""
    folder, found, asked = SYSROOT / "usr/lib/riscv64-linux-gnu", set(), [program]
    while asked:
        for name in needed_by(asked.pop()):
            library = folder / name
            if name not in found and library.exists():
                found.add(name)
                asked.append(library)
    return {name: (folder / name).resolve() for name in sorted(found)}


def needed_by(path):
    """DT_NEEDED of a 64-bit ELF file."""
    data = Path(path).read_bytes()
    at, = struct.unpack_from("<Q", data, 0x20)
    size, count = struct.unpack_from("<HH", data, 0x36)
    headers = [struct.unpack_from("<IIQQQQ", data, at + i * size) for i in range(count)]
    offset = lambda address: next(h[2] + address - h[3] for h in headers
                                  if h[0] == 1 and h[3] <= address < h[3] + h[5])
    dynamic = next((h for h in headers if h[0] == 2), None)
    if not dynamic:
        return []
    pairs = list(struct.iter_unpack("<QQ", data[dynamic[2]:dynamic[2] + dynamic[5]]))
    strings = offset(next(value for tag, value in pairs if tag == 5))
    return [data[strings + value:data.index(b"\0", strings + value)].decode()
            for tag, value in pairs if tag == 1]


# --- what both machines are given ----------------------------------------------------------

@dataclass
class Job:
    """`files`: {name: bytes, or a path to read}; those that end in "/" are empty folders. The
    script, of bash, runs in the folder that has them; files that it leaves in out/ are returned."""
    script: str
    files: dict = field(default_factory=dict)

    def archive(self):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as tar:
            for name, contents in {**self.files, "job.sh": self.script.encode()}.items():
                entry = tarfile.TarInfo(name.rstrip("/"))
                entry.mtime = 1_700_000_000
                if name.endswith("/"):
                    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                    tar.addfile(entry)
                    continue
                data = contents if isinstance(contents, bytes) else Path(contents).read_bytes()
                entry.size, entry.mode = len(data), 0o755
                tar.addfile(entry, io.BytesIO(data))
        return packed.getvalue()

    # One command, which no output of the script can disturb.
    COMMAND = ("d=$(mktemp -d) && cd $d && tar -xzf - && mkdir -p out && "
               "bash ./job.sh </dev/null >out/job.log 2>&1; echo $? >out/job.exit; "
               "tar --hard-dereference -cf - out; cd / && rm -rf $d")

    def files_of(self, done):
        assert done.exit == 0, (done.exit, done.stderr[-500:])
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
            return {m.name.removeprefix("out/"): tar.extractfile(m).read()
                    for m in tar.getmembers() if m.isfile()}


class Cloche:
    """Ours: `cloche vm exec`, a new machine for each command."""

    def __init__(self, program, environment=None):
        self.program, self.environment = str(program), environment

    def exec(self, command, stdin=None, timeout_s=PATIENCE_S, options=()):
        done = subprocess.run(
            [self.program, "vm", "exec", "--timeout", str(timeout_s * 1000), *options, "--",
             "bash", "-c", command], input=stdin, env=self.environment, capture_output=True,
            timeout=timeout_s + 60, **({} if stdin is not None else {"stdin": subprocess.DEVNULL}))
        return Done(done.stdout, done.stderr, done.returncode)

    def outcome(self, job):
        return job.files_of(self.exec(Job.COMMAND, job.archive()))


# --- a machine whose control port is a socket ------------------------------------------------

class Port(vm_init.Init):
    """A whole machine, through its init's protocol."""

    def __init__(self, connection):
        self.cut, self.credits = None, True
        self.results, self.next_id = {}, 1
        self.pongs, self.readies = [], 0
        self.received = self.unsent = b""
        self.socket = connection
        connection.setblocking(False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(connection, selectors.EVENT_READ)
        self.until(lambda: self.readies > 0)
        self.send(vm_init.RESUME, payload=struct.pack("<Q64sQQ8x", time.time_ns(), os.urandom(64), 1, 0))
        self.until(lambda: self.readies > 1)

    def said(self):
        return ""

    def until(self, condition):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < end, "the machine says nothing"
            self.pump(1)

    def exec(self, command, stdin=None):
        began = self.start(command, flags=vm_init.WITH_INPUT if stdin is not None else 0)
        if stdin is not None:
            self.feed(began, stdin)
        self.wait(began)
        assert began.refused is None, began.refused
        return Done(began.out, began.err, began.status)

    def outcome(self, job):
        return job.files_of(self.exec(Job.COMMAND, job.archive()))


class Qemu(Port):
    """qemu-system-riscv64 with our kernel, root, disk and init; `console` is what it printed."""

    def __init__(self, place, ram_mb=512):
        self.place, self.ram_mb = Path(place), ram_mb

    def disk(self):
        disk = self.place / "disk.ext4"
        subprocess.run(["cp", "--sparse=always", IMAGE / "disk.ext4", disk], check=True)
        return disk

    def command(self):
        root = (PEERS / "native").resolve()
        disks = (IMAGE / "root.erofs", ",readonly=on"), (self.disk(), "")
        drives = [x for n, (file, more) in enumerate(disks)
                  for x in ("-drive", f"file={file},if=none,format=raw,id=d{n}{more}", "-device",
                            f"virtio-blk-device,drive=d{n},bus=virtio-mmio-bus.{2 - n}")]
        return native("qemu-system-riscv64", "-M", "virt", "-m", f"{self.ram_mb}M", "-nographic",
                      "-no-reboot", "-global", "virtio-mmio.force-legacy=false", "-L",
                      root / "usr/share/qemu", "-bios",
                      next(root.glob("usr/lib/riscv64-linux-gnu/opensbi/generic/fw_dynamic.bin")),
                      "-kernel", IMAGE / "Image", "-append", command_line(), "-monitor", "none",
                      "-serial", f"file:{self.place / 'serial'}", "-device",
                      "virtio-serial-device,bus=virtio-mmio-bus.0", "-chardev",
                      f"file,id=tty,path={self.place / 'console'}", "-device",
                      "virtconsole,chardev=tty", "-chardev",
                      f"socket,id=control,path={self.place / 'control'},server=on,wait=on",
                      "-device",
                      "virtserialport,chardev=control,name=cloche.control", *drives, "-device",
                      "virtio-rng-device,bus=virtio-mmio-bus.3")

    def __enter__(self):
        self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        super().__init__(connected(self.place / "control", self.process))
        return self

    def close(self):
        self.socket.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def console(self):
        return "".join((self.place / name).read_text(errors="replace")
                       for name in ("serial", "console"))


class Native(Qemu):
    """Our machine as a program of this computer, without Wasm: build/vm-native."""

    def command(self):
        return [str(ROOT / "build" / "vm-native"), "--kernel", str(IMAGE / "Image"), "--disk",
                str(IMAGE / "root.erofs"), "--disk2", str(self.disk()), "--ram", str(self.ram_mb),
                "--cmdline", command_line(), "--control", str(self.place / "control")]


def connected(path, process):
    """A connection to the socket, as soon as the program listens on it."""
    connection = socket.socket(socket.AF_UNIX)
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            connection.connect(str(path))
            return connection
        except OSError:
            assert process.poll() is None, process.stdout.read()
            assert time.monotonic() < end, f"{process.args[0]} does not come up"
            time.sleep(0.02)


def command_line():
    """The kernel's command line in our machine (src/sandbox/vm/bake.c)."""
    return "console=hvc0 root=/dev/vda ro init=/sbin/cloche-init"
