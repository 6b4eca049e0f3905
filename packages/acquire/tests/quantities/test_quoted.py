"""The value that a quote states: the number and its unit are those of the quote, whatever a model gives."""

import pytest

from replan_acquire.quantities.quantity import Quantity, Refusal, RefusalCode
from replan_acquire.quantities.quoted import QUOTE_CHARACTERS_MAX, Found, Source, find_quoted_value
from replan_acquire.quantities.units import UnitTable

UNITS = {"building": "", "charger": ""}
TABLE = UnitTable(UNITS)


def read(quote, value, unit, wanted, *, text="", mark="", language=""):
    """Return the quantity or the refusal of a quote in a text; the text is the quote where none is given."""
    start = (text or quote).index(quote)
    spans = [(start, start + len(quote))]
    found = find_quoted_value(
        Source(text or quote, mark, language), spans, value, unit, wanted=wanted, table=TABLE, declared=UNITS
    )
    return found.quantity if isinstance(found, Found) else found


STATED = [
    ("There are 250,000.0 buildings.", "250000", "building", "building", (250000, 250000)),
    ("between 3 and 5 million EUR", "3-5 million", "EUR", "EUR", (3e6, 5e6)),
    ("between 3 and 5 million EUR", "3", "million EUR", "EUR", (3e6, 5e6)),
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
    assert read(quote, value, unit, wanted) == Quantity(low=low, high=high, unit=wanted)


REFUSED = [
    ("There are 25 buildings.", "5", "building", "building", RefusalCode.VALUE_NOT_IN_QUOTE),
    ("There are 2,5 buildings.", "5", "building", "building", RefusalCode.VALUE_NOT_IN_QUOTE),
    ("There are many buildings.", "5", "building", "building", RefusalCode.VALUE_NOT_IN_QUOTE),
    ("costs 3-5 million", "3-5", "EUR", "EUR", RefusalCode.NO_UNIT),  # The model's unit is no evidence.
    ("It costs 5 EUR.", "5", "USD", "USD", RefusalCode.WRONG_UNIT),
    ("It has 5 kW.", "5", "kWh", "kWh", RefusalCode.WRONG_UNIT),
    ("It has 5 %.", "5", "building", "building", RefusalCode.WRONG_UNIT),
    ("There are 1.234 buildings.", "1234", "building", "building", RefusalCode.AMBIGUOUS_NUMBER),
    ("There are 1.234 buildings.", "1.234", "building", "building", RefusalCode.AMBIGUOUS_NUMBER),
    ("5 " * QUOTE_CHARACTERS_MAX, "5", "", "", RefusalCode.TOO_LONG),
    ("It is 1e300.", "1e300", "", "", RefusalCode.OUT_OF_RANGE),
]


@pytest.mark.parametrize(("quote", "value", "unit", "wanted", "code"), REFUSED)
def test_a_value_that_the_quote_does_not_state_is_refused(quote, value, unit, wanted, code):
    refusal = read(quote, value, unit, wanted)
    assert isinstance(refusal, Refusal)
    assert refusal.code is code


def test_the_source_settles_an_ambiguous_number_and_the_model_does_not():
    def marked(value, mark):
        return read("There are 1.234 buildings.", value, "building", "building", mark=mark)

    assert marked("1234", "comma") == marked("1.234", "comma") == Quantity(low=1234, high=1234, unit="building")
    assert marked("1.234", "point") == Quantity(low=1.234, high=1.234, unit="building")
    assert marked("1234", "point").code is RefusalCode.VALUE_NOT_IN_QUOTE
    own = read("1.234 buildings, 3,5 % of them", "1234", "building", "building", mark="point")
    assert own == Quantity(low=1234, high=1234, unit="building")


CUT = [
    ("2,400 per van", "EUR 52,400 per van", "2400", "EUR"),
    ("180,00 €", "1.180,00 € pro Jahr", "180", "EUR"),
    ("4.2", "4.2 ct/km", "4.2", "EUR"),
    ("55,000", "$55,000", "55000", "EUR"),
    ("265", "265 Wh/km", "265", "kWh"),
    ("3.2", "3.2 million EUR", "3.2", "EUR"),
    ("5 %", "-5 %", "5", "percent"),
    ("300 km", "300 kmh", "300", "km"),
]


@pytest.mark.parametrize(("quote", "text", "value", "wanted"), CUT)
def test_a_quote_that_cuts_a_quantity_apart_is_refused(quote, text, value, wanted):
    refusal = read(quote, value, wanted, wanted, text=f"It is {text}.")
    assert isinstance(refusal, Refusal)
    assert refusal.code is RefusalCode.QUOTE_CUT or (quote == "300 km" and refusal.code is RefusalCode.NO_UNIT)


def test_a_quote_is_widened_by_what_its_number_is_per():
    text = "It uses 27.5 kWh per 100 km in the city."
    assert read("27.5 kWh", "27.5", "kWh/km", "kWh/km", text=text) == Quantity(low=0.275, high=0.275, unit="kWh/km")
