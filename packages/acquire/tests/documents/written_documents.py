"""Documents of each format, written for a test: paragraphs and tables as PDF, DOCX, XLSX, HTML, e-mail and ZIP."""

import html
import io
import zipfile
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP

import docx
import openpyxl
from fpdf import FPDF

FORMATS = ("pdf", "docx", "xlsx", "html", "eml", "zip")


def as_pdf(blocks, title=""):
    """Return a PDF file; each block is a paragraph or a table (a list of rows), `None` begins a page."""
    page = FPDF()
    page.set_creation_date(datetime(2024, 1, 1, tzinfo=UTC))
    page.add_page()
    page.set_font("Helvetica", size=11)
    page.set_title(title)
    for block in blocks:
        if block is None:
            page.add_page()
        elif isinstance(block, str):
            page.multi_cell(0, 6, block.lstrip("# "), new_x="LMARGIN", new_y="NEXT")
            page.ln(6)
        else:
            with page.table() as table:
                for row in block:
                    shown = table.row()
                    for cell in row:
                        shown.cell(_text(cell))
            page.ln(6)
    return bytes(page.output())


def as_docx(blocks, title=""):
    """Return a DOCX file; `None` begins a page, and a paragraph that begins with `#` is a heading."""
    document = docx.Document()
    document.core_properties.title = title
    for block in blocks:
        if block is None:
            document.add_page_break()
        elif isinstance(block, str):
            document.add_heading(block[2:], 1) if block.startswith("# ") else document.add_paragraph(block)
        else:
            table = document.add_table(len(block), len(block[0]))
            for position, row in enumerate(block):
                for column, cell in enumerate(row):
                    table.cell(position, column).text = _text(cell)
    return saved(document)


def as_xlsx(blocks, title=""):
    """Return an XLSX file: a sheet of notes with the paragraphs, and one for each table.

    A cell of a table may be a pair of a number and its format.
    """
    book = openpyxl.Workbook()
    book.properties.title = title
    notes = book.active
    notes.title = "Notes"
    for block in blocks:
        if isinstance(block, str):
            notes.append([block.lstrip("# ")])
        elif block is not None:
            sheet = book.create_sheet(f"Table{len(book.sheetnames)}")
            for position, row in enumerate(block, 1):
                for column, cell in enumerate(row, 1):
                    number, shape = cell if isinstance(cell, tuple) else (cell, "General")
                    sheet.cell(position, column, number).number_format = shape
    return saved(book)


def as_html(blocks, title="", language="en"):
    rows = [f'<html lang="{language}"><head><title>{html.escape(title)}</title></head><body>']
    for block in blocks:
        if isinstance(block, str):
            tag = "h1" if block.startswith("# ") else "p"
            rows.append(f"<{tag}>{html.escape(block.removeprefix('# '))}</{tag}>")
        elif block is not None:
            cells = ["".join(f"<td>{html.escape(_text(cell))}</td>" for cell in row) for row in block]
            rows.append("<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>")
    return "\n".join([*rows, "</body></html>"]).encode()


def as_eml(blocks, title="", attached=()):
    """Return an e-mail whose body has the paragraphs, with the tables as lines; `attached` are pairs (name, bytes)."""
    message = EmailMessage(policy=SMTP)
    message["From"], message["To"], message["Subject"] = "a@example.org", "b@example.org", title
    lines = []
    for block in blocks:
        lines += [block] if isinstance(block, str) else [" | ".join(map(_text, row)) for row in block or ()]
        lines.append("")
    message.set_content("\n".join(lines), cte="quoted-printable")
    for name, content in attached:
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return bytes(message)


def as_zip(files):
    """Return a ZIP file of files, pairs (name, bytes)."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return written.getvalue()


def saved(document):
    """Return the bytes of a file of python-docx or openpyxl."""
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


def _text(cell):
    return str(cell[0]) if isinstance(cell, tuple) else str(cell)
