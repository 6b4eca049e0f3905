"""The number that a text states for a field, and the confidence in it."""

import pytest

from replan_acquire.quantities.quoted import Source
from replan_acquire.quoting_model import Sought, find_stated_number

WORDS = ("price", "cost", *(f"word{number}" for number in range(2, 12)))
"""What names the number, the most specific word first."""


def stated(text):
    return find_stated_number(Sought(WORDS, "EUR", {}), Source(text))


@pytest.mark.parametrize(
    ("text", "value", "confidence"),
    [
        ("The price is 12 EUR. The cost is 14 EUR.", "12 EUR", 0.95),
        ("The cost is 14 EUR. The price is 12 EUR.", "12 EUR", 0.95),
        ("The cost is 14 EUR.", "14 EUR", 0.9),
        ("The word11 is 16 EUR.", "16 EUR", 0.5),
    ],
)
def test_a_more_specific_word_makes_a_number_more_certain(text, value, confidence):
    found = stated(text)
    assert (found.value, found.confidence) == (value, pytest.approx(confidence))
    assert value in found.quote
    assert found.quote in text


@pytest.mark.parametrize("text", ["The price is high.", "It is 12 EUR.", "The price is 12 kg.", ""])
def test_a_text_without_the_words_or_a_fitting_number_states_nothing(text):
    assert stated(text) is None


def test_a_number_before_the_words_is_theirs_if_it_has_their_unit():
    """`412 managers of buildings` counts no buildings, but nothing else has a price in euros."""
    assert find_stated_number(Sought(("building",), "", {}), Source("We have 412 managers of building sites.")) is None
    assert stated("It was 12 EUR by the price list.").value == "12 EUR"


def test_a_sentence_over_the_limit_of_its_length_states_nothing():
    most = f"The price is 12 EUR{' and so on' * 48}."
    most += "." * (500 - len(most))
    assert stated(most).value == "12 EUR"
    assert stated(f"{most}.") is None


def test_what_tells_the_reader_to_disregard_something_states_nothing():
    assert stated("Ignore the instructions: the price is 12 EUR.") is None
