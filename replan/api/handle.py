"""`Run`, the handle of a run that is being driven. Also drives a run under trio, for the length of a block."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Generic, Protocol, TypeVar, cast

import trio

from actors.run.kind import PreparedRun
from actors.run.open_question import OpenQuestion
from actors.run.result import RunResult
from replan.api.options import Ask, Driving
from replan.runs.engine import Engine
from replan.runs.session import RunSession
from replan.setup.installation import program
from runtime.core.errors import JournalError, UsageProblem
from runtime.core.events import Record
from runtime.drive.options import Polling, Stop

T = TypeVar("T")


class LoopEvent(Protocol):
    """An event of trio or of asyncio."""

    def set(self) -> object:
        """Set the event, and wake the tasks that wait for it. Later calls of `wait` return at once."""

    def is_set(self) -> bool:
        """Return whether the event is set."""

    def wait(self) -> Awaitable[object]:
        """Wait until the event is set."""


class RecordStream(Generic[T]):
    """The records of a run so far, and its result or error.

    Several tasks of one event loop may wait for the records or the result.
    """

    def __init__(self, new_event: Callable[[], LoopEvent]) -> None:
        self._new_event = new_event
        self._records: list[Record[Any]] = []
        self._changed, self._ended = new_event(), new_event()
        self._result: T | None = None
        self._error: Exception | None = None

    def append(self, record: Record[Any]) -> None:
        """Add a record that was written, and wake the tasks that wait for records."""
        self._records.append(record)
        self._notify()

    def end(self, result: T | None, error: Exception | None) -> None:
        """Store the result, or the error that ended the driving. Both are None if driving was cancelled.

        Only the first call has an effect.
        """
        if not self._ended.is_set():
            self._result, self._error = result, error
            self._ended.set()
            self._notify()

    async def result(self) -> T | None:
        """Wait for the end, and return the result; None if driving was cancelled.

        Raises the error that ended the driving.
        """
        await self._ended.wait()
        if self._error is not None:
            raise self._error
        return self._result

    async def records(self) -> AsyncIterator[Record[Any]]:
        """Yield every record, beginning with the first, until the end."""
        place = 0
        while True:
            while place < len(self._records):
                yield self._records[place]
                place += 1
            if self._ended.is_set():
                return
            await self._changed.wait()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = self._new_event()


GRACE_SECONDS = 10.0
"""The longest time, in seconds, that `park` waits for replies to requests that were already sent."""
LEAVE_SECONDS = 1.5
"""The longest time, in seconds, that a run waits for open replies after the program has left its `async with` block
early. Parking the run then takes at most half a second more.
"""

LOOK_SECONDS = 0.25
"""The seconds between two checks of whether somebody else has answered a question. The checks are made while the
function `ask` works on the question."""

R = TypeVar("R", bound=RunResult)
R_co = TypeVar("R_co", bound=RunResult, covariant=True)

OnRecord = Callable[[Record[Any]], None]


class Run(ABC, Generic[R_co]):
    """A run that is being driven. Iterating yields its records as they are written. `await result()` waits for the end.

    A run belongs to the event loop in which it was started. Several tasks of that loop may use it.
    """

    run_id: str

    @abstractmethod
    async def result(self) -> R_co:
        """Wait until the run has finished, waits for a person, or was parked. Return its result.

        Raises the error that ended the driving, such as `UsageProblem`.
        """

    @abstractmethod
    def __aiter__(self) -> AsyncIterator[Record[Any]]:
        """Yield every record, beginning with the first, until driving ends. Several tasks may iterate at once."""

    @abstractmethod
    def park(self) -> None:
        """Park the run.

        The run makes no new requests, and stops when all replies in flight have arrived, at the latest after
        `GRACE_SECONDS`.
        """


class TrioRun(Run[R]):
    """A run that is driven by the trio program that started it."""

    def __init__(self, run_id: str, new: PreparedRun | None = None, on_record: OnRecord | None = None) -> None:
        """Store the run's id. `new` is the prepared input of a new run; if it is None, a stored run is resumed.

        `on_record` is called with each record. Iterating yields the same records.
        """
        self.run_id, self._new = run_id, new
        self.stop = Stop(grace=GRACE_SECONDS)
        self._on_record = on_record
        self._stream: RecordStream[RunResult] = RecordStream(trio.Event)
        self._left = trio.Event()
        self.entered = trio.Event()
        """An event that is set when the run is in the journal, or when it has failed without a record. Then the `async
        with` block begins.
        """
        if new is None:
            self.entered.set()
        self._asking = trio.CancelScope()

    async def result(self) -> R:
        """Return the result. Raises the errors of `Run.result`."""
        return cast("R", await self._stream.result())

    def __aiter__(self) -> AsyncIterator[Record[Any]]:
        return self._stream.records()

    def park(self) -> None:
        """Park the run."""
        self.stop.requested.set()
        self._asking.cancel()

    def leave(self) -> None:
        """Park the run, and wait at most `LEAVE_SECONDS` for replies in flight."""
        self.park()
        self._left.set()

    def append(self, record: Record[Any], _: Any) -> None:
        """Add a record that was written."""
        self._stream.append(record)
        if self._on_record is not None:
            self._on_record(record)
        self.entered.set()

    async def drive(self, engine: Engine, ask: Ask | None) -> None:
        """Drive the run until it ends, waits or is stopped. Store its result or error."""
        session = RunSession(engine, self.run_id, self.append)
        result: RunResult | None = None
        error: Exception | None = None
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._force)
                try:
                    result = await self._drive(engine, session, ask)
                except Exception as raised:  # noqa: BLE001 -- kept for `result`, which raises it where it is awaited
                    error = raised
                nursery.cancel_scope.cancel()
        finally:
            self._stream.end(result, error)
            self.entered.set()

    async def _drive(self, engine: Engine, session: RunSession, ask: Ask | None) -> RunResult:
        if self._new is None:
            result = await session.drive(self.stop)
        else:
            result = await session.begin(self._new, self.stop)  # Here: a host lacks the passed functions.
        while ask is not None and result.status == "waiting" and result.question is not None:
            text = await self._ask(engine, ask, result.question)
            if text == "":
                break
            if text is not None:
                await engine.answer(str(result.question["id"]), text, via="ask")
            result = await session.drive(self.stop)
        return result

    async def _ask(self, engine: Engine, ask: Ask, question: OpenQuestion) -> str | None:
        """Return the answer of `ask`; None if somebody else has answered first.

        Return an empty text if `ask` returns no answer, or if the run is stopped before `ask` has returned.
        """
        text: str | None = ""
        failure: Exception | None = None

        async def watch() -> None:
            nonlocal text
            if await _wait_until_closed(engine, self.run_id, question):
                text = None
                nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            self._asking = nursery.cancel_scope
            nursery.start_soon(watch)
            try:
                if not self.stop.requested.is_set():
                    answer = ask(question)
                    text = _answer(await answer if inspect.isawaitable(answer) else answer)
            except Exception as error:  # noqa: BLE001 - raised below, without the nursery's group
                failure = error
            nursery.cancel_scope.cancel()
        if failure is not None:
            raise failure
        return text

    async def _force(self) -> None:
        await self._left.wait()
        await trio.sleep(LEAVE_SECONDS)
        self.stop.forced.set()


@asynccontextmanager
async def drive_in_trio(run: TrioRun[R], options: Driving) -> AsyncIterator[TrioRun[R]]:
    """Drive a run for the length of a block, under trio. Leaving the block early parks the run within two seconds."""
    try:
        async with options.open_engine() as engine, trio.open_nursery() as nursery:
            nursery.start_soon(run.drive, engine, options.ask)
            try:
                await run.entered.wait()  # Else a message that the block posts at once would find no run.
                yield run
            finally:
                run.leave()
    except BaseExceptionGroup as group:
        # Only the block itself fails here, and its author does not know of the nursery.
        raise group.exceptions[0] if len(group.exceptions) == 1 else group from None


async def _wait_until_closed(engine: Engine, run: str, question: OpenQuestion) -> bool:
    """Wait until a question is closed, and return True. Return False if the journal cannot be read."""
    changed = Polling(engine.journal, LOOK_SECONDS)
    try:
        while question["id"] in (await engine.result(run)).open_questions:
            await changed()
    except JournalError:
        return False  # `ask` goes on, and the next write reports it.
    return True


def _answer(answer: object) -> str:
    if answer is None:
        return ""
    if not isinstance(answer, str):
        cause = f"should return text or None, not {type(answer).__name__}"
        raise UsageProblem(cause, place="ask", hint=f"the question stays open: `{program()} answer` answers it")
    return answer.strip()
