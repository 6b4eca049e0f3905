"""What Slack and Teams are sent: their documented forms, buttons that open links, and no markup from a title."""

import json

import pytest
from pydantic import ValidationError

from replan.setup.webhook import WebhookEntry
from replan.webhooks.chat_messages import buttons_of, slack_link_buttons, slack_message, teams_message
from tests.support.receiver import receiving
from tests.web.world import served
from tests.webhooks.conftest import secret
from tests.webhooks.test_delivery import until

LINKS = {"ana": "https://replan.example.org/answer/abc.def"}
HOSTILE = "<!channel> [click](https://evil.example) & <https://evil.example|here>"


def test_slack_gets_blocks_whose_texts_are_plain():
    buttons = slack_link_buttons(buttons_of("https://replan.example.org/open", LINKS))
    message = slack_message("A run waits for an answer", HOSTILE, buttons)
    section, actions = message["blocks"]
    assert section["text"] == {
        "type": "plain_text",
        "text": f"A run waits for an answer: {HOSTILE}",
        "emoji": False,
    }
    assert [(each["type"], each["text"]["text"], each["url"]) for each in actions["elements"]] == [
        ("button", "Answer as ana", LINKS["ana"]),
        ("button", "Open Replan", "https://replan.example.org/open"),
    ]
    assert "<" not in message["text"]
    assert len(slack_message("A run was parked", "x", [], [""])["blocks"]) == 1


def test_teams_gets_a_card_whose_title_is_no_markdown():
    message = teams_message("A run has finished", HOSTILE, buttons_of(None, LINKS))
    [attachment] = message["attachments"]
    assert (message["type"], attachment["contentType"]) == ("message", "application/vnd.microsoft.card.adaptive")
    card = attachment["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.2")
    assert [each["type"] for each in card["body"]] == ["RichTextBlock"]
    assert card["body"][0]["inlines"][1]["text"] == HOSTILE
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Answer as ana", "url": LINKS["ana"]}]


def test_there_are_no_more_buttons_than_a_card_shows():
    many = {f"p{number}": f"https://x.example/{number}" for number in range(9)}
    assert len(buttons_of("https://x.example/open", many)) == 6


def test_only_messages_in_our_own_form_need_a_secret():
    for form in ("slack", "teams"):
        assert WebhookEntry.model_validate({"url": "https://hooks.example.org", "format": form}).secrets == ()
    with pytest.raises(ValidationError, match="nothing signs the messages"):
        WebhookEntry.model_validate({"url": "https://hooks.example.org"})
    with pytest.raises(ValidationError):
        WebhookEntry.model_validate({"url": "https://hooks.example.org", "format": "irc"})


@pytest.mark.parametrize("form", ["slack", "teams"])
async def test_a_question_arrives_in_the_form_of_the_channel_with_its_link(tmp_path, quick, form):
    with receiving() as receiver:
        hook = {"url": receiver.url, "format": form, "page": "https://replan.example.org", "events": ["waiting"]}
        settings = {"people": {"ana": {"webhooks": ["ops"]}}, "answer_links": {"secrets": [secret(2)]}}
        async with served(tmp_path, webhooks={"ops": hook}, settings=settings) as web:
            await web.start()
            await until(lambda: receiver.taken)
    [told] = receiver.deliveries
    body = json.loads(told.body)
    assert "webhook-signature" not in told.headers
    if form == "slack":
        links = [each["url"] for each in body["blocks"][1]["elements"]]
    else:
        links = [each["url"] for each in body["attachments"][0]["content"]["actions"]]
    assert links[0].startswith("https://replan.example.org/answer/")
    assert links[1] == "https://replan.example.org/open"
