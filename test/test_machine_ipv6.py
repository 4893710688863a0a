"""A machine's IPv6: real programs in it, and real servers at this computer's ::1. Where this computer has no IPv6, its
machines have none, and nothing is reached by it."""
import json
import os
import socket
import subprocess
import threading

import pytest

from machine_doors import needs_image
from test_machine_network import Server, run

pytestmark = needs_image

HOST, GATEWAY, OWN = "fd63:6c6f:6368::fe", "fd63:6c6f:6368::1", "fd63:6c6f:6368::3"


def has_ipv6():
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


HAS = has_ipv6()


class Server6(Server):
    """As Server, at ::1."""

    def __init__(self, data=b""):
        self.data, self.count = data, 0
        self.socket = socket.create_server(("::1", 0), backlog=256, family=socket.AF_INET6)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()


@pytest.fixture
def server():
    server = Server6(os.urandom(3_000_000)) if HAS else None
    yield server
    if server:
        server.close()


def said(cloche, command, *hosts):
    words = [word for host in hosts for word in ("--allow-host", host)]
    done = subprocess.run([cloche, "vm", "exec", *words, command], capture_output=True, timeout=600, text=True)
    return done.stdout.strip().split("\n")


def test_the_machine_has_ipv6_where_this_computer_has(cloche):
    lines = said(cloche, "ip -br -6 address show eth0; ip -6 route show default | wc -l; getent ahostsv6 host6.cloche.internal | head -1",
                 "127.0.0.1:9")
    assert (OWN + "/64" in lines[0]) == HAS
    assert lines[1] in ("0", "1")  # as this computer has a way to the Internet
    assert any(HOST in line for line in lines[2:]) == HAS


@pytest.mark.parametrize("count", [1, 65536, 3_000_000])
def test_bytes_are_right_both_ways(cloche, server, count):
    if not HAS:
        return
    server.data = server.data[:count]
    out = run(cloche, f"""
import hashlib
at = ({HOST!r}, {server.port})
down = socket.create_connection(at, 300); down.send(b"D"); n = 0
while part := down.recv(100000):
    n += len(part)
data = bytes(range(256)) * ({count} // 256 + 1)
up = socket.create_connection(at, 300); up.send(b"U"); up.sendall(data); up.shutdown(socket.SHUT_WR)
print(n, up.recv(100) == hashlib.sha256(data).hexdigest().encode(), down.family == socket.AF_INET6)""",
              f"[::1]:{server.port}")
    assert out == f"{count} True True"


def test_a_name_leads_there(cloche, server):
    if not HAS:
        return
    lines = said(cloche, f"exec 3<>/dev/tcp/host6.cloche.internal/{server.port} && echo reached", f"[::1]:{server.port}")
    assert lines == ["reached"] and server.count == 1


ESCAPES = r'''
import json, socket, struct, sys, time
canary, allowed = json.loads(sys.argv[1])
told = {}
# A socket's own port is never the one that it tries: a connection of the machine to itself would answer.
open("/proc/sys/net/ipv4/ip_local_port_range", "w").write("10000 19999")
def attempt(name, address, port, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET6, kind) as s:
        s.settimeout(20 if kind == socket.SOCK_STREAM else .3)
        try:
            s.connect((address, port)); s.send(b"D"); told[name] = repr(s.recv(100))
        except OSError:
            told[name] = ""
HOST = "fd63:6c6f:6368::fe"
for name, address in {
    "other_port": HOST, "gateway": "fd63:6c6f:6368::1", "neighbour": "fd63:6c6f:6368::2", "loopback": "::1", "any": "::",
    "mapped": "::ffff:127.0.0.1", "mapped_host": "::ffff:192.168.127.254", "mapped_metadata": "::ffff:169.254.169.254",
    "compatible": "::127.0.0.1", "translated": "::ffff:0:127.0.0.1", "nat64": "64:ff9b::7f00:1", "nat64_private": "64:ff9b::c0a8:1",
    "nat64_metadata": "64:ff9b::a9fe:a9fe", "nat64_local": "64:ff9b:1::7f00:1", "six_to_four": "2002:7f00:1::1",
    "teredo": "2001::7f00:1", "unique_local": "fd00::1", "metadata": "fd00:ec2::254", "metadata_eks": "fd00:ec2::23",
    "site_local": "fec0::1", "documentation": "2001:db8::1", "discard": "100::1", "public": "2001:4860:4860::8888",
    }.items():
    attempt(name, address, canary)
    attempt("udp_" + name, address, canary, socket.SOCK_DGRAM)
attempt("link_local", "fe80::5894:efff:fee4:cdd%eth0", canary)

# ---- frames as no kernel makes them
GATEWAY = bytes.fromhex("5a94efe40cdd")
OWN = bytes.fromhex(open("/sys/class/net/eth0/address").read().strip().replace(":", ""))
pton = lambda a: socket.inet_pton(socket.AF_INET6, a)
def sum16(b):
    b += b"\0" * (len(b) % 2)
    n = sum(struct.unpack(f"!{len(b) // 2}H", b))
    while n >> 16:
        n = (n & 0xffff) + (n >> 16)
    return ~n & 0xffff
def syn(source, to, port):
    t = bytearray(struct.pack("!HHIIBBHHH", 31234, port, 1000, 0, 0x50, 2, 60000, 0, 0))
    t[16:18] = struct.pack("!H", sum16(pton(source) + pton(to) + struct.pack("!IHBB", len(t), 0, 0, 6) + bytes(t)))
    return bytes(t)
def ip6(source, to, protocol, body):
    return struct.pack("!IHBB", 6 << 28, len(body), protocol, 255) + pton(source) + pton(to) + body
def frames(name, *packets, mac=OWN):
    """Is there a SYN with ACK?"""
    told[name] = ""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as s:
        s.bind(("eth0", 0)); s.settimeout(.1)
        for p in packets:
            s.send(GATEWAY + mac + b"\x86\xdd" + p)
        until = time.monotonic() + .3
        while time.monotonic() < until:
            try:
                f, where = s.recvfrom(70000)
            except TimeoutError:
                continue
            if where[2] != socket.PACKET_OUTGOING and f[12:14] == b"\x86\xdd" and f[20] == 6 and f[54 + 13] & 0x12 == 0x12:
                told[name] = f.hex()
SELF = "fd63:6c6f:6368::3"
for name, to in {"raw_loopback": "::1", "raw_mapped": "::ffff:127.0.0.1", "raw_any": "::", "raw_nat64": "64:ff9b::7f00:1",
                 "raw_neighbour": "fd63:6c6f:6368::2", "raw_all": "ff02::1", "raw_link": "fe80::1"}.items():
    frames(name, ip6(SELF, to, 6, syn(SELF, to, canary)))
for name, source in {"as_gateway": "fd63:6c6f:6368::1", "as_host": HOST, "as_loopback": "::1", "as_nobody": "::", "as_all": "ff02::1",
                     "as_public": "2001:4860:4860::8888", "as_link_gateway": "fe80::5894:efff:fee4:cdd",
                     "as_mapped": "::ffff:192.168.127.3"}.items():
    frames(name, ip6(source, HOST, 6, syn(source, HOST, allowed)))
frames("another_card", ip6(SELF, HOST, 6, syn(SELF, HOST, allowed)), mac=bytes.fromhex("020000000099"))
t = syn(SELF, HOST, allowed)
frames("routing_header", ip6(SELF, HOST, 43, bytes([6, 2, 0, 1, 0, 0, 0, 0]) + pton("::1") + syn(SELF, "::1", canary)))
frames("hop_by_hop", ip6(SELF, HOST, 0, bytes([6, 0, 1, 4, 0, 0, 0, 0]) + t))
frames("destination_options", ip6(SELF, HOST, 60, bytes([6, 0, 1, 4, 0, 0, 0, 0]) + t))
frames("in_ipv6", ip6(SELF, HOST, 41, ip6(SELF, "::1", 6, syn(SELF, "::1", canary))))
frames("one_fragment", ip6(SELF, HOST, 44, struct.pack("!BBHI", 6, 0, 0, 7) + t))
frames("overlap", ip6(SELF, HOST, 44, struct.pack("!BBHI", 6, 0, 1, 8) + t[:16]), ip6(SELF, HOST, 44, struct.pack("!BBHI", 6, 0, 8, 8) + t[8:]))
frames("control", ip6(SELF, HOST, 6, t))
attempt("control_socket", HOST, allowed)
print(json.dumps(told))
'''


def test_no_way_out_leads_by_ipv6(cloche):
    """Ports of ::1 that the policy does not name, private and embedded addresses, spoofed and odd packets."""
    if not HAS:
        return
    canary, allowed = Server6(b"canary"), Server6(b"allowed")
    datagrams = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    datagrams.bind(("::1", canary.port))
    datagrams.setblocking(False)
    done = subprocess.run([cloche, "vm", "exec", "--allow-host", f"[::1]:{allowed.port}", "--", "python3", "-c", ESCAPES,
                           json.dumps([canary.port, allowed.port])], capture_output=True, timeout=600, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told.pop("control") and told.pop("control_socket") == "b'allowed'"  # else the others would say nothing
    assert len(told) > 60 and {name: what for name, what in told.items() if what} == {}
    assert canary.count == 0
    with datagrams, pytest.raises(BlockingIOError):
        datagrams.recv(100)
    for s in canary, allowed:
        s.close()


def test_a_client_of_router_advertisements_gets_the_same_network(cloche):
    """Linux' own, which init tells not to ask."""
    if not HAS:
        return
    lines = said(cloche, """
        echo 2 > /proc/sys/net/ipv6/conf/eth0/accept_ra
        ip link set eth0 down; ip link set eth0 up
        for i in $(seq 100); do ip -6 address show dev eth0 | grep -q 'scope global dynamic' && break; sleep .1; done
        ip -6 address show dev eth0 | grep 'scope global dynamic'
        ip -6 address add fd63:6c6f:6368::1/64 dev eth0
        for i in $(seq 50); do ip -6 address show dev eth0 | grep -q dadfailed && break; sleep .1; done
        ip -6 address show dev eth0 | grep -o dadfailed""", "127.0.0.1:9")
    assert "fd63:6c6f:6368:0" in lines[0] or "fd63:6c6f:6368::" in lines[0]
    assert lines[-1] == "dadfailed"


@pytest.mark.parametrize("address", ["192.168.127.1"] + [GATEWAY] * HAS)
def test_the_way_to_the_gateway_is_as_wide_as_it_says(cloche, address):
    """An echo in fragments comes back whole; one that may not be cut up is told how long it may be."""
    lines = said(cloche, f"""
        ping -c 1 -W 5 -s 4000 {address} | grep -o '1 received'
        ip link set eth0 mtu 9000
        ping -c 2 -W 5 -M do -s 3000 {address} 2>&1 | grep -io 'frag needed\\|too big\\|too long' | head -1
        ip route get {address} | grep -o 'mtu 1500'""", "127.0.0.1:9")
    assert lines[0] == "1 received" and lines[-1] == "mtu 1500"
