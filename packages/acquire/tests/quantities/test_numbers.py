"""Numbers as people write them: separators, percent, ranges, scale words, currencies, other scripts, ambiguity."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan_acquire.quantities.numerals import decimal_mark, fold, language_of, mark_of_language
from replan_acquire.quantities.quantity import MAGNITUDE_MAX, Quantity, Refusal, RefusalCode, plain
from replan_acquire.quantities.quoted import VALUE_CHARACTERS_MAX, read_value
from replan_acquire.quantities.units import UnitTable
from replan_acquire.quantities.written import TEXT_MAX, find_numbers

TABLE = UnitTable({"apartment": "", "charging_point": ""})

ONE = {
    # separators of thousands and decimals
    "1,234.5": 1234.5,
    "1.234,5": 1234.5,
    "1 234 567,8": 1234567.8,
    "1\u202f234\u202f567": 1234567,
    "12 500": 12500,
    "1'234.50": 1234.5,
    "12,34,567": 1234567,
    "1.234.567": 1234567,
    "12,5": 12.5,
    "0.125": 0.125,
    "0,125": 0.125,
    "1234.567": 1234.567,
    # scale words, in several languages
    "2.5 million": 2.5e6,
    "2,5 mil milhões": 2.5e9,
    "42 Mrd.": 42e9,
    "3 billion": 3e9,
    "2 Billionen": 2e12,
    "7 crore": 7e7,
    "3億": 3e8,
    "12 тыс": 12e3,
    "500k": 5e5,
    "5M": 5e6,
    "1.5e6": 1.5e6,
    "2 × 10^6": 2e6,
    "3½": 3.5,
    # other scripts
    "\u0661\u0662\u0663\u0664\u066b\u0665": 1234.5,
    "\uff11\uff12\uff13": 123,
    "४२": 42,
    # signs
    "-5": -5,
    "\u22125": -5,
    "COVID-19": 19,
}


@pytest.mark.parametrize(("text", "value"), ONE.items())
def test_a_number_has_one_reading(text, value):
    (number,) = find_numbers(text)
    assert number.readings == ((value, value),)


RANGES = {
    "3-5 million": (3e6, 5e6),
    "3\u20135 million": (3e6, 5e6),
    "3 to 5 million": (3e6, 5e6),
    "between 3 and 5 million": (3e6, 5e6),
    "entre 3 e 5 milhões": (3e6, 5e6),
    "10 a 15 %": (10, 15),
    "12%-15%": (12, 15),
    "500k-1M": (5e5, 1e6),
    "500-1 million": (500, 1e6),
    "10 ± 2": (8, 12),
    "€3\u20135m": (3e6, 5e6),
    "EUR 3 million to 5 million": (3e6, 5e6),
}


@pytest.mark.parametrize(("text", "bounds"), RANGES.items())
def test_a_range_is_one_number_with_two_bounds(text, bounds):
    (number,) = find_numbers(text)
    assert number.readings == (bounds,)


@pytest.mark.parametrize(
    "text", ["", "none", "2024-11-05", "12.10.2025", "08:30", "v1.2.3", "192.168.0.1", "A4", "9" * 41]
)
def test_what_is_no_number_is_left_out(text):
    assert find_numbers(text) == []


@pytest.mark.parametrize("text", ["5-3", "3% to 5 EUR", "3 EUR - 5 USD", "between 3, and 5"])
def test_two_numbers_that_are_no_range_stay_two(text):
    assert len(find_numbers(text)) == 2


@pytest.mark.parametrize(("text", "shown"), {"1.234": ("1.234", "1,234"), "12,500": ("12,500", "12.5")}.items())
def test_an_ambiguous_number_has_both_readings_and_is_never_guessed(text, shown):
    (number,) = find_numbers(text)
    assert number.shown == shown
    refusal = read_value(text, "", TABLE)
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.readings) == (RefusalCode.AMBIGUOUS_NUMBER, shown)


def test_a_known_decimal_mark_settles_an_ambiguous_number():
    assert read_value("1.234", "", TABLE, mark="comma") == Quantity(low=1234, high=1234)
    assert read_value("1.234", "", TABLE, mark="point") == Quantity(low=1.234, high=1.234)
    assert find_numbers("1.234-5.678", "comma")[0].readings == ((1234, 5678),)


def test_the_long_scale_is_ambiguous_where_the_language_has_it():
    assert find_numbers("2 billion", language="en")[0].readings == ((2e9, 2e9),)
    assert find_numbers("2 billion", language="fr")[0].readings == ((2e9, 2e9), (2e12, 2e12))


CURRENCIES = {
    "€3": ("EUR",),
    "3 EUR": ("EUR",),
    "USD5": ("USD",),
    "R$ 5": ("BRL",),
    "5 mil milhões de euros": ("EUR",),
    "12 tys. zł": ("PLN",),
    "3億円": ("JPY",),
    "¥3": ("JPY", "CNY"),
    "3 kW": (),
    "3 ABC": (),
}


@pytest.mark.parametrize(("text", "currencies"), CURRENCIES.items())
def test_a_currency_sign_or_code_is_recognised_beside_a_number(text, currencies):
    assert find_numbers(text)[0].currencies == currencies


DOCUMENTS = {
    "Prices rose by 3,5 % to 1.234 euros.": "comma",
    "Prices rose by 3.5 % to 1,234 euros.": "point",
    "There are 1.234.567 homes.": "comma",
    "It is 3.75 here and 12,5 there.": "",  # The numbers contradict each other.
    "## 2.1 Prices\nIn version 1.2 and Table 3.4 nothing is stated.": "",
    "On 12.10.2025 at 08:30.": "",
}


@pytest.mark.parametrize(("text", "mark"), DOCUMENTS.items())
def test_a_documents_own_numbers_tell_its_decimal_mark(text, mark):
    assert decimal_mark(text) == mark


def test_the_language_tells_the_mark_only_where_no_number_does():
    assert decimal_mark("about 1.234 homes", "pt") == "comma"
    assert decimal_mark("about 1.234 homes at 3.75", "pt") == "point"
    assert mark_of_language("de-CH") == "point"
    assert mark_of_language("pt_PT") == "comma"
    assert mark_of_language("tlh") == ""


def test_the_language_of_a_text_is_told_by_its_small_words():
    assert language_of("The number of the buildings in the city is known to the council.") == "en"
    assert language_of("O número de edifícios da cidade é conhecido e não muda com os anos.") == "pt"
    assert language_of("Ladepunkte 22 kW") == ""


VALUES = {
    ("12,5 %", ""): Quantity(low=0.125, high=0.125),
    ("12,5 %", "percent"): Quantity(low=12.5, high=12.5, unit="percent"),
    ("250 apartments", "apartment"): Quantity(low=250, high=250, unit="apartment"),
    ("about 500 charging points", "charging_point"): Quantity(low=500, high=500, unit="charging_point"),
    ("5", "EUR"): Quantity(low=5, high=5, unit="EUR"),
    ("$5", "USD"): Quantity(low=5, high=5, unit="USD"),
    ("22 kW", "MW"): Quantity(low=0.022, high=0.022, unit="MW"),
    ("0.25 €/kWh", "EUR/MWh"): Quantity(low=250, high=250, unit="EUR/MWh"),
    ("€0.25 per kWh", "EUR/kWh"): Quantity(low=0.25, high=0.25, unit="EUR/kWh"),
    ("100 USD per GB per month", "USD/(GB*month)"): Quantity(low=100, high=100, unit="USD/(GB*month)"),
}


@pytest.mark.parametrize(("case", "value"), VALUES.items())
def test_an_answer_is_read_in_the_fields_unit(case, value):
    assert read_value(*case, TABLE) == value


REFUSED = {
    ("", ""): RefusalCode.NO_NUMBER,
    ("3 and 4", ""): RefusalCode.SEVERAL_NUMBERS,
    ("1e40", ""): RefusalCode.OUT_OF_RANGE,
    ("250 flats", "apartment"): RefusalCode.UNKNOWN_UNIT,
    ("$5", "EUR"): RefusalCode.WRONG_UNIT,
    ("22 kW", "kWh"): RefusalCode.WRONG_UNIT,
    ("5", "blorp"): RefusalCode.UNKNOWN_UNIT,
    ("5" + " " * VALUE_CHARACTERS_MAX, ""): RefusalCode.TOO_LONG,
}


@pytest.mark.parametrize(("case", "code"), REFUSED.items())
def test_an_answer_that_gives_no_value_is_refused_with_its_reason(case, code):
    refusal = read_value(*case, TABLE)
    assert isinstance(refusal, Refusal)
    assert refusal.code is code
    assert "\n" not in refusal.message


@pytest.mark.parametrize("text", ["1\u066b1.2", "1\u066b1,200", "1\u066b2\u066b3"])
def test_a_numeral_with_more_after_its_arabic_decimal_mark_is_no_number(text):
    assert list(find_numbers(text)) == []
    assert isinstance(read_value(text, "EUR/kWh", TABLE), Refusal)


@given(st.text(alphabet="0123456789.,-+ %€$kM\u00a0\u2013½eE()/abto\u066b१", max_size=60) | st.text(max_size=200))
def test_any_text_is_read_without_an_error(text):
    assert len(fold(text)) == len(text)
    last = 0
    for number in find_numbers(text):
        assert last <= number.start < number.end <= len(text)
        assert all(low <= high for low, high in number.readings)
        last = number.end
    value = read_value(text, "EUR/kWh", TABLE)
    assert isinstance(value, Refusal) or max(abs(value.low), abs(value.high)) <= MAGNITUDE_MAX
    assert decimal_mark(text) in ("", "point", "comma")


@given(st.floats(min_value=-1e15, max_value=1e15), st.sampled_from([".", ","]))
def test_a_number_that_is_written_out_is_read_again(value, decimal):
    value = float(f"{value:.4f}")
    written = f"{value:,.4f}".translate(str.maketrans(",.", ",." if decimal == "." else ".,"))
    mark = "point" if decimal == "." else "comma"
    assert find_numbers(written, mark)[0].readings == ((value, value),)


def test_numbers_are_shown_with_the_digits_that_matter():
    assert [plain(number) for number in (0, 1.5, 1234567, 0.1 + 0.2, 1e-12, 1e25)] == [
        *("0", "1.5", "1,234,567", "0.3", "1e-12", "1e+25"),
    ]


@pytest.mark.parametrize("piece", ["1", "1.", "1 ", "$", "1-", " ", "1 000"])
def test_reading_a_long_text_takes_a_bounded_time(piece):
    started = time.process_time()
    find_numbers(piece * 200_000)
    decimal_mark(piece * (TEXT_MAX // len(piece)))
    assert time.process_time() - started < 2
