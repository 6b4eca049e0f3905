"""The passage in which a value was found, as the run has recorded it, with the place of the quote. Pure."""

from collections.abc import Sequence
from typing import Any

from actors.acquisition.observation import composed_text, passage_of, quote_places
from actors.acquisition.result import AcquisitionResult
from actors.acquisition.search_output import passages_of
from actors.run.tools import ToolFinished
from actors.run.views import ShownPassage
from runtime.core.events import Record


def quoted_fields(result: AcquisitionResult) -> list[tuple[str, str]]:
    """Return the paths of the fields whose values documents state, each with its source and place."""
    return [(each.path, each.value.where) for each in result.fields if each.value and each.value.via == "search"]


def quoted_passage(records: Sequence[Record[Any]], result: AcquisitionResult, path: str) -> ShownPassage | None:
    """Return the passage that states the value of a field; None where no recorded search brought it."""
    value = next((each.value for each in result.fields if each.path == path), None)
    if value is None or value.via != "search":
        return None
    found = [
        passage
        for record in reversed(records)
        if isinstance(record.event, ToolFinished)
        for passage in passages_of(record.event)
        if passage.source == value.source
    ]
    if (passage := passage_of(found, value.source, value.quote)) is None:
        return None
    text = composed_text(passage.text)
    spans = quote_places(text, value.quote)
    # The same words may stand twice: those at the value's place count.
    begin, end = next(
        (each for each in spans if not value.place or _covers(passage.places, each, value.place)), spans[0]
    )
    return ShownPassage(passage.title, value.where, text[:begin], text[begin:end], text[end:])


def _covers(places: Sequence[tuple[int, str]], span: tuple[int, int], place: str) -> bool:
    """Tell whether a place of a passage begins within a span, or holds its beginning."""
    inside = {name for start, name in places if span[0] <= start < span[1]}
    return place in inside | {name for start, name in places if start <= span[0]}
