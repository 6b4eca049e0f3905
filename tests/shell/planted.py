"""Bugs planted into the shell, each the kind of mistake that a change could make. The simulation must find every one.

A bug is a variant of the supervisor, of the machine, or a patch of the ledger; `BUGS` has them by what they do.
`python -m tests.shell.planted` prints which seed finds which, and what it says.
"""

from dataclasses import dataclass, field, replace
from unittest.mock import patch

import trio

from actors.machine.events import RequestReissued, RunResumed
from actors.machine.planning import PlanningMachine
from runtime.ledger import Ledger
from runtime.machine import Refused, settle
from runtime.messages import Parking, Resumed
from runtime.supervisor import Ending, Supervisor
from tests.shell.world import World


class ActsBeforeItWrites(Supervisor):
    async def _append(self, state, events, inbox):
        before, self._state = self._state, state
        if not self._finished():
            self._reconcile()
        self._state = before
        await trio.lowlevel.checkpoint()  # What has been handed out gets a head start.
        await super()._append(state, events, inbox)


class NeverCancelsWork(Supervisor):
    def _reconcile(self):
        outstanding = self._machine.outstanding(self._state)
        withdrawn = {name: self._running.pop(name) for name in [*self._running] if name not in outstanding}
        super()._reconcile()
        self._running.update(withdrawn)


class ForgetsToMarkMail(Supervisor):
    async def _append(self, state, events, inbox):
        await super()._append(state, events, None)


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
            self._running.pop((await self._inbox.receive()).request_id, None)


class ResumesWithoutSayingSo(Supervisor):
    async def _step(self, message, inbox=None):
        if isinstance(message, Resumed):
            self._reconcile()
        else:
            await super()._step(message, inbox)


class WritesAnOldRow(Supervisor):
    async def _append(self, state, events, inbox):
        with patch.object(self._machine, "summary", lambda _: self._summary):
            await super()._append(state, events, inbox)


class ResumesBeforeItReadsTheCancel(Supervisor):
    async def _ended_by_mail(self):
        return False


class NeverGivesTheLeaseBack(Supervisor):
    async def drive(self, first=None):
        with patch.object(type(self._journal), "release", _nothing, create=True):
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


class ReusesRequestIds(PlanningMachine):
    def advance(self, state):
        event = super().advance(state)
        if not isinstance(event, RequestReissued):
            return event
        number = event.again.try_number - 1
        return event.model_copy(update={"again": event.again.model_copy(update={"try_number": number})})


class TrustsOldRequests(PlanningMachine):
    def evolve(self, state, event):
        after = super().evolve(state, event)
        if isinstance(event, RunResumed):  # As if the new driver had asked for what an earlier one has sent.
            opened = {name: replace(one, epoch=event.epoch) for name, one in after.generations.items()}
            return replace(after, generations=opened)
        return after


async def _nothing(*_):
    """Do nothing."""


@dataclass(frozen=True)
class Bug:
    """A planted bug: what replaces the supervisor, the machine, or methods of the ledger."""

    supervisor: type = Supervisor
    machine: type = PlanningMachine
    ledger: dict = field(default_factory=dict)

    def found(self, seeds):
        """Return the first seed that finds it and what it says, or None."""
        for seed in seeds:
            with patch.multiple(Ledger, **self.ledger) if self.ledger else patch.dict({}):
                try:
                    World(seed, supervisor=self.supervisor, machine=self.machine()).play()
                except Exception as error:  # noqa: BLE001 - whatever shows it
                    return seed, _first(error)
        return None


def _first(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}".splitlines()[0][:110]


BUGS = {
    "acts before it writes": Bug(ActsBeforeItWrites),
    "never cancels withdrawn work": Bug(NeverCancelsWork),
    "forgets which mail is taken": Bug(ForgetsToMarkMail),
    "ignores parking": Bug(IgnoresParking),
    "parks in memory only": Bug(ParksInMemoryOnly),
    "drops replies at a stop": Bug(DropsRepliesAtAStop),
    "resumes without saying so": Bug(ResumesWithoutSayingSo),
    "writes an old status row": Bug(WritesAnOldRow),
    "resumes before it reads the cancel": Bug(ResumesBeforeItReadsTheCancel),
    "never gives the lease back": Bug(NeverGivesTheLeaseBack),
    "waits for people beside open work": Bug(WaitsBesideOpenWork),
    "never leaves a waiting run": Bug(NeverLeaves),
    "does not look for mail while busy": Bug(LosesMailWhileBusy),
    "writes only the first event of a batch": Bug(ActsOnFirstEventOnly),
    "reuses a request id": Bug(machine=ReusesRequestIds),
    "sends an earlier driver's request again": Bug(machine=TrustsOldRequests),
    "skips the check before a reservation": Bug(ledger={"shortfall": lambda *_: None}),
    "refunds what may have been charged": Bug(ledger={"forfeit": Ledger.refund}),
    "books replies at nothing": Bug(ledger={"settle": lambda self, request, used: self.refund(request)}),
}
"""The planted bugs, by what they do."""

if __name__ == "__main__":
    for name, bug in BUGS.items():
        seed, shown = bug.found(range(3_000)) or ("never", "")
        print(f"{name:40} {seed:>5}  {shown}")
