"""What the built-in author makes of twelve statements of trackers; the page has the same table, which is generated."""

import pytest

from actors.demands.reader import read_demands

from .evaluation import ASKED, PLANNED, judge, statements

ROWS = {row["id"]: row for row in statements("trackers")}
DIFFERS = {"data_migration": ASKED, "deploy": "performance", "docs": "bug_fix", "ambiguous": "bug_fix"}
"""What comes out where a reader expects something else; `docs/explanation/rules-model.md` lists it."""


def test_there_are_twelve_and_each_says_what_the_first_run_gave():
    assert len(ROWS) == 12
    for row in ROWS.values():
        assert {row["expect"], row["first"]} <= {*PLANNED, ASKED}
        assert row["remark"]


@pytest.mark.parametrize("name", ROWS)
def test_a_statement_gets_the_published_kind(name):
    assert judge(ROWS[name]).result == DIFFERS.get(name, ROWS[name]["expect"])


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row["demands"] and name != "data_migration"])
def test_a_plan_carries_the_demands_that_a_reader_marks(name):
    plan = judge(ROWS[name]).plan
    satisfied = {name for step in plan["steps"] for name in step.get("satisfies", ())}
    for demand in ROWS[name]["demands"]:
        assert any(demand in item["quote"] and item["id"] in satisfied for item in plan["requirements"]), demand


def test_a_title_is_not_cut_after_between():
    [first, *_] = judge(ROWS["flaky_test"]).plan["steps"]
    assert first["name"].endswith("fails on CI")


def test_a_version_that_begins_a_sentence_is_no_number_of_a_list():
    assert not [
        demand for demand in read_demands(ROWS["dependency"]["text"]).demands if "out of support" in demand.quote
    ]


def test_an_offer_to_help_is_no_demand():
    plan = judge(ROWS["config"]).plan
    assert not [item for item in plan["requirements"] if "Happy to send" in item["quote"]]
