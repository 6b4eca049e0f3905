"""Makes the messages that are sent to Slack and Teams: a title, and buttons that open links. Pure.

Slack takes Block Kit at an incoming webhook, Teams an Adaptive Card at the webhook of a workflow. A button opens the
page of a link, on which the answer is given. Buttons of Slack that send an answer are in `slack_buttons.py`.
"""

from collections.abc import Mapping
from typing import Any, Literal

from replan.setup.webhook import WebhookEvent

HAPPENED: Mapping[WebhookEvent, str] = {
    "waiting": "A run waits for an answer",
    "parked": "A run was parked",
    "finished": "A run has finished",
}
Asking = Literal["asked", "reminder", "escalation"]
"""Why people are told of a question: it was asked, nobody has answered it yet, or others are asked in addition."""
ASKED: Mapping[Asking, str] = {
    "asked": HAPPENED["waiting"],
    "reminder": "A run still waits for an answer",
    "escalation": "A run still waits for an answer, and further people are asked",
}
BUTTONS_MAX = 5
"""The most buttons: a card of Teams shows six actions, and one of them opens the inbox."""


def slack_message(sentence: str, title: str, buttons: Mapping[str, str], follows: str = "") -> dict[str, Any]:
    """Return a message with blocks; `buttons` has the links by their labels. No text is read as markup.

    `follows` says what happens without an answer.
    """
    escaped = title.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = {"type": "plain_text", "text": f"{sentence}: {title}", "emoji": False}
    blocks: list[dict[str, Any]] = [{"type": "section", "text": text}]
    if follows:
        blocks.append({"type": "section", "text": {"type": "plain_text", "text": follows, "emoji": False}})
    elements = [
        {"type": "button", "text": {"type": "plain_text", "text": label[:75], "emoji": False}, "url": link}
        for label, link in buttons.items()
    ]
    if elements:
        blocks.append({"type": "actions", "elements": elements})
    return {"text": f"{sentence}: {escaped}", "unfurl_links": False, "unfurl_media": False, "blocks": blocks}


def teams_message(sentence: str, title: str, buttons: Mapping[str, str], follows: str = "") -> dict[str, Any]:
    """Return a message with an Adaptive Card 1.2. A rich text block shows a title without reading it as Markdown."""
    runs = [{"type": "TextRun", "text": f"{sentence}: ", "weight": "Bolder"}, {"type": "TextRun", "text": title}]
    body = [{"type": "RichTextBlock", "inlines": runs}]
    if follows:
        body.append({"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": follows}]})
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.2",
        "body": body,
        "actions": [{"type": "Action.OpenUrl", "title": label, "url": link} for label, link in buttons.items()],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def buttons_of(link: str | None, answer_links: Mapping[str, str]) -> dict[str, str]:
    """Return the links of the buttons by their labels: one for each person, and one that opens the page."""
    people = {f"Answer as {name}": url for name, url in list(answer_links.items())[:BUTTONS_MAX]}
    return people | ({} if link is None else {"Open Replan": link})
