"""Every view in Firefox in both themes and without motion, which are set when it starts; axe-core finds nothing serious."""
import pytest

from axe import findings
from test_page import Browser
from test_page_keys import assert_still, each_view, lived_in
from test_page_views import client, server

assert lived_in and client and server


@pytest.fixture(params=["dark", "light"])
def browser(request, tmp_path):
    theme = {"ui.systemUsesDarkTheme": int(request.param == "dark"), "layout.css.prefers-color-scheme.content-override": 2}
    with Browser(tmp_path, "firefox", theme | {"ui.prefersReducedMotion": 1}) as b:
        assert b.do("return page.evaluate(`matchMedia('(prefers-color-scheme: ${given}) and (prefers-reduced-motion: reduce)').matches`)", request.param)
        yield b


def test_each_view_is_still_and_accessible(lived_in, browser):
    for view in each_view(browser, lived_in):
        found = findings(browser)
        assert found == [], (view, found)
        assert_still(browser, view)
    assert browser.errors() == []
