"""The state of a planning run: all that decisions depend on. Frozen; only `evolve` makes new ones."""

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
    """Its id (`actors.planning.events`), which its artifact has too."""
    step: str
    visit: int
    """The number of the stay at the step, from 1, counted over the whole run."""
    attempt: int
    """The number of the attempt within the visit, from 1."""
    round: int
    """The number of the round in which it was made, from 1."""
    revision: int
    """The number of replans before it was made."""
    branch: int = 0
    parents: tuple[str, ...] = ()
    """The ids of the accepted artifacts that it builds on, one for each step that its step requires."""
    previous: str | None = None
    """The id of the step's attempt before it; None for the first."""
    status: NodeStatus = "pending"
    """`pending` until its verdict; `superseded` once a replan or the end of its branch has made it void."""
    artifact: Artifact | None = None
    repeats: str | None = None
    """The id of an earlier attempt with the same content; None if there is none."""
    verdict: Verdict | None = None
    """The guard's verdict, or a person's in a review; None until there is one."""
    rejection_text: str = ""
    """The part of its rejection that prompts contain; empty where it was not rejected."""
    rejected_for: frozenset[str] = frozenset()
    """The codes of the errors for which it was rejected, and of those of its step's earlier attempts; else empty."""
    classification: FailureClassified | None = None
    """The classifier's reply about its rejection; None where no classifier was asked."""
    decision: Decision | None = None
    """The policy's decision about its rejection; None until it is made, and where it was not rejected."""
    cleared: tuple[str, ...] = ()
    """The steps that were unset because of its rejection; empty where the search did not go back."""
    cycle: tuple[str, ...] = ()
    """The rejections of the visit that ended with it, itself included, oldest first; set when the search goes back."""
    replaced: tuple[str, ...] = ()
    """The keys of its plan that said something else than a given fact, which has replaced it."""
    notes: tuple[Finding, ...] = ()
    """The warnings about the values that the program has set in its plan."""
    used: Amount = ZERO
    """The calls, tokens and micro-dollars of its tries and of a classification of its rejection."""


@dataclass(frozen=True, slots=True)
class PendingReplan:
    """A replan that is decided and not yet marked."""

    level: BacktrackLevel
    targets: tuple[str, ...]
    """The steps that are redone; all steps that require them are unset too."""
    tags: tuple[ReasonTag, ...] = ()
    """The reason, as tags of the findings."""
    new_round: bool = False
    """Whether an answer or a changed requirement caused it, so that all counts are reset."""
    node: str | None = None
    """The id of the rejection that caused it; None where a person did."""


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """A question that is decided and not yet asked."""

    node: str
    """The id of the rejection that it is about."""
    step: str
    """The id of the step that asks, and that the answer leads back to."""
    asked: AskedForm
    rule: str
    """The row of the policy, or the built-in rule, by which it is asked."""


@dataclass(frozen=True)
class Branch:
    """A search over the steps, independent of those of other branches; most runs have one branch.

    `attempts`, `history` and `replans` repeat what the nodes say, so that no rule has to go through all nodes.
    """

    number: int = 0
    """Its place in the order in which branches were opened, from 0."""
    progress: BranchProgress = field(default_factory=lambda: BranchProgress({}))
    """The slot of each step: its phase, its counts and its accepted artifact."""
    attempts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each step the ids of the attempts that this branch knows, oldest first, inherited ones included."""
    history: tuple[Past, ...] = ()
    """The decided failures of this round, oldest first."""
    replans: tuple[str, ...] = ()
    """The ids of the rejections that sent it back, oldest first."""
    to_revise: PendingReplan | None = None
    """The replan that is decided and not yet recorded as `Revised`; None where none is."""
    to_ask: tuple[PlannedQuestion, ...] = ()
    """The questions that are decided and not yet recorded as asked."""
    parent: int | None = None
    """The number of the branch whose artifacts it was opened on; None where it began with none."""
    calls: int = 0
    """The calls that are charged to it or reserved for it, further tries included."""
    inherited: int = 0
    """The calls that its ancestors had made when it was opened."""
    pruned: str = ""
    """The reason for which it was pruned; empty while it lives."""
    view: "BranchView | None" = None
    """The strategy's view of it; None where the strategy compares no branches."""


@dataclass(frozen=True)
class State:
    """The state of a planning run, from its first event on."""

    run: RunState[PlanningCall]
    """The common part: calls, waits, questions, messages, ledger and end."""
    config: RunConfig
    specification: str
    branches: tuple[Branch, ...]
    """All branches in the order in which they were opened, the pruned ones included."""
    branch: int = 0
    """The number of the branch that the latest event was about."""
    round: int = 1
    """The round: how often requirements have changed, from 1."""
    revision: int = 0
    """The number of replans so far, in all branches."""
    nodes: dict[str, Node] = field(default_factory=dict)
    """All attempts by id, in the order in which they were made."""
    live: frozenset[str] = frozenset()
    """The ids of the nodes that are pending or accepted; it follows from the nodes."""
    made: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """The attempts that brought a content, by step and content; it follows from the nodes."""
    judgements: Mapping[str, JudgementRequested] = field(default_factory=dict)
    """The open requests for verdicts by request id."""
    reviews: Mapping[str, Verdict | None] = field(default_factory=dict)
    """By node, the verdict of the other guards on an artifact that a person reviews; None where there are no others."""
    silenced: frozenset[str] = frozenset()
    """The steps that may ask nothing more in this round, because a question of theirs was not answered."""
    classifications: int = 0
    """The number of rejections that a classifier was asked about, at most `classifications_max`."""
    unjudged: tuple[str, ...] = ()
    """The nodes whose guard has not been asked yet."""
    to_replan: bool = False
    """Whether a requirement has changed and the search has not gone back for it yet."""
    forgiven: frozenset[str] = frozenset()
    """The nodes with a cut reply that count no more, because a person has resumed the run after them."""
    of_former_model: frozenset[str] = frozenset()
    """The nodes that another model has written, before a person changed it: no repeat of theirs counts."""
    resting: Mapping[str, float] = field(default_factory=dict)
    """The seconds that the policy delays the retry of a rejected attempt, by its node, until the wait has ended."""
    attachments: tuple[Attachment, ...] = ()
    """The files that the user attached, and the list of the repository's files."""
    plugins: tuple[PlugInFile, ...] = ()
    """The plug-ins that come from files of the user's own, as they were at the start."""
    given: Given | None = None
    """The facts that the run was given; None for a run that finds them itself."""

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
        """The run's end; None until it has ended."""
        finished = self.run.finished
        assert finished is None or isinstance(finished, RunFinished)
        return finished

    @property
    def in_use(self) -> set[str]:
        """The ids of the nodes that are pending or accepted, and of those on which work is open or delayed."""
        calls, waits = self.run.calls, self.run.waits
        found = {*self.live, *self.reviews, *self.unjudged, *self.resting}
        found.update([request.node for request in self.judgements.values()])
        found.update([open_call.request.node for open_call in calls.open.values()])
        found.update([tries.request.node for tries in calls.tries.values()])
        found.update([wait.node for wait in waits.values() if wait.node is not None])
        return found & self.nodes.keys()

    def questions_left(self, step: str) -> int:
        """Return the number of questions that a step may still ask; 0 where its last one was not answered."""
        return 0 if step in self.silenced else self.config.workflow.questions_max - self.run.questions_used

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
        """Return a rejected node with the steps that were cleared because of it, and its cycle of rejections."""
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
