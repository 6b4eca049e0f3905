"""What every model can do: complete one request, and say what became of it as a value.

A fault of the transport is a value too (`Fault`), because it crosses a mailbox; what it costs follows from whether the
request can have reached the provider.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from runtime.core.cost import Usage
from runtime.core.events import Value


class FaultKind(StrEnum):
    """What happened on the way to the model."""

    REFUSED_CONNECTION = "refused_connection"  # nobody listened: nothing was sent
    UNRESOLVED_HOST = "unresolved_host"  # the name does not resolve: final
    RATE_LIMITED = "rate_limited"  # 429, and the other 4xx that ask to come back later: 408, 409, 425
    AUTH = "auth"  # 401, 403, and an account without credit (402, an exhausted quota): final
    NOT_FOUND = "not_found"  # 404: final
    CONTENT_REFUSED = "content_refused"  # a 4xx whose code says that a filter objects to the prompt: final
    BAD_REQUEST = "bad_request"  # any other 4xx: final
    SERVER_ERROR = "server_error"  # 5xx
    CUT = "cut"  # the connection broke after the request was sent
    TIMEOUT = "timeout"
    BAD_REPLY = "bad_reply"  # 200, but not a completion (HTML, no choices, not JSON)
    TOO_LARGE = "too_large"  # the reply went over the byte cap

    @property
    def final(self) -> bool:
        """Whether trying again cannot help."""
        return self in _FINAL

    @property
    def refunded(self) -> bool:
        """Whether the provider certainly did not charge for it."""
        return self in _REFUNDED


_FINAL = frozenset(
    {
        FaultKind.UNRESOLVED_HOST,
        FaultKind.AUTH,
        FaultKind.NOT_FOUND,
        FaultKind.CONTENT_REFUSED,
        FaultKind.BAD_REQUEST,
    }
)
_REFUNDED = _FINAL | {FaultKind.REFUSED_CONNECTION, FaultKind.RATE_LIMITED}


class Fault(Value):
    """A try that brought no reply. `retry_after` is seconds, as the server asked; `message` is for people only."""

    kind: FaultKind
    message: str
    status: int | None = None
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One try.

    `request_id` goes out as `X-Client-Request-Id`, with the id of the `run` before it (`RUN/ID`) if one is given;
    `purpose` is the step's id; `system` and `user` are the rendered prompt; `schema` a JSON Schema for the reply, named
    `schema_name`. `material` is the same context in structured form, for authors that live in this process; the wire
    never carries it.
    """

    request_id: str
    purpose: str
    system: str
    user: str
    timeout_seconds: float
    output_tokens_max: int
    schema: Mapping[str, Any] | None = None
    schema_name: str = "reply"
    material: Mapping[str, Any] = field(default_factory=dict)
    run: str = ""

    @property
    def client_request_id(self) -> str:
        """The id that goes out with the request: `RUN/REQUEST_ID`."""
        return f"{self.run}/{self.request_id}" if self.run else self.request_id


@dataclass(frozen=True, slots=True)
class Reply:
    """A completion. `text` is as the model wrote it.

    `usage` is None when the provider reported none; `mode` says how structure was asked for (`json_schema`,
    `json_object`, `text`).
    """

    text: str
    usage: Usage | None
    model: str
    finish_reason: str = "stop"
    mode: str = "text"


class Model(Protocol):
    """A model: `name` is what prices are looked up under and records show."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the reply, or what went wrong. Raises only on a bug, or when cancelled."""
        ...

    async def aclose(self) -> None:
        """Close what is open. No call may follow."""
        ...
