"""Slack's documented signature and payload are taken, its limits kept, and no other button passes for one."""

import json
from pathlib import Path

import pytest

from actors.values.answers import YES_NO, choice
from replan.setup.settings import UserConfig
from replan.webhooks.answer_links import AnswerLink, LinkRefused, read_link, signed_link
from replan.webhooks.chat_messages import HAPPENED, LABEL_MAX, teams_message
from replan.webhooks.messages import About, Addressees, message_about
from replan.webhooks.slack_buttons import (
    QUESTION_MAX,
    AnswerButton,
    button_value,
    is_signed,
    person_of,
    read_button,
    read_payload,
    slack_reply,
)
from runtime.core.events import Record
from runtime.logs.redact import Redactor
from tests.support.questions import question_asked
from tests.webhooks.conftest import secret

DATA = Path(__file__).parent / "data"
SIGNED = json.loads((DATA / "slack_signature.json").read_text())
PAYLOAD = json.loads((DATA / "slack_block_actions.json").read_text())["payload"]
TEAMS = json.loads((DATA / "teams_adaptive_card.json").read_text())
BUTTON = AnswerButton("ops", "abcd2345/q1", 1000, "yes")
HOSTILE = "<!channel> [click](https://evil.example) & <https://evil.example|here>"


HOOK = {"url": "https://hooks.slack.com/services/T/B/x", "format": "slack", "page": "https://replan.example.org"}


CONFIG = {
    "webhooks": {"ops": {**HOOK, "buttons": True}},
    "people": {"ana": {"webhooks": ["ops"], "slack": "UA8RXUSPL"}, "bob": {"webhooks": ["ops"]}},
    "answer_links": {"secrets": [secret(2)]},
    "slack": {"signing_secrets": [SIGNED["signing_secret"]], "team": "T9TK3CUKW"},
}


def settings(*secrets):
    slack = {**CONFIG["slack"], **({"signing_secrets": secrets} if secrets else {})}
    return UserConfig.model_validate({**CONFIG, "slack": slack}).answering


def signed(now=0.0, *, timestamp=SIGNED["timestamp"], signature=SIGNED["signature"], body=SIGNED["body"], secrets=()):
    slack = settings(*secrets).slack
    return is_signed(slack, timestamp, signature, body.encode(), int(SIGNED["timestamp"]) + now)


def test_the_documented_signature_is_taken_for_five_minutes():
    assert signed()
    assert signed(300.0)
    assert signed(-300.0)
    assert not signed(301.0)
    assert not signed(-301.0)


def test_every_other_signature_time_body_and_secret_is_refused():
    good = SIGNED["signature"]
    for signature in ("", "v0=", good[3:], f"v1={good[3:]}", good.upper(), f"{good}0", good[:-1], "é" * 67):
        assert not signed(signature=signature)
    for timestamp in ("", "1531420619", "1531420618.0", " 1531420618", "+1531420618", "१५३१४२०६१८", "9" * 40):
        assert not signed(timestamp=timestamp)
    assert not signed(body=SIGNED["body"] + " ")
    assert not signed(secrets=["another0another0another0"])
    assert signed(secrets=["another0another0another0", SIGNED["signing_secret"]])


def test_the_documented_payload_is_read_and_names_its_person():
    payload = read_payload(json.dumps(PAYLOAD))
    assert (payload.type, payload.response_url) == ("block_actions", PAYLOAD["response_url"])
    assert [(each.type, each.value) for each in payload.actions] == [("button", "click_me_123")]
    assert person_of(settings(), settings().slack, payload)[0] == "ana"


@pytest.mark.parametrize(
    "change",
    [{"team": {"id": "T0OTHER"}}, {"team": None}, {"user": {"id": "U0OTHER"}}, {"user": {"id": ""}}],
)
def test_another_workspace_or_account_is_nobody(change):
    payload = read_payload(json.dumps({**PAYLOAD, **change}))
    with pytest.raises(LinkRefused):
        person_of(settings(), settings().slack, payload)


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "{}", "[" * 100_000, '{"type": 1}', json.dumps({**PAYLOAD, "actions": [{}] * 11}),
     json.dumps({**PAYLOAD, "user": "UA8RXUSPL"}), json.dumps({**PAYLOAD, "response_url": "x" * 501})],
)  # fmt: skip
def test_what_is_no_payload_is_none(text):
    assert read_payload(text) is None


def test_a_button_is_read_back_until_it_ends_and_no_other_text_passes_for_one():
    value = button_value(settings(), BUTTON)
    assert read_button(settings(), value, 999.0) == BUTTON
    with pytest.raises(LinkRefused, match="expired"):
        read_button(settings(), value, 1000.0)
    link = signed_link(settings(), AnswerLink("ana", "abcd2345/q1", 1000))
    for other in ("", "x", "click_me_123", value[:-1], f"{value}x", link):
        with pytest.raises(LinkRefused, match="not made by this server"):
            read_button(settings(), other, 999.0)
    with pytest.raises(LinkRefused):
        read_link(settings(), value, 999.0)


def test_a_question_with_a_secret_among_its_answers_has_no_buttons_for_them():
    entries = UserConfig.model_validate(CONFIG)
    told = {}
    for answers in (("hunter2-token-0123456789", "none"), ("some", "none")):
        asked = question_asked(text=f"Is {answers[0]} meant?", **choices(*answers))
        record = Record("abcd2345", 1, 0.0, 1, asked, "")
        about, redactor = About("abcd2345", "Login fails", "planning"), Redactor(("hunter2-token-0123456789",))
        addressees = Addressees("ops", entries.answering)
        told[answers[0]] = message_about(record, about, entries.webhooks["ops"], redactor, addressees).body.decode()
    assert "hunter2" not in told["hunter2-token-0123456789"]
    assert '"text":"none"' not in told["hunter2-token-0123456789"]
    assert "Answer on the page" in told["hunter2-token-0123456789"]
    assert '"text":"none"' in told["some"]


def buttons(**fields):
    request = question_asked(**fields)
    config = UserConfig.model_validate(CONFIG)
    record = Record("abcd2345", 1, 0.0, 1, request, "")
    about, addressees = About("abcd2345", "title", "planning"), Addressees("ops", config.answering)
    message = message_about(record, about, config.webhooks["ops"], Redactor(()), addressees)
    *texts, actions = json.loads(message.body)["blocks"]
    return texts, actions["elements"]


def choices(*values):
    listed = [{"value": value, "does": "The step goes on."} for value in values]
    return {"answer_schema": choice(list(values)), "choices": listed}


YES = {"answer_schema": YES_NO, "choices": choices("yes", "no")["choices"]}


@pytest.mark.parametrize(
    ("fields", "answers"),
    [
        (YES, ["yes", "no"]),
        (choices("SQLite", "Postgres"), ["SQLite", "Postgres"]),
        ({}, []),
        ({**YES, "for_people": True}, []),
        (choices("x" * LABEL_MAX, "y"), ["x" * LABEL_MAX, "y"]),
        (choices("x" * (LABEL_MAX + 1), "y"), []),
        (choices(*map(str, range(20))), [*map(str, range(20))]),
        (choices(*map(str, range(21))), []),
    ],
)
def test_a_question_has_a_button_for_each_short_answer_and_one_for_the_page(fields, answers):
    _, elements = buttons(**fields)
    pressed = [read_button(settings(), each["value"], 0.0) for each in elements if "value" in each]
    assert [each.answer for each in pressed] == [*answers, None]
    assert [each["text"]["text"] for each in elements] == [*answers, "Answer on the page", "Open Replan"]
    assert len({each.get("action_id") for each in elements}) == len(elements) <= 25
    assert all(len(each.get("value", "")) <= 2000 for each in elements)


def test_the_text_of_a_question_is_no_markup_and_is_cut():
    texts, _ = buttons(text=f"Is {HOSTILE} meant?")
    assert [each["text"]["type"] for each in texts] == ["plain_text"] * 2
    assert HOSTILE in texts[1]["text"]["text"]
    texts, _ = buttons(shown=f"first\n{'x' * 5000}")
    text = texts[1]["text"]["text"]
    assert text.startswith("Which one is meant?\nfirst\nxxx")
    assert len(text) == QUESTION_MAX + 1


def test_a_reply_is_for_one_person_replaces_nothing_and_is_no_markup():
    reply = slack_reply(HOSTILE, "https://replan.example.org/answer/x")
    assert (reply["response_type"], reply["replace_original"]) == ("ephemeral", False)
    assert "<" not in reply["text"]
    assert reply["blocks"][0]["text"] == {"type": "plain_text", "text": HOSTILE, "emoji": False}
    assert reply["blocks"][1]["elements"][0]["url"] == "https://replan.example.org/answer/x"


def test_a_message_of_teams_has_the_documented_form_and_only_actions_that_need_no_bot():
    ours = teams_message(HAPPENED["waiting"], "title", {"Open": "https://replan.example.org/open"})
    [attachment], [documented] = ours["attachments"], TEAMS["message"]["attachments"]
    assert ours["type"] == TEAMS["message"]["type"]
    assert {**attachment, "content": None} == {**documented, "content": None}
    fixed = ("$schema", "type", "version")
    assert [attachment["content"][key] for key in fixed] == [documented["content"][key] for key in fixed]
    assert {each["type"] for each in attachment["content"]["actions"]} <= set(TEAMS["supported_actions"])
