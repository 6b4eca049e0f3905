"""Briefs, the inputs of actors. A brief is an immutable value with all data that an actor needs for one request."""

from typing import NamedTuple

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
    """The model to call; empty for the run's model."""


class GenerationBrief(NamedTuple):
    """The input of a generator, for one try of a call."""

    run: str
    request: CallOptions
    prompt: Rendered
    """The rendered prompt for a model; empty if the step has no prompt."""
    context: Context
    """The data from which the prompt was rendered, for generators without a model."""


class JudgementBrief(NamedTuple):
    """The input of a guard, for one verdict."""

    request_id: str
    guard: str
    artifact: Artifact
    context: Context
