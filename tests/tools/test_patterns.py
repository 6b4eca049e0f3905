"""Patterns of the user: matched in linear time, and refused before they are used where they are wrong."""

import time

import pytest

from actors.tools.output_parsing import ValueSource, find_values, outcome_of
from actors.tools.parameters import matches_all, matches_line, pattern_problem


@pytest.mark.parametrize("pattern", ["(", "a)(b", "(?=x)", r"(a)\1", "x{1000}{1000}{1000}", "(?x)a # b"])
def test_what_is_no_pattern_is_refused(pattern):
    assert pattern_problem(pattern).startswith("is not a regular expression: ")


def test_a_whole_text_or_a_line_of_it_matches():
    assert matches_all("a|b", "a")
    assert not matches_all("a|b", "ab")
    assert not matches_all("[a-z]+", "a\n")
    assert matches_line("^FAIL", "fine\nFAILED x")
    assert not matches_line("^FAIL$", "fine\nFAILED x")


def test_no_text_makes_a_pattern_slow():
    """Python's own `re` needs more than a minute for 30 of these letters."""
    before = time.process_time()
    assert not matches_line("^(a+)+$", "a" * 1_000_000 + "!")
    assert time.process_time() - before < 1


LINE_ENDS = ["\n", "\r\n", "\r", "\r\r\n"]


@pytest.mark.parametrize("end", LINE_ENDS)
def test_every_end_of_a_line_is_one_for_failures_outcomes_and_values(end):
    """Windows ends lines with CR LF, a progress bar redraws with CR, and some programs mix them."""
    output = end.join(["10%", "50%", "FAILED", "id: D7", ""])
    assert matches_line("^FAILED$", output)
    assert matches_line("^50%$", output)
    assert not matches_line("10%.", output)
    assert outcome_of({"other": "^id: D$", "found": "^id: {id}$"}, output, {"id": "D7"}) == "found"
    sources = {"id": ValueSource(after="id: ", pattern=".*"), "first": ValueSource(pattern=".*")}
    assert find_values(sources, ["id", "first"], output).values == (("first", "10%"), ("id", "D7"))
