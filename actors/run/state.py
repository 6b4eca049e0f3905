"""The part of a run's state that every kind of agent has. Frozen; only `evolve_run` makes new ones.

A kind's state holds a `RunState` as its field `run`. Before the run begins, its state is `NotStarted()`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from actors.run.calls import C, Calls
from actors.run.ending import RunFinished
from actors.run.fork_event import Fork
from actors.run.inbox import MessageKind, Messages
from actors.run.questions import ClarificationRequested, Questions, open_requests, questions_for_prompts
from actors.run.reminder_events import ReminderRule
from actors.run.settings import NEVER_STRICT
from actors.run.tools import Tools
from actors.run.waits import HOME_BUDGET, PROVIDER, Started, WaitRequested, Waits
from actors.values.artifacts import Clarified
from runtime.core.ledger import Ledger, Limits
from runtime.core.messages import Halt


@dataclass(frozen=True)
class RunState(Generic[C]):
    """The part of the state that runs of every kind have. `C` is the union of the kind's requests for calls."""

    run_id: str = ""
    """The run's id; empty before the run has begun."""
    child: bool = False
    """Whether it is a step of another run, whose ledger reserves and settles what it takes."""
    now: float = 0.0
    """The latest time of an event, in UTC seconds; it never goes back, whatever the clock does."""
    wall: float = 0.0
    """The latest time of the clock, in UTC seconds: waits end by it, so they are counted from it."""
    mono: float | None = None
    """The driver's latest seconds since its claim; None where its records do not have them."""
    epoch: int = 0
    """The number of the lease under which the run is or was last driven; it grows with every driver."""
    parked: bool = False
    """Whether the driver has left, or is about to: nothing new is asked for."""
    handover: bool = False
    """Whether a parked run goes on by itself once a driver can take it; else a person has to resume it."""
    parked_reasons: tuple[str, ...] = ()
    """The reasons of parking since it was last driven, oldest first; empty texts where a person parked it."""
    parked_cause: Halt = ""
    """The cause that only a person can remove, where the run was parked for one."""
    ledger: Ledger = field(default_factory=lambda: Ledger(Limits()))
    """The run's limits, and the amounts that are reserved, spent and unknown against them."""
    calls: Calls[C] = field(default_factory=Calls)
    """The calls of models that are not over, with their failed tries."""
    tools: Tools = field(default_factory=dict)
    """The calls of tools that have not ended, by request id."""
    waits: Waits = field(default_factory=dict)
    """The open waits, by request id."""
    questions: Questions = field(default_factory=dict)
    """All questions by id, closed ones too, in the order in which they were asked."""
    reminders: tuple[ReminderRule, ...] = ()
    """The rules about questions that nobody answers, as they were when the run began."""
    messages: Messages = ()
    """The notes and requirements that the user sent without being asked, oldest first."""
    finished: RunFinished | None = None
    """The run's end, once it has one, until it is undone; ends of open calls of tools are recorded after it."""
    renewing: bool = False
    """Whether it has another model or guard, which the next driver opens; until then nothing is asked for."""
    never_strict: str = NEVER_STRICT
    """Why it cannot be made `strict`, as a sentence without its end; empty where it can."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """The settings changed since the run began that hold for its child runs too, as a message to them."""
    reopening: bool = False
    """Whether a message or change after the end lets the run go on when it is driven next."""
    fork: Fork | None = None
    """Where the run comes from, if it was forked from another one; its own driver has not come while `epoch` is 0."""

    @classmethod
    def begin(cls, event: Started) -> "RunState[C]":
        """Return the common part of a run after its first event."""
        times = (event.at, event.at, event.mono)
        return cls(event.run, event.child, *times, ledger=Ledger(event.limits), reminders=event.reminders)

    def undoes_end(self, *, at_once: bool) -> bool:
        """Tell whether a takeover undoes the run's end; `at_once` says that a person wants it to go on."""
        end = self.finished
        if end is None:
            return False
        return self.reopening or (at_once and end.reopened_by == "resume")

    @property
    def over(self) -> bool:
        """Whether the run has ended and no call of a tool is open any more."""
        return self.finished is not None and not self.tools

    @property
    def parked_reason(self) -> str:
        """The latest reason of parking; empty where a person parked it, or where the run is not parked."""
        return self.parked_reasons[-1] if self.parked_reasons else ""

    @property
    def saving(self) -> bool:
        """Whether nothing may be asked of models: the run is parked, gets another one, or waits for provider or day."""
        return self.parked or self.renewing or HOME_BUDGET in self.waits or PROVIDER in self.waits

    @property
    def held(self) -> frozenset[str]:
        """The requests whose child run waits for its provider."""
        names = (wait.request_id for wait in self.waits.values() if wait.for_provider)
        return frozenset(name.partition(":")[2] for name in names if name != PROVIDER) if self.waits else frozenset()

    @property
    def outage(self) -> WaitRequested | None:
        """The wait for the provider that nobody stays for, if the run has one."""
        return next((wait for wait in self.waits.values() if wait.for_provider and wait.node is None), None)

    @property
    def open_questions(self) -> dict[str, ClarificationRequested]:
        """The open questions by id, in the order in which they were asked; none of a run that has finished."""
        return open_requests(self.questions) if self.questions and self.finished is None else {}

    @property
    def asked_since(self) -> float | None:
        """The time at which the oldest open question was asked, in UTC seconds; None where nobody waits for one."""
        if self.finished is not None:
            return None
        return min((question.at for question in self.questions.values() if question.open), default=None)

    @property
    def questions_used(self) -> int:
        """The number of questions that count against the limit on them; reviews, which a workflow asks for, do not."""
        return sum(1 for question in self.questions.values() if not question.request.review) if self.questions else 0

    @property
    def clarifications(self) -> tuple[Clarified, ...]:
        """The questions that prompts show: answered, declined or expired ones."""
        return questions_for_prompts(self.questions) if self.questions else ()

    def texts_of(self, kind: MessageKind) -> tuple[str, ...]:
        """Return the texts of the user's messages of a kind, oldest first."""
        return tuple([message.text for message in self.messages if message.kind == kind])


@dataclass(frozen=True)
class NotStarted:
    """The state of a run before its first event."""

    run: RunState[Any] = field(default_factory=RunState)
    """The common part, empty: for code that looks at any run."""
