"""`cache: true`: a repeated answer, never a stale one nor another caller's."""

import json
import os

import pytest

from wire import Stdio, call, structured


@pytest.fixture
def run(stdio):
    """Evaluates with the cache allowed; returns the whole answer."""

    def evaluate(code, client=stdio, **arguments):
        arguments = {"code": code, "cache": True} | arguments
        return structured(client.ask(call("evaluate_note_code", arguments)))

    return evaluate


COUNT = "console.log('counting'); return (await notes.list()).length"


def test_what_only_reads_is_answered_again(run):
    first, second = run(COUNT), run(COUNT)
    assert first["success"] and "cached" not in first
    assert second["cached"] is True
    assert second["result"] == first["result"] and second["logs"] == first["logs"]
    assert second["logs"][0]["message"] == "counting"
    assert second["stats"]["host_calls"] == 0 and second["stats"]["compute_ms"] == 0
    assert "cached" not in run(COUNT, cache=False)


def test_the_clock_and_chance_are_those_of_then(run):
    code = "return [Date.now(), Math.random(), crypto.randomUUID()]"
    assert run(code)["result"] == run(code)["result"]


@pytest.mark.parametrize("other", [
    {"code": COUNT + " + 0"}, {"allowedAPIs": ["notes"]}, {"timeout": 4999},
    {"memoryLimit": 127}, {"context": {"a": 1}}, {"context": {"a": 2}}])
def test_another_call_is_not_answered_with_it(run, other):
    run(COUNT)
    answer = run(**{"code": COUNT} | other)
    assert answer["success"] and "cached" not in answer


def test_a_change_in_the_vault_is_seen(run, vault):
    before = run(COUNT)["result"]
    (vault / "idea" / "new one.md").write_text("# New\n")
    after = run(COUNT)
    assert "cached" not in after and after["result"] == before + 1
    run("await notes.create({type: 'idea', title: 'Newer', content: ''})", cache=False)
    assert run(COUNT)["result"] == before + 2
    read = "return (await notes.get('idea/new one')).content"
    assert "# New" in run(read)["result"]
    (vault / "idea" / "new one.md").write_text("# Changed\n")
    assert "# Changed" in run(read)["result"]
    assert run(read)["cached"] is True


@pytest.mark.parametrize("code", [
    "const note = await notes.get('project/greenhouse'); await notes.update(note.id, {metadata: {}}); return 1",
    "await notes.delete('project/greenhouse'); return 1",  # refused: others link to it
    "try { await notes.create({}) } catch {} return 1",
    "return (await vaults.list()).length",
    "throw new Error('mine')",
    "return 'x'.repeat(2000000)",
    "for (let i = 0; i < 100000; i++) console.log('a log that is too long'); return 1",
])
def test_what_does_more_than_read_or_fails_is_run_again(run, code):
    run(code)
    assert "cached" not in run(code)


def test_a_policy_may_say_no(cloche, vault, tmp_path, run):
    (tmp_path / "config" / "cloche").mkdir(parents=True, exist_ok=True)
    (tmp_path / "config" / "cloche" / "policy.json").write_text('{"cache": false}')
    env = os.environ | {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    with Stdio([cloche, "mcp", "--vault", str(vault)], env=env) as client:
        run("return 1", client)
        answer = run("return 1", client)
        assert answer["success"] and "cached" not in answer


def test_other_rights_get_answers_of_their_own(cloche, vault, tmp_path, run):
    """The same client, lowered by its policy between two calls."""
    folder = tmp_path / "config" / "cloche"
    folder.mkdir(parents=True, exist_ok=True)
    env = os.environ | {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    search = "return (await notes.search({query: 'rain'})).length"
    with Stdio([cloche, "mcp", "--vault", str(vault)], env=env) as client:
        run(search, client)
        assert run(search, client)["cached"] is True
        (folder / "policy.json").write_text(json.dumps({"deniedAPIs": ["notes.search"]}))
        answer = run(search, client)
        assert answer["errorDetails"]["type"] == "PermissionDenied"
