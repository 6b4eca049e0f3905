"""Events with a time, the events of waits, and the open waits of a run. Pure.

A run can wait for the model's provider, the next try of a call, a delayed retry, or the next day of a daily budget. It
can also wait for a question's expiry or the deadline.
"""

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainSerializer

from actors.run.ending import RunFinished, end_exhausted_run
from actors.run.ids import call_of
from actors.run.reminder_events import ReminderRule
from runtime.core.copies import without
from runtime.core.events import Event, Seconds, StorableText
from runtime.core.ledger import Ledger, Limits
from runtime.core.machine import Work
from runtime.models.port import Fault

if TYPE_CHECKING:
    from runtime.core.messages import Woken


class TimedEvent(Event):
    """An event that follows from a message from outside. The event has the time of the message."""

    at: Seconds
    """The time, in UTC seconds since 1970."""
    mono: float | None = None
    """The seconds since the driver's claim, by a monotonic clock."""


StoredLimits = Annotated[Limits, PlainSerializer(lambda limits: limits.model_dump(mode="json"), dict[str, Any])]
"""Limits that are stored with all their defaults. So a run does not change if a later release has other defaults."""


class Started(TimedEvent):
    """A run began. This is the run's first event, and also the message that starts the run.

    Each kind has a subclass with all data that later decisions need.
    """

    added_fields: ClassVar[tuple[str, ...]] = ("by", "shared", "reminders", "warn_at")
    run: str
    """The run's id."""
    limits: StoredLimits
    """The limits and the deadline."""
    child: bool = False
    """Whether the run is a step of another run."""
    by: StorableText = Field(default="", exclude_if=lambda by: not by)
    """Who started the run: `cli`, `python`, or the client of a server; empty if it is unknown."""
    shared: int = Field(default=0, exclude_if=lambda shared: not shared)
    """The number of first records, including this one, that are copies of another run's records; 0 without copies."""
    reminders: tuple[ReminderRule, ...] = Field(default=(), exclude_if=lambda rules: not rules)
    """The rules for reminders about unanswered questions. The first rule that applies to a question counts."""
    warn_at: tuple[int, ...] = Field(default=(), exclude_if=lambda levels: not levels)
    """The levels at which the run warns about a limit, in percent; empty if it never warns."""
    servers: Mapping[str, str] = Field(default_factory=dict, exclude_if=operator.not_)
    """For each model of the run: the address of its server, as `runtime.models.providers.server_address` returns it."""


CLOCK = "clock"
DEADLINE = "deadline"
HOME_BUDGET = "home_budget"
PROVIDER = "provider"
"""The request id of a wait for the provider of the run's model. If the wait is for the provider of a child run, a colon
and the request id of the parent run's call follow.
"""


class WaitRequested(Event):
    """The run waits until a time."""

    added_fields: ClassVar[tuple[str, ...]] = ("fault", "asked_at")
    kind: Literal["wait_requested"] = "wait_requested"
    request_id: str
    """The name of the wait. The name of a back-off is a prefix and the delayed call or node."""
    until: Seconds
    """The end of the wait, in UTC seconds since 1970."""
    why: str
    """What the run waits for, in a few words."""
    node: str | None = None
    """The node whose work follows a back-off; None for any other wait."""
    fault: Fault | None = None
    """The provider's latest fault, if the wait is for a provider."""
    asked_at: Seconds | None = Field(default=None, exclude_if=lambda at: at is None)
    """When a check last found the provider down, in UTC seconds since 1970; None before the first check."""

    @property
    def call(self) -> str:
        """The call whose next try is delayed, or the node whose step is retried after the wait."""
        return call_of(self.request_id.partition(":")[2])

    @property
    def for_provider(self) -> bool:
        """Whether the wait is for a model's provider, of this run or of a child run."""
        return self.request_id.partition(":")[0] == PROVIDER


class WaitEnded(TimedEvent):
    """A wait ended, because its time has come."""

    kind: Literal["wait_ended"] = "wait_ended"
    request_id: str
    """The id of the request."""


Waits = Mapping[str, WaitRequested]


def remove_wait(waits: Waits, request_id: str) -> Waits:
    """Return the waits without a given wait. If no wait has this name, the result is the same waits."""
    return without(waits, (request_id,)) if request_id in waits else waits


def accept_woken(waits: Waits, message: "Woken") -> WaitEnded | None:
    """Return the event for the end of a wait; None if the wait is not open."""
    if message.request_id not in waits:
        return None
    return WaitEnded(request_id=message.request_id, at=message.at, mono=message.mono)


def keep_deadline(waits: Waits, ledger: Ledger, now: float) -> WaitRequested | RunFinished | None:
    """End the run at its deadline, or request a wait until the deadline."""
    if (limit := ledger.ended_by(now)) is not None:  # A driver may come back long after the deadline.
        return end_exhausted_run(limit)
    if ledger.ends_at is None or DEADLINE in waits:
        return None
    return WaitRequested(request_id=DEADLINE, until=ledger.ends_at, why="the run's deadline")


def work_of(waits: Waits) -> dict[str, Work]:
    """Return the open waits as work for the clock."""
    # No process waits for a deadline, an expiry or the next day. A later driver sees that the time has passed.
    return {
        name: Work(
            name,
            CLOCK,
            wait,
            repeatable=True,
            keeps_no_process=wait.node is None,
            until=wait.until,
            leaves=wait.node is None and wait.for_provider,
        )
        for name, wait in waits.items()
    }
