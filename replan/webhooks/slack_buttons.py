"""Buttons of Slack that send what is pressed to Replan: messages with them, and the requests that Slack signs. Pure.

A button names its question, and the answer that it gives or none; it is signed as links are. Who has pressed it is what
Slack says, in a request that Slack signs (`v0`, HMAC-SHA256).
"""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from actors.run.questions import ClarificationRequested
from actors.run.words import question_in_words
from actors.values.answers import answer_form, options_of
from replan.setup.people import Answering, PersonEntry
from replan.setup.slack import SlackEntry
from replan.webhooks.answer_links import LinkRefused, LinkUnknown, signed_text, verified_text

REQUEST_SECONDS = 300
"""How old or how far ahead the time of a request may be, as Slack advises against replays."""
LABEL_MAX = 75
"""The most characters of a button's label; an answer that is longer has no button."""
CHOICES_MAX = 20
"""The most answers with buttons; an actions block has at most 25 elements."""
QUESTION_MAX = 2000
"""The most characters that a message shows of a question and of what it is about; a text of Slack has at most 3,000."""
USE = "slack button"
"""What the signature of a button is for: that of a link is none."""


@dataclass(frozen=True, slots=True)
class PressedButton:
    """What a button stands for."""

    webhook: str
    """The webhook whose message has it."""
    question: str
    """The question, `RUN/ID`."""
    until: int
    """When it ends, in UTC seconds since 1970."""
    answer: str | None = None
    """The answer that it gives; None for the button that leads to the page."""


class _Named(BaseModel):
    model_config = ConfigDict(frozen=True)
    id: str = Field(max_length=64)


class SlackAction(BaseModel):
    """One element that was used."""

    model_config = ConfigDict(frozen=True)
    type: str = Field(max_length=64)
    """The sort of element, such as `button`."""
    value: str = Field(default="", max_length=2000)
    """The value of a button; one that opens an address has none."""


class SlackPayload(BaseModel):
    """The parts of a `block_actions` payload that are read; Slack adds others at will."""

    model_config = ConfigDict(frozen=True)
    type: str = Field(max_length=64)
    """The sort of interaction."""
    user: _Named
    """Whose account it was."""
    team: _Named | None = None
    """The workspace of the app; none for an app of a whole organization."""
    actions: tuple[SlackAction, ...] = Field(default=(), max_length=10)
    """What was used."""
    response_url: str = Field(default="", max_length=500)
    """The address that takes replies to the click."""


def is_signed(slack: SlackEntry, timestamp: str, signature: str, body: bytes, now: float) -> bool:
    """Tell whether Slack has signed a request with one of the secrets, and not long ago."""
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
    """Return a payload; None for a text that is none."""
    try:
        return SlackPayload.model_validate(json.loads(text))
    except (ValueError, ValidationError, RecursionError):
        return None


def person_of(answering: Answering, slack: SlackEntry, payload: SlackPayload) -> tuple[str, PersonEntry]:
    """Return the person whose account has pressed a button. Raises `LinkRefused` for an unknown one."""
    if payload.team is None or payload.team.id != slack.team:
        raise LinkRefused("this workspace answers no questions here")
    for name, person in answering.people.items():
        if person.slack and hmac.compare_digest(person.slack.encode(), payload.user.id.encode()):
            return name, person
    raise LinkRefused("the settings of this server name nobody with your Slack account")


def button_value(answering: Answering, button: PressedButton) -> str:
    """Return the value of a button, signed; the same button has the same one."""
    said = json.dumps([button.webhook, button.question, button.until, button.answer], separators=(",", ":"))
    return signed_text(answering, USE, said.encode())


def read_button(answering: Answering, value: str, now: float) -> PressedButton:
    """Return what a button stands for. Raises `LinkUnknown` for one that was not signed here, else `LinkRefused`."""
    said = verified_text(answering, USE, value)
    if said is None:
        raise LinkUnknown("this button was not made by this server")
    button = PressedButton(*json.loads(said))  # Whoever has the key wrote it.
    if now >= button.until:
        raise LinkRefused("this button has expired")
    return button


def answers_of(request: ClarificationRequested | None) -> Sequence[str]:
    """Return the answers that have buttons: all that the question offers, or none.

    A question that only a person may answer has none: its answer is confirmed on the page.
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


def slack_question(
    message: Mapping[str, Any],
    answering: Answering,
    button: PressedButton,
    request: ClarificationRequested | None,
    answers: Sequence[str],
) -> dict[str, Any]:
    """Return a message of Slack with the question, and with buttons that send what is pressed to Replan.

    `message` is that of `slack_message` without buttons for people, `button` says which question it is about, and
    `answers` are those that have a button.
    """
    blocks = [*message["blocks"]]
    if request is not None:
        text = "\n".join([question_in_words(request.text), request.shown]).strip()
        shown = text if len(text) <= QUESTION_MAX else f"{text[:QUESTION_MAX]}…"
        blocks.insert(1, {"type": "section", "text": {"type": "plain_text", "text": shown, "emoji": False}})
    labels: dict[str, str | None] = {answer: answer for answer in answers}
    pressed = [
        _button(label, button_value(answering, PressedButton(button.webhook, button.question, button.until, answer)))
        for label, answer in [*labels.items(), ("Answer on the page", None)]
    ]
    elements = [{**each, "action_id": f"answer{number}"} for number, each in enumerate(pressed)]
    links = [element for block in blocks if block["type"] == "actions" for element in block["elements"]]
    rest = [block for block in blocks if block["type"] != "actions"]
    return {**message, "blocks": [*rest, {"type": "actions", "elements": [*elements, *links]}]}


def _button(label: str, value: str) -> dict[str, Any]:
    return {"type": "button", "text": {"type": "plain_text", "text": label, "emoji": False}, "value": value}


def slack_reply(text: str, address: str = "") -> dict[str, Any]:
    """Return a reply that only the person sees who has pressed; with an address, it has a button that opens it."""
    blocks: list[dict[str, Any]] = [{"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}]
    if address:
        label = {"type": "plain_text", "text": "Open the page", "emoji": False}
        blocks.append({"type": "actions", "elements": [{"type": "button", "text": label, "url": address}]})
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"response_type": "ephemeral", "replace_original": False, "text": escaped, "blocks": blocks}
