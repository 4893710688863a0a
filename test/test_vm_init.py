"""PID 1 of the machine (guest/vm/init), as a program of this computer: sessions, commands.

By the frames of guest/abi/vm.h, as the host sends them; test/vm_init.py carries them.
"""
import os
import random
import re
import shutil
import signal
import struct
import subprocess
from pathlib import Path

import pytest
import needs
import vm_init
from vm_init import (APART, BY_SIGNAL, CLOSE, CREDIT, EXEC, HELD, INPUT, OOM, PING, PTY, QUIESCE,
                     RESIZE, RESUME, ROOT, SHELL, SIGNAL, TEXT, TIMEOUT, WINDOW, WITH_INPUT,
                     Ended, Init, exec_payload, frame)

WHY_NOT = vm_init.why_not()
pytestmark = needs.system(WHY_NOT is None, str(WHY_NOT))

BINARY = Path(os.environ.get("CLOCHE_VM_INIT", ROOT / "build" / "vm-init"))
LIBRARY = ROOT / "build" / "vm-session.so"


def open_init(cut=None):
    if not BINARY.exists():
        pytest.fail(f"{BINARY} is not there: run 'make vm-init'")
    return Init(BINARY, LIBRARY, cut)


@pytest.fixture
def init():
    with open_init() as i:
        yield i


# ---- what a command gives

# As `bash -c` says it: stdout, stderr and status, to the byte.
AS_BASH = [
    "echo out; echo err >&2; (exit 7)",
    "printf 'no newline'",
    "printf '\\000\\001\\377\\r\\n'; printf '\\303' >&2",
    "printf '  spaces around  \\n\\n\\n'",
    "false", "true", ":", "", "   ", "# a comment", "\n\n", "!",
    "nosuchcommand", "/nonexistent/x", "cd /nonexistent", ". /nonexistent", "exec 77</nonexistent",
    "echo \"unclosed", "echo 'unclosed", "echo $(unclosed", "echo `unclosed", "echo ${unclosed",
    "if true; then", "for i in", "case x in", "f() {", "echo )", "a=(1 2", "[[ -n x", "{ echo",
    "cat <<END\nno end\n", "cat <<'END'\n$x\nEND\n", "cat <<END", "echo a \\",
    "break; echo $?", "continue; echo $?", "return 5; echo $?", "while :; do break; done",
    "cat", "read x; echo \"$? <$x>\"", "head -c 5 | od -c", "cat /dev/stdin", "cat <&0",
    "sh -c 'kill -TERM $$'; echo $?",
    "yes | head -n 100000 | tail -n 1; echo ${PIPESTATUS[@]}",
    "exec 2>&1; echo to-out >&2", "exec >&2; echo to-err", "exec 1>&-; echo lost",
    "exec 0<&-; cat", "exec 2>&-; echo x >&2", "exec 5>&1; echo five >&5",
    "set -u; echo $nothing; echo not here", "set -o posix; echo $((1+1)); set +o posix",
    "x=1; readonly x; x=2; echo $x", "declare -A m=([k]=v); echo ${m[k]}",
    "local x=1", "echo ${x:?message}; echo not here", "((1/0))", "let 1/0; echo $?",
    "f() { return 9; }; f", "trap 'echo $LINENO' ERR; false",
    "echo \u00fc\u4e16\U0001f514", "echo $'\\xff\\xfe'", "printf '%s\\n' {1..1000}",
    "echo $0 $# $-", "alias x=echo; x 1", "shopt -s expand_aliases\nalias x='echo aliased'\nx 2",
    "echo $LINENO\necho $LINENO", "x=$(echo sub); echo \"$x\"; (exit 4); echo $?",
    "TIMEFORMAT=took; time false; echo $?", "echo a; echo b; exit 0", "exit 3", "exit 300", "exec true",
    "exec sh -c 'exit 6'", "set -e; false; echo not here", "set -n; echo not here",
]
@pytest.mark.parametrize("command", AS_BASH)
def test_a_command_gives_what_bash_gives(init, command):
    """In a new session, which goes on afterwards."""
    given = subprocess.run(
        ["bash", "-O", "expand_aliases", "-c", command], stdin=subprocess.DEVNULL,
        capture_output=True, cwd="/root" if os.geteuid() == 0 else "/",
        env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
             "HOME": "/root", "LANG": "C.UTF-8"})
    r = init.run(command, cwd="/root" if os.geteuid() == 0 else "/")
    assert r.refused is None
    assert (r.out, r.err, r.status) == (given.stdout, given.stderr, given.returncode)
    assert init.run("echo goes on").out == b"goes on\n"


def test_output_is_not_touched(init):
    every = bytes(range(256)) * 5 + b"\r\n\n  "
    r = init.start("cat; cat /dev/null >&2", flags=WITH_INPUT)
    init.feed(r, every)
    assert (init.wait(r).out, r.err, r.status) == (every, b"", 0)


def test_ten_megabytes_of_each_arrive(init):
    r = init.run("head -c 10000000 /dev/zero; head -c 10000001 /dev/zero | tr '\\0' x >&2")
    assert (len(r.out), r.err, r.status) == (10000000, b"x" * 10000001, 0)


def test_a_command_of_a_megabyte_runs(init):
    most = 1 << 20
    for lead, fill, tail in ((b"echo ${#x}; : '", b"y", b"'"), (b": '", b"\n", b"'; echo 0"),
                             (b"#", b"z" * 70 + b"\n#", b"\necho 0")):
        room = most - len(lead) - len(tail)
        text = lead + (fill * (room // len(fill) + 1))[:room] + tail
        assert len(text) == most
        assert init.run(text).out == b"0\n"


def test_a_command_of_more_ends_init(init):
    with pytest.raises(Ended, match="more than 1048576 bytes"):
        init.run(b"#" * ((1 << 20) + 1))


def test_nul_bytes_are_refused(init):
    assert "NUL" in init.run(b"echo a\0b").refused
    assert "NUL" in init.run("true", cwd="/tmp\0x").refused
    assert init.run("echo on").out == b"on\n"


# ---- what lasts

LASTS = [
    ("cd /proc", "pwd", b"/proc\n"), ("x=1", "echo $x", b"1\n"),
    ("export Y=2", "sh -c 'echo $Y'", b"2\n"), ("f() { echo f $1; }", "f 3", b"f 3\n"),
    ("alias g='echo g'", "g 4", b"g 4\n"), ("set -o noglob", "echo *", b"*\n"),
    ("declare -A m=([k]=v)", "echo ${m[k]}", b"v\n"), ("umask 077", "umask", b"0077\n"),
    ("shopt -s nullglob", "echo /no-such*", b"\n"), ("set -- a b", "echo $2", b"b\n"),
    ("false", "echo $?", b"1\n"), ("ulimit -n 100", "ulimit -n", b"100\n"),
    ("exec 7</proc/version", "head -c 5 <&7", b"Linux"), ("IFS=:; v=a:b", "echo $v", b"a b\n"),
    ("sleep 1000 & true", "jobs", b"[1]+  Running                 sleep 1000 &\n"),
    ("sleep 1000 & pid=$!", "kill $pid && wait $pid; echo $?", b"143\n"),
    ("trap 'echo got' USR1", "kill -USR1 $$", b"got\n"),
    ("exec >/dev/null 2>&1 </dev/zero", "cat; echo here", b"here\n"),
    ("exec 1>&- 2>&- 0<&-", "cat; echo here", b"here\n"),
    ("set -n", "echo reads and does", b"reads and does\n"),
    ("unset PATH; IFS=x; PROMPT_COMMAND='echo p'; PS1=; PS4=", "echo on", b"on\n"),
    ("readonly status=1 text=2 line=3 REPLY=4 port=5 cmd=6 PWD", "echo on", b"on\n"),
    ("echo() { :; }; exec() { :; }; eval() { :; }; builtin() { :; }; read() { :; }", "printf on", b"on"),
    ("alias exec=false eval=false while=false if=false", "printf on", b"on"),
    ("enable -n exec eval echo", "printf on", b"on"),
    ("for i in {0..255}; do eval \"exec $i>&-\"; done", "echo on", b"on\n"),
]


@pytest.mark.parametrize("first, then, out", LASTS)
def test_a_session_is_one_shell(init, first, then, out):
    r = init.run(first)
    assert not r.flags & SHELL, r
    if "1>&-" in first or "&- 2" in first:
        init.run("true")
    r = init.run(then)
    assert r.out == out, r


def test_tracing_shows_the_command_alone(init):
    init.run("set -x")
    assert init.run("echo a").err == b"+ echo a\n"
    init.run("set +x; set -v")
    assert init.run("echo b").err == b"echo b\n"


def test_a_debug_trap_is_for_commands(init):
    init.run("trap 'echo debug' DEBUG")
    assert init.run("echo a").out == b"debug\na\n"


def test_cwd_and_env_are_for_one_command(init):
    init.run("cd /; A=session; export B=exported")
    r = init.run("pwd; echo $A $B $C; sh -c 'echo $A $B $C'; cd /dev; A=changed", cwd="/proc",
                 env=["A=it's", "B=$x \\ \"q\"\n2", "C="])
    assert r.out == (b"/proc\nit's $x \\ \"q\" 2\nit's $x \\ \"q\" 2\n")
    assert init.run("pwd; echo $A $B ${C-unset}").out == b"/\nsession exported unset\n"
    assert init.run("pwd; echo $PWD; cd ..", cwd="usr/lib").out == b"/usr/lib\n" * 2
    assert init.run("pwd; echo $PWD").out == b"/\n/\n"
    assert init.run("exit 4", env=["A=1"]).status == 4


def test_odd_cwd_and_env_are_refused_and_nothing_runs(init):
    r = init.run("echo ran", cwd="/no/such")
    assert "/no/such: No such file" in r.refused and r.out == b""
    for odd in ("A-B=1", "1A=1", "=1", "NOVALUE", ""):
        assert "NAME=value" in init.run("echo ran", env=[odd]).refused
    assert init.run("echo on").out == b"on\n"


def test_a_huge_environment_is_the_commands_own_trouble(init):
    r = init.run("export X=$(head -c 3000000 /dev/zero | tr '\\0' x); echo ${#X}; ls; echo $?")
    assert r.out == b"3000000\n126\n" and b"Argument list too long" in r.err
    assert init.run("echo ${#V}", env=["V=" + "v" * 60000]).out == b"60000\n"


# ---- shells that end

def fresh(init, command, status, flags, **how):
    init.run("x=old; cd /proc")
    r = init.run(command, **how)
    assert (r.status, r.flags & (SHELL | BY_SIGNAL)) == (status, flags), r
    assert init.run("echo ${x-fresh} $PWD").out.split()[0] == b"fresh"
    return r


def test_exit_ends_the_shell_with_its_status(init):
    assert fresh(init, "echo before; exit 3; echo after", 3, SHELL).out == b"before\n"
    fresh(init, "exit", 0, SHELL)
    fresh(init, "f() { exit 5; }; f", 5, SHELL)


def test_exec_ends_the_shell(init):
    assert fresh(init, "exec echo replaced", 0, SHELL).out == b"replaced\n"
    fresh(init, "exec sh -c 'exit 6'", 6, SHELL)
    fresh(init, "exec sh -c 'kill -TERM $$'", 15, SHELL | BY_SIGNAL)


def test_set_e_ends_the_shell(init):
    assert fresh(init, "set -e; echo a; false; echo b", 1, SHELL).out == b"a\n"
    assert init.run("set -e").flags == 0
    assert init.run("false").flags == SHELL


def test_signals_of_its_own_end_the_shell(init):
    fresh(init, "kill -9 $$", 9, SHELL | BY_SIGNAL)
    fresh(init, "kill $$", 15, SHELL | BY_SIGNAL)
    fresh(init, "kill -INT $$; sleep 1", 2, SHELL | BY_SIGNAL)


def test_an_exit_trap_runs_at_the_end(init):
    assert init.run("trap 'echo bye' EXIT; echo body").out == b"body\n"
    assert init.run("exit 0").out == b"bye\n"


def test_descriptors_of_the_loop_may_be_closed(init):
    r = init.run("for i in /proc/$$/fd/*; do eval \"exec ${i##*/}>&-\"; done; echo lost")
    assert r.flags & SHELL and r.status == 1
    assert init.run("echo on").out == b"on\n"


def test_what_is_written_to_the_loops_socket_is_no_answer(init):
    r = init.run("head -c 32 /dev/urandom >&400; printf '%032d' 0 >&400; echo x >&400; echo mine")
    assert (r.out, r.status, r.flags) == (b"mine\n", 0, 0), r
    assert init.run("echo next").out == b"next\n"


def test_the_first_shell_may_be_killed(init):
    init.run("x=1")
    assert init.run("kill -9 2; sleep 0.1; echo ok").out == b"ok\n"
    assert init.run("echo $x").out == b"1\n"
    assert init.run("echo new", session=2).out == b"new\n"


def test_the_builtin_is_not_for_commands(init):
    r = init.run("cloche; echo $?")
    assert r.out == b"1\n" and r.err
    assert init.run("enable -d cloche; enable -n cloche; unset -f cloche; echo on").out == b"on\n"


# ---- standard input

def test_input_ends_where_it_ends(init):
    r = init.start("wc -c; read x; echo $?", flags=WITH_INPUT)
    init.feed(r, b"z" * 3_000_000)
    assert init.wait(r).out == b"3000000\n1\n"
    assert r.input_taken == 3_000_000


def test_input_may_come_before_its_turn_or_never_be_read(init):
    r = init.start("sleep 0.2; cat", flags=WITH_INPUT)
    after = init.start("cat", flags=WITH_INPUT)
    init.feed(after, b"early")
    init.feed(r, b"first")
    assert init.wait(r, after).out == b"first" and after.out == b"early"
    r = init.start("exec <&-; sleep 0.1; echo done", flags=WITH_INPUT)
    init.feed(r, b"unread" * 100_000)
    assert init.wait(r).out == b"done\n"


def test_more_input_than_leave_ends_init(init):
    r = init.start("sleep 100", flags=WITH_INPUT)
    with pytest.raises(Ended, match="more input than it has leave for"):
        for _ in range(20):
            init.send(INPUT, r.id, bytes(65536))
        init.until(lambda: False)


# ---- the background

def test_what_holds_the_outputs_is_let_go(init):
    r = init.run("sleep 1000 & echo started")
    assert (r.out, r.status, r.flags) == (b"started\n", 0, HELD)
    assert init.run("kill %1; wait %1 2>/dev/null; echo $?").out == b"143\n"


def test_a_server_in_the_background_lives_on(init):
    assert init.run("nohup sh -c 'while :; do echo noise; echo x >&2; sleep 0.01; done' &").flags == HELD
    assert init.run("sleep 0.3; jobs -r | wc -l").out == b"1\n"


def test_endless_output_of_the_background_does_not_hold_up(init):
    r = init.run("yes & echo $!")
    assert r.flags == HELD and r.out.startswith(b"y") or r.out[0:1].isdigit()
    assert init.run("echo next; kill %1").out == b"next\n"


def test_what_let_the_outputs_go_is_not_waited_for(init):
    r = init.run("sleep 1000 >/dev/null 2>&1 & echo started")
    assert (r.out, r.flags) == (b"started\n", 0)


def test_a_later_command_does_not_get_the_background_s_output(init):
    init.run("(while :; do echo noise; sleep 0.01; done) &")
    for _ in range(20):
        assert init.run("echo clean").out == b"clean\n"


# ---- time and signals

STUBBORN = "trap '' TERM INT; while :; do sleep 0.05; done"
TAKES_LONG = ["sleep 1000", "while :; do :; done", "while :; do sleep 0.01; done", "cat <(sleep 1000)",
              "sleep 1000 | cat", "(sleep 1000)", "x=$(sleep 1000)", "read x </dev/zero",
              "wait $(sleep 1000)", "f() { f2; }; f2() { while :; do /bin/true; done; }; f",
              "sh -c 'kill -STOP $$'", "setsid sleep 1000", "yes >/dev/null", "eval 'sleep 1000'",
              "until false; do read -t 0.01 x </dev/zero; done", "sleep 1000 & wait", "kill -STOP $$"]


def sleepers(init):
    """Sleeping processes, by their command lines."""
    r = init.run("for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done 2>/dev/null")
    return [line for line in r.out.splitlines() if line.startswith(b"sleep")]


def needs_cgroups(init, command):
    if init.group is None and "setsid" in command:
        needs.skip("without cgroups, what leaves a session is lost sight of")


@pytest.mark.parametrize("command", TAKES_LONG)
def test_time_runs_out_and_the_shell_lives(init, command):
    needs_cgroups(init, command)
    init.run("before=kept")
    r = init.run(command, timeout_ms=100)
    assert r.flags & TIMEOUT and not r.flags & SHELL, r
    assert r.status == 143
    assert init.run("echo $before").out == b"kept\n"
    assert not sleepers(init)


@pytest.mark.parametrize("command", [STUBBORN, f"sh -c \"{STUBBORN}\"", f"( {STUBBORN} )",
                                     f"exec sh -c \"{STUBBORN}\"",
                                     "setsid sh -c 'trap \"\" TERM; sleep 1000' & wait"])
def test_who_does_not_listen_is_killed(init, command):
    needs_cgroups(init, command)
    r = init.run(command, timeout_ms=100)
    assert r.flags & TIMEOUT, r
    assert 1_000_000_000 < r.wall_ns
    assert init.run("echo on").out == b"on\n"
    assert not sleepers(init)


def test_what_is_left_of_a_command_that_was_ended_is_killed(init):
    if init.group is None:
        needs.skip("without cgroups, what leaves a session is lost sight of")
    for how in (0, PTY, APART):
        left = "setsid sh -c 'trap \"\" TERM HUP; sleep 1000' & sleep 0.1; "
        r = init.run(left + "sleep 1000", timeout_ms=400, flags=how)
        assert r.flags & TIMEOUT and not sleepers(init), r
        r = init.start(left + "sleep 1000", flags=how)
        init.run("sleep 0.4", session=2)
        init.signal(r, signal.SIGTERM)
        init.wait(r)
        assert not r.flags & TIMEOUT and not sleepers(init), r


def test_a_trap_for_the_end_runs(init):
    r = init.run("trap 'echo farewell; trap - TERM' TERM; sleep 1000", timeout_ms=100)
    assert r.out == b"farewell\n" and r.flags & TIMEOUT and not r.flags & SHELL


def test_the_background_of_earlier_commands_survives_a_timeout(init):
    if init.group is None:
        needs.skip("without cgroups all of a session is one")
    init.run("sleep 500 >/dev/null 2>&1 &")
    assert init.run("sleep 1000 & sleep 1000", timeout_ms=100).flags & TIMEOUT
    assert init.run("jobs -r | grep -c 'sleep 500'; jobs -r | grep -c 'sleep 1000'").out == b"1\n0\n"


def test_signals_reach_all_of_a_command(init):
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, 137)):
        init.run("x=kept")
        r = init.start("sleep 1000 | sleep 1000; sleep 1000")
        init.until(lambda r=r: r.started)
        init.signal(r, number)
        assert (init.wait(r).status, r.flags) == (status, 0)
        assert init.run("echo $x").out == b"kept\n"
    r = init.start("trap 'echo usr1; exit 8' USR1; while :; do sleep 0.01; done")
    init.until(lambda: r.started)
    init.run("sleep 0.2", session=2)
    init.signal(r, signal.SIGUSR1)
    assert init.wait(r).status == 8


def test_who_waits_may_be_called_off(init):
    first = init.start("sleep 0.3; echo first")
    second, third = init.start("echo second"), init.start("echo third")
    init.signal(second, signal.SIGTERM)
    init.wait(first, second, third)
    assert second.refused and (first.out, third.out) == (b"first\n", b"third\n")


def test_the_time_of_processes_is_told(init):
    r = init.run("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'")
    assert 1_000_000 < r.cpu_ns <= r.wall_ns * 1.5
    assert init.run("true").cpu_ns < r.cpu_ns


# ---- sessions, many at once

def test_sessions_share_nothing_of_the_shell(init):
    init.run("x=1; cd /proc")
    assert init.run("echo $x $PWD; x=2", session=2).out.split()[0] != b"1"
    assert init.run("echo $x $PWD").out == b"1 /proc\n"


def test_a_session_does_not_wait_for_another(init):
    long = init.start("sleep 1000")
    assert init.run("echo quick", session=2).out == b"quick\n"
    assert not long.ended
    assert init.run("echo apart", flags=APART).out == b"apart\n"


def test_commands_of_a_session_run_in_their_order(init):
    all = [init.start(f"echo {i}; x=${{x}}{i}.") for i in range(60)]
    init.wait(*all)
    assert [r.out for r in all] == [b"%d\n" % i for i in range(60)]
    assert init.run("echo $x").out == "".join(f"{i}." for i in range(60)).encode() + b"\n"


def test_a_session_that_is_closed_is_gone(init):
    init.run("x=1; sleep 1000 >/dev/null 2>&1 & sleep 1001 >/dev/null 2>&1 &")
    running, waiting = init.start("sleep 1000"), init.start("echo never")
    init.until(lambda: running.started)
    before = init.readies
    init.send(CLOSE, payload=struct.pack("<I", 1))
    init.until(lambda: init.readies > before)
    init.wait(running, waiting)
    assert running.flags & (SHELL | BY_SIGNAL) == SHELL | BY_SIGNAL and waiting.refused
    if init.group is not None:
        assert init.run("echo ${x-fresh}").out == b"fresh\n" and not sleepers(init)
    init.send(CLOSE, payload=struct.pack("<I", 77))
    init.until(lambda: init.readies > before + 1)


def test_no_more_than_so_many_sessions(init):
    all = [init.start("echo $$", session=n) for n in range(1, 33)]
    init.wait(*all)
    assert len({r.out for r in all}) == 32
    assert "32 sessions" in init.run("true", session=33).refused
    assert init.run("echo on", session=32).out == b"on\n"
    init.send(CLOSE, payload=struct.pack("<I", 5))
    init.until(lambda: init.readies > 1)
    assert init.run("echo on", flags=APART).out == b"on\n"
    assert init.run("echo new", session=33).out == b"new\n"


def test_random_numbers_of_shells_differ(init):
    all = [init.start("echo $RANDOM $RANDOM $RANDOM $SECONDS", session=n) for n in range(1, 17)]
    init.wait(*all)
    assert len({r.out for r in all}) == 16
    assert all[0].out.split()[3] in (b"0", b"1")


@pytest.mark.parametrize("seed", range(3))
def test_many_at_once_however_the_frames_are_cut(seed):
    rng = random.Random(seed)
    with open_init(rng) as init:
        under_way = []
        for n in range(150):
            size = rng.choice([0, 1, 100, 70_000])
            command = rng.choice([
                f"head -c {size} /dev/zero; echo {n} >&2",
                f"echo {n} >&2; (exit {n % 7}); head -c {size} /dev/zero",
                f"x=$(head -c {size} /dev/zero | tr '\\0' x); printf %s \"$x\"; echo {n} >&2"])
            under_way.append((size, n, init.start(command, session=rng.randint(1, 8),
                                                  flags=rng.choice([0, 0, APART]))))
            while sum(not r.ended for _, _, r in under_way) > 40:
                init.pump(1)
        for size, n, r in under_way:
            init.wait(r)
            assert (len(r.out), r.err) == (size, b"%d\n" % n), r


# ---- credit

def test_a_slow_reader_holds_up_himself(init):
    init.credits = False
    slow = init.start("yes | head -c 2000000; echo done >&2")
    init.until(lambda: len(slow.out) == WINDOW)
    quick = init.run("yes | head -c 200000", session=2)
    assert len(quick.out) == 200000
    assert len(slow.out) == WINDOW and not slow.ended
    init.credits = True
    init.acknowledge(slow)
    assert len(init.wait(slow).out) == 2000000 and slow.err == b"done\n"


def test_what_nobody_takes_can_be_ended(init):
    init.credits = False
    r = init.start("yes", timeout_ms=200)
    init.until(lambda: len(r.out) == WINDOW)
    init.run("sleep 1.5", session=2)
    init.credits = True
    init.acknowledge(r)
    assert init.wait(r).flags & TIMEOUT


# ---- terminals

def screen(init, r, text):
    init.until(lambda: text in r.out or r.ended)
    assert text in r.out, r


def test_a_terminal_is_one(init):
    r = init.run("tty; stty size; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all; echo $TERM; echo e >&2",
                 flags=PTY, rows=30, columns=100)
    lines = r.out.decode().split("\r\n")
    assert lines[0].startswith("/dev/pts/") and lines[1:] == ["30 100", "all", "xterm-256color", "e", ""]
    assert init.run("stty size", flags=PTY).out == b"24 80\r\n"
    assert init.run("echo $TERM", flags=PTY, env=["TERM=vt100"]).out == b"vt100\r\n"
    assert init.run("exit 3", flags=PTY).status == 3


def test_a_terminal_is_resized(init):
    r = init.start("trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.01; done", flags=PTY)
    screen(init, r, b"ready")
    init.send(RESIZE, r.id, struct.pack("<HH", 51, 132))
    assert b"51 132" in init.wait(r).out


def test_ctrl_c_goes_through_the_terminal(init):
    r = init.start("echo ready; sleep 1000; echo not here", flags=PTY)
    screen(init, r, b"ready")
    init.send(INPUT, r.id, b"\x03")
    assert init.wait(r).out == b"ready\r\n^C" and (r.status, r.flags) == (2, BY_SIGNAL)


def in_front(init, name):
    """Waits until a program of that name is its terminal's foreground process group."""
    init.run("while :; do for f in /proc/[0-9]*/stat; do"
             " read -r pid comm state ppid group session tty front rest < $f || continue;"
             f" [ $comm = '({name})' ] && [ $group = $front ] && exit; done; done 2>/dev/null", session=2)


def prompt_after(init, r, text):
    """Waits until the shell reads the next line: earlier keys are the terminal's, not the editor's.
    """
    init.until(lambda: text in r.out and b"# " in r.out[r.out.rindex(text):] or r.ended)
    assert not r.ended, r


def test_an_interactive_shell_has_job_control(init):
    r = init.start("", flags=PTY, env=["HOME=/no/such"])
    screen(init, r, b"# ")
    init.send(INPUT, r.id, b"sleep 1000\n")
    in_front(init, "sleep")
    init.send(INPUT, r.id, b"\x1a")
    prompt_after(init, r, b"Stopped")
    init.send(INPUT, r.id, b"bg\n")
    prompt_after(init, r, b"sleep 1000 &")
    init.send(INPUT, r.id, b"fg\n")
    in_front(init, "sleep")
    init.send(INPUT, r.id, b"\x03")
    prompt_after(init, r, b"^C")
    init.send(INPUT, r.id, b"echo $((40+2))\n")
    prompt_after(init, r, b"\r42\r\n")
    init.send(INPUT, r.id, b"\x04")
    assert init.wait(r).status in (0, 130)


def test_the_end_of_input_is_a_key_of_the_terminal(init):
    r = init.start("cat; echo ended", flags=PTY)
    init.send(INPUT, r.id, b"line\n")
    init.send(INPUT, r.id)
    assert b"ended" in init.wait(r).out


def test_a_terminal_that_is_hung_up_ends(init):
    r = init.start("", flags=PTY)
    init.until(lambda: r.started)
    init.signal(r, signal.SIGKILL)
    assert init.wait(r).flags & BY_SIGNAL


# ---- the machine itself

def test_a_ping_is_answered_whatever_runs(init):
    busy = [init.start("while :; do :; done", session=n) for n in range(1, 9)]
    init.until(lambda: all(r.started for r in busy))
    init.send(PING, payload=b"12345678")
    init.until(lambda: init.pongs)
    assert init.pongs == [b"12345678"]


HOSTILE = [
    (frame(200), "verb 200"), (struct.pack("<IIHH", 65537, 1, TEXT, 0), "no frame"),
    (struct.pack("<IIHH", 0, 1, TEXT, 1), "no frame"), (b"\xff" * 12, "no frame"),
    (frame(EXEC, 1, b"short"), "an exec of 5 bytes"), (frame(TEXT, 0, b"x"), "id 0"),
    (frame(EXEC, 1, exec_payload(1, 0, 0, 0, 0, "", []) + b"x"), "do not add up"),
    (frame(EXEC, 1, exec_payload(0, 0, 0, 0, 0, "", [])), "session 0"),
    (frame(CLOSE, 0, b"1"), "1 bytes"), (frame(RESUME, 0, b""), "a resume of 0 bytes"),
    (frame(EXEC, 1, exec_payload(1, 0, 0, 0, 0, "", [])) * 2, "twice"),
    (frame(TEXT, 1, b"sleep 9") + frame(EXEC, 1, exec_payload(1, 0, 0, 0, 0, "", [])) +
     frame(CREDIT, 1, struct.pack("<I", 2**32 - 1)), "credit"),
    (frame(TEXT, 1, b"sleep 9") + frame(EXEC, 1, exec_payload(1, 0, 0, 0, 0, "", [])) +
     frame(SIGNAL, 1, struct.pack("<I", 99)), "signal 99"),
    (b"".join(frame(TEXT, n, b"x") for n in range(1, 66)), "64 commands"),
]


@pytest.mark.parametrize("bytes_sent, said", HOSTILE, ids=[said for _, said in HOSTILE])
def test_what_is_no_protocol_ends_init(init, bytes_sent, said):
    with pytest.raises(Ended, match=said):
        init.unsent += bytes_sent
        init.until(lambda: False)
    assert init.process.wait(vm_init.WAIT) == 70


@pytest.mark.parametrize("seed", range(4))
def test_no_bytes_make_it_hang(seed):
    rng = random.Random(seed)
    for _ in range(10):
        with open_init() as init, pytest.raises(Ended):
            for _ in range(200):
                length = rng.choice([0, 0, 4, 8, 28, 40, 100, 70_000])
                head = struct.pack("<IIHH", length, rng.choice([0, 1, 2, rng.getrandbits(32)]),
                                   rng.choice([*range(1, 11), rng.getrandbits(16)]), 0)
                init.unsent += head + rng.randbytes(min(length, 65536))
            init.results = {n: vm_init.Result(n) for n in (0, 1, 2)}
            init.take = lambda *_: None
            init.until(lambda: False)


def test_late_frames_for_what_has_ended_are_ignored(init):
    r = init.run("true")
    for verb in (INPUT, SIGNAL, CREDIT, RESIZE):
        init.send(verb, r.id, struct.pack("<I", 9))
    assert init.run("echo on").out == b"on\n"


def test_quiet_and_on_again(init):
    init.run("x=1; sleep 1000 >/dev/null 2>&1 &")
    before = init.readies
    init.send(QUIESCE)
    init.until(lambda: init.readies > before)
    assert init.run("echo ${x-fresh}").out == b"fresh\n"


def test_it_ends_when_the_host_is_gone():
    init = open_init()
    init.start("sleep 1000")
    init.close()
    assert init.process.returncode == 70


def test_nothing_is_left_open(init):
    """But cgroups, which are used again."""
    def count():
        return init.run("for p in 1 $$; do readlink /proc/$p/fd/* | grep -vc cgroup; done").out

    init.wait(init.start("true"), init.start("true", session=2))
    before = count()
    for n in range(40):
        init.run("echo x; echo y >&2; exit" if n % 5 == 0 else "head -c 1000 /dev/zero",
                 session=2, flags=[0, APART, PTY][n % 3])
    init.run("true", session=2)
    init.until(lambda: count() == before)


# ---- in the machine

IMAGE = ROOT / "build" / "vm"


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    needed = [ROOT / "build" / "vm-native", *(IMAGE / f for f in ("Image", "root.erofs", "disk.ext4"))]
    needs.require(*needed, by="make vm-native vm")
    folder = tmp_path_factory.mktemp("machine")
    subprocess.run(["cp", "--sparse=always", needed[3], folder / "disk"], check=True)
    with vm_init.Machine(*needed[:3], folder / "disk", folder,
                         ["--ram", "128", "--cmdline", KERNEL]) as m:
        resume(m)
        yield m


KERNEL = "console=hvc0 root=/dev/vda ro panic=-1 quiet init=/sbin/cloche-init"


def said_ready(m, verb, payload=b""):
    before = m.readies
    m.send(verb, payload=payload)
    m.until(lambda: m.readies > before)


def resume(m, number=0xabcdef):
    said_ready(m, RESUME, struct.pack("<Q64sQQ8x", 1_700_000_000 * 10**9, os.urandom(64), number, 0))


def test_in_the_machine_a_command_gives_what_bash_gives(machine):
    for command in AS_BASH:
        shell = "CMD=\"$CMD\"; exec env -u CMD bash -O expand_aliases -c \"$CMD\""
        given = machine.run(shell, flags=APART, env=[f"CMD={command}"], cwd="/")
        r = machine.run(command, flags=APART, cwd="/")
        assert (r.out, r.err, r.status) == (given.out, given.err, given.status), command


def test_in_the_machine_all_is_in_its_place(machine):
    r = machine.run("id -u; pwd; echo $HOME $PATH; cat /proc/sys/kernel/hostname; touch /etc/x /usr/x && rm "
                    "/etc/x /usr/x; stat -fc %T / /tmp /run /dev/shm /sys/fs/cgroup; readlink /dev/fd")
    assert r.out.decode().split("\n") == [
        "0", "/root", "/root /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "cloche-abcdef", "overlayfs", "tmpfs", "tmpfs", "tmpfs", "cgroup2fs", "/proc/self/fd", ""], r
    assert machine.run("exec 3<>/dev/tcp/127.0.0.1/9").err.endswith(b"Connection refused\n"
                                                                    b"bash: line 1: /dev/tcp/127.0.0.1/9: "
                                                                    b"Connection refused\n")


def test_in_the_machine_the_clock_and_names_are_those_of_the_host(machine):
    look = "date +%s; cat /etc/machine-id /proc/sys/kernel/random/boot_id; echo $RANDOM $RANDOM"
    first = machine.run(look, session=20).out.split()
    resume(machine, 0x123456)
    second = machine.run(look, session=21).out.split()
    assert 0 <= int(second[0]) - 1_700_000_000 < 60
    assert all(a != b for a, b in zip(first[1:3], second[1:3]))
    assert first[3:] != second[3:]
    resume(machine)


def test_in_the_machine_nobody_else_has_the_port(machine):
    r = machine.run("for f in /dev/vport*; do cat $f; done; for f in /proc/1/fd/*; do "
                    "[ -c $f ] && case $(readlink $f) in */vport*) echo junk >$f;; esac; done")
    assert r.err.count(b"busy") == 2, r


def test_in_the_machine_a_fork_bomb_is_ended(machine):
    r = machine.start(":() { : | : & }; :; sleep 1000", timeout_ms=1500)
    other = machine.start("echo other", session=2)
    machine.send(PING, payload=b"12345678")
    machine.until(lambda: machine.pongs and other.ended)
    assert not r.ended and other.out == b"other\n"
    assert machine.wait(r).flags & TIMEOUT
    count = "n=(/proc/[0-9]*); echo $((${#n[@]} < 60))"
    machine.until(lambda: machine.run(count, session=2).out == b"1\n")


def test_in_the_machine_who_takes_all_memory_is_ended(machine):
    r = machine.run("head -c 1000000000 /dev/zero | tail -c 1000000000 >/dev/null; echo $?",
                    session=3)
    assert (r.out, r.flags) == (b"137\n", OOM), r
    r = machine.run("printf -v x '%100000000s' a; printf -v y '%100000000s' b; echo $?", session=3)
    assert r.flags & (OOM | SHELL) or r.out != b"0\n"
    assert machine.run("echo on", session=3).flags == 0


def test_in_the_machine_a_full_disk_is_an_error(machine):
    r = machine.run("head -c 3000000000 /dev/zero >/tmp/big; rm /tmp/big; echo $?", session=4)
    assert b"No space left" in r.err and r.out == b"0\n"


def test_in_the_machine_programs_have_a_terminal(machine):
    r = machine.start("vi /tmp/new", flags=PTY)
    machine.until(lambda: b"~" in r.out)
    machine.send(INPUT, r.id, b"iwritten\x1b:wq\r")
    assert machine.wait(r).status == 0
    assert machine.run("cat /tmp/new").out == b"written\n"
    r = machine.start("python3 -q", flags=PTY)
    screen(machine, r, b">>> ")
    machine.send(INPUT, r.id, b"6*7\r")
    screen(machine, r, b"42")
    machine.send(INPUT, r.id, b"exit()\r")
    assert machine.wait(r).status == 0


def test_in_the_machine_resting_ends_what_runs(machine):
    machine.run("x=1; sleep 1000 >/dev/null 2>&1 &")
    said_ready(machine, QUIESCE)
    assert machine.run("echo ${x-fresh}; n=(/proc/[0-9]*/exe); echo x").out == b"fresh\nx\n"
    assert not sleepers(machine)


def test_in_the_machine_the_power_goes_off(machine):
    machine.run("echo kept >/var/kept; sleep 1000 >/dev/null &")
    machine.send(vm_init.POWER_OFF)
    assert machine.process.wait(vm_init.WAIT) == 0
