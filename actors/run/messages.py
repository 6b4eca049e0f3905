"""The results of calls and judgements, as the actors that carried them out report them to the machine."""

from dataclasses import dataclass

from actors.values.findings import Verdict
from runtime.core.ledger import Amount
from runtime.models.port import Fault, Reply


@dataclass(frozen=True, slots=True)
class Generated:
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


@dataclass(frozen=True, slots=True)
class Faulted:
    """A try of a call brought no reply."""

    request_id: str
    """The id of the request that was tried."""
    at: float
    """When, in UTC seconds since 1970."""
    elapsed: float
    """How long it took, in seconds; 0 where it was not sent."""
    fault: Fault
    """The fault that the model's client reports."""
    cost: Amount | None = None
    """The usage of a child run until it gave its provider up."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A guard has judged an artifact."""

    request_id: str
    """The id of the request that it answers."""
    at: float
    """When, in UTC seconds since 1970."""
    elapsed: float
    """How long it took, in seconds."""
    verdict: Verdict
    """The verdict, within the limits of `actors.values.verdict_limits`."""


CallMessage = Generated | Faulted
