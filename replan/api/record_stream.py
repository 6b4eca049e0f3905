"""The records and the end of a run that is being driven, for the tasks of one event loop that wait for them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Generic, Protocol, TypeVar

from runtime.core.events import Record

T = TypeVar("T")


class Event(Protocol):
    """An event of trio or of asyncio."""

    def set(self) -> object:
        """Wake the tasks that wait; later waits return at once."""

    def is_set(self) -> bool:
        """Return whether it is set."""

    def wait(self) -> Awaitable[object]:
        """Wait until it is set."""


class RecordStream(Generic[T]):
    """The records of a run so far, and its end. Several tasks may wait for it; it belongs to their event loop."""

    def __init__(self, new_event: Callable[[], Event]) -> None:
        """Take the type of the loop's events, `trio.Event` or `asyncio.Event`."""
        self._new_event = new_event
        self._records: list[Record[Any]] = []
        self._changed, self._ended = new_event(), new_event()
        self._result: T | None = None
        self._error: Exception | None = None

    def append(self, record: Record[Any]) -> None:
        """Take a record that was written."""
        self._records.append(record)
        self._notify()

    def end(self, result: T | None, error: Exception | None) -> None:
        """Take the result, or the error, or neither where driving was cancelled. Only the first end counts."""
        if not self._ended.is_set():
            self._result, self._error = result, error
            self._ended.set()
            self._notify()

    async def result(self) -> T | None:
        """Wait for the end, and return the result, or None where driving was cancelled; raise the error."""
        await self._ended.wait()
        if self._error is not None:
            raise self._error
        return self._result

    async def records(self) -> AsyncIterator[Record[Any]]:
        """Yield every record from the first on, until the end."""
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
