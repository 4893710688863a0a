"""cloche.pyi: the API as type stubs, from the same table (make reference)."""
import inspect
import keyword
import re

from . import api
from .names import camel, snake
from .typescript import Spelling, fields, split

HEAD = '''"""Stubs of the API that Python code has in an evaluation (docs/python.md).

Made of the table of host calls by `make reference`; do not edit.
"""
import datetime
from typing import Any, Callable, List, Literal, NoReturn, overload

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


def spelt(name):
    """As Python writes it, where that leads back to the name."""
    return snake(name) if camel(snake(name)) == name else name


def is_object(definition):
    return definition.strip().startswith("{")


def members(definition):
    return [(spelt(name), type_of(kind) + " | None" * optional) for name, optional, kind in fields(definition)]


def methods(definition):
    """Members that are functions without parameters: (name, type of their answer)."""
    found = [re.fullmatch(r"(\w+)\(\): (.*)", part) for part in split(definition.strip()[1:-1], ";,\n")]
    return [(spelt(one[1]), type_of(one[2])) for one in found if one]


def type_taken(kind, function):
    """Of an argument: a dict goes for an object of the API, and a list for a tool's options."""
    told = type_of(kind)
    if told not in {t["type"] for t in api.types if is_object(t["definition"])}:
        return told
    return f"{told} | dict[str, Any]" + " | List[Any]" * function.told["family"]


def own_keywords(function):
    """What a call takes by name beside the options that the host knows: fetch(url, json={})."""
    prepared = inspect.signature(function.prepare).parameters.values() if function.prepare else ()
    return [f"{p.name}: Any = ..." for p in prepared if p.kind is p.KEYWORD_ONLY]


def parameters_of(function, overload, is_method):
    out, keywords = ["self"] if is_method else [], own_keywords(function)
    for p in overload["parameters"]:
        name = p["name"].lstrip(".")
        name += "_" * keyword.iskeyword(snake(name))
        if p["name"].startswith("..."):
            out.append(f"*{snake(name)}: Any")
            continue
        out.append(f"{snake(name)}: {type_taken(p['type'], function)}" + (" = ..." if p["optional"] or p.get("keys") else ""))
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


def key_of(name, optional, kind):
    return f"{snake(name)}: {type_of(kind)}{' = ...' * optional}"


def forms_of(function, overloads):
    """(parameters, answer) of each, told apart by its options: given by name, as one text, or as a dict, of which
    nothing is known."""
    out = []
    for one in overloads:
        *first, last = one["parameters"]
        if not last.get("keys"):
            first, last = one["parameters"], None
        plain = parameters_of(function, {"parameters": first}, True)
        kinds = split(last["type"], "|") if last else []
        keys = [key_of(*key) for kind in kinds for key in fields(kind)]
        out.append((f"{plain}, *, {', '.join(keys)}" if keys else plain, type_of(one["returns"])))
        if "string" in kinds:
            out.append((f"{plain}, {snake(last['name'])}: str", type_of(one["returns"])))
    return [*out, (f"{plain}, given: dict[str, Any]", "Any")]


def takes_options_alone(overload):
    parameters = overload["parameters"]
    return len(parameters) == 1 and "{" in parameters[0]["type"]


def signatures(function, is_method):
    """(parameters, answer) of each form in which it is called."""
    first, *others = overloads = function.told.get("overloads") or [{"parameters": [], "returns": "any"}]
    if len({one["returns"] for one in overloads}) > 1:
        return forms_of(function, overloads)
    answer = type_of(first["returns"])
    forms = [(parameters_of(function, first, is_method), answer)]
    if not takes_options_alone(first) and any(map(takes_options_alone, others)):
        forms.append(("self, given: dict[str, Any]", answer))
    return forms


def method(name, function, is_method, indent):
    forms = signatures(function, is_method)
    lines, about = [], f'"""{(function.__doc__ or "").strip()}"""'
    for parameters, answer in forms:
        lines += [f"{indent}@overload"] * (len(forms) > 1)
        lines += [f"{indent}def {snake(name)}({parameters}) -> {answer}:", f"{indent}    {about}"]
        about = "..."
    return lines


def any_member(functions):
    """A space that has more than these: tools.jq is a call as well."""
    answer = type_of(functions[0][1].told["overloads"][0]["returns"])
    return [f"    def {name}(self, name: str) -> Callable[..., {answer}]: ..." for name in ("__getattr__", "__getitem__")]


def text():
    out = [HEAD]
    for t in api.types:
        parts = members(t["definition"])
        if not is_object(t["definition"]):
            out.append(f"{t['type']} = {type_of(t['definition'])}\n" if "\n" not in t["definition"] else f"{t['type']} = Any\n")
            continue
        out.append(f"class {t['type']}(Record):")
        own = [f"    {name}: {kind}" for name, kind in parts if not name.isdigit() and not keyword.iskeyword(name)]
        own += [f"    def {name}(self) -> {kind}:\n        ..." for name, kind in methods(t["definition"])]
        out += [*(own or ["    ..."]), ""]
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
        if functions[0][1].told["family"]:
            out += any_member(functions)
        out += ["", f"{snake(space)}: _{space[:1].upper()}{space[1:]}", ""]
    out += [f"class {name}(HostCallError): ..." for name in sorted(api.calls.errors) if name != "HostCallError"]
    # A class that has a method list() means that by the name.
    return re.sub(r"\blist\[", "List[", "\n".join(out)) + "\n"
