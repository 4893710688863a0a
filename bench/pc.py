"""The root file system of the PC that v86 emulates: busybox and python3 of Debian for i386, as
the initramfs that its kernel unpacks. No program but this one makes it."""
from pathlib import Path

INIT = b"""#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
export PS1='READY# ' PATH=/bin:/usr/bin HOME=/tmp
cd /tmp
stty -echo -onlcr </dev/ttyS0
exec setsid sh -c 'exec sh -i </dev/ttyS0 >/dev/ttyS0 2>&1'
"""
FOLDER, FILE, LINK, DEVICE = 0o40755, 0o100755, 0o120777, 0o20600
LIBRARIES = "usr/lib/i386-linux-gnu"


class Archive:
    """cpio's `newc` format."""

    def __init__(self):
        self.bytes, self.count = bytearray(), 0

    def add(self, name, mode, contents=b"", device=(0, 0)):
        self.count += 1
        fields = (self.count, mode, 0, 0, 1, 0, len(contents), 0, 0, *device, len(name) + 1, 0)
        self.bytes += b"070701" + b"".join(b"%08X" % f for f in fields) + name.encode() + b"\0"
        self.bytes += b"\0" * (-len(self.bytes) % 4) + contents
        self.bytes += b"\0" * (-len(self.bytes) % 4)


def initramfs(peers):
    """Bytes of it; `peers` is the folder of deps/debian-bench.in."""
    peers, made = Path(peers).resolve(), Archive()
    for name in ("bin", "dev", "proc", "sys", "tmp", "usr", "usr/bin", "usr/lib", LIBRARIES):
        made.add(name, FOLDER)
    made.add("init", FILE, INIT)
    made.add("lib", LINK, b"usr/lib")
    made.add("dev/console", DEVICE, device=(5, 1))
    made.add("bin/busybox", FILE, (peers / "usr/bin/busybox").read_bytes())
    made.add("usr/bin/python3", FILE, (peers / "usr/bin/python3.13").read_bytes())
    made.add("usr/lib/ld-linux.so.2", FILE, (peers / LIBRARIES / "ld-linux.so.2").read_bytes())
    for name in ("libc.so.6", "libm.so.6", "libz.so.1", "libexpat.so.1"):
        made.add(f"{LIBRARIES}/{name}", FILE, (peers / LIBRARIES / name).resolve().read_bytes())
    library = peers / "usr/lib/python3.13"
    for path in [library, *sorted(library.rglob("*"))]:
        name = str(path.relative_to(peers))
        if path.is_dir():
            made.add(name, FOLDER)
        elif path.suffix == ".py" and path.exists():
            made.add(name, FILE, path.read_bytes())
    made.add("TRAILER!!!", 0)
    return bytes(made.bytes)
