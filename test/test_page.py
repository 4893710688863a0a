"""The page of `cloche serve` in a browser, from the link on."""
import base64
import json
import os
import re
import subprocess
import time
import tomllib
from pathlib import Path

import pytest

import needs
from wire import Server, Stdio, call

from conftest import ROOT
from packages import package
from test_tool_store import Compiler
from machine_doors import needs_image
from test_tool_machine import tool_zip
from test_permissions import hello, lay_out, read_note, text_of, trail

NODE = Path(os.environ.get("CLOCHE_NODE") or ROOT / "build/deps/node")
PACKAGES = ROOT / "build/deps/npm-test/node_modules"
CHROMIUM = Path(os.environ.get("CLOCHE_CHROMIUM") or "/usr/bin/chromium")
FIREFOX = Path(os.environ.get("CLOCHE_FIREFOX") or "/usr/bin/firefox-esr")


def test_the_pages_script_has_the_types_it_says():
    tsc = PACKAGES / "typescript/bin/tsc"
    needs.require(tsc, by="deps/fetch test")
    done = subprocess.run([NODE, tsc, "-p", ROOT / "web"], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stdout


class Browser:
    """Chromium or Firefox, with one page; whatever is run there is told to it in Playwright's words. `profile`: what Chromium
    keeps is in this folder, and there is no other page."""

    def __init__(self, place, which="chromium", preferences=None, profile=""):
        self.which = which
        needs.require(CHROMIUM if which == "chromium" else FIREFOX, by="deps/apt test")
        needs.require(PACKAGES / "playwright-core", by="deps/fetch test")
        self.process = subprocess.Popen(
            [NODE, ROOT / "test/browser.mjs", PACKAGES / "playwright-core", which,
             CHROMIUM if which == "chromium" else self._firefox(place), place / which if which == "firefox" else profile,
             json.dumps(preferences or {})],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"HOME": str(place)})
        self._answer()

    @staticmethod
    def _firefox(place):
        start = place / "start-firefox"
        start.write_text(f"#!/bin/sh\nexport FIREFOX='{FIREFOX}' WS='{PACKAGES / 'ws'}'\n"
                         f"exec '{NODE}' '{ROOT / 'test/firefox.mjs'}' \"$@\"\n")
        start.chmod(0o755)
        return start

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

    def _ask(self, **what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def do(self, code, given=None):
        return self._ask(code=code, given=given)

    def open_anew(self):
        """Another page of Chromium, as of a person who was never here."""
        self._ask(anew=True)

    def see(self, selector, text=""):
        """Waits until it is there, and contains the text."""
        return self.do("const l = page.locator(given[0]).filter({hasText: given[1], visible: true})"
                       ".first(); await l.waitFor(); return l.innerText()", [selector, text])

    def until(self, condition):
        """Waits for what the page shows a moment later."""
        end = time.monotonic() + 10
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def click(self, selector, name):
        """Clicks it, once that is possible."""
        self.do("await page.locator(given[0]).getByRole('button', {name: given[1]}).click()",
                [selector, name])

    def give(self, name, zip):
        self.do("await page.setInputFiles('#zip', {name: given[0], mimeType: 'application/zip',"
                " buffer: Buffer.from(given[1], 'base64')})",
                [name, base64.b64encode(zip).decode()])

    def give_large(self, name, size):
        """A file of so many bytes, which is made in the page."""
        self.do("await page.evaluate(([name, size]) => { const all = new DataTransfer();"
                " all.items.add(new File([new Uint8Array(size)], name));"
                " const field = document.querySelector('#zip'); field.files = all.files;"
                " field.dispatchEvent(new Event('change', {bubbles: true})); }, given)", [name, size])

    def drop(self, name, zip):
        """The file is dragged over the tools, and let fall there."""
        over = ("await page.evaluate(([name, zip, kind]) => { const all = new DataTransfer();"
                " all.items.add(new File([Uint8Array.from(atob(zip), (c) => c.charCodeAt(0))], name));"
                " document.querySelector('.tool-list').dispatchEvent("
                "new DragEvent(kind, {bubbles: true, cancelable: true, dataTransfer: all})); }, given)")
        self.do(over, [name, base64.b64encode(zip).decode(), "dragover"])
        self.see(".drop-here", "Drop the ZIP")
        self.do(over, [name, base64.b64encode(zip).decode(), "drop"])

    def number(self, selector, digits):
        """Types it over what is in the field: Playwright's fill() adds to a number in Firefox."""
        self.do("await page.locator(given[0]).focus(); await page.keyboard.press('Control+a');"
                " await page.keyboard.type(given[1])", [selector, digits])

    def errors(self):
        return self.do("return errors")

    def show(self, name, width, height):
        """A picture of Chromium's, for whoever wants to look ($CLOCHE_SHOTS; Firefox's driver puts a style into the
        page for one, which its policy refuses); nothing may be cut off."""
        folder = os.environ.get("CLOCHE_SHOTS")
        self.do("await page.setViewportSize({width: given[0], height: given[1]})",
                [width, height])
        for scheme in ("dark", "light") if folder and self.which == "chromium" else ():
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
def browser(chromium):
    yield chromium
    chromium.open_anew()


def tool_row(name):
    return f".tool-list [data-tool='{name}']"


SIZES = ((1440, 900), (390, 844))


def come(browser, server):
    """Enters by the link, which is no part of any address afterwards."""
    link = re.search(r"http://\S+/person#\S+", server.process.stderr.readline())[0]
    browser.do("await page.goto(given)", link)
    browser.see("h1", "Today")
    assert browser.do("return new URL(page.url()).pathname + new URL(page.url()).hash") == "/"


def show_all(browser, name):
    for size in SIZES:
        browser.show(name, *size)
    browser.do("await page.setViewportSize({width: 1440, height: 900})")


def serve(program, vault):
    return Server([program, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"],
                  stderr=subprocess.PIPE)


def test_who_has_no_link_is_told_how_to_come_in(program, vault, browser):
    with serve(program, vault) as server:
        for path in ("/", "/review", "/activity/none"):
            browser.do("await page.goto(given)", server.url + path)
            browser.see(".login", "cloche approvals link")
        browser.do("await page.goto(given)", f"{server.url}/person#used")
        browser.see(".login-said", "used before")
        show_all(browser, "login")
        server.process.stderr.close()


def test_what_an_agent_changes_is_seen_at_once_and_taken_back(program, vault, browser):
    with serve(program, vault) as server, \
         Stdio([program, "mcp", "--vault", str(vault)]) as client:
        come(browser, server)
        browser.see("#changes ~ a, header:has(#changes)", "What changed")
        show_all(browser, "today-empty")
        client.ask(hello())
        code = ("const n = await notes.create({type: 'plan', title: 'Bell', content: 'one'});"
                "return n.id")
        client.ask(call("evaluate_note_code", {"code": code}, id=3))
        browser.see(".change", "created 1 note")
        browser.see(".agent", "test")
        show_all(browser, "today")
        assert (vault / "plan" / "Bell.md").exists()

        # By keys alone: the call opened, taken back, and that taken back.
        browser.do("await page.keyboard.press('j'); await page.locator('.chosen').waitFor();"
                   " await page.keyboard.press('Enter')")
        browser.see(".drawer h2", "created 1 note")
        browser.see(".drawer .diff", "one")
        browser.see(".drawer .steps tr", "notes.create")
        show_all(browser, "call")
        browser.do("await page.keyboard.press('u')")
        browser.see(".toast", "Undone: 1 note")
        assert not (vault / "plan" / "Bell.md").exists()
        browser.see(".record", "undid changes of 1 note")  # the list is live
        browser.click(".toast >> nth=-1", "Undo")
        browser.see(".toast >> nth=-1", "Undone: 1 note")
        assert (vault / "plan" / "Bell.md").exists()
        browser.click(".tools-row", "Verify")
        browser.see(".verified.well", "none changed or missing")
        show_all(browser, "activity")
        assert browser.errors() == []
        server.process.stderr.close()


def test_what_was_changed_since_is_shown_and_the_others_are_undone(program, vault, browser):
    with serve(program, vault) as server, \
         Stdio([program, "mcp", "--vault", str(vault)]) as client:
        come(browser, server)
        client.ask(hello())
        made = "for (const title of ['Bell', 'Gong', 'Horn']) await notes.create({type: 'plan', title, content: 'one'})"
        edited = "await notes.update({identifier: 'plan/Bell', content: 'by <b>hand</b>', force: true})"
        for number, code in enumerate([made, edited], 3):
            answer = client.ask(call("evaluate_note_code", {"code": code}, id=number))
            assert answer["result"]["structuredContent"]["success"], answer
        browser.do("await page.locator('.change').getByRole('link', {name: 'created 3 notes'}).click()")
        browser.see(".drawer .note-diff >> nth=2", "plan/Horn")
        browser.do("await page.keyboard.press('u')")
        browser.see(".toast", "Nothing was undone. plan/Bell: it was changed since")
        browser.see(".stays", "plan/Bell")
        browser.see(".stays .diff .new", "by <b>hand</b>")
        assert len(list((vault / "plan").iterdir())) == 3
        show_all(browser, "call-stays")
        browser.click(".stays", "Undo the other 2 notes")
        browser.see(".toast >> nth=-1", "Undone: 2 notes. plan/Bell: it was changed since")
        browser.see(".stays", "These notes were not undone")
        assert browser.do("return page.locator('.stays button').count()") == 0
        assert [p.name for p in (vault / "plan").iterdir()] == ["Bell.md"]
        browser.click(".toast >> nth=-1", "Undo")
        browser.see(".toast >> nth=-1", "Undone: 2 notes")
        assert len(list((vault / "plan").iterdir())) == 3
        assert browser.errors() == [f"status of 409: {server.url}/person/undo"]
        server.process.stderr.close()


HOSTILE = ["<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "\u202eevil\u2066",
           "javascript:alert(1)", "</bdi></p><h1>Allowed</h1>", "{{7*7}}", "a" * 4000,
           "\x1b[31mred\x07", "&lt;b&gt;", "\u200bhidden\u00ad"]


def test_the_words_of_a_time_change_as_it_passes(program, vault, browser):
    with serve(program, vault) as server, Stdio([program, "mcp", "--vault", str(vault)]) as client:
        browser.do("await page.clock.install()")
        come(browser, server)
        client.ask(hello())
        client.ask(call("search_notes", {"query": "zzz"}, id=3))
        browser.see(".agent time", "just now")
        for forward, words in (("00:30", " s ago"), ("01:00", "1 min ago"), ("30:00", "31 min ago"), ("40:00", ":")):
            browser.do("await page.clock.fastForward(given)", forward)
            browser.see(".agent time", words)
        server.process.stderr.close()


def test_strangers_words_stay_words(program, vault, browser):
    with serve(program, vault) as server, \
         Stdio([program, "mcp", "--vault", str(vault)]) as client:
        come(browser, server)
        greeting = hello()
        greeting["params"]["clientInfo"]["name"] = HOSTILE[0]
        client.ask(greeting)
        text = "\n\n".join(HOSTILE)
        code = f"await notes.create({{type: 'q', title: 'b onerror=1', content: {json.dumps(text)}}})"
        client.ask(call("evaluate_note_code", {"code": code}, id=3))
        browser.see(".change", "created 1 note")
        browser.do("await page.locator('.change a').first().click()")
        browser.see(".drawer .diff", "</script>")
        client.send(read_note(words=["reader", *HOSTILE]))
        browser.see(".count", "1")
        browser.do("await page.keyboard.press('g'); await page.keyboard.press('r')")
        told = browser.see(".request", "wants to run")
        assert "\\u{202e}" in told and "\u202e" not in told
        for size in SIZES:
            browser.show("hostile", *size)
        for selector in ("main img", "main script", ".request h1 >> nth=1"):
            assert browser.do("return page.locator(given).count()", selector) == 0, selector
        assert browser.errors() == []
        server.process.stderr.close()


def test_a_person_comes_decides_switches_and_installs(program, vault, browser):
    with serve(program, vault) as server, \
         Stdio([program, "mcp", "--vault", str(vault)]) as client:
        come(browser, server)

        # An agent asks while the page is open.
        client.ask(hello())
        client.send(read_note(words=["reader", "<b>x</b>\u202e"]))
        browser.see(".waiting", "One request waits")
        show_all(browser, "today-waiting")
        browser.do("await page.keyboard.press('g'); await page.keyboard.press('r')")
        browser.see(".request", "\\u{202e}")
        browser.do("await page.waitForFunction(() => document.title.startsWith('(1) Review'))")
        assert browser.do("return page.locator('.request b').count()") == 0
        show_all(browser, "review")
        browser.click(".answer", "Always…")
        browser.see(".confirm", "without asking you")
        show_all(browser, "review-always")
        browser.click(".confirm", "Cancel")
        browser.click(".answer", "Allow once")
        assert "Permission denied" not in text_of(client.receive())
        browser.see(".toast", "Allowed once")
        browser.see(".empty", "No requests")
        browser.do("await page.waitForFunction(() => document.title === 'Review · Cloche')")
        show_all(browser, "review-empty")

        # Its arguments are edited: it asks again, and runs with what it was given.
        client.send(read_note(id=16, words=["reader", "first"]))
        browser.see(".request", "first")
        browser.do("await page.locator('.answer .primary:enabled').waitFor();"
                   " await page.keyboard.press('e')")
        browser.do("await page.locator('.edit-arguments textarea').first().fill('[\"reader\", ')")
        browser.click(".edit-arguments", "Show what it would do")
        browser.see(".edit-arguments", "not valid JSON")
        show_all(browser, "review-edit")
        browser.do("await page.locator('.edit-arguments textarea').first().fill('[\"reader\", \"second\"]')")
        browser.click(".edit-arguments", "Show what it would do")
        browser.see(".request", "second")
        browser.click(".answer", "Allow once")
        edited = client.receive()
        assert edited["id"] == 16 and "second" in edited["result"]["content"][-1]["text"]
        browser.see(".empty", "No requests")

        # Denied by a key; two that wait are listed.
        client.send(read_note(id=6, words=["reader", "a"]))
        browser.see(".request", "wants to run")
        browser.do("await page.locator('.answer .primary:enabled').waitFor();"
                   " await page.keyboard.press('d')")
        assert "denied" in text_of(client.receive()).lower()
        # What was refused is the confirmation that was asked for.
        assert [re.search(r"status of (\d+)", e)[1] for e in browser.errors()] == ["428"]
        browser.do("errors.length = 0; await page.keyboard.press('g'); await page.keyboard.press('w')")

        # A tool is found, switched off, and on by the undo of that.
        encode = call("wasm_base64", {"args": ["encode", "a"]}, id=7)
        browser.do("await page.locator('.tool-list input[type=search]').fill('base64')")
        browser.do("await page.locator(given).click()", tool_row("base64"))
        browser.see(".tool h2", "base64")
        browser.click(".deeds", "Disable")
        browser.see(tool_row("base64"), "disabled")
        assert "disabled" in json.dumps(client.ask(encode))
        browser.click(".toast >> nth=-1", "Undo")
        browser.see(".deeds", "Disable")
        assert not client.ask(encode | {"id": 8})["result"].get("isError")

        # It is tried with what it takes.
        browser.do("await page.locator('#try-mode').selectOption('encode');"
                   " await page.locator('#try-input').fill('<b>abc</b>')")
        browser.click(".try", "Run")
        browser.see(".ran.well .output", "<b>abc</b>")
        browser.see(".parameters, .tool", "Exit code 0")
        show_all(browser, "tool")
        browser.do("await page.locator('.tool-list input[type=search]').fill('')")

        # A tool's permission: what widens it is said twice, and each has its undo.
        browser.do("await page.locator(given).click()", tool_row("reader"))
        browser.see(".permission", "By default")
        browser.do("await page.locator('#permission').selectOption('always')")
        browser.see(".permission .confirm", "without asking you")
        show_all(browser, "tool-always")
        browser.click(".permission .confirm", "Cancel")
        browser.do("await page.locator('#permission').selectOption('never')")
        browser.see(".permission", "By your policy")
        assert "Permission denied" in text_of(client.ask(read_note(id=9, words=["reader", "a"])))
        browser.click(".toast >> nth=-1", "Undo")
        browser.see(".permission", "By default")

        # A ZIP is installed, and another in its place once that was said.
        browser.drop("idler.zip", package({"name": "idler"}))
        browser.see("#installing", "idler 1.0.0 is installed")
        browser.see(tool_row("idler"), "1.0.0")
        assert [re.search(r"status of (\d+)", e)[1] for e in browser.errors()] == ["428"]
        browser.do("errors.length = 0")
        browser.give("idler2.zip", package({"name": "idler", "version": "2.0.0"}))
        browser.see("#installing", "idler 1.0.0 is already installed.")
        for size in ((360, 640), (1100, 800)):
            browser.show("conflict", *size)
        browser.do("await page.setViewportSize({width: 1440, height: 900})")
        browser.click("#installing", "Keep it")
        browser.see(tool_row("idler"), "1.0.0")
        browser.give("idler2.zip", package({"name": "idler", "version": "2.0.0"}))
        browser.click("#installing", "Replace it")
        browser.see("#installing", "idler 2.0.0 is installed")
        browser.see(tool_row("idler"), "2.0.0")

        # What is none says why, in the loader's words; what is too large is not sent.
        browser.give("notes.zip", b"no ZIP at all")
        browser.see("#installing.wrong", "notes.zip was not installed")
        browser.give("bad.zip", package({"version": None, "category": None}))
        told = browser.see("#installing.wrong", "bad.zip")
        assert "version" in told and "category" in told
        for size in ((360, 640), (1100, 800)):
            browser.show("refused", *size)
        browser.do("await page.setViewportSize({width: 1440, height: 900})")
        browser.give_large("large.zip", (50 << 20) + 1)
        browser.see("#installing.wrong", "large.zip was not installed: it is 51 MB")

        # It goes again, once that was said.
        browser.do("await page.locator(given).click()", tool_row("idler"))
        browser.click(".deeds", "Uninstall")
        browser.click(".tool .confirm", "Uninstall")
        browser.see(".toast", "idler is uninstalled")
        browser.do("await page.locator(given).waitFor({state: 'detached'})", tool_row("idler"))

        # Each refusal is told; there is nothing else.
        assert [re.search(r"status of (\d+)", e)[1] for e in browser.errors()] == \
            ["409", "409", "400", "400"]
        browser.click(".bar", "Leave")
        browser.see(".login", "cloche approvals link")
        server.process.stderr.close()
    done = [(r["event"], r.get("why")) for r in trail(vault) if r.get("caller") == "page"]
    for deed in (("tool disable", "base64"), ("tool enable", "base64"), ("tool install", "idler"),
                 ("tool remove", "idler")):
        assert deed in done


def test_a_request_is_open_as_long_as_it_says_and_an_edit_tells_what_came_of_it(program, vault, browser):
    with serve(program, vault) as server, Stdio([program, "mcp", "--vault", str(vault)]) as client, \
         Stdio([program, "mcp", "--vault", str(vault)]) as other:
        browser.do("await page.clock.install()")
        come(browser, server)
        client.ask(hello())
        other.ask(hello())
        client.send(read_note(words=["reader", "first"]))
        browser.do("await page.goto(given)", f"{server.url}/review")
        left = re.compile(r"open for (?:(\d+) min )?([\d.]+) s")

        def seconds():
            found = left.search(browser.see(".request header", "open for"))
            assert float(found[2]) < 60
            return int(found[1] or 0) * 60 + float(found[2])

        # The page's clock goes on alone: the server says anew how long it is open when another comes.
        begun = seconds()
        browser.do("await page.clock.fastForward(60000)")
        other.send(read_note(id=7, words=["reader", "second"]))
        browser.see(".requests li >> nth=1", "")
        assert seconds() > begun - 30

        # More bytes than the server takes are told of before they are sent.
        browser.do("await page.locator('.answer .primary:enabled').waitFor(); await page.keyboard.press('r')")
        browser.do("await page.locator('.reason input').fill('\u00fc'.repeat(200))")
        browser.see(".reason .bad", "400 bytes; at most 300")
        assert browser.do("return page.locator('.reason .primary').isDisabled()")
        browser.do("await page.locator('.reason input').fill('\u00fc'.repeat(150))")
        assert browser.do("return page.locator('.reason .primary').isEnabled()")
        browser.do("await page.keyboard.press('Escape'); await page.locator('.answer .primary:enabled').waitFor(); await page.keyboard.press('e')")

        # What is edited into a call that fails does not ask again.
        browser.do("await page.locator('.edit-arguments textarea').first().fill('5')")
        browser.click(".edit-arguments", "Show what it would do")
        told = browser.see(".toast.tone-bad", "The edited call failed")
        assert "InvalidInput" in told, told
        assert client.receive()["result"]["isError"]
        assert browser.errors() == []
        server.process.stderr.close()


CALM = "await page.locator('.answer .primary:enabled').waitFor();"
# An answer of the server has come since the key was heard.
PRESS = "await page.keyboard.press(given); await page.evaluate(() => fetch('/assets/icon.svg').then((answer) => answer.text()));"


def assert_decides_nothing(browser, keys):
    """The request that is shown still waits, and nothing was said."""
    for key in keys:
        assert browser.do(PRESS + "return [await page.locator('.toast').count(), await page.locator('.request').count()]", key) == [0, 1], key


def test_a_key_decides_where_its_button_is_shown(program, vault, browser):
    subprocess.run([program, "policy", "set", "confirm", '["notes.create"]'], check=True)
    with serve(program, vault) as server, Stdio([program, "mcp", "--vault", str(vault)]) as client:
        come(browser, server)
        client.ask(hello())
        client.send(call("create_note", {"type": "plan", "title": "Bell", "content": "some input"}, id=3))
        browser.do("await page.goto(given)", f"{server.url}/review")
        browser.see(".request", "some input")

        # In the form of the arguments: what is typed stays in its field, and no key outside of a field decides.
        browser.do(CALM + "await page.keyboard.press('e'); await page.locator('.edit-arguments').waitFor()")
        last = "page.locator('.edit-arguments textarea').nth(2)"
        browser.do(f"await {last}.focus(); await page.keyboard.press('End'); await page.keyboard.type(' more')")
        assert browser.do(f"return {last}.inputValue()") == "some input more"
        assert browser.do("return page.locator('.edit-arguments textarea').first().inputValue()") == "plan"
        browser.do("await page.locator('.edit-arguments').getByRole('button', {name: 'Cancel'}).focus()")
        assert_decides_nothing(browser, "adsr")
        browser.do("await page.keyboard.press('Enter')")

        # Nor in that of a reason.
        browser.do(CALM + "await page.keyboard.press('r'); await page.locator('.reason input').waitFor(); await page.keyboard.type('No, adds')")
        assert browser.do("return page.locator('.reason input').inputValue()") == "No, adds"
        browser.do("await page.locator('.reason').getByRole('button', {name: 'Cancel'}).focus()")
        assert_decides_nothing(browser, "ads")
        browser.do("await page.keyboard.press('Escape')")
        browser.do(CALM + "await page.keyboard.press('d')")
        assert "denied" in text_of(client.receive())
        assert browser.errors() == []
        server.process.stderr.close()


def test_a_key_that_is_held_decides_once(program, vault, browser):
    with serve(program, vault) as server, Stdio([program, "mcp", "--vault", str(vault)]) as client:
        come(browser, server)
        client.ask(hello())
        for n in range(2):
            client.send(read_note(id=20 + n, words=["reader", f"held-{n}"]))
        browser.do("await page.goto(given)", f"{server.url}/review")
        browser.see(".requests li >> nth=1", "")

        # None decides where it is asked whether all is allowed.
        browser.do(CALM)
        browser.click(".answer", "Always…")
        browser.see(".confirm", "without asking you")
        assert_decides_nothing(browser, "ads")
        browser.click(".confirm", "Cancel")
        browser.do(CALM + "await page.keyboard.down('a')")
        browser.see(".toast", "Allowed once")
        # The next one could be decided by now, by a key that is pressed anew.
        browser.do(CALM + "for (let i = 0; i < 20; i++) await page.keyboard.down('a')")
        browser.do("await page.keyboard.up('a');" + PRESS, "Shift")
        assert browser.do("return page.locator('.request').count()") == 1
        browser.do("await page.keyboard.press('a')")
        browser.see(".empty", "No requests")
        assert {client.receive()["id"] for _ in range(2)} == {20, 21}
        assert browser.errors() == [f"status of 428: {server.url}/person/decide"]  # the question
        server.process.stderr.close()


def test_the_page_tells_how_long_a_module_is_being_compiled(cloche, vault, browser, tmp_path,
                                                            monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiler = Compiler(tmp_path / "apart", cloche)
    compiler.does(f"while [ ! -e {compiler.go} ]; do :; done")
    with Server([compiler.program, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"],
                stderr=subprocess.PIPE) as server:
        come(browser, server)
        browser.do("await page.goto(given)", f"{server.url}/toolbox")
        browser.see("h1", "WASM Tools")
        browser.give("slow.zip", package({"name": "slow"}))
        browser.see("#installing", "slow is being compiled: ")
        compiler.go.touch()
        browser.see("#installing", "slow 1.0.0 is installed")


@needs_image
def test_a_command_of_the_machine_is_shown_as_one(cloche, vault, browser, tmp_path):
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE) as server:
        come(browser, server)
        browser.do("await page.goto(given)", f"{server.url}/toolbox")
        browser.see("h1", "WASM Tools")
        browser.give("counts.zip", tool_zip(tmp_path, name="counts", command=["sh", "-c", "wc -c; echo \"<b>\""]).read_bytes())
        browser.see("#installing", "counts 1.0.0 is installed")
        browser.see(tool_row("counts"), "Linux machine")
        browser.do("await page.locator(given).click()", tool_row("counts"))
        browser.see(".tool", "in a new Linux machine without a network")
        facts = browser.see(".tool .facts", "Linux command")
        assert "sh -c 'wc -c; echo \"<b>\"'" in facts and "SHA-256 of its manifest" in facts and "512 MB of memory" in facts
        assert "by your policy" not in browser.see(".permission", "By default").lower()
        show_all(browser, "tool-machine")
        browser.do("await page.locator('#try-stdin').fill('seven..')")
        browser.click(".try", "Run")
        assert browser.see(".ran.well .output", "<b>").split()[-2] == "7"
        # What holds for machines holds for it, and is told where it would be missed.
        subprocess.run([cloche, "policy", "set", "vm.permission", "ask"], check=True)
        browser.see(".permission", "because your policy asks for Linux machines")
        subprocess.run([cloche, "policy", "set", "vm.permission", "never"], check=True)
        browser.see(".permission", "because the policy forbids Linux machines")
        assert browser.errors() == []
        server.process.stderr.close()


# By their names of `cloche connect`; Claude Code's is a command.
CLIENTS = {"claude-desktop": "Claude Desktop", "cursor": "Cursor", "vscode": "VS Code", "codex": "Codex", "gemini": "Gemini CLI", "zed": "Zed",
           "windsurf": "Windsurf", "lm-studio": "LM Studio", "cline": "Cline", "opencode": "opencode"}


def entry(settings):
    return tomllib.loads(settings) if settings.startswith("[") else json.loads(settings)


def test_a_client_is_connected_and_seen_to_be(program, vault, browser):
    with serve(program, vault) as server:
        come(browser, server)
        browser.see(".today", "No agent has called yet")
        browser.do("await page.getByRole('link', {name: 'Connect an agent'}).click()")
        words = browser.see(".snippet", "claude mcp add").split(" -- ")[1]
        assert browser.see(".connected", "Waiting")
        show_all(browser, "connect")
        browser.do("await page.getByRole('radio', {name: 'Cursor'}).click()")
        settings = json.loads(browser.see(".snippet", "mcpServers"))["mcpServers"]["cloche"]
        assert [settings["command"], *settings["args"]] == words.split()
        for one, name in CLIENTS.items():
            browser.do("await page.getByRole('radio', {name: given, exact: true}).click()", name)
            printed = subprocess.run([words.split()[0], "connect", one, *words.split()[2:], "--print"], capture_output=True, text=True, check=True).stdout
            shown = "return page.locator('.snippet').innerText()"
            assert browser.until(lambda: entry(browser.do(shown)) == entry(printed)), (one, browser.do(shown))
        browser.do("await page.getByRole('radio', {name: 'Cursor'}).click()")
        browser.do("await page.getByRole('radio', {name: 'Over HTTP'}).click()")
        assert json.loads(browser.see(".snippet", "url")) == \
            {"mcpServers": {"cloche": {"url": f"{server.url}/mcp"}}}
        # As the client would start it.
        with Stdio(words.split()) as client:
            client.ask(hello())
            client.ask(call("search_notes", {"query": "bell"}))
            browser.see(".connected", "is connected")
        browser.do("await page.keyboard.press('g'); await page.keyboard.press('h')")
        browser.see(".checks", "wasmtime")
        show_all(browser, "health")
        assert browser.errors() == []
        server.process.stderr.close()


def write_code(browser, code):
    """Replaces what is in the editor, in one go."""
    browser.do("await page.locator('.cm-content').click(); await page.keyboard.press('Control+a');"
               " await page.keyboard.press('Delete'); await page.keyboard.insertText(given)", code)


def test_a_program_is_run_and_taken_back(program, vault, browser):
    with serve(program, vault) as server:
        come(browser, server)
        browser.do("await page.keyboard.press('g'); await page.keyboard.press('e')")
        browser.see(".cm-content", "notes.list")
        show_all(browser, "run-empty")
        write_code(browser, "const made = await notes.create({type: 'plan', title: 'Kettle', content: 'hot'});\n"
                            "console.warn('<b>boils</b>');\nreturn {made: made.id, many: [1, 2]};")
        browser.see(".run-foot", "No problems found")
        # Tried first: the difference is shown, and nothing is there.
        browser.do("await page.keyboard.press('Control+Shift+Enter')")
        browser.see(".done .would", "plan/Kettle.md")
        browser.see(".done .would .diff", "hot")
        show_all(browser, "run-dry")
        assert not (vault / "plan/Kettle.md").exists()
        browser.do("await page.keyboard.press('Control+Enter')")
        browser.do("await page.locator('.done .would').waitFor({state: 'detached'})")
        browser.see(".done .tree", "made")
        browser.see(".done .console", "<b>boils</b>")
        browser.see(".done .trace", "notes.create")
        show_all(browser, "run")
        assert (vault / "plan/Kettle.md").exists()
        browser.click(".done", "Undo its changes")
        browser.see(".toast", "Undone: 1 note")
        assert not (vault / "plan/Kettle.md").exists()
        assert browser.errors() == []
        server.process.stderr.close()


def test_the_examples_run(cloche, vault, browser):
    (vault / "plan").mkdir()
    (vault / "plan/Tea.md").write_text("# Tea\n\nA plan.\n\n- [ ] water\n\n[[nowhere]]\n")
    with serve(cloche, vault) as server:
        come(browser, server)
        browser.do("await page.goto(given)", f"{server.url}/run")
        browser.number(".run-foot input >> nth=0", "30000")
        for name in browser.do("return page.locator('.run-options select').first().locator('option').evaluateAll((all) => all.slice(1).map((o) => o.value))"):
            browser.do("await page.locator('.run-options select').first().selectOption(given)", name)
            browser.see(".run-foot", "No problems found")
            # The answer of this one, and not of the one before.
            browser.do("const said = page.waitForResponse((r) => r.url().endsWith('/evaluate')); await page.locator('.run-code .primary').click(); await said;"
                       " await page.locator('.run-result[aria-busy=false] .done .tag').first().waitFor()")
            said = browser.do("return page.locator('.done').innerText()")
            assert said.startswith("done"), (name, said)
            assert browser.do("return page.locator('.done .tree').innerText()").strip() not in ("", "[]", "null"), name
        assert browser.errors() == []
        server.process.stderr.close()


def test_a_program_is_checked_limited_and_kept(program, vault, browser):
    with serve(program, vault) as server:
        come(browser, server)
        browser.do("await page.goto(given)", f"{server.url}/run")
        browser.see(".cm-content", "notes.list")
        # What is wrong is marked while it is typed, names are completed, and an error has its line.
        write_code(browser, "return notes.gett();")
        browser.see(".run-foot .bad", "1:")
        browser.do("await page.locator('.cm-lintRange-error').first().waitFor()")
        browser.do("await page.keyboard.press('Control+a'); await page.keyboard.type('notes.crea', {delay: 20})")
        browser.see(".cm-tooltip-autocomplete", "create")
        browser.do("await page.keyboard.press('Escape')")
        write_code(browser, "throw new Error('no water')")
        browser.click(".run-code", "Run Ctrl")
        browser.see(".done", "no water")

        # An agent of a lower level may not do this, and is told so; variables and limits are the person's.
        browser.do("await page.getByLabel('Level').selectOption('zero')")
        write_code(browser, "await notes.create({type: 'plan', title: 'Kettle'}); return 1;")
        browser.click(".run-code", "Run Ctrl")
        browser.see(".done", "PermissionDenied")
        browser.do("await page.getByLabel('Level').selectOption('full'); await page.getByLabel('Language').selectOption('typescript');"
                   " await page.getByLabel('Variables').fill('[1')")
        browser.see(".run-foot .bad", "JSON object")
        browser.do("await page.getByLabel('Variables').fill('{\"cups\": 2}')")
        write_code(browser, "const most: number = cups;\nreturn most * 2;")
        browser.see(".run-foot", "No problems found")
        browser.click(".run-code", "Run Ctrl")
        browser.see(".done .tree", "4")
        browser.number("label:has-text('Time, ms') input", "50")
        write_code(browser, "for (let n = 0;; n++) if (n < 0) break;")
        browser.click(".run-code", "Run Ctrl")
        browser.see(".done", "Timeout")

        # It becomes a function, with its variables as parameters, and is deleted by the undo of that.
        write_code(browser, "return cups * 2;")
        browser.click(".run-code", "Save as function")
        browser.do("await page.getByLabel('Name').fill('pour'); await page.getByLabel('What it does').fill('Pours twice')")
        show_all(browser, "run-save")
        browser.click(".run-save", "Save")
        browser.see(".toast", "pour is saved")
        browser.number("label:has-text('Time, ms') input", "5000")
        write_code(browser, "return await customFunctions.pour(4);")
        browser.click(".run-code", "Run Ctrl")
        browser.see(".done .tree", "8")
        browser.click(".toast >> nth=-1", "Undo")
        browser.see(".toast >> nth=-1", "pour is deleted")
        # What was refused are programs that failed.
        assert all("status of 4" in e or "status of 5" in e for e in browser.errors()), browser.errors()
        server.process.stderr.close()


def test_notes_are_read_edited_and_brought_back(program, vault, browser):
    text = "\n\n".join(HOSTILE)
    (vault / "plan").mkdir()
    (vault / "plan/Tea.md").write_text("---\nstatus: open\n---\n# Tea\n\nSee [[plan/Kettle]], [[Kettel]] and\n\n![[plan/Kettle]]\n\n"
                                       "- [x] water\n\n| a | b |\n|--:|:-:|\n| 1 | 2 |\n")
    (vault / "plan/Kettle.md").write_text("# Kettle\n\nIt **boils**.\n")
    (vault / "plan/Wild.md").write_text(f"# Wild\n\n{text}\n\n![x](https://example.org/x.png)\n\n[go](javascript:alert(1)) "
                                        "[out](https://example.org/)\n\n[[<img src=x onerror=alert(1)>|\"><script>alert(1)</script>]]\n")
    with serve(program, vault) as server:
        come(browser, server)
        browser.do("await page.keyboard.press('g'); await page.keyboard.press('n')")
        browser.see(".note-group", "plan")
        show_all(browser, "notes")
        browser.do("await page.locator('.notes-list input').fill('boils')")
        browser.see(".note-row", "Kettle")
        browser.do("await page.locator('.notes-list input').fill(''); await page.locator(given).click()", ".note-row >> text=Tea")
        browser.see(".rendered a.wiki[href='/notes/plan/Kettle']", "plan/Kettle")
        browser.see(".rendered .embed", "It boils.")
        browser.see(".rendered li.task", "☑ water")
        browser.see(".rendered a.broken", "Kettel")
        browser.see(".note aside", "status")
        show_all(browser, "note")
        browser.do("await page.locator('.rendered a.wiki').first().click()")
        browser.see(".note h2", "Kettle")
        browser.see(".backlinks", "plan/Tea")

        # Edited, while another program writes it: both are shown, and nothing is lost.
        browser.do("await page.keyboard.press('e')")
        browser.see(".note-edit .cm-content", "boils")
        write_code(browser, "# Kettle\n\nIt whistles.\n")
        (vault / "plan/Kettle.md").write_text("# Kettle\n\nIt leaks.\n")
        # Who looks at another note meanwhile finds it again.
        browser.do("await page.locator(given).click()", ".note-row >> text=Tea")
        browser.see(".note h2", "Tea")
        browser.do("await page.goBack()")
        browser.see(".note-edit .cm-content", "whistles")
        browser.click(".note-edit", "Save")
        told = browser.see(".conflict", "while you edited it")
        assert "leaks" in told and "whistles" in told
        show_all(browser, "note-conflict")
        assert "leaks" in (vault / "plan/Kettle.md").read_text()
        browser.click(".conflict", "Save my text")
        browser.see(".rendered", "It whistles.")
        assert "whistles" in (vault / "plan/Kettle.md").read_text()

        # Its past, and back.
        browser.click(".note", "History")
        browser.see(".past .diff", "whistles")
        show_all(browser, "note-past")
        browser.click(".past", "Older")
        browser.do("await page.locator('.past .primary:enabled').waitFor()")
        browser.click(".past", "Restore")
        browser.see(".toast >> nth=-1", "is restored")
        browser.do("await page.locator('.rendered').filter({hasNotText: 'whistles'}).waitFor()")

        # A broken link is repaired, and a note deleted and brought back.
        browser.do("await page.goto(given)", f"{server.url}/notes?show=broken")
        browser.see(".mend", "Kettel")
        show_all(browser, "notes-broken")
        browser.do("await page.locator('.mend li').filter({hasText: 'Kettel'}).getByRole('button', {name: 'Link to plan/Kettle'}).click()")
        browser.see(".toast >> nth=-1", "is repaired")
        assert "[[Kettel]]" not in (vault / "plan/Tea.md").read_text()
        browser.do("await page.goto(given)", f"{server.url}/notes/plan/Kettle")
        browser.click(".note > header", "Delete")
        browser.see(".confirm", "Other notes link to this one")
        browser.click(".confirm", "Delete")
        browser.see(".toast >> nth=-1", "in the trash")
        assert not (vault / "plan/Kettle.md").exists()
        browser.do("await page.goto(given)", f"{server.url}/notes?show=trash")
        browser.see(".mend", "plan/Kettle")
        browser.click(".mend", "Restore")
        browser.see(".note h2", "Kettle")
        assert (vault / "plan/Kettle.md").exists()

        # A new one; its title is another later.
        browser.do("await page.goto(given)", f"{server.url}/notes?new=plan/Cup")
        browser.click(".note-new", "Create")
        browser.see(".note h2", "Cup")
        browser.click(".note-edit", "Cancel")
        browser.click(".note > header", "Rename")
        browser.do("await page.locator('.note-new input').first().fill('Mug')")
        browser.click(".note-new", "Rename")
        browser.see(".note h2", "Mug")
        # What was refused: a conflict, and a deletion that was asked for again.
        assert [re.search(r"status of (\d+)", e)[1] for e in browser.errors()] == ["412", "409"]

        # A note's text is text.
        browser.do("errors.length = 0; await page.goto(given)", f"{server.url}/notes/plan/Wild")
        told = browser.see(".rendered", "</script>")
        assert "\\u{202e}" in told and "\u202e" not in told
        for selector in ("img", "script", "iframe", "[onerror]", "[href^='javascript:']", "[style]"):
            assert browser.do("return page.locator('.rendered ' + given).count()", selector) == 0, selector
        assert browser.do("return page.locator(\".rendered a[href^='https:']\").getAttribute('rel')") == "noopener noreferrer"
        show_all(browser, "note-wild")
        assert browser.errors() == []
        server.process.stderr.close()


def test_notes_of_all_kinds_are_kept_as_they_are(program, vault, browser):
    (vault / "plan").mkdir()
    (vault / "plan/Dos.md").write_bytes(b"# Dos\r\n\r\none\r\n")
    (vault / "plan/Mixed.md").write_bytes(b"one\r\ntwo\r\nthree\nfour\r\nlone\rcr\n")
    (vault / "plan/Old.md").write_bytes(b"# Old\n\ncaf\xe9\n")
    (vault / "plan/Marked.md").write_bytes(b"\xef\xbb\xbf# Marked\n\ntext\n")
    (vault / "plan/Hub.md").write_text("# Hub\n")
    (vault / "plan/Many.md").write_text("# Many\n\n" + "[[Hub]] " * 20_000 + "\n")
    (vault / "plan/Brief.md").write_text("# Brief\n\nshort\n")

    def visit(name, mode=""):
        browser.do("await page.goto(given)", f"{server.url}/notes/plan/{name}{mode}")
        browser.see(".note h2", name)

    with serve(program, vault) as server:
        come(browser, server)
        visit("Dos", "?edit")
        write_code(browser, "# Dos\n\ntwo\n")
        browser.click(".note-edit", "Save")
        browser.see(".rendered", "two")
        assert (vault / "plan/Dos.md").read_bytes() == b"# Dos\r\n\r\ntwo\r\n"
        # Where they differ, a line that was not changed keeps its end, and one that was the end that it had.
        visit("Mixed", "?edit")
        write_code(browser, "One\ntwo\nnew\nthree\nfour\nlone\ncr\n")
        browser.click(".note-edit", "Save")
        browser.see(".rendered", "new")
        assert (vault / "plan/Mixed.md").read_bytes() == b"One\r\ntwo\r\nnew\nthree\nfour\r\nlone\rcr\n"
        visit("Old", "?edit")
        browser.see(".note-edit .note-line", "is not UTF-8")
        visit("Marked")
        browser.see(".rendered h1", "Marked")
        visit("Hub")
        visit("Many")
        assert browser.errors() == []

        # What is not saved is said to be so, and is there when the note is not.
        visit("Brief")
        browser.do("await page.keyboard.press('e')")
        write_code(browser, "# Brief\n\nlonger\n")
        browser.do("await page.locator(given).click()", ".note-row >> text=Hub")
        browser.see(".note h2", "Hub")
        browser.do("await page.locator(given).click()", ".note-row >> text=Brief")
        browser.see(".note > .note-line", "are not saved")
        browser.click(".note > .note-line", "Edit my text further")
        browser.see(".note-edit .cm-content", "longer")
        (vault / "plan/Brief.md").unlink()
        browser.click(".note-edit", "Save")
        browser.see(".orphan", "longer")
        browser.click(".orphan", "Save as a new note")
        browser.see(".rendered", "longer")
        assert "longer" in (vault / "plan/Brief.md").read_text()
        server.process.stderr.close()


def test_an_address_of_what_is_gone_says_so(program, vault, browser):
    with serve(program, vault) as server:
        come(browser, server)
        for path, words in (("review/none", "is decided, or its agent has gone"), ("toolbox/none", "No tool of that name")):
            browser.do("await page.goto(given)", f"{server.url}/{path}")
            browser.see(".note-line", words)
        assert browser.errors() == []
        server.process.stderr.close()


def assert_no_look(browser):
    """No record that is listed is of what a page or the doctor has read; answers how many are."""
    rows = browser.do("return page.locator('.record').allInnerTexts()")
    assert not any("ran code" in r or "list" in r or "doctor" in r for r in rows), rows
    return len(rows)


def test_what_the_page_reads_is_no_activity(program, vault, browser):
    (vault / "plan").mkdir()
    (vault / "plan/Tea.md").write_text("# Tea\n\n[[Kettle]]\n")
    with serve(program, vault) as server:
        come(browser, server)
        for path, selector in (("notes/plan/Tea", ".rendered"), ("notes?show=graph", "main"), ("notes?show=broken", ".mend"),
                               ("functions?new", ".cm-content"), ("machine", "h1"), ("health", "h1")):
            browser.do("await page.goto(given)", f"{server.url}/{path}")
            browser.do("await page.locator(given).first().waitFor()", selector)
        # One that ends before it has read anything, as the person goes on.
        browser.do("await page.route('**/evaluate', (route) => route.continue({postData: JSON.stringify({code: 'for (;;);'})}));"
                   " const asked = page.waitForRequest('**/evaluate'); await page.goto(given); await asked; await page.waitForTimeout(200)",
                   f"{server.url}/notes/plan/Tea")
        browser.do("await page.goto(given); await page.unroute('**/evaluate')", f"{server.url}/activity?caller=page&result=failed")
        browser.see(".record", "ran code")
        browser.do("await page.goto(given)", f"{server.url}/notes/plan/Tea?edit")
        browser.see(".note-edit .cm-content", "Tea")
        write_code(browser, "# Tea\n\ncold\n")
        browser.click(".note-edit", "Save")
        browser.see(".rendered", "cold")
        browser.do("await page.goto(given)", f"{server.url}/activity")
        browser.see(".record", "Tea")
        assert_no_look(browser)
        server.process.stderr.close()


def test_what_another_tab_reads_is_no_activity_either(program, vault, browser):
    """It is left out of the list, and so it must not come into it while one looks."""
    (vault / "plan").mkdir()
    (vault / "plan/Tea.md").write_text("# Tea\n\n[[Kettle]]\n")
    with serve(program, vault) as server:
        come(browser, server)
        browser.do("await page.goto(given)", f"{server.url}/activity")
        browser.see(".record", "")
        browser.do("""const tab = await page.context().newPage(); await tab.goto(given + '/notes/plan/Tea'); await tab.locator('.backlinks').waitFor();
          await tab.goto(given + '/health'); await tab.locator('.checks').waitFor();
          await tab.goto(given + '/notes/plan/Tea?edit'); await tab.locator('.note-edit .cm-content').click(); await tab.keyboard.type('cold');
          await tab.locator('.note-edit').getByRole('button', {name: 'Save'}).click(); await tab.locator('.rendered').waitFor(); await tab.close();""", server.url)
        browser.see(".record", "Tea")
        count = assert_no_look(browser)
        browser.do("await page.reload()")
        browser.see(".record", "Tea")
        assert assert_no_look(browser) == count
        server.process.stderr.close()


def test_a_page_without_a_vault_says_how_to_add_one(program, browser, tmp_path):
    with Server([program, "serve", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE) as server:
        link = re.search(r"http://\S+/person#\S+", server.process.stderr.readline())[0]
        browser.do("await page.goto(given)", link)
        browser.see(".empty", "cloche vault add")
        server.process.stderr.close()
