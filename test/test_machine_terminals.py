"""Commands with a terminal: `terminal` of vm_exec, and what is typed into it over REST."""
import base64
import json
import threading

import httpx
import pytest

from machine_doors import needs_image
from test_machine import agent, refusal, vm  # noqa: F401

pytestmark = needs_image


class Typed:
    """A command in a terminal of the server: its output as it comes."""

    def __init__(self, server, command="bash --norc", name="t1", **more):
        self.http, self.name = server.http, name
        self.text, self.result, self.changed = "", None, threading.Condition()
        self.body = {"command": command, "terminal": {"name": name, "rows": 30, "columns": 100}, **more}
        self.client = httpx.Client(base_url=server.url, timeout=60, trust_env=False)
        self.thread = threading.Thread(target=self.hear)
        self.thread.start()

    def hear(self):
        kind = None
        with self.client.stream("POST", "/vm/exec", json=self.body, headers={"Accept": "text/event-stream"}) as r:
            for line in r.iter_lines():
                if line.startswith("event: "):
                    kind = line[7:]
                elif line.startswith("data: ") and kind in ("vm", "result"):
                    said = json.loads(line[6:])
                    with self.changed:
                        if kind == "result":
                            self.result = said
                        else:
                            self.text += said["text"] if "text" in said else base64.b64decode(said["base64"]).decode("latin-1")
                        self.changed.notify_all()

    def until(self, part):
        with self.changed:
            assert self.changed.wait_for(lambda: part in self.text, 30), self.text

    def until_prompt(self):
        with self.changed:
            assert self.changed.wait_for(lambda: self.text.endswith("# "), 10), repr(self.text[-300:])

    def type(self, text=None, **body):
        got = self.http.post(f"/vm/default/terminals/{self.name}", json=body if text is None else {"text": text})
        assert got.status_code == 200, got.text
        return got.json()["typed"]

    def end(self):
        self.thread.join(60)
        self.client.close()
        return self.result


def test_a_shell_is_typed_into(server):
    t = Typed(server)
    t.until("# ")
    assert t.type("tty; echo $TERM $((6*7)); stty size\n") == 36
    t.until("xterm-256color 42\r\n30 100\r\n")
    assert "/dev/pts/" in t.text
    t.type(rows=50, columns=132)
    t.type("stty size\n")
    t.until("50 132")
    t.until_prompt()
    t.type("cat <(echo be''gun) -\n")  # it runs when it says so
    t.until("begun")
    t.type("\x03")
    t.until("^C")
    t.until_prompt()
    t.type("echo after $?\n")
    t.until("after 130")
    t.until_prompt()
    t.type("echo re''ads; head -c 4 | od -An -tx1\n")
    t.until("reads")
    t.type(base64=base64.b64encode(b"\xc3\xa4b\n").decode())
    t.until("c3 a4 62 0a")
    t.until_prompt()
    t.type("exit 3\n")
    result = t.end()
    assert result["exitCode"] == 3 and result["stdout"] == ""


def test_much_output_is_told_and_the_prompt_behind_it(server):
    t = Typed(server)
    t.until("# ")
    t.type("for i in $(seq 3000); do echo line $i; done; echo all of''it\n")
    t.until("line 3000\r\nall ofit\r\n")
    for i in range(200):
        t.type(f"echo {i}x$(({i}+1))\n")
    t.until("199x200\r\n")
    t.type("exit\n")
    assert t.end()["exitCode"] == 0


def test_who_hangs_up_ends_the_terminal(server):
    body = {"command": "echo up; sleep 1000", "terminal": {"name": "t1"}}
    with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client:
        with client.stream("POST", "/vm/exec", json=body, headers={"Accept": "text/event-stream"}) as r:
            next(r.iter_text())
    while server.http.post("/vm/default/terminals/t1", json={"text": "x"}).status_code != 404:
        pass
    while sum(m["commands"] for m in server.http.get("/vm").json()):
        pass


def test_who_hangs_up_ends_the_rest_of_a_line_too(server):
    body = {"command": "bash --norc", "terminal": {"name": "t1"}}
    with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client:
        with client.stream("POST", "/vm/exec", json=body, headers={"Accept": "text/event-stream"}) as r:
            parts = r.iter_text()
            while "# " not in next(parts):
                pass
            server.http.post("/vm/default/terminals/t1", json={"text": "sleep 1234; echo on > /root/on\n"})
            while not server.http.post("/vm/exec", json={"command": "pgrep -fx 'sleep 1234'"}).json()["stdout"]:
                pass
    while sum(m["commands"] for m in server.http.get("/vm").json()):
        pass
    said = server.http.post("/vm/exec", json={"command": "pgrep -fx 'sleep 1234'; ls /root/on"}).json()
    assert said["stdout"] == "", said


def test_a_terminal_that_nobody_uses_is_hung_up_on(server):
    t = Typed(server, command="trap 'echo hung up; exit 5' HUP; echo up; while :; do read -t 1000 x; done", timeoutMs=1500)
    t.until("up")
    result = t.end()
    assert result["timedOut"] and "hung up" in t.text, result


def test_a_terminal_has_one_command_and_one_caller(server):
    t = Typed(server)
    t.until("# ")
    two = server.http.post("/vm/exec", json={"command": "true", "terminal": {"name": "t1"}})
    assert two.status_code == 409, two.text
    assert server.http.post("/vm/vm_none/terminals/t1", json={"text": "x"}).status_code == 404
    assert server.http.post("/vm/default/terminals/t2", json={"text": "x"}).status_code == 404
    assert server.http.post("/vm/default/terminals/t1", json={"rows": 3}).status_code == 400
    assert server.http.post("/vm/default/terminals/t1", json={"rows": 3, "columns": 5000}).status_code == 400
    assert server.http.post("/vm/default/terminals/t1", json={"base64": "!"}).status_code == 400
    handle = server.http.get("/vm").json()[0]["machine"]
    assert server.http.post(f"/vm/{handle}/terminals/t1", json={"text": "exit\n"}).status_code == 200
    t.end()


def test_a_command_has_a_terminal_of_its_size(agent):  # noqa: F811
    assert vm(agent, command="stty size; test -t 0 && test -t 2 && echo $TERM", terminal=True)["stdout"] == "24 80\r\nxterm-256color\r\n"
    got = vm(agent, command="stty size; echo $TERM", terminal={"rows": 40, "columns": 120}, env={"TERM": "dumb"})
    assert got["stdout"] == "40 120\r\ndumb\r\n"
    assert vm(agent, command="test -t 1; echo $?", terminal=False)["stdout"] == "1\n"


@pytest.mark.parametrize("more, part", [
    ({"terminal": 1}, "terminal is"), ({"terminal": {"rows": 0}}, "terminal.rows"), ({"terminal": {"size": 1}}, "size"),
    ({"terminal": {"name": "a b"}}, "terminal.name"), ({"terminal": {"name": ""}}, "terminal.name"), ({"terminal": {"name": "x" * 41}}, "terminal.name"),
    ({"terminal": True, "stdin": "x"}, "stdin"), ({"terminal": True, "session": "x"}, "session")],
    ids=["number", "rows", "key", "space", "empty", "long", "stdin", "session"])
def test_what_is_no_terminal_is_said(agent, more, part):  # noqa: F811
    said = refusal(agent, command="true", **more)
    assert said.startswith("InvalidInput") and part in said, said
