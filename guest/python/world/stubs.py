"""cloche.pyi: the API as type stubs, from the same table (make reference)."""
import keyword
import re

from . import api
from .names import camel, snake
from .typescript import Spelling, fields

HEAD = '''"""Stubs of the API that Python code has in an evaluation (docs/python.md).

Made of the table of host calls by `make reference`; do not edit.
"""
import datetime
from typing import Any, List, Literal, NoReturn

class Record(dict[str, Any]):
    def __getattr__(self, name: str) -> Any: ...

class HostCallError(Exception):
    name: str
    code: str | None
    message: str
    retry: bool

custom_functions: Any
context: Record

'''


def type_of(text):
    return Spelling({t["type"] for t in api.types}).of(text)


def members(definition):
    return [(name, type_of(kind) + " | None" * optional) for name, optional, kind in fields(definition)]


def parameters_of(overload, is_method):
    out, keywords = ["self"] if is_method else [], []
    for p in overload["parameters"]:
        name = p["name"].lstrip(".")
        name += "_" * keyword.iskeyword(snake(name))
        if p["name"].startswith("..."):
            out.append(f"*{snake(name)}: Any")
            continue
        out.append(f"{snake(name)}: {type_of(p['type'])}" + (" = ..." if p["optional"] or p.get("keys") else ""))
        keywords += [f"{snake(k)}: Any = ..." for k in p.get("keys", []) if snake(k) != snake(name) and k.isidentifier() and not keyword.iskeyword(k)]
    seen = {o.partition(":")[0] for o in out}
    keywords = [k for k in dict.fromkeys(keywords) if k.partition(":")[0] not in seen]
    return ", ".join([*out, *(["*"] if keywords and not any(o.startswith("*") for o in out) else []), *keywords])


def form(function):
    """A call in one line, without types."""
    if not function.overloads or function.prepare:
        return ""
    out = []
    for p in max(function.overloads, key=lambda o: sum(len(p.keys) for p in o)):
        keys = [snake(k) for k in p.keys if k == camel(k) or camel(k) not in p.keys]
        out += [f"{k}=..." for k in dict.fromkeys(keys)] or [p.name if p.rest else snake(p.name)]
    space, _, name = function.name.rpartition(".")
    return f"{snake(space)}{'.' * bool(space)}{snake(name)}({', '.join(dict.fromkeys(out))})"


def method(name, function, is_method, indent):
    overload = (function.told.get("overloads") or [{"parameters": [], "returns": "any"}])[0]
    lines = [f"{indent}def {snake(name)}({parameters_of(overload, is_method)}) -> {type_of(overload['returns'])}:"]
    lines.append(f'{indent}    """{(function.__doc__ or "").strip()}"""')
    return lines


def text():
    out = [HEAD]
    for t in api.types:
        parts = members(t["definition"])
        if not t["definition"].strip().startswith("{"):
            out.append(f"{t['type']} = {type_of(t['definition'])}\n" if "\n" not in t["definition"] else f"{t['type']} = Any\n")
            continue
        out.append(f"class {t['type']}(Record):")
        out += [f"    {name}: {kind}" for name, kind in parts if not name.isdigit() and not keyword.iskeyword(name)] or ["    ..."]
        out.append("")
    spaces = {}
    for function in api.rows:
        if function.told["hidden"]:
            continue
        space, dot, name = function.name.partition(".")
        if not dot:
            out += [*method(space, function, False, ""), ""]
        else:
            spaces.setdefault(space, []).append((name, function))
    for space, functions in spaces.items():
        out.append(f"class _{space[:1].upper()}{space[1:]}:")
        for name, function in functions:
            out += method(name, function, True, "    ")
        out += ["", f"{snake(space)}: _{space[:1].upper()}{space[1:]}", ""]
    out += [f"class {name}(HostCallError): ..." for name in sorted(api.calls.errors) if name != "HostCallError"]
    # A class that has a method list() means that by the name.
    return re.sub(r"\blist\[", "List[", "\n".join(out)) + "\n"
