"""Reads a DOCX file with python-docx: paragraphs and tables in their order. Only in `extract_main`.

Text that was inserted under change tracking counts, and deleted text does not. Footnotes and comments are not read.
"""

import io
from collections.abc import Iterator, Mapping
from typing import Any

import docx
from docx.opc.exceptions import PackageNotFoundError
from docx.oxml.ns import qn
from docx.table import Table

from actors.documents.extract_archive import DocumentRefused, check_archive, dangers

BLOCKS_MAX = 50_000
"""Paragraphs and tables of one document that are read."""
SPAN_MAX = 200
"""Columns that one cell may span."""
CELLS_MAX = 200_000
"""Cells of the tables of one document."""
_TEXT, _TAB, _BREAK, _FALLBACK = (
    qn("w:t"),
    qn("w:tab"),
    qn("w:br"),
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
)


def prepare() -> None:
    """Have everything imported that reading needs, by reading an empty document."""
    written = io.BytesIO()
    document = docx.Document()
    document.add_paragraph("word")
    document.add_table(1, 1)
    document.save(written)
    read(written.getvalue())


def read(content: bytes) -> Mapping[str, Any]:
    """Return the blocks of a document. Raises `DocumentRefused` for one that is not of Word."""
    if "word/document.xml" not in check_archive(content).namelist():
        raise DocumentRefused("it is no DOCX file: it has no word/document.xml")
    try:
        document = docx.Document(io.BytesIO(content))
    except (PackageNotFoundError, KeyError, ValueError) as error:
        said = " ".join(str(error).split())[:120]
        raise DocumentRefused(f"it is damaged, or of another format ({said})") from None
    if any(not each.isdigit() or int(each) > SPAN_MAX for each in document.element.xpath("//w:gridSpan/@w:val")):
        raise DocumentRefused(f"a cell of a table spans more than {SPAN_MAX} columns")
    blocks: list[dict[str, Any]] = []
    notices = dangers(content)
    paragraphs = tables = cells = 0
    for block in document.iter_inner_content():
        if len(blocks) == BLOCKS_MAX or cells > CELLS_MAX:
            notices.append("only its first parts are read, since it has too many")
            break
        if isinstance(block, Table):
            tables += 1
            made = _table(block, tables)
            cells += sum(len(row["cells"]) for row in made["rows"])
            blocks.append(made)
            continue
        text = _text(block._p)  # noqa: SLF001 - the API leaves out text that was inserted under change tracking
        if not text:
            continue
        paragraphs += 1
        style = (block.style.name or "") if block.style is not None else ""
        level = style.removeprefix("Heading ") if style.startswith("Heading ") else "1" if style == "Title" else ""
        mark = "#" * min(int(level), 6) + " " if level.isdigit() and int(level) else ""
        blocks.append({"kind": "text", "place": f"paragraph {paragraphs}", "text": mark + text})
    blocks += _margins(document)
    if b"<w:t" in _footnotes(content):
        notices.append("its footnotes are not read")
    if not any(each["kind"] == "table" or each["text"] for each in blocks):
        raise DocumentRefused("no text" + "".join(f"; {each}" for each in notices))
    properties = document.core_properties
    title = "" if properties.title == "Word Document" else properties.title
    return {"title": title, "language": (properties.language or "")[:10], "blocks": blocks, "notices": notices}


def _margins(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the texts of headers and footers, each once."""
    for section in document.sections:
        for name, margin in (("header", section.header), ("footer", section.footer)):
            if not margin.is_linked_to_previous and (text := _text(margin._element)):  # noqa: SLF001 - as above
                yield {"kind": "text", "place": name, "text": text}


def _footnotes(content: bytes) -> bytes:
    archive = check_archive(content)
    return archive.read("word/footnotes.xml") if "word/footnotes.xml" in archive.namelist() else b""


def _text(element: Any) -> str:
    pieces = [
        each.text or "" if each.tag == _TEXT else " "
        for each in element.iter(_TEXT, _TAB, _BREAK)
        if not any(outer.tag == _FALLBACK for outer in each.iterancestors())
    ]
    return " ".join("".join(pieces).split())


def _table(table: Table, number: int) -> dict[str, Any]:
    rows = []
    merged = False
    for position, row in enumerate(table.rows, 1):
        cells = [each._tc for each in row.cells]  # noqa: SLF001 - a merged cell is told by its element
        alone = len({id(each) for each in cells}) == 1
        merged = merged or (len({id(each) for each in cells}) < len(cells) and not (alone and position == 1))
        merged = merged or any(each.vMerge is not None for each in cells)
        texts = [_text(each) for each in (cells[:1] if alone else cells)]
        places = [f"table {number}, row {position}, column {column}" for column in range(1, len(texts) + 1)]
        rows.append({"cells": texts, "places": places})
    return {"kind": "table", "rows": rows, "merged": merged}
