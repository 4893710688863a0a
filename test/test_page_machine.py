"""The page's view of Linux machines, in a browser: shells, files, ports, snapshots and copies."""
import re
import subprocess

import pytest

from machine_doors import needs_image
from axe import assert_accessible
from test_page import browser, come, show_all
from wire import Server

assert browser
pytestmark = needs_image


@pytest.fixture
def server(cloche, vault):
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"],
                stderr=subprocess.PIPE) as server:
        yield server
        server.process.stderr.close()


SHOWN = ".terminal-tab:not([hidden]) .xterm-rows"


def type_line(browser, line, key="Enter"):
    browser.see(SHOWN, "#")
    browser.do("await page.locator('.terminal-tab:not([hidden]) textarea').focus(); await page.keyboard.type(given[0]);"
               " await page.keyboard.press(given[1])", [line, key])


def size_shown(browser, mark):
    """Rows and columns, as a program in the terminal finds them."""
    type_line(browser, f"clear; echo {mark}-$(stty size)-")
    shown = browser.do("const rows = page.locator(given[0]); for (;;) { const text = await rows.innerText();"
                       " if (new RegExp(given[1]).test(text)) return text; await page.waitForTimeout(20); }", [SHOWN, mark + r"-\d"])
    return re.search(mark + r"-(\d+)\s(\d+)-", shown).groups()


def errors_of(browser):
    """All but what was under way in a machine, or on its way to it, when it was stopped."""
    return [e for e in browser.errors() if not re.match(r"status of (404|499): .*/vm/vm_", e)]


def test_a_person_works_in_a_machine(server, browser, tmp_path):
    come(browser, server)
    browser.do("await page.keyboard.press('g'); await page.keyboard.press('m')")
    browser.see(".machine", "No machine runs")
    show_all(browser, "machine-none")
    assert_accessible(browser)
    browser.click(".machine .start", "Start")
    browser.see(".costs", "of 512 MB memory")

    # A terminal: what a program prints, keys, colours, its size.
    type_line(browser, "cd /tmp; A='<b>x</b>'")
    type_line(browser, "pwd; echo \"$A\"; ls /none; tty")
    for part in ("/tmp", "<b>x</b>", "No such file", "/dev/pts/"):
        browser.see(SHOWN, part)
    assert browser.do("return page.locator('.terminal-tab b').count()") == 0
    type_line(browser, "cat <(echo be''gun) -")
    browser.see(SHOWN, "begun")
    browser.do("await page.keyboard.press('Control+c')")
    browser.see(SHOWN, "^C")
    type_line(browser, "echo code $?")
    browser.see(SHOWN, "code 130")
    browser.do("await page.keyboard.press('ArrowUp'); await page.keyboard.press('ArrowUp')")
    browser.see(SHOWN, "gun) -")
    browser.do("await page.keyboard.press('Control+u')")
    type_line(browser, "printf '\\033[38;2;200;30;30mtrue colour\\033[0m\\n'")
    browser.do("await page.locator('.terminal-tab .xterm-rows span:has-text(\"true colour\")').last().waitFor()")
    size = size_shown(browser, "one")
    browser.do("await page.setViewportSize({width: 900, height: 700})")
    assert browser.until(lambda: size_shown(browser, "two") != size)
    browser.do("await page.setViewportSize({width: 1440, height: 900})")

    # Another terminal has its own variables; both see the files.
    type_line(browser, "echo 'text of it' > /root/made.txt; echo done")
    browser.see(SHOWN, "done")
    browser.click(".terminals", "New terminal")
    browser.see(".terminals nav [aria-pressed=true]", "Terminal 2")
    type_line(browser, "echo \"[$A]\"; cat /root/made.txt")
    browser.see(SHOWN, "[]")
    type_line(browser, "exit 7")
    browser.see(SHOWN, "ended with exit code 7")
    browser.do("await page.keyboard.press('Enter')")
    type_line(browser, "clear; echo anew")
    browser.see(SHOWN, "anew")
    type_line(browser, "ln -s /tmp linked; ln -s made.txt text-linked; echo lin''ked")
    browser.see(SHOWN, "linked")
    browser.do("await page.locator('.upload input').setInputFiles({name: 'sent.txt', mimeType: 'text/plain',"
               " buffer: Buffer.from('sent from here\\n')})")
    browser.see(".toast", "sent.txt is in the machine")
    browser.do("await page.locator('.machine-files li:has-text(\"sent.txt\") button').first().click()")
    browser.see(".shown-file", "sent from here")
    browser.do("await page.locator('.machine-files li:has-text(\"text-linked\") button').first().click()")
    browser.see(".shown-file", "text of it")
    browser.do("await page.locator('.machine-files li button', {hasText: /^linked$/}).click()")
    browser.see(".machine-files .where", "/root/linked")
    browser.do("await page.locator('.machine-files').getByRole('button', {name: 'Up', exact: true}).click()")
    browser.see(".machine-files li", "sent.txt")
    show_all(browser, "machine")
    assert_accessible(browser)

    # A copy has what the machine had, a snapshot starts again.
    browser.do("await page.locator('[aria-label=\"Name\"], .inline input[placeholder=Name]').first().fill('mine')")
    browser.click(".machine aside", "Take a snapshot")
    browser.see(".toast", "mine is saved")
    browser.click(".machine-head", "Fork")
    browser.see(".toast", "A copy runs beside it")
    browser.see(".machine-head nav a:nth-of-type(2)[aria-current]")
    type_line(browser, "cat /root/sent.txt; rm /root/sent.txt")
    browser.see(SHOWN, "sent from here")
    browser.click(".machine-head", "Stop")
    browser.click(".machine .confirm", "Stop")
    browser.see(".toast", "The machine is stopped")
    type_line(browser, "cat /root/sent.txt")
    browser.see(SHOWN, "sent from here")

    # One of its name is not replaced, and none is deleted, without a question.
    browser.do("await page.locator('.inline input[placeholder=Name]').fill('mine')")
    browser.click(".machine aside", "Take a snapshot")
    browser.click(".machine .confirm", "Cancel")
    browser.click(".machine aside li", "Delete")
    browser.see(".machine .confirm", "Delete the snapshot mine?")
    browser.do("await page.keyboard.press('Escape')")
    browser.do("await page.locator('.machine .confirm').waitFor({state: 'detached'})")
    browser.click(".machine aside li", "Delete")
    browser.click(".machine .confirm", "Delete")
    browser.see(".toast", "mine is deleted")
    [link] = errors_of(browser)  # it leads to no folder
    assert "status of 400" in link and link.endswith("text-linked"), link


def test_a_terminal_goes_on_while_another_view_is_shown(server, browser):
    come(browser, server)
    browser.do("await page.goto(given)", f"{server.url}/machine")
    browser.click(".machine .start", "Start")
    type_line(browser, "for i in $(seq 300); do echo line $i; done; read -r word; echo heard $word > /root/heard")
    browser.see(SHOWN, "line 300")
    browser.click(".terminals", "New terminal")
    browser.see(".terminals nav [aria-pressed=true]", "Terminal 2")
    type_line(browser, "echo sec''ond")
    browser.see(SHOWN, "second")
    # A terminal is shown as soon as its button was clicked: the next key is its own.
    browser.do("await page.evaluate(() => addEventListener('click', () => { window.at = document.querySelector('.terminals nav [aria-pressed=true]')?.innerText;"
               " window.typed = document.activeElement?.closest('.terminal-tab:not([hidden])') !== null; }))")
    for tab in (1, 2):
        browser.do("await page.locator('.terminals nav [aria-pressed]').nth(given).click()", tab - 1)
        assert browser.do("return page.evaluate(() => [window.at, window.typed])") == [f"Terminal {tab}", True]
    browser.do("await page.locator('nav a[href=\"/notes\"]').first().click()")
    browser.see("main h1", "Notes")
    browser.do("await page.goBack()")
    browser.see(SHOWN, "line 300")
    browser.do("await page.locator('.terminals nav [aria-pressed]').nth(1).click()")
    browser.see(SHOWN, "second")
    browser.do("await page.locator('.terminals nav [aria-pressed]').first().click(); await page.keyboard.type('a word');"
               " await page.keyboard.press('Enter')")
    browser.do("await page.locator('.terminals nav [aria-pressed]').nth(1).click()")
    type_line(browser, "cat /root/heard")
    browser.see(SHOWN, "heard a word")
    assert browser.errors() == []


def test_who_stops_a_machine_stops_the_one_that_was_asked_about(server, browser):
    come(browser, server)
    browser.do("await page.goto(given)", f"{server.url}/machine")
    browser.click(".machine .start", "Start")
    browser.see(".costs", "of 512 MB memory")
    browser.do("await page.getByRole('button', {name: 'Fork'}).dblclick()")  # one copy
    browser.see(".toast", "A copy runs beside it")
    browser.do("await page.locator('.machine-head nav a').nth(1).waitFor()")
    browser.click(".machine-head", "Stop")
    browser.see(".machine .confirm", "Stop this machine?")
    other = browser.do("return page.locator('.machine-head nav a:not([aria-current])').getAttribute('href')")
    browser.do("await page.locator('.machine-head nav a:not([aria-current])').click()")
    browser.do("await page.locator('.machine .confirm').waitFor({state: 'detached'})")
    browser.click(".machine-head", "Stop")
    browser.click(".machine .confirm", "Stop")
    browser.see(".toast", "The machine is stopped")
    browser.do("await page.waitForFunction((gone) => document.querySelectorAll('.machine-head nav a').length === 1"
               " && document.querySelector('.machine-head nav a').getAttribute('href') !== gone, given)", other)
    assert errors_of(browser) == []


def test_a_terminal_that_becomes_ready_leaves_the_focus_where_the_person_writes(server, browser):
    come(browser, server)
    browser.do("globalThis.let = null; await page.route('**/assets/screen-*.js', async (route) => {"
               " await new Promise((go) => { globalThis.let = go; }); await route.continue(); })")
    browser.do("await page.keyboard.press('g'); await page.keyboard.press('m')")
    browser.click(".machine .start", "Start")
    browser.do("await page.locator('.inline input[placeholder=Port]').focus(); await page.keyboard.type('80')")
    browser.do("while (!globalThis.let) await page.waitForTimeout(20); globalThis.let(); await page.locator('.terminal-tab .xterm-rows').waitFor();"
               " await page.keyboard.type('00'); await page.unroute('**/assets/screen-*.js')")
    assert browser.do("return page.locator('.inline input[placeholder=Port]').inputValue()") == "8000"


def test_a_port_of_a_machine_is_opened_and_closed(server, browser):
    come(browser, server)
    browser.do("await page.keyboard.press('g'); await page.keyboard.press('m')")
    browser.click(".machine .start", "Start")
    browser.do("await page.locator('.inline input[placeholder=Port]').fill('8000')")
    browser.click(".machine aside", "Expose")
    shown = browser.see(".machine aside", "port 8000")
    assert re.search(r"http://127\.\d+\.\d+\.\d+:\d+", shown)
    browser.see(".machine aside button[type=submit][disabled]", "Expose")  # the field is empty again: it has been done
    browser.click(".machine aside [aria-label=Ports]", "Close")
    browser.see(".machine aside", "No port of this machine is exposed.")
