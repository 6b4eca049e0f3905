"""One request of a program, whichever way it came; its refusal, and its answer as JSON."""

from dataclasses import dataclass
from typing import Any

import orjson

from replan.service.access import Principal
from replan.service.problems import Terms
from replan.service.service import Service


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRequest:
    """A checked request of a program."""

    service: Service
    """The server."""
    who: Principal
    """Who asks."""
    terms: Terms
    """How it came, and what its clients call things."""
    run: str = ""
    """The id of the run that it is about; empty for none."""
    question: str = ""
    """The id of the question that it is about, as RUN/QUESTION; empty for none."""
    body: Any = None
    """What was sent, as the operation's model of it."""
    key: str = ""
    """The hash of its idempotency key; empty for none."""


def encoded(value: Any) -> bytes:
    """Return a value as JSON. A text with half a surrogate pair, which has no UTF-8, is sent with a replacement."""
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
