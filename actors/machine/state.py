"""The state of a planning run: all that decisions depend on. Frozen; `evolve` alone makes new ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from actors.artifacts import Artifact, Clarified
from actors.findings import ReasonTag, Verdict
from actors.machine.events import (
    ClarificationRequested,
    GenerationFailed,
    GenerationRequested,
    JudgementRequested,
    RunFinished,
    WaitRequested,
)
from actors.machine.pinned import Pinned
from actors.policy.decide import Decision, Past
from actors.policy.table import BacktrackLevel
from actors.search.progress import Progress
from runtime.ledger import Amount, Ledger, Limits

HOME_BUDGET = "home_budget"
"""The request id of the wait for the next day of the home's budget."""

Status = Literal["pending", "accepted", "rejected", "superseded"]


@dataclass(frozen=True)
class Node:
    """A search node: one attempt at one step (S35).

    `status` is its artifact's; `used` what its tries cost together; `cleared` are the steps that its rejection sent the
    search back over.
    """

    node: str
    step: str
    visit: int
    attempt: int
    round: int
    revision: int
    parents: tuple[str, ...] = ()
    previous: str | None = None
    status: Status = "pending"
    artifact: Artifact | None = None
    repeats: str | None = None
    verdict: Verdict | None = None
    decision: Decision | None = None
    cleared: tuple[str, ...] = ()
    used: Amount = field(default_factory=Amount)


@dataclass(frozen=True, slots=True)
class Open:
    """An open generation request and the epoch of the driver that asked."""

    request: GenerationRequested
    epoch: int


@dataclass(frozen=True, slots=True)
class Tries:
    """The faulted tries of one attempt.

    `phase` is what comes next: a decision about the last fault, the end of a wait, the next request, or its reply.
    """

    count: int
    waited: float
    failed: GenerationFailed
    request: GenerationRequested
    phase: Literal["failed", "waiting", "rested", "open"] = "failed"


@dataclass(frozen=True, slots=True)
class Revision:
    """A replan that is decided and not yet marked. `node` is the rejection that caused it."""

    level: BacktrackLevel
    targets: tuple[str, ...]
    tags: tuple[ReasonTag, ...] = ()
    new_round: bool = False
    node: str | None = None


@dataclass(frozen=True)
class State:
    """A run between two events.

    `config` is None before the run starts. `generations`, `judgements`, `waits` and `questions` are the open requests
    by id; `withdrawn` are questions whose step was redone before anybody answered. `handover` says that a parked run
    goes on without a person's word. `unjudged`, `faulted`, `to_revise` and `to_ask` are what `advance` still has to
    decide about; `resting` are the seconds that a rejected node waits before its step is retried.

    `attempts` are the nodes of each step, `history` the decided failures of this round, and `replans` the rejections
    that sent the search back, each oldest first: they follow from `nodes`, and are kept so that nobody has to look
    through all of these. `now` is the latest time that was heard of; it never goes back, whatever the clock does.
    """

    run: str = ""
    config: Pinned | None = None
    specification: str = ""
    now: float = 0.0
    epoch: int = 0
    parked: bool = False
    handover: bool = False
    round: int = 1
    revision: int = 0
    ledger: Ledger = field(default_factory=lambda: Ledger(Limits()))
    progress: Progress = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    attempts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    history: tuple[Past, ...] = ()
    replans: tuple[str, ...] = ()
    generations: Mapping[str, Open] = field(default_factory=dict)
    judgements: Mapping[str, JudgementRequested] = field(default_factory=dict)
    waits: Mapping[str, WaitRequested] = field(default_factory=dict)
    questions: Mapping[str, ClarificationRequested] = field(default_factory=dict)
    withdrawn: Mapping[str, ClarificationRequested] = field(default_factory=dict)
    asked: int = 0
    asked_at: float | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    clarifications: tuple[Clarified, ...] = ()
    unjudged: tuple[str, ...] = ()
    faulted: Mapping[str, Tries] = field(default_factory=dict)
    to_revise: Revision | None = None
    to_ask: Decision | None = None
    resting: Mapping[str, float] = field(default_factory=dict)
    finished: RunFinished | None = None

    @property
    def saving(self) -> bool:
        """Whether nothing new may be asked of models: the run is parked, or its home has used up its budget."""
        return self.parked or HOME_BUDGET in self.waits

    def newest(self, step: str) -> Node | None:
        """Return the step's latest attempt."""
        attempts = self.attempts.get(step)
        return self.nodes[attempts[-1]] if attempts else None

    def of(self, step: str) -> Iterator[Node]:
        """Yield the step's attempts, newest first."""
        for node in reversed(self.attempts.get(step, ())):
            yield self.nodes[node]
