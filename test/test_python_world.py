"""Python code as a person would expect it to run: calls, values that are read twice, the module __main__, sessions."""
import pytest

from conftest import ROOT, sample_vault
from needs import installed
from test_python import client, details, result, run, vault  # noqa: F401
from wire import Stdio, call

pytestmark = installed(ROOT / "build/guest/python.bare.wasm", by="make python")


# ---- calls that nobody awaits -----------------------------------------------------


@pytest.mark.parametrize("code", [
    "done = []\nfor r in await notes.list(limit=2):\n    done.append(notes.update('none/' + r.id, content='x', content_hash='1'))\nlen(done)",
    "await notes.list()\n[notes.update('none/x', content='x', content_hash='1')]\n1",
    "await notes.list()\n{'a': notes.update('none/x', content='x', content_hash='1')}\n1",
    "import asyncio\njobs = [notes.update('none/x', content='x', content_hash='1')]\n"
    "await asyncio.wait([asyncio.ensure_future(j) for j in jobs])\n1",
])
def test_a_call_that_fails_is_not_lost(run, code):  # noqa: F811
    told = details(run(code))
    assert told["name"] == "NotFound" and told["line"], told


def test_a_call_whose_answer_nobody_awaits_fails_where_it_stands(run):  # noqa: F811
    code = ("async def main():\n    done = []\n    for r in await notes.list(limit=2):\n        try:\n"
            "            done.append(notes.update('none/' + r.id, content='x', content_hash='1'))\n"
            "        except NotFound:\n            done.append('missing')\n    return done")
    assert result(run(code)) == ["missing", "missing"]


@pytest.mark.parametrize("use, given", [
    ("{'rows': notes.list(limit=1)}['rows'][0]['id'][:5]", "note/"),
    ("[type(notes.get(i)).__name__ for i in ['note/Start here']]", ["Record"]),
    ("[n for n in [notes.get(i) for i in ['none/x']] if n is not None]", []),
    ("json.loads(json.dumps(notes.list(limit=1)))[0]['type']", "note"),
    ("Template('{% for n in ns %}{{ n.type }},{% endfor %}').render(ns=notes.list(limit=2))", "note,daily,"),
    ("len(tabulate(notes.list(limit=2), headers='keys').splitlines())", 4),
    ("(lambda n: n is None)(notes.get('none/x'))", True),
    ("async def missing(n): return n is None\nn = notes.get('none/x')\n[await missing(n), n is None]", [True, True]),
    ("async def missing(n): return n is None\nawait missing(notes.get('none/x'))", True),
    ("async def count(all): return sum(n is None for n in all)\nfound = []\nfound.append(notes.get('none/x'))\nawait count(found)", 1),
    ("said = ''\ntry:\n    r = notes.update('none/x', content='x', content_hash='1')\nexcept NotFound as e:\n    said = e.name\n"
     "else:\n    await r.json()\nsaid", "NotFound"),
    ("len(copy.deepcopy(notes.list(limit=1)))", 1),
])
def test_in_code_that_awaits_calls_answer_where_nothing_awaits_them(run, use, given):  # noqa: F811
    code = f"import copy, json\nfrom jinja2 import Template\nfrom tabulate import tabulate\nawait notes.list(limit=1)\n{use}"
    got = result(run(code))
    assert got == given or isinstance(given, str) and "," in given and got.count(",") == 2


JOINED = {
    "a list": "jobs = [notes.get(i) for i in ids]\ngot = await asyncio.gather(*jobs)",
    "a list that grows": "jobs = []\nfor i in ids:\n    jobs.append(notes.get(i))\nkinds = [type(j).__name__ for j in jobs]\n"
                         "got = await asyncio.gather(*jobs)",
    "a dict": "jobs = {i: notes.get(i) for i in ids}\ngot = await asyncio.gather(*jobs.values())",
    "more lists": "one = [notes.get(ids[0])]\nmore = [notes.get(i) for i in ids[1:]]\njobs = one + more\ngot = await asyncio.gather(*jobs)",
    "names": "a = notes.get(ids[0])\nb = notes.get(ids[1])\nc = notes.get(ids[2])\ngot = await asyncio.gather(a, b, c)",
    "arguments": "got = await asyncio.gather(notes.get(ids[0]), *(notes.get(i) for i in ids[1:]))",
    "one after the other": "got = []\nfor job in [notes.get(i) for i in ids]:\n    got.append(await job)",
    "a group": "async with asyncio.TaskGroup() as group:\n    tasks = [group.create_task(notes.get(i)) for i in ids]\n"
               "got = [t.result() for t in tasks]",
    "a coroutine": "free = asyncio.Semaphore(2)\nasync def limited(job):\n    async with free:\n        return await job\n"
                   "got = await asyncio.gather(*(limited(notes.get(i)) for i in ids))",
    "a function of its own": "def all_of(jobs): return asyncio.gather(*jobs)\ngot = await all_of([notes.get(i) for i in ids])",
    "as they complete": "got = []\nfor job in asyncio.as_completed([notes.get(i) for i in ids]):\n    got.append(await job)",
}


# How often a call has only begun: `later` is what makes one.
COUNTED = ("import asyncio\nfrom _cloche_world import calls\nbegun, later = [], calls.later\n"
           "calls.later = lambda *given: begun.append(1) or later(*given)\nids = [r.id for r in await notes.list(limit=3)]\n"
           "before = len(begun)\n")


@pytest.mark.parametrize("how", JOINED)
def test_calls_that_are_awaited_later_begin_together(run, how):  # noqa: F811
    answer = run(f"{COUNTED}{JOINED[how]}\n[sorted(n.id for n in got) == sorted(ids), len(begun) - before]")
    assert result(answer) == [True, 3]


# ---- values that are read twice -----------------------------------------------------


@pytest.mark.parametrize("code, value", [
    ("{'rows': map(str, [1, 2]), 'by': {('a', 'b'): 1}}", {"rows": ["1", "2"], "by": {"a, b": 1}}),
    ("{'rows': (i for i in [1, 2]), 'n': float('nan')}", {"rows": [1, 2], "n": None}),
    ("i = iter([1])\n[i, i, {datetime.date(2026, 1, 2): 0}]", [[1], [1], {"2026-01-02": 0}]),
    ("collections.Counter('aab').values()", [2, 1]),
    ("class S:\n    __slots__ = ('a', 'b')\ns = S()\ns.a = 1\ns", {"a": 1}),
    ("class I:\n    def __iter__(self): return iter([1, 2])\nI()", [1, 2]),
    ("from bs4 import BeautifulSoup\nBeautifulSoup('<p>x<b>y</b>', 'html.parser').find_all('b')", ["<b>y</b>"]),
])
def test_an_iterator_is_written_whole(run, code, value):  # noqa: F811
    assert result(run(f"import collections, datetime\n{code}")) == value


@pytest.mark.parametrize("code", ["map(int, ['1', 'three'])", "(int(x) for x in ['three'])", "{'a': [map(int, ['three'])]}"])
def test_an_error_of_an_iterator_is_the_results_error(run, code):  # noqa: F811
    assert details(run(code))["name"] == "ValueError"


def test_an_iterator_that_fails_writes_nothing(run):  # noqa: F811
    code = ("n = notes.create(type='plan', title='Iterated', content='x', metadata={'tags': ['old']})\n"
            "try:\n    notes.update(n.id, metadata={'tags': map(str.strip, [' new', None])})\n"
            "except TypeError as error:\n    said = str(error)\n[notes.get(n.id).metadata.tags, said]")
    tags, said = result(run(code))
    assert tags == ["old"] and "strip" in said


def test_what_is_lost_is_named_with_its_place(run):  # noqa: F811
    told = run("{'c': int, 'f': len, 'a': [{'n': float('nan')}]}")["warnings"]
    assert [w["message"].partition(",")[0] for w in told] == [
        "result.c is a class", "result.f is a function", "result.a[0].n is NaN"]


# ---- the code as a module -----------------------------------------------------------


@pytest.mark.parametrize("code, value", [
    ("from __future__ import annotations\ndef f(x: Nothing): pass\nreturn f.__annotations__['x']", "Nothing"),
    ("'''text'''\nfrom __future__ import annotations\nfrom math import *\nreturn sqrt(4)", 2),
    ("exec('def g(): return 9')\nreturn g()", 9),
    ("x = 2\nreturn eval('x') + locals()['x']", 4),
    ("class A:\n    '''\n    >>> 1 + 1\n    3\n    '''\nimport doctest\nreturn list(doctest.testmod())", [1, 1]),
    ("import pickle, enum\nclass E(enum.Enum):\n    X = 1\nreturn pickle.loads(pickle.dumps(E.X)) is E.X", True),
    ("import dataclasses\n@dataclasses.dataclass\nclass D:\n    r: 'ClassVar[dict]' = {}\n    n: int = 1\n"
     "from typing import ClassVar\nD()", None),
    ("import typing\nfrom typing import ClassVar\nimport dataclasses\n@dataclasses.dataclass\nclass D:\n    r: 'ClassVar[dict]' = {}\n"
     "    n: int = 1\nD()", {"n": 1}),
    ("import typing\nfrom typing import Optional\nclass N:\n    next: 'Optional[N]'\nlen(typing.get_type_hints(N))", 1),
    ("import unittest\nclass T(unittest.TestCase):\n    def test_it(self): self.assertTrue(True)\n"
     "unittest.main(exit=False).result.testsRun", 1),
    ("def f(): return __name__\nimport sys\nreturn [f(), sys.modules['__main__'].f is f]", ["__main__", True]),
    ("print('x')\nexit()\nprint('y')", None),
])
def test_code_is_the_module_main(run, code, value):  # noqa: F811
    answer = run(code)
    if value is None and "ClassVar" in code:
        assert "mutable default" in details(answer)["message"]  # the name is there too late, as elsewhere
        return
    assert result(answer) == value


def test_the_host_s_objects_are_written_as_yaml(run):  # noqa: F811
    code = ("import yaml, frontmatter\nn = notes.create(type='plan', title='Yaml', content='x', metadata={'a': {'b': [1]}})\n"
            "m = notes.get(n.id).metadata\n[yaml.safe_dump(m['a']), yaml.dump([m['a']]), yaml.safe_dump(notes.list(type_name='none'))]")
    assert result(run(code)) == ["b:\n- 1\n", "- b:\n  - 1\n", "[]\n"]


# ---- errors -------------------------------------------------------------------------


def test_a_note_of_an_error_follows_its_message(run):  # noqa: F811
    told = details(run("try:\n    int('x')\nexcept ValueError as e:\n    e.add_note('while reading')\n    raise"))
    assert told["message"] == "invalid literal for int() with base 10: 'x'\nwhile reading"


@pytest.mark.parametrize("code, said", [
    ("notes.rename('note/Start here', 'New', dry_run=True)", "2 arguments without names"),
    ("import sqlite3\nsqlite3.connect('x.db')", "sqlite3.connect(':memory:')"),
])
def test_what_was_meant_is_said(run, code, said):  # noqa: F811
    assert said in details(run(code))["message"]


def test_errors_of_custom_functions_are_caught_by_their_names(cloche, tmp_path):
    folder = sample_vault(tmp_path)
    with Stdio([cloche, "mcp", "--vault", str(folder)]) as c:
        for name, body in {"bad": "raise ValueError('no ' + x)", "lost": "return {}[x]", "fine": "return x"}.items():
            c.ask(call("register_custom_function", {"name": name, "description": f"{name} it is.", "language": "python",
                                                    "code": f"def {name}(x: str) -> str:\n    {body}\n"}))
        code = ("caught = []\nfor f in (custom_functions.bad, custom_functions.lost):\n    try:\n        f('x')\n"
                "    except ValueError as e:\n        caught.append(str(e))\n    except KeyError as e:\n        caught.append('key')\ncaught")
        got = result(c.ask(call("evaluate_note_code", {"code": code, "language": "python"}))["result"]["structuredContent"])
    assert got == ["no x", "key"]


def test_a_function_that_is_not_there_is_said_in_python(run):  # noqa: F811
    told = details(run("custom_functions.nowhere(1)"))
    assert told["name"] == "NotFound" and "customFunctions)" not in told["message"]


def test_check_code_refuses_what_the_compiler_refuses(client):  # noqa: F811
    code = "def f():\n    return await notes.list()\nf()"
    told = client.ask(call("check_code", {"code": code, "language": "python"}))["result"]["structuredContent"]
    assert not told["ok"] and [(f["rule"], f["line"]) for f in told["findings"]] == [("syntax", 2)]
    code = "from __future__ import annotations\nfrom math import *\nreturn sqrt(4)"
    assert client.ask(call("check_code", {"code": code, "language": "python"}))["result"]["structuredContent"]["ok"]


def test_hints_are_in_the_language_of_the_code(run):  # noqa: F811
    hints = run("for i in range(30):\n    notes.get('note/Start here')")["hints"]
    assert any("asyncio.gather" in h for h in hints) and not any("Promise" in h for h in hints)


# ---- the library ---------------------------------------------------------------------


@pytest.mark.parametrize("code, value", [
    ("import networkx as nx\n[round(x, 2) for x in nx.pagerank(nx.DiGraph([(1, 2), (2, 3)])).values()]", [0.18, 0.34, 0.47]),
    ("import networkx as nx\n[sorted(h) for h in nx.hits(nx.DiGraph([(1, 2), (3, 2)]))]", [[1, 2, 3], [1, 2, 3]]),
    ("import lzma\nlzma.decompress(lzma.compress(b'q' * 9)).decode()", "q" * 9),
])
def test_the_library_does_with_what_there_is(run, code, value):  # noqa: F811
    assert result(run(code)) == value


def test_functions_of_atexit_run_at_the_end(run):  # noqa: F811
    assert [e["message"] for e in run("import atexit\natexit.register(print, 'bye')\nprint('x')")["logs"]] == ["x", "bye"]


# ---- sessions -----------------------------------------------------------------------


def test_frames_of_earlier_calls_are_theirs(run):  # noqa: F811
    result(run("def helper():\n    a = 1\n    return 1 / 0", session="frames"))
    told = details(run("x = 1\ny = 2\nz = 'another line'\nhelper()", session="frames"))
    assert told["line"] == 4 and 'File "call-1.py", line 3, in helper' in told["stack"]
    assert 'File "code.py", line 4' in told["stack"] and "another line" not in told["stack"]
    told = details(run("x = (", session="frames"))
    assert told["name"] == "SyntaxError" and 'File "code.py", line 1' in told["stack"]


def test_a_session_goes_on_in_its_language_alone(run, client):  # noqa: F811
    for first, other, said in (("python", "javascript", "Python"), ("javascript", "python", "JavaScript")):
        name = f"of-{first}"
        assert run("q = 5", session=name, language=first)["session"]["kept"]
        told = details(run("1", session=name, language=other))
        assert told["type"] == "Conflict" and f"begun in {said}" in told["message"]
        assert result(run("q", session=name, language=first)) == 5


def test_logs_go_to_a_file_where_there_are_files(cloche, tmp_path):
    from conftest import policy_in
    policy_in(tmp_path, {"fileSystem": True})
    folder = sample_vault(tmp_path)
    code = "import logging\nlogging.basicConfig(filename='/app.log', level=logging.INFO)\nlogging.info('one')\n"
    with Stdio([cloche, "mcp", "--vault", str(folder)]) as c:
        def answer(code, **more):
            return c.ask(call("evaluate_note_code", {"code": code, "language": "python", **more}))["result"]["structuredContent"]
        assert result(answer(code + "open('/app.log').read()", enableFileSystem=True)) == "INFO:root:one\n"
        assert [e["message"] for e in answer(code)["logs"]] == ["one"]
