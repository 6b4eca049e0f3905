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


def changed(tmp_path, change):
    value = yaml.safe_load(yaml.safe_dump(SMALL))
    change(value)
    return profile_file(tmp_path, yaml.safe_dump(value, sort_keys=False))


def field(**keys):
    return lambda value: value["fields"]["market.shops"].update(keys)


def derived(value, **formulas):
    for path, formula in formulas.items():
        label = {"label": path, "source": "derived", "formula": formula}
        value["fields"][f"x.{path}"] = label


WRONG = {
    "unknown unit": (field(unit="shoop"), "'shoop' is not a known unit", "fields.market.shops.unit"),
    "bounds": (field(minimum=5, maximum=2), "5 is above the maximum, 2", "fields.market.shops.minimum"),
    "default out of bounds": (field(maximum=2, default=3), "3 is outside of the bounds", "fields.market.shops.default"),
    "default of another type": (field(default="many"), "does not fit the type", "fields.market.shops.default"),
    "unknown key": (field(units="shop"), "unknown key 'units'", "fields.market.shops.units"),
    "unknown name": (
        lambda value: value["calculator"]["results"]["total"].update(formula="market.shop * 2"),
        "'market.shop' is not a field",
        "calculator.results.total.formula",
    ),
    "wrong dimension": (
        lambda value: value["calculator"]["results"]["total"].update(formula="market.shops * 2"),
        "the formula gives shop",
        "calculator.results.total.formula",
    ),
    "not a formula": (
        lambda value: value["calculator"]["results"]["total"].update(formula="__import__('os')"),
        "not a formula",
        "calculator.results.total.formula",
    ),
    "cycle of fields": (
        lambda value: derived(value, a="x.b + 1", b="x.a + 1"),
        "fields need each other: x.a → x.b → x.a",
        "fields.x.a.formula",
    ),
    "bootstrap without a field": (
        lambda value: value.update(bootstrap=["core.regio"]),
        "'core.regio' is not a field",
        "bootstrap[0]",
    ),
    "bootstrap of documents": (
        lambda value: value.update(bootstrap=["market.shops"]),
        "the source of 'market.shops' is 'web'",
        "bootstrap[0]",
    ),
    "unit of a field that is asked later": (
        lambda value: value.update(bootstrap=["core.region"]),
        "is not a bootstrap field of type `currency`",
        "fields.market.price.unit",
    ),
    "mixed currencies": (
        lambda value: value.update(stop_when=[{"check": "market.price > market.shops", "why": "x"}]),
        "compares EUR/shop with shop",
        "stop_when[0].check",
    ),
    "decomposition that does not use a component": (
        lambda value: value["fields"]["market.visits"]["decomposition"].update(formula="2 * rate"),
        "the formula does not use 'people'",
        "fields.market.visits.decomposition.fields.people",
    ),
    "derived without a formula": (field(source="derived"), "needs one", "fields.market.shops.formula"),
    "choices of a number": (field(choices=["a"]), "belongs to a field of type `choice`", "fields.market.shops.choices"),
    "path": (lambda value: value["fields"].update({"A b": {"label": "x"}}), "one to four names", "fields"),
    "unit of a text": (
        lambda value: value["fields"]["core.region"].update(unit="shop"),
        "a field of type `text` has no unit",
        "fields.core.region.unit",
    ),
    "declared unit": (lambda value: value.update(units={"meter": ""}), "'meter' is a unit already", "units.meter"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_profile_is_refused_in_one_line_with_file_line_and_key(tmp_path, name):
    change, cause, key = WRONG[name]
    path = changed(tmp_path, change)
    with pytest.raises(UsageProblem) as caught:
        load_profile(str(path))
    problem = caught.value
    assert cause in problem.cause
    place, _, named = problem.place.partition(" ")
    assert place.startswith(f"{path}:")
    assert named.startswith(key)
    assert "\n" not in str(problem)


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        ({"core.regio": "x"}, "'core.regio' is not a field"),
        ({"core.currency": "euro!"}, "is not a currency"),
        ({"segment.share": "200 %"}, "outside of the bounds"),
        ({"segment.share": "12 EUR"}, "does not convert"),
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
