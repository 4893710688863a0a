"""Use of custom functions: counted, reported and searched."""
import datetime
import json

import pytest

from test_functions import agent, fn, sized  # noqa: F401
from test_functions_rest import rest  # noqa: F401
from wire import Stdio, call, initialize, structured

SUM = sized("sum", parameters={"n": {"type": "number"}}, code="""
function sum(n: number): number { if (n < 0) throw new RangeError('no'); return n; }""")


def session(cloche, vault, *programs):
    with Stdio([cloche, "mcp", "--vault", vault]) as stdio:
        stdio.ask(initialize())
        answers = [structured(stdio.ask(call("evaluate_note_code", {"code": code}, id=i)))
                   for i, code in enumerate(programs, 1)]
        stdio.end()  # what was counted is written
        return answers


def test_sessions_count_before_there_is_a_function(agent, cloche, vault):  # noqa: F811
    for _ in range(3):
        session(cloche, vault, "return 1")
    assert agent("register_custom_function", **SUM)["success"]
    session(cloche, vault, "return customFunctions.sum(1)")
    rate = agent("custom_function_stats")["metrics"]["functionReuseRate"]
    assert (rate["reusing"], rate["sessions"], rate["value"]) == (1, 4, 0.25)


def test_what_was_refused_is_no_failed_run(agent):  # noqa: F811
    agent("register_custom_function", **SUM)
    for code in ("customFunctions.sum('x')", "customFunctions.sum()", "customFunctions.sum(1, 2)",
                 "customFunctions.sum(-1)", "customFunctions.sum(3)"):
        agent("evaluate_note_code", code=f"return {code}")
    told = agent("custom_function_stats", name="sum")
    assert (told["calls"], told["failed"], told["successRate"]) == (2, 1, 0.5)
    assert [e["kind"] for e in told["errors"]] == ["RangeError"]


@pytest.mark.parametrize("returns", ["number", "Promise<number>"])
def test_a_refusal_comes_as_its_answers_do(agent, returns):  # noqa: F811
    word = "async " if "Promise" in returns else ""
    agent("register_custom_function", **sized(
        "f", returnType=returns, parameters={"n": {"type": "number"}},
        code=f"{word}function f(n: number): {returns} {{ return n; }}"))
    code = """let how = 'threw'; try { const p = customFunctions.f('x'); how = 'rejected'; await p; }
              catch (e) { return [how, e.name]; }"""
    assert agent("evaluate_note_code", code=code)["result"] == [
        "rejected" if word else "threw", "InvalidInput"]


OPTIONS = "{ limit?: number, tag?: string, by?: { title?: string } }"


@pytest.mark.parametrize("type_, code, value, refused", [
    (OPTIONS, "", {"limt": 3}, "unknown key options.limt; "),
    (OPTIONS, "", {"by": {"titel": "x"}}, "unknown key options.by.titel; title is accepted"),
    (OPTIONS, "", {"limit": 3, "by": {}}, None),
    ("Options", f"interface Options {OPTIONS}", {"limt": 3}, "unknown key options.limt"),
    ("Array<{ id: string, n?: number }>", "", [{"id": "a", "m": 1}], "options[0].m"),
    # All that is known of it is there; what is more is no slip of the pen.
    ("{ id: string }", "", {"id": "a", "more": 1}, None),
    ("{ id: string } & { n?: number }", "", {"id": "a", "n": 1}, None),
    ("Record<string, number>", "", {"any": 1}, None),
])
def test_a_key_that_nobody_knows_is_refused(agent, type_, code, value, refused):  # noqa: F811
    made = agent("register_custom_function", **sized(
        "f", returnType="number", parameters={"options": {"type": type_}},
        code=f"{code}\nfunction f(options: {type_}): number {{ return 1; }}"))
    if not made["success"]:
        pytest.skip(made["error"])
    ran = agent("evaluate_note_code", code=f"return customFunctions.f({json.dumps(value)})")
    assert ran["success"] is not bool(refused), ran
    assert not refused or refused in ran["error"], ran["error"]


def test_a_note_fits_where_a_note_is_wanted(agent):  # noqa: F811
    agent("register_custom_function", **sized(
        "name", returnType="string", parameters={"note": {"type": "Note"}},
        code="function name(note: Note): string { return note.title; }"))
    ran = agent("evaluate_note_code", code="""const [row] = await notes.list();
        return customFunctions.name({...await notes.get(row.id), later: 1})""")
    assert ran["success"], ran


def test_days_are_told(agent, cloche, vault):  # noqa: F811
    agent("register_custom_function", **SUM)
    session(cloche, vault, "return customFunctions.sum(1)", "customFunctions.sum(-1)")
    now = datetime.datetime.now(datetime.timezone.utc)
    for told in (agent("custom_function_stats"), agent("custom_function_stats", name="sum")):
        days = told["days"]
        assert sum(d["calls"] for d in days) == 2 and sum(d["failed"] for d in days) == 1
        assert datetime.date.fromisoformat(days[-1]["day"]) >= now.date() - datetime.timedelta(1)
    shown = fn(cloche, vault, "stats", "sum")
    assert days[-1]["day"] in shown and "RangeError" in shown


def test_trials_are_runs_and_no_calls(agent):  # noqa: F811
    agent("register_custom_function", **SUM, examples=[{"args": [1], "expected": 1}])
    agent("test_custom_function", name="sum", args={"n": 4})
    agent("test_custom_function", name="sum", args=[-4])
    agent("test_custom_function", name="sum")
    agent("test_custom_function", definition=SUM, args=[1])
    agent("evaluate_note_code", code="return customFunctions.sum(1)")
    told = agent("custom_function_stats", name="sum")
    assert told["calls"] == 1 and len(told["runs"]) == 4
    trials = [r["outcome"] for r in told["runs"] if r.get("trial")]
    assert trials == ["ok", "RangeError", "ok"]
    totals = agent("custom_function_stats")["totals"]
    assert totals["calls"] == 1 and totals["sessionsThisMonth"] == 1


def test_the_command_line_tells_totals(agent, cloche, vault):  # noqa: F811
    agent("register_custom_function", **SUM)
    session(cloche, vault, "return customFunctions.sum(1)")
    shown = fn(cloche, vault, "stats")
    assert "1 function, 1 call, 0 failed, 1 evaluation, since " in shown
    assert "in 30 days: 1 call, 1 session" in shown
    assert "functionReuseRate" in shown and "runtime 0" in shown


def test_functions_are_found_by_their_use(agent, rest, cloche, vault):  # noqa: F811
    for name in ("never", "once", "often"):
        agent("register_custom_function", **sized(name))
    agent("evaluate_note_code", code="""customFunctions.once();
        for (let i = 0; i < 5; i++) customFunctions.often(); return 1""")
    assert agent("custom_function_stats", name="often")["calls"] == 5

    def names(**how):
        listed = agent("list_custom_functions", **how)["functions"]
        over_rest = rest("GET", params=how).json()
        assert [f["name"] for f in over_rest] == [f["name"] for f in listed]
        return [f["name"] for f in listed]
    assert names(minUsage=1) == ["often", "once"] or names(minUsage=1) == ["often", "once"][::-1]
    assert names(minUsage=2) == ["often"] and names(maxUsage=0) == ["never"]
    assert names(maxUsage=1, sort="usageCount") == ["once", "never"]
    assert names(maxUsage=1, sort="usageCount", order="asc") == ["never", "once"]
    assert names(order="desc") == ["once", "often", "never"]
    assert names(order="desc", limit=1, cursor="once") == ["often"]
    assert names(sort="createdAt", order="asc") == ["never", "once", "often"]
    assert names(usedSince="2026-01-01", sort="usageCount") == ["often", "once"]
    assert names(unusedSince="2026-01-01") == ["never"]
    assert "usedSince is 'x'" in agent("list_custom_functions", usedSince="x")["refused"]
    shown = fn(cloche, vault, "list", "--max-usage", "1", "--sort", "usageCount", "--order", "asc")
    assert [line.split()[0] for line in shown.splitlines()] == ["never", "once"]
    assert "often" in fn(cloche, vault, "list", "--min-usage", "2", "--used-since", "2026-01-01")
