"""What an answer may be: each kind of question, what fits it, and why something else does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.guards.review import SCHEMA as REVIEW
from actors.values.answers import (
    ANSWER_MAX,
    NUMBER,
    TEXT,
    YES_NO,
    InvalidAnswer,
    answer_form,
    choice,
    describe_expected,
    is_answer_schema,
    normal_answer,
)

COLOURS = choice(["red", "Blue", "blue"])
LIST = {"type": "array", "items": {"type": "integer"}}
ALL = {"text": TEXT, "choice": COLOURS, "yes_no": YES_NO, "number": NUMBER, "json": LIST, "review": REVIEW}

FITS = [
    (TEXT, "  Python \n", "Python"),
    (TEXT, "half a \ud800 pair", "half a ? pair"),
    (COLOURS, "RED", "red"),
    (COLOURS, "blue", "blue"),
    (YES_NO, "Y", "yes"),
    (YES_NO, "false", "no"),
    (NUMBER, " 1e1", "10"),
    (NUMBER, "-0.5", "-0.5"),
    ({"type": "integer", "maximum": 9}, "7.0", "7"),
    (LIST, "[1, 2 ]", "[1,2]"),
    (REVIEW, "approve", "approve"),
    (REVIEW, "reject: no tests", "reject: no tests"),
]

MISFITS = [
    (TEXT, " ", "an answer must not be empty"),
    (TEXT, None, "an answer must be a string"),
    (TEXT, "x" * (ANSWER_MAX + 1), f"at most {ANSWER_MAX} characters"),
    (COLOURS, "green", "one of: red, Blue, blue, not 'green'"),
    (YES_NO, "perhaps", "yes or no, not 'perhaps'"),
    (NUMBER, "many", "a number, not 'many'"),
    (NUMBER, "nan", "a number, not 'nan'"),
    ({"type": "integer"}, "1.5", "a whole number, not '1.5'"),
    ({"type": "number", "minimum": 3}, "2", "a number, not '2'"),
    (LIST, "[1, true]", "does not fit at [1]"),
    (LIST, "[1", "not JSON"),
    (LIST, "[NaN]", "not JSON"),
    (LIST, "[" * 100_000, "not JSON"),
    (REVIEW, "reject:", "approve, or reject: and the reason"),
    (REVIEW, "approved", "approve, or reject: and the reason"),
]


@pytest.mark.parametrize(("schema", "text", "kept"), FITS)
def test_an_answer_that_fits_is_kept_in_one_spelling(schema, text, kept):
    assert normal_answer(schema, text) == kept


@pytest.mark.parametrize(("schema", "text", "why"), MISFITS)
def test_an_answer_that_does_not_fit_is_refused_with_the_reason(schema, text, why):
    with pytest.raises(InvalidAnswer) as refused:
        normal_answer(schema, text)
    assert why in refused.value.cause
    assert len(refused.value.cause) < 1_000


@pytest.mark.parametrize("schema", ALL.values(), ids=ALL)
@given(text=st.one_of(st.text(), st.sampled_from(["y", "RED", "3.0", "[1]", "approve", "reject: x", "1e400", '"a"'])))
def test_fitting_an_answer_again_changes_nothing(schema, text):
    """So the poster, the journal and the driver all see the same text, and a second sending is the same answer."""
    try:
        kept = normal_answer(schema, text)
    except InvalidAnswer:
        return
    assert normal_answer(schema, kept) == kept


def test_each_kind_of_question_is_told_apart_and_says_what_it_wants():
    assert [answer_form(schema) for schema in ALL.values()] == ["text", "choice", "yes_no", "number", "json", "text"]
    assert all(describe_expected(schema) for schema in ALL.values())


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1/schema"},
        {"allOf": [{"$ref": "#"}]},
        {"type": "sorcery"},
        {"enum": ["x" * 20_000]},
        {"minimum": float("nan")},
        {"type": {1}},
    ],
)
def test_a_schema_that_cannot_be_trusted_is_not_sound(schema):
    """No reference is followed: it could be any address. The question is asked as text then."""
    assert not is_answer_schema(schema)
    assert is_answer_schema({"type": "string", "enum": ["a", "b"]})
