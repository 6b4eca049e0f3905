"""The report of an acquisition as a workbook: values, results and sources."""

import io
from collections.abc import Sequence
from typing import Any

import openpyxl

from replan_acquire.acquisition.report import COLUMNS, Cell, make_rows
from replan_acquire.acquisition.result import AcquisitionResult
from runtime.logs.terminal_text import clean

_OF_SOURCES = ("footnote", "field", "source", "place", "quote")
_OF_RESULTS = ("field", "label", "value", "low", "high", "unit", "source")
_OF_VALUES = tuple(name for name in COLUMNS if name not in ("place", "quote"))


def workbook(result: AcquisitionResult) -> bytes:
    """Return the report as a workbook. Texts from documents are stored as texts, even if they look like formulas."""
    rows = make_rows(result)
    book = openpyxl.Workbook()
    values = [row for row in rows if row["counts"] != "result"]
    _sheet(book.active, "Values", _OF_VALUES, values)
    _sheet(book.create_sheet(), "Results", _OF_RESULTS, [row for row in rows if row["counts"] == "result"])
    _sheet(book.create_sheet(), "Sources", _OF_SOURCES, [row for row in values if "footnote" in row])
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def _sheet(sheet: Any, title: str, columns: Sequence[str], rows: Sequence[dict[str, Cell]]) -> None:
    sheet.title = title
    for column, name in enumerate(columns, 1):
        sheet.cell(1, column, name)
        for number, row in enumerate(rows, 2):
            value = row.get(name, "")
            cell = sheet.cell(number, column)
            if isinstance(value, str):
                cell.value = clean(value, one_line=True)
                cell.data_type = "s"
            else:
                cell.value = value
