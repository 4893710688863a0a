"""What an error's message says beside Python's own words: what to do instead."""
import ast
import datetime
import inspect
import linecache
import pathlib
import re
import types

from . import api, calls, library, values

OF_JAVASCRIPT = {"console": "print() writes to the log", "JSON": "the module json has dumps() and loads()",
                 "null": "it is None in Python", "undefined": "it is None in Python", "true": "it is True in Python",
                 "false": "it is False in Python", "Object": "a dict has keys(), values() and items()",
                 "Math": "the module math has it", "Date": "the module datetime has it"}
OF_ARRAYS = {"length": "len(list) is its length", "filter": "[x for x in list if ...] filters it",
             "map": "[f(x) for x in list] maps it", "push": "append() appends to it", "forEach": "for x in list: goes through it",
             "find": "next((x for x in list if ...), None) finds one", "some": "any(... for x in list) tells that",
             "join": "', '.join(list) joins it", "slice": "list[start:end] is a part of it", "includes": "x in list tells that"}
OF_STRINGS = {"length": "len(text) is its length", "toUpperCase": "upper() does it", "toLowerCase": "lower() does it",
              "trim": "strip() does it", "includes": "x in text tells that", "startsWith": "startswith() tells that",
              "endsWith": "endswith() tells that", "replaceAll": "replace() replaces all", "padStart": "rjust() does it",
              "padEnd": "ljust() does it", "substring": "text[start:end] is a part of it", "slice": "text[start:end] is a part of it",
              "charAt": "text[i] is a character", "indexOf": "find() answers -1 where there is none",
              "match": "the module re has search(), match() and findall()", "test": "re.search(pattern, text) tells that"}
OF_DICTS = {"length": "len(d) is its length", "size": "len(d) is its length", "has_key": "key in d tells that", "has": "key in d tells that",
            "hasOwnProperty": "key in d tells that", "entries": "items() has its pairs", "iteritems": "items() has its pairs",
            "iterkeys": "keys() has its keys", "itervalues": "values() has its values", "forEach": "for key, value in d.items(): goes through it",
            "map": "{k: f(v) for k, v in d.items()} maps it", "filter": "{k: v for k, v in d.items() if ...} filters it",
            "set": "d[key] = value sets one", "add": "d[key] = value sets one", "append": "d[key] = value sets one",
            "push": "d[key] = value sets one", "delete": "del d[key] removes one", "remove": "del d[key] removes one"}
OF_SETS = {"append": "add() adds to it", "push": "add() adds to it", "extend": "update() adds all of a list", "has": "x in s tells that",
           "includes": "x in s tells that", "contains": "x in s tells that", "length": "len(s) is its length", "size": "len(s) is its length",
           "delete": "discard() removes one", "sort": "sorted(s) is a list of it, in order"}
OF_NUMBERS = {"toFixed": "f'{x:.2f}' has two places, and round(x, 2) too", "toString": "str(x) is its text", "toLocaleString": "f'{x:,}' is its text",
              "length": "a number has no length: len(str(x)) is that of its digits"}
OF_MODULES = {"json.parse": "json.loads() does it", "json.stringify": "json.dumps() does it", "re.test": "re.search(pattern, text) tells that",
              "re.exec": "re.search(pattern, text) does it", "datetime.now": "datetime.datetime.now() does it",
              "datetime.today": "datetime.date.today() does it", "datetime.strptime": "datetime.datetime.strptime() does it",
              "datetime.fromisoformat": "datetime.datetime.fromisoformat() does it", "time.now": "time.time() does it",
              "math.round": "round() is there without a module", "math.abs": "abs() is there without a module",
              "math.max": "max() is there without a module", "math.min": "min() is there without a module",
              "math.random": "random.random() does it", "string.join": "', '.join(list) joins it", "string.upper": "text.upper() does it"}
OF_PATHS = {name for name in dir(pathlib.Path) if not name.startswith("_")}
OF_DATES = set("year month day hour minute second weekday isoweekday isocalendar isoformat strftime date time timestamp toordinal".split())
FOUND = {"group", "groups", "groupdict", "start", "end", "span", "string", "lastindex"}  # of what re finds
NOTHING = ". It is None: notes.get() answers None where there is no such note, re.search() and re.match() where nothing matches"
# Calls that may answer None, and those of lists, dicts and sets that always do.
MAYBE_NOTHING = {"get", "search", "match", "fullmatch"}
ALWAYS_NOTHING = {"append", "extend", "insert", "remove", "clear", "update", "add", "discard", "sort", "reverse"}
INSTEAD = {"sort": "; sorted(list) is a list in order", "reverse": "; list[::-1] is a list in reverse order"}
KEYS_SHOWN = 400
NOT_FOUND = ". It is None: nothing matched"
A_FUNCTION = ". It is a function: its answer is there after a call, f(...)"
UNAWAITED = ". A coroutine has no value before it is awaited: await f()"
OF_SYNTAX = [(re.compile(pattern), words) for pattern, words in (
    (r"^\s*(const|let|var)\s", "a variable is assigned without a word before it: x = 1"),
    (r"^\s*(async\s+)?function\b", "a function begins with def f(x): and its lines are indented"),
    (r"=>", "a short function is lambda x: x + 1"),
    (r"^\s*[!%]", "commands of a shell or a notebook are not Python, and there is no pip: vm.exec() runs commands in the Linux machine"),
    (r"&&|\|\|", "these are and, or"), (r"(^|[^=!<>])!(?!=)", "this is not"), (r"\+\+|--\s*$", "this is x += 1"),
    (r"^\s*```", "code stands without the fences of Markdown"), (r"`", "text with values in it is f'{x}'"), (r"[{]\s*$", "blocks begin with ':' and are indented, without braces"),
    (r"===|!==", "these are ==, !="), (r"\bnew\s+\w", "an object is made without new: Name()"))]
FILES = ". The argument enableFileSystem of the call provides files, where the policy allows it"
NETWORK = ". The argument enableNetwork of the call provides it, for hosts that the policy allows"
LOOP_RUNS = ". Code that awaits runs in an event loop already: await main() takes the place of asyncio.run(main())"
OUTSIDE = ". There are no processes and threads here: tools.run() runs a command-line tool, vm.exec() a command in the Linux machine"


def advice_on_text(name):
    """Of a text that is taken for something else."""
    if name in OF_STRINGS:
        return f". {OF_STRINGS[name]}"
    if name in OF_PATHS:
        return f". It is a text: pathlib.Path(text).{name} is there"
    if name in OF_DATES:
        return f". It is a text: datetime.datetime.fromisoformat(text).{name} is there"
    if name == "decode":
        return ". It is a text, and decoded"
    if name in ("append", "push", "add", "extend", "concat"):
        return ". A text is never changed: text + more is a new one"
    if name in ("keys", "values", "items", "get", "json"):
        return ". It is a text: json.loads(text) reads one that is JSON"
    return ""


def advice_on_list(name, thing):
    if name in OF_ARRAYS:
        return f". {OF_ARRAYS[name]}"
    if name == "sorted":
        return ". sorted(list) is a new one in order, and list.sort() sorts it where it is"
    first = thing[0] if thing else None
    if isinstance(first, dict) and name in first or isinstance(first, str) and hasattr(str, name) and name != "title":
        return f". It is a list of {len(thing)}: [x.{name}{'()' * isinstance(first, str)} for x in list] goes through it"
    return f". It is a list of {len(thing)}: list[0] is its first, len(list) its length"


def advice_on_dict(name, thing):
    if name in thing:
        return f". The values of a dict are reached by their keys: d[{name!r}]"
    if name in OF_DICTS:
        return f". {OF_DICTS[name]}"
    return f". Its keys are {', '.join(map(repr, list(thing)[:20]))[:KEYS_SHOWN]}" if thing else ". It is a dict without keys"


def advice_on_attribute(error):
    name, thing = error.name, error.obj
    if not isinstance(name, str):
        return ""
    if isinstance(thing, list):
        return advice_on_list(name, thing)
    if isinstance(thing, str):
        return advice_on_text(name)
    if isinstance(thing, values.Record):
        is_row = name in ("content", "metadata", "body", "text", "markdown") and "content" not in thing and "id" in thing
        return ". A row of a list has no content: notes.get(row.id) answers the whole note" if is_row else ""
    if isinstance(thing, dict):
        return advice_on_dict(name, thing)
    if thing is None:
        return NOT_FOUND if name in FOUND else advice_on_none(error)
    if inspect.iscoroutine(thing):
        return UNAWAITED
    if isinstance(thing, (set, frozenset)):
        return f". {OF_SETS[name]}" if name in OF_SETS else ""
    if isinstance(thing, tuple) and name in ("append", "push", "extend", "sort", "remove", "insert", "pop"):
        return ". A tuple is never changed: list(t) is a list of it"
    if isinstance(thing, (int, float)):
        return f". {OF_NUMBERS[name]}" if name in OF_NUMBERS else ""
    if isinstance(thing, pathlib.PurePath) and hasattr(str, name):
        return f". It is a path: str(path).{name} is there"
    if isinstance(thing, (datetime.date, datetime.time)) and hasattr(str, name):
        return f". It is no text: value.isoformat().{name} is there"
    if isinstance(thing, types.ModuleType):
        told = OF_MODULES.get(f"{thing.__name__}.{name}")
        is_process = thing.__name__ == "os" and name in ("system", "popen", "fork")
        return f". {told}" if told else OUTSIDE if is_process else ""
    return A_FUNCTION if isinstance(thing, (types.FunctionType, types.BuiltinFunctionType, api.Function)) else ""


def is_general(more):
    """Does it say what the thing is, and not what the attribute was meant to be?"""
    return more.startswith((". Its keys are ", ". It is a dict without")) or more.endswith("len(list) its length")


def advice_on_call(error):
    if error.name == "PermissionDenied" and "not enabled in this call" in error.message:
        return FILES if error.message.startswith("fs.") else NETWORK if error.message.startswith("fetch ") else ""
    is_of_form = re.search("takes|needs|is missing|knows no", error.message)
    return f"; in Python: {error.form}" if is_of_form and getattr(error, "form", None) else ""


def advice_on_syntax(error):
    if error.msg != "invalid syntax" or not error.text:
        return ""
    return next((f". In Python {words}" for pattern, words in OF_SYNTAX if pattern.search(error.text)), "")


def failed_at(error):
    """(file, place of what failed) in the innermost frame of the code; the place is as in a tree of it."""
    found, tb = ("", None), error.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        if code.co_filename in calls.files:
            found = code.co_filename, list(code.co_positions())[tb.tb_lasti // 2]
        tb = tb.tb_next
    return found


def called(node):
    """The name of the function whose answer this is; "": it is no call."""
    while isinstance(node, ast.Await):
        node = node.value
    of = node.func if isinstance(node, ast.Call) else None
    return of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else ""


def place_of(node):
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def taken_at(tree, place):
    """What is looked into, or gone through, at this place."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and place_of(node) == place:
            yield node.value
        elif isinstance(node, (ast.For, ast.comprehension)) and place_of(node.iter) == place:
            yield node.iter


def values_given(tree, name):
    """What a name is set to."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.NamedExpr) else []
        if any(isinstance(t, ast.Name) and t.id == name for t in targets):
            yield node.value


def calls_before(tree, place):
    """Names of the functions that may have answered what was taken at this place."""
    for of in taken_at(tree, place):
        for value in values_given(tree, of.id) if isinstance(of, ast.Name) else [of]:
            yield called(value)


def advice_on_none(error):
    """None was taken for something else: which call answered it?"""
    file, place = failed_at(error)
    lines = linecache.getlines(file) if file else ["\n"]
    if not lines:
        return NOTHING  # code of an earlier call
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, RecursionError, MemoryError):
        return ""
    changing = next((name for name in calls_before(tree, place) if name in ALWAYS_NOTHING), None)
    if changing:
        return f". It is None: {changing}() changes what it is called on, and answers None{INSTEAD.get(changing, '')}"
    return NOTHING if any(getattr(n, "attr", getattr(n, "id", "")) in MAYBE_NOTHING for n in ast.walk(tree)) else ""


def advice_on_type(error):
    """Of a TypeError, by its message."""
    text = str(error)
    if "'coroutine'" in text:
        return UNAWAITED
    return advice_on_none(error) if text.startswith("'NoneType' object is not") else ""


def advice(error):
    """More for the message: what is there instead."""
    if getattr(error, "host", False):
        return advice_on_call(error)
    if isinstance(error, NameError) and error.name in OF_JAVASCRIPT:
        return f". {OF_JAVASCRIPT[error.name]}"
    if isinstance(error, AttributeError):
        return advice_on_attribute(error)
    if isinstance(error, KeyError) and isinstance(getattr(error, "obj", None), values.Record):
        return f" is not among its keys: {', '.join(map(str, list(error.obj)[:40])) or 'there are none'}"
    if isinstance(error, SyntaxError):
        return advice_on_syntax(error)
    if type(error) is TypeError:
        return advice_on_type(error)
    if isinstance(error, RuntimeError) and "cannot be called from a running event loop" in str(error):
        return LOOP_RUNS
    if str(error) == "unable to open database file":
        return ". A database is in memory here: sqlite3.connect(':memory:')"
    if isinstance(error, OSError) and "does not support processes" in str(error) or \
            isinstance(error, RuntimeError) and "start new thread" in str(error):
        return OUTSIDE
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.partition(".")[0] in {*api.names, "cloche"}:
        return ". The API (notes, links, ...) is there without an import"
    if isinstance(error, ModuleNotFoundError) and error.name:
        near = api.nearest(error.name, library.known(), 0.7) if len(error.name) > 2 else None
        return (f". It is not part of this Python{f'; did you mean {near}?' if near else ''}: the standard library "
                "without threads, sockets and processes is, and attrs, bs4, dateutil, frontmatter, jinja2, "
                "markdown_it, networkx, requests, tabulate, yaml. The Linux machine has pip (vm.exec)")
    return ""
