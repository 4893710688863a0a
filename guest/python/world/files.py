"""Files: fs, and what Python has for them (open, os, pathlib, shutil, tempfile) over it.

They are those of the evaluation: in memory, and the folders that the policy mounts. Without
enableFileSystem each of these functions fails with PermissionDenied.
"""
import base64
import builtins
import errno
import gc
import glob
import io
import os
import posixpath
import shutil
import stat
import sys
import tempfile
import types

from . import calls, descriptors, values
from .api import Function

FILE_MODE, FOLDER_MODE, LINK_MODE = 0o100644, 0o40755, 0o120777
BLOCK = 4096
here = "/"


class Call(Function):
    """fs.X as code calls it."""

    def __call__(self, *args, **options):
        return METHODS[self.name](*args, **options)

    later = __call__

    def send(self, *args):
        text = values.write_arguments(self.name, list(args))
        answer = calls.perform_now(self.number, text)
        if answer and "errno" in answer:
            raise error_of(answer)
        return answer.get("value") if answer else None


host = {}  # "readFile" -> Call


def error_of(answer):
    number = getattr(errno, answer["errno"], errno.EIO)
    text = answer["text"]
    error = OSError(number, text[:1].upper() + text[1:], answer.get("path"))
    if "dest" in answer:
        error.filename2 = answer["dest"]
    return error


def path_of(path):
    if isinstance(path, int) and not isinstance(path, bool):
        return descriptors.held(path).path
    path = os.fspath(path)
    if isinstance(path, bytes):
        path = path.decode("utf-8", "surrogateescape")
    if "\0" in path:
        raise ValueError("embedded null byte")
    if path == "":
        return path
    return path if path.startswith("/") else posixpath.join(here, path)


# ---- fs ----------------------------------------------------------------------------

def read_file(path, encoding=None, options=None):
    if isinstance(encoding, dict):
        encoding = encoding.get("encoding")
    encoding = encoding or (options or {}).get("encoding")
    data = base64.b64decode(host["readFile"].send(path_of(path), None))
    return data.decode(encoding) if encoding else data


def data_of(data):
    if isinstance(data, str):
        return {"text": data}
    if isinstance(data, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(data).decode()}
    raise TypeError(f"data must be str or bytes, not {type(data).__name__}; json.dumps() makes text of it")


def write_file(path, data, encoding=None, flag="w", options=None):
    host["writeFile"].send(path_of(path), data_of(data), flag)


def append_file(path, data, encoding=None, options=None):
    host["appendFile"].send(path_of(path), data_of(data), "a")


def readdir(path="/", recursive=False, **options):
    return list(host["readdir"].send(path_of(path), bool(recursive), False))


def mkdir(path, recursive=False, **options):
    if isinstance(recursive, dict):
        recursive = recursive.get("recursive")
    return host["mkdir"].send(path_of(path), bool(recursive))


def rm(path, recursive=False, force=False):
    if isinstance(recursive, dict):
        recursive, force = recursive.get("recursive"), recursive.get("force")
    host["rm"].send(path_of(path), bool(recursive), bool(force))


def copy_file(source, target, mode=0):
    host["copyFile"].send(path_of(source), path_of(target), bool(mode & 1))


def exists(path):
    return host["exists"].send(path_of(path))


def access(path, mode=0):
    host["access"].send(path_of(path), bool(mode & os.W_OK))


METHODS = {
    "fs.readFile": read_file, "fs.writeFile": write_file, "fs.appendFile": append_file, "fs.readdir": readdir,
    "fs.mkdir": mkdir, "fs.rm": rm, "fs.copyFile": copy_file, "fs.exists": exists, "fs.access": access,
    "fs.rmdir": lambda path: host["rmdir"].send(path_of(path)),
    "fs.unlink": lambda path: host["unlink"].send(path_of(path)),
    "fs.rename": lambda source, target: host["rename"].send(path_of(source), path_of(target)),
    "fs.stat": lambda path: os.stat(path), "fs.lstat": lambda path: os.lstat(path),
    "fs.truncate": lambda path, size=0: host["truncate"].send(path_of(path), size),
}


def function(number, row):
    if not row["name"].startswith("fs."):
        return None
    made = host[row["name"][3:]] = Call(number, row)
    return made


def globals_of(rows):
    return {}


# ---- open() ------------------------------------------------------------------------

class Raw(io.RawIOBase):
    """A file as bytes in this world; what is written goes to the host at once."""

    def __init__(self, path, mode, name):
        self.path, self.mode, self.name = path, mode, name
        self.number = None  # its descriptor, once somebody asks for it
        self.at = 0
        self.reads = "r" in mode or "+" in mode
        self.writes = mode[0] in "wax" or "+" in mode
        self.appends = mode[0] == "a"
        if mode[0] == "x":
            write_file(path, b"", flag="wx")
        elif mode[0] == "w" or mode[0] == "a" and not exists(path):
            write_file(path, b"")
        self.data = bytearray() if mode[0] in "wx" else bytearray(read_file(path))
        if self.appends:
            self.at = len(self.data)

    def readable(self):
        return self.reads

    def writable(self):
        return self.writes

    def seekable(self):
        return True

    def readinto(self, room):
        if not self.reads:
            raise io.UnsupportedOperation("not readable")
        part = self.data[self.at:self.at + len(room)]
        room[:len(part)] = part
        self.at += len(part)
        return len(part)

    def write(self, data):
        if not self.writes:
            raise io.UnsupportedOperation("not writable")
        if self.appends:
            self.at = len(self.data)
        if self.at == len(self.data):
            self.data += data
            append_file(self.path, bytes(data))
        else:
            self.data += bytes(max(0, self.at - len(self.data)))
            self.data[self.at:self.at + len(data)] = data
            write_file(self.path, bytes(self.data))
        self.at += len(data)
        return len(data)

    def seek(self, offset, whence=0):
        self.at = max(0, offset + (0, self.at, len(self.data))[whence])
        return self.at

    def truncate(self, size=None):
        size = self.at if size is None else size
        self.data = self.data[:size] + bytes(max(0, size - len(self.data)))
        write_file(self.path, bytes(self.data))
        return size

    def fileno(self):
        if self.closed:
            raise ValueError("I/O operation on closed file")
        if self.number is None:
            self.number = descriptors.give(self)
        return self.number

    def close(self):
        if self.number is not None:
            descriptors.table.pop(self.number, None)
            self.number = None
        super().close()

    def isatty(self):
        return False


def open_file(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
    letters = set(mode)
    if letters - set("rwaxbt+") or len(letters & set("rwax")) != 1 or len(mode) > len(letters) or {"b", "t"} <= letters:
        raise ValueError(f"invalid mode: {mode!r}")
    if "b" in letters and encoding is not None:
        raise ValueError("binary mode doesn't take an encoding argument")
    plain = (letters & set("rwax")).pop() + ("+" if "+" in letters else "")
    if isinstance(file, int) and not isinstance(file, bool):
        raw = descriptors.named(file, plain, closefd)
    else:
        raw = Raw(path_of(file), plain, file)
    kind = io.BufferedRandom if "+" in letters else io.BufferedReader if plain == "r" else io.BufferedWriter
    if buffering == 0 and "b" in letters:
        return raw
    buffered = kind(raw, buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE)
    if "b" in letters:
        return buffered
    text = io.TextIOWrapper(buffered, encoding or "utf-8", errors, newline, buffering == 1)
    text.mode = mode
    return text


# ---- os ----------------------------------------------------------------------------

def stat_of(told):
    mode = {"folder": FOLDER_MODE, "link": LINK_MODE}.get(told["type"], FILE_MODE)
    times = [told[k + "Ms"] / 1000 for k in ("atime", "mtime", "ctime")]
    return os.stat_result((mode, told["ino"], told["dev"], told["nlink"], 0, 0, told["size"], *map(int, times)),
                          {"st_atime": times[0], "st_mtime": times[1], "st_ctime": times[2],
                           "st_mtime_ns": int(told["mtimeMs"] * 1000000), "st_blksize": BLOCK,
                           "st_blocks": (told["size"] + 511) // 512})


def os_stat(path, *, dir_fd=None, follow_symlinks=True):
    return stat_of(host["stat" if follow_symlinks else "lstat"].send(path_of(path)))


class Entry:
    def __init__(self, folder, name):
        self.name, self.path = name, posixpath.join(folder, name)

    def stat(self, *, follow_symlinks=True):
        return os_stat(self.path, follow_symlinks=follow_symlinks)

    def kind(self, follow_symlinks):
        try:
            return stat.S_IFMT(self.stat(follow_symlinks=follow_symlinks).st_mode)
        except FileNotFoundError:
            return 0

    def is_dir(self, *, follow_symlinks=True):
        return self.kind(follow_symlinks) == stat.S_IFDIR

    def is_file(self, *, follow_symlinks=True):
        return self.kind(follow_symlinks) == stat.S_IFREG

    def is_symlink(self):
        return self.kind(False) == stat.S_IFLNK

    def is_junction(self):
        return False

    def inode(self):
        return self.stat().st_ino

    def __fspath__(self):
        return self.path

    def __repr__(self):
        return f"<DirEntry {self.name!r}>"


class Scan:
    def __init__(self, path):
        self.entries = iter([Entry(os.fspath(path), name) for name in os.listdir(path)])

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.entries)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()

    def close(self):
        self.entries = iter(())


def list_names(path="."):
    """os.listdir(): bytes of bytes."""
    names = readdir(path)
    return [os.fsencode(n) for n in names] if isinstance(path, bytes) else names


def chdir(path):
    global here
    path = posixpath.normpath(path_of(path))
    if not stat.S_ISDIR(os_stat(path).st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "Not a directory", path)
    here = path


def may_access(path, mode, **options):
    try:
        access(path, mode)
        return True
    except OSError as error:
        if getattr(error, "host", False):
            raise
        return False


def rename(source, target, **options):
    host["rename"].send(path_of(source), path_of(target))


def accepted(*args, **options):
    """chmod, utime and the like: files here have no such property."""


def temporary_file(mode="w+b", buffering=-1, encoding=None, newline=None, suffix=None, prefix=None, dir=None,
                   delete=True, *, errors=None, delete_on_close=True):
    path = posixpath.join(dir or tempfile.gettempdir(),
                          (prefix or "tmp") + next(tempfile._get_candidate_names()) + (suffix or ""))
    opened = open_file(path, "x+b")
    opened.close()
    file = open_file(path, mode, buffering, encoding, errors, newline)
    return tempfile._TemporaryFileWrapper(file, path, delete, delete_on_close)


def put_everywhere(replaced):
    """Modules that have taken a function over by name (tarfile has open()) get the new one, too."""
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "posix") in ("posix", "importlib._bootstrap_external", __name__):
            continue
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if callable(value) and id(value) in replaced:
                setattr(module, name, replaced[id(value)])
    for function in gc.get_objects():
        if isinstance(function, types.FunctionType) and function.__defaults__:
            function.__defaults__ = tuple(replaced.get(id(d), d) for d in function.__defaults__)


def prepare():
    before = [io.open, {name: getattr(os, name, None) for name in dir(os)}]
    descriptors.prepare()
    # As functions in C, these are no methods where a class has them.
    builtins.open = io.open = staticmethod(open_file)
    io.open_code = lambda path: open_file(path, "rb")
    replaced = {
        "listdir": list_names, "scandir": lambda path=".": Scan(path),
        "mkdir": lambda path, mode=0o777, **o: host["mkdir"].send(path_of(path), False),
        "rmdir": lambda path, **o: host["rmdir"].send(path_of(path)),
        "unlink": lambda path, **o: host["unlink"].send(path_of(path)),
        "remove": lambda path, **o: host["unlink"].send(path_of(path)),
        "rename": rename, "replace": rename, "stat": os_stat,
        "lstat": lambda path, **o: os_stat(path, follow_symlinks=False),
        "truncate": lambda path, size: host["truncate"].send(path_of(path), size),
        "getcwd": lambda: here, "getcwdb": lambda: here.encode(), "chdir": chdir, "access": may_access,
        "chmod": accepted, "chown": accepted, "utime": accepted,
    }
    for name, made in replaced.items():
        made.__name__ = made.__qualname__ = name
        setattr(os, name, staticmethod(made))
    for name in ("supports_dir_fd", "supports_fd", "supports_follow_symlinks"):
        setattr(os, name, set())
    os.supports_follow_symlinks = {os.stat}
    shutil._use_fd_functions = False
    glob._StringGlobber.scandir = os.scandir
    glob._StringGlobber.lstat = os.lstat
    put_everywhere({id(before[0]): io.open, **{id(was): getattr(os, name) for name, was in before[1].items()
                                               if callable(was) and was is not getattr(os, name)}})
    tempfile.tempdir = "/"
    tempfile.NamedTemporaryFile = tempfile.TemporaryFile = temporary_file
