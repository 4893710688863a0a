"""Stubs of the custom functions that a question's code finds, made of their definitions: what calls are
held against. Types there are TypeScript's, whatever the function is written in."""
import ast
import keyword

from .names import camel, snake
from .typescript import Spelling, fields, split

SPACES = ("custom_functions", "customFunctions")
# What stubs of functions are made of: baked. An array of JSON is made of whatever can be gone through,
# but for a text, in which there are only texts; a number that was answered goes where an int or a float goes.
SHAPES, SHAPES_STUBS = "cloche_shapes", """
from typing import Any as Any, Iterator as Iterator, List as List, Literal as Literal, Mapping as Mapping
from typing import NoReturn as NoReturn, Protocol, TypeVar
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
class Array(Protocol[T_co]):
    def __contains__(self, value: object, /) -> bool: ...
    def __iter__(self) -> Iterator[T_co]: ...
class Map(dict[str, T]):
    def __getattr__(self, name: str) -> T: ...
class Number(int):
    def hex(self) -> str: ...
class Functions:
    def __getitem__(self, name: str) -> Any: ...
    def __iter__(self) -> Iterator[str]: ...
    def __contains__(self, name: object) -> bool: ...
"""
HEAD = f"from {SHAPES} import *\n"
# Names that mean a type in the stubs: a function of such a name stands in a class apart, where none is needed.
WORDS = set("Any Array Iterator List Literal Map Mapping Number OpenRecord Record bool bytes dict float object str".split())
TYPE_MAX = 500  # characters of a type, which may hold another one twice


class Bounded(Spelling):
    def of(self, text):
        made = super().of(text)
        return made if len(made) <= TYPE_MAX else "Any"


class Given(Bounded):
    """Types of arguments: what JSON makes the same of is accepted."""

    plain = Spelling.plain | {"object": "Mapping[str, Any] | Array[Any]", "Date": "Any", "Uint8Array": "Any",
                              "ArrayBuffer": "Any", "undefined": "None"}

    def list_of(self, kind):
        return f"Array[{kind}] | Iterator[{kind}]"

    def map_of(self, kind):
        return f"Mapping[str, {kind}]"

    def object_of(self, text):
        return "Mapping[str, Any]"

    def other(self, text):
        return f"{text} | Mapping[str, Any]" if text in self.known else super().other(text)


class Answered(Bounded):
    """Types of answers. An object's type becomes a class."""

    plain = Spelling.plain | {"number": "Number", "object": "OpenRecord", "Date": "Any", "Uint8Array": "Any", "ArrayBuffer": "Any"}

    def __init__(self, known, name):
        super().__init__(known)
        self.name = name
        self.classes = []

    # list[int] and list[float] are both what numbers go to, and neither goes where the other does.
    def list_of(self, kind):
        return f"List[{'Any' if kind == 'Number' else kind}]"

    def map_of(self, kind):
        return f"Map[{'Any' if kind == 'Number' else kind}]"

    def object_of(self, text):
        members = fields(text)
        if not members or len(members) < len(split(text.strip()[1:-1], ";,\n")):
            return "OpenRecord"
        number, lines = len(self.classes), []
        name = f"{self.name}{number + 1 if number else ''}"
        self.classes.append("")
        for member, optional, kind in members:
            told = self.of(kind) + " | None" * optional
            lines += [f"    {one}: {told}" for one in dict.fromkeys((member, snake(member), camel(member)))
                      if not keyword.iskeyword(one)]
        self.classes[number] = "\n".join([f"class {name}(Record):", *lines, ""])
        return name


def parameters_of(function, known):
    spelling, out, seen, may_be_left_out = Given(known), ["self"], {"self"}, False
    for p in function["parameters"]:
        name = snake(p["name"])
        name += "_" * (keyword.iskeyword(name) or name in seen)
        seen.add(name)
        if p.get("rest"):
            kind = p["type"].strip()
            out.append(f"*{name}: {spelling.of(kind[:-2]) if kind.endswith('[]') else 'Any'}")
            continue
        # Behind one that may be left out, all may: they are given by their names.
        may_be_left_out = may_be_left_out or bool(p.get("optional")) or "default" in p
        out.append(f"{name}: {spelling.of(p['type'])}{' = ...' if may_be_left_out else ''}")
    return ", ".join(out)


def stub_of(function, known):
    """(classes, methods) of one: a method for each spelling of its name."""
    name = function["name"]
    answered = Answered(known, camel(f"_{snake(name)}_result"))
    returns = answered.of(function["returns"] or "any")
    spelt = [name, snake(name)] if camel(snake(name)) == name else [name]
    rest = f"({parameters_of(function, known)}) -> {returns}: ...\n"
    return "".join(answered.classes), "".join(f"    def {one}{rest}" for one in dict.fromkeys(spelt))


def shapes(known):
    """The module SHAPES: `known` are the API's classes."""
    names = ", ".join(f"{name} as {name}" for name in sorted(known))
    return f"from cloche import {names}\n{SHAPES_STUBS}"


def text_of(functions, known):
    """The stubs of these, as a module; None: nothing is known of them, and any call is right."""
    classes, methods, apart = [], [], []
    for function in functions or ():
        name = function["name"]
        if not name.isidentifier() or keyword.iskeyword(name):
            continue
        if {name, snake(name)} & (WORDS | known):
            apart.append(f"    def {name}(self, *args, **options): ...\n")
            continue
        try:
            made, method = stub_of(function, known)
            ast.parse(f"{made}class _:\n{method}")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            made, method = "", f"    {name}: Any\n"
        classes.append(made)
        methods.append(method)
    kind, own = "Any", ""
    if functions is not None:
        kind = "CustomFunctions"
        own = "".join([*classes, "class Apart(Functions):\n    ...\n", *apart, f"class {kind}(Apart):\n    ...\n", *methods])
    return "".join([HEAD, own, *(f"{name}: {kind}\n" for name in SPACES)])
