"""Makes the e-mail that tells one person of a question, with a link that answers it. Pure; the same record, same bytes.

A message has a plain text and the same as HTML. No text of a question, a model or a tool is sent: only the run's title.
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
from replan.webhooks.messages import answer_address, message_id, shown_title, told_of, until_of
from runtime.core.events import Record
from runtime.logs.redact import Redactor

FORM = policy.SMTP.clone(cte_type="7bit")
"""How messages are written: CRLF, lines of 78 characters, nothing but ASCII on the wire."""
NO_REPLY = "Nobody reads replies to this e-mail. Opening the link changes nothing: the answer is given on its page."


@dataclass(frozen=True, slots=True)
class MailTo:
    """One person with the settings by which e-mail is sent."""

    name: str
    """The person's name in the settings."""
    person: PersonEntry
    """The person's settings, with an address."""
    answering: Answering
    """What signs the links."""
    mail: MailEntry
    """The server, with the sender's address."""


def mail_about(record: Record[Any], about: About, to: MailTo, redactor: Redactor) -> OutgoingMessage | None:
    """Return the e-mail about a record; None for one that this person is not told about, or may not answer."""
    told = told_of(record.event, about.run, record.at)
    if told is None or told.asking is None or not to.person.may_answer(people_only=told.people_only):
        return None
    if told.asked_people and to.name not in told.asked_people:
        return None
    until = until_of(to.answering, record.at)
    link = AnswerLink(to.name, told.data["question"], until, "email")
    name = message_id(f"{to.name} {about.run}", record.seq)
    title = printable(shown_title(about, redactor))
    facts = {
        "sentence": told.sentence,
        "title": title,
        "address": answer_address(to.answering, to.mail.page, link),
        "follows": told.follows,
        "until": f"{moment(until):%Y-%m-%d %H:%M} UTC",
    }
    message = EmailMessage(FORM)
    message["From"] = _address("Replan", to.mail.sender)
    message["To"] = _address("", to.person.email)
    message["Subject"] = f"{told.sentence}: {title}"
    message["Date"] = format_datetime(moment(record.at))
    message["Message-ID"] = f"<{name}@{to.mail.sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(_text(facts))
    message.add_alternative(_html(facts), subtype="html")
    message.set_boundary(name)  # In place of a random one: a repetition has the same bytes.
    return OutgoingMessage(name, record.seq, record.at, message.as_bytes())


def printable(text: str) -> str:
    """Return a text in one line, without characters that end a header, move a cursor, or turn the text's direction.

    An encoded word of RFC 2047 is broken up: `EmailMessage` would decode it, and write the line break that it may hold.
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
