"""The messages to the machine of a run: its start, its actors' results, and those of the runtime."""

from dataclasses import dataclass

from actors.run.tools import ToolMessage
from actors.run.waits import Started
from actors.values.findings import Verdict
from runtime.core.ledger import Amount
from runtime.core.messages import Control, Message
from runtime.models.port import Fault, Reply


@dataclass(frozen=True, slots=True)
class Generated(Message):
    """A call brought a reply."""

    request_id: str
    """The id of the request that it answers."""
    at: float
    """When, in UTC seconds since 1970."""
    elapsed: float
    """How long it took, in seconds."""
    reply: Reply
    """The text, the usage that was reported, and the name of the model or generator."""
    cost: Amount | None = None
    """The usage, where the reply does not report it."""
    out_of_time: bool = False
    """Whether a child run brought nothing because its deadline has passed, which its parent gave it."""


@dataclass(frozen=True, slots=True)
class Faulted(Message):
    """A try of a call brought no reply, or the provider that is waited for was asked and is down."""

    request_id: str
    """The id of the request that was tried."""
    at: float
    """When, in UTC seconds since 1970."""
    elapsed: float
    """How long it took, in seconds; 0 where it was not sent."""
    fault: Fault
    """The fault that the model's client reports."""
    cost: Amount | None = None
    """The usage of a child run until it gave its provider up, in runs of earlier releases."""
    until: float | None = None
    """When a child run tries again that waits for its provider: it has not ended, and its call stays open."""


@dataclass(frozen=True, slots=True)
class Judged(Message):
    """A guard has judged an artifact."""

    request_id: str
    """The id of the request that it answers."""
    at: float
    """When, in UTC seconds since 1970."""
    elapsed: float
    """How long it took, in seconds."""
    verdict: Verdict
    """The verdict, within the limits of `actors.values.findings`."""


RunMessage = Started | Generated | Faulted | Judged | ToolMessage | Control
"""A message to the machine of a run. `Started` is one of the kind's own class: the message is the first event."""
