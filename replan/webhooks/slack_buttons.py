"""Buttons in Slack that answer a question: their signed values, and the requests by which Slack sends them. Pure.

The value of a button names the question and the answer, and is signed as links are. The request that Slack sends when
somebody presses a button names the account, and is signed by Slack (`v0`, HMAC-SHA256).
"""

import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from actors.run.questions import ClarificationRequested
from actors.run.words import question_in_words
from actors.values.answers import answer_form, options_of
from replan.setup.people import Answering, PersonEntry
from replan.setup.slack import SlackEntry
from replan.webhooks.answer_links import LinkRefused, LinkUnknown, signed_values, verified_values
from replan.webhooks.chat_messages import LABEL_MAX, slack_button, slack_escape, slack_link_buttons, slack_section

REQUEST_SECONDS = 300
"""The largest difference between the time of a request and now, as Slack advises against replays."""
CHOICES_MAX = 20
"""The most answers with buttons; an actions block has at most 25 elements."""
QUESTION_MAX = 2000
"""The most characters of a question that a message shows; a text of Slack has at most 3,000."""
USE = "slack button"
"""The use that the signature of a button is for; the signature of a link is not valid for it."""


@dataclass(frozen=True, slots=True)
class AnswerButton:
    """A button of a message in Slack that answers a question, or asks for a link to the page of the question."""

    webhook: str
    """The name of the webhook that the message was sent to."""
    question: str
    """The question, `RUN/ID`."""
    until: int
    """When the button expires, in UTC seconds since 1970."""
    answer: str | None = None
    """The answer; None for the button that asks for a link."""


class _Identified(BaseModel):
    model_config = ConfigDict(frozen=True)
    id: str = Field(max_length=64)


class SlackAction(BaseModel):
    """One element of a message that somebody used."""

    model_config = ConfigDict(frozen=True)
    type: str = Field(max_length=64)
    """The type of the element, such as `button`."""
    value: str = Field(default="", max_length=2000)
    """The value of a button; empty for a button that opens an address."""


class SlackPayload(BaseModel):
    """The parts of a `block_actions` payload that are read; other keys are ignored."""

    model_config = ConfigDict(frozen=True)
    type: str = Field(max_length=64)
    """The type of the interaction."""
    user: _Identified
    """The account of the person."""
    team: _Identified | None = None
    """The workspace of the app; None for an app of a whole organization."""
    actions: tuple[SlackAction, ...] = Field(default=(), max_length=10)
    """The elements that were used."""
    response_url: str = Field(default="", max_length=500)
    """The address to which a reply to the person is posted."""


def is_signed(slack: SlackEntry, timestamp: str, signature: str, body: bytes, now: float) -> bool:
    """Tell whether a request is signed with one of the app's secrets, at a time within `REQUEST_SECONDS` of now."""
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 12):
        return False
    if abs(now - int(timestamp)) > REQUEST_SECONDS:
        return False
    given = signature.encode("utf-8", "replace")
    keys = [secret.get_secret_value().encode() for secret in slack.signing_secrets]
    return any(hmac.compare_digest(slack_signature(key, timestamp, body).encode(), given) for key in keys)


def slack_signature(key: bytes, timestamp: str, body: bytes) -> str:
    """Return the value of `X-Slack-Signature`."""
    return f"v0={hmac.new(key, f'v0:{timestamp}:'.encode() + body, hashlib.sha256).hexdigest()}"


def read_payload(text: str) -> SlackPayload | None:
    """Return the payload in a JSON text; None where the text is not a payload."""
    try:
        return SlackPayload.model_validate(json.loads(text))
    except (ValueError, ValidationError, RecursionError):
        return None


def person_of(answering: Answering, slack: SlackEntry, payload: SlackPayload) -> tuple[str, PersonEntry]:
    """Return the name and the settings of the person with the payload's account. Raises `LinkRefused` for nobody."""
    if payload.team is None or payload.team.id != slack.team:
        raise LinkRefused("this workspace answers no questions here")
    for name, person in answering.people.items():
        if person.slack and hmac.compare_digest(person.slack.encode(), payload.user.id.encode()):
            return name, person
    raise LinkRefused("the settings of this server name nobody with your Slack account")


def button_value(answering: Answering, button: AnswerButton) -> str:
    """Return the signed value of a button. Equal buttons have equal values, as long as the key stays."""
    return signed_values(answering, USE, [button.webhook, button.question, button.until, button.answer])


def read_button(answering: Answering, value: str, now: float) -> AnswerButton:
    """Return the button that has a value.

    `now` is in UTC seconds since 1970. Raises `LinkUnknown` where this server has not signed the value, and
    `LinkRefused` where the button has expired.
    """
    values = verified_values(answering, USE, value)
    if values is None:
        raise LinkUnknown("this button was not made by this server")
    button = AnswerButton(*values)
    if now >= button.until:
        raise LinkRefused("this button has expired")
    return button


def answers_of(request: ClarificationRequested | None) -> Sequence[str]:
    """Return the answers that get buttons: all that the question offers, or none where these are too many or too long.

    A question that no program may answer has none: its answer is confirmed on the page.
    """
    if request is None or request.people_only:
        return ()
    match answer_form(request.answer_schema):
        case "choice":
            found = options_of(request.answer_schema)
        case "yes_no":
            found = ["yes", "no"]
        case _:
            found = [each.value for each in request.choices]
    fits = len(found) <= CHOICES_MAX and all(len(each) <= LABEL_MAX for each in found)
    return found if fits else ()


def answer_buttons(answering: Answering, page_button: AnswerButton, answers: Sequence[str]) -> list[dict[str, Any]]:
    """Return a button for each answer to a question, and `page_button`, which asks for a link to its page."""
    buttons = [
        *((answer, replace(page_button, answer=answer)) for answer in answers),
        ("Answer on the page", page_button),
    ]
    return [
        slack_button(label, value=button_value(answering, button), action_id=f"answer{number}")
        for number, (label, button) in enumerate(buttons)
    ]


def question_text(text: str, shown: str) -> str:
    """Return the text of a question and what it is about, cut to `QUESTION_MAX` characters."""
    whole = f"{question_in_words(text)}\n{shown}".strip()
    return whole if len(whole) <= QUESTION_MAX else f"{whole[:QUESTION_MAX]}…"


def slack_reply(text: str, address: str = "") -> dict[str, Any]:
    """Return a reply that only the person who pressed a button sees; with an address, a button opens it."""
    blocks = [slack_section(text)]
    if address:
        blocks.append({"type": "actions", "elements": slack_link_buttons({"Open the page": address})})
    return {"response_type": "ephemeral", "replace_original": False, "text": slack_escape(text), "blocks": blocks}
