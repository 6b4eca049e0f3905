"""A request of a program in the form that all interfaces share, the JSON of its response, and its errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from actors.files.suggestions import nearest
from actors.run.questions import Via
from replan_server.service.access import Principal
from replan_server.service.service import Service
from runtime.core.errors import ReplanError, RunNotFound, UsageProblem
from runtime.core.pydantic_messages import describe

PLACE_MAX = 200
"""The largest number of characters in the place that an error message names."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The words of one interface (HTTP or MCP). In error messages, they replace the words of the command line."""

    noun: str
    """The noun for the name of a sent value, such as `key`."""
    whole: str
    """The noun for everything that is sent, such as `body`."""
    runs: str
    result: str
    """The operation that shows the result of the run `{run}`."""
    places: Mapping[str, str]
    """The client's name for each argument of the command line that can be the place of an error."""
    via: Via
    shows_reviews: bool
    """Whether clients see the artifact that a person has to review."""


HTTP = Terms(
    noun="key",
    whole="body",
    runs="`GET /api/runs`",
    result="`GET /api/runs/{run}`",
    places={"RUN": "run", "TEXT": "text", "PROBLEM": "problem", "GOAL": "goal", "PLAN": "plan_of"},
    via="api",
    shows_reviews=True,
)
"""The words that the HTTP API uses in error messages. The place `run` stands for the part of the URL path that names
the run."""
MCP = Terms(
    noun="argument",
    whole="arguments",
    runs="the resource replan://runs",
    result="`result`",
    places={"RUN": "id", "TEXT": "text", "PROBLEM": "problem", "GOAL": "goal", "PLAN": "id"},
    via="mcp",
    shows_reviews=False,
)


def in_terms(error: ReplanError, terms: Terms) -> ReplanError:
    """Return an error in the words of a client's interface.

    An error without words of the command line is returned unchanged.
    """
    match error:
        case RunNotFound() if error.run:
            return RunNotFound("", cause=f"{error} ({terms.runs} lists the runs)")
        case UsageProblem() if error.place in terms.places:
            return UsageProblem(error.cause, place=terms.places[error.place], hint=error.hint)
        case _:
            return error


def wrong_value(error: ValidationError, takes: type[BaseModel], terms: Terms) -> UsageProblem:
    """Return the first validation error of the model `takes`. The place of the error is the path of the key."""
    first = error.errors(include_url=False)[0]
    path = [str(part) for part in first["loc"]]
    place, outermost = ".".join(path)[:PLACE_MAX] or terms.whole, len(path) == 1
    match first["type"]:
        case "missing":
            required_names = [name for name, field in takes.model_fields.items() if field.is_required()]
            hint = f"needed: {', '.join(required_names)}" if outermost else f"add {path[-1]!r}"
            return UsageProblem(f"the {terms.noun} is missing", place=place, hint=hint)
        case "extra_forbidden":
            hint = nearest(place[:100], takes.model_fields, kind=f"{terms.noun}s") if outermost else ""
            return UsageProblem(f"there is no such {terms.noun}", place=place, hint=hint)
        case _:
            return UsageProblem(describe(first), place=place)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRequest:
    """A checked request of a program."""

    service: Service
    who: Principal
    terms: Terms
    run: str = ""
    """The id of the run that the request is about; empty if there is none."""
    question: str = ""
    """The id of the question that the request is about, as RUN/QUESTION; empty if there is none."""
    body: Any = None
    """The checked body: an instance of the operation's model, or None."""
    key: str = ""
    """The hash of the request's idempotency key; empty if there is no key."""


def encode_json(value: Any) -> bytes:
    """Return a value as JSON. A lone surrogate is replaced, because UTF-8 cannot encode it."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(_storable(value))


def _storable(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {str(_storable(key)): _storable(item) for key, item in value.items()}
        case list() | tuple():
            return [_storable(item) for item in value]
        case _:
            return value
