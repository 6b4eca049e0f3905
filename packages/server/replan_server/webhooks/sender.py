"""Sends messages about runs: at least once, in the order of each run's records.

Messages of webhooks are signed as Standard Webhooks defines, and then posted. Senders of installed distributions get
the same messages.

For each run, a cursor in the journal marks the last record whose message was accepted or given up. A receiver that does
not answer delays only its own messages. Of all processes that share a journal, only one at a time posts to a webhook.
If this process dies between posting a message and moving the cursor, the message is posted again with the same id.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson
import trio

from actors.files.suggestions import nearest
from actors.run.ids import is_child
from replan.setup.installation import release
from replan_server.held_cursor import UNREADABLE, HeldCursor
from replan_server.notifications import SenderEntry, WebhookEntry
from replan_server.webhooks.messages import About, OutgoingMessage, Webhook, message_about, without_closed
from runtime.core.entry_points import PluginGroup, accepts_arguments
from runtime.core.errors import JournalError, UsageProblem
from runtime.journal.port import Behind, Journal
from runtime.logs import log
from runtime.logs.redact import Redactor, secrets_in
from runtime.models.providers import is_loopback

if TYPE_CHECKING:
    import httpx2


POST_SECONDS = 15.0
"""The time limit of one try to send a message, in seconds. Standard Webhooks recommends 15 to 30 seconds."""
RETRY_AFTER_MAX = 3600.0
"""The longest pause, in seconds, that a receiver can demand with the header `Retry-After`. A longer demand counts as
this value."""
GONE = 410
"""The HTTP status with which a receiver says that it wants no more messages."""
LOOK_SECONDS = 1.0
"""How many seconds pass between two reads of the journal. A read takes microseconds if the journal has not changed."""
ASK_SECONDS = 5.0
"""How many seconds pass between two tries to claim a cursor that another process holds."""
AT_ONCE_MAX = 4
"""The largest number of messages that are sent to one webhook at the same time."""
PAUSES = (5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0)
"""How many seconds to wait before the second, third and each further try to send a message. All later pauses are as
long as the last value."""
GIVE_UP_SECONDS = 3 * 86_400.0
"""The age of a message, in seconds, after which a failed message is not sent again. Even an older message is tried
once."""
EVERYTHING = frozenset({"running", "waiting", "parked", "finished"})
"""All statuses of runs. A new webhook gets no messages about the earlier records of runs with these statuses."""


@dataclass(frozen=True, slots=True)
class PostResult:
    """The result of one try."""

    problem: str = ""
    """Why the message was not accepted, without text from the receiver; empty if it was accepted."""
    gone: bool = False
    """Whether the receiver wants no more messages."""
    after: float = 0.0
    """The pause that the receiver asks for before the next try, in seconds."""


def _open_client(url: str) -> "httpx2.AsyncClient":
    """Return a client for one receiver.

    The client uses the proxies of the environment, except for an address of this machine.

    Raises the errors of httpx2 for a proxy variable that is not an address.
    """
    import httpx2  # noqa: PLC0415 -- 0.1 s, for homes with a webhook

    local = is_loopback(urlsplit(url).hostname or "")
    return httpx2.AsyncClient(follow_redirects=False, trust_env=not local, timeout=httpx2.Timeout(POST_SECONDS))


def _headers_of(entry: WebhookEntry, message: OutgoingMessage, now: float) -> dict[str, str]:
    """Return the headers of a message that is sent at `now` (UTC seconds since 1970)."""
    import standardwebhooks  # noqa: PLC0415 -- as above

    at = datetime.fromtimestamp(int(now), UTC)
    keys = [standardwebhooks.Webhook(secret.get_secret_value()) for secret in entry.secrets]
    return {
        "content-type": "application/json",
        "user-agent": f"replan/{release().partition(' ')[0]}",
        "webhook-id": message.id,
        "webhook-timestamp": str(int(now)),
        "webhook-signature": " ".join(key.sign(message.id, at, message.body.decode()) for key in keys),
    }


async def post(client: "httpx2.AsyncClient", entry: WebhookEntry, message: OutgoingMessage, now: float) -> PostResult:
    """Post a message. Failures are returned, not raised. `now` is in UTC seconds since 1970."""
    import httpx2  # noqa: PLC0415 -- as above

    headers = _headers_of(entry, message, now)
    with trio.move_on_after(POST_SECONDS):
        try:
            async with client.stream("POST", entry.url, content=message.body, headers=headers) as response:
                status, pause = response.status_code, response.headers.get("retry-after", "")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            return PostResult(type(error).__name__)
        if status // 100 == 2:
            return PostResult()
        after = min(RETRY_AFTER_MAX, float(pause)) if pause.isascii() and pause.isdigit() and len(pause) < 10 else 0.0
        return PostResult(f"status {status}", gone=status == GONE, after=after)
    return PostResult(f"no answer in {POST_SECONDS:g} s")


Post = Callable[[OutgoingMessage, float], Awaitable[PostResult]]
"""A function that tries once to send a message. Its second argument is the current time in UTC seconds since 1970. It
returns failures and does not raise them.
"""


@dataclass(frozen=True, slots=True)
class Channel:
    """A way to send messages: a webhook, or the sender of a distribution."""

    topic: str
    open: Callable[[], AbstractAsyncContextManager[Post]]


def by_webhook(entry: WebhookEntry) -> Channel:
    """Return the channel to the receiver of a webhook. Opening the channel raises the errors of `_open_client`."""

    @asynccontextmanager
    async def open_post() -> AsyncIterator[Post]:
        async with _open_client(entry.url) as client:
            yield partial(post, client, entry)

    return Channel("webhook", open_post)


SENDER_PLUGINS = PluginGroup(
    "replan.senders",
    "an async function send(message, settings)",
    lambda value: iscoroutinefunction(value) and accepts_arguments(value, 2),
    {"webhook": ""},
)
"""The senders of installed distributions.

`async def send(message, settings)` sends a message: a dictionary with the keys of a webhook's body and its `id`. If the
function raises an error, the message is sent again later. `settings` are the settings of the sender in the config file.
"""


def by_plugin(name: str, entry: SenderEntry) -> Channel:
    """Return the channel of a sender. Raises `UsageProblem` if the sender is not installed or cannot be used."""
    send = SENDER_PLUGINS.get(name)
    if send is None:
        hint = nearest(name, SENDER_PLUGINS.names, kind="installed") or "install the distribution that provides it"
        raise UsageProblem(f"no sender {name!r} is installed", place="config.yaml senders", hint=hint)

    async def try_once(message: OutgoingMessage, _: float) -> PostResult:
        with trio.move_on_after(POST_SECONDS):
            try:
                await send({"id": message.id, **orjson.loads(message.body)}, dict(entry.settings))
            except Exception as error:  # noqa: BLE001 -- the distribution's own code runs here
                return PostResult(f"{type(error).__name__}: {error}")
            return PostResult()
        return PostResult(f"the sender did not end in {POST_SECONDS:g} s")

    @asynccontextmanager
    async def open_post() -> AsyncIterator[Post]:
        yield try_once

    return Channel("sender", open_post)


class Sender:
    """Sends the messages of one webhook in the settings, or of one sender of an installed distribution."""

    def __init__(
        self, journal: Journal[Any], webhook: Webhook, environment: Mapping[str, str], channel: Channel
    ) -> None:
        """Store the journal with the records, the webhook, and the channel of its messages.

        Secrets in the environment are removed from all messages.
        """
        self._journal, self._webhook, self._redactor = journal, webhook, Redactor(secrets_in(environment))
        self._channel, cursor = channel, f"{channel.topic}:{webhook.name}"
        self._cursor = HeldCursor(journal, cursor, passed=EVERYTHING, topic=channel.topic, ask_seconds=ASK_SECONDS)
        self._limiter = trio.CapacityLimiter(AT_ONCE_MAX)
        self._busy: set[str] = set()
        self._failures: dict[str, int] = {}
        self._again: dict[str, float] = {}
        self._version = -1
        self._failing, self._gone = False, False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Send until cancelled. Errors are logged, not raised, so that no run fails because of a message."""
        async with AsyncExitStack() as stack:
            try:
                post = await stack.enter_async_context(self._channel.open())
            except Exception as error:  # noqa: BLE001 -- such as for a proxy variable that is not an address
                self._fail(type(error).__name__, None)
                task_status.started()
                return
            stack.push_async_callback(self._cursor.leave)
            async with trio.open_nursery() as nursery:
                started = False
                while not self._gone:
                    try:
                        await self._look(post, nursery)
                    except Exception as error:  # noqa: BLE001 -- as the docstring says
                        unexpected = None if isinstance(error, JournalError) else error
                        self._version = -1
                        self._fail(type(error).__name__, unexpected)
                    if not started:
                        started = True
                        task_status.started()
                    await trio.sleep(LOOK_SECONDS)

    async def _look(self, post: Post, nursery: trio.Nursery) -> None:
        """Start the delivery of messages about new records, and of messages that are due for another try.

        Raises `JournalError`.
        """
        if not await self._cursor.hold():
            self._version = -1
            return
        now = trio.current_time()
        version = await self._journal.version()
        due = {run for run, at in self._again.items() if at <= now}
        if version == self._version and not due:
            return
        # A delivery that ends from here on causes another look: the rows below may have been read before its end.
        self._version, busy = version, self._busy.copy()
        passed, vanished = dict[str, int](), set(self._again)
        async with aclosing(self._cursor.behind()) as rows:
            async for row in rows:
                vanished.discard(row.run)
                if row.run in busy or self._again.get(row.run, 0.0) > now:
                    continue
                messages, last = await self._read(row)
                if messages:
                    self._busy.add(row.run)
                    nursery.start_soon(partial(self._deliver, post, row.run, messages, last))
                elif last:
                    passed[row.run] = last
        for run in vanished:  # These runs were deleted.
            self._failures.pop(run, None)
            self._again.pop(run, None)
        if passed:
            await self._cursor.move(passed)

    async def _read(self, row: Behind) -> tuple[list[OutgoingMessage], int]:
        """Return the messages about a run's new records, and the number of the last record; 0 for unreadable records.

        There are no messages about a child run.
        """
        if is_child(row.run):
            return [], row.last_seq
        try:
            facts = About(row.run, (await self._journal.row(row.run)).title, row.kind)
            records = await self._journal.read(row.run, row.position)
        except UNREADABLE as error:
            self._cursor.leave_out(row.run, error)
            return [], 0
        # For the records that a fork shares with its original, messages were sent about the original.
        shared = getattr(records[0].event, "shared", 0) if records and records[0].seq == 1 else 0
        own = without_closed([record for record in records if record.seq > shared])
        found = [message_about(record, facts, self._webhook, self._redactor) for record in own]
        return [message for message in found if message is not None], records[-1].seq if records else 0

    async def _deliver(self, post: Post, run: str, messages: Sequence[OutgoingMessage], last: int) -> None:
        """Send the messages about a run in order, and move the cursor behind the record of each accepted message."""
        try:
            async with self._limiter:
                for message in messages:
                    result = await post(message, self._journal.now())
                    if result.problem and not self._gives_up(run, message):
                        self._try_again(run, result)
                        return
                    if not await self._move_cursor(run, message.seq):
                        return
                await self._move_cursor(run, last)
        except Exception as error:  # noqa: BLE001 -- as in `run`
            unexpected = None if isinstance(error, JournalError) else error
            self._try_again(run, PostResult(type(error).__name__), unexpected)
        finally:
            self._busy.discard(run)
            self._version = -1

    async def _move_cursor(self, run: str, seq: int) -> bool:
        """Move the cursor behind a record. Return False if another process holds the cursor now, otherwise True."""
        self._failures.pop(run, None)
        self._again.pop(run, None)
        if not await self._cursor.move({run: seq}):
            return False
        if self._failing and not self._again:
            self._failing = False
            self._log().info(f"{self._channel.topic}.goes_on")
        return True

    def _gives_up(self, run: str, message: OutgoingMessage) -> bool:
        """Return whether to give up a message that was not accepted.

        A message is given up if it is old, and this try was not the first.
        """
        is_old = bool(self._failures.get(run)) and self._journal.now() - message.at >= GIVE_UP_SECONDS
        if is_old:
            self._log().error(f"{self._channel.topic}.given_up", run_id=run, message=message.id)
        return is_old

    def _log(self) -> Any:
        return log.get_logger(self._channel.topic).bind(**{self._channel.topic: self._webhook.name})

    def _try_again(self, run: str, result: PostResult, error: Exception | None = None) -> None:
        """Schedule another try for the run's messages. Stop for good if the receiver wants no more messages."""
        failures = self._failures[run] = self._failures.get(run, 0) + 1
        pause = PAUSES[min(failures, len(PAUSES)) - 1]
        self._again[run] = trio.current_time() + max(pause, result.after)
        self._fail(result.problem, error)
        if result.gone:
            self._gone = True
            self._log().error(f"{self._channel.topic}.gone")

    def _fail(self, problem: str, error: Exception | None) -> None:
        """Log a failure, unless the previous delivery failed too."""
        if not self._failing:
            self._failing = True
            self._log().warning(f"{self._channel.topic}.failed", problem=problem, exc_info=error)
