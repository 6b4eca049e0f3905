"""Reminders of a question as data: when people are reminded, who is asked next, and the events of both. Pure."""

from typing import Literal

from runtime.core.events import Event, Seconds, Value

ReminderScope = Literal["all", "approvals", "ordinary"]
"""The questions that a rule applies to. Approvals are those that no program may answer; they include reviews and
questions about the outcome of a tool's call."""
Ending = Literal["", "expiry", "deadline"]
"""What ends a question that nobody answers: its expiry, the run's deadline, or nothing."""


class ReminderStep(Value):
    """What is done once a question has been open for a time."""

    after_seconds: Seconds
    """The seconds since it was asked."""
    ask: tuple[str, ...] = ()
    """The names of the people who are asked from then on; empty to remind those who were asked before."""


class Reminders(Value):
    """The steps that follow while nobody answers a question; they are recorded with the question."""

    ask: tuple[str, ...] = ()
    """The names of the people who are asked first; empty for everybody who may answer it."""
    steps: tuple[ReminderStep, ...] = ()
    """The later steps, the earliest first."""
    until: Seconds | None = None
    """When it expires or the run ends, whichever is earlier, in UTC seconds since 1970; None where neither is set."""
    ending: Ending = ""
    """Whether `until` is the expiry or the deadline."""

    def people_after(self, steps_done: int) -> tuple[str, ...]:
        """Return the names of those who are asked after a number of steps; empty for everybody who may answer."""
        if not self.ask:
            return ()
        names = [*self.ask, *(name for step in self.steps[:steps_done] for name in step.ask)]
        return tuple(dict.fromkeys(names))


class ReminderRule(Value):
    """The reminders of some of a run's questions."""

    questions: ReminderScope = "all"
    """The questions that it applies to."""
    ask: tuple[str, ...] = ()
    """The names of the people who are asked first; empty for everybody who may answer."""
    steps: tuple[ReminderStep, ...] = ()
    """The later steps, the earliest first."""


class ReminderEvent(Event):
    """Steps of a question's reminders are due; messages to people are made from this event."""

    question_id: str
    """The id of the question."""
    steps_done: int
    """The number of the question's steps that have been done so far."""
    asked: tuple[str, ...] = ()
    """The names of all who have been asked so far; empty for everybody who may answer."""
    for_people: bool = False
    """Whether no program may answer the question."""
    next_at: Seconds | None = None
    """When the next step is due, in UTC seconds since 1970; None where there is none."""
    next_ask: tuple[str, ...] = ()
    """The names of the people who are asked then; empty for another reminder."""
    until: Seconds | None = None
    """When the question expires or the run ends, in UTC seconds since 1970; None where neither is set."""
    ending: Ending = ""
    """Whether `until` is the expiry or the deadline."""


class ClarificationReminded(ReminderEvent):
    """Those who were asked a question are reminded of it."""

    kind: Literal["clarification_reminded"] = "clarification_reminded"


class ClarificationEscalated(ReminderEvent):
    """Further people are asked a question that nobody has answered in time."""

    kind: Literal["clarification_escalated"] = "clarification_escalated"
    added: tuple[str, ...]
    """The names of the people who are asked from now on."""
