"""A home of the test's own, a mail server, and a sender that looks and tries again quickly."""

import pytest

from replan.relay import message_sender
from tests.support.mail_server import certificate, mail_server
from tests.web.world import use_home


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    use_home(tmp_path, monkeypatch)
    monkeypatch.setattr(message_sender, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(message_sender, "PAUSES", (0.1, 0.2))
    return tmp_path / "home"


@pytest.fixture(scope="session")
def pem(tmp_path_factory):
    """The certificate of a server on this machine, with its key."""
    return certificate(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def trusted(pem, monkeypatch):
    """Trust that certificate, as where an authority of the system has signed it."""
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    return pem


@pytest.fixture
def plain():
    """A server without TLS."""
    with mail_server() as running:
        yield running
