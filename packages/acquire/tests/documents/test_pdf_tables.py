"""Tables of PDF files that go on over several pages: each value has the name of its column, and its own page."""

import pytest
from fpdf import FPDF
from fpdf.fonts import FontFace

from replan_acquire.documents import extract_pdf
from replan_acquire.documents.extract_pdf import read

HEADER = ["Item", "Cost (EUR/year)"]
WIDE = (30.0, 110.0, 190.0)


def page_with(rows, **options):
    """Return a page with a table; a cell is a text, or a pair of a text and the number of columns that it spans."""
    page = FPDF()
    page.add_page()
    page.set_font("Helvetica", size=11)
    with page.table(**options) as table:
        for row in rows:
            shown = table.row()
            for cell in row:
                text, span = cell if isinstance(cell, tuple) else (cell, 1)
                shown.cell(text, colspan=span)
    return page


def tables_of(page):
    return [each for each in read(bytes(page.output()))["blocks"] if each["kind"] == "table"]


class Pages:
    """Pages on which a test draws ruled tables where it wants them, in millimetres."""

    def __init__(self):
        self.made = FPDF()
        self.made.set_auto_page_break(False)
        self.made.set_font("Helvetica", size=11)

    def page(self, *, title=""):
        self.made.add_page()
        if title:
            self.made.text(30, 12, title)
        self.made.text(100, 290, f"{self.made.page_no()}")
        return self

    def table(self, top, rows, columns=WIDE, *, open_above=False, open_below=False):
        """Draw rows of a height of 10 mm each, without the upper or the lower line of the whole."""
        bottom = top + 10 * len(rows)
        for left in columns:
            self.made.line(left, top, left, bottom)
        for number in range(len(rows) + 1):
            if (number, open_above) != (0, True) and (number, open_below) != (len(rows), True):
                self.made.line(columns[0], top + 10 * number, columns[-1], top + 10 * number)
        for number, row in enumerate(rows):
            for left, text in zip(columns, row, strict=False):
                self.made.text(left + 2, top + 10 * number + 6, text)
        return self

    def text(self, top, text):
        self.made.text(30, top, text)
        return self

    def tables(self):
        """Return the rows of each table that is read, as pairs of cells and the page of the last one."""
        blocks = read(bytes(self.made.output()))["blocks"]
        return [
            [(row["cells"], row["places"][-1].partition(",")[0]) for row in each["rows"]]
            for each in blocks
            if each["kind"] == "table"
        ]


def numbers(rows):
    return [(cells[0], cells[1], page) for cells, page in rows]


FIRST, LAST = [["Tax", "310"], ["Fee", "12"]], [["Insurance", "1,250"], ["Washing", "95"]]
WHOLE = [
    ("Tax", "310", "page 1"),
    ("Fee", "12", "page 1"),
    ("Insurance", "1,250", "page 2"),
    ("Washing", "95", "page 2"),
]


@pytest.mark.parametrize(
    ("title", "names", "between"),
    [
        ("", [HEADER], ""),
        ("", [], ""),
        ("Costs of the fleet, page", [HEADER], ""),
        ("", [HEADER], "Table 1 (continued)"),
        ("", [], "(Fortsetzung)"),
    ],
)
def test_a_table_goes_on_with_and_without_its_header_under_running_titles(title, names, between):
    pages = Pages().page(title=title and f"{title} 1").table(230, [HEADER, *FIRST])
    pages.page(title=title and f"{title} 2").text(18, between).table(20, [*names, *LAST])
    [rows] = pages.tables()
    assert numbers(rows) == [(*HEADER, "page 1"), *WHOLE]


def test_a_table_goes_on_over_three_pages():
    pages = Pages().page().table(230, [HEADER, *FIRST])
    pages.page().table(20, [HEADER, *([["Van", "7"]] * 20)]).page().table(20, [HEADER, *LAST])
    [rows] = pages.tables()
    assert len(rows) == 25
    assert [page for _, page in rows] == ["page 1"] * 3 + ["page 2"] * 20 + ["page 3"] * 2


OTHERS = {
    "other columns": ("", [HEADER, *LAST], (30.0, 90.0, 190.0)),
    "more columns": ("", [HEADER, *LAST], (30.0, 80.0, 110.0, 190.0)),
    "another header": ("", [["Item", "Cost (EUR/month)"], *LAST], WIDE),
    "a heading between them": ("Costs of a month", [HEADER, *LAST], WIDE),
}


@pytest.mark.parametrize(("between", "rows", "columns"), OTHERS.values(), ids=OTHERS)
def test_another_table_on_the_next_page_is_one_of_its_own(between, rows, columns):
    pages = Pages().page().table(230, [HEADER, *FIRST]).page().text(18, between).table(20, rows, columns)
    assert len(pages.tables()) == 2


def test_a_table_that_lies_under_another_one_on_its_page_does_not_go_on():
    pages = Pages().page().table(100, [HEADER, *FIRST]).table(240, [["Van", "Age"], ["Old", "12 a"]], (30, 80, 100))
    assert len(pages.page().table(20, LAST).tables()) == 3


def test_a_row_that_a_page_cuts_in_two_is_one_row_at_the_page_of_its_number():
    pages = Pages().page().table(250, [HEADER, ["Tax", "310"], ["Insurance of", ""]], open_below=True)
    pages.page().table(20, [["all vans", "1,250"], ["Fee", "12"]], open_above=True)
    [rows] = pages.tables()
    assert numbers(rows)[1:] == [
        ("Tax", "310", "page 1"),
        ("Insurance of all vans", "1,250", "page 2"),
        ("Fee", "12", "page 2"),
    ]


def test_a_cut_row_is_put_together_below_a_repeated_header():
    pages = Pages().page().table(250, [HEADER, ["Tax", "310"], ["Insurance of", "1,250"]], open_below=True)
    pages.page().table(20, [HEADER, ["all vans", ""], ["Fee", "12"]])
    [rows] = pages.tables()
    assert numbers(rows)[2:] == [("Insurance of all vans", "1,250", "page 1"), ("Fee", "12", "page 2")]


def test_a_row_whose_parts_both_have_lines_is_put_together_only_where_its_text_goes_on():
    pages = Pages().page().table(250, [HEADER, ["Insurance of", "1,250"]])
    pages.page().table(20, [HEADER, ["all vans", ""], ["Vans that are leased", ""], ["Fee", "12"]])
    [rows] = pages.tables()
    assert [cells[0] for cells, _ in rows][1:] == ["Insurance of all vans", "Vans that are leased", "Fee"]


def test_two_numbers_never_become_one():
    pages = Pages().page().table(250, [HEADER, ["Insurance", "1,250"]], open_below=True)
    pages.page().table(20, [["of vans", "300"], ["Fee", "12"]], open_above=True)
    [rows] = pages.tables()
    assert [cells[1] for cells, _ in rows][1:] == ["1,250", "300", "12"]


def test_rows_without_lines_between_them_are_not_taken_as_one_cut_row():
    pages = Pages().page().table(240, [HEADER, ["Tax", "310"]])
    made = pages.made
    for left in WIDE:
        made.line(left, 260, left, 280)
    for top, (item, cost) in ((266, ("Fee", "12")), (271, ("Washing", "95"))):
        made.text(32, top, item)
        made.text(112, top, cost)
    pages.page().table(20, LAST)
    assert all("12 95" not in cells[1] for rows in pages.tables() for cells, _ in rows)


def test_a_table_that_a_library_breaks_over_pages_is_one():
    vans = [[f"Van {number}", f"{number},250"] for number in range(1, 80)]
    [rows] = [each["rows"] for each in tables_of(page_with([HEADER, *vans], headings_style=FontFace(emphasis="BOLD")))]
    assert [row["cells"] for row in rows] == [HEADER, *vans]
    pages = [row["places"][1].partition(",")[0] for row in rows]
    assert pages == sorted(pages)
    assert len(set(pages)) == 3


def test_an_empty_grid_is_no_text():
    page = Pages()
    page.made.add_page()
    page.table(230, [["", ""]] * 3)
    page.page().text(50, "Costs of vans")
    assert read(bytes(page.made.output()))["notices"] == ["there is no text on page 1 of 2"]


def test_a_row_with_cells_over_several_columns_is_read_without_names_and_the_others_keep_theirs():
    rows = [[*row, "x"] for row in [HEADER, *FIRST, *LAST]]
    first, second = tables_of(page_with([*rows, [("Total", 2), "1,667"]]))
    assert [row["cells"][:2] for row in first["rows"]] == [HEADER, *FIRST, *LAST]
    assert (first["merged"], second["merged"]) == (False, True)
    assert [cell for cell in second["rows"][0]["cells"] if cell] == ["Total", "1,667"]


def test_a_header_with_cells_over_several_columns_leaves_the_table_without_names():
    header = ["Item", ("Cost (EUR/year)", 2)]
    [block] = tables_of(page_with([header, ["", "vans", "cars"], ["Tax", "310", "95"]]))
    assert block["merged"] is True
    assert len(block["rows"]) == 3


def test_a_file_with_very_many_paragraphs_is_read_in_part_and_named(monkeypatch):
    monkeypatch.setattr(extract_pdf, "BLOCKS_MAX", 3)
    pages = Pages().page()
    for top in range(20, 280, 20):
        pages.text(top, f"Line at {top}.")
    found = read(bytes(pages.made.output()))
    assert len(found["blocks"]) == 3
    assert found["notices"] == ["only the first parts are read, because the file has too many parts"]
