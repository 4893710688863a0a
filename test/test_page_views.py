"""The page's views for who may do what, for custom functions, and for how calls went, in a browser."""
import json
import re
import subprocess

import pytest

from axe import assert_accessible
from packages import package
from wire import Server, Stdio, call

from test_page import Browser, browser, come, show_all, write_code
from test_permissions import hello, run

assert browser


@pytest.fixture
def server(cloche, vault):
    with Server([cloche, "serve", "--vault", str(vault), "--listen", "127.0.0.1:0"],
                stderr=subprocess.PIPE) as server:
        yield server
        server.process.stderr.close()


@pytest.fixture
def client(cloche, vault):
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        client.ask(hello())
        yield client


def refusals(browser):
    """The answers that were refusals; there was nothing else."""
    said = [re.search(r"status of (\d+)", e) for e in browser.errors()]
    assert all(said), browser.errors()
    return [s[1] for s in said]


def key_row(key):
    return f".key-row:has(code:text-is('{key}'))"


def test_the_policy_is_tightened_and_taken_back(cloche, server, client, browser):
    come(browser, server)
    browser.do("await page.keyboard.press('g'); await page.keyboard.press('s')")
    browser.see(key_row("level"), "how far any caller is trusted")
    show_all(browser, "policy")
    assert_accessible(browser)

    # A restriction needs no second word; the file is shown as it will be.
    browser.click(key_row("readOnly"), "Edit")
    browser.do("await page.locator('#key-readOnly').selectOption('true')")
    told = browser.see(".pending", "The file as it will be")
    browser.see(".pending .diff", '"readOnly": true')
    assert "more rights" not in told
    show_all(browser, "policy-edit")
    assert_accessible(browser)
    browser.click(".pending", "Save")
    browser.see(".toast", "The policy is changed")
    browser.see(key_row("readOnly") + " .key-line .tag", "your policy")
    code = {"code": "return (await notes.create({type: 'a', title: 'b', content: 'c'})).id"}
    assert "readOnly" in json.dumps(client.ask(call("evaluate_note_code", code, id=5)))

    # Its undo widens rights, so it is said twice.
    browser.click(".toast", "Undo")
    browser.see(".pending .wider", "readOnly")
    browser.click(".pending", "Save")
    browser.click(".pending .confirm", "Save")
    browser.see(key_row("readOnly") + " .key-line .tag", "default")
    assert "readOnly" not in json.dumps(client.ask(call("evaluate_note_code", code, id=6)))

    # What is wrong is said while it is typed, and cannot be saved.
    browser.click(key_row("limits.hostCalls"), "Edit")
    browser.number("#key-limits-hostCalls", "0")
    browser.see(".key-edit .bad", "0")
    assert browser.do("return page.locator('.pending .primary').isDisabled()")
    assert browser.do("return page.locator('.pending .diff').count()") == 0
    browser.click(".pending", "Discard")
    browser.do("await page.waitForFunction(() => document.querySelector('#key-limits-hostCalls').value !== '0')")

    # A row that is closed over what is no value is named, and opened from there; elsewhere nothing is lost.
    browser.click(key_row("limits.hostCalls"), "Edit")
    browser.click(key_row("mounts"), "Edit")
    browser.do("await page.locator('#key-mounts').fill('{')")
    browser.click(key_row("mounts"), "Edit mounts")
    browser.see(".pending .bad", "mounts")
    browser.click(".pending .bad", "Edit")
    assert browser.do("await page.locator('#key-mounts:focus').waitFor(); return page.locator('#key-mounts').inputValue()") == "{"
    browser.click(".pending", "Discard")
    browser.do("await page.locator('.pending').waitFor({state: 'detached'})")
    assert browser.do("return page.locator('#key-mounts').inputValue()") != "{"
    browser.do("await page.locator('#key-readOnly').selectOption('true')")
    browser.see(".pending", "1 change")
    browser.do("await page.keyboard.press('Escape'); await page.locator('nav a[href=\"/\"]').first().click()")
    browser.see("h1", "Today")
    browser.do("await page.goBack()")
    browser.see(".pending", "1 change")
    browser.click(".pending", "Discard")
    browser.do("await page.locator('.pending').waitFor({state: 'detached'})")

    # A secret is written, and never shown.
    browser.click(".secrets", "Add a secret")
    browser.do("await page.getByLabel('Name', {exact: true}).fill('TEA'); await page.locator('.secret-form input[type=password]').fill('hunter2');"
               " await page.getByLabel('Hosts').fill('api.example.org'); await page.getByLabel('Header').fill('Authorization')")
    browser.click(".secret-form", "Add")
    browser.see(".pending .diff", "TEA")
    browser.click(".pending", "Save")
    browser.see(".pending .confirm", "more rights")
    browser.click(".pending .confirm", "Save")
    browser.see(".secrets li", "TEA")
    assert "hunter2" not in browser.do("return page.content()")
    assert "hunter2" not in run(cloche, "policy", "show")
    assert set(refusals(browser)) == {"428"}


def find(browser, words):
    browser.do("await page.keyboard.press('Control+k'); await page.locator('.palette input').fill(given)", words)


def test_whatever_there_is_is_found_by_a_few_letters(vault, server, client, browser):
    (vault / "tea.md").write_text("# Tea <b>leaves</b>\n")
    come(browser, server)
    client.ask(call("register_custom_function", FUNCTION, id=4))
    find(browser, "leaves")
    browser.see(".palette li .strange", "Tea <b>leaves</b>")
    show_all(browser, "palette")
    assert_accessible(browser)
    browser.do("await page.keyboard.press('Enter')")
    browser.see(".note h2", "leaves")
    find(browser, "pour")
    browser.see(".palette li", "pour")
    browser.do("await page.keyboard.press('Enter')")
    browser.see(".fn h2", "pour")
    find(browser, "may do")
    browser.see(".palette li[aria-selected=true]", "Ask what an agent may do")
    browser.do("await page.keyboard.press('Enter')")
    browser.see(".question", "May")
    # Custom functions are reached from the settings, too.
    browser.do("await page.locator('main').click({position: {x: 3, y: 3}}); await page.keyboard.press('4')")
    browser.see(".advanced", "1 function ")
    show_all(browser, "advanced")
    assert_accessible(browser)
    browser.do("await page.locator('.advanced').getByRole('link', {name: 'Open'}).first().click()")
    browser.see(".fn-row", "pour")
    assert browser.errors() == []


def test_may_it_is_answered_as_the_guard_does(cloche, server, client, browser):
    come(browser, server)
    run(cloche, "policy", "set", "deniedAPIs", "notes.delete")
    browser.do("await page.goto(given)", f"{server.url}/settings/access")
    browser.do("await page.locator('.question input').fill('notes.delete')")
    told = browser.see(".may.no", "deniedAPIs")
    show_all(browser, "access")
    assert_accessible(browser)
    answer = json.dumps(client.ask(call("evaluate_note_code", {"code": "await notes.delete('a')"}, id=5)))
    assert "is among the deniedAPIs of the policy" in told and "is among the deniedAPIs of the policy" in answer
    # The view is live.
    run(cloche, "policy", "unset", "deniedAPIs")
    browser.see(".may.yes", "notes.delete")
    assert browser.errors() == []


def test_a_token_is_made_shown_once_and_revoked(server, browser):
    come(browser, server)
    browser.do("await page.goto(given)", f"{server.url}/settings/tokens")
    browser.see(".empty", "No tokens")
    browser.click(".tokens", "New token")
    browser.do("await page.getByLabel('Name').fill('ci'); await page.getByLabel('run code').uncheck()")
    show_all(browser, "token-new")
    assert_accessible(browser)
    browser.click(".token-form", "Create")
    browser.click(".token-form .confirm", "Create")
    token = browser.see(".made code", "cloche_")
    show_all(browser, "token-made")
    assert_accessible(browser)
    headers = {"Authorization": f"Bearer {token}"}
    assert server.http.get("/workspaces", headers=headers).status_code == 200
    browser.do("await page.reload()")
    browser.see(".token", "ci")
    assert token not in browser.do("return page.content()")
    browser.click(".token", "Revoke ci")
    browser.click(".token .confirm", "Revoke")
    browser.see(".toast", "ci is revoked")
    assert server.http.get("/workspaces", headers=headers).status_code == 401
    assert refusals(browser) == ["428"]


def checked(browser):
    """Nothing is wrong, as far as is checked here (without the type checker that is a warning)."""
    browser.do("await page.locator('.fn-code .run-foot').filter({hasText: /No problems found|types were not checked/}).waitFor()")


FUNCTION = {"name": "pour", "description": "Pours tea <b>twice</b>", "tags": ["tea"],
            "parameters": {"cups": {"type": "number", "description": "how many"},
                           "kind": {"type": "'green' | 'black'", "optional": True}},
            "returnType": "Promise<number>",
            "code": "async function pour(cups: number, kind?: 'green' | 'black'): Promise<number> {\n  return cups * 2;\n}"}


def test_a_function_is_written_tried_changed_and_brought_back(cloche, vault, server, client, browser):
    come(browser, server)
    browser.do("await page.keyboard.press('g'); await page.keyboard.press('f')")
    browser.see(".empty", "No custom functions")
    show_all(browser, "functions-empty")
    assert_accessible(browser)

    # One of an agent appears at once.
    client.ask(call("register_custom_function", FUNCTION, id=4))
    browser.see(".fn-row", "pour")
    browser.do("await page.keyboard.press('j')")
    browser.see(".fn .signature", "cups: number")
    browser.see(".fn header", "made by an agent")
    show_all(browser, "function")
    assert_accessible(browser)

    # It is tried, with what is typed checked as it is typed, and kept as an example.
    browser.click(".try", "Run Ctrl")
    browser.see(".field .bad", "A value is needed")
    browser.do("await page.locator('#arg-cups').fill('3')")
    browser.click(".try", "Run Ctrl")
    browser.see(".tester .done .tree", "6")
    browser.click(".tester", "Save as example")
    browser.see(".toast >> nth=-1", "1 example")
    browser.click(".try", "Run its 1 example")
    browser.see(".tester .done", "passed")
    show_all(browser, "function-tried")

    # Another visit, and the tests are still told of.
    browser.do("await page.reload()")
    browser.see(".tester [aria-label^='Tests of earlier visits'] li", "version 1")

    # A change that breaks the example is refused with what is wrong, then made a right one.
    browser.do("await page.keyboard.press('e')")
    browser.see(".fn-edit .cm-content", "cups * 2")
    write_code(browser, FUNCTION["code"].replace("cups * 2", "cups * ;"))
    browser.see(".fn-code .bad", "1 problem: 2:")
    show_all(browser, "function-edit")
    assert_accessible(browser)
    write_code(browser, FUNCTION["code"].replace("cups * 2", "cups * 1 * 2"))
    checked(browser)
    browser.click(".fn-edit header", "Save")
    browser.see(".toast >> nth=-1", "pour is saved")
    browser.do("await page.getByRole('tab', {name: 'Versions'}).click()")
    browser.see(".fn-past .diff", "cups * 1 * 2")
    show_all(browser, "function-versions")
    assert_accessible(browser)
    browser.do("await page.locator('.fn-past').getByRole('button', {name: /^Go back/}).click()")
    browser.see(".toast >> nth=-1", "pour is as in version")

    # A breaking change names its callers.
    client.ask(call("register_custom_function", {
        "name": "tea", "description": "Calls pour", "parameters": {}, "returnType": "Promise<number>",
        "code": "async function tea(): Promise<number> { return await customFunctions.pour(1); }"}, id=6))
    browser.do("await page.keyboard.press('e')")
    browser.see(".fn-edit .cm-content", "cups * 2")
    browser.do("await page.getByLabel('Remove kind').click(); await page.getByLabel('Type of cups').fill('string')")
    write_code(browser, "async function pour(cups: string): Promise<number> {\n  return cups.length;\n}")
    browser.click(".fn-edit header", "Save")
    browser.see(".breaks", "tea")
    show_all(browser, "function-breaks")
    assert_accessible(browser)
    browser.click(".breaks", "Go on editing")
    browser.click(".fn-edit header", "Cancel")

    # Used, listed by use, deleted and brought back.
    client.ask(call("evaluate_note_code", {"code": "return await customFunctions.pour(2)"}, id=7))
    browser.do("await page.getByRole('tab', {name: 'Usage'}).click()")
    browser.see(".fn-use .figure", "Calls")
    show_all(browser, "function-usage")
    assert_accessible(browser)
    browser.do("await page.keyboard.press('Escape'); await page.getByLabel('Usage').selectOption('never')")
    browser.do("await page.locator('.fn-row').filter({hasText: 'Pours tea'}).waitFor({state: 'detached'})")
    browser.see(".fn-row", "tea")
    browser.do("await page.getByLabel('Usage').selectOption(''); await page.locator('.fn-row a').filter({hasText: 'Calls pour'}).click()")
    browser.see(".fn h2", "tea")
    browser.click(".fn > .deeds", "Delete")
    browser.see(".toast >> nth=-1", "tea deleted")
    assert "tea" not in run(cloche, "fn", "list", "--vault", str(vault)).replace("Pours tea", "").replace("tea\n", "")
    browser.click(".toast >> nth=-1", "Undo")
    browser.see(".fn-row", "Calls pour")
    assert set(refusals(browser)) <= {"400", "404", "409", "412", "422"}  # 404: shown while it is deleted


def test_functions_come_from_a_file_and_a_form(server, browser, tmp_path):
    come(browser, server)
    browser.do("await page.goto(given)", f"{server.url}/functions")
    browser.see(".empty", "No custom functions")
    browser.click(".fn-list header", "Import")
    file = {"version": 1, "functions": [FUNCTION, {**FUNCTION, "name": "bad name"}]}
    give = ("await page.setInputFiles('#fn-file', {name: given[0], mimeType: 'application/json',"
            " buffer: Buffer.from(given[1])})")
    browser.do(give, ["bad.json", json.dumps(file)])
    browser.see(".fn-import .bad", "name")
    show_all(browser, "functions-import")
    assert_accessible(browser)
    browser.do(give, ["good.json", json.dumps({"version": 1, "functions": [FUNCTION]})])
    browser.click(".fn-import", "Import 1 function")
    browser.see(".fn-row", "pour")

    # A new one, by its form: a template, then parameters of its own.
    browser.do("await page.keyboard.press('Escape'); await page.goto(given)", f"{server.url}/functions?new")
    browser.do("await page.getByLabel('Name').fill('sum'); await page.getByLabel('What it does').fill('Adds');"
               " await page.getByLabel('Returns').fill('number'); await page.getByRole('button', {name: 'Add a parameter'}).click();"
               " await page.getByLabel('name', {exact: true}).fill('all'); await page.getByLabel('Type of all').fill('number[]')")
    write_code(browser, "function sum(all: number[]): number {\n  return all.reduce((a, b) => a + b, 0);\n}")
    checked(browser)
    browser.do("await page.locator('#arg-all').fill('[1, 2, 4]')")
    browser.click(".fn-side .try", "Run Ctrl")
    browser.see(".fn-side .done .tree", "7")
    show_all(browser, "function-new")
    assert_accessible(browser)
    browser.click(".fn-edit header", "Save")
    browser.see(".fn h2", "sum")
    assert all(code in ("400", "404") for code in refusals(browser))


def test_what_is_typed_at_once_stays(server, browser):
    come(browser, server)
    browser.do("await page.route('**/person/today*', async (route) => { await new Promise((go) => setTimeout(go, 1000)); await route.continue().catch(() => {}); })")
    browser.do("await page.goto(given)", f"{server.url}/functions?new")
    browser.do("const known = page.waitForResponse('**/person/today*'); await page.getByLabel('Name').fill('tax'); await known;"
               " await page.getByLabel('Templates').waitFor(); await page.getByLabel('What it does').fill('Taxes')")
    assert browser.do("return page.getByLabel('Name').inputValue()") == "tax"
    browser.do("await page.unrouteAll({behavior: 'ignoreErrors'})")


def test_a_called_function_is_deleted_after_a_question(server, client, browser):
    come(browser, server)
    for name, code in ("leaf", "return 1;"), ("stem", "return await customFunctions.leaf();"):
        client.ask(call("register_custom_function", {"name": name, "description": "One", "parameters": {}, "returnType": "Promise<number>",
                                                     "code": f"async function {name}(): Promise<number> {{ {code} }}"}, id=4))
    browser.do("await page.goto(given)", f"{server.url}/functions/leaf")
    browser.click(".fn > .deeds", "Delete")
    browser.see(".toast >> nth=-1", "Other functions call leaf")
    browser.click(".toast >> nth=-1", "Delete anyway")
    browser.see(".toast >> nth=-1", "leaf deleted")
    browser.do("await page.waitForURL('**/functions')")
    browser.click(".toast >> nth=-1", "Undo")
    browser.do("await page.getByLabel('Select leaf').check()")
    browser.click(".fn-list", "Delete")
    browser.click(".toast >> nth=-1", "Delete anyway")
    browser.see(".toast >> nth=-1", "leaf deleted")
    # One that an agent deletes while it is shown.
    browser.do("await page.goto(given)", f"{server.url}/functions/stem")
    browser.see(".fn h2", "stem")
    client.ask(call("delete_custom_function", {"names": ["stem"], "force": True}, id=5))
    browser.see(".empty", "There is no such function")
    assert_accessible(browser)
    assert set(refusals(browser)) <= {"404", "409"}


@pytest.mark.parametrize("view, asked", [("functions?new", "validate"), ("run", "check")])
def test_a_check_that_failed_says_so_and_is_made_again(server, browser, view, asked):
    come(browser, server)
    browser.do("await page.route(given, (route) => route.fulfill({status: 503, json: {error: 'It rests.'}}))", f"**/{asked}")
    browser.do("await page.goto(given)", f"{server.url}/{view}")
    write_code(browser, "async function name(): Promise<any> {\n  return 1;\n}")
    browser.see(".run-foot .bad", "It was not checked: It rests.")
    assert_accessible(browser)
    browser.click(".run-foot", "Try again")
    browser.see(".run-foot .bad", "It was not checked: It rests.")
    browser.do("await page.unroute(given)", f"**/{asked}")
    browser.do("await page.locator('.run-foot').filter({hasText: 'It was not checked'}).waitFor({state: 'detached'})")
    write_code(browser, "return (1;")
    browser.see(".run-foot", "problem")
    browser.do("await page.route(given, (route) => route.fulfill({status: 413, json: {error: 'It is too long.'}}))", f"**/{asked}")
    write_code(browser, "return 2;")
    browser.see(".run-foot .bad", "It was not checked: It is too long.")
    browser.do("await page.unroute(given)", f"**/{asked}")
    refusals(browser)


def test_what_is_typed_into_a_functions_form_stays_as_typed(server, browser):
    come(browser, server)
    browser.do("await page.goto(given)", f"{server.url}/functions?new")
    browser.do("await page.getByLabel('Name').fill('tax'); await page.getByLabel('What it does').fill('Taxes');"
               " await page.getByRole('button', {name: 'Add a parameter'}).click();"
               " await page.getByLabel('name', {exact: true}).fill('rate'); await page.getByLabel('Type of rate').fill('number')")
    default = "page.getByLabel('Default of rate')"
    browser.do(f"await {default}.pressSequentially('1.05')")
    assert browser.do(f"return {default}.inputValue()") == "1.05"
    browser.do(f"await {default}.fill('a')")
    browser.see(".fn-parameter .bad", "The default is no number")
    browser.do(f"await page.getByLabel('Type of rate').fill('string'); await {default}.fill(''); await {default}.pressSequentially('\"a b\"')")
    assert browser.do(f"return {default}.inputValue()") == '"a b"'
    browser.see("label[for=arg-rate]", "rate")
    assert browser.do("return page.locator('#arg-rate').getAttribute('placeholder')") == 'default: "a b"'

    # It is there again after another view, with a way to discard it, and that is taken back.
    browser.do("await page.locator('nav a[href=\"/\"]').first().click()")
    browser.see("h1", "Today")
    browser.do("await page.goBack()")
    browser.see(".fn-kept", "Your unsaved changes are here again")
    show_all(browser, "function-kept")
    assert_accessible(browser)
    assert browser.do(f"return {default}.inputValue()") == '"a b"'
    browser.click(".fn-kept", "Discard them")
    browser.do("await page.locator('.fn-parameter').waitFor({state: 'detached'})")
    browser.click(".toast >> nth=-1", "Undo")
    browser.see(".fn-parameter", "")
    browser.do("await page.getByLabel('Templates').selectOption({index: 1})")
    browser.see(".toast >> nth=-1", "Your changes are replaced")
    browser.do("await page.locator('.fn-parameter input[value=rate]').waitFor({state: 'detached'});"
               " await page.waitForFunction(() => document.querySelector('.fn-form input').value !== 'tax')")
    browser.click(".toast >> nth=-1", "Undo")
    browser.do("await page.waitForFunction(() => document.querySelector('.fn-form input').value === 'tax')")

    # Force cannot help against an error.
    write_code(browser, "function tax(: {")
    browser.click(".fn-edit header", "Save")
    browser.see(".breaks", "It was not saved")
    assert browser.do("return page.locator('.breaks .danger').count()") == 0
    browser.click(".fn-edit header", "Cancel")
    browser.see(".toast >> nth=-1", "Your changes are discarded")
    browser.see(".empty", "No custom functions")
    assert all(code in ("400", "422") for code in refusals(browser))


def calls(cloche, vault, name, *messages):
    """Made by a client of that name."""
    with Stdio([cloche, "mcp", "--vault", str(vault)]) as client:
        greeting = hello()
        greeting["params"]["clientInfo"]["name"] = name
        client.ask(greeting)
        for message in messages:
            client.ask(message)


WHOLE = """return page.locator('.record .deed.strong').first().evaluate((e) => {
  const seen = e.getBoundingClientRect(), row = e.closest('.record-what').getBoundingClientRect(), text = document.createRange();
  text.selectNodeContents(e);
  return text.getBoundingClientRect().width <= seen.width + 0.01 && seen.right <= row.right + 1; })"""


def test_a_long_name_hides_no_deed_and_a_phone_has_all_filters(cloche, vault, server, browser):
    come(browser, server)
    calls(cloche, vault, "n" * 300, call("create_note", {"title": "Bell", "type": "plan", "content": "x"}, id=3))
    browser.do("await page.goto(given)", f"{server.url}/activity")
    browser.see(".record .deed.strong", "created 1 note")
    assert browser.do(WHOLE)
    browser.do("await page.locator('.record').filter({hasText: 'created 1 note'}).first().click()")
    browser.see(".drawer h2", "created 1 note")
    assert browser.do(WHOLE)
    show_all(browser, "activity-long-name")
    browser.do("await page.goBack(); await page.setViewportSize({width: 390, height: 844})")
    browser.see(".record .deed.strong", "created 1 note")
    assert browser.do(WHOLE)
    cut = browser.do("""return page.locator('.tools-row select').evaluateAll((all) => all.filter((e) => {
      const style = getComputedStyle(e), pen = document.createElement('canvas').getContext('2d'); pen.font = style.font;
      return e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) < pen.measureText(e.selectedOptions[0].text).width;
    }).map((e) => e.ariaLabel))""")
    assert cut == []
    browser.show("activity-narrow", 390, 844)
    browser.do("await page.getByLabel('Tokens, policy, log-ins').check()")
    browser.see(".record", "opened this page")
    assert browser.errors() == []


@pytest.mark.parametrize("within", ["foo", "1e99", "-5"])
def test_a_time_that_is_none_does_not_empty_the_activity(within, server, client, browser):
    come(browser, server)
    client.ask(call("search_notes", {"query": "zzz"}, id=3))
    browser.do("await page.goto(given)", f"{server.url}/activity?within={within}")
    browser.see(".record", "searched")
    assert browser.errors() == []


def test_how_calls_went_is_seen_live(server, client, browser):
    come(browser, server)
    browser.do("await page.keyboard.press('g'); await page.keyboard.press('p')")
    browser.see(".empty", "no calls")
    show_all(browser, "performance-empty")
    assert_accessible(browser)
    client.ask(call("evaluate_note_code", {"code": "for (let i = 0; i < 30; i++) await notes.list(); return 1"}, id=5))
    client.ask(call("evaluate_note_code", {"code": "throw new Error('x')"}, id=6))
    browser.see(".trend-table", "evaluate_note_code")
    browser.see(".slowest", "host calls")
    browser.do("await page.keyboard.press('1')")
    browser.see(".trend-table", "notes.list")
    show_all(browser, "performance")
    assert_accessible(browser)
    browser.do("await page.locator('.trend-table').filter({hasText: 'By tool'}).getByRole('button', {name: 'evaluate_note_code'}).click()")
    browser.see(".only", "evaluate_note_code")
    browser.do("await page.keyboard.press('Escape'); await page.locator('.slowest a').first().click()")
    browser.see(".drawer", "notes.list")
    assert browser.errors() == []


def test_strangers_words_stay_words_in_functions_and_figures(vault, server, client, browser):
    (vault / ".cloche").mkdir(exist_ok=True)
    (vault / ".cloche/custom-functions.json").write_text(json.dumps({"version": 1, "functions": [
        {**FUNCTION, "description": "<script>alert(1)</script> <img src=x onerror=alert(1)> {{7*7}} javascript:alert(1) </bdi></p><h1>Allowed</h1> " + "a" * 900}]}))
    come(browser, server)
    browser.do("await page.goto(given)", f"{server.url}/functions/pour")
    told = browser.see(".fn", "</script>")
    assert "</h1>" in told
    for path in ("functions/pour", "performance"):
        browser.do("await page.goto(given)", f"{server.url}/{path}")
        browser.see("main h1", "")
        for selector in ("main img", "main script", "main [onerror]"):
            assert browser.do("return page.locator(given).count()", selector) == 0, (path, selector)
    show_all(browser, "functions-hostile")
    assert browser.errors() == []


def test_the_graph_shows_notes_and_their_links(vault, server, browser):
    (vault / "plan").mkdir()
    for i in range(300):
        (vault / f"plan/n{i}.md").write_text(f"# n{i}\n\n[[plan/n{i // 7}]] [[plan/n{i // 3}]]\n")
    come(browser, server)
    browser.do("await page.goto(given)", f"{server.url}/notes")
    browser.see(".note-group", "plan")
    browser.do("await page.getByRole('link', {name: 'Graph'}).click()")
    browser.see(".graph [role=status]", " notes, ")
    show_all(browser, "graph")
    assert_accessible(browser)
    # By keys alone, and what is searched for is found in it.
    browser.do("await page.locator('.graph canvas').focus(); for (const key of ['+', '-', 'ArrowLeft', 'ArrowDown']) await page.keyboard.press(key);"
               " await page.locator('.notes-list input').fill('n12')")
    browser.see(".note-row", "n12")
    # A click leads to the note that is there.
    browser.do("await page.locator('.notes-list input').fill('')")
    found = browser.do("""
      const box = await page.locator('.graph canvas').boundingBox();
      for (let y = 20; y < box.height; y += 9) for (let x = 20; x < box.width; x += 9) {
        await page.mouse.move(box.x + x, box.y + y);
        const said = await page.locator('.graph [role=status]').innerText();
        if (!said.includes('links')) { await page.mouse.down(); await page.mouse.up(); return said; }
      }""")
    browser.do("await page.waitForFunction((id) => decodeURIComponent(location.pathname) === '/notes/' + id, given)", found)
    browser.see(".note h2", "")
    assert browser.errors() == []


def test_a_replacement_says_what_it_changes(server, browser):
    come(browser, server)
    browser.do("await page.goto(given)", f"{server.url}/toolbox")
    browser.give("probe.zip", package())
    browser.see(".installing", "probe 1.0.0 is installed")
    browser.do("await page.goto(given)", f"{server.url}/toolbox/probe")
    browser.do("await page.locator('#permission').selectOption('always')")
    browser.click(".permission .confirm", "Allow")
    browser.see(".toast", "probe")
    execution = {"argStyle": "cli", "fileAccess": "write"}
    browser.give("probe2.zip", package({"version": "2.0.0", "execution": execution}))
    told = browser.see(".installing", "Replace it with probe 2.0.0?")
    assert "may write the files of its call. The one there sees no files." in told and "'always', and stays so" in told
    show_all(browser, "tool-replaced")
    assert_accessible(browser)
    browser.click(".installing", "Replace it")
    browser.see(".installing", "probe 2.0.0 is installed")
    # What the policy says of a name outlives the tool.
    browser.click(".tool .deeds", "Uninstall")
    browser.do("await page.locator('.tool .confirm .danger').dblclick()")
    browser.see(".toast >> nth=-1", "probe is uninstalled")
    assert browser.do("return page.locator('.toast.tone-bad').count()") == 0
    browser.give("probe.zip", package())
    browser.see(".installing", "Your policy says 'always' of a tool of this name")
    browser.give("jq.zip", package({"name": "jq"}))
    browser.see(".installing", "It takes the place of a tool that is built in.")
    assert set(refusals(browser)) <= {"409", "428"}


def test_text_of_twice_the_size_fits_a_phone(server, client, tmp_path):
    """As a person may set it in the browser."""
    (tmp_path / "profile/Default").mkdir(parents=True)
    (tmp_path / "profile/Default/Preferences").write_text(json.dumps({"webkit": {"webprefs": {"default_font_size": 32}}}))
    client.ask(call("create_note", {"title": "Tea", "type": "plan", "content": "x"}, id=3))
    with Browser(tmp_path, profile=tmp_path / "profile") as browser:
        come(browser, server)
        assert browser.do("return page.evaluate(() => getComputedStyle(document.documentElement).fontSize)") == "28px"
        for path, shown in (("", ".today"), ("activity", ".record"), ("notes", ".note-row"), ("toolbox/jq", ".tool"), ("functions", "h1"), ("run", ".cm-content"),
                            ("machine", "h1"), ("settings", ".key-row"), ("settings/tokens", ".tokens"), ("connect", "h1"), ("health", "h1"), ("performance", "h1"), ("review", "h1")):
            browser.do("await page.goto(given)", f"{server.url}/{path}")
            browser.see(shown, "")
            browser.show(f"large-{path.replace('/', '-') or 'today'}", 390, 844)
            over = browser.do("""return page.evaluate(() => [...document.querySelectorAll('.row-slot')].filter((slot) => slot.firstElementChild.scrollHeight > slot.clientHeight + 1)
              .map((slot) => [slot.clientHeight, slot.firstElementChild.scrollHeight, slot.innerText]))""")
            assert over == [], (path, over)


def fill(browser, words):
    browser.do("await page.getByLabel('What it does').fill(given)", words)


def test_a_function_that_another_has_changed_meanwhile_is_saved_after_a_look(server, client, browser):
    come(browser, server)
    client.ask(call("register_custom_function", FUNCTION, id=3))
    description = "return page.getByLabel('What it does').inputValue()"
    browser.do("await page.goto(given)", f"{server.url}/functions/pour/edit")
    browser.see(".fn-edit .cm-content", "cups * 2")
    fill(browser, "Mine")
    client.ask(call("update_custom_function", {"name": "pour", "description": "Theirs", "code": FUNCTION["code"].replace("cups * 2", "cups + cups")}, id=4))
    browser.click(".fn-edit header", "Save")
    told = browser.see(".conflict", "Somebody changed this function while you edited it")
    assert all(words in told for words in ("Mine", "Theirs", "cups * 2", "cups + cups")), told
    show_all(browser, "function-conflict")
    assert_accessible(browser)
    browser.click(".conflict", "Discard mine")
    browser.see(".fn-edit .cm-content", "cups + cups")
    assert browser.do(description) == "Theirs"

    # That is taken back, and it is edited further.
    browser.click(".toast", "Undo")
    browser.see(".fn-edit .cm-content", "cups * 2")
    assert browser.do(description) == "Mine"
    browser.click(".fn-edit header", "Save")
    browser.click(".conflict", "Go on editing")
    browser.see(".fn-edit .cm-content", "cups * 2")
    fill(browser, "Mine again")
    client.ask(call("update_custom_function", {"name": "pour", "description": "Theirs again"}, id=5))
    browser.click(".fn-edit header", "Save")
    browser.see(".conflict .old", "Theirs again")
    browser.click(".conflict", "Save mine")
    browser.see(".fn header", "Mine again")
    assert set(refusals(browser)) == {"409"}


def test_two_parameters_of_one_name_are_wrong(server, client, browser):
    come(browser, server)
    client.ask(call("register_custom_function", FUNCTION, id=3))
    browser.do("await page.goto(given)", f"{server.url}/functions/pour/edit")
    browser.see(".fn-edit .cm-content", "cups * 2")
    browser.do("await page.getByLabel('name', {exact: true}).nth(1).fill('cups')")
    browser.see(".fn-parameter .bad", "Another parameter has this name")
    browser.click(".fn-edit header", "Save")
    browser.do("await page.locator('.fn-parameter [aria-invalid=true]:focus').waitFor()")
    browser.do("await page.keyboard.press('Control+a'); await page.keyboard.type('cup')")
    browser.do("await page.locator('.fn-parameter .bad').filter({hasText: 'Another'}).waitFor({state: 'detached'})")
    assert browser.errors() == []


@pytest.mark.parametrize("part", ["__proto__", "toString", "none"])
def test_a_part_of_the_settings_that_is_none_shows_the_policy(part, server, browser):
    come(browser, server)
    browser.do("await page.goto(given)", f"{server.url}/settings/{part}")
    browser.see(key_row("level"), "how far any caller is trusted")
    assert browser.errors() == []
