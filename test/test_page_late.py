"""What comes late on the page: it moves nothing that is being pressed, and an answer that was overtaken is not shown."""
from test_page import browser, come, write_code
from test_page_large import write_records
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


# The first request whose address fits is held until `letGo`: its answer, that the server has given at once, or the
# request itself, that the server has not seen.
HOLD = """page.held = 0; page.letGo = page.wasLet = undefined; // the page may be that of another test
const [address, unasked] = [].concat(given);
await page.route(new RegExp(address), async (route) => {
  if (page.held++) return route.continue().catch(() => {}); // which the page may have left meanwhile
  const answer = unasked ? undefined : await route.fetch();
  await new Promise((go) => { page.letGo = go; });
  await (answer ? route.fulfill({response: answer}) : route.continue()).catch(() => {}); // whoever asked may wait for it no more
  page.wasLet = true;
});"""
HELD = "while (!page.letGo) await page.waitForTimeout(10);"
# Another request comes after it, and what it brought would have been drawn.
LET_GO = """page.letGo(); while (!page.wasLet) await page.waitForTimeout(10);
await page.evaluate(async () => { await (await fetch('/assets/icon.svg')).text();
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))); });
await page.unrouteAll();"""


def test_records_that_are_there_before_the_day_stay(server, client, browser):
    come(browser, server)
    make(client, "Bell", 3)
    browser.see(".change", "plan/Bell")
    browser.do(HOLD, ["/person/today", True])
    browser.do("await page.goto(given)", f"{server.url}/activity")
    browser.see(".record", "plan/Bell")
    browser.do(HELD)
    browser.do("await page.locator('.record', {hasText: 'plan/Bell'}).evaluate((row) => { window.same = row; })")
    browser.do(LET_GO)
    browser.see(".vault-name", "vault")
    assert browser.do("return page.evaluate(() => window.same.isConnected)")
    # A browser that knows no vault yet asks for none.
    browser.do("await page.evaluate(() => { sessionStorage.clear(); localStorage.clear(); });"
               " globalThis.asked = []; page.on('request', (r) => { if (r.url().includes('/person/activity?')) asked.push(r.url()); });"
               " await page.reload()")
    browser.see(".record", "plan/Bell")
    assert all("vault=vault" in url for url in browser.do("return asked"))
    assert browser.errors() == []


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


SAVE = "await page.keyboard.press('Control+s');"


def begin_to_save(browser, server, note, text):
    """The request that saves a note is held."""
    browser.do("await page.goto(given)", f"{server.url}/notes/{note}?edit")
    browser.see(".note-edit .cm-content", "")
    browser.do(HOLD, [note.replace("/", ".*") + "$", True])
    write_code(browser, text)
    browser.do(SAVE + HELD)


def test_what_is_typed_while_a_note_is_saved_stays(vault, server, client, browser):
    come(browser, server)
    make(client, "Bell", 3)
    begin_to_save(browser, server, "plan/Bell", "# Bell\n\none")
    browser.do("await page.keyboard.press('Control+End'); await page.keyboard.type(' two')")
    browser.do(LET_GO)
    browser.see(".toast", "Saved")
    browser.see(".note-edit", "not saved")
    assert (vault / "plan/Bell.md").read_text().endswith("one")
    browser.do("await page.locator('.cm-content').focus();" + SAVE)
    browser.see(".rendered", "one two")
    assert (vault / "plan/Bell.md").read_text().endswith("one two")
    assert browser.errors() == []


def test_a_save_that_is_late_leaves_the_person_where_he_went(vault, server, client, browser):
    come(browser, server)
    make(client, "Bell", 3)
    begin_to_save(browser, server, "plan/Bell", "# Bell\n\none")
    browser.do("await page.locator('nav a[href=\"/connect\"]').first().click()")
    browser.see("h1", "Connect")
    browser.do(LET_GO)
    browser.see(".toast", "Saved")
    assert browser.do("return new URL(page.url()).pathname") == "/connect"
    assert (vault / "plan/Bell.md").read_text().endswith("one")


def test_what_is_typed_while_a_function_is_saved_stays(server, client, browser):
    come(browser, server)
    client.ask(call("register_custom_function", {"name": "leaf", "description": "One", "parameters": {}, "returnType": "Promise<number>",
                                                 "code": "async function leaf(): Promise<number> { return 1; }"}, id=3))
    browser.do("await page.goto(given)", f"{server.url}/functions/leaf/edit")
    browser.see(".fn-edit .cm-content", "return 1")
    browser.do(HOLD, ["/functions/leaf$", True])
    browser.do("await page.getByLabel('What it does').fill('Two'); " + SAVE + HELD)
    browser.do("await page.getByLabel('What it does').fill('Three')")
    browser.do(LET_GO)
    browser.see(".toast", "leaf is saved")
    assert browser.do("return page.getByLabel('What it does').inputValue()") == "Three"
    browser.do(SAVE)
    browser.see(".fn header", "Three")
    assert browser.errors() == []


def test_a_token_is_made_as_it_was_asked_about(server, browser, cloche):
    come(browser, server)
    browser.do("await page.goto(given)", f"{server.url}/settings/tokens")
    browser.click(".tokens", "New token")
    browser.do("await page.getByLabel('Name').fill('first'); await page.keyboard.press('Enter')")
    browser.see(".token-form .confirm", "")
    browser.do("await page.getByLabel('Level').selectOption('zero')")
    browser.do("await page.locator('.token-form .confirm').waitFor({state: 'detached'})")
    browser.do("await page.getByLabel('Name').focus(); await page.keyboard.press('Enter')")
    browser.click(".token-form .confirm", "Create")
    browser.see(".made", "first")
    row = browser.see(".token", "zero")
    assert "just now" not in row.split("expires")[1], row
    browser.click(".token", "Revoke")
    browser.do("await page.locator('.token .confirm .danger').dblclick()")
    browser.see(".toast", "first is revoked")
    assert browser.do("return page.locator('.toast.tone-bad').count()") == 0
    assert all("428" in e for e in browser.errors())


def test_the_history_stays_at_the_revision_that_was_chosen(vault, server, client, browser):
    come(browser, server)
    make(client, "Bell", 3)
    for i in range(3):
        client.ask(call("update_note", {"identifier": "plan/Bell", "content": f"text {i}", "force": True}, id=4 + i))
    browser.do("await page.route('**/history*', (route) => route.fulfill({status: 503, json: {error: 'It rests.'}}))")
    browser.do("await page.goto(given)", f"{server.url}/notes/plan/Bell?past")
    browser.see(".failure", "It rests.")
    browser.do("await page.unrouteAll()")
    browser.see(".past-line", "Revision 4 of 4")
    browser.click(".past", "Older")
    browser.click(".past", "Older")
    browser.see(".past-line", "Revision 2 of 4")
    # It is changed elsewhere, and that becomes a revision, too.
    (vault / "plan/Bell.md").write_text((vault / "plan/Bell.md").read_text().replace("text 2", "outside"))
    browser.click(".past", "Restore")
    browser.see(".toast", "Revision 2 is restored")
    browser.see(".rendered", "text 0")
    (vault / "plan/Bell.md").write_text((vault / "plan/Bell.md").read_text().replace("text 0", "elsewhere"))
    browser.do("await page.evaluate(() => window.dispatchEvent(new Event('focus')))")  # the person comes back
    browser.see(".rendered", "elsewhere")
    assert all("503" in e for e in browser.errors())


def test_a_note_of_just_the_name_is_found_first(server, client, browser):
    come(browser, server)
    for i in range(7):
        make(client, f"Bell {i}", 3 + i)
    make(client, "Bell", 11)
    browser.do("await page.keyboard.press('Control+k'); await page.locator('.palette input').fill('bell')")
    browser.see(".palette li:first-child .strange", "Bell")
    browser.do("await page.waitForFunction(() => document.querySelector('.palette li:first-child .strange')?.textContent === 'Bell'); await page.keyboard.press('Enter')")
    browser.see(".note h2", "Bell")
    # A comment is no place for completion.
    browser.do("await page.goto(given)", f"{server.url}/run")
    write_code(browser, "")
    browser.do("await page.keyboard.type('// note ab'); await page.waitForTimeout(300); await page.keyboard.press('Enter'); await page.keyboard.type('x')")
    assert browser.until(lambda: browser.do("return page.locator('.cm-line').allInnerTexts()") == ["// note ab", "x"])
    assert browser.errors() == []


# What the browser asks before it leaves is answered by yes. Firefox asks nobody who has done nothing on the page.
RELOAD = """await page.mouse.click(1, 1); const asked = [], answer = (dialog) => { asked.push(dialog.type()); void dialog.accept(); };
page.once('dialog', answer); await page.reload(); page.off('dialog', answer); return asked;"""


def test_what_is_not_saved_is_there_after_a_reload(vault, server, client, browser):
    come(browser, server)
    make(client, "Bell", 3)
    assert browser.do(RELOAD) == []
    browser.do("await page.goto(given)", f"{server.url}/notes/plan/Bell?edit")
    browser.see(".note-edit .cm-content", "")
    write_code(browser, "# Bell\n\nmine")
    assert browser.do(RELOAD) == ["beforeunload"]
    browser.see(".note-edit .cm-content", "mine")
    browser.see(".note-edit", "Not saved yet")

    # It is of the version that it was begun on: what others wrote meanwhile is shown.
    client.ask(call("evaluate_note_code", {"code": "await notes.update({identifier: 'plan/Bell', content: 'theirs', force: true})"}, id=4))
    assert browser.do(RELOAD) == ["beforeunload"]
    browser.see(".note-edit .cm-content", "mine")
    browser.do("await page.locator('.cm-content').focus();" + SAVE)
    browser.see(".conflict .diff .old", "theirs")
    browser.click(".conflict", "Save my text")
    browser.see(".rendered", "mine")
    assert (vault / "plan/Bell.md").read_text() == "# Bell\n\nmine"
    assert browser.do(RELOAD) == []

    # A function's, while another view is shown; whose view was not there since the reload, it stays.
    browser.do("await page.goto(given)", f"{server.url}/functions?new")
    browser.do("await page.getByLabel('What it does').fill('Counts')")
    browser.do("await page.locator('nav a[href=\"/connect\"]').first().click()")
    browser.see("h1", "Connect")
    assert browser.do(RELOAD) == ["beforeunload"]
    browser.see("h1", "Connect")
    assert browser.do(RELOAD) == ["beforeunload"]
    browser.do("await page.goBack()")
    browser.see(".fn-kept", "Your unsaved changes are here again")
    assert browser.do("return page.getByLabel('What it does').inputValue()") == "Counts"
    refused = browser.errors()
    assert len(refused) == 1 and "status of 412" in refused[0], refused

    # Whoever leaves the page leaves nothing in the browser.
    browser.do("page.once('dialog', (dialog) => void dialog.accept()); await page.getByRole('button', {name: 'Leave', exact: true}).click()")
    browser.see(".login", "Only you can open this page")
    assert browser.do("return page.evaluate(() => Object.keys(sessionStorage))") == []


def test_what_is_typed_while_the_policy_is_saved_stays(cloche, server, browser):
    come(browser, server)
    browser.do("await page.goto(given)", f"{server.url}/settings")
    for key in ("readOnly", "confirm"):
        browser.click(key_row(key), "Edit")
    save = "await page.locator('.pending .primary:enabled').click();" + HELD
    browser.do("await page.locator('#key-readOnly').selectOption('true'); await page.locator('.pending .primary:enabled').waitFor()")
    browser.do(HOLD, ["/person/policy$", True])
    browser.do(save)
    browser.do("await page.locator('#key-confirm').fill('notes.delete')")
    browser.do(LET_GO)
    browser.see(".toast", "The policy is changed")
    browser.see(".pending", "1 change")
    browser.see(".pending .diff .new", "notes.delete")

    # The other policy's are another matter.
    browser.do("await page.locator('.pending .primary:enabled').waitFor()")
    browser.do(HOLD, ["/person/policy$", True])
    browser.do(save)
    browser.do("await page.locator('.policy .line-row select').selectOption('vault')")
    browser.click(key_row("readOnly"), "Edit")
    browser.do("await page.locator('#key-readOnly').selectOption('false'); await page.locator('#key-readOnly').selectOption('true')")
    browser.do(LET_GO)
    browser.see(".toast >> nth=-1", "The policy is changed")
    browser.see(".pending", "1 change")
    browser.do("await page.locator('.policy .line-row select').selectOption('')")
    browser.do("await page.locator('.pending').waitFor({state: 'detached'})")
    assert "notes.delete" in run(cloche, "policy", "show")
    assert browser.errors() == []


# The first row in sight, and where it stands.
READ = """return page.evaluate((list) => { const top = document.querySelector(list).getBoundingClientRect().top;
  const row = [...document.querySelectorAll(list + ' a')].find((one) => one.getBoundingClientRect().top >= top);
  return [row.getAttribute('href'), Math.round(row.getBoundingClientRect().top - top)]; }, given);"""
# Down until there are so many rows, and back to the middle of them.
SCROLL = """await page.waitForFunction(([list, rows]) => { const box = document.querySelector(list), all = box.querySelector('.rows-all').offsetHeight;
  if (all >= rows * 30) return true; box.scrollTop = all; return false; }, given);
await page.evaluate(async ([list, rows]) => { document.querySelector(list).scrollTop = rows * 15;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))); }, given);"""
LENGTH = "return page.evaluate((list) => document.querySelector(list + ' .rows-all').offsetHeight, given)"
LONGER = """await page.waitForFunction(([list, was]) => document.querySelector(list + ' .rows-all').offsetHeight > was, given);
await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));"""


def assert_stays(browser, rows, number, more):
    """Once a row is added by `more`, what is read stands where it did."""
    browser.do(SCROLL, [rows, number])
    was, length = browser.do(READ, rows), browser.do(LENGTH, rows)
    more()
    browser.do(LONGER, [rows, length])
    assert browser.do(READ, rows) == was


def test_what_comes_moves_nothing_that_is_read(cloche, vault, server, client, browser):
    come(browser, server)
    write_records(cloche, vault, 440)
    (vault / "plan").mkdir(exist_ok=True)
    for i in range(200):
        (vault / f"plan/n{i:03}.md").write_text("x\n")
    rows = ".timeline .rows"
    browser.do("await page.goto(given)", f"{server.url}/activity")
    browser.see(".record >> nth=2", "")
    assert_stays(browser, rows, 300, lambda: make(client, "Bell", 500))
    # With one opened that is out of sight now.
    browser.do("await page.locator(given).evaluate((box) => { box.scrollTop = 0; }); await page.locator('.record').nth(2).click()", rows)
    browser.see(".drawer h2", "")
    assert_stays(browser, rows, 300, lambda: make(client, "Clapper", 501))
    # Some of them, further than the first page of those.
    browser.do("await page.goto(given)", f"{server.url}/activity?within=86400")
    browser.see(".record >> nth=2", "")
    assert_stays(browser, rows, 500, lambda: make(client, "Gong", 502))
    # At the top one sees what comes.
    browser.do("await page.locator(given).evaluate((box) => { box.scrollTop = 0; })", rows)
    make(client, "Horn", 503)
    browser.see(".record", "plan/Horn")
    assert browser.do("return page.locator(given).evaluate((box) => box.scrollTop)", rows) == 0

    rows = ".notes-list .rows"
    browser.do("await page.goto(given)", f"{server.url}/notes/plan/n000")
    browser.see(".note-row", "n000")
    assert_stays(browser, rows, 150, lambda: make(client, "Aaa", 504))
    assert browser.errors() == []


def test_scrolling_leaves_the_focus_in_the_list(cloche, vault, server, client, browser):
    """The row that has it goes from the document. Another one whose text is the same is another record."""
    missing = "plan/Not there"
    client.ask(call("get_note", {"identifier": missing}, id=3))
    write_records(cloche, vault, 100)
    come(browser, server)
    client.ask(call("get_note", {"identifier": missing}, id=4))
    browser.do("await page.goto(given)", f"{server.url}/activity")
    browser.do("await page.locator('.record', {hasText: given}).first().focus()", missing)
    rows = ".timeline .rows"
    browser.do("""await page.waitForFunction(([rows, missing]) => {
      const box = document.querySelector(rows), all = [...document.querySelectorAll('.record')].filter((row) => row.innerText.includes(missing));
      if (all.length === 1 && all[0] !== document.activeElement && box.scrollTop > 1000) return true;
      box.scrollTop += 300; return false; }, given); """, [rows, missing])
    was = browser.do("return page.locator(given).evaluate((box) => box.scrollTop)", rows)
    browser.do("await page.waitForFunction(() => document.activeElement !== document.body)")
    assert browser.do("return page.evaluate((rows) => document.activeElement.matches(rows), given)", rows)
    assert browser.do("return page.locator(given).evaluate((box) => box.scrollTop)", rows) == was


CHOSEN = "return page.locator('#found [aria-selected=true]').innerText()"


def test_what_was_chosen_stays_chosen_when_more_is_found(server, client, browser):
    come(browser, server)
    for i in range(8):
        make(client, f"Note {i}", 3 + i)
    browser.see(".change", "plan/Note 7")
    browser.do(HOLD, r"/search\?")
    browser.do("await page.keyboard.press('Control+k'); await page.locator('.palette input').fill('no');" + HELD)
    browser.do("for (let i = 0; i < 6; i++) await page.keyboard.press('ArrowDown');")
    chosen = browser.do(CHOSEN)
    browser.do(LET_GO)
    browser.see(".palette .strange", "Note")
    assert browser.do(CHOSEN) == chosen

    # It is always in sight.
    browser.do("await page.setViewportSize({width: 360, height: 400}); await page.locator('.palette input').fill('');")
    for key in ("ArrowDown", "ArrowUp"):
        browser.do("for (let i = 0; i < 13; i++) await page.keyboard.press(given);", key)
        assert browser.do("""return page.locator('#found [aria-selected=true]').evaluate((one) => {
          const row = one.getBoundingClientRect(), box = one.parentElement.getBoundingClientRect();
          return row.top >= box.top - 1 && row.bottom <= box.bottom + 1; })"""), key
    browser.do("await page.setViewportSize({width: 1100, height: 800})")
    assert browser.errors() == []


def test_a_part_that_was_not_loaded_is_asked_for_again(vault, server, client, browser):
    come(browser, server)
    make(client, "Bell", 3)
    asunder = "await page.route(/assets\\/(markdown|codemirror)-/, (route) => route.abort()); await page.goto(given);"
    browser.do(asunder, f"{server.url}/notes/plan/Bell")
    browser.see(".note .failure", "A part of this page was not loaded.")
    browser.do("await page.unrouteAll()")
    browser.click(".note .failure", "Try again")
    browser.see(".note .rendered", "x")

    # What is typed meanwhile stays, in an editor of notes and in one of code.
    browser.do(asunder, f"{server.url}/notes/plan/Bell?edit")
    browser.see(".note-edit .failure", "A part of this page was not loaded.")
    browser.do("await page.locator('.note-edit textarea').fill('typed'); await page.unrouteAll()")
    browser.click(".note-edit .failure", "Try again")
    browser.see(".note-edit .cm-content", "typed")
    browser.do("await page.locator('.cm-content').focus();" + SAVE)
    browser.see(".rendered", "typed")
    assert (vault / "plan/Bell.md").read_text() == "typed"
    browser.do(asunder, f"{server.url}/run")
    browser.see(".editor .failure", "A part of this page was not loaded.")
    browser.do("await page.locator('.editor textarea').fill('return 1 + 1'); await page.unrouteAll()")
    browser.click(".editor .failure", "Try again")
    browser.see(".editor .cm-content", "return 1 + 1")

    # A whole view.
    browser.do("await page.route(/assets\\/connect-/, (route) => route.abort()); await page.goto(given)", f"{server.url}/connect")
    browser.see(".failure", "Try again")
    browser.do("await page.unrouteAll()")
    browser.click(".failure", "Try again")
    browser.see("h1", "Connect")


def test_a_vault_that_was_not_told_yet_is_asked_for_again(server, browser):
    come(browser, server)
    for view, there in (("notes", ".note-row"), ("settings/access", ".may"), ("functions", ".fn-list .empty"), ("performance", ".performance .empty")):
        browser.do("await page.route('**/person/today*', (route) => route.fulfill({status: 503, json: {error: 'It rests.'}})); await page.goto(given)", f"{server.url}/{view}")
        browser.see(".failure", "It rests.")
        assert browser.do("return page.locator('.empty').count()") == 0, view
        browser.do("await page.unrouteAll()")
        browser.click(".failure", "Try again")
        browser.see(there, "")
    assert all("503" in e for e in browser.errors())


def test_what_is_not_saved_goes_with_its_note_and_comes_back_with_it(vault, server, client, browser):
    come(browser, server)
    make(client, "Bell", 3)
    browser.do("await page.goto(given)", f"{server.url}/notes/plan/Bell?edit")
    browser.see(".note-edit .cm-content", "")
    write_code(browser, "mine")
    browser.do("await page.locator('nav a[href=\"/notes\"]').first().click(); await page.locator('.note-row').filter({hasText: 'Bell'}).click()")
    browser.see(".note > .note-line", "are not saved")
    browser.click(".note > header", "Delete")
    browser.see(".toast", "Bell is in the trash")
    browser.do("await page.evaluate(() => { window.asks = () => !dispatchEvent(new Event('beforeunload', {cancelable: true})); })")
    assert not browser.do("return page.evaluate(() => window.asks())")
    browser.click(".toast", "Undo")
    browser.see(".toast >> nth=-1", "Undone: 1 note")
    assert browser.do("return page.evaluate(() => window.asks())")
    browser.do("await page.locator('.note-row').filter({hasText: 'Bell'}).click()")
    browser.click(".note > .note-line", "Edit my text further")
    browser.see(".note-edit .cm-content", "mine")
    browser.do("await page.locator('.cm-content').focus();" + SAVE)
    browser.see(".rendered", "mine")
    assert (vault / "plan/Bell.md").read_text() == "mine"
    assert browser.errors() == []
