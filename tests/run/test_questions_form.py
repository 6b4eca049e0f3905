"""Every question that shipped parts can ask, and every one of a recorded history, has the form."""

import re
from pathlib import Path

import pytest

from actors.execution.events import Cause
from actors.values.answers import kind_of, options_of
from actors.values.asked import WITHOUT
from actors.values.findings import ASKABLE, Code
from tests.support.every_question import every_question

DRAWN = list(every_question())
HISTORIES = Path(__file__).parents[1] / "histories"
CODES = re.compile(r"\b(" + "|".join(re.escape(code) for code in Code) + r")\b")
NODE = re.compile(r"\b\w+/(r\d+\.)?v\d+\.a\d+\b")
ASKED = re.compile(
    r"^(?:review   |question )\s*q\d+ (?:about [^:]+: (?P<said>'.*?'|\".*?\")(?:, |$)|\([^)]*\): (?P<text>.*))",
    re.MULTILINE,
)


@pytest.mark.parametrize("drawn", DRAWN, ids=[f"{each.part}: {each.when}" for each in DRAWN])
def test_every_question_of_shipped_parts_has_the_form(drawn):
    form = drawn.form
    assert one_question(form.text)
    assert form.about.endswith(".")
    assert form.otherwise.startswith(WITHOUT)
    assert form.otherwise.endswith(".")
    finite = {"choice": options_of, "yes_no": lambda _: ["yes", "no"]}.get(kind_of(form.answer_schema))
    if finite is not None:
        assert [choice.value for choice in form.choices] == finite(form.answer_schema)
    assert all(choice.value and choice.does.endswith(".") for choice in form.choices)


def one_question(text):
    """Return whether a text is one line that asks, without the names of codes and nodes."""
    return text.endswith("?") and "\n" not in text and not CODES.search(text) and not NODE.search(text)


def test_the_questions_of_every_trouble_and_of_every_code_that_is_asked_about_are_drawn():
    when = " ".join(each.when for each in DRAWN)
    assert [cause for cause in Cause if cause.replace("_", " ") not in when] == []
    assert set(ASKABLE) == {Code.OPEN_QUESTION, Code.CONFLICT, Code.REQUIREMENT_MISSING, Code.AMBIGUOUS}
    assert len({each.part for each in DRAWN}) == 6


def test_every_question_of_a_history_is_one_sentence_that_asks():
    asked = []
    for path in sorted(HISTORIES.glob("**/*.txt")):
        for match in ASKED.finditer(path.read_text(encoding="utf-8").partition("----")[2]):
            text = match["text"] or match["said"][1:-1].partition("\\n")[0]
            asked.append((path.name, text.strip()))
    assert len(asked) > 30
    assert [each for each in asked if not one_question(each[1])] == []
