"""The network of agents' machines: what the policy says of it, and what is recorded."""
import json
import threading

import pytest

from wire import Server as Cloche, Stdio, call, structured
from conftest import policy_in
from machine_doors import needs_image
from test_machine import refusal, run, vm
from test_machine_network import HOST, Server
from test_permissions import wait_for

pytestmark = needs_image

FETCH = """python3 -c 'import socket; s = socket.create_connection(("%s", %d), 120); s.send(b"D")
n = 0
while part := s.recv(65536): n += len(part)
print(n)'"""


@pytest.fixture
def server():
    server = Server(b"x" * 200_000)
    yield server
    server.close()


def policy_of(server, word, **more):
    return {"vm": {"network": word, **more}, "network": {"allowPrivate": [f"127.0.0.1:{server.port}"]}}


def fetch(server):
    return FETCH % (HOST, server.port)


def events(cloche, vault, event="connection"):
    told = run(cloche, "audit", "--json", "--vault", str(vault))
    return [r for r in map(json.loads, told.splitlines()) if r["event"] == event]


def test_by_itself_there_is_none_and_it_is_said_how(cloche, vault, server):
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        said = vm(agent, command=fetch(server))
        assert "unreachable" in said["stderr"] or "No route" in said["stderr"]
        (why,) = said["networkRefused"]
        assert "policy set vm.network" in why
        assert "'never'" in refusal(agent, command="true", network=True)
        told = vm(agent, command="getent hosts example.org")
        assert told["exitCode"] == 2 and told["networkRefused"][0].startswith("example.org: ")
    assert server.count == 0


def test_always_opens_it_for_the_hosts_of_the_policy(cloche, vault, tmp_path, server):
    policy_in(tmp_path, policy_of(server, "always"))
    other = Server()
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        assert "network: true" in vm(agent, command=fetch(server))["networkRefused"][0]
        said = vm(agent, command=fetch(server), network=True)
        assert said["stdout"] == "200000\n" and "networkRefused" not in said
        assert vm(agent, command=fetch(server))["stdout"] == "200000\n"  # it stays open
        assert "networkRefused" in vm(agent, command=fetch(other))
        (machine,) = structured(agent.ask(call("vm_list", {})))["machines"]
        assert machine["network"] is True
    assert other.count == 0 and server.count == 2


def test_each_connection_is_recorded_with_its_command(cloche, vault, tmp_path, server):
    policy_in(tmp_path, policy_of(server, "always"))
    other = Server()
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        vm(agent, command=fetch(server), network=True)
        vm(agent, command=fetch(other))
    done, refused = events(cloche, vault)
    calls = [m for r in events(cloche, vault, "call") for m in r.get("machines", [])]
    assert done["address"] == "127.0.0.1" and done["port"] == server.port and done["protocol"] == "tcp"
    assert (done["sent_bytes"], done["received_bytes"], done["result"]) == (1, 200_000, "success")
    assert done["commands"] == [calls[0]["command"][:12]] and done["machine"] == calls[0]["machine"]
    assert refused["result"] == "denied" and refused["port"] == other.port
    assert refused["commands"] == [calls[1]["command"][:12]]


def test_a_person_is_asked_once_a_machine(cloche, vault, tmp_path, server):
    policy_in(tmp_path, policy_of(server, "ask") | {"tools": {"askSeconds": 60}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        agent.send(call("vm_exec", {"command": fetch(server), "network": True}))
        (entry,) = wait_for(cloche, 1)
        assert entry["kind"] == "machine" and entry["tools"] == ["vm-network"]
        run(cloche, "approvals", "allow", entry["id"])
        assert structured(agent.receive())["stdout"] == "200000\n"
        assert vm(agent, command=fetch(server), network=True)["stdout"] == "200000\n"


def test_a_change_of_the_policy_holds_at_once(cloche, vault, tmp_path, server):
    """Also for what is open: it is cut."""
    policy_in(tmp_path, policy_of(server, "always"))
    waits = "python3 -c 'import socket; s = socket.create_connection((\"%s\", %d), 120); s.settimeout(120)\n" \
            "print(\"open\", flush=True); print(s.recv(10))'" % (HOST, server.port)
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        vm(agent, command="true", network=True)
        asked = threading.Event()
        server.serve = lambda connection: (asked.set(), held.append(connection))
        held = []
        agent.send(call("vm_exec", {"command": waits}))
        assert asked.wait(180)
        run(cloche, "policy", "set", "vm.network", "never")
        said = structured(agent.receive())
        assert "ConnectionResetError" in said["stderr"] or said["stdout"].endswith("b''\n")
        assert "networkRefused" in vm(agent, command=fetch(server))
    assert [r["result"] for r in events(cloche, vault)][:1] == ["denied"]


def test_so_many_connections_begin_in_a_second_as_the_policy_says(cloche, vault, tmp_path, server):
    policy_in(tmp_path, policy_of(server, "always", newConnections=1))
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        said = vm(agent, network=True, command=f"for i in $(seq 30); do : 3<>/dev/tcp/{HOST}/{server.port}; done")
        assert "1 connections were begun within a second" in str(said["networkRefused"])
        assert "vm.newConnections" in str(said["networkRefused"])


def test_a_vaults_policy_takes_it_away(cloche, vault, tmp_path, server):
    policy_in(tmp_path, policy_of(server, "always"))
    (vault / ".cloche").mkdir(exist_ok=True)
    (vault / ".cloche" / "policy.json").write_text('{"vm": {"network": "never"}}')
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        assert "'never'" in refusal(agent, command="true", network=True)
        assert "never" in vm(agent, command=fetch(server))["networkRefused"][0]
    assert server.count == 0


def test_code_and_rest_open_it_too(cloche, vault, tmp_path, server):
    policy_in(tmp_path, policy_of(server, "always"))
    with Cloche([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"]) as s:
        got = s.http.post("/vm/exec", json={"command": fetch(server), "network": True}).json()
        assert got["stdout"] == "200000\n"
        assert s.http.post("/vm", json={"network": True}).json()["network"] is True
        code = "return (await vm.exec(%s, {network: true})).stdout" % json.dumps(fetch(server))
        said = s.post(call("evaluate_note_code", {"code": code}, modern=True)).json()["result"]
        assert "200000" in json.dumps(said["structuredContent"])
        counted = s.http.get("/metrics").text
        assert 'cloche_machine_connections_total{protocol="tcp",outcome="success"} 2' in counted
        assert 'cloche_machine_network_bytes_total{direction="received"} 400000' in counted
