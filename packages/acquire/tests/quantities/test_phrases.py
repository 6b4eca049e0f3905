"""The table of written phrases (`phrases.yaml`): each is taken with its value, or refused with its reason."""

import re
from functools import cache
from pathlib import Path

import pytest

from replan_acquire.quantities.quantity import Refusal
from replan_acquire.quantities.quoted import Found, Source, find_quoted_value
from replan_acquire.quantities.units import UnitTable
from tests.support.yaml_files import read_yaml

DATA = read_yaml(Path(__file__).parent / "phrases.yaml")
UNITS = DATA["units"]
MARKS = {"en": "point", "de": "comma", "fr": "comma", "es": "comma"}
ROWS = [(language, *row) for language, rows in DATA["phrases"].items() for row in rows]
FRAMES = {"en": "It is {}.", "de": "Es sind {}.", "fr": "C'est {}.", "es": "Son {}."}


@cache
def table():
    return UnitTable(UNITS)


def read(phrase, unit, language, text=""):
    """Return what a quote of a phrase is read as, where a model names its first number and the unit of the field."""
    text = text or phrase
    start = text.index(phrase)
    value = re.search(r"\d[\d.,\u202f\u00a0 ]*", phrase)[0].strip(" .,")
    source = Source(text, MARKS[language], language)
    spans = [(start, start + len(phrase))]
    return find_quoted_value(source, spans, value, unit, wanted=unit, table=table(), declared=UNITS)


@pytest.mark.parametrize(("language", "phrase", "unit", "expected"), ROWS)
def test_a_phrase_is_taken_whole_or_refused_with_its_reason(language, phrase, unit, expected):
    for text in ("", FRAMES[language].format(phrase)):
        found = read(phrase, unit, language, text)
        if isinstance(expected, str):
            assert isinstance(found, Refusal), found
            code = "not_understood" if found.code == "ambiguous_number" else found.code
            assert code == expected, found
        else:
            assert isinstance(found, Found), found
            low, high = expected if isinstance(expected, list) else (expected, expected)
            assert (found.quantity.low, found.quantity.high) == (pytest.approx(low), pytest.approx(high))
            assert found.quantity.unit == unit


def test_the_table_has_two_hundred_phrases_in_four_languages():
    assert len(ROWS) >= 200
    assert {*DATA["phrases"]} == {"en", "de", "fr", "es"}


SENTENCES = {
    "consumption is 27.5 kWh/100 km": ("kWh/km", 0.275),
    "consumption is 27.5 kWh per 100 kilometres": ("kWh/km", 0.275),
    "requests cost 0.40 USD per million requests": ("USD/request", 4e-7),
    "storage costs $23 per TB-month": ("USD/GB/month", 0.023),
    "revenue was EUR 3.2 bn": ("EUR", 3.2e9),
    "revenue was EUR 3.2 Mrd.": ("EUR", 3.2e9),
    "the price rose by 1,200 EUR per van": ("EUR/van", None),
    "spend is EUR 120 monthly per customer": ("EUR/customer/year", 1440),
    "spend is EUR 120 per household": ("EUR/customer/year", None),
    "water use is 135 litres per household per day": ("l/person/day", None),
    "water use is 135 litres a day for a family of four": ("l/person/day", None),
    "water use is 4 m3 per 5 persons and month": ("l/person/day", 4000 * 12 / 5 / 365.25),
    "mileage 18 thousand km per year": ("km/year", 18_000),
    "mileage 90 km per working day": ("km/year", None),
    "mileage 90 km per route": ("km/year", None),
    "price 12 EUR per dozen": ("EUR/van", None),
    "leakage is 0.12 of the inflow": ("percent", None),
    "leakage is 12 of 100 litres": ("percent", None),
    "service life: 8": ("year", None),
    "interest 4.5 % p.a.": ("percent", 4.5),
    "price 4.2 Cent pro km": ("EUR/km", 0.042),
    "Maintenance of 42 EUR per 1000 km": ("EUR/km", 0.042),
    "fuel 0.35 p/kWh": ("GBP/kWh", 0.0035),
    "population 1.2 lakh": ("person", 120_000),
    "area 3 ha": ("m2", 30_000),
}
"""Sentences that were once read wrongly, or might be: the unit of the field, and the value there; None is a refusal."""


@pytest.mark.parametrize("text", SENTENCES)
def test_a_sentence_that_is_quoted_whole_states_the_quantity_or_none(text):
    unit, value = SENTENCES[text]
    found = read(text, unit, "en")
    assert (found.quantity.low if isinstance(found, Found) else None) == (
        value if value is None else pytest.approx(value)
    )
