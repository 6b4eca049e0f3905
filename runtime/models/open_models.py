"""Opens models of OpenAI-compatible servers and of Anthropic.

A provider's official client is imported when a model is opened.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import UsageProblem
from runtime.core.extras import install_command
from runtime.models.providers import (
    ANTHROPIC_URL,
    OPENAI_URL,
    PROVIDERS,
    PromptCache,
    check_base_url,
    check_key,
    sends_cache_fields,
)
from runtime.models.replies import BYTES_MAX
from runtime.models.servers import Servers

if TYPE_CHECKING:
    from runtime.models.anthropic_client import AnthropicModel
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
    servers: Servers | None = None,
    responses: bool = False,
) -> AsyncIterator["OpenAIModel"]:
    """Open a model of an OpenAI-compatible server, by default OpenAI itself, and close it at the end of the block.

    Requests use chat completions, or with `responses` the Responses API. Proxies are taken from the environment, except
    for a server on this machine. `stall_seconds` is the longest silence of the server after a reply has begun; if None,
    it depends on the time limit of the call. `prompt_cache` says which servers get the fields of the prompt cache.
    `servers` has what the home knows about its servers; may be None.

    Raises:
        UsageProblem: for a key, base URL or proxy that is not valid.
    """
    url = check_base_url(base_url) if base_url else OPENAI_URL
    secret = check_key(api_key, place="OPENAI_API_KEY")
    from runtime.models.openai_client import OpenAIModel, ResponsesModel, open_sdk  # noqa: PLC0415 - takes 0.4 s

    model = (ResponsesModel if responses else OpenAIModel)(
        name,
        open_sdk(secret, url, reply_bytes_max),
        base_url=url,
        secret=secret,
        clock=clock or SystemClock(),
        reply_bytes_max=reply_bytes_max,
        stall_seconds=stall_seconds,
        cache=sends_cache_fields(prompt_cache, url),
        servers=servers or Servers(),
    )
    async with aclosing(model):
        yield model


@asynccontextmanager
async def open_anthropic(
    name: str,
    *,
    api_key: str = "",
    base_url: str | None = None,
    clock: Clock | None = None,
    reply_bytes_max: int = BYTES_MAX,
    stall_seconds: float | None = None,
    prompt_cache: PromptCache = "auto",
    servers: Servers | None = None,
) -> AsyncIterator["AnthropicModel"]:
    """Open a model of a server with the Messages API, by default Anthropic's, and close it at the end of the block.

    The arguments are the same as for `runtime.models.open_models.open_openai`.

    Raises:
        UsageProblem: for a key, base URL or proxy that is not valid, and if the extra `anthropic` is missing.
    """
    url = check_base_url(base_url, place="ANTHROPIC_BASE_URL") if base_url else ANTHROPIC_URL
    url = url.removesuffix("/v1")  # It is a part of the paths, and often written into the address.
    secret = check_key(api_key, place="ANTHROPIC_API_KEY")
    check_extra()
    from runtime.models.anthropic_client import AnthropicModel, open_sdk  # noqa: PLC0415 - takes 0.9 s

    model = AnthropicModel(
        name,
        open_sdk(secret, url, reply_bytes_max),
        base_url=url,
        secret=secret,
        clock=clock or SystemClock(),
        reply_bytes_max=reply_bytes_max,
        stall_seconds=stall_seconds,
        cache=sends_cache_fields(prompt_cache, url),
        servers=servers or Servers(),
    )
    async with aclosing(model):
        yield model


def load_clients(environment: Mapping[str, str]) -> None:
    """Import the clients of the providers that an environment configures, if they are installed.

    The import takes a second, and longer on a busy machine. If this function is not called, the first run that opens a
    model waits for the import.
    """
    interfaces = {provider.interface for provider in PROVIDERS.values() if provider.is_configured(environment)}
    if interfaces - {"messages"}:
        import_module("runtime.models.openai_client")
    if "messages" in interfaces and _has_extra():
        import_module("runtime.models.anthropic_client")


def _has_extra() -> bool:
    return find_spec("anthropic") is not None


def check_extra() -> None:
    """Raise `UsageProblem` if the extra that the client needs is missing."""
    if not _has_extra():
        hint = f"install it: {install_command('anthropic')}"
        raise UsageProblem("Anthropic's models need the extra anthropic", hint=hint)
