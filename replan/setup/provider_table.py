"""Reads `configs/providers.yaml`.

The file says which parameters of a call servers may refuse, and how the call is repeated then.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints, model_validator

from actors.files.suggestions import nearest
from actors.files.validation_errors import Config, config_error
from actors.files.yaml_document import read_document
from runtime.models.refusals import CACHE, STREAM, Refusable, Refusals

PARAMETERS: Mapping[str, frozenset[str]] = {
    "chat": frozenset(
        {
            *("max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "stop", "reasoning_effort"),
            *("verbosity", "response_format", "parallel_tool_calls", "service_tier", CACHE, STREAM),
        }
    ),
    "responses": frozenset(
        {
            *("max_output_tokens", "temperature", "top_p", "text", "include", "store"),
            *("parallel_tool_calls", "service_tier", CACHE, STREAM),
        }
    ),
    "messages": frozenset({"temperature", "top_p", "top_k", "tools", "service_tier", CACHE, STREAM}),
}
"""A mapping from an interface of model servers to the request parameters that the table of providers may name for this
interface."""

_Word = Annotated[str, StringConstraints(min_length=3, max_length=60, pattern=r"^[^A-Z]+$")]


class RefusalEntry(Config):
    """A parameter that servers may refuse."""

    named: Annotated[tuple[_Word, ...], Field(max_length=20)] = ()
    """The words by which a server's refusal names the parameter, in lower case; empty for the parameter's own name."""
    instead: str = ""
    """The name of the parameter to send instead; if empty, the parameter is left out."""
    weaker: Annotated[tuple[str, ...], Field(max_length=5)] = ()
    """The weaker ways to request structured output, the strongest first; empty for other parameters."""
    statuses: Annotated[tuple[Annotated[int, Field(ge=400, le=599)], ...], Field(min_length=1)] = (400, 422)
    """The HTTP status codes of a refusal."""


class ProviderTable(Config):
    """The file `configs/providers.yaml`."""

    chat: Mapping[str, RefusalEntry] = Field(default_factory=dict)
    """The parameters of OpenAI's chat completions."""
    responses: Mapping[str, RefusalEntry] = Field(default_factory=dict)
    """The parameters of OpenAI's Responses API."""
    messages: Mapping[str, RefusalEntry] = Field(default_factory=dict)
    """The parameters of Anthropic's Messages API."""

    @model_validator(mode="after")
    def _known_parameters(self) -> Self:
        for interface, known in PARAMETERS.items():
            rows: Mapping[str, RefusalEntry] = getattr(self, interface)
            for name, row in rows.items():
                unknown: Any = next((word for word in (name, row.instead) if word and word not in known), None)
                if unknown is not None:
                    hint = nearest(unknown, known, kind="parameters of requests", written="key")
                    raise config_error(f"unknown parameter {unknown!r}", (interface, name), hint)
                if row.instead and row.weaker:
                    raise config_error("`instead` and `weaker` exclude each other", (interface, name), "keep one")
            structured = [name for name, row in rows.items() if row.weaker]
            if len(structured) > 1:
                hint = "only the parameter for structured output can have weaker values"
                raise config_error(f"{' and '.join(structured)} have `weaker`", (interface, structured[1]), hint)
        return self


@cache
def read_refusals(root: Path) -> Mapping[str, Refusals]:
    """Read the file in the folder `configs/` of `root`, and return a mapping from each interface to its refusals.

    Raises `UsageProblem` with file and line.
    """
    document = read_document(root / "configs" / "providers.yaml")
    table = document.read_as(ProviderTable)
    return {
        interface: {name: Refusable(**row.model_dump()) for name, row in getattr(table, interface).items()}
        for interface in PARAMETERS
    }
