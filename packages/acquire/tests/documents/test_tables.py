"""Tables: what stands over a cell counts for it; where nobody can tell what that is, no bare number is taken."""

import pytest

from replan_acquire.documents.tables import markdown_lines, table_lines
from replan_acquire.documents.text_document import html_lines
from replan_acquire.quantities.quoted import Found, Source, find_quoted_value
from replan_acquire.quantities.units import UnitTable

CSV = table_lines
HTML = html_lines


def markdown(text):
    return markdown_lines(list(enumerate(text.split("\n"), 1)))


def read(lines, value, wanted):
    text = "\n".join(line for _, line in lines)
    start = text.rindex(value)
    found = find_quoted_value(Source(text, "point", "en"), [(start, start + len(value))], value, wanted,
                         wanted=wanted, table=UnitTable({"shop": ""}), declared={"shop": ""})  # fmt: skip
    return found.quantity.low if isinstance(found, Found) else found.message


NAMED = {
    "the name of a column": (CSV("year;storage (GB)\n2024;70\n"), "70", "GB", 70),
    "a scale in a column": (CSV("year;revenue in EUR million\n2024;70\n"), "70", "EUR", 70e6),
    "two rows of headings": (CSV("storage;price\n(GB);(USD)\n70;5\n"), "70", "GB", 70),
    "a name that two columns share, and their units below": (
        CSV("year;size;size\nend of;all (GB);free (TB)\n2024;70;5\n"),
        "70",
        "GB",
        70,
    ),
    "a title over a table": (CSV("Revenue in EUR million\nyear;revenue\n2023;60\n2024;70\n"), "70", "EUR", 70e6),
    "a second table": (CSV("year;a (GB)\n2023;1\n\nyear;b (TB)\n2024;70\n"), "70", "TB", 70),
    "Markdown": (
        markdown("Sales (in thousands):\n\n| year | EUR |\n|---|---|\n| 2024 | 70 EUR |"),
        "70 EUR",
        "EUR",
        70e3,
    ),
    "HTML": (HTML("<table><tr><th>year<th>size (GB)</tr><tr><td>2024<td><p>70</p></tr></table>"), "70", "GB", 70),
    "a caption in HTML": (
        HTML("<table><caption>In EUR million</caption><tr><th>year<th>sales</tr><tr><td>2024<td>70</tr></table>"),
        *("70", "EUR", 70e6),
    ),
}


@pytest.mark.parametrize("case", NAMED.values(), ids=NAMED)
def test_what_stands_over_a_cell_counts_for_it(case):
    lines, value, wanted, expected = case
    assert read(lines, value, wanted) == pytest.approx(expected)


REFUSED = {
    "no header": (CSV("Lisboa;120;5\nPorto;70;7\n"), "70", "shop", "no heading"),
    "headings with a gap": (CSV("2023;;2024;\nshops;cost;shops;cost\n50;6;70;8\n"), "70", "shop", "no heading"),
    "a gap over a second row of headings": (
        CSV("year;size;;place\nend of;all (GB);free (TB);city\n2024;70;5;Rome\n"),
        *("70", "GB", "no heading"),
    ),
    "merged columns": (
        HTML("<table><tr><th colspan=2>2023<th>2024</tr><tr><td>1<td>2<td>70</tr></table>"),
        *("70", "shop", "merged cells"),
    ),
    "merged rows": (
        HTML("<table><tr><th>year<th>shops</tr><tr><td rowspan='2'>2023<td>1</tr><tr><td>70</tr></table>"),
        *("70", "shop", "merged cells"),
    ),
    "two scales": (
        CSV("Sales in thousand EUR\nyear;sales in EUR million\n2024;70\n"),
        "70",
        "EUR",
        "both state a scale",
    ),
    "a year": (CSV("year;shops\n2024;70\n"), "2024", "shop", "the number is a year"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_a_number_of_which_the_table_does_not_tell_what_it_is_is_not_taken(case):
    lines, value, wanted, reason = case
    assert reason in str(read(lines, value, wanted))


@pytest.mark.parametrize("piece", ["|", "a|b\n|--|--|\n", "<table><tr><td>", "<td colspan=9>", ";\n", "1;\n\n"])
def test_reading_a_long_table_ends(piece):
    text = piece * (40_000 // len(piece))
    assert isinstance(markdown(text), list)
    assert isinstance(html_lines(text), list)
    assert isinstance(table_lines(text), list)


@pytest.mark.parametrize("text", ["a | b\nnext", "a | b\nc | d\ne | f\nend", "text\n\na | b\n"])
def test_bars_in_a_text_that_has_no_table_stay_where_they_are(text):
    assert "\n".join(line for _, line in markdown(text)) == text
