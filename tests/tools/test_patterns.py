"""Patterns of the user: matched in linear time, and refused before they are used where they are wrong."""

import time

import pytest

from actors.tools.parameters import matches_all, matches_line, pattern_problem


@pytest.mark.parametrize("pattern", ["(", "a)(b", "(?=x)", r"(a)\1", "x{1000}{1000}{1000}", "(?x)a # b"])
def test_what_is_no_pattern_is_refused(pattern):
    assert pattern_problem(pattern).startswith("is no regular expression: ")


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
