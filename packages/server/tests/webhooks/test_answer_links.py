"""A link says who may answer which question until when, and no other text passes for one."""

import base64
import random

import pytest
from pydantic import ValidationError

from packages.server.tests.webhooks.conftest import secret
from replan_server.notifications import Answering, AnswerLinks, PersonEntry
from replan_server.settings import ServerSettings
from replan_server.webhooks.answer_links import (
    CONFIRM_SECONDS,
    AnswerLink,
    LinkRefused,
    check_person,
    confirmation,
    is_confirmed,
    read_link,
    sign_link,
)

ANA = AnswerLink("ana", "abcd2345/q1", 1000)


def answering(*numbers):
    people = {
        "ana": PersonEntry(webhooks=("ops",)),
        "bob": PersonEntry(webhooks=("ops",), may="approve"),
    }
    return Answering(people, AnswerLinks.model_validate({"secrets": [secret(number) for number in numbers or (1,)]}))


def test_a_link_is_read_back_until_it_ends():
    token = sign_link(answering(), ANA)
    assert read_link(answering(), token, 999.0) == ANA
    with pytest.raises(LinkRefused, match="expired"):
        read_link(answering(), token, 1000.0)


def test_every_changed_character_and_every_forged_text_is_refused():
    token = sign_link(answering(), ANA)
    dice = random.Random(7)
    forged = [token[:place] + chr(dice.randrange(33, 127)) + token[place + 1 :] for place in range(len(token))]
    payload, _, mac = token.partition(".")
    other = base64.urlsafe_b64encode(b'["bob","abcd2345/q1",1000]').decode().rstrip("=")
    forged += [
        "",
        ".",
        payload,
        f"{payload}.",
        f".{mac}",
        f"{other}.{mac}",
        f"{token}=",
        f"{token}.x",
        "é" * 30,
        token * 50,
    ]
    for text in forged:
        if text != token:
            with pytest.raises(LinkRefused, match="not made by this server"):
                read_link(answering(), text, 1.0)
    with pytest.raises(LinkRefused):
        read_link(None, token, 1.0)


def test_a_replaced_secret_is_read_until_it_is_taken_out():
    token = sign_link(answering(1), ANA)
    assert read_link(answering(2, 1), token, 1.0) == ANA
    with pytest.raises(LinkRefused):
        read_link(answering(2), token, 1.0)
    assert sign_link(answering(2, 1), ANA) == sign_link(answering(2), ANA)


def test_a_person_answers_what_the_settings_say_now():
    check_person(answering(), ANA, people_only=False)
    check_person(answering(), AnswerLink("bob", ANA.question, 1000), people_only=True)
    with pytest.raises(LinkRefused, match="ana may not answer"):
        check_person(answering(), ANA, people_only=True)
    with pytest.raises(LinkRefused, match="eve may not answer"):
        check_person(answering(), AnswerLink("eve", ANA.question, 1000), people_only=False)
    check_person(answering(), ANA, people_only=False, asked=("bob", "ana"))
    with pytest.raises(LinkRefused, match="ana has not been asked this question"):
        check_person(answering(), ANA, people_only=False, asked=("bob",))


def test_a_confirmation_is_of_one_answer_through_one_link_for_some_minutes():
    token = sign_link(answering(), ANA)
    given = confirmation(answering(), token, "approve", 10.0)
    assert is_confirmed(answering(), token, "approve", given, 10.0 + CONFIRM_SECONDS - 1)
    assert not is_confirmed(answering(), token, "approve", given, 10.0 + CONFIRM_SECONDS)
    assert not is_confirmed(answering(), token, "reject: no", given, 11.0)
    assert not is_confirmed(answering(), sign_link(answering(), AnswerLink("bob", "a/q1", 9)), "approve", given, 11.0)
    for text in ("", "99999.", f"9{given}", "x.y", token, "٣.x"):
        assert not is_confirmed(answering(), token, "approve", text, 11.0)


HOOK = {"url": "http://127.0.0.1:1/", "secrets": [secret(1)]}
LINKS = {"secrets": [secret(2)]}


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ({"people": {"ana": {"webhooks": ["ops"]}}, "webhooks": {"ops": HOOK}}, "the answer links need secrets"),
        ({"people": {"ana": {"webhooks": ["it"]}}, "answer_links": LINKS}, "there is no webhook 'it'"),
        ({"people": {"ana": {"webhooks": ["ops"]}}, "answer_links": LINKS, "webhooks": {"ops": HOOK}}, "needs a page"),
        ({"answer_links": {"secrets": ["short"]}}, "not have the form"),
        ({"answer_links": {**LINKS, "hours": 0}}, "greater than or equal to 1"),
        ({"people": {"Ana B": {"webhooks": ["ops"]}}}, "should match pattern"),
    ],
)
def test_settings_of_people_that_cannot_work_are_refused(settings, cause):
    with pytest.raises(ValidationError, match=cause):
        ServerSettings.model_validate(settings)
