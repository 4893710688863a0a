"""customFunctions.NAME(...) in evaluations: lookup, arguments, positions of errors, rights, and
records. The file of functions is written by hand, as a user may."""

import json
import os
import subprocess
import uuid

import pytest

from conftest import policy_in
from seed_programs import DAILY_NOTE
from wire import Stdio, call, initialize, structured, until


def function(name, code, parameters=None, returns="any", version=1):
    """A definition; parameters: {name: type, or a whole one}."""
    given = {p: d if isinstance(d, dict) else {"type": d} for p, d in (parameters or {}).items()}
    return {"id": f"fn-{name}", "name": name, "description": name, "parameters": given,
            "returnType": returns, "code": code, "tags": [],
            "metadata": {"createdAt": "2026-01-01T00:00:00.000Z",
                         "updatedAt": "2026-01-01T00:00:00.000Z", "createdBy": "agent",
                         "usageCount": 0, "version": version}}


ADD = function("add", "function add(a: number, b: number): number { return a + b; }",
               {"a": "number", "b": {"type": "number", "optional": True, "default": 10}},
               "number")


@pytest.fixture
def keep(vault):
    """Makes these the vault's functions, and no others."""
    place = vault / ".cloche" / "custom-functions.json"

    def write(*functions):
        place.parent.mkdir(exist_ok=True)
        fresh = place.with_suffix(".new")
        fresh.write_text(json.dumps({"version": 1, "functions": list(functions)}))
        os.replace(fresh, place)

    return write


@pytest.fixture
def run(stdio):
    """Evaluates over one server; returns the whole answer."""
    stdio.ask(initialize())

    def evaluate(code, **more):
        return structured(stdio.ask(call("evaluate_note_code", {"code": code, **more})))

    return evaluate


@pytest.fixture
def value(run):
    """The result of code that must succeed."""

    def evaluate(code, **more):
        answer = run(code, **more)
        assert answer["success"], answer["error"]
        return answer["result"]

    return evaluate


@pytest.fixture
def failure(run):
    """The error of code that must fail."""

    def evaluate(code, **more):
        answer = run(code, **more)
        assert not answer["success"], answer["result"]
        return answer["errorDetails"]

    return evaluate


# ---- calling ------------------------------------------------------------------

def test_the_seeds_example_runs_as_it_stands(keep, value):
    keep(function("createOrUpdateDailyNote", DAILY_NOTE,
                  {"date": {"type": "string", "optional": True, "description": "ISO date"},
                   "content": {"type": "string", "optional": True}}, "Promise<Note>"))
    code = """
    async function main() {
      // Call the registered custom function via namespace
      const dailyNote = await customFunctions.createOrUpdateDailyNote('2024-01-15', 'Meeting notes');
      return dailyNote;
    }
    """
    assert value(code)["id"] == "daily-note/2024-01-15"
    assert value(code)["title"] == "2024-01-15"
    note = value("return notes.get('daily-note/2024-01-15')")
    assert note["content"].count("Meeting notes") == 2
    assert value(code, language="typescript")["id"] == "daily-note/2024-01-15"


def test_it_is_found_by_any_way_of_naming_it(keep, value):
    keep(ADD)
    assert value("const name = 'a' + 'dd'; const {add} = customFunctions;"
                 "return [customFunctions.add(1, 2), customFunctions[name](1), add(2),"
                 " customFunctions.add === add, add.name, add.length, typeof add]") == [
        3, 11, 12, True, "add", 1, "function"]


def test_a_plain_function_answers_plainly_and_an_async_one_with_a_promise(keep, value):
    keep(ADD, function("later", "const later = async (x: number) => { await null; return x; };",
                       {"x": "number"}),
         function("some", "function* some(n: number) { for (let i = 0; i < n; i++) yield i; }",
                  {"n": "number"}),
         function("self", "export function self(this: any) { return this === undefined; }"))
    assert value("const p = customFunctions.later(3);"
                 "return [customFunctions.add(1) instanceof Promise, p instanceof Promise, await p,"
                 " [...customFunctions.some(3)], customFunctions.self()]") == [
        False, True, 3, [0, 1, 2], True]


def test_functions_call_each_other_and_themselves(keep, value):
    keep(ADD, function("fact", "const fact = (n: number): number =>"
                               " n < 2 ? 1 : n * customFunctions.fact(n - 1);", {"n": "number"}),
         function("odd", "async function odd(n: number): Promise<boolean> {"
                         " return n === 0 ? false : customFunctions['even'](n - 1); }", {"n": "number"}),
         function("even", "async function even(n: number): Promise<boolean> {"
                          " return n === 0 ? true : await customFunctions.odd(n - 1); }", {"n": "number"}))
    assert value("return [customFunctions.fact(customFunctions.add(2, 3)), await customFunctions.even(20)]") == [
        120, True]


def test_what_stands_beside_it_is_its_own_and_lives_for_one_evaluation(keep, value):
    keep(function("next", "let count = 0; enum E { Step = 2 }\n"
                          "function next(): number { count += E.Step; return count; }"))
    for _ in range(2):
        assert value("customFunctions.next(); customFunctions.next();"
                     "return [customFunctions.next(), typeof count, typeof next]") == [
            6, "undefined", "undefined"]


def test_what_there_is_can_be_asked(keep, value, run):
    keep(ADD, function("zed", "function zed() {}"))
    assert value("return [Object.keys(customFunctions), 'zed' in customFunctions,"
                 " 'no' in customFunctions, 'toString' in customFunctions,"
                 " Object.hasOwn(customFunctions, 'add'), `${customFunctions}`,"
                 " Object.entries(customFunctions).map(([k, f]) => k + typeof f)]") == [
        ["add", "zed"], True, False, True, True, "[object Object]", ["addfunction", "zedfunction"]]
    logged = run("console.log(customFunctions); return customFunctions")
    assert logged["logs"][0]["message"] == "customFunctions { add, zed }"
    assert logged["success"], logged  # it has no JSON, and is no promise


def test_a_trial_has_the_time_of_an_evaluation_waiting_included(keep, run, stdio):
    def trial(**arguments):
        return structured(stdio.ask(call("test_custom_function", arguments, id=str(uuid.uuid4()))))
    keep(function("waits", "async function waits() { await sleep(600_000); return 1 }"))
    for ms in (50, 100):
        told = trial(name="waits", args={}, timeout=ms)
        assert told["errorDetails"]["type"] == "Timeout" and f"than {ms} ms" in told["error"]
        assert run("return customFunctions.waits()", timeout=ms)["errorDetails"]["type"] == "Timeout"
    refused = trial(name="waits", args={}, timeout=10**9)
    assert refused["errorDetails"]["type"] == "InvalidInput"


def test_a_name_that_there_is_not_is_refused_when_called(keep, failure, value):
    keep(ADD, function("addAll", "function addAll() {}"))
    why = failure("\n  customFunctions.ad(1)")
    assert why["type"] == "NotFound" and why["line"] == 2
    assert "did you mean 'add'? Object.keys(customFunctions) lists" in why["message"]
    assert failure("await customFunctions.nothingAtAll()")["type"] == "NotFound"
    assert value("const f = customFunctions.nope; try { f() } catch (e) { return e.name }") == "NotFound"
    keep()
    assert "register_custom_function" in failure("customFunctions.add(1)")["message"]


@pytest.mark.parametrize("name", ["__proto__", "constructor", "hasOwnProperty", "then", "toJSON", "",
                                  "x'y", "a b", "n" * 5000, "\U0001f600"])
def test_odd_names_are_no_functions(keep, value, name):
    keep(ADD)
    assert value("const f = customFunctions[n];"
                 "try { return typeof f !== 'function' ? 'none' : (f.call({}), 'plain') } catch (e) { return e.name }",
                 context={"n": name}) in ("none", "plain", "NotFound", "TypeError")
    assert value("customFunctions.add(1)") == 11


def test_code_cannot_put_functions_there(keep, failure, value):
    keep(ADD)
    for code in ("customFunctions.mine = () => 1", "delete customFunctions.add",
                 "Object.defineProperty(customFunctions, 'add', {value: 1})",
                 "Object.setPrototypeOf(customFunctions, {})", "Object.freeze(customFunctions)"):
        why = failure(code)
        assert why["type"] == "PermissionDenied" and "register_custom_function" in why["message"]
    assert value("customFunctions.add(1)") == 11


def test_a_hundred_of_a_thousand_cost_no_more_than_themselves(keep, run):
    keep(*[function(f"f{i}", f"function f{i}() {{ return {i}; }}") for i in range(1000)])
    answer = run("return customFunctions.f7() + customFunctions.f993()")
    assert answer["result"] == 1000 and answer["stats"]["host_calls"] == 2
    assert run("return 1")["stats"]["host_calls"] == 0


# ---- arguments ------------------------------------------------------------------

def test_defaults_take_the_place_of_what_is_missing_or_undefined(keep, value):
    keep(function("f", "function f(a?: string, o: any = 'own', n: any = 0) { const r = [a, o, n]; if (o?.list) o.list.push(1); return r; }",
                  {"a": {"type": "string", "optional": True}, "o": {"type": "any", "default": {"list": []}},
                   "n": {"type": "any", "default": None}}))
    assert value("customFunctions.f(); return [customFunctions.f(), customFunctions.f('x', 1, 2),"
                 " customFunctions.f(undefined, undefined, undefined), customFunctions.f('x', null)]") == [
        [None, {"list": [1]}, None], ["x", 1, 2], [None, {"list": [1]}, None], ["x", None, None]]


def test_missing_and_too_many_arguments_are_refused_where_the_call_stands(keep, failure, value):
    keep(ADD, function("none", "function none() { return 0; }"),
         function("later", "async function later(x: number) { return x; }", {"x": "number"}))
    why = failure("1;\n customFunctions.add()")
    assert why["type"] == "InvalidInput" and why["line"] == 2 and "function" not in why
    assert "customFunctions.add: parameter 'a' (number) is missing" in why["message"]
    assert "at most 2 (a, b), not 3" in failure("customFunctions.add(1, 2, 3)")["message"]
    assert "no arguments, not 1" in failure("customFunctions.none(1)")["message"]
    # Where an async function refuses, its promise does.
    assert value("return customFunctions.later().catch((e) => e.name)") == "InvalidInput"


FITS = [
    ("string", "'a'"), ("number", "NaN"), ("boolean", "false"), ("bigint", "1n"), ("any", "null"),
    ("unknown", "undefined"), ("null", "null"), ("void", "undefined"), ("object", "[]"), ("{}", "'x'"),
    ("'a' | 'b' | 3", "3"), ("-1.5 | true", "-1.5"), ("string[]", "[]"), ("number[][]", "[[1], []]"),
    ("readonly string[]", "['a']"), ("Array<'x'>", "['x', 'x']"), ("[string, number?]", "['a']"),
    ("[string, number?]", "['a', 1]"), ("{a: string; b?: number}", "{a: 'x', b: undefined}"),
    ("{a: string, m(x: number): void}", "{a: 'x', m() {}}"), ("{[key: string]: number}", "{x: 1}"),
    ("Record<string, {n: number}>", "{x: {n: 1}}"), ("{length: number}[]", "[[], {length: 2}]"),
    ("(a: string, b?: number) => void", "() => 1"), ("((x: string) => number) | null", "null"),
    ("Date | string", "new Date()"), ("Map<string, number>", "new Map()"), ("Uint8Array", "new Uint8Array(2)"),
    ("{a: 1} & {b: 2}", "{a: 1, b: 2}"), ("(string | number)[]", "['a', 1]"), ("Note | null", "null"),
    ("Note", "(await notes.get((await notes.list({limit: 1}))[0].id))"),
    ("NoteRow[]", "(await notes.list({limit: 3}))"), ("NoteField[]", "['id', 'title']"),
    ("Own", "5"), ("Partial<{a: string}>", "{a: 'x'}"), ("keyof Note", "'id'"), ("`a${string}`", "'ab'"),
    ("{a: {a: {a: string}}}['a']", "{a: {a: 'x'}}"), ("T extends string ? 1 : 2", "1"), ("%%%", "1"),
    ("{a: ", "1"), ("[" * 4000, "1"), ("{a:" * 100 + "1" + "}" * 100, "{}") , ("a" * 4000, "1"),
    (" | ".join(f"'{i}'" for i in range(500)), "'x'"),
    ("{" + ", ".join(f"f{i}?: {{g{i}?: string}}" for i in range(130)) + "}", "{f1: {}}"),
]
MISSES = [
    ("string", "5", "must be string, not number 5"),
    ("string", "undefined", "must be string, it is undefined"),
    ("'a' | 'b'", "'c'", "must be 'a' | 'b', not string \"c\""),
    ("number[]", "[1, 2, '3']", "at p[2], must be number, not string \"3\""),
    ("{items: {name: string}[]}", "{items: [{name: 'x'}, {name: 5}]}", "at p.items[1].name, must be string"),
    ("{items: {name: string}[]}", "{items: [{}]}", "at p.items[0].name, must be string, it is missing"),
    ("{'a b': string}", "{'a b': 1}", "at p[\"a b\"], must be string"),
    ("{a: string}", "null", "must be {a: string}, not null"),
    ("{[key: string]: number}", "{x: 'y'}", "at p.x, must be number"),
    ("Record<string, string>", "[]", "must be Record<string, string>, not an array of 0"),
    ("[string, number?]", "[1]", "at p[0], must be string"),
    ("[string, number?]", "['a', 1, 2]", "must be [string, number?], not an array of 3"),
    ("string | {id: string, deep: {x: number}}", "{id: 'a', deep: {x: 'y'}}", "at p.deep.x, must be number"),
    ("Date", "'2024-01-01'", "must be Date, not string"),
    ("Map<string, number>", "{}", "must be Map<string, number>, not an object"),
    ("() => void", "'f'", "must be () => void, not string"),
    ("Note", "{id: 7}", "at p.id, must be string, not number 7"),
    ("Note[]", "[5]", "at p[0], must be Note, not number 5"),
    ("NoteField", "'no'", "must be NoteField, not string"),
    ("Own[]", "5", "must be Own[], not number 5"),
    ("{a: 1} & {b: 2}", "{a: 1, b: 3}", "at p.b, must be 2, not number 3"),
    ("never", "1", "must be never"),
]


def test_arguments_that_fit_the_declared_type_are_taken(keep, value):
    keep(*[function(f"f{i}", f"function f{i}(p: any) {{ return 'ok'; }}", {"p": kind})
           for i, (kind, _) in enumerate(FITS)])
    calls = ",".join(f"customFunctions.f{i}({arg})" for i, (_, arg) in enumerate(FITS))
    assert set(value(f"return [{calls}]")) == {"ok"}


@pytest.mark.parametrize("kind, arg, said", MISSES)
def test_what_does_not_fit_is_told_with_its_place(keep, failure, kind, arg, said):
    keep(function("f", "function f(p: any) { return 'ok'; }", {"p": kind}))
    why = failure(f"\ncustomFunctions.f({arg})")
    assert why["type"] == "InvalidInput" and why["line"] == 2
    assert why["message"].startswith("customFunctions.f: parameter 'p'")
    assert said in why["message"], why["message"]
    assert why["message"].endswith("it was not called")


@pytest.fixture
def checked(stdio, keep):
    """Registers functions whose types the checker has checked."""

    def write(*functions):
        keep(*functions)
        told = structured(stdio.ask(call("migrate_custom_functions", {})))
        if "TYPES_UNCHECKED" in json.dumps(told):
            pytest.fail("the type checker is missing: make checker builds it")
        return told

    return write


def test_what_fits_as_text_fits_when_it_was_checked_too(checked, value):
    # All but the type that is nested too deeply for the parser.
    fits = [(kind, arg) for kind, arg in FITS if not kind.startswith("{a:{a:")]
    checked(*[function(f"f{i}", f"function f{i}(p: any) {{ return 'ok'; }}", {"p": kind})
              for i, (kind, _) in enumerate(fits)])
    calls = ",".join(f"customFunctions.f{i}({arg})" for i, (_, arg) in enumerate(fits))
    assert set(value(f"return [{calls}]")) == {"ok"}


def test_what_does_not_fit_is_told_the_same_when_it_was_checked(checked, value):
    # All but that of which another field is told first.
    misses = [miss for miss in MISSES if miss[1] != "{id: 7}"]
    checked(*[function(f"f{i}", f"function f{i}(p: any) {{ return 'ok'; }}", {"p": kind})
              for i, (kind, _, _) in enumerate(misses)])
    tries = ",".join(f"tell(() => customFunctions.f{i}({arg}))" for i, (_, arg, _) in enumerate(misses))
    told = value("const tell = (f) => { try { return f() } catch (e) { return e.message } };"
                 f"return [{tries}]")
    assert [m for m, (_, _, said) in zip(told, misses) if said not in m] == []


# Types that only the checker can resolve.
OWN = """
interface Item { name: string; tags?: string[]; parts: Item[] }
type Order = { kind: 'one', item: Item } | { kind: 'many', items: Item[] };
enum Colour { Red = 'red', Blue = 'blue' }
type Picked = Pick<Note, 'id' | 'title'>;
function f(%s) { return 'ok'; }
"""
OWN_FITS = [
    ("Item", "{name: 'a', parts: [{name: 'b', parts: []}]}"), ("Colour", "'blue'"),
    ("Order", "{kind: 'many', items: []}"), ("Picked[]", "[{id: 'a', title: 'b'}]"),
    ("Partial<Item>", "{}"), ("keyof Item", "'tags'"), ("Exclude<'a' | 'b', 'b'>", "'a'"),
    ("Record<Colour, number>", "{red: 1, blue: 2}"), ("Note", "(await notes.get((await notes.list({limit: 1}))[0].id))"),
    ("Awaited<ReturnType<typeof notes.list>>", "(await notes.list({limit: 2}))"),
]
OWN_MISSES = [
    ("Item", "{name: 'a', parts: [{name: 'b', parts: []}, {name: 'c', parts: [{name: 1}]}]}",
     "at p.parts[1].parts[0].name, must be string, not number 1"),
    ("Item", "{name: 'a', tags: [1], parts: []}", "at p.tags[0], must be string"),
    ("Order", "{kind: 'many', items: [{}]}", "at p.items[0].name, must be string, it is missing"),
    ("Colour", "'green'", "must be Colour, not string \"green\""),
    ("Picked[]", "[{id: 'a', title: 3}]", "at p[0].title, must be string"),
    ("keyof Item", "'nme'", "must be keyof Item"), ("Exclude<'a' | 'b', 'b'>", "'b'", "must be Exclude"),
    ("Record<Colour, number>", "{red: 1}", "at p.blue, must be number, it is missing"),
    ("Item[]", "[null]", "at p[0], must be Item, not null"),
    ("Note", "{id: 'a', title: 5}", "at p."),
]


@pytest.mark.parametrize("kind, arg", OWN_FITS)
def test_arguments_fit_types_that_only_the_code_declares(checked, value, kind, arg):
    told = checked(function("f", OWN % f"p: {kind}", {"p": kind}))
    assert not told.get("errors"), told
    assert value(f"return customFunctions.f({arg})") == "ok"


@pytest.mark.parametrize("kind, arg, said", OWN_MISSES)
def test_what_does_not_fit_the_codes_own_types_is_told_with_its_place(checked, failure, kind, arg, said):
    checked(function("f", OWN % f"p: {kind}", {"p": kind}))
    assert said in failure(f"return customFunctions.f({arg})")["message"]


def test_what_nobody_checked_is_called_at_once_and_checked_meanwhile(checked, keep, value):
    checked(ADD)  # is the checker there?
    fresh = f"// {uuid.uuid4()}\n" + OWN % "p: Item"  # what was checked once is kept
    keep(function("f", fresh, {"p": "Item"}))
    code = "try { return customFunctions.f({name: 'a', parts: [{name: 1}]}) } catch (e) { return e.message }"
    assert value(code) == "ok"
    until(lambda: "at p.parts[0].name, must be string" in value(code))


def test_types_taken_from_another_function_are_not_remembered_beyond_its_change(checked, keep, value):
    taker = function("f", "function f(p: Parameters<typeof customFunctions.of>[0]) { return 'ok'; }",
                     {"p": "Parameters<typeof customFunctions.of>[0]"})
    checked(taker, function("of", "function of(a: string) {}", {"a": "string"}))
    keep(taker, function("of", "function of(a: number) {}", {"a": "number"}))
    assert value("return customFunctions.f(5)") == "ok"


def test_a_type_of_the_codes_own_is_not_taken_for_one_of_the_api(keep, value):
    keep(function("f", "interface Note { mine: number }\nfunction f(n: Note) { return n.mine; }",
                  {"n": "Note"}))
    assert value("customFunctions.f({mine: 3})") == 3


def test_values_that_contain_themselves_or_are_huge_are_looked_at_with_bounds(keep, value):
    keep(function("f", "function f(n: any) { return 'ok'; }", {"n": "FileEntry | {l: Note, r: Note}[]"}),
         function("many", "function many(n: any) { return n.length; }", {"n": "{a: number}[]"}))
    assert value("const n = {id: 'x', type: 't', title: 't', filename: 'f', path: 'p', created: 'c'};"
                 "n.links = []; n.self = n; n.metadata = n;"
                 "return customFunctions.f([{l: n, r: n}])") == "ok"
    assert value("return customFunctions.many(Array.from({length: 300000}, (_, i) => ({a: i})))") == 300000
    assert value("try { customFunctions.many([{a: 1}, {get a() { throw new RangeError('mine') }}]) }"
                 "catch (e) { return e.message }") == "mine"


# ---- errors ----------------------------------------------------------------------

BOOM = function("boom", """interface X { a: { b: number } }

async function boom(x: X, sync?: boolean): Promise<number> {
  if (!sync) await null;
  return helper(x);
}
function helper(x: X) {
  return x.a.b;
}""", {"x": "any", "sync": {"type": "boolean", "optional": True}}, "Promise<number>", version=3)


@pytest.mark.parametrize("language", ["javascript", "typescript"])
@pytest.mark.parametrize("sync", ["", ", true"])
def test_a_failure_is_told_in_the_functions_own_lines_and_the_callers(keep, failure, language, sync):
    keep(BOOM)
    lines = {"javascript": "const a = 1;\nawait null;\n  await customFunctions.boom({})",
             "typescript": "interface A {\n a: 1 }\n  await customFunctions.boom({})"}
    why = failure(lines[language].replace("{})", "{}" + sync + ")"), language=language)
    assert why["type"] == "ExecutionError" and why["name"] == "TypeError"
    assert why["line"] == 3 and ">    3 |   await customFunctions.boom" in why["frame"]
    inner = why["function"]
    assert (inner["name"], inner["version"], inner["line"]) == ("boom", 3, 8)
    assert ">    8 |   return x.a.b;" in inner["frame"]
    stack = why["stack"].splitlines()
    assert "helper (customFunctions.boom:8:" in stack[0]
    assert "boom (customFunctions.boom:5:" in stack[1]
    assert f"(code.{'ts' if language == 'typescript' else 'js'}:3:" in stack[2] and len(stack) == 3


def test_logs_and_names_that_are_missing_are_told_in_its_lines_too(keep, run):
    keep(function("lost", "type T = string;\nasync function lost() {\n"
                          "  console.log(new Error('here').stack);\n  return notes.serach('x');\n}"))
    answer = run("await customFunctions.lost()")
    why = answer["errorDetails"]
    assert why["message"] == "notes.serach is not a function"
    assert "notes.search" in why["suggestion"] and why["function"]["line"] == 4
    assert "lost (customFunctions.lost:3:" in answer["logs"][0]["message"]


def test_a_host_call_that_fails_inside_keeps_its_kind(keep, failure):
    keep(function("get", "async function get(id: string) {\n  return await notes.update(id, {content: 'x'});\n}",
                  {"id": "string"}))
    why = failure("await null;\nawait customFunctions.get('no/such')")
    assert why["type"] == "NotFound" and why["line"] == 2
    assert why["function"]["line"] == 2 and why["function"]["name"] == "get"


@pytest.mark.parametrize("code, said", [
    ("function bad( {", "line 1, column"),
    ("function other() {}", "declares no function bad"),
    ("const bad = 5;", "declares no function bad"),
    ("import x from 'y';\nexport function bad() { return x; }", "import"),
    ("const bad = () => /(/;", "cannot be run"),
    ("await null; function bad() {}", "cannot be run"),
])
def test_a_stored_function_that_cannot_be_run_says_so_at_the_call(keep, failure, value, code, said):
    keep(function("bad", code), ADD)
    why = failure("const f = customFunctions.bad;\nf()")
    assert said in why["message"] and "customFunctions.bad" in why["message"], why
    assert why["type"] in ("SyntaxError", "InvalidInput") and why["line"] == 2
    assert value("customFunctions.add(1)") == 11


def test_what_its_code_throws_at_its_top_level_is_thrown_at_the_call(keep, failure):
    keep(function("f", "const f = () => 1;\nif (true) throw new RangeError('early');"))
    why = failure("customFunctions.f()")
    assert why["name"] == "RangeError" and why["function"]["line"] == 2


@pytest.mark.parametrize("thrown", [
    "null", "undefined", "'text'", "42n", "Symbol('s')", "{ get name() { throw 1 }, get message() { throw 2 } }",
    "new Proxy({}, { get() { throw 3 }, getPrototypeOf() { throw 4 } })", "Object.freeze(new Error('cold'))",
    "Object.create(null)", "new (class extends Error { get stack() { return 7 } })()",
    "Object.assign(new Error('e'), { stack: '    at f (customFunctions.f@0:99999:1)\\n' })"])
@pytest.mark.parametrize("how", ["", "async "])
def test_whatever_it_throws_is_an_error_and_no_more(keep, run, thrown, how):
    keep(function("f", f"{how}function f() {{ throw {thrown}; }}"), ADD)
    assert run("await customFunctions.f()")["success"] is False
    assert run("try { await customFunctions.f() } catch {}; return customFunctions.add(1)")["result"] == 11


# ---- limits and hostility ---------------------------------------------------------

def test_limits_stop_functions_as_they_stop_code(keep, failure):
    keep(function("spin", "function spin() { for (;;); }"),
         function("deep", "function deep(): any { return customFunctions.deeper(); }"),
         function("deeper", "function deeper(): any { return customFunctions.deep(); }"),
         function("hog", "function hog() { const all: any[] = []; for (;;) all.push(new Array(1000).fill(0)); }"),
         function("never", "function never() { return new Promise(() => {}); }"))
    assert failure("customFunctions.spin()", timeout=100)["type"] == "Timeout"
    assert failure("customFunctions.deep()")["type"] == "StackOverflow"
    assert failure("customFunctions.hog()", memoryLimit=32)["type"] == "MemoryExceeded"
    assert failure("await customFunctions.never()")["type"] == "ExecutionError"


def test_look_ups_count_among_the_host_calls(keep, failure, tmp_path):
    keep(ADD)
    why = failure("for (let i = 0; i < 20000; i++) try { customFunctions['f' + i]() } catch {}")
    assert why["type"] == "TooManyHostCalls"


def test_a_function_that_spoils_the_world_only_harms_its_evaluation(keep, run, value):
    keep(ADD, function("spoil", """function spoil() {
      const w: any = (0, Object).getPrototypeOf(console) && undefined;
      Object.prototype.toString = () => { throw 1 } as any;
      Array.prototype.push = Map.prototype.get = Promise.prototype.then = (() => { throw 2 }) as any;
      (Object.prototype as any).state = 5;
      notes.get = (() => 'mine') as any;
      customFunctions = null as any;
    }"""))
    run("customFunctions.spoil(); return 1")
    assert value("return [customFunctions.add(1), typeof (await notes.list({limit: 1}))[0].id]") == [11, "string"]


def test_an_evaluation_sees_one_state(keep, run, stdio, vault):
    keep(function("which", "function which() { return 'old'; }"),
         function("other", "function other() { return 'old'; }"))
    # The file is changed while the code runs: by the code's own waiting for a mark.
    path = vault / "idea" / "mark.md"
    message = call("evaluate_note_code", {"code": """
        const first = customFunctions.which();
        console.log('ready');
        await notes.create({type: 'idea', title: 'begun', content: ''});
        while (!(await notes.get('idea/mark'))) await sleep(10);
        return [first, customFunctions.which(), customFunctions.other()]"""}, id=77)
    stdio.send(message)
    begun = vault / "idea" / "begun.md"
    for _ in range(3000):
        if begun.exists():
            break
        os.sched_yield()
        subprocess.run(["true"], check=True)
    keep(function("which", "function which() { return 'new'; }", version=2),
         function("other", "function other() { return 'new'; }", version=2))
    path.write_text("# mark\n")
    while "id" not in (message := stdio.receive()):
        pass  # news of what was written
    answer = structured(message)
    assert answer["result"] == ["old", "old", "old"]
    assert run("return customFunctions.other()")["result"] == "new"


def test_a_damaged_file_is_named_and_nothing_else_fails(vault, run, failure):
    (vault / ".cloche").mkdir(exist_ok=True)
    (vault / ".cloche" / "custom-functions.json").write_text('{"functions": [')
    assert run("return 1")["result"] == 1
    why = failure("customFunctions.x()")
    assert "custom-functions.json" in why["message"]


# ---- rights --------------------------------------------------------------------------

WRITER = function("writer", "async function writer(t: string) {"
                            " return (await notes.create({type: 'idea', title: t, content: ''})).id; }",
                  {"t": "string"})


def test_allowed_apis_hold_for_functions_and_for_what_they_do(keep, run, failure, value):
    keep(ADD, WRITER)
    assert value("customFunctions.add(1)", allowedAPIs=["customFunctions.add"]) == 11
    assert value("customFunctions.add(1)", allowedAPIs=["customFunctions"]) == 11
    assert value("return Object.keys(customFunctions)", allowedAPIs=["customFunctions.add"]) == ["add"]
    why = failure("customFunctions.add(1)", allowedAPIs=["notes.get"])
    assert why["type"] == "PermissionDenied" and "customFunctions.add" in why["message"]
    why = failure("await customFunctions.writer('x')", allowedAPIs=["customFunctions.*"])
    assert why["type"] == "PermissionDenied" and "notes.create" in why["message"]
    assert value("await customFunctions.writer('x')",
                 allowedAPIs=["customFunctions.writer", "notes.create"]) == "idea/x"


def test_the_policy_and_levels_hold_for_them(cloche, vault, keep, tmp_path):
    keep(ADD, WRITER)

    def refused(policy, code):
        policy_in(tmp_path, policy)
        with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
            client.ask(initialize())
            return structured(client.ask(call("evaluate_note_code", {"code": code})))

    answer = refused({"deniedAPIs": ["customFunctions.add"]}, "customFunctions.add(1)")
    assert answer["errorDetails"]["type"] == "PermissionDenied"
    for level in ("zero", "limited"):
        answer = refused({"level": level}, "customFunctions.add(1)")
        assert answer["result"] == 11, answer
    answer = refused({"level": "zero"}, "await customFunctions.writer('x')")
    assert "notes.create is not allowed at the level 'zero'" in answer["errorDetails"]["message"]
    assert answer["errorDetails"]["function"]["name"] == "writer"
    answer = refused({"readOnly": True}, "await customFunctions.writer('x')")
    assert answer["errorDetails"]["type"] == "PermissionDenied"
    assert not (vault / "idea" / "x.md").exists()


def test_scripts_have_none(keep, stdio):
    keep(ADD)
    stdio.ask(initialize())
    answer = structured(stdio.ask(call("run_script", {"code": "typeof customFunctions",
                                                              "workspace_id": "vault"})))
    assert answer["result"] == "undefined"


# ---- sessions and the cache --------------------------------------------------------------

def test_a_session_sees_the_new_version_also_through_what_it_kept(keep, value, run):
    keep(function("v", "let n = 0; function v() { n++; return 'one' + n; }"))
    assert value("const kept = customFunctions.v; return [kept(), kept()]", session="s") == ["one1", "one2"]
    keep(function("v", "let n = 0; function v() { n++; return 'two' + n; }", version=2))
    assert value("return [kept(), customFunctions.v()]", session="s") == ["two1", "two1"]
    assert value("return typeof customFunctions.v", session="s") == "function"


def test_a_session_does_not_grow_by_functions(keep, run):
    keep(*[function(f"f{i}", f"function f{i}() {{ return '{'x' * 20000}'; }}") for i in range(40)])
    size = [run("let s = 0; for (const k of Object.keys(customFunctions)) s += customFunctions[k]().length; return s",
                session="s")["session"]["bytes"] for _ in range(6)]
    assert size[5] <= size[1] * 1.1, size


def test_a_cached_answer_is_another_when_a_function_is(keep, run):
    keep(function("v", "function v() { return 1; }"))
    code = "return [customFunctions.v(), (await notes.list({limit: 1})).length]"
    assert run(code, cache=True)["result"] == [1, 1]
    assert run(code, cache=True)["cached"] is True
    keep(function("v", "function v() { return 2; }", version=2))
    again = run(code, cache=True)
    assert again["result"] == [2, 1] and "cached" not in again


# ---- what is told ------------------------------------------------------------------------

def test_a_trace_tells_functions_and_whose_host_calls_are_whose(keep, run):
    keep(function("outer", "async function outer() {\n  await notes.list({limit: 1});\n"
                           "  return customFunctions.inner();\n}", version=4),
         function("inner", "async function inner() {\n\n  throw new RangeError('x');\n}"))
    trace = run("await notes.list({limit: 2});\ntry { await customFunctions.outer() } catch {}",
                trace=True)["trace"]
    told = [t for t in trace if t["call"] != "customFunctions"]  # looking up
    assert [t["call"] for t in told] == ["notes.list", "customFunctions.outer", "notes.list",
                                         "customFunctions.inner"]
    first, outer, listed, inner = told
    assert "in" not in first and first["line"] == 1
    assert outer["version"] == 4 and outer["line"] == 2 and outer["outcome"] == "RangeError"
    assert listed["in"] == "customFunctions.outer" and listed["line"] == 2
    assert inner["in"] == "customFunctions.outer" and inner["line"] == 3
    assert inner["ms"] >= 0 and outer["ms"] >= inner["ms"] and outer["at"] >= first["at"]


def test_the_audit_tells_functions_with_their_versions(cloche, keep, run, vault):
    keep({**ADD, "metadata": {**ADD["metadata"], "version": 7}},
         function("bad", "function bad() { throw 1; }"))
    run("customFunctions.add(1); customFunctions.add(2); try { customFunctions.bad() } catch {}; customFunctions.add(3)")
    run("return 1")
    done = subprocess.run([cloche, "audit", "--json", "--vault", vault, "--limit", "9"],
                          capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    told = [r["functions"] for r in rows if "functions" in r]
    assert told == [[{"name": "add", "version": 7, "calls": 3, "failed": 0},
                     {"name": "bad", "version": 1, "calls": 1, "failed": 1}]]
