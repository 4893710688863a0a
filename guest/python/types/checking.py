"""Asks mypy about the code of an evaluation.

The build of mypy that was baked knows the standard library's and the API's stubs, and two modules of
ours: OWN has the stubs of one question, CODE its code. A question puts both and lets mypy bring its
build up to date.
"""
import ast
import keyword
import os
import re

import mypy
import mypy.fastparse
from mypy import message_registry
from mypy.build import build
from mypy.modulefinder import BuildSource, FindModuleCache
from mypy.options import Options
from mypy.server.update import FineGrainedBuildManager

from . import functions, nesting
from .files import Files
from .names import camel, snake

CODE, OWN, FUNCTIONS, API = "__main__", "cloche_own", "cloche_functions", "cloche"
CODE_PATH, OWN_PATH, FUNCTIONS_PATH, API_PATH = (f"/code/{name}" for name in (
    "__main__.py", "cloche_own.pyi", "cloche_functions.pyi", "cloche.pyi"))
SHOWN_MAX = 100
NOTES_MAX = 3 # lines that explain a finding

FORMS = """
from typing import Any, Awaitable, Coroutine, Iterable, TypeVar, overload
T = TypeVar("T")
@overload
def _cloche_awaited(value: Awaitable[T]) -> T: ...
@overload
def _cloche_awaited(value: T) -> T: ...
@overload
def _cloche_later(value: Awaitable[T]) -> Coroutine[Any, Any, T]: ...
@overload
def _cloche_later(value: T) -> Coroutine[Any, Any, T]: ...
@overload
def _cloche_each_later(values: Iterable[Awaitable[T]]) -> Iterable[Coroutine[Any, Any, T]]: ...
@overload
def _cloche_each_later(values: Iterable[T]) -> Iterable[Coroutine[Any, Any, T]]: ...
def _cloche_dry(value: Any) -> Any: ...
class _cloche_returned(BaseException):
    def __init__(self, value: Any = ...) -> None: ...
"""
GATHERED = 6  # arguments whose types stay apart, as in asyncio's stubs


def gather_name(count, tried):
    return f"_cloche_gather{'_tried' * tried}{count or ''}"


def gather_stubs():
    """asyncio.gather, which is a function of 14 overloads: a function for each (Forms.gather)."""
    lines = ["from asyncio import Future", *(f'T{i} = TypeVar("T{i}")' for i in range(1, GATHERED + 1))]
    for tried in (False, True):
        error = " | BaseException" * tried
        for count in range(GATHERED + 1):
            given = ", ".join(f"a{i}: Awaitable[T{i}]" for i in range(1, count + 1))
            made = ", ".join(f"T{i}{error}" for i in range(1, count + 1))
            given, made = (given + ", /, *", f"tuple[{made}]") if count else ("*a: Awaitable[T]", f"list[T{error}]")
            lines.append(f"def {gather_name(count, tried)}({given}, return_exceptions: bool = ...) -> Future[{made}]: ...")
    return "\n".join(lines)


def forms_stubs():
    text = f"{FORMS}{gather_stubs()}\n"
    names = [*re.findall(r"(?m)^def (_\w+)", text), "_cloche_returned"]
    return f"{text}__all__ = {list(dict.fromkeys(names))}\n"


# Modules that agents use: their stubs are read when the guest is baked.
KNOWN = """
__future__ abc argparse array ast asyncio atexit base64 binascii bisect bz2 calendar cmath cmd code codecs codeop
collections collections.abc colorsys concurrent.futures configparser contextlib contextvars copy cProfile csv
dataclasses datetime decimal difflib doctest email email.generator email.header email.headerregistry email.message
email.mime.application email.mime.image email.mime.multipart email.mime.text email.parser email.policy email.utils
enum errno filecmp fileinput fnmatch fractions functools getopt getpass gettext glob graphlib gzip hashlib heapq
hmac html html.entities html.parser http http.client http.cookies importlib importlib.metadata importlib.util
inspect io ipaddress itertools json keyword linecache locale logging logging.config logging.handlers lzma mailbox
math mimetypes multiprocessing numbers operator optparse os os.path pathlib pickle pkgutil platform plistlib pprint
pstats queue quopri random re reprlib sched secrets select shelve shlex shutil signal socket sqlite3 stat statistics
string struct subprocess sys tarfile tempfile textwrap threading time timeit tokenize tomllib traceback tracemalloc
types typing typing_extensions unicodedata unittest unittest.mock urllib urllib.error urllib.parse urllib.request
urllib.robotparser uuid warnings wave weakref xml.dom.minidom xml.etree.ElementTree xml.sax.saxutils zipfile zlib
zoneinfo
""".split()

# Functions of asyncio that await their arguments.
AWAITING = {"gather", "wait_for", "create_task", "ensure_future", "shield", "wait", "as_completed"}


class Forms(ast.NodeTransformer):
    """What is right in an evaluation alone, in words that mypy knows: `return` at the top level ends
    the code, and calls of the API may be awaited or not."""

    def __init__(self):
        self.depth = 0
        self.async_at = set()  # (line, column) of what is asynchronous at the top level
        self.asyncio, self.awaiting = {"asyncio"}, {}  # its names here, and those of its functions

    def scope(self, node):
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = scope

    def asynchronous(self, node):
        if not self.depth:
            self.async_at.add((node.lineno, node.col_offset))
        self.generic_visit(node)
        return node

    visit_AsyncFor = visit_AsyncWith = visit_ListComp = visit_SetComp = visit_DictComp = asynchronous

    @staticmethod
    def call(name, arguments, node):
        return ast.copy_location(ast.Call(ast.copy_location(ast.Name(name, ast.Load()), node), arguments, []), node)

    def visit_Return(self, node):
        self.generic_visit(node)
        if self.depth:
            return node
        given = [node.value] if node.value is not None else []
        return ast.copy_location(ast.Raise(self.call("_cloche_returned", given, node), None), node)

    def later(self, node):
        if isinstance(node, ast.Starred):
            node.value = self.call("_cloche_each_later", [node.value], node.value)
            return node
        return self.call("_cloche_later", [node], node)

    def visit_Import(self, node):
        self.asyncio.update(one.asname for one in node.names if one.name == "asyncio" and one.asname)
        return node

    def visit_ImportFrom(self, node):
        if node.module == "asyncio":
            self.awaiting.update((one.asname or one.name, one.name) for one in node.names if one.name in AWAITING)
        return node

    def visit_Subscript(self, node):
        """custom_functions["name"] is custom_functions.name."""
        self.generic_visit(node)
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(node.value, ast.Name) and node.value.id in functions.SPACES and isinstance(key, str) and \
                key.isidentifier() and not keyword.iskeyword(key):
            return ast.copy_location(ast.Attribute(node.value, key, node.ctx), node)
        return node

    def of_asyncio(self, f):
        """The function of asyncio that this is, if it awaits its arguments."""
        if isinstance(f, ast.Name):
            return self.awaiting.get(f.id)
        is_it = isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and f.value.id in self.asyncio
        return f.attr if is_it and f.attr in AWAITING else None

    def gather(self, node):
        """Its form for these arguments, so that mypy need not try them all."""
        count = len(node.args) if not any(isinstance(one, ast.Starred) for one in node.args) else 0
        tried = [one.value.value if isinstance(one.value, ast.Constant) else None for one in node.keywords]
        if all(one.arg == "return_exceptions" for one in node.keywords) and tried in ([], [False], [True]):
            name = gather_name(count if count <= GATHERED else 0, tried == [True])
            node.func = ast.copy_location(ast.Name(name, ast.Load()), node.func)

    def visit_Call(self, node):
        self.generic_visit(node)
        root = node.func
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in api_names:
            for one in node.keywords:
                one.arg = one.arg and snake(one.arg)
            if root.id not in functions.SPACES and any(one.arg == "dry_run" for one in node.keywords):
                return self.call("_cloche_dry", [node], node)
        name = self.of_asyncio(node.func)
        if name:
            node.args = [self.later(one) if i == 0 or name == "gather" else one for i, one in enumerate(node.args)]
        if name == "gather":
            self.gather(node)
        return node

    def visit_Await(self, node):
        self.generic_visit(node)
        return self.call("_cloche_awaited", [node.value], node)


parse = mypy.fastparse.ast3_parse
forms = Forms()  # of the latest code


def parse_code(source, filename, mode, feature_version=13):
    global forms
    tree = parse(source, filename, mode, feature_version=feature_version)
    if filename != CODE_PATH:
        return tree
    forms = Forms()
    return forms.visit(tree)


mypy.fastparse.ast3_parse = parse_code
# There is no working folder in which it could look for hints.
FindModuleCache._can_find_module_in_parent_dir = lambda self, id: False


def options():
    o = Options()
    o.python_version = (3, 13)
    o.platform = "linux"
    o.mypy_path = ["/code"]
    o.cache_dir = "/dev/null"
    o.fine_grained_incremental = True
    o.use_fine_grained_cache = False
    o.local_partial_types = True
    o.allow_redefinition = o.allow_redefinition_new = True
    o.check_untyped_defs = True
    o.ignore_missing_imports = True
    o.namespace_packages = True
    o.show_column_numbers = o.show_error_end = True
    o.error_summary = False
    o.color_output = False
    return o


files = Files()
api_names, api_classes = set(), set()
manager = None


def bound_names(code):
    """Names that the code gives a value, and those that it declares: functions, classes, modules."""
    given, declared = set(), set()
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return given, declared  # mypy tells what does not parse
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            given.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            declared.add(node.name)
        elif isinstance(node, ast.alias):
            declared.add(node.asname or node.name.partition(".")[0])
    return given, declared


def head(code, own):
    """What stands before the code, in a line of its own: the API's names, the question's, and how `return`
    and `await` at the top level are read (Forms). The code may use such a name for something else."""
    given, declared = bound_names(code)
    parts = [f"from {API}_forms import *", "from typing import Any as _cloche_any"]
    spaces = set(functions.SPACES)
    for module, names in ((API, api_names - spaces), (FUNCTIONS, spaces), (OWN, own)):
        left = names - given - declared
        if left:
            parts.append(f"from {module} import {', '.join(sorted(left))}")
        parts += [f"{name}: _cloche_any" for name in sorted(names & given - declared)]
    return "; ".join(parts) + "\n"


def put(code, own, known=None):
    """Puts a question's modules, and returns those that are other than they were."""
    lines = [(line.partition(":")[0], line) for line in own.split("\n")]
    lines = [(name, line) for name, line in lines if name.isidentifier() and not keyword.iskeyword(name)]
    stubs = "\n".join([f"from typing import Any\nfrom {API} import OpenRecord", *(line for _, line in lines), ""])
    told = ((OWN, OWN_PATH, stubs), (FUNCTIONS, FUNCTIONS_PATH, functions.text_of(known, api_classes)),
            (CODE, CODE_PATH, head(code, {name for name, _ in lines}) + code))
    changed = []
    for module, path, text in told:
        text = text.encode(errors="surrogatepass")
        if files.texts.get(path) != text:
            files.put(path, text)
            changed.append((module, path))
    return changed


def api(stubs):
    """The API's stubs as they are checked: an attribute that a result does not have is a mistake, where
    cloche.pyi, for editors, allows any; and the names of JavaScript are there as well."""
    head, record, rest = stubs.partition("class Record(dict[str, Any]):\n")
    open_record = "class OpenRecord(Record):\n    def __getattr__(self, name: str) -> Any: ...\n"
    rest = rest.replace("    def __getattr__(self, name: str) -> Any: ...\n", f"    ...\n\n{open_record}", 1)
    rest = re.sub(r"\(Record\):\n    \.\.\.\n", "(OpenRecord):\n    ...\n", rest).replace("context: Record", "context: OpenRecord")
    rest = re.sub(r"(?m)^( *)([a-z]\w*_\w+): (.*)$", lambda m: f"{m[0]}\n{m[1]}{camel(m[2])}: {m[3]}", rest)
    rest = rest.replace(" | DryRun:\n", ":\n")  # Forms.visit_Call
    # What has no class of its own has attributes, too; options may be given by position.
    rest = re.sub(r"(?m)(?:->|^    \w+:) .*$", lambda m: m[0].replace("dict[str, Any]", "OpenRecord"), rest)
    rest = re.sub(r"options: dict\[str, Any\](?: \| None)?(?: = \.\.\.)?(?:, \*)?", "*args: Any", rest)
    methods = r"(?m)^    def ([a-z]\w*_\w+)\(self.*\n        .*\n(?!    @overload\n    def \1\()"
    rest = re.sub(methods, lambda m: f"{m[0]}    {camel(m[1])} = {m[1]}\n", rest)
    return head + record + rest


def prepare(library):
    """Bakes what is known: `library` has the packages, with mypy's stubs, and the API's."""
    global manager
    typeshed = f"{os.path.dirname(mypy.__file__)}/typeshed"
    for folder in ("stdlib", "stubs/mypy-extensions"):
        files.put_folder(f"{typeshed}/{folder}", lambda name: name.endswith(".pyi"))
    with open(f"{library}/cloche.pyi", encoding="utf-8") as file:
        stubs = api(file.read())
    files.put(API_PATH, stubs.encode())
    api_names.update(re.findall(r"(?m)^([a-z]\w*): ", stubs), re.findall(r"(?m)^(?:async )?def ([a-z]\w*)\(", stubs),
                     re.findall(r"(?m)^class (\w+)\((?:Exception|HostCallError)\)", stubs))
    files.put(f"/code/{API}_forms.pyi", forms_stubs().encode())
    api_classes.update(re.findall(r"(?m)^class ([A-Z]\w*)\(", stubs), re.findall(r"(?m)^([A-Z]\w*) = ", stubs))
    files.put(f"/code/{functions.SHAPES}.pyi", functions.shapes(api_classes).encode())
    changed = put("".join(f"import {name}\n" for name in KNOWN), "")
    built = build([BuildSource(path, module, None) for module, path in changed], options(), fscache=files)
    if built.errors:
        raise SystemExit("\n".join(built.errors))
    manager = FineGrainedBuildManager(built)
    for code in WARM:  # leaves caches as most questions find them
        check({"code": code, "own": "x: int\n", "functions": WARM_FUNCTIONS})
    check({"code": "", "own": ""})


def update(changed):
    m = manager.manager
    m.ast_cache.clear()
    m.errors.reset()
    manager.update(changed, [])
    if manager.blocking_error and manager.blocking_error[0] != CODE:
        raise ValueError("the stubs of the question cannot be read")
    found = m.errors.error_info_map.get(CODE_PATH, [])
    return m.errors.render_messages(m.errors.remove_duplicates(m.errors.sort_messages(found)))


# Code of agents has hardly a type, and mypy asks for some.
UNASKED = {"import-untyped", "var-annotated"}
# The top level is asynchronous where it awaits (Forms.async_at).
OUTSIDE_COROUTINE = {message_registry.ASYNC_FOR_OUTSIDE_COROUTINE, message_registry.ASYNC_WITH_OUTSIDE_COROUTINE}
MAYBE = re.compile(r"\"None\"|\bNone\b.*\" ?(?:is not indexable|has no attribute)|cannot be \".*\bNone\b|\| None\"")


def is_unasked(name, message, others, remembers):
    """Is it no mistake here? Or does it only follow from one of the line's others?"""
    follows = message.startswith("Generator has incompatible item type") and "union-attr" in others
    return name in UNASKED or follows or (remembers and name == "name-defined")


def is_for_reader(finding, note):
    """Does the note say more of the finding? Not of stubs that nobody sees (functions.py)."""
    return "https:" not in note and finding.count("\n") < NOTES_MAX and "Array[" not in finding


def characters(lines, line, column):
    """A column of the parser, in bytes from 0, in characters from 1."""
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return len(text.encode()[:column].decode(errors="replace")) + 1


def check(question):
    code = question["code"]
    changed = put(code, question.get("own", ""), question.get("functions"))
    lines = re.split("\r\n|[\n\r]", code)
    found, dropped, of_line = [], 0, {}
    told = update(changed)
    for _, line, _, _, _, _, _, kind in told:
        of_line.setdefault(line - 1, set()).add(kind.code if kind else "misc")
    for _, line, column, end_line, end_column, severity, message, kind in told:
        place = line, column
        line, end_line, name = max(1, line - 1), max(1, end_line - 1), kind.code if kind else "misc"
        if severity == "note" and not message.startswith("Revealed"):
            if found and not dropped and found[-1]["line"] == line and is_for_reader(found[-1]["message"], message):
                found[-1]["message"] += f"\n{message}"
            continue
        if is_unasked(name, message, of_line.get(line, ()), question.get("remembers")) or \
                message in OUTSIDE_COROUTINE and place in forms.async_at:
            continue
        if severity == "note":
            severity = "hint"
        elif MAYBE.search(message):
            severity = "warning"  # a value may be missing: only a run can tell
        if len(found) == SHOWN_MAX:
            dropped += 1
            continue
        found.append({"field": "code", "code": name, "severity": severity, "message": message, "line": line,
                      "column": characters(lines, line, max(0, column)), "endLine": max(line, end_line),
                      "endColumn": characters(lines, max(line, end_line), max(0, end_column))})
    return {"diagnostics": found, **({"dropped": dropped} if dropped else {})}


def too_deep(code):
    """The answer on code that mypy cannot go through. Does it run?"""
    severity, name, message = "warning", "nested", "the code is nested too deeply here for its types to be checked"
    line, column = nesting.deepest(code)
    try:
        compile(code, CODE_PATH, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (RecursionError, MemoryError):
        severity, name, message = "error", "syntax", nesting.too_deep(code, CODE_PATH).msg
    except (SyntaxError, ValueError):
        pass  # a `return` at the top level
    return {"diagnostics": [{"field": "code", "code": name, "severity": severity, "message": message, "line": line,
                             "column": column, "endLine": line, "endColumn": column + 1}]}


WARM = [r'''
import asyncio, json, re
from dataclasses import dataclass, asdict
@dataclass
class Task:
    title: str
    done: bool = False
    words: list[str] | None = None
tasks: list[Task] = []
for note in notes.list(type="task", limit=10):
    found = re.match(r"- \[( |x)\] (.*)", note.title)
    if found:
        tasks.append(Task(found[2], found[1] == "x"))
def count(of: list[Task]) -> dict[bool, int]:
    by: dict[bool, int] = {}
    for t in of:
        by[t.done] = by.get(t.done, 0) + 1
    return by
async def main():
    note = await notes.get("a/b.md")
    assert note
    one, two = await asyncio.gather(notes.get("a"), notes.get("b"))
    all = await asyncio.gather(*[notes.get(id) for id in ["a", "b"]])
    rows = custom_functions.open_tasks(note.type, tags=["a"])
    return note.title.upper(), [asdict(t) for t in tasks], [row.id for row in rows]
with_errors: int = "text"
note = notes.get("x")
note.contnt
return {"open": count(tasks), "text": json.dumps({str(k): v for k, v in count(tasks).items()})}
''', 'x: int = "a"', 'def f(a: str = 1) -> int:\n    return a\n', 'import tkinter\n']
WARM_FUNCTIONS = [{"name": "openTasks", "parameters": [{"name": "type", "type": "string"}, {"name": "tags", "type": "string[]", "optional": True}],
                   "returns": "Promise<{id: string, count: number}[]>"}]
