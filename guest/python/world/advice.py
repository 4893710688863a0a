"""What an error's message says beside Python's own words: what to do instead."""
import inspect
import re

from . import api, library, values

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
NOTHING = ". It is None: notes.get() answers None where there is no such note"
UNAWAITED = ". A coroutine has no value before it is awaited: await f()"
OF_SYNTAX = [(re.compile(pattern), words) for pattern, words in (
    (r"^\s*(const|let|var)\s", "a variable is assigned without a word before it: x = 1"),
    (r"^\s*(async\s+)?function\b", "a function begins with def f(x): and its lines are indented"),
    (r"=>", "a short function is lambda x: x + 1"),
    (r"^\s*[!%]", "commands of a shell or a notebook are not Python, and there is no pip: vm.exec() runs commands in the Linux machine"),
    (r"&&|\|\|", "these are and, or"), (r"(^|[^=!<>])!(?!=)", "this is not"), (r"\+\+|--\s*$", "this is x += 1"),
    (r"`", "text with values in it is f'{x}'"), (r"[{]\s*$", "blocks begin with ':' and are indented, without braces"),
    (r"===|!==", "these are ==, !="), (r"\bnew\s+\w", "an object is made without new: Name()"))]
FILES = ". The argument enableFileSystem of the call provides files, where the policy allows it"
NETWORK = ". The argument enableNetwork of the call provides it, for hosts that the policy allows"
OUTSIDE = ". There are no processes and threads here: tools.run() runs a command-line tool, vm.exec() a command in the Linux machine"


def advice_on_attribute(error):
    name, thing = error.name, error.obj
    if isinstance(thing, list):
        return f". {OF_ARRAYS[name]}" if name in OF_ARRAYS else f". It is a list of {len(thing)}: list[0] is its first, len(list) its length"
    if isinstance(thing, str) and name in OF_STRINGS:
        return f". {OF_STRINGS[name]}"
    if isinstance(thing, values.Record):
        is_row = name in ("content", "metadata", "body", "text", "markdown") and "content" not in thing and "id" in thing
        return ". A row of a list has no content: notes.get(row.id) answers the whole note" if is_row else ""
    if isinstance(thing, dict):
        return f". The values of a dict are reached by their keys: d[{name!r}]"
    if thing is None:
        return NOTHING
    if inspect.iscoroutine(thing):
        return UNAWAITED
    return OUTSIDE if getattr(thing, "__name__", "") == "os" and name in ("system", "popen", "fork") else ""


def advice_on_call(error):
    if error.name == "PermissionDenied" and "not enabled in this call" in error.message:
        return FILES if error.message.startswith("fs.") else NETWORK if error.message.startswith("fetch ") else ""
    is_of_form = re.search("takes|needs|is missing|knows no", error.message)
    return f"; in Python: {error.form}" if is_of_form and getattr(error, "form", None) else ""


def advice_on_syntax(error):
    if error.msg != "invalid syntax" or not error.text:
        return ""
    return next((f". In Python {words}" for pattern, words in OF_SYNTAX if pattern.search(error.text)), "")


def advice_on_type(text):
    """Of a TypeError, by its message."""
    if "'coroutine'" in text:
        return UNAWAITED
    return NOTHING if text.startswith("'NoneType' object is not") else ""


def advice(error):
    """More for the message: what is there instead."""
    if isinstance(error, NameError) and error.name in OF_JAVASCRIPT:
        return f". {OF_JAVASCRIPT[error.name]}"
    if isinstance(error, AttributeError):
        return advice_on_attribute(error)
    if isinstance(error, KeyError) and isinstance(getattr(error, "obj", None), values.Record):
        return f" is not among its keys: {', '.join(map(str, list(error.obj)[:40])) or 'there are none'}"
    if isinstance(error, SyntaxError):
        return advice_on_syntax(error)
    if type(error) is TypeError:
        return advice_on_type(str(error))
    if getattr(error, "host", False):
        return advice_on_call(error)
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
