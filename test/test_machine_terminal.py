"""`cloche vm exec` and `cloche vm shell`, as a user runs them."""
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import ROOT
from machine_doors import Terminal, needs_image

pytestmark = needs_image


def vm(cloche, *words, input=b"", **how):
    return subprocess.run([cloche, "vm", *words], input=input, capture_output=True,
                          timeout=120, **how)


# ---- exec ------------------------------------------------------------------------------


def test_the_streams_and_the_exit_code_are_the_commands(cloche):
    done = vm(cloche, "exec", "--", "bash", "-c", "cat; echo err >&2; exit 7", input=b"in\n")
    assert (done.returncode, done.stdout, done.stderr) == (7, b"in\n", b"err\n")


def test_behind_two_dashes_words_are_words_and_one_alone_is_shell(cloche):
    done = vm(cloche, "exec", "--", "printf", "%s|", "a b", "it's", "$HOME", "--help")
    assert done.stdout == b"a b|it's|$HOME|--help|"
    assert vm(cloche, "exec", "echo a b | wc -w").stdout.split() == [b"2"]
    assert vm(cloche, "exec", "echo", "-n", "$HOME").stdout == b"$HOME"
    done = vm(cloche, "exec", "--", "echo a | wc")
    assert done.returncode == 127 and b"not found" in done.stderr


def test_a_program_is_in_the_shells_place_and_what_the_shell_does_needs_none(cloche):
    assert vm(cloche, "exec", "--", "sh", "-c", "ps -o ppid= -p $$").stdout.strip() == b"1"
    names = vm(cloche, "exec", "compgen -b").stdout.decode().split()
    text = (ROOT / "src/doors/cli/machine.c").read_text().split("names[] = {")[1].split("}")[0]
    assert re.findall(r'"([^"]+)"', text) == sorted(set(names) - {"cloche"})
    assert vm(cloche, "exec", "--", "type", "cd").stdout == b"cd is a shell builtin\n"
    assert vm(cloche, "exec", "--", "exit", "3").returncode == 3


def test_bytes_pass_unaltered(cloche):
    data = os.urandom(300000) + b"\0\r\n\xff\x04\x1d\x03"
    assert vm(cloche, "exec", "--", "cat", input=data).stdout == data


def test_python_answers(cloche):
    assert vm(cloche, "exec", "--", "python3", "-c", "print(1+1)").stdout == b"2\n"


def test_a_full_disk_says_so_and_keeps_what_it_has(cloche):
    """Within the limit, not within the formatted two gigabytes; deleted blocks do not count."""
    done = vm(cloche, "exec", "--disk", "32", """
        for i in 1 2 3; do head -c 20M /dev/zero > ~/a && sync || exit 9; rm ~/a; done
        head -c 25M /dev/urandom > ~/b; md5sum < ~/b; sync; echo 3 > /proc/sys/vm/drop_caches; md5sum < ~/b
        head -c 25M /dev/zero > ~/c""")
    one, again = done.stdout.splitlines()
    assert one == again
    assert done.returncode == 1 and b"No space left on device" in done.stderr


def test_options_are_for_the_command(cloche):
    done = vm(cloche, "exec", "--cwd", "/tmp", "--env", "A=b c", "--env=D=", "--",
              "sh", "-c", 'pwd; echo "$A-$D-"')
    assert done.stdout == b"/tmp\nb c--\n"
    done = vm(cloche, "exec", "--timeout", "500", "--", "sleep", "100")
    assert done.returncode == 124 and b"timed out after 500 ms" in done.stderr


@pytest.mark.parametrize("words, says", [
    (["exec"], b"give a command"),
    (["exec", "--ram", "63", "--", "true"], b"64 to 1024"),
    (["exec", "--disk", "2049", "--", "true"], b"1 to 2048"),
    (["exec", "--env", "x", "--", "true"], b"NAME=VALUE"),
    (["exec", "--timeout", "0", "--", "true"], b"--timeout"),
    (["exec", "--nope", "true"], b"--nope"),
    (["shell"], b"not a terminal"),
    (["quux"], b"exec, shell"),
])
def test_what_is_wrong_with_the_call_is_told(cloche, words, says):
    done = vm(cloche, *words)
    assert done.returncode == 2 and says in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_command(cloche, number):
    script = "trap 'echo heard; exit 9' INT TERM; echo up; while :; do sleep .1; done"
    with subprocess.Popen([cloche, "vm", "exec", "--", "bash", "-c", script],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"up\n"
        p.send_signal(number)
        assert p.stdout.read() == b"heard\n" and p.wait(60) == 9


# Before there is a machine, while it starts, while its command begins, and later: 8 ms apart.
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_as_any_program_at_whatever_moment(cloche, tmp_path, number):
    def begin():
        p = subprocess.Popen([cloche, "vm", "exec", "--", "sleep", "1000"], env=env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # Until it waits for these signals, and these alone, it is the system that ends it: the C
        # library blocks all of them for a moment while the program is loaded.
        while blocked(p.pid) != forwarded:
            assert p.poll() is None
        return p

    def blocked(pid):
        return int(open(f"/proc/{pid}/status").read().split("SigBlk:")[1].split()[0], 16)
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    forwarded = sum(1 << n - 1 for n in (
        signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
        signal.SIGTERM, signal.SIGWINCH))
    shared = set(os.listdir("/dev/shm"))
    for moment in range(20):
        with begin() as p:
            time.sleep(moment * .008)  # the signal comes at another moment each time
            p.send_signal(number)
            said = p.communicate(timeout=60)
            assert (p.returncode, said) == (128 + number, (b"", b"")), moment
    late = time.monotonic() + 60
    while {f for f in set(os.listdir("/dev/shm")) - shared if "cloche" in f}:
        assert time.monotonic() < late
        time.sleep(.01)  # others' end with them
    assert not [f for _, _, names in os.walk(tmp_path / "cache") for f in names]


def test_a_signal_while_a_size_is_made_ready_leaves_nothing_of_it(cloche, tmp_path):
    machines = tmp_path / "cache" / "cloche" / "machines"
    with subprocess.Popen([cloche, "vm", "exec", "--ram", "80", "--", "true"], stdin=subprocess.DEVNULL,
                          env=os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}) as p:
        while not list(machines.glob(".machine-80-*.tmp")):
            assert p.poll() is None
            time.sleep(.001)
        p.send_signal(signal.SIGTERM)
        assert p.wait(60) == 128 + signal.SIGTERM
    assert [f.name for f in machines.iterdir()] == ["machines.lock"]


def test_who_will_not_hear_is_ended_at_the_third_signal(cloche):
    script = "trap '' INT TERM; echo up; while :; do sleep .1; done"
    with subprocess.Popen([cloche, "vm", "exec", "--", "bash", "-c", script],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"up\n"
        for _ in range(300):
            if p.poll() is not None:
                break
            p.send_signal(signal.SIGTERM)
            try:
                p.wait(0.2)
            except subprocess.TimeoutExpired:
                pass
        assert p.returncode == 128 + signal.SIGTERM


def test_a_reader_that_has_read_enough_ends_it(cloche):
    done = subprocess.run(f"{cloche} vm exec -- yes | head -n 1", shell=True,
                          capture_output=True, timeout=60)
    assert done.stdout == b"y\n"


def test_nothing_of_this_computer_is_in_it(cloche, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("told")
    done = vm(cloche, "exec", "--", "cat", str(secret))
    assert done.returncode == 1 and b"told" not in done.stdout + done.stderr
    done = vm(cloche, "exec", "ip -o -4 addr; env")
    assert set(re.findall(rb"inet ([0-9./]+)", done.stdout)) == {b"127.0.0.1/8", b"192.168.127.3/24"}
    assert b"XDG" not in done.stdout and done.stderr == b""


# ---- shell -----------------------------------------------------------------------------


@pytest.fixture
def terminal(cloche):
    with Terminal([cloche, "vm", "shell"], 24, 80) as t:
        t.type("PS1='re''ady> '\r")
        t.wait_for("ready> ")
        yield t


def test_a_shell_says_at_its_end_that_the_network_is_off(terminal):
    terminal.type("exec 3<>/dev/tcp/192.0.2.1/80\r")
    terminal.wait_for("No route to host")
    terminal.type("exit\r")
    terminal.wait_for("cloche: the network is off; the command asked for 192.0.2.1:80: ")
    terminal.end()
    assert terminal.is_as_before()


def test_a_shell_has_a_prompt_a_size_and_an_exit_code(terminal):
    terminal.type("stty size; tty\r")
    assert b"24 80" in terminal.wait_for("ready> ")
    terminal.resize(40, 100)
    os.kill(terminal.process.pid, signal.SIGWINCH)
    terminal.type("sleep .2; stty size\r")
    terminal.wait_for("40 100")
    terminal.type("exit 5\r")
    assert terminal.end() == 5 and terminal.is_as_before()


def test_control_c_ends_a_command_and_not_the_shell(terminal):
    # The command itself says that it runs: while bash still makes it a job, a key is bash's.
    terminal.type("sh -c \"echo be''gun; exec sleep 1000\"\r")
    terminal.wait_for("begun")
    terminal.type("\x03")
    terminal.wait_for("ready> ")
    terminal.type("echo $?\r")
    assert b"130" in terminal.wait_for("ready> ")
    terminal.type("sh -c \"echo ag''ain; exec sleep 1000\"\r")
    terminal.wait_for("again")
    terminal.type("\x1a")
    terminal.wait_for("Stopped")
    terminal.type("kill -9 %1; disown -a; exit\r")  # of stopped jobs it would warn first
    assert terminal.end() == 0


def test_pythons_prompt_works(terminal):
    terminal.type("python3 -q\r")
    terminal.wait_for(">>> ")
    terminal.type("print(6 * 7)\r")
    terminal.wait_for("42")
    terminal.type("exit()\r")
    terminal.wait_for("ready> ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_terminal_is_put_back_when_it_is_ended(terminal, number):
    assert not terminal.is_as_before()
    terminal.process.send_signal(number)
    assert terminal.end() == 128 + number and terminal.is_as_before()


def test_three_times_the_escape_ends_the_machine(terminal):
    terminal.type("trap '' INT QUIT TERM HUP; echo go''ne; cat > /dev/null\r")
    terminal.wait_for("gone")
    terminal.type("\x1d\x1d\x1d")
    assert terminal.end() == 125 and terminal.is_as_before()


def test_a_command_may_have_the_terminal_instead_of_a_shell(cloche):
    with Terminal([cloche, "vm", "shell", "--", "bash", "-c", "test -t 0 && tty; exit 6"]) as t:
        t.wait_for("/dev/")
        assert t.end() == 6 and t.is_as_before()
