"""The supervisor: the only writer of a run's records, and the only owner of the nursery for its work.

The supervisor repeats: receive a message, `accept`, `advance` until no decision follows, append durably (`RunLog`),
log, compare. The last step compares outstanding with running work: it starts outstanding work that is not running, and
cancels running work that is not outstanding. So new runs, resumed runs and pruned branches need no code of their own.

Back-pressure: the supervisor's channel has size zero. The supervisor never waits for room in a mailbox, because an
actor with a full mailbox may itself wait for the supervisor.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Generic, TypeVar, cast

import trio

from runtime.core.errors import JournalError, root_cause
from runtime.core.events import ROUNDING
from runtime.core.hooks import mark_point
from runtime.core.ledger import ZERO
from runtime.core.machine import Machine, Refused, Work, fold
from runtime.core.messages import LimitUsed, Mailed, Message, Parking, Resumed, stamp
from runtime.drive.actor import Actor, Delivery, Envelope, Mailbox, Report
from runtime.drive.lease import LeaseKeeper, end_by_message, takeover
from runtime.drive.options import DETACHED, Admission, DriveOptions, Ending, LeaseTerms, Polling, Stop, Turn
from runtime.drive.run_log import RETRY_SECONDS, RunLog, Snapshot, Trace
from runtime.journal.port import Journal
from runtime.logs import log

S = TypeVar("S")
E = TypeVar("E")
M = TypeVar("M")


class Supervisor(Generic[S, E, M]):
    """Drives one run, from its claim to its release."""

    def __init__(
        self,
        run: str,
        *,
        machine: Machine[S, E, Any],
        journal: Journal[E],
        actors: Sequence[Actor[Any, M]],
        lease: LeaseTerms,
        options: DriveOptions = DETACHED,
        trace: Trace[E, S] = lambda _, __: {},
        snapshot: Snapshot[S] | None = None,
        admission: Admission | None = None,
        tells_day: bool = False,
    ) -> None:
        """Store the arguments. Nothing is read or claimed yet.

        Requests whose address belongs to none of `actors` are answered by people. `trace` returns the fields of log
        lines about an event. Records before a `snapshot` are not read again. `admission` is given only for a new run.
        With `tells_day`, a message after each request tells the machine how much of the daily budgets is committed.
        """
        self.run = run
        self._machine, self._journal, self._now = machine, journal, journal.now
        self._lease = LeaseKeeper(journal, run, lease)
        self._actors = {actor.address: actor for actor in actors}
        self._stop, self._options, self._trace = options.stop or Stop(), options, trace
        self._log = RunLog(
            run,
            machine,
            journal,
            self._lease,
            stop=self._stop,
            options=options,
            trace=trace,
            snapshot=snapshot,
            admission=admission,
        )
        self._turn, self._tells_day, self._told = options.turn, tells_day, ZERO
        self._changed, self._rest_after = options.changed or Polling(journal, lease.poll), options.rest_after
        self._is_new = admission is not None
        self._mailboxes: dict[str, Mailbox[Any, M]] = {}
        self._running: dict[str, Envelope[Any]] = {}
        self._send, self._deliveries = trio.open_memory_channel[Delivery[M] | Report[Message] | Mailed](0)
        self._inbox_seen = 0
        self._early_mail: list[Mailed] = []
        self._grace = trio.CancelScope()
        self._parked = False

    @property
    def state(self) -> S:
        """The state after the last record."""
        return self._log.state

    async def drive(self, first: Any = None) -> Ending:
        """Claim the run, continue after its last record, and drive it until it ends, asks a question or is stopped.

        `first` is the message that starts a run without records. A new run is claimed when its first records are
        appended. Raises these errors before it changes anything: `RunExists` for a new run; `RunNotFound`,
        `KindUnknown`, `Held`, `JournalDamaged` for another run. Raises `Fenced` if another driver claims the run.
        """
        if self._is_new:
            self._lease.begin()
        else:
            await self._lease.claim()
        try:
            mark_point("claim.after")
            ending = None if self._is_new else await self._load()
            ending = ending or await self._start_and_drive(first)
        except BaseExceptionGroup as group:
            raise root_cause(group) from group
        finally:
            with trio.CancelScope(shield=True):
                await self._lease.release()
        return ending

    async def _load(self) -> Ending | None:
        self._inbox_seen = await self._log.load()
        self._told = self._log.summary.committed
        if await self._end_by_inbox():
            return Ending.FINISHED
        return Ending.WAITING if await self._was_driven_elsewhere() else None

    async def _start_and_drive(self, first: Any) -> Ending:
        """Start or resume the run, process the messages in its inbox, and drive it.

        If a stop was requested already, only the start of a new run is recorded.
        """
        starts = first is not None and self._log.seq == 0
        async with trio.open_nursery() as nursery:
            try:
                nursery.start_soon(self._lease.renew_forever)
                self._mailboxes = {
                    address: Mailbox(actor, nursery, self._receive_answer, self._now)
                    for address, actor in self._actors.items()
                }
                if self._stop.requested.is_set():
                    if starts:
                        await self._log.write_start(first)
                elif starts:
                    await self._process_message(first)
                    await self._process_mail(self._early_mail)
                else:
                    await self._take_over()
                nursery.start_soon(self._watch_inbox)
                if self._options.stop is not None:
                    nursery.start_soon(self._watch_stop)
                if self._turn is not None:
                    nursery.start_soon(self._watch_turn, self._turn)
                ending = await self._process_deliveries()
            finally:
                # Also when this was cancelled or failed: an answer would wait, shielded, for a receiver that has left.
                self._deliveries.close()
                self._mailboxes = {}  # They refer to this object: the cycle would last until garbage collection.
            nursery.cancel_scope.cancel()
        return ending

    async def _end_by_inbox(self) -> bool:
        """Before the run is resumed, process a message that ends it, so that no request is sent in vain.

        Return whether it ended.
        """
        self._early_mail = [stamp(message, 0.0) for message in await self._read_inbox()]
        if self._is_finished() or self._log.summary.ending:
            return False
        end = end_by_message(self._machine, self.state, self._early_mail)
        if end is not None:
            await self._log.append(end.state, end.events, [end.inbox])
        return self._is_finished()

    async def _was_driven_elsewhere(self) -> bool:
        """Return whether a hosted run is no longer due, because another driver drove it after the host had looked.

        The answer comes from the run's status row, in which hosts look for due runs too.
        """
        if self._rest_after is None or self._early_mail or self._log.seq == 0:
            return False
        due = (await self._journal.row(self.run)).summary.due
        return due is None or due > self._now()

    async def _take_over(self) -> None:
        """Resume the run, which may undo a preliminary end, and process the messages in its inbox."""
        resumed = Resumed(self._lease.epoch, self._now(), self._options.at_once, mono=self._lease.seconds())
        facts, taken, left = takeover(
            self._machine, self.state, resumed, self._early_mail, finished=self._is_finished()
        )
        if facts and not taken:
            await self._process_message(resumed)
        elif facts:
            await self._write_takeover(facts)
        self._inbox_seen = max([self._inbox_seen, *(message.inbox for message in taken)])
        self._reconcile()
        await self._process_mail(left)

    async def _write_takeover(self, facts: Sequence[tuple[Any, int | None]]) -> None:
        state = fold(self._machine, [event for event, _ in facts], self.state)
        if self._machine.summary(state).status != "finished":
            await self._log.write(facts, self._will_continue)
            await self._after_write()
        else:
            await self._log.append(state, [event for event, _ in facts], [inbox for _, inbox in facts])

    async def _process_mail(self, messages: Sequence[Mailed]) -> None:
        for message in messages:
            await self._process_delivery(message)

    async def _process_deliveries(self) -> Ending:
        while not self._is_finished():
            if self._turn is not None:
                self._turn.note(self._log.summary.committed.calls, at_work=self._is_at_work())
            if self._parked or self._stop.requested.is_set():
                await self._park()
                await self._drain()
                return Ending.FINISHED if self._is_finished() else Ending.PARKED
            if self._only_waits():
                if await self._process_inbox():
                    continue
                if not self._running or self._waits_for_person() or self._rest_after is not None or self._may_be_left():
                    return Ending.WAITING
            await self._process_delivery(await self._deliveries.receive())
        self._grace.cancel()
        await self._drain()
        return Ending.FINISHED

    def _only_waits(self) -> bool:
        return not self._log.held_back and all(self._may_release(envelope.work) for envelope in self._running.values())

    def _is_at_work(self) -> bool:
        """Return whether the run waits for its turn, or a model or a guard works for the run."""
        is_judged = any(envelope.work.judges for envelope in self._running.values())
        return self._log.held_back or is_judged or self._log.summary.reserved.calls > 0

    def _may_be_left(self) -> bool:
        """Return whether open work has `Work.leaves`.

        If only such work is open, a driver in the foreground leaves the run.
        """
        return any(envelope.work.leaves for envelope in self._running.values())

    def _may_release(self, work: Work) -> bool:
        """Return whether this work waits so long that the run may be released."""
        if work.until is None or (self._rest_after is None and not work.keeps_no_process):
            return False
        return work.until - self._now() > (self._rest_after or ROUNDING)

    def _will_continue(self, state: S) -> bool:
        """Return whether this process has work for a run in this state. If so, that work will send another message."""
        outstanding = self._machine.outstanding(state).values()
        return any(work.address in self._mailboxes and not self._may_release(work) for work in outstanding)

    def _waits_for_person(self) -> bool:
        return any(work.address not in self._mailboxes for work in self._machine.outstanding(self.state).values())

    async def _process_delivery(self, delivery: Delivery[M] | Report[Message] | Mailed) -> None:
        if self._stop.requested.is_set():
            await self._park()  # This comes first, so that no decision about the message asks for new work.
        if isinstance(delivery, Mailed):
            if delivery.inbox > self._inbox_seen:
                self._inbox_seen = delivery.inbox
                await self._process_message(delivery, inbox=delivery.inbox)
            return
        if isinstance(delivery, Report):
            before = self._log.seq
            await self._process_message(delivery.message)
            delivery.appended = self._log.seq > before
            delivery.taken.set()
            return
        self._running.pop(delivery.request_id, None)
        if delivery.message is not None:
            await self._process_message(delivery.message)
        elif self._log.held_back and not self._parked:
            await self._log.write([], self._will_continue)
            await self._after_write()
            self._reconcile()
        else:
            self._reconcile()

    async def _park(self) -> None:
        """Request nothing new.

        Open paid calls continue. Repeatable work is cancelled, and done again after the run is resumed.
        """
        if self._parked or self._is_finished():
            return
        self._parked = True
        await self._process_message(Parking(self._now(), self._stop.handover))
        self._stop_work()

    def _stop_work(self) -> None:
        self._parked = True
        for envelope in self._running.values():
            envelope.park()
        for mailbox in self._mailboxes.values():
            mailbox.flush()

    async def _process_message(self, message: M | Message, inbox: int | None = None) -> None:
        """Turn one message into records, then into work. Nothing acts on an event before it is appended."""
        to_machine = cast("M", message)  # Every machine takes the messages of the runtime and of its actors.
        accepted = self._machine.accept(self.state, stamp(to_machine, self._lease.seconds()))
        if isinstance(accepted, Refused):
            log.get_logger("run").info("message.refused", run_id=self.run, reason=accepted.reason)
        elif accepted is not None:
            await self._log.write([(accepted, inbox)], self._will_continue)
            await self._after_write()
        self._reconcile()

    async def _tell_day(self) -> None:
        try:
            budgets = await self._journal.budgets_today(self.run)
        except JournalError as error:
            if not error.passing:
                raise
            return  # The next request tells it.
        for budget, spent in budgets:
            for limit, used, most in budget.uses(spent):
                message = cast("M", LimitUsed(self._now(), f"{budget.whose} for today", limit, used, most))
                accepted = self._machine.accept(self.state, message)
                if accepted is not None and not isinstance(accepted, Refused):
                    await self._log.write([(accepted, None)], self._will_continue)

    async def _after_write(self) -> None:
        """Stop the work if the latest records have parked the run.

        If the records reserve calls or money, tell the machine how much of the daily budgets is used. Raises
        `trio.Cancelled` if the supervisor was cancelled while it wrote.
        """
        before, self._told = self._told, self._log.summary.committed
        if self._tells_day and (self._told.calls > before.calls or self._told.micro_usd > before.micro_usd):
            await self._tell_day()
        if self._log.summary.parked and not self._parked:
            self._stop_work()
        # A write is finished even if this task is cancelled, but the actors are cancelled too: without this check,
        # `_reconcile` would hand them new work.
        await trio.lowlevel.checkpoint_if_cancelled()

    def _reconcile(self) -> None:
        state = self.state
        outstanding = {} if self._is_finished() else self._machine.outstanding(state)
        for request_id, envelope in self._running.items():
            work = outstanding.get(request_id)
            if work is None or work.until != envelope.work.until:  # The end of a wait may have changed.
                envelope.withdraw()
        if self._parked:
            return
        for request_id, work in outstanding.items():
            if request_id not in self._running and work.address in self._mailboxes:
                trace = {"run_id": self.run, **self._trace(work.request, state)}
                envelope = Envelope(
                    work, self._machine.brief(state, work), trace, self._lease.ensure_held, self._record
                )
                self._running[request_id] = envelope
                self._mailboxes[work.address].put(envelope)

    async def _drain(self) -> None:
        """Wait at most `Stop.grace` seconds for the open work, then cancel it. Append every reply that arrives."""
        if self._stop.grace is not None:
            self._grace.deadline = trio.current_time() + self._stop.grace
        with self._grace:
            while self._running:
                delivery = await self._deliveries.receive()
                with trio.CancelScope(shield=True):  # A received reply is appended, even after the deadline.
                    await self._process_delivery(delivery)
        for envelope in self._running.values():
            envelope.withdraw()
        while self._running:
            await self._process_delivery(await self._deliveries.receive())

    async def _receive_answer(self, delivery: Delivery[M]) -> None:
        """Receive an actor's answer, even while the run is being stopped, because it has been paid for."""
        try:
            self._send.send_nowait(delivery)
        except trio.WouldBlock:
            with trio.CancelScope(shield=True):
                await self._pass_on(delivery)
        except trio.BrokenResourceError:
            return  # As in `_pass_on`.

    async def _record(self, message: Message) -> bool:
        """Append the events that follow from a message about unfinished work (`Envelope.record`)."""
        report = Report(message)
        if not await self._pass_on(report):
            return False
        await report.taken.wait()
        return report.appended

    async def _pass_on(self, delivery: Delivery[M] | Report[Message] | Mailed) -> bool:
        """Pass a delivery to the loop. Return whether the loop received it."""
        try:
            await self._send.send(delivery)
        except trio.BrokenResourceError:
            return False  # The supervisor has left: nothing may be appended any more, and the next driver asks again.
        return True

    async def _watch_stop(self) -> None:
        await self._stop.requested.wait()
        await self._pass_on(Delivery("", None))  # Wakes the loop; no request has an empty id.
        await self._stop.forced.wait()
        self._grace.cancel()

    async def _watch_turn(self, turn: Turn) -> None:
        while True:
            await turn.given()
            await self._pass_on(Delivery("", None))  # As in `_watch_stop`.

    async def _watch_inbox(self) -> None:
        changed = self._changed
        while True:
            try:
                await changed()
                messages, changed = await self._read_inbox(), self._changed
            except JournalError as error:
                if not error.passing:
                    raise
                # The open calls are paid: do not end them.
                messages, changed = [], partial(trio.sleep, RETRY_SECONDS)
            for message in messages:
                await self._pass_on(message)

    async def _process_inbox(self) -> bool:
        """Process the messages in the inbox now. Return whether there were any messages."""
        messages = await self._read_inbox()
        for message in messages:
            await self._process_delivery(message)
        return bool(messages)

    async def _read_inbox(self) -> list[Mailed]:
        items = await self._journal.inbox(self.run, self._inbox_seen)
        return [Mailed(item.inbox, item.key, item.body, self._now()) for item in items]

    def _is_finished(self) -> bool:
        return self._log.summary.status == "finished"
