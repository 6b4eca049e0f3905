"""Each test of the web page has a home of its own."""

import pytest

from packages.server.tests.web.world import use_home


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Use a home in the test's folder."""
    use_home(tmp_path, monkeypatch)
