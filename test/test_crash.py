"""kill -9 at any moment: no acknowledged write is lost, and nothing is half done."""
import copy
import os
import random
import signal
import threading

from crash import Work, difference, read_vault
from wire import Stdio, call, initialize

KILLS = int(os.environ.get("CLOCHE_KILLS", "200"))


def evaluate(client, code, id):
    """Whether it succeeded and why not; None if the server is gone."""
    try:
        client.send(call("evaluate_note_code", {"code": code + "; return 1"}, id=id))
        answer = client.receive()
        while answer and answer.get("id") != id:  # what the vault's changes are told by
            answer = client.receive()
    except BrokenPipeError:
        return None
    return answer and answer["result"]["structuredContent"]


def run_until_killed(client, before, rng):
    """The state of the acknowledged work, and the one with the operation under way."""
    killer = threading.Timer(rng.uniform(0, 0.06), client.process.send_signal,
                             [signal.SIGKILL])
    killer.start()
    for id in range(10, 100_000):
        after = copy.deepcopy(before)
        code = after.next()
        outcome = evaluate(client, code, id)
        if outcome is None:
            break
        assert outcome["success"], (code, outcome["error"])
        before = after
    killer.join()
    return before, after


def test_no_acknowledged_write_is_lost_and_none_is_half_done(cloche, tmp_path):
    rng = random.Random(KILLS)
    root = tmp_path / "vault"
    root.mkdir()
    before = after = Work()
    before.write_first(root)
    cut = 0
    for kill in range(4 * KILLS):  # longer if the program gets little CPU time
        if kill > KILLS and before.done > KILLS:
            break
        with Stdio([cloche, "mcp", "--vault", str(root)]) as client:
            assert "result" in client.ask(initialize())
            # Any call that reads finishes what the last one left.
            assert evaluate(client, "await notes.list()", 1)["success"]
            found, others = read_vault(root)
            assert others == [], f"kill {kill}"
            if found == after.notes:
                cut += after is not before
                before = after
            assert found == before.notes, (
                f"kill {kill}: {difference(found, before.notes)}, or "
                f"{difference(found, after.notes)}")
            before, after = run_until_killed(client, before, rng)
    assert before.done > KILLS, "too little was done between the kills to say anything"
