"""What a planning machine hears: replies of its actors, beside the runtime's control messages."""

from dataclasses import dataclass

from actors.values.findings import Verdict
from runtime.core.ledger import Amount, Limits
from runtime.core.messages import Crashed, Mailed, Overdrawn, Parking, Resumed, Woken
from runtime.models.port import Fault, Reply


@dataclass(frozen=True, slots=True)
class Begin:
    """A user wants a plan. `pinned` is the JSON of the resolved configuration; `RunStarted` explains the rest."""

    at: float
    run: str
    specification: str
    pinned: str
    limits: Limits
    child: bool = False
    source: str = ""
    given: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Generated:
    """A generator's reply. `elapsed` is seconds; `cost` is what it took, where usage does not say so."""

    request_id: str
    at: float
    elapsed: float
    reply: Reply
    cost: Amount | None = None


@dataclass(frozen=True, slots=True)
class Faulted:
    """A generator's try brought no reply. `cost` is what a run below had taken when its provider was given up."""

    request_id: str
    at: float
    elapsed: float
    fault: Fault
    cost: Amount | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A guard's verdict."""

    request_id: str
    at: float
    elapsed: float
    verdict: Verdict


PlanningMessage = Begin | Generated | Faulted | Judged | Resumed | Parking | Woken | Crashed | Mailed | Overdrawn
