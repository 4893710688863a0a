"""axe-core over what a browser shows: no finding of the impact serious or critical."""
from test_page import PACKAGES

RUN = """async () => {
  const said = await axe.run(document, {resultTypes: ['violations'], rules: {'color-contrast': {enabled: true}}});
  return said.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
    .map((v) => `${v.id}: ${v.nodes.slice(0, 4).map((n) => n.target.join(' ') + ' ' + n.html.slice(0, 160)).join(' | ')}`);
}"""


def findings(browser):
    browser.do("await page.evaluate(given)", (PACKAGES / "axe-core/axe.min.js").read_text())
    return browser.do(f"return page.evaluate({RUN})")


def assert_accessible(browser):
    """In both themes; in Chromium, since the document is the same in each browser."""
    if browser.which != "chromium":
        return
    for theme in ("light", "dark"):
        browser.do("await page.emulateMedia({colorScheme: given, reducedMotion: 'reduce'})", theme)
        found = findings(browser)
        assert found == [], f"{theme}: {found}"
