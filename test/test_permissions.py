"""Permissions of command-line tools: a user's decision in the client's own window or at the
terminal, remembered or not; and that no other call waits meanwhile. The tools are those of
guest/probe: base64 sees no files, reader may read them."""

import json
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from wire import META, Server, Stdio, call, initialize, request, structured

from conftest import ROOT

PROBE = ROOT / "build" / "probe" / "tools"


def link(there, here):
    """The file, or all that is in the folder; no symbolic link is followed here."""
    def one(a, b):
        try:
            os.link(a, b)
        except OSError:
            shutil.copy(a, b)
    if there.is_dir():
        shutil.copytree(there, here, copy_function=one)
    else:
        one(there, here)


def lay_out(place, cloche):
    """The program, with the tools for tests in the place of its own."""
    if not PROBE.exists():
        pytest.fail(f"{PROBE} is not there: run 'make conformance'")
    shutil.copy(cloche, place / "cloche")
    (place / "lib").symlink_to(ROOT / "build" / "lib")
    (place / "guest").mkdir()
    for part in ("ahead", *(p.name for p in (ROOT / "build" / "guest").glob("*.bare.wasm")),
                 *(p.name for p in (ROOT / "build" / "guest").glob("*.img"))):
        link(ROOT / "build" / "guest" / part, place / "guest" / part)
    shutil.copytree(PROBE, place / "guest" / "tools")
    return str(place / "cloche")


@pytest.fixture(scope="module")
def program(cloche, tmp_path_factory):
    return lay_out(tmp_path_factory.mktemp("program"), cloche)


@pytest.fixture
def client(program, vault):
    with Stdio([program, "mcp", "--vault", str(vault)]) as stdio:
        yield stdio


@pytest.fixture
def host(program, vault):
    with Server([program, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"],
                stderr=subprocess.DEVNULL) as server:
        yield server


def policy(**tools):
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "cloche"
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    (folder / "policy.json").write_text(json.dumps({"tools": tools}))


def run(program, *words, code=0):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def waiting(program):
    return json.loads(run(program, "approvals", "list", "--json"))


def wait_for(program, count):
    """Waits until so many calls wait for a decision."""
    with subprocess.Popen([program, "approvals", "list", "--follow", "--json"], text=True,
                          stdout=subprocess.PIPE) as follow:
        late = threading.Timer(30, follow.kill)  # a test that fails, rather than none
        late.start()
        found = [json.loads(follow.stdout.readline()) for _ in range(count)]
        late.cancel()
        follow.send_signal(signal.SIGKILL)
    return found


def hello(capabilities=None, version="2025-11-25"):
    message = initialize(version)
    message["params"]["capabilities"] = capabilities or {}
    return message


def read_note(id=5, words=("reader", "/vault/.gone"), **more):
    return call("wasm_reader", {"args": list(words), **more}, id=id)


CODE = "return (await tools.reader({args: ['a']})).exitCode"


def text_of(answer):
    """A tool's answer; a failure is preceded by the name of its kind."""
    return answer["result"]["content"][0]["text"].removeprefix("PermissionDenied: ")


def trail(vault):
    folder = Path(os.environ["XDG_STATE_HOME"]) / "cloche" / "audit"
    files = [*(vault / ".cloche" / "audit").rglob("*"), *folder.rglob("*")]
    records = []
    for file in files:
        if file.is_file() and file.suffix in (".jsonl", ".log", ""):
            for line in file.read_bytes().splitlines():
                try:
                    records.append(json.loads(line))
                except ValueError:
                    continue
    return [r for r in records if isinstance(r, dict) and "event" in r]


def answer_to(question, action, **content):
    return {"jsonrpc": "2.0", "id": question["id"],
            "result": {"action": action} | ({"content": content} if content else {})}


# --- by the policy ------------------------------------------------------------------------

def test_what_sees_no_files_runs_at_once(client):
    client.ask(hello())
    answer = client.ask(call("wasm_base64", {"mode": "encode", "input": "x"}))
    assert not answer["result"]["isError"]


GIVEN = [{"stdin": "text"}, {"files": {"a": "text"}}, {"cwd": "/work"}, {"cwd": "/tmp"}]


@pytest.mark.parametrize("given", GIVEN)
def test_a_call_that_is_given_its_input_runs_at_once_and_sees_no_files(client, vault, given):
    """Permission follows the call: reader could read the vault, but this call does not."""
    (vault / "secret.txt").write_text("x")
    client.ask(hello())
    seen = []
    for words in (["ls", "/"], ["ls", "."], ["ls", "/tmp/../work/../"]):
        answer = client.ask(call("wasm_reader", {"args": words, **given}))
        assert not answer["result"]["isError"], text_of(answer)
        seen += structured(answer)["stdout"].split()
    assert set(seen) <= {"work", "tmp", "a"} and "work" in seen
    code = f"return (await tools.reader(Object.assign({json.dumps(given)}, {{args: ['list', '/']}}))).stdout"
    answer = client.ask(call("evaluate_note_code", {"code": code}))
    assert "vault" not in structured(answer)["result"]


@pytest.mark.parametrize("shown", [
    {"args": ["ls", "."]}, {"args": ["cat", "/vault/secret.txt"], "stdin": "text"},
    {"args": ["cat", "a"], "stdin": "text", "cwd": "/vault"},
    {"args": ["cat", "../vault/secret.txt"], "files": {"a": "text"}},
    {"args": ["ls", "."], "files": {"a": "text"}, "cwd": "/work/../vault"}])
def test_a_call_that_would_see_the_vault_asks(client, program, vault, shown):
    policy(askSeconds=1)
    (vault / "secret.txt").write_text("x")
    client.ask(hello())
    assert "no decision on whether" in text_of(client.ask(call("wasm_reader", shown)))
    assert waiting(program)[0]["shown"]["mounts"] == [f"/vault = {vault} (read only)"]


def test_a_pipeline_that_is_given_its_input_asks_nobody(client, program, vault):
    policy(askSeconds=1)
    client.ask(hello())
    stages = [{"tool": "reader", "args": ["cat"]}, {"tool": "reader", "args": ["count"]}]
    answer = client.ask(call("run_tool", {"pipeline": stages, "stdin": "12345"}))
    assert structured(answer)["stdout"] == "5\n"
    stages[1]["args"] = ["ls", "/vault"]
    answer = client.ask(call("run_tool", {"pipeline": stages, "stdin": "12345"}))
    assert "no decision on whether" in text_of(answer)
    assert "no decision on whether" in text_of(client.ask(call("run_tool", {"pipeline": stages[:1]})))


def test_a_parameter_that_is_standard_input_may_come_from_a_pipe(client):
    client.ask(hello())
    alone = structured(client.ask(call("wasm_fed", {"pattern": "a", "input": "text"})))
    assert alone["stdout"].split() == ["fed", "--pattern", "a"]
    stages = [{"tool": "base64", "arguments": {"mode": "encode", "input": "x"}},
              {"tool": "fed", "arguments": {"pattern": "a"}}]
    answer = structured(client.ask(call("run_tool", {"pipeline": stages})))
    assert answer["stdout"].split() == ["fed", "--pattern", "a"]
    stages[1]["arguments"]["input"] = "text"
    assert "in a pipeline the stage before gives" in text_of(
        client.ask(call("run_tool", {"pipeline": stages})))


def test_a_writing_tool_that_is_given_its_input_writes_beside_the_vault(client, vault):
    client.ask(hello())
    answer = structured(client.ask(call("wasm_writer", {"args": ["put", "a", "1"], "stdin": ""})))
    assert answer["files"] == [{"name": "a", "size": 1, "text": "1"}] and "vault" not in answer
    assert not (vault / "a").exists()


def test_a_working_directory_that_is_not_there_is_no_other_one(client):
    client.ask(hello())
    for tool in ("reader", "probe", "base64"):
        for cwd in ("/nope", "/work/nope", "nope"):
            answer = client.ask(call("run_tool", {"name": tool, "args": ["a"], "cwd": cwd}))
            assert "is not a folder that the tool sees" in text_of(answer)
    answer = client.ask(call("wasm_base64", {"args": ["a"], "cwd": "/vault"}))
    assert not answer["result"]["isError"]


def test_a_file_that_was_not_shown_is_explained(client):
    client.ask(hello())
    answer = structured(client.ask(call("wasm_reader", {"args": ["cat", "note.md"], "stdin": ""})))
    assert not answer["success"] and 'cwd: "/vault"' in answer["hint"]


def test_who_wants_to_be_asked_of_each_call_says_ask(client, program):
    policy(askSeconds=1, permissions={"reader": "ask"})
    client.ask(hello())
    assert "no decision on whether" in text_of(client.ask(call("wasm_reader", {"stdin": "text"})))
    [entry] = waiting(program)
    assert "files: nothing" in entry["shown"]["tool"][0] and "always" not in entry["choices"]


def test_never_is_refused_and_nobody_is_asked(client, program):
    policy(permissions={"base64": "never"})
    client.ask(hello({"elicitation": {}}))
    answer = client.ask(call("wasm_base64", {"mode": "encode", "input": "x"}))
    assert answer["result"]["isError"] and text_of(answer).startswith("Permission denied")
    assert waiting(program) == []


def test_a_vault_can_forbid_what_its_user_never_named(client, vault):
    (vault / ".cloche").mkdir(exist_ok=True)
    (vault / ".cloche" / "policy.json").write_text('{"tools":{"permissions":{"base64":"never"}}}')
    client.ask(hello())
    answer = client.ask(call("wasm_base64", {"mode": "encode", "input": "x"}))
    assert "vault's policy" in text_of(answer)


# --- what is not installed ----------------------------------------------------------------

def test_what_is_not_installed_is_offered_to_nobody(cloche, tmp_path, vault):
    (tmp_path / "bare").mkdir()
    program = lay_out(tmp_path / "bare", cloche)
    shutil.rmtree(tmp_path / "bare" / "guest" / "tools")
    with Stdio([program, "mcp", "--vault", str(vault)]) as client:
        assert "jq" not in client.ask(hello())["result"]["instructions"]
        listed = {t["name"]: t for t in client.ask(request("tools/list"))["result"]["tools"]}
        assert "vm_exec" not in listed
        told = listed["evaluate_note_code"]["description"]
        assert "vm.exec" not in told and "tools.jq" not in told and "utils; customFunctions" in told
        found = structured(client.ask(call("find_tools", {"query": "start a linux machine"})))
        assert not {"vm_start", "vm_list"} & {r["name"] for r in found["results"]}
        assert "make vm" in found["notInstalled"]["Linux machine"]
        assert "make tools" in found["notInstalled"]["command-line tools"]
        assert "'make tools'" in text_of(client.ask(call("run_tool", {"name": "jq"})))
        assert "make vm" in text_of(client.ask(call("vm_exec", {"command": "ls"})))


def test_what_is_installed_is_offered(client):
    assert "tools.jq" in client.ask(hello())["result"]["instructions"]
    told = next(t["description"] for t in client.ask(request("tools/list"))["result"]["tools"]
                if t["name"] == "evaluate_note_code")
    assert "tools.jq" in told and "vm.exec" not in told


def test_names_are_told_whole(client):
    client.ask(hello())
    listed = {t["name"] for t in client.ask(request("tools/list"))["result"]["tools"]}
    told = client.ask(call("no_such_tool", {}))["error"]["message"]
    names = told.partition("there are: ")[2].removesuffix(" and more").split(", ")
    assert told.endswith(" and more") and len(names) > 5
    assert all(n in listed or "_" in n and not n.endswith("_") for n in names)


# --- through the client's own window ---------------------------------------------------------

@pytest.mark.parametrize("message", [read_note(), call("evaluate_note_code", {"code": CODE}, id=5)])
def test_a_person_sees_all_of_it_and_says_yes(client, vault, message):
    client.ask(hello({"elicitation": {}}))
    client.send(message)
    question = client.receive()
    assert question["method"] == "elicitation/create"
    shown = question["params"]["message"]
    assert "May reader be run?" in shown and "reader 1.0.0, built in" in shown
    assert f"/vault = {vault} (read only)" in shown
    assert question["params"]["requestedSchema"]["properties"]["remember"]["enum"] == [
        "call", "session"]
    client.send(answer_to(question, "accept", decision="allow", remember="call"))
    answer = client.receive()
    assert answer["id"] == 5
    said = [r for r in trail(vault) if r["event"] == "approval"]
    assert [(r["result"], r["by"], r["remember"], r["tools"]) for r in said] == [
        ("allowed", "client", "call", ["reader"])]


@pytest.mark.parametrize("reply", [("decline", {}), ("cancel", {}),
                                   ("accept", {"decision": "deny"})])
def test_anything_but_yes_is_no(client, vault, reply):
    client.ask(hello({"elicitation": {}}))
    client.send(read_note())
    question = client.receive()
    client.send(answer_to(question, reply[0], **reply[1]))
    answer = client.receive()
    assert answer["result"]["isError"] and text_of(answer).startswith("Permission denied")
    assert [r["result"] for r in trail(vault) if r["event"] == "approval"] == ["denied"]


def test_what_is_allowed_for_a_session_is_not_asked_again(client):
    client.ask(hello({"elicitation": {}}))
    client.send(read_note())
    client.send(answer_to(client.receive(), "accept", decision="allow", remember="session"))
    assert client.receive()["id"] == 5
    assert client.ask(read_note(6, ["other"]))["id"] == 6


def test_always_through_a_client_needs_the_policys_word(client, program):
    policy(elicitAlways=True)
    client.ask(hello({"elicitation": {}}))
    client.send(read_note())
    question = client.receive()
    assert "always" in question["params"]["requestedSchema"]["properties"]["remember"]["enum"]
    client.send(answer_to(question, "accept", decision="allow", remember="always"))
    assert client.receive()["id"] == 5
    shown = json.loads(run(program, "policy", "show", "--json"))["policy"]["tools"]
    assert shown["permissions"] == {"reader": "always"}
    assert client.ask(read_note(6, ["other"]))["id"] == 6
    run(program, "tool", "permit", "reader", "ask")
    client.send(read_note(7, ["third"]))
    assert client.receive()["method"] == "elicitation/create"


def test_always_that_was_not_offered_is_no_answer(client, program):
    client.ask(hello({"elicitation": {}}))
    client.send(read_note())
    client.send(answer_to(client.receive(), "accept", decision="allow", remember="always"))
    assert client.receive()["result"]["isError"]
    assert json.loads(run(program, "policy", "show", "--json"))["policy"]["tools"]["permissions"] == {}


def test_the_stateless_era_asks_in_its_answer(host):
    params = {"name": "wasm_reader", "arguments": {"args": ["a"]},
              "_meta": META | {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}}
    message = request("tools/call", params)
    first = host.post(message).json()["result"]
    assert first["resultType"] == "input_required"
    key, question = next(iter(first["inputRequests"].items()))
    assert "May reader be run?" in question["params"]["message"]
    message["params"] |= {"requestState": first["requestState"], "inputResponses": {
        key: {"action": "accept", "content": {"decision": "allow"}}}}
    again = host.post(message).json()["result"]
    assert again["resultType"] == "complete"
    assert "Permission denied" not in json.dumps(again)


def test_a_token_for_some_vaults_is_asked_without_paths(program, vault, tmp_path):
    """The client's window is not the server's: the user at the terminal sees them."""
    (tmp_path / "shared").mkdir()
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "cloche"
    config.mkdir(parents=True, mode=0o700, exist_ok=True)
    (config / "policy.json").write_text(json.dumps({
        "mounts": [{"guest": "/mnt/shared", "host": str(tmp_path / "shared"), "mode": "ro"}]}))
    token = run(program, "token", "create", "one", "--vault", "vault", "--unregistered").split()[0]
    bearer = {"Authorization": f"Bearer {token}"}
    params = {"name": "wasm_reader", "arguments": {"args": ["a"]},
              "_meta": META | {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}}
    with Server([program, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"],
                stderr=subprocess.DEVNULL) as server:
        for headers, paths in ((bearer, False), ({}, True)):
            first = server.post(request("tools/call", params), headers).json()["result"]
            [question] = first["inputRequests"].values()
            told = question["params"]["message"]
            assert (str(tmp_path) in json.dumps(first)) == paths
            if not paths:
                assert "/mnt/shared (read only)" in told and "/vault (read only)" in told
                assert "\n  vault       vault\n" in told
        connection = server.send_post(read_note(7), bearer)
        [entry] = wait_for(program, 1)
        assert f"/vault = {vault} (read only)" in entry["shown"]["mounts"]
        assert entry["shown"]["vault"] == str(vault)
        run(program, "approvals", "deny", entry["id"])
        assert str(tmp_path).encode() not in connection.recv(65536)
        connection.close()


# --- at the terminal ----------------------------------------------------------------------

def test_the_terminal_decides_for_a_client_that_cannot_ask(client, program, vault):
    client.ask(hello())
    client.send(read_note(words=["a\x1b[2J\u202eb\nc"]))
    [entry] = wait_for(program, 1)
    assert entry["waiting"] and entry["tools"] == ["reader"] and entry["caller"] == "stdio"
    listed = run(program, "approvals")
    assert "\x1b" not in listed and "\u202e" not in listed and "\\u{202e}b" in listed
    run(program, "approvals", "allow", entry["id"])
    answer = client.receive()
    assert answer["id"] == 5 and "Permission denied" not in text_of(answer)
    events = {r["event"]: r for r in trail(vault)}
    assert events["approval"]["by"] == "terminal"
    assert events["decision"]["approval"] == entry["id"] and events["decision"]["tools"] == ["reader"]
    assert waiting(program) == []


def test_a_person_who_says_no_is_heard(client, program):
    client.ask(hello())
    client.send(read_note())
    [entry] = wait_for(program, 1)
    run(program, "approvals", "deny", entry["id"])
    assert text_of(client.receive()).startswith("Permission denied: a person was asked")
    assert "decided" in run(program, "approvals", "deny", entry["id"], code=1)


def test_nobody_answers_and_the_same_call_finds_a_later_word(client, program):
    policy(askSeconds=1)
    client.ask(hello())
    answer = client.ask(read_note())
    assert "was made within 1 s" in text_of(answer)
    [entry] = waiting(program)
    assert not entry["waiting"] and entry["id"] in text_of(answer)
    run(program, "approvals", "allow", entry["id"])
    assert "Permission denied" in text_of(client.ask(read_note(6, ["another"])))
    assert "Permission denied" not in text_of(client.ask(read_note(7)))
    assert "Permission denied" in text_of(client.ask(read_note(8)))


@pytest.mark.parametrize("word", ["mounts", "vault", "good for"])
def test_nobody_is_shown_words_that_mean_nothing(client, program, word):
    """They would look like our lines, and an unreadable question is never decided."""
    client.ask(hello())
    answer = client.ask(call("wasm_reader", {"args": ["a"], word: "nothing"}))
    assert f"there is no argument '{word}'" in text_of(answer)
    assert waiting(program) == []


def test_a_pipeline_shows_no_words_that_mean_nothing(client, program):
    client.ask(hello())
    code = "return await tools.pipe([{tool: 'reader', args: ['a']}], {mounts: 'nothing'})"
    answer = client.ask(call("evaluate_note_code", {"code": code}))
    error = answer["result"]["structuredContent"]["errorDetails"]
    assert error["type"] == "InvalidInput" and "does not accept 'mounts'" in error["message"], error
    assert waiting(program) == []


def test_always_at_the_terminal_is_seen_and_taken_back(client, program):
    policy(askSeconds=1)
    client.ask(hello())
    client.ask(read_note())
    [entry] = waiting(program)
    run(program, "approvals", "allow", entry["id"], "--remember", "always")
    assert "Permission denied" not in text_of(client.ask(read_note(6, ["b"])))
    assert '"reader":"always"' in run(program, "policy", "show")
    run(program, "tool", "permit", "reader", "never")
    assert "'never'" in text_of(client.ask(read_note(7)))


def test_who_was_killed_leaves_nothing_stuck(program, vault):
    with Stdio([program, "mcp", "--vault", str(vault)]) as first:
        first.ask(hello())
        first.send(read_note())
        [entry] = wait_for(program, 1)
        first.process.kill()
        first.process.wait()
    assert not waiting(program)[0]["waiting"]
    run(program, "approvals", "allow", entry["id"])
    with Stdio([program, "mcp", "--vault", str(vault)]) as second:
        second.ask(hello())
        assert "Permission denied" not in text_of(second.ask(read_note()))


def test_the_policy_can_keep_the_clients_window_out_of_it(client, program):
    policy(askClient=False)
    client.ask(hello({"elicitation": {}}))
    client.send(read_note())
    [entry] = wait_for(program, 1)
    run(program, "approvals", "allow", entry["id"])
    assert client.receive()["id"] == 5


# --- nobody else waits -----------------------------------------------------------------------

def test_waiting_is_no_time_of_the_evaluations(client, program):
    policy(askSeconds=3)
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "cloche" / "policy.json"
    config.write_text(json.dumps({"limits": {"total": 1000}, "tools": {"askSeconds": 3}}))
    client.ask(hello())
    answer = client.ask(call("evaluate_note_code", {"code": CODE}, id=5))
    error = answer["result"]["structuredContent"]["errorDetails"]
    assert error["type"] == "PermissionDenied", error


def stdio_calls(client, count, make):
    for n in range(count):
        client.send(make(n))


@pytest.mark.parametrize("code", [False, True], ids=["tools", "code"])
def test_over_stdio_more_wait_than_there_are_threads(client, program, code):
    client.ask(hello())
    stdio_calls(client, 12, lambda n: call("evaluate_note_code", {
        "code": f"return await tools.reader({{args: ['{n}']}})"}, id=100 + n) if code
        else read_note(100 + n, [str(n)]))
    entries = wait_for(program, 12)
    assert client.ask(request("tools/list", id=7))["id"] == 7
    assert structured(client.ask(call("evaluate_note_code", {"code": "return 6 * 7"},
                                      id=8)))["result"] == 42
    for entry in entries:
        run(program, "approvals", "deny", entry["id"])
    assert {client.receive()["id"] for _ in entries} == {100 + n for n in range(12)}


def test_over_http_more_wait_than_there_are_workers(host, program):
    """24 workers; 16 of one caller may wait, so there are two callers."""
    policy(permissions={"reader": "ask"})
    tokens = [run(program, "token", "create", name, "--vault", "*", "--unregistered").split()[0]
              for name in ("one", "two")]
    calls = [host.send_post(read_note(n, [str(n)]), {"Authorization": f"Bearer {tokens[n % 2]}"})
             for n in range(26)]
    entries = wait_for(program, 26)
    session = host.session()
    listed = host.post(request("tools/list", id=7), headers=session).json()
    assert listed["id"] == 7
    answer = host.post(call("evaluate_note_code", {"code": "return 6 * 7"}, id=8),
                       headers=session)
    assert '"result":42' in answer.text
    for entry in entries:
        run(program, "approvals", "deny", entry["id"])
    for connection in calls:
        assert b"Permission denied" in connection.recv(65536)
        connection.close()


def test_too_many_of_one_asker_are_told_so(client, program):
    client.ask(hello())
    stdio_calls(client, 17, lambda n: read_note(100 + n, [str(n)]))
    answer = client.receive()
    assert "too many requests wait" in text_of(answer)
    for entry in wait_for(program, 16):
        run(program, "approvals", "deny", entry["id"])
    assert len({client.receive()["id"] for _ in range(16)}) == 16
