"""What comes late on the page: it moves nothing that is being pressed, and an answer that was overtaken is not shown."""
from test_page import browser, come
from test_page_views import client, server
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
