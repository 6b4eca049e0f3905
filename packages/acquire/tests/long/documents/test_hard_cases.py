"""What is missed: figures in awkward places are found, refused with a reason, named, or missed, as published."""

import csv
import io

import pytest

from packages.acquire.tests.documents.hard_cases import hard_cases
from replan_acquire.acquisition.observation import find_passage, read_stated_quantity
from replan_acquire.acquisition.planner_state import read_output
from replan_acquire.documents.index import open_index
from replan_acquire.documents.passages import search_output
from replan_acquire.quantities.quantity import Refusal
from replan_acquire.quantities.units import UnitTable
from tests.tidy.source import ROOT

PUBLISHED = ROOT / "docs" / "experiments" / "documents" / "hard_cases.csv"


def outcome(folder):
    """Return what becomes of the figure: `found`, `refused: CODE`, `named: NOTICE`, or `missed`."""
    index = open_index(folder)
    passages = read_output(search_output(index.search("insurance cost", 8), (), 1)) or ()
    for passage in passages:
        for line in passage.text.split("\n"):
            if "1,250.50" not in line and "1250.5" not in line:
                continue
            assert find_passage(passages, passage.source, line) == passage
            value = "1,250.50" if "1,250.50" in line else "1250.5"
            read = read_stated_quantity(
                passage, line, value, "EUR/year", wanted="EUR/year", units={}, table=UnitTable({})
            )
            if isinstance(read, Refusal):
                return f"refused: {read.code}"
            assert read.quantity.low == 1250.5
            assert passage.place_at(read.start)
            return "found"
    return f"named: {index.notices[0].partition(': ')[2]}" if index.notices else "missed"


def published():
    return {row["case"]: row["outcome"] for row in csv.DictReader(io.StringIO(PUBLISHED.read_text()))}


CASES = hard_cases()


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize("case", CASES)
def test_a_figure_in_an_awkward_place_is_found_refused_named_or_missed_as_published(tmp_path, case):
    name, content = CASES[case]
    (tmp_path / name).write_bytes(content)
    assert outcome(tmp_path) == published()[case]
