#!/usr/bin/env python3
"""How fast the page of `cloche serve` is in Chromium: build/deps/venv-test/bin/python bench/page.py

Prints a Markdown table: the first view, changes of views, the longest task while long lists are scrolled and a graph of
5,000 notes is laid out, keys in the editor, and what an open page costs that shows nothing new.
"""
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test"))
from conftest import folders_in  # noqa: E402
from test_page import Browser  # noqa: E402
from test_page_large import FUNCTIONS, LAST_FUNCTION, LAST_NOTE, LAST_RECORD, NOTES, RECORDS, scroll_through, write_functions, write_notes, write_records  # noqa: E402
from wire import Server  # noqa: E402

CLOCHE = str(ROOT / "build/cloche")
GRAPH = 5000
IDLE_S = 20
WATCH = """await page.addInitScript(() => { window.tasks = [];
  new PerformanceObserver((list) => { for (const e of list.getEntries()) window.tasks.push(e.duration); }).observe({type: 'longtask', buffered: true}); })"""


@contextmanager
def serving(place):
    with Server([CLOCHE, "serve", "--vault", str(place), "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE) as server:
        server.link = re.search(r"http://\S+/person#\S+", server.process.stderr.readline())[0]
        yield server
        server.process.stderr.close()


def longest(browser):
    """The longest task of the page since this was asked last, in ms; tasks below 50 ms are not told of."""
    return browser.do("return page.evaluate(() => { const most = Math.max(0, ...window.tasks); window.tasks.length = 0; return most; })")


def row(what, figure, goal, met):
    print(f"| {what} | {figure} | {goal} | {'met' if met else '**missed**'} |", flush=True)


def task_row(browser, what):
    most = longest(browser)
    row(f"the longest task: {what}", f"{most:.0f} ms" if most else "below 50 ms", "50 ms", most <= 50)


def interactive(browser, url, selector):
    """From the request to the first rows, the median of seven."""
    took = []
    for _ in range(7):
        took.append(browser.do("""await page.goto('about:blank'); const from = performance.now(); await page.goto(given[0], {waitUntil: 'commit'});
          await page.locator(given[1]).first().waitFor(); return performance.now() - from;""", [url, selector]))
    return sorted(took)[3]


CHANGE = """return page.evaluate(async ([keys, selector]) => {
  const from = performance.now();
  for (const key of keys) document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
  while (!document.querySelector(selector)) await new Promise((done) => requestAnimationFrame(done));
  return performance.now() - from;
}, given)"""


def changes(browser, server):
    views = {"a": ".record", "f": ".fn-row", "n": ".note-row", "s": ".key-row", "t": ".today"}
    browser.do("await page.goto(given)", server.url)
    browser.see(".today", "")
    for again in (False, True):
        took = {key: browser.do(CHANGE, [["g", key], selector]) for key, selector in views.items()}
        for key, ms in took.items():
            row(f"the next view, {'again' if again else 'for the first time'}: {views[key]}", f"{ms:.0f} ms", "100 ms", ms < 100)


def processor_s(browser):
    """(what the page's main thread has worked, of which scripts, styles and layout)"""
    return browser.do("""if (!page.measured) { page.measured = await page.context().newCDPSession(page); await page.measured.send('Performance.enable'); }
      const {metrics} = await page.measured.send('Performance.getMetrics'); const of = (name) => metrics.find((m) => m.name === name).value;
      return [of('TaskDuration'), of('ScriptDuration') + of('RecalcStyleDuration') + of('LayoutDuration')];""")


def lists(browser, place):
    with serving(place) as server:
        browser.do("await page.goto(given)", server.link)
        browser.see("h1", "Today")
        ms = interactive(browser, server.url, ".today h1")
        row("the first view, from the request until it is there", f"{ms:.0f} ms", "300 ms", ms < 300)
        changes(browser, server)
        for view, selector, what, last in (("activity", ".record", f"{RECORDS:,} records", LAST_RECORD), ("functions", ".fn-row", f"{FUNCTIONS:,} functions", LAST_FUNCTION),
                                           ("notes", ".rows .row-slot", f"{NOTES:,} notes", LAST_NOTE)):
            browser.do("await page.goto(given)", f"{server.url}/{view}")
            browser.see(selector, "")
            task_row(browser, f"{what} are opened")
            rows = scroll_through(browser, selector, last)
            task_row(browser, f"{what} are scrolled ({rows} rows in the document)")
        browser.do("await page.goto(given)", f"{server.url}/run")
        browser.see(".cm-content", "notes.list")
        longest(browser)
        browser.do("await page.locator('.cm-content').click(); await page.keyboard.type('const tea = await notes.get(1); // and so on', {delay: 15})")
        task_row(browser, "typing in the editor, with completion and checks")
        browser.do("await page.goto(given)", server.url)
        browser.see("h1", "Today")
        time.sleep(60)  # until no record is of the last minute, whose words count seconds
        windows = []
        for _ in range(3):  # what the browser tidies up after a visit falls into one of them
            before = processor_s(browser)
            time.sleep(IDLE_S)
            windows.append([(b - a) / IDLE_S * 100 for a, b in zip(before, processor_s(browser))])
        all, own = sorted(windows)[1]
        row(f"an idle page, of a processor, the median of {len(windows)} windows of {IDLE_S} s", f"{all:.2f} %", "0.5 %", all < 0.5)
        row("the same, of which scripts, styles and layout", f"{own:.2f} %", "0.5 %", own < 0.5)


def graph(browser, place):
    with serving(place) as server:
        browser.do("await page.goto(given)", server.link)
        browser.see("h1", "Today")
        browser.do("await page.goto(given)", f"{server.url}/notes?show=graph")
        browser.see(".graph [role=status]", " notes, ")
        longest(browser)
        time.sleep(10)
        task_row(browser, f"a graph of {GRAPH:,} notes is laid out, of the ten seconds after the first picture")
        browser.do("await page.locator('.graph canvas').hover(); for (let i = 0; i < 10; i++) { await page.mouse.wheel(0, -100); await page.mouse.move(600 + i * 9, 400); }")
        task_row(browser, "the same, zoomed and pointed at")


def main():
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        os.environ.update(folders_in(place), NO_PROXY="*")
        for name in ("long", "graph"):
            (place / name).mkdir()
        write_notes(place / "long", NOTES)
        write_functions(place / "long", FUNCTIONS)
        write_records(CLOCHE, place / "long", RECORDS)
        write_notes(place / "graph", GRAPH)
        print("| measured | figure | goal | |\n| --- | ---: | ---: | --- |")
        with Browser(place, profile=place / "profile") as browser:
            browser.do(WATCH)
            lists(browser, place / "long")
            browser.do("await page.context().clearCookies()")
            graph(browser, place / "graph")


if __name__ == "__main__":
    main()
