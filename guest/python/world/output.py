"""What code writes: print, logging and warnings become the logs of the evaluation."""
import builtins
import codecs
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
    mode = "w"

    def __init__(self, level, number):
        self.level = level
        self.number = number
        self.name = ("<stdout>", "<stderr>")[number - 1]
        self.text = ""
        self.decoder = None

    def writable(self):
        return True

    def isatty(self):
        return False

    def fileno(self):
        return self.number

    def reconfigure(self, **options):
        """It is UTF-8, whatever is asked for."""

    @property
    def buffer(self):
        return Bytes(self)

    def detach(self):
        return self.buffer

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
        output, data = self.output, bytes(data)
        output.decoder = output.decoder or codecs.getincrementaldecoder("utf-8")("replace")
        output.write(output.decoder.decode(data))
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


def is_of_logs(handler):
    """Is this what the logs of the call are, by another way?"""
    return type(handler) is logging.StreamHandler and isinstance(handler.stream, Output)


def handlers_asked(filename, filemode, encoding, errors, stream, handlers):
    """Those that basicConfig() adds; a file counts only where the call has files."""
    if handlers is not None:
        return [h for h in handlers if not is_of_logs(h)]
    if filename is not None:
        with contextlib.suppress(PermissionError):
            return [logging.FileHandler(filename, filemode, encoding, errors=errors)]
    return [] if stream is None or isinstance(stream, Output) else [logging.StreamHandler(stream)]


def basic_config(*, level=None, format=None, datefmt=None, style="%", filename=None, filemode="a", encoding=None,
                 errors="backslashreplace", stream=None, handlers=None, force=False, **unknown):
    """logging.basicConfig(): as it is, but that the call's own logs are written to in each case."""
    if unknown:
        raise ValueError(f"Unrecognised argument(s): {', '.join(unknown)}")
    if sum(one is not None for one in (filename, stream, handlers)) > 1:
        raise ValueError("'filename', 'stream' and 'handlers' should not be specified together")
    root = logging.getLogger()
    others = [h for h in root.handlers if not isinstance(h, Handler)]
    if others and not force:
        return
    for handler in others:
        root.removeHandler(handler)
        handler.close()
    if not root.handlers:
        root.addHandler(Handler())
    formatter = logging.Formatter(format or logging._STYLES.get(style, ("", ""))[1], datefmt, style)
    told = [h.formatter for h in handlers or () if is_of_logs(h) and h.formatter]
    if told or format is not None or datefmt is not None:
        root.handlers[0].setFormatter(told[0] if told else formatter)
    for handler in handlers_asked(filename, filemode, encoding, errors, stream, handlers):
        if handler.formatter is None:
            handler.setFormatter(formatter)
        root.addHandler(handler)
    if level is not None:
        root.setLevel(level)


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


streams = Output(LOG, 1), Output(ERROR, 2)


def prepare():
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = streams
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
    """What was written and not ended by a line's end, also to what code has put over a standard stream."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name, None)
        if stream is not None and not isinstance(stream, Output):
            with contextlib.suppress(Exception):
                stream.flush()
    for stream in streams:
        if stream.decoder is not None:
            stream.text += stream.decoder.decode(b"", True)
        if stream.text:
            stream.put(stream.text)
