"""Prepares replies of models and outputs of tools for pages.

A page shows the lines of a reply with the guard's findings, or two texts side by side. All functions are pure.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from json import dumps
from typing import Any

from actors.run.calls import CallFailed, Replied
from actors.run.ids import node_of
from actors.run.tools import ToolFinished, ToolOutcome, ToolReissued, ToolRequested
from actors.run.words import in_words
from actors.values.findings import Finding
from actors.values.format import stamp
from runtime.core.events import Record
from runtime.logs.terminal_text import clean
from runtime.models.replies import Parsed, has_more_values, read_reply

OUTPUT_MAX = 2_000
"""The largest number of characters of a tool's output that the page of a run shows. The page of the attempt shows the
whole output.
"""
LINES_MAX = 5_000
"""The largest number of lines in a reply that is formatted. A reply with more lines is shown unformatted."""


def replies(records: Iterable[Record[Any]], node: str) -> list[dict[str, Any]]:
    """Return the replies to the model calls for a node, in the order of the records.

    For a failed call, the fault is returned instead of a reply.
    """
    found = []
    for record in records:
        match record.event:
            case Replied() as event if event.node == node:
                usage = None if event.usage is None else event.usage.tokens
                fields = {"content": event.content, "tokens": usage, "finish_reason": event.finish_reason}
                found.append({**_place(record), "request_id": event.request_id, **fields, "fault": None})
            case CallFailed() as event if node_of(event.request_id) == node:
                fault = f"{event.fault.kind}: {event.fault.message}"
                fields = {"content": "", "tokens": None, "finish_reason": ""}
                found.append({**_place(record), "request_id": event.request_id, **fields, "fault": fault})
            case _:
                pass
    return found


def last_replies(records: Iterable[Record[Any]]) -> dict[str, int]:
    """Return, for the node of each call, the number of the last record with a reply or a fault."""
    return {
        node_of(record.event.request_id): record.seq
        for record in records
        if isinstance(record.event, Replied | CallFailed)
    }


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """An ended call of a tool, and its output."""

    node: str
    request_id: str
    tool: str
    how: str
    """How the call ended, and how long it took, in a few words."""
    failed: bool
    """Whether the call did not succeed."""
    output: str
    """The output, or the reason if there is no output."""
    seq: int
    """The number of the record in which the call ended."""

    @property
    def words(self) -> str:
        """The node that the call was for, in words."""
        return in_words(self.node)

    @property
    def end(self) -> str:
        """The last `OUTPUT_MAX` characters of the output."""
        return self.output if len(self.output) <= OUTPUT_MAX else f"…{self.output[-OUTPUT_MAX:]}"


def tool_outputs(records: Iterable[Record[Any]]) -> list[ToolOutput]:
    """Return the ended calls of tools, in the order in which they ended."""
    requests: dict[str, ToolRequested] = {}
    found = []
    for record in records:
        match record.event:
            case ToolRequested() as call:
                requests[call.request_id] = call
            case ToolReissued(again=call):
                requests[call.request_id] = call
            case ToolFinished() as done if done.request_id in requests:
                call, failed = requests[done.request_id], done.outcome is not ToolOutcome.SUCCEEDED
                how = f"{done.outcome}, {done.elapsed:.1f} s"
                output = done.output or done.reason
                found.append(ToolOutput(call.node, done.request_id, call.tool, how, failed, output, record.seq))
            case _:
                pass
    return found


def _place(record: Record[Any]) -> dict[str, Any]:
    return {"seq": record.seq, "at": stamp(record.at)}


@dataclass(frozen=True, slots=True)
class AnnotatedLine:
    """A line of a formatted reply."""

    text: str
    findings: tuple[Finding, ...] = ()
    """The findings of a guard about this line."""


@dataclass(frozen=True, slots=True)
class PairedLine:
    """A row of two texts that are shown side by side: a line of each text."""

    left: str
    """The line of the first text; empty if the first text has no line in this row."""
    right: str
    """The line of the second text; empty if the second text has no line in this row."""
    differs: bool


def annotate(content: str, findings: Sequence[Finding]) -> list[AnnotatedLine]:
    """Return the lines of a reply, each with the findings about it.

    If the place of a finding is not in the reply, the finding is at the first line.
    """
    lines = list(_format_lines(content))
    by_line: dict[int, list[Finding]] = {}
    for finding in findings:
        by_line.setdefault(_line_of(finding.where, lines), []).append(finding)
    return [AnnotatedLine(clean(text), tuple(by_line.get(number, ()))) for number, (text, _) in enumerate(lines)]


def side_by_side(left: str, right: str) -> list[PairedLine]:
    """Return the rows that show two texts side by side. A text that is JSON is formatted first."""
    one, two = ([clean(text) for text, _ in _format_lines(content)] for content in (left, right))
    from difflib import SequenceMatcher  # noqa: PLC0415 -- only a page of two replies needs it

    rows = []
    for same, a, b, c, d in SequenceMatcher(None, one, two).get_opcodes():
        rows += [PairedLine(x, y, same != "equal") for x, y in zip_longest(one[a:b], two[c:d], fillvalue="")]
    return rows


_Path = tuple[str, ...]


def _format_lines(content: str) -> Iterator[tuple[str, _Path | None]]:
    """Yield each line of a reply with the path of the value that begins in it; None if no value begins in it."""
    read = None if has_more_values(content, LINES_MAX // 2) else read_reply(content)
    if isinstance(read, Parsed):
        yield from _lines(read.value, (), "", "", "")
    else:
        yield from ((text, None) for text in content.split("\n", LINES_MAX))


def _lines(value: Any, path: _Path, indent: str, head: str, tail: str) -> Iterator[tuple[str, _Path | None]]:
    if not isinstance(value, dict | list) or not value:
        yield f"{indent}{head}{dumps(value, ensure_ascii=False)}{tail}", path
        return
    keyed = isinstance(value, dict)
    items = [(str(key), item) for key, item in (value.items() if isinstance(value, dict) else enumerate(value))]
    yield f"{indent}{head}{'{' if keyed else '['}", path
    for number, (key, item) in enumerate(items, 1):
        name = f"{dumps(key, ensure_ascii=False)}: " if keyed else ""
        yield from _lines(item, (*path, key), f"{indent}  ", name, "," if number < len(items) else "")
    yield f"{indent}{'}' if keyed else ']'}{tail}", None


def _line_of(where: str, lines: Sequence[tuple[str, _Path | None]]) -> int:
    """Return the number of the line in which the value with the path or id `where` begins; 0 if there is none."""
    named = [f'"{key}": {dumps(where, ensure_ascii=False)}' for key in ("step_id", "id")]
    for number, (text, _) in enumerate(lines):
        if text.strip().removesuffix(",") in named:
            return number
    path = tuple(filter(None, re.split(r"[./\[\]]+", where)))
    places = {path: number for number, (_, path) in enumerate(lines) if path is not None}
    while path and path not in places:
        path = path[:-1]
    return places.get(path, 0)
