"""Snapshots, forks, and machines that are kept, as agents and persons use them."""
from machine_doors import needs_image
from test_machine import evaluate, run
from wire import Stdio, call, structured

pytestmark = needs_image


def vm(agent, action="exec", **arguments):
    return structured(agent.ask(call(f"vm_{action}", arguments)))


def refusal(agent, action, **arguments):
    result = agent.ask(call(f"vm_{action}", arguments))["result"]
    assert result["isError"]
    return result["content"][0]["text"]


def mcp(cloche, vault):
    return Stdio([cloche, "mcp", "--vault", str(vault)])


def test_a_fork_goes_on_apart(cloche, vault):
    with mcp(cloche, vault) as agent:
        vm(agent, command="x=41; echo one > /root/f")
        fork = vm(agent, "fork")["machine"]
        vm(agent, command="x=42; echo two > /root/f", machine=fork)
        assert vm(agent, command="echo $x; cat /root/f")["stdout"] == "41\none\n"
        assert vm(agent, command="echo $x; cat /root/f", machine=fork)["stdout"] == "42\ntwo\n"


def test_a_snapshot_outlives_its_server(cloche, vault):
    with mcp(cloche, vault) as agent:
        vm(agent, command="x=41; echo one > /root/f")
        saved = vm(agent, "snapshot", name="tools")
        assert saved["kind"] == "snapshot" and not saved["default"] and "note" not in saved
    with mcp(cloche, vault) as agent:
        assert [s["name"] for s in vm(agent, "snapshots")["snapshots"]] == ["tools"]
        machine = vm(agent, "restore", name="tools")
        assert machine["from"] == "tools"
        said = vm(agent, command="echo $x; cat /root/f", machine=machine["machine"])
        assert said["stdout"] == "41\none\n"
        assert "tools" in str(run(cloche, "vm", "snapshots"))
        assert vm(agent, "snapshots", delete="tools")["snapshots"] == []
        assert "tools" in refusal(agent, "restore", name="tools")


def test_each_machine_begins_with_the_default_one(cloche, vault):
    with mcp(cloche, vault) as agent:
        vm(agent, command="echo one > /usr/local/installed")
        assert "each further machine" in vm(agent, "snapshot", name="default")["note"]
        vm(agent, "stop")
        assert vm(agent, command="cat /usr/local/installed")["stdout"] == "one\n"
        assert vm(agent, "list")["machines"][-1]["from"] == "default"
        plain = vm(agent, "start", plain=True)["machine"]
        assert vm(agent, command="cat /usr/local/installed", machine=plain)["exitCode"] == 1
        vm(agent, "snapshots", delete="default")
        bare = vm(agent, "start")["machine"]
        assert vm(agent, command="cat /usr/local/installed", machine=bare)["exitCode"] == 1


def test_a_kept_machine_is_found_again_by_its_name(cloche, vault):
    with mcp(cloche, vault) as agent:
        assert vm(agent, "start", keep=True, name="dev")["name"] == "dev"
        vm(agent, command="x=41", machine="dev")
        agent.process.stdin.close()  # the server ends, and is not killed
        agent.process.wait()
    with mcp(cloche, vault) as agent:
        assert vm(agent, command="echo $x; x=42", machine="dev")["stdout"] == "41\n"
        assert vm(agent, "stop", machine="dev")["name"] == "dev"
        assert vm(agent, command="echo $x", machine="dev")["stdout"] == "42\n"
        assert "name" in refusal(agent, "start", keep=True)


def test_code_has_them_too(cloche, vault):
    with mcp(cloche, vault) as agent:
        code = ("await vm.exec('x=41'); const m = await vm.fork();"
                "return (await vm.exec('echo $x', {machine: m.machine})).stdout")
        assert "41" in str(evaluate(agent, code))
