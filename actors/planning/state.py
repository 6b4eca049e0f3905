"""The state of a planning run: all that decisions depend on. Frozen; `evolve` alone makes new ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Literal

from actors.planning.call_events import ClassificationRequested, FailureClassified, GenerationRequested, PlanningCall
from actors.planning.config import RunConfig
from actors.planning.events import JudgementRequested, RunFinished
from actors.planning.ids import branch_of
from actors.policy.decision import Decision, Past
from actors.policy.table import BacktrackLevel
from actors.run.calls import OpenCall, Tries
from actors.run.state import NotStarted, RunState
from actors.search.progress import Progress
from actors.search.strategies.tree import BranchView
from actors.values.artifacts import Artifact
from actors.values.findings import ReasonTag, Verdict
from actors.values.plugin_marks import PlugInFile
from runtime.core.copies import changed
from runtime.core.ledger import ZERO, Amount

NodeStatus = Literal["pending", "accepted", "rejected", "superseded"]
PlanningOpenCall = OpenCall[PlanningCall]
PlanningTries = Tries[PlanningCall]


@dataclass(frozen=True)
class Node:
    """A search node: one attempt at one step (S35)."""

    node: str
    """Its id (`actors.planning.ids`); its artifact has the same."""
    step: str
    """The step."""
    visit: int
    """The stay at the step, counted over the whole run."""
    attempt: int
    """The attempt of this visit, from 1."""
    round: int
    """The round in which it was made."""
    revision: int
    """The revision at which it was made."""
    branch: int = 0
    """The branch that it belongs to."""
    parents: tuple[str, ...] = ()
    """The accepted artifacts that it builds on."""
    previous: str | None = None
    """The step's attempt before it."""
    status: NodeStatus = "pending"
    """Its artifact's status."""
    artifact: Artifact | None = None
    """The generator's artifact."""
    repeats: str | None = None
    """The earlier attempt that brought the same content."""
    verdict: Verdict | None = None
    """The guard's answer."""
    rejection_text: str = ""
    """The part of its rejection that prompts contain."""
    classification: FailureClassified | None = None
    """The classifier's answer about its rejection."""
    decision: Decision | None = None
    """The policy's decision about its rejection."""
    cleared: tuple[str, ...] = ()
    """The steps that its rejection sent the search back over."""
    cycle: tuple[str, ...] = ()
    """The rejections of the visit that it ended so, itself included, oldest first."""
    used: Amount = ZERO
    """The cost of its tries and of a classification of its rejection together."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A replan that is decided and not yet marked."""

    level: BacktrackLevel
    """How far back it goes."""
    targets: tuple[str, ...]
    """The steps that are redone, with all that requires them."""
    tags: tuple[ReasonTag, ...] = ()
    """Why, by the tags of the findings."""
    new_round: bool = False
    """Whether a person's word caused it: all counts are given back."""
    node: str | None = None
    """The rejection that caused it, if one did."""


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """A question that is decided and not yet asked."""

    node: str
    """The rejection that it is about."""
    step: str
    """The step that asks."""
    text: str
    """The question."""
    schema: Mapping[str, Any]
    """A JSON Schema for the answer."""
    rule: str
    """The row of the policy that had it asked."""


@dataclass(frozen=True)
class Branch:
    """One search of its own over the steps; most runs have a single one.

    `attempts`, `history` and `replans` follow from the nodes, and are kept so that nobody has to look through these.
    """

    number: int = 0
    """Its place in the order in which branches were opened, from 0."""
    progress: Progress = field(default_factory=lambda: Progress({}))
    """Where each step stands."""
    attempts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The nodes of each step that it knows of, oldest first."""
    history: tuple[Past, ...] = ()
    """The decided failures of this round, oldest first."""
    replans: tuple[str, ...] = ()
    """The rejections that sent it back, oldest first."""
    to_revise: Revision | None = None
    """The replan that is decided and not yet marked."""
    to_ask: tuple[PlannedQuestion, ...] = ()
    """The questions that are decided and not yet asked."""
    parent: int | None = None
    """The branch whose artifacts it was opened on."""
    calls: int = 0
    """The calls that are charged to it."""
    inherited: int = 0
    """The calls behind the artifacts that it was opened on."""
    pruned: str = ""
    """Why it was pruned; empty while it lives."""
    view: BranchView | None = None
    """The strategy's view of it; None where the strategy compares no branches."""


@dataclass(frozen=True)
class State:
    """A planning run between two events."""

    run: RunState[PlanningCall]
    """The state that every run has."""
    config: RunConfig
    """The configuration that the run is pinned to."""
    specification: str
    """The user's problem."""
    branches: tuple[Branch, ...]
    """All branches in the order in which they were opened, the pruned ones included."""
    branch: int = 0
    """The number of the branch that the latest event was about."""
    round: int = 1
    """The round: how often requirements have changed, from 1."""
    revision: int = 0
    """How many replans there were."""
    nodes: dict[str, Node] = field(default_factory=dict)
    """Every attempt by id, in the order in which they were made."""
    judgements: Mapping[str, JudgementRequested] = field(default_factory=dict)
    """The open requests for verdicts by request id."""
    reviews: Mapping[str, Verdict | None] = field(default_factory=dict)
    """The nodes that a person judges, with the verdict of the other guards."""
    silenced: frozenset[str] = frozenset()
    """The steps that may ask nothing more in this round, because nobody answered."""
    classifications: int = 0
    """How many rejections a classifier was asked about."""
    unjudged: tuple[str, ...] = ()
    """The nodes whose guard has not been asked yet."""
    to_replan: bool = False
    """Whether a changed requirement has not sent the search back yet."""
    forgiven: frozenset[str] = frozenset()
    """The nodes with a cut reply that count no more, because a person has resumed the run after them."""
    resting: Mapping[str, float] = field(default_factory=dict)
    """Seconds that a rejected node waits before its step is retried, by node."""
    plugins: tuple[PlugInFile, ...] = ()
    """The plug-ins that come from files of the user's own, as they were at the start."""

    @property
    def latest(self) -> Branch:
        """The branch that the latest event was about."""
        return self.branches[self.branch]

    @property
    def working(self) -> bool:
        """Whether any work is open whose time counts as active: a model's, a tool's or a guard's."""
        open_calls = self.run.calls.open
        if self.run.waits and open_calls:
            return bool(open_calls.keys() - self.run.held or self.judgements)
        return bool(open_calls or self.judgements)

    @property
    def end(self) -> RunFinished | None:
        """The run's end, once it has one, as that of a planning run."""
        finished = self.run.finished
        assert finished is None or isinstance(finished, RunFinished)
        return finished

    def branch_of(self, name: str) -> Branch:
        """Return the branch that a node, or a request about one, belongs to."""
        return self.branches[branch_of(name)] if len(self.branches) > 1 else self.branches[0]

    def is_child(self, request: GenerationRequested | ClassificationRequested) -> bool:
        """Tell whether a request is a run of its own: whoever comes back to it goes on where its journal ends."""
        return isinstance(request, GenerationRequested) and self.config.child_of(request.step) is not None

    def attempts_at(self, branch: Branch, step: str) -> Iterator[Node]:
        """Yield the attempts at a step that a branch knows of, newest first."""
        for node in reversed(branch.attempts.get(step, ())):
            yield self.nodes[node]

    def newest(self, branch: Branch, step: str) -> Node | None:
        """Return the latest attempt at a step that a branch knows of."""
        attempts = branch.attempts.get(step)
        return self.nodes[attempts[-1]] if attempts else None

    def sent_back(self, branch: Branch, name: str, cleared: tuple[str, ...]) -> Node:
        """Return a rejected node as the one that sent a branch back over some steps."""
        node = self.nodes[name]
        visit = takewhile(lambda attempt: attempt.visit >= node.visit, self.attempts_at(branch, node.step))
        cycle = [attempt.node for attempt in visit if attempt.visit == node.visit and attempt.rejection_text]
        return changed(node, cleared=cleared, cycle=tuple(cycle[::-1]))


PlanningState = State | NotStarted
"""The state of a planning run, begun or not."""


def with_branch(branches: tuple[Branch, ...], branch: Branch) -> tuple[Branch, ...]:
    """Return the branches with one of them replaced by its successor, or with one more at the end."""
    if len(branches) == 1 and branch.number == 0:
        return (branch,)
    return (*branches[: branch.number], branch, *branches[branch.number + 1 :])
