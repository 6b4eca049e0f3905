"""The models behind OpenAI's two interfaces, chat completions and responses, with the official client.

Importing this module loads the client (0.4 s); use `runtime.models.open_models.open_openai`.
"""

from typing import Any, ClassVar

import openai

from runtime.models.answer_reader import AnswerReader
from runtime.models.completion import CompletionReader
from runtime.models.context_window import ContextWindow, ask_window
from runtime.models.http_client import open_client
from runtime.models.http_model import HttpModel, Sdk
from runtime.models.port import Fault, ModelRequest, Reply
from runtime.models.providers import OPENAI_URL, ProviderName, matches_marks_only, with_cache_fields
from runtime.models.responses import KeptReasoning, ResponseReader, split_prompt
from runtime.models.usage import fields_of

_REFUSALS = frozenset({400, 404, 422})


class OpenAIModel(HttpModel):
    """A model behind the chat completions of an OpenAI-compatible server. Use `open_openai`.

    A structured reply is requested as `json_schema`. If the server refuses this, it is requested as `json_object`, and
    then as plain text.
    """

    modes = ("json_schema", "json_object", "text")
    provider: ClassVar[ProviderName] = "openai"
    interface: ClassVar[str] = "chat"
    path = "/chat/completions"
    reader: ClassVar[type[AnswerReader]] = CompletionReader
    path_of_models = "/models"

    async def context_window(self) -> ContextWindow | None:
        """Ask the server for the model's context window, within `ASK_SECONDS`; None if the server does not state it."""
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
            body["service_tier"] = "default"  # The tier of the price list; a project may have a costlier one.
        if stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        if mode == "json_schema":
            body["response_format"] = {"type": mode, "json_schema": _named_schema(request)}
        elif mode == "json_object":
            body["response_format"] = {"type": mode}
        return with_cache_fields(body, request, marked=matches_marks_only(self._name)) if cache else body


class ResponsesModel(OpenAIModel):
    """A model behind OpenAI's Responses API. Use `open_openai` with `responses`.

    The server stores nothing. So each request asks for the model's reasoning in encrypted form, and the next attempt of
    the same visit sends this reasoning back. If the server refuses to send the reasoning, later requests do not ask for
    it. If the server refuses to accept the reasoning, the request is sent again at once without it. Neither refusal
    costs anything.
    """

    provider = "openai-responses"
    interface = "responses"
    path = "/responses"
    reader = ResponseReader
    sent_names = {"reasoning_effort": "effort"}  # noqa: RUF012 - as declared in the base class

    def __init__(self, name: str, sdk: Sdk, **more: Any) -> None:
        super().__init__(name, sdk, **more)
        self._kept = KeptReasoning()

    def _body(self, request: ModelRequest, mode: str, *, stream: bool, cache: bool) -> dict[str, Any]:
        fields = dict(request.fields)
        effort, verbosity = fields.pop("reasoning_effort", None), fields.pop("verbosity", None)
        text = {**fields_of(fields.pop("text", None)), **({"verbosity": verbosity} if verbosity else {})}
        if mode == "json_schema":
            text["format"] = {"type": mode, **_named_schema(request)}
        elif mode == "json_object":
            text["format"] = {"type": mode}
        kept = self._kept.items_for(request)
        (system, common), feedback = split_prompt(request)
        messages = [{"role": "system", "content": system}] if system else []
        user_texts = [common, feedback] if kept else [request.user]
        users = [{"role": "user", "content": content} for content in user_texts]
        body: dict[str, Any] = {
            "store": False,
            **fields,
            "model": self._name,
            "input": [*messages, users[0], *kept, *users[1:]],
            "max_output_tokens": request.output_tokens_max,
            "include": ["reasoning.encrypted_content"],
        }
        if effort:
            body["reasoning"] = {**fields_of(fields.get("reasoning")), "effort": effort}
        if text:
            body["text"] = text
        if self._address == OPENAI_URL:
            body["service_tier"] = "default"
        if stream:
            body["stream"] = True
        return with_cache_fields(body, request, marked=matches_marks_only(self._name)) if cache else body

    async def _complete(self, request: ModelRequest) -> Reply | Fault:
        answer = await super()._complete(request)
        if isinstance(answer, Fault) and answer.status in _REFUSALS and self._kept.items_for(request):
            self._kept.forget(request)
            answer = await super()._complete(request)
        return answer

    def _keep(self, _request: ModelRequest, _reader: AnswerReader, _reply: Reply) -> None:
        assert isinstance(_reader, ResponseReader)
        self._kept.add(_request, _reader.output_to_keep(), _reply.usage)


def _named_schema(request: ModelRequest) -> dict[str, Any]:
    """Return the form of a reply as OpenAI's APIs expect it.

    It is not `strict`, because a strict schema cannot have optional fields.
    """
    return {"name": request.schema_name, "schema": dict(request.schema or {}), "strict": False}


def open_sdk(secret: str, base_url: str, reply_bytes_max: int) -> Sdk:
    """Return OpenAI's SDK for a server. Raises the `UsageProblem` errors of `open_client`."""
    client = open_client(
        lambda http: openai.AsyncOpenAI(api_key=secret or "none", base_url=base_url, max_retries=0, http_client=http),
        refused=openai.OpenAIError,
        base_url=base_url,
        reply_bytes_max=reply_bytes_max,
    )
    return Sdk(client, openai.APIStatusError, openai.APIConnectionError, openai.OpenAIError, openai.AsyncStream[object])
