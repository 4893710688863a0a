"""The value of code, its environment, and that nothing of it is left."""

import json

import pytest

from wire import Stdio, call


@pytest.fixture(scope="module")
def client(cloche, tmp_path_factory):
    with Stdio([cloche, "mcp", "--vault", str(tmp_path_factory.mktemp("vault"))]) as c:
        yield c


@pytest.fixture
def run(client):
    """Evaluates code in one long-lived server; returns the whole answer."""

    def evaluate(code, **arguments):
        reply = client.ask(call("evaluate_note_code", {"code": code, **arguments}))
        return reply["result"]["structuredContent"]

    return evaluate


@pytest.mark.parametrize(
    "code, result",
    [
        # a return wins
        ("return 1; 2", 1),
        ("function main() { return 1 } return 2", 2),
        ("if (true) { return 'early' }\n'late'", "early"),
        ("return await Promise.resolve(5)", 5),
        ("return", None),
        # else main()
        ("async function main() { return 3 }", 3),
        ("function main() { return 4 }\n99", 4),
        ("const main = async () => 5;", 5),
        ("function other() {} 6", 6),
        ("let n = 0; async function main() { return ++n }\nawait main()", 1),
        ("function main() { return 8 }\n// main() is called for us", 8),
        # else the last expression
        ("1 + 1", 2),
        ("const a = [1, 2];\na.length;", 2),
        ("Promise.resolve('awaited')", "awaited"),
        ("({a: 1})", {"a": 1}),
        ("let x = 1\nx\n", 1),
        ("if (false) return 1\nconst s = 'tail'\ns.toUpperCase()", "TAIL"),
        ("if (false) { return 1 }\n[1, 2].map((x) => x * 2)", [2, 4]),
        ("for (const x of [1, 2]) x", 2),
        ("", None),
        ("// nothing", None),
        ("if (false) return 1; 5", 5),
        ("    const x = [7];\n    if (!x.length) return 'none';\n    x[0]", 7),
        ("if (false) return 0;\n[1, 2].map((x) => {\nreturn x * 2\n})", [2, 4]),
        ("/}/.test('}'); function f() { return 1 } f()", 1),
        ("function main() { return 1 }\nconsole.log('main()')", 1),
        ("class main {}\n3", 3),
        ("const f = () => { return 1 }; f() + 1", 2),
        ("'return 1'", "return 1"),
        ("`${(() => { return 'x' })()}`", "x"),
        ("/return/.test('return')", True),
        # nothing of JSON is lost
        ("null", None),
        ("false", False),
        ("0", 0),
        ("''", ""),
        ("[null, false, 0, '', -0.5, 1e21]", [None, False, 0, "", -0.5, 1e21]),
        ("10n ** 20n", "100000000000000000000n"),
        ("[undefined, () => 1, NaN]", [None, None, None]),
        ("({u: undefined, k: 1})", {"k": 1}),
        ("new Date(0)", "1970-01-01T00:00:00.000Z"),
        ("new Map([['a', 1]])", {"a": 1}),
        ("new Map([[1, 'a']])", [[1, "a"]]),
        ("new Set([1, 2])", [1, 2]),
        ("new Uint8Array([1, 2])", [1, 2]),
        ("new RangeError('r')", {"name": "RangeError", "message": "r"}),
        ("'\\ud800'", "\ufffd"),
        ("'\u00e9\u20ac\U0001f600'", "\u00e9\u20ac\U0001f600"),
        ("Object.create(null, {a: {value: 1, enumerable: true}})", {"a": 1}),
    ],
)
def test_the_result(run, code, result):
    answer = run(code)
    assert answer["success"], answer
    assert answer["result"] == result
    assert "error" not in answer


@pytest.mark.parametrize(
    "name", ["fetch", "require", "process", "module", "global", "globalThis"]
)
def test_what_is_not_there_reads_as_undefined(run, name):
    assert run(f"return [typeof {name}, {name}]")["result"] == ["undefined", None]


@pytest.mark.parametrize(
    "code",
    [
        "eval('1')",
        "(0, eval)('1')",
        "new Function('return 1')()",
        "Function('return 1')()",
        "(() => {}).constructor('return 1')()",
        "(async () => {}).constructor('return 1')()",
        "(function* () {}).constructor('yield 1')()",
        "(async function* () {}).constructor('yield 1')()",
        "Object.getPrototypeOf(async () => {}).constructor('return 1')",
        "Reflect.construct((() => {}).constructor, ['return 1'])",
        "[].constructor.constructor('return 1')()",
    ],
)
def test_code_made_from_text_is_refused(run, code):
    answer = run(code)
    assert answer["success"] is False
    assert answer["errorDetails"]["type"] == "ExecutionError"
    assert answer["errorDetails"]["name"] == "EvalError"
    assert "rights" not in answer["errorDetails"].get("suggestion", "")  # no suggestion would help


def test_functions_are_still_functions(run):
    assert run("(() => 1) instanceof Function && Function.prototype === Object.getPrototypeOf(() => 1)")["result"] is True


@pytest.mark.parametrize(
    "code, kind, name, line",
    [
        ("const a = 1;\n\nthrow new TypeError('no')", "ExecutionError", "TypeError", 3),
        ("const a = 1;\nnull.x", "ExecutionError", "TypeError", 2),
        ("let a = 1;\nlet b = ;\n", "SyntaxError", "SyntaxError", 2),
        ("return 1;\nlet b = ;\n", "SyntaxError", "SyntaxError", 2),
        ("JSON.parse('{')", "ExecutionError", "SyntaxError", 1),
        ("async function f() {\n  await null;\n  missing()\n}\nawait f()", "ExecutionError", "ReferenceError", 3),
        ("\n\nawait notes.update({identifier: 'no/such', content: ''})", None, None, 3),
        ("throw 'text'", "ExecutionError", "Error", None),
        ("throw null", "ExecutionError", "Error", None),
        ("throw {code: 7}", "ExecutionError", "Error", None),
        ("await new Promise(() => {})", "ExecutionError", "ExecutionError", None),
        ("Promise.reject(new Error('nobody looks')); 1", "ExecutionError", "Error", 1),
        ("setTimeout(() => { throw new Error('late') }, 1); await sleep(20); 1", "ExecutionError", "Error", 1),
        ("const a = {}; a.a = a; return a", "ExecutionError", "TypeError", None),
    ],
)
def test_errors_say_what_and_where(run, code, kind, name, line):
    answer = run(code)
    assert answer["success"] is False
    assert answer["result"] is None
    details = answer["errorDetails"]
    if kind:
        assert details["type"] == kind, details
        assert details["name"] == name
        assert answer["error"].startswith(name if kind == "ExecutionError" else kind)
    assert details.get("line") == line
    if line:
        marked = [row for row in details["frame"].split("\n") if row.startswith(">")]
        assert len(marked) == 1 and marked[0].split()[1] == str(line)


@pytest.mark.parametrize("code, line, column", [
    ("const s = '((';\nreturn " + "(" * 3000 + "1" + ")" * 3000, 2, 108), ("return " + "[" * 3000 + "]" * 3000, 1, 108),
    ("/* {{ */ const é = " + "{a:" * 3000 + "1" + "}" * 3000, 1, 320)])
def test_code_that_is_nested_too_deeply_has_its_place(run, code, line, column):
    told = run(code)["errorDetails"]
    assert (told["type"], told["line"], told["column"]) == ("StackOverflow", line, column)
    assert "nested" in told["message"] and "> " in told["frame"]


def test_nothing_survives_from_one_run_to_the_next(run):
    run(
        "Array.prototype.map = () => 'mine'; JSON.stringify = () => 'mine'; Promise.prototype.then = 1;"
        "Object.prototype.toJSON = () => 'mine'; leaked = 'secret'; notes.get = 1; Math.random = () => 4;"
    )
    answer = run("return [[1].map((x) => x + 1), JSON.stringify({}), typeof leaked, typeof notes.get, Math.random() < 1, {}]")
    assert answer["result"] == [[2], "{}", "undefined", "function", True, {}]


def test_each_run_has_randomness_of_its_own(run):
    seen = [json.dumps(run("return [Math.random(), crypto.randomUUID(), utils.generateId()]")["result"]) for _ in range(20)]
    assert len(set(seen)) == 20


def test_context_values_are_variables(run):
    answer = run("return [a.b, list.length, context.a.b, typeof missing]", context={"a": {"b": None}, "list": [1, 2]})
    assert answer["result"] == [None, 2, None, "undefined"]


def test_a_race_ends_with_its_first_and_does_not_wait_for_a_stale_timer(run):
    answer = run("return Promise.race([sleep(1).then(() => 'fast'), sleep(50000).then(() => 'slow')])")
    assert answer["result"] == "fast"
    assert run("setTimeout(() => {}, 50000); return 'at once'")["result"] == "at once"


def test_calls_that_nobody_awaits_are_made_before_the_end(run):
    assert run("notes.create({type: 'idea', title: 'Unawaited', content: 'x'}); return 1")["result"] == 1
    assert run("return (await notes.get('idea/Unawaited')).content")["result"] == "x"
    failed = run("notes.create({type: 'idea', title: 'Unawaited', content: 'x'}); return 1")
    assert failed["errorDetails"]["type"] == "Conflict"


def test_a_failed_call_can_be_caught_by_its_name(run):
    answer = run(
        "try { await notes.update({identifier: 'no/such', content: ''}) }"
        "catch (e) { return [e instanceof Error, e.name, e.code, typeof e.message, e.retry] }"
    )
    assert answer["result"] == [True, "NotFound", "NOT_FOUND", "string", False]


def test_an_update_means_the_version_that_was_read(run):
    answer = run(
        """
        const {id} = await notes.create({type: 'idea', title: 'Versions', content: 'one'});
        await notes.update(id, {content: 'two'});
        const read = await notes.get(id);
        await notes.update({identifier: id, content: 'three', contentHash: read.content_hash});
        let conflict;
        try { await notes.update({identifier: id, content: 'four', contentHash: read.content_hash}) }
        catch (e) { conflict = e.name }
        return [(await notes.get(id)).content, conflict];
        """
    )
    assert answer["result"] == ["three", "Conflict"]
    unread = run("await notes.update({identifier: 'idea/Versions', content: 'blind'})")
    assert unread["errorDetails"]["type"] == "InvalidInput"


def test_changed_says_whether_anything_was_written(run):
    answer = run("await notes.create({type: 'idea', title: 'Half', content: ''}); null.x")
    assert answer["errorDetails"]["changed"] is True
    assert run("await notes.list(); null.x")["errorDetails"]["changed"] is False


def test_console_is_captured_in_order_and_bounded(run):
    answer = run("console.log('a', {b: [1]}); console.info(1); console.warn(null); console.error(new Error('e').message)")
    assert [row["level"] for row in answer["logs"]] == ["log", "info", "warn", "error"]
    assert [row["message"] for row in answer["logs"]] == ["a { b: [1] }", "1", "null", "e"]
    flood = run("for (let i = 0; i < 100000; i++) console.log('x'.repeat(100)); return 'done'")
    assert flood["result"] == "done"
    assert flood["truncated"] is True
    assert sum(len(row["message"]) for row in flood["logs"]) <= 64 * 1024


def test_limits_cannot_be_caught(run):
    for code, kind in [
        ("for (;;) { try { for (;;); } catch {} }", "Timeout"),
        ("const a = []; for (;;) { try { a.push('x'.repeat(1e6) + a.length) } catch {} }", "MemoryExceeded"),
        ("for (;;) { try { await notes.get('a/b') } catch {} }", "TooManyHostCalls"),
        ("const a = new Uint8Array(2e6), b = new Uint8Array(2e6); for (;;) { b.set(a); b.fill(1); a.copyWithin(1, 0) }", "Timeout"),
    ]:
        answer = run(code, timeout=1500 if kind == "Timeout" else 30000, memoryLimit=24)
        assert answer["success"] is False
        assert answer["errorDetails"]["type"] == kind, (code, answer)
        assert answer["stats"]["peak_memory_bytes"] <= 24 << 20


def test_a_result_over_its_cap_comes_with_a_preview(run):
    answer = run("return 'abc'.repeat(1e6)")
    assert answer["errorDetails"]["type"] == "OutputTooLarge"
    assert answer["errorDetails"]["preview"].startswith('"abcabc')
    assert answer["truncated"] is True


def test_what_was_printed_before_a_stop_is_there(run):
    for code in ("console.log('before'); for (;;);", "console.log('before'); 'x'.repeat(2 ** 29)"):
        answer = run(code, timeout=200, memoryLimit=24)
        assert answer["success"] is False
        assert answer["logs"] == [{"level": "log", "message": "before"}]


def test_a_refused_call_has_the_shape_of_every_answer(run):
    answer = run("1", timeout=10**9)
    assert answer["success"] is False
    assert answer["errorDetails"]["type"] == "InvalidInput"
    assert answer["logs"] == []


@pytest.mark.parametrize("head", ["'use strict'; ", '// first\n"use strict";\n'])
@pytest.mark.parametrize("tail", ["x = 1; return 2", "x = 1; 2", "main = 1; return 2"])
def test_strict_code_is_strict(run, head, tail):
    assert run(head + tail)["errorDetails"]["name"] == "ReferenceError"


def test_many_timers_run_in_their_order(run):
    answer = run(
        "const o = [], ids = []; for (let i = 0; i < 3000; i++) ids.push(setTimeout(() => o.push(i), 1));"
        "for (let i = 0; i < 3000; i += 3) clearTimeout(ids[i]); setTimeout(() => o.push('first'), 0);"
        "await sleep(30); return [o.length, o.every((x, i) => x === 'first' || i === 0 || o[i - 1] === 'first' || o[i - 1] < x)]"
    )
    assert answer["result"] == [2001, True]


def test_slow_calls_of_an_ended_run_are_not_begun(run):
    run("for (let i = 0; i < 20; i++) await notes.create({type: 'idea', title: 'S' + i, content: 'alpha '.repeat(100)})")
    answer = run("for (let i = 0; i < 5000; i++) notes.search({query: 'alpha'}).catch(() => {}); await sleep(1); throw 1", timeout=20000)
    assert answer["success"] is False


# ---- dry runs ---------------------------------------------------------------------------------


def test_a_dry_run_tells_what_it_would_change(run):
    run("await notes.create({type: 'dry', title: 'Old', content: 'one'}); await notes.create({type: 'dry', title: 'Gone'})")
    count = "return (await notes.list()).length"
    before = run(count)["result"]
    told = run("await notes.update({identifier: 'dry/Old', content: 'two', force: true});"
               "await notes.delete({identifier: 'dry/Gone', confirm: true});"
               "await notes.create({type: 'dry', title: 'New', content: 'three'});"
               "return (await notes.get('dry/New')).content", dryRun=True)
    assert told["success"] is True, told
    assert told["result"].strip() == "three"
    changes = {c["path"]: c for c in told["changes"]}
    assert {path: c["action"] for path, c in changes.items()} == {
        "dry/Old.md": "update", "dry/New.md": "create", "dry/Gone.md": "delete"}
    assert "-one\n" in changes["dry/Old.md"]["diff"] and "+two\n" in changes["dry/Old.md"]["diff"]
    assert "+three" in changes["dry/New.md"]["diff"]
    assert told["changeCount"] == 3
    assert run(count)["result"] == before
    assert run("return (await notes.get('dry/Old')).content")["result"].strip() == "one"


def test_a_dry_run_that_fails_tells_what_it_came_to(run):
    told = run("await notes.create({type: 'dry', title: 'Half'}); throw new Error('no more')", dryRun=True)
    assert told["success"] is False and "no more" in told["error"]
    assert [c["path"] for c in told["changes"]] == ["dry/Half.md"]
    assert told["errorDetails"]["changed"] is False


@pytest.mark.parametrize("more", [{"session": "s"}, {"enableNetwork": True}, {"enableFileSystem": True}])
def test_a_dry_run_reaches_nothing_that_stays(run, more):
    assert "dry run" in run("return 1", dryRun=True, **more)["error"]


def test_a_dry_run_makes_no_vault(run):
    told = run("return await vaults.create({id: 'x', name: 'x', path: '/tmp/x'})", dryRun=True)
    assert told["success"] is False and "dry run" in told["error"]
