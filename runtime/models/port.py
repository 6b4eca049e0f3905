"""The port of models: complete one request, and return a reply or a fault.

A failure of the connection is also a value (`Fault`), not an exception, because it is sent through a mailbox. What a
fault costs depends on whether the request may have reached the provider.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from runtime.core.events import Value
from runtime.core.ledger import Usage


class FaultKind(StrEnum):
    """The reason why a try got no reply.

    The kind decides whether there is another try, and whether the failed try was charged.
    """

    REFUSED_CONNECTION = "refused_connection"  # no connection: nothing was sent
    UNRESOLVED_HOST = "unresolved_host"  # the name does not resolve: final
    RATE_LIMITED = "rate_limited"  # 429, and the other 4xx that ask to come back later: 408, 409, 425
    AUTH = "auth"  # 401, 403, and an account without credit (402, an exhausted quota): final
    NOT_FOUND = "not_found"  # 404: final
    CONTENT_REFUSED = "content_refused"  # a 4xx whose code says that a filter rejected the prompt: final
    PROMPT_TOO_LONG = "prompt_too_long"  # the prompt leaves no room for a reply in the model's context window: final
    BAD_REQUEST = "bad_request"  # any other 4xx: final
    SERVER_ERROR = "server_error"  # 5xx
    CUT = "cut"  # the connection broke after the request was sent
    TIMEOUT = "timeout"
    BAD_REPLY = "bad_reply"  # 200, but not a completion (no choices, not JSON)
    NO_API = "no_api"  # 200 with a web page: no model was asked, so nothing was charged
    TOO_LARGE = "too_large"  # the reply exceeds the byte cap

    @property
    def final(self) -> bool:
        """Whether another try would certainly fail too."""
        return self in _FINAL

    @property
    def refunded(self) -> bool:
        """Whether the provider certainly did not charge for the try."""
        return self in _REFUNDED


_FINAL = frozenset(
    {
        FaultKind.UNRESOLVED_HOST,
        FaultKind.AUTH,
        FaultKind.NOT_FOUND,
        FaultKind.CONTENT_REFUSED,
        FaultKind.PROMPT_TOO_LONG,
        FaultKind.BAD_REQUEST,
    }
)
_REFUNDED = _FINAL | {FaultKind.REFUSED_CONNECTION, FaultKind.RATE_LIMITED, FaultKind.NO_API}
NO_COMPLETION = frozenset({FaultKind.BAD_REPLY, FaultKind.NO_API})
"""The kinds of faults for answers that do not come from a model's API. Another service may use the address."""
LACKS_REPLY = "the recording has no reply"
"""The first words of the fault that a recording returns if it has no reply to a prompt."""


class Fault(Value):
    """The failure of a try: it says why there is no reply, and whether the try may have been charged."""

    kind: FaultKind
    message: str
    status: int | None = None
    retry_after: float | None = None
    """The wait that the server requests, in seconds."""
    unpaid: bool = False
    """Whether the provider charged nothing for this fault, although faults of this kind are usually charged. An example
    is an error of a local gateway.
    """


HEARD_MAX = 4_000
"""While a reply is unfinished, at most this many of its last characters are shown."""

Heard = Callable[[int, Callable[[], str]], None]
"""A function that is called while a streamed reply comes in.

Its first argument is the number of characters that the model has written so far, including its reasoning. Its second
argument is a function that returns the last `HEARD_MAX` characters of the reply's text. These characters contain
neither the reasoning nor the API key.
"""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One try of a call: the prompt, its limits, and the form of the reply."""

    request_id: str
    purpose: str
    """The id of the step that makes the call, or another name for the purpose of the call."""
    system: str
    """The system message of the rendered prompt; may be empty."""
    user: str
    timeout_seconds: float
    output_tokens_max: int
    """The largest number of tokens in the reply. The server stops the reply at this number."""
    schema: Mapping[str, Any] | None = None
    """The JSON Schema that the reply must fit; None for free text."""
    schema_name: str = "reply"
    material: Mapping[str, Any] = field(default_factory=dict)
    """The content of the prompt as data, for models that run in this process. It is never sent to a server."""
    run: str = ""
    """The id of the run, the first part of `client_request_id`; empty outside of a run."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request's body, such as `temperature`. The client's own fields take precedence."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers of the request. The client's own headers take precedence."""
    context_window: int | None = None
    """The size of the context window in tokens, if a person has set it; None means that the server is asked."""
    model: str = ""
    """The name of the model that the step names; empty for the run's own model."""
    repeated: tuple[int, ...] = ()
    """The lengths, in ascending order, of the beginnings of the user message that later requests for the same purpose
    may repeat.
    """
    visit: str = ""
    """A name that the attempts of one visit of a step share; empty if the model keeps no reasoning between attempts."""
    heard: Heard | None = field(default=None, compare=False)
    """A function that is called when a piece of a streamed reply arrives; may be None."""

    @property
    def client_request_id(self) -> str:
        """The value of `X-Client-Request-Id`: `RUN/REQUEST_ID`."""
        return f"{self.run}/{self.request_id}" if self.run else self.request_id


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer to a try. The answer may be incomplete."""

    text: str
    usage: Usage | None
    """The usage that the provider reported; None if it reported none."""
    model: str
    finish_reason: str = "stop"
    """The reason why the model stopped, in OpenAI's terms."""
    mode: str = "text"
    """The way in which a structured reply was requested: `json_schema`, `json_object`, `tool`, `tool_offered` or
    `text`.
    """
    notices: tuple[str, ...] = ()
    """Notices for people about the reply, for example that a parameter was refused or the text was in an unusual place.
    """
    original: str = ""
    """The text that the model wrote, if its JSON was broken and `text` contains the repaired JSON; otherwise empty."""


class Model(Protocol):
    """A model that completes requests: at a provider, or in this process."""

    @property
    def name(self) -> str:
        """The model's name, as price lists and records show it."""

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the reply or the fault. Raises only if there is a bug or the call is cancelled."""

    async def aclose(self) -> None:
        """Close all connections. No call may follow."""
