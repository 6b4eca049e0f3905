"""The results of calls and judgements, as the actors that carried them out report them to the machine."""

from dataclasses import dataclass

from actors.values.findings import Verdict
from runtime.core.ledger import Amount
from runtime.core.messages import Message
from runtime.models.port import Fault, Reply


@dataclass(frozen=True, slots=True)
class Generated(Message):
    """A call brought a reply."""

    request_id: str
    """The request that it answers."""
    at: float
    """When, in UTC seconds since 1970."""
    elapsed: float
    """How long it took, in seconds."""
    reply: Reply
    """The reply."""
    cost: Amount | None = None
    """The usage, where the reply does not report it."""


@dataclass(frozen=True, slots=True)
class Faulted(Message):
    """A try of a call brought no reply."""

    request_id: str
    """The request that was tried."""
    at: float
    """When, in UTC seconds since 1970."""
    elapsed: float
    """How long it took, in seconds."""
    fault: Fault
    """The fault that the model's client reports."""
    cost: Amount | None = None
    """The usage of a child run until it gave its provider up."""


@dataclass(frozen=True, slots=True)
class Judged(Message):
    """A guard's verdict."""

    request_id: str
    """The request that it answers."""
    at: float
    """When, in UTC seconds since 1970."""
    elapsed: float
    """How long it took, in seconds."""
    verdict: Verdict
    """The verdict."""


CallMessage = Generated | Faulted
