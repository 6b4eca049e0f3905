"""PDF, DOCX, XLSX, e-mails and ZIP files: what is read of them, and the place of each line and cell."""

import itertools

import docx
import openpyxl
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from fpdf import FPDF

from packages.acquire.tests.documents.written_documents import as_docx, as_eml, as_html, as_pdf, as_xlsx, as_zip, saved
from replan_acquire.documents import index
from replan_acquire.documents.index import open_index

TABLE = [["Item", "Cost (EUR/year)"], ["Tax", 310.0], ["Insurance", "1,250.50"]]
BLOCKS = ("# Fleet", "The fleet has 42 vans.", TABLE, None, "Each van drives 28,500 km per year.")


def read(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    return open_index(tmp_path)


def places(index):
    """Return the texts that begin at each place, by place."""
    found = {}
    for passage in index.passages:
        starts = [*passage.places, (len(passage.text) + 1, "")]
        for (begin, place), (end, _) in itertools.pairwise(starts):
            found[place] = passage.text[begin : end - 1].strip(" |\n")
    return found


def test_a_pdf_has_paragraphs_and_cells_with_page_and_box(tmp_path):
    index = read(tmp_path, "a.pdf", as_pdf(BLOCKS, "Our fleet"))
    found = places(index)
    pages = {place.partition(",")[0] for place in found}
    assert pages == {"page 1", "page 2"}
    by_text = {text: place for place, text in found.items()}
    assert by_text["Each van drives 28,500 km per year."].startswith("page 2, box 31 ")
    x0, top, x1, bottom = map(int, by_text["Cost (EUR/year): 1,250.50"].rpartition("box ")[2].split())
    assert 290 < x0 < x1 < 570
    assert 0 < top < bottom < 842
    assert by_text["Item: Insurance"] != by_text["Cost (EUR/year): 1,250.50"]
    assert index.passages[0].title == "Our fleet"


def test_a_paragraph_of_a_pdf_is_one_line_also_where_it_is_divided(tmp_path):
    words = " ".join(f"word{number}" for number in range(60))
    [line] = places(read(tmp_path, "a.pdf", as_pdf([f"{words} consump-\ntion is 8.4 l"]))).values()
    assert line == f"{words} consumption is 8.4 l"


def test_pages_without_text_are_counted(tmp_path):
    def pages():
        made = FPDF()
        for _ in range(3):
            made.add_page()
            made.rect(10, 10, 50, 50)
        return made

    assert read(tmp_path, "scan.pdf", bytes(pages().output())).notices == (
        "scan.pdf: left out: the file has no text (3 pages)",
    )
    page = pages()
    page.add_page()
    page.set_font("Helvetica", size=11)
    page.cell(text="42 vans")
    index = read(tmp_path, "scan.pdf", bytes(page.output()))
    assert index.notices == ("scan.pdf: there is no text on pages 1, 2, 3 of 4",)
    assert index.passages[0].text == "42 vans"


def test_a_pdf_with_a_password_is_named(tmp_path):
    page = FPDF()
    page.add_page()
    page.set_encryption(owner_password="a", user_password="b")
    assert read(tmp_path, "a.pdf", bytes(page.output())).notices == (
        "a.pdf: left out: the file is protected by a password",
    )


def test_a_docx_has_paragraphs_and_cells_by_number(tmp_path):
    index = read(tmp_path, "a.docx", as_docx(BLOCKS))
    found = places(index)
    assert found["paragraph 2"] == "The fleet has 42 vans."
    assert found["table 1, row 3, column 2"] == "Cost (EUR/year): 1,250.50"
    assert index.passages[0].title == "Fleet"


def test_inserted_text_of_a_docx_counts_and_deleted_text_does_not(tmp_path):
    document = docx.Document()
    paragraph = document.add_paragraph("The fleet has ")
    for tag, text in (("ins", "<w:t>42</w:t>"), ("del", "<w:delText>41</w:delText>")):
        paragraph._p.append(parse_xml(f"<w:{tag} {nsdecls('w')} w:id='1' w:author='a'><w:r>{text}</w:r></w:{tag}>"))
    assert read(tmp_path, "a.docx", saved(document)).passages[0].text == "The fleet has 42"


def test_merged_cells_leave_a_table_without_names(tmp_path):
    document = docx.Document()
    table = document.add_table(3, 2)
    table.cell(1, 0).merge(table.cell(1, 1))
    table.cell(2, 1).text = "310"
    assert "(merged cells)" in read(tmp_path, "a.docx", saved(document)).passages[0].text


SHAPES = [
    (0.375, "0.0%", "37.5 %"),
    (1234.5, "#,##0.00", "1234.5"),
    (12.4, '#,##0.00 "€"', "12.4 €"),
    (12.4, "[$EUR] #,##0.00", "12.4 EUR"),
    (12.4, "[$€-407]#,##0.00;[Red]-[$€-407]#,##0.00", "12.4 €"),
    (90, '0 "km"', "90 km"),
    (-3, "0;(0)", "-3"),
    (1e15, "General", "1000000000000000.000000"),
]


def test_a_number_of_a_sheet_keeps_its_digits_and_the_unit_of_its_format(tmp_path):
    rows = [["Tax", (number, shape)] for number, shape, _ in SHAPES]
    found = places(read(tmp_path, "a.xlsx", as_xlsx([[["Item", "Cost"], *rows]])))
    assert [found[f"Table1!B{row}"] for row in range(2, 10)] == [f"Cost: {shown}" for *_, shown in SHAPES]


def test_a_sheet_has_cells_tables_and_dates(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Prices"
    for row in (["Prices 2024"], [], ["Item", "Price (EUR/km)"], ["Fuel", 0.141], [], ["Van", "Bought"], ["A", None]):
        sheet.append(row)
    sheet["B7"] = "2024-03-01"
    sheet["B9"] = "=B4*2"
    hidden = book.create_sheet("Old")
    hidden.sheet_state = "hidden"
    hidden["A1"] = "secret"
    index = read(tmp_path, "a.xlsx", saved(book))
    found = places(index)
    assert found["Prices!B4"] == "Price (EUR/km): 0.141"
    assert found["Prices!B7"] == "Bought: 2024-03-01"
    assert set(index.notices) == {
        "a.xlsx: hidden sheets are left out: Old",
        "a.xlsx: 1 formula has no stored value",
    }


def test_an_email_has_its_headers_its_body_and_its_attachments(tmp_path):
    attached = [("prices.xlsx", as_xlsx([TABLE])), ("photo.png", b"\x89PNG")]
    index = read(tmp_path, "offer.eml", as_eml(["The rate is 389 EUR per month."], "Leasing", attached))
    assert {each.source for each in index.passages} == {"offer.eml", "offer.eml/prices.xlsx"}
    found = places(index)
    assert found["header Subject"] == "Subject: Leasing"
    assert found["body, line 1"] == "The rate is 389 EUR per month."
    assert found["Table1!B2"] == "Cost (EUR/year): 310"
    assert index.notices == ("offer.eml/photo.png: left out, because files of its type are not read",)


def test_a_zip_file_is_read_as_the_documents_within_it(tmp_path):
    files = [("x/a.pdf", as_pdf(BLOCKS)), ("b.csv", b"a;b\n1,5;2\n"), ("c.html", as_html(BLOCKS)), ("d.docx", b"no")]
    index = read(tmp_path, "all.zip", as_zip([*files, ("in.zip", as_zip([("e.txt", b"42 vans")]))]))
    assert {each.source for each in index.passages} == {
        "all.zip/x/a.pdf",
        "all.zip/b.csv",
        "all.zip/c.html",
        "all.zip/in.zip/e.txt",
    }
    assert index.notices == ("all.zip/d.docx: the file's format is not DOCX",)


def test_a_file_over_the_limits_is_named(tmp_path, monkeypatch):
    (tmp_path / "a.pdf").write_bytes(b"%PDF-" + b"x" * (20 * 2**20))
    assert open_index(tmp_path).notices == ("a.pdf: left out: the file has more than 20 MiB",)
    monkeypatch.setattr(index, "OFFICE_BYTES_MAX", 1)
    assert "the folder's documents are too many, or too large together" in open_index(tmp_path).notices[0]


def test_a_changed_file_is_read_anew_and_an_unchanged_one_is_not(tmp_path, monkeypatch):
    first = read(tmp_path, "a.docx", as_docx(["The fleet has 42 vans."]))
    (tmp_path / "b.txt").write_text("more")

    def never(*_):
        raise AssertionError("read again")

    with monkeypatch.context() as patched:
        patched.setattr("replan_acquire.documents.extract_process._run_process", never)
        assert open_index(tmp_path).documents == first.documents + 1
    assert "43" in read(tmp_path, "a.docx", as_docx(["The fleet has 43 vans, not less."])).passages[0].text
