"""cloche.pyi: the API as type stubs, from the same table (make reference)."""
import keyword
import re

from . import api
from .names import camel, snake

PLAIN = {"string": "str", "number": "float", "boolean": "bool", "null": "None", "void": "None", "undefined": "None",
         "any": "Any", "unknown": "Any", "object": "dict[str, Any]", "Uint8Array": "bytes", "ArrayBuffer": "bytes",
         "Date": "datetime.datetime", "never": "NoReturn"}
CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
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


def split(text, mark):
    """The parts between marks that are in no brackets or quotes."""
    parts, depth, start, quote = [], 0, 0, None
    for i, c in enumerate(text):
        if quote:
            quote = None if c == quote else quote
        elif c in "'\"`":
            quote = c
        elif c in "([{<":
            depth += 1
        elif c in ")]}" or c == ">" and text[i - 1:i] != "=":
            depth -= 1
        elif c in mark and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in [*parts, text[start:]] if p.strip()]


def named():
    return {t["type"] for t in api.types}


def type_of(text):
    text = text.strip().rstrip(";")
    parts = split(text, "|")
    if len(parts) > 1:
        made = list(dict.fromkeys(type_of(p) for p in parts))
        return "Any" if "Any" in made else " | ".join(made)
    if text in PLAIN:
        return PLAIN[text]
    if text.endswith("[]"):
        return f"list[{type_of(text[:-2])}]"
    generic = re.fullmatch(r"(\w+)<(.*)>", text, re.S)
    if generic:
        name, inside = generic.groups()
        parts = split(inside, ",")
        if name == "Promise":
            return type_of(inside)
        if name in ("Array", "ReadonlyArray"):
            return f"list[{type_of(inside)}]"
        if name == "Record":
            return f"dict[str, {type_of(parts[-1])}]"
        return "Any"
    if text.startswith("(") and text.endswith(")"):
        return type_of(text[1:-1])
    if text.startswith("'") and text.endswith("'"):
        return f"Literal[{text}]"
    if text in ("true", "false"):
        return f"Literal[{text.capitalize()}]"
    if text.startswith("{"):
        return "dict[str, Any]"
    return text if text in named() else "Any"


def members(definition):
    inside = definition.strip()
    if not (inside.startswith("{") and inside.endswith("}")):
        return []
    out = []
    for part in split(inside[1:-1], ";,\n"):
        found = re.fullmatch(r"(?:readonly )?([A-Za-z_]\w*)(\??):\s*(.*)", part, re.S)
        if found:
            name, optional, kind = found.groups()
            out.append((name, type_of(kind) + (" | None" if optional else "")))
    return out


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
        fields = members(t["definition"])
        if not t["definition"].strip().startswith("{"):
            out.append(f"{t['type']} = {type_of(t['definition'])}\n" if "\n" not in t["definition"] else f"{t['type']} = Any\n")
            continue
        out.append(f"class {t['type']}(Record):")
        out += [f"    {name}: {kind}" for name, kind in fields if not name.isdigit() and not keyword.iskeyword(name)] or ["    ..."]
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
