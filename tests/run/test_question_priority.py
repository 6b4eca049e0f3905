"""The priority of questions: which ones have another than normal, and how a list is ordered by it."""

import json

import pytest

from actors.run.agent import Ask
from actors.run.open_question import decode_questions, in_order, question_json, question_parts
from actors.run.questions import ClarificationRequested, Question
from actors.values.question_form import PRIORITIES
from tests.support.every_question import every_question
from tests.support.questions import question_asked

NOT_NORMAL = {
    "a step has `review`": "high",
    "a step wants an approval": "high",
    "a call broke off": "high",
    "a call broke off, and may still be running": "high",
}


def test_approvals_and_broken_calls_are_high():
    found = {drawn.when: drawn.form.priority for drawn in every_question() if drawn.form.priority != "normal"}
    assert found == NOT_NORMAL


@pytest.mark.parametrize("priority", PRIORITIES)
def test_an_agent_chooses_the_priority_of_its_question(priority):
    form = Ask("sale", "Is the price right?", priority=priority).form
    assert form.priority == priority
    shown = question_json("k7m2x9qa", Question(question_asked(**form.form), 0.0))
    assert shown["priority"] == priority
    texts = [text for text, _ in question_parts(shown)]
    assert (f"Priority: {priority}." in texts) == (priority != "normal")


def test_a_question_that_was_stored_without_a_priority_is_normal():
    stored = question_asked().model_dump(mode="json")
    del stored["priority"]
    assert ClarificationRequested.model_validate_json(json.dumps(stored)).priority == "normal"
    [row] = decode_questions(b'[{"id":"k7m2x9qa/q1","asked":"2026-11-24T00:00:00Z"}]')
    assert row["priority"] == "normal"


def test_the_highest_priority_comes_first_and_then_the_question_that_has_waited_longest():
    times = {"b": ("low", "01"), "c": ("normal", "03"), "d": ("normal", "02"), "e": ("high", "05"), "f": ("high", "04")}
    listed = [{"id": name, "priority": priority, "asked": asked} for name, (priority, asked) in times.items()]
    assert "".join(each["id"] for each in in_order(listed)) == "fedcb"
