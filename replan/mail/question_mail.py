"""Makes the e-mail to one person about a question, with a link that answers it. Pure: the same record, the same bytes.

An e-mail has the same content as plain text and as HTML. It contains the run's title, and no text of the question, of a
model or of a tool.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from html import escape
from typing import Any

from actors.values.format import moment
from replan.relay.message_sender import About, OutgoingMessage
from replan.setup.mail import MailEntry
from replan.setup.people import Answering, PersonEntry
from replan.webhooks.answer_links import AnswerLink
from replan.webhooks.messages import answer_address, link_expiry, message_id, notification_of, shown_title
from runtime.core.events import Record
from runtime.logs.redact import Redactor

FORM = policy.SMTP.clone(cte_type="7bit")
"""How e-mails are written: lines of at most 78 characters that end with CRLF, and ASCII only."""
NO_REPLY = "Nobody reads replies to this e-mail. Opening the link changes nothing: the answer is given on its page."


@dataclass(frozen=True, slots=True)
class MailRecipient:
    """One person who gets e-mail, with the settings for it."""

    name: str
    """The person's name in the settings."""
    person: PersonEntry
    """The person's settings, which have an e-mail address."""
    answering: Answering
    """The key that signs the links."""
    mail: MailEntry
    """The SMTP server, and the sender's address."""


def mail_about(record: Record[Any], about: About, to: MailRecipient, redactor: Redactor) -> OutgoingMessage | None:
    """Return the e-mail about a record; None where this person is not asked, or may not answer."""
    found = notification_of(record.event, about.run, record.at)
    if found is None or found.asking is None or not to.person.may_answer(people_only=found.people_only):
        return None
    if found.asked_people and to.name not in found.asked_people:
        return None
    until = link_expiry(to.answering, record.at)
    link = AnswerLink(to.name, found.data["question"], until, "email")
    name = message_id(f"{to.name} {about.run}", record.seq)
    title = printable(shown_title(about, redactor))
    facts = {
        "sentence": found.sentence,
        "title": title,
        "address": answer_address(to.answering, to.mail.page, link),
        "follows": found.follows,
        "until": f"{moment(until):%Y-%m-%d %H:%M} UTC",
    }
    message = EmailMessage(FORM)
    message["From"] = _address("Replan", to.mail.sender)
    message["To"] = _address("", to.person.email)
    message["Subject"] = f"{found.sentence}: {title}"
    message["Date"] = format_datetime(moment(record.at))
    message["Message-ID"] = f"<{name}@{to.mail.sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(_text(facts))
    message.add_alternative(_html(facts), subtype="html")
    message.set_boundary(name)  # Not a random one, so that a repetition has the same bytes.
    return OutgoingMessage(name, record.seq, record.at, message.as_bytes())


def printable(text: str) -> str:
    """Return a text as one line of printable characters: nothing in it ends a header or changes the text's direction.

    Encoded words of RFC 2047 are made invalid: `EmailMessage` would decode them, and a decoded line break would end a
    header.
    """
    return " ".join("".join(each if each.isprintable() else " " for each in text).split()).replace("=?", "= ?")


def _address(name: str, address: str) -> Address:
    user, _, domain = address.rpartition("@")
    return Address(name, user, domain)


def _text(facts: Mapping[str, str]) -> str:
    follows = f"{facts['follows']}\n\n" if facts["follows"] else ""
    return (
        f"{facts['sentence']}:\n\n    {facts['title']}\n\n{follows}Answer on this page:\n{facts['address']}\n\n"
        f"The link is for you alone, and for one answer until {facts['until']}.\n{NO_REPLY}\n"
    )


def _html(facts: Mapping[str, str]) -> str:
    safe = {key: escape(value) for key, value in facts.items()}
    lines = [
        "<!doctype html>",
        '<html lang="en"><body>',
        f"<p>{safe['sentence']}:</p>",
        f"<p><strong>{safe['title']}</strong></p>",
        *([f"<p>{safe['follows']}</p>"] if facts["follows"] else []),
        f'<p><a href="{safe["address"]}">Answer on this page</a></p>',
        f"<p>The link is for you alone, and for one answer until {safe['until']}.</p>",
        f"<p>{escape(NO_REPLY)}</p>",
        "</body></html>",
    ]
    return "\n".join([*lines, ""])
