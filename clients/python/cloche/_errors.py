"""Errors by name: those of the server (docs/api.md) and of this package."""
from __future__ import annotations

import re
from typing import Any


class ClocheError(Exception):
    """`name` is the error's name: NotFound, PermissionDenied, Timeout, ... `result` is what there was until
    then, such as the output of a command that was out of time."""

    def __init__(self, message: str, name: str | None = None, details: Any = None,
                 result: Any = None) -> None:
        super().__init__(message)
        self.name = name or type(self).__name__
        self.details = details
        self.result = result


class ProgramNotFound(ClocheError):
    """There is no program `cloche`."""


class ImageNotFound(ClocheError):
    """There is no machine image where one was named."""


class NotStarted(ClocheError):
    """The machine is not running."""


class OutputTooLarge(ClocheError):
    """There was more output than is kept."""


class FileError(ClocheError):
    """A file in the machine could not be read or written."""


class Disconnected(ClocheError):
    """The process of Cloche ended."""


class ProtocolError(ClocheError):
    """The server's answer to a request was an error of the protocol."""


class Timeout(ClocheError):
    """It was out of time."""


_CLASSES = {c.__name__: c for c in (OutputTooLarge, Timeout)}


def error_named(name: str, message: str, details: Any = None, result: Any = None) -> ClocheError:
    return _CLASSES.get(name, ClocheError)(message, name, details, result)


def error_of_text(text: str) -> ClocheError:
    """Of a call that was refused: "NotFound: there is no ..."."""
    found = re.match(r"([A-Z][A-Za-z]+): (.*)", text, re.S)
    return error_named(found[1], found[2]) if found else ClocheError(text)


def error_of_answer(answer: dict[str, Any], result: Any) -> ClocheError:
    details = answer.get("errorDetails") or {}
    message = answer.get("error") or details.get("message") or "it failed"
    return error_named(details.get("type", "ClocheError"), str(message), details, result)
