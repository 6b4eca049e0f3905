"""How a run ends: the event that ends it, the outcomes that every kind of agent has, and what reopens a run. Pure."""

from enum import StrEnum
from typing import Literal

from runtime.core.events import Event, Seconds
from runtime.core.ledger import Limit

Cause = Literal["", "provider", "bug", "home_budget"]
"""The cause of an end from outside: the model's provider, a bug of ours, or the daily budget; empty for a decision."""


ReopenedBy = Literal["nothing", "resume", "limits", "requirement"]
"""What lets a finished run go on: nothing, a person's wish, a raised limit, or another requirement."""


class Outcome(StrEnum):
    """How a run of any kind may end; a kind has outcomes of its own beside these."""

    SUCCESS = "success"
    BUDGET_EXHAUSTED = "budget_exhausted"  # more may help
    CANCELLED = "cancelled"
    FAILED = "failed"  # a bug


UNDONE = "undone"
"""The outcome of an execution that has undone everything that it had done."""
FINAL: frozenset[str] = frozenset({Outcome.SUCCESS, Outcome.CANCELLED, UNDONE})
"""The outcomes after which nothing follows. With any other outcome a run can go on (docs/explanation/endings.md)."""


class RunFinished(Event):
    """The run ended. A kind with further fields has a subclass of this in its union of events."""

    kind: Literal["run_finished"] = "run_finished"
    outcome: str
    """One of `Outcome`, or of the kind's own outcomes."""
    why: str
    """The reason, in one line for people."""
    cause: Cause = ""
    """The cause from outside; empty after a decision of the machine."""
    at: Seconds | None = None
    """The time of an end from outside, in UTC seconds since 1970."""
    mono: float | None = None
    """The driver's monotonic seconds since its claim."""

    @property
    def final(self) -> bool:
        """Whether nothing follows it."""
        return self.outcome in FINAL

    @property
    def reopened_by(self) -> ReopenedBy:
        """What lets the run go on."""
        if self.final:
            return "nothing"
        if self.outcome == Outcome.FAILED or self.cause == "home_budget":
            return "resume"
        return "limits" if self.outcome == Outcome.BUDGET_EXHAUSTED else "requirement"

    @property
    def early(self) -> bool:
        """Whether it ended with calls unspent: another model or another requirement lets it go on too."""
        return self.outcome == Outcome.BUDGET_EXHAUSTED and self.why.partition(":")[0] in EARLY


_RAN_OUT = {
    Limit.CALLS: "no calls left",
    Limit.TOKENS: "no tokens left",
    Limit.COST: "no money left",
    Limit.ACTIVE_TIME: "no active time left",
    Limit.DEADLINE: "the deadline has passed",
}


NOT_WORTH_IT = "not_worth_it"
"""The reason, up to a colon, of a run that ends because no move has the value `stop_below`."""
STUCK = "stuck"
"""The reason, up to a colon, of a run that ends because its model repeats rejected artifacts."""
STUCK_FOR_GOOD = "stuck for good"
"""The reason, up to a colon, of a run that ends because its deterministic model has nothing new to write."""
EARLY = (NOT_WORTH_IT, STUCK, STUCK_FOR_GOOD)
"""The reasons of a run that ends with calls unspent, because another call would probably be lost."""


def end_exhausted_run(limit: Limit) -> RunFinished:
    """Return the end of a run that has used up a limit."""
    return RunFinished(outcome=Outcome.BUDGET_EXHAUSTED, why=_RAN_OUT[limit])
