"""Makes the messages that are sent to Slack and Teams: a title, and buttons that open links. Pure.

Slack takes Block Kit at an incoming webhook, Teams an Adaptive Card at the webhook of a workflow. A button opens the
page of a link, on which the answer is given; Replan receives nothing from these services.
"""

from collections.abc import Mapping
from typing import Any

from replan.setup.webhook import WebhookEvent

HAPPENED: Mapping[WebhookEvent, str] = {
    "waiting": "A run waits for an answer",
    "parked": "A run was parked",
    "finished": "A run has finished",
}
BUTTONS_MAX = 5
"""The most buttons: a card of Teams shows six actions, and one of them opens the inbox."""


def slack_message(told: WebhookEvent, title: str, buttons: Mapping[str, str]) -> dict[str, Any]:
    """Return a message with blocks; `buttons` has the links by their labels. No text is read as markup."""
    escaped = title.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = {"type": "plain_text", "text": f"{HAPPENED[told]}: {title}", "emoji": False}
    blocks: list[dict[str, Any]] = [{"type": "section", "text": text}]
    elements = [
        {"type": "button", "text": {"type": "plain_text", "text": label[:75], "emoji": False}, "url": link}
        for label, link in buttons.items()
    ]
    if elements:
        blocks.append({"type": "actions", "elements": elements})
    return {"text": f"{HAPPENED[told]}: {escaped}", "unfurl_links": False, "unfurl_media": False, "blocks": blocks}


def teams_message(told: WebhookEvent, title: str, buttons: Mapping[str, str]) -> dict[str, Any]:
    """Return a message with an Adaptive Card 1.2. A rich text block shows a title without reading it as Markdown."""
    runs = [{"type": "TextRun", "text": f"{HAPPENED[told]}: ", "weight": "Bolder"}, {"type": "TextRun", "text": title}]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.2",
        "body": [{"type": "RichTextBlock", "inlines": runs}],
        "actions": [{"type": "Action.OpenUrl", "title": label, "url": link} for label, link in buttons.items()],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def buttons_of(link: str | None, answer_links: Mapping[str, str]) -> dict[str, str]:
    """Return the links of the buttons by their labels: one for each person, and one that opens the page."""
    people = {f"Answer as {name}": url for name, url in list(answer_links.items())[:BUTTONS_MAX]}
    return people | ({} if link is None else {"Open Replan": link})
