"""Writes the report of an acquisition, as Markdown with footnotes for sources, and as rows for tables. Pure."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actors.run.tools import ToolFinished
from actors.run.views import ShownPassage
from replan_acquire.acquisition.observation import compose_characters, find_passage, find_quote
from replan_acquire.acquisition.planner_state import passages_of
from replan_acquire.acquisition.result import (
    VIA,
    AcquisitionResult,
    FilledField,
    amount,
    choice_text,
    period_text,
    value_text,
)
from replan_acquire.acquisition.values import FieldValue
from runtime.core.events import Record
from runtime.logs.terminal_text import clean


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One difference between two runs."""

    since: str
    path: str
    """The path of the field, or the name of the result."""
    text: str
    """The difference in one line."""


def changes_since(earlier: AcquisitionResult, result: AcquisitionResult) -> tuple[ValueChange, ...]:
    """Return the differences between a result and an earlier result: first of fields, then of calculated results.

    The profiles of the two results may differ.
    """
    rows = [*_fields(earlier, result), *_results(earlier, result)]
    return tuple(ValueChange(earlier.run_id, path, text) for path, text in rows)


def _fields(earlier: AcquisitionResult, result: AcquisitionResult) -> Iterator[tuple[str, str]]:
    before = {field.path: field.value for field in earlier.fields}
    after = {field.path: field.value for field in result.fields}
    for path in dict.fromkeys((*after, *before)):
        old, new = before.get(path), after.get(path)
        if _format_value(old) != _format_value(new):
            yield path, f"{path}: {_format_value(old) or 'no value'} -> {_format_value(new) or 'no value'}{_from(new)}"
        elif old is not None and new is not None and (old.source, old.place) != (new.source, new.place):
            yield path, f"{path}: the same value is now from {new.where}; it was from {old.where}"


def _from(value: FieldValue | None) -> str:
    return f" ({value.where})" if value is not None and value.via == "search" else ""


def _format_value(value: FieldValue | None) -> str:
    return "" if value is None else value_text(value)


def _results(earlier: AcquisitionResult, result: AcquisitionResult) -> Iterator[tuple[str, str]]:
    before, after = (
        {step.name: amount(step.value, step.low, step.high, step.unit) for step in item.calculation.steps}
        for item in (earlier, result)
    )
    for name in dict.fromkeys((*after, *before)):
        old, new = before.get(name, "not calculated"), after.get(name, "not calculated")
        if old != new:
            yield name, f"{name}: {old} -> {new}"


COLUMNS = (
    *("field", "label", "counts", "value", "low", "high", "unit", "period", "via", "source", "place", "quote"),
    *("confidence", "footnote"),
)
Cell = str | float
_FORMULA_BEGINS = ("=", "+", "-", "@", "\t", "\r")


def make_rows(result: AcquisitionResult) -> list[dict[str, Cell]]:
    """Return the rows of the table of values: chosen values, other values, and results of the calculation."""
    notes = _footnotes(result)
    rows: list[dict[str, Cell]] = []
    for field in result.fields:
        if field.value is None:
            rows.append({"field": field.path, "label": field.spec.label, "counts": "missing"})
        for value in filter(None, (field.value, *field.others)):
            row: dict[str, Cell] = {"field": field.path, "label": field.spec.label}
            row |= {"counts": "yes" if value is field.value else "no", "value": value.value}
            if value.low is not None and value.high is not None:
                row |= {"low": value.low, "high": value.high}
            row |= {"unit": value.unit, "period": value.period, "via": value.via, "source": value.source}
            row |= {"place": value.place, "quote": value.quote, "confidence": value.confidence}
            rows.append(row | ({"footnote": notes[field.path, value]} if (field.path, value) in notes else {}))
    for step in result.calculation.steps:
        row = {"field": step.name, "label": step.label, "counts": "result", "value": step.value, "low": step.low}
        rows.append(row | {"high": step.high, "unit": step.unit, "via": "computed", "source": step.formula})
    return rows


def csv_text(result: AcquisitionResult) -> str:
    """Return the rows as CSV. If a spreadsheet would read a text as a formula, an apostrophe is put before the text."""
    written = _CsvPieces()
    rows = csv.DictWriter(written, COLUMNS, restval="", lineterminator="\n")
    rows.writeheader()
    for row in make_rows(result):
        rows.writerow({name: _safe(cell) for name, cell in row.items()})
    return "".join(written.pieces)


class _CsvPieces:
    def __init__(self) -> None:
        self.pieces: list[str] = []

    def write(self, text: str) -> None:
        """Add a piece."""
        self.pieces.append(text)


def _safe(cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return cell
    text = clean(cell, one_line=True)
    return f"'{text}" if text.startswith(_FORMULA_BEGINS) else text


def markdown(result: AcquisitionResult, changes: Sequence[ValueChange] = ()) -> str:
    """Return the report as Markdown, with footnotes for sources. Texts of documents, users and models are escaped.

    `changes` are the differences from another run.
    """
    rows = [
        f"# {_escape(result.goal)}",
        "",
        f"Profile `{result.profile}`, run `{result.run_id}`: {result.outcome or result.status}.",
    ]
    if result.why:
        rows += ["", _escape(result.why)]
    rows += _calculation(result)
    if result.calculation.errors:
        rows += ["", *(f"- not calculated: {_escape(error.message)}" for error in result.calculation.errors)]
    notes = _footnotes(result)
    rows += ["", "## Values", "", "| Field | Value | Source | Confidence |", "| --- | --- | --- | --- |"]
    rows += [_row(field, notes) for field in result.fields]
    rows += [*_differences(result), *_changes(changes), *_list("Caveats", result.caveats), *_sources(notes)]
    return "\n".join(rows) + "\n"


def _footnotes(result: AcquisitionResult) -> dict[tuple[str, FieldValue], int]:
    quoted_values = [
        (field.path, value)
        for field in result.fields
        for value in (field.value, *field.others)
        if value is not None and value.via == "search"
    ]
    return {key: number for number, key in enumerate(dict.fromkeys(quoted_values), 1)}


def _calculation(result: AcquisitionResult) -> Iterator[str]:
    if not result.calculation.steps:
        return
    yield from ("", "## Calculation", "")
    yield from ("| Result | Value | Low | High | Unit | Formula |", "| --- | --- | --- | --- | --- | --- |")
    for step in result.calculation.steps:
        numbers = " | ".join(amount(item, None, None, "") for item in (step.value, step.low, step.high))
        yield f"| {_cell(step.label)} | {numbers} | {_cell(step.unit)} | `{_cell(step.formula)}` |"


def _row(field: FilledField, notes: Mapping[tuple[str, FieldValue], int]) -> str:
    if field.value is None:
        return f"| {_cell(field.spec.label)} (`{field.path}`) | missing | | |"
    source = VIA.get(field.value.via, field.value.where)
    sure = f"{field.value.confidence:.2f}"
    label = f"{_cell(field.spec.label)} (`{field.path}`)"
    also = [field.value, *(other for other in field.others if field.disagree)]
    marks = "".join(f"[^{notes[field.path, item]}]" for item in also if (field.path, item) in notes)
    return f"| {label} | {_cell(value_text(field.value))}{marks} | {_cell(source)} | {sure} |"


def _sources(notes: Mapping[tuple[str, FieldValue], int]) -> Iterator[str]:
    if notes:
        yield from ("", "## Sources", "")
    for (path, value), number in notes.items():
        stated = f"`{path}` {_escape(value_text(value))}"
        yield f"[^{number}]: {_escape(value.where)}: {stated}: “{_escape(value.quote)}”"


def _differences(result: AcquisitionResult) -> Iterator[str]:
    for field in result.fields:
        if field.disagree and field.spread is not None:
            reach = amount(field.spread.low, None, None, "") + " to " + amount(field.spread.high, None, None, "")
            yield from ("", f"`{field.path}`: {field.spread.sources} sources disagree, {reach}; {choice_text(field)}.")
        if text := period_text(field):
            yield from ("", f"`{field.path}`: {_escape(text)}.")


def _changes(changes: Sequence[ValueChange]) -> Iterator[str]:
    if changes:
        yield from (
            "",
            f"## Changes since run {changes[0].since}",
            "",
            *(f"- {_escape(change.text)}" for change in changes),
        )


def _list(title: str, texts: tuple[str, ...]) -> Iterator[str]:
    if texts:
        yield from ("", f"## {title}", "", *(f"- {_escape(text)}" for text in texts))


def _escape(text: str) -> str:
    """Return a text on one line, with the special characters of Markdown and HTML escaped."""
    line = clean(text, one_line=True)
    return "".join(f"\\{item}" if item in "\\`*_[]<>#|" else item for item in line)


def _cell(text: str) -> str:
    return clean(text, one_line=True).replace("|", "\\|")


def quoted_fields(result: AcquisitionResult) -> list[tuple[str, str]]:
    """Return the fields whose values come from documents: each path with the value's source and its place there."""
    return [(field.path, field.value.where) for field in result.fields if field.value and field.value.via == "search"]


def find_quoted_passage(records: Sequence[Record[Any]], result: AcquisitionResult, path: str) -> ShownPassage | None:
    """Return the passage that states the value of a field; None if no recorded search has found this passage."""
    value = next((field.value for field in result.fields if field.path == path), None)
    if value is None or value.via != "search":
        return None
    from_source = [
        passage
        for record in reversed(records)
        if isinstance(record.event, ToolFinished)
        for passage in passages_of(record.event)
        if passage.source == value.source
    ]
    if (passage := find_passage(from_source, value.source, value.quote)) is None:
        return None
    text = compose_characters(passage.text)
    spans = find_quote(text, value.quote)
    # The passage may have the same words twice. The words at the value's place are meant.
    begin, end = next(
        (span for span in spans if not value.place or _covers(passage.places, span, value.place)), spans[0]
    )
    return ShownPassage(passage.title, value.where, text[:begin], text[begin:end], text[end:])


def _covers(places: Sequence[tuple[int, str]], span: tuple[int, int], place: str) -> bool:
    inside = {name for start, name in places if span[0] <= start < span[1]}
    return place in inside | {name for start, name in places if start <= span[0]}
