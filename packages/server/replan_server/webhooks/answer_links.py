"""Signed links (HMAC-SHA256), with each of which one person answers one question, and codes that confirm an approval.

Pure.

A link contains its person, its question and its expiry. A second use of a link has no effect: each question has its own
id, and the journal accepts only the first answer.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Collection
from dataclasses import dataclass

from replan_server.notifications import Answering
from runtime.core.errors import ReplanError

CONFIRM_SECONDS = 600
"""For how many seconds after a page was shown its user can confirm the answer."""
TOKEN_MAX = 1000
"""The largest number of characters in the token of a link. A longer token is refused without being decoded."""


class LinkRefused(ReplanError):
    """The link cannot be used: it has expired, this server has not signed it, or its person may not answer."""


class LinkUnknown(LinkRefused):
    """Raised for a text that is not a link signed by this server."""


@dataclass(frozen=True, slots=True)
class AnswerLink:
    """The content of a signed link."""

    person: str
    question: str
    """The question that the link answers, as `RUN/ID`."""
    until: int
    """When the link expires, in UTC seconds since 1970."""


def sign_link(answering: Answering, link: AnswerLink) -> str:
    """Return the signed token of a link. With the same key, equal links have equal tokens."""
    payload = json.dumps([link.person, link.question, link.until], separators=(",", ":")).encode()
    return f"{_text(payload)}.{_text(_mac(answering.keys[0], 'answer link', payload))}"


def read_link(answering: Answering | None, token: str, now: float) -> AnswerLink:
    """Return the link in a token.

    Raises `LinkUnknown` for a token that this server has not signed, and `LinkRefused` for an expired token.

    `now` is in UTC seconds since 1970.
    """
    encoded, _, signature = token.partition(".") if len(token) <= TOKEN_MAX else ("", "", "")
    payload, mac = _bytes(encoded), _bytes(signature)
    keys = () if answering is None else answering.keys
    if not any(hmac.compare_digest(_mac(key, "answer link", payload), mac) for key in keys):
        raise LinkUnknown("this link was not made by this server, or was changed afterwards")
    link = AnswerLink(*json.loads(payload))  # `sign_link` wrote it: the signature is valid.
    if now >= link.until:
        raise LinkRefused("this link has expired")
    return link


def check_person(answering: Answering, link: AnswerLink, *, people_only: bool, asked: Collection[str] = ()) -> None:
    """Raise `LinkRefused` if the link's person may not answer its question now.

    `asked` has the names of the people who have been asked so far; it is empty if everybody may answer.
    """
    person = answering.people.get(link.person)
    if person is None or not person.may_answer(people_only=people_only):
        raise LinkRefused(f"{link.person} may not answer this question")
    if asked and link.person not in asked:
        raise LinkRefused(f"{link.person} has not been asked this question")


def confirmation(answering: Answering, token: str, answer: str, now: float) -> str:
    """Return the code that confirms one answer through one link. The code is valid for `CONFIRM_SECONDS`."""
    until = int(now) + CONFIRM_SECONDS
    return f"{until}.{_text(_mac(answering.keys[0], 'confirm', _confirmation(until, token, answer)))}"


def is_confirmed(answering: Answering, token: str, answer: str, given: str, now: float) -> bool:
    """Return whether `given` is a valid confirmation of this answer through this link."""
    time, _, signature = given.partition(".")
    if not (time.isascii() and time.isdigit() and len(time) < 12) or now >= int(time):
        return False
    expected, mac = _confirmation(int(time), token, answer), _bytes(signature)
    return any(hmac.compare_digest(_mac(key, "confirm", expected), mac) for key in answering.keys)


def _confirmation(until: int, token: str, answer: str) -> bytes:
    return json.dumps([until, token, answer]).encode()


def _mac(key: bytes, use: str, payload: bytes) -> bytes:
    """Return the signature of bytes for one purpose. A signature is not valid for any other purpose."""
    return hmac.new(key, f"replan {use}\n".encode() + payload, hashlib.sha256).digest()


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    """Return the bytes that `_text` encoded as this text; empty for any other text."""
    try:
        data = base64.b64decode(text.encode() + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        return b""
    return data if _text(data) == text else b""
