"""Briefs: all that an actor may see of the request that it carries out. Pure values, made when work is handed out."""

from typing import NamedTuple, Protocol

from actors.prompting.render import Rendered
from actors.values.artifacts import Artifact, Context


class CallOptions(NamedTuple):
    """The part of a request that a generator reads."""

    request_id: str
    """The id of the request."""
    purpose: str
    """The purpose of the call: a step, or a name of its own."""
    timeout_seconds: float
    """How long a try may take."""
    output_tokens_max: int
    """The most tokens that the reply may have."""


class GenerationBrief(NamedTuple):
    """The input of a generator."""

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
        """The id of the request."""
        ...

    @property
    def guard(self) -> str:
        """The name of the guard."""
        ...


class JudgementBrief(NamedTuple):
    """The input of a guard."""

    request: JudgementRequest
    """The request."""
    artifact: Artifact
    """The artifact that is judged."""
    context: Context
    """All that the guard may see beside it."""
