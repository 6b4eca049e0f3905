"""Units: pint's, currencies that never convert, a profile's own, and what is refused."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan_acquire.quantities.quantity import Quantity, Refusal, RefusalCode
from replan_acquire.quantities.unit_forms import product_at
from replan_acquire.quantities.units import UnitTable, UnitUnreadable, is_written_name, unit_names
from tests.tidy.source import ROOT

TABLE = UnitTable({"apartment": "", "building": "", "workday": "8 hour", "dozen": "12"})


def converted(value, unit, target):
    return TABLE.convert(Quantity(low=value, high=value, unit=unit), target)


CONVERSIONS = [
    (1, "MWh", "kWh", 1000),
    (12, "%", "", 0.12),
    (3, "workday", "hour", 24),
    (5, "dozen", "", 60),
    (2, "GB", "MB", 2000),
    (1, "kEUR", "EUR", 1000),
    (10, "EUR/MWh", "EUR/kWh", 0.01),
    (120, "EUR/year", "EUR/month", 10),
    (3, "apartments/building", "apartment/building", 3),
    (4, "m²", "cm**2", 40000),
    (1, "kWh per month", "kWh/month", 1),
    (50, "basis_points", "percent", 0.5),
]


@pytest.mark.parametrize(("value", "unit", "target", "expected"), CONVERSIONS)
def test_a_unit_converts_into_one_of_the_same_kind(value, unit, target, expected):
    done = converted(value, unit, target)
    assert (done.low, done.unit) == (pytest.approx(expected), target)


@pytest.mark.parametrize(
    ("unit", "target"),
    [("EUR", "USD"), ("EUR/kWh", "USD/kWh"), ("kW", "kWh"), ("GB", ""), ("apartment", "building"), ("apartment", "")],
)
def test_another_kind_of_unit_is_refused_and_both_are_named(unit, target):
    refusal = converted(1, unit, target)
    assert isinstance(refusal, Refusal)
    assert refusal.code is RefusalCode.WRONG_UNIT
    assert unit in refusal.message
    assert target in refusal.message


def test_mixed_currencies_are_told_to_need_a_rate_field():
    assert "rate" in converted(1, "EUR", "USD").message


UNREADABLE = {
    "blorp": "not a known unit",
    "$": "may be USD",
    "degC": "does not begin at zero",
    "dBm": "does not begin at zero",
    "kWh month": "not joined",
    "(kWh": "too early",
    "kg**99": "exponent",
    "kg**m": "exponent",
    "kWh/": "too early",
    "a;b": "must not contain",
    "m" * 101: "more than 100 characters",
    "(" * 99: "too early",
}


@pytest.mark.parametrize(("unit", "reason"), UNREADABLE.items())
def test_a_text_that_is_no_unit_is_refused_with_the_reason(unit, reason):
    assert reason in TABLE.problem(unit)


def test_declared_units_are_checked_when_a_profile_is_loaded():
    declared = {"meter": "", "a b": "", "x": "y", "z": "3 z", "EUR": "", "fine": "2 hour"}
    assert set(UnitTable(declared).problems()) == {"meter", "a b", "x", "z", "EUR"}
    assert TABLE.problems() == {}


def test_units_that_declare_each_other_in_a_circle_are_a_problem_and_end():
    assert "refers to itself" in UnitTable({"foo1": "2 foo2", "foo2": "2 foo1"}).problem("foo1")


@given(st.text(alphabet="kWhEUR$€%*/^()²-_1290 perGB", max_size=40) | st.text(max_size=120))
def test_any_text_is_a_unit_or_has_a_reason(text):
    problem = TABLE.problem(text)
    assert "\n" not in problem
    if not problem:
        assert TABLE.unit(text).factor > 0


def test_exponents_are_added_up():
    assert unit_names("EUR/(kWh*month)") == {"EUR": 1, "kWh": -1, "month": -1}
    assert unit_names("m**2/m") == {"m": 1}
    with pytest.raises(UnitUnreadable):
        unit_names(")")


def test_pint_is_loaded_only_by_a_unit_that_needs_it():
    code = (
        "import sys; from replan_acquire.quantities.units import UnitTable;"
        " from replan_acquire.quantities import calculator, quoted; assert UnitTable().problem('EUR/percent') == '';"
        " assert 'pint' not in sys.modules;"
        " UnitTable().unit('kWh'); assert 'pint' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("text", "unit"),
    [("GB month", "GB*month"), ("kWh day", "kWh*day"), ("day month", "day"), ("GB mo", "GB"), ("GB-mo", "GB*month")],
)
def test_a_word_of_time_behind_a_space_multiplies_a_unit_that_is_no_time_and_a_symbol_does_not(text, unit):
    assert product_at(text, 0, TABLE).unit == unit


@pytest.mark.parametrize(("name", "expected"), [("kohm", True), ("kWh", True), ("kwatt", False), ("cars", False)])
def test_a_short_prefix_is_written_before_a_symbol_or_in_a_name_of_four_letters(name, expected):
    assert is_written_name(name) is expected


@pytest.mark.parametrize("seed", ["1", "2", "5"])
def test_of_two_declared_words_for_a_thing_the_same_one_is_meant_in_every_process(seed):
    """The order of a set of texts differs between processes; a replay must not."""
    program = (
        "from replan_acquire.quantities.unit_words import unit_word\n"
        "from replan_acquire.quantities.units import UnitTable\n"
        "print(unit_word('veículos', 0, UnitTable({'fahrzeug': '', 'vehicle': ''})).unit)\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, cwd=ROOT, check=True
    )
    assert ran.stdout == "vehicle\n"
