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


POST_SECONDS = 15.0
"""The time limit of one try; Standard Webhooks advises 15 to 30 seconds."""
RETRY_AFTER_MAX = 3600.0
"""The longest pause in seconds that a response may ask for."""
GONE = 410
"""The status code of a receiver that wants no more messages."""


def signatures(keys: Iterable[bytes], message_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of `webhook-signature`: one signature for each key, so that either of two secrets verifies."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    digests = (hmac.new(key, signed, hashlib.sha256).digest() for key in keys)
    return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)


def open_client(entry: WebhookEntry) -> "httpx2.AsyncClient":
    """Return a client for one receiver. Proxies of the environment are used, except for an address on this machine."""
    import httpx2  # noqa: PLC0415 -- 0.1 s, for homes with a webhook

    local = is_loopback(urlsplit(entry.url).hostname or "")
    return httpx2.AsyncClient(follow_redirects=False, trust_env=not local, timeout=httpx2.Timeout(POST_SECONDS))


async def post(
    client: "httpx2.AsyncClient",
    entry: WebhookEntry,
    message: OutgoingMessage,
    now: float,
) -> SendResult:
    """Post a message. Failures are returned, not raised. `now` is in UTC seconds since 1970."""
    import httpx2  # noqa: PLC0415 -- as above

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
    """A channel that posts messages to one webhook."""

    topic = "webhook"

    def __init__(
        self, name: str, entry: WebhookEntry, environment: Mapping[str, str], answering: Answering | None = None
    ) -> None:
        """Set the webhook with its name in the settings, the environment, and the people who get links in its messages.

        No message contains a secret of the environment.
        """
        self.name, self._entry = name, entry
        self._redactor = Redactor(secrets_in(environment))
        self._addressees = Addressees(name, answering)

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Send]:
        """Yield the function that posts a message. Raises where a proxy variable is not an address."""
        async with open_client(self._entry) as client:
            yield partial(post, client, self._entry)

    def messages_about(self, records: Sequence[Record[Any]], about: About) -> list[OutgoingMessage]:
        """Return the messages of this webhook about new records of a run, in their order."""
        options = (about, self._entry, self._redactor, self._addressees)
        found = [message_about(record, *options) for record in without_closed(records)]
        return [message for message in found if message is not None]
