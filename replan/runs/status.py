"""The status of a run for people, by its row, its owner and its inbox."""

from typing import TYPE_CHECKING, Any, Literal, get_args

from actors.run.ids import is_child
from runtime.journal.head import place_moved_to
from runtime.journal.port import RunRow
from runtime.process.identity import is_dead

if TYPE_CHECKING:
    from actors.run.state import RunState
    from replan.runs.loaded import AnyKind
    from runtime.drive.options import Ending

Status = Literal["running", "waiting", "parked", "finished", "moved"]
"""The status of a run for people. Frozen: programs read it in JSON."""
STATUSES: tuple[str, ...] = get_args(Status)
"""All statuses for people."""


def status_of(row: RunRow, *, hosted: bool = False, with_inbox: "RunState[Any] | None" = None) -> str:
    """Return a run's status for people: `running`, `waiting`, `parked`, `finished` or `moved`.

    If a run was interrupted, its row still says `running`. Such a run is `parked`, or `running` if a host drives runs
    of its kind (`hosted`), because that host will continue it. If people have answered all questions of a `waiting`
    run, it is shown like an interrupted one; `with_inbox` is its common state after the messages of its inbox. A run
    that was moved to another journal is `moved`. The row of a step says `parked` while its parent drives it, so that no
    host drives it.
    """
    if place_moved_to(row.owner) is not None:
        return "moved"
    status = row.status
    if status == "parked" and is_child(row.run) and row.owner is not None and not is_dead(row.owner):
        return "running"
    if status == "waiting" and with_inbox is not None and not with_inbox.open_questions:
        status = "running"
    if status == "running" and (row.owner is None or is_dead(row.owner)):
        if row.detail and row.next_wake is not None:
            return "parked"  # It waits for its provider; a host tries again now and then.
        return "running" if hosted and row.last_seq > 0 else "parked"
    return status


def status_at_rest(kind: "AnyKind", state: Any, ending: "Ending") -> str:
    """Return the status for people of a run that its driver has just released."""
    from runtime.drive.options import Ending  # noqa: PLC0415 -- reading a run needs no event loop

    common = kind.run_state(state)
    if ending is Ending.WAITING and common is not None and common.outage is not None and not common.open_questions:
        return "parked"
    return {Ending.FINISHED: "finished", Ending.WAITING: "waiting", Ending.PARKED: "parked"}[ending]


def goes_on(common: "RunState[Any] | None") -> bool:
    """Return whether a finished run goes on when a person resumes it. `common` is its state after the inbox."""
    return common is not None and common.undoes_end(at_once=True)


def row_after(row: RunRow, with_inbox: "RunState[Any]") -> RunRow:
    """Return the row of a waiting run after the messages of its inbox. It names the first open question."""
    first = next(iter(with_inbox.open_questions), "")
    return row._replace(detail=first, waiting_since=with_inbox.asked_since)
