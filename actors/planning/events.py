"""The facts of a planning run: one closed union, in the past tense; those that ask for work end in `Requested`.

Times are UTC seconds since 1970, durations seconds. Ids are explained in `actors.planning.ids`; what an id says already
is a property here, and is not stored again. What every kind of agent has is in `actors.run`.
"""

from enum import StrEnum
from typing import ClassVar, Literal, get_args

from pydantic import Field

from actors.planning.call_events import (
    ArtifactProduced,
    ClassificationRequested,
    FailureClassified,
    GenerationRequested,
    RequestReissued,
)
from actors.planning.decision_event import Decided
from actors.planning.ids import judgement_id
from actors.policy.table import BacktrackLevel
from actors.run import ending
from actors.run.clock import Started, TimedEvent
from actors.run.evolve import RunEvent
from actors.run.ids import step_of
from actors.run.texts import StorableText
from actors.search.strategies.prune_cause import PruneCause
from actors.values.findings import ReasonTag, Verdict
from actors.values.given import Given
from actors.values.plugin_marks import PlugInFile
from actors.values.question_form import AskedForm
from runtime.core.events import Event, Seconds


class Outcome(StrEnum):
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
    added_fields: ClassVar[tuple[str, ...]] = ("attachments", "plugins", "given_facts")
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
    """A search of its own began beside the others, on the artifacts that `parent` has accepted for the steps `kept`.

    Where the parent was about to go back, the new branch does, and the parent stays where it is.
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
    """A branch ended: its open work is withdrawn, and what it has not reserved of its slice is free."""

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

    outcome: Outcome
    """How it ended; only `success` has a plan."""
    branch: int = 0
    """The branch that brought the plan, or else that got furthest."""
    question: NeededAnswer | None = Field(default=None, exclude_if=lambda question: question is None)
    """The question that the run may not ask, and needed an answer to."""

    @classmethod
    def of(cls, end: ending.RunFinished) -> "RunFinished":
        """Return the end of any run as that of a planning run."""
        if isinstance(end, cls):
            return end
        return cls(outcome=Outcome(end.outcome), why=end.why, cause=end.cause, at=end.at, mono=end.mono)


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
