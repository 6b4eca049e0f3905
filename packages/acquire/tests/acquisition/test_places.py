"""The place of a value: where in its document it stands, in the state, the result, the lines and the report."""

import json

import pytest

from packages.acquire.tests.acquisition.test_runs import begun
from replan_acquire.acquisition.planner_state import FoundPassage, read_output

ROW = "Country: Portugal | Buildings: 120,500.0 building\nCountry: Spain | Buildings: 900.0"


def searched(stage, places):
    stage.plan("search", "market.customers", query="a")
    passage = {
        "source": "a.xlsx",
        "title": "",
        "text": ROW,
        "decimal_mark": "point",
        "language": "en",
        "places": places,
    }
    stage.search_ends(json.dumps({"passages": [passage]}))
    stage.observed(("market.customers", "120,500.0", "", "Portugal | Buildings: 120,500.0", "a.xlsx"))
    return stage.planner.values["market.customers"][0]


def test_the_place_is_that_of_the_value_and_not_of_its_quote():
    places = [[0, "Sheet!A2"], [20, "Sheet!B2"], [49, "Sheet!A3"]]
    value = searched(begun(), places)
    assert (value.place, value.where) == ("Sheet!B2", "a.xlsx, Sheet!B2")


@pytest.mark.parametrize("places", [None, 5, [5], [["a", "b"]], [[-1, "x"]], [[0, 5]], [[True, "x"]], [[0, "x", 1]]])
def test_places_of_another_form_are_none(places):
    assert searched(begun(), places).place == ""


def test_places_are_bounded_and_ordered():
    places = [[number, "p" * 500] for number in reversed(range(1000))]
    [passage] = read_output(json.dumps({"passages": [{"source": "a", "text": "b", "places": places}]}))
    assert len(passage.places) == 400
    assert [*passage.places] == sorted(passage.places)
    assert max(len(place) for _, place in passage.places) == 120


def test_a_passage_without_places_is_stored_as_before():
    assert "places" not in FoundPassage(source="a", text="b").model_dump()
