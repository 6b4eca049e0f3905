"""The page with all measurements: numbers of experiments come from tables, it is short, sections begin with plots."""

import re

import pytest

from tests.docs.blocks import ROOT
from tests.docs.test_pages import GENERATE
from tests.docs.test_plots import PLOTS, SHOWN

PAGE = ROOT / "docs" / "reference" / "measurements.md"
OTHERS = "\n## What others wrote\n"
"""The heading below which other numbers stand: those of test cases that others wrote have tests of their own."""
NAME = "reference/measurements"
WORDS_MAX = 700
PARAMETERS = re.compile(r"\b(?:10|20|30|50) calls\b|\b95 %")
"""Numbers that are no results: the caps, which are columns of the tables, and the level of the intervals."""
CELL = '[{}](../experiments/unsettled/equal_mean.csv "{}")'


def experiments():
    """Return the part of the page about the experiments."""
    text, heading, _ = PAGE.read_text(encoding="utf-8").partition(OTHERS)
    assert heading
    return text


def test_every_number_in_the_text_is_a_link_to_its_cell():
    """What the cell holds is compared by `test_generated_parts_are_current`; values of settings stand in code."""
    text = GENERATE.MARKED.sub("", experiments())
    text = GENERATE.experiments.NUMBER.sub("", text)
    text = re.sub(r"\]\([^)]*\)|`[^`]*`", "", text)
    text = PARAMETERS.sub("", " ".join(text.split()))
    assert re.findall(r".{0,40}\d.{0,20}", text) == []


def test_the_part_about_experiments_is_short_and_has_numbers():
    """A picture or a table shows a result; the text repeats only those that a reader acts on."""
    text = experiments()
    assert len(GENERATE.experiments.NUMBER.findall(text)) > 10
    assert len(text.split()) <= WORDS_MAX


def test_every_section_of_results_begins_with_its_plot():
    """Each section is about one experiment and has one plot."""
    sections = experiments().split("\n## ")[1:]
    assert [SHOWN.findall(section)[0] for section in sections] == sorted(PLOTS[NAME], key=experiments().index)
    assert all(re.match(r"[^\n]*\n\n!\[", section) for section in sections)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("base single: delta_success more", "42"),
        ("base single: delta_success", "+42"),
        ("base single: delta_low delta_high", "+33 to +52"),
        ("base single: success", "70 %"),
        ("base single: calls_mean", "12.4"),
    ],
)
def test_a_number_is_written_from_its_cell(cell, shown):
    written = GENERATE.experiments.numbers_from_tables(CELL.format("wrong", cell))
    assert written == CELL.format(shown, cell)


@pytest.mark.parametrize(
    ("cell", "cause"),
    [
        ("base single: delta_success less", "not less"),
        ("base nobody: success", "0 rows"),
        ("base: success", "7 rows"),
    ],
)
def test_a_number_without_one_cell_or_with_the_other_sign_is_an_error(cell, cause):
    with pytest.raises(ValueError, match=cause):
        GENERATE.experiments.numbers_from_tables(CELL.format("42", cell))
