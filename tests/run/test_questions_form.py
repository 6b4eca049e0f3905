"""Every question that shipped parts can ask has the form, and a question that breaks it is noticed."""

import pytest

from actors.execution.events import TroubleCause
from actors.values.findings import ASKABLE, Code
from actors.values.question_form import make_form
from tests.support.every_question import every_question
from tests.support.question_form import breaches

DRAWN = list(every_question())


@pytest.mark.parametrize("drawn", DRAWN, ids=[f"{each.part}: {each.when}" for each in DRAWN])
def test_every_question_of_shipped_parts_has_the_form(drawn):
    assert breaches(drawn.form) == []


def test_the_questions_of_every_trouble_and_of_every_code_that_is_asked_about_are_drawn():
    when = " ".join(each.when for each in DRAWN)
    assert [cause for cause in TroubleCause if cause.replace("_", " ") not in when] == []
    assert set(ASKABLE) == {Code.OPEN_QUESTION, Code.CONFLICT, Code.REQUIREMENT_MISSING, Code.AMBIGUOUS}
    assert len({each.part for each in DRAWN}) == 6


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
        ("Which is it?", {"otherwise": "."}, "without an answer"),
    ],
)
def test_a_breach_of_the_form_is_named(text, fields, what):
    found = breaches(make_form(text, **(RIGHT | fields)))
    assert len(found) == bool(what)
    assert all(what in each for each in found)
