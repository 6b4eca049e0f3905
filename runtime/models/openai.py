"""Opens a model of an OpenAI-compatible server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies

from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import UsageProblem
from runtime.models.base_url import OPENAI_URL, check_base_url, is_loopback, is_name
from runtime.models.prompt_cache import PromptCache
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
    secret = api_key.strip()
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise UsageProblem("holds characters that no key has", place="OPENAI_API_KEY", hint="copy the key again")
    import httpx2  # noqa: PLC0415 - these take 0.4 s, which `replan --help` must not pay
    import openai  # noqa: PLC0415

    from runtime.models.openai_client import CappedAnswers, OpenAIModel  # noqa: PLC0415

    _check_proxies()
    try:
        http = httpx2.AsyncClient(
            event_hooks={"response": [CappedAnswers(reply_bytes_max)]},
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
            trust_env=not is_loopback(urlsplit(url).hostname or ""),
        )
        client = openai.AsyncOpenAI(api_key=secret or "none", base_url=url, max_retries=0, http_client=http)
    except (ValueError, ImportError, OSError, httpx2.InvalidURL, openai.OpenAIError) as error:
        # An address is not quoted, nor a part of it: it may hold a password.
        is_local = isinstance(error, OSError | ImportError)
        text = " ".join(str(error).split()) if is_local else "an address in the environment is not valid"
        hint = "check the proxy and certificate variables, such as HTTPS_PROXY and SSL_CERT_FILE"
        raise UsageProblem(f"the HTTP client cannot be set up: {text}", place="environment", hint=hint) from None
    model = OpenAIModel(
        name,
        client,
        base_url=url,
        secret=secret,
        clock=clock or SystemClock(),
        reply_bytes_max=reply_bytes_max,
        stall_seconds=stall_seconds,
        prompt_cache=prompt_cache,
    )
    try:
        yield model
    finally:
        await model.aclose()


def _check_proxies() -> None:
    """Raise `UsageProblem` for a proxy whose host cannot be a name, which would otherwise fail in each call."""
    for scheme, address in getproxies().items():
        try:
            valid = scheme == "no" or is_name(urlsplit(address).hostname or "")
        except ValueError:
            valid = False
        if not valid:
            raise UsageProblem(
                "the proxy's address is not valid", place=f"{scheme.upper()}_PROXY", hint="such as http://proxy:3128"
            )
