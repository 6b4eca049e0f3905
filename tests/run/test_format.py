"""Amounts, times and counts in words, at their boundaries."""

import pytest

from actors.values.format import ago, format_chance, format_count, format_usage, moment, money, shorten, stamp, title_of
from runtime.core.ledger import Amount


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 calls"), (1, "1 call"), (2, "2 calls"), (1_000, "1,000 calls"), (-1, "-1 calls")]
)
def test_a_count_has_its_noun_in_the_right_number(number, text):
    assert format_count(number, "call") == text


@pytest.mark.parametrize(
    ("usd", "text"),
    [(None, "cost unknown"), (0, "$0.00"), (0.00004, "$0.0000"), (0.9999, "$0.9999"), (1, "$1.00"), (12.345, "$12.35")],
)
def test_money_has_the_cents_that_matter(usd, text):
    assert money(usd) == text


@pytest.mark.parametrize(
    ("chance", "text"),
    [
        (0, "under 1 in 200"),
        (0.03, "1 in 33"),
        (0.0999, "1 in 10"),
        (0.26, "1 in 4"),
        (0.41, "2 in 5"),
        (0.94, "9 in 10"),
        (0.95, "over 19 in 20"),
        (1, "over 19 in 20"),
    ],
)
def test_a_chance_is_a_fraction_that_people_can_imagine(chance, text):
    assert format_chance(chance) == text


def test_what_was_used_has_its_price_where_that_is_known():
    amount = Amount(calls=3, tokens=2_400, micro_usd=12_300)
    assert format_usage(amount, known=True) == "3 calls, 2,400 tokens, $0.0123"
    assert format_usage(amount, known=False) == "3 calls, 2,400 tokens"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0s"), (0, "0s"), (1, "1s"), (59.9, "59s"), (60, "1m"), (3_599, "59m"), (3_600, "1h"), (86_399, "23h"),
     (86_400, "1d"), (200_000, "2d")],
)  # fmt: skip
def test_how_long_ago_is_told_in_the_largest_unit_that_fits(seconds, text):
    assert ago(seconds) == text


def test_a_time_that_no_calendar_has_is_the_nearest_one():
    assert stamp(0.0) == stamp(-5.0) == "1970-01-01T00:00:00Z"
    assert stamp(1.9) == "1970-01-01T00:00:01Z"
    assert moment(1e18).year == 9999


@pytest.mark.parametrize(
    ("problem", "title"),
    [
        ("", ""),
        ("\n\n# The title #\nmore", "The title"),
        ("---\n**Bold   words**", "Bold words"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 79 + "…"),
        ("word " * 15 + "words", "word " * 15 + "words"),
        ("word " * 15 + "wordss", "word " * 14 + "word…"),
    ],
)
def test_a_title_is_the_first_line_with_words_cut_between_words(problem, title):
    assert title_of(problem) == title


@pytest.mark.parametrize(("text", "shown"), [("", ""), ("abcd", "abcd"), ("abcde", "abcde"), ("abcdef", "abcd…")])
def test_a_text_over_its_limit_is_cut_to_it(text, shown):
    assert shorten(text, 5) == shown
