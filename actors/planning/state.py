"""The state of a planning run: everything that decisions depend on. States are frozen. Only `evolve` makes them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Literal, NamedTuple

from actors.planning.config import RunConfig
from actors.planning.events import (
    ClassificationRequested,
    FailureClassified,
    GenerationRequested,
    JudgementRequested,
    PlanningCall,
    RunFinished,
    branch_of,
)
from actors.policy.belief import Past
from actors.policy.decision import Decision
from actors.policy.table import BacktrackLevel
from actors.run.state import NotStarted, RunState
from actors.search.progress import BranchProgress
from actors.values.artifacts import Artifact
from actors.values.findings import Finding, ReasonTag, Verdict
from actors.values.given import Attachment, Given
from actors.values.plugin_marks import PlugInFile
from actors.values.question_form import AskedForm
from runtime.core.copies import changed
from runtime.core.ledger import ZERO, Amount

if TYPE_CHECKING:
    from actors.search.tree import BranchView

NodeStatus = Literal["pending", "accepted", "rejected", "superseded"]


@dataclass(frozen=True)
class Node:
    """A node of the search: one attempt at one step."""

    node: str
    step: str
    visit: int
    """The number of the visit to the step, from 1, counted over the whole run."""
    attempt: int
    round: int
    revision: int
    branch: int = 0
    parents: tuple[str, ...] = ()
    previous: str | None = None
    status: NodeStatus = "pending"
    """`pending` before the verdict; `superseded` if a replan or the end of the branch has made it void."""
    artifact: Artifact | None = None
    repeats: str | None = None
    afresh: bool = False
    """Whether the attempt is the first one after a decision to leave earlier rejections out of the step's prompts."""
    verdict: Verdict | None = None
    """The verdict of the guard, or of a person after a review; None before the verdict."""
    rejection_text: str = ""
    rejected_for: frozenset[str] = frozenset()
    """The error codes in the rejections of this and earlier attempts at the step; empty if this attempt was not
    rejected.
    """
    classification: FailureClassified | None = None
    decision: Decision | None = None
    cleared: tuple[str, ...] = ()
    cycle: tuple[str, ...] = ()
    """All rejections of the visit that this rejection ended, oldest first.

    This field is set when the search goes back.
    """
    replaced: tuple[str, ...] = ()
    notes: tuple[Finding, ...] = ()
    used: Amount = ZERO
    """The calls, tokens and micro-dollars used by the tries and by the classification of the rejection."""


class PlanEdit(NamedTuple):
    """An edit of a plan by a person."""

    node: str
    who: str
    before: str
    after: str


class PendingReplan(NamedTuple):
    """A replan that is decided, but not yet recorded as `Revised`."""

    level: BacktrackLevel
    targets: tuple[str, ...]
    """The steps that are done again. All steps that require these steps lose their artifacts too."""
    tags: tuple[ReasonTag, ...] = ()
    new_round: bool = False
    """Whether an answer or a changed requirement caused the replan. If so, all counts start again."""
    node: str | None = None
    afresh: bool = False


class LeftOut(NamedTuple):
    """The earlier rejections that a step's prompts leave out by a decision of the policy."""

    attempts: int = 0
    """The number of attempts of the step that are left out, from the oldest on."""
    replans: int = 0


class PlannedQuestion(NamedTuple):
    """A question that is decided, but not yet asked."""

    node: str
    step: str
    asked: AskedForm
    rule: str


@dataclass(frozen=True)
class Branch:
    """One search over the steps, independent of other branches. Most runs have one branch.

    `attempts`, `history` and `replans` repeat facts from the nodes, so that rules need not read all nodes.
    """

    number: int = 0
    progress: BranchProgress = field(default_factory=lambda: BranchProgress({}))
    attempts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each step, the ids of its attempts, oldest first, in this branch or before the branch was opened."""
    history: tuple[Past, ...] = ()
    """The failures of this round that the policy has decided about, oldest first."""
    replans: tuple[str, ...] = ()
    """The ids of the rejections that sent the branch back, oldest first."""
    left_out: Mapping[str, LeftOut] = field(default_factory=dict)
    """For each step: the rejections that its prompts leave out.

    A step whose prompts show all rejections has no entry.
    """
    to_revise: PendingReplan | None = None
    to_ask: tuple[PlannedQuestion, ...] = ()
    parent: int | None = None
    calls: int = 0
    inherited: int = 0
    """The number of calls that the ancestors of the branch had made when the branch was opened."""
    pruned: str = ""
    view: "BranchView | None" = None


@dataclass(frozen=True)
class State:
    """The state of a planning run after its first event."""

    run: RunState[PlanningCall]
    """The part that all kinds of runs share: calls, waits, questions, messages, ledger and end."""
    config: RunConfig
    specification: str
    branches: tuple[Branch, ...]
    branch: int = 0
    round: int = 1
    """The number of the round, from 1. An answer or a changed requirement begins a new round."""
    revision: int = 0
    nodes: dict[str, Node] = field(default_factory=dict)
    live: frozenset[str] = frozenset()
    """The ids of the nodes that are pending or accepted, computed from the nodes."""
    made: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """For each step and content: the ids of the attempts that made this content, computed from the nodes."""
    judgements: Mapping[str, JudgementRequested] = field(default_factory=dict)
    reviews: Mapping[str, Verdict | None] = field(default_factory=dict)
    """For the node of each artifact that a person reviews: the verdict of the other guards; None if there are no other
    guards.
    """
    silenced: frozenset[str] = frozenset()
    """The steps that may ask no more questions in this round, because nobody answered a question of the step."""
    classifications: int = 0
    unjudged: tuple[str, ...] = ()
    to_replan: bool = False
    """Whether a requirement has changed, and the search has not gone back because of it yet."""
    forgiven: frozenset[str] = frozenset()
    """The ids of the nodes whose cut replies no longer count, because a person resumed the run after these replies."""
    of_former_model: frozenset[str] = frozenset()
    """The ids of the nodes from the model that was used before a person changed it. These nodes do not count as
    repeats.
    """
    edits: tuple[PlanEdit, ...] = ()
    edited: str = ""
    """The id of the attempt whose plan was edited after the end of the run. The edited plan is the plan of the run."""
    resting: Mapping[str, float] = field(default_factory=dict)
    """For each rejected attempt with a delayed retry: the seconds of the delay. An entry is removed after its wait."""
    attachments: tuple[Attachment, ...] = ()
    plugins: tuple[PlugInFile, ...] = ()
    given: Given | None = None

    @property
    def latest(self) -> Branch:
        """The branch that the latest event was about."""
        return self.branches[self.branch]

    @property
    def working(self) -> bool:
        """Whether a model or a guard is working. Only this time counts as active time."""
        active_calls = self.run.calls.open.keys() - self.run.held  # A call is not active while its child run waits.
        return bool(active_calls or self.judgements)

    @property
    def end(self) -> RunFinished | None:
        """The end of the run; None before the end."""
        finished = self.run.finished
        assert finished is None or isinstance(finished, RunFinished)
        return finished

    @property
    def in_use(self) -> set[str]:
        """The ids of the nodes that are pending or accepted, or that have open or delayed work."""
        calls, waits = self.run.calls, self.run.waits
        found = {*self.live, *self.reviews, *self.unjudged, *self.resting}
        found.update([request.node for request in self.judgements.values()])
        found.update([open_call.request.node for open_call in calls.open.values()])
        found.update([tries.request.node for tries in calls.tries.values()])
        found.update([wait.node for wait in waits.values() if wait.node is not None])
        return found & self.nodes.keys()

    def questions_left(self, step: str) -> int:
        """Return how many questions a step may still ask; 0 if its last question was not answered."""
        if step in self.silenced:
            return 0
        return self.config.workflow.questions_max - (self.run.questions_used if self.run.questions else 0)

    def branch_of(self, name: str) -> Branch:
        """Return the branch of a node, or of a request about a node."""
        return self.branches[branch_of(name)] if len(self.branches) > 1 else self.branches[0]

    def is_child(self, request: GenerationRequested | ClassificationRequested) -> bool:
        """Return whether a child run answers a request.

        A later driver continues the child run from the end of its journal.
        """
        return isinstance(request, GenerationRequested) and self.config.child_of(request.step) is not None

    def attempts_at(self, branch: Branch, step: str) -> Iterator[Node]:
        """Yield the attempts at a step that a branch knows, newest first."""
        for node in reversed(branch.attempts.get(step, ())):
            yield self.nodes[node]

    def newest(self, branch: Branch, step: str) -> Node | None:
        """Return the newest attempt at a step in a branch; None if there is no attempt."""
        attempts = branch.attempts.get(step)
        return self.nodes[attempts[-1]] if attempts else None

    def sent_back(self, branch: Branch, name: str, cleared: tuple[str, ...]) -> Node:
        """Return a rejected node with `cleared` set, and with the rejections of its visit as its `cycle`."""
        node = self.nodes[name]
        visit = takewhile(lambda attempt: attempt.visit >= node.visit, self.attempts_at(branch, node.step))
        cycle = [attempt.node for attempt in visit if attempt.visit == node.visit and attempt.rejection_text]
        return changed(node, cleared=cleared, cycle=tuple(cycle[::-1]))


PlanningState = State | NotStarted


def with_branch(branches: tuple[Branch, ...], branch: Branch) -> tuple[Branch, ...]:
    """Return the branches with `branch` in place of the branch with its number. A new branch is added at the end."""
    if len(branches) == 1 and branch.number == 0:
        return (branch,)
    return (*branches[: branch.number], branch, *branches[branch.number + 1 :])
