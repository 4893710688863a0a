"""Python code in a world of its own: results, the API, errors, limits, isolation."""
import gzip
import hashlib
import json
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT, folders_in, policy_in, sample_vault
from needs import installed
from wire import Stdio, call, structured

pytestmark = installed(ROOT / "build/guest/python.bare.wasm", by="make python")


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    return sample_vault(tmp_path_factory.mktemp("python"))


@pytest.fixture(scope="module")
def client(cloche, vault, tmp_path_factory):
    state = folders_in(tmp_path_factory.mktemp("state"))  # without sessions of an earlier build
    with Stdio([cloche, "mcp", "--vault", str(vault)], env=os.environ | state) as c:
        yield c


@pytest.fixture
def run(client):
    """Evaluates Python in one long-lived server; returns the whole answer."""

    def evaluate(code, **arguments):
        reply = client.ask(call("evaluate_note_code", {"code": code, "language": "python", **arguments}))
        return reply["result"]["structuredContent"]

    return evaluate


def result(answer):
    assert answer["success"], answer.get("errorDetails")
    return answer["result"]


def details(answer):
    assert not answer["success"], answer["result"]
    return answer["errorDetails"]


def with_shared(tmp_path):
    """The arguments of an evaluation with a folder of the host, and the folder."""
    shared = tmp_path / "shared"
    shared.mkdir()
    policy_in(tmp_path, {"fileSystem": True, "mounts": [{"guest": "/shared", "host": str(shared), "mode": "rw"}]})
    return {"language": "python", "enableFileSystem": True}, shared


# ---- results ----------------------------------------------------------------


@pytest.mark.parametrize("code, value", [
    ("1+1", 2),
    ("", None),
    ("# nothing", None),
    ("x = 5", None),
    ("x = 5\nx", 5),
    ("'a' 'b'", "ab"),
    ("return 1", 1),
    ("x: int = 1\nreturn x", 1),
    ("if True:\n    return {'a': (1, 2)}\nreturn 0", {"a": [1, 2]}),
    ("if __name__ == '__main__':\n    7", 7),
    ("def main():\n    return 3", 3),
    ("async def main():\n    return 4", 4),
    ("def main():\n    return 3\nmain()\n5", 5),
    ("async def f():\n    return 6\nf()", 6),
    ("async def f():\n    return 6\nawait f()", 6),
    ("import asyncio\nasync def f():\n    return 6\nasyncio.run(f())", 6),
    ("import sys\nsys.exit()", None),
    ("import sys\nsys.exit(0)", None),
    ("[i for i in range(3)]", [0, 1, 2]),
    ("with open.__class__ and __import__('contextlib').nullcontext(2) as n:\n    n", 2),
    ("try:\n    1/0\nexcept ZeroDivisionError:\n    'caught'", "caught"),
    ("2**70", 2**70),
    ("'\\ud800'", "\ufffd"),
    ("\ufeffx = 1\nx", 1),
    ("runs = []\ndef main():\n    runs.append(1)\n    return len(runs)\ndef cli():\n    return main()\ncli()\nlen(runs)", 1),
    ("runs = []\nasync def main():\n    'Runs.'\n    runs.append(1)\n    return len(runs)\nimport asyncio\n"
     "class App:\n    def start(self):\n        return asyncio.run(main())\n[App().start(), len(runs)]", [1, 1]),
    ("jobs = []\ndef main():\n    return 3\njobs.append(lambda: main())\njobs.pop()()\n4", 4),
    ("def main(n=2):\n    return main(n - 1) if n else 5", 5),
    ("def cli():\n    return main()\ndef main():\n    return 6", 6),
    ("def f():\n    return lambda: 0\nreturn [f().__qualname__, f.__qualname__]", ["f.<locals>.<lambda>", "f"]),
    ("import inspect\ndef f():\n    return 1\ninspect.getsource(f)", "def f():\n    return 1\n"),
])
def test_the_result_is_a_return_the_value_of_main_or_the_last_expression(run, code, value):
    assert result(run(code)) == value


@pytest.mark.parametrize("value, written", [
    ("datetime.date(2026, 1, 2)", "2026-01-02"),
    ("datetime.datetime(2026, 1, 2, 3, 4)", "2026-01-02T03:04:00"),
    ("datetime.timedelta(minutes=2)", 120),
    ("decimal.Decimal('1.50')", "1.50"),
    ("pathlib.Path('/a') / 'b'", "/a/b"),
    ("{3, 1, 2}", [1, 2, 3]),
    ("b'abc'", "YWJj"),
    ("P(1, P(2, None))", {"x": 1, "y": {"x": 2, "y": None}}),
    ("Colour.RED", "red"),
    ("{1: 2, (3, 4): 5}", {"1": 2, "3, 4": 5}),
    ("{Rank.LOW: 1, Colour.RED: 2, Word.A: 3, 1.5: 4, (3, 4): 5}", {"1": 1, "red": 2, "a": 3, "1.5": 4, "3, 4": 5}),
    ("{Rank.LOW: 1, Word.A: 3}", {"1": 1, "a": 3}),
    ("range(3)", [0, 1, 2]),
    ("(i for i in 'ab')", ["a", "b"]),
    ("ValueError('no')", {"name": "ValueError", "message": "no"}),
    ("collections.OrderedDict(a=1)", {"a": 1}),
    ("Own()", {"a": 1}),
])
def test_other_values_become_json_by_the_stated_rules(run, value, written):
    code = ("import datetime, decimal, pathlib, collections, enum\nfrom dataclasses import dataclass\n"
            "@dataclass\nclass P:\n    x: int\n    y: object\n"
            "class Colour(enum.Enum):\n    RED = 'red'\n"
            "class Rank(enum.IntEnum):\n    LOW = 1\n"
            "class Word(str, enum.Enum):\n    A = 'a'\n"
            "class Own:\n    def __init__(self):\n        self.a, self._b = 1, 2\n")
    assert result(run(code + value)) == written


@pytest.mark.parametrize("format, text", [
    ("%b %d, %Y %l:%M %P", "Feb 09, 2024  1:05 pm"), ("%d %k", "09 13"), ("100% done on %d", "100% done on 09"), ("50%", "50%"),
    ("%A at %l%P", "Friday at  1pm"), ("%^a %#p|%-d|%q", "FRI pm|9|%q"), ("%%P %P", "%P pm"), ("", ""), ("%H:%M", "13:05"),
])
def test_times_are_written_as_by_glibc(run, format, text):
    assert result(run(f"import datetime, time\nd = datetime.datetime(2024, 2, 9, 13, 5)\n"
                      f"[d.strftime({format!r}), format(d, {format!r} or '%%'), time.strftime({format!r}, d.timetuple())]")) == \
        [text, text or "%", text]


def test_what_json_has_no_word_for_is_told(run):
    answer = run("{'n': float('nan'), 'f': len}")
    assert result(answer) == {"n": None, "f": None}
    assert "lost-value" in json.dumps(answer)


def test_a_value_that_contains_itself_is_an_error(run):
    assert "contains itself" in details(run("a = []\na.append(a)\na"))["message"]


def test_print_logging_and_warnings_are_the_logs(run):
    answer = run("import logging, sys, warnings\nprint('a', 1)\nprint('b', end='')\nprint('c')\nlogging.info('i')\n"
                 "logging.warning('w %d', 2)\nlogging.error('e')\nwarnings.warn('careful')\nprint('x', file=sys.stderr)")
    assert [(e["level"], e["message"]) for e in answer["logs"]] == [
        ("log", "a 1"), ("log", "bc"), ("info", "i"), ("warn", "w 2"), ("error", "e"),
        ("warn", "UserWarning: careful (line 8)"), ("error", "x")]


@pytest.mark.parametrize("code, logs", [
    ("import sys, io\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')\nprint('ä')", ["ä"]),
    ("import sys, io\nsys.stdout = io.TextIOWrapper(sys.stdout.detach())\nprint('x', end='')", ["x"]),
    ("import sys\nsys.stdout.reconfigure(encoding='utf-8', line_buffering=True)\nprint(sys.stdout.name)", ["<stdout>"]),
    ("import sys\nsys.stdout.buffer.write(b'\\xc3')\nsys.stdout.buffer.write(b'\\xa9\\n')", ["é"]),
    ("import sys\nsys.stdout.buffer.write(b'a\\xc3')", ["a\ufffd"]),
    ("import sys\nprint('a', end='')\ndel sys.stdout\n1", ["a"]),
    ("import sys, io\nsys.stdout = io.StringIO()\nprint('kept')\nsys.stdout.close()\n1", []),
])
def test_what_is_put_over_a_standard_stream_is_read_to_its_end(run, code, logs):
    answer = run(code)
    result(answer)
    assert [log["message"] for log in answer["logs"]] == logs


@pytest.mark.parametrize("code, value, logs", [
    ("for h in logging.root.handlers[:]:\n    logging.root.removeHandler(h)\nlogging.basicConfig(format='%(levelname)s %(message)s')\n"
     "logging.warning('w')", None, ["WARNING w"]),
    ("logging.basicConfig(stream=buf, format='%(message)s!')\nlogging.warning('w')\nbuf.getvalue()", "w!\n", ["w!"]),
    ("logging.basicConfig(handlers=[logging.StreamHandler(buf)], level='DEBUG', force=True)\nlogging.debug('d')\nbuf.getvalue()",
     "DEBUG:root:d\n", ["d"]),
    ("logging.basicConfig(handlers=[logging.StreamHandler(sys.stdout)], format='%(name)s %(message)s')\nlogging.warning('once')",
     None, ["root once"]),
    ("logging.basicConfig(stream=buf)\nlogging.basicConfig(level=logging.ERROR)\nlogging.warning('still')\nbuf.getvalue()",
     "WARNING:root:still\n", ["still"]),
    ("try:\n    logging.basicConfig(stream=buf, handlers=[])\nexcept ValueError as e:\n    said = str(e)\nsaid",
     "'filename', 'stream' and 'handlers' should not be specified together", []),
    ("import logging.config\nlogging.config.dictConfig({'version': 1, 'formatters': {'f': {'format': '%(message)s?'}}, 'handlers': "
     "{'h': {'class': 'logging.StreamHandler', 'stream': 'ext://sys.stdout', 'formatter': 'f'}}, 'root': {'handlers': ['h'], 'level': 'INFO'}})\n"
     "logging.info('set')", None, ["set?"]),
])
def test_logging_is_configured_as_elsewhere(run, code, value, logs):
    answer = run(f"import io, logging, sys\nbuf = io.StringIO()\n{code}")
    assert result(answer) == value
    assert [log["message"] for log in answer["logs"]] == logs


def test_values_of_the_context_are_variables(run):
    assert result(run("[n + 1, o.a, context['n']]", context={"n": 1, "o": {"a": 2}})) == [2, 2, 1]


@pytest.mark.parametrize("key", ["notes", "class", "print", "note_types", "two words"])
def test_a_value_of_the_context_hides_nothing(run, key):
    assert details(run("1", context={key: 1}))["code"] == "INVALID"


# ---- the API ----------------------------------------------------------------


def test_notes_are_read_with_and_without_await(run):
    code = "n = {0}notes.list(limit=1)\nm = {0}notes.get(n[0].id)\n[m.title == n[0]['title'], m['id'] == n[0].id]"
    assert result(run(code.format(""))) == [True, True]
    assert result(run(code.format("await "))) == [True, True]


def test_names_are_those_of_python_and_those_of_the_api(run):
    assert result(run("notes.search_by_text == notes.searchByText and note_types == noteTypes")) is True


def test_keywords_are_options(run):
    assert result(run("a = notes.list(type_name='daily', limit=2)\nb = notes.list({'typeName': 'daily', 'limit': 2})\n"
                      "c = notes.list('daily', limit=2)\n[a == b, b == c, len(a)]")) == [True, True, 2]


def test_an_unknown_keyword_is_told_with_what_was_meant(run):
    assert "did you mean limit" in details(run("notes.list(limitt=1)"))["message"]


@pytest.mark.parametrize("code", [
    "notes.create(type='note', title='x', body='y')", "notes.update('note/x', contents='y')", "notes.list('a', 'b', limit=1)",
    "tools.run(1)", "tools.run('jq', 1)"])
def test_arguments_that_are_refused_are_invalid_input(run, code):
    told = details(run(code))
    assert (told["type"], told["name"], told["code"]) == ("InvalidInput", "InvalidInput", "INVALID")
    assert result(run(f"try:\n    {code}\nexcept ValueError as e:\n    return [e.name, e.code, e.retry]")) == ["InvalidInput", "INVALID", False]


def test_a_missing_note_is_none(run):
    assert result(run("notes.get('note/Nothing of this name') is None")) is True


def test_a_failed_call_is_an_exception_of_its_kind(run):
    code = "try:\n    {}\nexcept NotFound as e:\n    return [e.name, isinstance(e, LookupError), bool(e.message)]"
    assert result(run(code.format("notes.delete('note/Nothing of this name')"))) == ["NotFound", True, True]
    told = details(run("notes.delete('note/Nothing of this name')"))
    assert (told["type"], told["line"]) == ("NotFound", 1)


def test_a_note_is_created_changed_and_removed(run):
    code = ("made = notes.create(type='note', title='By Python', content='one')\n"
            "notes.update(made.id, content='two', metadata={'tags': ['x']})\n"
            "now = notes.get(made.id)\nnotes.delete(made.id, confirm=True)\n"
            "[now.content.strip(), now.metadata.tags, notes.get(made.id)]")
    assert result(run(code)) == ["two", ["x"], None]


@pytest.mark.parametrize("code, value", [
    ("c = f(1)\nawait asyncio.gather(c, c, f(2))", [1, 1, 2]),
    ("await asyncio.gather({}, notes.get('none'), f(2))", [{}, None, 2]),
    ("c = f(1)\n[await x for x in asyncio.as_completed([c, c])]", [1]),
    ("done, left = await asyncio.wait([f(1), asyncio.create_task(f(2))])\n[sorted(d.result() for d in done), len(left)]", [[1, 2], 0]),
    ("await asyncio.wait_for(f(3), 1)", 3),
    ("try:\n    await asyncio.wait(f(1))\nexcept TypeError as e:\n    kind = type(e).__name__\nkind", "TypeError"),
])
def test_functions_of_asyncio_take_what_they_take_elsewhere_and_values(run, code, value):
    assert result(run("import asyncio\nasync def f(n):\n    return n\n" + code)) == value


def test_gather_has_its_calls_under_way_at_the_same_time(run):
    code = ("import asyncio\nrows = notes.list(limit=5)\n"
            "got = await asyncio.gather(*[notes.get(r.id) for r in rows])\n"
            "[g.id for g in got] == [r.id for r in rows]")
    answer = run(code, trace=True)
    assert result(answer) is True
    assert answer["stats"]["host_calls"] == 6


def test_what_an_object_holds_beside_what_it_awaits_is_answered(run):
    code = ("import asyncio, json\n"
            "class Reader:\n"
            "    def __init__(self):\n        self.items, self.jobs = [], []\n"
            "    async def title(self, i):\n        return (await notes.get(i))['title']\n"
            "    async def all(self, ids):\n"
            "        for i in ids:\n            self.items.append(notes.get(i))\n            self.jobs.append(notes.get(i))\n"
            "        first = await self.title(ids[0])\n"
            "        under_way = [isinstance(j, dict) for j in self.jobs]\n"
            "        await asyncio.gather(*self.jobs)\n"
            "        return [json.loads(json.dumps(self.items))[0]['title'] == first, [isinstance(i, dict) for i in self.items], under_way]\n"
            "ids = [n.id for n in notes.list(limit=2)]\n"
            "await Reader().all(ids)")
    assert result(run(code)) == [True, [True, True], [False, False]]


def test_tasks_timeouts_and_queues_work(run):
    code = ("import asyncio\nasync def one(i):\n    await asyncio.sleep(0)\n    return (await notes.get(i)).id\n"
            "ids = [r.id for r in notes.list(limit=3)]\n"
            "async with asyncio.TaskGroup() as g:\n    tasks = [g.create_task(one(i)) for i in ids]\n"
            "late = False\ntry:\n    await asyncio.wait_for(asyncio.Event().wait(), 0.001)\n"
            "except TimeoutError:\n    late = True\n[[t.result() for t in tasks] == ids, late]")
    assert result(run(code)) == [True, True]


def test_allowed_apis_and_levels_hold(run):
    told = details(run("notes.list()", allowedAPIs=["links"]))
    assert told["type"] == "PermissionDenied"


def test_utils_need_no_host(run):
    code = ("[utils.parse_links('[[a]] [[b|c]]'), utils.format_date('2026-02-03', 'YYYY/MM'), "
            "utils.sanitize_title('What? now!'), len(utils.generate_id())]")
    assert result(run(code)) == [["a", "b|c"], "2026/02", "What now", 10]


def test_a_dry_run_keeps_nothing(run):
    answer = run("notes.create(type='note', title='Never there', content='x').id", dryRun=True)
    assert result(answer) and answer["changeCount"] == 1
    assert result(run("notes.get('note/Never there')")) is None


def test_the_cache_answers_again(run):
    code = "import random\n[n.id for n in notes.list(limit=2)]"
    run(code, cache=True)
    assert run(code, cache=True).get("cached") is True


# ---- errors -----------------------------------------------------------------


def test_an_error_has_line_column_frame_and_stack_of_the_code(run):
    told = details(run("def f(x):\n    return x / 0\n\nf(1)"))
    assert (told["name"], told["line"], told["column"]) == ("ZeroDivisionError", 2, 12)
    assert "> " in told["frame"] and "^" in told["frame"]
    assert 'line 4, in <module>' in told["stack"] and "/lib/" not in told["stack"]


def test_an_error_that_cannot_be_shown_has_its_place(run):
    told = details(run("class E(Exception):\n    def __str__(self):\n        return 'code ' + 7\n\nraise E(7)"))
    assert (told["line"], told["name"]) == (5, "E") and "exception str() failed" in told["message"], told


def test_a_group_of_errors_keeps_its_message_and_place(run):
    told = details(run("def f():\n    raise ExceptionGroup('one failed', [ValueError('bad row')])\n\nf()"))
    assert told["line"] == 2 and "one failed" in told["message"], told
    told = details(run("import asyncio\nasync def f():\n    raise ValueError('of a task')\n"
                       "async with asyncio.TaskGroup() as g:\n    g.create_task(f())"))
    assert (told["line"], told["message"]) == (3, "of a task"), told


def test_chained_exceptions_are_told(run):
    told = details(run("try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('no a') from e"))
    assert "direct cause" in told["stack"] and "KeyError" in told["stack"]


@pytest.mark.parametrize("code, meant", [
    ("notes.lst()", "notes.list"),
    ("lenght = 1\nlenhgt", "lenght"),
    ("notes.list(limit=1)[0].titel", "title"),
    ("import jsn", "json"),
    ("import json\njson.dump5({})", "dump"),
])
def test_a_wrong_name_is_answered_with_the_right_one(run, code, meant):
    assert meant in details(run(code))["message"]


def test_a_module_that_is_not_there_is_told_with_what_is(run):
    message = details(run("import numpy"))["message"]
    assert "numpy" in message and "standard library" in message


@pytest.mark.parametrize("code, line", [("x = (1,", 1), ("a = 1\nif a\n    b", 2), ("print 'x'", 1)])
def test_a_syntax_error_has_its_place(run, code, line):
    told = details(run(code))
    assert (told["type"], told["line"]) == ("SyntaxError", line)


@pytest.mark.parametrize("code", [
    "y = " + "(" * 3000 + "1" + ")" * 3000, "y = [\n" + "[" * 3000 + "]" * 3000 + "]", "y = " + "{1: " * 3000 + "1" + "}" * 3000,
    "y = " + "lambda: " * 3000 + "1", "return x" + ".real" * 3000, "return 1" + " + x" * 3000,
    "if x == 0: return 1\n" + "".join(f"elif x == {i}: return 2\n" for i in range(3000))])
def test_code_that_is_nested_too_deeply_has_its_place(run, code):
    told = details(run(f"x = 1\ns = '(('\n{code}"))
    assert told["type"] == "SyntaxError" and "nested" in told["message"]
    assert told["line"] >= 3 and told["column"] > 1 and told["frame"]
    assert details(run(f"# ((\n{code}"))["line"] == told["line"] - 1


# ---- limits -----------------------------------------------------------------


@pytest.mark.parametrize("code, lines", [
    ("x = 1\nwhile True:\n    x += 1", {2, 3}),
    ("import re\n\nfound = re.match(\n    '(a*)*b',\n    'a' * 60)", {3, 4, 5}),
    ("def f(n):\n    while True:\n        n = n + 1\n\n\nf(1)", {2, 3}),
    ("import json\ndef f():\n    return [json.dumps(list(range(100)))\n            for _ in range(10**9)]\n\nf()", {3, 4}),
    ("import time\nprint('x')\ntime.sleep(60)", {3}),
    ("x = 'é'\n\nmax(map(lambda n: -n ** 3 % 7, range(10**9)))\n1", {3}),
])
def test_code_that_ran_out_of_time_is_told_its_line(run, code, lines):
    told = details(run(code, timeout=700))
    assert told["type"] == "Timeout" and told["line"] in lines
    assert f"> {told['line']:4} |" in told["frame"]


def test_a_session_tells_the_line_of_its_last_call(run):
    result(run("\n\n\ndef spin():\n    while True:\n        pass", session="lines"))
    assert details(run("x = 1\n\nspin()", session="lines", timeout=300))["line"] == 3
    assert details(run("\nwhile True: pass", session="lines", timeout=300))["line"] == 2


def test_a_session_does_not_stay_in_a_folder_that_has_gone(cloche, vault, tmp_path):
    asked, shared = with_shared(tmp_path)
    (shared / "kept").mkdir()
    with Stdio([cloche, "mcp", "--vault", str(vault)], env=os.environ | folders_in(tmp_path)) as client:
        def run(code):
            return result(client.ask(call("evaluate_note_code", asked | {"code": code, "session": "s"}))["result"]["structuredContent"])

        assert run("import os\nos.makedirs('/w')\nos.chdir('/w')\nos.getcwd()") == "/w"
        assert run("open('n.txt', 'w').close()\nos.getcwd()") == "/"
        assert run("os.chdir('/shared/kept')") is None
        assert run("open('n.txt', 'w').close()\nos.getcwd()") == "/shared/kept"
    assert (shared / "kept/n.txt").exists()


def test_the_line_told_is_one_of_the_agents_own_code(run):
    assert details(run("x = 1\nexec(compile('\\n' * 8 + 'while True: pass', 'other.py', 'exec'), {})\n", timeout=300))["line"] == 2


@pytest.mark.parametrize("code, kind", [
    ("while True: pass", "Timeout"),
    ("while True:\n    try:\n        while True: pass\n    except BaseException: pass", "Timeout"),
    ("import re\nre.match('(a*)*b', 'a' * 60)", "Timeout"),
    ("import time\ntime.sleep(60)", "Timeout"),
    ("import asyncio\nawait asyncio.sleep(60)", "Timeout"),
    ("a = []\nwhile True: a.append('x' * 1000000 + str(len(a)))", "MemoryExceeded"),
    ("b = bytearray(1 << 30)", "MemoryExceeded"),
    ("def f(): return f()\nf()", "StackOverflow"),
    ("for i in range(10**9): notes.list(limit=1)", "TooManyHostCalls|Timeout"),
    ("'x' * 20000000", "OutputTooLarge"),
    ("import asyncio\nawait asyncio.Future()", "ExecutionError"),
])
def test_a_limit_is_a_named_error(run, code, kind):
    told = details(run(code, timeout=1000))
    print(told)
    assert any(k in (told["type"], told.get("name")) for k in kind.split("|"))


# ---- isolation --------------------------------------------------------------


def test_no_world_sees_another(run):
    run("import builtins, sys, json\nbuiltins.leaked = 'secret-9271'\nsys.modules['leak'] = 'secret-9271'\n"
        "json.leaked = 'secret-9271'\nnotes.__dict__['leak'] = 1\nkept = ['secret-9271'] * 1000")
    code = ("import gc, sys, json, builtins\n"
            "[hasattr(builtins, 'leaked'), 'leak' in sys.modules, hasattr(json, 'leaked'), 'leak' in notes.__dict__,"
            " any(isinstance(o, list) and o and isinstance(o[0], str) and o[0] == 'secret-' + '9271'"
            " for o in gc.get_objects())]")
    assert result(run(code)) == [False] * 5


PLANT = ("import builtins, gc, json, os, sys, decimal, random, sqlite3, logging\n"
         "word = 'secret-' + str(9271)\nbuiltins.planted = json.planted = [word] * 5000\nsys.modules['planted'] = builtins\n"
         "os.environ['PLANTED'] = word\ndecimal.getcontext().prec = 99\nrandom.seed(9271)\nlogging.getLogger(word).setLevel(5)\n"
         "db = sqlite3.connect(':memory:')\ndb.execute('create table t(a)')\ndb.execute('insert into t values(?)', (word,))\n"
         "sys.setrecursionlimit(777)\ngc.disable()\nlarge = word.encode() * 500000\nobject.__subclasses__().append(word)\n"
         "print(word)\n")
LOOK = ("import builtins, gc, json, os, sys, decimal, logging\n"
        "word = 'secret-' + str(9270 + 1)\n"
        "[o for o in gc.get_objects() if isinstance(o, (list, tuple)) and o and any(isinstance(x, (str, bytes)) and len(x) < 99"
        " and str(x) == word for x in list(o)[:9])] or "
        "[hasattr(builtins, 'planted'), hasattr(json, 'planted'), 'planted' in sys.modules, 'PLANTED' in os.environ,"
        " decimal.getcontext().prec, word in logging.root.manager.loggerDict, sys.getrecursionlimit() == 777, gc.isenabled()]")


@pytest.mark.parametrize("end", [
    "1", "return word", "1/0", "raise SystemExit(word)", "raise KeyboardInterrupt(word)", "x = (", "while True: pass",
    "a = []\nwhile True: a.append(word * 100000 + str(len(a)))", "def f(): return f()\nf()", "large.decode() * 20",
    "for i in range(10**9): notes.list(limit=1)", "import os\nos._exit(1)", "import os\nos.abort()",
    "import asyncio\nawait asyncio.Future()", "import asyncio\nasyncio.ensure_future(asyncio.sleep(9))\nawait asyncio.sleep(0)",
    "exec((lambda: 0).__code__.replace(co_code=bytes([100, 255, 83, 0] * 4)))",
    "import marshal\nmarshal.loads(b'\\xe3' + b'\\xff' * 200)", "gc.collect()\nsys.modules.clear()", "notes.delete(word)",
    "import time\ntime.sleep(60)"])
def test_what_is_planted_is_in_no_later_world(run, end):
    run(PLANT + end, timeout=1500)
    for _ in range(2):
        assert result(run(LOOK)) == [False, False, False, False, 28, False, False, True]


def test_worlds_have_their_own_randomness(run):
    code = "import random, uuid, secrets\n[random.random(), str(uuid.uuid4()), secrets.token_hex(8)]"
    first, second = result(run(code)), result(run(code))
    assert not set(first) & set(second)


def test_the_functions_of_random_are_there_before_it_is_seeded(run):
    code = ("import random\nnames = dir(random)\nfrom random import *\nfrom random import _inst\n"
            "seed(7)\na = random()\n_inst.seed(7)\n"
            "import random\n[a == random.random(), 'shuffle' in names, random._inst is _inst, hasattr(random, 'nope')]")
    assert result(run(code)) == [True, True, True, False]
    assert "Did you mean: 'randint'" in details(run("import random\nrandom.randin(1, 2)"))["message"]


def test_each_evaluation_of_a_session_has_its_own_randomness(run):
    code = "import random\nrandom.random()"
    run("import random\nrandom.seed(1)", session="random")
    first, second = result(run(code, session="random")), result(run(code, session="random"))
    assert first != second


def test_references_to_what_worlds_begin_with_are_not_counted(run):
    code = ("import json, gc, sys\nof = sys.getrefcount\n"
            "[of(o) == of(None) for o in (gc, gc.collect, json.dumps, json.dumps.__code__, notes, [])]")
    assert result(run(code)) == [True] * 5 + [False]


@pytest.mark.parametrize("code", [
    "import ctypes", "import subprocess\nsubprocess.run(['ls'])", "import socket\nsocket.socket()",
    "import os\nos.fork()", "import os\nos.system('ls')", "import threading\nthreading.Thread(target=print).start()",
    "open('/etc/passwd').read()", "import os\nos.listdir('/')", "import mmap",
])
def test_there_is_no_way_out(run, code):
    details(run(code))


@pytest.mark.parametrize("code", [
    "import threading\nlock = threading.Lock()\nlock.acquire()\nwait = lock.acquire",
    "import threading\nlock = threading.Lock()\nlock.acquire()\nwait = lock.__enter__",
    "import threading\nwait = threading.Event().wait", "import threading\nwait = threading.Semaphore(0).acquire",
    "import threading\nc = threading.Condition()\nc.acquire()\nwait = c.wait",
    "import queue\nwait = queue.Queue().get", "import queue\nwait = queue.SimpleQueue().get",
    "import concurrent.futures\nwait = concurrent.futures.Future().result",
    "import threading\nbarrier = threading.Barrier(2)\nwait = barrier.wait",
])
def test_a_wait_for_another_thread_is_an_exception(run, code):
    """Where WASI's own function would end the world, and with it what the code does about it."""
    told = details(run(code + "\nwait()"))
    assert told["name"] == "RuntimeError" and "asyncio" in told["message"]
    caught = "\nseen = []\nfor _ in range(3):\n    try:\n        wait()\n    except RuntimeError as e:\n        seen.append(str(e)[:8])\nseen"
    assert result(run(code + caught)) == ["deadlock"] * 3


CRASHERS = [
    "import types\nf = lambda: 0\nc = f.__code__.replace(co_code=bytes([100, 255, 83, 0] * 4))\nexec(c)",
    "import marshal\nmarshal.loads(b'\\xe3' + b'\\xff' * 200)",
    "import marshal\nexec(marshal.loads(b'c' + b'\\x00' * 100))",
    "x = None\nfor i in range(200000): x = (x,)\nhash(x)",
    "x = []\nfor i in range(200000): x = [x]\nrepr(x)",
    "import gc\n[o.clear() for o in gc.get_objects() if isinstance(o, dict)]",
    "import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()",
    "class A:\n    def __del__(self): A()\nA()",
    "import os\nos._exit(3)", "import os\nos.abort()",
    "import sys\nsys.modules.clear()\nimport json\njson.dumps(1)",
    "import builtins\nbuiltins.__dict__.clear()",
    "import _cloche\n_cloche.wait(-1.0)", "import _cloche\n_cloche.call(4000000, '[]')",
    "import _cloche\n_cloche.begin(1, 4000000, 0, '[]')\n_cloche.wait(-1.0)",
    "f = lambda: None\nf.__code__ = compile('(yield)', 'x', 'exec')\nf()",
    "'%1000000000d' % 1", "10 ** 10 ** 10", "(lambda x: x(x))(lambda x: x(x))",
    "import re\nre.compile('(' * 100000)", "eval('(' * 100000)", "compile('-' * 1000000 + '1', 'x', 'eval')",
    "import ast\nast.literal_eval('[' * 100000)",
    "class M(type):\n    def mro(cls): return []\nclass X(metaclass=M): pass\nX()",
    "import weakref, gc\nclass A: pass\na = A(); a.a = a\nr = weakref.ref(a, lambda _: 1/0)\ndel a\ngc.collect()\n1/0",
    "import sys\nsys._getframe().f_builtins.clear()\nprint(1)",
    "def g():\n    yield from x\nx = g()\nnext(x)",
    "import struct\nstruct.pack('1000000000s', b'')", "bytearray(1 << 62)", "[0] * (1 << 29)",
    "import json\njson.loads('[' * 1000000)", "import pickle\npickle.loads(b'\\x80\\x04' + b'(' * 100000 + b'.')",
    "import decimal\ndecimal.Decimal('1e999999999') ** 999999999",
    "import zlib\nzlib.decompress(zlib.compress(bytes(200000000)))",
    "import itertools\nx = itertools.repeat(1)\nfor i in range(200000): x = itertools.chain(x)\nnext(x)\ndel x\n1/0",
]


@pytest.mark.parametrize("n", range(len(CRASHERS)))
def test_what_crashes_an_interpreter_ends_as_a_named_error(run, n):
    answer = run(CRASHERS[n], timeout=2000, memoryLimit=128)
    assert answer["success"] or answer["errorDetails"]["type"]
    assert result(run("6*7")) == 42


@pytest.mark.parametrize("name, password, salt, rounds, size", [
    ("sha1", b"password", b"salt", 1, None), ("sha1", b"password", b"salt", 4096, 20),
    ("sha256", b"p" * 100, b"", 3, 70), ("sha512", b"", b"salt", 2, 5), ("sha3_256", b"pass\0word", b"s\0", 7, 40)])
def test_keys_are_derived_as_elsewhere(run, name, password, salt, rounds, size):
    there = hashlib.pbkdf2_hmac(name, password, salt, rounds, size).hex()
    assert result(run(f"import hashlib\nhashlib.pbkdf2_hmac({name!r}, {password!r}, {salt!r}, {rounds}, {size}).hex()")) == there


@pytest.mark.parametrize("password, salt, n, r, p, size", [
    (b"", b"", 16, 1, 1, 64), (b"password", b"NaCl", 1024, 8, 16, 64), (b"pleaseletmein", b"SodiumChloride", 16384, 8, 1, 64),
    (b"p" * 100, b"s", 2, 3, 2, 7)])
def test_scrypt_derives_keys_as_elsewhere(run, password, salt, n, r, p, size):
    more = f"salt={salt!r}, n={n}, r={r}, p={p}, maxmem=1 << 26, dklen={size}"
    there = hashlib.scrypt(password, salt=salt, n=n, r=r, p=p, maxmem=1 << 26, dklen=size).hex()
    assert result(run(f"import hashlib\nhashlib.scrypt({password!r}, {more}).hex()")) == there


def test_scrypt_refuses_what_it_refuses_elsewhere(run):
    code = "import hashlib\nhashlib.scrypt(b'', salt=b'', n={}, r={}, p=1)"
    for n, r in ((3, 1), (0, 1), (16, 0), (1 << 20, 8)):
        assert details(run(code.format(n, r)))["name"] == "ValueError"


@pytest.mark.parametrize("code, words", [
    ("console.log('x')", "print() writes to the log"), ("JSON.stringify({})", "dumps()"), ("null", "None in Python"),
    ("x = true", "True"), ("notes.list().length", "len(list)"), ("notes.list().filter(len)", "for x in list"),
    ("notes.get('nowhere/none').title", "notes.get() answers None"), ("import os\nos.system('ls')", "tools.run()"),
    ("import subprocess\nsubprocess.run(['ls'])", "tools.run()"),
    ("import threading\nthreading.Thread(target=print).start()", "vm.exec()"),
    ("'a/b'.parts", "pathlib.Path(text).parts"), ("x = 'a'\nx.exists()", "pathlib.Path(text)"),
    ("'2026-01-02'.year", "fromisoformat(text).year"), ("'x'.isoformat()", "fromisoformat(text)"),
    ("'x'.append('y')", "text + more"), ("['b'].sorted()", "sorted(list)"), ("['b'].lower()", "[x.lower() for x in list]"),
    ("notes.list().title", "[x.title for x in list]"), ("d = {'a': 1}\nd.a", "d['a']"), ("d = {'a': 1}\nd.b", "Its keys are 'a'"),
    ("d = {}\nd.has_key('a')", "key in d"), ("{1}.append(2)", "add()"), ("(1,).append(2)", "list(t)"),
    ("import re\nre.match('a', 'b').group()", "nothing matched"), ("import re\nre.match('a', 'b')[0]", "nothing matches"),
    ("import json\njson.parse('1')", "json.loads()"), ("import datetime\ndatetime.now()", "datetime.datetime.now()"),
    ("import pathlib\npathlib.PurePath('a').split('/')", "str(path).split"), ("notes.list.length", "after a call"),
    ("import notes", "without an import"), ("from notes import get", "without an import"),
    ("json.dumps({})", "import 'json'"), ("notes.serach('x')", "notes.search"), ("notes.list(typ='x')", "did you mean type"),
    ("n = notes.list()[0]\nn.titel", "'title'"), ("print 'x'", "parentheses"), ("input()", "nobody can be asked"),
    ("[2, 1].sort()[0]", "sorted(list)"), ("x = [2, 1].append(3)\nx[0]", "append() changes"),
    ("for n in {1}.update({2}):\n    n", "update() changes"), ("x = [2].reverse()\nx.title", "list[::-1]"),
    ("def f(n):\n    return n.title\nf(notes.get('nowhere/none'))", "notes.get() answers None"),
    ("import asyncio\nasync def main(): pass\nasyncio.run(main())\nawait main()", "await main()"),
    ("import pandas", "pip"), ("notes.create('project', 'T')", "takes 1 argument"), ("tools.run('nope')", "find_tools")])
def test_typical_mistakes_get_a_message_that_says_what_to_do(run, code, words):
    assert words in details(run(code))["message"]


@pytest.mark.parametrize("code", ["[2, 1].sort()[0]", "def f(): pass\nf()[0]", "x = {}.update()\nx.title", "None[0]"])
def test_none_is_not_taken_for_a_note_where_no_note_was_asked_for(run, code):
    assert "notes.get()" not in details(run(code))["message"]


@pytest.mark.parametrize("code", ["'x'.isoformat()", "['b'].sorted()", "b'x'.encode()", "[1].indx(1)", "d = {}\nd.itmes()"])
def test_a_name_that_is_spelt_alike_is_suggested_where_no_other_is_meant(run, code):
    assert ("Did you mean" in details(run(code))["message"]) == ("sorted" not in code and "isoformat" not in code)


@pytest.mark.parametrize("code", ["undefined_value", "undefined_value[0]", "def f():\n    return undefined_value + 1\nf()"])
def test_a_name_that_is_nowhere_is_to_be_defined_or_given(run, code):
    assert details(run(code))["suggestion"] == "Define undefined_value, or give it by `context`"


@pytest.mark.parametrize("code", ["json.dumps({})", "note.get('x')", "def f():\n    print(x)\n    x = 1\nf()",
                                  "raise NameError('x is not defined')", "null"])
def test_a_name_that_is_meant_or_not_missing_is_not_to_be_defined(run, code):
    assert "Define" not in details(run(code)).get("suggestion", "")


# ---- code that is checked ------------------------------------------------------


def check(client, code, **more):
    return structured(client.ask(call("check_code", {"code": code, "language": "python", **more})))


MANY = "def f():\n" + "".join(f"    notes.q{i}\n" for i in range(600)) + "    f()\n"


def test_the_first_findings_are_listed_and_all_are_counted(client):
    found = check(client, MANY + "async def g(): pass\ng()\n1")
    assert (found["ok"], found["errors"], found["warnings"]) == (False, 600, 1)
    assert [f["line"] for f in found["findings"][:50]] == list(range(2, 52))
    assert [(f["rule"], f["message"]) for f in found["findings"][50:]] == [("further-findings", "551 more are not listed")]


@pytest.mark.parametrize("code", ["a" * 66000, "notes." + "a" * 66000, "import " + "a" * 66000, "\n".join(f"{'é' * 3000}{i}" for i in range(60)),
                                  "def f(" + "a, " * 2 + "): pass", f"def f({'a' * 66000}, {'a' * 66000}): pass"])
def test_a_finding_shows_the_beginning_of_a_long_name(client, code):
    found = check(client, code)
    assert found["errors"] and all(len(f["message"]) <= 200 for f in found["findings"])


@pytest.mark.parametrize("code", [
    "links = []\nlinks.append(1)", "def tidy(links): links.sort()\ntidy([2, 1])", "import re\nlinks = re.findall('a', 'b')\nlinks.sort()",
    "for links in [[1]]:\n    links.pop()", "[links.pop() for links in [[1]]]", "f = lambda *notes: notes.index(1)\nf(1)",
    "def f():\n    global links\n    links = []\nf()\nlinks.append(1)", "import re as links\nlinks.compile('a')",
    "def f(links):\n    def g():\n        return links.pop()\n    return g()\nf([1])", "with open.__class__ as notes:\n    notes.mro()",
    "def f[links](x: links):\n    links.mro()\nf(1)", "class A:\n    n, m = __qualname__, __module__\nA.n", "[__name__, __spec__, __package__]",
    "return '''\nlinks\n'''"])
def test_code_that_is_right_has_no_findings(client, code):
    assert check(client, code)["findings"] == []


@pytest.mark.parametrize("code, line, column", [
    ("x = 'é'; undefinedd", 1, 10), ("x = 'é' + 'ü'; notes.lst()", 1, 16), ("'𝄞'; import nmupy", 1, 6), ("x = 'é' 1", 1, 9),
    ("x = 'é'; break", 1, 10), ("x = 'é'; nonlocal y", 1, 10),
    ("def f(links):\n    links.pop()\nlinks.pop()", 3, 1), ("class A:\n    links = []\n    def f(self): return links.pop()", 3, 25),
    ("def f(): return __qualname__", 1, 17), ("return '''\n''' + undefinedd", 2, 7)])
def test_a_finding_has_its_place_in_characters(client, code, line, column):
    found = check(client, code)["findings"]
    assert [(f["line"], f["column"], f["severity"]) for f in found] == [(line, column, "error")]


@pytest.mark.parametrize("code, severities", [
    ("try:\n    import orjson as json\nexcept ImportError:\n    import json", ["hint"]),
    ("try:\n    import json\nexcept (ValueError, ModuleNotFoundError):\n    import simplejson as json", ["hint"]),
    ("try:\n    import orjson\nexcept:\n    orjson = None", ["hint"]),
    ("import contextlib\nwith contextlib.suppress(ImportError):\n    import numpy", ["hint"]),
    ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from cloche import *", ["hint"]),
    ("try:\n    import orjson\nexcept KeyError:\n    pass", ["error"]), ("try:\n    pass\nexcept ImportError:\n    pass\nfinally:\n    import orjson", ["error"]),
    ("def f():\n    import numpy\nf()", ["error"])])
def test_a_module_that_the_code_can_do_without_is_no_error(client, code, severities):
    assert [f["severity"] for f in check(client, code)["findings"]] == severities


def test_names_of_a_session_are_not_missed_by_a_policy_that_refuses(cloche, vault, tmp_path):
    policy_in(tmp_path, {"lint": "refuse"})
    with Stdio([cloche, "mcp", "--vault", str(vault)], env=os.environ | folders_in(tmp_path)) as client:
        asked = {"language": "python", "session": "s"}
        answers = [client.ask(call("evaluate_note_code", {"code": code, **asked}))["result"]["content"][0]["text"]
                   for code in ("kept = 1", "kept + 1", "kept + notes.lst()")]
    assert '"result":2' in answers[1] and "notes.lst is not there" in answers[2]


CREATES = "\nnotes.create(type='note', title='Bypass', content='x').id"


@pytest.mark.parametrize("code, kind", [
    (MANY + CREATES, "PermissionDenied"), ("notes.lst" + CREATES, "PermissionDenied"), ("async def f(): pass\nf()\nnotes.lst" + CREATES, "PermissionDenied"),
    (f"if False:\n    {'a' * 66000}" + CREATES, "PermissionDenied"), ("x = (" + CREATES, "SyntaxError"),
    (f"x = 1\nglobal x{CREATES}\nreturn 1", "PermissionDenied"), ("break" + CREATES, "SyntaxError"),
    ("links = []\nlinks.append(1)\nlinks", None), ("try:\n    import orjson\nexcept ImportError:\n    orjson = None", None)])
def test_a_policy_may_refuse_code_with_errors(cloche, tmp_path, code, kind):
    vault = sample_vault(tmp_path)
    policy_in(tmp_path, {"lint": "refuse"})
    with Stdio([cloche, "mcp", "--vault", str(vault)], env=os.environ | folders_in(tmp_path)) as client:
        answer = client.ask(call("evaluate_note_code", {"code": code, "language": "python"}))["result"]
    assert (kind or '"success":true') in answer["content"][0]["text"], answer
    assert not list(vault.rglob("*Bypass*"))


# ---- sessions, files, packages ------------------------------------------------


def test_a_session_keeps_variables_functions_and_classes(run):
    answer = run("import json\nclass P:\n    def __init__(self, x): self.x = x\ndef twice(n): return 2 * n\np = P(4)", session="py1")
    assert answer["success"] and answer["session"]["kept"], answer
    assert result(run("[twice(p.x), json.dumps([1]), type(p).__name__]", session="py1")) == [8, "[1]", "P"]
    answer = run("p.x += 1\n1/0", session="py1")
    assert answer["session"]["kept"] is True
    assert result(run("return p.x", session="py1")) == 5


@pytest.fixture
def files_policy(tmp_path):
    policy_in(tmp_path, {"fileSystem": True})


def test_files_are_python_files(cloche, vault, tmp_path):
    policy_in(tmp_path, {"fileSystem": True})
    code = ("import os, pathlib, shutil, json, csv\n"
            "pathlib.Path('/d/e').mkdir(parents=True)\n"
            "with open('/d/a.txt', 'w') as f:\n    f.write('one\\ntwo\\n')\n"
            "with open('/d/a.txt', 'a') as f:\n    print('three', file=f)\n"
            "lines = [l.strip() for l in open('/d/a.txt')]\n"
            "p = pathlib.Path('/d/e/b.json')\np.write_text(json.dumps({'a': 1}))\n"
            "shutil.copy('/d/a.txt', '/d/e/c.txt')\n"
            "with open('/d/a.txt', 'r+b') as f:\n    f.seek(1)\n    f.write(b'XY')\n"
            "walked = [sorted(x[2]) for x in os.walk('/d')]\n"
            "missing = None\ntry:\n    open('/none')\nexcept FileNotFoundError as e:\n    missing = e.filename\n"
            "fs.write_file('/x', 'text')\n"
            "[lines, json.loads(p.read_text()), walked, pathlib.Path('/d/a.txt').read_text()[:3], missing, "
            "os.path.getsize('/x'), sorted(q.name for q in pathlib.Path('/d').glob('**/*')), fs.read_file('/x', 'utf8')]")
    done = subprocess.run([cloche, "eval", "--vault", str(vault), "--lang", "python", "--files", "-e", code],
                          capture_output=True, text=True)
    assert json.loads(done.stdout)["result"] == [
        ["one", "two", "three"], {"a": 1}, [["a.txt"], ["b.json", "c.txt"]], "oXY", "/none", 4,
        ["a.txt", "b.json", "c.txt", "e"], "text"], done.stdout


def test_files_have_descriptors(cloche, vault, tmp_path):
    policy_in(tmp_path, {"fileSystem": True})
    code = ("import os, tempfile\n"
            "fd, name = tempfile.mkstemp(suffix='.txt')\nwith os.fdopen(fd, 'w') as f:\n    f.write('one')\n"
            "fd = os.open(name, os.O_RDWR | os.O_APPEND)\nos.write(fd, b' two')\nos.lseek(fd, 0, os.SEEK_SET)\n"
            "read = os.read(fd, 100).decode()\nsize = os.fstat(fd).st_size\nos.close(fd)\n"
            "errors = []\n"
            "for act in (lambda: os.read(fd, 1), lambda: os.close(fd), lambda: os.open('/none', os.O_RDONLY),\n"
            "            lambda: os.open(name, os.O_CREAT | os.O_EXCL)):\n"
            "    try:\n        act()\n    except OSError as e:\n        errors.append(type(e).__name__)\n"
            "with open(name) as f:\n    number = f.fileno() >= 3\n"
            "import tarfile, bz2, tokenize\nwith tarfile.open('/t.tar', 'w') as t:\n    t.add(name, 'inside')\n"
            "members = tarfile.open('/t.tar').getnames()\nbz2.open('/b', 'wt').close()\n"
            "with tempfile.NamedTemporaryFile('w+') as t:\n    t.write('x')\n    kept = t.name\n"
            "errors.append(os.path.exists(kept))\n"
            "with tempfile.TemporaryDirectory() as d:\n    open(d + '/a', 'w').close()\n    errors.append(os.listdir(d.encode()) == [b'a'])\n"
            "class Own:\n    opens = open\n"
            "[read, size, errors, number, Own().opens(name).read(3), members]")
    done = subprocess.run([cloche, "eval", "--vault", str(vault), "--lang", "python", "--files", "-e", code],
                          capture_output=True, text=True)
    assert json.loads(done.stdout)["result"] == [
        "one two", 7, ["OSError", "OSError", "FileNotFoundError", "FileExistsError", False, True], True, "one", ["inside"]], done.stdout


OPENED = """
import asyncio, errno, importlib, io, os, pathlib, sys, tempfile
def number(act):
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno], error.filename
pathlib.Path('/touched').touch()
os.chdir('/')
told = [os.path.exists('/touched'), number(lambda: pathlib.Path('/none/touched').touch()), number(lambda: open('none'))]
f, g = open('/a', 'w+'), open('/a', 'r+')
f.write('one')
f.flush()
told += [g.read(), os.pread(g.fileno(), 2, 1).decode(), os.fstat(g.fileno()).st_size]
os.rename('/a', '/b')
f.write(' two')
f.flush()
told += [open('/b').read(), os.path.exists('/a')]
os.unlink('/b')
f.write(' three')
f.flush()
copy = os.dup(f.fileno())
told += [os.lseek(copy, 0, os.SEEK_CUR), os.fstat(copy).st_nlink, os.path.exists('/b')]
f.close()
told += [number(lambda: os.lseek(g.fileno(), -1, os.SEEK_SET)), number(lambda: os.write(copy, b'x')), number(lambda: os.write(os.open('/touched', os.O_RDONLY), b''))]
os.mkdir('/d')
folder = os.open('/d', os.O_RDONLY)
os.close(os.open('x', os.O_CREAT | os.O_WRONLY, dir_fd=folder))
told += [os.listdir(folder), number(lambda: open('/d')), number(lambda: io.FileIO(folder))[0]]
with tempfile.TemporaryFile() as t:
    told.append(os.fstat(t.fileno()).st_nlink)
open(os.devnull, 'w').write('x')
told += [repr(io.FileIO('/touched')), open(os.devnull).read()]
open('/d/made_here.py', 'w').write('value = 7')
sys.path.append('/d')
importlib.invalidate_caches()
import made_here
told += [made_here.value, os.listdir('/d')]
sys.stdin = io.StringIO('a line\\n')
told.append(input())
async def main():
    return 3
told.append(asyncio.Runner(loop_factory=asyncio.SelectorEventLoop).run(main()))
told
"""


def test_open_files_are_those_of_a_system(cloche, vault, tmp_path):
    policy_in(tmp_path, {"fileSystem": True})
    done = subprocess.run([cloche, "eval", "--vault", str(vault), "--lang", "python", "--files", "-e", OPENED],
                          capture_output=True, text=True)
    told = json.loads(done.stdout)["result"]
    assert told == [
        True, ["ENOENT", "/none/touched"], ["ENOENT", "none"], "one", "ne", 3, "one two", False, 13, 0, False,
        ["EINVAL", None], None, ["EBADF", None], ["x"], ["EISDIR", "/d"], "EISDIR", 0,
        "<_io.FileIO name='/touched' mode='rb' closefd=True>", "", 7, ["made_here.py", "x"], "a line", 3], done.stdout


OVERWRITES = """
import os, zipfile
fd = os.open('/shared/a', os.O_CREAT | os.O_RDWR)
os.write(fd, b'one two')
os.pwrite(fd, b'ONE', 0)
told = [fs.read_file('/shared/a', 'utf8'), os.path.getsize('/shared/a')]
os.ftruncate(fd, 5)
os.pwrite(fd, b'!', 7)
told += [open('/shared/a').read(), list(os.read(fd, 9))[-3:]]
os.pwrite(fd, b'TWO', 4)
with zipfile.ZipFile('/shared/z.zip', 'w') as z:
    for i in range(4000):
        z.writestr(f'f{i}', b'x')
"""


@pytest.mark.parametrize("end", ["\ntold", "\n1/0"])
def test_what_changes_within_a_file_is_with_the_host_at_the_next_call_and_at_the_end(cloche, vault, tmp_path, end):
    """However often it changes: 4,000 entries of an archive are far more changes than an evaluation has host calls."""
    asked, shared = with_shared(tmp_path)
    with Stdio([cloche, "mcp", "--vault", str(vault)], env=os.environ | folders_in(tmp_path)) as client:
        answer = client.ask(call("evaluate_note_code", asked | {"code": OVERWRITES + end}))["result"]["structuredContent"]
    if end == "\ntold":
        assert result(answer) == ["ONE two", 7, "ONE t\0\0!", [33]]
    assert (shared / "a").read_bytes() == b"ONE TWO!"
    assert len(zipfile.ZipFile(shared / "z.zip").namelist()) == 4000


UNCLOSED = {
    "text": "f = open('/shared/f', 'w')\nf.write('hello')",
    "added": "f = open('/shared/f', 'a')\nf.write('hello')",
    "bytes": "f = open('/shared/f', 'wb')\nf.write(b'hello')",
    "changed": "f = open('/shared/f', 'r+')\nf.write('hello')",
    "over": "import io\nf = io.TextIOWrapper(open('/shared/f', 'wb'))\nf.write('hello')",
    "csv": "import csv\nw = csv.writer(open('/shared/f', 'w'), lineterminator='')\nw.writerow(['hello'])",
    "stdout": "import sys\nsys.stdout = open('/shared/f', 'w')\nprint('hello', end='')",
    "cycle": "class A: pass\na = A()\na.me, a.f = a, open('/shared/f', 'w')\na.f.write('hello')\ndel a",
    "atexit": "import atexit\nf = open('/shared/f', 'w')\natexit.register(lambda: f.write('hello'))",
    "local": "def main():\n    global kept\n    f = open('/shared/f', 'w')\n    kept = [f]\n    f.write('hello')\nmain()",
}


@pytest.mark.parametrize("end", ["", "\nimport sys\nsys.exit(0)", "\n1/0"])
@pytest.mark.parametrize("name", UNCLOSED)
def test_a_file_that_is_not_closed_has_what_was_written(cloche, vault, tmp_path, name, end):
    asked, shared = with_shared(tmp_path)
    with Stdio([cloche, "mcp", "--vault", str(vault)], env=os.environ | folders_in(tmp_path)) as client:
        for session in ({}, {"session": "s"}):
            if name in ("over", "cycle") and session:
                continue  # the object may be used by the next call
            (shared / "f").write_text("" if name in ("added", "changed") else "before")
            answer = client.ask(call("evaluate_note_code", asked | {"code": UNCLOSED[name] + end} | session))
            assert answer["result"]["structuredContent"]["success"] == (end != "\n1/0"), answer
            assert (shared / "f").read_text() == "hello", session


def test_an_archive_that_is_not_closed_is_whole(cloche, vault, tmp_path):
    asked, shared = with_shared(tmp_path)
    code = ("import gzip, zipfile\ng = gzip.open('/shared/g.gz', 'wt')\ng.write('hello')\n"
            "z = zipfile.ZipFile('/shared/z.zip', 'w')\nz.writestr('a', 'hello')\n7")
    with Stdio([cloche, "mcp", "--vault", str(vault)], env=os.environ | folders_in(tmp_path)) as client:
        assert result(client.ask(call("evaluate_note_code", asked | {"code": code}))["result"]["structuredContent"]) == 7
    assert gzip.decompress((shared / "g.gz").read_bytes()) == b"hello"
    assert zipfile.ZipFile(shared / "z.zip").read("a") == b"hello"


FS = """
fs.write_file('/a', 'iVBORw==', 'base64')
fs.write_file('/b', '0aFF', encoding='hex')
fs.write_file('/c', 'é', {'encoding': 'latin1'})
fs.append_file('/c', 'é', 'utf8')
fs.append_file('/a', '-_8', 'base64')
fs.mkdir('/d/e', recursive=True)
told = [list(open(n, 'rb').read()) for n in ('/a', '/b', '/c')]
told += [fs.read_file('/a', 'base64'), fs.read_file('/b', {'encoding': 'hex'}), fs.read_file('/c', 'latin1'), fs.read_file('/b') == bytes([10, 255])]
entries = fs.readdir('/', with_file_types=True)
told += [[[e.name, e.parentPath, e.isFile(), e.is_directory()] for e in entries], fs.readdir('/', {'recursive': True})]
s = fs.stat('/a')
told += [s.size, s.st_size, s.isFile(), oct(s.mode), s.mtime.year > 2000, s.mtimeMs == s.mtime_ms, fs.lstat('/d').isDirectory()]
for act in (lambda: fs.readdir('/', depth=1), lambda: fs.write_file('/x', 'y', mode=3), lambda: fs.read_file('/a', 'no-such')):
    try:
        act()
    except (TypeError, LookupError) as e:
        told.append(str(e))
told
"""


def test_fs_takes_and_answers_what_is_declared(cloche, vault, tmp_path):
    policy_in(tmp_path, {"fileSystem": True})
    done = subprocess.run([cloche, "eval", "--vault", str(vault), "--lang", "python", "--files", "-e", FS],
                          capture_output=True, text=True)
    assert result(json.loads(done.stdout)) == [
        [137, 80, 78, 71, 251, 255], [10, 255], [233, 195, 169], "iVBOR/v/", "0aff", "éÃ©", True,
        [["a", "/", True, False], ["b", "/", True, False], ["c", "/", True, False], ["d", "/", False, True]],
        ["a", "b", "c", "d", "d/e"], 6, 6, True, "0o100644", True, True, True,
        "fs.readdir() has no option 'depth'; it has recursive, with_file_types",
        "fs.write_file() has no option 'mode'; it has encoding, flag", "unknown encoding: no-such"]


PROGRAMS = [
    ("import logging.config, shelve, dbm, socketserver, wsgiref.util, xmlrpc.client\nxmlrpc.client.loads(xmlrpc.client.dumps((1, 'a')))[0]",
     [1, "a"]),
    ("import yaml\nyaml.safe_load('a: [1, 2]')", {"a": [1, 2]}),
    ("import yaml\nyaml.safe_dump({'b': 1})", "b: 1\n"),
    ("import yaml\ntext = 'a: [1, 2.5, null]\\nb: {c: 2026-01-02}'\n"
     "loaded = yaml.load(text, yaml.CSafeLoader)\n"
     "[yaml.__with_libyaml__, loaded == yaml.safe_load(text), yaml.dump(loaded, Dumper=yaml.CSafeDumper)]",
     [True, True, "a:\n- 1\n- 2.5\n- null\nb:\n  c: 2026-01-02\n"]),
    ("from markdown_it import MarkdownIt\nMarkdownIt().render('# T')", "<h1>T</h1>\n"),
    ("from dateutil import parser\nparser.parse('3 May 2024').date()", "2024-05-03"),
    ("from dateutil import parser\n[parser.parse(t).year for t in ('1/2/25', '3 Sep 03', 'Aug 8 99')]", [2025, 2003, 1999]),
    ("import logging\nmade = [logging.makeLogRecord({}).relativeCreated for _ in (1, 2)]\nmade[0] == 0 <= made[1] < 60000", True),
    ("from dateutil import tz\nimport datetime\ndatetime.datetime(2026, 7, 1, tzinfo=tz.gettz('America/New_York')).isoformat()",
     "2026-07-01T00:00:00-04:00"),
    ("from dateutil import rrule\nrule = 'DTSTART;TZID=Europe/Berlin:20260328T090000\\nRRULE:FREQ=DAILY;COUNT=2'\n"
     "[str(d.utcoffset()) for d in rrule.rrulestr(rule)]", ["1:00:00", "2:00:00"]),
    ("import importlib.metadata as m\n"
     "[m.version('PyYAML'), m.metadata('attrs')['Name'], 'tzdata' in {d.name for d in m.distributions()}]", ["6.0.3", "attrs", True]),
    ("import importlib.metadata as m\nname = None\ntry:\n    m.version('numpy')\nexcept m.PackageNotFoundError as e:\n"
     "    name = e.name\nname", "numpy"),
    ("import importlib.resources as r\nf = r.files('tzdata')\n"
     "['Asia/Tokyo' in (f / 'zones').read_text(), f.joinpath('zoneinfo/UTC').is_file(), f.is_dir()]", [True, True, True]),
    ("import importlib.resources as r\nr.files('tzdata.zoneinfo').joinpath('Asia', 'Tokyo').read_bytes()[:4].decode()", "TZif"),
    ("from dateutil.relativedelta import relativedelta\nimport datetime\ndatetime.date(2024, 1, 31) + relativedelta(months=1)",
     "2024-02-29"),
    ("import jinja2\njinja2.Template('a {{ b }}').render(b=1)", "a 1"),
    ("from bs4 import BeautifulSoup\nBeautifulSoup('<p>x <b>y</b></p>', 'html.parser').b.text", "y"),
    ("from tabulate import tabulate\ntabulate([[1, 2]], headers=['a', 'b'], tablefmt='pipe').splitlines()[0]", "|   a |   b |"),
    ("import networkx as nx\nnx.shortest_path(nx.path_graph(4), 0, 3)", [0, 1, 2, 3]),
    ("import frontmatter\nfrontmatter.loads('---\\na: 1\\n---\\nbody').metadata", {"a": 1}),
    ("import attrs\n@attrs.define\nclass A:\n    x: int = 1\nA()", {"x": 1}),
    ("import zoneinfo, datetime\nstr(datetime.datetime(2026, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).utcoffset())",
     "2:00:00"),
    ("import sqlite3\nc = sqlite3.connect(':memory:')\nc.execute('create table t(a)')\nc.execute('insert into t values(3)')\n"
     "c.execute('select a from t').fetchall()", [[3]]),
    ("import zlib, bz2, lzma\n[zlib.decompress(zlib.compress(b'a' * 100)), bz2.decompress(bz2.compress(b'a' * 100)), "
     "lzma.decompress(lzma.compress(b'a' * 100, preset=0))] == [b'a' * 100] * 3", True),
    ("import hashlib\n[hashlib.sha256(b'').hexdigest()[:6], hashlib.sha3_256(b'').hexdigest()[:6], "
     "hashlib.blake2b(b'').hexdigest()[:6], hashlib.md5(b'').hexdigest()[:6]]", ["e3b0c4", "a7ffc6", "786a02", "d41d8c"]),
    ("import xml.etree.ElementTree as e\ne.fromstring('<a><b>x</b></a>').find('b').text", "x"),
    ("import csv, io\nlist(csv.DictReader(io.StringIO('a,b\\n1,2')))", [{"a": "1", "b": "2"}]),
    ("import statistics, fractions\n[statistics.median([1, 3, 2]), fractions.Fraction(1, 3)]", [2, "1/3"]),
    ("import math\n[math.log2(8), math.acosh(2) > 1.3, math.log10(1000)]", [3, True, 3]),
    ("import tomllib\ntomllib.loads('a = 1')", {"a": 1}),
    ("import unicodedata\nunicodedata.name('é')", "LATIN SMALL LETTER E WITH ACUTE"),
    ("from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as e:\n    r = list(e.map(abs, [-1, 2]))\nr",
     [1, 2]),
    ("from concurrent.futures import ThreadPoolExecutor as Pool\nkept = []\n"
     "with Pool(2, initializer=kept.append, initargs=('ready',)) as pool:\n"
     "    before = list(kept)\n    asked = [pool.submit(kept.append, n) for n in (1, 2)]\n[before, kept]", [[], ["ready", 1, 2]]),
    ("from concurrent.futures import ThreadPoolExecutor as Pool, BrokenExecutor\ntold = []\npool = Pool(initializer=lambda: 1 / 0)\n"
     "told.append(type(pool.submit(abs, 1).exception()).__name__)\ntry:\n    pool.submit(abs, 1)\nexcept BrokenExecutor as e:\n"
     "    told.append(type(e.__cause__).__name__)\ntold", ["BrokenThreadPool", "ZeroDivisionError"]),
    ("from concurrent.futures import ThreadPoolExecutor as Pool\ntold = []\n"
     "for begin in (lambda: Pool(0), lambda: Pool(initializer=3), lambda: ended.submit(abs, 1)):\n"
     "    with Pool() as ended:\n        pass\n    try:\n        begin()\n    except Exception as e:\n        told.append(str(e))\ntold",
     ["max_workers must be greater than 0", "initializer must be a callable", "cannot schedule new futures after shutdown"]),
    ("import tarfile, io, zipfile\nb = io.BytesIO()\nz = zipfile.ZipFile(b, 'w')\nz.writestr('a', 'x')\nz.namelist()", ["a"]),
]


@pytest.mark.parametrize("n", range(len(PROGRAMS)))
def test_the_library_and_the_packages_work(run, n):
    code, value = PROGRAMS[n]
    assert result(run(code)) == value


# ---- doors ------------------------------------------------------------------


def test_the_command_line_runs_python(cloche, vault, tmp_path):
    def ran(*args):
        done = subprocess.run([cloche, "eval", "--vault", str(vault), *args], capture_output=True, text=True)
        return json.loads(done.stdout)

    file = tmp_path / "code.py"
    file.write_text("len(notes.list(limit=2))\n")
    assert ran(str(file))["result"] == 2
    assert ran("--lang", "py", "-e", "sum(range(4))")["result"] == 6
    assert ran("--lang", "python", "-e", "x.y")["errorDetails"]["name"] == "NameError"


def test_the_record_has_the_code_by_its_hash(cloche, vault):
    subprocess.run([cloche, "eval", "--vault", str(vault), "--lang", "py", "-e", "'in the record'"], check=True,
                   capture_output=True)
    told = subprocess.run([cloche, "audit", "--vault", str(vault), "--json"], capture_output=True, text=True)
    assert "evaluate_note_code" in told.stdout
