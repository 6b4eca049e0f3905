"""Each test of the web page has a home of its own; those in a real browser share one, each with pages of its own."""

import pytest

from tests.web import firefox
from tests.web.browsing import need_browser
from tests.web.chromium import Process
from tests.web.world import use_home


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Use a home in the test's folder."""
    use_home(tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def browser_process():
    """Chromium, started for the first test that needs it."""
    need_browser()
    process = Process()
    yield process
    process.close()


@pytest.fixture
async def browser(browser_process):
    """Chromium, without pages and cookies."""
    async with browser_process.connected() as browser:
        yield browser


@pytest.fixture(scope="session")
def second_browser_process():
    """Firefox, started for the first test that needs it."""
    need_browser(firefox.find_firefox, "Firefox", "firefox-esr")
    process = firefox.Process()
    yield process
    process.close()


@pytest.fixture
async def second_browser(second_browser_process):
    """Firefox, without cookies."""
    async with second_browser_process.connected() as browser:
        yield browser
