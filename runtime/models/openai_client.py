"""The OpenAI client: chat completions of an OpenAI-compatible server, with the official client.

Importing this module loads the client (0.4 s); use `runtime.models.open_models.open_openai`.
"""

from typing import Any

import openai

from runtime.models.completion import CompletionReader
from runtime.models.context_window import ContextWindow, ask_window
from runtime.models.http_client import open_client
from runtime.models.http_model import HttpModel, Sdk
from runtime.models.port import ModelRequest
from runtime.models.providers import OPENAI_URL, matches_marks_only, with_cache_fields


class OpenAIModel(HttpModel):
    """A model behind the chat completions of an OpenAI-compatible server. Use `open_openai`.

    Structure is asked for as `json_schema`, then `json_object`, then in plain text.
    """

    modes = ("json_schema", "json_object", "text")
    refusals_of_mode = ("response_format", "json_schema", "json_object", "structured output", "grammar")
    refusal_of_cache = "prompt_cache"
    path = "/chat/completions"
    reader = CompletionReader
    path_of_models = "/models"

    async def context_window(self) -> ContextWindow | None:
        """Ask the server for the context window of the model, within `ASK_SECONDS`; None where it does not say it."""
        return await ask_window(self._address, self._name, self._ask)

    def _body(self, request: ModelRequest, mode: str, *, stream: bool, cache: bool) -> dict[str, Any]:
        messages = [{"role": "system", "content": request.system}] if request.system else []
        own = self._address == OPENAI_URL
        body: dict[str, Any] = {
            **request.fields,
            "model": self._name,
            "messages": [*messages, {"role": "user", "content": request.user}],
            # OpenAI's newer models refuse the old name; most compatible servers know only the old one.
            "max_completion_tokens" if own else "max_tokens": request.output_tokens_max,
        }
        if own:
            body["service_tier"] = "default"  # The tier of the price list; a project may have a dearer one as its own.
        if stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        if mode == "json_schema":
            # Not strict: that refuses schemas with optional fields, and every reply is validated anyway.
            schema = {"name": request.schema_name, "schema": dict(request.schema or {}), "strict": False}
            body["response_format"] = {"type": mode, "json_schema": schema}
        elif mode == "json_object":
            body["response_format"] = {"type": mode}
        return with_cache_fields(body, request, marked=matches_marks_only(self._name)) if cache else body


def open_sdk(secret: str, base_url: str, reply_bytes_max: int) -> Sdk:
    """Return OpenAI's SDK for a server. Raises the `UsageProblem` errors of `open_client`."""
    client = open_client(
        lambda http: openai.AsyncOpenAI(api_key=secret or "none", base_url=base_url, max_retries=0, http_client=http),
        refused=openai.OpenAIError,
        base_url=base_url,
        reply_bytes_max=reply_bytes_max,
    )
    return Sdk(client, openai.APIStatusError, openai.APIConnectionError, openai.OpenAIError, openai.AsyncStream[object])
