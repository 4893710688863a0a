"""`atomic: true`: what code changed before it failed is undone, by its call's own right."""
import pytest
from wire import call, initialize, structured

FAILS = "throw new Error('no')"


def files(vault):
    return {p.relative_to(vault): p.read_bytes() for p in vault.rglob("*.md") if ".cloche" not in p.parts}


def evaluate(client, code, **more):
    return structured(client.ask(call("evaluate_note_code", {"code": code, **more})))


@pytest.fixture
def agent(stdio):
    stdio.ask(initialize())
    return stdio


def test_all_of_it_is_undone_when_code_fails(agent, vault):
    evaluate(agent, "for (const t of ['One', 'Two']) await notes.create({title: t, type: 'idea', content: 'of [[Two]]'})")
    before = files(vault)
    told = evaluate(agent, f"""
        await notes.create({{title: 'Three', type: 'idea', content: 'x'}});
        const one = await notes.get('idea/One'), two = await notes.get('idea/Two');
        await notes.update({{identifier: 'idea/One', content: 'y', contentHash: one.content_hash}});
        await notes.rename({{identifier: 'idea/Two', new_title: 'Four', contentHash: two.content_hash}});
        await notes.delete({{identifier: 'idea/One', confirm: true}});
        {FAILS}""", atomic=True)
    assert told["error"].endswith("no") and told["atomic"] == {"refused": [], "undone": 3}
    assert files(vault) == before


@pytest.mark.parametrize("ends", ["while (1);", "await new Promise(() => {})", "null.x", "return 'x'.repeat(1 << 24)"])
def test_however_it_fails(agent, vault, ends):
    before = files(vault)
    told = evaluate(agent, "await notes.create({title: 'One', type: 'idea', content: 'x'});" + ends,
                    atomic=True, timeout=1000)
    assert not told["success"] and told["atomic"]["undone"] == 1
    assert files(vault) == before


def test_what_it_changed_stays_when_it_succeeds(agent, vault):
    told = evaluate(agent, "await notes.create({title: 'One', type: 'idea', content: 'x'}); return 1", atomic=True)
    assert told["success"] and "atomic" not in told
    assert (vault / "idea" / "One.md").exists()


def test_without_it_what_was_changed_stays(agent, vault):
    told = evaluate(agent, "await notes.create({title: 'One', type: 'idea', content: 'x'});" + FAILS)
    assert not told["success"] and "atomic" not in told and (vault / "idea" / "One.md").exists()


def test_nothing_was_changed(agent):
    assert evaluate(agent, FAILS, atomic=True)["atomic"] == {"refused": [], "undone": 0}


def test_code_that_may_only_create_is_undone_all_the_same(agent, vault):
    told = evaluate(agent, "await notes.create({title: 'One', type: 'idea', content: 'x'});" + FAILS,
                    atomic=True, allowedAPIs=["notes.create"])
    assert told["atomic"]["undone"] == 1 and not (vault / "idea" / "One.md").exists()


def test_what_another_program_wrote_since_stays(agent, vault):
    evaluate(agent, "await notes.create({title: 'One', type: 'idea', content: 'x'})")
    code = """const one = await notes.get('idea/One');
        await notes.update({identifier: 'idea/One', content: 'mine', contentHash: one.content_hash});
        await notes.create({title: 'Two', type: 'idea', content: 'x'});
        await new Promise((go) => setTimeout(go, 3000));""" + FAILS
    agent.send(call("evaluate_note_code", {"code": code, "atomic": True}, id=7))
    while not (vault / "idea" / "Two.md").exists():
        pass
    (vault / "idea" / "One.md").write_text("theirs\n")
    answer = agent.receive()
    while answer.get("id") != 7:  # news of notes come first
        answer = agent.receive()
    told = structured(answer)
    assert [r["id"] for r in told["atomic"]["refused"]] == ["idea/One"] and told["atomic"]["undone"] == 1
    assert (vault / "idea" / "One.md").read_text() == "theirs\n" and not (vault / "idea" / "Two.md").exists()


def test_the_history_shows_both(agent):
    evaluate(agent, "await notes.create({title: 'One', type: 'idea', content: 'x'});" + FAILS, atomic=True)
    said = evaluate(agent, "return (await notes.log({limit: 1}))[0].changes.map((c) => c.action)")
    assert said["result"] == ["create", "delete"]
