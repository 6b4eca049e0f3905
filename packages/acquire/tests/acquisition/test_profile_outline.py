"""The outline of a profile says where each field comes from, what is calculated and when a run ends early."""

from packages.acquire.tests.acquisition.states import SMALL, profile
from replan_acquire.acquisition.profile import outline_json, outline_lines

FIELDS = {
    **SMALL["fields"],
    "market.open": {"label": "days open", "required": False, "default": 300},
    "market.sort": {"label": "sort of shop", "type": "text", "default": "any"},
    "market.rent": {"label": "rent", "source": "derived", "formula": "market.shops * 2"},
    "market.parts": {"label": "parts", "source": "components"},
}
WHOLE = profile(
    fields=FIELDS,
    stop_when=[{"check": "market.shops < 1", "why": "there are none"}],
    calculator={
        **SMALL["calculator"],
        "preconditions": [{"check": "market.shops <= 9", "why": "no more are known"}],
    },
)
LINES = """\
small
   A small schema.

Fields
   core.region: region (text)
      you are asked for it first, unless you give it
   core.currency: currency (currency)
      you are asked for it first, unless you give it
   market.shops: number of shops in shop
      searched for; else you are asked
   market.price: price per shop in {core.currency}/shop
      you are asked
   market.visits: visits per year in 1/year
      composed of its components: people * rate
   market.visits.people: number of people
      searched for; else you are asked
   market.visits.rate: visits per person in 1/year
      searched for; else you are asked
   market.open: days open, optional
      searched for; else 300 is assumed
   market.sort: sort of shop (text)
      searched for; else any is assumed
   market.rent: rent
      calculated: market.shops * 2
   market.parts: parts
      composed of components that the model proposes

Calculation
   total: total in {core.currency}
      market.shops * market.price
   calculated only if market.shops <= 9: no more are known
   the run ends early if market.shops < 1: there are none

Caps: iterations 9, attempts per field 2, calculations 2"""


def test_people_read_where_each_field_comes_from():
    assert [each.plain for each in outline_lines(WHOLE)] == LINES.split("\n")


def test_programs_read_the_same_as_data():
    shown = outline_json(WHOLE)
    fields = {each["path"]: each for each in shown["fields"]}
    assert fields["market.open"] == {
        "path": "market.open",
        "label": "days open",
        "type": "number",
        "unit": "",
        "required": False,
        "source": "web",
        "origin": "searched for; else 300 is assumed",
        "default": 300,
    }
    assert "default" not in fields["market.shops"]
    formula = {"formula": "market.shops * market.price"}
    assert shown["results"] == [{"name": "total", "label": "total", "unit": "{core.currency}", **formula}]
    assert [each["why"] for each in shown["preconditions"]] == ["no more are known"]
    assert [each["why"] for each in shown["stop_when"]] == ["there are none"]
    assert shown["caps"] == {"iterations": 9, "attempts_per_field": 2, "calculations": 2}


def test_a_profile_without_a_calculator_has_no_calculation():
    plain = profile(calculator=None)
    assert outline_json(plain)["results"] == []
    assert "preconditions" not in outline_json(plain)
    assert "Calculation" not in [each.plain for each in outline_lines(plain)]
