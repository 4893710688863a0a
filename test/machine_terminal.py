"""A terminal emulator (PyPI's pyte) at a shell in a Linux machine: `cloche vm shell`, or the same
init in qemu-system-riscv64; and the session that is typed on both."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios

import pyte
import vm_init

ROWS, COLUMNS = 24, 80
CURSOR = "\u25ae"


class Screen(pyte.Screen):
    def select_graphic_rendition(self, *attributes, private=False):
        """vi asks for the state of a mode so, which pyte does not know."""
        if not private:
            super().select_graphic_rendition(*attributes)


class Terminal:
    """A shell's screen. pump() reads output; write() types."""

    def __init__(self):
        self.screen = Screen(COLUMNS, ROWS)
        self.screen.write_process_input = lambda text: self.write(text.encode())
        self.stream = pyte.ByteStream(self.screen)

    def text(self):
        """The screen with its cursor, without what differs between machines."""
        row, column = self.screen.cursor.y, self.screen.cursor.x
        lines = [normal(line.rstrip()) for line in self.screen.display]
        line = self.screen.display[row]
        lines[row] = normal(line[:column]) + CURSOR + normal(line[column:].rstrip())
        return "\n".join(lines).rstrip("\n")

    def prompt(self):
        """The number in the prompt before the cursor; None if there is no prompt."""
        found = re.search(rf"^<(\d+)> \S+# {CURSOR}$", self.text(), re.M)
        return found and int(found[1])

    def last_prompt(self):
        found = re.findall(r"^<(\d+)> ", self.text(), re.M)
        return int(found[-1]) if found else 0


class Ours(Terminal):
    """`cloche vm shell` on a terminal of this machine."""

    def __init__(self, command, environment):
        super().__init__()
        self.process, self.fd = pty.fork()
        if not self.process:
            os.execve(command[0], command, environment)
        self.resize(ROWS, COLUMNS)

    def write(self, data):
        os.write(self.fd, data)

    def pump(self, timeout_s):
        if not select.select([self.fd], [], [], timeout_s)[0]:
            return
        try:
            self.stream.feed(os.read(self.fd, 1 << 16))
        except OSError:  # its other end is closed
            raise EOFError from None

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def ended(self):
        """The exit code, after the last output."""
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])

    def close(self):
        os.close(self.fd)
        try:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


class Theirs(Terminal):
    """A shell of a machine, through its control port."""

    def __init__(self, port):
        super().__init__()
        self.port, self.taken = port, 0
        self.shell = port.start("", session=0, flags=vm_init.PTY | vm_init.WITH_INPUT, rows=ROWS,
                                columns=COLUMNS, env=["TERM=xterm-256color"])

    def write(self, data):
        self.port.send(vm_init.INPUT, self.shell.id, data)

    def pump(self, timeout_s):
        if self.shell.ended:
            raise EOFError
        self.port.pump(timeout_s)
        self.stream.feed(self.shell.out[self.taken:])
        self.taken = len(self.shell.out)

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        self.port.send(vm_init.RESIZE, self.shell.id, struct.pack("<HH", rows, columns))

    def ended(self):
        self.port.wait(self.shell)
        return self.shell.status

    def close(self):
        pass


# Differences between two machines, and between two moments.
DIFFERS = [
    (r"cloche-[0-9a-f]+", "HOST"),  # each has its name
    (r"\[(\d+)\] \d{2,}$", r"[\1] PID"),  # a job's process
    (r"\b[0-9a-f]{7}\b", "COMMIT"),  # made of the time, among others
    (r"\b[0-9a-f]{40}\b", "COMMIT"),
    (r"(Date: +).*", r"\1WHEN"),
    (r"\d+:\d\d:\d\d", "H:M:S"),
    (r"\bup +[^,]*(, +\d+:\d\d)?,", "up TIME,"),
    (r"load average: .*", "load average: LOAD"),
    # what top counts
    (r"^(%Cpu|MiB ).*", r"\1"),
    (r"^( +1 root +0 +-20) .*", r"\1"),
]


def normal(line):
    for pattern, instead in DIFFERS:
        line = re.sub(pattern, instead, line)
    return line


# --- what is typed -----------------------------------------------------------------------------

PROMPT = None  # the next prompt of the shell, which counts its commands
UP, DOWN, LEFT, RIGHT, ESC, TAB = "\x1b[A", "\x1b[B", "\x1b[D", "\x1b[C", "\x1b", "\t"
C_A, C_C, C_D, C_E, C_K, C_L, C_R, C_U, C_W, C_Z, C_BACKSLASH = map(
    lambda c: chr(ord(c) - 64), "ACDEKLRUWZ\\")


class Resize:
    def __init__(self, rows, columns):
        self.size = rows, columns


# Programs to be stopped and ended. Each says when the terminal is its own, before which keys would
# go to the shell.
PROGRAMS = ("printf '#!/bin/sh\\necho up\\nexec sleep 1000\\n' >nap; "
            "printf '#!/bin/sh\\necho up\\nexec cat\\n' >parrot; chmod +x nap parrot; clear\r")

# (what is typed, what the screen must show then: a pattern, or PROMPT)
SESSION = [
    ("PS1='<\\#> \\w\\$ '; PROMPT_COMMAND=; clear\r", PROMPT),
    ("echo hello, world\r", PROMPT),
    ("cd /tmp && mkdir -p demo && cd demo && pwd\r", PROMPT),
    ("false; echo $?\r", PROMPT),
    ("echo $((6 * 7)) ${BASH_VERSION%%.*} $0 $-\r", PROMPT),
    ("tty; stty size; echo $TERM; tput cols\r", PROMPT),
    ("stty -a\r", PROMPT),
    # typing: editing, history, completion
    ("echo abd" + LEFT + "c" + C_E + " end" + C_A + "X=1; " + C_E + "\r", PROMPT),
    ("echo one two three" + C_W + C_W + "2" + C_U + "echo again\r", PROMPT),
    (UP + UP + "\r", PROMPT),
    (C_R + "hello", r"reverse-i-search\)`hello': echo \u25aehello"),
    (C_C, r"\^C.*\n<\d+> /tmp/demo# \u25ae"),
    ("!e\r", PROMPT),
    ("echo first >alpha-one; echo second >beta; ls\r", PROMPT),
    ("cat al" + TAB + "\r", PROMPT),
    ("ls /usr/share/zonei" + TAB + C_U + "echo ok\r", PROMPT),
    ("history | tail -n 3 | cut -c 8-\r", PROMPT),
    # here-documents, quotes that stay open, reading from the terminal
    ("cat <<E\rline $((1 + 1))\r  indented\rE\r", PROMPT),
    ("echo 'open\rand closed'\r", PROMPT),
    ("read -r -p 'name? ' name\r", r"^name\? \u25ae"),
    ("J\u00f6rg\r", PROMPT),
    ("echo \"<$name>\" ${#name}\r", PROMPT),
    (PROGRAMS, PROMPT),
    ("cat parrot nap\r", PROMPT),
    ("echo go; cat >typed\r", r"^go\n\u25ae"),
    ("one line\rtwo\x7f\x7f\x7fdeux\r" + C_D, PROMPT),
    ("wc typed; cat typed\r", PROMPT),
    # characters that are wide, that combine, that are many bytes
    ("echo '\u00e4\u00f6\u00fc \u20ac \u6f22\u5b57 e\u0301 \U0001f514'\r", PROMPT),
    ("echo \u6f22\u5b57\x7fX\r", PROMPT),
    ("printf '\\e[1;31mred\\e[0m \\e[4mline\\e[0m\\n'; ls --color=always -d . | cat -v\r", PROMPT),
    # much, and little at a time
    ("seq 1 100\r", PROMPT),
    (C_L, r"\A<\d+> /tmp/demo# \u25ae"),
    ("for i in 1 2 3; do printf '%s ' $i; sleep 0.1; done; echo\r", PROMPT),
    ("ls /etc | sort | head -n 3 | cat -n\r", PROMPT),
    # jobs and signals
    ("./parrot\r", r"^up\n\u25ae"),
    ("a\r", r"^a\na\n\u25ae"),
    (C_Z, PROMPT),
    ("sleep 1000 &\r", PROMPT),
    ("jobs\r", PROMPT),
    ("fg %1\r", r"^\./parrot\n\u25ae"),
    ("b\r", r"^b\nb\n\u25ae"),
    (C_D, PROMPT),
    ("disown %2; kill $!; clear; ./nap\r", r"\Aup\n\u25ae"),
    (C_Z, PROMPT),
    ("bg; jobs\r", PROMPT),
    ("disown %1; kill %1; kill $!; clear; ./nap\r", r"up\n\u25ae"),
    (C_C, PROMPT),
    ("echo $?\r", PROMPT),
    ("clear; trap 'echo caught' INT; ./nap\r", r"\Aup\n\u25ae"),
    (C_C, PROMPT),
    ("clear; trap - INT; ./nap\r", r"\Aup\n\u25ae"),
    (C_BACKSLASH, PROMPT),
    ("./parrot | cat -n\r", r"^ +1 +up\n\u25ae"),
    ("a\r", r"^ +2 +a\n\u25ae"),
    (C_D, PROMPT),
    ("(exit 7); echo $?; kill -l 15; umask\r", PROMPT),
    # vi
    ("clear; vi typed\r", r"\A\u25aeone line\ndeux\n~"),
    ("Goinserted by vi" + ESC, r"^inserted by v\u25aei$"),
    ("ggxA!" + ESC + "u", r"\Ane line\u25ae?$|\Ane lin\u25aee$"),
    ("/vi\r", r"^inserted by \u25aevi$"),
    (":wq\r", PROMPT),
    ("cat typed\r", PROMPT),
    ("vi typed\r", r"\A\u25ae?ne line\ndeux\n"),
    ("dd:q!\r", PROMPT),
    # less
    ("clear; seq 1 300 | less\r", r"\A1\n2\n(.*\n)*:\u25ae"),
    (" ", r"^46\n:\u25ae"),
    ("/150\r", r"\A150\n(.*\n)*:\u25ae"),
    ("G", r"^300\n(\(END\)|:)\u25ae"),
    ("q", PROMPT),
    # Python's prompt
    ("clear; TERM=dumb python3 -q\r", r">>> \u25ae"),
    ("1 + 1\r", r"^2\n>>> \u25ae"),
    ("for i in range(3):\r    print(i, 'x' * i)\r\r", r"^2 xx\n>>> \u25ae"),
    ("import this_is_nothing\r", r"ModuleNotFoundError.*\n>>> \u25ae"),
    ("print('looping'); exec('while True: pass')\r", r"^looping\n\u25ae"),
    (C_C, r"KeyboardInterrupt\n>>> \u25ae"),
    ("'\u00e4'.encode(), 2 ** 100, 0.1 + 0.2\r", r"30000000000000004\)\n>>> \u25ae"),
    (C_D, PROMPT),
    ("clear; python3 -q\r", r">>> \u25ae"),
    ("6 * 7\r", r"^42\n>>> \u25ae"),
    ("exit()\r", PROMPT),
    # git
    ("clear; git init -q . && git config user.name N && git config user.email n@example.org\r", PROMPT),
    ("git add . && git commit -qm first && git log | cat\r", PROMPT),
    ("echo more >>beta; git status --short; git diff\r", PROMPT),
    ("git stash -q; git log --oneline --all | wc -l; git branch --show-current\r", PROMPT),
    # another size
    (Resize(30, 100), None),
    ("clear; stty size; tput lines; echo $COLUMNS\r", PROMPT),
    ("vi beta\r", r"\A\u25aesecond\n(~\n){20}"),
    (Resize(20, 60), r"\A\u25aesecond\n(~\n){10}"),
    (":q\r", PROMPT),
    (Resize(24, 80), None),
    # what runs
    ("clear; top -b -n 1 | sed -n '1p;7p'\r", PROMPT),
    ("top -p 1\r", r"^ +1 root"),
    ("q", PROMPT),
    ("clear; python3 -m pip --version\r", PROMPT),
    ("umask 077; touch p; stat -c '%a %U %s' p; umask 022\r", PROMPT),
    ("exec 3>three; echo to three >&3; exec 3>&-; cat three\r", PROMPT),
    ("f() { local x=$1; echo \"<$x>\"; }; f 'a  b'; declare -F f\r", PROMPT),
    ("select x in a b; do echo $x; break; done\r", r"^#\? \u25ae"),
    ("2\r", PROMPT),
    ("exit 3\r", None),
]
