"""The facts about calls: what a model, or another generator, was asked for, what it brought, and what that cost."""

from typing import ClassVar, Literal

from actors.planning.ids import call_of, classification_id, node_of, place_of, step_of, try_id
from actors.policy.cause import Cause
from runtime.core.cost import Usage
from runtime.core.events import Event, Seconds
from runtime.core.ledger import Amount
from runtime.models.port import Fault


class Told(Event):
    """What the world told the run; `at` is when."""

    at: Seconds


class CallRequested(Event):
    """What every request for a model's reply has; `GenerationRequested` says what its fields mean."""

    node: str
    try_number: int = 1
    prompt_hash: str
    calls: int = 1
    tokens_max: int = 0
    micro_usd_max: int = 0
    timeout_seconds: Seconds | None = None

    @property
    def call(self) -> str:
        """What this is a try of."""
        return self.node

    @property
    def request_id(self) -> str:
        """The request's name."""
        return try_id(self.call, self.try_number)

    @property
    def reserve(self) -> Amount:
        """The most that it may cost."""
        return Amount(calls=self.calls, tokens=self.tokens_max, micro_usd=self.micro_usd_max)

    @property
    def step(self) -> str:
        """The step that it is about."""
        return step_of(self.node)


class GenerationRequested(CallRequested):
    """A step's generator was asked for an artifact. `try_number` counts tries of this attempt, from 1.

    The prompt is not stored but rendered again from the state; the first 128 bits of its hash are. `tokens_max` (in and
    out), `calls` and `micro_usd_max` are reserved. The time limit is the workflow's, unless `timeout_seconds` is
    shorter, because less active time is left. What the attempt builds on is what was accepted at this place.
    """

    kind: Literal["generation_requested"] = "generation_requested"

    @property
    def visit(self) -> int:
        """The stay at the step, counted over the whole run."""
        return place_of(self.node)[0]

    @property
    def attempt(self) -> int:
        """The attempt of this visit, from 1; a leaf's counts over visits with the same parents."""
        return place_of(self.node)[1]


class ClassificationRequested(CallRequested):
    """A model was asked why a node was rejected, before the costly step back that the policy's row `rule` asks for."""

    kind: Literal["classification_requested"] = "classification_requested"
    rule: str

    @property
    def call(self) -> str:
        """What this is a try of."""
        return classification_id(self.node)


class RequestReissued(Event):
    """An open request of an earlier driver is asked again; the first try stays charged as unknown."""

    kind: Literal["request_reissued"] = "request_reissued"
    replaces: str
    again: GenerationRequested | ClassificationRequested


class Replied(Told):
    """What every reply brings; `ArtifactProduced` says what its fields mean."""

    texts: ClassVar[tuple[str, ...]] = ("content",)
    request_id: str
    elapsed: Seconds
    content: str
    usage: Usage | None = None
    calls: int = 1
    tokens: int | None = None
    micro_usd: int = 0
    model: str = ""
    mode: str = "text"
    finish_reason: str = "stop"

    @property
    def used(self) -> Amount:
        """What it is charged."""
        reported = 0 if self.usage is None else self.usage.tokens
        return Amount(
            calls=self.calls, tokens=reported if self.tokens is None else self.tokens, micro_usd=self.micro_usd
        )

    @property
    def node(self) -> str:
        """The attempt that it was made for, or that it is about."""
        return node_of(self.request_id)


class ArtifactProduced(Replied):
    """A generator made an artifact. `repeats` is an earlier artifact of the step with the same content, if any.

    `calls` and `micro_usd` are what it is charged for; so are the tokens of `usage`, or, where none that makes sense
    was reported, `tokens`. `mode` says how structure was asked for, `finish_reason` why the model stopped.
    """

    kind: Literal["artifact_produced"] = "artifact_produced"
    repeats: str | None = None


class FailureClassified(Replied):
    """A model said why a node was rejected; `cause` is None where its reply (`content`) was no code of the set."""

    kind: Literal["failure_classified"] = "failure_classified"
    cause: Cause | None = None


class GenerationFailed(Told):
    """A try of a generation or of a classification brought no reply.

    `used` is what a run below had taken when it gave its provider up: it has made all tries, so none follows.
    """

    kind: Literal["generation_failed"] = "generation_failed"
    request_id: str
    elapsed: Seconds
    fault: Fault
    used: Amount | None = None

    @property
    def call(self) -> str:
        """What it was a try of."""
        return call_of(self.request_id)

    @property
    def node(self) -> str:
        """The attempt that it was a try of, or that was to be classified."""
        return node_of(self.request_id)


class Settled(Told):
    """A late reply to withdrawn work: what it cost is known now; what it said is not used."""

    kind: Literal["settled"] = "settled"
    request_id: str
    used: Amount
