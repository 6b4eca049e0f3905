"""Briefs: everything that an actor gets to see of its request. Pure values, made when work is handed out."""

from typing import NamedTuple, Protocol

from actors.prompting.render import Rendered
from actors.values.artifacts import Artifact, Context
from actors.values.model_settings import ModelSettings


class CallOptions(NamedTuple):
    """The part of a request that a generator reads."""

    request_id: str
    purpose: str
    """The purpose of the call: a step, or another name that the kind defines."""
    timeout_seconds: float
    output_tokens_max: int
    settings: ModelSettings | None = None
    model: str = ""
    """The model to ask; empty for the run's own model."""


class GenerationBrief(NamedTuple):
    """The input of a generator, for one try of a call."""

    run: str
    request: CallOptions
    prompt: Rendered
    """The rendered prompt for a model; empty if the step has no prompt."""
    context: Context
    """The data from which the prompt was rendered, for generators without a model."""


class JudgementRequest(Protocol):
    """The part of a request for a verdict that its handler reads."""

    @property
    def request_id(self) -> str:
        """The id of the request, unique within the run."""
        ...

    @property
    def guard(self) -> str:
        """The name of the guard to ask."""
        ...


class JudgementBrief(NamedTuple):
    """The input of a guard, for one verdict."""

    request: JudgementRequest
    artifact: Artifact
    context: Context
