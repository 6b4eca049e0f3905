"""A home of the test's own, a receiver, and a sender that looks and tries again quickly."""

import base64

import pytest

from packages.server.tests.web.world import use_home
from replan_server.webhooks import sender
from tests.support.receiver import receiving


def secret(number):
    return "whsec_" + base64.b64encode(bytes([number]) * 32).decode()


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    use_home(tmp_path, monkeypatch)
    return tmp_path / "home"


@pytest.fixture
def quick(monkeypatch):
    """Look and try again quickly."""
    monkeypatch.setattr(sender, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(sender, "PAUSES", (0.1, 0.2))


@pytest.fixture
def receiver():
    with receiving() as running:
        yield running
