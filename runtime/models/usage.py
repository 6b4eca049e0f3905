"""Reads the usage of a call from a server's reply. Providers report usage in several forms."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runtime.core.ledger import Usage

TOKENS_MAX = 10**9
"""The largest number of tokens that is accepted for one call. No call uses more. A larger number is ignored, because no
journal could store the sums."""

_Count = Annotated[int, Field(ge=0, le=TOKENS_MAX)]


class _Totals(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)  # Servers add fields of their own.
    prompt_tokens: _Count
    completion_tokens: _Count = 0


def read_usage(reported: Any) -> Usage | None:
    """Return the usage of a chat completion; None if it is missing or invalid."""
    try:
        usage = _Totals.model_validate(reported)
    except ValidationError:
        return None
    return _usage_of(usage.prompt_tokens, usage.completion_tokens, reported)


_NAMES = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "input_tokens_details": "prompt_tokens_details",
    "output_tokens_details": "completion_tokens_details",
}
"""The Responses API's names of fields, each with the name of the same field in chat completions. Both interfaces count
tokens in the same way."""


def read_response_usage(reported: Any) -> Usage | None:
    """Return the usage of a response of the Responses API; None if it is missing or invalid."""
    return read_usage({_NAMES.get(name, name): count for name, count in fields_of(reported).items()})


def read_message_usage(reported: Mapping[str, Any]) -> Usage | None:
    """Return the usage of an Anthropic message; None if it is missing or invalid.

    Cached tokens are counted apart from other input. Tokens of reasoning are included in the output tokens. If a part
    is not a valid number, or is larger than its total, the usage counts as contradictory.
    """
    reported = fields_of(reported)
    kept, parts = fields_of(reported.get("cache_creation")), fields_of(reported.get("output_tokens_details"))
    totals = [_count(reported.get(name)) for name in ("input_tokens", "output_tokens")]
    if reported.get("input_tokens") is None or None in totals:
        return None
    counts = (
        _count(reported.get("cache_read_input_tokens")),
        _count(reported.get("cache_creation_input_tokens")),
        _count(kept.get("ephemeral_1h_input_tokens")),
        _count(parts.get("thinking_tokens")),
    )
    plain, output = (count or 0 for count in totals)
    read, write, write_1h, thought = (count or 0 for count in counts)
    if None in counts or write_1h > write or thought > output:
        tokens = plain + read + max(write, write_1h)
        return Usage(input_tokens=tokens, output_tokens=max(output, thought), contradictory=True)
    return Usage(
        input_tokens=plain + read + write,
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=write,
        cache_write_1h_tokens=write_1h,
        reasoning_tokens=thought,
    )


def _usage_of(prompt: int, completion: int, reported: Mapping[str, Any]) -> Usage:
    """Return the usage of a call from its two totals and its parts, which servers report in different places.

    OpenAI includes cached and reasoning tokens in the totals. Cached tokens under Anthropic's names are added to the
    prompt's tokens, unless `total_tokens` or OpenAI's details show that they are included. If `total_tokens` is larger
    than prompt and completion together, the rest counts as output, because some servers report reasoning in this way.
    Usage that fits none of these rules counts as contradictory.
    """
    prompt_parts, completion_parts = (
        fields_of(reported.get(f"{side}_tokens_details")) for side in ("prompt", "completion")
    )
    kept = fields_of(reported.get("cache_creation"))
    counts = (
        _count(
            prompt_parts.get("cached_tokens"),
            reported.get("cache_read_input_tokens"),
            reported.get("cached_tokens"),
            reported.get("prompt_cache_hit_tokens"),
        ),
        _count(
            prompt_parts.get("cache_write_tokens"),
            prompt_parts.get("cache_creation_tokens"),
            reported.get("cache_creation_input_tokens"),
        ),
        _count(kept.get("ephemeral_1h_input_tokens")),
        _count(completion_parts.get("reasoning_tokens"), reported.get("reasoning_tokens")),
    )
    read, write, write_1h, thought = (count or 0 for count in counts)
    unreadable, total = None in counts, reported.get("total_tokens")
    if write_1h > write:
        unreadable, write = True, write_1h
    named_by_anthropic = not reported.keys().isdisjoint(("cache_read_input_tokens", "cache_creation_input_tokens"))
    beside = named_by_anthropic and not prompt_parts and total != prompt + completion
    if beside or read + write > prompt:  # In OpenAI's own fields it is a mistake, and the dearest counts.
        unreadable = unreadable or not named_by_anthropic
        prompt += read + write
    if thought > completion:
        completion += thought
    if type(total) is int and prompt + completion < total <= TOKENS_MAX:
        completion = total - prompt
    if unreadable:
        return Usage(input_tokens=prompt, output_tokens=completion, contradictory=True)
    return Usage(
        input_tokens=prompt,
        output_tokens=completion,
        cache_read_tokens=read,
        cache_write_tokens=write,
        cache_write_1h_tokens=write_1h,
        reasoning_tokens=thought,
    )


def fields_of(value: Any) -> dict[str, Any]:
    """Return the value if it is a JSON object; otherwise an empty object."""
    return value if isinstance(value, dict) else {}


def _count(*places: Any) -> int | None:
    """Return the largest of the counts that are not None; 0 if all are None. Return None if a count is invalid."""
    there = [place for place in places if place is not None]
    if all(type(count) is int and 0 <= count <= TOKENS_MAX for count in there):
        return max(there, default=0)
    return None
