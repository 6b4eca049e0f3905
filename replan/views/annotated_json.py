"""A reply as formatted JSON, with the findings of its guard at their places, and two replies side by side. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from json import dumps
from typing import Any

from actors.values.findings import Finding
from runtime.logs.terminal_text import clean
from runtime.models.replies import Parsed, has_more_values, read_reply

LINES_MAX = 5_000
"""Lines of a reply that are formatted; a longer reply is shown as it came."""


@dataclass(frozen=True, slots=True)
class AnnotatedLine:
    """A line of a formatted reply."""

    text: str
    findings: tuple[Finding, ...] = ()
    """What a guard says about this place."""


@dataclass(frozen=True, slots=True)
class PairedLine:
    """A line of two texts side by side."""

    left: str
    """The line of the first text; empty where it has none."""
    right: str
    """The line of the second text; empty where it has none."""
    differs: bool
    """Whether they differ."""


def annotate(content: str, findings: Sequence[Finding]) -> list[AnnotatedLine]:
    """Return the lines of a reply with the findings about them; one whose place is not in the reply is at the first."""
    lines = list(_format_lines(content))
    by_line: dict[int, list[Finding]] = {}
    for finding in findings:
        by_line.setdefault(_place(finding.where, lines), []).append(finding)
    return [AnnotatedLine(clean(text), tuple(by_line.get(number, ()))) for number, (text, _) in enumerate(lines)]


def side_by_side(left: str, right: str) -> list[PairedLine]:
    """Return two replies side by side, as formatted JSON where they are JSON."""
    one, two = ([clean(text) for text, _ in _format_lines(content)] for content in (left, right))
    rows = []
    for same, a, b, c, d in SequenceMatcher(None, one, two).get_opcodes():
        rows += [PairedLine(x, y, same != "equal") for x, y in zip_longest(one[a:b], two[c:d], fillvalue="")]
    return rows


_Path = tuple[str, ...]


def _format_lines(content: str) -> Iterator[tuple[str, _Path | None]]:
    """Yield the lines of a reply, each with the path of the value that begins in it; the last may be the rest."""
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


def _place(where: str, lines: Sequence[tuple[str, _Path | None]]) -> int:
    """Return the number of the line that a finding is about: the value at its path, or what has its id."""
    named = [f'"{key}": {dumps(where, ensure_ascii=False)}' for key in ("step_id", "id")]
    for number, (text, _) in enumerate(lines):
        if text.strip().removesuffix(",") in named:
            return number
    path = tuple(filter(None, re.split(r"[./\[\]]+", where)))
    places = {path: number for number, (_, path) in enumerate(lines) if path is not None}
    while path and path not in places:
        path = path[:-1]
    return places.get(path, 0)
