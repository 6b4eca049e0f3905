"""Records of a run as lines and plain data, whatever its kind. Pure."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from actors.run.words import in_words
from actors.values.format import stamp
from actors.values.lines import Line, StyledSpan, columns
from runtime.core.events import Record
from runtime.logs.terminal_text import clean

if TYPE_CHECKING:
    from actors.run.kind import Kind


def record_line(
    kind: "Kind[Any, Any]", record: Record[Any], state: Any, *, worded: Callable[[str], str] = in_words
) -> Line:
    """Return a record as one line: its number, its time, what happened.

    `state` is the state after it. `worded` replaces the ids in the text by words.
    """
    text = clean(worded(kind.views.record_text(record.event, state)), one_line=True)
    named = Line((StyledSpan(text, run=record.run if record.run in text else ""),))
    return columns(f"{record.seq:>4}", stamp(record.at), named)


def record_to_json(kind: "Kind[Any, Any]", record: Record[Any]) -> dict[str, Any]:
    """Return a record as plain data; `at` is when it was written, as ISO 8601 in UTC."""
    position = {"seq": record.seq, "at": stamp(record.at), "epoch": record.epoch}
    return {**position, **kind.views.record_fields(record.event)}
