"""Attachments at the command line and over MCP."""
import base64
import os
import subprocess

import pytest

from conftest import ROOT
from wire import call, initialize

BIN = os.environ.get("CLOCHE_BIN", ROOT / "build" / "cloche")
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


@pytest.fixture
def attached(vault):
    (vault / "img").mkdir()
    (vault / "img" / "dot.png").write_bytes(PNG)
    (vault / "img" / "unused.pdf").write_bytes(b"%PDF")
    (vault / "Gallery.md").write_text("![[dot.png|20]] ![](img/dot.png)\n")
    return vault


def run(vault, *words):
    done = subprocess.run([BIN, words[0], "--vault", vault, *words[1:]], text=True, capture_output=True, timeout=120)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def test_they_are_listed_and_moved_at_the_command_line(attached):
    assert run(attached, "ls", "--attachments").split() == ["img/dot.png", "img/unused.pdf"]
    assert run(attached, "ls", "--orphans") == "img/unused.pdf\n"
    assert "img/dot.png -> img/point.png" in run(attached, "mv", "img/dot.png", "point.png", "--dry-run")
    assert run(attached, "mv", "img/dot.png", "point.png") == "img/point.png\n"
    assert (attached / "Gallery.md").read_text() == "![[point.png|20]] ![](img/point.png)\n"
    assert run(attached, "mv", "img/point.png", "pics/") == "pics/point.png\n"
    assert (attached / "Gallery.md").read_text() == "![[point.png|20]] ![](pics/point.png)\n"
    assert (attached / "pics" / "point.png").read_bytes() == PNG
    run(attached, "undo", "--since", "1h")
    assert (attached / "img" / "dot.png").read_bytes() == PNG
    assert (attached / "Gallery.md").read_text() == "![[dot.png|20]] ![](img/dot.png)\n"


def test_a_model_is_shown_an_image(stdio, attached):
    stdio.ask(initialize())
    for name in ("img/dot.png", "dot.png"):
        result = stdio.ask(call("get_note", {"identifier": name}))["result"]
        kinds = [block["type"] for block in result["content"]]
        assert kinds == ["text", "image"] and not result.get("isError")
        assert base64.b64decode(result["content"][1]["data"]) == PNG
        assert result["content"][1]["mimeType"] == "image/png"
        assert result["structuredContent"]["id"] == "img/dot.png"
    gone = stdio.ask(call("get_note", {"identifier": "img/none.png"}))["result"]
    assert gone["isError"]
