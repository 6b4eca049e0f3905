"""Units, numbers and formulas of models and documents are any text: each is read or refused, and nothing else."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from replan_acquire.quantities.calculator import Blocked, calculate, check_dimensions, check_formulas, check_holds
from replan_acquire.quantities.formula import FormulaUnreadable, parse_formula
from replan_acquire.quantities.quantity import Quantity, Refusal
from replan_acquire.quantities.quoted import Found, Source, find_quoted_value, read_value
from replan_acquire.quantities.units import UnitTable, UnitUnreadable
from tests.support.examples import examples

NAMES = ["yottaparsec", "yoctogram", "kWh", "EUR", "m3", "van", "°C", "percent", "kg", "1", "week", "googol", "q"]
UNITS = st.lists(
    st.sampled_from([*NAMES, "^9", "**12", "^-9", "**99", "*", "/", " per ", "(", ")", "²", " "]), max_size=12
).map("".join)
NUMBERS = st.sampled_from(["1e300", "9" * 39, "0", "-1", "1/0", "5", "1e-300", "²", "½", "१", "10**9", "1_000"])
FORMULAS = st.lists(
    st.sampled_from(["a", "b", "a.b", "+", "-", "*", "/", "**", "(", ")", "1000", "1e30", "0", "min(", "sum(", ","]),
    max_size=14,
).map("".join)
PIECES = (
    *("5", "1,234", " ", "per", "/", "100", " km", "million", "%", "€", "°C", "|", ":", "\n", "(", ")", "in", "EUR"),
    *("a", "month", "p.a.", "²", "-", "and", "GB", "van", "2024", "merged cells", "½", "٣"),
)
PHRASES = st.lists(st.sampled_from(PIECES), max_size=16).map("".join)


def test_a_unit_that_no_number_holds_is_refused_in_words():
    for text in ("yottaparsec^9", "1/yottaparsec^9", "yoctometer^-9", "(yottaparsec*yottaparsec)^6"):
        assert UnitTable().problem(text) == "the unit is too large or too small"
    declared = UnitTable({"huge": "999999999999999 yottaparsec**8"})
    assert "too large" in declared.problem("huge**2")


@examples(100)
@given(UNITS | st.text(max_size=60), UNITS)
def test_any_unit_is_read_or_refused(text, other):
    table = UnitTable({"van": "", "fleet": "24 van"})
    with contextlib.suppress(UnitUnreadable):
        assert table.unit(text).factor > 0
    converted = table.convert(Quantity(low=1, high=2, unit=text), other)
    assert isinstance(converted, Quantity | Refusal)


@examples(100)
@given(PHRASES | st.text(max_size=80), NUMBERS | st.text(max_size=20), UNITS, UNITS)
def test_any_phrase_is_taken_or_refused(phrase, value, unit, wanted):
    table, declared = UnitTable({"van": ""}), {"van": ""}
    spans = [(0, len(phrase))]
    read = find_quoted_value(Source(phrase), spans, value, unit, wanted=wanted, table=table, declared=declared)
    assert isinstance(read, Found | Refusal)
    assert isinstance(read_value(phrase, unit, table), Quantity | Refusal)


@examples(100)
@given(FORMULAS | st.text(max_size=60), FORMULAS, UNITS, st.floats(-1e30, 1e30), st.floats(-1e30, 1e30))
def test_any_formula_is_calculated_or_refused(text, other, unit, first, second):
    table, units = UnitTable(), {"a": unit, "b": "kg", "a.b": "", "r": unit}
    with contextlib.suppress(FormulaUnreadable):
        parse_formula(text)
    check_formulas({"r": text}, units, table)
    values = {"a": Quantity(low=first, high=first, unit=unit), "b": Quantity(low=second, high=second, unit="kg")}
    assert isinstance(calculate(text, unit, values, table), Quantity | Blocked)
    check_dimensions(f"{text} < {other}", units, table)
    check_holds(f"{text} < {other}", values, table)
