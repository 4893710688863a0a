"""The page by keyboard alone, on a narrow screen, without motion, beside another person's page, and while nobody looks at it."""
import json
import os

import pytest

from machine_doors import needs_image
from test_page import browser, come
from test_page_views import FUNCTION, client, server
from test_permissions import policy
from wire import call

assert browser and server and client

# What has the focus: its kind and name, whether it is in sight, and whether that is seen (by a ring, or by the caret of an editor).
FOCUSED = """() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const box = e.getBoundingClientRect(), at = [];
  for (let up = e; up && at.length < 4; up = up.parentElement) at.push(getComputedStyle(up));
  const ring = at.some((s, i) => s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0 && (i === 0 || at[i] && e.closest(':focus-within')));
  const bare = e.matches('main, .palette input, .xterm-helper-textarea') || e.closest('.editor') || e.matches('.skip, .upload input, [type=file]');
  return { what: `${e.tagName.toLowerCase()}.${e.className} ${(e.getAttribute('aria-label') ?? e.innerText ?? '').slice(0, 40)}`.replace(/\\s+/g, ' '),
    id: window.ids.get(e) ?? (window.ids.set(e, ++window.count), window.count), seen: ring || Boolean(bare),
    inSight: (box.width > 0 && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth) || Boolean(bare) };
}"""
# Tab from the first one to the end, or to the first one again; nothing is skipped, nothing holds the focus.
WALK = """
  await page.evaluate(() => { window.ids = new Map(); window.count = 0; document.querySelector('.skip').focus(); });
  const met = [await page.evaluate(FOCUSED)], ids = new Set([1]);
  let left = false; // an editor, which leads back to what was before it
  for (let i = 0; i < 400; i++) {
    const editing = await page.evaluate(() => document.activeElement?.closest('.editor') ? 'Escape' : document.activeElement?.closest('.xterm') ? 'Shift+Escape' : '');
    if (editing) { await page.keyboard.press(editing); left = true; }
    await page.keyboard.press('Tab');
    const now = await page.evaluate(FOCUSED);
    if (!now || now.id === 1) return { met, stuck: '' };
    if (ids.has(now.id)) { if (left) continue; return { met, stuck: now.what }; }
    left = false;
    ids.add(now.id);
    met.push(now);
  }
  return { met, stuck: 'Tab 400 times' };""".replace("FOCUSED", FOCUSED)


def walk(browser, view):
    said = browser.do(WALK)
    assert not said["stuck"], (view, said["stuck"])
    bad = [m["what"] for m in said["met"] if not m["seen"] or not m["inSight"]]
    assert bad == [], (view, bad)
    return [m["what"] for m in said["met"]]


def focused(browser):
    return browser.do(f"return page.evaluate({FOCUSED.replace('window.ids.get(e) ?? (window.ids.set(e, ++window.count), window.count)', '0')})")


def lay_notes(vault):
    (vault / "plan").mkdir()
    (vault / "plan/Tea.md").write_text("---\nstatus: open\n---\n# Tea\n\nSee [[plan/Kettle]] and [[Kettel]].\n")
    (vault / "plan/Kettle.md").write_text("# Kettle\n\n| a | b |\n|--|--|\n| 1 | " + "wide " * 60 + "|\n\n    " + "code " * 60 + "\n")


VIEWS = {"": ".change", "activity": ".record", "notes": ".note-row", "notes/plan/Tea": ".rendered .broken", "notes?show=broken": ".mend li", "notes?show=trash": ".mend li",
         "notes?new=plan/Cup": ".note-new", "toolbox": "[data-tool]", "run": ".cm-content", "functions": ".fn-row", "functions/pour": ".fn .try",
         "functions/pour/edit": ".fn-edit .cm-content", "functions?new": ".fn-edit .cm-content", "performance": ".trend-table", "settings": ".key-row",
         "settings/access": ".may", "settings/tokens": ".tokens", "settings/advanced": ".advanced", "connect": ".snippet", "health": ".checks",
         "review": ".empty", "machine": ".machine"}


@pytest.fixture
def lived_in(vault, server, client, browser):
    """Each view has something to show."""
    lay_notes(vault)
    come(browser, server)
    client.ask(call("register_custom_function", FUNCTION, id=4))
    client.ask(call("evaluate_note_code", {"code": "const n = await notes.create({type: 'plan', title: 'Gone', content: 'x'}); await notes.delete(n.id)"}, id=3))
    client.ask(call("evaluate_note_code", {"code": "return (await notes.create({type: 'plan', title: 'Cup', content: 'x'.repeat(300)})).id"}, id=5))
    browser.see(".change", "created 1 note")
    return server


def each_view(browser, server):
    for view, selector in VIEWS.items():
        browser.do("await page.goto(given)", f"{server.url}/{view}")
        browser.see(selector, "")
        browser.do("await page.waitForFunction(() => !document.querySelector('main [aria-busy=true]'))")  # the lists beside it, too
        yield view


def test_tab_reaches_all_of_each_view_and_is_seen(lived_in, browser):
    browser.do("await page.setViewportSize({width: 1440, height: 900})")
    for view in each_view(browser, lived_in):
        met = walk(browser, view)
        assert len(met) > 14, (view, met)
        missed = browser.do("""return page.evaluate((met) => [...document.querySelectorAll('main :is(a[href], button, input, select, textarea, summary)')]
          .filter((e) => e.checkVisibility({visibilityProperty: true}) && !e.disabled && e.tabIndex >= 0 && e.type !== 'radio' && !window.ids.has(e))
          .map((e) => e.outerHTML.slice(0, 120)))""")
        assert missed == [], (view, missed)


def test_no_view_is_wider_than_a_narrow_screen(lived_in, browser):
    browser.do("await page.setViewportSize({width: 390, height: 844})")
    for view in each_view(browser, lived_in):
        wide = browser.do("""return page.evaluate(() => [document.documentElement, document.querySelector('main'), ...document.querySelectorAll('.view')]
          .filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => `${e.tagName}.${e.className} ${e.scrollWidth} > ${e.clientWidth}`))""")
        assert wide == [], (view, wide)


def assert_still(browser, view):
    """With a dialog over it."""
    # The focus is in no field, and not nowhere either, from where the page brings it back.
    browser.do("await page.evaluate(() => { const content = document.getElementById('content'); content.tabIndex = -1; content.focus(); });"
               " await page.keyboard.press('?'); await page.locator('[role=dialog]').waitFor()")
    moving = browser.do("""return page.evaluate(() => {
      const long = (text) => text.split(', ').some((one) => parseFloat(one) * (one.endsWith('ms') ? 1 : 1000) > 10);
      return [...document.getAnimations().map((a) => String(a.animationName ?? a.transitionProperty)),
        ...[...document.querySelectorAll('*')].filter((e) => { const s = getComputedStyle(e); return (s.animationName !== 'none' && long(s.animationDuration)) || long(s.transitionDuration) || s.scrollBehavior === 'smooth'; })
          .map((e) => `${e.tagName}.${e.className}`)]; })""")
    assert moving == [], (view, moving)


def test_nothing_moves_where_that_is_not_wanted(lived_in, browser):
    if browser.which != "chromium":
        pytest.skip("in Firefox by test_page_firefox_dark.py: a running one takes no such wish")
    browser.do("await page.emulateMedia({reducedMotion: 'reduce'})")
    for view in each_view(browser, lived_in):
        assert_still(browser, view)
    browser.do("await page.emulateMedia({reducedMotion: null})")


def test_what_opens_takes_the_focus_and_gives_it_back(lived_in, browser):
    browser.do("await page.goto(given)", f"{lived_in.url}/notes/plan/Cup")
    browser.see(".rendered", "x")

    def at(selector):
        browser.do("await page.waitForFunction((s) => document.activeElement?.matches(s), given)", selector)

    # The palette and the list of keys hold it; Escape gives it back.
    for key, inside in (("Control+k", ".palette input"), ("?", ".sheet, .sheet *")):
        browser.do("await page.locator('.note > header').getByRole('button', {name: 'Delete'}).focus(); await page.keyboard.press(given)", key)
        at(inside)
        browser.do("for (const key of ['Tab', 'Tab', 'Shift+Tab', 'Tab']) await page.keyboard.press(key)")
        at(inside)
        browser.do("await page.keyboard.press('Escape')")
        at(".note > header button")
        assert "Delete" in focused(browser)["what"]

    # What is asked in the place of a button takes it; the way back leads to the button.
    browser.do("await page.goto(given)", f"{lived_in.url}/notes/plan/Kettle")
    browser.do("await page.locator('.note > header').getByRole('button', {name: 'Delete'}).focus(); await page.keyboard.press('Enter')")
    browser.see(".confirm", "Other notes link to this one")
    at(".confirm button")
    browser.do("await page.keyboard.press('Enter')")
    browser.do("await page.locator('.confirm').waitFor({state: 'detached'})")
    at(".note > header button, .note")

    # A link that is gone with its view leaves the keyboard in the next one, and Enter is the control's own.
    browser.do("await page.goto(given)", f"{lived_in.url}/")
    browser.do("await page.locator('.change a').first().focus(); await page.keyboard.press('Enter')")
    browser.see(".drawer h2", "created 1 note")
    at("main, main *")
    browser.do("await page.locator('.drawer-close').focus(); await page.keyboard.press('Enter')")
    browser.do("await page.locator('.drawer').waitFor({state: 'detached'})")
    at("main, main *")

    # Half a function is not lost by Escape; the editor is left by Escape and Tab.
    browser.do("await page.goto(given)", f"{lived_in.url}/functions?new")
    browser.see(".fn-edit .cm-content", "notes.list")
    browser.do("await page.getByLabel('Name').focus(); await page.keyboard.type('half'); await page.keyboard.press('Escape')")
    assert browser.do("return page.getByLabel('Name').inputValue()") == "half"

    # On a narrow screen the other places open as a dialog.
    browser.do("await page.setViewportSize({width: 390, height: 844}); await page.goto(given)", f"{lived_in.url}/")
    browser.do("await page.locator('.only-narrow button').focus(); await page.keyboard.press('Enter')")
    at(".more-sheet a")
    browser.do("await page.keyboard.press('Escape')")
    at(".only-narrow button")
    browser.do("await page.setViewportSize({width: 1440, height: 900})")

    # A message's undo is a key, and one that goes leaves the keyboard where it was.
    browser.do("await page.goto(given)", f"{lived_in.url}/")
    browser.do("await page.locator('.change .undo').first().focus(); await page.keyboard.press('Enter')")
    browser.see(".toast", "Undone: 1 note")
    browser.do("await page.locator('.toast .ghost').first().focus(); await page.keyboard.press('Enter')")
    at("main, main *")
    browser.see(".change", "undid changes of 1 note")
    browser.do("await page.locator('.change .undo').first().focus(); await page.keyboard.press('Enter')")
    browser.see(".toast >> nth=-1", "Undone: 1 note")
    browser.do("await page.waitForFunction(() => document.querySelectorAll('.change').length === 5)")  # both undoings and what they are of
    browser.do("await page.keyboard.press('z')")
    browser.do("await page.waitForFunction(() => document.querySelectorAll('.change').length === 6)")


def test_what_is_typed_in_an_editor_is_no_key_of_the_page(lived_in, browser):
    words = "jumps? gt here, /zen and nine keys"
    for view in ("run", "notes/plan/Cup?edit", "functions/pour/edit"):
        browser.do("await page.goto(given)", f"{lived_in.url}/{view}")
        browser.see(".cm-content", "")
        browser.do("await page.locator('.cm-content').click(); await page.keyboard.press('Control+a'); await page.keyboard.press('Delete'); await page.keyboard.type(given)", words)
        browser.see(".cm-content", words)
        assert browser.do("return page.url()") == f"{lived_in.url}/{view}"


@needs_image
def test_a_terminal_is_left_and_come_back_to_by_keys(server, browser):
    come(browser, server)
    browser.do("await page.keyboard.press('g'); await page.keyboard.press('m')")
    browser.do("await page.locator('.machine .start').getByRole('button', {name: 'Start'}).focus(); await page.keyboard.press('Enter')")
    browser.see(".terminal-tab .xterm-rows", "#")
    browser.do("await page.waitForFunction(() => document.activeElement?.matches('.xterm textarea'))")
    walk(browser, "machine")
    browser.do("await page.locator('.terminals .tabs [aria-pressed=true]').focus(); await page.keyboard.press('Enter'); await page.keyboard.type(given)",
               "echo back''again\n")
    browser.see(".terminal-tab .xterm-rows", "backagain")


def test_two_persons_pages_agree(lived_in, client, browser):
    """What one does, the other sees, without looking anew; nothing here waits for a time."""
    browser.do("page.other = await page.context().newPage(); page.other.setDefaultTimeout(60000);")

    def other(view, selector, text=""):
        browser.do("await page.other.goto(given[0]); await page.other.locator(given[1]).filter({hasText: given[2], visible: true}).first().waitFor()",
                   [f"{lived_in.url}/{view}", selector, text])

    def shows(selector, text=""):
        browser.do("await page.other.locator(given[0]).filter({hasText: given[1], visible: true}).first().waitFor()", [selector, text])

    def gone(selector, text=""):
        browser.do("await page.other.locator(given[0]).filter({hasText: given[1]}).first().waitFor({state: 'detached'})", [selector, text])

    # A change and its undo.
    other("", ".change", "created 1 note")
    browser.do("await page.bringToFront(); await page.goto(given)", f"{lived_in.url}/")
    browser.do("await page.locator('.change .undo').first().click()")
    shows(".change", "undid changes of 1 note")

    # A request that waits, and the word that was said.
    policy(permissions={})
    config = os.path.join(os.environ["XDG_CONFIG_HOME"], "cloche", "policy.json")
    with open(config, "w", encoding="utf-8") as file:
        json.dump({"confirm": ["notes.create"]}, file)
    other("review", ".empty", "No requests")
    client.send(call("create_note", {"title": "Mug", "type": "plan", "content": "x"}, id=9))
    shows(".request", "wants to create a note")
    browser.do("await page.goto(given)", f"{lived_in.url}/review")
    browser.click(".answer", "Allow once")
    while "id" not in (answer := client.receive()):
        continue
    assert not answer["result"]["isError"], answer
    shows(".empty", "No requests")

    # Notes: made, renamed, edited, deleted by one, in the other's list and in what it reads.
    os.remove(config)
    other("notes/plan/Kettle", ".rendered", "wide")
    browser.do("await page.goto(given)", f"{lived_in.url}/notes/plan/Kettle?edit")
    browser.see(".note-edit .cm-content", "wide")
    browser.do("await page.locator('.cm-content').click(); await page.keyboard.press('Control+a'); await page.keyboard.type('It whistles.'); await page.keyboard.press('Control+s')")
    browser.see(".rendered", "It whistles.")
    shows(".rendered", "It whistles.")
    browser.do("await page.goto(given)", f"{lived_in.url}/notes?new=plan/Saucer")
    browser.click(".note-new", "Create")
    shows(".note-row", "Saucer")

    # Functions, tools, tokens, the policy, pauses.
    other("functions", ".fn-row", "pour")
    browser.do("await page.goto(given)", f"{lived_in.url}/functions/pour")
    browser.click(".fn > .deeds", "Delete")
    gone(".fn-row", "pour")
    other("settings/tokens", ".empty", "No tokens")
    browser.do("await page.goto(given)", f"{lived_in.url}/settings/tokens")
    browser.click(".tokens", "New token")
    browser.do("await page.getByLabel('Name').fill('ci')")
    browser.click(".token-form", "Create")
    browser.click(".token-form .confirm", "Create")
    shows(".token", "ci")
    other("settings", ".key-row", "level")
    browser.do("await page.goto(given)", f"{lived_in.url}/settings")
    browser.click(".key-row:has(code:text-is('readOnly'))", "Edit")
    browser.do("await page.locator('#key-readOnly').selectOption('true')")
    browser.click(".pending", "Save")
    shows(".key-row:has(code:text-is('readOnly'))", "your policy")
    other("", ".agent", "test")
    browser.do("await page.goto(given)", f"{lived_in.url}/")
    browser.click(".agent", "Pause")
    shows(".agent", "paused")
    browser.do("await page.other.close()")


WATCHED = """window.told = [];
window.Notification = class { constructor(title, more) { window.told.push([title, more.body]); this.close = () => {}; window.lastTold = this; } };
window.Notification.permission = 'granted';
Object.defineProperty(document, 'hidden', {get: () => Boolean(window.away), configurable: true});"""


def test_who_looks_elsewhere_is_told_by_the_desktop_and_the_title(vault, server, client, browser):
    browser.do("await page.context().addInitScript(given)", WATCHED)
    come(browser, server)
    config = os.path.join(os.environ["XDG_CONFIG_HOME"], "cloche", "policy.json")
    policy()
    with open(config, "w", encoding="utf-8") as file:
        json.dump({"confirm": ["notes.create"]}, file)
    # Who looks at the page needs no notification.
    client.send(call("create_note", {"title": "Cup", "type": "plan", "content": "x"}, id=8))
    browser.do("await page.waitForFunction(() => document.title.startsWith('(1) '))")
    assert browser.do("return page.evaluate('window.told')") == []
    browser.do("await page.evaluate('window.away = true')")
    client.send(call("create_note", {"title": "Mug", "type": "plan", "content": "x"}, id=9))
    browser.do("await page.waitForFunction(() => window.told.length === 1 && document.title.startsWith('(2) '))")
    title, body = browser.do("return page.evaluate('window.told[0]')")
    assert title == "Cloche" and "Mug" not in body and "waits for you" in body
    browser.do("await page.evaluate('window.away = false; window.lastTold.onclick()')")
    browser.see(".request", "Mug")
    for _ in range(2):
        browser.click(".answer", "Deny D")
        client.receive()
    browser.do("await page.waitForFunction(() => !document.title.startsWith('('))")
