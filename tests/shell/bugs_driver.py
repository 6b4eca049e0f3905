"""Planted bugs of the driver: variants of the supervisor. `planted.BUGS` says what each does."""

from dataclasses import replace
from unittest.mock import patch

import trio

from runtime.actor import Delivery
from runtime.journal.port import Fact
from runtime.machine import Refused, settle
from runtime.messages import Crashed, Parking, Resumed
from runtime.supervisor import GRACE_SECONDS, Ending, Supervisor


async def nothing(*_, **__):
    """Do nothing."""
    await trio.lowlevel.checkpoint()


class ActsBeforeItWrites(Supervisor):
    async def _append(self, state, events, inbox, **more):
        before, self._state = self._state, state
        if not self._finished():
            self._reconcile()
        self._state = before
        await trio.lowlevel.checkpoint()  # What has been handed out gets a head start.
        await super()._append(state, events, inbox, **more)


class NeverCancelsWork(Supervisor):
    def _reconcile(self):
        outstanding = self._machine.outstanding(self._state)
        withdrawn = {name: self._running.pop(name) for name in [*self._running] if name not in outstanding}
        super()._reconcile()
        self._running.update(withdrawn)


class ForgetsToMarkMail(Supervisor):
    async def _append(self, state, events, inbox, **more):
        await super()._append(state, events, None, **more)


class IgnoresParking(Supervisor):
    async def _park(self):
        """Take no notice."""


class ParksInMemoryOnly(Supervisor):
    async def _step(self, message, inbox=None):
        if not isinstance(message, Parking):
            await super()._step(message, inbox)


class DropsRepliesAtAStop(Supervisor):
    async def _drain(self):
        for envelope in self._running.values():
            envelope.withdraw()
        while self._running:
            received = await self._inbox.receive()
            if isinstance(received, Delivery):
                self._running.pop(received.request_id, None)


class ResumesWithoutSayingSo(Supervisor):
    async def _step(self, message, inbox=None):
        if isinstance(message, Resumed):
            self._reconcile()
        else:
            await super()._step(message, inbox)


class WritesAnOldRow(Supervisor):
    async def _append(self, state, events, inbox, **more):
        with patch.object(self._machine, "summary", lambda _: self._summary):
            await super()._append(state, events, inbox, **more)


class ResumesBeforeItReadsTheCancel(Supervisor):
    async def _ended_by_mail(self):
        return False


class NeverGivesTheLeaseBack(Supervisor):
    async def drive(self, first=None):
        with patch.object(type(self._journal), "release", nothing, create=True):
            return await super().drive(first)


class WaitsBesideOpenWork(Supervisor):
    def _only_waits(self):
        return super()._only_waits() or self._asks()


class NeverLeaves(Supervisor):
    async def _loop(self):
        ending = await super()._loop()
        if ending is Ending.WAITING:
            await trio.sleep_forever()
        return ending


class LosesMailWhileBusy(Supervisor):
    async def _watch_mail(self):
        await self._new_mail()


class ActsOnFirstEventOnly(Supervisor):
    async def _step(self, message, inbox=None):
        accepted = self._machine.accept(self._state, message)
        if accepted is not None and not isinstance(accepted, Refused):
            _, events = settle(self._machine, self._state, accepted)
            await self._append(self._machine.evolve(self._state, events[0]), events[:1], inbox)
        self._reconcile()


class TakesMailTwice(Supervisor):
    async def _new_mail(self):
        self._mail_seen = 0
        return await super()._new_mail()


class ForgetsWhereTheMailWas(Supervisor):
    async def _load(self):
        await super()._load()
        self._mail_seen = 0


class SkipsTheFirstMail(Supervisor):
    async def _new_mail(self):
        mail = await super()._new_mail()
        return [item for item in mail if item.inbox > 1]


class MarksAnotherEventAsTheAnswer(Supervisor):
    async def _append(self, state, events, inbox, **more):
        places = [None] * len(events)
        places[-1] = inbox
        with patch("runtime.supervisor.Fact", lambda event, _: Fact(event, places.pop(0))):
            await super()._append(state, events, inbox, **more)


class WritesEventsInReverse(Supervisor):
    async def _append(self, state, events, inbox, **more):
        await super()._append(state, [*events[:1], *reversed(events[1:])], inbox, **more)


class ReadsOneRecordTooFew(Supervisor):
    async def _load(self):
        records = await self._journal.read(self.run)
        for record in records[:-1]:
            self._state = self._machine.evolve(self._state, record.event)
            self._seq = record.seq
            self._mail_seen = max(self._mail_seen, record.inbox or 0)
        self._seq = len(records)
        self._summary = self._machine.summary(self._state)


class IgnoresASecondStop(Supervisor):
    async def _watch_stop(self):
        await self._stop.park.wait()
        await self._pass_on(Delivery("", None))


class WaitsWithoutEndAtAStop(Supervisor):
    async def _drain(self):
        while self._running:
            await self._take(await self._inbox.receive())
            self._patience.deadline = trio.current_time() + 100 * GRACE_SECONDS


class AsksWhileItParks(Supervisor):
    async def _park(self):
        before, self._parked = self._parked, True
        if not before:
            await self._step(Parking(self._clock.now()))
        self._parked = False
        self._reconcile()
        self._parked = True


class ForgetsWhatRuns(Supervisor):
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
    async def _step(self, message, inbox=None):
        if isinstance(message, Resumed):
            message = Resumed(message.epoch - 1, message.at)
        await super()._step(message, inbox)


class WritesBeforeItHasTheRun(Supervisor):
    async def _load(self):
        await super()._load()
        self._tenure.epoch -= 1


class LeavesWithoutLooking(Supervisor):
    async def _loop(self):
        if not self._finished() and self._asks():
            return Ending.WAITING
        return await super()._loop()


class CallsAFinishedRunParked(Supervisor):
    async def _loop(self):
        ending = await super()._loop()
        return Ending.PARKED if ending is Ending.FINISHED else ending


class SwallowsCrashes(Supervisor):
    async def _step(self, message, inbox=None):
        if isinstance(message, Crashed):
            self._reconcile()
        else:
            await super()._step(message, inbox)
