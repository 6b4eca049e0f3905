"""The calls of a planning run: a step's generator is asked for an artifact, a classifier for a cause. Pure."""

from typing import Literal

from actors.planning.ids import classification_id, place_of
from actors.policy.cause import Cause
from actors.run.calls import CallReissued, CallRequested, Replied


class GenerationRequested(CallRequested):
    """A step's generator was asked for an artifact; its node is the attempt.

    What the attempt builds on is what was accepted at this place.
    """

    kind: Literal["generation_requested"] = "generation_requested"

    @property
    def visit(self) -> int:
        """The number of the stay at the step, from 1, counted over the whole run."""
        return place_of(self.node)[0]

    @property
    def attempt(self) -> int:
        """The attempt of this visit, from 1; a leaf's counts over visits with the same parents."""
        return place_of(self.node)[1]


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
