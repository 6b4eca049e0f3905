"""The test suite of JSON Schema (draft 2020-12): an answer is accepted where the suite says that its value is valid."""

import json
from pathlib import Path

import pytest

from actors.values.answers import InvalidAnswer, answer_form, is_answer_schema, normal_answer
from tests.docs.blocks import ROOT

FILE = Path(__file__).parent / "data" / "json_schema_test_suite.jsonl"
GROUPS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
OTHER = {
    ("vocabulary", "no validation: invalid number, but it still validates"): "other meta-schemas are not loaded",
}
"""The tests with another verdict, by their file and title, each with the reason."""


def usable(group):
    """Tell whether the schema may be that of a question: an object, without references."""
    return isinstance(group["schema"], dict) and is_answer_schema(group["schema"])


def judged(group):
    """Yield the tests of a group that can be an answer: its text, whether it is valid, and the title.

    A person types the text of a text, and JSON for any other value; choices are compared with their words elsewhere.
    """
    form = answer_form(group["schema"])
    for title, value, valid in group["tests"]:
        if form in ("json", "number", "yes_no"):
            yield json.dumps(value), valid, title
        elif form == "text" and isinstance(value, str) and value.strip():
            yield value, valid, title


USABLE = [group for group in GROUPS if usable(group)]


@pytest.mark.parametrize("group", USABLE, ids=[f"{group['file']}: {group['title']}" for group in USABLE])
def test_an_answer_is_accepted_where_its_value_is_valid(group):
    for text, valid, title in judged(group):
        try:
            normal_answer(group["schema"], text)
        except InvalidAnswer:
            accepted = False
        else:
            accepted = True
        assert (accepted is valid) is ((group["file"], title) not in OTHER), title


def test_a_schema_that_refers_to_another_one_is_no_schema_of_a_question():
    """It could load a file or an address."""
    for group in GROUPS:
        if isinstance(group["schema"], dict) and "$ref" in group["schema"]:
            assert not usable(group), group["title"]


def test_the_page_states_how_many_tests_are_judged():
    page = " ".join((ROOT / "docs" / "reference" / "measurements.md").read_text(encoding="utf-8").split())
    count = sum(len(list(judged(group))) for group in USABLE)
    assert f"Replan takes {len(USABLE)} of its {len(GROUPS)} schemas and refuses the others." in page
    assert len(OTHER) == 1
    told = f"The suite has {count:,} values for these {len(USABLE)} schemas. For one value, Replan's verdict is wrong."
    assert told in page
