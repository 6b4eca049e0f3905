"""The life of a question: one table of moves, which the machine follows and the documentation draws. Pure.

A question has an id of its own for each time it is asked. It is open while it is `asked`; every other status is reached
by an event. Declined and expired questions are gone on without; so is a withdrawn one, whose step is redone for another
reason. What a person says all the same, after the last two, is not lost: it is known from then on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from actors.planning.events import ClarificationAnswered, ClarificationRequested
from runtime.core.events import Event


class Status(StrEnum):
    """Where a question stands."""

    ASKED = "asked"
    ANSWERED = "answered"
    DECLINED = "declined"  # a person will not answer
    WITHDRAWN = "withdrawn"  # nobody needs the answer any more
    EXPIRED = "expired"  # nobody answered in time


MOVES: Mapping[tuple[Status, str], Status] = {
    (Status.ASKED, "clarification_answered"): Status.ANSWERED,
    (Status.ASKED, "clarification_declined"): Status.DECLINED,
    (Status.ASKED, "clarification_withdrawn"): Status.WITHDRAWN,
    (Status.ASKED, "clarification_expired"): Status.EXPIRED,
    (Status.ASKED, "run_finished"): Status.WITHDRAWN,
    (Status.WITHDRAWN, "clarification_answered"): Status.ANSWERED,
    (Status.EXPIRED, "clarification_answered"): Status.ANSWERED,
}
"""Every move: from which status, by which kind of event, to which. There is no other."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question that was asked: when (`at`, UTC seconds), where it stands, and the answer, once there is one."""

    request: ClarificationRequested
    at: float
    status: Status = Status.ASKED
    answer: str = ""

    @property
    def open(self) -> bool:
        """Whether it waits for a person."""
        return self.status is Status.ASKED

    def can(self, kind: str) -> bool:
        """Tell whether an event of a kind may move it. What a review was about is gone when it has been closed."""
        return (self.status, kind) in MOVES and (self.open or not self.request.review)

    def moved(self, event: Event) -> "Question":
        """Return the question after an event that moves it."""
        answer = event.answer if isinstance(event, ClarificationAnswered) else self.answer
        return replace(self, status=MOVES[self.status, event.kind], answer=answer)


def expiry_id(question_id: str) -> str:
    """Return the id of the wait for a question's expiry."""
    return f"expires:{question_id}"
