"""Reads what the search tool has brought: passages of documents, within limits. Pure, and total over any text."""

import json
from typing import Any

from actors.acquisition.planner_state import FoundPassage
from actors.run.tools import ToolFinished, ToolOutcome

PASSAGES_MAX = 8
"""Passages of one search that are kept; a tool brings the best first."""
PASSAGE_CHARACTERS_MAX = 4_000
"""Characters of one passage that are kept."""
NAME_CHARACTERS_MAX = 1_000
"""Characters of a source and of a title that are kept."""

LINE_MOST = 10**9
"""The highest number of a line; a higher one is taken as the first."""
PLACES_MAX = 400
"""Places of one passage that are kept."""
PLACE_CHARACTERS_MAX = 120
"""Characters of a place that are kept."""
LANGUAGE_CHARACTERS_MAX = 20
"""Characters of a language's code that are kept."""


def passages_of(ended: ToolFinished) -> tuple[FoundPassage, ...]:
    """Return the passages that a search has found; none where it failed, or where its output has another form."""
    if ended.outcome is not ToolOutcome.SUCCEEDED:
        return ()
    found = read_output(ended.output)
    return found or ()


def read_output(output: str) -> tuple[FoundPassage, ...] | None:
    """Return the passages in a tool's output; None where it has another form than `{"passages": [...]}`."""
    try:
        value = json.loads(output)
    except (ValueError, RecursionError):
        return None
    listed = value.get("passages") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        return None
    return tuple(passage for item in listed[:PASSAGES_MAX] if (passage := _passage(item)) is not None)


def _passage(value: Any) -> FoundPassage | None:
    if not isinstance(value, dict):
        return None
    source, title, text = (value.get(key, "") for key in ("source", "title", "text"))
    if not (isinstance(source, str) and isinstance(title, str) and isinstance(text, str) and text.strip()):
        return None
    line, mark, language = (value.get(key) for key in ("first_line", "decimal_mark", "language"))
    return FoundPassage(
        source=source[:NAME_CHARACTERS_MAX],
        title=title[:NAME_CHARACTERS_MAX],
        text=text[:PASSAGE_CHARACTERS_MAX],
        first_line=line if isinstance(line, int) and not isinstance(line, bool) and 1 <= line <= LINE_MOST else 1,
        decimal_mark=mark if mark in ("point", "comma") else "",
        language=language[:LANGUAGE_CHARACTERS_MAX] if isinstance(language, str) else "",
        places=_places(value.get("places")),
    )


def _places(value: Any) -> tuple[tuple[int, str], ...]:
    """Return the places of a passage in the order of their positions; none where they have another form."""
    if not isinstance(value, list):
        return ()
    found: list[tuple[int, str]] = []
    for item in value[:PLACES_MAX]:
        match item:
            case [int(position), str(place)] if not isinstance(position, bool) and 0 <= position <= LINE_MOST:
                found.append((position, place[:PLACE_CHARACTERS_MAX]))
            case _:
                return ()
    return tuple(sorted(found))
