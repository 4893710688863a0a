"""Long work over a vault ends when its caller goes, and has changed nothing then."""
import fcntl
import json
import sqlite3
import subprocess

import pytest

from conftest import policy_in
from test_access import bearer, make_token, revoke
from wire import WAIT_S, Server, call, until

NOTES, LINKS = 1500, 300
MIGRATE = ('await noteTypes.delete({type_name: "z", action: "migrate", target_type: "zz"})')


@pytest.fixture
def large(tmp_path):
    """A type of many notes with many links between them: moving it takes seconds."""
    place = tmp_path / "large"
    (place / "z").mkdir(parents=True)
    (place / ".cloche" / "types").mkdir(parents=True)
    for i in range(NOTES):
        links = " ".join(f"[[z/n{(i + k) % NOTES}]]" for k in range(LINKS))
        (place / "z" / f"n{i}.md").write_text(links)
    return place


@pytest.fixture
def alice_and_bob(cloche, large, tmp_path):
    policy_in(tmp_path, {"limits": {"total": 60000}})
    tokens = [make_token(cloche, name) for name in ("alice", "bob")]
    with Server([cloche, "serve", "--vault", str(large), "--listen", "127.0.0.1:0"]) as s:
        alice, bob = (bearer(t) for t in tokens)
        # The first call indexes the vault, which takes seconds.
        made = evaluate(s, 'await noteTypes.create({type_name: "z", description: "x"});'
                           'return (await notes.list({limit: 3})).length', alice, timeout=30000)
        assert made["result"] == 3, made
        yield s, alice, bob


def evaluate(server, code, headers, **options):
    answer = server.post(call("evaluate_note_code", {"code": code, **options}, modern=True),
                         headers)
    result = answer.json()["result"]
    assert "structuredContent" in result, result
    return result["structuredContent"]


def is_locked(place):
    """Whether the vault is being written."""
    with open(place / ".cloche" / "notes.lock", "r+") as f:
        try:
            fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
        except BlockingIOError:
            return True
    return False


def is_as_before(server, place, who):
    """Another caller writes, nothing was moved, and no link was changed."""
    until(lambda: not is_locked(place), "the vault stays locked")
    made = evaluate(server, 'return (await notes.create({type: "w", title: "w"})).id', who)
    assert made["result"] == "w/w", made
    assert not (place / "zz").exists()
    assert (place / "z" / "n5.md").read_text().startswith("[[z/n5]] [[z/n6]] ")
    broken = evaluate(server, "return (await links.findBroken()).length", who)
    assert broken["result"] == 0, broken


@pytest.mark.parametrize("how", ["hangs up", "is revoked"])
def test_a_long_change_ends_with_its_caller(cloche, alice_and_bob, large, how):
    server, alice, bob = alice_and_bob
    message = call("evaluate_note_code", {"code": MIGRATE})
    with server.send_post(message, alice) as connection:
        until(lambda: is_locked(large), "the change does not begin")
        if how == "is revoked":
            revoke(cloche, "alice")
            until(lambda: not is_locked(large), "the vault stays locked")
        else:
            connection.close()
    is_as_before(server, large, bob)


def test_a_long_change_ends_with_the_time_of_its_evaluation(cloche, large, tmp_path):
    policy_in(tmp_path, {"limits": {"total": 1200}})
    with Server([cloche, "serve", "--vault", str(large), "--listen", "127.0.0.1:0"]) as s:
        until(lambda: evaluate(s, 'return (await notes.list({limit: 3})).length', {})["success"],
              "the vault is not indexed")
        evaluate(s, 'await noteTypes.create({type_name: "z", description: "x"})', {})
        answer = evaluate(s, MIGRATE, {})
        assert answer["errorDetails"]["type"] == "Timeout", answer
        is_as_before(s, large, {})


def test_reading_ends_with_its_caller_and_goes_on_where_it_ended(cloche, large, tmp_path):
    """The first index of a vault takes longer than one evaluation has."""
    policy_in(tmp_path, {"limits": {"total": 700}})
    with Server([cloche, "serve", "--vault", str(large), "--listen", "127.0.0.1:0"]) as s:
        answers = []
        until(lambda: answers.append(evaluate(
            s, f"return (await notes.list({{limit: {NOTES}}})).length", {})) or
            answers[-1]["success"], "no answer")
        assert answers[-1]["result"] == NOTES, answers
        assert all(a["errorDetails"]["type"] == "Timeout" for a in answers[:-1]), answers


def test_a_call_that_runs_where_the_code_does_ends_with_its_timeout(cloche, large):
    """notes.list runs on the evaluation's own thread, and reads the vault first."""
    asked = [cloche, "eval", "--vault", str(large), "--timeout", "20", "-e",
             "return (await notes.list({limit: 3})).length"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=WAIT_S)
    assert json.loads(done.stdout)["errorDetails"]["type"] == "Timeout"
    with sqlite3.connect(large / ".cloche" / "index.db") as index:
        [[read]] = index.execute("SELECT count(*) FROM notes")
    assert read < NOTES
