"""What code writes: print, logging and warnings become the logs of the evaluation."""
import builtins
import contextlib
import io
import logging
import sys
import warnings

import _cloche

from . import calls

LOG, INFO, WARN, ERROR, DEBUG = range(5)


def tell(level, text):
    """An entry of a level by its name, as the host names them."""
    _cloche.log({"info": INFO, "warn": WARN, "error": ERROR, "debug": DEBUG}.get(level, LOG), text)


class Output(io.TextIOBase):
    """A standard stream: what is written up to the end of a line is an entry."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, level, number):
        self.level = level
        self.number = number
        self.text = ""

    def writable(self):
        return True

    def isatty(self):
        return False

    def fileno(self):
        return self.number

    @property
    def buffer(self):
        return Bytes(self)

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self.text += text
        if self.text.endswith("\n"):
            self.put(self.text[:-1])
        return len(text)

    def put(self, text):
        self.text = ""
        _cloche.log(self.level, text.encode("utf-8", "replace").decode())


class Bytes(io.RawIOBase):
    def __init__(self, output):
        self.output = output

    def writable(self):
        return True

    def write(self, data):
        self.output.write(bytes(data).decode("utf-8", "replace"))
        return len(data)


class Handler(logging.Handler):
    def emit(self, record):
        level = (ERROR if record.levelno >= logging.ERROR else WARN if record.levelno >= logging.WARNING
                 else INFO if record.levelno >= logging.INFO else DEBUG)
        try:
            _cloche.log(level, self.format(record).encode("utf-8", "replace").decode())
        except RecursionError:
            raise
        except Exception:
            self.handleError(record)


def basic_config(*, level=None, format=None, datefmt=None, style="%", filename=None, filemode="a", encoding=None,
                 handlers=(), **ignored):
    """logging.basicConfig(): logs go to the call's own, and to a file that is named where the call has files."""
    root = logging.getLogger()
    files = [h for h in handlers or () if isinstance(h, logging.FileHandler)]
    if filename is not None:
        with contextlib.suppress(PermissionError):
            files.append(logging.FileHandler(filename, filemode, encoding))
    for handler in files:
        if handler.formatter is None:
            handler.setFormatter(logging.Formatter(format or logging.BASIC_FORMAT, datefmt, style))
        root.addHandler(handler)
    if level is not None:
        root.setLevel(level)
    if format is not None:
        root.handlers[0].setFormatter(logging.Formatter(format, datefmt, style))


def show_warning(message, category, filename, lineno, file=None, line=None):
    where = f" (line {lineno})" if filename in calls.files else ""
    _cloche.log(WARN, f"{category.__name__}: {message}{where}")


def read_line(prompt="", /):
    """input(): nobody can be asked, unless code has put another stream in the place of standard input."""
    for name in ("stdin", "stdout"):
        if getattr(sys, name, None) is None:
            raise RuntimeError(f"input(): lost sys.{name}")
    if sys.stdin is sys.__stdin__:
        raise EOFError("nobody can be asked: there is no input")
    sys.stdout.write(str(prompt))
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    line = sys.stdin.readline()
    if not isinstance(line, str):
        raise TypeError("object.readline() returned non-string")
    if not line:
        raise EOFError("EOF when reading a line")
    return line.removesuffix("\n")


def prepare():
    sys.stdout = sys.__stdout__ = Output(LOG, 1)
    sys.stderr = sys.__stderr__ = Output(ERROR, 2)
    sys.stdin = sys.__stdin__ = io.StringIO("")
    root = logging.getLogger()
    root.handlers[:] = [Handler()]
    root.setLevel(logging.INFO)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    logging.basicConfig = basic_config
    warnings.showwarning = show_warning
    read_line.__name__ = read_line.__qualname__ = "input"
    builtins.input = read_line
    for name in ("exit", "quit"):
        setattr(builtins, name, sys.exit)


def finish():
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        if isinstance(stream, Output) and stream.text:
            stream.put(stream.text)
