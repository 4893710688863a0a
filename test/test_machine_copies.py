"""Snapshots, forks, and machines that are kept, as agents and persons use them."""
import contextlib
import os
import queue
import random
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import needs

from conftest import policy_in
from machine_doors import needs_image
from machine_servers import NAME
from test_machine import evaluate, run
from wire import Stdio, call, stop_listening, structured

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


def test_folders_are_mounted_in_copies_of_machines_that_had_some(cloche, vault, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a").write_text("a\n")
    policy_in(tmp_path, {"mounts": [{"guest": "/data", "host": str(folder), "mode": "rw"}]})
    with mcp(cloche, vault) as agent:
        for _ in range(3):
            assert vm(agent, command="cat /data/a", mounts=["/data"])["stdout"] == "a\n"
            copy = vm(agent, "fork")["machine"]
            assert vm(agent, command="cat /data/a; ls /data", machine=copy, mounts=["/data"])["stdout"] == "a\na\n"
            vm(agent, "stop", machine=copy)
        vm(agent, "snapshot", name="tools")
        saved = vm(agent, "restore", name="tools", mounts=["/data"])["machine"]
        assert vm(agent, command="echo b >/data/b; cat /data/b", machine=saved)["stdout"] == "b\n"


def test_each_machine_begins_with_the_default_one(cloche, vault):
    with mcp(cloche, vault) as agent:
        vm(agent, command="echo one > /usr/local/installed")
        assert "each further machine" in vm(agent, "snapshot", name="default")["note"]
        vm(agent, "stop")
        assert vm(agent, command="cat /usr/local/installed")["stdout"] == "one\n"
        assert vm(agent, "list")["machines"][-1]["from"] == "default"
        assert vm(agent, command="true")["from"] == "default"
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


def test_what_a_fork_writes_is_in_no_sibling(cloche, vault, tmp_path):
    """In neither memory nor disk: both are in the file of a snapshot, page by page."""
    hold = "import sys, time; s = sys.stdin.read(); open('/root/s', 'w').write(s); print(len(s), flush=True); time.sleep(1e6)"
    with mcp(cloche, vault) as agent:
        vm(agent, command="true")
        one, two = (vm(agent, "fork")["machine"] for _ in "ab")
        planted = {}
        for name, machine in (("parent", {}), ("one", {"machine": one})):
            planted[name] = secrets.token_hex(2000)
            vm(agent, command=f"cat >/tmp/in; (python3 -c \"{hold}\" </tmp/in >/root/said &); until test -s /root/said; do sleep .1; done;"
                              "sync; echo 3 >/proc/sys/vm/drop_caches", stdin=planted[name], **machine)
        vm(agent, command="echo >/root/s; sync", machine=two)
        for name, machine in (("parent", {}), ("one", {"machine": one}), ("two", {"machine": two})):
            vm(agent, "snapshot", name=name, **machine)
    saved = {path.stem: path.read_bytes() for path in tmp_path.rglob("*.snapshot")}
    assert sorted(saved) == ["one", "parent", "two"]
    for name, secret in planted.items():
        parts = [secret[at:at + 64].encode() for at in range(0, 4000, 500)]
        for file, data in saved.items():
            found = sum(part in data for part in parts)
            assert found == (len(parts) if file == name else 0), (file, name, found)


KILLS = int(os.environ.get("CLOCHE_COPY_KILLS", "4"))


def test_a_server_that_is_killed_while_it_saves_restores_or_keeps_leaves_each_copy_whole(cloche, vault):
    """Of a Linux machine: two files and a variable of the shell say the same number in each copy."""
    write, read = "x={0}; echo {0} >/root/a; sync; echo {0} >/root/b", "echo $(cat /root/a) $(cat /root/b) $x"
    chance = random.Random(7)
    for turn in range(1, KILLS + 2):
        with mcp(cloche, vault) as agent:
            copies = vm(agent, "snapshots")["snapshots"]
            assert all(copy["usable"] for copy in copies)
            for copy in copies:
                at = {"machine": copy["name"] if copy["kind"] == "machine" else vm(agent, "restore", name=copy["name"])["machine"]}
                a, b, x = vm(agent, command=read, **at)["stdout"].split()
                assert a == b == x and 0 < int(a) < turn
                if copy["kind"] == "snapshot":
                    vm(agent, "stop", **at)
            vm(agent, "start", keep=True, name="dev")
            vm(agent, command=write.format(turn), machine="dev")
            if turn == 1:  # there is one to restore
                vm(agent, "snapshot", name="x", machine="dev")
            if turn > KILLS:
                return
            agent.send(call("vm_snapshot", {"name": "x", "machine": "dev"}, id=8), call("vm_restore", {"name": "x"}, id=9),
                       call("vm_stop", {"machine": "dev"}, id=10))
            until = time.monotonic() + chance.random() * 1.2  # some moment of these
            while time.monotonic() < until and len(agent.lines) < 1000:
                with contextlib.suppress(queue.Empty):
                    agent.receive(timeout=max(0.001, until - time.monotonic()))
            agent.process.kill()


def test_code_has_them_too(cloche, vault):
    with mcp(cloche, vault) as agent:
        code = ("await vm.exec('x=41'); const m = await vm.fork();"
                "return (await vm.exec('echo $x', {machine: m.machine})).stdout")
        assert "41" in str(evaluate(agent, code))


# --- connections of the past -------------------------------------------------------------

class Holder:
    """Keeps every connection, by its first byte: `say` sends to those that began with it. One that begins with n
    is answered, one with f sent data until `dry`."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.held, self.dry = [], threading.Event()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                first = connection.recv(1)
                self.held.append((first, connection))
                if first == b"n":
                    connection.sendall(b"new")
                elif first == b"f":
                    threading.Thread(target=self.flood, args=(connection,), daemon=True).start()

    def flood(self, connection):
        with contextlib.suppress(OSError):
            while not self.dry.is_set():
                connection.sendall(bytes(1 << 16))
            connection.shutdown(socket.SHUT_WR)

    def say(self, first, data):
        for began, connection in self.held:
            if began == first:
                connection.sendall(data)

    def close(self):
        stop_listening(self.listener)
        for _, connection in self.held:
            connection.close()


@pytest.fixture
def holder():
    holder = Holder()
    yield holder
    holder.close()


# In a machine: connections whose programs wait in each call that can. It writes how each ended.
WAITERS = f"""
import errno, selectors, socket, sys, threading
def to(first):
    s = socket.create_connection(("{NAME}", int(sys.argv[1])), 300)
    s.settimeout(None)
    s.send(first)
    return s
def outcome(call):
    try:
        return repr(call())
    except OSError as e:
        return errno.errorcode[e.errno]
def wait(name, call):
    told = outcome(call)
    with lock:
        print(name, told, flush=True)
def any_of(many):
    poll = selectors.DefaultSelector()
    for s in many:
        poll.register(s, selectors.EVENT_READ)
    ends = set()
    while poll.get_map():
        for key, _ in poll.select():
            ends.add(outcome(lambda: key.fileobj.recv(9)))
            poll.unregister(key.fileobj)
    return sorted(ends)
def drain(s):
    while s.recv(1 << 20):
        pass
lock = threading.Lock()
reader, writer, half, idle, flood = to(b"r"), to(b"w"), to(b"h"), to(b"i"), to(b"f")
half.shutdown(socket.SHUT_WR)
full = bytes(1 << 16)
writer.setblocking(False)
try:
    while writer.send(full):
        pass
except BlockingIOError:
    writer.setblocking(True)
many = [to(b"m") for _ in range(40)]
for name, call in (("recv", lambda: reader.recv(9)), ("send", lambda: [writer.sendall(full) for _ in range(1000)]),
                   ("half", lambda: half.recv(9)), ("poll", lambda: any_of(many)), ("flood", lambda: drain(flood))):
    threading.Thread(target=wait, args=(name, call)).start()
open("/root/ready", "w").close()
import os, time
while not os.path.exists("/root/use"):
    time.sleep(.01)
wait("idle", lambda: idle.send(b"x") and idle.recv(9))
"""


def waiters(agent, holder, **machine):
    """They wait."""
    vm(agent, command="cat >/root/waiters.py", stdin=WAITERS, network=True, **machine)
    vm(agent, command=f"setsid nohup python3 /root/waiters.py {holder.port} >/root/ends 2>&1 </dev/null &\n"
                      "until test -e /root/ready; do sleep .1; done", **machine)


def ends(agent, count, **machine):
    """How they ended, of which there are so many."""
    told = vm(agent, command="touch /root/use\n"
                             f"until test $(wc -l </root/ends) -ge {count}; do sleep .1; done; cat /root/ends",
              timeoutMs=60_000, **machine)
    return dict(line.split(" ", 1) for line in told["stdout"].splitlines())


PAST = {"recv": "ECONNRESET", "send": "ECONNRESET", "half": "ECONNRESET", "poll": "['ECONNRESET']",
        "flood": "ECONNRESET"}


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("how", ["fork", "restore"])
def test_open_connections_are_reset_in_a_copy(cloche, vault, tmp_path, holder, how, network):
    """And go on in the machine that was copied."""
    policy_in(tmp_path, {"vm": {"network": "always"}, "network": {"allowPrivate": [f"127.0.0.1:{holder.port}"]}})
    with mcp(cloche, vault) as agent:
        waiters(agent, holder)
        if how == "restore":
            vm(agent, "snapshot", name="waiting")
        copy = vm(agent, how, network=network, **({"name": "waiting"} if how == "restore" else {}))["machine"]
        told = ends(agent, 6, machine=copy)
        assert told.pop("idle") in ("EPIPE", "ECONNRESET") and told == PAST
        new = f"exec 3<>/dev/tcp/{NAME}/{holder.port}; printf n >&3; head -c 3 <&3"
        assert vm(agent, command=new, machine=copy)["stdout"] == ("new" if network else "")
        for first in b"r", b"h", b"m", b"i":
            holder.say(first, b"more")
        holder.dry.set()
        told = ends(agent, 5)
        assert told == {"recv": "b'more'", "half": "b'more'", "poll": '["b\'more\'"]', "flood": "None", "idle": "b'more'"}


def test_a_frozen_machine_finds_its_connections_reset(cloche, vault, tmp_path, holder):
    policy_in(tmp_path, {"vm": {"network": "always"}, "network": {"allowPrivate": [f"127.0.0.1:{holder.port}"]}})
    with mcp(cloche, vault) as agent:
        vm(agent, "start", keep=True, name="dev")
        waiters(agent, holder, machine="dev")
        vm(agent, "stop", machine="dev")
        vm(agent, "start", keep=True, name="dev", network=True)
        told = ends(agent, 6, machine="dev")
        assert told.pop("idle") in ("EPIPE", "ECONNRESET") and told == PAST


# In a network of its own: a resolver that holds questions back, until the machine has been copied.
LOOKUP = """
import pathlib, socket, sys, threading
sys.path.insert(0, sys.argv[1])
import test_machine_copies as copies
cloche, vault, network = sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4] == "True"
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
asked, copied = threading.Event(), threading.Event()
def answer(question, to):
    copied.wait()
    server.sendto(question[:2] + bytes.fromhex("81800001000100000000") + question[12:] +
                  bytes.fromhex("c00c000100010000003c0004c0000207"), to)
def serve():
    while True:
        question, to = server.recvfrom(512)
        asked.set()
        threading.Thread(target=answer, args=(question[:12 + question[12:].index(0) + 5], to), daemon=True).start()
threading.Thread(target=serve, daemon=True).start()
wait = "until grep -q done /root/told; do sleep .1; done; cat /root/told"
with copies.mcp(cloche, vault) as agent:
    copies.vm(agent, command="RES_OPTIONS=timeout:30 setsid nohup sh -c 'getent ahostsv4 slow.test; echo done' "
                             ">/root/told 2>&1 </dev/null &", network=True)
    assert asked.wait(60)
    copy = copies.vm(agent, "fork", network=network)["machine"]
    copied.set()
    for machine in {}, {"machine": copy}:
        print(*copies.vm(agent, command=wait, timeoutMs=20_000, **machine)["stdout"].split()[:1])
"""


@needs.system(shutil.which("unshare") and subprocess.run(["unshare", "-rmn", "true"], capture_output=True).returncode == 0,
              lacks="no user namespaces")
@pytest.mark.parametrize("network, told", [(False, "done"), (True, "192.0.2.7")])
def test_a_lookup_under_way_is_answered_in_a_copy(cloche, vault, tmp_path, network, told):
    """At once, before the resolver of the machine asks again by itself: it fails, or the new host is asked."""
    policy_in(tmp_path, {"vm": {"network": "always"}, "network": {"hosts": ["slow.test"]}})
    for name, text in ("resolv.conf", "nameserver 127.0.0.1\noptions timeout:30\n"), ("nsswitch.conf", "hosts: dns\n"):
        (tmp_path / name).write_text(text)
    inside = f"""set -e
{shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin:/bin")} link set lo up
mount --bind {tmp_path}/resolv.conf /etc/resolv.conf
mount --bind {tmp_path}/nsswitch.conf /etc/nsswitch.conf
exec "$@" """
    done = subprocess.run(["unshare", "-rmn", "bash", "-c", inside, "bash", sys.executable, "-c", LOOKUP,
                           str(Path(__file__).parent), cloche, str(vault), str(network)],
                          capture_output=True, timeout=300, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["192.0.2.7", told]
