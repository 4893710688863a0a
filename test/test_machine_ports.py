"""cloche vm ports, expose and unexpose: what they ask of servers, which here are the test's own."""
import json
import os
import socket
import subprocess
import threading

import pytest

from wire import stop_listening


class Listener:
    """A server of this account with machines, as `nearby` has it: a request until its end, an answer until its end."""

    def __init__(self, state, name, machines):
        self.heard, self.machines = [], machines
        folder = state / "cloche" / "nearby"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(folder / name))
        self.socket.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self):
        stop_listening(self.socket)

    def serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                request = json.loads(b"".join(iter(lambda: connection.recv(4096), b"")))
                self.heard.append(request)
                connection.sendall(json.dumps(self.answer(request)).encode() if self.answer(request) else b"")

    def answer(self, request):
        if request["do"] == "ports":
            return {"machines": self.machines}
        if all(m["machine"] != request["machine"] for m in self.machines):
            return None
        if request["port"] == 99:
            return {"error": "port 99 of the machine is exposed already"}
        return {"exposed": {"port": request["port"], "url": "http://127.70.1.2:4444/"}} if request["do"] == "expose" \
            else {"closed": True}


def machine(name, **more):
    return {"machine": name, "caller": "stdio", "process": 12, "started": "2026-05-02T10:15:00Z", "network": False, "ports": []} | more


@pytest.fixture
def vm(cloche, tmp_path):
    state = tmp_path / "state"
    state.mkdir(mode=0o700)

    def vm(*words):
        return subprocess.run([cloche, "vm", *words], capture_output=True, text=True, env=os.environ | {"XDG_STATE_HOME": str(state)})
    vm.state = state
    return vm


def test_without_servers_there_are_none(vm):
    assert json.loads(vm("ports", "--json").stdout) == []
    assert "No machine" in vm("ports").stderr
    done = vm("expose", "abcdef", "80")
    assert done.returncode != 0 and "no machine 'abcdef'" in done.stderr


def test_the_machines_of_all_servers_are_listed(vm):
    one = Listener(vm.state, "machines-1-0", [machine("aaaa11112222", ports=[{"port": 80, "hostPort": 4000, "url": "http://127.64.0.1:4000/"}])])
    two = Listener(vm.state, "machines-2-0", [machine("bbbb11112222", caller="evil\x1b[2J")])
    told = vm("ports").stdout
    assert "aaaa11112222" in told and "port 80 at http://127.64.0.1:4000/" in told and "bbbb11112222" in told
    assert "\x1b" not in told
    assert {m["machine"] for m in json.loads(vm("ports", "--json").stdout)} == {"aaaa11112222", "bbbb11112222"}
    one.close(), two.close()


def test_the_server_of_the_machine_exposes_its_port(vm):
    one = Listener(vm.state, "machines-1-0", [machine("aaaa11112222")])
    two = Listener(vm.state, "machines-2-0", [machine("bbbb11112222"), machine("bbbb33334444")])
    done = vm("expose", "aaaa", "8000")
    assert done.stderr == "" and done.stdout == "http://127.70.1.2:4444/\n"
    assert one.heard[-1] == {"do": "expose", "machine": "aaaa11112222", "port": 8000, "hostPort": 0}
    assert json.loads(vm("expose", "bbbb3", "8000", "5000", "--json").stdout)["port"] == 8000
    assert two.heard[-1] == {"do": "expose", "machine": "bbbb33334444", "port": 8000, "hostPort": 5000}
    assert vm("unexpose", "aaaa11112222", "8000").returncode == 0
    assert one.heard[-1]["do"] == "unexpose"
    for words, why in ((("expose", "bbbb", "80"), "2 machines"), (("expose", "aaa", "80"), "no machine 'aaa'"),
                       (("expose", "aaaa", "99"), "exposed already"), (("expose", "aaaa", "0"), "PORT"),
                       (("expose", "aaaa", "80", "80"), "HOSTPORT"), (("expose", "aaaa", "http"), "PORT"),
                       (("expose", "aaaa"), "usage"), (("unexpose", "aaaa", "65536"), "PORT")):
        done = vm(*words)
        assert done.returncode != 0 and why in done.stderr, (words, done.stderr)
    one.close(), two.close()


def test_what_is_no_servers_is_passed_over(vm):
    """A socket that a killed process left, and a file."""
    gone = Listener(vm.state, "machines-1-0", [machine("aaaa11112222")])
    gone.close()
    (vm.state / "cloche" / "nearby" / "machines-2-0").write_text("x")
    (vm.state / "cloche" / "nearby" / "other-3-0").write_text("x")
    assert json.loads(vm("ports", "--json").stdout) == []
    assert not (vm.state / "cloche" / "nearby" / "machines-1-0").exists()
