"""Figures that are hard to read: where in a document a person sees the insurance of 1,250.50 EUR a year, and how."""

import docx
import openpyxl
from fpdf import FPDF

from packages.acquire.tests.documents.written_documents import as_eml, as_html, as_pdf, as_xlsx, as_zip, saved

SENTENCE = "The insurance is 1,250.50 EUR per year."
ROWS = [["Item", "Cost (EUR/year)"], ["Insurance", "1,250.50"]]


def hard_cases():
    """Return the name of the file and its bytes, by the name of the case."""
    cases = {name: made() for name, made in globals().items() if name.startswith(("_in_", "_with_", "_four_"))}
    return {name.strip("_").replace("_", " "): made for name, made in cases.items()}


def _page():
    page = FPDF()
    page.add_page()
    page.set_font("Helvetica", size=11)
    return page


def _in_a_pdf_table_without_lines():
    page = _page()
    for row in ROWS:
        for cell in row:
            page.cell(80, 6, cell)
        page.ln()
    return "a.pdf", bytes(page.output())


def _in_one_of_two_columns_of_a_pdf():
    page = _page()
    for left, text in ((10, f"{SENTENCE} It rises each year, as the insurer says."), (110, "Vans " * 60)):
        page.set_xy(left, 20)
        page.multi_cell(85, 6, text)
    return "a.pdf", bytes(page.output())


def _in_a_pdf_table_that_goes_on_on_the_next_page():
    return "a.pdf", as_pdf([[ROWS[0], ["Tax", "310.25"]], None, [["Fee", "12.75"], ROWS[1]]])


def _in_a_picture_of_a_pdf():
    page = _page()
    page.rect(10, 10, 60, 30)
    return "a.pdf", bytes(page.output())


def _in_rotated_text_of_a_pdf():
    page = _page()
    with page.rotation(90, 60, 120):
        page.text(60, 120, SENTENCE)
    return "a.pdf", bytes(page.output())


def _docx(change):
    document = docx.Document()
    document.add_paragraph("Costs of the fleet.")
    change(document)
    return "a.docx", saved(document)


def _in_the_footer_of_a_docx():
    return _docx(lambda document: document.sections[0].footer.paragraphs[0].add_run(SENTENCE))


def _in_a_docx_table_with_merged_cells():
    def change(document):
        table = document.add_table(3, 2)
        table.cell(0, 0).merge(table.cell(0, 1)).text = "Cost (EUR/year)"
        for row in (1, 2):
            table.cell(row, 0).text, table.cell(row, 1).text = ROWS[1] if row == 2 else ("Tax", "310.25")
        table.cell(1, 1).merge(table.cell(2, 1))

    return _docx(change)


def _in_a_docx_table_within_a_table():
    def change(document):
        inner = document.add_table(1, 2).cell(0, 1).add_table(2, 2)
        for row in (0, 1):
            inner.cell(row, 0).text, inner.cell(row, 1).text = ROWS[row]

    return _docx(change)


def _xlsx(change):
    book = openpyxl.Workbook()
    change(book, book.active)
    return "a.xlsx", saved(book)


def _in_a_formula_without_a_stored_value():
    return "a.xlsx", as_xlsx([[ROWS[0], ["Insurance", "=1000+250.5"]]])


def _in_a_hidden_sheet():
    def change(book, sheet):
        sheet.append(["Costs"])
        hidden = book.create_sheet("Old")
        hidden.sheet_state = "hidden"
        for row in ROWS:
            hidden.append(row)

    return _xlsx(change)


def _with_the_unit_in_a_column_of_its_own():
    return "a.xlsx", as_xlsx([[["Item", "Cost", "Unit"], ["Insurance", 1250.5, "EUR/year"]]])


def _with_the_items_as_columns():
    return "a.xlsx", as_xlsx([[["Insurance (EUR/year)", "Tax (EUR/year)"], [1250.5, 310]]])


def _in_an_html_table_without_a_header():
    return "a.html", as_html([[["Insurance", "1,250.50"], ["Tax", "310.25"]]])


def _in_an_email_that_has_only_html():
    head = b"Subject: Offer\nMIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n\n"
    return "a.eml", head + as_html([SENTENCE])


def _in_the_quoted_part_of_an_email():
    return "a.eml", as_eml(["Thank you, we agree.", f"> {SENTENCE}"], "Re: Offer")


def _in_a_picture_attached_to_an_email():
    return "a.eml", as_eml(["See the picture."], "Offer", [("offer.png", b"\x89PNG")])


def _four_levels_deep_in_zip_files():
    content = as_zip([("a.txt", SENTENCE.encode())])
    for _ in range(3):
        content = as_zip([("inner.zip", content)])
    return "a.zip", content
