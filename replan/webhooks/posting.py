"""Posting one signed message, within a time limit, without following redirects, and without reading the answer."""

import base64
import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import trio

from replan.setup.version import release
from replan.setup.webhook import WebhookEntry, key_of
from replan.webhooks.messages import WebhookMessage
from runtime.models.base_url import is_loopback

if TYPE_CHECKING:
    import httpx2


def signatures(keys: Iterable[bytes], message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of `webhook-signature`: one signature for each key, so that either of two secrets verifies."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    digests = (hmac.new(key, signed, hashlib.sha256).digest() for key in keys)
    return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)


POST_SECONDS = 15.0
"""How long one try may take in all, as Standard Webhooks advises 15 to 30 seconds."""
RETRY_AFTER_MAX = 3600.0
"""The longest pause that an answer may ask for."""
GONE = 410
"""The status by which a receiver says that it wants no more messages."""


@dataclass(frozen=True, slots=True)
class Posted:
    """What became of one try."""

    problem: str = ""
    """Why the message was not taken, without a text that the receiver chose; empty where it was."""
    gone: bool = False
    """Whether the receiver wants no more messages."""
    after: float = 0.0
    """The pause that the answer asks for, in seconds."""


def open_client(entry: WebhookEntry) -> "httpx2.AsyncClient":
    """Return a client for one receiver. Proxies of the environment are used, but not to this machine."""
    import httpx2  # noqa: PLC0415 -- as above

    local = is_loopback(urlsplit(entry.url).hostname or "")
    return httpx2.AsyncClient(follow_redirects=False, trust_env=not local, timeout=httpx2.Timeout(POST_SECONDS))


async def post(
    client: "httpx2.AsyncClient",
    entry: WebhookEntry,
    message: WebhookMessage,
    now: float,
) -> Posted:
    """Post a message at a time in UTC seconds since 1970. Its failures are returned, and not raised."""
    import httpx2  # noqa: PLC0415 -- 0.1 s, for homes with a webhook

    keys = [key for secret in entry.secrets if (key := key_of(secret)) is not None]
    timestamp = int(now)
    headers = {
        "content-type": "application/json",
        "user-agent": f"replan/{release().partition(' ')[0]}",
        "webhook-id": message.id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signatures(keys, message.id, timestamp, message.body),
    }
    with trio.move_on_after(POST_SECONDS):
        try:
            async with client.stream("POST", entry.url, content=message.body, headers=headers) as response:
                status, asked = response.status_code, response.headers.get("retry-after", "")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            return Posted(type(error).__name__)
        if status // 100 == 2:
            return Posted()
        after = min(RETRY_AFTER_MAX, float(asked)) if asked.isascii() and asked.isdigit() and len(asked) < 10 else 0.0
        return Posted(f"status {status}", gone=status == GONE, after=after)
    return Posted(f"no answer in {POST_SECONDS:g} s")
