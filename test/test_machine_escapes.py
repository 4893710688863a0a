"""Ways out of a machine's network that its policy does not allow, each tried by a program in the
machine that is root there. Canaries on this computer count who reached them."""
import json
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from conftest import policy_in
from machine_doors import needs_image
from test_machine_network import HOST, Server
from wire import Server as Cloche

pytestmark = needs_image

# What the machine runs: each function is an attempt. It returns what it has reached, or nothing.
PROGRAM = r'''
import json, os, random, re, socket, struct, sys, time
HOST, GATEWAY, OWN = "192.168.127.254", "192.168.127.1", "192.168.127.3"
P = json.loads(sys.argv[1])
ATTEMPTS = {}
def attempt(f):
    ATTEMPTS[f.__name__] = f
    return f
def each(names, make):
    for name, what in names.items():
        ATTEMPTS[name] = make(what)

def tcp(address, port, family=socket.AF_INET, say=b"D"):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(10)
        s.connect((address, port))
        s.sendall(say)
        return s.recv(100)
def udp(address, port, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        s.settimeout(.3)
        for i in range(2):
            s.sendto(b"D", (address, port))
        return s.recv(100)

# ---- frames as no kernel makes them
GATEWAY_MAC = bytes.fromhex("5a94efe40cdd")
OWN_MAC = bytes.fromhex(open("/sys/class/net/eth0/address").read().replace(":", ""))
def sum16(b):
    b += b"\0" * (len(b) % 2)
    n = sum(struct.unpack(f"!{len(b) // 2}H", b))
    while n >> 16:
        n = (n & 0xffff) + (n >> 16)
    return ~n & 0xffff
def ip4(source, to, protocol, body, flags=0x4000, options=b"", total=None, ident=7):
    head = bytearray(struct.pack("!BBHHHBBH4s4s", 0x45 + len(options) // 4, 0, total or 20 + len(options) + len(body),
                                 ident, flags, 64, protocol, 0, socket.inet_aton(source), socket.inet_aton(to)) + options)
    head[10:12] = struct.pack("!H", sum16(bytes(head)))
    return bytes(head) + body
def ip6(source, to, protocol, body):
    return struct.pack("!IHBB", 6 << 28, len(body), protocol, 64) + socket.inet_pton(socket.AF_INET6, source) + \
        socket.inet_pton(socket.AF_INET6, to) + body
def segment(source, to, from_port, port, flags=2, body=b"", family=socket.AF_INET, seq=1000, ack=0):
    t = bytearray(struct.pack("!HHIIBBHHH", from_port, port, seq, ack, 0x50, flags, 60000, 0, 0) + body)
    pton = lambda a: socket.inet_pton(family, a)
    t[16:18] = struct.pack("!H", sum16(pton(source) + pton(to) + struct.pack("!HH", 6, len(t)) + bytes(t)))
    return bytes(t)
def datagram(from_port, port, body):
    return struct.pack("!HHHH", from_port, port, 8 + len(body), 0) + body
def frames(*packets, kind=0x0800, mac=None, to_mac=GATEWAY_MAC):
    """Sends each, and returns a TCP segment with SYN and ACK, or a datagram, if one comes."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as s:
        s.bind(("eth0", 0))
        s.settimeout(.1)
        for p in packets:
            s.send(to_mac + (mac or OWN_MAC) + struct.pack("!H", kind) + p)
        until = time.monotonic() + .25
        while time.monotonic() < until:
            try:
                f, where = s.recvfrom(70000)
            except TimeoutError:
                continue
            if where[2] == socket.PACKET_OUTGOING or f[12:14] != b"\x08\0":
                continue
            at = 14 + (f[14] & 15) * 4
            if f[23] == 6 and f[at + 13] & 0x12 == 0x12 or f[23] == 17 and f[at:at + 2] != b"\0\x35":
                return f[at:].hex()
def port():
    return random.randrange(20000, 60000)
def syn(to, n, source=OWN, **more):
    return ip4(source, to, 6, segment(source, to, port(), n), **more)

# ---- addresses
each({"loopback": "127.0.0.1", "loopback_2": "127.0.0.2", "any": "0.0.0.0", "gateway": GATEWAY, "neighbour_2": "192.168.127.2",
      "neighbour_4": "192.168.127.4", "private_10": "10.0.0.1", "private_172": "172.16.0.1", "private_192": "192.168.0.1",
      "shared_100": "100.64.0.1", "link_local": "169.254.1.1", "benchmark": "198.18.0.1", "reserved": "240.0.0.1",
      "this_network": "0.1.2.3", "own_address_outside": P["outside"]},
     lambda a: lambda: tcp(a, P["canary"]))
each({"metadata": "169.254.169.254", "metadata_decimal": "2852039166", "metadata_hex": "0xa9fea9fe", "metadata_octal": "0251.0376.0251.0376",
      "metadata_mixed": "169.254.43518", "metadata_alibaba": "100.100.100.200", "loopback_short": "127.1", "loopback_decimal": "2130706433"},
     lambda a: lambda: tcp(socket.inet_ntoa(socket.inet_aton(a)), 80 if "169" in socket.inet_ntoa(socket.inet_aton(a)) else P["canary"]))
each({"mapped_loopback": "::ffff:127.0.0.1", "mapped_host": "::ffff:" + HOST, "mapped_metadata": "::ffff:169.254.169.254", "compatible_loopback": "::127.0.0.1",
      "loopback_6": "::1", "any_6": "::", "nat64_loopback": "64:ff9b::7f00:1", "six_to_four_loopback": "2002:7f00:1::1",
      "unique_local": "fd00::1", "metadata_6": "fd00:ec2::254", "site_local": "fec0::1"},
     lambda a: lambda: tcp(a, P["canary"], socket.AF_INET6))
each({"port_0": (HOST, 0), "other_port": (HOST, P["canary"]), "port_above": (HOST, P["allowed"] + 1)}, lambda a: lambda: tcp(*a))
each({"udp_of_a_tcp_rule": (HOST, P["allowed"]), "udp_loopback": (HOST, P["udp"]), "udp_broadcast": ("255.255.255.255", P["udp"]),
      "udp_lan_broadcast": ("192.168.127.255", P["udp"]), "udp_multicast": ("224.0.0.1", P["udp"]), "udp_ssdp": ("239.255.255.250", 1900),
      "udp_mdns": ("224.0.0.251", 5353), "udp_gateway": (GATEWAY, P["udp"]), "udp_dns_elsewhere": (HOST, 53), "udp_private": ("10.0.0.1", 53)},
     lambda a: lambda: udp(*a))

# ---- raw frames
each({"raw_loopback": "127.0.0.1", "raw_any": "0.0.0.0", "raw_gateway": GATEWAY, "raw_neighbour": "192.168.127.2", "raw_own": OWN, "raw_metadata": "169.254.169.254",
      "raw_multicast": "224.0.0.1", "raw_broadcast": "255.255.255.255", "raw_host_other_port": HOST, "raw_private_10": "10.0.0.1",
      "raw_private_172": "172.16.0.1", "raw_private_192": "192.168.0.1", "raw_shared": "100.64.0.1", "raw_link_local": "169.254.1.1"},
     lambda a: lambda: frames(syn(a, P["canary"])))
each({"spoofed_neighbour": "192.168.127.2", "spoofed_gateway": GATEWAY, "spoofed_host": HOST, "spoofed_loopback": "127.0.0.1", "spoofed_public": "93.184.215.14",
      "spoofed_any": "0.0.0.0", "spoofed_broadcast": "255.255.255.255"},
     lambda a: lambda: frames(syn(HOST, P["allowed"], a)))
@attempt
def spoofed_mac():
    return frames(syn(HOST, P["allowed"]), mac=bytes.fromhex("020000000099"))
@attempt
def gateways_mac_as_its_own():
    return frames(syn(HOST, P["allowed"]), mac=GATEWAY_MAC)
@attempt
def to_another_mac():
    return frames(syn(HOST, P["allowed"]), to_mac=bytes.fromhex("020000000099"))
@attempt
def arp_for_a_neighbour():
    body = struct.pack("!HHBBH", 1, 0x800, 6, 4, 2) + GATEWAY_MAC + socket.inet_aton(GATEWAY) + OWN_MAC + socket.inet_aton(OWN)
    frames(body, kind=0x0806)
    return frames(syn(HOST, P["canary"]))
@attempt
def source_route():
    return frames(syn(HOST, P["canary"], options=bytes([131, 7, 4]) + socket.inet_aton("127.0.0.1") + b"\0"))
@attempt
def fragments():
    t = segment(OWN, HOST, port(), P["canary"]) + b"\0" * 4
    return frames(ip4(OWN, HOST, 6, t[:16], flags=0x2000), ip4(OWN, HOST, 6, t[16:], flags=2))
@attempt
def overlapping_fragments():
    a, b = port(), segment(OWN, HOST, port(), P["canary"])
    t = segment(OWN, HOST, a, P["allowed"]) + b"\0" * 4
    return frames(ip4(OWN, HOST, 6, t[:24], flags=0x2000), ip4(OWN, HOST, 6, b[:8], flags=0), ip4(OWN, HOST, 6, t[8:], flags=1))
@attempt
def ip_in_ip():
    inner = syn("127.0.0.1", P["canary"])
    return frames(*[ip4(OWN, HOST, n, inner) for n in (4, 41, 47, 50, 132, 136)])
@attempt
def length_beyond_the_frame():
    return frames(syn(HOST, P["canary"], total=1500))
@attempt
def vlan_tag():
    return frames(struct.pack("!HH", 5, 0x0800) + syn(HOST, P["canary"]), kind=0x8100)
@attempt
def ipv4_in_a_frame_of_ipv6():
    return frames(syn(HOST, P["canary"]), kind=0x86dd)
@attempt
def mapped_addresses_in_ipv6():
    a, b = "::ffff:" + OWN, "::ffff:127.0.0.1"
    return frames(ip6(a, b, 6, segment(a, b, port(), P["canary"], family=socket.AF_INET6)), kind=0x86dd)
@attempt
def routing_header():
    a, b = "fe80::2", "::1"
    t = segment(a, b, port(), P["canary"], family=socket.AF_INET6)
    return frames(ip6(a, "fe80::1", 43, bytes([6, 2, 0, 1, 0, 0, 0, 0]) + socket.inet_pton(socket.AF_INET6, b) + t), kind=0x86dd)
@attempt
def an_ack_out_of_nothing():
    return frames(ip4(OWN, HOST, 6, segment(OWN, HOST, port(), P["canary"], 0x18, b"D", ack=5)))
@attempt
def syn_with_data_and_fin():
    return frames(ip4(OWN, HOST, 6, segment(OWN, HOST, port(), P["canary"], 3, b"D")))
@attempt
def icmp_redirect():
    inner = syn(HOST, P["canary"])[:28]
    body = struct.pack("!BBH4s", 5, 1, 0, socket.inet_aton("127.0.0.1")) + inner
    body = body[:2] + struct.pack("!H", sum16(body)) + body[4:]
    frames(ip4(GATEWAY, OWN, 1, body))
    return frames(syn(HOST, P["canary"]))
@attempt
def raw_udp_from_port_53():
    return frames(ip4(OWN, HOST, 17, datagram(53, P["udp"], b"D")))
@attempt
def dhcp_as_a_server():
    return frames(ip4(GATEWAY, "255.255.255.255", 17, datagram(67, 68, b"\2" + b"\0" * 299)), ip4(OWN, HOST, 17, datagram(68, P["udp"], b"D")))

# ---- pings, which only a rule for them allows
def ping(address):
    body = struct.pack("!BBHHH", 8, 0, 0, 77, 1) + b"D" * 8
    body = body[:2] + struct.pack("!H", sum16(body)) + body[4:]
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as s:
        s.settimeout(.3)
        s.sendto(body, (address, 0))
        while True:
            a = s.recv(1000)
            if a[20] == 0:
                return a[20:].hex()
each({"ping_host": HOST, "ping_neighbour": "192.168.127.2", "ping_private": "10.0.0.1", "ping_metadata": "169.254.169.254", "ping_public": "93.184.215.14",
      "ping_multicast": "224.0.0.1"},
     lambda a: lambda: ping(a))
@attempt
def echo_from_another():
    body = struct.pack("!BBHHH", 8, 0, 0, 77, 1)
    body = body[:2] + struct.pack("!H", sum16(body)) + body[4:]
    return frames(ip4("192.168.127.2", HOST, 1, body))

# ---- the gateway's proxy
def proxy(head, body=b""):
    """What was answered, if it is a server's answer."""
    with socket.create_connection((GATEWAY, 3128), 100) as s:
        s.sendall(head.encode() + b"\r\n\r\n" + body)
        s.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: s.recv(65536), b""))
    return [line for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1 ") and line[9:12] not in (b"400", b"403", b"405", b"501")] and answer
each({"proxy_connect": f"CONNECT 127.0.0.1:{P['canary']} HTTP/1.1", "proxy_loopback": f"GET http://127.0.0.1:{P['canary']}/ HTTP/1.1",
      "proxy_localhost": f"GET http://localhost:{P['canary']}/ HTTP/1.1", "proxy_decimal": f"GET http://2130706433:{P['canary']}/ HTTP/1.1",
      "proxy_mapped": f"GET http://[::ffff:127.0.0.1]:{P['canary']}/ HTTP/1.1", "proxy_metadata": "GET http://169.254.169.254/ HTTP/1.1",
      "proxy_user": f"GET http://public.test@127.0.0.1:{P['canary']}/ HTTP/1.1", "proxy_host_header": f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{P['canary']}",
      "proxy_https": f"GET https://127.0.0.1:{P['canary']}/ HTTP/1.1", "proxy_file": "GET file:///etc/passwd HTTP/1.1",
      "proxy_smuggled": f"POST http://public.test/ HTTP/1.1\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://127.0.0.1:{P['canary']}/ HTTP/1.1"},
     lambda head: lambda: proxy(head))

# ---- names
def asked(name, kind=1, questions=1, flags=0x0100):
    """Its answers' addresses, as the gateway gives them."""
    labels = name if isinstance(name, bytes) else b"".join(bytes([len(l)]) + l for l in name.encode().split(b".")) + b"\0"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(3)
        s.sendto(struct.pack("!HHHHHH", 77, flags, questions, 0, 0, 0) + (labels + struct.pack("!HH", kind, 1)) * questions, (GATEWAY, 53))
        return s.recv(5000)
def found(name, kind=1, **more):
    try:
        a = asked(name, kind, **more)
    except TimeoutError:
        return None
    return a.hex() if struct.unpack("!H", a[6:8])[0] else None
each({"name_not_allowed": "elsewhere.test", "name_below": "sub.public.test", "name_above": "test", "name_localhost": "localhost", "name_with_a_dot": "localhost.",
      "name_of_an_address": "127.0.0.1", "name_decimal": "2130706433", "name_hex": "0x7f000001", "name_suffix": "public.test.elsewhere.test",
      "name_prefix": "xpublic.test", "name_metadata": "metadata.google.internal", "name_fullwidth": "\uff50ublic.test", "name_at": "public.test@elsewhere.test",
      "name_percent": "public%2etest", "name_slash": "public.test/x", "name_hash": "elsewhere.test#public.test", "name_colon": "public.test:80", "name_long": ".".join(["a" * 63] * 3 + ["b" * 61])},
     lambda n: lambda: found(n))
each({"name_with_nul": b"\x0epublic\0x.test.\0", "name_nul_behind": b"\x0epublic.test\0xx\x04test\0", "name_dot_in_label": b"\x0bpublic.test\0", "name_pointer_loop": b"\xc0\x0c",
      "name_label_beyond": b"\x3fpublic", "name_empty_label": b"\x06public\0\x04test\0"},
     lambda n: lambda: found(n))
@attempt
def two_questions():
    return found("elsewhere.test", questions=2)
@attempt
def zone_transfer():
    return found("public.test", 252)
@attempt
def an_answer_as_a_question():
    return found("public.test", flags=0x8180)
def by_name(name, n, family=socket.AF_INET):
    for a in socket.getaddrinfo(name, n, family, socket.SOCK_STREAM):
        try:
            return tcp(a[4][0], n, family)
        except OSError:
            pass
each({"name_leads_to_loopback": "inside.test", "name_leads_to_this_network": "lan.test", "name_leads_to_metadata": "meta.test", "name_leads_to_the_machine": "self.test",
      "name_in_capitals": "INSIDE.Test"},
     lambda n: lambda: by_name(n, P["canary"]))
each({"name_leads_to_loopback_6": "inside6.test", "name_leads_to_mapped_loopback": "mapped.test"}, lambda n: lambda: by_name(n, P["canary"], socket.AF_INET6))
@attempt
def a_name_with_a_second_address():
    """Of its two addresses one is loopback."""
    return by_name("both.test", P["canary"])
@attempt
def a_name_that_is_rebound():
    """Whose address the test changes all the time."""
    return next(filter(None, (by_name("rebound.test", P["canary"]) for i in range(20))), None)
@attempt
def address_of_a_name_at_another_port():
    socket.getaddrinfo("public.test", 443)
    return tcp("93.184.215.14", P["canary"])
@attempt
def address_before_its_name():
    return tcp("93.184.215.15", P["canary"])

told = {}
# A socket's own port is never the one that it tries: a connection of the machine to itself would answer.
open("/proc/sys/net/ipv4/ip_local_port_range", "w").write("10000 19999")
for name, run in ATTEMPTS.items():
    try:
        told[name] = repr(run() or "")[:200]
    except OSError as e:
        told[name] = "''"
try:
    told["control"] = repr(tcp(HOST, P["allowed"]))
    told["control_raw"] = repr(frames(syn(HOST, P["allowed"])))
    told["control_name"] = repr(found("public.test"))
except OSError as e:
    told["control"] = repr(e)
print(json.dumps(told))
'''
NAMES = """93.184.215.14 public.test
127.0.0.1 inside.test
192.168.127.254 lan.test
169.254.169.254 meta.test
192.168.127.3 self.test
::1 inside6.test
::ffff:127.0.0.1 mapped.test
93.184.215.16 both.test
127.0.0.1 both.test
127.0.0.1 elsewhere.test
127.0.0.1 sub.public.test
"""


def attempts():
    """Their names, as the program will tell them."""
    space = {"sys": None}
    head = PROGRAM[:PROGRAM.index("told = {}")].replace('open("/sys/class/net/eth0/address").read()', '"020000000001"')
    head = head.replace("json.loads(sys.argv[1])", "dict.fromkeys(['canary', 'allowed', 'udp'], 1) | {'outside': ''}")
    exec(compile(head, "the attempts", "exec"), space)
    return list(space["ATTEMPTS"])


class Datagrams:
    """Counts those that come, and answers each."""

    def __init__(self):
        self.count = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("0.0.0.0", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                _, who = self.socket.recvfrom(100)
            except OSError:
                return
            self.count += 1
            self.socket.sendto(b"reached", who)

    def close(self):
        self.socket.close()


def outside():
    """An address of this computer that is not loopback, if it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))
            return s.getsockname()[0]
        except OSError:
            return "192.168.127.9"


@pytest.fixture(scope="module")
def told(cloche, tmp_path_factory):
    """What each attempt has reached, and what the canaries counted."""
    allowed, canary, udp = Server(b"allowed"), Server(b"canary", everywhere=True), Datagrams()
    names = tmp_path_factory.mktemp("names") / "hosts"
    resolver = names.with_name("names.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", str(resolver), str(Path(__file__).with_name("names.c")), "-ldl"], check=True)
    names.write_text(NAMES)
    ends = threading.Event()

    def rebind():
        while not ends.wait(.02):
            for address in "93.184.215.17", "127.0.0.1":
                new = names.with_suffix(".new")
                new.write_text(f"{NAMES}{address} rebound.test\n")
                os.replace(new, names)
    threading.Thread(target=rebind, daemon=True).start()
    hosts = [f"127.0.0.1:{allowed.port}"] + [f"{n}:{canary.port}" for n in
             ("inside.test", "lan.test", "meta.test", "self.test", "inside6.test", "mapped.test", "both.test", "rebound.test")] + ["public.test:443"]
    words = [w for host in hosts for w in ("--allow-host", host)]
    ports = {"canary": canary.port, "allowed": allowed.port, "udp": udp.port, "outside": outside()}
    done = subprocess.run([cloche, "vm", "exec", *words, "--", "python3", "-c", PROGRAM, json.dumps(ports)],
                          capture_output=True, timeout=280, text=True,
                          env=os.environ | {"LD_PRELOAD": str(resolver), "TEST_NAMES": str(names)})
    ends.set()
    assert done.returncode == 0, done.stderr
    for s in allowed, canary, udp:
        s.close()
    return json.loads(done.stdout), canary.count, udp.count


def test_what_is_allowed_is_reached(told):
    """Else the attempts would say nothing."""
    said = told[0]
    assert said["control"] == "b'allowed'" and said["control_raw"] != "None" and said["control_name"] != "None"


@pytest.mark.parametrize("name", attempts())
def test_an_attempt_reaches_nothing(told, name):
    assert told[0][name] == "''"


def test_no_canary_has_heard_of_any(told):
    assert told[1:] == (0, 0)


def test_a_second_machine_is_no_neighbour(cloche):
    """It listens at all of its addresses; the first one tries its neighbours'."""
    allowed = Server(b"allowed")
    listens = "import socket,time; s = socket.create_server(('0.0.0.0', 8000)); print('listens', flush=True)\nwhile True: s.accept()[0].send(b'reached')"
    tries = f"""import socket
print(socket.create_connection(("{HOST}", {allowed.port}), 100) and "out")
all = dict()
for n in [2, *range(4, 21), 100, 253]:  # at once: each waits for an answer to ARP that nobody gives
    s = socket.socket(); s.setblocking(False); all[s] = n
    s.connect_ex((f"192.168.127.{{n}}", 8000))
import select, time
until = time.monotonic() + 8
while all and time.monotonic() < until:
    for s in select.select([], all, [], 1)[1]:
        n = all.pop(s)
        if s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0: print("reached", n)
print("end")"""
    words = ["--allow-host", f"127.0.0.1:{allowed.port}", "--", "python3", "-c"]
    with subprocess.Popen([cloche, "vm", "exec", *words, listens], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "listens\n"
        done = subprocess.run([cloche, "vm", "exec", *words, tries], capture_output=True, timeout=280, text=True)
        other.terminate()
    allowed.close()
    assert done.stdout == "out\nend\n", done.stderr


def test_the_servers_own_port_is_never_reached(cloche, vault, tmp_path):
    """Though the policy names it: neither directly nor by the proxy."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    policy_in(tmp_path, {"vm": {"network": "always"}, "network": {"allowPrivate": [f"127.0.0.1:{port}", f"localhost:{port}"]}})
    with Cloche([cloche, "serve", "--vault", str(vault), "--listen", f"127.0.0.1:{port}"]) as server:
        direct = server.http.post("/vm/exec", json={"network": True, "command": f"curl -sS http://{HOST}:{port}/health"}).json()
        assert direct["exitCode"] == 7 and "itself listens" in direct["networkRefused"][0]
        by_proxy = server.http.post("/vm/exec", json={
            "command": f"curl -sS -x http://192.168.127.1:3128 http://127.0.0.1:{port}/health http://localhost:{port}/health"}).json()
        assert by_proxy["stdout"].count("cloche: ") == 2 and "ok" not in by_proxy["stdout"]
