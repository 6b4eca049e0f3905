"""The status of a run for people, which is more than its row says."""

from actors.planning.state import PlanningState
from runtime.journal.port import RunRow
from runtime.process.identity import is_dead


def status_of(row: RunRow, *, hosted: bool = False, heard: PlanningState | None = None) -> str:
    """Return a run's status for people: `running`, `waiting`, `parked` or `finished`.

    A run whose row says `running`, but that nobody drives any more, was interrupted: it is `parked`, or still `running`
    where a host goes on with it. So is one whose row says `waiting`, where people have answered all of its questions
    since: `heard`, its state with the messages of its inbox, has no open one.
    """
    status = row.summary.status
    if status == "waiting" and heard is not None and not heard.run.open_questions:
        status = "running"
    if status == "running" and (row.owner is None or is_dead(row.owner)):
        return "running" if hosted and row.last_seq > 0 else "parked"
    return status
