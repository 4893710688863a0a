"""The chapter "The network, step by step" of docs/machine.md: its lines are typed, in their order, and
print what the page shows."""
import re
import shlex
import socket
import subprocess
import time
from pathlib import Path

from conftest import ROOT
from machine_doors import needs_image

pytestmark = needs_image

CHAPTER = "## The network, step by step\n"
PATIENCE_S = 120
END = "--- end of the line:"


def steps():
    """(command, what it prints) of each line."""
    text = (ROOT / "docs/machine.md").read_text().partition(CHAPTER)[2].partition("\n## ")[0]
    told = []
    for line in text.splitlines():
        if line.startswith("    $ "):
            told.append((line[6:], []))
        elif line.startswith("    "):
            told[-1][1].append(line[4:])
    return told


def two_ports():
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        return one.getsockname()[1], other.getsockname()[1]


def wait_for_port(port):
    """What was put into the background is there before the next line; a person is slower."""
    late = time.monotonic() + PATIENCE_S
    while time.monotonic() < late:
        try:
            return socket.create_connection(("127.0.0.1", port), 10).close()
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"nobody listens at {port}")


def fits(shown, line):
    """`...` stands for any text."""
    return re.fullmatch(".*".join(map(re.escape, shown.split("..."))), line, re.S)


class Shell:
    """A bash with job control, in which lines are typed."""

    def __init__(self, folder, program):
        self.process = subprocess.Popen(["bash", "--noprofile", "--norc"], cwd=folder, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.type(f"set -m; export PATH={shlex.quote(str(Path(program).parent))}:$PATH")

    def type(self, line):
        """What it prints. Its input is empty, since the shell's own is the lines that follow."""
        self.process.stdin.write(f"{{ {line}\n}} </dev/null\necho; echo '{END}'\n")
        self.process.stdin.flush()
        printed = []
        for got in self.process.stdout:
            if got.startswith(END):
                break
            printed.append(got.rstrip("\n"))
        else:
            raise AssertionError(f"the shell ended at: {line}")
        while printed and not printed[-1]:
            printed.pop()
        # A job that ended is told before the next line.
        return [text for text in printed if not re.match(r"\[\d+\][-+ ]", text)]

    def end(self):
        self.process.stdin.write("kill $(jobs -p)\nexit\n")
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait(PATIENCE_S)


def test_the_chapter_is_true(cloche, vault, tmp_path):
    first, second = two_ports()

    def here(text):
        return re.sub(r"\b8000\b", str(first), re.sub(r"\b8001\b", str(second), text))

    (tmp_path / "notes").symlink_to(vault)
    shell, all_steps = Shell(tmp_path, cloche), steps()
    assert len(all_steps) > 15
    try:
        for command, shown in all_steps:
            printed = shell.type(here(command))
            assert len(printed) == len(shown), (command, printed)
            for want, line in zip(shown, printed):
                assert fits(here(want), line), (command, want, line)
            if command.endswith("&"):
                wait_for_port(second if "8001" in command else first)
    finally:
        shell.end()
