"""Type checks of Python that does not run: compared with mypy as its makers ship it, and their use by
agents and users."""
import json
import os
import re
import subprocess
import sys
import zipfile

import pytest

import seed_programs_python
from conftest import ROOT, sample_vault
from needs import installed
from python_programs import RIGHT as RIGHT_PROGRAMS, WRITES
from wire import Stdio, call, structured

WHEELS = ROOT / "build/deps/python-types"
pytestmark = installed(ROOT / "build/guest/python-types.bare.wasm", WHEELS, by="make python")


@pytest.fixture(scope="module")
def agent(cloche, tmp_path_factory):
    with Stdio([cloche, "mcp", "--vault", str(sample_vault(tmp_path_factory.mktemp("types")))]) as client:
        yield client


def check(client, code, **more):
    return structured(client.ask(call("check_code", {"code": code, "language": "python", **more})))


def types_only(client, code, **more):
    arguments = {"code": code, "language": "python", "typesOnly": True, **more}
    return structured(client.ask(call("evaluate_note_code", arguments)))


def told(client, code, **more):
    """(line, code of the finding) of each."""
    return [(d["line"], d["code"]) for d in types_only(client, code, **more)["diagnostics"]]


# ---- against mypy ---------------------------------------------------------------------

# What has nothing of an evaluation in it: both must say the same, at the same places.
SNIPPETS = ["""
def f(a: int, *, b: str = "") -> list[int]:
    return [a, b]
f("x", c=1)
""", """
from dataclasses import dataclass, field
@dataclass
class Task:
    title: str
    tags: list[str] = field(default_factory=list)
t = Task("a", ["b"])
t.titel
Task()
t.tags.append(1)
""", """
import json, re
found = re.match("a", "b")
found.group(1)
with open("x") as file:
    data = json.load(file)
data.anything()
print(json.dumps(data, indnt=1))
""", """
from typing import Protocol, TypedDict, Literal
class Named(Protocol):
    name: str
class Row(TypedDict):
    id: str
    size: int
class A: ...
def show(n: Named) -> str: return n.name
show(A())
row: Row = {"id": "a"}
row["sise"]
kind: Literal["a", "b"] = "c"
""", """
from collections import Counter, defaultdict
words = Counter("a b".split())
by = defaultdict(list)
for word, n in words.most_common():
    by[n].append(word + 1)
sorted(by, key=lambda n: n.upper())
""", """
class Base:
    def go(self, n: int) -> str: return str(n)
class Other(Base):
    def go(self, n: str) -> str: return n
def gen():
    yield 1
for x in gen():
    x.foo
match 3:
    case int(n): n.upper()
    case _: pass
""", """
x = 1
x = "a"
x.upper()
é = "ü"; é.foo
async def one() -> int: return 1
async def two() -> None:
    one()
    y: str = await one()
""", """
import datetime as dt, pathlib, sqlite3, urllib.request, asyncio, itertools, functools
(dt.date.today() - dt.timedelta(days=1)).isoformat(1)
pathlib.Path("a") / 1
sqlite3.connect(":memory:").execute("select 1").fetchone()[0]
functools.reduce(lambda a, b: a + b, [1], "x")
import tkinter, nosuch
from json import lods
"""]


def test_findings_are_those_of_mypy(agent, tmp_path):
    place = tmp_path / "mypy"
    for wheel in WHEELS.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(place)
    names = [f"s{i}.py" for i in range(len(SNIPPETS))]
    for name, code in zip(names, SNIPPETS):
        (tmp_path / name).write_text(code)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--python-version", "3.13", "--check-untyped-defs", "--ignore-missing-imports",
         "--local-partial-types", "--allow-redefinition-new", "--show-column-numbers", "--no-error-summary",
         "--cache-dir", os.devnull, "--config-file=", "--hide-error-context", *names],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(place)}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stderr
    theirs = {name: [] for name in names}
    for line in done.stdout.splitlines():
        found = re.fullmatch(r"(s\d+\.py):(\d+):(\d+): error: (.*)  \[(.*)\]", line)
        if found and found[5] not in ("var-annotated", "import-untyped"):  # what no agent's code is asked for
            theirs[found[1]].append((int(found[2]), int(found[3]), found[4], found[5]))
    assert sum(map(len, theirs.values())) > 20
    for name, code in zip(names, SNIPPETS):
        ours = [(d["line"], d["column"], d["message"].split("\n")[0], d["code"])
                for d in types_only(agent, code)["diagnostics"]]
        # mypy counts a column in bytes of UTF-8.
        bytes_before = {(i, len(line[:c].encode()) + 1): c + 1 for i, line in enumerate(code.split("\n"), 1)
                        for c in range(len(line) + 1)}
        assert sorted(ours) == sorted((a, bytes_before.get((a, b), b), m, k) for a, b, m, k in theirs[name]), name


# ---- what an evaluation has besides ------------------------------------------------------

RIGHT = ["""
note = await notes.get("garden/beds.md")
if note is None:
    return None
return note.title.upper(), note.contentHash, note.content_hash, note["title"], note.metadata.anything
""", """
import asyncio
one, two = await asyncio.gather(notes.get("a"), notes.search(query="b"))
all = await asyncio.gather(*[notes.get(hit.id) for hit in two])
task = asyncio.create_task(notes.list(limit=3))
return [row.title for row in await task], len(all), await asyncio.wait_for(notes.get("c"), 1)
""", """
async def main():
    return [note.title for note in await notes.list(limit=5)]
""", """
import bs4, yaml, networkx, requests
print(fetch("https://example.org").json()["a"], context.anything)
""", """
total = 0
for note in notes.list():
    total += note.size
total = f"{total} bytes"
total.upper()
""", """
class Note:
    title = ""
def fetch(n: int) -> str: return "x" * n
notes = [n.noteId for n in notes.search(query="x")]
links, context = len(notes), "a"
return fetch(links).upper(), Note().title, context
""", """
import vaults
from cloche import links
""", """
made = notes.create(type="a", title="b")
made.id, notes.move(identifier=made.id, new_type="c", dry_run=True).anything
hits = notes.searchAdvanced(query="x", limit=3)
noteTypes.list()
note_types.create(typeName="a", description="b")
try:
    notes.update_section(identifier="a", heading="b", content="c", contentHash="d")
except (NotFound, Conflict, HostCallError) as error:
    error.code, error.message
""", """
found = tools.jq(['.a'], stdin='{"a": 1}')
return found.stdout, found.exit_code, found.exitCode, tools["jq"]({"args": ["."]}).success, tools.run("jq", args=["."]).files
""", """
tools.run("jq", {"args": ["."]}).stdout, tools.run("jq", ["."], stdin="1").stdout
vm.exec("ls", {"cwd": "/"}).exit_code, vm.exec({"command": "ls"}).exitCode, vm.exec(["ls"]).stdout, vm.ls({"path": "/"}).entries
fetch("https://example.org", {"method": "PUT"}).json(), fetch("https://example.org", method="PUT", json={}, params={"a": 1}).json()
""", """
text = fs.read_file("/a", "utf8").upper() + fs.readFile("/a", encoding="latin1").upper() + fs.read_file("/a", {"encoding": "hex"}).upper()
fs.read_file("/a").decode()
fs.write_file("/a", text, "utf8")
fs.append_file("/a", b"", encoding="base64")
made = fs.stat("/a")
made.mtime.isoformat(), made.mtime_ms + made.mtimeMs, made.is_file(), made.isDirectory()
return [name.upper() for name in fs.readdir("/")], [e.name.upper() for e in fs.readdir("/", with_file_types=True) if e.is_file()]
""", """
import contextlib
async def g():
    yield 1
@contextlib.asynccontextmanager
async def c():
    yield 2
async for x in g():
    print(x)
async with c() as y:
    print([x + y async for x in g()], {x async for x in g()}, {x: y async for x in g()}, [x async for x in g() if x])
async def main():
    return [x async for x in g()]
""", ""]


@pytest.mark.parametrize("code", RIGHT)
def test_code_that_is_right_has_no_findings(agent, code):
    assert told(agent, code) == []


def test_programs_that_work_have_no_errors(agent):
    """Those of the other tests, over the same vault; of one, the types are beyond what mypy infers."""
    programs = [p[0] for p in (*RIGHT_PROGRAMS, *WRITES)] + [v for k, v in vars(seed_programs_python).items() if k.isupper()]
    errors = [(code, d["message"]) for code in programs for d in types_only(agent, code)["diagnostics"]
              if d["severity"] == "error"]
    assert len(programs) > 120
    assert [m for _, m in errors] == ['Unsupported operand type for unary - ("int | str | Any")']


def test_what_may_be_missing_is_a_warning(agent):
    found = types_only(agent, "import re\nnotes.get('a').title\nre.match('a', 'b')[1]\nnotes.get('a')['title'] + 1")
    assert found["success"]
    assert {(d["line"], d["severity"]) for d in found["diagnostics"]} >= {(2, "warning"), (3, "warning")}


def test_what_a_result_does_not_have_is_found(agent):
    found = types_only(agent, "for note in notes.list():\n    print(note.titel)\n")
    assert not found["success"] and found["errorDetails"]["name"] == "TypeCheckError"
    assert [(d["line"], d["column"], d["code"], d["message"]) for d in found["diagnostics"]] == [
        (2, 11, "attr-defined", "\"NoteRow\" has no attribute \"titel\"; maybe \"title\"?")]


@pytest.mark.parametrize("code, line, kind", [
    ("n = notes.get('a')\nassert n\nreturn n.titel", 3, "attr-defined"),
    ("notes.lst()", 1, "attr-defined"),
    ("notes.create(type='a', title='b', contents='c')", 1, "call-arg"),
    ("return notes.search(query='x')[0].score + 'a'", 1, "operator"),
    ("def first[T](of: list[T]) -> T: return of[0]\ntype Pair[A] = tuple[A, A]\np: Pair[int] = (first([1]), 'a')", 3, "assignment"),
    ("async def main():\n    return (await notes.list())[0].titel", 2, "attr-defined"),
    ("async def g(): yield 1\ndef f():\n    async for x in g(): pass", 3, "syntax"),
    ("async def g(): yield 1\ndef f():\n    return [x async for x in g()]", 3, "syntax"),
    ("async for x in [1]: pass", 1, "attr-defined"),
    ("from typing import AsyncIterator\nasync def g() -> AsyncIterator[int]:\n    yield 1\nasync for x in g():\n    x.upper()", 5, "attr-defined"),
    ("fs.read_file('/a').upper() + ''", 1, "operator"), ("fs.read_file('/a', 'utf8').decode()", 1, "attr-defined"),
    ("fs.readdir('/', with_file_types=True)[0].upper()", 1, "attr-defined"), ("fs.stat('/a').st_size", 1, "attr-defined"),
    ("tools.jq(['.']).std", 1, "attr-defined"), ("vm.exec(5)", 1, "call-overload"), ("tools.run('jq', 5)", 1, "arg-type"),
])
def test_mistakes_with_the_api_are_found(agent, code, line, kind):
    assert (line, kind) in told(agent, code)


@pytest.mark.parametrize("code, line, kind", [
    ("import asyncio\nrows = await asyncio.gather(*[notes.get(i) for i in ['a']])\nrow = rows[0]\nassert row\nrow.titel", 5, "attr-defined"),
    ("from asyncio import gather as together\nrows, row = await together(notes.list(), notes.get('a'))\nrows[0].titel", 3, "attr-defined"),
    ("import asyncio as aio\na, b = await aio.gather(notes.list(), notes.list(), return_exceptions=True)\na.clear()", 3, "union-attr"),
    ("import asyncio\nawait asyncio.gather(notes.list(), loop=1)", 2, "call-overload"),
    ("import asyncio\nasync def one() -> int: return 1\nasync def main():\n    for n in await asyncio.gather(*(one() for _ in 'ab')):\n"
     "        n.upper()", 5, "attr-defined"),
])
def test_what_is_gathered_keeps_its_types(agent, code, line, kind):
    assert told(agent, code) == [(line, kind)]


def test_values_of_context_have_types(agent):
    context = {"name": "a", "n": 1, "x": 1.5, "rows": [{"a": 1}, {"b": 2}], "mixed": ["a", 1, None], "yes": True,
               "of": {"a": {"b": 1}}, "class": 1, "not a name": 2, "none": []}
    assert told(agent, "name.upper(), n.bit_length(), x.is_integer(), rows[0].keys(), yes.real, of.a.b, none[0].x",
                context=context) == []
    for code in ("name + 1", "n.upper()", "x.upper()", "rows.upper()", "mixed[0].upper()", "yes.foo"):
        assert told(agent, code, context=context), code


def test_odd_names_in_context_hide_nothing(agent):
    for name in ("a\u2028b", "\u0660a", "a\u00a0", "\u00aa", "\ufb01", "é", "a\u0301", "None", "_", "__doc__", "x" * 5000, "int", "str"):
        assert (1, "attr-defined") in told(agent, "'a'.nope", context={name: 1, "z": "a"}), name
        assert (1, "attr-defined") in told(agent, "z.nope", context={name: 1, "z": "a"}), name


def test_a_secret_in_context_is_in_no_finding(agent):
    found = types_only(agent, "key + 1; key.nope", context={"key": "s3cret-value"})
    assert found["diagnostics"] and "s3cret" not in json.dumps(found)


def test_one_question_leaves_nothing_for_the_next(agent):
    assert told(agent, "class Secret:\n    token = 1\nname: str = 1") == [(3, "assignment")]
    assert told(agent, "Secret.token") == [(1, "name-defined")]
    assert told(agent, "name") == [(1, "name-defined")]
    assert told(agent, "import notthere\nx: int = notthere.y") == []


def test_names_of_a_session_may_be_there(agent):
    assert told(agent, "rows[0]", session="s") == []
    assert told(agent, "x: int = 'a'\nrows", session="s") == [(1, "assignment")]


def test_check_code_has_types_beside_findings(agent):
    found = check(agent, "note = notes.get('x')\nassert note\nnote.titel\nnots.list()\nnotes.lst()\n")
    assert [(d["line"], d["severity"], d["code"]) for d in found["types"]] == [(3, "warning", "attr-defined")]
    assert {(d["line"], d["rule"]) for d in found["findings"]} == {(4, "absent-global"), (5, "unknown-call")}
    assert found["typeErrors"] == 0 and not found["ok"]


def test_what_does_not_parse_is_told_once(agent):
    assert told(agent, "def f(:\n") == [(1, "syntax")]
    found = check(agent, "def f(:\n")
    assert found["types"] == [] and [f["rule"] for f in found["findings"]] == ["syntax"]


NESTED = ["y = " + "(" * 3000 + "1" + ")" * 3000, "y = " + "[" * 3000 + "]" * 3000, "y = " + "lambda: " * 3000 + "1",
          "y = x" + ".real" * 3000, "y = " + "-" * 3000 + "1", "y = 1" + " + 1" * 3000, "y = " + "1 if x else " * 3000 + "2",
          "if x == 0: pass\n" + "".join(f"elif x == {i}: pass\n" for i in range(3000))]


@pytest.mark.parametrize("code", NESTED)
def test_code_that_is_nested_too_deeply_is_told_with_its_place(agent, code):
    found = types_only(agent, f"x = 1\n# (((\n{code}")["diagnostics"]
    assert len(found) == 1 and "nested" in found[0]["message"]
    assert found[0]["line"] >= 3 and found[0]["column"] > 1
    lint = check(agent, f"x = 1\n# (((\n{code}")
    assert all(f["line"] >= 3 and f["column"] > 1 for f in lint["findings"] + lint["types"])
    assert any("nested" in f["message"] for f in lint["findings"] + lint["types"])


@pytest.mark.parametrize("code", [
    "x = " + "(" * 150 + "1" + ")" * 150,
    "x = " + "[" * 3000 + "]" * 3000,
    "x = " + "-" * 20000 + "1",
    "x" + ".a" * 20000,
    "def f():\n" + "".join(f"{' ' * (i + 1)}if x:\n" for i in range(95)) + " " * 97 + "pass",
    "\0", "\ufeffx: int = 'a'", "x = 'a\r\nb'", "#" * 100000, "x: 'int" + "[" * 500,
    "type A = list[A]\nx: A = 1", "class A(A): pass", "from __main__ import *", "from cloche_own import *",
    "import mypy.build", "reveal_locals()", "# type: ignore\nx: int = 'a'", "from typing import *\nx: Any = 1",
    "import " + ", ".join(f"m{i}" for i in range(3000)),
    "\n".join(f"x{i}: int = 'a'" for i in range(500)),
])
def test_hostile_code_is_answered(agent, code):
    answer = agent.ask(call("evaluate_note_code", {"code": code, "language": "python", "typesOnly": True}))["result"]
    found = answer.get("structuredContent") or json.loads(answer["content"][0]["text"])
    assert len(found.get("diagnostics", [])) <= 100
    assert told(agent, "x: int = 'a'") == [(1, "assignment")]


def test_a_function_is_checked_when_it_is_registered(agent):
    code = "def longest(notes_of: list[str]) -> int:\n    \"\"\"Length of the longest.\"\"\"\n    return max(notes_of)\n"
    found = structured(agent.ask(call("validate_custom_function", {"language": "python", "code": code})))
    assert found["valid"]
    assert [(f["line"], f["code"]) for f in found["warnings"]] == [(3, "return-value")]


# ---- custom functions ---------------------------------------------------------------------

RAIN = """
def rain_total(days: list[float], factor: float = 1.0, label: str | None = None) -> float:
    \"\"\"Adds up.\"\"\"
    return sum(days) * factor
"""
FUNCTIONS = [
    {"language": "python", "code": RAIN},
    {"name": "openTasks", "description": "Tasks of notes", "returnType": "Promise<{noteId: string, open: {text: string}[], by?: Record<string, number>}>",
     "parameters": {"note": {"type": "Note"}, "tagNames": {"type": "string[]"}, "mode": {"type": "'all' | 'open'", "default": "all"}},
     "code": "async function openTasks(note: Note, tagNames: string[], mode: 'all' | 'open' = 'all') {\n"
             "  return {noteId: note.id, open: [] as {text: string}[]};\n}"},
    {"name": "countAll", "description": "Counts", "returnType": "number",
     "parameters": {"from": {"type": "string"}, "...more": {"type": "number[]"}},
     "code": "function countAll(from: string, ...more: number[]): number { return more.length; }"},
    {"name": "numbers", "description": "Some", "returnType": "number[]", "parameters": {},
     "code": "function numbers(): number[] { return [1]; }"},
    {"name": "str", "description": "A name that Python has", "returnType": "string", "parameters": {"class_": {"type": "any"}},
     "code": "function str(class_: any): string { return String(class_); }"},
]


@pytest.fixture(scope="module")
def knowing(cloche, tmp_path_factory):
    """An agent with functions in both languages."""
    with Stdio([cloche, "mcp", "--vault", str(sample_vault(tmp_path_factory.mktemp("functions")))]) as client:
        for one in FUNCTIONS:
            made = structured(client.ask(call("register_custom_function", one)))
            assert made.get("success") or made.get("function"), made
        yield client


@pytest.mark.parametrize("code", [
    "custom_functions.rain_total([1, 2.5]) + 1",
    "days = [1, 2]\nawait custom_functions.rain_total(days, factor=2, label='x')",
    "custom_functions.rain_total(d.size for d in notes.list())\ncustom_functions.rain_total({1}, 2)\ncustom_functions.rain_total(range(3))",
    "customFunctions['rain_total'](days=(1.0,))",
    "n = notes.get('a')\nassert n\nt = await custom_functions.openTasks(n, ['a'])\n"
    "return t.noteId.upper(), t.note_id.upper(), t['noteId'], [o.text.upper() for o in t.open], t.by and t.by.anything + 1",
    "custom_functions.open_tasks({'id': 'a'}, tag_names=['a'], mode='open')",
    "custom_functions.openTasks(note={'id': 'a'}, tagNames=notes.list()[0].tags)",
    "range(custom_functions.count_all('a', 1, 2))\n['a'][custom_functions.countAll(from_='a')]",
    "import asyncio\na, b = await asyncio.gather(custom_functions.rain_total([1]), custom_functions.countAll('a'))\nreturn a + b",
    "name = 'rain_total'\ncustom_functions[name](1, 2, 3)\ngetattr(custom_functions, name)(1)\n"
    "return [f.upper() for f in custom_functions if f in custom_functions]",
    "n: int = custom_functions.count_all('a')\nx: float = custom_functions.count_all('a')\nn.bit_length() + x / 2",
    "n: list[int] = custom_functions.numbers()\nx: list[float] = custom_functions.numbers()\nsum(n) + sum(x)",
    "custom_functions.str(1)",
    "def custom_functions(n: int) -> int: return n\ncustom_functions(1)",
])
def test_right_calls_of_functions_have_no_findings(knowing, code):
    assert types_only(knowing, code)["diagnostics"] == []


@pytest.mark.parametrize("code, line, column, kind, message", [
    ("custom_functions.rain_total([1], fator=2)", 1, 1, "call-arg", 'Unexpected keyword argument "fator" for "rain_total"'),
    ("x = 1\ncustom_functions.rain_total('a')", 2, 29, "arg-type", 'Argument 1 to "rain_total"'),
    ("custom_functions.rain_total(['a'])", 1, 30, "list-item", 'List item 0 has incompatible type "str"'),
    ("custom_functions.rain_total([1], None)", 1, 34, "arg-type", 'incompatible type "None"; expected "float"'),
    ("custom_functions.rain_total()", 1, 1, "call-arg", 'Missing positional argument "days"'),
    ("custom_functions.rain_total([1], 2, 'a', 3)", 1, 1, "call-arg", "Too many arguments"),
    ("customFunctions['rain_total'](3)", 1, 31, "arg-type", 'Argument 1 to "rain_total"'),
    ("custom_functions.rain_total([1]).upper()", 1, 1, "attr-defined", 'has no attribute "upper"'),
    ("custom_functions.open_tasks({}, 'a')", 1, 33, "arg-type", 'Argument 2 to "open_tasks"'),
    ("custom_functions.openTasks({}, [], mode='none')", 1, 41, "arg-type", "'open'"),
    ("t = custom_functions.open_tasks({}, [])\nt.opn", 2, 1, "attr-defined", 'no attribute "opn"; maybe "open"?'),
    ("custom_functions.open_tasks({}, [])['open'].keys()\ncustom_functions.open_tasks({}, []).open.keys()", 2, 1, "attr-defined", "keys"),
    ("custom_functions.count_all('a', 1, 'b')", 1, 36, "arg-type", 'incompatible type "str"; expected "float"'),
    ("é = 1; custom_functions.nope(1)", 1, 8, "attr-defined", 'has no attribute "nope"'),
])
def test_wrong_calls_of_functions_are_found(knowing, code, line, column, kind, message):
    found = types_only(knowing, code)["diagnostics"]
    assert [(d["line"], d["column"], d["code"]) for d in found] == [(line, column, kind)]
    assert message in found[0]["message"] and "\n" not in found[0]["message"]


def test_a_function_that_changes_is_another_question(cloche, tmp_path):
    with Stdio([cloche, "mcp", "--vault", str(sample_vault(tmp_path))]) as client:
        assert told(client, "custom_functions.rain_total('a')") == [(1, "attr-defined")]
        structured(client.ask(call("register_custom_function", FUNCTIONS[0])))
        assert told(client, "custom_functions.rain_total('a')") == [(1, "arg-type")]
        changed = {"name": "rain_total", "code": RAIN.replace("list[float]", "str"), "force": True}
        structured(client.ask(call("update_custom_function", changed)))
        assert told(client, "custom_functions.rain_total('a')") == []


def test_a_function_that_calls_another_is_checked_against_it(knowing):
    code = "def twice(days: list[float]) -> float:\n    \"\"\"Twice.\"\"\"\n    return custom_functions.rain_total(days, fctor=2)\n"
    found = structured(knowing.ask(call("validate_custom_function", {"language": "python", "code": code})))
    assert [(f["line"], f["code"]) for f in found["warnings"]] == [(3, "call-arg")]


@pytest.mark.parametrize("kind", ["{" + "a: {" * 60 + "b: string" + "}" * 60 + "}", "any[]" + "[]" * 100, "(" * 30 + "any[]" + " | null)[]" * 30,
                                  "{self: string, class: number}", "(a: string) => void", "Note", "'it\\'s' | 'x'"])
def test_any_type_of_a_function_leaves_the_check_whole(agent, kind):
    given = {"name": "f", "description": "It does.", "returnType": kind, "parameters": {"self": {"type": kind}, "aB": {"type": kind}},
             "code": "function f(self: any, aB: any): any { return 1; }"}
    made = structured(agent.ask(call("register_custom_function", given)))
    assert made["success"], made
    try:
        assert told(agent, "x: int = 'a'\ncustom_functions.f") == [(1, "assignment")]
    finally:
        structured(agent.ask(call("delete_custom_function", {"name": "f"})))


def test_the_command_line_shows_types(cloche, tmp_path):
    file = tmp_path / "plan.py"
    file.write_text("for note in notes.list():\n    print(note.titel)\n")
    done = subprocess.run([cloche, "eval", "--check", "--vault", sample_vault(tmp_path), file], capture_output=True, text=True)
    assert done.returncode == 0
    assert "plan.py:2:11: warning: \"NoteRow\" has no attribute \"titel\"; maybe \"title\"? [attr-defined]" in done.stdout
