"""Marks of footnotes never become digits of a number, and text that is struck out is not read."""

import pytest
from fpdf import FPDF
from fpdf.enums import XPos, YPos

from packages.acquire.tests.long.documents.test_formats import places, read
from packages.acquire.tests.long.documents.test_office_parts import docx_file, p, r
from replan_acquire.documents.extract_pdf import read as read_pdf
from replan_acquire.documents.tables import table_lines
from replan_acquire.documents.text_document import html_lines


def html(page):
    return [text for _, text in html_lines(page) if text]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>The tax is 310<sup>1</sup> EUR.", "The tax is 310¹ EUR."),
        ("<p>12 EUR/m<SUP>2</SUP> and CO<sub>2</sub>", "12 EUR/m² and CO2"),
        ("<p>Now <s>12 EUR <span>a</span></s><section>9 EUR</section>", "Now"),
        ("<p>Now <del>12</del><strike>11</strike> 9 EUR</s>, <span>net</span>", "Now 9 EUR, net"),
        ("<p>310<sup>1<p>95</sup>7", "310¹"),
    ],
)
def test_raised_digits_of_html_stay_raised_and_struck_text_is_left_out(page, text):
    assert html(page)[0] == text


def test_a_raised_digit_of_a_docx_stays_raised(tmp_path):
    paragraph = p(r("The tax is 310") + r("12", "<w:vertAlign w:val='superscript'/>") + r(" EUR."))
    assert places(read(tmp_path, "a.docx", docx_file(paragraph))) == {"paragraph 1": "The tax is 310¹² EUR."}


def test_a_raised_digit_of_a_pdf_stays_raised_and_ligatures_are_letters():
    page = FPDF()
    page.add_page()
    page.set_font("Helvetica", size=12)
    page.cell(text="The tax is 310", new_x=XPos.RIGHT, new_y=YPos.TOP)
    page.char_vpos = "SUP"
    page.cell(text="1", new_x=XPos.RIGHT, new_y=YPos.TOP)
    page.char_vpos = "LINE"
    page.cell(text=" EUR. Small is 5.")
    [block] = read_pdf(bytes(page.output()))["blocks"]
    assert "".join(block["text"].split()) == "Thetaxis310¹EUR.Smallis5."


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ("a;b (EUR);c;d\nx;1;2;3\n\nshare;38 %\n", "share | 38 %"),
        ("a;b (EUR);c;d\nx;1;2;3\n\ny;4;5;6\n", "a: y | b (EUR): 4 | c: 5 | d: 6"),
        ("a;b (EUR)\nx;1\n\nsum;4\n", "a: sum | b (EUR): 4"),
    ],
)
def test_a_row_with_few_cells_after_an_empty_one_is_not_of_the_table(rows, line):
    assert table_lines(rows)[-1][1] == line
