"""The part of a run's state that every kind of agent has. This part is frozen: only `evolve_run` creates new values.

The state of a kind has a `RunState` in its field `run`. Before the run begins, the state is `NotStarted()`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from actors.run.calls import C, Calls
from actors.run.ending import RunFinished
from actors.run.fork_event import Fork
from actors.run.inbox import MessageKind, Messages
from actors.run.questions import ClarificationRequested, Question, Questions, open_requests, questions_for_prompts
from actors.run.reminder_events import ReminderRule
from actors.run.settings import NEVER_STRICT
from actors.run.tools import Tools
from actors.run.waits import HOME_BUDGET, PROVIDER, Started, WaitRequested, Waits
from actors.values.artifacts import Clarified
from runtime.core.ledger import Ledger, Limit, Limits
from runtime.core.messages import Halt


@dataclass(frozen=True)
class RunState(Generic[C]):
    """The part of the state that runs of every kind have. `C` is the union of the kind's requests for calls."""

    run_id: str = ""
    """The run's id; empty before the run has begun."""
    child: bool = False
    """Whether the run is a step of another run, whose ledger pays for it."""
    now: float = 0.0
    """The latest time of an event, in UTC seconds. This time never decreases, even if the clock is set back."""
    wall: float = 0.0
    """The latest time of the clock, in UTC seconds. The ends of waits are computed from this time, because waits end by
    the clock.
    """
    mono: float | None = None
    """The driver's latest monotonic seconds since its claim; None if its records have no monotonic seconds."""
    epoch: int = 0
    """The number of the latest driver's lease. Every new driver has a higher number."""
    parked: bool = False
    """Whether the driver has stopped driving the run, or is about to stop. A parked run makes no requests."""
    handover: bool = False
    """Whether any driver may resume the parked run; False if only a person may."""
    parked_reasons: tuple[str, ...] = ()
    """The reasons for parking since a driver last drove the run, oldest first. A reason is empty if a person parked the
    run.
    """
    parked_cause: Halt = ""
    """The cause of parking that only a person can remove; empty if there is no such cause."""
    ledger: Ledger = field(default_factory=lambda: Ledger(Limits()))
    calls: Calls[C] = field(default_factory=Calls)
    tools: Tools = field(default_factory=dict)
    waits: Waits = field(default_factory=dict)
    questions: Questions = field(default_factory=dict)
    limit_question: str = ""
    """The id of the latest question at a limit; empty if there is no such question or the limits have changed since."""
    reminders: tuple[ReminderRule, ...] = ()
    warn_at: tuple[int, ...] = ()
    """The levels of limits at which the run warns, in percent; empty if the run never warns."""
    warned: Mapping[Limit, int] = field(default_factory=dict)
    """For each limit: the highest level at which the run has warned. A limit that has changed since is missing."""
    warned_of_others: Mapping[tuple[str, Limit], tuple[int, int]] = field(default_factory=dict)
    """For each limit of a daily budget or a child run: the day and the level of the last warning."""
    servers: Mapping[str, str] = field(default_factory=dict)
    """For each model of the run: the address of its server. A driver uses no other server for the model."""
    deadline_set: float = 0.0
    """When the deadline was set, in UTC seconds. The time until the deadline counts from this moment."""
    messages: Messages = ()
    finished: RunFinished | None = None
    """The run's end; None before the end, and after the end was undone. Calls of tools may still end after the run's
    end.
    """
    renewing: bool = False
    """Whether the next driver must open a changed model or guard of the run. Until then no request is made."""
    never_strict: str = NEVER_STRICT
    """Why the run cannot be made `strict`, as a sentence without a full stop; empty if it can be."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """The message to child runs with all settings that have changed since the run began."""
    reopening: bool = False
    """Whether a message or change after the end lets the next driver continue the run."""
    fork: Fork | None = None
    """The run that this run was forked from; None without a fork. As long as `epoch` is 0, the fork has had no driver.
    """

    @classmethod
    def begin(cls, event: Started) -> "RunState[C]":
        """Return the common part of a run's state after its first event."""
        times = (event.at, event.at, event.mono)
        return cls(
            event.run,
            event.child,
            *times,
            ledger=Ledger(event.limits),
            reminders=event.reminders,
            warn_at=event.warn_at,
            servers=event.servers,
            deadline_set=event.at,
        )

    def undoes_end(self, *, at_once: bool) -> bool:
        """Return whether a takeover undoes the run's end. `at_once` says whether a person resumed the run."""
        end = self.finished
        if end is None:
            return False
        return self.reopening or (at_once and end.reopened_by == "resume")

    @property
    def over(self) -> bool:
        """Whether the run has ended and no call of a tool is open."""
        return self.finished is not None and not self.tools

    @property
    def parked_reason(self) -> str:
        """The latest reason for parking; empty if a person parked the run, or if the run is not parked."""
        return self.parked_reasons[-1] if self.parked_reasons else ""

    @property
    def saving(self) -> bool:
        """Whether no model may be called now.

        The run is parked, its model is being replaced, or it waits for the provider or the next day.
        """
        return self.parked or self.renewing or HOME_BUDGET in self.waits or PROVIDER in self.waits

    @property
    def held(self) -> frozenset[str]:
        """The ids of the requests that wait for a child run whose provider is down."""
        names = (wait.request_id for wait in self.waits.values() if wait.for_provider)
        return frozenset(name.partition(":")[2] for name in names if name != PROVIDER) if self.waits else frozenset()

    @property
    def outage(self) -> WaitRequested | None:
        """The wait for the provider during which no process needs to run; None if there is no such wait."""
        return next((wait for wait in self.waits.values() if wait.for_provider and wait.node is None), None)

    @property
    def open_questions(self) -> dict[str, ClarificationRequested]:
        """The open questions by id, in the order in which they were asked; empty if the run has finished."""
        return open_requests(self.questions) if self.questions and self.finished is None else {}

    @property
    def asked_since(self) -> float | None:
        """When the oldest open question was asked, in UTC seconds; None if no question is open or the run has ended."""
        if self.finished is not None:
            return None
        return min((question.at for question in self.questions.values() if question.open), default=None)

    @property
    def questions_used(self) -> int:
        """The number of questions that count against the limit of questions.

        Reviews and questions about limits do not count.
        """
        return sum(1 for question in self.questions.values() if question.counts)

    @property
    def asks_at_limit(self) -> bool:
        """Whether a question is open that asks how to go on at a limit of the run."""
        asked = self.at_limit
        return asked is not None and asked.open and asked.request.of_run_limit

    @property
    def at_limit(self) -> Question | None:
        """The latest question about a limit or a daily budget; None without one, or if the limits changed since."""
        return self.questions[self.limit_question] if self.limit_question else None

    @property
    def clarifications(self) -> tuple[Clarified, ...]:
        """The questions that prompts show: the answered, declined and expired questions."""
        return questions_for_prompts(self.questions) if self.questions else ()

    def texts_of(self, kind: MessageKind) -> tuple[str, ...]:
        """Return the texts of the user's messages of a kind, the oldest first."""
        return tuple([message.text for message in self.messages if message.kind == kind])


@dataclass(frozen=True)
class NotStarted:
    """The state of a run before its first event."""

    run: RunState[Any] = field(default_factory=RunState)
    """The empty common part, for code that handles any run."""
