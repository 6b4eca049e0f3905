"""Briefs: all that an actor may see of the request that it carries out. Pure values, made when work is handed out."""

from typing import NamedTuple, Protocol

from actors.prompting.render import Rendered
from actors.values.artifacts import Artifact, Context


class CallOptions(NamedTuple):
    """What a generator needs to know of its request."""

    request_id: str
    """The request's name."""
    purpose: str
    """What it is for: a step, or the name of a purpose of its own."""
    timeout_seconds: float
    """How long a try may take."""
    output_tokens_max: int
    """The most tokens that the reply may have."""


class GenerationBrief(NamedTuple):
    """What a generator gets."""

    run: str
    """The run's id."""
    request: CallOptions
    """The request."""
    prompt: Rendered
    """The rendered prompt."""
    context: Context
    """The same in structured form."""


class JudgementRequest(Protocol):
    """A request for a verdict, as far as its handler needs it."""

    @property
    def request_id(self) -> str:
        """The request's name."""
        ...

    @property
    def guard(self) -> str:
        """The name of the guard."""
        ...


class JudgementBrief(NamedTuple):
    """What a guard gets."""

    request: JudgementRequest
    """The request."""
    artifact: Artifact
    """What is judged."""
    context: Context
    """All that the guard may see beside it."""
