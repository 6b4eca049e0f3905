"""The value that a quote states: the number and its unit are those of the quote, whatever a model gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.quantities.quantity import Quantity, Refusal, RefusalCode
from actors.quantities.quoted import QUOTE_CHARACTERS_MAX, quoted_value
from actors.quantities.units import UnitTable

TABLE = UnitTable({"building": "", "charger": ""})

STATED = [
    ("There are 250,000.0 buildings.", "250000", "building", "building", (250000, 250000)),
    ("between 3 and 5 million EUR", "3-5 million", "EUR", "EUR", (3e6, 5e6)),
    ("between 3 and 5 million EUR", "3", "million EUR", "EUR", (3e6, 5e6)),
    ("costs 3-5 million", "3-5", "EUR", "EUR", (3e6, 5e6)),
    ("a share of 12,5 % of all", "0.125", "", "", (0.125, 0.125)),
    ("a share of 12,5 % of all", "12.5", "percent", "percent", (12.5, 12.5)),
    ("22 kW chargers", "22", "MW", "MW", (0.022, 0.022)),  # The quote's unit counts, not the model's.
    ("€0.25/kWh", "0.25", "EUR/kWh", "EUR/MWh", (250, 250)),
    ("cost 1,100.00 dollars, so $1,100.00 each", "1100", "USD", "USD", (1100, 1100)),
    ("5 EUR for 5 kW", "5", "kW", "kW", (5, 5)),
]


@pytest.mark.parametrize(("quote", "value", "unit", "wanted", "bounds"), STATED)
def test_the_number_of_the_quote_is_taken_in_the_fields_unit(quote, value, unit, wanted, bounds):
    low, high = bounds
    assert quoted_value(quote, value, unit, wanted, TABLE) == Quantity(low=low, high=high, unit=wanted)


REFUSED = [
    ("There are 25 buildings.", "5", "building", "building", RefusalCode.VALUE_NOT_IN_QUOTE),
    ("There are 2,5 buildings.", "5", "building", "building", RefusalCode.VALUE_NOT_IN_QUOTE),
    ("There are many buildings.", "5", "building", "building", RefusalCode.VALUE_NOT_IN_QUOTE),
    ("It costs 5 EUR.", "5", "USD", "USD", RefusalCode.WRONG_UNIT),
    ("It has 5 kW.", "5", "kWh", "kWh", RefusalCode.WRONG_UNIT),
    ("It grew by 5 %.", "5", "building", "building", RefusalCode.WRONG_UNIT),
    ("There are 1.234 buildings.", "1234", "building", "building", RefusalCode.AMBIGUOUS_NUMBER),
    ("There are 1.234 buildings.", "1.234", "building", "building", RefusalCode.AMBIGUOUS_NUMBER),
    ("5 " * QUOTE_CHARACTERS_MAX, "5", "", "", RefusalCode.TOO_LONG),
    ("It is 1e300.", "1e300", "", "", RefusalCode.OUT_OF_RANGE),
]


@pytest.mark.parametrize(("quote", "value", "unit", "wanted", "code"), REFUSED)
def test_a_value_that_the_quote_does_not_state_is_refused(quote, value, unit, wanted, code):
    refusal = quoted_value(quote, value, unit, wanted, TABLE)
    assert isinstance(refusal, Refusal)
    assert refusal.code is code


def test_the_source_settles_an_ambiguous_number_and_the_model_does_not():
    def read(value, mark):
        return quoted_value("There are 1.234 buildings.", value, "building", "building", TABLE, mark=mark)

    assert read("1234", "comma") == read("1.234", "comma") == Quantity(low=1234, high=1234, unit="building")
    assert read("1.234", "point") == Quantity(low=1.234, high=1.234, unit="building")
    assert read("1234", "point").code is RefusalCode.VALUE_NOT_IN_QUOTE
    own = quoted_value("1.234 buildings, 3,5 % of them", "1234", "building", "building", TABLE, mark="point")
    assert own == Quantity(low=1234, high=1234, unit="building")


@given(st.text(max_size=80), st.text(alphabet="0123456789., -%kWE", max_size=20), st.text(max_size=10))
def test_any_quote_and_value_give_a_quantity_or_a_refusal(quote, value, unit):
    assert isinstance(quoted_value(quote, value, unit, "EUR", TABLE), Quantity | Refusal)
