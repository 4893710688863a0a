"""The page of `cloche serve` as a person has it: in a browser, from the link on."""
import base64
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import needs
from wire import Server, Stdio, call

from conftest import ROOT
from packages import package
from test_tool_store import Compiler
from test_permissions import hello, lay_out, read_note, text_of, trail

NODE = Path(os.environ.get("CLOCHE_NODE") or ROOT / "build/deps/node")
PACKAGES = ROOT / "build/deps/npm-test/node_modules"
CHROMIUM = Path(os.environ.get("CLOCHE_CHROMIUM") or "/usr/bin/chromium")


def test_the_pages_script_has_the_types_it_says():
    tsc = PACKAGES / "typescript/bin/tsc"
    needs.require(tsc, by="deps/fetch test")
    done = subprocess.run([NODE, tsc, "-p", ROOT / "web"], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stdout


class Browser:
    """Chromium, with one page; whatever is run there is told to it in Playwright's words."""

    def __init__(self, place):
        self.shots = place
        self.process = subprocess.Popen(
            [NODE, ROOT / "test/browser.mjs", PACKAGES / "playwright-core", CHROMIUM,
             place / "chromium"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"HOME": str(place)})
        self._answer()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def _answer(self):
        line = self.process.stdout.readline()
        assert line, "the browser has gone"
        said = json.loads(line)
        assert "error" not in said, said["error"]
        return said["answer"]

    def do(self, code, given=None):
        self.process.stdin.write(json.dumps({"code": code, "given": given}) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def see(self, selector, text=""):
        """Waits until it is there, and holds the text."""
        return self.do("const l = page.locator(given[0]).filter({hasText: given[1], visible: true})"
                       ".first(); await l.waitFor(); return l.innerText()", [selector, text])

    def click(self, selector, name):
        """As a person: once it can be clicked."""
        self.do("await page.locator(given[0]).getByRole('button', {name: given[1]}).click()",
                [selector, name])

    def give(self, name, zip):
        self.do("await page.setInputFiles('#zip', {name: given[0], mimeType: 'application/zip',"
                " buffer: Buffer.from(given[1], 'base64')})",
                [name, base64.b64encode(zip).decode()])

    def errors(self):
        return self.do("return errors")

    def show(self, name, width, height):
        """A picture, for whoever wants to look ($CLOCHE_SHOTS); nothing may be cut off."""
        folder = os.environ.get("CLOCHE_SHOTS")
        self.do("await page.setViewportSize({width: given[0], height: given[1]})",
                [width, height])
        for scheme in ("dark", "light") if folder else ():
            self.do("await page.emulateMedia({colorScheme: given[1]});"
                    " await page.screenshot({path: given[0]})",
                    [f"{folder}/{name}-{width}-{scheme}.png", scheme])
        assert self.do("return page.evaluate('document.documentElement.scrollWidth <= innerWidth')")


@pytest.fixture
def program(cloche, tmp_path):
    place = tmp_path / "program"
    place.mkdir()
    return lay_out(place, cloche)


@pytest.fixture
def browser(tmp_path):
    needs.require(CHROMIUM, by="deps/apt test")
    needs.require(PACKAGES / "playwright-core", by="deps/fetch test")
    with Browser(tmp_path) as b:
        yield b


def tool_row(name):
    return f"tr:has(td.name:text-is('{name}'))"


def test_a_person_comes_decides_switches_and_installs(program, vault, browser):
    with Server([program, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"],
                stderr=subprocess.PIPE) as server, \
         Stdio([program, "mcp", "--vault", str(vault)]) as client:
        link = re.search(r"http://\S+/person#\S+", server.process.stderr.readline())[0]
        browser.do("await page.goto(given)", link)
        browser.see("#none", "Nothing waits.")
        assert "#" not in browser.do("return page.url()")

        # An agent asks while the page is open.
        client.ask(hello())
        client.send(read_note(words=["reader", "<b>x</b>\u202e"]))
        browser.see("article pre", "\\u{202e}")
        assert browser.do("return page.title()") == "(1) Cloche"
        assert browser.do("return page.locator('article b').count()") == 0
        for size in ((1100, 800), (360, 640)):
            browser.show("asked", *size)
        browser.click("article", "Allow")
        assert "Permission denied" not in text_of(client.receive())
        browser.see("#said", "Allowed, for this call.")
        browser.see("#none", "Nothing waits.")
        assert browser.do("return page.title()") == "Cloche"

        # A tool is switched off, and on.
        encode = call("wasm_base64", {"args": ["encode", "a"]}, id=7)
        browser.click(tool_row("base64"), "Disable")
        browser.see(f"{tool_row('base64')} button", "Enable")
        assert "disabled" in json.dumps(client.ask(encode))
        browser.click(tool_row("base64"), "Enable")
        browser.see(f"{tool_row('base64')} button", "Disable")
        assert not client.ask(encode | {"id": 8})["result"].get("isError")

        # A ZIP is installed, and another in its place once that was said.
        browser.give("idler.zip", package({"name": "idler"}))
        browser.see("#installing", "idler 1.0.0 is installed.")
        browser.see(tool_row("idler"), "1.0.0")
        assert browser.errors() == []
        browser.give("idler2.zip", package({"name": "idler", "version": "2.0.0"}))
        browser.see("#installing", "idler 1.0.0 is installed already.")
        for size in ((360, 640), (1100, 800)):
            browser.show("conflict", *size)
        browser.click("#installing", "Leave it")
        browser.see(tool_row("idler"), "1.0.0")
        browser.give("idler2.zip", package({"name": "idler", "version": "2.0.0"}))
        browser.click("#installing", "Replace it")
        browser.see("#installing", "idler 2.0.0 is installed.")
        browser.see(tool_row("idler"), "2.0.0")

        # What is none says why, in the loader's words; what is too large is not sent.
        browser.give("notes.zip", b"no ZIP at all")
        browser.see("#installing.wrong", "notes.zip was not installed: ")
        browser.give("bad.zip", package({"version": None, "category": None}))
        told = browser.see("#installing.wrong", "bad.zip")
        assert "version" in told and "category" in told
        for size in ((360, 640), (1100, 800)):
            browser.show("refused", *size)
        browser.give("large.zip", bytes((16 << 20) + 1))
        browser.see("#installing.wrong", "large.zip was not installed: it has 17 MB")

        # Chromium tells of each refusal; there is nothing else.
        assert [re.search(r"status of (\d+)", e)[1] for e in browser.errors()] == \
            ["409", "409", "400", "400"]
        browser.click("header", "Leave")
        browser.see("#out", "cloche approvals link")
        server.process.stderr.close()
    done = [(r["event"], r.get("why")) for r in trail(vault) if r.get("caller") == "page"]
    for deed in (("tool disable", "base64"), ("tool enable", "base64"), ("tool install", "idler")):
        assert deed in done


def test_the_page_tells_how_long_a_module_is_being_compiled(cloche, vault, browser, tmp_path,
                                                            monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiler = Compiler(tmp_path / "apart", cloche)
    compiler.does(f"while [ ! -e {compiler.go} ]; do :; done")
    with Server([compiler.program, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"],
                stderr=subprocess.PIPE) as server:
        link = re.search(r"http://\S+/person#\S+", server.process.stderr.readline())[0]
        browser.do("await page.goto(given)", link)
        browser.see("#none", "Nothing waits.")
        browser.give("slow.zip", package({"name": "slow"}))
        browser.see("#installing", "slow is being compiled: ")
        compiler.go.touch()
        browser.see("#installing", "slow 1.0.0 is installed.")
