"""The open questions of an artifact: texts, choices and types; data only, and of limited size."""

import pytest

from actors.values.answers import NUMBER, TEXT, YES_NO, choice, is_answer_schema
from actors.values.open_questions import CHOICE_LENGTH_MAX, CHOICES_MAX, questions_of

QUESTIONS = [
    ("Which?", None),
    ({"question": "Which?"}, TEXT),
    ({"question": "How many?", "type": "number"}, NUMBER),
    ({"question": "How many?", "type": "integer"}, {"type": "integer"}),
    ({"question": "Really?", "type": "yes_no"}, YES_NO),
    ({"question": "Which?", "choices": ["red", "blue", "red"]}, choice(["red", "blue"])),
    ({"question": "Which?", "type": "choice", "choices": ["red", "blue"]}, choice(["red", "blue"])),
    ({"question": "Which?", "type": "text", "choices": []}, TEXT),
    ({"question": "Really?", "type": "yes_no", "choices": []}, YES_NO),
]
INVALID = [
    (7, "field.type"),
    (None, "field.type"),
    ([], "field.type"),
    ({"text": "Which?"}, "field.type"),
    ({"question": ["Which?"]}, "field.type"),
    (" ", "field.empty"),
    ({"question": " "}, "field.empty"),
    ({"question": "Which?", "type": "regex"}, "field.choice"),
    ({"question": "Which?", "type": {"$ref": "http://else.where"}}, "field.choice"),
    ({"question": "Which?", "choices": ["red"]}, "field.choice"),
    ({"question": "Which?", "type": "choice", "choices": []}, "field.choice"),
    ({"question": "Which?", "choices": "red"}, "field.choice"),
    ({"question": "Which?", "choices": ["red", 7]}, "field.choice"),
    ({"question": "Which?", "choices": ["red", " blue"]}, "field.choice"),
    ({"question": "Which?", "choices": ["red", "x" * (CHOICE_LENGTH_MAX + 1)]}, "field.choice"),
    ({"question": "Which?", "choices": [str(n) for n in range(CHOICES_MAX + 1)]}, "field.choice"),
]


@pytest.mark.parametrize(("question", "schema"), QUESTIONS)
def test_a_question_is_a_finding_with_the_schema_of_its_answer(question, schema):
    (finding,) = questions_of([question])
    assert (finding.code, finding.where, finding.answer_schema) == (
        "requirements.open_question",
        "open_questions[0]",
        schema,
    )
    assert schema is None or is_answer_schema(schema)


@pytest.mark.parametrize(("question", "code"), INVALID)
def test_an_invalid_question_is_an_error_about_its_form(question, code):
    (finding,) = questions_of([question])
    assert (finding.code, finding.severity, finding.answer_schema) == (code, "error", None)


def test_questions_are_a_list():
    assert [finding.code for finding in questions_of("Which?")] == ["field.type"]
