"""docs/day.md, line by line: its calls to one server, in their order, then its commands."""
import json
import shlex
import subprocess

from conftest import ROOT
from machine_doors import needs_image
from wire import Stdio, call

pytestmark = needs_image
PAGE = (ROOT / "docs/day.md").read_text()


def lines():
    """Indented lines in their order: (what is asked, what is answered or None)."""
    found = [line[4:] for line in PAGE.splitlines() if line.startswith("    ")]
    for i, line in enumerate(found):
        if not line.startswith("--> "):
            answer = found[i + 1] if i + 1 < len(found) else ""
            yield line, json.loads(answer[4:]) if answer.startswith("--> ") else None


def fits(said, real):
    """What the page says of an answer is a part of it."""
    if isinstance(said, dict):
        return isinstance(real, dict) and all(k in real and fits(v, real[k]) for k, v in said.items())
    if isinstance(said, list):
        return isinstance(real, list) and len(said) <= len(real) and all(map(fits, said, real))
    return said == real


def answer_of(result):
    if "structuredContent" in result:
        return result["structuredContent"]
    return json.loads(result["content"][0]["text"])


def test_the_calls_of_the_page_are_true(cloche, vault):
    calls = [(line, said) for line, said in lines() if said is not None]
    assert len(calls) >= 12
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        for line, said in calls:
            name, arguments = line.split(" ", 1)
            result = agent.ask(call(name, json.loads(arguments)))["result"]
            assert not result["isError"], (line, result)
            real = answer_of(result)
            if isinstance(real, dict) and isinstance(said, list):
                real = real[next(k for k in real if isinstance(real[k], list))]
            assert fits(said, real), (line, real)
            if name == "vm_read":
                assert result["content"][1]["type"] == "image"


def test_the_commands_of_the_page_run(cloche, vault, tmp_path):
    commands = [line for line, said in lines() if said is None]
    assert len(commands) == 5
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as agent:
        agent.ask(call("create_note", {"type": "idea", "title": "Wrong", "content": "x"}))
    for line in commands:
        words = shlex.split(line)
        assert words[0] == "build/cloche"
        words = [cloche] + [str(vault) if w == "examples/vault" else w for w in words[1:]]
        done = subprocess.run(words, input="" if "mcp" in words else "n\n" if "connect" in words else "y\n",
                              capture_output=True, text=True, timeout=300, cwd=tmp_path)
        assert "unknown" not in done.stderr and "usage:" not in done.stderr.lower(), (line, done)
        if "undo" in words or "log" in words or "mcp" in words:
            assert done.returncode == 0, (line, done)
    assert not (vault / "idea/Wrong.md").exists()
