"""Figures in documents that other programs wrote are found at the place that a person noted, or not, as published.

The documents of others are not here: the program `noted_figures` has published what becomes of their figures.
"""

import csv
import io

import pytest

from packages.acquire.tests.documents.noted_figures import FILES, FOLDER, NOTED, PUBLISHED, alone, measured
from tests.tidy.source import ROOT


def published(name):
    rows = csv.DictReader(io.StringIO(PUBLISHED.read_text(encoding="utf-8")))
    return [row for row in rows if row["file"] == name]


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize("name", NOTED["own"])
def test_each_figure_of_our_documents_that_other_programs_wrote_is_as_published(tmp_path, name):
    assert measured(alone(name, tmp_path, (FOLDER / name).read_bytes()), name) == published(name)


def test_the_documentation_says_how_many_are_found_refused_and_missed():
    rows = list(csv.DictReader(io.StringIO(PUBLISHED.read_text(encoding="utf-8"))))
    found, refused, missed = (sum(row["outcome"].startswith(each) for row in rows) for each in ("found", "ref", "mis"))
    page = " ".join((ROOT / "docs" / "explanation" / "acquisition.md").read_text(encoding="utf-8").split())
    assert f"[{len(FILES)} documents that other programs made]" in page
    assert (
        f"Replan found {found} of {len(rows)} numbers. It refused {refused} with a reason, and missed {missed}." in page
    )


def test_the_published_table_has_each_figure_that_a_person_noted_and_no_other():
    noted = [(name, words, number) for name, each in FILES.items() for words, number, *_ in each["figures"]]
    rows = csv.DictReader(io.StringIO(PUBLISHED.read_text(encoding="utf-8")))
    assert [(row["file"], row["figure"], row["number"]) for row in rows] == noted
    assert all(each.keys() >= {"from", "licence", "sha256"} for each in NOTED["public"].values())
    assert {path.name for path in FOLDER.iterdir()} == {*NOTED["own"], "figures.yaml"}
