"""A new user's first hour with the page alone: one server, one page, one client's process beside it, in one go."""
import shlex

from machine_doors import needs_image
from packages import package
from test_page import browser, come, serve, tool_row, write_code
from test_page_machine import SHOWN, type_line
from test_page_views import checked, key_row, refusals
from test_permissions import PROBE, hello, link, text_of, trail
from wire import Stdio, call

import pytest
from conftest import ROOT

assert browser
pytestmark = needs_image


@pytest.fixture
def whole(cloche, tmp_path):
    """All of it, with the tools for tests in the place of its own."""
    place = tmp_path / "whole"
    (place / "guest").mkdir(parents=True)
    for file in (ROOT / "build/guest").iterdir():
        if file.name == "ahead" or file.suffix in (".wasm", ".img", ".id"):
            link(file, place / "guest" / file.name)
    for name in ("cloche-sql", "cloche"):
        link((ROOT / "build" / name).resolve(), place / name)
    for name in ("lib", "vm"):
        (place / name).symlink_to(ROOT / "build" / name)
    link(PROBE, place / "guest/tools")
    return str(place / "cloche")


def visit(browser, name):
    """By its link, as somebody who knows no key."""
    browser.do("await page.locator('.places').getByRole('link', {name: given}).click()", name)


FUNCTION = "async function steep(cups: number): Promise<number> {\n  return cups * 3;\n}"


def connect(browser):
    """The words that the page gives for a client; the client that they start."""
    browser.see(".today", "No agent has called yet")
    browser.do("await page.getByRole('link', {name: 'Connect an agent'}).click()")
    words = shlex.split(browser.see(".snippet", "claude mcp add").split(" -- ")[1])
    client = Stdio(words)
    client.ask(hello())
    client.ask(call("search_notes", {"query": "tea"}, id=2))
    browser.see(".connected", "is connected")
    return client


def approve_and_undo(browser, client, vault):
    """A tool would write one thing, is let write another, which is seen and taken back."""
    client.send(call("wasm_probe", {"args": ["put", "/vault/plan/Tea.md", "# Tea\n\nAll poured away.\n"]}, id=3))
    browser.do("await page.getByRole('link', {name: /Review/}).click()")
    browser.see(".request", "wants to run probe")
    browser.click(".answer", "Edit…")
    browser.do("await page.locator('.edit-arguments textarea').first().fill(given)",
               '["put", "/vault/plan/Tea.md", "# Tea\\n\\nPoured twice.\\n"]')
    browser.click(".edit-arguments", "Show what it would do")
    browser.see(".request", "Poured twice")
    browser.click(".answer", "Allow once")
    assert "Poured twice" in client.receive()["result"]["content"][-1]["text"]
    browser.see(".empty", "No requests")
    visit(browser, "Today")
    browser.do("await page.locator('.change a').first().click()")
    assert "All poured away" not in browser.see(".drawer .diff", "Poured twice.")
    assert "Poured twice" in (vault / "plan/Tea.md").read_text()
    browser.click(".drawer", "Undo this call")
    browser.see(".toast", "Undone: 1 note")
    assert (vault / "plan/Tea.md").read_text() == "# Tea\n\nGreen.\n"


def write_and_repair(browser, client):
    """A function with a mistake is registered, fails where it is called, and is repaired."""
    visit(browser, "Functions")
    browser.see(".empty", "No custom functions")
    browser.do("await page.locator('.empty').getByRole('link', {name: /New/}).click()")
    browser.do("await page.getByLabel('Name').fill('steep'); await page.getByLabel('What it does').fill('How long tea is steeped');"
               " await page.getByLabel('Returns').fill('Promise<number>'); await page.getByRole('button', {name: 'Add a parameter'}).click();"
               " await page.getByLabel('name', {exact: true}).fill('cups'); await page.getByLabel('Type of cups').fill('number')")
    write_code(browser, FUNCTION.replace("cups * 3", "cups.length * 3"))
    browser.do("await page.locator('.fn-code .run-foot').filter({hasText: /problem|warning|No problems/}).waitFor()")
    write_code(browser, FUNCTION.replace("return cups * 3", "throw new Error('cold ' + cups)"))
    checked(browser)
    browser.click(".fn-edit header", "Save")
    browser.see(".fn h2", "steep")
    asks = call("evaluate_note_code", {"code": "return await customFunctions.steep(2)"}, id=4)
    assert "cold 2" in text_of(client.ask(asks))
    browser.do("await page.locator('#arg-cups').fill('2')")
    browser.click(".try", "Run")
    browser.see(".tester .done", "cold 2")
    browser.do("await page.locator('.fn > .deeds').getByRole('link', {name: 'Edit'}).click()")
    write_code(browser, FUNCTION)
    checked(browser)
    browser.click(".fn-edit header", "Save")
    browser.do("await page.locator('.fn-edit').waitFor({state: 'detached'})")
    assert client.ask(asks | {"id": 5})["result"]["structuredContent"]["result"] == 6


def install_and_remove(browser):
    visit(browser, "Tools")
    browser.see("h1", "WASM Tools")
    browser.give("idler.zip", package({"name": "idler"}))
    browser.see("#installing", "idler 1.0.0 is installed")
    browser.do("await page.locator(given).click()", tool_row("idler"))
    browser.see(".tool h2", "idler")
    browser.click(".deeds", "Uninstall")
    browser.click(".tool .confirm", "Uninstall")
    browser.do("await page.locator(given).waitFor({state: 'detached'})", tool_row("idler"))


def use_a_machine(browser):
    visit(browser, "Machine")
    browser.click(".machine .start", "Start")
    type_line(browser, "echo six times seven is $((6 * 7))")
    browser.see(SHOWN, "seven is 42")


def find_what_was_slow(browser, client, vault):
    code = ("await notes.create({type: 'log', title: 'Steeped', content: 'x'});"
            " for (let n = 0; n < 30; n++) await notes.get('plan/Tea'); return 'slow'")
    answer = client.ask(call("evaluate_note_code", {"code": code}, id=6))
    assert not answer["result"]["isError"], answer
    # What waited for the person is told of first; it does not hide the other one of that minute.
    visit(browser, "Performance")
    browser.see(".slowest a", "wasm_probe")
    slow = max((r for r in trail(vault) if r.get("action") == "evaluate_note_code" and r["caller"] == "stdio"), key=lambda r: r["time"])
    browser.do("await page.locator(given).click()", f".slowest a[href='/activity/{slow['mac']}']")
    browser.see(".drawer .steps", "Host calls:")
    browser.see(".steps .longest", "notes.create")
    browser.click(".steps", "Show all 31")
    browser.do("await page.locator('.steps tbody tr').nth(30).waitFor()")


def tighten(browser, client, vault):
    visit(browser, "Policy")
    browser.click(key_row("readOnly"), "Edit")
    browser.do("await page.locator('#key-readOnly').selectOption('true')")
    browser.click(".pending", "Save")
    browser.see(key_row("readOnly") + " .key-line .tag", "your policy")
    made = client.ask(call("create_note", {"title": "Mug", "type": "plan", "content": "x"}, id=7))
    assert made["result"]["isError"] and "readOnly" in text_of(made)
    assert not (vault / "plan/Mug.md").exists()
    visit(browser, "Activity")
    browser.see(".record", "PermissionDenied")


def test_a_new_user_needs_nothing_but_the_page(whole, vault, browser):
    (vault / "plan").mkdir()
    (vault / "plan/Tea.md").write_text("# Tea\n\nGreen.\n")
    with serve(whole, vault) as server:
        come(browser, server)
        with connect(browser) as client:
            approve_and_undo(browser, client, vault)
            write_and_repair(browser, client)
            install_and_remove(browser)
            use_a_machine(browser)
            find_what_was_slow(browser, client, vault)
            tighten(browser, client, vault)
        assert refusals(browser) == ["422"]  # the trial of the function that failed
        server.process.stderr.close()
