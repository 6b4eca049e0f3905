"""How a run ends: the event, the outcomes that every kind of agent has, and what reopens a run. Pure."""

from enum import StrEnum
from typing import Literal

from actors.run.limits import spec_of
from runtime.core.events import Event, Seconds
from runtime.core.ledger import Limit

Cause = Literal["", "provider", "bug", "home_budget"]
"""The cause of an end from outside: the model's provider, a bug of this program, or the daily budget. Empty if the
run's own machine decided to end it.
"""


ReopenedBy = Literal["nothing", "resume", "limits", "requirement"]
"""The condition for a finished run to go on: none, a person who resumes it, a raised limit, or another requirement."""


class Outcome(StrEnum):
    """How a run of any kind may end. Each kind may have further outcomes."""

    SUCCESS = "success"
    BUDGET_EXHAUSTED = "budget_exhausted"  # more may help
    CANCELLED = "cancelled"
    FAILED = "failed"  # a bug


UNDONE = "undone"
FINAL: frozenset[str] = frozenset({Outcome.SUCCESS, Outcome.CANCELLED, UNDONE})
"""The outcomes of runs that can never go on. With any other outcome a run can go on (docs/explanation/endings.md)."""


class RunFinished(Event):
    """The run ended. A kind that needs further fields has a subclass of this in its union of events."""

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
    """The driver's monotonic seconds since its claim."""

    @property
    def final(self) -> bool:
        """Whether the run can never go on."""
        return self.outcome in FINAL

    @property
    def reopened_by(self) -> ReopenedBy:
        """The condition for the run to go on."""
        if self.final:
            return "nothing"
        if self.outcome == Outcome.FAILED or self.cause == "home_budget":
            return "resume"
        return "limits" if self.outcome == Outcome.BUDGET_EXHAUSTED else "requirement"

    @property
    def early(self) -> bool:
        """Whether the run ended with calls unspent. Another model or another requirement then lets it go on too."""
        return self.outcome == Outcome.BUDGET_EXHAUSTED and self.why.partition(":")[0] in EARLY


NOT_WORTH_IT = "not_worth_it"
"""The first words of the reason (up to a colon) if a run ends because no move reaches the value `stop_below`."""
STUCK = "stuck"
"""The first words of the reason (up to a colon) if a run ends because its model repeats rejected artifacts."""
STUCK_FOR_GOOD = "stuck for good"
"""The first words of the reason, up to a colon, of a run that ended because its deterministic model has nothing new to
write.
"""
EARLY = (NOT_WORTH_IT, STUCK, STUCK_FOR_GOOD)
"""The first words of the reasons of runs that end with calls unspent, because more calls would probably not help."""


def end_exhausted_run(limit: Limit) -> RunFinished:
    """Return the end of a run that has used up a limit."""
    return RunFinished(outcome=Outcome.BUDGET_EXHAUSTED, why=spec_of(limit).end)


def exhausted_limit(why: str) -> Limit | None:
    """Return the limit in the recorded reason for a run's end; None if the reason names no limit."""
    first_words = why.partition(":")[0]
    return next((limit for limit in Limit if spec_of(limit).end == first_words), None)
