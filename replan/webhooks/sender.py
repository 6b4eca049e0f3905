"""Sending messages to one webhook: from the journal, at least once, in the order of each run's records.

A cursor in the journal says which records of each run were told. A receiver that is down delays messages and nothing
else. One process of a journal sends to a webhook at a time; what it had sent and not noted when it died is sent again,
with the same id.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import trio

from actors.run.ids import is_child
from replan.relay.held_cursor import UNREADABLE, HeldCursor
from replan.setup.people import Answering
from replan.setup.version import release
from replan.setup.webhook import WebhookEntry, key_of
from replan.webhooks.messages import About, Addressees, WebhookMessage, message_about, without_closed
from runtime.core.errors import JournalError
from runtime.journal.cursors import Behind
from runtime.journal.port import Journal
from runtime.logs import log
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


@dataclass(frozen=True, slots=True)
class PostResult:
    """The result of one try."""

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
) -> PostResult:
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
            return PostResult(type(error).__name__)
        if status // 100 == 2:
            return PostResult()
        after = min(RETRY_AFTER_MAX, float(asked)) if asked.isascii() and asked.isdigit() and len(asked) < 10 else 0.0
        return PostResult(f"status {status}", gone=status == GONE, after=after)
    return PostResult(f"no answer in {POST_SECONDS:g} s")


LOOK_SECONDS = 1.0
"""How often the journal is looked at; where nothing has changed, that costs microseconds."""
ASK_SECONDS = 5.0
"""How often a process that does not hold the cursor asks for it."""
AT_ONCE_MAX = 4
"""How many messages are on their way to one webhook."""
PAUSES = (5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0)
"""The seconds before each further try of a message; the last one repeats."""
GIVE_UP_SECONDS = 3 * 86_400.0
"""How old a message may be when a further try is made; an older one that was tried is left out."""
EVERYTHING = frozenset({"running", "waiting", "parked", "finished"})
"""What a new webhook is not told: all that happened before."""


class Sender:
    """Sends to one webhook of a home."""

    def __init__(
        self,
        journal: Journal[Any],
        name: str,
        entry: WebhookEntry,
        environment: Mapping[str, str],
        answering: Answering | None = None,
    ) -> None:
        """Set the webhook, its name in the settings, the environment, and whose links the messages have.

        No message contains a secret of the environment.
        """
        self._journal, self._name, self._entry = journal, name, entry
        self._cursor = HeldCursor(
            journal, f"webhook:{name}", passed=EVERYTHING, topic="webhook", ask_seconds=ASK_SECONDS
        )
        self._redactor = Redactor(secrets_in(environment))
        self._addressees = Addressees(name, answering)
        self._limiter = trio.CapacityLimiter(AT_ONCE_MAX)
        self._busy: set[str] = set()
        self._failures: dict[str, int] = {}
        self._again: dict[str, float] = {}
        self._version = -1
        self._failing, self._gone = False, False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Send until cancelled. It raises nothing else: no run may fail for a webhook."""
        async with AsyncExitStack() as stack:
            try:
                client = await stack.enter_async_context(open_client(self._entry))
            except Exception as error:  # noqa: BLE001 -- such as for a proxy variable that is no address
                self._fail(type(error).__name__, None)
                task_status.started()
                return
            stack.push_async_callback(self._cursor.leave)
            async with trio.open_nursery() as nursery:
                started = False
                while not self._gone:
                    try:
                        await self._look(client, nursery)
                    except Exception as error:  # noqa: BLE001 -- as the docstring says
                        unexpected = None if isinstance(error, JournalError) else error
                        self._version = -1
                        self._fail(type(error).__name__, unexpected)
                    if not started:
                        started = True
                        task_status.started()
                    await trio.sleep(LOOK_SECONDS)

    async def _look(self, client: "httpx2.AsyncClient", nursery: trio.Nursery) -> None:
        """Begin to deliver what is new or due again. Raises `JournalError`."""
        if not await self._cursor.hold():
            self._version = -1
            return
        now = trio.current_time()
        version = await self._journal.version()
        due = {run for run, at in self._again.items() if at <= now}
        if version == self._version and not due:
            return
        # What ends from here on is looked at again: the rows that follow may be older than the end of a delivery.
        self._version, busy = version, self._busy.copy()
        passed, gone = dict[str, int](), set(self._again)
        async with aclosing(self._cursor.behind()) as rows:
            async for row in rows:
                gone.discard(row.run)
                if row.run in busy or self._again.get(row.run, 0.0) > now:
                    continue
                messages, last = await self._read(row)
                if messages:
                    self._busy.add(row.run)
                    nursery.start_soon(partial(self._deliver, client, row.run, messages, last))
                elif last:
                    passed[row.run] = last
        for run in gone:  # They were deleted.
            self._failures.pop(run, None)
            self._again.pop(run, None)
        if passed:
            await self._cursor.move(passed)

    async def _read(self, row: Behind) -> tuple[list[WebhookMessage], int]:
        """Return the messages about a run's new records, and the number of the last record; 0 where it is unreadable.

        What happens in a step of another run is that run's affair.
        """
        if is_child(row.run):
            return [], row.last_seq
        try:
            about = About(row.run, (await self._journal.row(row.run)).title, row.kind)
            records = await self._journal.read(row.run, row.position)
        except UNREADABLE as error:
            self._cursor.leave_out(row.run, error)
            return [], 0
        # What a fork shares with the run that it comes from was told about that run.
        shared = getattr(records[0].event, "shared", 0) if records and records[0].seq == 1 else 0
        own = without_closed([record for record in records if record.seq > shared])
        told = [message_about(record, about, self._entry, self._redactor, self._addressees) for record in own]
        return [message for message in told if message is not None], records[-1].seq if records else 0

    async def _deliver(
        self, client: "httpx2.AsyncClient", run: str, messages: Sequence[WebhookMessage], last: int
    ) -> None:
        """Post the messages about a run in their order, and move the cursor behind each that was taken."""
        try:
            async with self._limiter:
                for message in messages:
                    posted = await post(client, self._entry, message, self._journal.now())
                    if posted.problem and not self._gives_up(run, message):
                        self._try_again(run, posted)
                        return
                    if not await self._passed(run, message.seq):
                        return
                await self._passed(run, last)
        except Exception as error:  # noqa: BLE001 -- as in `run`
            unexpected = None if isinstance(error, JournalError) else error
            self._try_again(run, PostResult(type(error).__name__), unexpected)
        finally:
            self._busy.discard(run)
            self._version = -1

    async def _passed(self, run: str, seq: int) -> bool:
        """Note that what a record says was told; return False where another process sends by now."""
        self._failures.pop(run, None)
        self._again.pop(run, None)
        if not await self._cursor.move({run: seq}):
            return False
        if self._failing and not self._again:
            self._failing = False
            log.get_logger("webhook").info("webhook.goes_on", webhook=self._name)
        return True

    def _gives_up(self, run: str, message: WebhookMessage) -> bool:
        """Tell whether a message that was not taken is left out for good: it is old, and was tried before."""
        if not self._failures.get(run) or self._journal.now() - message.at < GIVE_UP_SECONDS:
            return False
        log.get_logger("webhook").error("webhook.given_up", webhook=self._name, run_id=run, message=message.id)
        return True

    def _try_again(self, run: str, posted: PostResult, error: Exception | None = None) -> None:
        """Have the run's messages tried again later; a receiver that is gone gets none any more."""
        failures = self._failures[run] = self._failures.get(run, 0) + 1
        pause = PAUSES[min(failures, len(PAUSES)) - 1]
        self._again[run] = trio.current_time() + max(pause, posted.after)
        self._fail(posted.problem, error)
        if posted.gone:
            self._gone = True
            log.get_logger("webhook").error("webhook.gone", webhook=self._name)

    def _fail(self, problem: str, error: Exception | None) -> None:
        """Log the first of several failures."""
        if not self._failing:
            self._failing = True
            log.get_logger("webhook").warning("webhook.failed", webhook=self._name, problem=problem, exc_info=error)
