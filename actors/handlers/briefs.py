"""Briefs: all that an actor may see of the request that it carries out. Pure values, made when work is handed out."""

from typing import NamedTuple, Protocol

from actors.prompting.render import Rendered
from actors.values.artifacts import Artifact, Context
from actors.values.model_settings import ModelSettings


class CallOptions(NamedTuple):
    """The part of a request that a generator reads."""

    request_id: str
    """The id of the request, unique within the run."""
    purpose: str
    """The purpose of the call: a step, or a name of its own."""
    timeout_seconds: float
    """The time limit of the try, in seconds."""
    output_tokens_max: int
    """The most tokens that the reply may have."""
    settings: ModelSettings | None = None
    """The settings of the call; None where all are the provider's own."""
    model: str = ""
    """The model that is asked; empty for the run's own."""


class GenerationBrief(NamedTuple):
    """What a generator gets for one try of a call."""

    run: str
    request: CallOptions
    """The id, the purpose and the limits of the call."""
    prompt: Rendered
    """The prompt for a model, rendered; empty where the step has none."""
    context: Context
    """What the prompt was rendered from, for generators that call no model."""


class JudgementRequest(Protocol):
    """A request for a verdict, as far as its handler needs it."""

    @property
    def request_id(self) -> str:
        """The id of the request, unique within the run."""
        ...

    @property
    def guard(self) -> str:
        """The name of the guard that is asked."""
        ...


class JudgementBrief(NamedTuple):
    """What a guard gets for one verdict."""

    request: JudgementRequest
    """The request for the verdict, with the name of the guard."""
    artifact: Artifact
    """The artifact that is judged."""
    context: Context
    """Everything else that the guard may read."""
