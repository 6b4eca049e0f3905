"""How a run ends: the event, the outcomes that every kind of agent has, and what reopens a run. Pure."""

from enum import StrEnum
from typing import Literal

from actors.run.limits import spec_of
from runtime.core.events import Event, Seconds
from runtime.core.ledger import Limit

Cause = Literal["", "provider", "bug", "home_budget"]
"""What ended a run from outside: the model's provider, a bug of this program, or the daily budget. The value is empty
if the run's own machine decided to end the run.
"""


ReopenedBy = Literal["nothing", "resume", "limits", "requirement"]
"""What lets a finished run go on: nothing, a person who resumes it, a raised limit, or another requirement."""


class Outcome(StrEnum):
    """How a run of any kind may end. Each kind may have further outcomes."""

    SUCCESS = "success"
    BUDGET_EXHAUSTED = "budget_exhausted"  # a larger budget may help
    CANCELLED = "cancelled"
    FAILED = "failed"  # a bug


UNDONE = "undone"
FINAL: frozenset[str] = frozenset({Outcome.SUCCESS, Outcome.CANCELLED, UNDONE})
"""The outcomes of runs that can never go on. With any other outcome a run can go on (docs/explanation/endings.md)."""


class RunFinished(Event):
    """The run ended. A kind that needs further fields has a subclass of `RunFinished`."""

    kind: Literal["run_finished"] = "run_finished"
    outcome: str
    """One of `Outcome`, or one of the kind's own outcomes."""
    why: str
    """The reason, in one line for people."""
    cause: Cause = ""
    """The cause of an end from outside; empty if the run's own machine ended it."""
    at: Seconds | None = None
    """The time of the end in UTC seconds since 1970, if it came from outside; else None."""
    mono: float | None = None
    """The seconds since the driver's claim, by a monotonic clock."""

    @property
    def final(self) -> bool:
        """Whether the run can never go on."""
        return self.outcome in FINAL

    @property
    def reopened_by(self) -> ReopenedBy:
        """What lets the run go on; `nothing` if it can never go on."""
        if self.final:
            return "nothing"
        if self.outcome == Outcome.FAILED or self.cause == "home_budget":
            return "resume"
        return "limits" if self.outcome == Outcome.BUDGET_EXHAUSTED else "requirement"

    @property
    def early(self) -> bool:
        """Whether the run ended before it had used all its calls.

        If so, the run can also go on with another model or after another requirement.
        """
        return self.outcome == Outcome.BUDGET_EXHAUSTED and self.why.partition(":")[0] in EARLY


NOT_WORTH_IT = "not_worth_it"
"""The words before the colon in the reason of a run that ended because no move reached the value `stop_below`."""
STUCK = "stuck"
"""The words before the colon in the reason of a run that ended because its model repeated rejected artifacts."""
STUCK_FOR_GOOD = "stuck for good"
"""The words before the colon in the reason of a run that ended because its deterministic model would only repeat
itself.
"""
EARLY = (NOT_WORTH_IT, STUCK, STUCK_FOR_GOOD)
"""The words before the colon in the reasons of runs that ended early because more calls would probably not help."""


def end_exhausted_run(limit: Limit) -> RunFinished:
    """Return the end of a run that has used up a limit."""
    return RunFinished(outcome=Outcome.BUDGET_EXHAUSTED, why=spec_of(limit).end)


def exhausted_limit(why: str) -> Limit | None:
    """Return the limit in the recorded reason for a run's end; None if the reason names no limit."""
    first_words = why.partition(":")[0]
    return next((limit for limit in Limit if spec_of(limit).end == first_words), None)
