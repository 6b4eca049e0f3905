"""Opens a model of an OpenAI-compatible server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from runtime.core.clock import Clock, SystemClock
from runtime.models.prompt_cache import PromptCache, sends_cache_fields
from runtime.models.providers import OPENAI_URL, check_base_url, check_key
from runtime.models.replies import BYTES_MAX

if TYPE_CHECKING:
    from runtime.models.openai_client import OpenAIModel


@asynccontextmanager
async def open_openai(
    name: str,
    *,
    api_key: str = "",
    base_url: str | None = None,
    clock: Clock | None = None,
    reply_bytes_max: int = BYTES_MAX,
    stall_seconds: float | None = None,
    prompt_cache: PromptCache = "auto",
) -> AsyncIterator["OpenAIModel"]:
    """Open a model of an OpenAI-compatible server; without a base URL, of OpenAI itself. It is always closed.

    Proxies are taken from the environment, except for a server on this machine. `stall_seconds` is the longest silence
    in a reply that has begun; None for what fits the time limit of the call. `prompt_cache` says which servers are told
    of prompts that repeat.

    Raises:
        UsageProblem: for a key, base URL or proxy that is not valid.
    """
    url = check_base_url(base_url) if base_url else OPENAI_URL
    secret = check_key(api_key, place="OPENAI_API_KEY")
    from runtime.models.openai_client import OpenAIModel, open_sdk  # noqa: PLC0415 - takes 0.4 s

    model = OpenAIModel(
        name,
        open_sdk(secret, url, reply_bytes_max),
        base_url=url,
        secret=secret,
        clock=clock or SystemClock(),
        reply_bytes_max=reply_bytes_max,
        stall_seconds=stall_seconds,
        cache=sends_cache_fields(prompt_cache, url),
    )
    try:
        yield model
    finally:
        await model.aclose()
