"""The Anthropic client: the Messages API, with the official client.

Importing this module loads the client (0.9 s); use `runtime.models.open_models.open_anthropic`.
"""

import logging
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import anthropic

from runtime.models.context_window import ContextWindow, window_in_price_list
from runtime.models.http_client import open_client
from runtime.models.http_model import HttpModel, Sdk
from runtime.models.messages import MessageReader
from runtime.models.port import ModelRequest
from runtime.models.providers import ANTHROPIC_URL
from runtime.models.usage import fields_of

_MARK = {"type": "ephemeral"}  # The cache keeps it for five minutes after each use.
_MARKS_MAX = 4
_UNIONS = frozenset({"anyOf", "oneOf", "allOf"})
"""The schema keys for unions, which Anthropic does not accept in the schema of a tool's input."""


def _without_prompts(record: logging.LogRecord) -> bool:
    return not record.msg.startswith("Request options")


# The official client writes whole requests into its log, at the level DEBUG.
logging.getLogger("anthropic._base_client").addFilter(_without_prompts)


class AnthropicModel(HttpModel):
    """A model behind the Messages API. Use `open_anthropic`.

    To get a structured reply, the request contains a tool, and the model's input to this tool is the reply. The first
    request demands that the model calls the tool. If the server refuses this, the next request only offers the tool. If
    the server refuses the tool too, the request asks for plain text. If thinking is on, a tool call cannot be demanded,
    so the first request only offers the tool.
    """

    modes = ("tool", "tool_offered", "text")
    provider = "anthropic"
    interface = "messages"
    path = "/v1/messages"
    reader = MessageReader
    path_of_models = "/v1/models?limit=1000"
    sent_names = {"stop": "stop_sequences", "reasoning_effort": "effort"}  # noqa: RUF012 - as declared above

    async def context_window(self) -> ContextWindow | None:
        """Return the context window from the price list if the server is Anthropic's own; otherwise None."""
        return window_in_price_list(self._name, ANTHROPIC_URL) if self._address == ANTHROPIC_URL else None

    def _first_mode(self, request: ModelRequest) -> str:
        mode = super()._first_mode(request)
        if _UNIONS & (request.schema or {}).keys():
            return "text"
        thinks = fields_of(request.fields.get("thinking")).get("type", "disabled") != "disabled"
        return "tool_offered" if thinks and mode == "tool" else mode

    def _body(self, request: ModelRequest, mode: str, *, stream: bool, cache: bool) -> dict[str, Any]:
        fields = dict(request.fields)
        stop, effort = fields.pop("stop", ()), fields.pop("reasoning_effort", None)
        if stop:
            fields["stop_sequences"] = list(stop)
        if effort:
            fields["output_config"] = {**fields_of(fields.get("output_config")), "effort": effort}
        marked = cache and bool(request.repeated)
        body: dict[str, Any] = {
            **fields,
            "model": self._name,
            "max_tokens": request.output_tokens_max,
            "messages": [{"role": "user", "content": _user(request, marked=marked)}],
        }
        if request.system:
            block = {"type": "text", "text": request.system, "cache_control": _MARK}
            body["system"] = [block] if marked else request.system
        if self._address == ANTHROPIC_URL:
            body["service_tier"] = "standard_only"  # The tier of the price list; a workspace may have a costlier one.
        if stream:
            body["stream"] = True
        if mode != "text":
            # Not strict: that refuses schemas with optional fields, and every reply is validated anyway.
            schema = {"type": "object", **(request.schema or {})}
            description = "Takes the whole reply. Call it once, with all that was asked for."
            body["tools"] = [{"name": request.schema_name, "description": description, "input_schema": schema}]
            demanded = {"type": "tool", "name": request.schema_name} if mode == "tool" else {"type": "auto"}
            body["tool_choice"] = {**demanded, "disable_parallel_tool_use": True}
        return body


def _user(request: ModelRequest, *, marked: bool) -> str | list[dict[str, Any]]:
    """Return the user message.

    With `marked`, the message is split, and each part that later requests may repeat has a cache mark.
    """
    if not marked:
        return request.user
    ends = request.repeated[-(_MARKS_MAX - bool(request.system)) :]
    return _parts(request.user, ends)


def _parts(text: str, ends: Sequence[int]) -> list[dict[str, Any]]:
    """Split a text at the positions `ends`, and give each part a cache mark.

    The part after the last position gets no mark.

    A part that has only white space is joined to the next part, because the API refuses such a part.
    """
    places = [0]
    for end in ends:
        if text[places[-1] : end].strip():
            places.append(end)
    marked = [{"type": "text", "text": text[first:last], "cache_control": _MARK} for first, last in pairwise(places)]
    rest = text[places[-1] :]
    if rest.strip() or not marked:
        return [*marked, {"type": "text", "text": rest}]
    return [*marked[:-1], {**marked[-1], "text": text[places[-2] :]}]


def open_sdk(secret: str, base_url: str, reply_bytes_max: int) -> Sdk:
    """Return Anthropic's SDK for a server. Raises the `UsageProblem` errors of `open_client`."""
    client = open_client(
        lambda http: anthropic.AsyncAnthropic(
            api_key=secret or "none", base_url=base_url, max_retries=0, http_client=http, open_telemetry=False
        ),
        refused=anthropic.AnthropicError,
        base_url=base_url,
        reply_bytes_max=reply_bytes_max,
    )
    return Sdk(
        client,
        anthropic.APIStatusError,
        anthropic.APIConnectionError,
        anthropic.AnthropicError,
        anthropic.AsyncStream[object],
    )
