"""The status of a run for people, which is more than its row says."""

from dataclasses import replace
from typing import Any, Literal, get_args

from actors.run.state import RunState
from runtime.journal.port import RunRow
from runtime.process.identity import is_dead

Status = Literal["running", "waiting", "parked", "finished"]
"""The status of a run for people. Frozen: programs read it in JSON."""
STATUSES: tuple[str, ...] = get_args(Status)
"""All statuses for people."""


def status_of(row: RunRow, *, hosted: bool = False, with_inbox: RunState[Any] | None = None) -> str:
    """Return a run's status for people: `running`, `waiting`, `parked` or `finished`.

    A run whose row says `running`, but that nobody drives any more, was interrupted: it is `parked`, or still `running`
    where a host drives runs of its kind (`hosted`), and so goes on with it. So is one whose row says `waiting`, where
    people have answered all of its questions since: in `with_inbox`, its common state after the messages of its inbox,
    none is open.
    """
    status = row.summary.status
    if status == "waiting" and with_inbox is not None and not with_inbox.open_questions:
        status = "running"
    if status == "running" and (row.owner is None or is_dead(row.owner)):
        return "running" if hosted and row.last_seq > 0 else "parked"
    return status


def row_after(row: RunRow, with_inbox: RunState[Any]) -> RunRow:
    """Return the row of a waiting run after the messages of its inbox: it names the first question that is left."""
    first = next(iter(with_inbox.open_questions), "")
    return replace(row, summary=replace(row.summary, detail=first, waiting_since=with_inbox.asked_since))
