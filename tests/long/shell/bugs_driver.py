"""Planted bugs of the driver: variants of the supervisor. See `planted_bugs.BUGS`."""

from dataclasses import replace
from unittest.mock import patch

import trio

from runtime.core.machine import Refused, settle
from runtime.core.messages import Crashed, Parking, Resumed
from runtime.drive.actor import Delivery
from runtime.drive.options import Ending
from runtime.drive.run_log import RunLog
from runtime.drive.supervisor import Supervisor
from runtime.journal.port import Fact


async def do_nothing(*_, **__):
    await trio.lowlevel.checkpoint()


class WithAnotherRunLog(Supervisor):
    """A supervisor whose run log is of the class `Records`, which can reach the supervisor."""

    Records = RunLog

    def __init__(self, run, **more):
        with patch("runtime.drive.supervisor.RunLog", self.Records):
            super().__init__(run, **more)
        self._log.supervisor = self


class ActsBeforeItWrites(WithAnotherRunLog):
    class Records(RunLog):
        async def append(self, state, events, inbox=(), **more):
            before, self.state = self.state, state
            if not self.supervisor._is_finished():
                self.supervisor._reconcile()
            self.state = before
            await trio.lowlevel.checkpoint()  # The started work runs first.
            await super().append(state, events, inbox, **more)


class NeverCancelsWork(Supervisor):
    def _reconcile(self):
        outstanding = self._machine.outstanding(self.state)
        withdrawn = {name: self._running.pop(name) for name in [*self._running] if name not in outstanding}
        super()._reconcile()
        self._running.update(withdrawn)


class NeverMarksMessages(WithAnotherRunLog):
    class Records(RunLog):
        async def append(self, state, events, inbox=(), **more):
            await super().append(state, events, (), **more)


class IgnoresParking(Supervisor):
    async def _park(self):
        """Ignore the stop."""


class ParksInMemoryOnly(Supervisor):
    async def _process_message(self, message, inbox=None):
        if not isinstance(message, Parking):
            await super()._process_message(message, inbox)


class DropsRepliesAtAStop(Supervisor):
    async def _drain(self):
        for envelope in self._running.values():
            envelope.withdraw()
        while self._running:
            received = await self._deliveries.receive()
            if isinstance(received, Delivery):
                self._running.pop(received.request_id, None)


class ResumesWithoutARecord(Supervisor):
    async def _process_message(self, message, inbox=None):
        if isinstance(message, Resumed):
            self._reconcile()
        else:
            await super()._process_message(message, inbox)


class WritesAnOldRow(WithAnotherRunLog):
    class Records(RunLog):
        async def append(self, state, events, inbox=(), **more):
            with patch.object(self._machine, "summary", lambda _: self.summary):
                await super().append(state, events, inbox, **more)


class ResumesBeforeItReadsTheCancel(Supervisor):
    async def _end_by_inbox(self):
        return False


class NeverReleasesItsLease(Supervisor):
    async def drive(self, first=None):
        self._lease.release = do_nothing
        return await super().drive(first)


class WaitsBesideOpenWork(Supervisor):
    def _only_waits(self):
        return super()._only_waits() or self._waits_for_person()


class KeepsDrivingAWaitingRun(Supervisor):
    async def _process_deliveries(self):
        ending = await super()._process_deliveries()
        if ending is Ending.WAITING:
            await trio.sleep_forever()
        return ending


class ReadsInboxOnlyOnce(Supervisor):
    async def _watch_inbox(self):
        await self._read_inbox()


class ActsOnFirstEventOnly(Supervisor):
    async def _process_message(self, message, inbox=None):
        accepted = self._machine.accept(self.state, message)
        if accepted is not None and not isinstance(accepted, Refused):
            _, events = settle(self._machine, self.state, accepted)
            await self._log.append(self._machine.evolve(self.state, events[0]), events[:1], [inbox])
        self._reconcile()


class ConsumesMessagesTwice(Supervisor):
    async def _read_inbox(self):
        self._inbox_seen = 0
        return await super()._read_inbox()


class ReadsInboxFromTheStart(WithAnotherRunLog):
    class Records(RunLog):
        async def load(self):
            await super().load()
            return 0


class SkipsTheFirstMessage(Supervisor):
    async def _read_inbox(self):
        items = await super()._read_inbox()
        return [item for item in items if item.inbox > 1]


class _LinksTheLastEvent:
    """A journal in which the last event of a batch consumes the message of the first."""

    def __init__(self, journal):
        self.journal = journal

    def __getattr__(self, name):
        return getattr(self.journal, name)

    async def append(self, run, *, facts, **more):
        *others, last = [fact.event for fact in facts]
        moved = [*map(Fact, others), Fact(last, facts[0].inbox)]
        return await self.journal.append(run, facts=moved, **more)


class LinksAMessageToTheWrongEvent(WithAnotherRunLog):
    class Records(RunLog):
        def __init__(self, run, machine, journal, lease, **more):
            super().__init__(run, machine, _LinksTheLastEvent(journal), lease, **more)


class WritesEventsInReverse(WithAnotherRunLog):
    class Records(RunLog):
        async def append(self, state, events, inbox=(), **more):
            await super().append(state, [*events[:1], *reversed(events[1:])], inbox, **more)


class ReadsOneRecordTooFew(WithAnotherRunLog):
    class Records(RunLog):
        async def load(self):
            records, consumed = await self._journal.read(self._run), 0
            for record in records[:-1]:
                self.state = self._machine.evolve(self.state, record.event)
                consumed = max(consumed, record.inbox or 0)
            self.seq = len(records)
            self.summary = self._machine.summary(self.state)
            return consumed


class IgnoresAForcedStop(Supervisor):
    async def _watch_stop(self):
        await self._stop.requested.wait()
        await self._pass_on(Delivery("", None))


class NeverTimesOutAtAStop(Supervisor):
    async def _drain(self):
        while self._running:
            await self._process_delivery(await self._deliveries.receive())
            self._grace.deadline = trio.current_time() + 1000.0


class SendsRequestsWhileItParks(Supervisor):
    async def _park(self):
        before, self._parked = self._parked, True
        if not before:
            await self._process_message(Parking(self._now()))
        self._parked = False
        self._reconcile()
        self._parked = True


class ForgetsRunningWork(Supervisor):
    def _reconcile(self):
        super()._reconcile()
        self._running.clear()


class StartsEverythingTwice(Supervisor):
    def _reconcile(self):
        super()._reconcile()
        for envelope in self._running.values():
            if not self._parked and not envelope.work.repeatable:
                self._mailboxes[envelope.work.address].put(replace(envelope, scope=None))


class ResumesUnderTheOldEpoch(Supervisor):
    async def _process_message(self, message, inbox=None):
        if isinstance(message, Resumed):
            message = Resumed(message.epoch - 1, message.at)
        await super()._process_message(message, inbox)


class WritesBeforeItHasTheRun(WithAnotherRunLog):
    class Records(RunLog):
        async def load(self):
            consumed = await super().load()
            self._lease.epoch -= 1
            return consumed


class CallsAFinishedRunParked(Supervisor):
    async def _process_deliveries(self):
        ending = await super()._process_deliveries()
        return Ending.PARKED if ending is Ending.FINISHED else ending


class SwallowsCrashes(Supervisor):
    async def _process_message(self, message, inbox=None):
        if isinstance(message, Crashed):
            self._reconcile()
        else:
            await super()._process_message(message, inbox)
