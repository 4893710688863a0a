"""The network of the Linux machine: bytes both ways, connections, and what it costs to have one."""
import json
import socket
import statistics
import subprocess
import threading
import time

from sides import CLOCHE, Failure, Lines, private_bytes, running, us

MEGABYTES = 100
# In the machine: new connections, then bytes from the server and to it.
MOVE = """import json, socket, time
def to(): return socket.create_connection(("192.168.127.254", %d))
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


def moving(table, environment, port):
    done = subprocess.run([CLOCHE, "vm", "exec", "--allow-host", f"127.0.0.1:{port}", "--", "python3", "-c",
                           MOVE % (port, MEGABYTES, MEGABYTES)], env=environment, capture_output=True)
    if done.returncode:
        raise Failure(f"the network: {done.stderr.decode()[:300]}")
    setup, down, up = json.loads(done.stdout)
    for way, ns in ("into the machine", down), ("out of it", up):
        speed = MEGABYTES * (1 << 20) / ns * 1e3
        table.row(f"network, {MEGABYTES} MB {way}", f"{speed:,.0f} MB/s", floor="at least 100 MB/s", met=speed >= 100)
    table.row("network, a new connection", us(setup), floor="under 3 ms", met=setup < 3e6)


def network(table, environment, rounds):
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        port = listener.getsockname()[1]
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        moving(table, environment, port)
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
