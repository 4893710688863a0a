"""Ports of a machine that are reached at this computer: vm_expose and --publish."""
import json
import subprocess

import httpx
import pytest

from wire import Server as Cloche, Stdio, call, structured, until
from conftest import policy_in
from machine_doors import needs_image
from test_machine import refusal, run, vm
from test_machine_reach import events
from test_permissions import wait_for

pytestmark = needs_image

SERVE = """cat > /tmp/serve.py <<'END'
import http.server as h
class Page(h.BaseHTTPRequestHandler):
    def do_GET(self):
        body = ("page for %s" % self.client_address[0]).encode() + b"x" * int(self.path[1:] or 0)
        self.send_response(200); self.send_header("Content-Length", str(len(body)))
        self.end_headers(); self.wfile.write(body)
    def do_POST(self):
        got = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200); self.end_headers(); self.wfile.write(str(sum(got)).encode())
    def log_message(self, *all): pass
server = h.ThreadingHTTPServer(("0.0.0.0", 8000), Page)
open("/tmp/ready", "w").close()
server.serve_forever()
END
python3 /tmp/serve.py > /tmp/log 2>&1 &
while ! test -e /tmp/ready; do sleep 0.1; done"""
PAGE = "page for 192.168.127.254"  # host.cloche.internal


def get(url):
    return httpx.get(url, timeout=180, trust_env=False)


def is_closed(url):
    try:
        get(url)
        return False
    except httpx.ConnectError:
        return True


def expose(agent, **arguments):
    return structured(agent.ask(call("vm_expose", arguments)))


def test_a_server_in_the_machine_is_reached_until_it_is_closed(cloche, vault, tmp_path):
    """Without a network of its own; at an address whose cookies no other server gets."""
    policy_in(tmp_path, {"vm": {"expose": "always"}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        vm(agent, command=SERVE)
        told = expose(agent, port=8000)
        url = told["url"]
        assert told["address"].startswith("127.") and told["address"] != "127.0.0.1"
        assert url == f"http://{told['address']}:{told['hostPort']}/" and told["port"] == 8000
        assert get(url).text == PAGE
        assert len(get(url + "3000000").content) == 3_000_000 + len(PAGE)
        sent = bytes(range(256)) * 4000
        assert httpx.post(url, content=sent, timeout=180, trust_env=False).text == str(sum(sent))
        (machine,) = structured(agent.ask(call("vm_list", {})))["machines"]
        assert machine["network"] is False
        assert machine["ports"] == [{k: told[k] for k in ("port", "hostPort", "address", "url")}]
        assert "already" in refusal(agent, "expose", port=8000)
        assert expose(agent, port=8000, close=True)["closed"] is True
        assert is_closed(url)
        assert "not exposed" in refusal(agent, "expose", port=8000, close=True)
        assert expose(agent, port=8000, hostPort=told["hostPort"])["url"] == url
        assert get(url).status_code == 200
        vm(agent, "stop")
        assert is_closed(url)
    visits = [r for r in events(cloche, vault) if r.get("inbound")]
    assert len(visits) == 4 and {r["port"] for r in visits} == {8000}
    assert max(r["sent_bytes"] for r in visits) > 3_000_000


def test_a_person_is_asked_before(cloche, vault, tmp_path):
    policy_in(tmp_path, {"tools": {"askSeconds": 180}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        vm(agent, command="true")
        agent.send(call("vm_expose", {"port": 8000}))
        (entry,) = wait_for(cloche, 1)
        assert entry["kind"] == "machine" and entry["tools"] == ["vm-expose"]
        run(cloche, "approvals", "deny", entry["id"])
        assert agent.receive()["result"]["isError"]
        agent.send(call("vm_expose", {"port": 8000}))
        (entry,) = wait_for(cloche, 1)
        run(cloche, "approvals", "allow", entry["id"])
        assert structured(agent.receive())["port"] == 8000


def test_the_policy_takes_it_away_at_once(cloche, vault, tmp_path):
    policy_in(tmp_path, {"vm": {"expose": "always"}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        vm(agent, command=SERVE)
        url = expose(agent, port=8000)["url"]
        assert get(url).status_code == 200
        run(cloche, "policy", "set", "vm.expose", "never")
        with pytest.raises(httpx.HTTPError):
            get(url)
        assert "'never'" in refusal(agent, "expose", port=8001)
    assert [r["result"] for r in events(cloche, vault)][-1] == "denied"


def test_nobody_behind_the_port_is_a_reset(cloche, vault, tmp_path):
    policy_in(tmp_path, {"vm": {"expose": "always"}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        assert "no machine" in refusal(agent, "expose", port=9)
        vm(agent, command="true")
        with pytest.raises(httpx.TransportError):
            get(expose(agent, port=9)["url"])
        for wrong in ({"port": 0}, {"port": 65536}, {"port": "x"}, {}, {"port": 9, "hostPort": 80},
                      {"port": 9, "to": 1}):
            assert "no port was exposed" in refusal(agent, "expose", **wrong)


def test_code_and_rest_expose_ports_of_their_own_machines(cloche, vault, tmp_path):
    policy_in(tmp_path, {"vm": {"expose": "always"}})
    with Cloche([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"]) as s:
        s.http.post("/vm/exec", json={"command": SERVE})
        code = "return (await vm.expose({port: 8000})).url"
        said = s.post(call("evaluate_note_code", {"code": code}, modern=True)).json()["result"]
        assert get(said["structuredContent"]["result"]).text == PAGE
        got = s.http.post("/vm/default/ports", json={"port": 81})
        assert got.status_code == 201 and got.json()["port"] == 81
        assert s.http.delete("/vm/default/ports/81").json()["closed"] is True
        assert s.http.delete("/vm/default/ports/81").status_code == 404
        assert s.http.delete("/vm/default/ports/x").status_code == 400
        assert s.http.post("/vm/vm_0123456789012345678901/ports", json={"port": 81}).status_code == 404


def test_publish_is_the_same_for_a_person(cloche):
    wrong = subprocess.run([cloche, "vm", "exec", "--publish", "127.0.0.1:0:8000", "true"],
                           capture_output=True, text=True, timeout=600)
    assert "--publish is" in wrong.stderr and wrong.returncode == 125
    with subprocess.Popen([cloche, "vm", "exec", "--publish", "8000", SERVE + "\nwait"],
                          stderr=subprocess.PIPE, text=True) as machine:
        url = machine.stderr.readline().split()[-1]
        assert url.startswith("http://127.")

        def answers():
            try:
                return get(url).text == PAGE
            except httpx.HTTPError:
                return False
        until(answers, within=600)
        machine.terminate()


def test_a_person_exposes_a_port_at_the_terminal(cloche, vault, tmp_path):
    """Of an agent's machine, without being asked by it; as the policy says."""
    policy_in(tmp_path, {"vm": {"expose": "ask"}})
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        vm(agent, command=SERVE)
        (machine,) = json.loads(run(cloche, "vm", "ports", "--json"))
        assert machine["ports"] == [] and machine["caller"] == "stdio"
        name = machine["machine"]
        url = run(cloche, "vm", "expose", name[:6], "8000").strip()
        assert get(url).text == PAGE
        assert json.loads(run(cloche, "vm", "ports", "--json"))[0]["ports"][0]["url"] == url
        assert url in run(cloche, "vm", "ports")
        run(cloche, "vm", "unexpose", name, "8000")
        assert is_closed(url)
        policy_in(tmp_path, {"vm": {"expose": "never"}})
        done = subprocess.run([cloche, "vm", "expose", name, "8000"], capture_output=True, text=True)
        assert done.returncode != 0 and "vm.expose" in done.stderr
    assert json.loads(run(cloche, "vm", "ports", "--json")) == []
    told = events(cloche, vault, "port")
    assert [(r["caller"], r["machine"], r["port"], r["result"]) for r in told] == \
        [("terminal", name, 8000, "exposed"), ("terminal", name, 8000, "closed")]
