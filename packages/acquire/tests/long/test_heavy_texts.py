"""Long and nested numbers, units, formulas, pages and tables: each is read or refused with little work."""

import time

import pytest

from replan_acquire.documents.tables import table_lines
from replan_acquire.documents.text_document import html_language, html_lines, html_title
from replan_acquire.quantities.calculator import Blocked, calculate
from replan_acquire.quantities.formula import FormulaUnreadable, parse_formula
from replan_acquire.quantities.quantity import Quantity, Refusal
from replan_acquire.quantities.quoted import Found, Source, find_quoted_value, read_value
from replan_acquire.quantities.units import UnitTable, UnitUnreadable

SECONDS = 2.0
"""The largest processor time that one text may use, in seconds."""
NUMBERS = (
    *("1e999999999", "9" * 10_000, "1." * 5000, "1 000 " * 3000, "1,000," * 3000, "1-" * 5000, "±" * 9000),
    *("5 " + "m/" * 4000, "٣" * 4000, "½" * 4000, "²" * 4000, "1 per " * 3000, "(" * 9000, "1\u2019000" * 5000),
    *("5 " + "(" * 49 + "m" + ")" * 49, "NaN", "inf", "-0", "1e308 km", "1" + "0" * 400, "0x" + "f" * 3000),
    *("1_000" * 3000, "\u202e5\u2066", "5 million " * 2000, "between " * 2000 + "5", "EUR " * 3000 + "5"),
    *("5 " + "milli" * 3000, " " * 60_000 + "5", "12:30:" * 5000, "1.1.2020" * 4000, "5 m^-12", "5 m**(9**9)"),
    *("5 [" * 9000, "5 [m]" * 5000, "5 quettaparsec^12", "20 yottaparsec^9"),
)
UNITS = (
    *("m^12", "m^13", "(" * 49 + "m", "m" * 100, "__import__('os')", "m.__class__", "degC", "dB", "pH", "1/0", "m^0"),
    *("m^-999", "%" * 99, "m per m per m", "°C^3", "delta_degC", "quetta" * 15, "\u200bm", "µ" * 99, "Yly^12"),
    *("yottaparsec^9", "quettaly^8", "quettaparsec^6*quettaly^6", "m/quectoangstrom^12"),
)
FORMULAS = (
    *("9**9**9**9**9", "(" * 900 + "1" + ")" * 900, "-" * 1900 + "1", "a.b" * 500, "1+" * 900 + "1", "1e400", "1j"),
    *("min(" * 300 + "1" + ")" * 300, "__import__('os').system('x')", "a.__class__.__mro__", "(lambda:1)()"),
    *("[1 for x in y]", "9" * 1999, "0x" + "f" * 1900, "1_0**1_0", "10**(10**(10**3))", "0**(0-1)", "(0-8)**0.5"),
    *("max()", "sum(*a)", "min(a,b=1)", "f''", "a if b else c", "1e308*1e308", "1e308**2"),
)
PAGES = (
    *("<div>" * 50_000, "<a href='" + "x" * 250_000, "<!--" * 50_000, "&#" * 100_000, "&" + "a" * 250_000),
    *("<" * 250_000, "<table>" + "<tr><td>" * 30_000, "<script>" * 25_000, "<![CDATA[" * 25_000, "</" * 100_000),
    *("<!DOCTYPE " * 25_000, "<p " + "a=b " * 50_000 + ">", "<ol start=99999999999999999999><li>" * 3000),
    *("<td rowspan=999999999 colspan=999999999>x</td>" * 50, "&#1114112;&#xFFFFFFFFFF;" * 9000),
    *("<svg><style><!--</style><img src=x onerror=1>" * 3000, "a;" * 50_000, '"' * 100_000, "a,b\n" * 25_000),
)
WANTED = ("EUR/customer/year", "percent", "")


@pytest.fixture(autouse=True)
def cheap():
    """The work of a test, whatever else the machine does."""
    began = time.process_time()
    yield
    assert time.process_time() - began < SECONDS


@pytest.fixture(scope="module")
def table():
    table = UnitTable({"customer": ""})
    table.unit("m")
    return table


def quoted(text, value, quote, wanted, table):
    start = text.index(quote)
    spans = [(start, start + len(quote))]
    return find_quoted_value(Source(text), spans, value, "m", wanted=wanted, table=table, declared={"customer": ""})


@pytest.mark.parametrize("wanted", WANTED)
@pytest.mark.parametrize("text", NUMBERS, ids=range(len(NUMBERS)))
def test_a_number_is_read_or_refused(text, wanted, table):
    assert isinstance(read_value(text, wanted, table), Quantity | Refusal)
    assert isinstance(quoted(text, text[:100], text, wanted, table), Found | Refusal)
    assert isinstance(quoted(f"y {text}", "5", text[:90], wanted, table), Found | Refusal)


@pytest.mark.parametrize("text", UNITS, ids=range(len(UNITS)))
def test_a_unit_is_read_or_refused(text, table):
    try:
        assert 0 < table.unit(text).factor < float("inf")
    except UnitUnreadable:
        assert table.problem(text)
    assert isinstance(table.convert(Quantity(low=1, high=2, unit=text), "m"), Quantity | Refusal)


@pytest.mark.parametrize("text", FORMULAS, ids=range(len(FORMULAS)))
def test_a_formula_is_calculated_or_refused(text, table):
    try:
        names = parse_formula(text).names
    except FormulaUnreadable:
        names = ()
    values = {name: Quantity(low=2, high=2, unit="") for name in names}
    assert isinstance(calculate(text, "", values, table), Quantity | Blocked)


@pytest.mark.parametrize("text", PAGES, ids=range(len(PAGES)))
def test_a_page_or_a_table_is_read(text):
    assert len(html_lines(text)) <= len(text)
    assert len(html_language(text)) <= len(text)
    assert len(html_title(text)) <= len(text)
    assert len(table_lines(text)) <= text.count("\n") + 1
