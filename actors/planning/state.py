"""The state of a planning run: everything that decisions depend on. Frozen; only `evolve` creates new ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Literal

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
    """A search node: one attempt at one step (S35)."""

    node: str
    """Its id (`actors.planning.events`), which is also the id of its artifact."""
    step: str
    visit: int
    """The number of the visit to the step, from 1, counted over the whole run."""
    attempt: int
    """The number of the attempt in the visit, from 1."""
    round: int
    """The number of the round in which it was made, from 1."""
    revision: int
    """How many replans there were before it was made."""
    branch: int = 0
    parents: tuple[str, ...] = ()
    """The ids of the accepted artifacts that it builds on, one for each step that its own step requires."""
    previous: str | None = None
    """The id of the previous attempt at the step; None for the first."""
    status: NodeStatus = "pending"
    """`pending` until its verdict; `superseded` if a replan or the end of its branch has made it void."""
    artifact: Artifact | None = None
    repeats: str | None = None
    """The id of an earlier attempt at the step with the same content; None if there is none."""
    verdict: Verdict | None = None
    """The guard's verdict, or a person's after a review; None until there is one."""
    rejection_text: str = ""
    """The part of its rejection that prompts show; empty if it was not rejected."""
    rejected_for: frozenset[str] = frozenset()
    """The error codes of its rejection and of the rejections of its step's earlier attempts; empty if it was not
    rejected.
    """
    classification: FailureClassified | None = None
    """The classifier's reply about its rejection; None if no classifier was asked."""
    decision: Decision | None = None
    """The policy's decision about its rejection; None if there is none yet, or no rejection."""
    cleared: tuple[str, ...] = ()
    """The steps that lost their artifacts because of its rejection; empty if the search did not go back."""
    cycle: tuple[str, ...] = ()
    """The rejections of the visit that it ended, including its own, oldest first. Set when the search goes back."""
    replaced: tuple[str, ...] = ()
    """The keys of its plan that contradicted a given fact, and were replaced."""
    notes: tuple[Finding, ...] = ()
    """Warnings about the values that the program has set in its plan."""
    used: Amount = ZERO
    """The calls, tokens and micro-dollars of its tries and of the classification of its rejection."""


@dataclass(frozen=True, slots=True)
class PendingReplan:
    """A replan that is decided and not yet recorded as `Revised`."""

    level: BacktrackLevel
    targets: tuple[str, ...]
    """The steps that are redone. All steps that require them lose their artifacts too."""
    tags: tuple[ReasonTag, ...] = ()
    """The reason, as the tags of the findings."""
    new_round: bool = False
    """Whether an answer or a changed requirement caused it. Then all counts start again."""
    node: str | None = None
    """The id of the rejection that caused it; None if a person did."""


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """A question that is decided and not yet asked."""

    node: str
    """The id of the rejection that it is about."""
    step: str
    """The id of the step that asks. The answer leads the run back to it."""
    asked: AskedForm
    rule: str
    """The row of the policy, or the built-in rule, that asks the question."""


@dataclass(frozen=True)
class Branch:
    """A search over the steps that is independent of other branches. Most runs have one branch.

    `attempts`, `history` and `replans` repeat facts from the nodes, so that no rule has to go through all nodes.
    """

    number: int = 0
    """The number of the branch, from 0, in the order in which branches were opened."""
    progress: BranchProgress = field(default_factory=lambda: BranchProgress({}))
    """The slot of each step, with its phase, its counts and its accepted artifact."""
    attempts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The ids of the attempts that this branch knows, by step, oldest first. Attempts inherited from its parent are
    included.
    """
    history: tuple[Past, ...] = ()
    """The decided failures of this round, oldest first."""
    replans: tuple[str, ...] = ()
    """The ids of the rejections that sent the branch back, oldest first."""
    to_revise: PendingReplan | None = None
    """The replan that is decided and not yet recorded as `Revised`; None if there is none."""
    to_ask: tuple[PlannedQuestion, ...] = ()
    """The questions that are decided and not yet recorded as asked."""
    parent: int | None = None
    """The number of the branch whose artifacts it began with; None if it began without artifacts."""
    calls: int = 0
    """How many calls are charged to it or reserved for it, further tries included."""
    inherited: int = 0
    """How many calls its ancestors had made when it was opened."""
    pruned: str = ""
    """The reason why it was pruned; empty if it was not."""
    view: "BranchView | None" = None
    """The strategy's view of it; None if the strategy does not compare branches."""


@dataclass(frozen=True)
class State:
    """The state of a planning run, from its first event on."""

    run: RunState[PlanningCall]
    """The part that every kind has: calls, waits, questions, messages, ledger and end."""
    config: RunConfig
    specification: str
    branches: tuple[Branch, ...]
    """All branches in the order in which they were opened, including pruned ones."""
    branch: int = 0
    """The number of the branch that the latest event was about."""
    round: int = 1
    """The number of the round, from 1. An answer or a changed requirement begins a new one."""
    revision: int = 0
    """How many replans there were so far, in all branches."""
    nodes: dict[str, Node] = field(default_factory=dict)
    """All attempts by id, in the order in which they were made."""
    live: frozenset[str] = frozenset()
    """The ids of the nodes that are pending or accepted, computed from the nodes."""
    made: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """The ids of the attempts with a content, by step and content, computed from the nodes."""
    judgements: Mapping[str, JudgementRequested] = field(default_factory=dict)
    """The open requests for verdicts by request id."""
    reviews: Mapping[str, Verdict | None] = field(default_factory=dict)
    """The verdict of the other guards on each artifact that a person reviews, by node; None if there are no other
    guards.
    """
    silenced: frozenset[str] = frozenset()
    """The steps that may ask no more questions in this round, because one of theirs was not answered."""
    classifications: int = 0
    """How many rejections a classifier was asked about, at most `classifications_max`."""
    unjudged: tuple[str, ...] = ()
    """The ids of the nodes whose guard has not been asked yet."""
    to_replan: bool = False
    """Whether a requirement has changed and the search has not yet gone back because of it."""
    forgiven: frozenset[str] = frozenset()
    """The ids of the nodes with cut replies that no longer count, because a person resumed the run after them."""
    of_former_model: frozenset[str] = frozenset()
    """The ids of the nodes that a former model wrote, before a person changed the model. They do not count as
    repeats.
    """
    resting: Mapping[str, float] = field(default_factory=dict)
    """For how many seconds the policy delays the retry of a rejected attempt, by node; removed when the wait has
    ended.
    """
    attachments: tuple[Attachment, ...] = ()
    """The files that the user attached, and the list of the repository's files."""
    plugins: tuple[PlugInFile, ...] = ()
    """The plug-ins from the user's own files, as they were at the start."""
    given: Given | None = None
    """The facts that the run was given; None if it finds them itself."""

    @property
    def latest(self) -> Branch:
        """The branch that the latest event was about."""
        return self.branches[self.branch]

    @property
    def working(self) -> bool:
        """Whether any work is open that counts as active time: of a model or a guard."""
        active_calls = self.run.calls.open.keys() - self.run.held  # A call whose child run waits is not active.
        return bool(active_calls or self.judgements)

    @property
    def end(self) -> RunFinished | None:
        """The run's end; None until it has ended."""
        finished = self.run.finished
        assert finished is None or isinstance(finished, RunFinished)
        return finished

    @property
    def in_use(self) -> set[str]:
        """The ids of the nodes that are pending or accepted, and of those whose work is open or delayed."""
        calls, waits = self.run.calls, self.run.waits
        found = {*self.live, *self.reviews, *self.unjudged, *self.resting}
        found.update([request.node for request in self.judgements.values()])
        found.update([open_call.request.node for open_call in calls.open.values()])
        found.update([tries.request.node for tries in calls.tries.values()])
        found.update([wait.node for wait in waits.values() if wait.node is not None])
        return found & self.nodes.keys()

    def questions_left(self, step: str) -> int:
        """Return how many questions a step may still ask; 0 if its last one was not answered."""
        return 0 if step in self.silenced else self.config.workflow.questions_max - self.run.questions_used

    def branch_of(self, name: str) -> Branch:
        """Return the branch of a node, or of a request about a node."""
        return self.branches[branch_of(name)] if len(self.branches) > 1 else self.branches[0]

    def is_child(self, request: GenerationRequested | ClassificationRequested) -> bool:
        """Tell whether a child run answers a request. A later driver continues that run from the end of its journal."""
        return isinstance(request, GenerationRequested) and self.config.child_of(request.step) is not None

    def attempts_at(self, branch: Branch, step: str) -> Iterator[Node]:
        """Yield the attempts at a step that a branch knows, newest first."""
        for node in reversed(branch.attempts.get(step, ())):
            yield self.nodes[node]

    def newest(self, branch: Branch, step: str) -> Node | None:
        """Return the newest attempt at a step that a branch knows; None if there is none."""
        attempts = branch.attempts.get(step)
        return self.nodes[attempts[-1]] if attempts else None

    def sent_back(self, branch: Branch, name: str, cleared: tuple[str, ...]) -> Node:
        """Return a rejected node, completed with the steps that it cleared and the rejections of its visit."""
        node = self.nodes[name]
        visit = takewhile(lambda attempt: attempt.visit >= node.visit, self.attempts_at(branch, node.step))
        cycle = [attempt.node for attempt in visit if attempt.visit == node.visit and attempt.rejection_text]
        return changed(node, cleared=cleared, cycle=tuple(cycle[::-1]))


PlanningState = State | NotStarted
"""The state of a planning run, begun or not."""


def with_branch(branches: tuple[Branch, ...], branch: Branch) -> tuple[Branch, ...]:
    """Return the branches with `branch` in place of the one with its number, or at the end if it is new."""
    if len(branches) == 1 and branch.number == 0:
        return (branch,)
    return (*branches[: branch.number], branch, *branches[branch.number + 1 :])
