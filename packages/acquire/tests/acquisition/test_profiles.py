"""Profiles as data: shipped ones load, wrong ones are refused with file, key and line."""

import json

import pytest
import yaml

from packages.acquire.tests.acquisition.stage import prepared, profile_file
from packages.acquire.tests.acquisition.states import SMALL
from replan_acquire.acquisition.profile_check import is_profile, load_profile, shipped_profiles, unused_fields
from runtime.core.errors import UsageProblem


def test_the_shipped_profiles_load_by_name():
    assert shipped_profiles() == ("cloud_cost", "market_size")
    for name in shipped_profiles():
        assert load_profile(name).source == name
        assert unused_fields(load_profile(name).profile) == ()
    with pytest.raises(UsageProblem, match=r"unknown profile 'market_sise'.*did you mean 'market_size'"):
        load_profile("market_sise")


SHOPS = ("fields", "market.shops")
TOTAL = ("calculator", "results", "total", "formula")
WRONG = {
    "unknown unit": ((*SHOPS, "unit"), "shoop", "'shoop' is not a known unit"),
    "bounds": (SHOPS, {"minimum": 5, "maximum": 2}, "the minimum 5 is above the maximum 2"),
    "default out of bounds": (SHOPS, {"maximum": 2, "default": 3}, "3 is outside the bounds"),
    "default of another type": ((*SHOPS, "default"), "many", "does not fit the type"),
    "unknown key": ((*SHOPS, "units"), "shop", "unknown key 'units'"),
    "unknown name": (TOTAL, "market.shop * 2", "'market.shop' is not a field"),
    "wrong dimension": (TOTAL, "market.shops * 2", "the formula gives shop"),
    "not a formula": (TOTAL, "__import__('os')", "not a formula"),
    "cycle of fields": (
        ("fields",),
        {
            f"x.{path}": {"label": path, "source": "derived", "formula": formula}
            for path, formula in {"a": "x.b + 1", "b": "x.a + 1"}.items()
        },
        "the formulas form a cycle: x.a → x.b → x.a",
    ),
    "bootstrap without a field": (("bootstrap",), ["core.regio"], "'core.regio' is not a field"),
    "bootstrap of documents": (("bootstrap",), ["market.shops"], "the source of 'market.shops' is 'web'"),
    "unit of a field that is asked later": (
        ("bootstrap",),
        ["core.region"],
        "is not a bootstrap field of type `currency`",
    ),
    "mixed currencies": (
        ("stop_when",),
        [{"check": "market.price > market.shops", "why": "x"}],
        "compares EUR/shop and shop",
    ),
    "decomposition that does not use a component": (
        ("fields", "market.visits", "decomposition", "formula"),
        "2 * rate",
        "the formula does not use 'people'",
    ),
    "derived without a formula": ((*SHOPS, "source"), "derived", "a field needs `formula`"),
    "choices of a number": ((*SHOPS, "choices"), ["a"], "a field needs `choices`"),
    "path": (("fields", "A b"), {"label": "x"}, "one to four names"),
    "unit of a text": (("fields", "core.region", "unit"), "shop", "a field of type `text` must not have `unit`"),
    "declared unit": (("units", "meter"), "", "the unit 'meter' exists already"),
}
"""What is changed in the small profile, and the cause."""
PLACES = {
    "bounds": "fields.market.shops.minimum",
    "default out of bounds": "fields.market.shops.default",
    "cycle of fields": "fields.x.a.formula",
    "unit of a field that is asked later": "fields.market.price.unit",
    "mixed currencies": "stop_when[0].check",
    "decomposition that does not use a component": "fields.market.visits.decomposition.fields.people",
    "derived without a formula": "fields.market.shops.formula",
    "path": "fields",
}
"""The key that is named, where it is not the one that is changed."""


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_profile_is_refused_in_one_line_with_file_line_and_key(tmp_path, name):
    keys, value, cause = WRONG[name]
    profile = place = yaml.safe_load(yaml.safe_dump(SMALL))
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = {**place.get(keys[-1], {}), **value} if isinstance(value, dict) else value
    path = profile_file(tmp_path, yaml.safe_dump(profile, sort_keys=False))
    with pytest.raises(UsageProblem) as caught:
        load_profile(str(path))
    problem = caught.value
    assert cause in problem.cause
    place, _, named = problem.place.partition(" ")
    assert place.startswith(f"{path}:")
    assert named.startswith(PLACES.get(name, ".".join(keys)))
    assert "\n" not in str(problem)


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        ({"core.regio": "x"}, "'core.regio' is not a field"),
        ({"core.currency": "euro!"}, "is not a currency"),
        ({"segment.share": "200 %"}, "outside the bounds"),
        ({"segment.share": "12 EUR"}, "cannot be converted"),
        ({"market.annual_spend": "12 EUR"}, "the unit of market.annual_spend is not known yet"),
    ],
)
def test_given_values_are_checked_like_answers(given, cause):
    with pytest.raises(UsageProblem, match=cause) as caught:
        prepared(given=given)
    assert caught.value.place == "given"


def test_given_values_may_name_the_currency_that_their_units_need():
    job = prepared(given={"market.annual_spend": "2,400.50 EUR per year", "core.currency": "eur"})
    assert job.given["market.annual_spend"].value == 2400.5
    assert job.given["market.annual_spend"].unit == "EUR/customer/year"


@pytest.mark.parametrize(("option", "value"), [("max_calls", 0), ("max_calls", 1.5), ("timeout", 10**9)])
def test_a_wrong_limit_names_its_option(option, value):
    with pytest.raises(UsageProblem) as caught:
        prepared(limits={option: value})
    assert caught.value.place == option


def test_a_number_in_no_formula_is_told_before_the_run_starts(tmp_path):
    fields = {**SMALL["fields"], "market.idle": {"label": "idle shops", "unit": "shop"}}
    path = profile_file(tmp_path, json.dumps({**SMALL, "fields": fields}))
    assert any("market.idle" in notice for notice in prepared(path).notices)


@pytest.mark.parametrize(
    ("option", "most"),
    [
        ("max_calls", 10**6),
        ("max_tokens", 10**12),
        ("deadline", 10**10),
        ("active_time", 10**10),
        ("patience", 10**10),
        ("output_tokens_max", 10**6),
        ("timeout", 86_400),
    ],
)
def test_the_largest_limit_is_taken_and_a_larger_one_is_refused(option, most):
    prepared(limits={option: most})
    with pytest.raises(UsageProblem, match=f"at most {most:,}, not"):
        prepared(limits={option: most + 1})


def test_a_profile_is_a_shipped_name_or_a_file_with_fields(tmp_path):
    other = profile_file(tmp_path, "name: other\n", "other.yaml")
    own = profile_file(tmp_path, "fields: {}\n")
    names = ("market_size", str(own), str(other), str(tmp_path), "no_such_profile")
    assert [is_profile(name) for name in names] == [True, True, False, False, False]
