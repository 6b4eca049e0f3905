"""Reading the body of a 200 from an OpenAI-compatible server: a chat completion, or something that is none."""

import json
from contextlib import suppress
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runtime.core.cost import Usage
from runtime.models.faults import error_of, provider_text
from runtime.models.key_text import PART_MIN, without_key
from runtime.models.port import Fault, FaultKind, Reply
from runtime.models.value_count import has_more_values

TOKENS_MAX = 10**9
"""More tokens than any call uses. A larger number is not believed, and no journal could hold the sums."""
VALUES_MAX = 100_000
"""The most JSON values of an answer, or of an event of a stream; what is in the reply's text does not count."""
LISTED_VALUES_MAX = 400_000
"""The most JSON values of a list of models; a catalogue of 400 models has 30,000."""
_ENDED_EARLY = frozenset({"length", "content_filter"})


class _Lenient(BaseModel):
    # Servers add fields of their own; only the fields that are read here are checked.
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Message(_Lenient):
    content: str | None = None
    refusal: str | None = None
    tool_calls: Any = None


class _Choice(_Lenient):
    message: _Message
    finish_reason: str | None = None


class _Usage(_Lenient):
    prompt_tokens: Annotated[int, Field(ge=0, le=TOKENS_MAX)]
    completion_tokens: Annotated[int, Field(ge=0, le=TOKENS_MAX)] = 0


class _Completion(_Lenient):
    choices: Annotated[list[_Choice], Field(min_length=1)]
    model: str | None = None
    usage: Any = None


def read_completion(body: bytes, *, asked: str, mode: str, secret: str = "") -> Reply | Fault:
    """Return the reply in the body of a 200, or a fault.

    It is `TOO_LARGE` above `VALUES_MAX`, `NO_API` for a web page, else `BAD_REPLY`. `asked` is the model's name in the
    request. `secret` is removed from texts; from the model's own words, if it has `PART_MIN` characters: a shorter one
    is a placeholder. A lone surrogate in a reply becomes its escape, which is rejected later, with feedback. The
    arguments of the only tool call are the text of a reply without one. A refusal in words is a reply. So is an empty
    text, if the model was stopped by the token limit or a filter, or if the server reports usage: it was paid for, and
    what it cost is known. Invalid usage counts as not reported.
    """
    if has_more_values(body, VALUES_MAX):
        text = f"the answer has more than {VALUES_MAX:,} values"
        return Fault(kind=FaultKind.TOO_LARGE, message=text, status=200)
    try:
        completion = _completion(body)
    except ValidationError:
        text_of_body = provider_text(error_of(body)[0], secret) or "nothing"
        if body.lstrip()[:1] == b"<":  # No model writes the frame of an answer, so none was asked.
            return Fault(kind=FaultKind.NO_API, message=f"a web page: {text_of_body}", status=200)
        return Fault(kind=FaultKind.BAD_REPLY, message=f"what is no chat completion: {text_of_body}", status=200)
    choice = completion.choices[0]
    message = choice.message
    return completed(
        first_text(message.content, only_arguments(message.tool_calls), message.refusal),
        reason=choice.finish_reason or "",
        usage=completion.usage,
        model=completion.model or "",
        asked=asked,
        mode=mode,
        secret=secret,
    )


def completed(
    text: str | None, *, reason: str, usage: Any, model: str, asked: str, mode: str, secret: str
) -> Reply | Fault:
    """Return the reply that a completion's parts are, as the server sent them.

    Without a text it is empty where it was paid for (see `read_completion`), else a fault.
    """
    reason = reason or "stop"
    if text is None and reason not in _ENDED_EARLY and _usage(usage) is None:
        return Fault(kind=FaultKind.BAD_REPLY, message="a chat completion without content", status=200)
    return Reply(
        text=without_key(text or "", secret if len(secret) >= PART_MIN else ""),
        usage=_usage(usage),
        model=provider_text(model, secret) or asked,
        finish_reason=provider_text(reason, secret),
        mode=mode,
    )


def first_text(*texts: str | None) -> str | None:
    """Return the first text that is not empty, else the first that is there."""
    there = [text for text in texts if text is not None]
    return next(filter(None, there), there[0] if there else None)


def only_arguments(calls: Any) -> str | None:
    """Return the arguments of the only tool call of a message, as text; None for none and for several."""
    if not isinstance(calls, list) or len(calls) != 1 or not isinstance(calls[0], dict):
        return None
    function = calls[0].get("function")
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return json.dumps(arguments) if isinstance(arguments, dict) else arguments if isinstance(arguments, str) else None


def _completion(body: bytes) -> _Completion:
    """Return the completion in a body. Raises `ValidationError`."""
    try:
        return _Completion.model_validate_json(body)
    except ValidationError:
        # A lone surrogate is the model's mistake, not the server's. The escape can be stored and says what was there.
        with suppress(ValueError, RecursionError):
            return _Completion.model_validate(json.loads(body, object_hook=_escaped))
        raise


def _escaped(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: _escape(value) if isinstance(value, str) else value for name, value in fields.items()}


def _escape(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _usage(reported: Any) -> Usage | None:
    try:
        usage = _Usage.model_validate(reported)
    except ValidationError:
        return None
    return Usage(input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens)


def listed_models(body: bytes) -> frozenset[str]:
    """Return the names of the models in the answer to `GET /models`; none where it cannot be read."""
    if has_more_values(body, LISTED_VALUES_MAX):
        return frozenset()
    with suppress(ValueError, RecursionError):
        plain = json.loads(body)
        listed = plain.get("data") if isinstance(plain, dict) else None
        if isinstance(listed, list):
            names = (each.get("id") for each in listed if isinstance(each, dict))
            return frozenset(name for name in names if isinstance(name, str))
    return frozenset()
