"""Replies in progress: the text that models have written so far. This text is not recorded."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from functools import partial

import trio

from runtime.logs.terminal_text import clean
from runtime.models.port import Fault, Model, ModelRequest, Reply

TOLD_SECONDS = 0.3
"""The shortest time between two notices about a reply in progress, in seconds."""


@dataclass(frozen=True, slots=True)
class LiveReply:
    """A reply in progress."""

    characters: int
    written: Callable[[], str]

    @property
    def text(self) -> str:
        """The last characters of the reply's text, without control characters."""
        return clean(self.written())


class LiveReplies:
    """The replies in progress to the calls that this process makes."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, LiveReply]] = {}
        self._waits: dict[str, trio.Event] = {}

    def of(self, run: str) -> dict[str, LiveReply]:
        """Return the replies in progress of a run, by the ids of their requests."""
        return dict(self._of.get(run, {}))

    async def changes(self, run: str) -> AsyncGenerator[dict[str, LiveReply], None]:
        """Yield the replies in progress of a run whenever one has grown or ended, at most once in `TOLD_SECONDS`."""
        reported: dict[str, LiveReply] = {}
        while True:
            if self.of(run) == reported:
                await self._wait(run)
            reported = self.of(run)
            yield reported
            await trio.sleep(TOLD_SECONDS)

    async def _wait(self, run: str) -> None:
        wait = self._waits.setdefault(run, trio.Event())
        try:
            await wait.wait()
        finally:
            if self._waits.get(run) is wait and not wait.statistics().tasks_waiting:
                del self._waits[run]

    def heard(self, run: str, request: str, characters: int, written: Callable[[], str]) -> None:
        """Store the progress of a reply. `WatchedModel` passes this method to the model as `ModelRequest.heard`."""
        self._of.setdefault(run, {})[request] = LiveReply(characters, written)
        self._wake(run)

    def forget(self, run: str, request: str) -> None:
        """Forget a reply that is complete, or whose call has ended."""
        of_run = self._of.get(run, {})
        if of_run.pop(request, None) is not None:
            self._wake(run)
        if not of_run:
            self._of.pop(run, None)

    def _wake(self, run: str) -> None:
        wait = self._waits.pop(run, None)
        if wait is not None:
            wait.set()


class WatchedModel:
    """A model that publishes the streamed replies of another model while they arrive."""

    def __init__(self, model: Model, replies: LiveReplies) -> None:
        self._model, self._replies = model, replies

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    @property
    def model(self) -> Model:
        """The model whose replies are published."""
        return self._model

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the model's reply or fault."""
        heard = partial(self._replies.heard, request.run, request.request_id)
        try:
            return await self._model.complete(replace(request, heard=heard))
        finally:
            self._replies.forget(request.run, request.request_id)

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()
