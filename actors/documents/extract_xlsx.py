"""Reads an XLSX file with openpyxl: the stored values of its visible sheets. Only in `extract_main`.

A number is written with the unit of its number format, such as `37.5 %` or `12.4 €`. Formulas are not calculated and
macros do not run: the value counts that the program stored which has written the file.
"""

import datetime as dt
import io
import re
import time
from collections.abc import Mapping
from typing import Any

import openpyxl
from openpyxl.utils import get_column_letter

from actors.documents.extract_archive import DocumentRefused, check_archive, dangers
from actors.documents.extract_main import SECONDS_ENOUGH

SHEETS_MAX = 50
"""Sheets of one document that are read."""
ROWS_MAX = 10_000
"""Rows of one sheet that are read."""
COLUMNS_MAX = 100
"""Columns of one sheet that are read."""
CELLS_MAX = 200_000
"""Cells of one sheet that are read, also empty ones."""
SHEET_BYTES_MAX = 24 * 1024 * 1024
"""Bytes of all sheets as XML: the library builds each cell in memory."""
_LITERAL = re.compile(r'"([^"]*)"|\\(.)')
_CURRENCY = re.compile(r"\[\$([^\]-]*)(?:-[^\]]*)?\]")
_BRACKETS = re.compile(r"\[[^\]]*\]")
_SIGNS = "€$£¥"


def prepare() -> None:
    """Have everything imported that reading needs, by reading a small document."""
    import openpyxl.drawing.image  # noqa: PLC0415 - the library imports it for the first picture

    written = io.BytesIO()
    book = openpyxl.Workbook()
    book.active.append(["word", 1.5, dt.date(2024, 1, 1)])
    book.save(written)
    read(written.getvalue())


def read(content: bytes) -> Mapping[str, Any]:
    """Return the blocks of a document. Raises `DocumentRefused` for one that is too large or not of Excel."""
    archive = check_archive(content)
    names = archive.namelist()
    if "xl/workbook.xml" not in names:
        raise DocumentRefused("it is no XLSX file: it has no xl/workbook.xml")
    if sum(each.file_size for each in archive.infolist() if "/worksheets/" in each.filename) > SHEET_BYTES_MAX:
        raise DocumentRefused(f"its sheets have more than {SHEET_BYTES_MAX // 2**20} MiB")
    began = time.process_time()
    stored = openpyxl.load_workbook(io.BytesIO(content), data_only=True, keep_links=False, keep_vba=False)
    written = openpyxl.load_workbook(io.BytesIO(content), keep_links=False, keep_vba=False)
    notices = dangers(content)
    blocks: list[dict[str, Any]] = []
    hidden = [each.title for each in stored.worksheets if each.sheet_state != "visible"]
    if hidden:
        notices.append(f"hidden sheets are left out: {', '.join(hidden)[:100]}")
    missing = 0
    for number, sheet in enumerate(each for each in stored.worksheets if each.sheet_state == "visible"):
        if number == SHEETS_MAX or time.process_time() - began > SECONDS_ENOUGH:
            notices.append(f"only its first {number} sheets are read")
            break
        block, lost = _sheet(sheet, written[sheet.title], notices)
        missing += lost
        blocks += [{"kind": "text", "place": sheet.title, "text": f"## {sheet.title}"}, block] if block["rows"] else []
    if missing:
        notices.append(f"{missing} {'formula has' if missing == 1 else 'formulas have'} no stored value")
    if not blocks:
        raise DocumentRefused("no text" + (f"; {notices[-1]}" if notices else ""))
    title = stored.properties.title or ""
    return {"title": title, "language": stored.properties.language or "", "blocks": blocks, "notices": notices}


def _sheet(sheet: Any, written: Any, notices: list[str]) -> tuple[dict[str, Any], int]:
    columns = min(sheet.max_column, COLUMNS_MAX)
    last = min(sheet.max_row, ROWS_MAX, CELLS_MAX // columns)
    if sheet.max_row > last or sheet.max_column > columns:
        notices.append(f"only {last:,} rows and {columns} columns of {sheet.title} are read")
    rows: list[dict[str, Any]] = []
    missing = 0
    merged = [each for each in sheet.merged_cells.ranges if not _is_title(sheet, each)]
    for row in sheet.iter_rows(max_row=last, max_col=columns):
        texts: list[str] = []
        numbers: list[int] = []
        for cell in row:
            text = _shown(cell)
            if isinstance(cell.value, int | float) and not isinstance(cell.value, bool):
                numbers.append(len(texts))
            # A formula whose value was never stored is in the other copy of the sheet only.
            if cell.value is None and written.cell(cell.row, cell.column).data_type == "f":
                missing += 1
                text = "(not calculated)"
            texts.append(text)
        while texts and not texts[-1]:
            texts.pop()
        number = row[0].row if row else 0
        places = [f"{sheet.title}!{get_column_letter(column)}{number}" for column in range(1, len(texts) + 1)]
        rows.append({"cells": texts, "places": places, "numbers": numbers})
    while rows and not rows[-1]["cells"]:
        rows.pop()
    if not any(any(row["cells"]) for row in rows):
        return {"kind": "sheet", "rows": [], "merged": False}, 0
    return {"kind": "sheet", "rows": rows, "merged": bool(merged)}, missing


def _is_title(sheet: Any, merged: Any) -> bool:
    """Tell whether merged cells are a title: a row above all others in which nothing else stands."""
    return bool(
        merged.min_row == merged.max_row
        and all(
            sheet.cell(merged.min_row, column).value is None
            for column in range(merged.max_col + 1, min(sheet.max_column, COLUMNS_MAX) + 1)
        )
        and merged.min_col == 1
    )


def _shown(cell: Any) -> str:
    value = cell.value
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value)
    if isinstance(value, int | float):
        return _number(value, cell.number_format or "General")
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date().isoformat()
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return " ".join(str(value).split())


def _number(value: float, shape: str) -> str:
    """Return a number as its format shows it to people, with all of its digits: percent, currency and words kept."""
    positive = shape.split(";", maxsplit=1)[0]
    currency = "".join(_CURRENCY.findall(positive))
    plain = _BRACKETS.sub("", _CURRENCY.sub("", positive))
    words = "".join(first or second for first, second in _LITERAL.findall(plain)).strip()
    bare = _LITERAL.sub("", plain)
    currency = currency or "".join(each for each in bare if each in _SIGNS)
    percent = "%" in bare
    text = format(value * 100 if percent else value, ".12g")
    if "e" in text:
        text = format(value * 100 if percent else value, "f")
    # A comma behind the last digit shows thousands; the stored value is whole.
    unit = " ".join(filter(None, ("%" if percent else "", currency, words)))
    return f"{text} {unit}" if unit else text
