"""Fixtures of the tests of the Linux machine through its interfaces."""
import os
import pty
import select
import shutil
import struct
import subprocess
import termios
import time
from fcntl import ioctl

import needs
from conftest import ROOT
from test_permissions import link

WAIT_S = 60  # for what should come soon; only a failing test waits so long
needs_image = needs.installed(ROOT / "build" / "vm" / "machine-512.mem", by="make vm")


def without_image(cloche, place):
    """The program without an installed machine."""
    shutil.copy(cloche, place / "cloche")
    link(ROOT / "build" / "cloche-sql", place / "cloche-sql")
    (place / "lib").symlink_to(ROOT / "build" / "lib")
    (place / "guest").mkdir()
    for file in ("ahead", "script.bare.wasm", "script.img"):
        link(ROOT / "build" / "guest" / file, place / "guest" / file)
    return str(place / "cloche")


class Terminal:
    """A program on a pseudo-terminal."""

    def __init__(self, command, rows=24, columns=80):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.text = b""
        self.process = subprocess.Popen(command, stdin=self.slave, stdout=self.slave,
                                        stderr=self.slave, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def resize(self, rows, columns):
        ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def wait_for(self, text):
        """Reads until this was shown, after what was waited for before."""
        text, late = text.encode(), time.monotonic() + WAIT_S
        while text not in self.text:
            ready, _, _ = select.select([self.master], [], [], max(0, late - time.monotonic()))
            assert ready, f"{text} did not come: {self.text[-2000:]}"
            self.text += os.read(self.master, 65536)
        shown, _, self.text = self.text.partition(text)
        return shown

    def end(self):
        """The exit code; reads output meanwhile."""
        late = time.monotonic() + WAIT_S
        while self.process.poll() is None and time.monotonic() < late:
            if select.select([self.master], [], [], 0.05)[0]:
                self.text += os.read(self.master, 65536)
        return self.process.wait(1)

    def is_as_before(self):
        return termios.tcgetattr(self.slave) == self.before
