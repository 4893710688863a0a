"""open() and io.FileIO, as CPython has them in Python, over the descriptors of this world.

Buffers and text are those of C. What is written and not closed reaches the host at the end of the
evaluation, as at the end of a program.
"""
import _io
import _pyio
import builtins
import io
import os
import types
import weakref

from . import descriptors


def over(function, names):
    """The function, with other values of some global names."""
    made = types.FunctionType(function.__code__, {**vars(_pyio), **names}, function.__name__, function.__defaults__,
                              function.__closure__)
    made.__kwdefaults__, made.__doc__ = function.__kwdefaults__, function.__doc__
    return made


class FileIO(_pyio.FileIO):
    __doc__ = io.FileIO.__doc__


written = weakref.WeakSet()  # files that may hold what was written to them


def kept(opens):
    """open(), whose files are flushed at the end."""
    def open(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
        made = opens(file, mode, buffering, encoding, errors, newline, closefd, opener)
        if not isinstance(made, (FileIO, io.BufferedReader)) and made.writable():
            written.add(made)
        return made

    open.__doc__ = opens.__doc__
    return open


def flush():
    for file in list(written):
        if not file.closed:
            file.flush()


def prepare():
    """After the functions of os are this world's."""
    quick = types.SimpleNamespace(**{**vars(os), "fstat": descriptors.quick_stat})
    for name in ("__init__", "readall"):
        setattr(FileIO, name, over(getattr(_pyio.FileIO, name), {"os": quick}))
    FileIO.__module__ = "_io"
    FileIO.__qualname__ = "FileIO"
    opens = over(_pyio.open.__func__ if isinstance(_pyio.open, staticmethod) else _pyio.open,
                 {"FileIO": FileIO, "BufferedReader": io.BufferedReader, "BufferedWriter": io.BufferedWriter,
                  "BufferedRandom": io.BufferedRandom, "TextIOWrapper": io.TextIOWrapper,
                  "text_encoding": io.text_encoding})
    opens = kept(opens)
    opens.__module__ = "_io"
    io.FileIO = _io.FileIO = FileIO
    # As a function in C, it is no method where a class has it.
    builtins.open = io.open = _io.open = staticmethod(opens)
    io.open_code = _io.open_code = lambda path: opens(path, "rb")
