"""Programs of the image against real servers on loopback: curl, wget, git, pip, apt, ssh, Python, and
what shows the network's state."""
import hashlib
import re
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

import machine_servers
import needs
from machine_doors import needs_image
from machine_servers import BLOCK, NAME, Server, conversation, md5_of, sha256_of
from wire import Stdio, call, structured

pytestmark = needs_image

PATIENCE_S = 600


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return machine_servers.Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def web():
    with Server() as server:
        yield server


@pytest.fixture
def secure(authority):
    with Server(authority.server()) as server:
        yield server


def execute(cloche, script, *ports, stdin=b""):
    """A bash script in a machine that may reach these ports of this computer."""
    options = [word for port in ports for word in ("--allow-host", f"127.0.0.1:{port}")]
    return subprocess.run([cloche, "vm", "exec", *options, "--", "bash", "-ec", script], input=stdin,
                          capture_output=True, timeout=PATIENCE_S)


def said(cloche, script, *ports, **more):
    done = execute(cloche, script, *ports, **more)
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout.decode().strip()


# --- what is there ---------------------------------------------------------------------

PROGRAMS = "curl wget git ssh scp ssh-keygen pip apt apt-get ss ip ping dig getent openssl nc"


def test_the_programs_are_there_and_are_debians(cloche):
    assert said(cloche, f"""for p in {PROGRAMS}; do command -v $p >/dev/null || echo "no $p"; done
        readlink -f "$(command -v wget)" "$(command -v ip)" "$(command -v ping)"
        wget --version | head -1 | cut -d' ' -f1-2""") == "/usr/bin/wget\n/usr/bin/ip\n/usr/bin/ping\nGNU Wget"


def test_the_state_of_the_network_can_be_seen(cloche):
    with conversation(lambda connection: connection.recv(1)) as port:
        lines = said(cloche, f"""
            ip -br -4 address show eth0
            ip route show default
            ping -c 1 -q 192.168.127.1 | grep -o '1 received'
            dig +short {NAME}
            getent hosts {NAME} | tr -s ' '
            exec 3<>/dev/tcp/{NAME}/{port}
            ss -Htn state established | tr -s ' ' | cut -d' ' -f3,4
            """, port).split("\n")
    assert lines[0].split()[1:] == ["UP", "192.168.127.3/24"]
    assert lines[1].startswith("default via 192.168.127.1 dev eth0")
    assert lines[2:5] == ["1 received", "192.168.127.254", f"192.168.127.254 {NAME}"]
    assert lines[5].startswith("192.168.127.3:") and lines[5].endswith(f" 192.168.127.254:{port}")


# --- files -----------------------------------------------------------------------------

@pytest.mark.parametrize("size", [0, 1, 1459, 65536, 65537, 3_000_001, 100_000_000])
def test_curl_gets_every_byte(cloche, web, size):
    assert said(cloche, f"curl -sf {web.url}/bytes/{size} | md5sum", web.port) == f"{md5_of(size)}  -"


def test_curl_sends_every_byte(cloche):
    got, size = hashlib.sha256(), 5_000_000

    def serve(connection):
        reader = connection.makefile("rb")
        while reader.readline().strip():
            pass
        left = size
        while left:
            part = reader.read(min(left, 1 << 16))
            got.update(part)
            left -= len(part)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntook")

    with conversation(serve) as port:
        told = said(cloche, f"head -c {size} /dev/urandom >/tmp/f; sha256sum </tmp/f; curl -sf -H Expect: "
                    f"-T /tmp/f http://{NAME}:{port}/up", port)
    assert told == f"{got.hexdigest()}  -\ntook"


def test_wget_and_python_get_it_too(cloche, web):
    assert said(cloche, f"""
        wget -q -O - {web.url}/bytes/200000 | sha256sum
        python3 -c 'import urllib.request as u, hashlib
print(hashlib.sha256(u.urlopen("{web.url}/bytes/200000").read()).hexdigest())'""", web.port) == \
        f"{sha256_of(200000)}  -\n{sha256_of(200000)}"


# --- TLS -------------------------------------------------------------------------------

def test_tls_1_3_with_an_authority_of_the_caller(cloche, secure, authority):
    assert said(cloche, f"""cat >/tmp/ca.pem
        curl -s --cacert /tmp/ca.pem -w '%{{http_code}} %{{ssl_verify_result}}\\n' -o /tmp/f {secure.url}/bytes/1000000
        sha256sum </tmp/f
        openssl s_client -brief -verify_return_error -CAfile /tmp/ca.pem -connect {NAME}:{secure.port} \\
            </dev/null 2>&1 | grep -E '^(Protocol|Verification)'""", secure.port, stdin=authority.pem) == \
        f"200 0\n{sha256_of(1000000)}  -\nProtocol version: TLSv1.3\nVerification: OK"


def test_an_authority_that_nobody_named_is_refused_by_all(cloche, secure):
    secure.files["/simple/x/"] = b""
    told = said(cloche, f"""
        curl -sS {secure.url}/bytes/1 || echo curl $?
        wget -q {secure.url}/bytes/1 || echo wget $?
        git clone -q {secure.url}/git/project.git || echo git $?
        python3 -c 'import urllib.request as u; u.urlopen("{secure.url}/bytes/1")' || echo python $?""", secure.port)
    assert told == "curl 60\nwget 5\ngit 128\npython 1"
    assert secure.asked == []


# --- git, pip, apt, ssh ----------------------------------------------------------------

def test_git_clones_and_pushes(cloche, tmp_path):
    machine_servers.git_repository(tmp_path / "git", {"hello.txt": "hello\n"})
    with Server(git=tmp_path / "git") as server:
        assert said(cloche, f"""cd /tmp; git clone -q {server.url}/git/project.git; cd project; cat hello.txt
            git config user.name x; git config user.email x@localhost
            head -c 2000000 /dev/urandom >large; git add large; git commit -qm second; git push -q
            git log --format=%s origin/main""", server.port) == "hello\nsecond\nfirst"
    told = subprocess.run(["git", "-c", "safe.directory=*", "log", "--format=%s", "main"],
                          cwd=tmp_path / "git/project.git", capture_output=True, check=True, text=True)
    assert told.stdout == "second\nfirst\n"


def test_pip_installs_from_an_index(cloche, web):
    web.files.update(machine_servers.python_index("testgreeting", "1.2", "def greet():\n    return 'greeted'\n"))
    assert said(cloche, f"""pip install -q --index-url {web.url}/simple --trusted-host {NAME} testgreeting
        python3 -c 'import testgreeting; print(testgreeting.greet())'
        pip list --format=freeze | grep testgreeting""", web.port) == "greeted\ntestgreeting==1.2"


def test_apt_updates_and_installs(cloche, web):
    web.files.update(machine_servers.apt_repository("test-greeting", "1.2", {
        "./usr/bin/test-greeting": "#!/bin/sh\necho greeted\n", "./usr/share/man/man1/test-greeting.1": "left out"}))
    told = said(cloche, f"""
        rm /etc/apt/sources.list.d/*; echo 'deb [trusted=yes] {web.url}/apt stable main' >/etc/apt/sources.list
        apt-get update -q 2>&1 | tail -1
        apt-get install -qy test-greeting >/tmp/log 2>&1 || cat /tmp/log
        test-greeting; dpkg-query -W -f '${{Version}}\n' test-greeting
        ls /usr/share/man/man1/test-greeting.1 2>&1 | grep -o 'No such file.*'
        apt-get remove -qy test-greeting >/tmp/log 2>&1; test -e /usr/bin/test-greeting || echo gone""", web.port)
    assert told.split("\n")[1:] == ["greeted", "1.2", "No such file or directory", "gone"], told


def test_apt_refuses_a_repository_without_a_signature(cloche, web):
    web.files.update(machine_servers.apt_repository("test-greeting", "1.2", {}))
    done = execute(cloche, f"""rm /etc/apt/sources.list.d/*
        echo 'deb {web.url}/apt stable main' >/etc/apt/sources.list; apt-get update -q""", web.port)
    assert done.returncode == 100 and b"is not signed" in done.stdout + done.stderr


@pytest.fixture(scope="module")
def signers():
    """Two. In short paths, since an agent listens there."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other, \
            machine_servers.Signer(one, "ours") as ours, machine_servers.Signer(other, "another") as another:
        yield ours, another


needs_gpg = needs.installed(*(Path("/usr/bin") / name for name in ("gpg", "gpg-agent", "gpgconf")), by="deps/apt test")
SIGNED = """rm /etc/apt/sources.list.d/*; cat >/etc/apt/keyrings/test.asc
    echo 'deb [signed-by=/etc/apt/keyrings/test.asc] {}/apt stable main' >/etc/apt/sources.list"""


@needs_gpg
@pytest.mark.parametrize("inline", [True, False])
def test_apt_installs_from_a_signed_repository(cloche, web, signers, inline):
    ours, _ = signers
    web.files.update(ours.sign(machine_servers.apt_repository("test-greeting", "1.2", {
        "./usr/bin/test-greeting": "#!/bin/sh\necho greeted\n"}), inline))
    told = said(cloche, SIGNED.format(web.url) + """
        apt-get update -q >/tmp/log 2>&1 || cat /tmp/log; grep -c '^[WE]:' /tmp/log || true
        apt-get install -qy test-greeting >/tmp/log 2>&1 || cat /tmp/log; test-greeting""", web.port, stdin=ours.key)
    assert told == "0\ngreeted"


def altered(files):
    """Names another list than the one that was signed."""
    name = "/apt/dists/stable/InRelease"
    return files | {name: files[name].replace(b"Origin: test", b"Origin: evil")}


def exchanged(files):
    """Has another package than the one that the signed list names."""
    name = "/apt/pool/test-greeting.deb"
    return files | {name: files[name][:-1] + b"x"}


@needs_gpg
@pytest.mark.parametrize("wrong, why", [
    (lambda files, ours, another: another.sign(files), "Missing key"),
    (lambda files, ours, another: altered(ours.sign(files)), "has been manipulated"),
    (lambda files, ours, another: ours.sign(files) | {"/apt/dists/stable/main/binary-riscv64/Packages.gz": b"x",
                                                      "/apt/dists/stable/main/binary-riscv64/Packages": b"x"},
     "Hash Sum mismatch|unexpected size"),
    (lambda files, ours, another: exchanged(ours.sign(files)), "Hash Sum mismatch"),
], ids=["another key", "altered", "another list", "another package"])
def test_apt_refuses_what_is_not_signed_as_it_should(cloche, web, signers, wrong, why):
    ours, another = signers
    web.files.update(wrong(machine_servers.apt_repository("test-greeting", "1.2", {
        "./usr/bin/test-greeting": "#!/bin/sh\necho greeted\n"}), ours, another))
    done = execute(cloche, SIGNED.format(web.url) + "\napt-get update -q && apt-get install -qy test-greeting",
                   web.port, stdin=ours.key)
    assert done.returncode == 100
    assert re.search(why, (done.stdout + done.stderr).decode()), done.stdout[-2000:] + done.stderr[-2000:]


def test_ssh_speaks_to_a_server(cloche):
    heard = []

    def serve(connection):
        connection.sendall(b"SSH-2.0-test\r\n")
        heard.append(connection.makefile("rb").readline())

    with conversation(serve) as port:
        done = execute(cloche, f"ssh -o BatchMode=yes -p {port} {NAME} true", port)
    assert done.returncode == 255
    assert heard[0].startswith(b"SSH-2.0-OpenSSH_")


# --- peers that are slow, or close one direction -----------------------------------------

CLIENT = f"""import socket, sys
s = socket.create_connection(("{NAME}", int(sys.argv[1])))
"""


def test_an_answer_comes_after_the_machine_has_closed_its_direction(cloche):
    def serve(connection):
        got = b"".join(iter(lambda: connection.recv(65536), b""))
        connection.sendall(hashlib.sha256(got).hexdigest().encode())

    with conversation(serve) as port:
        assert said(cloche, f"""python3 -c '{CLIENT}
s.sendall(bytes(1000000)); s.shutdown(socket.SHUT_WR)
print(b"".join(iter(lambda: s.recv(4096), b"")).decode())' {port}""", port) == \
            hashlib.sha256(bytes(1000000)).hexdigest()


def test_the_machine_sends_after_its_peer_has_closed_its_direction(cloche):
    got = []

    def serve(connection):
        connection.sendall(b"all that I say")
        connection.shutdown(socket.SHUT_WR)
        got.append(sum(len(part) for part in iter(lambda: connection.recv(65536), b"")))

    with conversation(serve) as port:
        assert said(cloche, f"""python3 -c '{CLIENT}
print(b"".join(iter(lambda: s.recv(4096), b"")).decode()); s.sendall(bytes(1000000)); s.close()' {port}""",
                    port) == "all that I say"
    assert got == [1000000]


def test_a_peer_of_single_bytes_and_bursts(cloche):
    """Each piece is sent once the machine has the one before it."""
    pieces = [b"x"] * 50 + [BLOCK[:200_000]] + [b"y"] * 10 + [BLOCK]

    def serve(connection):
        for piece in pieces:
            connection.sendall(len(piece).to_bytes(4, "big") + piece)
            assert connection.recv(1) == b"+"

    with conversation(serve) as port:
        assert said(cloche, f"""python3 -c '{CLIENT}import hashlib
digest, f = hashlib.sha256(), s.makefile("rb")
while size := f.read(4):
    digest.update(f.read(int.from_bytes(size, "big"))); s.sendall(b"+")
print(digest.hexdigest())' {port}""", port) == hashlib.sha256(b"".join(pieces)).hexdigest()


def test_a_peer_that_reads_late_gets_everything(cloche):
    """It reads only after the machine could send no more without that."""
    got = hashlib.sha256()

    def serve(connection):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        with connection.makefile("rb") as reader:
            reader.read(5)
            while part := reader.read(65536):
                got.update(part)

    with conversation(serve) as port:
        sent = said(cloche, f"""python3 -c '{CLIENT}import hashlib, select
data, at = bytes(range(256)) * 40000, 0
s.send(b"full\\n"); s.setblocking(False)
while select.select([], [s], [], 0)[1] and at < len(data):
    at += s.send(data[at:at + 65536])
s.setblocking(True); s.sendall(data[at:]); s.shutdown(socket.SHUT_WR); s.recv(1)
print(hashlib.sha256(data).hexdigest())' {port}""", port)
    assert sent == got.hexdigest()


# --- the person's own authority ----------------------------------------------------------

def trust(tmp_path, text):
    """The configuration (conftest.own_folders) has these certificates for machines."""
    folder = tmp_path / "config" / "cloche"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "machine-certificates.pem").write_bytes(text)


def test_the_persons_authority_is_trusted_by_all(cloche, authority, tmp_path):
    key = (authority.folder / "server.pem").read_bytes()
    trust(tmp_path, b"subject=Test\n" + authority.pem + key[:key.index(b"-----BEGIN CERTIFICATE")])
    machine_servers.git_repository(tmp_path / "git", {"hello.txt": "hello\n"})
    with Server(authority.server(), git=tmp_path / "git") as server:
        server.files.update(machine_servers.python_index("testgreeting", "1.2", "WORD = 'greeted'\n"))
        server.files.update(machine_servers.apt_repository("test-greeting", "1.2", {"./usr/bin/test-greeting": "#!/bin/sh\n"}))
        told = said(cloche, f"""cd /tmp
            curl -sf {server.url}/bytes/1000 | sha256sum
            wget -q -O - {server.url}/bytes/1000 | sha256sum
            python3 -c 'import urllib.request as u; print(len(u.urlopen("{server.url}/bytes/1000").read()))'
            git clone -q {server.url}/git/project.git; cat project/hello.txt
            pip install -q --index-url {server.url}/simple testgreeting
            python3 -c 'import testgreeting; print(testgreeting.WORD)'
            rm /etc/apt/sources.list.d/*; echo 'deb [trusted=yes] {server.url}/apt stable main' >/etc/apt/sources.list
            apt-get update -q >/tmp/log 2>&1 || cat /tmp/log; apt-cache search test-greeting
            grep -rl 'PRIVATE KEY' /usr/local/share /etc/ssl/certs || echo no key""", server.port)
    assert told.split("\n") == [f"{sha256_of(1000)}  -"] * 2 + \
        ["1000", "hello", "greeted", "test-greeting - of a test", "no key"]


def test_what_debian_makes_of_it_is_the_same(cloche, authority, tmp_path):
    """Several; and update-ca-certificates writes a bundle with the same certificates."""
    other = tmp_path / "other"
    other.mkdir()
    trust(tmp_path, authority.pem + machine_servers.Authority(other, "Another").pem)
    assert said(cloche, """names() { openssl storeutl -noout -text -certs /etc/ssl/certs/ca-certificates.crt |
            grep -o 'Subject: .*' | sort; }
        names >/tmp/ours; grep -c -e 'CN=Test authority' -e 'CN=Another' /tmp/ours
        update-ca-certificates >/dev/null; names >/tmp/theirs; cmp /tmp/ours /tmp/theirs && echo same""") == \
        "2\nsame"


def test_an_agents_machine_trusts_it_too(cloche, vault, authority, tmp_path):
    trust(tmp_path, authority.pem)
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        told = structured(agent.ask(call("vm_exec", {"command": "cat /usr/local/share/ca-certificates/*"})))
    assert told["stdout"].encode() == authority.pem


@pytest.mark.parametrize("text, why", [
    (b"not a certificate\n", "no certificate in PEM"),
    (b"-----BEGIN CERTIFICATE-----\nMIIB\n", "no END line"),
    (b"-----BEGIN CERTIFICATE-----\nxx x\n-----END CERTIFICATE-----\n", "not valid"),
    (b"-----BEGIN CERTIFICATE-----\n" + b"M" * 80_000 + b"\n-----END CERTIFICATE-----\n", "certificates"),
])
def test_a_file_that_has_no_certificates_starts_no_machine(cloche, tmp_path, text, why):
    trust(tmp_path, text)
    done = execute(cloche, "true")
    assert done.returncode == 125
    assert b"machine-certificates.pem" in done.stderr and why.encode() in done.stderr
