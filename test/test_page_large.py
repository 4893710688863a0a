"""Long lists on the page: 10,000 records, 10,000 notes, 1,000 functions, and a graph of 5,000 notes."""
import json

import pytest

from test_page import browser, come, write_code
from test_permissions import hello
from wire import Server, Stdio, call

assert browser
ROWS_MAX = 200  # in the document at any time
RECORDS, NOTES, FUNCTIONS = 10_000, 10_000, 1_000
# Texts of the last rows: the oldest record, and the last ones by name.
LAST_RECORD, LAST_NOTE, LAST_FUNCTION = "began a new audit file", f"Note {NOTES - 11:05}", f"f{FUNCTIONS - 1:04}"


def write_notes(vault, count):
    for i in range(count):
        folder = vault / f"type{i % 20}"
        folder.mkdir(exist_ok=True)
        (folder / f"n{i:05}.md").write_text(f"# Note {i:05}\n\nSee [[type{i // 3 % 20}/n{i // 3:05}]].\n")


def write_functions(vault, count):
    (vault / ".cloche").mkdir(exist_ok=True)
    (vault / ".cloche/custom-functions.json").write_text(json.dumps({"version": 1, "functions": [
        {"name": f"f{i:04}", "description": f"Adds {i}", "tags": ["sum"], "parameters": {"n": {"type": "number"}}, "returnType": "Promise<number>",
         "code": f"async function f{i:04}(n: number): Promise<number> {{ return n + {i}; }}"} for i in range(count)]}))


def write_records(cloche, vault, count, at_once=200):
    """As many calls of an agent."""
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        client.ask(hello())
        for first in range(0, count, at_once):
            ids = range(first + 10, min(first + at_once, count) + 10)
            for i in ids:
                client.send(call("search_notes", {"query": "zzz", "limit": 1}, id=i))
            for _ in ids:
                client.receive()


@pytest.fixture
def place(tmp_path):
    (tmp_path / "large").mkdir()
    return tmp_path / "large"


def scroll_through(browser, row, last):
    """From the first row in jumps until the last one, which has this text, is shown; answers how many rows the document
    had at most."""
    return browser.do("""
      await page.locator(given[0]).first().waitFor();
      return page.evaluate(async ([row, last]) => {
        const box = document.querySelector(row).closest('.rows');
        const picture = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        for (let most = 0; ;) {
          box.scrollTop += box.clientHeight * 5;
          await picture();
          const rows = [...document.querySelectorAll(row)];
          most = Math.max(most, rows.length);
          if (rows.at(-1)?.textContent.includes(last)) return most;
        }
      }, given);""", [row, last])


def test_a_thousand_functions_and_ten_thousand_notes_scroll_in_few_rows(cloche, place, browser):
    write_notes(place, NOTES)
    write_functions(place, FUNCTIONS)
    with Server([cloche, "serve", "--vault", str(place), "--listen", "127.0.0.1:0"], stderr=-1) as server:
        come(browser, server)
        for view, row, last in (("functions", ".fn-row", LAST_FUNCTION), ("notes", ".rows .row-slot", LAST_NOTE)):
            browser.do("await page.goto(given)", f"{server.url}/{view}")
            assert scroll_through(browser, row, last) <= ROWS_MAX, view
        server.process.stderr.close()


def test_ten_thousand_records_scroll_in_few_rows(cloche, place, browser):
    write_records(cloche, place, RECORDS)
    with Server([cloche, "serve", "--vault", str(place), "--listen", "127.0.0.1:0"], stderr=-1) as server:
        come(browser, server)
        browser.do("await page.goto(given)", f"{server.url}/activity")
        assert scroll_through(browser, ".record", LAST_RECORD) <= ROWS_MAX
        server.process.stderr.close()


def test_a_long_change_keeps_nobody_from_undoing_it(cloche, place, browser):
    """An agent writes a note anew, so that no line of it is as it was."""
    with Server([cloche, "serve", "--vault", str(place), "--listen", "127.0.0.1:0"], stderr=-1) as server, \
         Stdio([cloche, "mcp", "--vault", str(place)]) as client:
        come(browser, server)
        client.ask(hello())
        text = "Array.from({length: 10000}, (_, i) => '%s line ' + i * 3).join('\\n')"
        made = "await notes.create({type: 'plan', title: 'Bell', content: %s})" % (text % "first")
        changed = "await notes.update({identifier: 'plan/Bell', content: %s, force: true})" % (text % "then another")
        for number, code in enumerate([made, changed], 3):
            answer = client.ask(call("evaluate_note_code", {"code": code}, id=number))
            assert answer["result"]["structuredContent"]["success"], answer
        browser.do("await page.goto(given)", f"{server.url}/activity")
        browser.do("await page.locator('.record').first().click()")
        # Of what is old and of what is new there is something among the first lines.
        browser.see(".drawer .diff .old", "first line 6")
        browser.see(".drawer .diff .new", "then another")
        count = "return page.locator('.drawer .diff-line').count()"
        first = browser.do(count)
        assert first <= 500
        browser.click(".drawer .diff", "Show more")
        browser.do("await page.waitForFunction((was) => document.querySelectorAll('.drawer .diff-line').length > was, given)", first)
        assert browser.do(count) <= 3000
        browser.do("await page.keyboard.press('u')")
        browser.see(".toast", "Undone: 1 note")
        assert (place / "plan/Bell.md").read_text().count("first line") == 10_000

        # As a difference that the server has written.
        browser.do("await page.goto(given)", f"{server.url}/run")
        write_code(browser, changed)
        browser.click(".run-code", "Dry run")
        browser.see(".run-result .diff .old", "first line")
        assert browser.do("return page.locator('.run-result .diff-line').count()") <= 500
        server.process.stderr.close()


def test_what_its_parser_would_take_long_for_is_edited_as_plain_text(cloche, place, browser):
    many = "[[Bell]] " * 220_000
    (place / "Long.md").write_text(f"# Long\n\n{many}\n")
    (place / "Short.md").write_text("# Short\n\n[[Bell]]\n")
    (place / "Whole.md").write_text("# Whole\n\n" + "[[Bell]] and a few words.\n\n" * 30_000)
    parsed = "return page.locator('.cm-line span').count()"
    with Server([cloche, "serve", "--vault", str(place), "--listen", "127.0.0.1:0"], stderr=-1) as server:
        come(browser, server)
        for note in ("Long", "Whole"):
            browser.do("await page.goto(given)", f"{server.url}/notes/{note}?edit")
            browser.see(".cm-line", f"# {note}")
            assert browser.do(parsed) == 0
            browser.do("await page.locator('.cm-content').click(); await page.keyboard.press('Control+Home'); await page.keyboard.type('x')")
            browser.see(".cm-line", f"x# {note}")
        browser.do("await page.goto(given)", f"{server.url}/notes/Short?edit")
        browser.see(".cm-line span", "Short")
        browser.do("await page.locator('.cm-content').click(); await page.keyboard.press('Control+End'); await page.keyboard.insertText(given)", many[:150_000])
        browser.do("await page.keyboard.press('Control+Home')")
        browser.see(".cm-line", "# Short")
        assert browser.do(parsed) == 0
        server.process.stderr.close()
