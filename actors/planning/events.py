"""The facts of a planning run: one closed union, in the past tense; those that ask for work end in `Requested`.

Times are UTC seconds since 1970, durations seconds. Facts that an id holds are properties, not stored fields. What
every kind of agent has is in `actors.run`.

A node is one attempt at one step: `STEP/vVISIT.aATTEMPT`; its artifact has its id. In a branch other than the first
`.bBRANCH` follows. A generation request has the node's id, plus `.tTRY` from the second try on. The classification of a
rejection has `/c` after the node's id, and its tries likewise. A judgement request has `judge:` before it. A step's id
has neither a slash nor a dot in it, so every name can be read back.
"""

from enum import StrEnum
from typing import ClassVar, Literal, get_args

from pydantic import Field

from actors.policy.belief_choice import Weighing
from actors.policy.decision import Decision
from actors.policy.table import REPLANS, BacktrackLevel, Cause
from actors.run import ending
from actors.run.calls import CallReissued, CallRequested, Replied
from actors.run.evolve import RunEvent
from actors.run.ids import SECOND_CALL, step_of
from actors.run.waits import Started, TimedEvent
from actors.search.tree import PruneCause
from actors.values.findings import ReasonTag, Verdict
from actors.values.given import Given
from actors.values.plugin_marks import PlugInFile
from actors.values.question_form import AskedForm
from runtime.core.events import Event, Seconds, StorableText


def node_id(step: str, visit: int, attempt: int, branch: int = 0) -> str:
    """Return the name of an attempt."""
    node = f"{step}/v{visit}.a{attempt}"
    return f"{node}.b{branch}" if branch else node


def visit_and_attempt(node: str) -> tuple[int, int]:
    """Return a node's visit and attempt."""
    visit, _, attempt = node.partition("/v")[2].partition(".a")
    return int(visit), int(attempt.partition(".")[0])


def branch_of(name: str) -> int:
    """Return the branch that a node, or any request about one, belongs to."""
    return int(name.partition(".b")[2].partition(".")[0].partition("/")[0] or 0)


def classification_id(node: str) -> str:
    """Return the name of the call that classifies why a node was rejected."""
    return f"{node}{SECOND_CALL}"


def judgement_id(node: str) -> str:
    """Return the name of the request for a verdict on a node."""
    return f"judge:{node}"


class Decided(Event):
    """The policy decided what to do about a rejected node. The node's verdict says what failed."""

    kind: Literal["decided"] = "decided"
    node: str
    """The id of the attempt."""
    level: BacktrackLevel = BacktrackLevel.LOCAL_RETRY
    """How far back the search goes."""
    targets: tuple[str, ...] = ()
    """The steps that a replan redoes."""
    rule: str
    """The id of the policy's row, or the name of the built-in rule."""
    code: str = ""
    """The code of the finding that matched, else of the first one; empty for none."""
    wanted: tuple[str, ...] | None = None
    """The targets that the row asked for, where others were allowed."""
    delay_seconds: float = 0.0
    """The seconds of back-off before a retry; 0 for none."""
    classified: Cause | None = None
    """The classifier's code that selected the row."""
    weighing: Weighing | None = Field(default=None, exclude_if=lambda weighing: weighing is None)
    """The numbers on which a belief policy based it."""

    @classmethod
    def of(cls, decision: Decision) -> "Decided":
        """Return the event of a decision."""
        fields = {name: value for name, value in decision if name in cls.model_fields}
        return cls(**fields | {"targets": decision.targets if decision.level in REPLANS else ()})

    @property
    def step(self) -> str:
        """The step whose artifact was rejected."""
        return step_of(self.node)

    @property
    def decision(self) -> Decision:
        """The decision; the target of a retry or a question is the failed step."""
        own = () if self.level is BacktrackLevel.GIVE_UP else (self.step,)
        fields = {name: value for name, value in self if name in Decision.model_fields}
        return Decision(**fields | {"step": self.step, "targets": self.targets if self.level in REPLANS else own})


class GenerationRequested(CallRequested):
    """A step's generator was asked for an artifact; its node is the attempt.

    The attempt builds on the artifacts that are accepted at this point.
    """

    kind: Literal["generation_requested"] = "generation_requested"

    @property
    def visit(self) -> int:
        """The number of the stay at the step, from 1, counted over the whole run."""
        return visit_and_attempt(self.node)[0]

    @property
    def attempt(self) -> int:
        """The attempt of this visit, from 1; a leaf's counts over visits with the same parents."""
        return visit_and_attempt(self.node)[1]


class ClassificationRequested(CallRequested):
    """A model was asked why a node was rejected, before a costly step back."""

    kind: Literal["classification_requested"] = "classification_requested"
    rule: str
    """The policy's row that asks for the step back."""

    @property
    def call(self) -> str:
        """The call that this request is a try of: the node's second one."""
        return classification_id(self.node)


PlanningCall = GenerationRequested | ClassificationRequested


class RequestReissued(CallReissued):
    """An open request of an earlier driver is asked again; the first try stays charged as unknown."""

    kind: Literal["request_reissued"] = "request_reissued"
    again: PlanningCall
    """The request that takes its place, with the next try number."""


class ArtifactProduced(Replied):
    """A generator's reply became the artifact of an attempt, which is judged next."""

    kind: Literal["artifact_produced"] = "artifact_produced"
    repeats: str | None = None
    """The id of an earlier attempt of the step with the same content."""


class FailureClassified(Replied):
    """A model said why a node was rejected."""

    kind: Literal["failure_classified"] = "failure_classified"
    cause: Cause | None = None
    """The cause, if the reply was a code of the set."""


class PlanningOutcome(StrEnum):
    """How a planning run ended."""

    SUCCESS = "success"
    BUDGET_EXHAUSTED = "budget_exhausted"  # more may help
    ALL_PRUNED = "all_pruned"  # a root step, or any step of a forward-only search, was rejected in all its attempts
    BACKTRACK_CEILING = "backtrack_ceiling"  # nowhere left to go back to
    NEEDS_ANSWER = "needs_answer"  # it may ask nobody, and needs an answer: the question is in its result
    NOT_UNDERSTOOD = "not_understood"  # the author does not understand the problem, and no answer helps
    CANCELLED = "cancelled"
    FAILED = "failed"  # a bug


ONLY_FORWARD = "this workflow does not go back"
"""The end of the reason where a step that is not a root was rejected in all attempts of a forward-only search."""


class RunStarted(Started):
    """A planning run began. Its first event, which holds all that later decisions depend on."""

    texts: ClassVar[tuple[str, ...]] = ("specification", "pinned", "attachments")
    added_fields: ClassVar[tuple[str, ...]] = ("attachments", "plugins", "given_facts", "by", "shared")
    kind: Literal["run_started"] = "run_started"
    specification: StorableText
    """The text of the user's problem."""
    pinned: str
    """The JSON of everything that later decisions use."""
    source: StorableText = ""
    """Where the workflow was found: a shipped name or a file's path."""
    given: tuple[str, ...] = ()
    """The keys of the workflow that options have set."""
    attachments: StorableText = Field(default="", exclude_if=lambda attachments: not attachments)
    """The JSON of the attached files, and of the list of the repository's."""
    plugins: tuple[PlugInFile, ...] = Field(default=(), exclude_if=lambda plugins: not plugins)
    """The plug-ins of files of the user's own, each with the hash of its file."""
    given_facts: Given | None = Field(default=None, exclude_if=lambda facts: facts is None)
    """The facts that a planning run of an execution is given."""


class JudgementRequested(Event):
    """A guard was asked for a verdict on a node's artifact."""

    kind: Literal["judgement_requested"] = "judgement_requested"
    node: str
    """The id of the attempt."""
    guard: str
    """The name of the guard; for a composite its kind."""

    @property
    def request_id(self) -> str:
        """The id of the request, made of the node's."""
        return judgement_id(self.node)

    @property
    def step(self) -> str:
        """The step whose guard is asked."""
        return step_of(self.node)


class VerdictReached(TimedEvent):
    """A guard judged a node's artifact."""

    kind: Literal["verdict_reached"] = "verdict_reached"
    node: str
    """The id of the attempt."""
    elapsed: Seconds
    """The seconds that the guard took."""
    verdict: Verdict
    """Whether it passed, the score and the findings."""

    @property
    def request_id(self) -> str:
        """The id of the request."""
        return judgement_id(self.node)


class Revised(Event):
    """The revision marker of a replan: the targets and all that requires them are unset; older work is void."""

    kind: Literal["revised"] = "revised"
    revision: int
    """The number of the revision that begins."""
    level: BacktrackLevel
    """How far back the search goes."""
    targets: tuple[str, ...]
    """The steps that are redone, as the decision names them."""
    cleared: tuple[str, ...]
    """The steps that are unset: the targets and all that requires them."""
    tags: tuple[ReasonTag, ...] = ()
    """The reason, as tags of the findings."""
    new_round: bool = False
    """Whether it opens a round, so that all counts are reset."""
    branch: int | None = 0
    """The branch that goes back; None is every branch."""


class BranchOpened(Event):
    """A new branch of the search began, on the artifacts that `parent` has accepted for the steps `kept`.

    If the parent was about to go back, the new branch goes back instead, and the parent stays where it is.
    """

    kind: Literal["branch_opened"] = "branch_opened"
    branch: int
    """The number of the branch."""
    parent: int | None = None
    """The number of the branch on whose artifacts it opens."""
    kept: tuple[str, ...] = ()
    """The steps whose artifacts it builds on."""
    anew: bool = False
    """Whether all visits and attempts are given back to the new branch."""
    why: str
    """The reason, in one line for people."""


class BranchPruned(Event):
    """A branch ended: its open work is withdrawn, and the rest of its slice of the calls is free."""

    kind: Literal["branch_pruned"] = "branch_pruned"
    branch: int
    """The number of the branch."""
    cause: PruneCause
    """The reason, as a code."""
    why: str
    """The reason, in one line for people."""


class NeededAnswer(AskedForm):
    """A question to a person that a run may not ask itself."""

    node: str
    """The id of the attempt that it is about."""
    why: str
    """The guard or step that asks, and the rule by which it asks."""
    review: bool = False
    """Whether the attempt's artifact is to be approved or rejected."""


class RunFinished(ending.RunFinished):
    """A planning run ended: with a plan, or without one and why."""

    outcome: PlanningOutcome
    """How it ended; only `success` has a plan."""
    branch: int = 0
    """The branch that brought the plan, or else the one that got furthest."""
    question: NeededAnswer | None = Field(default=None, exclude_if=lambda question: question is None)
    """The question that the run may not ask, and needed an answer to."""

    @classmethod
    def of(cls, end: ending.RunFinished) -> "RunFinished":
        """Return the end of any run as the end of a planning run."""
        if isinstance(end, cls):
            return end
        return cls(outcome=PlanningOutcome(end.outcome), why=end.why, cause=end.cause, at=end.at, mono=end.mono)


PlanningEvent = (
    RunStarted
    | GenerationRequested
    | ClassificationRequested
    | RequestReissued
    | ArtifactProduced
    | FailureClassified
    | JudgementRequested
    | VerdictReached
    | Decided
    | Revised
    | BranchOpened
    | BranchPruned
    | RunEvent
    | RunFinished
)
EVENTS: tuple[type[Event], ...] = get_args(PlanningEvent)
"""The members of the union, for the codec and for generated docs."""
