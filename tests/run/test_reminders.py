"""What is done about a question that nobody answers: the first rule for it counts, and messages say what follows."""

import pytest

from actors.run.open_question import open_questions, question_json, question_parts
from actors.run.questions import Question
from actors.run.reminder_events import ReminderRule, Reminders, ReminderStep
from actors.run.reminders import add_reminders, describe_reminders, reminders_at_start, step_text
from actors.run.state import RunState
from runtime.core.ledger import Ledger, Limits
from tests.support.questions import question_asked

REMIND = ReminderStep(after_seconds=10.0)
ASK_BOB = ReminderStep(after_seconds=20.0, ask=("bob",))
RULES = (
    ReminderRule(questions="approvals", ask=("ana",), steps=(REMIND, ASK_BOB)),
    ReminderRule(questions="ordinary", steps=(REMIND,)),
    ReminderRule(steps=(ASK_BOB,)),
)


def run(rules=RULES, deadline=None):
    return RunState("run", now=100.0, ledger=Ledger(Limits(deadline=deadline)), reminders=rules)


def test_the_first_rule_that_is_for_a_question_counts():
    ordinary, approval = question_asked(), question_asked(for_people=True)
    assert add_reminders(ordinary, run(), None).reminders == Reminders(steps=(REMIND,))
    assert add_reminders(approval, run(), None).reminders == Reminders(ask=("ana",), steps=(REMIND, ASK_BOB))
    review = question_asked(review=True)
    assert add_reminders(review, run(), None).reminders.ask == ("ana",)
    assert add_reminders(ordinary, run(RULES[2:]), None).reminders.steps == (ASK_BOB,)
    assert add_reminders(ordinary, run(RULES[:1]), None) is ordinary


@pytest.mark.parametrize(
    ("deadline", "expires", "until", "ending"),
    [
        (None, None, None, ""),
        (None, 50.0, 150.0, "expiry"),
        (120.0, 50.0, 120.0, "deadline"),
        (150.0, 50.0, 150.0, "expiry"),
        (120.0, None, 120.0, "deadline"),
    ],
)
def test_what_ends_an_unanswered_question_first_is_recorded(deadline, expires, until, ending):
    reminders = add_reminders(question_asked(), run(deadline=deadline), expires).reminders
    assert (reminders.until, reminders.ending) == (until, ending)


def test_a_message_says_what_happens_next():
    assert step_text(()) == "a reminder is sent"
    assert step_text(("ana",)) == "ana is asked"
    assert step_text(("ana", "bob", "eve")) == "ana, bob and eve are asked"
    next_one = "If nobody answers by 1970-01-01T00:00:20Z, bob is asked."
    expiry = "If nobody answers, the question expires at 1970-01-01T00:00:30Z; its page says what the run does then."
    deadline = "If nobody answers, the run ends at its deadline, 1970-01-01T00:00:30Z."
    assert describe_reminders(20.0, ("bob",), 30.0, "expiry") == f"{next_one} {expiry}"
    assert describe_reminders(20.0, ("bob",), 30.0, "deadline") == f"{next_one} {deadline}"
    assert describe_reminders(40.0, ("bob",), 30.0, "deadline") == deadline
    assert describe_reminders(20.0, ("bob",), None, "") == next_one
    assert describe_reminders(None, (), None, "") == "Nobody else is asked: the run waits until somebody answers."
    assert reminders_at_start(Reminders(ask=("ana",), steps=(ASK_BOB,)), 0.0) == next_one


def test_an_open_question_shows_who_is_asked_and_what_follows():
    asked = question_asked(reminders=Reminders(ask=("ana",), steps=(REMIND, ASK_BOB)))
    shown = question_json("run", Question(asked, 0.0))
    assert shown["asked_people"] == ["ana"]
    assert shown["follows"] == [
        {"at": "1970-01-01T00:00:10Z", "ask": []},
        {"at": "1970-01-01T00:00:20Z", "ask": ["bob"]},
    ]
    lines = [text for text, _ in question_parts(shown)]
    assert lines[-3:] == [
        "Asked: ana.",
        "If nobody answers by 1970-01-01T00:00:10Z, a reminder is sent.",
        "If nobody answers by 1970-01-01T00:00:20Z, bob is asked.",
    ]
    run = RunState("run", questions={"q1": Question(asked, 0.0)}, ledger=Ledger(Limits(deadline=15.0)))
    assert [step["at"] for step in open_questions(run)[0]["follows"]] == ["1970-01-01T00:00:10Z"]
    later = question_json("run", Question(asked, 0.0, steps_done=2))
    assert later["asked_people"] == ["ana", "bob"]
    assert "follows" not in later
    assert not {"asked_people", "follows"} & set(question_json("run", Question(question_asked(), 0.0)))
