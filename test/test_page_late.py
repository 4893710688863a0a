"""What comes late on the page: it moves nothing that is being pressed, and an answer that was overtaken is not shown."""
from test_page import browser, come
from test_page_views import client, key_row, server
from test_permissions import run
from wire import call

assert browser and server and client

# The page's own requests are looked at: `window.came(text)` is whether an answer with this text has arrived.
WATCH = """await page.evaluate(() => {
  const ask = window.fetch, texts = [];
  window.came = (text) => texts.some((one) => one.includes(text));
  window.fetch = async (...of) => { const answer = await ask(...of); void answer.clone().text().then((text) => texts.push(text)); return answer; };
});"""
# Until it has arrived, and would have been drawn.
CAME = """await page.waitForFunction((text) => window.came(text), given);
await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));"""


def make(client, title, id):
    client.ask(call("create_note", {"title": title, "type": "plan", "content": "x"}, id=id))


def test_what_arrives_under_a_press_moves_nothing(vault, server, client, browser):
    come(browser, server)
    make(client, "Bell", 3)
    browser.see(".change", "plan/Bell")
    browser.do(WATCH)
    browser.do("const {x, y, width, height} = await page.locator('.change .undo').boundingBox();"
               " await page.mouse.move(x + width / 2, y + height / 2); await page.mouse.down()")
    make(client, "Clapper", 4)
    browser.do(CAME, "plan/Clapper")
    browser.do("await page.mouse.up()")
    browser.see(".toast", "Undone: 1 note")
    browser.see(".change", "plan/Clapper")  # it was held back, not lost
    assert [note.stem for note in (vault / "plan").iterdir()] == ["Clapper"]
    assert browser.errors() == []


# The first request whose address fits is answered by the server at once, and its answer is held until `letGo`.
HOLD = """page.held = 0;
await page.route(new RegExp(given), async (route) => {
  if (page.held++) return route.continue();
  const answer = await route.fetch();
  await new Promise((go) => { page.letGo = go; });
  await route.fulfill({response: answer}).catch(() => {}); // whoever asked may wait for it no more
  page.wasLet = true;
});"""
HELD = "while (!page.letGo) await page.waitForTimeout(10);"
# Another request comes after it, and what it brought would have been drawn.
LET_GO = """page.letGo(); while (!page.wasLet) await page.waitForTimeout(10);
await page.evaluate(async () => { await (await fetch('/assets/icon.svg')).text();
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))); });
await page.unrouteAll();"""


def test_an_older_list_does_not_take_the_place_of_a_newer_one(server, client, browser):
    come(browser, server)
    browser.do("await page.goto(given)", f"{server.url}/notes")
    browser.see(".note-row", "")
    browser.do(HOLD, r"/notes\?fields=")
    make(client, "Bell", 3)
    browser.do(HELD)
    make(client, "Clapper", 4)
    browser.see(".note-row", "Clapper")
    browser.do(LET_GO)
    browser.see(".note-row", "Clapper")
    assert browser.errors() == []


def test_the_template_that_was_chosen_last_is_shown(server, browser):
    come(browser, server)
    browser.do("await page.goto(given)", f"{server.url}/functions?new")
    names = browser.do("await page.locator('.fn-edit header option').nth(2).waitFor({state: 'attached'});"
                       " return page.locator('.fn-edit header option').evaluateAll((all) => all.slice(1, 3).map((one) => one.value))")
    choose = "await page.locator('.fn-edit header select').selectOption(given)"
    shown = []
    for name in names:
        browser.do(choose, name)
        browser.do("await page.waitForFunction((was) => document.querySelector('.fn-edit input')?.value !== was, given)", shown[-1] if shown else "")
        shown.append(browser.do("return page.locator('.fn-edit input').first().inputValue()"))
    browser.do(HOLD, rf"/templates/{names[0]}$")
    browser.do(choose, names[0])
    browser.do(HELD)
    browser.do(choose, names[1])
    browser.do("await page.waitForFunction((name) => document.querySelector('.fn-edit input')?.value === name, given)", shown[1])
    browser.do(LET_GO)
    assert browser.do("return page.locator('.fn-edit input').first().inputValue()") == shown[1] != shown[0]
    assert browser.errors() == []


def test_an_answer_about_another_policy_is_not_shown_as_this_ones(cloche, vault, server, browser):
    run(cloche, "policy", "set", "--vault", str(vault), "readOnly", "true")
    come(browser, server)
    browser.do("await page.goto(given)", f"{server.url}/settings")
    browser.see(key_row("readOnly") + " .key-line .tag", "default")
    browser.do(HOLD, r"/person/policy\?vault=")
    scope = "await page.locator('.policy .line-row select').selectOption(given)"
    browser.do(scope, "vault")
    browser.do(HELD)
    browser.do(scope, "")
    browser.see(key_row("readOnly") + " .key-line .tag", "default")
    browser.do(LET_GO)
    browser.see(key_row("readOnly") + " .key-line .tag", "default")
    assert browser.errors() == []
