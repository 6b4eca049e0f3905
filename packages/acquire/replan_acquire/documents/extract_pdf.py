"""Reads a PDF file with pdfplumber: paragraphs and ruled tables, with page and box. Used only by `extract_main`.

A box is `x0 top x1 bottom` in points from the page's upper left corner.
"""

import io
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pdfplumber
from pdfminer.layout import LTChar, LTContainer, LTTextLineHorizontal
from pdfminer.pdfdocument import PDFPasswordIncorrect
from pdfminer.pdfpage import PDFPage
from pdfminer.pdftypes import resolve1
from pdfplumber.page import Page
from pdfplumber.pdf import PDF
from pdfplumber.utils.exceptions import PdfminerException

from replan_acquire.documents.extract_archive import DocumentRefused
from replan_acquire.documents.extract_main import SECONDS_ENOUGH
from replan_acquire.documents.extract_pdf_tables import PageContent, find_tables, join_tables, place_of
from replan_acquire.documents.text_document import LIGATURES, RAISED

PAGES_MAX = 300
BLOCKS_MAX = 50_000
OBJECTS_MAX = 60_000
"""The largest number of objects on a page, such as characters and lines. A page with more objects is left out."""
_HYPHENS = ("-", "\u2010")
SMALL, RAISED_BY = 0.9, 0.15
"""A digit counts as raised if its size is at most `SMALL` and its height above the line is more than `RAISED_BY`. Both
numbers are fractions of the size of the line's text.
"""
_LAYOUT = {"line_margin": 0.7}
"""Two lines of text belong to one paragraph if their distance is at most 0.7 times their height."""
_SMALL = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj\n"
    b"4 0 obj<</Length 36>>stream\nBT /F 9 Tf 9 9 Td (word) Tj ET 1 1 9 9 re S\nendstream endobj\n"
    b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R>>\n"
)


def prepare() -> None:
    """Read a small document, so that all modules that reading needs are imported."""
    read(_SMALL)


def read(content: bytes) -> Mapping[str, Any]:
    """Return the blocks of a document. Raises `DocumentRefused` for a document with a password."""
    try:
        return _read_pages(content)
    except PdfminerException as error:  # Its one argument is the error of the library below it.
        inner = error.args[0] if error.args else error
        if isinstance(inner, PDFPasswordIncorrect):
            raise DocumentRefused("the file is protected by a password") from None
        raise inner if isinstance(inner, Exception) else error from None


def _read_pages(content: bytes) -> Mapping[str, Any]:
    document = pdfplumber.open(io.BytesIO(content), laparams=_LAYOUT)
    pages: list[PageContent] = []
    notices: list[str] = []
    began = time.process_time()
    for page in _pages(document):
        if len(pages) == PAGES_MAX or time.process_time() - began > SECONDS_ENOUGH:
            notices.append(f"only the first {len(pages)} pages are read")
            break
        pages.append(_content(page, len(pages) + 1, notices))
        page.close()
    join_tables(pages)
    blocks = [block for page in pages for block in _blocks(page)]
    if len(blocks) > BLOCKS_MAX:
        notices.append("only the first parts are read, because the file has too many parts")
        del blocks[BLOCKS_MAX:]
    empty = [page.number for page in pages if not page.lines]
    count = len(pages)
    if count == 0:
        raise DocumentRefused("the file has no pages")
    if len(empty) == count:
        raise DocumentRefused(f"the file has no text ({count} {'page' if count == 1 else 'pages'})")
    if empty:
        shown = ", ".join(map(str, empty[:10])) + (", ..." if len(empty) > 10 else "")
        notices.append(f"there is no text on {'page' if len(empty) == 1 else 'pages'} {shown} of {count}")
    notices += _describe_dangers(document)
    title = document.metadata.get("Title")
    return {"title": title if isinstance(title, str) else "", "language": "", "blocks": blocks, "notices": notices}


def _describe_dangers(document: PDF) -> list[str]:
    """Return notices about scripts and embedded files in a document, which the reader ignores."""
    catalog = document.doc.catalog
    names, opened = (resolve1(catalog.get(key)) for key in ("Names", "OpenAction"))
    names = names if isinstance(names, dict) else {}
    acts = isinstance(opened, dict) and getattr(opened.get("S"), "name", "") != "GoTo"
    notices = ["the file's actions and scripts are not run"] if acts or "AA" in catalog or "JavaScript" in names else []
    return [*notices, "the embedded files are not read"] if "EmbeddedFiles" in names else notices


def _pages(document: PDF) -> Iterator[Page]:
    """Yield the pages one by one, because `document.pages` would read all pages at once, even of a huge document."""
    height = 0.0
    for number, page in enumerate(PDFPage.create_pages(document.doc), 1):
        new_page = Page(document, page, page_number=number, initial_doctop=height)
        _raise_digits(new_page.layout)
        height += float(new_page.height)
        yield new_page


def _raise_digits(layout: LTContainer[Any]) -> None:
    """Replace small digits that are printed above their line (such as in m2) by superscript digits."""
    for item in layout:
        if isinstance(item, LTTextLineHorizontal):
            letters = [char for char in item if isinstance(char, LTChar)]
            size = max((char.size for char in letters), default=0)
            base = min((char.y0 for char in letters if char.size > SMALL * size), default=0)
            for char in letters:
                if char.size <= SMALL * size and char.y0 > base + RAISED_BY * size:
                    char._text = char.get_text().translate(RAISED)  # noqa: SLF001 - the library has no other way
        elif isinstance(item, LTContainer):
            _raise_digits(item)


def _content(page: Page, number: int, notices: list[str]) -> PageContent:
    if sum(map(len, page.objects.values())) > OBJECTS_MAX:
        notices.append(f"page {number} is left out, because the page has more than {OBJECTS_MAX:,} objects")
        return PageContent(number, [], [], [])
    if any(not char["upright"] for char in page.chars):
        notices.append(f"rotated text on page {number} is not read")
    lines, boxes = (page.objects.get(f"text{item}horizontal", []) for item in ("line", "box"))
    return PageContent(
        number,
        find_tables(page, number),
        [_copy_text_and_box(line) for line in lines],
        [_copy_text_and_box(box) for box in boxes],
    )


def _copy_text_and_box(found: Mapping[str, Any]) -> dict[str, Any]:
    """Copy the text and the box of an object of the library, because the object keeps its whole page in memory."""
    box = {name: found[name] for name in ("x0", "x1", "top", "bottom")}
    return {**box, "text": found["text"].translate(LIGATURES)}


def _blocks(page: PageContent) -> Iterator[dict[str, Any]]:
    own = [item for item in page.tables if len(item.rows) > 1 and not item.joined]
    table_boxes = [item.bbox for item in page.tables if item in own or item.joined]
    lines = [line for line in page.lines if not _is_within(line, table_boxes)]
    found = [(item.bbox[1], block) for item in own for block in item.blocks()]
    rest: list[tuple[float, dict[str, Any]]] = []
    for box in page.boxes:
        inside = [line for line in lines if _holds(box, line)]
        lines = [line for line in lines if line not in inside] if inside else lines
        if text := _join_lines([item["text"] for item in inside]):
            top = min(item["top"] for item in inside)
            rest.append((top, {"kind": "text", "place": place_of(page.number, _bounding_box(inside)), "text": text}))
    # The boxes keep the order of the layout. Each table comes before the first box that begins below the table.
    for top, block in rest:
        for table in [item for item in found if item[0] < top]:
            yield table[1]
            found.remove(table)
        yield block
    yield from (table for _, table in found)


def _is_within(line: Mapping[str, Any], boxes: Sequence[tuple[float, float, float, float]]) -> bool:
    across, down = (line["x0"] + line["x1"]) / 2, (line["top"] + line["bottom"]) / 2
    return any(x0 <= across <= x1 and top <= down <= bottom for x0, top, x1, bottom in boxes)


def _holds(box: Mapping[str, Any], line: Mapping[str, Any]) -> bool:
    return bool(
        box["x0"] - 0.1 <= line["x0"]
        and line["x1"] <= box["x1"] + 0.1
        and box["top"] - 0.1 <= line["top"]
        and line["bottom"] <= box["bottom"] + 0.1
    )


def _bounding_box(lines: Sequence[Mapping[str, Any]]) -> tuple[float, float, float, float]:
    return (
        min(line["x0"] for line in lines),
        min(line["top"] for line in lines),
        max(line["x1"] for line in lines),
        max(line["bottom"] for line in lines),
    )


def _join_lines(lines: Sequence[str]) -> str:
    """Return the lines of a paragraph as one line. Words that were divided at the end of a line are joined."""
    text = ""
    for line in (" ".join(item.split()) for item in lines):
        if text.endswith(_HYPHENS) and text[-2:-1].isalpha() and line[:1].islower():
            text = text[:-1] + line
        else:
            text = f"{text} {line}" if text and line else text + line
    return text
