"""The Linux machine for agents: over MCP of both eras, in code, over REST, and under policies.
Tests of its inside are in test_machine_inside.py and others."""
import base64
import json
import os
import re
import subprocess
import threading
import time

import httpx
import pytest

from conftest import policy_in
from machine_doors import needs_image, without_image
from test_access import bearer, make_token
from test_permissions import run, trail, wait_for
from wire import (META, Server, Stdio, call, events, initialize, notification, request,
                  structured)

pytestmark = needs_image


@pytest.fixture
def agent(cloche, vault):
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        yield client


def vm(agent, name="exec", id=1, **arguments):
    return structured(agent.ask(call(f"vm_{name}", arguments, id=id)))


def refusal(agent, name="exec", **arguments):
    result = agent.ask(call(f"vm_{name}", arguments))["result"]
    assert result["isError"] and "structuredContent" not in result
    return result["content"][0]["text"]


def evaluate(agent, code, **more):
    return structured(agent.ask(call("evaluate_note_code", {"code": code} | more)))


def result_of(agent, code, **more):
    got = evaluate(agent, code, **more)
    assert got["success"], got["error"]
    return got["result"]


# ---- a command -----------------------------------------------------------------------


@pytest.mark.parametrize("modern", [False, True])
def test_a_command_needs_no_machine_to_be_started(agent, modern):
    answer = agent.ask(call("vm_exec", {"command": "echo out; echo err >&2; exit 3"},
                            modern=modern))
    got = structured(answer)
    want = {"success": False, "stdout": "out\n", "stderr": "err\n", "exitCode": 3}
    assert want.items() <= got.items() and got["machine"].startswith("vm_")
    assert not answer["result"]["isError"], "an exit code is an answer like any other"


def test_the_shell_is_there_for_the_next_command(agent):
    vm(agent, command="cd /tmp; kept=here; f() { echo $kept in $PWD; }")
    assert vm(agent, command="f")["stdout"] == "here in /tmp\n"
    assert vm(agent, command="echo -$kept-", session="other")["stdout"] == "--\n"


def test_cwd_env_and_stdin_are_for_one_command(agent):
    vm(agent, command="cd /")
    got = vm(agent, command="pwd; echo $WHO; cat", cwd="/tmp", env={"WHO": "it's me"},
             stdin="read\n")
    assert got["stdout"] == "/tmp\nit's me\nread\n"
    assert vm(agent, command="pwd; echo -$WHO-; cat")["stdout"] == "/\n--\n"


def test_words_are_run_as_they_stand(agent):
    words = ["printf", "%s|", "a b", "it's", "$HOME", "*", "", "\n", "é"]
    assert vm(agent, command=words)["stdout"] == "a b|it's|$HOME|*||\n|é|"


def test_bytes_go_in_and_come_out_unaltered(agent):
    data = bytes(range(256)) * 300
    got = vm(agent, command="cat; head -c 3 /dev/zero >&2",
             stdin={"base64": base64.b64encode(data).decode()})
    assert got["stdoutEncoding"] == "base64" and base64.b64decode(got["stdout"]) == data
    assert got["stderr"] == "\0\0\0"


def test_a_command_that_is_out_of_time_says_so_and_the_machine_goes_on(agent):
    vm(agent, command="touch /tmp/kept")
    answer = agent.ask(call("vm_exec", {"command": "echo begun; sleep 100",
                                        "timeoutMs": 700}))
    got = structured(answer)
    assert answer["result"]["isError"] and got["timedOut"] and got["stdout"] == "begun\n"
    assert got["errorDetails"]["code"] == "TIMEOUT" and "700 ms" in got["error"]
    assert vm(agent, command="ls /tmp/kept")["success"]


def test_more_output_than_is_kept_says_how_much_is_missing(agent):
    got = vm(agent, command="seq 1 100000", maxOutput=1000)
    assert got["stdout"].startswith("1\n2\n") and got["stdout"].endswith("100000\n")
    assert len(got["stdout"]) < 1200 and got["truncated"]["stdout"] > 500000


def test_a_command_whose_output_has_no_place_has_ended_all_the_same(agent):
    got = vm(agent, command="head -c 7000000 /dev/zero; echo end >&2; (exit 3)", maxOutput=16 << 20)
    assert got["exitCode"] == 3 and got["stderr"] == "end\n" and got["truncated"]["stdout"] > 0
    assert len(got["stdout"]) + got["truncated"]["stdout"] >= 7000000


@pytest.mark.parametrize("arguments, says", [
    ({}, "command is"),
    ({"command": ""}, "empty"),
    ({"command": []}, "empty"),
    ({"command": "a\0b"}, "NUL"),
    ({"command": ["a", 1]}, "array of strings"),
    ({"command": "true", "env": {"A=B": "1"}}, "A=B"),
    ({"command": "true", "env": {"A": 1}}, "number"),
    ({"command": "true", "cwd": 5}, "cwd is number"),
    ({"command": "true", "timeoutMs": 0}, "1 to 600000"),
    ({"command": "true", "timeoutMs": 600001}, "1 to 600000"),
    ({"command": "true", "session": "a b"}, "session"),
    ({"command": "true", "stdin": {"base64": "*"}}, "stdin"),
    ({"command": "true", "shell": "zsh"}, "no option 'shell'"),
    ({"command": "true", "machine": "vm_" + 22 * "a"}, "vm_aaa"),
])
def test_what_cannot_be_meant_is_refused_before_anything_runs(agent, arguments, says):
    assert says in refusal(agent, **arguments)
    if "machine" not in arguments:
        machines = vm(agent, "list")["machines"]
        assert not [m for m in machines if m["commands"]]


# ---- machines ------------------------------------------------------------------------


def test_the_first_that_is_started_is_the_one_that_commands_use(agent):
    first = vm(agent, "start")
    assert first["state"] == "running" and first["default"] and first["ramMB"] == 512
    assert vm(agent, command="echo 1 > /tmp/mine")["machine"] == first["machine"]
    second = vm(agent, "start")
    assert not second["default"] and second["machine"] != first["machine"]
    assert not vm(agent, command="cat /tmp/mine", machine=second["machine"])["success"]
    assert [m["machine"] for m in vm(agent, "list")["machines"]] == [first["machine"],
                                                                     second["machine"]]


def test_one_that_was_stopped_has_no_sessions(agent):
    vm(agent, command="true", session="work")
    vm(agent, "stop")
    (stopped,) = vm(agent, "list")["machines"]
    assert stopped["state"] == "stopped"
    assert [stopped[k] for k in ("sessions", "commands", "memory_bytes", "disk_bytes")] == [0] * 4


def test_the_largest_disk_that_may_be_asked_for_is_there(cloche, vault, tmp_path):
    """And no larger one is promised, by the policy, an option or a server."""
    done = subprocess.run([cloche, "policy", "set", "vm.diskMB", "2049"], capture_output=True)
    assert done.returncode and b"1 to 2048" in done.stderr
    run(cloche, "policy", "set", "vm.diskMB", "2048")
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        assert "1 to 2048" in refusal(agent, "start", diskMB=2049)
        vm(agent, "start", diskMB=2048)
        free = int(vm(agent, command="df --output=avail -B1M / | tail -n 1")["stdout"])
        assert 2048 * 15 // 16 - 8 <= free <= 2048


def test_what_is_stopped_is_gone_and_the_next_command_finds_a_new_one(agent):
    assert vm(agent, "stop") == {"stopped": False}
    old = vm(agent, command="touch /tmp/lost")["machine"]
    assert vm(agent, "stop") == {"machine": old, "stopped": True}
    said = refusal(agent, command="true", machine=old)
    assert said.startswith("NotFound") and old in said
    new = vm(agent, command="ls /tmp/lost")
    assert new["machine"] != old and new["exitCode"] == 2


def test_a_session_is_ended_by_its_name(agent):
    vm(agent, command="x=1", session="work")
    assert vm(agent, "stop", session="work")["stopped"]
    assert vm(agent, command="echo -$x-", session="work")["stdout"] == "--\n"
    assert refusal(agent, "stop", session="never").startswith("NotFound")


def test_stopping_ends_what_runs(agent):
    agent.send(call("vm_exec", {"command": "echo up; sleep 100"}, id=7))
    while not any(m["commands"] for m in vm(agent, "list", id=8)["machines"]):
        pass
    assert vm(agent, "stop", id=9)["stopped"]
    answer = agent.receive()
    assert answer["id"] == 7 and answer["result"]["isError"]
    assert "stopped" in answer["result"]["content"][0]["text"]


# ---- meanwhile -----------------------------------------------------------------------


def test_output_is_told_as_it_comes_with_characters_whole(agent):
    agent.ask(initialize())
    agent.ask(request("logging/setLevel", {"level": "info"}, id=2))
    message = call("vm_exec", {"command": "printf 'one \\303'; sleep .3; printf '\\251\\n'; "
                                          "printf '\\377' >&2"}, id=3)  # its halves come apart
    message["params"]["_meta"] = {"progressToken": "p"}
    agent.send(message)
    told = []
    while (got := agent.receive()).get("id") != 3:
        told.append(got)
    logs = [m["params"]["data"] for m in told if m["method"] == "notifications/message"
            and m["params"]["logger"] == "vm"]
    assert "".join(d["text"] for d in logs if d["stream"] == "stdout") == "one é\n"
    assert {"stream": "stderr", "offset": 0, "base64": "/w=="} in logs
    assert logs[0]["offset"] == 0 and logs[1]["offset"] == 4
    assert {m["params"]["_meta"]["cloche/requestId"] for m in told if "data" in m["params"]} == {3}
    progress = [m["params"] for m in told if m["method"] == "notifications/progress"]
    assert any(p.get("message", "").startswith("one") for p in progress)


def test_much_output_is_told_without_a_gap(agent):
    agent.ask(initialize())
    agent.ask(request("logging/setLevel", {"level": "info"}, id=2))
    agent.send(call("vm_exec", {"command": "for i in $(seq 3000); do echo $i; "
                                           "[ $((i % 7)) = 0 ] && echo $i >&2; done; true",
                                "timeoutMs": 600000}, id=3))
    told = {"stdout": "", "stderr": ""}
    while (got := agent.receive()).get("id") != 3:
        data = got["params"]["data"]
        assert got["params"]["logger"] == "vm" and data["offset"] == len(told[data["stream"]])
        told[data["stream"]] += data["text"]
    result = structured(got)
    assert told == {"stdout": result["stdout"], "stderr": result["stderr"]}
    assert told["stdout"].endswith("\n3000\n")


def test_output_is_told_in_the_newer_era_too(server):
    message = call("vm_exec", {"command": "echo told; sleep .1"}, modern=True)
    message["params"]["_meta"] = META | {"progressToken": 1,
                                         "io.modelcontextprotocol/logLevel": "info"}
    *told, answer = events(server.post(message).text)
    assert answer["result"]["structuredContent"]["stdout"] == "told\n"
    assert {"stream": "stdout", "offset": 0, "text": "told\n"} in \
        [m["params"].get("data") for m in told]


def test_a_cancelled_call_ends_its_command_and_all_it_began(agent):
    agent.ask(initialize())
    agent.send(call("vm_exec", {"command": "sleep 1000 & echo $! > /tmp/pid; wait"}, id=5))
    while not vm(agent, command="cat /tmp/pid", session="eye", id=6)["stdout"]:
        pass
    agent.send(notification("notifications/cancelled", {"requestId": 5}))
    ask = {"command": "while kill -0 $(cat /tmp/pid) 2>/dev/null; do sleep .05; done",
           "session": "eye"}
    assert structured(agent.ask(call("vm_exec", ask, id=7)))["success"]


# ---- whose it is ---------------------------------------------------------------------


def test_a_handle_is_good_for_its_caller_alone(cloche, vault):
    tokens = [bearer(make_token(cloche, name, "--vault", "vault")) for name in ("a", "b")]
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0",
                 "--require-token"]) as server:
        def ask(which, path, method="POST", **body):
            return server.http.request(method, path, headers=tokens[which],
                                       **({"json": body} if body else {}))
        mine = ask(0, "/vm/exec", command="echo secret > /tmp/s").json()["machine"]
        theirs = ask(1, "/vm/exec", command="cat /tmp/s").json()
        assert theirs["machine"] != mine and "secret" not in theirs["stdout"]
        assert [m["machine"] for m in ask(1, "/vm", "GET").json()] == [theirs["machine"]]
        nobodys = "vm_" + 22 * "x"
        for handle in (mine, nobodys):
            got = [ask(1, "/vm/exec", command="true", machine=handle),
                   ask(1, f"/vm/{handle}", "DELETE")]
            assert [g.status_code for g in got] == [404, 404]
            said = got[0].json()["detail"].replace(handle, "H")
            assert said == got[1].json()["detail"].replace(handle, "H")
        assert ask(0, "/vm/exec", command="cat /tmp/s").json()["stdout"] == "secret\n"
        session = server.post(initialize(), tokens[0]).headers["Mcp-Session-Id"]
        other = server.post(call("vm_exec", {"command": "true", "machine": mine}),
                            tokens[0] | {"Mcp-Session-Id": session,
                                         "MCP-Protocol-Version": "2025-11-25"})
        assert other.json()["result"]["isError"], "another session is another caller"


# ---- in code -------------------------------------------------------------------------


def test_code_runs_commands(agent):
    assert result_of(agent, """
        const r = await vm.exec('echo $((6*7)); echo no >&2; exit 4');
        return [r.stdout, r.stderr, r.exitCode, r.success];""") == ["42\n", "no\n", 4, False]
    assert result_of(agent, """
        const sent = new Uint8Array(1000).map((_, i) => i);
        const r = await vm.exec({command: ['cat'], stdin: sent});
        return r.stdout instanceof Uint8Array && r.stdout.every((b, i) => b === sent[i]);""")
    assert result_of(agent, """
        const all = await Promise.all(['a', 'b', 'c'].map((session) =>
          vm.exec(`sleep .2; echo ${session}`, {session})));
        return all.map((r) => r.stdout.trim());""") == ["a", "b", "c"]


def test_code_starts_and_stops_machines(agent):
    assert result_of(agent, """
        const m = await vm.start();
        const same = (await vm.exec('true')).machine === m.machine;
        const listed = (await vm.list()).map((x) => x.state);
        return [m.state, same, listed, (await vm.stop()).stopped, await vm.stop()];
        """) == ["running", True, ["running"], True, {"stopped": False}]


def test_two_that_are_started_at_once_are_two(agent):
    assert result_of(agent, """
        const both = await Promise.all([vm.start(), vm.start()]);
        return [both[0].machine !== both[1].machine,
                both.filter((m) => m.default).length];""") == [True, 1]


def test_an_evaluations_time_holds_in_the_machine_too(cloche, vault, tmp_path):
    policy_in(tmp_path, {"limits": {"total": 1500}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        agent.ask(call("vm_exec", {"command": "true"}))
        got = evaluate(agent, "return await vm.exec('sleep 100')")
        assert not got["success"] or got["result"]["timedOut"]
        assert vm(agent, command="echo on")["stdout"] == "on\n"


def test_errors_in_code_have_names(agent):
    got = evaluate(agent, "await vm.exec('true', {machine: 'vm_no'})")
    assert got["errorDetails"]["type"] == "NotFound"
    got = evaluate(agent, "await vm.exec('true', {timeot: 5})")
    assert "'timeot'" in got["error"]
    got = evaluate(agent, "await vm.exec('true')", allowedAPIs=["notes"])
    assert got["errorDetails"]["type"] == "PermissionDenied"
    got = evaluate(agent, "await vm.exec('true')", allowedAPIs=["vm.exec"])
    assert got["success"]


def test_code_for_the_machine_is_checked_and_described(agent):
    def types(code):
        return structured(agent.ask(call("evaluate_note_code", {
            "code": code, "language": "typescript", "typesOnly": True})))
    good = types("const r: VmResult = await vm.exec('ls', {cwd: '/'}); return r.exitCode")
    assert good["success"], good
    assert not types("return (await vm.exec('ls')).exitcode")["success"]
    found = structured(agent.ask(call("search_api", {"query": "run a shell command"})))
    assert "vm.exec" in [r["name"] for r in found["results"]]
    told = structured(agent.ask(call("describe_api", {"name": "vm.exec"})))
    assert "timeoutMs" in json.dumps(told) and "VmResult" in json.dumps(told)


# ---- what the policy says --------------------------------------------------------------


def test_a_policy_that_says_never_holds_at_every_door(cloche, vault, tmp_path):
    policy_in(tmp_path, {"vm": {"permission": "never"}})
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"]) as s:
        said = s.post(call("vm_exec", {"command": "true"}, modern=True)).json()["result"]
        assert said["isError"] and "Permission denied" in said["content"][0]["text"]
        got = s.http.post("/vm/exec", json={"command": "true"})
        assert got.status_code == 403 and "'never'" in got.json()["detail"]
        assert s.http.post("/vm", json={}).status_code == 403
        code = s.post(call("evaluate_note_code", {"code": "await vm.exec('true')"},
                           modern=True)).json()["result"]["structuredContent"]
        assert code["errorDetails"]["type"] == "PermissionDenied"
        run(cloche, "policy", "set", "vm.permission", "always")
        assert s.http.post("/vm/exec", json={"command": "true"}).json()["success"]


def test_a_vault_may_say_never(agent, vault):
    (vault / ".cloche").mkdir(exist_ok=True)
    (vault / ".cloche" / "policy.json").write_text('{"vm": {"permission": "never"}}')
    assert "vault's policy" in refusal(agent, command="true")


def test_a_person_is_asked_where_the_policy_says_so(cloche, vault, tmp_path):
    policy_in(tmp_path, {"vm": {"permission": "ask"}, "tools": {"askSeconds": 30}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        agent.send(call("vm_exec", {"command": "echo allowed", "cwd": "/tmp"}))
        (entry,) = wait_for(cloche, 1)
        assert entry["kind"] == "machine" and "echo allowed" in json.dumps(entry["shown"])
        run(cloche, "approvals", "allow", entry["id"], "--remember", "always")
        assert structured(agent.receive())["stdout"] == "allowed\n"
        assert vm(agent, command="echo again")["stdout"] == "again\n"
        assert json.loads(run(cloche, "policy", "show", "--json"))["policy"]["vm"][
            "permission"] == "always"


def test_a_refused_word_runs_nothing(cloche, vault, tmp_path):
    policy_in(tmp_path, {"vm": {"permission": "ask"}, "tools": {"askSeconds": 30}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        agent.send(call("vm_exec", {"command": "true"}))
        (entry,) = wait_for(cloche, 1)
        run(cloche, "approvals", "deny", entry["id"])
        answer = agent.receive()["result"]
        assert answer["isError"] and "did not allow it" in answer["content"][0]["text"]
        assert not vm(agent, "list")["machines"]


def test_a_policys_ceilings_hold(cloche, vault, tmp_path):
    policy_in(tmp_path, {"vm": {"machines": 2, "ramMB": 512, "timeoutMs": 2000,
                                "diskMB": 64, "cpuSeconds": 100, "idleMinutes": 7}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        assert "64 to 512" in refusal(agent, "start", ramMB=1024)
        assert "1 to 64" in refusal(agent, "start", diskMB=65)
        assert "1 to 100" in refusal(agent, "start", cpuSeconds=101)
        assert "no option 'ram'" in refusal(agent, "start", ram=1)
        assert "1 to 2000" in refusal(agent, command="true", timeoutMs=2001)
        assert vm(agent, command="sleep 100")["timedOut"]
        assert vm(agent, "start")["idle_limit_ms"] == 7 * 60000
        said = refusal(agent, "start")
        assert said.startswith("LimitExceeded") and "vm.machines" in said
        vm(agent, "stop")
        vm(agent, "start")


def test_a_new_machine_is_no_new_budget(cloche, vault, tmp_path):
    """Neither for another session of the same caller, nor in code or over REST."""
    policy_in(tmp_path, {"vm": {"cpuSeconds": 2, "machines": 3, "totalRamMB": 1024}})
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"]) as server:
        def ask(path, **body):
            return server.http.post(path, json=body)
        session = server.post(initialize()).headers["Mcp-Session-Id"]
        with_session = {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}

        def start():
            return server.post(call("vm_start", {}), with_session).json()["result"]
        assert ask("/vm/exec", command="true").json()["success"]
        assert not start()["isError"]
        said = start()
        assert said["isError"] and "1024 MB of RAM (1 of 2" in said["content"][0]["text"]
        assert "vm.totalRamMB" in said["content"][0]["text"]
        text = server.http.get("/metrics").text
        assert "\ncloche_machines 2\n" in text and f"\ncloche_machine_ram_bytes {1024 << 20}\n" in text
        # What it is by now: a machine is looked at each half second in which it does something.
        late = time.monotonic() + 30
        while not 1e6 < (taken := float(re.search(r"\ncloche_machine_memory_bytes (\S+)\n", text)[1])) < 1e9:
            assert time.monotonic() < late, taken
            time.sleep(.1)
            text = server.http.get("/metrics").text
        spent = ask("/vm/exec", command="while :; do :; done").json()
        assert "2 seconds of computing time" in spent["error"] and not spent["success"]
        assert 1000 < spent["stats"]["compute_ms"] < 4000
        for said in (ask("/vm/exec", command="true").text, ask("/vm").text, start()["content"][0]["text"],
                     structured(server.post(call("evaluate_note_code", {"code": "await vm.start()"}),
                                            with_session).json())["error"]):
            assert "2 seconds of computing time" in said and "vm.cpuSeconds" in said, said
        run(cloche, "policy", "set", "vm.cpuSeconds", "100")
        assert ask("/vm/exec", command="true").json()["success"]


def test_computing_time_is_told_the_same_everywhere(agent, vault):
    """The host's CPU time, not the machine's clock on a busy host."""
    busy = [subprocess.Popen(["python3", "-c", "while 1: pass"]) for _ in range(os.cpu_count())]
    try:
        got = vm(agent, command="for ((i = 0; i < 10000; i++)); do :; done")
    finally:
        for b in busy:
            b.kill()
            b.wait()
    (machine,) = vm(agent, "list")["machines"]
    (deed,) = next(r for r in trail(vault) if r.get("action") == "vm_exec")["machines"]
    said = got["stats"]["compute_ms"]
    assert said > 0 and abs(deed["compute_ms"] - said) < 1
    assert said <= machine["compute_ms"] + 1 <= said + 200  # its start is the machine's, too


def test_less_than_full_trust_has_no_machine(cloche, vault):
    low = make_token(cloche, "low", "--vault", "vault", "--level", "limited")
    blind = make_token(cloche, "blind", "--vault", "vault", "--scope", "read")
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0",
                 "--require-token"]) as s:
        for token in (low, blind):
            for method, path, how in (("POST", "/vm/exec", {"json": {"command": "true"}}),
                                      ("GET", "/vm", {})):
                got = s.http.request(method, path, headers=bearer(token), **how)
                assert got.status_code == 403, got.text


# ---- REST ----------------------------------------------------------------------------


def test_rest_starts_runs_lists_and_stops(server):
    made = server.http.post("/vm", json={})
    assert made.status_code == 201 and made.headers["Location"] == f"/vm/{made.json()['machine']}"
    got = server.http.post("/vm/exec", json={"command": "echo $((2+3))"})
    assert got.status_code == 200 and got.json()["stdout"] == "5\n"
    assert got.json()["machine"] == made.json()["machine"]
    assert [m["state"] for m in server.http.get("/vm").json()] == ["running"]
    assert server.http.delete("/vm/default").json()["stopped"]
    assert server.http.delete("/vm/default").json() == {"stopped": False}


def test_rest_tells_output_as_events(server):
    with server.http.stream("POST", "/vm/exec", headers={"Accept": "text/event-stream"},
                            json={"command": "echo one; sleep .2; echo two >&2; exit 5"}) as r:
        assert r.headers["Content-Type"] == "text/event-stream"
        text = "".join(r.iter_text())
    names = [line[7:] for line in text.splitlines() if line.startswith("event: ")]
    *told, result = events(text)
    assert set(names[:-1]) == {"vm"} and names[-1] == "result"
    assert told == [{"stream": "stdout", "offset": 0, "text": "one\n"},
                    {"stream": "stderr", "offset": 0, "text": "two\n"}]
    assert result["exitCode"] == 5 and result["stdout"] == "one\n"


def test_a_refusal_is_a_problem_also_where_events_were_wanted(server):
    got = server.http.post("/vm/exec", json={"command": "true", "machine": "vm_no"},
                           headers={"Accept": "text/event-stream"})
    assert got.status_code == 404 and got.headers["Content-Type"] == "application/problem+json"


def test_who_hangs_up_ends_the_command(server):
    body = {"command": "sleep 1000 & echo $! > /tmp/pid; echo up; wait"}
    with server.http.stream("POST", "/vm/exec", json=body,
                            headers={"Accept": "text/event-stream"}) as r:
        next(r.iter_text())
    wait = "while kill -0 $(cat /tmp/pid) 2>/dev/null; do sleep .05; done"
    with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as other:
        assert other.post("/vm/exec", json={"command": wait, "session": "eye"}).json()["success"]


def test_many_commands_at_once_hold_up_nobody(server):
    done = []

    def long(n):
        with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as http:
            done.append(http.post("/vm/exec", json={"command": "sleep 3", "session": f"s{n}"})
                        .json()["success"])
    threads = [threading.Thread(target=long, args=(n,)) for n in range(30)]
    for t in threads:
        t.start()
    while sum(m["commands"] for m in server.http.get("/vm").json()) < 30:
        pass
    answer = server.post(call("evaluate_note_code", {"code": "return 1"}, modern=True)).json()
    assert answer["result"]["structuredContent"]["result"] == 1 and not done
    for t in threads:
        t.join()
    assert done == [True] * 30


# ---- what is recorded and counted --------------------------------------------------------


def test_a_command_is_recorded_without_what_it_said(agent, vault):
    vm(agent, command="echo $((41+1))-told; exit 3", stdin="fed-to-it")
    result_of(agent, "await vm.exec('echo from-code'); await vm.stop()")
    records = [r for r in trail(vault) if r.get("machines")]
    direct = next(r for r in records if r["action"] == "vm_exec")
    (deed,) = direct["machines"]
    assert direct["result"] == "success" and deed["call"] == "vm.exec"
    assert deed["exit"] == 3 and deed["stdin_bytes"] == 9 and deed["stdout_bytes"] == 8
    assert deed["ms"] > 0 and len(deed["command"]) == 64
    code = next(r for r in records if r["action"] == "evaluate_note_code")
    assert [m["call"] for m in code["machines"]] == ["vm.exec", "vm.stop"]
    text = json.dumps(trail(vault))
    for word in ("42-told", "fed-to-it", "from-code", "41+1"):
        assert word not in text
    assert deed["machine"] not in ("", None) and "vm_" + deed["machine"] not in text


def test_the_policy_may_keep_commands(cloche, vault, tmp_path):
    policy_in(tmp_path, {"keepCode": True})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        vm(agent, command="echo this is kept")
    (deed,) = next(r for r in trail(vault) if r.get("machines"))["machines"]
    kept = list((vault / ".cloche" / "audit").rglob(f"*{deed['command']}*"))
    assert kept and kept[0].read_text() == "echo this is kept"


def test_refusals_are_recorded_too(cloche, vault, tmp_path):
    policy_in(tmp_path, {"vm": {"permission": "never"}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        refusal(agent, command="true")
    assert [r["result"] for r in trail(vault) if r.get("action") == "vm_exec"] == [
        "PermissionDenied"]


def test_commands_are_counted(server):
    server.http.post("/vm/exec", json={"command": "true"})
    text = server.http.get("/metrics").text
    assert 'cloche_machine_calls_total{call="vm.exec",outcome="success"} 1' in text


# ---- where none is installed -----------------------------------------------------------


def test_without_an_image_every_door_says_so(cloche, vault, tmp_path):
    program = without_image(cloche, tmp_path)
    with Server([program, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"],
                stderr=subprocess.DEVNULL) as s:
        said = s.post(call("vm_exec", {"command": "true"}, modern=True)).json()["result"]
        assert said["isError"] and "make vm" in said["content"][0]["text"]
        got = s.http.post("/vm/exec", json={"command": "true"})
        assert got.status_code == 404 and "make vm" in got.json()["detail"]
        code = s.post(call("evaluate_note_code", {"code": "await vm.exec('true')"},
                           modern=True)).json()["result"]["structuredContent"]
        assert code["errorDetails"]["type"] == "NotFound" and "make vm" in code["error"]
        assert "suggestion" not in code["errorDetails"]
        for told in (said["content"][0]["text"], got.json()["detail"], code["error"]):
            assert "/guest" not in told and str(tmp_path) not in told
        assert s.http.get("/vm").json() == []
    for words in (["exec", "--", "true"], ["exec", "true"]):
        done = subprocess.run([program, "vm", *words], capture_output=True, text=True,
                              timeout=60)
        assert done.returncode == 125 and "make vm" in done.stderr
    checks = json.loads(run(program, "doctor", "--json"))["checks"]
    (machine,) = (c for c in checks if c["name"] == "Linux machine")
    assert machine["ok"] and "make vm" in machine["detail"]
