"""The reminders of a question as data: when people are reminded, who is asked next, and the events. Pure."""

from typing import Literal

from runtime.core.events import Event, Seconds, Value

ReminderScope = Literal["all", "approvals", "ordinary"]
"""The questions to which a rule for reminders applies. `approvals` are the questions that no program may answer, such
as reviews and questions about the outcome of a tool's call. `ordinary` are all other questions.
"""
Ending = Literal["", "expiry", "deadline"]
"""What ends a question that nobody answers: the expiry of the question or the deadline of the run. The value is empty
if nothing ends the question."""


class ReminderStep(Value):
    """A reminder, or a question to further people, after a question has been open for some time."""

    after_seconds: Seconds
    """The seconds after the question was asked."""
    ask: tuple[str, ...] = ()
    """The names of the people who are asked from then on; empty if the people asked before are reminded."""


class Reminders(Value):
    """The steps that follow if nobody answers a question. The question's event stores these steps."""

    ask: tuple[str, ...] = ()
    """The names of the people who are asked first; empty for everybody who may answer."""
    steps: tuple[ReminderStep, ...] = ()
    """The later steps, the earliest first."""
    until: Seconds | None = None
    """When the question expires or the run ends, whichever is earlier, in UTC seconds since 1970; None if neither is
    set.
    """
    ending: Ending = ""

    def people_after(self, steps_done: int) -> tuple[str, ...]:
        """Return the names of the people who are asked after a number of steps; empty for everybody who may answer."""
        if not self.ask:
            return ()
        names = [*self.ask, *(name for step in self.steps[:steps_done] for name in step.ask)]
        return tuple(dict.fromkeys(names))


class ReminderRule(Value):
    """The reminders for some questions of a run."""

    questions: ReminderScope = "all"
    ask: tuple[str, ...] = ()
    steps: tuple[ReminderStep, ...] = ()


class ReminderEvent(Event):
    """Steps of a question's reminders are due. Replan sends messages to people because of this event."""

    question_id: str
    """The id of the question."""
    steps_done: int
    """The number of steps of the question's reminders that have been done."""
    asked: tuple[str, ...] = ()
    """The names of all people who have been asked so far; empty for everybody who may answer."""
    for_people: bool = False
    """Whether no program may answer the question."""
    next_at: Seconds | None = None
    """When the next step is due, in UTC seconds since 1970; None if there is no next step."""
    next_ask: tuple[str, ...] = ()
    """The names of the people whom the next step asks; empty if that step only reminds again."""
    until: Seconds | None = None
    """When the question expires or the run ends, in UTC seconds since 1970; None if neither is set."""
    ending: Ending = ""
    """Whether `until` is the expiry or the deadline; empty if `until` is None."""


class ClarificationReminded(ReminderEvent):
    """The people who were asked a question are reminded of it."""

    kind: Literal["clarification_reminded"] = "clarification_reminded"


class ClarificationEscalated(ReminderEvent):
    """Further people are asked a question, because nobody has answered it yet."""

    kind: Literal["clarification_escalated"] = "clarification_escalated"
    added: tuple[str, ...]
    """The names of the people who are asked from now on."""
