"""Descriptors of files: os.open() and what goes with it, tempfile.mkstemp(), file.fileno().

They are numbers of this world for open files (files.Raw); the host knows none of them.
"""
import errno
import io
import itertools
import os

from . import files

table = {}  # number -> Raw


class Lent(io.RawIOBase):
    """A file that is open under a number and stays so: open(number, closefd=False)."""

    def __init__(self, raw):
        self.raw = raw
        self.name, self.mode = raw.name, raw.mode

    def readable(self):
        return self.raw.readable()

    def writable(self):
        return self.raw.writable()

    def seekable(self):
        return True

    def readinto(self, room):
        return self.raw.readinto(room)

    def write(self, data):
        return self.raw.write(data)

    def seek(self, offset, whence=0):
        return self.raw.seek(offset, whence)

    def truncate(self, size=None):
        return self.raw.truncate(size)

    def fileno(self):
        return self.raw.fileno()


def give(raw):
    number = next(n for n in itertools.count(3) if n not in table)
    table[number] = raw
    return number


def held(number):
    try:
        return table[number]
    except (KeyError, TypeError):
        raise OSError(errno.EBADF, "Bad file descriptor") from None


def open_number(path, flags, mode=0o777, *, dir_fd=None):
    """os.open()"""
    path = files.path_of(path)
    writes = bool(flags & os.O_WRONLY)
    if flags & os.O_CREAT and flags & os.O_EXCL:
        files.write_file(path, b"", flag="wx")
    elif flags & os.O_TRUNC or flags & os.O_CREAT and not files.exists(path):
        if not flags & os.O_CREAT:
            files.os_stat(path)
        files.write_file(path, b"")
    raw = files.Raw(path, "r+" if writes else "r", path)
    raw.reads = bool(flags & os.O_RDONLY)
    raw.appends = bool(flags & os.O_APPEND)
    return raw.fileno()


def close(number):
    held(number).close()


def read(number, size):
    raw = held(number)
    room = bytearray(min(size, max(0, len(raw.data) - raw.at)))
    return bytes(room[:raw.readinto(room)])


def write(number, data):
    if number in (1, 2) and number not in table:
        import sys
        (sys.stdout, sys.stderr)[number - 1].write(bytes(data).decode("utf-8", "replace"))
        return len(data)
    return held(number).write(data)


def named(number, mode, closes):
    """For open(): the file that has this number."""
    raw = held(number)
    if ("r" in mode or "+" in mode) and not raw.reads or (mode != "r") and not raw.writes:
        raise OSError(errno.EBADF, "Bad file descriptor")
    if "w" in mode:
        raw.truncate(0)
    return raw if closes else Lent(raw)


def prepare():
    made = {"open": open_number, "close": close, "read": read, "write": write,
            "lseek": lambda number, offset, whence: held(number).seek(offset, whence),
            "fstat": lambda number: files.os_stat(held(number).path),
            "fsync": lambda number: None, "isatty": lambda number: False,
            "ftruncate": lambda number, size: held(number).truncate(size) and None}
    for name, function in made.items():
        function.__name__ = function.__qualname__ = name
        setattr(os, name, staticmethod(function))
