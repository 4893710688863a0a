"""Values on their way between code and the host: JSON in both directions."""
import base64
import collections.abc
import dataclasses
import datetime
import decimal
import enum
import fractions
import io
import json
import math
import pathlib
import re
import types
import uuid

from .names import camel, snake

DEEP = 200  # levels of a result that are followed


class Record(dict):
    """An object of the host: record['title'] and record.title are the same. A key that is
    also the name of a method of dict (items, keys, values ...) is reached by [...] alone."""

    __slots__ = ()

    def __getattr__(self, name):
        for key in (name, camel(name), snake(name)):
            if key in self:
                return self[key]
        raise AttributeError(
            f"it has no '{name}'; it has {', '.join(map(str, list(self)[:40])) or 'no keys'}",
            name=name, obj=self)

    def __missing__(self, key):
        error = KeyError(key)
        error.obj = self
        raise error

    def __setattr__(self, name, value):
        self[name] = value

    def __delattr__(self, name):
        try:
            del self[name]
        except KeyError:
            raise AttributeError(f"it has no '{name}'", name=name, obj=self) from None

    def __dir__(self):
        return [*super().__dir__(), *(k for k in self if isinstance(k, str))]

    def __await__(self):
        return self
        yield


class Rows(list):
    """A list of the host, which can be awaited as well."""

    __slots__ = ()

    def __await__(self):
        return self
        yield


def read(text):
    value = json.loads(text, object_pairs_hook=Record)
    return Rows(value) if type(value) is list else value


# ---- to JSON -----------------------------------------------------------------------

class Lost(Exception):
    """JSON has no word for it."""


class Later:
    """A value that answer() waits for."""


drained = {}  # id of an iterator that was written -> (it, what it gave or None, its error)


def drain(iterator):
    """What it gives, also when it is written again."""
    if id(iterator) not in drained:
        try:
            drained[id(iterator)] = (iterator, list(iterator), None)
        except Exception as error:
            drained[id(iterator)] = (iterator, None, error)
    _, given, error = drained[id(iterator)]
    if error is not None:
        raise error
    return given


def forget_drained(kept):
    while len(drained) > kept:
        drained.popitem()


def rows_of(value):
    """The rows of what is like a DataFrame or a Series; None: it is not."""
    to_dict = getattr(value, "to_dict", None)
    if callable(to_dict) and hasattr(value, "columns"):
        return to_dict("records")
    if callable(to_dict) and hasattr(value, "index"):
        return to_dict()
    to_list = getattr(value, "tolist", None)
    return to_list() if callable(to_list) else None


def simpler(value):
    """The value in terms of others, one step; docs/python.md says the rules."""
    if isinstance(value, Later):
        return value.answer()
    if isinstance(value, io.IOBase):
        raise Lost
    if isinstance(value, collections.abc.Iterator):
        return drain(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, (decimal.Decimal, fractions.Fraction, uuid.UUID, pathlib.PurePath, complex)):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, (set, frozenset)):
        try:
            return sorted(value)
        except TypeError:
            return list(value)
    if isinstance(value, BaseException):
        return {"name": type(value).__name__, "message": str(value)}
    if isinstance(value, re.Match):
        return value.group(0)
    if isinstance(value, re.Pattern):
        return value.pattern
    rows = rows_of(value)
    if rows is not None:
        return rows
    if isinstance(value, collections.abc.Mapping):
        return dict(value)
    if hasattr(value, "__attrs_attrs__"):
        return {a.name: getattr(value, a.name) for a in value.__attrs_attrs__}
    if type(value).__module__.startswith("bs4."):
        return str(value)
    if isinstance(value, (type, types.ModuleType, types.CoroutineType)) or callable(value):
        raise Lost
    if isinstance(value, collections.abc.Iterable):
        return list(value)
    members = getattr(value, "__dict__", None)
    slots = [n for c in reversed(type(value).__mro__) for n in words_of(vars(c).get("__slots__", ()))]
    if not isinstance(members, dict) and not slots:
        raise Lost
    members = {n: getattr(value, n) for n in slots if hasattr(value, n)} | (members or {})
    return {k: v for k, v in members.items() if not k.startswith("_")}


def words_of(slots):
    return (slots,) if isinstance(slots, str) else slots


def kind_of(value):
    """How the warning calls what was lost."""
    if isinstance(value, type):
        return "a class"
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        return "a function"
    return f"a {type(value).__name__}"


def key_of(key):
    if isinstance(key, str):
        return str.__str__(key)  # an Enum, too, is the text that it is made of
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, (int, float)):
        return (int if isinstance(key, int) else float).__repr__(key)
    try:
        value = simpler(key) if not isinstance(key, tuple) else key
    except Lost:
        return str(key)
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


class Writer:
    """The slow way, for values that json refuses, or that lose something."""

    def __init__(self):
        self.losses = {}
        self.open = set()

    def lose(self, what, path):
        entry = self.losses.setdefault(what, {"what": what, "path": path, "count": 0})
        entry["count"] += 1

    def plain(self, value, path=""):
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            if math.isfinite(value):
                return float(value)
            self.lose("NaN" if math.isnan(value) else "Infinity", path)
            return None
        if id(value) in self.open:
            raise ValueError(f"the value contains itself, at {path.lstrip('.') or 'its top'}")
        if len(self.open) >= DEEP:
            raise ValueError(f"the value is nested more than {DEEP} levels deep, at {path[:200].lstrip('.')}")
        self.open.add(id(value))
        try:
            if isinstance(value, dict):
                return {key_of(k): self.plain(v, f"{path}.{key_of(k)}") for k, v in value.items()}
            if isinstance(value, (list, tuple)):
                return [self.plain(v, f"{path}[{i}]") for i, v in enumerate(value)]
            try:
                return self.plain(simpler(value), path)
            except Lost:
                self.lose(kind_of(value), path)
                return None
        finally:
            self.open.discard(id(value))


def encode(text):
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


unfinished = {}  # containers that are being encoded
encode_parts = json.encoder.c_make_encoder(unfinished, simpler, json.encoder.encode_basestring, None, ":", ",", False,
                                           False, False)


def write_fast(value):
    """JSON as bytes; None where json refuses the value, or something would be lost."""
    try:
        return encode("".join(encode_parts(value, 0)))
    except (ValueError, TypeError, KeyError, RecursionError, Lost):
        unfinished.clear()  # a call within another one misses its entry, too: KeyError
        return None


def write(value):
    """(JSON as bytes, what was lost, as JSON or None)."""
    kept = len(drained)
    try:
        text = write_fast(value)
        if text is not None:
            return text, None
        writer = Writer()
        text = json.dumps(writer.plain(value), ensure_ascii=False, separators=(",", ":"))
        lost = json.dumps(list(writer.losses.values())).encode() if writer.losses else None
        return encode(text), lost
    finally:
        forget_drained(kept)


def write_arguments(name, values):
    """Arguments of a host call: nothing of them is lost without a word."""
    kept = len(drained)
    try:
        text = write_fast(values)
        if text is not None:
            return text
        writer = Writer()
        plain = writer.plain(values)
        if writer.losses:
            first = next(iter(writer.losses.values()))
            raise TypeError(f"{name}: an argument is or holds {first['what']}, which JSON has no word for")
        return encode(json.dumps(plain, ensure_ascii=False, separators=(",", ":")))
    finally:
        forget_drained(kept)


def prepare():
    """PyYAML writes the host's objects and lists as any others."""
    import yaml
    for representer in (yaml.representer.SafeRepresenter, yaml.representer.Representer):
        representer.add_representer(Record, representer.represent_dict)
        representer.add_representer(Rows, representer.represent_list)
