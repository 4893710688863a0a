"""Files: fs, and os over it, with which open, pathlib, shutil and tempfile work.

They are those of the evaluation: in memory, and the folders that the policy mounts. Without
enableFileSystem each of these functions fails with PermissionDenied.
"""
import base64
import codecs
import contextlib
import datetime
import errno
import gc
import glob
import importlib._bootstrap_external
import io
import os
import pathlib
import posix
import posixpath
import shutil
import stat
import sys
import tempfile
import types
import warnings

from . import calls, descriptors, opened, values
from .api import Function

MODES = {"file": 0o100644, "folder": 0o40755, "link": 0o120777}
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


def path_of(path, function=None, dir_fd=None):
    """The absolute path, or that of an open file by its number."""
    if isinstance(path, int) and (function is None or function in BY_NUMBER):
        if isinstance(path, bool):
            warnings.warn("bool is used as a file descriptor", RuntimeWarning, stacklevel=3)
        return descriptors.held(path).node.path
    try:
        path = os.fspath(path)
    except TypeError:
        if function is None or hasattr(type(path), "__fspath__"):
            raise
        accepted = ", os.PathLike or integer" if function in BY_NUMBER else " or os.PathLike"
        raise TypeError(f"{function}: path should be string, bytes{accepted}, not {type(path).__name__}") from None
    if isinstance(path, bytes):
        path = path.decode("utf-8", "surrogateescape")
    if "\0" in path:
        raise ValueError("embedded null byte" if function is None else f"{function}: embedded null character in path")
    if path == "" or path.startswith("/"):
        return path
    return posixpath.join(here if dir_fd is None else path_of(dir_fd), path)


@contextlib.contextmanager
def naming(path, target=None):
    """Errors of the host name the path as the caller does."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            error.filename = path
        if error.filename2 is not None:
            error.filename2 = target
        raise


# ---- fs ----------------------------------------------------------------------------

def options_of(name, usual, given, named, short):
    """The options of fs.name(): `usual` with those that are given as a dict or by name; `short`: which one another
    value is."""
    given = given if isinstance(given, dict) else {} if given is None else {short: given}
    chosen = dict(usual)
    for key, value in [*given.items(), *named.items()]:
        if values.snake(key) not in usual:
            raise TypeError(f"fs.{name}() has no option '{key}'; it has {', '.join(usual)}")
        chosen[values.snake(key)] = value
    return chosen.values()


def read_file(path, options=None, **named):
    encoding, = options_of("read_file", {"encoding": None}, options, named, "encoding")
    data = load(path_of(path))
    if encoding in (None, "buffer"):
        return data
    if encoding in TEXTS:
        return TEXTS[encoding][0](data)
    return data.decode(encoding)


def load(path):
    return base64.b64decode(host["readFile"].send(path, None))


# Encodings whose text is not what the file has: its bytes as text, and back.
TEXTS = {
    "base64": (lambda data: base64.b64encode(data).decode(),
               lambda text: base64.b64decode(text.translate({45: "+", 95: "/"}).rstrip("=") + "==")),
    "hex": (bytes.hex, bytes.fromhex),
}


def store(call, path, data, flag, encoding=None):
    host[call].send(path, data_of(data, encoding), flag)


def data_of(data, encoding=None):
    if isinstance(data, str):
        if encoding in TEXTS:
            data = TEXTS[encoding][1](data)
        elif encoding is not None and codecs.lookup(encoding).name != "utf-8":
            data = data.encode(encoding)
        else:
            return {"text": data}
    if isinstance(data, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(data).decode()}
    raise TypeError(f"data must be str or bytes, not {type(data).__name__}; json.dumps() makes text of it")


def write_file(path, data, options=None, **named):
    encoding, flag = options_of("write_file", {"encoding": None, "flag": "w"}, options, named, "encoding")
    store("writeFile", path_of(path), data, flag, encoding)
    descriptors.changed(path_of(path))


def append_file(path, data, options=None, **named):
    encoding, = options_of("append_file", {"encoding": None}, options, named, "encoding")
    store("appendFile", path_of(path), data, "a", encoding)
    descriptors.changed(path_of(path))


class Kind(values.Record):
    """What something in a folder is: its type is "file", "folder" or "link"."""

    __slots__ = ()

    def is_file(self):
        return self["type"] == "file"

    def is_directory(self):
        return self["type"] == "folder"

    def is_symbolic_link(self):
        return self["type"] == "link"

    isFile, isDirectory, isSymbolicLink = is_file, is_directory, is_symbolic_link


class FileEntry(Kind):
    """An entry of fs.readdir() with with_file_types."""

    __slots__ = ()


class FileStats(Kind):
    """The result of fs.stat(); it has the names of os.stat_result, too."""

    __slots__ = ()

    def __getattr__(self, name):
        return getattr(stat_of(self), name) if name.startswith("st_") else super().__getattr__(name)


def stats_of(call, path):
    told = FileStats(host[call].send(path_of(path)))
    told["mode"] = MODES[told["type"]]
    for name in ("atime", "mtime", "ctime"):
        told[name] = datetime.datetime.fromtimestamp(told[name + "Ms"] / 1000, datetime.UTC)
    return told


def readdir(path="/", options=None, **named):
    recursive, types = options_of("readdir", {"recursive": False, "with_file_types": False}, options, named, "recursive")
    found = host["readdir"].send(path_of(path), bool(recursive), bool(types))
    if not types:
        return list(found)
    return [FileEntry(name=e["name"], parentPath=e["parent"], type=e["type"]) for e in found]


def mkdir(path, options=None, **named):
    recursive, = options_of("mkdir", {"recursive": False}, options, named, "recursive")
    return host["mkdir"].send(path_of(path), bool(recursive))


def rm(path, options=None, **named):
    recursive, force = options_of("rm", {"recursive": False, "force": False}, options, named, "recursive")
    host["rm"].send(path_of(path), bool(recursive), bool(force))
    descriptors.removed(path_of(path))


def copy_file(source, target, mode=0):
    host["copyFile"].send(path_of(source), path_of(target), bool(mode & 1))
    descriptors.changed(path_of(target))


def exists(path):
    return host["exists"].send(path_of(path))


def access(path, mode=0):
    host["access"].send(path_of(path), bool(mode & os.W_OK))


METHODS = {
    "fs.readFile": read_file, "fs.writeFile": write_file, "fs.appendFile": append_file, "fs.readdir": readdir,
    "fs.mkdir": mkdir, "fs.rm": rm, "fs.copyFile": copy_file, "fs.exists": exists, "fs.access": access,
    "fs.rmdir": lambda path: os.rmdir(path), "fs.unlink": lambda path: os.unlink(path),
    "fs.rename": lambda source, target: os.rename(source, target),
    "fs.stat": lambda path: stats_of("stat", path), "fs.lstat": lambda path: stats_of("lstat", path),
    "fs.truncate": lambda path, size=0: os.truncate(path, size),
}


def function(number, row):
    if not row["name"].startswith("fs."):
        return None
    made = host[row["name"][3:]] = Call(number, row)
    return made


def globals_of(rows):
    return {}


# ---- os ----------------------------------------------------------------------------

def stat_of(told):
    times = {name: told[name + "Ms"] for name in ("atime", "mtime", "ctime")}
    more = {f"st_{name}": ms / 1000 for name, ms in times.items()} | \
        {f"st_{name}_ns": int(ms * 1000000) for name, ms in times.items()}
    return os.stat_result((MODES[told["type"]], told["ino"], told["dev"], told["nlink"], 0, 0, told["size"],
                           *(int(ms // 1000) for ms in times.values())),
                          {**more, "st_blksize": descriptors.BLOCK, "st_blocks": (told["size"] + 511) // 512})


def os_stat(path, *, dir_fd=None, follow_symlinks=True):
    with naming(path):
        return stat_of(host["stat" if follow_symlinks else "lstat"].send(path_of(path, "stat", dir_fd)))


def os_lstat(path, *, dir_fd=None):
    with naming(path):
        return stat_of(host["lstat"].send(path_of(path, "lstat", dir_fd)))


def read_link(path, *, dir_fd=None):
    """os.readlink(): where a link of a mount leads is not told."""
    is_link = stat.S_ISLNK(os_lstat(path, dir_fd=dir_fd).st_mode)
    descriptors.fail(errno.ENOTSUP if is_link else errno.EINVAL, path)


class DirEntry:
    """os.DirEntry; within is the folder's number, if it was listed by that."""

    __class_getitem__ = classmethod(types.GenericAlias)

    def __init__(self, folder, name, type, within):
        self.name, self.type, self.within = name, type, within
        self.path = name if folder is None else posixpath.join(folder, name)

    def stat(self, *, follow_symlinks=True):
        return os_stat(self.path, dir_fd=self.within, follow_symlinks=follow_symlinks)

    def kind(self, follow_symlinks):
        if self.type != "link" or not follow_symlinks:
            return stat.S_IFMT(MODES[self.type])
        try:
            return stat.S_IFMT(self.stat().st_mode)
        except FileNotFoundError:
            return 0

    def is_dir(self, *, follow_symlinks=True):
        return self.kind(follow_symlinks) == stat.S_IFDIR

    def is_file(self, *, follow_symlinks=True):
        return self.kind(follow_symlinks) == stat.S_IFREG

    def is_symlink(self):
        return self.type == "link"

    def is_junction(self):
        return False

    def inode(self):
        return self.stat(follow_symlinks=False).st_ino

    def __fspath__(self):
        return self.path

    def __reduce_ex__(self, protocol):
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def __repr__(self):
        return f"<DirEntry {self.name!r}>"


class ScandirIterator:
    def __init__(self, entries):
        self.entries = entries

    def __iter__(self):
        return self

    def __next__(self):
        if not self.entries:
            self.entries = None
            raise StopIteration
        return self.entries.pop()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()

    def close(self):
        self.entries = None

    def __del__(self):
        if getattr(self, "entries", None) is not None:
            warnings.warn(f"unclosed scandir iterator {self!r}", ResourceWarning, source=self)


def scandir(path="."):
    path = "." if path is None else path
    with naming(path):
        told = host["readdir"].send(path_of(path, "scandir"), False, True)
    folder, within = (None, path) if isinstance(path, int) else (os.fspath(path), None)
    return ScandirIterator([DirEntry(folder, os.fsencode(e["name"]) if isinstance(folder, bytes) else e["name"], e["type"],
                                     within) for e in reversed(told)])


def list_names(path="."):
    """os.listdir(): bytes of bytes."""
    path = "." if path is None else path
    with naming(path):
        names = list(host["readdir"].send(path_of(path, "listdir"), False, False))
    return [os.fsencode(n) for n in names] if isinstance(path, bytes) else names


def begin():
    """In a session: what was in memory has gone since the last call, the working folder perhaps with it."""
    global here
    try:
        is_there = here == "/" or stat.S_ISDIR(os_stat(here).st_mode)
    except Exception:
        is_there = False
    if not is_there:
        here = "/"


def chdir(path):
    global here
    place = posixpath.normpath(path_of(path, "chdir"))
    with naming(path):
        if not stat.S_ISDIR(os_stat(place).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "Not a directory", path)
    here = place


def may_access(path, mode, *, dir_fd=None, effective_ids=False, follow_symlinks=True):
    try:
        host["access"].send(path_of(path, "access", dir_fd), bool(mode & os.W_OK))
        return True
    except OSError as error:
        if getattr(error, "host", False):
            raise
        return False


def make_folder(path, mode=0o777, *, dir_fd=None):
    with naming(path):
        host["mkdir"].send(path_of(path, "mkdir", dir_fd), False)


def remove_folder(path, *, dir_fd=None):
    with naming(path):
        host["rmdir"].send(path_of(path, "rmdir", dir_fd))
    descriptors.removed(path_of(path, "rmdir", dir_fd))


def unlink(path, *, dir_fd=None):
    place = path_of(path, "unlink", dir_fd)
    with naming(path):
        host["unlink"].send(place)
    descriptors.removed(place)


def rename(src, dst, *, src_dir_fd=None, dst_dir_fd=None):
    source, target = path_of(src, "rename", src_dir_fd), path_of(dst, "rename", dst_dir_fd)
    with naming(src, dst):
        host["rename"].send(source, target)
    descriptors.moved(source, target)


def truncate(path, length):
    place = path_of(path, "truncate")
    if isinstance(path, int):
        return os.ftruncate(path, length)
    with naming(path):
        host["truncate"].send(place, length)
    descriptors.changed(place)


def accepted(path, *args, dir_fd=None, follow_symlinks=True, **options):
    """chmod, utime and the like: files here have no such property."""
    os_stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)


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


BY_NUMBER = ("stat", "truncate", "chdir", "listdir", "scandir", "chmod", "utime", "chown")
FUNCTIONS = {
    "listdir": list_names, "scandir": scandir, "mkdir": make_folder, "rmdir": remove_folder, "unlink": unlink,
    "remove": unlink, "rename": rename, "replace": rename, "stat": os_stat, "lstat": os_lstat, "readlink": read_link,
    "truncate": truncate, "getcwd": lambda: here, "getcwdb": lambda: here.encode(), "chdir": chdir, "fchdir": chdir,
    "access": may_access, "chmod": accepted, "chown": accepted, "utime": accepted,
}


def prepare():
    before = [(module, name, value) for module in (os, io) for name, value in vars(module).items() if callable(value)]
    for name, made in {**FUNCTIONS, **descriptors.FUNCTIONS}.items():
        if isinstance(made, types.FunctionType):
            made.__name__ = made.__qualname__ = name
            made.__module__ = "posix"
            # As functions in C, these are no methods where a class has them.
            made = staticmethod(made)
        setattr(os, name, made)
        setattr(posix, name, made)
    for name in ("link", "symlink"):  # no links are made
        delattr(os, name)
        delattr(posix, name)
        delattr(pathlib.Path, {"link": "hardlink_to", "symlink": "symlink_to"}[name])
    os.DirEntry = posix.DirEntry = DirEntry
    opened.prepare()
    os.supports_dir_fd = {os.open, os.stat, os.mkdir, os.unlink, os.rmdir, os.rename, os.access}
    os.supports_fd = {os.stat, os.listdir, os.scandir, os.chdir, os.truncate}
    os.supports_follow_symlinks = {os.stat}
    shutil._use_fd_functions = False
    glob._StringGlobber.scandir = os.scandir
    glob._StringGlobber.lstat = os.lstat
    put_everywhere({id(value): getattr(module, name) for module, name, value in before
                    if getattr(module, name, value) is not value})
    importlib._bootstrap_external._os = os
    tempfile.tempdir = "/"
