"""Defects of other machines for agents, found by reading and running agentvm 0.0.5, are absent in
ours; and its own tests pass, as far as they need no network."""
import re
import subprocess

import pytest
from machine_doors import needs_image
from wire import Stdio, call, structured

pytestmark = needs_image


@pytest.fixture(scope="module")
def agent(cloche, tmp_path_factory):
    """An MCP client whose commands run in one machine."""
    vault = tmp_path_factory.mktemp("parity")
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        yield lambda command, **more: structured(
            client.ask(call("vm_exec", {"command": command, **more})))


def outcome(got):
    return got["stdout"], got["stderr"], got["exitCode"]


# --- defects that were seen -----------------------------------------------------------------

@pytest.mark.parametrize("code", [0, 1, 5, 31, 127, 255])
def test_an_exit_code_is_never_read_from_what_is_printed(agent, code):
    for n in range(20):
        printed = "x" * n * 37
        assert outcome(agent(f"printf '%s' '{printed}'; (exit {code})")) == (printed, "", code)


def test_a_marker_in_the_output_is_output(agent):
    text = "__AVM_DONE:00000000-0000-0000-0000-000000000000:0"
    assert outcome(agent(f"echo '{text}'; printf '\\137_AVM_DONE:1:9\\n'; (exit 4)")) == \
        (f"{text}\n__AVM_DONE:1:9\n", "", 4)


def test_lines_end_as_the_program_ends_them(agent):
    assert outcome(agent("printf 'a\\nb\\r\\nc'")) == ("a\nb\r\nc", "", 0)


def test_white_space_around_the_output_is_kept(agent):
    assert outcome(agent("printf '\\n\\t  x  \\n\\n'")) == ("\n\t  x  \n\n", "", 0)


def test_a_character_written_byte_by_byte_is_whole(agent):
    got = agent(r"""python3 -c "
import sys, time
for byte in 'ä€漢🔔'.encode() * 3:
    sys.stdout.buffer.write(bytes([byte])); sys.stdout.buffer.flush(); time.sleep(0.002)
" """)
    assert outcome(got) == ("ä€漢🔔" * 3, "", 0)


def test_standard_error_is_apart_from_standard_output(agent):
    assert outcome(agent("echo out; echo err >&2; ls /nonexistent >/dev/null")) == \
        ("out\n", "err\nls: cannot access '/nonexistent': No such file or directory\n", 2)


def test_nothing_answers_for_an_address_that_is_not_there(agent):
    got = agent("exec 3<>/dev/tcp/203.0.113.9/80 && echo connected", timeoutMs=20000)
    assert "connected" not in got["stdout"] and got["exitCode"] != 0


# --- defects that were read -------------------------------------------------------------------

@pytest.mark.parametrize("command", ["echo 'unclosed", 'echo "unclosed', "echo $(unclosed",
                                     "if true; then echo", "cat <<END\nno end"])
def test_what_is_not_closed_ends_with_an_error_and_the_shell_goes_on(agent, command):
    got = agent(command, timeoutMs=20000)
    assert got["exitCode"] != 0 or "here-document" in got["stderr"]
    assert outcome(agent("echo next")) == ("next\n", "", 0)


@pytest.mark.parametrize("command", ["cat", "read x", "python3", "bash", "sort", "head -n 1"])
def test_who_reads_standard_input_finds_its_end(agent, command):
    got = agent(command, timeoutMs=30000)
    assert got["stdout"] == "" and not got.get("timedOut")
    assert outcome(agent("echo next")) == ("next\n", "", 0)


def test_exit_ends_the_shell_and_not_the_machine(agent):
    agent("echo kept >/tmp/file")
    assert agent("exit 3")["exitCode"] == 3
    assert outcome(agent("cat /tmp/file")) == ("kept\n", "", 0)


def test_output_between_commands_is_not_the_next_ones(agent):
    agent("(sleep 0.2; echo late) & echo now")
    assert outcome(agent("sleep 0.5; echo next")) == ("next\n", "", 0)


def test_a_command_that_does_not_end_can_be_ended(agent):
    got = agent("sleep 1000", timeoutMs=500)
    assert got["exitCode"] != 0
    assert outcome(agent("echo next")) == ("next\n", "", 0)


def test_commands_run_side_by_side(agent):
    agent("mkfifo /tmp/pipe; cat /tmp/pipe >/tmp/got &", session="one")
    agent("echo through >/tmp/pipe", session="two")
    assert agent("wait; cat /tmp/got", session="one")["stdout"] == "through\n"


# --- what agentvm's tests ask ------------------------------------------------------------------

def test_echo_answers(agent):
    assert outcome(agent('echo "Hello World"')) == ("Hello World\n", "", 0)


def test_python_prints(agent):
    assert outcome(agent('python3 -c "print(100 + 200)"')) == ("300\n", "", 0)


def test_an_error_has_an_exit_code(agent):
    assert agent("ls /nonexistent")["exitCode"] != 0


def test_what_is_exported_is_there_for_the_next_command(agent):
    agent("export MY_VAR=hello")
    assert outcome(agent("echo $MY_VAR; python3 -c 'import os; print(os.environ[\"MY_VAR\"])'")) == \
        ("hello\nhello\n", "", 0)


def test_a_pattern_of_64_kb_keeps_its_sum(cloche):
    pattern = bytes(range(256)) * 256
    done = subprocess.run([cloche, "vm", "exec", "--", "sh", "-c", "tee /tmp/x | md5sum; cat /tmp/x"],
                          input=pattern, capture_output=True, timeout=120)
    text, _, data = done.stdout.partition(b"\n")
    assert re.fullmatch(rb"[0-9a-f]{32}  -", text) and data == pattern and done.returncode == 0


@pytest.mark.parametrize("megabytes", [1, 10])
def test_a_large_file_is_written_and_read_back(agent, megabytes):
    made = agent(f"head -c {megabytes}000000 /dev/urandom >/root/large; sync; "
                 "sha256sum </root/large; cat /root/large | sha256sum; stat -c %s /root/large",
                 timeoutMs=120000)
    first, second, size = made["stdout"].splitlines()
    assert first == second and size == f"{megabytes}000000"
