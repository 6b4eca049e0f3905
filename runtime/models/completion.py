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
    """Return the reply in the body of a 200, or a fault: `TOO_LARGE` above `VALUES_MAX`, else `BAD_REPLY`.

    `asked` is the model's name in the request. `secret` is removed from texts; from the model's own words, if it has
    `PART_MIN` characters: a shorter one is a placeholder. A lone surrogate in a reply becomes its escape, which is
    rejected later, with feedback. A refusal in words is a reply. So is an empty text, if the model was stopped by the
    token limit or a filter: it was paid for, and another try would end the same way. Invalid usage counts as not
    reported.
    """
    if has_more_values(body, VALUES_MAX):
        text = f"the answer has more than {VALUES_MAX:,} values"
        return Fault(kind=FaultKind.TOO_LARGE, message=text, status=200)
    try:
        completion = _completion(body)
    except ValidationError:
        text_of_body = provider_text(error_of(body)[0], secret) or "nothing"
        return Fault(kind=FaultKind.BAD_REPLY, message=f"not a chat completion: {text_of_body}", status=200)
    choice = completion.choices[0]
    return completed(
        choice.message.content if choice.message.content is not None else choice.message.refusal,
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
    """Return the reply that a completion's parts are, as the server sent them; a fault where it has no text."""
    reason = reason or "stop"
    if text is None and reason not in _ENDED_EARLY:
        return Fault(kind=FaultKind.BAD_REPLY, message="a chat completion without content", status=200)
    return Reply(
        text=without_key(text or "", secret if len(secret) >= PART_MIN else ""),
        usage=_usage(usage),
        model=provider_text(model, secret) or asked,
        finish_reason=provider_text(reason, secret),
        mode=mode,
    )


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
