"""What became of a call, as the actor that made it reports it to the machine."""

from dataclasses import dataclass

from runtime.core.ledger import Amount
from runtime.models.port import Fault, Reply


@dataclass(frozen=True, slots=True)
class Generated:
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
    """What it took, where the reply's usage does not say so."""


@dataclass(frozen=True, slots=True)
class Faulted:
    """A try of a call brought no reply."""

    request_id: str
    """The request that was tried."""
    at: float
    """When, in UTC seconds since 1970."""
    elapsed: float
    """How long it took, in seconds."""
    fault: Fault
    """What happened."""
    cost: Amount | None = None
    """What a child run had used when it gave its provider up."""


CallMessage = Generated | Faulted
