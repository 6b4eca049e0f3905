"""What a request says about the provider's prompt cache: the run's key, and marks where reusable prefixes end. Pure.

OpenAI takes both as documented in its guide on prompt caching. Models before GPT-5.6 find the longest prefix by
themselves; later ones match prefixes only where they are marked, and bill what is written into the cache.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, cast, get_args

from runtime.core.errors import UsageProblem
from runtime.models.port import ModelRequest
from runtime.models.providers import ANTHROPIC_URL, OPENAI_URL

PromptCache = Literal["auto", "on", "off"]
"""Where the fields are sent: to the own address of OpenAI or Anthropic, to any address, or to none."""
VARIABLE = "REPLAN_PROMPT_CACHE"
"""The environment variable that holds a `PromptCache`."""

_MARK: Mapping[str, Any] = {"prompt_cache_breakpoint": {"mode": "explicit"}}
_MARKED_FROM = (5, 6)
_GPT = re.compile(r"(?:.*[/:])?gpt-(\d{1,3})(?:\.(\d{1,3}))?(?:[-:@].*)?")


def prompt_cache_of(environment: Mapping[str, str]) -> PromptCache:
    """Return what the environment says, `auto` where it says nothing. Raises `UsageProblem` for an unknown value."""
    text = environment.get(VARIABLE, "").strip().lower() or "auto"
    if text not in get_args(PromptCache):
        raise UsageProblem(f"{text[:40]!r} is unknown", place=VARIABLE, hint="auto, on or off")
    return cast("PromptCache", text)


def sends_cache_fields(setting: PromptCache, base_url: str) -> bool:
    """Tell whether the fields go to a server: others than the providers' own may refuse an unknown field."""
    return setting == "on" or (setting == "auto" and base_url in (OPENAI_URL, ANTHROPIC_URL))


def matches_marks_only(model: str) -> bool:
    """Tell whether a model matches prefixes only where they are marked: GPT-5.6 and later, also behind a prefix."""
    matched = _GPT.fullmatch(model)
    return matched is not None and (int(matched[1]), int(matched[2] or 0)) >= _MARKED_FROM


def with_cache_fields(body: Mapping[str, Any], request: ModelRequest, *, marked: bool) -> dict[str, Any]:
    """Return a body of chat completions with the run's key, and with `marked` with marks in its messages.

    One mark ends the system message, and one ends each prefix of the user message that later requests may repeat; the
    provider takes four. Its own mark at the end of the prompt is declined, since no other prompt begins with all of
    this one.
    """
    fields = dict(body)
    if request.run:
        fields["prompt_cache_key"] = request.run  # At most 64 characters, as OpenAI demands and `RUN_ID` says.
    if marked and request.repeated:
        ends = {"system": (len(request.system),), "user": request.repeated}
        fields["prompt_cache_options"] = {"mode": "explicit"}
        fields["messages"] = [
            {**message, "content": _parts(message["content"], ends[message["role"]])} for message in body["messages"]
        ]
    return fields


def _parts(text: str, ends: Sequence[int]) -> list[dict[str, Any]]:
    """Return a message's text in parts that end at `ends`, each with a mark; the text after the last one has none."""
    marked = [{"type": "text", "text": text[start:end], **_MARK} for start, end in pairwise((0, *ends))]
    rest = text[ends[-1] :]
    return [*marked, {"type": "text", "text": rest}] if rest else marked
