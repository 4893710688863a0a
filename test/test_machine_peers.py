"""Programs of the image and servers that others wrote (deps/debian-machine.in): nginx and an SSH
server, on this computer's loopback."""
import contextlib
import getpass
import hashlib
import os
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

import machine_servers
import needs
from conftest import ROOT
from machine import PEERS, native
from machine_doors import needs_image
from machine_servers import BLOCK, NAME, conversation

pytestmark = [needs_image, needs.installed(PEERS / "native/usr/sbin/nginx", PEERS / "native/usr/sbin/dropbear",
                                           by="deps/fetch test")]

PATIENCE_S = 600
DATA = BLOCK * 5 + b"the end"
SHA256 = hashlib.sha256(DATA).hexdigest()


def said(cloche, script, port, stdin=b""):
    done = subprocess.run([cloche, "vm", "exec", "--allow-host", f"127.0.0.1:{port}", "--", "bash", "-ec", script],
                          input=stdin, capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout.decode().strip()


# --- nginx -----------------------------------------------------------------------------

CONFIGURATION = """
daemon off; master_process off; pid {0}/pid; error_log {0}/errors;
events {{ worker_connections 512; }}
http {{
    access_log {0}/requests;
    client_body_temp_path {0}/body; proxy_temp_path {0}/proxy; fastcgi_temp_path {0}/fastcgi;
    uwsgi_temp_path {0}/uwsgi; scgi_temp_path {0}/scgi;
    server {{
        listen 127.0.0.1:{1} {2}; root {0}/files; {3}
        gzip on; gzip_types *;
    }}
}}
"""


@contextlib.contextmanager
def nginx(folder, kind="", more=""):
    """Serves DATA as /data; yields its port. Another program may take the port before it does."""
    (folder / "files").mkdir(exist_ok=True)
    (folder / "files/data").write_bytes(DATA)
    for _ in range(20):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        (folder / "conf").write_text(CONFIGURATION.format(folder, port, kind, more))
        with subprocess.Popen(native("../sbin/nginx", "-c", folder / "conf", "-e", folder / "errors")) as server:
            try:
                if comes_up(server, port):
                    yield port
                    return
            finally:
                server.terminate()
    pytest.fail((folder / "errors").read_text()[-2000:])


def comes_up(server, port):
    late = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < late:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 10).close()
            return True
    return False


def test_http_1_1_of_nginx(cloche, tmp_path):
    with nginx(tmp_path) as port:
        url = f"http://{NAME}:{port}/data"
        assert said(cloche, f"""
            curl -sf {url} | sha256sum
            curl -sf --compressed {url} | sha256sum
            wget -q -O - {url} | sha256sum
            curl -sf -r 1000000- {url} | wc -c
            curl -sf -o /tmp/1 {url} -o /tmp/2 {url} -w '%{{num_connects}}\\n'; cmp /tmp/1 /tmp/2
            for i in $(seq 20); do curl -sf {url} -o /tmp/p$i & done; wait; sha256sum /tmp/p* | cut -d' ' -f1
            """, port).split("\n") == [f"{SHA256}  -"] * 3 + [str(len(DATA) - 1000000), "1", "0"] + [SHA256] * 20
    requests = (tmp_path / "requests").read_text().splitlines()
    assert len(requests) == 26 and all("HTTP/1.1" in line for line in requests)


def test_tls_1_3_and_http_2_of_nginx(cloche, tmp_path):
    authority = machine_servers.Authority(tmp_path)
    pem = tmp_path / "server.pem"
    with nginx(tmp_path, "ssl", f"http2 on; ssl_protocols TLSv1.3; ssl_certificate {pem}; ssl_certificate_key {pem};") as port:
        url = f"https://{NAME}:{port}/data"
        assert said(cloche, f"""cat >/tmp/ca.pem
            curl -sf --cacert /tmp/ca.pem {url} -o /tmp/1 -w '%{{http_version}}\\n'; sha256sum </tmp/1
            curl -sf --cacert /tmp/ca.pem -Z --parallel-max 8 -o '/tmp/m#1' "{url}?[1-8]"; sha256sum /tmp/m* | cut -d' ' -f1 | sort -u
            curl -sf --cacert /tmp/ca.pem --http1.1 {url} | sha256sum
            wget -q --ca-certificate=/tmp/ca.pem -O - {url} | sha256sum
            curl -s --cacert /tmp/ca.pem --tls-max 1.2 {url} || echo $?
            """, port, authority.pem).split("\n") == ["2", f"{SHA256}  -", SHA256, f"{SHA256}  -", f"{SHA256}  -", "35"]
    requests = (tmp_path / "requests").read_text().splitlines()
    assert sum("HTTP/2.0" in line for line in requests) == 9 and len(requests) == 11


# --- ssh -------------------------------------------------------------------------------

def is_ours_alone(folder):
    """dropbear takes keys only from where no other user could have written them."""
    return all(s.st_uid in (0, os.getuid()) and not s.st_mode & 0o022
               for s in (path.stat() for path in (folder, *folder.parents)))


@pytest.fixture
def private():
    candidates = [Path(os.environ.get("XDG_RUNTIME_DIR", "/nowhere")), ROOT / "build", Path("/run"), Path.home()]
    for folder in candidates:
        if folder.is_dir() and is_ours_alone(folder.resolve()) and os.access(folder, os.W_OK):
            with tempfile.TemporaryDirectory(dir=folder.resolve(), prefix=".ssh-test-") as made:
                yield Path(made)
            return
    needs.skip("has no folder that this user alone can write to")


@contextlib.contextmanager
def ssh_server(folder):
    """A dropbear for each connection; yields its port and the private key that it lets in."""
    from cryptography.hazmat.primitives import serialization as forms
    from cryptography.hazmat.primitives.asymmetric import ed25519
    key = ed25519.Ed25519PrivateKey.generate()
    allowed = folder / "authorized_keys"
    allowed.write_bytes(key.public_key().public_bytes(forms.Encoding.OpenSSH, forms.PublicFormat.OpenSSH) + b"\n")
    allowed.chmod(0o600)
    subprocess.run(native("dropbearkey", "-t", "ed25519", "-f", folder / "host"), check=True, capture_output=True)
    command = native("../sbin/dropbear", "-i", "-E", "-s", "-r", folder / "host", "-D", folder)

    def serve(connection):
        with open(folder / "log", "ab") as log:
            subprocess.run(command, stdin=connection, stdout=connection, stderr=log)

    with conversation(serve) as port:
        yield port, key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.OpenSSH, forms.NoEncryption())


def test_ssh_runs_a_command_and_git_clones_over_it(cloche, private, tmp_path):
    machine_servers.git_repository(tmp_path / "git", {"hello.txt": "hello\n"})
    with ssh_server(private) as (port, key):
        me = f"{getpass.getuser()}@{NAME}"
        assert said(cloche, f"""umask 077; mkdir -p ~/.ssh; cat >~/.ssh/id_ed25519
            printf 'Host *\\n StrictHostKeyChecking accept-new\\n BatchMode yes\\n LogLevel ERROR\\n' >~/.ssh/config
            ssh -p {port} {me} 'echo there; exit 3' || echo $?
            head -c 1000000 /dev/urandom >/tmp/f; sha256sum </tmp/f >/tmp/one
            ssh -p {port} {me} cat </tmp/f | sha256sum | cmp - /tmp/one && echo same
            git clone -q ssh://{me}:{port}{tmp_path}/git/project.git /tmp/project; cat /tmp/project/hello.txt
            ssh-keygen -q -t ed25519 -N '' -f /tmp/other
            ssh -p {port} -o IdentitiesOnly=yes -o IdentityFile=/tmp/other {me} true 2>/dev/null || echo $?""",
                    port, key).split("\n") == ["there", "3", "same", "hello", "255"]
