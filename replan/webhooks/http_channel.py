"""Posts the messages of one webhook: signed JSON, or a message of Slack or Teams."""

import base64
import hashlib
import hmac
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import trio

from replan.relay.message_sender import About, OutgoingMessage, Send, SendResult
from replan.setup.people import Answering
from replan.setup.version import release
from replan.setup.webhook import WebhookEntry, key_of
from replan.webhooks.messages import Addressees, message_about, without_closed
from runtime.core.events import Record
from runtime.logs.redact import Redactor, secrets_in
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


def open_client(entry: WebhookEntry) -> "httpx2.AsyncClient":
    """Return a client for one receiver. Proxies of the environment are used, but not to this machine."""
    import httpx2  # noqa: PLC0415 -- as above

    local = is_loopback(urlsplit(entry.url).hostname or "")
    return httpx2.AsyncClient(follow_redirects=False, trust_env=not local, timeout=httpx2.Timeout(POST_SECONDS))


async def post(
    client: "httpx2.AsyncClient",
    entry: WebhookEntry,
    message: OutgoingMessage,
    now: float,
) -> SendResult:
    """Post a message at a time in UTC seconds since 1970. Its failures are returned, and not raised."""
    import httpx2  # noqa: PLC0415 -- 0.1 s, for homes with a webhook

    keys = [key for secret in entry.secrets if (key := key_of(secret)) is not None]
    timestamp = int(now)
    headers = {
        "content-type": "application/json",
        "user-agent": f"replan/{release().partition(' ')[0]}",
        "webhook-id": message.id,
        "webhook-timestamp": str(timestamp),
    }
    if keys:
        headers["webhook-signature"] = signatures(keys, message.id, timestamp, message.body)
    with trio.move_on_after(POST_SECONDS):
        try:
            async with client.stream("POST", entry.url, content=message.body, headers=headers) as response:
                status, asked = response.status_code, response.headers.get("retry-after", "")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            return SendResult(type(error).__name__)
        if status // 100 == 2:
            return SendResult()
        after = min(RETRY_AFTER_MAX, float(asked)) if asked.isascii() and asked.isdigit() and len(asked) < 10 else 0.0
        return SendResult(f"status {status}", gone=status == GONE, after=after)
    return SendResult(f"no answer in {POST_SECONDS:g} s")


class WebhookChannel:
    """One webhook as a channel of messages."""

    topic = "webhook"

    def __init__(
        self, name: str, entry: WebhookEntry, environment: Mapping[str, str], answering: Answering | None = None
    ) -> None:
        """Set its name in the settings, the webhook, the environment, and whose links the messages have.

        No message contains a secret of the environment.
        """
        self.name, self._entry = name, entry
        self._redactor = Redactor(secrets_in(environment))
        self._addressees = Addressees(name, answering)

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Send]:
        """Yield what posts a message. Raises for a proxy variable that is no address."""
        async with open_client(self._entry) as client:
            yield partial(post, client, self._entry)

    def messages_about(self, records: Sequence[Record[Any]], about: About) -> list[OutgoingMessage]:
        """Return the messages about new records of a run, without those that this webhook is not told about."""
        options = (about, self._entry, self._redactor, self._addressees)
        told = [message_about(record, *options) for record in without_closed(records)]
        return [message for message in told if message is not None]
