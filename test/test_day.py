"""docs/day.md, line by line: its calls to one server, in their order, then its commands."""
import functools
import http.server
import json
import shlex
import subprocess
import threading

import pytest

import needs
from conftest import ROOT
from machine_doors import needs_image
from wire import Stdio, call

pytestmark = [needs_image, needs.installed(ROOT / "build/guest/tools/jq", by="make tools")]
PAGE = (ROOT / "docs/day.md").read_text()


def lines():
    """Indented lines in their order: (what is asked, what is answered or None)."""
    found = [line[4:] for line in PAGE.splitlines() if line.startswith("    ")]
    for i, line in enumerate(found):
        if not line.startswith("--> "):
            answer = found[i + 1] if i + 1 < len(found) else ""
            yield line, json.loads(answer[4:]) if answer.startswith("--> ") else None


def fits(said, real, handles):
    """What the page says of an answer is a part of it. A handle of a machine stands for the real one."""
    if isinstance(said, dict):
        return isinstance(real, dict) and all(k in real and fits(v, real[k], handles) for k, v in said.items())
    if isinstance(said, list):
        return isinstance(real, list) and len(said) <= len(real) and all(fits(s, r, handles) for s, r in zip(said, real))
    if isinstance(said, str) and said.startswith("vm_"):
        return handles.setdefault(said, real) == real
    return said == real


def answer_of(result):
    if "structuredContent" in result:
        return result["structuredContent"]
    return json.loads(result["content"][0]["text"])


@pytest.fixture
def rates(tmp_path):
    """The person's server, at a port that is free; the page says 8000."""
    (tmp_path / "rates").mkdir()
    (tmp_path / "rates" / "rates.csv").write_text("meeting,2\n")
    served = functools.partial(Quiet, directory=str(tmp_path / "rates"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), served) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield str(server.server_address[1])
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def command(line, cloche, vault, tmp_path):
    words = shlex.split(line)
    assert words[0] == "build/cloche"
    words = [cloche] + [str(vault) if w == "examples/vault" else w for w in words[1:]]
    done = subprocess.run(words, input="" if "mcp" in words else "n\n" if "connect" in words else "y\n",
                          capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert "unknown" not in done.stderr and "usage:" not in done.stderr.lower(), (line, done)
    if "connect" not in words:
        assert done.returncode == 0, (line, done)


def is_of_the_policy(line):
    return line.startswith("build/cloche policy")


def test_the_calls_of_the_page_are_true(cloche, vault, rates, tmp_path):
    handles = {}
    named = [(line.replace("8000", rates), said) for line, said in lines() if said is not None or is_of_the_policy(line)]
    assert len(named) >= 22
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        for line, said in named:
            if said is None:
                command(line, cloche, vault, tmp_path)
                continue
            for placeholder, handle in handles.items():
                line = line.replace(placeholder, handle)
            name, arguments = line.split(" ", 1)
            result = agent.ask(call(name, json.loads(arguments)))["result"]
            assert not result["isError"], (line, result)
            real = answer_of(result)
            if isinstance(real, dict) and isinstance(said, list):
                real = real[next(k for k in real if isinstance(real[k], list))]
            assert fits(said, real, handles), (line, real)
            if name == "vm_read":
                assert result["content"][1]["type"] == "image"
    assert handles


def test_the_commands_of_the_page_run(cloche, vault, tmp_path):
    commands = [line for line, said in lines() if said is None and not is_of_the_policy(line)]
    assert len(commands) == 5
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        agent.ask(call("create_note", {"type": "idea", "title": "Wrong", "content": "x"}))
    for line in commands:
        command(line, cloche, vault, tmp_path)
    assert not (vault / "idea/Wrong.md").exists()
