"""The events of a planning run: one closed union, named in the past tense. Names of requests end in `Requested`.

Times are UTC seconds since 1970. Durations are in seconds. Facts that an id contains are properties, not stored fields.
The events that all kinds of runs share are in `actors.run`.

A node is one attempt at one step: `STEP/vVISIT.aATTEMPT`. Its artifact has the same id. In a branch other than the
first, the id ends with `.bBRANCH`. The id of a generation request is the node's id, plus `.tTRY` from the second try
on. The classification of a rejection has `/c` after the node's id, and `.tTRY` from the second try on. A judgement
request has `judge:` before the node's id. A step's id contains neither a slash nor a dot, so every name can be parsed.
"""

from enum import StrEnum
from typing import ClassVar, Literal, get_args

from pydantic import Field

from actors.policy.author import ModelCounts
from actors.policy.belief_choice import Weighing
from actors.policy.decision import Decision
from actors.policy.table import REPLANS, BacktrackLevel, Cause
from actors.run import ending
from actors.run.calls import CallReissued, CallRequested, Replied
from actors.run.evolve import RunEvent
from actors.run.ids import SECOND_CALL, step_of
from actors.run.questions import WAYS, StoredVia
from actors.run.waits import Started, TimedEvent
from actors.search.progress import PruneCause
from actors.values.findings import ReasonTag, Verdict
from actors.values.given import Given
from actors.values.plugin_marks import PlugInFile
from actors.values.question_form import AskedForm
from actors.values.requirements import DemandPlace
from runtime.core.events import Event, Seconds, StorableText


def node_id(step: str, visit: int, attempt: int, branch: int = 0) -> str:
    """Return the id of an attempt."""
    node = f"{step}/v{visit}.a{attempt}"
    return f"{node}.b{branch}" if branch else node


def visit_and_attempt(node: str) -> tuple[int, int]:
    """Return the number of a node's visit and the number of its attempt."""
    visit, _, attempt = node.partition("/v")[2].partition(".a")
    return int(visit), int(attempt.partition(".")[0])


def branch_of(name: str) -> int:
    """Return the number of the branch of a node, or of a request about a node."""
    return int(name.partition(".b")[2].partition(".")[0].partition("/")[0] or 0)


def classification_id(node: str) -> str:
    """Return the name of the call that classifies why a node was rejected."""
    return f"{node}{SECOND_CALL}"


def judgement_id(node: str) -> str:
    """Return the name of the request for a verdict on a node."""
    return f"judge:{node}"


class Decided(Event):
    """The policy decided what happens after a rejected attempt. The node's verdict has the reason of the rejection."""

    kind: Literal["decided"] = "decided"
    node: str
    """The id of the attempt."""
    level: BacktrackLevel = BacktrackLevel.LOCAL_RETRY
    """How far back the search goes."""
    targets: tuple[str, ...] = ()
    """The steps that the search redoes."""
    rule: str
    """The id of the policy's row, or the name of the built-in rule."""
    code: str = ""
    """The code of the finding that matched, or of the first finding if none matched; empty if there is no finding."""
    wanted: tuple[str, ...] | None = None
    """The targets in the policy's row, if the budgets forbade them; None if the budgets allowed them."""
    delay_seconds: float = 0.0
    """The seconds of back-off before a retry; 0 without a back-off."""
    classified: Cause | None = None
    """The classifier's code, if this code selected the row; None if it did not."""
    weighing: Weighing | None = Field(default=None, exclude_if=lambda weighing: weighing is None)
    """The numbers from which a belief policy made the decision; None for any other policy."""
    afresh: bool = Field(default=False, exclude_if=lambda afresh: not afresh)
    """Whether the steps are done again without earlier rejections in their prompts."""

    @classmethod
    def of(cls, decision: Decision) -> "Decided":
        """Return the event for a decision."""
        fields = {name: value for name, value in decision if name in cls.model_fields}
        fields["targets"] = decision.targets if decision.level in REPLANS else ()  # Only a replan redoes other steps.
        return cls(**fields)

    @property
    def step(self) -> str:
        """The step whose artifact was rejected."""
        return step_of(self.node)

    @property
    def decision(self) -> Decision:
        """The decision as a value. The target of a retry or a question is the failed step."""
        own = () if self.level is BacktrackLevel.GIVE_UP else (self.step,)
        fields = {name: value for name, value in self if name in Decision.model_fields}
        return Decision(**fields | {"step": self.step, "targets": self.targets if self.level in REPLANS else own})


class GenerationRequested(CallRequested):
    """A step's generator was asked for an artifact. The node is the attempt.

    The attempt builds on the artifacts that are accepted at this point of the run.
    """

    kind: Literal["generation_requested"] = "generation_requested"

    @property
    def visit(self) -> int:
        """The number of the visit to the step, from 1, counted over the whole run."""
        return visit_and_attempt(self.node)[0]

    @property
    def attempt(self) -> int:
        """The number of the attempt in this visit, from 1.

        For a step that no other step requires, it counts over all visits with the same parents.
        """
        return visit_and_attempt(self.node)[1]


class ClassificationRequested(CallRequested):
    """A model was asked why a node was rejected, before the search goes back at a high cost."""

    kind: Literal["classification_requested"] = "classification_requested"
    rule: str
    """The policy's row that demands going back."""

    @property
    def call(self) -> str:
        """The name of the call: all tries of the classification have this name."""
        return classification_id(self.node)


PlanningCall = GenerationRequested | ClassificationRequested


class RequestReissued(CallReissued):
    """A driver repeated an earlier driver's open request. The cost of the earlier try stays charged as unknown."""

    kind: Literal["request_reissued"] = "request_reissued"
    again: PlanningCall
    """The new request, with the next try number."""


class ArtifactProduced(Replied):
    """A generator's reply became the artifact of an attempt. A guard judges the artifact next."""

    kind: Literal["artifact_produced"] = "artifact_produced"
    repeats: str | None = None
    """The id of an earlier attempt at the step with the same content; None if the content is new."""


class FailureClassified(Replied):
    """A model answered why a node was rejected."""

    kind: Literal["failure_classified"] = "failure_classified"
    cause: Cause | None = None
    """The cause; None if the reply named no known cause."""


class PlanningOutcome(StrEnum):
    """How a planning run ended."""

    SUCCESS = "success"
    BUDGET_EXHAUSTED = "budget_exhausted"  # a higher limit may help
    ALL_PRUNED = "all_pruned"  # a root step, or any step of a forward-only search, was rejected in all its attempts
    BACKTRACK_CEILING = "backtrack_ceiling"  # no step is left to which the search can go back
    NEEDS_ANSWER = "needs_answer"  # the run needs an answer but may ask nobody: its result has the question
    NOT_UNDERSTOOD = "not_understood"  # the author does not understand the problem, and no answer helps
    CANCELLED = "cancelled"
    FAILED = "failed"  # a bug


ONLY_FORWARD = "this workflow does not go back"
"""The last words of the reason for a run's end if a linear search has used up the attempts of a step. A linear search
never goes back."""


class RunStarted(Started):
    """A planning run began. The first event stores everything that later decisions depend on."""

    texts: ClassVar[tuple[str, ...]] = ("specification", "pinned", "attachments")
    added_fields: ClassVar[tuple[str, ...]] = ("attachments", "plugins", "given_facts", "by", "shared")
    kind: Literal["run_started"] = "run_started"
    specification: StorableText
    """The text of the user's problem."""
    pinned: str
    """The JSON of the configuration that later decisions use."""
    source: StorableText = ""
    """The source of the workflow: its shipped name, or the path of its file."""
    given: tuple[str, ...] = ()
    """The keys of the workflow that options have replaced."""
    attachments: StorableText = Field(default="", exclude_if=lambda attachments: not attachments)
    """The JSON of the attached files, and of the list of the repository's files."""
    plugins: tuple[PlugInFile, ...] = Field(default=(), exclude_if=lambda plugins: not plugins)
    """The plug-ins from the user's own files, with the hashes of their files."""
    given_facts: Given | None = Field(default=None, exclude_if=lambda facts: facts is None)
    """The facts from the execution that started this planning run; None for any other run."""


class JudgementRequested(Event):
    """A guard was asked for a verdict on a node's artifact."""

    kind: Literal["judgement_requested"] = "judgement_requested"
    node: str
    """The id of the attempt."""
    guard: str
    """The name of the guard; for a composite guard, the name of its kind."""

    @property
    def request_id(self) -> str:
        """The id of the request, made from the node's id."""
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
    """The duration of the judgement, in seconds."""
    verdict: Verdict
    """Whether the artifact passed, the score and the findings."""

    @property
    def request_id(self) -> str:
        """The id of the request that the verdict answers."""
        return judgement_id(self.node)


class PlanCorrected(TimedEvent):
    """A person edited the plan of an attempt, and the step's guard accepts the edited plan.

    The run has ended, or it asks for the review of this plan. An edit after the end of a run makes the run a success.
    """

    texts: ClassVar[tuple[str, ...]] = ("plan",)
    kind: Literal["plan_corrected"] = "plan_corrected"
    node: str
    """The id of the attempt."""
    plan: str
    """The edited plan, as JSON."""
    verdict: Verdict
    """The verdict on the edited plan. If the step has a review, the person's verdict is part of it."""
    via: StoredVia = ""
    """The interface by which the edit came."""
    person: str = ""
    """The name of the person who edited the plan; empty if unknown."""
    question_id: str = ""
    """The id of the review that the edit answers; empty after the end of the run."""

    @property
    def who(self) -> str:
        """The person who edited the plan, in words."""
        return f"{self.person or 'a person'}{WAYS[self.via]}"


class Revised(Event):
    """A replan began: the targets and all steps that require them lost their artifacts, and older work is void."""

    kind: Literal["revised"] = "revised"
    revision: int
    """The number of the replan, from 1."""
    level: BacktrackLevel
    """How far back the search goes."""
    targets: tuple[str, ...]
    """The steps that are redone, as named by the decision."""
    cleared: tuple[str, ...]
    """The steps that lost their artifacts: the targets and all steps that require them."""
    tags: tuple[ReasonTag, ...] = ()
    """The reason for the replan, as the tags of the findings."""
    new_round: bool = False
    """Whether the replan begins a new round, in which all counts start again."""
    branch: int | None = 0
    """The branch that goes back; None if all branches go back."""


class BranchOpened(Event):
    """A new branch of the search began, with the artifacts that `parent` has accepted for the steps `kept`.

    If the parent was about to go back, the new branch goes back instead, and the parent does not.
    """

    kind: Literal["branch_opened"] = "branch_opened"
    branch: int
    """The number of the branch."""
    parent: int | None = None
    """The number of the branch whose artifacts the new branch uses; None if it begins without artifacts."""
    kept: tuple[str, ...] = ()
    """The steps whose artifacts the new branch uses."""
    anew: bool = False
    """Whether the new branch has all visits and attempts again."""
    why: str
    """The reason, in one line for people."""


class BranchPruned(Event):
    """A branch ended. The branch's open work was withdrawn, and its remaining calls became free."""

    kind: Literal["branch_pruned"] = "branch_pruned"
    branch: int
    """The number of the branch."""
    cause: PruneCause
    """The reason for the end of the branch, as a code."""
    why: str
    """The reason, in one line for people."""


class NeededAnswer(AskedForm):
    """A question to a person that a run needs answered, but leaves to its parent run."""

    node: str
    """The id of the attempt that the question is about."""
    why: str
    """The guard or step that asks, and the rule that leads to the question."""
    review: bool = False
    """Whether the question asks a person to approve or reject the attempt's artifact."""


class RunFinished(ending.RunFinished):
    """A planning run ended, with a plan or with the reason for having no plan."""

    outcome: PlanningOutcome
    """The outcome of the run; only `success` has a plan."""
    branch: int = 0
    """The number of the branch with the plan, or else of the branch that got furthest."""
    question: NeededAnswer | None = Field(default=None, exclude_if=lambda question: question is None)
    """The question that the run leaves to its parent run; None if the run needs no answer."""
    counted: ModelCounts | None = Field(default=None, exclude_if=lambda counted: counted is None)
    """The counts of the model's attempts, for later runs; None if the run does not count."""
    demands: tuple[DemandPlace, ...] | None = Field(default=None, exclude_if=lambda demands: demands is None)
    """The demands of the problem; None if views must find the demands in the problem's text."""

    @classmethod
    def of(cls, end: ending.RunFinished) -> "RunFinished":
        """Return the end of a run of any kind as the end of a planning run."""
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
    | PlanCorrected
    | Revised
    | BranchOpened
    | BranchPruned
    | RunEvent
    | RunFinished
)
EVENTS: tuple[type[Event], ...] = get_args(PlanningEvent)
