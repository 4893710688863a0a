"""Several tabs of the page in one browser: each has its vault, its drafts and its undo; one reads the stream of events for all."""
import subprocess

from machine_doors import needs_image
from test_page import browser, come, program, write_code
from test_page_late import HELD, HOLD, LET_GO, make
from test_page_machine import SHOWN, errors_of, type_line
from test_page_views import client, server
from wire import Server

assert browser and server and client and program

OPEN = """const tab = await page.context().newPage(); await tab.goto(given[0]); await tab.locator('main h1', {hasText: given[1]}).waitFor({state: 'attached'});"""
TABS = "const tabs = page.context().pages().filter((one) => one !== page);"
CLOSE = TABS + "for (const tab of tabs) await tab.close({runBeforeUnload: false});"


def seen_everywhere(browser, text):
    browser.do("for (const tab of page.context().pages()) await tab.locator('.change', {hasText: given}).first().waitFor()", text)


def test_eight_tabs_hear_what_an_agent_does(server, client, browser):
    come(browser, server)
    for _ in range(7):
        browser.do(OPEN, [server.url, "Today"])
    make(client, "Bell", 3)
    seen_everywhere(browser, "plan/Bell")
    # The one that read the events has gone: another one does.
    browser.do("await page.goto('about:blank'); await page.goto(given)", f"{server.url}/connect")
    browser.see("h1", "Connect")
    make(client, "Gong", 4)
    browser.do(TABS + "for (const tab of tabs) await tab.locator('.change', {hasText: 'plan/Gong'}).first().waitFor()")
    browser.do("await page.goto(given)", server.url)
    make(client, "Horn", 5)
    seen_everywhere(browser, "plan/Horn")
    browser.do(CLOSE)
    assert browser.errors() == []


def test_a_tab_keeps_its_vault(program, vault, browser, tmp_path):
    second = tmp_path / "second"
    second.mkdir()
    (second / "Only.md").write_text("# Only here\n")
    (vault / "Mine.md").write_text("# Mine\n")
    for folder in (vault, second):
        subprocess.run([program, "vault", "add", str(folder)], check=True, capture_output=True)
    with Server([program, "serve", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE) as server:
        come(browser, server)
        browser.do("await page.goto(given)", f"{server.url}/notes/note/Mine?edit")
        browser.see(".note-edit .cm-content", "Mine")
        write_code(browser, "# Mine, typed")
        first = browser.do("return page.locator('.vault select').inputValue()")
        browser.do(OPEN + " await tab.locator('.vault select').selectOption(given[2]); await tab.goto(given[0] + '/notes');"
                          " await tab.locator('.note-row', {hasText: 'Only'}).waitFor()", [server.url, "Today", "second"])
        browser.do("await page.mouse.click(1, 1); page.once('dialog', (dialog) => void dialog.accept()); await page.reload()")
        browser.see(".note-edit .cm-content", "typed")
        assert browser.do("return page.locator('.vault select').inputValue()") == first
        # A new one begins with what was chosen last.
        browser.do(OPEN + " await tab.locator('.vault select').waitFor(); if (await tab.locator('.vault select').inputValue() !== 'second') throw new Error('another')",
                   [server.url, "Today"])
        browser.do(CLOSE)
        browser.click(".note-edit", "Cancel")
        browser.see(".rendered", "Mine")
        assert browser.errors() == []
        server.process.stderr.close()


def test_who_leaves_is_asked_about_drafts_first_and_leaves_in_all_tabs(server, client, browser):
    come(browser, server)
    make(client, "Bell", 3)
    browser.do(OPEN, [server.url, "Today"])
    browser.do("await page.goto(given)", f"{server.url}/notes/plan/Bell?edit")
    browser.see(".note-edit .cm-content", "x")
    write_code(browser, "# Bell\n\nmine")
    leave = "await page.getByRole('button', {name: 'Leave', exact: true}).click();"
    asked = browser.do(f"let asked = ''; page.once('dialog', (dialog) => {{ asked = dialog.message(); void dialog.dismiss(); }}); {leave} return asked")
    assert "not saved yet" in asked
    browser.do("await page.locator('.cm-content').focus(); await page.keyboard.press('Control+s')")
    browser.see(".rendered", "mine")  # nobody has left
    browser.do(leave)
    browser.see(".login", "Only you can open this page")
    browser.do(TABS + "await tabs[0].locator('.login').waitFor();" + CLOSE.replace(TABS, ""))
    assert all("status of 401" in error for error in browser.errors()), browser.errors()


def test_the_undo_of_a_run_is_of_this_tab(vault, server, client, browser):
    come(browser, server)
    browser.do(OPEN, [f"{server.url}/run", "Run"])
    browser.do("await page.goto(given)", f"{server.url}/run")
    browser.see(".cm-content", "notes.list")
    write_code(browser, "return 'nothing is changed';")
    browser.do(HOLD, ["/evaluate$", True])
    browser.do("await page.keyboard.press('Control+Enter');" + HELD)
    browser.do(TABS + "const [tab] = tabs; await tab.locator('.cm-content').click(); await tab.keyboard.press('Control+a'); await tab.keyboard.press('Delete');"
               " await tab.keyboard.insertText(given); await tab.keyboard.press('Control+Enter'); await tab.locator('.run-result button', {hasText: 'Undo'}).waitFor()",
               "await notes.create({type: 'plan', title: 'Other', content: 'x'}); return 1")
    browser.do(LET_GO)
    browser.see(".done", "nothing is changed")
    # What it looked for is not there: an answer to a later request has come.
    browser.do("await page.evaluate(() => fetch('/assets/icon.svg').then((answer) => answer.text()))")
    assert browser.do("return page.locator('.run-result button', {hasText: 'Undo'}).count()") == 0
    browser.do(TABS + "await tabs[0].locator('.run-result button', {hasText: 'Undo'}).click(); await tabs[0].locator('.toast', {hasText: 'Undone: 1 note'}).waitFor();"
               + CLOSE.replace(TABS, ""))
    assert not (vault / "plan/Other.md").exists()
    assert browser.errors() == []


def test_a_run_that_is_stopped_says_what_it_had_changed(vault, server, client, browser):
    come(browser, server)
    browser.do("await page.goto(given)", f"{server.url}/run")
    browser.see(".cm-content", "notes.list")
    write_code(browser, "return 'the one before'")
    browser.do("await page.keyboard.press('Control+Enter')")
    browser.see(".done", "the one before")
    write_code(browser, "await notes.create({type: 'plan', title: 'Half', content: 'x'}); await sleep(20000)")
    browser.do("await page.keyboard.press('Control+Enter')")
    browser.see(".run-result[aria-busy=true]", "")
    assert browser.until((vault / "plan/Half.md").exists)
    browser.do("await page.keyboard.press('Escape')")
    browser.see(".toast", "Stopped")
    browser.see(".toast", "It had changed notes")
    assert browser.do("return page.locator('.done').count()") == 0
    browser.click(".toast", "Undo")
    browser.see(".toast", "Undone: 1 note")
    assert not (vault / "plan/Half.md").exists()
    assert browser.errors() == []


@needs_image
def test_three_terminals_leave_the_page_its_connections(server, browser):
    come(browser, server)
    browser.do("await page.goto(given)", f"{server.url}/machine")
    browser.click(".machine .start", "Start")
    for n in range(2, 4):
        browser.see(SHOWN, "#")
        browser.click(".terminals", "New terminal")
        browser.see(".terminals nav [aria-pressed=true]", f"Terminal {n}")
    browser.see(SHOWN, "#")
    assert browser.do("return page.locator('.terminal-acts button', {hasText: 'New terminal'}).isDisabled()")
    # Another tab has its views, and its terminal says why it has no shell.
    browser.do(OPEN + f"""await tab.locator('{SHOWN}', {{hasText: '3 terminals are open'}}).waitFor();""", [f"{server.url}/machine", "Machine"])
    type_line(browser, "echo still''here")
    browser.see(SHOWN, "stillhere")
    browser.click(".terminals", "Close terminal 3")
    browser.do(TABS + f"await tabs[0].locator('.terminal-tab:not([hidden]) textarea').focus(); await tabs[0].keyboard.press('Enter');"
               f" await tabs[0].locator('{SHOWN}', {{hasText: '#'}}).waitFor();" + CLOSE.replace(TABS, ""))
    assert errors_of(browser) == []
