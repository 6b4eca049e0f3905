"""Reminders and escalations are told once, to those who are asked, with links and with what happens next."""

import json

import pytest
from pydantic import ValidationError

from actors.run.questions import ClarificationAnswered
from actors.run.reminder_events import ClarificationEscalated, ClarificationReminded, Reminders, ReminderStep
from packages.server.tests.web.world import served
from packages.server.tests.webhooks.conftest import secret
from packages.server.tests.webhooks.test_delivery import until
from replan_server.settings import ServerSettings
from replan_server.telemetry.spans import spans_of
from replan_server.webhooks.messages import About, Webhook, message_about, without_closed
from runtime.core.events import Record
from runtime.logs.redact import Redactor
from tests.support.questions import question_asked
from tests.support.receiver import receiving

PAGE = "https://replan.example.org"
HOOKS = {
    name: {"url": "https://hooks.example.org", "secrets": [secret(1)], "page": PAGE} for name in ("ops", "boss", "log")
}
PEOPLE = {"ana": {"webhooks": ["ops"]}, "bob": {"webhooks": ["boss"], "may": "approve"}}
RULE = {"ask": ["ana"], "questions": "ordinary", "steps": [{"after": "4h"}, {"after": "1d", "ask": ["bob"]}]}
SETTINGS = {"webhooks": HOOKS, "people": PEOPLE, "answer_links": {"secrets": [secret(2)]}, "reminders": [RULE]}
REMINDERS = Reminders(
    ask=("ana",), steps=(ReminderStep(after_seconds=10.0), ReminderStep(after_seconds=20.0, ask=("bob",)))
)
ABOUT = About("abcd2345", "Login fails", "planning")
FIRST = {"question_id": "q1", "steps_done": 1, "asked": ("ana",), "next_at": 20.0, "next_ask": ("bob",)}
SECOND = {"question_id": "q1", "steps_done": 2, "asked": ("ana", "bob"), "added": ("bob",)}


def record(event, seq=1):
    return Record("abcd2345", seq, 0.0, 1, event, "")


def told(event, hook):
    config = ServerSettings.model_validate(SETTINGS)
    webhook = Webhook(hook, config.webhooks[hook], config.answering)
    message = message_about(record(event), ABOUT, webhook, Redactor(()))
    return None if message is None else json.loads(message.body)["data"]


def test_those_who_are_asked_get_links_and_others_are_not_told():
    asked = question_asked(reminders=REMINDERS)
    reminded, escalated = ClarificationReminded(**FIRST), ClarificationEscalated(**SECOND)
    rows = [(asked, "asked", ["ana"]), (reminded, "reminder", ["ana"]), (escalated, "escalation", ["ana", "bob"])]
    for event, asking, people in rows:
        data = {hook: told(event, hook) for hook in HOOKS}
        for hook, person in (("ops", "ana"), ("boss", "bob")):
            assert (data[hook] is not None) == (person in people)
            if data[hook] is not None:
                assert list(data[hook]["answer_links"]) == [person]
        assert data["log"]["asking"] == asking  # Nobody's own channel: it is told of everything, without links.
        assert data["log"]["asked_people"] == people
        assert data["log"]["question"] == "abcd2345/q1"
        assert "answer_links" not in data["log"]
    assert told(reminded, "ops")["follows"] == "If nobody answers by 1970-01-01T00:00:20Z, bob is asked."
    assert told(asked, "ops")["follows"] == "If nobody answers by 1970-01-01T00:00:10Z, a reminder is sent."
    assert told(escalated, "ops")["follows"] == "Nobody else is asked: the run waits until somebody answers."
    assert "follows" not in told(question_asked(), "ops")


def test_approvals_have_links_of_those_who_may_approve():
    reminded = ClarificationReminded(**FIRST, for_people=True)
    assert "answer_links" not in told(reminded, "ops")


def test_a_reminder_of_a_question_that_is_closed_by_now_is_not_told():
    reminded, escalated = ClarificationReminded(**FIRST), ClarificationEscalated(**SECOND)
    answered = ClarificationAnswered(question_id="q1", answer="x", at=1.0)
    other = ClarificationReminded(**{**FIRST, "question_id": "q2"})
    events = [question_asked(reminders=REMINDERS), reminded, other, escalated, answered]
    kept = without_closed([record(event, seq) for seq, event in enumerate(events, 1)])
    assert [each.seq for each in kept] == [1, 3, 5]


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({**RULE, "ask": ["eve"]}, "there is no person 'eve'"),
        ({**RULE, "questions": "all"}, "'ana' has no right to answer approvals"),
        ({**RULE, "ask": []}, "a step asks further people"),
        ({**RULE, "steps": []}, "at least 1"),
        ({**RULE, "steps": [{"after": "1d"}, {"after": "4h"}]}, "not in the order of their times"),
        ({**RULE, "steps": [{"after": "1d", "ask": ["ana"]}]}, "'ana' was asked before"),
        ({**RULE, "steps": [{"after": "soon"}]}, "not a length of time"),
        ({**RULE, "steps": [{"after": True}]}, "not a length of time"),
        ({**RULE, "ask": ["ana", "ana"]}, "the list has the same name twice"),
        ({**RULE, "steps": [{"after": 0}]}, "greater than 0"),
        ({**RULE, "steps": [{"after": "99999d"}]}, "should be at most 366d, not '99999d'"),
        ({**RULE, "steps": [{"after": 1e9}]}, "should be at most 366d, not 1000000000.0"),
        ({**RULE, "steps": [{"after": "nan"}]}, "not a length of time"),
        ({**RULE, "steps": [{"after": float("nan")}]}, "finite number"),
    ],
)
def test_a_rule_that_cannot_be_followed_is_refused(rule, says):
    with pytest.raises(ValidationError, match=says):
        ServerSettings.model_validate({**SETTINGS, "reminders": [rule]})


@pytest.mark.parametrize("scopes", [("all", "ordinary"), ("ordinary", "ordinary"), ("ordinary", "approvals", "all")])
def test_an_entry_that_earlier_ones_hide_is_refused(scopes):
    rules = [{"questions": scope, "steps": [{"after": "4h"}]} for scope in scopes]
    assert len(ServerSettings.model_validate({**SETTINGS, "reminders": rules[:-1]}).reminders) == len(scopes) - 1
    with pytest.raises(ValidationError, match="earlier rules already apply to all questions of this rule"):
        ServerSettings.model_validate({**SETTINGS, "reminders": rules})


async def test_an_unanswered_question_is_told_again_and_to_the_next_person_who_may_then_answer(tmp_path, quick):
    with receiving() as ana, receiving() as bob:
        hooks = {"ops": {**HOOKS["ops"], "url": ana.url}, "boss": {**HOOKS["boss"], "url": bob.url}}
        rule = {**RULE, "steps": [{"after": 0.5}, {"after": 1.5, "ask": ["bob"]}, {"after": 600}]}
        settings = {key: value for key, value in {**SETTINGS, "reminders": [rule]}.items() if key != "webhooks"}
        async with served(tmp_path, webhooks=hooks, settings=settings) as web:
            run = await web.start()
            await until(lambda: len(ana.taken) == 3 and len(bob.taken) == 1)
            assert [each.data["asking"] for each in ana.taken] == ["asked", "reminder", "escalation"]
            [escalated] = bob.taken
            path = escalated.data["answer_links"]["bob"].removeprefix(PAGE)
            page = await web.client.get(path)
            assert "Asked: ana, bob." in page.text
            [shown] = (await web.client.get(f"/api/runs/{run}/questions", headers=web.token())).json()["questions"]
            assert shown["asked_people"] == ["ana", "bob"]
            assert len(shown["follows"]) == 1
            told = (await web.browser.get(f"/runs/{run}/records")).text
            assert "question q1 is not answered: a reminder is sent" in told
            assert "question q1 is not answered: bob is asked" in told
            await web.engine.answer(f"{run}/q1", "3.12", via="link", person="bob")
            await web.settled(run, "finished")
            loaded = await web.engine.read(run)
    records = [each.event.kind for each in loaded.records]
    spans = spans_of(loaded.kind, loaded.records)
    assert {"reminded", "escalated"} <= {span.name for span in spans}
    [question] = [span for span in spans if span.name == "ask_person"]
    assert (question.attributes["replan.via"], question.attributes["replan.person"]) == ("link", "bob")
    assert records.count("clarification_reminded") == records.count("clarification_escalated") == 1
