"""Mailboxes: the envelopes that wait for an actor of one run, and the tasks that work on them."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import trio

from runtime.core.messages import Crashed
from runtime.drive.actor import Actor
from runtime.drive.envelope import Deliver, Delivery, Envelope

B = TypeVar("B")
M = TypeVar("M")

MAILBOX_MAX = 1024
"""Envelopes that may wait in one mailbox: far above any budget of calls, so that `put` only fails on a bug."""


class Mailbox(Generic[B, M]):
    """A bounded channel of envelopes, and up to `Actor.concurrency` tasks that receive from it.

    A task is started, in `nursery`, only when there is work for it, and ends when the channel is empty: an idle actor
    costs nothing. `deliver` is called with every answer, also while the nursery is being cancelled: it shields itself
    where it waits. `now` gives the time of a crash.
    """

    def __init__(self, actor: Actor[B, M], nursery: trio.Nursery, deliver: Deliver, now: Callable[[], float]) -> None:
        self._actor, self._nursery, self._deliver, self._now = actor, nursery, deliver, now
        self._send, self._receive = trio.open_memory_channel[Envelope[Any]](MAILBOX_MAX)
        self._tasks = 0

    def put(self, envelope: Envelope[B]) -> None:
        """Take an envelope; never blocks. Raises `trio.WouldBlock` beyond `MAILBOX_MAX`, which is a bug."""
        self._send.send_nowait(envelope)
        if self._tasks < self._actor.concurrency:
            self._start()

    def flush(self) -> None:
        """Start a task for each envelope that waits, at any concurrency: in a run that parks none of them is slow."""
        for _ in range(self._receive.statistics().current_buffer_used):
            self._start()

    def _start(self) -> None:
        self._tasks += 1
        self._nursery.start_soon(self._serve)

    async def _serve(self) -> None:
        try:
            while True:
                try:
                    envelope = self._receive.receive_nowait()
                except trio.WouldBlock:
                    return
                await self._work(envelope)
        finally:
            self._tasks -= 1

    async def _work(self, envelope: Envelope[B]) -> None:
        message: M | Crashed | None = None
        try:
            message = await self._actor.answer(envelope, self._now)
        finally:
            await self._deliver(Delivery(envelope.work.request_id, message))
