"""Formulas and the calculator: a closed grammar, dimensions, order, ranges, and blocked calculations."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan_acquire.quantities.calculator import (
    FormulaCycle,
    calculate,
    calculation_order,
    check_dimensions,
    check_formulas,
    check_holds,
)
from replan_acquire.quantities.formula import FORMULA_CHARACTERS_MAX, FormulaUnreadable, parse_formula
from replan_acquire.quantities.measures import BlockCode
from replan_acquire.quantities.quantity import Quantity
from replan_acquire.quantities.units import UnitTable

TABLE = UnitTable({"building": "", "charger": ""})


def quantity(low, unit="", high=None):
    return Quantity(low=low, high=low if high is None else high, unit=unit)


def result(formula, unit="", **values):
    """Calculate one formula over fields of one-letter names."""
    given_values = {name: value if isinstance(value, Quantity) else quantity(value) for name, value in values.items()}
    return calculate(formula, unit, given_values, TABLE)


def test_formulas_are_calculated_after_those_that_they_need_in_the_given_order():
    formulas = {"a": "1", "revenue": "chargers * price", "chargers": "buildings * share", "share": "1 / 4"}
    assert calculation_order(formulas) == ("a", "share", "chargers", "revenue")
    values = {"chargers": quantity(25, "building", 50), "price": quantity(50, "EUR/(building*month)")}
    assert calculate(formulas["revenue"], "EUR/year", values, TABLE) == quantity(15000, "EUR/year", 30000)


def test_a_rate_is_a_field_like_any_other():
    done = result("a * b", "USD", a=quantity(100, "EUR"), b=quantity(1.1, "USD/EUR"))
    assert done == quantity(110, "USD")


BLOCKED = {
    "division by zero": ("a / b", {"a": 1, "b": 0}, BlockCode.DIVISION_BY_ZERO),
    "division by a range around zero": ("a / b", {"a": 1, "b": quantity(-1, high=1)}, BlockCode.DIVISION_BY_ZERO),
    "overflow of a product": ("a * a * a", {"a": 1e29}, BlockCode.OVERFLOW),
    "overflow of a power": ("a ** 999", {"a": 1e29}, BlockCode.OVERFLOW),
    "a huge exponent": ("2 ** a", {"a": 1e9}, BlockCode.OVERFLOW),
    "mixed currencies": ("a + b", {"a": quantity(1, "EUR"), "b": quantity(1, "USD")}, BlockCode.MIXED_CURRENCIES),
    "a wrong dimension": ("a + b", {"a": quantity(1, "EUR"), "b": 1}, BlockCode.WRONG_DIMENSION),
    "a wrong result": ("a", {"a": quantity(1, "EUR")}, BlockCode.WRONG_DIMENSION),
    "a root of a negative number": ("a ** 0.5", {"a": -1}, BlockCode.NOT_REAL),
    "a missing value": ("a + b", {"a": 1}, BlockCode.MISSING_INPUT),
    "a root of a unit": ("a ** 0.5", {"a": quantity(4, "EUR")}, BlockCode.WRONG_DIMENSION),
    "an exponent with a unit": ("2 ** a", {"a": quantity(4, "EUR")}, BlockCode.WRONG_DIMENSION),
    "a negative power of zero": ("a ** -1", {"a": 0}, BlockCode.DIVISION_BY_ZERO),
    "a text that is no formula": ("a +", {"a": 1}, BlockCode.BAD_FORMULA),
}


@pytest.mark.parametrize(("formula", "values", "code"), BLOCKED.values(), ids=BLOCKED)
def test_a_result_that_cannot_be_had_blocks_with_its_reason(formula, values, code):
    blocked = result(formula, **values)
    assert blocked.code is code
    assert blocked.message
    assert "\n" not in blocked.message


def test_a_blocked_formula_names_what_is_missing():
    assert calculate("b + c", "", {"a": quantity(1)}, TABLE).missing == ("b", "c")


UNREADABLE = [
    *("", "a +", "a = 1", "a if b else c", "lambda: 1", "[a]", "a[0]", "'a'", "True", "a < b", "a % b", "a // b"),
    *(
        "__import__('os')",
        "open(a)",
        "a()",
        "min()",
        "sum(*a)",
        "max(a, key=b)",
        "a.b()",
        "1 .x",
        "a @ b",
        "~a",
    ),
    *("1e999", "9" * 400, "a" * (FORMULA_CHARACTERS_MAX + 1), "(" * 900 + "a" + ")" * 900, "-" * 900 + "a", "a\x00"),
    *("+".join(["a"] * 300), "1_000 and a", "a; b", "a\nb", "😀", "1j", "await a", "a := 1", "{a}", "f'{a}'"),
]


@pytest.mark.parametrize("text", UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_is_not_arithmetic_over_names_is_no_formula(text):
    with pytest.raises(FormulaUnreadable):
        parse_formula(text)


def problems(formulas, **units):
    return [(problem.path, problem.cause, problem.hint) for problem in check_formulas(formulas, units, TABLE)]


def test_a_formula_with_a_name_that_is_no_field_is_a_problem_that_names_the_nearest():
    assert problems({"r": "pricee * 2"}, r="EUR", price="EUR") == [
        ("r", "'pricee' is not a field", "did you mean 'price'?")
    ]


def test_a_cycle_is_named():
    (problem,) = problems({"a": "b + 1", "b": "c", "c": "a"}, a="", b="", c="")
    assert problem[:2] == ("a", "the formulas form a cycle: a → b → c → a")
    with pytest.raises(FormulaCycle):
        calculation_order({"a": "a"})


DIMENSIONS = {
    "a + b": "the formula adds EUR and USD; convert one currency with a field that has the rate",
    "a * b": "the formula gives EUR*USD, but the field needs EUR",
    "a / c": "the formula gives EUR/building, but the field needs EUR",
    "min(a, c)": "the formula compares EUR and building",
    "a ** c": "the exponent has the unit building, but must be a plain number",
    "a / (c - c)": "division by zero",
    "a + 1": "the formula adds EUR and a plain number",
}


@pytest.mark.parametrize(("formula", "cause"), DIMENSIONS.items())
def test_dimensions_are_checked_before_any_value_is_known(formula, cause):
    (problem,) = problems({"r": formula}, r="EUR", a="EUR", b="USD", c="building")
    assert problem[1].startswith(cause)


def test_a_formula_whose_values_decide_is_no_problem_of_the_profile():
    assert problems({"r": "(a - b) ** 0.5 / (a - b)"}, r="", a="", b="") == []


def test_a_chain_of_a_thousand_formulas_is_ordered_and_checked_quickly():
    formulas = {f"f{number}": f"f{number + 1} + 1" for number in range(1000)}
    started = time.process_time()
    assert calculation_order(formulas) == tuple(f"f{number}" for number in reversed(range(1000)))
    assert check_formulas(formulas, dict.fromkeys([*formulas, "f1000"], ""), TABLE) == ()
    assert time.process_time() - started < 2


def _random_formula(rng, depth=0):
    kind = rng.randrange(8) if depth < 4 else 0
    if kind < 2:
        return rng.choice(["a", "b", "c", f"{rng.uniform(0.1, 5):.2f}"])
    one, other = _random_formula(rng, depth + 1), _random_formula(rng, depth + 1)
    if kind == 6:
        return f"({one}) ** {rng.randrange(4)}"
    if kind == 7:
        return f"{rng.choice(['min', 'max'])}({one}, {other})"
    return f"({one} {'+-*/'[kind - 2]} {other})"


@given(st.integers(0, 10**9))
def test_a_range_holds_the_result_of_every_value_within_the_ranges(seed):
    """Recomputed by Python itself, for points that are drawn from the ranges."""
    rng = random.Random(seed)
    formula = _random_formula(rng)
    ranges = {name: sorted((rng.uniform(-3, 3), rng.uniform(-3, 3))) for name in "abc"}
    done = result(formula, **{name: quantity(low, high=high) for name, (low, high) in ranges.items()})
    if not isinstance(done, Quantity):
        assert done.code in {BlockCode.DIVISION_BY_ZERO, BlockCode.OVERFLOW}
        return
    for _ in range(5):
        point = {name: rng.choice([low, high, rng.uniform(low, high)]) for name, (low, high) in ranges.items()}
        value = eval(formula, {"min": min, "max": max}, point)
        slack = 1e-9 * max(1, abs(value), abs(done.low), abs(done.high))
        assert done.low - slack <= value <= done.high + slack


CHECKS = {
    "a < b": "yes",
    "b < a": "no",
    "b <= c": "open",
    "a == 1": "yes",
    "a == 2": "no",
    "c == c": "open",
    "b > a": "yes",
    "a >= 1": "yes",
    "a * 3 <= 0.3 * 10": "yes",
    "0.1 + 0.2 == 0.3": "yes",
}


@pytest.mark.parametrize(("text", "truth"), CHECKS.items())
def test_a_check_of_ranges_holds_for_all_values_or_none_or_is_open(text, truth):
    values = {"a": quantity(1), "b": quantity(2, high=4), "c": quantity(3, high=5)}
    assert check_holds(text, values, TABLE) == truth


def test_a_check_that_cannot_be_decided_says_why():
    assert check_holds("a < b", {"a": quantity(1)}, TABLE).missing == ("b",)
    assert check_holds("a", {}, TABLE).code is BlockCode.BAD_FORMULA
    assert check_holds("a < b", {"a": quantity(1, "EUR"), "b": quantity(1)}, TABLE).code is BlockCode.WRONG_DIMENSION
    units = {"a": "EUR", "b": "USD", "c": "EUR"}
    assert check_dimensions("a < c", units, TABLE) == ""
    assert check_dimensions("a < b", units, TABLE).startswith("the formula compares EUR and USD")
    assert check_dimensions("a < d", units, TABLE) == "'d' is not a field"
    assert check_dimensions("a < ", units, TABLE) == "the formula is empty"
    assert "one of < <=" in check_dimensions("a < b < c", units, TABLE)
