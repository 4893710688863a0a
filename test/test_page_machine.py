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


def type_line(browser, line):
    browser.do("await page.locator('.vm-shell:not([hidden]) .shell-line input:not([readonly])').fill(given);"
               " await page.keyboard.press('Enter')", line)


def test_a_person_works_in_a_machine(server, browser, tmp_path):
    come(browser, server)
    browser.do("await page.keyboard.press('g'); await page.keyboard.press('m')")
    browser.see(".machine", "No machine runs")
    show_all(browser, "machine-none")
    assert_accessible(browser)
    browser.click(".machine .start", "Start")
    browser.see(".costs", "of 512 MB memory")

    # A shell that stays, and what a program says while it runs.
    type_line(browser, "cd /tmp; A='<b>x</b>'")
    type_line(browser, "pwd; echo \"$A\"; ls /none")
    browser.see(".shell-out .stdout", "/tmp")
    browser.see(".shell-out .stdout", "<b>x</b>")
    browser.see(".shell-out .stderr", "No such file")
    browser.see(".shell-out .note", "exit 2")
    assert browser.do("return page.locator('.shell-out b').count()") == 0
    type_line(browser, "echo begun; sleep 1000")
    browser.see(".shell-out", "begun")
    browser.do("await page.locator('.shell-line input').focus(); await page.keyboard.press('Control+c')")
    browser.see(".shell-out .note", "stopped")
    browser.do("await page.locator('.shell-line input:not([readonly])').waitFor(); await page.keyboard.press('ArrowUp')")
    assert browser.do("return page.locator('.shell-line input').inputValue()") == "echo begun; sleep 1000"

    # Another shell has its own variables; both see the files.
    type_line(browser, "echo 'text of it' > /root/made.txt; echo done")
    browser.see(".shell-out", "done")
    browser.click(".shells", "New shell")
    type_line(browser, "echo \"[$A]\"; cat /root/made.txt")
    browser.see(".vm-shell:not([hidden]) .stdout", "[]")
    browser.do("await page.locator('.upload input').setInputFiles({name: 'sent.txt', mimeType: 'text/plain',"
               " buffer: Buffer.from('sent from here')})")
    browser.see(".toast", "sent.txt is in the machine")
    browser.do("await page.locator('.machine-files li:has-text(\"sent.txt\") button').first().click()")
    browser.see(".shown-file", "sent from here")
    show_all(browser, "machine")
    assert_accessible(browser)

    # A copy has what the machine had, a snapshot starts again.
    browser.do("await page.locator('[aria-label=\"Name\"], .inline input[placeholder=Name]').first().fill('mine')")
    browser.click(".machine aside", "Take a snapshot")
    browser.see(".toast", "mine is saved")
    browser.click(".machine-head", "Fork")
    browser.see(".toast", "A copy runs beside it")
    type_line(browser, "cat /root/sent.txt; rm /root/sent.txt")
    browser.see(".shell-out .stdout", "sent from here")
    browser.click(".machine-head", "Stop")
    browser.click(".machine .confirm", "Stop")
    browser.see(".toast", "The machine is stopped")
    type_line(browser, "cat /root/sent.txt")
    browser.see(".shell-out .stdout", "sent from here")
    browser.click(".machine aside", "Delete")
    browser.see(".toast", "mine is deleted")
    assert browser.errors() == []


def test_a_port_of_a_machine_is_opened_and_closed(server, browser):
    come(browser, server)
    browser.do("await page.keyboard.press('g'); await page.keyboard.press('m')")
    browser.click(".machine .start", "Start")
    browser.do("await page.locator('.inline input[placeholder=Port]').fill('8000')")
    browser.click(".machine aside", "Expose")
    shown = browser.see(".machine aside", "port 8000")
    assert re.search(r"http://127\.\d+\.\d+\.\d+:\d+", shown)
    browser.click(".machine aside [aria-label=Ports]", "Close")
    browser.see(".machine aside", "No port of this machine is exposed.")
