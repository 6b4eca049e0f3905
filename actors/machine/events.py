"""The facts of a planning run: one closed union, in the past tense; those that ask for work end in `Requested`.

Ids: a node is one attempt at one step, `STEP/vVISIT.aATTEMPT`; its artifact has the same id. A generation request has
the node's id, plus `.tTRY` from the second try on. Times are UTC seconds since 1970, durations seconds.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from actors.findings import ReasonTag, Verdict
from actors.policy.decide import Decision
from actors.policy.table import BacktrackLevel
from runtime.events import Event
from runtime.ledger import Amount, Limits
from runtime.models.port import Fault, Usage


class Outcome(StrEnum):
    """How a run ended."""

    SUCCESS = "success"
    BUDGET_EXHAUSTED = "budget_exhausted"  # more may help
    ALL_PRUNED = "all_pruned"  # a root step failed for good: this pipeline does not solve it
    BACKTRACK_CEILING = "backtrack_ceiling"  # nowhere left to go back to
    CANCELLED = "cancelled"
    FAILED = "failed"  # the provider, or a bug


class RunStarted(Event):
    """The run began. `pinned` is the JSON of everything that later decisions use (`actors.machine.pinned`)."""

    texts: ClassVar[tuple[str, ...]] = ("specification", "pinned")
    kind: Literal["run_started"] = "run_started"
    at: float
    run: str
    specification: str
    pinned: str
    limits: Limits


class RunResumed(Event):
    """A driver took the run over under a new epoch."""

    kind: Literal["run_resumed"] = "run_resumed"
    at: float
    epoch: int


class RunParked(Event):
    """The driver is about to leave; nothing new is asked until the run is resumed."""

    kind: Literal["run_parked"] = "run_parked"
    at: float


class GenerationRequested(Event):
    """A step's generator was asked for an artifact. `try_number` counts tries of this attempt, from 1.

    The prompt is not stored but rendered again from the state; its hash and UTF-8 bytes are.
    """

    kind: Literal["generation_requested"] = "generation_requested"
    request_id: str
    node: str
    step: str
    visit: int
    attempt: int
    try_number: int = 1
    previous: str | None = None
    parents: tuple[str, ...] = ()
    prompt_hash: str
    prompt_bytes: int
    reserve: Amount
    timeout_seconds: float
    output_tokens_max: int


class RequestReissued(Event):
    """An open request of an earlier driver is asked again; the first try stays charged as unknown."""

    kind: Literal["request_reissued"] = "request_reissued"
    replaces: str
    again: GenerationRequested


class ArtifactProduced(Event):
    """A generator made an artifact. `repeats` is an earlier artifact of the step with the same content, if any."""

    texts: ClassVar[tuple[str, ...]] = ("content",)
    kind: Literal["artifact_produced"] = "artifact_produced"
    request_id: str
    node: str
    at: float
    elapsed: float
    content: str
    usage: Usage | None = None
    used: Amount
    model: str = ""
    mode: str = ""
    finish_reason: str = ""
    repeats: str | None = None


class GenerationFailed(Event):
    """A try brought no reply."""

    kind: Literal["generation_failed"] = "generation_failed"
    request_id: str
    node: str
    at: float
    elapsed: float
    fault: Fault


class JudgementRequested(Event):
    """A guard was asked for a verdict on a node's artifact."""

    kind: Literal["judgement_requested"] = "judgement_requested"
    request_id: str
    node: str
    step: str
    guard: str


class VerdictReached(Event):
    """A guard judged a node's artifact."""

    kind: Literal["verdict_reached"] = "verdict_reached"
    request_id: str
    node: str
    at: float
    elapsed: float
    verdict: Verdict


class Decided(Event):
    """The policy decided what to do about a rejected node."""

    kind: Literal["decided"] = "decided"
    decision: Decision


class Revised(Event):
    """The revision marker of a replan: the targets and all that requires them are unset; older work is void."""

    kind: Literal["revised"] = "revised"
    revision: int
    level: BacktrackLevel
    targets: tuple[str, ...]
    cleared: tuple[str, ...]
    tags: tuple[ReasonTag, ...] = ()
    new_round: bool = False


class ClarificationRequested(Event):
    """The user was asked. `blocks` are the steps that wait; `answer_schema` is a JSON Schema for the answer."""

    kind: Literal["clarification_requested"] = "clarification_requested"
    question_id: str
    node: str
    step: str
    text: str
    why: str
    blocks: tuple[str, ...]
    answer_schema: Mapping[str, Any] = Field(default_factory=lambda: {"type": "string", "minLength": 1})


class ClarificationAnswered(Event):
    """The user answered a question."""

    texts: ClassVar[tuple[str, ...]] = ("answer",)
    kind: Literal["clarification_answered"] = "clarification_answered"
    question_id: str
    at: float
    answer: str


class WaitRequested(Event):
    """The run waits until a time: for a back-off (`node` is set) or for its deadline."""

    kind: Literal["wait_requested"] = "wait_requested"
    request_id: str
    until: float
    why: str
    node: str | None = None


class WaitEnded(Event):
    """The time that a wait was for has come."""

    kind: Literal["wait_ended"] = "wait_ended"
    request_id: str
    at: float


class Settled(Event):
    """A late reply to withdrawn work: what it cost is known now; what it said is not used."""

    kind: Literal["settled"] = "settled"
    request_id: str
    at: float
    used: Amount


class MailRefused(Event):
    """A person's message could not be taken."""

    kind: Literal["mail_refused"] = "mail_refused"
    at: float
    key: str
    reason: str


class RunFinished(Event):
    """The run ended. `cause` tells a provider's refusal from a bug; `at` is None where a decision ended it."""

    kind: Literal["run_finished"] = "run_finished"
    outcome: Outcome
    why: str
    cause: Literal["", "provider", "bug"] = ""
    at: float | None = None


PlanningEvent = Annotated[
    RunStarted
    | RunResumed
    | RunParked
    | GenerationRequested
    | RequestReissued
    | ArtifactProduced
    | GenerationFailed
    | JudgementRequested
    | VerdictReached
    | Decided
    | Revised
    | ClarificationRequested
    | ClarificationAnswered
    | WaitRequested
    | WaitEnded
    | Settled
    | MailRefused
    | RunFinished,
    Field(discriminator="kind"),
]

EVENTS: tuple[type[Event], ...] = (
    RunStarted,
    RunResumed,
    RunParked,
    GenerationRequested,
    RequestReissued,
    ArtifactProduced,
    GenerationFailed,
    JudgementRequested,
    VerdictReached,
    Decided,
    Revised,
    ClarificationRequested,
    ClarificationAnswered,
    WaitRequested,
    WaitEnded,
    Settled,
    MailRefused,
    RunFinished,
)
"""The members of the union, for the codec and for generated docs."""
