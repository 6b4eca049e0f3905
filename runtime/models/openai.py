"""Opens a model of an OpenAI-compatible server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import UsageProblem
from runtime.models.base_url import OPENAI_URL, check_base_url, is_loopback
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
) -> AsyncIterator["OpenAIModel"]:
    """Open a model of an OpenAI-compatible server; without a base URL, of OpenAI itself. It is always closed.

    Proxies are taken from the environment, except for a server on this machine.

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

    try:
        http = httpx2.AsyncClient(
            event_hooks={"response": [CappedAnswers(reply_bytes_max)]},
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
            trust_env=not is_loopback(urlsplit(url).hostname or ""),
        )
        client = openai.AsyncOpenAI(api_key=secret or "none", base_url=url, max_retries=0, http_client=http)
    except (ValueError, ImportError, OSError, httpx2.InvalidURL, openai.OpenAIError) as error:
        text = " ".join(str(error).split())
        hint = "check the proxy and certificate variables, such as HTTPS_PROXY and SSL_CERT_FILE"
        raise UsageProblem(f"the HTTP client cannot be set up: {text}", place="environment", hint=hint) from None
    model = OpenAIModel(name, client, base_url=url, secret=secret, clock=clock or SystemClock())
    try:
        yield model
    finally:
        await model.aclose()
