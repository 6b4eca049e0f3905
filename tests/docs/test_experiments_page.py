"""The page about the experiments: every number comes from a table, the page is short, sections begin with plots."""

import re

import pytest

from tests.docs.blocks import ROOT
from tests.docs.test_pages import GENERATE
from tests.docs.test_plots import PLOTS

PAGE = ROOT / "docs" / "explanation" / "experiments.md"
WORDS_MAX = 1_200
PARAMETERS = re.compile(r"\b(?:10|20|30|50) calls\b|\b95 %")
"""Numbers that are no results: the caps, which are columns of the tables, and the level of the intervals."""
CELL = '[{}](../experiments/unsettled/equal_mean.csv "{}")'


def test_every_number_in_the_text_is_a_link_to_its_cell():
    """What the cell holds is compared by `test_generated_parts_are_current`; values of settings stand in code."""
    text = GENERATE.MARKED.sub("", PAGE.read_text(encoding="utf-8"))
    text = GENERATE.experiments.NUMBER.sub("", text)
    text = re.sub(r"\]\([^)]*\)|`[^`]*`", "", text)
    text = PARAMETERS.sub("", " ".join(text.split()))
    assert re.findall(r".{0,40}\d.{0,20}", text) == []


def test_the_page_has_numbers_and_at_most_twelve_hundred_words():
    text = PAGE.read_text(encoding="utf-8")
    assert len(GENERATE.experiments.NUMBER.findall(text)) > 30
    assert len(text.split()) <= WORDS_MAX


def test_every_section_of_results_begins_with_its_plot():
    """The first section is about the limits, and the last one about how to repeat all."""
    sections = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    assert sections[0].startswith("Limits")
    shown = [
        name for section in sections for name in re.findall(r"^!\[.*\]\(pictures/(.*)\.svg\)$", section, re.MULTILINE)
    ]
    assert sorted(shown) == sorted(PLOTS["experiments"])
    assert all(re.match(r"[^\n]*\n\n!\[", section) for section in sections if "](pictures/" in section)


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
