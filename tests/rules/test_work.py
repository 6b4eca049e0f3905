"""The work on a long problem is bounded: calls of functions are counted, so that no test depends on the machine."""

import cProfile
import time

import pytest

from actors.demands import reader
from actors.rules import text as text_module
from actors.rules.text import READ_LENGTH_MAX, READ_LINES_MAX, beginnings
from tests.rules.author import ask, read

MIB = 1024 * 1024
PART = 8
"""The reading is linear, so it is tried with an eighth of what is read at most."""
CALLS_MAX = 700_000
"""Calls that the reading of one text of that length may make."""
SHAPES = """a$|a$$|- x$|# a$|```$a$```$|Abc. |. A|It must x. |a/b.py |`a` |  File "a.py", line 3, in f$"""


@pytest.fixture
def _short(monkeypatch):
    """Read less of each text."""
    for module in (reader, text_module):
        for name in ("READ_LENGTH_MAX", "READ_LINES_MAX", "SENTENCES_MAX"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, getattr(module, name) // PART)


def calls(text, **material):
    """Return how many functions are called while a text is read, built-in ones included."""
    profile = cProfile.Profile()
    profile.enable()
    try:
        read(text, **material)
    finally:
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize("shape", SHAPES.replace("\n", "").replace("$", "\n").split("|"))
def test_a_text_of_a_megabyte_costs_no_more_than_what_is_read_of_it(shape):
    """F10: 1 MiB of lines with one letter cost 12 s."""
    assert calls(shape * (MIB // len(shape))) <= CALLS_MAX


@pytest.mark.parametrize("shape", [".", ",", "1", "1.", "ram ", "for ", "9 per "])
def test_a_run_of_digits_and_dots_is_searched_once(shape):
    """Twenty thousand dots took four seconds in one search for measured times."""
    started = time.process_time()
    read(shape * (READ_LENGTH_MAX // len(shape)))
    assert time.process_time() - started < 4


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize("shape", ["a\n", "It must x. "])
def test_a_longer_text_costs_no_more(shape):
    # No other test reads these texts, so no reading is shared, whatever the order of the tests.
    first, second = (calls(f"It is long.\n{shape * (size // len(shape))}") for size in (MIB, 2 * MIB))
    assert second <= first * 1.01


@pytest.mark.usefixtures("_short")
def test_many_messages_of_the_user_cost_no_more_than_one_long_text():
    assert calls("It fails.", notes=("a\n" * 5000,) * 100) <= CALLS_MAX


def test_the_steps_of_a_run_share_the_reading_of_its_text():
    text = "The export must write all rows. " * 500
    first = calls(text)
    assert calls(text) < first / 100


def test_characters_and_lines_are_limited():
    long, many = "x" * (READ_LENGTH_MAX + 1), "a\n" * (READ_LINES_MAX + 1)
    assert beginnings((long, "more")) == (long[:-1], "")
    assert beginnings((many, "more")) == (many[:-2], "")
    assert beginnings(("one\ntwo", "", "three")) == ("one\ntwo", "", "three")


def test_the_answer_after_a_long_problem_is_read():
    """The problem and what its user has added have limits of their own."""
    text = "It is bad.\n" * 40_000
    assert "src/a.py" in read(text, notes=("It happens in src/a.py.",)).facts.files


def test_the_plan_says_that_lines_were_not_read():
    text = "The export in src/a.py raises KeyError.\n" + "\n" * READ_LINES_MAX
    assert "Only the first 200,000 characters or 10,000 lines of the text were read." in ask("plan", text)["basis"]
    assert "lines of the text" not in ask("plan", text.rstrip())["basis"]
