"""Pipelines of tools with commands of the caller's own machine: tools.pipe([{tool}, {vm: COMMAND}])."""
import base64
import hashlib
import json

import pytest

from conftest import policy_in
from machine_doors import needs_image, without_image
from test_permissions import run as run_text
from test_permissions import trail, wait_for
from test_tool_machine import FREE, agent, evaluate, install, refusal, why  # noqa: F401
from wire import Stdio, call, initialize, notification, structured

pytestmark = needs_image


def pipe(agent, *stages, id=1, **shared):  # noqa: F811
    return structured(agent.ask(call("run_tool", {"pipeline": list(stages)} | shared, id=id)))


def test_bytes_go_from_a_tool_to_the_machine_and_back(agent):  # noqa: F811
    data = bytes(range(256)) * 2000
    coded = base64.b64encode(data).decode()
    got = pipe(agent, {"tool": "base64", "args": ["-d"]}, {"vm": "tee /tmp/seen | sha256sum"}, {"tool": "cut", "args": ["-c", "1-64"]},
               stdin=coded)
    assert got["stdout"] == hashlib.sha256(data).hexdigest() + "\n", got
    assert [(s["tool"], s["exitCode"]) for s in got["stages"]] == [("base64", 0), ("vm", 0), ("cut", 0)]
    # It is the caller's own machine, and a command of words.
    seen = structured(agent.ask(call("vm_exec", {"command": "sha256sum < /tmp/seen; ls -A /work"})))
    assert seen["stdout"].startswith(hashlib.sha256(data).hexdigest())
    got = pipe(agent, {"vm": ["printf", "%s|", "a b", "$HOME"]}, {"tool": "tr", "args": ["a-z", "A-Z"]})
    assert got["stdout"] == "A B|$HOME|"
    got = pipe(agent, {"vm": "cat"}, {"vm": "rev"}, stdin="abc\n")
    assert got["stdout"] == "cba\n", "two at once in one machine"


def test_code_pipes_what_is_no_text(agent):  # noqa: F811
    assert evaluate(agent, """
        const sent = new Uint8Array(100000).map((_, i) => i * 7);
        const r = await tools.pipe([{vm: 'gzip'}, {tool: 'gunzip', args: ['-c']}, {vm: ['cat']}], {stdin: sent});
        return [r.success, r.stdout.length, r.stdout.every((b, i) => b === sent[i])];""") == [True, 100000, True]
    assert evaluate(agent, """
        const r = await tools.pipe([{tool: 'jq', args: ['-c', '.[]']}, {vm: 'sort -n | tail -n 1', cwd: '/tmp', env: {LC_ALL: 'C'}}],
                                   {stdin: '[3, 10, 2]'});
        return r.result;""") == "10"


def test_machine_cwd_and_env_are_as_of_vm_exec(agent):  # noqa: F811
    other = structured(agent.ask(call("vm_start", {})))["machine"]
    third = structured(agent.ask(call("vm_start", {})))["machine"]
    got = pipe(agent, {"vm": "pwd; echo $A; touch here", "machine": third, "cwd": "/var", "env": {"A": "b"}}, {"tool": "cat"})
    assert got["stdout"] == "/var\nb\n"
    listed = [structured(agent.ask(call("vm_exec", {"command": "ls /var/here", "machine": m})))["exitCode"] for m in (other, third)]
    assert listed == [2, 0]
    # Not in a session: neither do they wait for each other.
    structured(agent.ask(call("vm_exec", {"command": "kept=here"})))
    assert pipe(agent, {"vm": "echo -$kept-"})["stdout"] == "--\n"


@pytest.mark.parametrize("stage, says", [
    ({"vm": ""}, "command is empty"), ({"vm": 3}, "command is"), ({"vm": ["a", 1]}, "command holds"),
    ({"vm": "true", "stdin": "x"}, "does not accept 'stdin'"), ({"vm": "true", "session": "x"}, "does not accept 'session'"),
    ({"vm": "true", "mounts": ["/vault"]}, "does not accept 'mounts'"), ({"vm": "true", "network": True}, "does not accept 'network'"),
    ({"vm": "true", "calls": True}, "does not accept 'calls'"), ({"vm": "true", "timeout": 0}, "timeoutMs is not"),
    ({"vm": "true", "tool": "cat"}, "a tool and a command"), ({}, "no tool"), ({"vm": "true", "machine": "vm_" + 22 * "x"}, "no machine"),
    ({"vm": "true", "cwd": "/none"}, "cwd")],
    ids=["empty", "number", "words", "stdin", "session", "mounts", "network", "calls", "timeout", "both", "neither", "machine", "cwd"])
def test_what_cannot_be_meant_is_refused(agent, stage, says):  # noqa: F811
    assert says in refusal(agent, pipeline=[{"tool": "cat"}, stage], stdin="x")


def test_ends_and_errors_are_told_by_stage(agent):  # noqa: F811
    got = pipe(agent, {"vm": "echo out; echo err >&2; exit 3"}, {"tool": "cat"})
    assert not got["success"] and got["stdout"] == "out\n" and got["stages"][0]["exitCode"] == 3
    assert "err" in json.dumps(got["stages"][0])
    got = pipe(agent, {"tool": "cat"}, {"vm": "no-such-program"}, stdin="x")
    assert got["exitCode"] == 127 and "no-such-program" in got["stderr"]
    got = pipe(agent, {"vm": "yes"}, {"tool": "head", "args": ["-n", "2"]})
    assert got["success"] and got["stdout"] == "y\ny\n"
    got = pipe(agent, {"vm": "cat /dev/zero"}, {"vm": "head -c 5 | od -An -tx1"})
    assert got["stdout"] == " 00 00 00 00 00\n"
    assert structured(agent.ask(call("vm_exec", {"command": "pgrep -c yes; pgrep -x cat"})))["stdout"] == "0\n", "they have ended"


def test_limits_hold_and_the_machine_goes_on(cloche, vault, tmp_path):
    policy_in(tmp_path, FREE | {"vm": {"timeoutMs": 3000}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:  # noqa: F811
        assert "1 to 3000" in refusal(agent, pipeline=[{"vm": "true", "timeout": 3001}])
        structured(agent.ask(call("vm_exec", {"command": "touch /tmp/kept"})))
        got = pipe(agent, {"vm": "echo begun; sleep 100", "timeout": 700}, {"tool": "cat"})
        assert "700 ms" in json.dumps(got) and got["stages"][0]["exitCode"] == 124 and not got["success"]
        got = pipe(agent, {"vm": "sleep 100"}, {"tool": "cat"}, timeout=800)
        assert got["stages"][0]["exitCode"] == 124
        got = pipe(agent, {"vm": "head -c 12000000 /dev/zero | tr '\\0' x"})
        assert got["success"] and got["truncated"]["stdout"]
        assert structured(agent.ask(call("vm_exec", {"command": "ls /tmp/kept"})))["success"]
        details = why(agent, "return await tools.pipe([{vm: 'sleep 50'}, {tool: 'cat'}])", timeout=2000)
        assert details["type"] == "Timeout"


def test_a_cancelled_call_ends_its_commands(agent):  # noqa: F811
    agent.ask(initialize())
    agent.send(call("run_tool", {"pipeline": [{"vm": "echo $$ > /tmp/pid; exec sleep 1000"}, {"tool": "cat"}]}, id=5))
    while not structured(agent.ask(call("vm_exec", {"command": "cat /tmp/pid"}, id=6)))["stdout"]:
        pass
    agent.send(notification("notifications/cancelled", {"requestId": 5}))
    ask = {"command": "while kill -0 $(cat /tmp/pid) 2>/dev/null; do sleep .05; done"}
    assert structured(agent.ask(call("vm_exec", ask, id=7)))["success"]


def test_who_may_use_no_machine_has_no_such_stage(cloche, vault, tmp_path):
    policy_in(tmp_path, FREE | {"vm": {"permission": "never"}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:  # noqa: F811
        assert "Permission denied: the Linux machine" in refusal(agent, pipeline=[{"tool": "cat"}, {"vm": "true"}])
        assert why(agent, "await tools.pipe([{vm: 'true'}])")["type"] == "PermissionDenied"
        assert "pipes" not in structured(agent.ask(call("find_tools", {"query": "sort lines"})))
        policy_in(tmp_path, FREE)
        code = "return (await tools.pipe([{tool: 'cat'}, {vm: 'cat'}], {stdin: 'x'})).stdout"
        assert evaluate(agent, code, allowedAPIs=["tools.pipe", "tools.cat", "vm.exec"]) == "x"
        for apis in (["tools.pipe", "tools.cat"], ["tools.pipe", "vm.exec"]):
            assert why(agent, code, allowedAPIs=apis)["type"] == "PermissionDenied", apis


def test_a_dry_run_changes_no_machine(agent):  # noqa: F811
    assert why(agent, "await tools.pipe([{tool: 'cat'}, {vm: 'touch /tmp/dry'}])", dryRun=True)["type"] == "PermissionDenied"
    assert structured(agent.ask(call("vm_exec", {"command": "ls /tmp/dry"})))["exitCode"] == 2


def test_a_program_of_a_machine_reaches_no_other_by_a_pipeline(agent):  # noqa: F811
    structured(agent.ask(call("vm_start", {"keep": True, "name": "dev"})))
    for stages in ('[{"vm":"echo x","machine":"dev"}]', '[{"tool":"cat"},{"vm":["true"]}]', '[{"tool":"cat","vm":"true"}]'):
        got = structured(agent.ask(call("vm_exec", {"command": f"cloche-guest tools.pipe '{stages}'", "calls": True})))
        assert got["exitCode"] == 1 and got["stderr"].startswith("PermissionDenied"), got
    got = structured(agent.ask(call("vm_exec", {"command": "cloche-guest -r tools.pipe '[{\"tool\":\"cat\"}]' stdin=piped", "calls": True})))
    assert got["stdout"] == "piped", got


def test_a_person_is_shown_the_whole_pipeline(cloche, vault, tmp_path):
    policy_in(tmp_path, FREE | {"vm": {"permission": "ask"}, "tools": {"default": "always", "askSeconds": 30}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:  # noqa: F811
        stages = [{"tool": "cat"}, {"vm": "echo shown; cat"}]
        agent.send(call("run_tool", {"pipeline": stages, "stdin": "text"}))
        (entry,) = wait_for(cloche, 1)
        shown = json.dumps(entry["shown"])
        assert "always" not in entry["choices"], "it would be a permission of the tool, which has one"
        assert "echo shown; cat" in shown and "text" in shown and "Linux machine" in shown and "cat" in shown
        run_text(cloche, "approvals", "allow", entry["id"])
        assert structured(agent.receive())["stdout"] == "shown\ntext"
        agent.send(call("run_tool", {"pipeline": stages, "stdin": "other"}, id=2))
        (entry,) = wait_for(cloche, 1)
        run_text(cloche, "approvals", "deny", entry["id"])
        assert agent.receive()["result"]["isError"]


def test_each_command_is_recorded_as_one_of_the_machine(agent, vault):  # noqa: F811
    pipe(agent, {"tool": "cat"}, {"vm": "wc -c"}, stdin="four")
    record = [r for r in trail(vault) if r.get("action") == "run_tool"][-1]
    assert [t["tool"] for t in record["tools"]] == ["cat"]
    (deed,) = record["machines"]
    assert deed["call"] == "vm.exec" and deed["stdin_bytes"] == 4 and deed["stdout_bytes"] == 2
    assert deed["command"] == hashlib.sha256(b"wc -c").hexdigest() and deed["exit"] == 0


def test_an_agent_that_looks_for_tools_is_told(agent):  # noqa: F811
    assert "{vm: COMMAND}" in structured(agent.ask(call("find_tools", {"query": "sort lines"})))["pipes"]


def test_files_of_the_pipeline_are_the_tools(agent, install):  # noqa: F811
    name = install()
    got = pipe(agent, {"tool": name, "args": ["cat", "a"]}, {"vm": "cat; ls /work 2>&1"}, files={"a": "one\n"})
    assert got["stdout"].startswith("one\n") and "No such file" in got["stdout"] and not got["success"]


def test_without_the_image_it_says_the_command_that_adds_it(cloche, vault, tmp_path):
    policy_in(tmp_path, FREE)
    program = without_image(cloche, tmp_path)
    with Stdio([program, "mcp", "--vault", str(vault)]) as agent:  # noqa: F811
        assert "make vm" in why(agent, "await tools.pipe([{vm: 'true'}])")["message"]
