"""The table of written phrases (`phrases.yaml`): each is taken with its value, or refused with its reason."""

import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from actors.quantities.quantity import Refusal
from actors.quantities.quoted import Found, Source, quoted_value
from actors.quantities.units import UnitTable

DATA = yaml.safe_load((Path(__file__).parent / "phrases.yaml").read_text(encoding="utf-8"))
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
    return quoted_value(source, spans, value, unit, wanted=unit, table=table(), declared=UNITS)


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
