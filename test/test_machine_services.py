"""Programs of a machine and servers that Debian installs (deps/apt-test.txt): dnsmasq, also as the
resolver of this computer, and iperf3; then resets in each state of a connection, and uploads."""
import contextlib
import hashlib
import json
import re
import shutil
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

import pytest

import needs
from machine_doors import needs_image
from machine_servers import BLOCK, NAME, Server, conversation, md5_of, sha256_of

DNSMASQ, IPERF3, IP = (Path(shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") or f"/usr/bin/{name}")
                       for name in ("dnsmasq", "iperf3", "ip"))
pytestmark = [needs_image, needs.installed(DNSMASQ, IPERF3, IP, by="deps/apt test")]

PATIENCE_S = 600


def said(cloche, script, *hosts, stdin=b""):
    """What a bash script in a machine prints; `hosts`: what it may reach."""
    options = [word for host in hosts for word in ("--allow-host", host)]
    done = subprocess.run([cloche, "vm", "exec", *options, "--", "bash", "-ec", script], input=stdin,
                          capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout.decode().strip()


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams, socket.create_server(("127.0.0.1", 0)) as stream:
        port = stream.getsockname()[1]
        datagrams.bind(("127.0.0.1", port))
        return port


# --- dnsmasq ---------------------------------------------------------------------------

MANY = 150  # addresses of many.test: 2.4 KB as an answer


def zone(folder, address, port):
    """The configuration of a dnsmasq that knows some names of its own, and asks nobody else."""
    (folder / "hosts").write_text("192.0.2.7 one.test\n" + "".join(f"198.51.100.{n} many.test\n" for n in range(1, MANY + 1)))
    (folder / "dnsmasq.conf").write_text(f"""
port={port}\nlisten-address={address}\nbind-interfaces\nno-resolv\nno-hosts\naddn-hosts={folder}/hosts
cname=alias.test,one.test\ntxt-record=text.test,"first","second"\nlocal=/test/\nedns-packet-max=4096
log-queries\nlog-facility={folder}/log\n""")
    return [DNSMASQ, "--no-daemon", f"--conf-file={folder}/dnsmasq.conf"]


@contextlib.contextmanager
def dnsmasq(folder):
    """Yields its port. Another program may take the port before it does."""
    for _ in range(20):
        port = free_port()
        with subprocess.Popen(zone(folder, "127.0.0.1", port), stderr=subprocess.DEVNULL) as server:
            try:
                late = time.monotonic() + 60
                while server.poll() is None and time.monotonic() < late:
                    with contextlib.suppress(OSError):
                        socket.create_connection(("127.0.0.1", port), 10).close()
                        yield port
                        return
            finally:
                server.terminate()
    pytest.fail("dnsmasq does not start")


def test_dig_asks_dnsmasq_on_connections(cloche, tmp_path):
    with dnsmasq(tmp_path) as port:
        told = said(cloche, f"""
            ask() {{ dig +tcp -p {port} @{NAME} "$@"; }}
            ask +short one.test; ask +short alias.test; ask +short TXT text.test
            ask nobody.test | grep -o 'status: [A-Z]*'
            ask +short many.test | sort -u | wc -l
            ask +keepopen +short one.test one.test many.test | wc -l""", f"127.0.0.1:{port}").split("\n")
    assert told == ["192.0.2.7", "one.test.", "192.0.2.7", '"first" "second"', "status: NXDOMAIN", str(MANY), str(MANY + 2)]


def test_dig_asks_dnsmasq_by_datagrams(cloche, tmp_path):
    """Answers of 2.4 KB come as fragments; those that the question leaves no room for are cut, and asked again."""
    with dnsmasq(tmp_path) as port:
        told = said(cloche, f"""
            ask() {{ dig -p {port} @{NAME} "$@"; }}
            ask +notcp +short one.test; ask +notcp +short TXT text.test
            ask +notcp nobody.test | grep -o 'status: [A-Z]*'
            ask +notcp +ignore +bufsize=4096 many.test >/tmp/large
            grep -o 'ANSWER: [0-9]*' /tmp/large; grep -c '^many.test.*198.51.100' /tmp/large
            grep -o 'flags: [a-z ]*;' /tmp/large; grep -o '(UDP)' /tmp/large
            ask +notcp +ignore +bufsize=512 many.test | grep -o 'flags: [a-z ]*;'
            ask +noedns +notcp +ignore many.test | grep -o 'flags: [a-z ]*;'
            ask +bufsize=512 many.test | grep -oE '[(]TCP[)]|ANSWER: [0-9]*'""",
                    f"udp://127.0.0.1:{port}", f"127.0.0.1:{port}").split("\n")
    assert told[:7] == ["192.0.2.7", '"first" "second"', "status: NXDOMAIN", f"ANSWER: {MANY}", str(MANY),
                        "flags: qr aa rd ra;", "(UDP)"]
    assert told[7:] == ["flags: qr aa tc rd ra;"] * 2 + [f"ANSWER: {MANY}", "(TCP)"]


# In a network of its own, in which port 53 is free, and with its own resolv.conf.
OWN_NETWORK = """set -e
{ip} link set lo up
mount --bind {folder}/resolv.conf /etc/resolv.conf
mount --bind {folder}/nsswitch.conf /etc/nsswitch.conf
{dnsmasq} 2>/dev/null & server=$!
trap 'kill $server' EXIT
{python} - <<'END'
import socket, time
for _ in range(600):
    try:
        socket.create_connection(("127.0.0.1", 53), 10).close()
        break
    except OSError:
        time.sleep(0.1)
else:
    raise SystemExit("dnsmasq does not start")
END
"$@" </dev/null
"""


def has_namespaces():
    return subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "--net", "true"],
                          capture_output=True).returncode == 0


@needs.system(shutil.which("unshare") and has_namespaces(), lacks="no user namespaces")
def test_the_gateway_tells_what_this_computers_resolver_tells(cloche, tmp_path):
    """And asks it nothing about names that no rule names."""
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:30\n")
    (tmp_path / "nsswitch.conf").write_text("hosts: dns\n")
    inside = OWN_NETWORK.format(folder=tmp_path, ip=IP, python="/usr/bin/python3",
                                dnsmasq=" ".join(map(str, zone(tmp_path, "127.0.0.1", 53))))
    script = """
        dig +short one.test; dig +short alias.test
        dig nobody.test | grep -o 'status: [A-Z]*'
        dig refused.test | grep -o 'status: [A-Z]*'
        getent ahostsv4 one.test | head -1 | cut -d' ' -f1
        dig +short +notcp +ignore many.test | wc -l
        dig +short +tcp many.test | wc -l
        dig AAAA one.test | grep -o 'status: [A-Z]*\\|ANSWER: [0-9]*'"""
    hosts = [word for name in ("one", "alias", "nobody", "many") for word in ("--allow-host", f"{name}.test")]
    done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "--net", "bash", "-c", inside, "bash", cloche,
                           "vm", "exec", *hosts, "--", "bash", "-c", script], capture_output=True, timeout=PATIENCE_S, text=True)
    assert done.returncode == 0, done.stderr
    told = done.stdout.strip().split("\n")
    assert told[:5] == ["192.0.2.7", "192.0.2.7", "status: NXDOMAIN", "status: REFUSED", "192.0.2.7"]
    assert 1 <= int(told[5]) <= int(told[6]) <= MANY
    assert told[7:] == ["status: NOERROR", "ANSWER: 0"]
    log = (tmp_path / "log").read_text()
    assert "one.test" in log and "refused.test" not in log


# --- iperf3 ----------------------------------------------------------------------------

# A client of iperf3's protocol: no package of the image has one. Its server counts what it gets
# and sends, and compares that with what the client says.
IPERF3_CLIENT = """
import json, select, socket, struct, sys
HOST, port, reverse, streams, size = sys.argv[1], *map(int, sys.argv[2:])
PARAM_EXCHANGE, CREATE_STREAMS, TEST_START, TEST_RUNNING, TEST_END = 9, 10, 1, 2, 4
EXCHANGE_RESULTS, DISPLAY_RESULTS, DONE = 13, 14, 16
cookie = b"abcdefghijklmnopqrstuvwxyz0123456789" + bytes(1)
def to():
    s = socket.create_connection((HOST, port), 300)
    s.sendall(cookie)
    return s
def exactly(n):
    data = b""
    while len(data) < n:
        part = control.recv(n - len(data))
        assert part, "the server has gone"
        data += part
    return data
def tell(value):
    data = json.dumps(value).encode()
    control.sendall(struct.pack(">I", len(data)) + data)
def state(wanted):
    got, = struct.unpack("b", exactly(1))
    assert got == wanted, (got, wanted)
control = to()
state(PARAM_EXCHANGE)
tell({"tcp": True, "omit": 0, "time": 0, "num": size, "blockcount": 0, "parallel": streams, "len": 131072,
      "pacing_timer": 1000, "client_version": "3.12", **({"reverse": True} if reverse else {})})
state(CREATE_STREAMS)
data = [to() for _ in range(streams)]
state(TEST_START)
state(TEST_RUNNING)
moved, block = {s: 0 for s in data}, bytes(131072)
while sum(moved.values()) < size:
    ready = select.select(data, [], [])[0] if reverse else select.select([], data, [])[1]
    for s in ready:
        moved[s] += len(s.recv(1 << 20)) if reverse else s.send(block)
control.sendall(bytes([TEST_END]))
state(EXCHANGE_RESULTS)
tell({"cpu_util_total": 0, "cpu_util_user": 0, "cpu_util_system": 0, "sender_has_retransmits": 0, "streams": [
    {"id": 1 if i == 0 else i + 2, "bytes": n, "retransmits": 0, "jitter": 0, "errors": 0, "omitted_errors": 0,
     "packets": 0, "omitted_packets": 0, "start_time": 0, "end_time": 1} for i, n in enumerate(moved.values())]})
theirs = json.loads(exactly(struct.unpack(">I", exactly(4))[0]))
state(DISPLAY_RESULTS)
control.sendall(bytes([DONE]))
print(json.dumps([sum(moved.values()), sum(s["bytes"] for s in theirs["streams"])]))
"""


@contextlib.contextmanager
def iperf3():
    """Serves one test; yields its port and a list that has the server's report at the end."""
    for _ in range(20):
        port, report = free_port(), []
        with subprocess.Popen([IPERF3, "-s", "-1", "-J", "-B", "127.0.0.1", "-p", str(port)], stdout=subprocess.PIPE,
                              text=True) as server:
            try:
                late = time.monotonic() + 60
                while server.poll() is None and time.monotonic() < late:
                    if is_listening(port):
                        yield port, report
                        report.append(json.loads(server.communicate(timeout=60)[0]))
                        return
            finally:
                server.kill()
    pytest.fail("iperf3 does not start")


def is_listening(port):
    """Without a connection, which would be its one test."""
    rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return any(re.search(rf":{port:04X} [0-9A-F:]+ 0A", row) for row in rows)


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("streams", [1, 4])
def test_iperf3_in_both_directions(cloche, reverse, streams):
    size = 50_000_000
    with iperf3() as (port, report):
        told = said(cloche, f"python3 - {NAME} {port} {reverse} {streams} {size}", f"127.0.0.1:{port}",
                    stdin=IPERF3_CLIENT.encode())
    ours, theirs = json.loads(told)
    end = report[0]["end"]
    assert "error" not in report[0], report[0]["error"]
    assert len(report[0]["start"]["connected"]) == streams
    if reverse:
        assert theirs >= ours >= size  # it goes on until it hears of the end
        assert end["sum_sent"]["bytes"] == theirs
    else:
        assert ours >= size and 0 < theirs <= ours  # what is under way at the end does not count
        assert end["sum_received"]["bytes"] == theirs


# --- a reset in each state ---------------------------------------------------------------

def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


CLIENT = f"""import errno, socket, struct, sys
s = socket.create_connection(("{NAME}", int(sys.argv[1])), 300)
def reset():
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); s.close()
def end():
    try:
        n = 0
        while part := s.recv(65536): n += len(part)
        return "end"
    except OSError as e:
        return errno.errorcode[e.errno]
def full():
    try:
        while s.send(bytes(65536)): pass
    except OSError as e:
        return errno.errorcode[e.errno]
"""

# What the server does before it resets, and what the machine does and sees.
BY_THE_SERVER = {
    "established": (lambda c: c.recv(1), "s.send(b'x'); print(end())"),
    "with data that nobody reads": (lambda c: c.recv(1), "print(full())"),
    "after the machine's end": (lambda c: c.recv(1) + c.recv(1), "s.send(b'x'); s.shutdown(socket.SHUT_WR); print(end())"),
    "after its own end": (lambda c: (c.shutdown(socket.SHUT_WR), c.recv(1)),
                          "print(end()); s.send(b'x'); print(full())"),
    "with a full window": (lambda c: (c.recv(4, socket.MSG_WAITALL), c.setblocking(False), fill(c)),
                           "s.send(b'fill'); s.settimeout(None)\nprint(full())"),
}


def fill(connection):
    with contextlib.suppress(BlockingIOError):
        while True:
            connection.send(BLOCK)


@pytest.mark.parametrize("state", BY_THE_SERVER)
def test_a_reset_of_the_server_reaches_the_machine(cloche, state):
    before, program = BY_THE_SERVER[state]

    def serve(connection):
        before(connection)
        reset(connection)

    with conversation(serve) as port:
        told = said(cloche, f"python3 - {port}", f"127.0.0.1:{port}", stdin=(CLIENT + program).encode()).split("\n")
    assert told[-1] in ("ECONNRESET", "EPIPE"), told
    assert state == "after its own end" or len(told) == 1
    assert state != "after its own end" or told[0] == "end"


# What the machine does before it resets, and what the server does meanwhile.
BY_THE_MACHINE = {
    "established": ("s.send(b'x'); s.recv(1)", lambda c: c.recv(1) and c.send(b"y")),
    "with data that it does not read": ("s.send(b'x'); s.recv(1)", lambda c: c.recv(1) and c.send(BLOCK[:1000])),
    "after its own end": ("s.send(b'x'); s.shutdown(socket.SHUT_WR); s.recv(1)", lambda c: (c.recv(1), c.recv(1), c.send(b"y"))),
    "after the server's end": ("s.send(b'x'); end()", lambda c: (c.recv(1), c.shutdown(socket.SHUT_WR))),
    "while it receives": ("s.send(b'x'); s.recv(1000)", lambda c: c.recv(1)),
}


@pytest.mark.parametrize("state", BY_THE_MACHINE)
def test_a_reset_of_the_machine_reaches_the_server(cloche, state):
    program, during = BY_THE_MACHINE[state]
    seen = []

    def serve(connection):
        during(connection)
        try:
            while True:
                if state in ("while it receives", "after its own end"):
                    connection.sendall(BLOCK)
                elif not connection.recv(65536):
                    seen.append("end")
                    return
        except OSError as error:
            seen.append(type(error))

    with conversation(serve) as port:
        said(cloche, f"python3 - {port}", f"127.0.0.1:{port}", stdin=(CLIENT + program + "\nreset()").encode())
    assert seen and set(seen) <= {ConnectionResetError, BrokenPipeError}, seen


# --- uploads -----------------------------------------------------------------------------

@pytest.mark.parametrize("size", [1, 1459, 65537, 100_000_000])
def test_curl_sends_files_of_any_size(cloche, size):
    got = hashlib.sha256()

    def serve(connection):
        reader, length = connection.makefile("rb"), 0
        while line := reader.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        while length:
            part = reader.read(min(length, 1 << 20))
            got.update(part)
            length -= len(part)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntook")

    script = f"""python3 -c 'import hashlib, sys
block = hashlib.shake_256(b"bytes").digest(1 << 20)
for at in range(0, {size}, 1 << 20): sys.stdout.buffer.write(block[:min(1 << 20, {size} - at)])' >/tmp/f"""
    with conversation(serve) as port:
        assert said(cloche, f"{script}\ncurl -sf -H Expect: -T /tmp/f http://{NAME}:{port}/up", f"127.0.0.1:{port}") == "took"
    assert got.hexdigest() == sha256_of(size)


# --- slow peers and bursts ----------------------------------------------------------------

SLOW = 20

# Tells once each has sent something, and of all at their ends.
TAKES_SLOWLY = f"""
import hashlib, selectors, socket, sys
poll, digests = selectors.DefaultSelector(), {{}}
for _ in range({SLOW}):
    poll.register(socket.create_connection(("{NAME}", int(sys.argv[1])), 300), selectors.EVENT_READ)
while poll.get_map():
    for key, _ in poll.select():
        part = key.fileobj.recv(100)
        if not part:
            poll.unregister(key.fileobj)
            continue
        digests.setdefault(key.fileobj, hashlib.sha256()).update(part)
        key.fileobj.sendall(b"+" * len(part))
        if len(digests) == {SLOW}:
            open("/tmp/all", "w").close()
print(*sorted(d.hexdigest() for d in digests.values()))
"""


class Dribbler:
    """Sends single bytes to each connection, each of them once the machine has the one before it, for as long as
    `goes_on()`. `sent` are the hashes of what those that are done have sent."""

    def __init__(self, goes_on):
        self.goes_on, self.sent = goes_on, []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=SLOW)
        self.port = self.listener.getsockname()[1]
        self.threads = [threading.Thread(target=self.serve, args=(seed,), daemon=True) for seed in range(SLOW)]
        for thread in self.threads:
            thread.start()

    def serve(self, seed):
        connection, sent, at = self.listener.accept()[0], hashlib.sha256(), seed
        with connection:
            while self.goes_on() or at < seed + 10:
                byte = bytes([at % 256])
                connection.sendall(byte)
                sent.update(byte)
                at += 1
                assert connection.recv(1) == b"+"
        self.sent.append(sent.hexdigest())


def test_many_slow_peers_and_bursts_at_once(cloche):
    """The slow ones end when the bursts have arrived, and so hold none of them up."""
    size = 10_000_000
    with Server() as web:
        slow = Dribbler(lambda: "/bytes/1" not in web.asked)
        told = said(cloche, f"""cat >/tmp/slow.py
            python3 /tmp/slow.py {slow.port} >/tmp/slow & until test -e /tmp/all; do sleep .1; done
            for i in 1 2 3; do curl -sf {web.url}/bytes/{size} | md5sum; done
            curl -sf {web.url}/bytes/1 | wc -c; wait; cat /tmp/slow""", f"127.0.0.1:{slow.port}",
                    f"127.0.0.1:{web.port}", stdin=TAKES_SLOWLY.encode()).split("\n")
    assert told[:4] == [f"{md5_of(size)}  -"] * 3 + ["1"]
    for thread in slow.threads:
        thread.join(60)
    assert told[4].split() == sorted(slow.sent) and len(slow.sent) == SLOW
