"""The page's flows once more, in Debian's Firefox: the tests of the other files, with another browser."""
import inspect
import re

import pytest

import test_page
import test_page_keys
import test_page_late
import test_page_machine
import test_page_story
import test_page_tabs
import test_page_views
from test_page import Browser, program
from test_page_keys import lived_in
from test_page_story import whole
from test_page_views import client, server

assert program and server and client and whole and lived_in


@pytest.fixture(scope="module")
def firefox(tmp_path_factory):
    """One for all tests: its start takes longer than most of them."""
    with Browser(tmp_path_factory.mktemp("firefox"), "firefox") as b:
        yield b


@pytest.fixture
def browser(firefox):
    yield firefox
    firefox.do("await page.goto('about:blank'); await page.context().clearCookies();"
               " await page.setViewportSize({width: 1100, height: 800}); errors.length = 0")


def take(module, mark=lambda test: test, only=""):
    for name, test in vars(module).items():
        if name.startswith("test_") and re.search(only, name) and inspect.isfunction(test) and "browser" in inspect.signature(test).parameters:
            globals()[name] = mark(test)


take(test_page)
take(test_page_late)
take(test_page_keys, only="gives_it_back|is_no_key|pages_agree")  # all views: test_page_firefox_dark.py
take(test_page_tabs)
take(test_page_views)
take(test_page_machine, mark=test_page_machine.pytestmark)
take(test_page_story, mark=test_page_story.pytestmark)
