"""What stands beside the text of DOCX and XLSX files: changes, notes, comments, text boxes, hidden and merged cells."""

import docx
import openpyxl
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from openpyxl.comments import Comment

from packages.acquire.tests.documents.hostile_documents import _rebuilt
from packages.acquire.tests.documents.written_documents import as_docx, saved
from packages.acquire.tests.long.documents.test_formats import places, read
from replan_acquire.documents import extract_docx
from replan_acquire.documents.index import open_index

pytestmark = pytest.mark.usefixtures("read_here")
WORD = nsdecls("w")
DELETED = "text that was deleted or moved under change tracking is not read"


def docx_file(*paragraphs, extra=()):
    """Return a DOCX file whose body is made of the XML of paragraphs and tables, with further files."""
    document = docx.Document()
    for each in paragraphs:
        document.element.body.insert(-1, parse_xml(each.replace(">", f" {WORD}>", 1) if WORD not in each else each))
    return _rebuilt(saved(document), {}, extra)


def p(inner):
    return f"<w:p {WORD}>{inner}</w:p>"


def r(text, properties=""):
    return f"<w:r>{f'<w:rPr>{properties}</w:rPr>' if properties else ''}<w:t xml:space='preserve'>{text}</w:t></w:r>"


def changed(kind, inner):
    return f"<w:{kind} w:id='9' w:author='Ann'>{inner}</w:{kind}>"


@pytest.mark.parametrize(
    ("paragraph", "text", "notices"),
    [
        (p(r("1,") + changed("ins", r("250"))), "1,250", 0),
        (p(r("310") + changed("del", "<w:r><w:delText>99</w:delText></w:r>")), "310", 1),
        (p(r("310") + changed("del", r("99"))), "310", 1),
        (p(r("310") + changed("moveFrom", r("99"))), "310", 1),
        (p(r("310") + changed("moveTo", r("99"))), "31099", 0),
        (p(r("3") + changed("ins", changed("del", r("9")) + r("1"))), "31", 1),
    ],
    ids=["inserted", "deleted", "deleted with w:t", "moved away", "moved here", "deleted within an insertion"],
)
def test_text_counts_as_it_stands_after_all_changes(tmp_path, paragraph, text, notices):
    index = read(tmp_path, "a.docx", docx_file(paragraph))
    assert places(index) == {"paragraph 1": text}
    assert index.notices == (f"a.docx: {DELETED}",) * notices


def test_a_paragraph_and_a_row_that_were_deleted_or_inserted_as_a_whole(tmp_path):
    row = "<w:tr>{}{}</w:tr>"
    cell = "<w:tc><w:p>{}</w:p></w:tc>"
    gone = "<w:r><w:delText>{}</w:delText></w:r>"
    mark = "<w:trPr><w:del w:id='1' w:author='Ann'/></w:trPr>"
    rows = [row.format("", cell.format(r("Item")) + cell.format(r("Cost (EUR/year)")))]
    rows += [row.format(mark, "".join(cell.format(changed("del", gone.format(each))) for each in ("Tax", "99")))]
    rows += [row.format("", cell.format(changed("ins", r("Fee"))) + cell.format(changed("ins", r("12"))))]
    table = f"<w:tbl {WORD}><w:tblPr/><w:tblGrid><w:gridCol/><w:gridCol/></w:tblGrid>{''.join(rows)}</w:tbl>"
    index = read(tmp_path, "a.docx", docx_file(p(changed("del", gone.format("All of it"))), table))
    text = "\n".join(each.text for each in index.passages)
    assert "Item: Fee | Cost (EUR/year): 12" in text
    assert "99" not in text
    assert "All of it" not in text
    assert index.notices == (f"a.docx: {DELETED}",)


def test_hidden_text_is_not_read_and_named(tmp_path):
    paragraph = p(
        r("The tax is 310 EUR.") + r(" The tax is 1 EUR.", "<w:vanish/>") + r(" Yes.", "<w:vanish w:val='0'/>")
    )
    index = read(tmp_path, "a.docx", docx_file(paragraph))
    assert index.passages[0].text == "The tax is 310 EUR. Yes."
    assert index.notices == ("a.docx: hidden text is not read",)


def test_two_numbers_never_become_one_in_a_docx(tmp_path):
    cell = "<w:tc><w:p>{}</w:p><w:p>{}</w:p></w:tc>".format(r("310"), r("12"))
    table = f"<w:tbl {WORD}><w:tblPr/><w:tblGrid><w:gridCol/></w:tblGrid><w:tr>{cell}</w:tr></w:tbl>"
    dash = p(r("10").replace("</w:t>", "</w:t><w:noBreakHyphen/><w:t>20</w:t>"))
    found = places(read(tmp_path, "a.docx", docx_file(dash, p(f"{r('7')}<w:r><w:cr/></w:r>{r('8')}"), table)))
    assert found == {"paragraph 1": "10-20", "paragraph 2": "7 8", "table 1, row 1, column 1": "310 12"}


BOX = (
    "<w:r><mc:AlternateContent xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'>"
    "<mc:Choice Requires='wps'><w:drawing><w:txbxContent>{0}</w:txbxContent></w:drawing></mc:Choice>"
    "<mc:Fallback><w:pict><w:txbxContent>{0}</w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
)


def test_a_text_box_is_read_once_and_by_itself(tmp_path):
    inner = f"<w:p>{r('The tax is')}</w:p><w:p>{r('310 EUR per year.')}</w:p>"
    index = read(tmp_path, "a.docx", docx_file(p(r("The fleet has 42") + BOX.format(inner) + r(" vans."))))
    assert places(index) == {"paragraph 1": "The fleet has 42 vans.", "text box 1": "The tax is 310 EUR per year."}


def test_paragraphs_and_tables_in_content_controls_are_read_in_their_order(tmp_path):
    table = (
        f"<w:tbl><w:tblPr/><w:tblGrid><w:gridCol/></w:tblGrid><w:tr><w:tc><w:p>{r('12')}</w:p></w:tc></w:tr></w:tbl>"
    )
    control = f"<w:sdt {WORD}><w:sdtPr/><w:sdtContent><w:p>{r('Within.')}</w:p>{table}</w:sdtContent></w:sdt>"
    index = read(tmp_path, "a.docx", docx_file(p(r("Before.")), control, p(r("After."))))
    assert list(places(index).items()) == [
        ("paragraph 1", "Before."),
        ("paragraph 2", "Within."),
        ("table 1, row 1, column 1", "12"),
        ("paragraph 3", "After."),
    ]


def notes(kind, *texts):
    rows = "".join(f"<w:{kind} w:id='{n}'><w:p>{r(each)}</w:p></w:{kind}>" for n, each in enumerate(texts))
    return f"word/{kind}s.xml", f"<w:{kind}s {WORD}>{rows}</w:{kind}s>".encode()


def test_footnotes_and_endnotes_have_the_numbers_that_readers_see(tmp_path):
    refer = "<w:r><w:{}Reference w:id='{}'/></w:r>"
    first = p(r("The tax is 310 EUR") + refer.format("footnote", 2) + r(" per year.") + refer.format("endnote", 1))
    second = p(r("The fee is low.") + refer.format("footnote", 1) + changed("del", refer.format("footnote", 3)))
    extra = [notes("footnote", "separator", "It is 12 EUR.", "Since 2024.", "Gone."), notes("endnote", "-", "At last.")]
    found = places(read(tmp_path, "a.docx", docx_file(first, second, extra=extra)))
    assert found == {
        "paragraph 1": "The tax is 310 EUR per year.",
        "paragraph 2": "The fee is low.",
        "footnote 1": "Since 2024.",
        "footnote 2": "It is 12 EUR.",
        "endnote 1": "At last.",
    }


def test_a_comment_has_a_place_of_its_own_with_its_author(tmp_path):
    document = docx.Document()
    paragraph = document.add_paragraph("The tax is 310 EUR per year.")
    document.add_comment(paragraph.runs, "It was 290 EUR per year before.", author="Ann <b>\n" + "x" * 200)
    found = places(read(tmp_path, "a.docx", saved(document)))
    place = f"comment 1 of Ann <b> {'x' * 52}"
    assert found == {"paragraph 1": "The tax is 310 EUR per year.", place: "It was 290 EUR per year before."}


def test_a_document_with_very_many_comments_is_read_in_part_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr(extract_docx, "BLOCKS_MAX", 500)
    comments = "".join(f"<w:comment w:id='{n}' w:author='a'><w:p>{r('x')}</w:p></w:comment>" for n in range(1_200))
    extra = [("word/comments.xml", f"<w:comments {WORD}>{comments}</w:comments>".encode())]
    index = read(tmp_path, "a.docx", docx_file(p(r("42 vans")), extra=extra))
    assert index.notices == ("a.docx: only the first parts are read, because the file has too many parts",)
    assert index.passages[0].text.startswith("42 vans")


def test_a_table_within_a_table_is_one_of_its_own(tmp_path):
    document = docx.Document()
    outer = document.add_table(1, 2)
    outer.cell(0, 0).text = "Costs"
    inner = outer.cell(0, 1).add_table(2, 2)
    for (row, column), text in {(0, 0): "Item", (0, 1): "Cost (EUR/year)", (1, 0): "Tax", (1, 1): "310"}.items():
        inner.cell(row, column).text = text
    found = places(read(tmp_path, "a.docx", saved(document)))
    assert found["table 1, row 1, column 2, table 1, row 2, column 2"] == "Cost (EUR/year): 310"
    assert found["table 1, row 1, column 1"] == "Costs"


def test_a_name_that_spans_columns_of_a_docx_is_that_of_each(tmp_path):
    document = docx.Document()
    table = document.add_table(3, 3)
    table.cell(0, 1).merge(table.cell(0, 2)).text = "Cost (EUR)"
    table.cell(0, 0).text = "Item"
    for row, texts in ((1, ("", "2023", "2024")), (2, ("Tax", "300", "310"))):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    found = places(read(tmp_path, "a.docx", saved(document)))
    assert found["table 1, row 3, column 3"] == "Cost (EUR) 2024: 310"


def test_damaged_notes_leave_no_document_without_a_cause(tmp_path):
    content = _rebuilt(as_docx(["42 vans"]), {}, [("word/footnotes.xml", b"<w:footnotes"), ("word/comments.xml", b"")])
    [notice] = read(tmp_path, "a.docx", content).notices
    assert notice.startswith("a.docx: left out: the file is damaged")


def xlsx(tmp_path, change):
    book = openpyxl.Workbook()
    book.active.title = "Prices"
    change(book, book.active)
    (tmp_path / "a.xlsx").write_bytes(saved(book))
    return open_index(tmp_path)


TABLE = [["Item", "Cost (EUR/year)", "Note"], ["Tax", 310, "old"], ["Fee", 12, "new"]]


def filled(sheet, rows=TABLE):
    for row in rows:
        sheet.append(row)


def test_a_comment_of_a_cell_has_a_place_of_its_own(tmp_path):
    def change(_, sheet):
        filled(sheet)
        sheet["B2"].comment = Comment("It was 290 EUR per year\nbefore.", "Ann")
        threaded = "[Threaded comment]\n\nYour version of Excel allows you to read it.\n\nComment:\n    310 is right."
        sheet["B3"].comment = Comment(threaded, "Ann")

    found = places(xlsx(tmp_path, change))
    assert found["Prices!B2"] == "Cost (EUR/year): 310"
    assert found["Prices!B2, comment"] == "It was 290 EUR per year before."
    assert found["Prices!B3, comment"] == "310 is right."


def test_hidden_rows_and_columns_are_left_out_and_named_as_hidden_sheets_are(tmp_path):
    def change(book, sheet):
        filled(sheet)
        sheet.row_dimensions[2].hidden = True
        sheet.column_dimensions.group("C", "D", hidden=True)
        book.create_sheet("Old").sheet_state = "veryHidden"

    index = xlsx(tmp_path, change)
    found = places(index)
    assert found["Prices!B3"] == "Cost (EUR/year): 12"
    text = "\n".join(each.text for each in index.passages)
    assert "310" not in text
    assert "new" not in text
    assert set(index.notices) == {
        "a.xlsx: hidden sheets are left out: Old",
        "a.xlsx: hidden rows and columns of Prices are left out",
    }


UNNAMED = "\n(merged cells)"
"""How the next row begins where no cell has a name."""
MERGED = {
    "a name over two columns": (
        [["Item", "Cost (EUR/year)", None], [None, "2023", "2024"], ["Tax", 300, 310]],
        ["B1:C1"],
        {"Prices!C3": "Cost (EUR/year) 2024: 310"},
    ),
    "a name over two rows": (
        [["Item", "Cost (EUR/year)", None], [None, "vans", "cars"], ["Tax", 300, 310]],
        ["A1:A2", "B1:C1"],
        {"Prices!A3": "Item: Tax", "Prices!B3": "Cost (EUR/year) vans: 300"},
    ),
    "a label over two rows": (
        [["Van", "Item", "Cost (EUR/year)"], ["Van 7", "Tax", 300], [None, "Fee", 12]],
        ["A2:A3"],
        {"Prices!A3": "Van: Van 7", "Prices!C3": "Cost (EUR/year): 12"},
    ),
    "a title": (
        [["All costs", None], ["Item", "Cost (EUR/year)"], ["Tax", 310]],
        ["A1:B1"],
        {"Prices!B3": "Cost (EUR/year): 310"},
    ),
    "a value over two rows": (
        [["Item", "Cost (EUR/year)"], ["Tax", 310], ["Fee", None]],
        ["B2:B3"],
        {"Prices!B2": f"310{UNNAMED}"},
    ),
    "a text with a number over two rows": (
        [["Item", "Cost (per year)"], ["Tax", "310 EUR"], ["Fee", None]],
        ["B2:B3"],
        {"Prices!B2": f"310 EUR{UNNAMED}"},
    ),
    "a heading within a table": (
        [["Item", "Cost (EUR/year)"], ["Tax", 310], ["In a month", None], ["Fee", 12]],
        ["A3:B3"],
        {"Prices!B2": f"310{UNNAMED}", "Prices!B4": "12"},
    ),
}


@pytest.mark.parametrize("case", MERGED)
def test_merged_cells_of_a_sheet_give_names_but_no_value_to_more_than_one_row(tmp_path, case):
    rows, ranges, wanted = MERGED[case]

    def change(_, sheet):
        filled(sheet, rows)
        for each in ranges:
            sheet.merge_cells(each)

    found = places(xlsx(tmp_path, change))
    assert {place: found[place] for place in wanted} == wanted
