"""Status rows and records of runs of any kind, as lines and as JSON objects. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from actors.run.words import in_words
from actors.values.format import ago, stamp
from actors.values.lines import Line, StyledSpan, columns
from runtime.core.events import Record
from runtime.core.names import describe
from runtime.journal.head import place_moved_to
from runtime.journal.port import FIRST_KIND, RunRow
from runtime.logs.terminal_text import clean

if TYPE_CHECKING:
    from actors.run.kind import Kind


_PLAN_OF = re.compile(r"^plan [a-z0-9]+: ")
"""A pattern for the beginning of an execution's title, which names the planning run."""


def row_lines(rows: Sequence[tuple[RunRow, str]], now: float) -> Iterator[Line]:
    """Yield a line with the headings, and a line for each row: id, state, time since the last change, title.

    The column of the states is only as wide as the longest state, so that more of the titles fits.
    """
    words = [_state_word(row, status) for row, status in rows]
    width = max(map(len, (*words, "STATUS")))
    yield Line((StyledSpan(f"{'RUN':<8}  {'STATUS':<{width}}  {'AGE':>4}  TITLE", "bold"),))
    for (row, _), word in zip(rows, words, strict=True):
        title = row.title if row.kind == FIRST_KIND else f"{row.kind}: {_PLAN_OF.sub('', row.title)}"
        text = f"{clean(row.run)}  {word:<{width}}  {ago(now - row.updated):>4}  {clean(title, one_line=True)}"
        yield Line((StyledSpan(text),))  # One span, since thousands are listed.


def _state_word(row: RunRow, status: str) -> str:
    """Return a word for the state of a run: its outcome, its status, or `held up` if no host can drive it.

    If an unfinished run is near a limit, the text also has the used percentage of that limit.
    """
    match status:
        case "finished":
            return row.detail
        case "moved":
            return status
        case _:
            word = "held up" if status == row.status == "running" and row.detail else status
            return f"{word} ({row.near.partition(' ')[2]} %)" if row.near else word


def row_to_json(row: RunRow, status: str) -> dict[str, Any]:
    """Return a row as a JSON object, with the status for people. Times are ISO 8601 in UTC."""
    fields: dict[str, Any] = {"run_id": row.run, "kind": row.kind, "status": status, "title": row.title}
    if row.tenant:
        fields["tenant"] = row.tenant
    if row.priority:
        fields["priority"] = row.priority
    place = place_moved_to(row.owner)
    if place is not None:
        fields["moved_to"] = place
    if status == "finished":
        fields["outcome"] = row.detail
    if status == row.status and status in ("parked", "running") and row.detail:
        fields["why"] = row.detail
    if row.near and status not in ("finished", "moved"):
        limit, _, percent = row.near.partition(" ")
        fields["limit_near"] = {"limit": limit, "percent": int(percent)}
    if row.waiting_since is not None and status != "moved":
        fields |= {"waiting_since": stamp(row.waiting_since), "question": f"{row.run}/{row.detail}"}
    if row.next_wake is not None and status not in ("finished", "moved"):
        fields["next_wake"] = stamp(row.next_wake)
    return fields | {
        "created": stamp(row.created),
        "updated": stamp(row.updated),
        "records": row.last_seq,
        "driven_by": None if row.owner is None or place is not None else describe(row.owner),
    }


def record_line(
    kind: "Kind[Any, Any]", record: Record[Any], state: Any, *, worded: Callable[[str], str] = in_words
) -> Line:
    """Return a record as one line: its number, its time, and what happened.

    `state` is the state after the record. With `worded`, words replace the ids in the text.
    """
    return columns(f"{record.seq:>4}", stamp(record.at), record_words(kind, record, state, worded=worded))


def record_words(
    kind: "Kind[Any, Any]", record: Record[Any], state: Any, *, worded: Callable[[str], str] = in_words
) -> Line:
    """Return a line that says what happened in a record. The arguments are the same as for `record_line`."""
    text = clean(worded(kind.views.record_text(record.event, state)), one_line=True)
    return Line((StyledSpan(text, run=record.run if record.run in text else ""),))


def record_to_json(kind: "Kind[Any, Any]", record: Record[Any]) -> dict[str, Any]:
    """Return a record as a JSON object. `at` is the time of writing, as ISO 8601 in UTC."""
    position = {"seq": record.seq, "at": stamp(record.at), "epoch": record.epoch}
    return {**position, **kind.views.record_fields(record.event)}
