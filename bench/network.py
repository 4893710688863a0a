"""The network of the Linux machine: bytes both ways, connections, and what it costs to have one; pip.
qemu-riscv64 runs the same programs as processes of this computer, with its own sockets."""
import http.server
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from sides import BUILD, CLOCHE, ROOT, Failure, Lines, private_bytes, running, times, us

sys.path.insert(0, str(ROOT / "test"))
import machine  # noqa: E402
import machine_servers  # noqa: E402

MEGABYTES = 100
LOOPBACK = "192.168.127.254"  # this computer's, as machines see it
# In the machine: new connections, then bytes from the server and to it.
MOVE = """import json, socket, time
def to(): return socket.create_connection(("%s", %d))
def timed(what):
    begun = time.perf_counter_ns(); what(); return time.perf_counter_ns() - begun
room, block = bytearray(1 << 20), bytes(1 << 20)
def down():
    s, n = to(), 0; s.send(b"D")
    while k := s.recv_into(room): n += k
    assert n == %d << 20
def up():
    s = to(); s.send(b"U")
    for _ in range(%d): s.sendall(block)
    s.shutdown(socket.SHUT_WR); assert s.recv(1) == b"."
to().close()
setups = sorted(timed(lambda: to().close()) for _ in range(50))
print(json.dumps([setups[25], min(timed(down) for _ in range(3)), min(timed(up) for _ in range(3))]))"""
# The first connection of all costs 2.8 MB, of code and kernel that run then for the first time.
IDLE = """import socket
def to(): return socket.create_connection(("192.168.127.254", %d))
all = [to()]
print("one", flush=True); input()
all += [to() for _ in range(10)]
print("eleven", flush=True); input()"""


def serve(listener):
    block = bytes(1 << 20)

    def talk(connection):
        with connection:
            kind = connection.recv(1)
            if kind == b"D":
                for _ in range(MEGABYTES):
                    connection.sendall(block)
            elif kind == b"U":
                room = bytearray(1 << 20)
                while connection.recv_into(room):
                    pass
                connection.sendall(b".")
    while True:
        try:
            connection = listener.accept()[0]
        except OSError:
            return
        threading.Thread(target=talk, args=(connection,), daemon=True).start()


def start_ns(environment, *options):
    begun = time.perf_counter_ns()
    done = subprocess.run([CLOCHE, "vm", "exec", *options, "--", "true"], env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        raise Failure(f"cloche vm exec: {done.stderr.decode()[:300]}")
    return time.perf_counter_ns() - begun


def qemu_python(*words):
    return machine.qemu_user(machine.SYSROOT / "usr/bin/python3.13", *words)


def moved(command, environment):
    """Nanoseconds of a connection's set-up, of the bytes in and of those out."""
    done = subprocess.run(command, env=environment, capture_output=True)
    if done.returncode:
        raise Failure(f"the network: {done.stderr.decode()[:300]}")
    return json.loads(done.stdout)


def moving(table, environment, port):
    setup, down, up = moved([CLOCHE, "vm", "exec", "--allow-host", f"127.0.0.1:{port}", "--", "python3", "-c",
                             MOVE % (LOOPBACK, port, MEGABYTES, MEGABYTES)], environment)
    theirs = moved(qemu_python("-c", MOVE % ("127.0.0.1", port, MEGABYTES, MEGABYTES)), environment)
    for way, ns, other in ("into the machine", down, theirs[1]), ("out of it", up, theirs[2]):
        speed, peer = (MEGABYTES * (1 << 20) / n * 1e3 for n in (ns, other))
        table.row(f"network, {MEGABYTES} MB {way}: qemu-riscv64", f"{speed:,.0f} MB/s", f"{peer:,.0f} MB/s",
                  times(speed / peer), "at least 100 MB/s", speed >= 100)
    table.row("network, a new connection: qemu-riscv64", us(setup), us(theirs[0]), times(setup / theirs[0]),
              "under 3 ms", setup < 3e6)


class Index(http.server.SimpleHTTPRequestHandler):
    """An index of Python packages with one wheel."""
    protocol_version = "HTTP/1.1"
    files = machine_servers.python_index("benchgreeting", "1.2", "WORD = 'greeted'\n")

    def do_GET(self):
        data = self.files.get(self.path, b"")
        self.send_response(200 if data else 404)
        self.send_header("Content-Type", "text/html" if self.path.endswith("/") else "application/octet-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


# How long pip takes, from the first byte of Python to the last.
PIP = """import sys, time, runpy
begun = time.perf_counter_ns()
sys.argv = ["pip", "install", "-q", "--no-cache-dir", "--root-user-action", "ignore", "--disable-pip-version-check",
            "--target", sys.argv[3], "--index-url", sys.argv[1], "--trusted-host", sys.argv[2], "benchgreeting"]
try:
    runpy.run_module("pip", run_name="__main__")
except SystemExit as e:
    assert not e.code, e.code
print(time.perf_counter_ns() - begun)"""


def pip(table, environment, rounds):
    """Both compile pip's files beforehand, so that neither does it while it is measured."""
    packages = list((BUILD / "deps/vm-root/root").glob("python3-pip_*.deb"))
    if not packages:
        raise Failure("build/deps/vm-root is missing: make vm")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index) as server, tempfile.TemporaryDirectory() as scratch:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        subprocess.run(["dpkg-deb", "-x", packages[0], scratch], check=True)
        there = environment | {"PYTHONPATH": f"{scratch}/usr/lib/python3/dist-packages"}

        def ours():
            return moved([CLOCHE, "vm", "exec", "--allow-host", f"127.0.0.1:{port}", "--", "python3", "-c", PIP,
                          f"http://{LOOPBACK}:{port}/simple", LOOPBACK, "/tmp/installed"], environment)

        def theirs():
            with tempfile.TemporaryDirectory(dir=scratch) as target:
                return moved(qemu_python("-c", PIP, f"http://127.0.0.1:{port}/simple", "127.0.0.1", target), there)

        theirs()  # writes the compiled files
        pairs = [(ours(), theirs()) for _ in range(rounds)]
        server.shutdown()
    mine, other = (statistics.median(side) for side in zip(*pairs))
    table.row("network, pip install of a wheel: qemu-riscv64", us(mine), us(other), times(mine / other),
              "under twice", mine < 2 * other)


def network(table, environment, rounds):
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        port = listener.getsockname()[1]
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        moving(table, environment, port)
        pip(table, environment, rounds)
        pairs = [(start_ns(environment), start_ns(environment, "--allow-host", f"127.0.0.1:{port}"))
                 for _ in range(rounds * 5)]
        more = statistics.median(with_one - without for without, with_one in pairs)
        table.row("a machine's start with a network, beside one without", us(max(more, 0)), floor="under 1 ms more",
                  met=more < 1e6)
        command = [CLOCHE, "vm", "exec", "--allow-host", f"127.0.0.1:{port}", "--", "python3", "-c", IDLE % port]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        with running(command, environment, **pipes) as process:
            lines, memory = Lines(process, 600), []
            for _ in range(2):
                lines.next()
                time.sleep(1)
                memory.append(sum(private_bytes(process)))
                process.stdin.write(b"\n")
        cost = memory[1] - memory[0]
        table.row("memory of 10 more idle connections", f"{cost / 1e6:,.2f} MB", floor="under 1 MB", met=cost < 1e6)
