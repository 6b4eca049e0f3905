"""The status row of a run. Pure."""

from collections.abc import Collection
from functools import partial

from actors.run import tools, waits
from actors.run.calls import C
from actors.run.open_question import Shown, encoded, open_questions, question_json
from actors.run.state import RunState
from runtime.core.ledger import ZERO, Ledger
from runtime.core.machine import Summary


def status_row(run: RunState[C], calls: Collection[str], *, working: bool, shown: Shown = question_json) -> Summary:
    """Return the run's status row.

    `calls` are the open calls that somebody carries out: what an earlier driver has reserved nobody gives back, and a
    child run that waits for its provider does nothing.
    `working` says whether other work is open that no person does. `shown` makes plain data of a question for lists.
    """
    # What a child uses is what the run above has reserved.
    ledger = Ledger(run.ledger.limits) if run.child else run.ledger
    reserved = sum((ledger.reserved.get(name, ZERO) for name in calls), ZERO)
    asks = encoded(open_questions(run, shown)) if run.questions else b""
    row = partial(Summary, committed=ledger.committed, reserved=reserved, parked=run.parked or run.renewing, asks=asks)
    if run.over and run.finished is not None:
        return row("finished", str(run.finished.outcome))
    if run.finished is not None:  # Its driver, or the next one, sees to its tools first.
        return row("parked" if run.child else "running", ending=True)
    if run.child:  # The run above goes on with it, and nobody else.
        return row("parked")
    rests = not (working or calls or tools.busy(run.tools))
    wake = waits.next_wake(run.waits) if rests else None
    questions = run.open_questions
    if questions and rests:
        return row("waiting", next(iter(questions)), run.asked_since, wake)
    if run.parked:
        return row("running" if run.handover else "parked", run.parked_reason)
    outage = run.outage if rests else None
    return row("running", "" if outage is None else outage.why, next_wake=wake)
