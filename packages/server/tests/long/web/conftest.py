"""Tests in a real browser share one; each has a home and pages of its own."""

import pytest

from packages.server.tests.long.web import firefox
from packages.server.tests.long.web.browsing import need_browser
from packages.server.tests.long.web.chromium import Process
from packages.server.tests.web.conftest import home

__all__ = ["home"]


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
    async with second_browser_process.connected() as browser:
        yield browser
