"""Reads a DOCX file with python-docx: paragraphs, tables, text boxes, footnotes and comments.

Used only by `extract_main`.

If changes are tracked, inserted text is read, but deleted text and the old copy of moved text are not read. Text that
is formatted as hidden is not read either.
"""

import io
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import docx
from docx.opc.exceptions import PackageNotFoundError
from docx.oxml import parse_xml
from docx.oxml.ns import qn
from docx.table import Table
from docx.text.paragraph import Paragraph

from replan_acquire.documents.extract_archive import DocumentRefused, describe_dangers, open_archive
from replan_acquire.documents.tables import is_header
from replan_acquire.documents.text_document import RAISED

BLOCKS_MAX = 50_000
SPAN_MAX = 200
"""The largest number of columns that one cell of a table may span."""
CELLS_MAX = 200_000
TABLES_DEEP_MAX = 3
_AUTHOR_CHARACTERS = 60
_PARAGRAPH, _TABLE, _TEXT, _BOX = map(qn, ("w:p", "w:tbl", "w:t", "w:txbxContent"))
_MATHS = "{http://schemas.openxmlformats.org/officeDocument/2006/math}oMath"
_BETWEEN = {qn(f"w:{name}"): " " for name in ("tab", "ptab", "br", "cr", "p", "sym")} | {_MATHS: " "}
_BETWEEN[qn("w:noBreakHyphen")] = "-"
"""For each element that may stand between two texts: the character that replaces it. The character keeps two numbers
from becoming one."""
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_GONE = frozenset({qn("w:del"), qn("w:moveFrom"), _FALLBACK})
"""The elements whose text is not read: deleted text, text that was moved to another place, and copies for old
programs."""
_AROUND = frozenset(map(qn, ("w:sdt", "w:sdtContent", "w:customXml", "w:ins", "w:moveTo")))
"""The elements, such as content controls, that may enclose paragraphs and tables."""
_NOTES = {"footnote": "word/footnotes.xml", "endnote": "word/endnotes.xml"}


def prepare() -> None:
    """Read a small document, so that all modules that reading needs are imported."""
    written = io.BytesIO()
    document = docx.Document()
    document.add_paragraph("word")
    document.add_table(1, 1)
    document.save(written)
    read(written.getvalue())


@dataclass(slots=True)
class _Reading:
    document: Any
    blocks: list[dict[str, Any]] = field(default_factory=list)
    paragraphs: int = 0
    tables: int = 0
    cells: int = 0
    too_deep: bool = False


def read(content: bytes) -> Mapping[str, Any]:
    """Return the blocks of a document. Raises `DocumentRefused` if the file is not a Word document."""
    if "word/document.xml" not in open_archive(content).namelist():
        raise DocumentRefused("the file is not a DOCX file, because it has no word/document.xml")
    try:
        document = docx.Document(io.BytesIO(content))
    except (PackageNotFoundError, KeyError, ValueError) as error:
        message = " ".join(str(error).split())[:120]
        raise DocumentRefused(f"the file is damaged, or it has another format ({message})") from None
    body = document.element.body
    if any(not item.isdigit() or int(item) > SPAN_MAX for item in document.element.xpath("//w:gridSpan/@w:val")):
        raise DocumentRefused(f"a cell of a table spans more than {SPAN_MAX} columns")
    reading = _Reading(document)
    notices = describe_dangers(content)
    cut = False
    for element in _inner(body):
        if cut := len(reading.blocks) >= BLOCKS_MAX or reading.cells > CELLS_MAX:
            break
        if element.tag == _TABLE:
            reading.tables += 1
            _add_table(reading, Table(element, document), f"table {reading.tables}", 1)
        else:
            _add_paragraph(reading, element)
    beside = itertools.chain(
        _text_boxes(body), _headers_and_footers(document), _notes(content, body), _comments(content)
    )
    blocks = [*reading.blocks, *itertools.islice(beside, BLOCKS_MAX + 1)]
    if cut or len(blocks) > BLOCKS_MAX:
        notices.append("only the first parts are read, because the file has too many parts")
        del blocks[BLOCKS_MAX:]
    notices += (
        [f"a table that is nested more than {TABLES_DEEP_MAX} levels deep is not read"] if reading.too_deep else []
    )
    notices += _unread_notices(body)
    if not any(block["kind"] == "table" or block["text"] for block in blocks):
        raise DocumentRefused("the file has no text" + "".join(f"; {notice}" for notice in notices))
    properties = document.core_properties
    title = "" if properties.title == "Word Document" else properties.title
    return {"title": title, "language": (properties.language or "")[:10], "blocks": blocks, "notices": notices}


def _inner(element: Any) -> Iterator[Any]:
    """Yield the paragraphs and tables of an element in order, including those in content controls (form fields)."""
    for child in element.iterchildren():
        if child.tag in (_PARAGRAPH, _TABLE):
            yield child
        elif child.tag in _AROUND:
            yield from _inner(child)


def _add_paragraph(reading: _Reading, element: Any) -> None:
    text = _text(element)
    if not text:
        return
    reading.paragraphs += 1
    style = Paragraph(element, reading.document).style
    name = (style.name or "") if style is not None else ""
    level = name.removeprefix("Heading ") if name.startswith("Heading ") else "1" if name == "Title" else ""
    mark = "#" * min(int(level), 6) + " " if level.isdigit() and int(level) else ""
    reading.blocks.append({"kind": "text", "place": f"paragraph {reading.paragraphs}", "text": mark + text})


def _add_table(reading: _Reading, table: Table, place: str, depth: int) -> None:
    """Add a table, and then the tables within its cells."""
    rows: list[dict[str, Any]] = []
    within: list[tuple[Any, str]] = []
    merged = False
    for position, row in enumerate(table.rows, 1):
        cells = [item._tc for item in row.cells]  # noqa: SLF001 - a merged cell is told by its element
        alone = len({id(item) for item in cells}) == 1
        texts = [_text(item) for item in (cells[:1] if alone else cells)]
        # A name may span several columns. If a value spans several columns, it is unclear to which column it belongs.
        heads = all(is_header(item["cells"]) for item in rows) and is_header(texts)
        merged = merged or (position > 1 if alone else not heads and _merges_values(cells, texts))
        places = [f"{place}, row {position}, column {column}" for column in range(1, len(texts) + 1)]
        rows.append({"cells": texts, "places": places})
        columns = dict.fromkeys(zip(cells, places, strict=False))
        within += [(inner, f"{at}, table") for cell, at in columns for inner in _inner(cell) if inner.tag == _TABLE]
    reading.cells += sum(len(row["cells"]) for row in rows)
    reading.blocks.append({"kind": "table", "rows": rows, "merged": merged})
    for number, (inner, at) in enumerate(within, 1):
        if depth == TABLES_DEEP_MAX:
            reading.too_deep = True
            return
        _add_table(reading, Table(inner, reading.document), f"{at} {number}"[:80], depth + 1)


def _merges_values(cells: list[Any], texts: list[str]) -> bool:
    """Return whether a row has a cell that contains a digit and spans several columns or rows."""
    spans = [cell.vMerge is not None or sum(other is cell for other in cells) > 1 for cell in cells]
    return any(span and any(map(str.isdigit, text)) for span, text in zip(spans, texts, strict=False))


def _text_boxes(body: Any) -> Iterator[dict[str, Any]]:
    found = [item for item in body.iter(_BOX) if not _is_removed(item)]
    for number, box in enumerate(found, 1):
        if text := _text(box, box):
            yield {"kind": "text", "place": f"text box {number}", "text": text}


def _headers_and_footers(document: Any) -> Iterator[dict[str, Any]]:
    """Yield each header and footer as a block.

    A header or footer that is the same as in the previous section is not repeated.
    """
    for section in document.sections:
        for name, margin in (("header", section.header), ("footer", section.footer)):
            if not margin.is_linked_to_previous and (text := _text(margin._element)):  # noqa: SLF001 - as above
                yield {"kind": "text", "place": name, "text": text}


def _notes(content: bytes, body: Any) -> Iterator[dict[str, Any]]:
    """Yield footnotes and endnotes as blocks. The notes are numbered in the order of their references in the text."""
    for kind, name in _NOTES.items():
        references = [item for item in body.iter(qn(f"w:{kind}Reference")) if not _is_removed(item)]
        numbers = {reference.get(qn("w:id")): number for number, reference in enumerate(references, 1)}
        for note in _elements_in(content, name, f"w:{kind}"):
            number = numbers.get(note.get(qn("w:id")))
            if number is not None and (text := _text(note)):
                yield {"kind": "text", "place": f"{kind} {number}", "text": text}


def _comments(content: bytes) -> Iterator[dict[str, Any]]:
    for number, comment in enumerate(_elements_in(content, "word/comments.xml", "w:comment"), 1):
        author = " ".join((comment.get(qn("w:author")) or "").split())[:_AUTHOR_CHARACTERS]
        if text := _text(comment):
            place = f"comment {number}{' of ' if author else ''}{author}"
            yield {"kind": "text", "place": place, "text": text}


def _elements_in(content: bytes, name: str, tag: str) -> list[Any]:
    archive = open_archive(content)
    return list(parse_xml(archive.read(name)).iter(qn(tag))) if name in archive.namelist() else []


def _unread_notices(body: Any) -> list[str]:
    has_removed = any(item.text for tag in ("w:delText", "w:moveFrom") for item in body.iter(qn(tag)))
    has_removed = has_removed or any(_is_removed(item, _GONE - {_FALLBACK}) for item in body.iter(_TEXT))
    hidden = any(_is_hidden(item) and item.text for item in body.iter(_TEXT))
    notices = ["text that was deleted or moved under change tracking is not read"] if has_removed else []
    return [*notices, "hidden text is not read"] if hidden else notices


def _is_removed(element: Any, gone: frozenset[str] = _GONE) -> bool:
    return any(outer.tag in gone for outer in element.iterancestors())


def _is_hidden(text: Any) -> bool:
    found = text.getparent().find(f"{qn('w:rPr')}/{qn('w:vanish')}")
    return found is not None and found.get(qn("w:val")) not in ("0", "false", "off")


def _is_raised(text: Any) -> bool:
    found = text.getparent().find(f"{qn('w:rPr')}/{qn('w:vertAlign')}")
    return found is not None and found.get(qn("w:val")) == "superscript"


def _text(element: Any, box: Any = None) -> str:
    """Return the text of a paragraph, a cell or a text box, without the boxes and tables within it.

    `box` is the text box; None for a paragraph or a cell.
    """
    pieces = []
    for item in element.iter(_TEXT, *_BETWEEN):
        if item.tag != _TEXT:
            pieces.append(_BETWEEN[item.tag])
        elif not _is_within(item, element, box) and not _is_hidden(item):
            text = item.text or ""
            pieces.append(text.translate(RAISED) if _is_raised(item) else text)
    return " ".join("".join(pieces).split())


def _is_within(text: Any, element: Any, box: Any) -> bool:
    """Return whether a text does not belong to `element` itself, because it is in an inner element or is never read."""
    for outer in text.iterancestors():
        if outer is element:
            return box is None and _is_removed(text)
        if outer.tag in _GONE or outer.tag == _BOX or (outer.tag == _TABLE and box is None):
            return True
    return True
