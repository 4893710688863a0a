"""Regular expressions of agents, types and untrusted vaults in the real program: they end at their
deadline or when their caller cancels, and delay no other call."""
import json
import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from wire import WAIT_S, Stdio, call, initialize, notification

# Within PCRE2's own limits it takes minutes over such a line.
EVIL = "a{0,300}a{0,300}(?:ab|ac)"
LINE = "a" * 40000


@pytest.fixture
def vault(tmp_path):
    """A vault by others: a line, and a type with a pattern."""
    place = tmp_path / "strange"
    (place / ".cloche/types").mkdir(parents=True)
    (place / "line.md").write_text(f"# Line\n\n{LINE}\n")
    schema = {"properties": {"code": {"type": "string", "pattern": EVIL}}}
    (place / ".cloche/types/coded.md").write_text(
        f"# coded\n\n## Metadata Schema\n\n```json\n{json.dumps(schema)}\n```\n")
    return place


def evaluate(cloche, vault, code, *words):
    done = subprocess.run([cloche, "eval", "--vault", str(vault), *words, "-e", code],
                          capture_output=True, text=True, timeout=WAIT_S)
    return json.loads(done.stdout)


def results(cloche, vault, tool):
    """Outcomes of such calls, from the audit trail."""
    done = subprocess.run([cloche, "audit", "--vault", str(vault), "--json"],
                          capture_output=True, text=True, timeout=WAIT_S)
    records = map(json.loads, done.stdout.splitlines())
    return [r["result"] for r in records if r.get("action") == tool]


def search():
    return f"return await notes.search({{query: {json.dumps(EVIL)}, useRegex: true}})"


def test_a_search_without_end_is_a_limit_and_can_be_caught(cloche, vault):
    answer = evaluate(cloche, vault, search())
    assert not answer["success"] and answer["errorDetails"]["type"] == "LimitExceeded"
    assert "took longer than 3 s" in answer["errorDetails"]["message"]
    answer = evaluate(cloche, vault, "try {" + search() + "} catch (e) { return e.name }")
    assert answer["result"] == "LimitExceeded"


def computed(process):
    """CPU seconds so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("tool", ["search_notes", "evaluate_note_code"])
def test_a_search_whose_caller_cancels_ends(cloche, vault, tool):
    arguments = ({"query": EVIL, "useRegex": True} if tool == "search_notes"
                 else {"code": search()})
    until = time.monotonic() + 2 * WAIT_S
    seen = []
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        client.ask(initialize())
        client.send(notification("notifications/initialized"))
        # On a busy machine a search may be over before it is cancelled: then again.
        while "Cancelled" not in seen:
            begun, had, sent = computed(client.process), len(seen), time.monotonic()
            client.send(call(tool, arguments, id=had))
            while computed(client.process) < begun + 0.1 and time.monotonic() < sent + 3:
                time.sleep(0.005)
            client.send(notification("notifications/cancelled", {"requestId": had}))
            while len(seen) == had:
                assert time.monotonic() < until
                seen = results(cloche, vault, tool)


def test_a_strangers_type_stops_nobody(cloche, vault):
    """What its pattern is held against is refused, and others write meanwhile."""
    create = ("try { await notes.create({type: 'coded', title: 'A', metadata: "
              f"{{code: 'a'.repeat({len(LINE)})}}}}); return 'made' }} "
              "catch (e) { return [e.name, e.message] }")
    answers = []
    asking = threading.Thread(target=lambda: answers.append(evaluate(cloche, vault, create)))
    asking.start()
    made = [evaluate(cloche, vault, f"return (await notes.create({{title: 'N {i}'}})).id")
            for i in range(5)]
    asking.join()
    assert [m["result"] for m in made] == [f"note/N {i}" for i in range(5)]
    name, message = answers[0]["result"]
    assert name == "LimitExceeded"
    assert '"coded"' in message and "metadata.code" in message and EVIL in message
    assert not (vault / "coded/A.md").exists()


def test_reading_a_strangers_vault_asks_no_pattern(cloche, vault):
    (vault / "coded").mkdir()
    (vault / "coded/B.md").write_text(f"---\ncode: {LINE}\n---\nwords\n")
    answer = evaluate(cloche, vault, """
        const type = await noteTypes.get('coded');
        return [(await noteTypes.list()).length > 0, (await notes.list('coded')).length,
                (await notes.search('words')).length, type.metadata_schema !== null,
                (await notes.get('coded/B')).metadata.code.length]""")
    assert answer["result"] == [True, 1, 1, True, len(LINE)]
