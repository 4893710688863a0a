"""Examples of custom functions that hold at any time: with notes and a date of their own."""
import json

import pytest

from test_functions import agent, fn, sized  # noqa: F401
from test_functions_check import contents

COUNT = sized("count", parameters={"type": {"type": "string"}}, returnType="Promise<string[]>",
              code="async function count(type: string): Promise<string[]> "
                   "{ return (await notes.list({typeName: type})).map((n) => n.title).sort(); }")
TODAY = sized("today", returnType="Promise<any>", code="""
async function today(): Promise<any> {
  const made = await notes.create({ type: 'note', title: utils.formatDate(new Date(), 'YYYY-MM-DD'), content: 'x' });
  const note = await notes.get(made.id);
  return { id: made.id, created: note!.created, now: Date.now(), day: new Date().getUTCDay(),
           later: new Date(Date.now() + 864e5).toISOString() };
}""")
NOTES = [{"type": "task", "title": "One", "content": "# One\n"},
         {"type": "task", "title": "Two", "content": "two", "metadata": {"done": True}}]


def test_an_example_brings_its_notes(agent, vault):  # noqa: F811
    examples = [{"name": "two", "notes": NOTES, "args": ["task"], "expected": ["One", "Two"]},
                {"name": "none", "notes": [], "args": ["task"], "expected": []},
                {"name": "no other", "notes": NOTES, "args": ["project"], "expected": []}]
    made = agent("register_custom_function", **COUNT, examples=examples)
    assert made["success"] and made["tests"]["passed"] == 3, made
    # Whatever becomes of the vault.
    before = contents(vault)
    agent("create_note", type="task", title="Three", content="3")
    told = agent("test_custom_function", name="count")
    assert told["success"] and told["tests"]["passed"] == 3, told
    assert not [p for p in set(contents(vault)) - set(before) if "Two" in p or "One" in p]
    kept = agent("get_custom_function", name="count")["function"]["examples"]
    assert kept == examples


def test_an_example_brings_its_date(agent):  # noqa: F811
    example = {"notes": [], "now": "2024-01-15T10:00:00Z", "expected": {
        "id": "note/2024-01-15", "created": "2024-01-15T10:00:00.000Z", "now": 1705312800000, "day": 1,
        "later": "2024-01-16T10:00:00.000Z"}}
    day = {"now": "2024-01-15", "matches": {"id": "note/2024-01-15", "now": 1705276800000}}
    made = agent("register_custom_function", **TODAY, examples=[example, day])
    assert made["success"] and made["tests"]["passed"] == 2, made
    real = agent("evaluate_note_code", code="return Date.now()")["result"]
    assert real > 1.7e12


@pytest.mark.parametrize("example, field, words", [
    ({"notes": {}}, "examples[0].notes", "a list of notes"),
    ({"now": "soon"}, "examples[0]", "2026-01-31"),
])
def test_what_is_no_fixture_is_told(agent, example, field, words):  # noqa: F811
    told = agent("register_custom_function", **COUNT, examples=[{"args": ["x"], **example}])
    assert told["errors"][0]["field"] == field and words in told["errors"][0]["message"], told


def test_a_note_that_cannot_be_made_fails_its_example(agent):  # noqa: F811
    told = agent("register_custom_function", **COUNT, examples=[
        {"args": ["x"], "notes": [{"type": "task", "title": "One", "content": "1"}, {"title": ""}]}])
    assert told["success"] is False
    assert "notes[1] of the example" in told["tests"]["results"][0]["error"], told


STALE = [{"name": "stale", "args": ["task"], "expected": []},
         {"name": "own", "args": ["task"], "notes": NOTES, "expected": ["One", "Two"]}]


def stale(agent):  # noqa: F811
    made = agent("register_custom_function", **COUNT, examples=STALE)
    assert made["success"], made
    assert agent("create_note", type="task", title="Three", content="3")


def test_what_reads_the_vault_as_it_is_says_how_it_would_hold(agent):  # noqa: F811
    stale(agent)
    told = agent("test_custom_function", name="count")
    assert (told["tests"]["passed"], told["tests"]["failed"]) == (1, 1)
    [result] = [r for r in told["tests"]["results"] if not r["success"]]
    assert "the current vault" in result["hint"] and "notes:" in result["hint"]


def test_new_words_run_no_examples(agent, cloche, vault):  # noqa: F811
    stale(agent)
    told = agent("update_custom_function", name="count", description="Titles", tags=["a"])
    assert told["success"] and told["tests"]["skipped"] == 2, told
    assert all(r["skipped"] == "the code is unchanged" for r in told["tests"]["results"])
    renamed = agent("update_custom_function", name="count", newName="titles")
    assert renamed["success"] and renamed["tests"]["skipped"] == 2, renamed
    said = fn(cloche, vault, "update", "titles", "--description", "All titles")
    assert "skipped stale: the code is unchanged" in said and "0 failed, 2 not run" in said
    # Other code is tried.
    code = COUNT["code"].replace("count", "titles").replace(".sort()", ".sort().slice(0)")
    assert agent("update_custom_function", name="titles", code=code)["success"] is False


def test_a_way_back_runs_only_what_can_hold(agent):  # noqa: F811
    stale(agent)
    code = COUNT["code"].replace(".sort()", ".sort().slice(0)")
    assert agent("update_custom_function", name="count", code=code, force=True)["version"] == 2
    told = agent("rollback_custom_function", name="count", version=1)
    assert told["success"] and told["version"] == 3, told
    [first, own] = told["tests"]["results"]
    assert "may have changed since" in first["skipped"] and own["success"] is True
    assert told["tests"]["passed"] == 1 and told["tests"]["skipped"] == 1


def test_fixtures_are_kept_in_files(agent, cloche, vault, tmp_path):  # noqa: F811
    agent("register_custom_function", **COUNT, examples=STALE[1:])
    source = tmp_path / "count.ts"
    fn(cloche, vault, "show", "count", "--source", "--output", source)
    assert '"notes"' in source.read_text()
    assert "unchanged, version 1" in fn(cloche, vault, "update", "count", source)
    exported = json.loads(fn(cloche, vault, "export"))
    assert exported["functions"][0]["examples"] == STALE[1:]
