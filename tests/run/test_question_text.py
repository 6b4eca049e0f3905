"""How an open question, and the verdict on a reply whose end is missing, are put into words."""

import pytest

from actors.execution.events import TroubleCause
from actors.run import open_question
from actors.run.calls import reject_cut_artifact, text_under_limit
from actors.run.ids import expiry_id
from actors.run.open_question import answer_deadline, question_parts
from actors.run.state import RunState
from actors.run.waits import WaitRequested
from actors.values.answers import NUMBER, TEXT
from actors.values.artifacts import Artifact
from actors.values.findings import ASKABLE, Code, Verdict
from actors.values.question_form import make_form
from runtime.core.ledger import Ledger, Limits
from tests.support.every_question import every_question
from tests.support.question_form import breaches

ASKED = {
    "text": "Which one?",
    "about": "The step a needs it.",
    "priority": "normal",
    "shown": "",
    "choices": [],
    "answer_schema": TEXT,
    "otherwise": "If you decline, the run ends.",
}
CHOICES = [{"value": "red", "does": "It is red."}, {"value": "blue", "does": "It is blue."}]
HEAD = [("Which one?", "bold"), ("The step a needs it.", "dim")]
END = [("If you decline, the run ends.", "dim")]


@pytest.mark.parametrize(
    ("fields", "numbered", "middle"),
    [
        ({}, False, []),
        ({"shown": "one\n\ntwo"}, False, [("| one", ""), ("|", ""), ("| two", "")]),
        ({"answer_schema": NUMBER}, False, [("Answer: a number.", "dim")]),
        (
            {"choices": CHOICES},
            False,
            [("- red: It is red.", ""), ("- blue: It is blue.", ""), ("Or answer in your own words.", "dim")],
        ),
        (
            {"choices": CHOICES, "answer_schema": {"enum": ["red", "blue"]}},
            True,
            [("1. red: It is red.", ""), ("2. blue: It is blue.", "")],
        ),
        ({"shown": "why", "artifact": "a\nb"}, False, [("| why", ""), ("| a", ""), ("| b", "")]),
    ],
)
def test_a_question_has_its_sentence_what_it_is_about_its_choices_and_what_happens_if_declined(
    fields, numbered, middle
):
    assert list(question_parts({**ASKED, **fields}, numbered=numbered)) == [*HEAD, *middle, *END]


def test_an_artifact_over_the_limit_is_cut_and_the_rest_is_counted(monkeypatch):
    monkeypatch.setattr(open_question, "ARTIFACT_CHARACTERS_MAX", 3)
    assert open_question.subject_lines({"shown": "", "artifact": "abc"}) == ["abc"]
    assert open_question.subject_lines({"shown": "", "artifact": "abcde"}) == ["abc", "... and 2 characters"]


def cut(finish_reason):
    return reject_cut_artifact(Artifact("a", "plan", "{", finish_reason=finish_reason), "g", 1_000)


def test_a_reply_that_was_cut_is_rejected_with_what_to_do_otherwise():
    [long] = cut("length").findings
    [filtered] = cut("content_filter").findings
    assert (long.code, filtered.code) == ("reply.cut", "reply.filtered")
    assert "at the limit of 1,000 tokens" in long.message
    assert (cut("length").guard, cut("length").passed, cut("length").score) == ("g", False, 0.0)
    assert "content filter" in filtered.message


def test_the_next_attempt_is_told_of_a_limit_that_was_raised_and_of_no_other():
    assert text_under_limit(cut("length"), 1_000) == ""
    assert "The limit is 1,001 tokens now." in text_under_limit(cut("length"), 1_001)
    assert text_under_limit(cut("content_filter"), 2_000) == ""
    assert text_under_limit(None, 2_000) == ""
    assert text_under_limit(Verdict(guard="g", facts={"output_tokens_max": "many"}), 2_000) == ""


@pytest.mark.parametrize(
    ("expiry", "deadline", "until"),
    [(None, None, None), (50.0, None, 50.0), (None, 70.0, 70.0), (50.0, 70.0, 50.0), (90.0, 70.0, 70.0)],
)
def test_the_earlier_of_expiry_and_deadline_counts(expiry, deadline, until):
    name = expiry_id("q1")
    waits = {} if expiry is None else {name: WaitRequested(request_id=name, until=expiry, why="q1 expires")}
    state = RunState(waits=waits, ledger=Ledger(Limits(deadline=deadline)))
    assert answer_deadline(state, "q1") == until


DRAWN = list(every_question())


@pytest.mark.parametrize("drawn", DRAWN, ids=[f"{each.part}: {each.when}" for each in DRAWN])
def test_every_question_of_shipped_parts_has_the_form(drawn):
    assert breaches(drawn.form) == []


def test_the_questions_of_every_trouble_and_of_every_code_that_is_asked_about_are_drawn():
    when = " ".join(each.when for each in DRAWN)
    assert [cause for cause in TroubleCause if cause.replace("_", " ") not in when] == []
    assert set(ASKABLE) == {Code.OPEN_QUESTION, Code.CONFLICT, Code.REQUIREMENT_MISSING, Code.AMBIGUOUS}
    assert len({each.part for each in DRAWN}) == 4


RIGHT = {"about": "It is about the step 'a'.", "otherwise": "the run ends."}


@pytest.mark.parametrize(
    ("text", "fields", "what"),
    [
        ("Which is it?", {}, ""),
        ("There are two. Which is it?", {}, "no single sentence"),
        ("What is to be done about g_plan/v1.a1?", {}, "no single sentence"),
        ("Why is it plan.cycle?", {}, "no single sentence"),
        ("What do you answer to the words below?", {}, "nothing is"),
        ("What do you answer to the words below?", {"shown": "Which one?"}, ""),
        ("Which is it?", {"about": "It."}, "what it is about"),
        ("Which is it?", {"otherwise": "."}, "if it is declined"),
    ],
)
def test_a_breach_of_the_form_is_named(text, fields, what):
    found = breaches(make_form(text, **(RIGHT | fields)))
    assert len(found) == bool(what)
    assert all(what in each for each in found)
