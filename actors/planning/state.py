"""The state of a planning run: all that decisions depend on. Frozen; `evolve` alone makes new ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Literal, NamedTuple

from actors.planning.config import RunConfig
from actors.planning.events import (
    ClarificationRequested,
    ClassificationRequested,
    FailureClassified,
    GenerationFailed,
    GenerationRequested,
    JudgementRequested,
    RunFinished,
    WaitRequested,
)
from actors.planning.questions import Question, Status
from actors.policy.decide import Decision, Past
from actors.policy.table import BacktrackLevel
from actors.search.progress import Progress
from actors.search.strategies.tree import Standing
from actors.values.artifacts import Artifact, Clarified
from actors.values.findings import ReasonTag, Verdict
from runtime.core.copies import changed
from runtime.core.ledger import ZERO, Amount, Ledger, Limits

HOME_BUDGET = "home_budget"
"""The request id of the wait for the next day of the home's budget."""

NodeStatus = Literal["pending", "accepted", "rejected", "superseded"]


@dataclass(frozen=True)
class Node:
    """A search node: one attempt at one step (S35).

    `status` is its artifact's; `used` what its tries, and a classification of its rejection, cost together. `told` is
    what prompts tell of its rejection. `cleared` are the steps that its rejection sent the search back over; `cycle`
    are the rejections of the visit that it ended so, itself included, oldest first.
    """

    node: str
    step: str
    visit: int
    attempt: int
    round: int
    revision: int
    branch: int = 0
    parents: tuple[str, ...] = ()
    previous: str | None = None
    status: NodeStatus = "pending"
    artifact: Artifact | None = None
    repeats: str | None = None
    verdict: Verdict | None = None
    told: str = ""
    classification: FailureClassified | None = None
    decision: Decision | None = None
    cleared: tuple[str, ...] = ()
    cycle: tuple[str, ...] = ()
    used: Amount = ZERO


class Open(NamedTuple):
    """An open request for a model's reply, or a generator's, and the epoch of the driver that asked."""

    request: GenerationRequested | ClassificationRequested
    epoch: int


@dataclass(frozen=True, slots=True)
class Tries:
    """The faulted tries of one call: an attempt, or the classification of a rejection.

    `phase` is what comes next: a decision about the last fault, the end of a wait, the next request, or its reply.
    """

    count: int
    waited: float
    failed: GenerationFailed
    request: GenerationRequested | ClassificationRequested
    phase: Literal["failed", "waiting", "rested", "open"] = "failed"


@dataclass(frozen=True, slots=True)
class Revision:
    """A replan that is decided and not yet marked. `node` is the rejection that caused it."""

    level: BacktrackLevel
    targets: tuple[str, ...]
    tags: tuple[ReasonTag, ...] = ()
    new_round: bool = False
    node: str | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """A question that is decided and not yet asked."""

    node: str
    step: str
    text: str
    schema: Mapping[str, Any]
    rule: str


@dataclass(frozen=True, slots=True)
class Said:
    """What the user told the run of their own accord; `seen` says that a prompt with it has gone out."""

    kind: Literal["note", "requirement"]
    text: str
    at: float
    seen: bool = False


@dataclass(frozen=True)
class Branch:
    """One search of its own over the steps; most runs have a single one.

    `progress` are its slots, `attempts` the nodes of each step that it knows of, `history` the decided failures of this
    round, and `replans` the rejections that sent it back, each oldest first: they follow from the nodes, and are kept
    so that nobody has to look through all of these. `to_revise` and `to_ask` are what it still has to decide about.

    `parent` is the branch whose artifacts it was opened on, with `inherited` calls behind them; `calls` are its own.
    `pruned` says why it was pruned, and is empty while it lives. `standing` is what the strategy sees of it, None in a
    search that has no strategy: it follows from the rest, and is kept because only the branch that an event is about
    has another one after it.
    """

    progress: Progress = field(default_factory=dict)
    attempts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    history: tuple[Past, ...] = ()
    replans: tuple[str, ...] = ()
    to_revise: Revision | None = None
    to_ask: tuple[Ask, ...] = ()
    parent: int | None = None
    calls: int = 0
    inherited: int = 0
    pruned: str = ""
    standing: Standing | None = None


@dataclass(frozen=True)
class State(Branch):
    """A run between two events: what all branches share, and spread over it the one in focus, number `branch`.

    The others lie in `branches`; a run with a single branch has none there.

    `config` is None before the run starts. `generations` (with classifications), `judgements` and `waits` are the open
    requests by id; `asked` are all questions, closed ones too, and `reviews` the nodes that a person judges, with what
    the other guards said. `handover` says that a parked run goes on without a person's word, `parked_whys` are the
    reasons since it was last driven, empty where somebody wished it. `unjudged`, `faulted` (by call) and `to_replan`
    are what `advance` still has to decide about; `resting` are the seconds that a rejected node waits before its step
    is retried. `silenced` are the steps that may ask nothing more in this round, because nobody answered; `said` is
    what the user told of their own accord; `classifications` counts calls. `now` is the latest time that was heard of;
    it never goes back, whatever the clock does. What the clock last said is `wall`: waits end by it, so they are
    counted from it.
    """

    run: str = ""
    child: bool = False
    config: RunConfig | None = None
    specification: str = ""
    now: float = 0.0
    wall: float = 0.0
    epoch: int = 0
    parked: bool = False
    handover: bool = False
    parked_whys: tuple[str, ...] = ()
    round: int = 1
    revision: int = 0
    ledger: Ledger = field(default_factory=lambda: Ledger(Limits()))
    branch: int = 0
    branches: Mapping[int, Branch] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    generations: Mapping[str, Open] = field(default_factory=dict)
    judgements: Mapping[str, JudgementRequested] = field(default_factory=dict)
    waits: Mapping[str, WaitRequested] = field(default_factory=dict)
    asked: Mapping[str, Question] = field(default_factory=dict)
    silenced: frozenset[str] = frozenset()
    reviews: Mapping[str, Verdict | None] = field(default_factory=dict)
    said: tuple[Said, ...] = ()
    classifications: int = 0
    unjudged: tuple[str, ...] = ()
    faulted: Mapping[str, Tries] = field(default_factory=dict)
    to_replan: bool = False
    resting: Mapping[str, float] = field(default_factory=dict)
    finished: RunFinished | None = None

    @property
    def every_branch(self) -> list[Branch]:
        """All branches in the order in which they were opened, the one in focus and those that were pruned included."""
        numbers = range(len(self.branches) + 1)
        return [self if number == self.branch else self.branches[number] for number in numbers]

    @property
    def parked_why(self) -> str:
        """Why the run is parked, as it was last said; empty where somebody wished it, or where it is not parked."""
        return self.parked_whys[-1] if self.parked_whys else ""

    @property
    def working(self) -> bool:
        """Whether any work is open whose time counts as active: a model's, a tool's or a guard's."""
        return bool(self.generations or self.judgements)

    @property
    def saving(self) -> bool:
        """Whether nothing new may be asked of models: the run is parked, or its home has used up its budget."""
        return self.parked or HOME_BUDGET in self.waits

    @property
    def questions(self) -> dict[str, ClarificationRequested]:
        """The open questions by id, in the order in which they were asked."""
        if not self.asked:  # As in most runs, after each of their events; so below.
            return {}
        return {name: question.request for name, question in self.asked.items() if question.open}

    @property
    def asked_at(self) -> float | None:
        """Since when a person is waited for."""
        return min((question.at for question in self.asked.values() if question.open), default=None)

    @property
    def questions_used(self) -> int:
        """How many questions steps and policy have asked; reviews are part of the workflow, and do not count."""
        return sum(1 for question in self.asked.values() if not question.request.review)

    @property
    def clarifications(self) -> tuple[Clarified, ...]:
        """The questions that prompts show: answered, or gone on without."""
        if not self.asked:
            return ()
        return tuple(
            Clarified(
                question.request.text, question.answer, question.request.node, _UNANSWERED.get(question.status, "")
            )
            for question in self.asked.values()
            if not question.request.review and question.status not in (Status.ASKED, Status.WITHDRAWN)
        )

    def told(self, kind: Literal["note", "requirement"]) -> tuple[str, ...]:
        """Return what the user told as a kind, oldest first."""
        if not self.said:
            return ()
        return tuple(said.text for said in self.said if said.kind == kind)

    def is_child(self, request: GenerationRequested | ClassificationRequested) -> bool:
        """Tell whether a request is a run of its own: whoever comes back to it goes on where its journal ends."""
        assert self.config is not None
        return isinstance(request, GenerationRequested) and self.config.child_of(request.step) is not None

    def newest(self, step: str) -> Node | None:
        """Return the step's latest attempt."""
        attempts = self.attempts.get(step)
        return self.nodes[attempts[-1]] if attempts else None

    def sent_back(self, name: str, cleared: tuple[str, ...]) -> Node:
        """Return a rejected node as the one that sent the search back over some steps."""
        node = self.nodes[name]
        visit = takewhile(lambda one: one.visit >= node.visit, self.of(node.step))
        cycle = [one.node for one in visit if one.visit == node.visit and one.told]
        return changed(node, cleared=cleared, cycle=tuple(cycle[::-1]))

    def of(self, step: str) -> Iterator[Node]:
        """Yield the step's attempts, newest first."""
        for node in reversed(self.attempts.get(step, ())):
            yield self.nodes[node]


_UNANSWERED = {Status.DECLINED: "declined", Status.EXPIRED: "expired"}
