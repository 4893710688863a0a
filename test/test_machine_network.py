"""A machine's network, with real programs in it and real servers on loopback."""
import hashlib
import os
import re
import socket
import subprocess
import threading

import pytest

from machine_doors import needs_image
from wire import stop_listening

pytestmark = needs_image

HOST = "192.168.127.254"  # this computer's loopback, as machines see it


class Server:
    """Answers each connection by its first byte: D sends `data`, U tells the hash of what it is
    sent."""

    def __init__(self, data=b"", everywhere=False):
        self.data, self.count = data, 0
        both = everywhere and socket.has_dualstack_ipv6()
        self.socket = socket.create_server(("" if everywhere else "127.0.0.1", 0), backlog=256,
                                           family=socket.AF_INET6 if both else socket.AF_INET, dualstack_ipv6=both)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        stop_listening(self.socket)

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.count += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            self.answer(connection)
        except OSError:
            pass  # it has ended the connection
        connection.close()

    def answer(self, connection):
        kind = connection.recv(1)
        if kind == b"D":
            connection.sendall(self.data)
        elif kind == b"U":
            got = hashlib.sha256()
            while part := connection.recv(1 << 20):
                got.update(part)
            connection.sendall(got.hexdigest().encode())


@pytest.fixture
def server():
    server = Server(os.urandom(3_000_000))
    yield server
    server.close()


def run(cloche, program, *hosts, words=()):
    """What a Python program in a machine prints; `hosts`: what it may reach."""
    options = [word for host in hosts for word in ("--allow-host", host)]
    head = f"import socket, hashlib, time\nHOST = {HOST!r}\ndef to(port):\n" \
           "    return socket.create_connection((HOST, port), 300)\n"
    done = subprocess.run([cloche, "vm", "exec", *options, *words, "--", "python3", "-c", head + program],
                          capture_output=True, timeout=900, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_without_a_network_it_is_said_at_once(cloche, server):
    said = run(cloche, f"""
for what in lambda: to({server.port}), lambda: socket.getaddrinfo("example.org", 443):
    began = time.monotonic()
    try:
        what()
    except OSError as e:
        print(e.strerror, time.monotonic() - began < 60)""")
    assert said == "No route to host True\nTemporary failure in name resolution True"
    assert server.count == 0


def report(done):
    """The line that `cloche vm` adds to a command's standard error, and the option that it names."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("cloche: ")]
    assert len(lines) == 1 and done.stderr.endswith(lines[0] + "\n"), done.stderr
    return lines[0], re.search(r"--allow-host ([^ ,;]+)", lines[0])[1]


@pytest.mark.parametrize("command, host", [
    ("curl -sS https://example.org/", "example.org"), ("wget -q http://Example.ORG/", "example.org"),
    ("git clone -q https://git.example.org/x", "git.example.org"), ("ssh example.org true", "example.org"),
    ("pip install -q requests", "pypi.org"), ("apt-get update -qq", "deb.debian.org"),
    ("python3 -c 'import urllib.request as u; u.urlopen(\"https://docs.example.org/\")'", "docs.example.org"),
    ("ping -c 1 -W 2 192.0.2.7", "icmp://192.0.2.7"),
    ("curl -sS http://192.0.2.1/", "192.0.2.1:80"),
    # The first only where this computer has a way to the Internet by IPv6.
    ("curl -sS http://[2001:db8::1]:8080/ http://x.example", "[2001:db8::1]:8080|x.example"),
    ("echo x >/dev/udp/93.184.215.14/53", "udp://93.184.215.14:53"),
])
def test_a_command_that_asks_for_a_network_is_told_how_it_gets_one(cloche, command, host):
    done = subprocess.run([cloche, "vm", "exec", command], capture_output=True, timeout=240, text=True)
    line, option = report(done)
    assert line.startswith(f"cloche: the network is off; the command asked for {option}: ")
    assert option in host.split("|") and "--network" in line


@pytest.mark.parametrize("words, first", [
    ("install requests", "pip: the network is off"), ("install -q Requests[socks]==2.0 idna", "pip: the network is off"),
    ("download -q requests", "pip: the network is off"),
    # All that may not need pypi.org is pip's own.
    ("install pip", "Requirement already satisfied: pip"), ("install --no-index requests", "ERROR: Could not find"),
    ("install ./requests", "ERROR: Invalid requirement|ERROR: File|ERROR: requests|WARNING: Requirement"),
    ("--version", "pip 2"), ("nonsense", "ERROR: unknown command"),
], ids=["install", "install-version", "download", "installed", "no-index", "path", "version", "unknown"])
def test_pip_says_at_once_that_the_network_is_off(cloche, words, first):
    done = subprocess.run([cloche, "vm", "exec", f"pip {words} 2>&1"], capture_output=True, timeout=240, text=True)
    lines = done.stdout.splitlines()
    assert re.match(first, lines[0]), done.stdout
    if "network is off" in first:
        assert len(lines) == 1 and done.returncode == 1
        assert "cloche policy set network.hosts pypi.org" in lines[0] and "--allow-host pypi.org" in lines[0]


def test_where_else_pip_may_look_is_its_own_business(cloche):
    for before in ("PIP_INDEX_URL=http://x.test/simple", "https_proxy=http://192.168.127.1:3128",
                   "PYTHONPATH=/tmp", "mkdir -p ~/.config/pip && touch ~/.config/pip/pip.conf;"):
        done = subprocess.run([cloche, "vm", "exec", f"{before} pip install --retries 0 requests"], capture_output=True,
                              timeout=240, text=True)
        assert "pip: the network is off" not in done.stderr and "No matching distribution" in done.stderr, before


def test_a_refused_port_is_told_with_the_option_that_allows_it(cloche, server):
    """Both without a network and with another one; and the option that it names is enough."""
    script = f"exec 3<>/dev/tcp/host.cloche.internal/{server.port} && echo reached"
    off = subprocess.run([cloche, "vm", "exec", script], capture_output=True, timeout=240, text=True)
    other = subprocess.run([cloche, "vm", "exec", "--allow-host", "x.example", script], capture_output=True,
                           timeout=240, text=True)
    assert off.stdout == other.stdout == ""
    line, option = report(other)
    assert line.startswith(f"cloche: {option} was refused") and report(off)[1] == option
    done = subprocess.run([cloche, "vm", "exec", "--allow-host", option, script], capture_output=True,
                          timeout=240, text=True)
    assert done.stdout == "reached\n" and done.stderr == ""


def test_what_no_option_allows_is_told_without_one(cloche):
    done = subprocess.run([cloche, "vm", "exec", "exec 3<>/dev/tcp/169.254.169.254/80"], capture_output=True,
                          timeout=240, text=True)
    assert done.stderr.splitlines()[-1] == "cloche: the command asked for 169.254.169.254:80, which no machine reaches"


def test_a_name_that_would_write_to_the_terminal_is_not_told(cloche):
    """The machine's DNS is asked for it without the C library, which would refuse."""
    done = subprocess.run([cloche, "vm", "exec", "--", "python3", "-c", """
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(30)
for name in b"\\x1b[31m.example", b"a b.example", b"\\xe2\\x80\\xae.example":
    first, last = name.split(b".")
    s.sendto(struct.pack(">HHHHHH", 1, 256, 1, 0, 0, 0) + bytes([len(first)]) + first +
             bytes([len(last)]) + last + struct.pack(">BHH", 0, 1, 1), ("192.168.127.1", 53))
    s.recv(512)
print("asked")"""], capture_output=True, timeout=240, text=True)
    assert done.stdout == "asked\n" and done.stderr == ""


def test_bytes_are_right_both_ways(cloche, server):
    said = run(cloche, f"""
down = to({server.port}); down.send(b"D"); got = hashlib.sha256()
while part := down.recv(100000):
    got.update(part)
print(got.hexdigest())
up = to({server.port}); up.send(b"U")
data = bytes(range(256)) * 20000
up.sendall(data); up.shutdown(socket.SHUT_WR)
print(up.recv(100) == hashlib.sha256(data).hexdigest().encode())""", f"127.0.0.1:{server.port}")
    assert said == hashlib.sha256(server.data).hexdigest() + "\nTrue"


@pytest.mark.parametrize("order", ["all", "all[::-1]"])
def test_two_hundred_connections_at_once(cloche, server, order):
    said = run(cloche, f"""
all = [to({server.port}) for i in range(200)]
for s in all:
    s.send(b"D")
print(sum(sum(len(part) for part in iter(lambda: s.recv(1 << 16), b"")) for s in {order}))""",
               f"127.0.0.1:{server.port}")
    assert said == str(200 * len(server.data))


def test_what_is_not_allowed_is_not_reached(cloche, server):
    other = Server()
    said = run(cloche, f"""
addresses = [(HOST, {other.port}), ("127.0.0.1", {server.port}), ("10.0.0.1", {server.port}),
             ("192.168.127.9", {server.port}), ("169.254.169.254", 80), ("192.168.127.1", {server.port}),
             ("93.184.215.14", {server.port}), ("0.0.0.0", {server.port}), ("100.100.100.200", 80)]
for address in addresses:
    s = socket.socket(); s.settimeout(20)
    try:
        s.connect(address); print("reached", address)
    except TimeoutError:
        print("waited for", address)
    except OSError:
        pass
print("end")""", f"127.0.0.1:{server.port}")
    assert said == "end"
    assert other.count == 0 and server.count == 0


def test_nobody_there_is_a_connection_refused(cloche):
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    said = run(cloche, f"""
try:
    to({port})
except ConnectionRefusedError:
    print("refused")""", f"127.0.0.1:{port}")
    assert said == "refused"


def test_names_are_for_the_policy(cloche, server):
    said = run(cloche, """
def ask(name):
    try:
        return socket.getaddrinfo(name, 80, socket.AF_INET)[0][4][0]
    except socket.gaierror as e:
        return e.strerror
print(ask("host.cloche.internal"), ask("not.allowed.example"), sep="\\n")""", f"127.0.0.1:{server.port}")
    own, other = said.split("\n")
    assert own == HOST
    assert "resolution" in other or "not known" in other


def test_dhcp_gives_the_address_that_is_there_already(cloche, server):
    """By busybox's client, which needs nothing of the static configuration."""
    done = subprocess.run([cloche, "vm", "exec", "--allow-host", f"127.0.0.1:{server.port}",
                           "busybox udhcpc -i eth0 -n -q -f -t 5 -s /bin/true; ip -4 addr show eth0"],
                          capture_output=True, timeout=600, text=True)
    assert "lease of 192.168.127.3 obtained" in done.stderr + done.stdout
    assert "192.168.127.3/24" in done.stdout


def test_the_gateway_answers_a_ping_and_no_stranger_does(cloche, server):
    done = subprocess.run([cloche, "vm", "exec", "--allow-host", f"127.0.0.1:{server.port}",
                           "busybox ping -c 2 -W 5 192.168.127.1; busybox ping -c 1 -W 2 203.0.113.9"],
                          capture_output=True, timeout=600, text=True)
    assert "2 packets received" in done.stdout and "1 packets received" not in done.stdout


PINGS = """ip link set lo up && echo "0 2147483647" >/proc/sys/net/ipv4/ping_group_range && exec "$@" """


def ping(cloche, *hosts, alone=(), script="ping -c 2 -i 0.2 -W 30 host.cloche.internal"):
    words = [word for host in hosts for word in ("--allow-host", host)]
    return subprocess.run([*alone, cloche, "vm", "exec", *words, script], capture_output=True, timeout=240, text=True)


def test_a_ping_goes_where_a_rule_for_it_says(cloche, server):
    """In a network of its own, whose kernel lets programs ping."""
    alone = ["unshare", "-n", "sh", "-c", PINGS, "sh"]
    if subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("no network of its own can be made here")
    done = ping(cloche, "icmp://127.0.0.1", alone=alone)
    assert " 2 received" in done.stdout and done.stderr == ""
    for hosts in ("127.0.0.1:8000",), ("icmp://10.0.0.1",), ("udp://127.0.0.1:7",):
        done = ping(cloche, *hosts, alone=alone)
        assert " 0 received" in done.stdout and "--allow-host icmp://127.0.0.1" in done.stderr


FAR = "ip link set lo up && ip -6 address add 2600::5/64 dev lo nodad && ip -6 route add default dev lo && " + PINGS


def test_a_ping_of_ipv6_goes_where_a_rule_for_it_says(cloche):
    """To ::1, whole and in fragments, and to a public address."""
    alone = ["unshare", "-n", "sh", "-c", FAR, "sh"]
    if subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("no network of its own with IPv6 can be made here")
    script = """ping -6 -c 2 -i 0.2 -W 30 host6.cloche.internal; ping -6 -c 1 -W 30 -s 4000 host6.cloche.internal
        ping -6 -c 1 -W 30 2600::5"""
    done = ping(cloche, "icmp://[::1]", "icmp://[2600::5]", alone=alone, script=script)
    assert [line.split(",")[1] for line in done.stdout.splitlines() if "transmitted" in line] == \
        [" 2 received", " 1 received", " 1 received"], done
    assert "4008 bytes from" in done.stdout and done.stderr == ""
    for hosts, there in ((("[::1]:8000",), ("0", "0", "0")), (("icmp://[2600::5]",), ("0", "0", "1"))):
        done = ping(cloche, *hosts, alone=alone, script=script.replace("30", "1"))
        assert [line.split(",")[1] for line in done.stdout.splitlines() if "transmitted" in line] == \
            [f" {n} received" for n in there]
        assert "--allow-host icmp://[::1]" in done.stderr


def test_a_kernel_that_lets_no_program_ping_is_told(cloche):
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP).close()
        pytest.skip("here programs may ping")
    except PermissionError:
        done = ping(cloche, "icmp://127.0.0.1")
    assert " 0 received" in done.stdout and "ping_group_range" in done.stderr
