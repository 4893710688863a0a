"""Descriptors of files: os.open() and the functions of os that take its numbers.

They are numbers of this world for open files; the host knows none of them. A file that is
open is a Node: its bytes, which all descriptors of it share. What is added to it goes to the
host at once. Once it was changed otherwise, the whole goes there when it is closed, or
before the next host call. A file that was removed while it is open has no place there any more.
"""
import errno
import itertools
import os
import posixpath
import stat
import weakref

from . import calls, files

table = {}  # number -> Opened
nodes = weakref.WeakValueDictionary()  # path -> Node
STREAMS = (0, 1, 2)
BLOCK = 4096
STREAM = os.stat_result((stat.S_IFCHR | 0o620, 0, 0, 1, 0, 0, 0, 0, 0, 0), {"st_blksize": BLOCK})
OFFSET_MAX = (1 << 63) - 1
SIZE_MAX = (1 << 31) - 1  # of a file, which the memory of a world must hold


class Node:
    """A file or a folder that is open."""

    def __init__(self, path, data, is_folder=False):
        self.path, self.data, self.is_folder = path, data, is_folder
        self.is_gone = False

    def stat(self):
        """What is known without the host."""
        mode = files.MODES["folder" if self.is_folder else "file"]
        return os.stat_result((mode, id(self), 0, 0 if self.is_gone else 1, 0, 0, len(self.data), 0, 0, 0),
                              {"st_blksize": BLOCK})

    def write(self, at, data):
        size = len(self.data)
        if at + len(data) > SIZE_MAX:
            fail(errno.EFBIG)
        if at == size and not self.is_gone and self not in calls.unsent:
            files.store("appendFile", self.path, data, "a")
            self.data += data
            return
        if at > size:
            self.data += bytes(at - size)
        self.data[at:at + len(data)] = data
        self.send_later()

    def resize(self, size):
        if size > SIZE_MAX:
            fail(errno.EFBIG)
        del self.data[size:]
        self.data += bytes(size - len(self.data))
        self.send_later()

    def send_later(self):
        if not self.is_gone:
            calls.unsent[self] = self.send

    def send(self):
        if not self.is_gone:
            files.store("writeFile", self.path, self.data, "w")


class Null(Node):
    """os.devnull, which is no file of the host."""

    def __init__(self):
        super().__init__(os.devnull, b"")
        self.is_gone = True

    def stat(self):
        return STREAM

    def write(self, at, data):
        pass

    def resize(self, size):
        pass


class Opened:
    """A node under one or more numbers, which share its position."""

    def __init__(self, node, reads, writes, appends):
        self.node, self.reads, self.writes, self.appends = node, reads, writes, appends
        self.at = 0


def fail(number, *names):
    raise OSError(number, os.strerror(number), *names)


def held(number):
    try:
        return table[number]
    except (KeyError, TypeError):
        fail(errno.EBADF)


def index(number):
    """An argument that must be a descriptor: held() fails for those that are none."""
    number = number.__index__() if hasattr(number, "__index__") else None
    if number is None:
        raise TypeError("an integer is required")
    if not -1 << 31 <= number < 1 << 31:
        raise OverflowError("Python int too large to convert to C int")
    return number


# ---- files that are open, told of changes elsewhere --------------------------------------

def changed(path):
    """Another than its descriptors has written to this file."""
    node = nodes.get(posixpath.normpath(path))
    if node is not None:
        node.data = bytearray(files.load(path))


def within(path):
    path = posixpath.normpath(path)
    return [(name, node) for name, node in list(nodes.items()) if name == path or name.startswith(path + "/")]


def removed(path):
    for name, node in within(path):
        node.is_gone = True
        del nodes[name]


def moved(source, target):
    removed(target)
    source, target = posixpath.normpath(source), posixpath.normpath(target)
    for name, node in within(source):
        del nodes[name]
        node.path = target + name[len(source):]
        nodes[node.path] = node


# ---- functions of os -----------------------------------------------------------------------

def contents(path, flags, writes):
    """The bytes of a file that is to be opened, which is created or emptied before; None of a folder."""
    if flags & os.O_CREAT and flags & os.O_EXCL:
        files.store("writeFile", path, b"", "wx")
        return bytearray()
    if flags & os.O_TRUNC:
        if not flags & os.O_CREAT:
            files.host["access"].send(path, False)
        files.store("writeFile", path, b"", "w")
        return bytearray()
    try:
        data = files.load(path)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
        files.store("writeFile", path, b"", "wx")
        return bytearray()
    except IsADirectoryError:
        if writes:
            raise
        return None
    if writes:
        files.host["access"].send(path, True)
    return bytearray(data)


def open_number(path, flags, mode=0o777, *, dir_fd=None):
    """os.open()"""
    place = files.path_of(path, "open", dir_fd)
    writes = bool(flags & os.O_WRONLY)
    reads = bool(flags & os.O_RDONLY) or not writes
    if place == os.devnull:
        return give(Opened(Null(), reads, writes, False))
    with files.naming(path):
        data = contents(place, flags, writes)
        if data is not None and flags & os.O_DIRECTORY:
            fail(errno.ENOTDIR, path)
    key = posixpath.normpath(place)
    node = nodes.get(key)
    if node is None:
        node = nodes[key] = Node(key, b"" if data is None else data, data is None)
    elif data is not None:
        node.data = data
    return give(Opened(node, reads, writes, bool(flags & os.O_APPEND)))


def give(opened, least=3):
    number = next(n for n in itertools.count(least) if n not in table)
    table[number] = opened
    return number


def close(fd):
    node = held(index(fd)).node
    del table[fd]
    sent(node)


def closerange(fd_low, fd_high, /):
    for number in [n for n in table if fd_low <= n < fd_high]:
        close(number)


def sent(node):
    """The host has its bytes, or this fails."""
    send = calls.unsent.pop(node, None)
    if send:
        send()


def reading(fd):
    opened = held(index(fd))
    if not opened.reads:
        fail(errno.EBADF)
    if opened.node.is_folder:
        fail(errno.EISDIR)
    return opened


def writing(fd):
    opened = held(index(fd))
    if not opened.writes:
        fail(errno.EBADF)
    return opened


def read(fd, length, /):
    if fd == 0 and fd not in table:
        return b""
    opened = reading(fd)
    if length < 0:
        fail(errno.EINVAL)
    part = bytes(opened.node.data[opened.at:opened.at + length])
    opened.at += len(part)
    return part


def pread(fd, length, offset, /):
    opened = reading(fd)
    if offset < 0 or length < 0:
        fail(errno.EINVAL)
    return bytes(opened.node.data[offset:offset + length])


def readv(fd, buffers, /):
    total = 0
    for room in buffers:
        part = read(fd, len(memoryview(room).cast("B")))
        memoryview(room).cast("B")[:len(part)] = part
        total += len(part)
    return total


def bytes_of(data):
    with memoryview(data) as view:
        return view.tobytes()


def write(fd, data, /):
    data = bytes_of(data)
    if fd in (1, 2) and fd not in table:
        import sys
        (sys.__stdout__, sys.__stderr__)[fd - 1].write(data.decode("utf-8", "replace"))
        return len(data)
    opened = writing(fd)
    if opened.appends:
        opened.at = len(opened.node.data)
    if data:
        opened.node.write(opened.at, data)
    opened.at += len(data)
    return len(data)


def pwrite(fd, data, offset, /):
    data = bytes_of(data)
    opened = writing(fd)
    if offset < 0:
        fail(errno.EINVAL)
    if data:
        opened.node.write(offset, data)
    return len(data)


def writev(fd, buffers, /):
    return write(fd, b"".join(map(bytes_of, buffers)))


def lseek(fd, position, whence=0, /):
    if fd in STREAMS and fd not in table:
        fail(errno.ESPIPE)
    opened = held(index(fd))
    position = position.__index__()
    if not -OFFSET_MAX - 1 <= position <= OFFSET_MAX:
        raise OverflowError("Python int too large to convert to C long")
    if whence not in (os.SEEK_SET, os.SEEK_CUR, os.SEEK_END):
        fail(errno.EINVAL)
    at = position + {os.SEEK_SET: 0, os.SEEK_CUR: opened.at, os.SEEK_END: len(opened.node.data)}[whence]
    if not 0 <= at <= OFFSET_MAX:
        fail(errno.EINVAL)
    opened.at = at
    return at


def fstat(fd):
    """os.fstat()"""
    if fd in STREAMS and fd not in table:
        return STREAM
    node = held(index(fd)).node
    return node.stat() if node.is_gone else files.os_stat(node.path)


def quick_stat(fd):
    """What io.FileIO asks fstat() for, without the host."""
    return fstat(fd) if fd in STREAMS else held(index(fd)).node.stat()


def ftruncate(fd, length, /):
    opened = held(index(fd))
    if not opened.writes or length < 0:
        fail(errno.EINVAL)
    opened.node.resize(length)


def isatty(fd, /):
    index(fd)
    return False


def sync(fd):
    """fsync(), fdatasync()"""
    if fd not in STREAMS:
        sent(held(index(fd)).node)


def dup(fd, /):
    return give(held(index(fd)))


def dup2(fd, fd2, inheritable=True):
    opened = held(index(fd))
    if fd2 < 0:
        fail(errno.EBADF)
    if fd2 in table and fd2 != fd:
        close(fd2)
    table[fd2] = opened
    return fd2


def get_inheritable(fd, /):
    if fd not in STREAMS:
        held(index(fd))
    return False


def set_inheritable(fd, inheritable, /):
    get_inheritable(fd)


def get_blocking(fd, /):
    get_inheritable(fd)
    return True


def set_blocking(fd, blocking, /):
    get_inheritable(fd)


FUNCTIONS = {"open": open_number, "close": close, "closerange": closerange, "read": read, "pread": pread, "readv": readv,
             "write": write, "pwrite": pwrite, "writev": writev, "lseek": lseek, "fstat": fstat, "ftruncate": ftruncate,
             "isatty": isatty, "fsync": sync, "fdatasync": sync, "dup": dup, "dup2": dup2,
             "get_blocking": get_blocking, "set_blocking": set_blocking, "get_inheritable": get_inheritable,
             "set_inheritable": set_inheritable}
