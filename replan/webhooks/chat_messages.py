"""Makes the messages that are sent to Slack and Teams: a title, and buttons that open links. Pure.

Slack takes Block Kit at an incoming webhook, Teams an Adaptive Card at the webhook of a workflow. A button opens the
page of a link, on which the answer is given. Buttons of Slack that send an answer are in `slack_buttons.py`.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Literal

from replan.setup.webhook import WebhookEvent

HAPPENED: Mapping[WebhookEvent, str] = {
    "waiting": "A run waits for an answer",
    "parked": "A run was parked",
    "finished": "A run has finished",
}
Asking = Literal["asked", "reminder", "escalation"]
"""The reason for a message about a question: it was asked, nobody has answered it yet, or further people are asked."""
ASKED: Mapping[Asking, str] = {
    "asked": HAPPENED["waiting"],
    "reminder": "A run still waits for an answer",
    "escalation": "A run still waits for an answer, and further people are asked",
}
BUTTONS_MAX = 5
"""The most buttons for people: a card of Teams shows six actions, and one of them opens the inbox."""
LABEL_MAX = 75
"""The most characters of the label of a button in Slack."""


def slack_message(
    sentence: str, title: str, buttons: Sequence[Mapping[str, Any]], texts: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a message for Slack: a sentence with a title, further texts, and buttons of `slack_button`.

    Empty texts are left out, and no text is read as markup.
    """
    text = f"{sentence}: {title}"
    blocks = [slack_section(text), *(slack_section(each) for each in texts if each)]
    if buttons:
        blocks.append({"type": "actions", "elements": [*buttons]})
    return {"text": slack_escape(text), "unfurl_links": False, "unfurl_media": False, "blocks": blocks}


def slack_section(text: str) -> dict[str, Any]:
    """Return a block of Slack with a text, which is not read as markup."""
    return {"type": "section", "text": _plain_text(text)}


def slack_button(label: str, **more: str) -> dict[str, Any]:
    """Return a button of Slack with the `url` that it opens, or the `value` that it sends."""
    return {"type": "button", "text": _plain_text(label[:LABEL_MAX]), **more}


def slack_link_buttons(links: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return buttons of Slack that open links; `links` has the addresses by their labels."""
    return [slack_button(label, url=link) for label, link in links.items()]


def slack_escape(text: str) -> str:
    """Return a text as the `text` of a message of Slack, where `&`, `<` and `>` are markup."""
    return escape(text, quote=False)


def _plain_text(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def teams_message(sentence: str, title: str, buttons: Mapping[str, str], follows: str = "") -> dict[str, Any]:
    """Return a message for Teams with an Adaptive Card 1.2; `buttons` has the links by their labels.

    `follows` says what happens without an answer. A rich text block shows a text without reading it as Markdown.
    """
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
