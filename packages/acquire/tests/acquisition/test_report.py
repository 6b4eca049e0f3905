"""The report: sources as footnotes, tables for spreadsheets, and what has changed since another run."""

import csv
import io

import openpyxl
import pytest

import replan
import replan_acquire
from packages.acquire.tests.acquisition.stage import profile_file
from replan_acquire.acquisition.report import COLUMNS, changes_since, csv_text, make_rows, markdown
from replan_acquire.acquisition.report_xlsx import workbook

PROFILE = """
name: fleet
about: What a fleet costs.
fields:
  cost.tax: {label: vehicle tax, unit: EUR/year, words: [vehicle tax]}
  cost.insurance: {label: insurance, unit: EUR/year, words: [insurance]}
calculator:
  results:
    total: {label: total, formula: cost.tax + cost.insurance, unit: EUR/year}
"""
FIRST = {"a.md": "The vehicle tax is 310 EUR per year.\n", "b.md": "The insurance is 1,250.50 EUR per year.\n"}


def filled(folder, files):
    docs = folder / "docs"
    docs.mkdir(parents=True)
    for name, text in files.items():
        (docs / name).write_text(text, encoding="utf-8")
    path = profile_file(folder, PROFILE)
    return replan_acquire.acquire(path, "the fleet", docs=docs, model="quoting:", home=replan.MEMORY)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("report"), FIRST | {"c.md": "The vehicle tax is 350 EUR per year.\n"})


def test_each_source_is_a_footnote_with_its_place_and_words(result):
    text = markdown(result)
    assert "[^1]: a.md, line 1: `cost.tax` 310 EUR/year: “The vehicle tax is 310 EUR per year.”" in text
    row = next(line for line in text.splitlines() if line.startswith("| vehicle tax"))
    assert "[^1][^2] |" in row
    assert text.count("[^1]") == 2
    assert "2 sources disagree" in text


def test_the_table_has_values_that_count_others_and_results(result):
    rows = list(csv.DictReader(io.StringIO(csv_text(result))))
    assert [*rows[0]] == [*COLUMNS]
    assert [(row["field"], row["counts"], row["value"], row["place"]) for row in rows] == [
        ("cost.tax", "yes", "310.0", "line 1"),
        ("cost.tax", "no", "350.0", "line 1"),
        ("cost.insurance", "yes", "1250.5", "line 1"),
        ("total", "result", "1560.5", ""),
    ]


def test_the_workbook_has_values_results_and_sources(result):
    book = openpyxl.load_workbook(io.BytesIO(workbook(result)))
    assert book.sheetnames == ["Values", "Results", "Sources"]
    assert [cell.value for cell in book["Results"][2]][:3] == ["total", "total", 1560.5]
    assert [cell.value for cell in book["Sources"][2]][1:4] == ["cost.tax", "a.md", "line 1"]


def test_no_text_of_a_document_becomes_a_formula(tmp_path):
    found = filled(tmp_path, {"=cmd.md": "The vehicle tax is 310 EUR per year.\n", "b.md": FIRST["b.md"]})
    rows = list(csv.DictReader(io.StringIO(csv_text(found))))
    assert rows[0]["source"] == "'=cmd.md"
    cells = [cell for row in openpyxl.load_workbook(io.BytesIO(workbook(found)))["Sources"] for cell in row]
    assert "=cmd.md" in [cell.value for cell in cells]
    assert all(cell.data_type != "f" for cell in cells)


def test_changes_name_values_places_and_results(tmp_path):
    before = filled(tmp_path / "before", FIRST)
    after = filled(tmp_path / "after", {"a.md": "The vehicle tax is 330 EUR per year.\n", "c.md": f"\n{FIRST['b.md']}"})
    texts = [each.text for each in changes_since(before, after)]
    assert texts == [
        "cost.tax: 310 EUR/year -> 330 EUR/year (a.md, line 1)",
        "cost.insurance: the same value is now from c.md, line 2; it was from b.md, line 1",
        "total: 1,560.5 EUR/year -> 1,580.5 EUR/year",
    ]
    assert changes_since(before, before) == ()
    assert "## Changes since" in markdown(after, changes_since(before, after))


def test_a_field_without_a_value_is_a_row_and_a_change(tmp_path, result):
    lacking = filled(tmp_path, {"a.md": FIRST["a.md"]})
    assert [(row["field"], row["counts"]) for row in make_rows(lacking)][-1] == ("cost.insurance", "missing")
    texts = [each.text for each in changes_since(result, lacking)]
    assert "cost.insurance: 1,250.5 EUR/year -> no value" in texts
    assert "total: 1,560.5 (1,560.5 to 1,600.5) EUR/year -> not calculated" in texts
