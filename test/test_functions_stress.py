"""Two agents register and call custom functions of one vault at once, in two processes and
as two clients of one server: nothing is lost.

CLOCHE_FUNCTION_ROUNDS: how many times each of them registers one, makes a version and calls
(500 in `make deep`: 1,000 functions and 1,000 versions, 7,000 calls)."""
import json
import os
import signal
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest

from wire import Stdio, call, initialize, structured

ROUNDS = int(os.environ.get("CLOCHE_FUNCTION_ROUNDS", 20))
CALLS = 5  # in each evaluation
LISTED = 1000  # versions, at most
WAIT_S = 300


def definition(name, text):
    return {"name": name, "description": f"says {text}", "returnType": "string",
            "parameters": {"n": {"type": "number", "description": "a number"}},
            "code": f"function {name}(n: number): string {{\n  return `{text} ${{n}}`;\n}}\n"}


class Agent:
    """Calls tools over one connection of any kind."""

    def __init__(self, ask):
        self._ask, self.ids = ask, 0

    def __call__(self, tool, **arguments):
        self.ids += 1
        answer = structured(self._ask(call(tool, arguments, id=self.ids)))
        assert answer.get("success", True), answer
        return answer

    def evaluate(self, code):
        return self("evaluate_note_code", code=code)["result"]


def over_http(server):
    headers = server.session()
    return Agent(lambda message: server.post(message, headers, timeout=WAIT_S).json())


def work(agent, me, problems):
    """In each round: a function of its own, the next version of one that both change, and
    calls of all three."""
    try:
        for i in range(ROUNDS):
            agent("register_custom_function", **definition(f"{me}{i}", f"{me} {i}"))
            agent("update_custom_function", name="shared",
                  **{k: v for k, v in definition("shared", f"{me} {i}").items()
                     if k in ("description", "code")})
            said = agent.evaluate(
                f"const own = [];\nfor (let n = 0; n < {CALLS}; n++)\n"
                f"  own.push(await customFunctions.{me}{i}(n));\n"
                "return [own, await customFunctions.shared(7), customFunctions.stays(1)]")
            own, shared, stays = said
            assert own == [f"{me} {i} {n}" for n in range(CALLS)]
            assert shared.endswith(" 7") and stays == "stays 1"
    except BaseException as e:  # a thread's end is nobody's to see
        problems.append(e)


def both(agents):
    problems = []
    threads = [threading.Thread(target=work, args=(agent, me, problems))
               for me, agent in agents.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


@contextmanager
def agent_of(cloche, vault):
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        client.ask(initialize())
        yield Agent(lambda message: client.ask(message, WAIT_S))
        assert client.end()[1] == 0


def check(cloche, vault):
    """In a process of its own, when both have ended."""
    file = json.loads((vault / ".cloche" / "custom-functions.json").read_text())
    names = [f["name"] for f in file["functions"]]
    assert names == sorted(["shared", "stays"] + [f"{me}{i}" for me in ("a", "b")
                                                  for i in range(ROUNDS)])
    with agent_of(cloche, vault) as agent:
        versions = agent("custom_function_versions", name="shared")["versions"]
        numbers = list(range(2 * ROUNDS + 1, 0, -1))
        assert [v["version"] for v in versions] == numbers[:LISTED]
        assert agent("custom_function_stats", name="shared")["calls"] == 2 * ROUNDS
        assert agent("custom_function_stats", name="stays")["calls"] == 2 * ROUNDS
        totals = agent("custom_function_stats")["totals"]
    assert totals["calls"] == 2 * ROUNDS * (CALLS + 2)
    assert totals["failed"] == 0 and totals["functions"] == 2 * ROUNDS + 2


def begin(agent):
    agent("register_custom_function", **definition("shared", "nobody"))
    agent("register_custom_function", **definition("stays", "stays"))


def test_two_processes_lose_nothing(cloche, vault):
    with ExitStack() as stack:
        clients = {}
        for me in ("a", "b"):
            clients[me] = stack.enter_context(Stdio([cloche, "mcp", "--vault", str(vault)]))
            clients[me].ask(initialize())
        agents = {me: Agent(lambda message, c=c: c.ask(message, WAIT_S))
                  for me, c in clients.items()}
        begin(agents["a"])
        both(agents)
        for client in clients.values():
            assert client.end()[1] == 0
    check(cloche, vault)


def test_two_clients_of_a_server_lose_nothing(cloche, vault, server):
    agents = {me: over_http(server) for me in ("a", "b")}
    begin(agents["a"])
    both(agents)
    assert server.stop() == 0
    check(cloche, vault)


def test_a_process_that_is_killed_while_it_registers_leaves_whole_functions(cloche, vault):
    """Acknowledged functions are there; others are there or not, and never in part."""
    answered = []
    for round in range(max(3, ROUNDS // 8)):
        client = Stdio([cloche, "mcp", "--vault", str(vault)])
        with client:
            client.ask(initialize())

            def register():
                for i in range(1000):
                    name = f"f{round}x{i}"
                    try:
                        client.ask(call("register_custom_function",
                                        definition(name, name), id=i + 1))
                    except (AssertionError, OSError, ValueError):
                        return
                    answered.append(name)

            before = len(answered)
            thread = threading.Thread(target=register)
            thread.start()
            deadline = time.monotonic() + WAIT_S
            while len(answered) < before + 1 + round % 3 and time.monotonic() < deadline:
                time.sleep(0.001 * (round % 7))  # the kill comes at another moment each round
            client.process.send_signal(signal.SIGKILL)
            thread.join()
    file = json.loads((vault / ".cloche" / "custom-functions.json").read_text())
    kept = {f["name"]: f for f in file["functions"]}
    assert set(answered) <= set(kept)
    for name, fn in kept.items():
        assert fn["code"] == definition(name, name)["code"]
    with agent_of(cloche, vault) as agent:
        versions = agent("custom_function_versions", name=answered[-1])["versions"]
    assert [v["version"] for v in versions] == [1]


@pytest.mark.parametrize("kind", ["directory", "link", "pipe", "damaged"])
def test_what_lies_in_the_way_of_counting_fails_no_evaluation(cloche, vault, tmp_path, kind):
    place = vault / ".cloche" / "functions-usage.db"
    with agent_of(cloche, vault) as agent:
        begin(agent)
    target = tmp_path / "elsewhere.db"
    for file in place.parent.glob("functions-usage.db*"):
        file.unlink()
    if kind == "directory":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to(target)
    else:
        place.write_bytes(b"no database" * 1000)
    with agent_of(cloche, vault) as agent:
        for _ in range(3):
            assert agent.evaluate("return customFunctions.stays(1)") == "stays 1"
        told = agent("custom_function_stats", name="stays")
        assert told["calls"] == (3 if kind == "damaged" else 0)
    assert not target.exists()
