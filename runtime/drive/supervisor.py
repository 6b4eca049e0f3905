"""The supervisor: the only writer of a run's records, and the only place that opens the nursery for its work.

One loop: receive a message, `accept`, `advance` until quiet, append (durably, as `history` does), log, reconcile.
Reconciling is the whole of scheduling: outstanding minus running is started, running minus outstanding is cancelled. A
new run, a resumed run and a pruned branch are the same case.

Back-pressure: the inbox has size zero; envelopes go out without waiting, since a blocking send into a full mailbox
could wait for the very actor that waits for the inbox.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import trio

from runtime.core.clock import Clock
from runtime.core.crash_points import reached
from runtime.core.error_groups import root_cause
from runtime.core.errors import JournalError
from runtime.core.machine import Machine, Refused, Work, settle
from runtime.core.messages import Mailed, Parking, Resumed
from runtime.drive.actor import Actor, Delivery, Envelope, Mailbox
from runtime.drive.changes import News, Polling
from runtime.drive.lease import LeaseKeeper
from runtime.drive.options import Ending, LeaseTerms, Stop
from runtime.drive.run_log import AGAIN_SECONDS, History, OnRecord, Trace
from runtime.journal.port import Journal
from runtime.logs import log

__all__ = ["GRACE_SECONDS", "Ending", "LeaseTerms", "Stop", "Supervisor"]

S = TypeVar("S")
E = TypeVar("E")
M = TypeVar("M")

GRACE_SECONDS = 10.0
"""How long a stop waits for replies in flight, before it cancels them (they stay charged as unknown)."""


class Supervisor(Generic[S, E, M]):
    """Drives one run of one machine from claim to release."""

    def __init__(
        self,
        run: str,
        *,
        machine: Machine[S, E, Any],
        journal: Journal[E],
        actors: Sequence[Actor[M]],
        clock: Clock,
        lease: LeaseTerms,
        stop: Stop | None = None,
        on_record: OnRecord[E, S] | None = None,
        trace: Trace[E, S] = lambda _, __: {},
        notice: Callable[[str], None] = lambda _: None,
        news: News | None = None,
        rest_after: float | None = None,
    ) -> None:
        """Take what the run is driven with.

        `on_record` hears of every record, with the state after its transaction; `notice` gets a line when something
        outside holds the run up. A host gives `news`, and `rest_after`: a run that only waits for a clock, and for so
        many seconds at least, is left to it (`Ending.WAITING`), and one that is not due any more is left alone.
        """
        self.run = run
        self._machine, self._journal, self._clock = machine, journal, clock
        self._tenure = LeaseKeeper(journal, run, lease, clock)
        self._actors = {actor.address: actor for actor in actors}
        self._stop, self._may_stop = stop or Stop(), stop is not None
        self._trace = trace
        self._history = History(
            run,
            machine,
            journal,
            self._tenure,
            clock=clock,
            stop=self._stop,
            on_record=on_record,
            trace=trace,
            notice=notice,
        )
        self._news, self._rest_after = news or Polling(journal, lease.poll), rest_after
        self._mailboxes: dict[str, Mailbox[M]] = {}
        self._running: dict[str, Envelope] = {}
        self._send, self._inbox = trio.open_memory_channel[Delivery[Any] | Mailed](0)
        self._mail_seen = 0
        self._early: list[Mailed] = []
        self._patience = trio.CancelScope()
        self._parked = False

    @property
    def state(self) -> S:
        """The state after the last record."""
        return self._history.state

    async def drive(self, first: Any = None) -> Ending:
        """Claim the run, go on where its journal ends, and drive it to its end, to a question, or to a stop.

        `first` is the message that starts a run whose journal is empty. Raises `Held`, `RunNotFound`, `JournalDamaged`
        before anything is done, and `Fenced` if another driver takes over.
        """
        await self._tenure.claim()
        try:
            reached("claim.after")
            self._mail_seen = await self._history.load()
            if await self._ended_by_mail():
                ending = Ending.FINISHED
            else:
                ending = Ending.WAITING if await self._overtaken() else await self._work(first)
        except BaseExceptionGroup as group:
            raise root_cause(group) from group
        finally:
            with trio.CancelScope(shield=True):
                await self._tenure.release()
        return ending

    async def _work(self, first: Any) -> Ending:
        async with trio.open_nursery() as nursery:
            try:
                nursery.start_soon(self._tenure.keep)
                self._mailboxes = {
                    address: Mailbox(actor, nursery, self._deliver, self._clock)
                    for address, actor in self._actors.items()
                }
                await self._begin(first)
                nursery.start_soon(self._watch_mail)
                if self._may_stop:
                    nursery.start_soon(self._watch_stop)
                ending = await self._loop()
            finally:
                # Also when this was cancelled or failed: an answer in hand would wait, shielded, for nobody.
                self._inbox.close()
                self._mailboxes = {}  # They hold this object: a cycle would keep the run until the next collection.
            nursery.cancel_scope.cancel()
        return ending

    async def _ended_by_mail(self) -> bool:
        """Take a message that ends the run before it is resumed, so that nothing is asked again for nothing."""
        self._early = await self._new_mail()
        for mail in self._early:
            accepted = self._machine.accept(self.state, mail)
            if accepted is None or isinstance(accepted, Refused):
                continue
            state, events = settle(self._machine, self.state, accepted)
            if self._machine.summary(state).status == "finished":
                await self._history.append(state, events, mail.inbox)
                return True
        return False

    async def _overtaken(self) -> bool:
        """Tell whether a host comes for nothing: another driver has been here since it heard that the run is due.

        The status row decides, since it is what hosts go by.
        """
        if self._rest_after is None or self._early or self._history.seq == 0:
            return False
        due = (await self._journal.row(self.run)).summary.due
        return due is None or due > self._clock.now()

    async def _begin(self, first: Any) -> None:
        """Start or resume the run, and take what lies in the inbox; nothing when a stop is wished for already."""
        opening = first is not None and self._history.seq == 0
        if self._stop.park.is_set():
            if opening:
                await self._record_only(first)
        elif not self._finished():
            await self._step(first if opening else Resumed(self._tenure.epoch, self._clock.now()))
            for mail in self._early:
                await self._take(mail)

    async def _record_only(self, first: Any) -> None:
        """Write down that the run began, and nothing that follows from it."""
        accepted = self._machine.accept(self.state, first)
        if accepted is not None and not isinstance(accepted, Refused):
            await self._history.append(self._machine.evolve(self.state, accepted), [accepted])

    async def _loop(self) -> Ending:
        while not self._finished():
            if self._parked or self._stop.park.is_set():
                await self._park()
                await self._drain()
                return Ending.FINISHED if self._finished() else Ending.PARKED
            if self._only_waits():
                if await self._collect_mail():
                    continue
                if not self._running or self._asks() or self._rest_after is not None:
                    return Ending.WAITING
            await self._take(await self._inbox.receive())
        self._patience.cancel()
        await self._drain()
        return Ending.FINISHED

    def _only_waits(self) -> bool:
        """Tell whether no work in this process brings the run further."""
        return all(self._rests(envelope.work) for envelope in self._running.values())

    def _rests(self, work: Work) -> bool:
        """Tell whether work is no reason to stay: a clock that is far off, where a host wakes the run for it."""
        if work.until is None or (self._rest_after is None and not work.passive):
            return False
        return work.until - self._clock.now() > (self._rest_after or 0.0)

    def _goes_on(self, state: S) -> bool:
        """Tell whether work in this process brings a run in this state further: a message is to come."""
        outstanding = self._machine.outstanding(state).values()
        return any(work.address in self._mailboxes and not self._rests(work) for work in outstanding)

    def _asks(self) -> bool:
        """Tell whether work is outstanding that no actor here does: a person has to."""
        return any(work.address not in self._mailboxes for work in self._machine.outstanding(self.state).values())

    async def _take(self, delivery: Delivery[Any] | Mailed) -> None:
        if self._stop.park.is_set():
            await self._park()  # First of all, so that what the message brings asks for nothing new.
        if isinstance(delivery, Mailed):
            if delivery.inbox > self._mail_seen:
                self._mail_seen = delivery.inbox
                await self._step(delivery, inbox=delivery.inbox)
            return
        self._running.pop(delivery.request_id, None)
        if delivery.message is not None:
            await self._step(delivery.message)
        else:
            self._reconcile()

    async def _park(self) -> None:
        """Ask for nothing any more. Paid replies in flight get their grace; what costs nothing is done again later."""
        if self._parked or self._finished():
            return
        self._parked = True
        await self._step(Parking(self._clock.now(), self._stop.handover))
        self._lay_down()

    def _lay_down(self) -> None:
        """Start nothing any more, and stop what can be done again."""
        self._parked = True
        for envelope in self._running.values():
            envelope.park()
        for mailbox in self._mailboxes.values():
            mailbox.flush()

    async def _step(self, message: Any, inbox: int | None = None) -> None:
        """Turn one message into records, then into work. Nothing is acted on before it is written."""
        accepted = self._machine.accept(self.state, message)
        if isinstance(accepted, Refused):
            log.get_logger("run").info("message.refused", run_id=self.run, reason=accepted.reason)
        elif accepted is not None:
            if await self._history.write(accepted, inbox, self._goes_on):
                self._lay_down()
            # Cancelled meanwhile, the actors have closed their mailboxes: there is nobody to hand work to.
            await trio.lowlevel.checkpoint_if_cancelled()
        self._reconcile()

    def _reconcile(self) -> None:
        state = self.state
        outstanding = {} if self._finished() else self._machine.outstanding(state)
        for request_id, envelope in self._running.items():
            if request_id not in outstanding:
                envelope.withdraw()
        if self._parked:
            return
        for request_id, work in outstanding.items():
            if request_id not in self._running and work.address in self._mailboxes:
                trace = {"run_id": self.run, **self._trace(work.request, state)}
                envelope = Envelope(work, self._machine.brief(state, work), trace, self._tenure.ensure_held)
                self._running[request_id] = envelope
                self._mailboxes[work.address].put(envelope)

    async def _drain(self) -> None:
        """Wait for the work in flight as long as patience lasts; then cancel it; journal every reply that comes."""
        self._patience.deadline = trio.current_time() + GRACE_SECONDS
        with self._patience:
            while self._running:
                delivery = await self._inbox.receive()
                with trio.CancelScope(shield=True):  # In hand, it is written whatever patience says meanwhile.
                    await self._take(delivery)
        for envelope in self._running.values():
            envelope.withdraw()
        while self._running:
            await self._take(await self._inbox.receive())

    async def _deliver(self, delivery: Delivery[Any]) -> None:
        """Take an actor's answer. One in hand is taken even while the run is being stopped: it has been paid for."""
        try:
            self._send.send_nowait(delivery)
        except trio.WouldBlock:
            with trio.CancelScope(shield=True):
                await self._pass_on(delivery)
        except trio.BrokenResourceError:
            return  # As below.

    async def _pass_on(self, delivery: Delivery[Any] | Mailed) -> None:
        try:
            await self._send.send(delivery)
        except trio.BrokenResourceError:
            return  # The supervisor has left: nobody may write any more, and the next driver asks again.

    async def _watch_stop(self) -> None:
        await self._stop.park.wait()
        await self._pass_on(Delivery("", None))  # Wakes the loop; no request has an empty id.
        await self._stop.now.wait()
        self._patience.cancel()

    async def _watch_mail(self) -> None:
        until = self._news
        while True:
            try:
                await until()
                mail, until = await self._new_mail(), self._news
            except JournalError as error:
                if not error.passing:
                    raise
                mail, until = [], partial(trio.sleep, AGAIN_SECONDS)  # What is in flight is worth the patience.
            for item in mail:
                await self._pass_on(item)

    async def _collect_mail(self) -> bool:
        """Take what lies in the inbox at once; say whether there was anything."""
        mail = await self._new_mail()
        for item in mail:
            await self._take(item)
        return bool(mail)

    async def _new_mail(self) -> list[Mailed]:
        items = await self._journal.inbox(self.run, self._mail_seen)
        return [Mailed(item.inbox, item.key, item.body, self._clock.now()) for item in items]

    def _finished(self) -> bool:
        return self._history.summary.status == "finished"
