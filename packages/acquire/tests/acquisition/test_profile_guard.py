"""The guard of proposed profiles: valid, with units that fit, a result, no field without use, no unvouched number."""

import json
from copy import deepcopy

import pytest
import yaml

from actors.prompting.book import load_prompts
from actors.values.artifacts import Artifact, Context
from replan.setup.installation import data_root
from replan_acquire.acquisition.profile_check import INVALID, NO_RESULT, UNUSED, UNVOUCHED, make

GOOD = {
    "name": "van_cost",
    "about": "What a kilometre costs.",
    "fields": {
        "cost.insurance": {"label": "insurance", "unit": "EUR/year"},
        "use.distance": {"label": "distance", "unit": "km/year"},
    },
    "calculator": {
        "results": {"per_km": {"label": "per km", "formula": "cost.insurance / use.distance", "unit": "EUR/km"}}
    },
}


def judged(value):
    text = value if isinstance(value, str) else json.dumps(value)
    return make({})(Artifact("a1", "g_profile", text), Context("x"))


def changed(path, value):
    made = deepcopy(GOOD)
    *inner, last = path
    place = made
    for key in inner:
        place = place[key]
    place[last] = value
    return made


def test_a_good_profile_passes():
    assert judged(GOOD).passed


@pytest.mark.parametrize(
    ("path", "value", "code", "where"),
    [
        (["fields", "cost.insurance", "unit"], "EUR", INVALID, "calculator.results.per_km.formula"),
        (["fields", "cost.insurance", "unit"], "florins", INVALID, "fields.cost.insurance.unit"),
        (["fields", "Cost"], {"label": "x"}, INVALID, "fields.Cost.[key]"),
        (["fields", "cost.insurance", "default"], 300, UNVOUCHED, "fields.cost.insurance.default"),
        (["fields", "cost.tax"], {"label": "tax", "unit": "EUR/year"}, UNUSED, "fields.cost.tax"),
        (["more"], 1, INVALID, ""),
        (["calculator"], None, NO_RESULT, "calculator"),
        (
            ["calculator", "results", "per_km", "formula"],
            "1.2 * cost.insurance / use.distance",
            UNVOUCHED,
            "calculator.results.per_km",
        ),
        (
            ["calculator", "results", "per_km", "formula"],
            "cost.insurance / use.way",
            INVALID,
            "calculator.results.per_km.formula",
        ),
    ],
)
def test_each_fault_is_a_finding_with_its_place(path, value, code, where):
    verdict = judged(changed(path, value))
    assert not verdict.passed
    assert (code, where) in [(each.code, each.where) for each in verdict.findings]


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "5", '{"fields": 5}', "{}"])
def test_what_is_no_profile_is_rejected(text):
    assert not judged(text).passed


def test_the_example_of_the_prompt_passes():
    """Models copy examples."""
    own, usual = (data_root(package) / "prompts" for package in ("replan_acquire", "replan"))
    entry = load_prompts(own / "profile.yaml", usual / "planning.yaml")[0].entries["profile"]
    example = entry.constraints.partition("```json")[2].partition("```")[0]
    verdict = judged(json.dumps(yaml.safe_load(example)))
    assert verdict.passed, verdict.findings
