"""Settings and records for tests of e-mail."""

from replan.mail.question_mail import MailRecipient
from replan.relay.message_sender import About
from replan.setup.settings import UserConfig
from runtime.core.events import Record
from tests.support.questions import question_asked
from tests.webhooks.conftest import secret

PAGE = "https://replan.example.org"
PEOPLE = {"ana": {"email": "ana@example.org"}, "bob": {"email": "bob@example.org", "may": "approve"}}


def settings(port, **mail):
    """Return settings with a mail server on this machine."""
    entry = {"host": "localhost", "port": port, "security": "none", "sender": "replan@example.org", "page": PAGE}
    return {"people": PEOPLE, "answer_links": {"secrets": [secret(2)]}, "mail": {**entry, **mail}}


def addressee(name="ana", port=25, **mail):
    """Return a person with the settings by which e-mail is sent."""
    answering = UserConfig.model_validate(settings(port, **mail)).answering
    return MailRecipient(name, answering.people[name], answering, answering.mail)


def about(title="Make it better, please."):
    """Return what messages say about a run."""
    return About("abcd2345", title, "planning")


def record(seq=12, at=1_000_000_000.0, **fields):
    """Return the record of a question."""
    return Record("abcd2345", seq, at, 1, question_asked(**fields), "")
