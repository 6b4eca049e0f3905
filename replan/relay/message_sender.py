"""Sends messages about records of the journal on one channel: at least once, in the order of each run's records.

A cursor in the journal has, for each run, the last record for which nothing is left to send. A receiver that is down
delays messages and nothing else. One process of a journal sends on a channel at a time. If it dies between sending a
message and moving the cursor, the message is sent again, with the same id.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import trio

from actors.run.ids import is_child
from replan.relay.held_cursor import UNREADABLE, HeldCursor
from runtime.core.errors import JournalError
from runtime.core.events import Record
from runtime.journal.cursors import Behind
from runtime.journal.port import Journal
from runtime.logs import log


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message about one record."""

    id: str
    """Its id, made from the run's id and the record's number; a repetition has the same id."""
    seq: int
    """The number of the record."""
    at: float
    """When the record was appended (UTC seconds since 1970)."""
    body: bytes
    """The content; a repetition has the same bytes."""


@dataclass(frozen=True, slots=True)
class About:
    """The facts about a run that messages contain."""

    run: str
    """Its id."""
    title: str
    """Its title in lists."""
    kind: str
    """The name of its kind."""


@dataclass(frozen=True, slots=True)
class SendResult:
    """The result of one try."""

    problem: str = ""
    """Why the message was not accepted, without any text of the receiver; empty where it was accepted."""
    refused: bool = False
    """Whether the receiver refused this message for good, so that it is not tried again."""
    gone: bool = False
    """Whether the receiver wants no more messages at all."""
    after: float = 0.0
    """The pause before the next try that the receiver asks for, in seconds."""


Send = Callable[[OutgoingMessage, float], Awaitable[SendResult]]
"""Sends a message; the number is the time now, in UTC seconds since 1970. Failures are returned, not raised."""


class Channel(Protocol):
    """One receiver of messages."""

    @property
    def topic(self) -> str:
        """The type of channel, such as `webhook`, in the names of the cursor, the logger and the log's events."""
        ...

    @property
    def name(self) -> str:
        """Its name in the settings."""
        ...

    def opened(self) -> AbstractAsyncContextManager[Send]:
        """Return a context manager for the function that sends. It may raise where settings cannot be used."""
        ...

    def messages_about(self, records: Sequence[Record[Any]], about: About) -> list[OutgoingMessage]:
        """Return the messages about new records of a run, in their order; not every record has one."""
        ...


LOOK_SECONDS = 1.0
"""The time between two looks at the journal; a look takes microseconds where nothing has changed."""
ASK_SECONDS = 5.0
"""The time between two tries of a process to hold a cursor that another process holds."""
AT_ONCE_MAX = 4
"""The most messages that are sent on one channel at the same time."""
PAUSES = (5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0)
"""The seconds before each further try of a message; the last one repeats."""
GIVE_UP_SECONDS = 3 * 86_400.0
"""The age at which a message is not tried again; each message is tried once, however old it is."""
EVERYTHING = frozenset({"running", "waiting", "parked", "finished"})
"""The statuses of the runs that a new channel begins behind: it gets no messages about earlier records."""


class Sender:
    """Sends on one channel of a home."""

    def __init__(self, journal: Journal[Any], channel: Channel) -> None:
        """Set the journal that has the records, and the channel."""
        self._journal, self._channel, self._topic, self._name = journal, channel, channel.topic, channel.name
        self._cursor = HeldCursor(
            journal, f"{self._topic}:{self._name}", passed=EVERYTHING, topic=self._topic, ask_seconds=ASK_SECONDS
        )
        self._limiter = trio.CapacityLimiter(AT_ONCE_MAX)
        self._busy: set[str] = set()
        self._failures: dict[str, int] = {}
        self._again: dict[str, float] = {}
        self._version = -1
        self._failing, self._gone = False, False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Send until cancelled. This raises no error: no run may fail because of a message."""
        async with AsyncExitStack() as stack:
            try:
                send = await stack.enter_async_context(self._channel.opened())
            except Exception as error:  # noqa: BLE001 -- such as for a proxy variable that is not an address
                self._fail(type(error).__name__, None)
                task_status.started()
                return
            stack.push_async_callback(self._cursor.leave)
            async with trio.open_nursery() as nursery:
                started = False
                while not self._gone:
                    try:
                        await self._look(send, nursery)
                    except Exception as error:  # noqa: BLE001 -- as the docstring says
                        unexpected = None if isinstance(error, JournalError) else error
                        self._version = -1
                        self._fail(type(error).__name__, unexpected)
                    if not started:
                        started = True
                        task_status.started()
                    await trio.sleep(LOOK_SECONDS)

    async def _look(self, send: Send, nursery: trio.Nursery) -> None:
        """Begin to deliver messages about new records, and those that are tried again now. Raises `JournalError`."""
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
        passed, gone = dict[str, int](), set(self._again)
        async with aclosing(self._cursor.behind()) as rows:
            async for row in rows:
                gone.discard(row.run)
                if row.run in busy or self._again.get(row.run, 0.0) > now:
                    continue
                messages, last = await self._read(row)
                if messages:
                    self._busy.add(row.run)
                    nursery.start_soon(partial(self._deliver, send, row.run, messages, last))
                elif last:
                    passed[row.run] = last
        for run in gone:  # These runs were deleted.
            self._failures.pop(run, None)
            self._again.pop(run, None)
        if passed:
            await self._cursor.move(passed)

    async def _read(self, row: Behind) -> tuple[list[OutgoingMessage], int]:
        """Return the messages about a run's new records, and the number of the last record; 0 where it is unreadable.

        A run that is a step of another run has no messages of its own.
        """
        if is_child(row.run):
            return [], row.last_seq
        try:
            about = About(row.run, (await self._journal.row(row.run)).title, row.kind)
            records = await self._journal.read(row.run, row.position)
        except UNREADABLE as error:
            self._cursor.leave_out(row.run, error)
            return [], 0
        # For the records that a fork shares with its original, messages were sent about the original.
        shared = getattr(records[0].event, "shared", 0) if records and records[0].seq == 1 else 0
        own = [record for record in records if record.seq > shared]
        return self._channel.messages_about(own, about), records[-1].seq if records else 0

    async def _deliver(self, send: Send, run: str, messages: Sequence[OutgoingMessage], last: int) -> None:
        """Send the messages about a run in their order, and move the cursor behind each that was accepted."""
        try:
            async with self._limiter:
                for message in messages:
                    result = await send(message, self._journal.now())
                    if result.problem and not self._gives_up(run, message, result):
                        self._try_again(run, result)
                        return
                    if not await self._passed(run, message.seq):
                        return
                await self._passed(run, last)
        except Exception as error:  # noqa: BLE001 -- as in `run`
            unexpected = None if isinstance(error, JournalError) else error
            self._try_again(run, SendResult(type(error).__name__), unexpected)
        finally:
            self._busy.discard(run)
            self._version = -1

    async def _passed(self, run: str, seq: int) -> bool:
        """Move the cursor behind a record; return False where another process holds it now."""
        self._failures.pop(run, None)
        self._again.pop(run, None)
        if not await self._cursor.move({run: seq}):
            return False
        if self._failing and not self._again:
            self._failing = False
            self._log().info(f"{self._topic}.goes_on")
        return True

    def _gives_up(self, run: str, message: OutgoingMessage, result: SendResult) -> bool:
        """Tell whether a message that was not accepted is given up: it was refused, or is old and was tried before."""
        is_old = bool(self._failures.get(run)) and self._journal.now() - message.at >= GIVE_UP_SECONDS
        if result.refused:
            self._log().error(f"{self._topic}.refused", run_id=run, message=message.id, problem=result.problem)
        elif is_old:
            self._log().error(f"{self._topic}.given_up", run_id=run, message=message.id)
        return result.refused or is_old

    def _log(self) -> Any:
        """Return the logger of the channel."""
        return log.get_logger(self._topic).bind(**{self._topic: self._name})

    def _try_again(self, run: str, result: SendResult, error: Exception | None = None) -> None:
        """Schedule another try for the run's messages; stop for good where the receiver wants no more messages."""
        failures = self._failures[run] = self._failures.get(run, 0) + 1
        pause = PAUSES[min(failures, len(PAUSES)) - 1]
        self._again[run] = trio.current_time() + max(pause, result.after)
        self._fail(result.problem, error)
        if result.gone:
            self._gone = True
            self._log().error(f"{self._topic}.gone")

    def _fail(self, problem: str, error: Exception | None) -> None:
        """Log the first of several failures."""
        if not self._failing:
            self._failing = True
            self._log().warning(f"{self._topic}.failed", problem=problem, exc_info=error)
