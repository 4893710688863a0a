"""Custom functions in Python: registered with what their code says, tested, versioned, and called
from JavaScript and from Python."""
import json
import subprocess

import pytest

from conftest import ROOT, sample_vault
from needs import installed
from wire import Stdio, call

pytestmark = installed(ROOT / "build/guest/python.bare.wasm", by="make python")


@pytest.fixture
def vault(tmp_path):
    return sample_vault(tmp_path)


@pytest.fixture
def client(cloche, vault):
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as c:
        yield c


@pytest.fixture
def do(client):
    def ask(action, **arguments):
        reply = client.ask(call(action, arguments))["result"]
        return reply.get("structuredContent") or json.loads(reply["content"][0]["text"])

    return ask


@pytest.fixture
def register(do):
    def one(code, **fields):
        return do("register_custom_function", language="python", code=code, **fields)

    return one


@pytest.fixture
def run(do):
    def evaluate(code, language="javascript", **arguments):
        return do("evaluate_note_code", code=code, language=language, **arguments)

    return evaluate


def kept(answer):
    assert answer["success"], answer
    return answer


def result(answer):
    assert answer["success"], answer.get("errorDetails")
    return answer["result"]


def details(answer):
    assert not answer["success"], answer.get("result")
    return answer["errorDetails"]


RAIN = '''
def rain_total(days: list[float], factor: float = 1.0, label: str | None = None) -> float:
    """Adds up the rain of some days.

    Args:
        days: millimetres, a number for each day
        factor: what each is multiplied by
    """
    return sum(days) * factor
'''


# ---- what its code says ------------------------------------------------------------


def test_name_description_parameters_and_result_are_read_from_the_code(register):
    fn = kept(register(RAIN))["function"]
    assert fn["name"] == "rain_total" and fn["language"] == "python"
    assert fn["description"] == "Adds up the rain of some days."
    assert fn["returnType"] == "number"
    assert fn["parameters"] == {
        "days": {"type": "number[]", "description": "millimetres, a number for each day"},
        "factor": {"type": "number", "description": "what each is multiplied by", "optional": True, "default": 1.0},
        "label": {"type": "string | null", "optional": True},
    }


@pytest.mark.parametrize("annotation, told", [
    ("str", "string"), ("int", "number"), ("bool", "boolean"), ("dict", "Record<string, any>"),
    ("dict[str, int]", "Record<string, number>"), ("list[str]", "string[]"), ("list[str | None]", "(string | null)[]"),
    ("tuple[int, str]", "[number, string]"), ("tuple[int, ...]", "number[]"), ("set[str]", "string[]"),
    ("'str'", "string"), ("typing.Optional[int]", "number | null"), ("typing.Literal['a', 2]", '"a" | 2'),
    ("Note", "Note"), ("list[Note]", "Note[]"), ("typing.Any", "any"), ("Strange", "any"),
    ("datetime.date", "string"),
])
def test_annotations_become_types(register, annotation, told):
    code = f"import datetime, typing\nclass Strange: pass\ndef f(x: {annotation}):\n    'It does.'\n    return 1\n"
    assert kept(register(code, dryRun=True))["function"]["parameters"]["x"]["type"] == told


def test_typed_dicts_and_enums_become_their_shapes(register):
    code = ("import enum\nfrom typing import TypedDict, NotRequired\n"
            "class Row(TypedDict):\n    name: str\n    size: NotRequired[int]\n"
            "class Level(enum.Enum):\n    LOW = 'low'\n    HIGH = 'high'\n"
            "def f(rows: list[Row], level: Level) -> Row:\n    'It does.'\n    return rows[0]\n")
    fn = kept(register(code))["function"]
    assert fn["parameters"]["rows"]["type"] == "{name: string, size?: number}[]"
    assert fn["parameters"]["level"]["type"] == '"low" | "high"'
    assert fn["returnType"] == "{name: string, size?: number}"


@pytest.mark.parametrize("docstring", [
    "Adds.\n\n    Args:\n        days (list): the days\n            of a week\n    Returns:\n        a number",
    "Adds.\n\n    :param days: the days\n        of a week\n    :returns: a number",
    "Adds.\n\n    Parameters\n    ----------\n    days : list\n        the days\n        of a week\n\n    Returns\n    -------\n    float",
])
def test_docstrings_of_every_style_describe_parameters(register, docstring):
    fn = kept(register(f'def f(days: list[int]) -> int:\n    """{docstring}\n    """\n    return 1\n'))["function"]
    assert fn["description"] == "Adds."
    assert fn["parameters"]["days"]["description"] == "the days of a week"


def test_what_is_given_beside_the_code_counts(register):
    fn = kept(register("def f(a, b=2):\n    return a\n", description="Mine", returnType="string",
                       parameters={"a": {"type": "string", "description": "the first"}}, tags=["x"]))["function"]
    assert fn["description"] == "Mine" and fn["returnType"] == "string" and fn["tags"] == ["x"]
    assert fn["parameters"]["a"] == {"type": "string", "description": "the first"}
    assert fn["parameters"]["b"] == {"type": "any", "optional": True, "default": 2}


@pytest.mark.parametrize("code, message, line", [
    ("def f(:\n    pass", "invalid syntax", 1),
    ("x = 1", "declares no function", 1),
    ("def f(**kw):\n    'It does.'", "no names that callers could know", 1),
    ("def f():\n    'It does.'\n    return missing_name", "missing_name", 3),
    ("def f():\n    'It does.'\n    return notes.gett('x')", "notes.get", 3),
    ("def f():\n    'It does.'\n    return eval('1')", "eval() makes code of text", 3),
    ("def f():\n    'It does.'\n    while True:\n        pass", "no end", 3),
    ("import nmupy\ndef f():\n    'It does.'", "nmupy", 1),
    ("def f():\n    'It does.'\n    return custom_functions.nowhere()", "nowhere", 3),
])
def test_a_wrong_definition_is_refused_with_the_place(register, code, message, line):
    answer = register(code)
    assert not answer["success"]
    found = [e for e in answer["errors"] if message in e["message"]]
    assert found and found[0]["line"] == line, answer["errors"]


def test_places_in_a_definition_are_in_characters(register):
    answer = register("def f():\n    'x'\n    return 'é' + custom_functions.nowhere() + notes.gett('x')")
    assert sorted(e["column"] for e in answer["errors"]) == [18, 47], answer["errors"]
    assert register("def f():\n    'é'; break")["errors"][0]["column"] == 10


def test_parameters_are_not_taken_for_the_api(register):
    kept(register("def f(links: list) -> list:\n    'x'\n    links.sort()\n    return links\n"))


def test_a_definition_without_a_description_says_so(register):
    answer = register("def f():\n    return 1\n")
    assert not answer["success"] and answer["errors"][0]["field"] == "description"


def test_the_name_selects_a_function_of_the_code(register, run):
    code = "def helper(x):\n    return x + 1\n\ndef f(x: int) -> int:\n    'It does.'\n    return helper(x)\n"
    assert kept(register(code, name="f"))["function"]["name"] == "f"
    assert result(run("return customFunctions.f(1)")) == 2
    answer = register(code, name="g")
    assert "declares no function g" in answer["errors"][0]["message"]
    assert "helper, f" in answer["errors"][0]["suggestion"]


# ---- calls -------------------------------------------------------------------------


@pytest.mark.parametrize("language, code, value", [
    ("javascript", "return customFunctions.rain_total([1, 2])", 3),
    ("javascript", "return await customFunctions.rain_total([1, 2], 2)", 6),
    ("javascript", "return customFunctions.rain_total([1, 2], undefined, 'x')", 3),
    ("typescript", "const n: number = customFunctions.rain_total([1, 2], 3); return n", 9),
    ("python", "custom_functions.rain_total([1, 2])", 3),
    ("python", "custom_functions.rain_total([1, 2], factor=2)", 6),
    ("python", "custom_functions.rain_total(days=[1.5], label='x')", 1.5),
    ("python", "await custom_functions.rain_total([1, 2], 2)", 6),
    ("python", "customFunctions['rain_total']([4])", 4),
    ("python", "sorted(custom_functions)", ["rain_total"]),
    ("python", "'rain_total' in custom_functions", True),
])
def test_a_function_is_called_from_each_language(register, run, language, code, value):
    kept(register(RAIN))
    assert result(run(code, language)) == value


@pytest.mark.parametrize("language, code, message", [
    ("javascript", "return customFunctions.rain_total()", "parameter 'days' (number[]) is missing"),
    ("javascript", "return customFunctions.rain_total('x')", "parameter 'days' must be number[], not string \"x\""),
    ("javascript", "return customFunctions.rain_total([1, 'x'])", "at days[1], must be number, not string"),
    ("javascript", "return customFunctions.rain_total([1], 2, 'x', 4)", "at most 3 (days, factor, label), not 4"),
    ("javascript", "return customFunctions.rain_total(() => 1)", "not a function"),
    ("python", "custom_functions.rain_total([1], None)", "parameter 'factor' must be number, not null"),
    ("python", "custom_functions.rain_total([1], fator=2)", "takes no 'fator'"),
    ("python", "custom_functions.rain_total([1], days=[2])", "given twice its 'days'"),
])
def test_arguments_are_checked_against_the_types(register, run, language, code, message):
    kept(register(RAIN))
    told = details(run(code, language))
    assert told["name"] == "InvalidInput" and message in told["message"], told
    assert "customFunctions.rain_total" in told["message"]


def test_a_function_in_javascript_is_called_from_python(do, run):
    kept(do("register_custom_function", name="addDays", description="Adds days", returnType="string",
            parameters={"date": {"type": "string"}, "days": {"type": "number", "default": 1}},
            code="function addDays(date, days = 1) { const d = new Date(date); d.setUTCDate(d.getUTCDate() + days); "
                 "return d.toISOString().slice(0, 10); }"))
    assert result(run("custom_functions.addDays('2026-01-31')", "python")) == "2026-02-01"
    assert result(run("custom_functions.add_days('2026-01-31', days=2)", "python")) == "2026-02-02"
    told = details(run("custom_functions.addDays(5)", "python"))
    assert told["name"] == "InvalidInput" and "must be string, not number 5" in told["message"]


def test_functions_call_each_other_across_languages(do, register, run):
    kept(register("def double(x: float) -> float:\n    'Twice.'\n    return x * 2\n"))
    kept(do("register_custom_function", name="fourfold", description="x", returnType="number",
            parameters={"x": {"type": "number"}},
            code="function fourfold(x) { return customFunctions.double(customFunctions.double(x)); }"))
    kept(register("def eightfold(x: float) -> float:\n    'x'\n    return custom_functions.fourfold(x) * 2\n"))
    assert result(run("return customFunctions.eightfold(1)")) == 8
    assert result(run("custom_functions.eightfold(2)", "python")) == 16


def test_an_async_function_answers_with_a_promise(register, run):
    kept(register("async def first_title(kind: str) -> str:\n    'Its title.'\n"
                  "    rows = await notes.list(type_name=kind, limit=1)\n    return rows[0].title\n"))
    assert result(run("const p = customFunctions.first_title('project'); return [p instanceof Promise, typeof await p]")) \
        == [True, "string"]
    assert isinstance(result(run("await custom_functions.first_title('project')", "python")), str)


def test_every_kind_of_parameter_gets_its_value(register, run):
    kept(register("def f(a, /, b=2, *rest: int) -> list:\n    'x'\n    return [a, b, list(rest)]\n"))
    assert result(run("return [customFunctions.f(1), customFunctions.f(1, 3, 4, 5)]")) == [[1, 2, []], [1, 3, [4, 5]]]
    kept(register("def g(a: int = 1, *, b: int = 2) -> list:\n    'x'\n    return [a, b]\n"))
    assert result(run("[custom_functions.g(b=5), custom_functions.g(3, 4)]", "python")) == [[1, 5], [3, 4]]


def test_a_function_sees_none_of_its_callers_names(register, run):
    kept(register("def f():\n    'x'\n    return ['secret' in globals(), 'context' in globals()]\n"))
    assert result(run("secret = 1\ncustom_functions.f()", "python", context={"given": 1})) == [False, False]


def test_each_call_has_a_fresh_world(register, run):
    kept(register("seen = []\ndef f(x: int) -> int:\n    'x'\n    seen.append(x)\n    return len(seen)\n"))
    assert result(run("return [customFunctions.f(1), customFunctions.f(2)]")) == [1, 1]


def test_what_a_function_prints_is_in_the_log(register, run):
    kept(register("import logging\ndef f():\n    'x'\n    print('from f')\n    logging.warning('careful')\n"))
    for language, code in (("javascript", "customFunctions.f(); console.log('after')"),
                           ("python", "custom_functions.f()\nprint('after')")):
        logs = run(code, language)["logs"]
        assert [(e["level"], e["message"]) for e in logs] == [
            ("log", "from f"), ("warn", "careful"), ("log", "after")]


# ---- errors, limits ----------------------------------------------------------------


@pytest.mark.parametrize("language, code", [
    ("javascript", "return customFunctions.f(0)"), ("python", "custom_functions.f(0)")])
def test_an_error_shows_the_place_in_the_function(register, run, language, code):
    kept(register("def f(x: int) -> float:\n    'x'\n    return 1 / x\n"))
    told = details(run(code, language))
    assert told["name"] == "ZeroDivisionError" and told["message"] == "division by zero"
    assert told["function"]["name"] == "f" and told["function"]["line"] == 3
    assert "return 1 / x" in told["function"]["frame"]


def test_an_error_can_be_caught_by_the_caller(register, run):
    kept(register("def f():\n    'x'\n    return notes.get('project/nowhere-at-all').title\n"))
    assert result(run("try:\n    custom_functions.f()\nexcept Exception as e:\n    type(e).__name__", "python")) \
        == "AttributeError"
    assert result(run("try { customFunctions.f() } catch (e) { return e.name }")) == "AttributeError"


@pytest.mark.parametrize("code, caught", [
    ("json.loads('{')", "json.JSONDecodeError"), ("json.loads('{')", "ValueError"), ("b'\\xff'.decode()", "UnicodeDecodeError"),
    ("b'\\xff'.decode()", "UnicodeError"), ("{}['a']", "KeyError"), ("{}['a']", "LookupError"), ("importlib.import_module('nowhere')", "ImportError"),
    ("1 / 0", "ArithmeticError"), ("decimal.Decimal('x')", "decimal.InvalidOperation"), ("json.loads('{')", "HostCallError"),
    ("raise NoRain('dry')", "NoRain"), ("ast.parse('x = (')", "SyntaxError")])
def test_an_error_is_caught_by_its_name(register, run, code, caught):
    kept(register(f"import ast, decimal, importlib, json\nclass NoRain(ValueError): pass\ndef f():\n    'x'\n    {code}\n", force=True))
    call = ("import json, decimal\nclass NoRain(Exception):\n    def __init__(self, a, b): pass\n"
            "try:\n    custom_functions.f()\nexcept {} as e:\n    return [e.name, e.message, str(e) == e.message]")
    name, message, same = result(run(call.format(caught), "python"))
    assert name and message and same
    told = details(run("custom_functions.f()", "python"))
    assert (told["name"], told["message"]) == (name, message)


def test_an_error_of_javascript_is_no_error_of_a_library(do, run):
    kept(do("register_custom_function", name="g", description="x", returnType="number", parameters={},
            code="function g() { throw new Error('no'); }"))
    code = "import csv, shutil, binascii\ntry:\n    custom_functions.g()\nexcept (csv.Error, ValueError, OSError):\n    1\nexcept Exception as e:\n    e.name"
    assert result(run(code, "python")) == "Error"


def test_what_is_lost_of_a_functions_value_is_told(register, run):
    kept(register("def f():\n    'x'\n    return {'n': float('nan'), 'f': [len, max]}\n"))
    for language, code in (("javascript", "return customFunctions.f()"), ("python", "custom_functions.f()")):
        answer = run(code, language)
        assert result(answer) == {"n": None, "f": [None, None]}
        assert [e["level"] for e in answer["logs"]] == ["warn"] * 2
        assert [e["message"] for e in answer["logs"]] == [
            "result.n of f is NaN, and null in JSON", "result.f[0] of f is a function, and null in JSON; so is 1 other value"]


def test_functions_that_call_each_other_without_an_end_are_stopped(register, run):
    kept(register("def f(n: int) -> int:\n    'x'\n    return custom_functions.f(n + 1)\n", force=True))
    told = details(run("return customFunctions.f(0)", timeout=20000))
    assert "more than 8 deep" in told["message"], told


def test_a_function_without_an_end_is_stopped_in_time(register, run):
    kept(register("def f(n: int) -> int:\n    'x'\n    while n > 0:\n        n += 1\n    return n\n"))
    for language, code in (("javascript", "return customFunctions.f(1)"), ("python", "custom_functions.f(1)")):
        assert details(run(code, language, timeout=500))["type"] in ("Timeout", "ExecutionError")


@pytest.mark.parametrize("code, name", [
    ("import sys\nsys.setrecursionlimit(10**6)\ndef f():\n    'x'\n    def g(): return g()\n    return g()\n", "StackOverflow"),
    ("def f():\n    'x'\n    return 'x' * (10**9)\n", "MemoryError"),
    ("def f():\n    'x'\n    import types\n    c = f.__code__.replace(co_code=b'\\x64\\xff' * 40)\n"
     "    return types.FunctionType(c, {})()\n", None),
])
def test_a_function_that_breaks_its_world_breaks_nothing_else(register, run, code, name):
    kept(register(code, force=True))
    answer = run("try { return customFunctions.f() } catch (e) { return e.name }")
    assert answer["success"]
    if name:
        assert answer["result"] in (name, "RecursionError", "MemoryExceeded", "Timeout"), answer["result"]
    assert result(run("return 1 + 1")) == 2


def test_the_callers_rights_are_the_functions(register, run):
    kept(register("def f():\n    'x'\n    return notes.create(type='project', title='By f', content='x').id\n"))
    told = details(run("return customFunctions.f()", allowedAPIs=["customFunctions", "notes.get"]))
    assert told["name"] == "PermissionDenied"
    told = details(run("custom_functions.f()", "python", allowedAPIs=["notes.get"]))
    assert told["name"] == "PermissionDenied"


def test_a_function_works_in_its_own_vault_alone(register, run):
    kept(register("def f():\n    'x'\n    return vaults.list()\n"))
    kept(register("def g():\n    'x'\n    return vaults.get_current() is not None\n"))
    for language, code in (("javascript", "return customFunctions.f()"), ("python", "custom_functions.f()")):
        assert details(run(code, language))["name"] == "PermissionDenied"
    assert result(run("return customFunctions.g()")) is True


def test_a_dry_run_keeps_what_a_function_writes_out_of_the_vault(register, run, vault):
    kept(register("def f():\n    'x'\n    return notes.create(type='project', title='By f', content='x').id\n"))
    answer = run("return customFunctions.f()", dryRun=True)
    assert answer["success"] and answer["changes"], answer
    assert not list(vault.rglob("by-f.md")) and not list(vault.rglob("By f.md"))


# ---- kept as others are ------------------------------------------------------------


def test_examples_are_run_at_registration(register):
    answer = register(RAIN, examples=[{"args": [[1, 2]], "expected": 4}])
    assert not answer["success"] and "3" in json.dumps(answer["tests"])
    answer = kept(register(RAIN, examples=[
        {"args": [[1, 2]], "expected": 3}, {"args": {"days": [1], "factor": 2}, "expected": 2},
        {"args": [["x"]], "error": "InvalidInput"}]))
    assert answer["tests"]["passed"] == 3


def test_a_trial_of_a_definition_runs_it(do):
    answer = do("test_custom_function", definition={"language": "python", "code": RAIN}, args={"days": [5]})
    assert answer["success"] and answer["result"] == 5
    answer = do("test_custom_function", definition={"language": "python", "code": "def f(x):\n    'x'\n    return x['a']\n"},
                args=[{}])
    assert answer["errorDetails"]["name"] == "KeyError" and answer["errorDetails"]["function"]["line"] == 3


def test_a_change_of_code_is_a_version_and_can_be_rolled_back(do, register, run):
    kept(register(RAIN))
    changed = kept(do("update_custom_function", name="rain_total", code=RAIN.replace("* factor", "* factor + 1")))
    assert changed["version"] == 2
    assert result(run("return customFunctions.rain_total([1])")) == 2
    kept(do("rollback_custom_function", name="rain_total", version=1))
    assert result(run("return customFunctions.rain_total([1])")) == 1
    assert "* factor + 1" in do("custom_function_versions", name="rain_total", **{"from": 1, "to": 2})["diff"]["diff"]


def test_a_change_that_breaks_callers_is_refused(do, register):
    kept(register(RAIN))
    answer = do("update_custom_function", name="rain_total", code=RAIN.replace("days: list[float]", "days: list[str]"))
    assert not answer["success"] and answer["breaking"]


def test_a_change_by_force_says_which_callers_do_not_fit_any_more(do, register):
    kept(register(RAIN))
    kept(register("def twice(d: list[float]) -> float:\n    'x'\n    return custom_functions.rain_total(d) * 2\n"))
    kept(register("def odd(d: list[float]) -> str:\n    'x'\n    return custom_functions.rain_total(d)\n"))
    answer = kept(do("update_custom_function", name="rain_total", code=RAIN.replace("days: list[float]", "days: str"), force=True))
    broken = [f for f in answer["warnings"] if f["code"] == "CALLER_BREAKS"]
    assert [(f["field"], f["line"]) for f in broken] == [("customFunctions.odd", 3), ("customFunctions.twice", 3)], answer["warnings"]
    assert all('Argument 1 to "rain_total"' in f["message"] for f in broken[1:])


def test_a_new_name_is_followed_in_the_code_and_by_callers(do, register, run):
    kept(register(RAIN))
    kept(register("def twice(d: list[float]) -> float:\n    'x'\n    return custom_functions.rain_total(d) * 2  # rain_total\n"))
    answer = kept(do("update_custom_function", name="rain_total", newName="rainSum"))
    assert answer["function"]["code"].lstrip().startswith("def rainSum(")
    assert result(run("return customFunctions.twice([2])")) == 4
    code = do("get_custom_function", name="twice")["function"]["code"]
    assert "custom_functions.rainSum(d) * 2  # rain_total" in code


def test_a_copy_has_a_name_of_its_own(do, register, run):
    kept(register("def fact(n: int) -> int:\n    'x'\n    return 1 if n < 2 else n * fact(n - 1)\n"))
    kept(do("duplicate_custom_function", name="fact", newName="factorial"))
    assert result(run("return customFunctions.factorial(5)")) == 120


def test_deleting_one_that_is_called_is_refused(do, register):
    kept(register(RAIN))
    kept(register("def twice(d: list[float]) -> float:\n    'x'\n    return custom_functions.rain_total(d) * 2\n"))
    assert not do("delete_custom_function", name="rain_total")["success"]


def test_functions_are_listed_found_and_exported(do, register, run):
    kept(register(RAIN))
    row = do("list_custom_functions", query="rain")["functions"][0]
    assert row["language"] == "python" and "rain_total(days: number[]" in row["signature"]
    assert any("rain_total" in json.dumps(r) for r in result(run("return api.search('rain total')")))
    text = do("export_custom_functions")["text"]
    kept(do("delete_custom_function", name="rain_total"))
    assert kept(do("import_custom_functions", text=text))["imported"] == 1
    assert result(run("return customFunctions.rain_total([7])")) == 7


def test_their_use_is_counted(do, register, run):
    kept(register(RAIN))
    result(run("return customFunctions.rain_total([1])"))
    result(run("custom_functions.rain_total([1])\ncustom_functions.rain_total([2])", "python"))
    run("custom_functions.rain_total([None])", "python")
    stats = json.dumps(do("custom_function_stats", name="rain_total"))
    assert '"calls": 4' in stats or '"calls": 3' in stats, stats


def test_a_language_stays(do, register):
    kept(register(RAIN))
    answer = do("update_custom_function", name="rain_total", language="typescript", code="function rain_total() {}")
    assert not answer["success"] and "keeps its language" in json.dumps(answer)


# ---- the command line --------------------------------------------------------------


def test_a_python_file_is_added_shown_and_changed(cloche, vault, tmp_path):
    def fn(*words, code=0):
        done = subprocess.run([cloche, "fn", *words, "--vault", vault], capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    file = tmp_path / "rain.py"
    file.write_text('# cloche: {"tags": ["weather"], "examples": [{"args": [[1, 2]], "expected": 3}]}\n' + RAIN)
    assert "rain_total: registered, version 1" in fn("add", str(file))
    shown = fn("show", "rain_total", "--source")
    assert shown.splitlines()[0].startswith("# cloche: {") and '"weather"' in shown
    again = tmp_path / "again.py"
    again.write_text(shown)
    assert "unchanged" in fn("update", "rain_total", str(again))
    again.write_text(shown.replace("sum(days)", "sum(dayz)"))
    told = fn("update", "rain_total", str(again), code=1)
    assert "dayz" in told and f"{shown.splitlines().index('    return sum(days) * factor') + 1}" in told
    assert "rain_total" in fn("list")
    assert "4" in fn("test", "rain_total", "[[4]]")
