"""Servers on this computer's loopback for programs of a machine: HTTP and HTTPS with a certificate
of the test's own authority, files of any size, git, an index of Python packages, an apt repository."""
import contextlib
import datetime
import gzip
import hashlib
import http.server
import io
import ipaddress
import os
import socket
import ssl
import subprocess
import tarfile
import threading
import zipfile
from functools import lru_cache
from urllib.parse import urlsplit

NAME = "host.cloche.internal"  # this computer's loopback, as machines see it
BLOCK = hashlib.shake_256(b"bytes").digest(1 << 20)


@lru_cache
def sum_of(size, kind):
    """The machine computes MD5 six times as fast as SHA-256: for what is large."""
    digest = hashlib.new(kind)
    for at in range(0, size, len(BLOCK)):
        digest.update(BLOCK[:min(len(BLOCK), size - at)])
    return digest.hexdigest()


def sha256_of(size):
    return sum_of(size, "sha256")


def md5_of(size):
    return sum_of(size, "md5")


class Handler(http.server.BaseHTTPRequestHandler):
    """/bytes/N; /git/... by git's own http-backend; else files of server.files."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        path = urlsplit(self.path).path
        self.server.asked.append(path)
        if path.startswith("/git/"):
            return self.git()
        if path.startswith("/bytes/"):
            return self.bytes(int(path.rsplit("/", 1)[1]))
        return self.file(self.server.files.get(path))

    def do_HEAD(self):
        self.do_GET()

    def do_POST(self):
        self.git()

    def begin(self, status, size, kind="application/octet-stream"):
        self.send_response(status)
        self.send_header("Content-Length", str(size))
        self.send_header("Content-Type", kind)
        self.end_headers()
        return self.command != "HEAD"

    def bytes(self, size):
        if self.begin(200, size):
            for at in range(0, size, len(BLOCK)):
                self.wfile.write(BLOCK[:min(len(BLOCK), size - at)])

    def file(self, data):
        kind = "text/html" if self.path.endswith("/") else "application/octet-stream"
        if self.begin(404 if data is None else 200, len(data or b""), kind):
            self.wfile.write(data or b"")

    def body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def git(self):
        url = urlsplit(self.path)
        environment = {**os.environ, "GIT_PROJECT_ROOT": str(self.server.git), "GIT_HTTP_EXPORT_ALL": "1",
                       "PATH_INFO": url.path.removeprefix("/git"), "QUERY_STRING": url.query,
                       "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                       "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                       "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "REMOTE_USER": "test",
                       "REMOTE_ADDR": "127.0.0.1"}
        done = subprocess.run(["git", "http-backend"], input=self.body(), env=environment,
                              capture_output=True, timeout=60)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        if self.begin(int(fields.get("Status", "200").split()[0]), len(body), fields["Content-Type"]):
            self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, context=None, git=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked, self.git, self.context = {}, [], git, context
        self.port = self.server_address[1]
        self.url = f"http{'s' if context else ''}://{NAME}:{self.port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client_address):
        """In the connection's own thread: a handshake holds up no other."""
        with contextlib.suppress(OSError):  # a peer that does not want the certificate, or goes away
            if self.context:
                request = self.context.wrap_socket(request, server_side=True)
            super().finish_request(request, client_address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


@contextlib.contextmanager
def conversation(serve):
    """A server that handles one connection after the other by serve(socket); yields its port. Those that
    were accepted have been handled at its end."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    serve(connection)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(60)
        listener.close()


# --- an authority ----------------------------------------------------------------------

class Authority:
    """`pem` is its certificate; server() a context of TLS 1.3 for NAME and 127.0.0.1."""

    def __init__(self, folder, name="Test authority"):
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        self.folder = folder
        start, end = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=n) for n in (-2, 30))

        def make(subject, key, issuer, issuer_key, extensions):
            names = [x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, n)]) for n in (subject, issuer)]
            builder = x509.CertificateBuilder().subject_name(names[0]).issuer_name(names[1]) \
                .public_key(key.public_key()).serial_number(x509.random_serial_number()) \
                .not_valid_before(start).not_valid_after(end)
            for extension, critical in extensions:
                builder = builder.add_extension(extension, critical)
            return builder.sign(issuer_key, hashes.SHA256())

        def pem(certificate):
            return certificate.public_bytes(serialization.Encoding.PEM)

        own, leaf = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        identifier = x509.SubjectKeyIdentifier.from_public_key(own.public_key())
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        self.pem = pem(make(name, own, name, own, [
            (x509.BasicConstraints(True, None), True), (usage, True), (identifier, False)]))
        certificate = pem(make(NAME, leaf, name, own, [
            (x509.BasicConstraints(False, None), True),
            (x509.SubjectAlternativeName([x509.DNSName(NAME), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False),
            (x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), False)]))
        key = leaf.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                 serialization.NoEncryption())
        (folder / "server.pem").write_bytes(key + certificate)

    def server(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(self.folder / "server.pem")
        return context


# --- what is served --------------------------------------------------------------------

def git_repository(folder, files):
    """A bare repository FOLDER/project.git, which takes pushes; its files with their texts."""
    work, bare = folder / "work", folder / "project.git"
    work.mkdir(parents=True)
    for name, text in files.items():
        (work / name).write_text(text)
    own = ["-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "safe.directory=*"]
    for where, *words in (
            (work, "init", "-q", "-b", "main"), (work, "add", "."), (work, "commit", "-q", "-m", "first"),
            (folder, "clone", "-q", "--bare", "work", "project.git"),
            (bare, "config", "http.receivepack", "true")):
        subprocess.run(["git", *own, *words], cwd=where, check=True, capture_output=True)


def wheel(name, version, source):
    """The file name and bytes of a wheel with one module."""
    info, packed = f"{name}-{version}.dist-info", io.BytesIO()
    files = {f"{name}.py": source, f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\n"
             "Root-Is-Purelib: true\nTag: py3-none-any\n",
             f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"}
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(packed, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    return f"{name}-{version}-py3-none-any.whl", packed.getvalue()


def python_index(name, version, source):
    """Files of an index with one package (PEP 503)."""
    file, data = wheel(name, version, source)
    link = f'<a href="/files/{file}#sha256={hashlib.sha256(data).hexdigest()}">{file}</a>'
    return {f"/simple/{name}/": f"<!DOCTYPE html><html><body>{link}</body></html>".encode(),
            f"/files/{file}": data}


def _packed(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o755
            archive.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


def deb(control, files):
    """A binary package: an ar archive of three members."""
    out = b"!<arch>\n"
    for name, data in (("debian-binary", b"2.0\n"), ("control.tar.gz", _packed({"./control": control})),
                       ("data.tar.gz", _packed(files))):
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
    return out


def apt_repository(name, version, files, architecture="riscv64"):
    """Files of a repository with one package; unsigned, so for `[trusted=yes]`."""
    control = f"Package: {name}\nVersion: {version}\nArchitecture: {architecture}\n" \
              "Maintainer: Test <test@localhost>\nDescription: of a test\n"
    data = deb(control, files)
    packages = (control + f"Filename: pool/{name}.deb\nSize: {len(data)}\n"
                f"SHA256: {hashlib.sha256(data).hexdigest()}\n").encode()
    lists = {f"main/binary-{architecture}/Packages": packages,
             f"main/binary-{architecture}/Packages.gz": gzip.compress(packages)}
    release = f"Origin: test\nSuite: stable\nCodename: stable\nArchitectures: {architecture}\n" \
              "Components: main\nDate: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n" + \
        "".join(f" {hashlib.sha256(d).hexdigest()} {len(d)} {n}\n" for n, d in lists.items())
    return {"/apt/dists/stable/Release": release.encode(), f"/apt/pool/{name}.deb": data,
            **{f"/apt/dists/stable/{n}": d for n, d in lists.items()}}


class Signer:
    """A key of gpg; `key` is its public part, armoured."""

    def __init__(self, folder, name):
        self.home = folder
        self._gpg("--quick-generate-key", f"{name} <{name}@localhost>", "ed25519", "sign", "never")
        self.key = self._gpg("--armor", "--export")

    def _gpg(self, *words, data=b""):
        own = ["gpg", "--homedir", self.home, "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]
        return subprocess.run([*own, *words], input=data, check=True, capture_output=True, timeout=120).stdout

    def sign(self, files, inline=True):
        """Of a repository, with a signature in InRelease, or beside Release."""
        release = files["/apt/dists/stable/Release"]
        if inline:
            return files | {"/apt/dists/stable/InRelease": self._gpg("--clearsign", data=release)}
        return files | {"/apt/dists/stable/Release.gpg": self._gpg("--armor", "--detach-sign", data=release)}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["gpgconf", "--homedir", self.home, "--kill", "gpg-agent"], capture_output=True)
