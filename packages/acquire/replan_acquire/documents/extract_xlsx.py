"""Reads an XLSX file with openpyxl: the stored values of its visible sheets. Used only by `extract_main`.

A number is written with the unit of its number format, such as `37.5 %` or `12.4 €`. Formulas are not calculated;
instead, the values that the file stores for them are read. Macros are not run.
"""

import datetime as dt
import io
import itertools
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import openpyxl
from openpyxl.utils import get_column_letter

from replan_acquire.documents.extract_archive import DocumentRefused, describe_dangers, open_archive
from replan_acquire.documents.extract_main import SECONDS_ENOUGH
from replan_acquire.documents.tables import HEADERS_MAX

SHEETS_MAX = 50
ROWS_MAX = 10_000
COLUMNS_MAX = 100
CELLS_MAX = 200_000
SHEET_BYTES_MAX = 24 * 1024 * 1024
"""The largest number of bytes that the XML of all sheets of one file may have together. The size is limited because the
library keeps every cell in memory.
"""
COMMENTS_MAX = 1_000
_THREADED = "Comment:\n    "
"""Excel writes this text directly before a threaded comment. Before this text, Excel writes a remark for old
programs."""
_LITERAL = re.compile(r'"([^"]*)"|\\(.)')
_CURRENCY = re.compile(r"\[\$([^\]-]*)(?:-[^\]]*)?\]")
_BRACKETS = re.compile(r"\[[^\]]*\]")
_SIGNS = "€$£¥"


def prepare() -> None:
    """Read a small document, so that all modules that reading needs are imported."""
    import openpyxl.drawing.image  # noqa: PLC0415 - the library imports it for the first picture

    written = io.BytesIO()
    book = openpyxl.Workbook()
    book.active.append(["word", 1.5, dt.date(2024, 1, 1)])
    book.save(written)
    read(written.getvalue())


def read(content: bytes) -> Mapping[str, Any]:
    """Return the blocks of a document.

    Raises `DocumentRefused` if the file is too large or is not an Excel document.
    """
    archive = open_archive(content)
    names = archive.namelist()
    if "xl/workbook.xml" not in names:
        raise DocumentRefused("the file is not an XLSX file, because it has no xl/workbook.xml")
    if sum(item.file_size for item in archive.infolist() if "/worksheets/" in item.filename) > SHEET_BYTES_MAX:
        raise DocumentRefused(f"the sheets have more than {SHEET_BYTES_MAX // 2**20} MiB")
    began = time.process_time()
    stored = openpyxl.load_workbook(io.BytesIO(content), data_only=True, keep_links=False, keep_vba=False)
    written = openpyxl.load_workbook(io.BytesIO(content), keep_links=False, keep_vba=False)
    notices = describe_dangers(content)
    blocks: list[dict[str, Any]] = []
    hidden = [worksheet.title for worksheet in stored.worksheets if worksheet.sheet_state != "visible"]
    if hidden:
        notices.append(f"hidden sheets are left out: {', '.join(hidden)[:100]}")
    missing = 0
    for number, sheet in enumerate(worksheet for worksheet in stored.worksheets if worksheet.sheet_state == "visible"):
        if number == SHEETS_MAX or time.process_time() - began > SECONDS_ENOUGH:
            notices.append(f"only the first {number} sheets are read")
            break
        block, lost = _sheet(sheet, written[sheet.title], notices)
        missing += lost
        blocks += [{"kind": "text", "place": sheet.title, "text": f"## {sheet.title}"}, block] if block["rows"] else []
        blocks += _comments(sheet)
    if missing:
        notices.append(f"{missing} {'formula has' if missing == 1 else 'formulas have'} no stored value")
    if not blocks:
        raise DocumentRefused("the file has no text" + (f"; {notices[-1]}" if notices else ""))
    title = stored.properties.title or ""
    return {"title": title, "language": stored.properties.language or "", "blocks": blocks, "notices": notices}


def _sheet(sheet: Any, written: Any, notices: list[str]) -> tuple[dict[str, Any], int]:
    last, columns = _rows_and_columns(sheet)
    if sheet.max_row > last or sheet.max_column > columns:
        notices.append(f"only the first {last:,} rows and {columns} columns of {sheet.title} are read")
    rows: list[dict[str, Any]] = []
    missing = 0
    unseen = _hidden_columns(sheet)
    repeated = _repeated_names(sheet, last, columns)
    for row in sheet.iter_rows(max_row=last, max_col=columns):
        number = row[0].row if row else 0
        hidden = sheet.row_dimensions[number].hidden if number in sheet.row_dimensions else False
        texts: list[str] = []
        numbers: list[int] = []
        for position, cell in enumerate(row, 1):
            text = "" if hidden or position in unseen else repeated.get((number, position)) or _cell_text(cell)
            if text and isinstance(cell.value, int | float) and not isinstance(cell.value, bool):
                numbers.append(len(texts))
            # A formula whose value was never stored is only in the other copy of the sheet.
            if cell.value is None and written.cell(cell.row, cell.column).data_type == "f":
                missing += 1
                text = "(not calculated)"
            texts.append(text)
        while texts and not texts[-1]:
            texts.pop()
        places = [f"{sheet.title}!{get_column_letter(column)}{number}" for column in range(1, len(texts) + 1)]
        if not hidden:
            rows.append({"cells": texts, "places": places, "numbers": numbers})
    if unseen or any(dimension.hidden for dimension in sheet.row_dimensions.values()):
        notices.append(f"hidden rows and columns of {sheet.title} are left out")
    while rows and not rows[-1]["cells"]:
        rows.pop()
    if not any(any(row["cells"]) for row in rows):
        return {"kind": "sheet", "rows": [], "merged": False}, 0
    return {"kind": "sheet", "rows": rows, "merged": _merges_values(sheet)}, missing


def _hidden_columns(sheet: Any) -> frozenset[int]:
    hidden = [
        dimension
        for dimension in sheet.column_dimensions.values()
        if dimension.hidden and dimension.min and dimension.max
    ]
    return frozenset(number for item in hidden for number in range(item.min, min(item.max, COLUMNS_MAX) + 1))


def _repeated_names(sheet: Any, last: int, columns: int) -> dict[tuple[int, int], str]:
    """Return the text of each merged cell under the numbers (row, column), from 1, of every cell that it covers.

    A title with nothing beside it is omitted.
    """
    repeated: dict[tuple[int, int], str] = {}
    covered = 0
    for item in sheet.merged_cells.ranges:
        cell = sheet.cell(item.min_row, item.min_col)
        if not isinstance(cell.value, str) or _is_title(sheet, item):
            continue
        rows = range(item.min_row, min(item.max_row, last) + 1)
        across = range(item.min_col, min(item.max_col, columns) + 1)
        covered += len(rows) * len(across)
        if covered > CELLS_MAX:
            break
        repeated |= {(row, column): _cell_text(cell) for row in rows for column in across}
    return repeated


def _merges_values(sheet: Any) -> bool:
    """Return whether merged cells make a table doubtful, because they contain a value or a heading inside the table."""
    return any(
        _is_doubtful(sheet, item, sheet.cell(item.min_row, item.min_col).value) for item in sheet.merged_cells.ranges
    )


def _is_doubtful(sheet: Any, merged: Any, value: Any) -> bool:
    if not isinstance(value, str):
        return value is not None
    if _is_title(sheet, merged):
        above = merged.min_row - 1
        return above > 0 and sum(sheet.cell(above, column).value is not None for column in (1, 2, 3)) > 1
    heads = merged.min_row <= HEADERS_MAX and merged.max_row == merged.min_row
    return merged.min_col > 1 and not heads and any(map(str.isdigit, value))


def _comments(sheet: Any) -> Iterator[dict[str, Any]]:
    last, columns = _rows_and_columns(sheet)
    found = (cell for row in sheet.iter_rows(max_row=last, max_col=columns) for cell in row if cell.comment is not None)
    for cell in itertools.islice(found, COMMENTS_MAX):
        text = " ".join(cell.comment.text.rpartition(_THREADED)[2].split())
        if text:
            yield {"kind": "text", "place": f"{sheet.title}!{cell.coordinate}, comment", "text": text}


def _rows_and_columns(sheet: Any) -> tuple[int, int]:
    columns = min(sheet.max_column, COLUMNS_MAX)
    return min(sheet.max_row, ROWS_MAX, CELLS_MAX // columns), columns


def _is_title(sheet: Any, merged: Any) -> bool:
    """Return whether merged cells are a title, because nothing else is in their row."""
    return bool(
        merged.min_row == merged.max_row
        and all(
            sheet.cell(merged.min_row, column).value is None
            for column in range(merged.max_col + 1, min(sheet.max_column, COLUMNS_MAX) + 1)
        )
        and merged.min_col == 1
    )


def _cell_text(cell: Any) -> str:
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
    """Return a number with all of its digits, and the percent sign, currency and words of its number format."""
    positive = shape.split(";", maxsplit=1)[0]
    currency = "".join(_CURRENCY.findall(positive))
    plain = _BRACKETS.sub("", _CURRENCY.sub("", positive))
    words = "".join(first or second for first, second in _LITERAL.findall(plain)).strip()
    bare = _LITERAL.sub("", plain)
    currency = currency or "".join(item for item in bare if item in _SIGNS)
    percent = "%" in bare
    text = format(value * 100 if percent else value, ".12g")
    if "e" in text:
        text = format(value * 100 if percent else value, "f")
    # A comma after the last digit shows thousands. The stored value is whole.
    unit = " ".join(filter(None, ("%" if percent else "", currency, words)))
    return f"{text} {unit}" if unit else text
