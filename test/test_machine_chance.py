"""Randomness in machines: they begin as copies of one baked machine, and no random value of one may
occur in another. CLOCHE_MACHINES: the number of machines compared (20; `make deep`: 100)."""
import os

from machine_doors import needs_image
from wire import Server

pytestmark = needs_image

MACHINES = int(os.environ.get("CLOCHE_MACHINES", "20"))

# Each line a name and what it drew. Where a process lies in memory is drawn by the kernel, too.
IN_ONE = r"""
echo urandom $(od -An -N16 -tx8 /dev/urandom)
echo uuid $(cat /proc/sys/kernel/random/uuid)
echo boot-id $(cat /proc/sys/kernel/random/boot_id)
echo machine-id $(cat /etc/machine-id)
echo mktemp $(mktemp -u)
echo bash $RANDOM $RANDOM $RANDOM
echo bash-of-the-kernel $SRANDOM $SRANDOM
echo layout $(awk '/stack|heap|vdso|libc/ {print $1}' /proc/self/maps)
shuf -i 1-1000000000000000 -n 1 | sed 's/^/shuf /'
python3 - <<'END'
import os, random
print("python-random", random.random(), random.getrandbits(64))
print("python-urandom", os.urandom(16).hex())
print("python-hash", hash("a"), hash(b"a"))
auxv = memoryview(open("/proc/self/auxv", "rb").read()).cast("Q")
at = dict(zip(auxv[::2], auxv[1::2]))[25]  # AT_RANDOM: stack guards and the like are made of it
print("at-random", os.pread(os.open("/proc/self/mem", os.O_RDONLY), 16, at).hex())
END
"""
# A session's shell is a fork of one that was warm when the image was baked.
IN_A_SESSION = "echo bash $RANDOM $RANDOM $RANDOM; echo bash-of-the-kernel $SRANDOM $SRANDOM"


def drawn_in_a_new_machine(server):
    def run(**command):
        got = server.http.post("/vm/exec", json=command).json()
        assert got["success"] and not got["stderr"], got
        return [tuple(line.split(" ", 1)) for line in got["stdout"].splitlines()]
    made = server.http.post("/vm", json={})
    assert made.status_code == 201, made.text
    drawn = run(command=IN_ONE)
    assert len(drawn) == 13 and all(len(line) == 2 for line in drawn), drawn
    for session in ("one", "two"):
        drawn += run(command=IN_A_SESSION, session=session)
    assert server.http.delete("/vm/default").json()["stopped"]
    return drawn


def test_nothing_is_drawn_twice_in_so_many_machines(cloche, vault):
    seen = {}
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"]) as server:
        for number in range(MACHINES):
            for what in drawn_in_a_new_machine(server):
                assert what not in seen, f"machine {number} drew {what}, as machine {seen[what]}"
                seen[what] = number
