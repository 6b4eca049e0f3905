"""What is an instruction, and when the fragments of a paragraph in note form are demands."""

import pytest

from actors.demands.instructions import instructs
from actors.demands.reader import read_demands


@pytest.mark.parametrize(
    ("small", "found"),
    [
        ("never delete rows", True),
        ("never", False),
        ("do not delete rows", True),
        ("do it", True),
        ("do well", False),
        ("let's go", True),
        ("add and test it", True),
        ("add and", True),
        ("review or merge it", True),
        ("check or", False),
        ("reskin it in blue", True),
        ("hopefully it works", False),
        ("please add a filter", True),
        ("please", False),
        ("if the list is empty, show a hint", True),
        ("if the list is empty, it is grey", False),
        ("", False),
    ],
)
def test_a_sentence_that_begins_with_a_verb_is_an_instruction(small, found):
    assert instructs(small) is found


def quotes(text):
    return [demand.quote for demand in read_demands(text).demands]


def test_a_fragment_is_a_demand_where_most_sentences_of_its_paragraph_are_in_note_form():
    """In note form means here: without a capital. Half of them are not most."""
    notes = "please add a filter. should be fast. keep it simple."
    assert "Exports limited to 10,000 rows" in quotes(f"{notes} Exports limited to 10,000 rows.")
    half = "please add a filter. should be fast. The list sorted by date. Exports limited to 10,000 rows."
    assert "Exports limited to 10,000 rows" not in quotes(half)
