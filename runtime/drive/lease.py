"""The lease of a driver on a run. The lease is claimed, renewed, checked before each paid call, and released."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import trio

from runtime.core.errors import Fenced, JournalError
from runtime.core.hooks import LEASE_LOST, mark_point, report_measure
from runtime.core.machine import Machine, Refused, settle
from runtime.core.messages import Mailed, Resumed
from runtime.drive.options import LeaseTerms
from runtime.journal.port import Journal
from runtime.logs import log

RENEWALS = 4
"""How many times a driver renews its lease within the length of the lease. A process can pause for three quarters of
this length and keep the run.
"""

RETRY_SECONDS = 1.0
"""The pause in seconds between two tries to renew a lease while the journal cannot be written."""


class LeaseKeeper:
    """The lease of one driver on one run, under an epoch.

    A temporary failure of the journal does not stop the keeper.
    """

    def __init__(self, journal: Journal[Any], run: str, terms: LeaseTerms) -> None:
        self._journal, self._run = journal, run
        self.terms = terms
        self.epoch = 0
        self._end = (0.0, 0.0)
        self._claimed, self._is_lost = 0.0, False

    async def claim(self) -> None:
        """Claim the run. Raises `RunNotFound`, `KindUnknown`, `Held`."""
        end = self.end_from_now()
        self.epoch = await claim(self._journal, self._run, self.terms)
        self._end, self._claimed = end, trio.current_time()

    def begin(self) -> None:
        """Start counting the seconds of a new run. The run is claimed later, with its first records."""
        self._claimed = trio.current_time()

    def seconds(self) -> float:
        """Return the monotonic seconds since the claim, or since a new run was begun.

        Setting a clock does not change them. Time in which the computer is suspended does not count.
        """
        return trio.current_time() - self._claimed

    def end_from_now(self) -> tuple[float, float]:
        """Return the end of a lease that begins now, by trio's clock and by the journal's clock.

        Trio's clock continues while the process is stopped, and cannot be set. The journal's clock continues while the
        computer is suspended, and other drivers use this clock.
        """
        return trio.current_time() + self.terms.ttl, self._journal.now() + self.terms.ttl

    def hold(self, epoch: int, end: tuple[float, float]) -> None:
        """Store the epoch and the end of this driver's lease on a new run, which the first append has claimed."""
        self.epoch, self._end = epoch, end

    async def renew_forever(self) -> None:
        """Renew the lease repeatedly until this task is cancelled.

        Raises `Fenced` if another driver has claimed the run.

        The lease of a new run begins when its first records are appended; before then, nothing is renewed.
        """
        while True:
            await trio.sleep(self.terms.ttl / RENEWALS)
            if self.epoch > 0:
                mark_point("renew.before")
                await self._renew()  # If the release fails, it is tried again. Until then, others may claim the run.

    async def ensure_held(self) -> None:
        """Wait until the lease is certainly valid. Raises `Fenced` if this driver has lost it."""
        while self._may_be_over() and not await self._renew():  # noqa: ASYNC110 - no event tells when it is possible
            await trio.sleep(RETRY_SECONDS)

    async def release(self) -> None:
        """Release the run if this driver still has the lease.

        If the admission of a new run failed, nothing is released, because another driver may have claimed a run with
        this id.
        """
        if self.epoch > 0:
            await release_quietly(self._journal, self._run, self.epoch)

    def note_loss(self) -> None:
        """Store that another driver has claimed the run."""
        if not self._is_lost:
            self._is_lost = True
            report_measure(LEASE_LOST, 1)

    async def _renew(self) -> bool:
        end = self.end_from_now()
        try:
            await self._journal.renew(self._run, self.epoch, self.terms.ttl)
        except Fenced:
            self.note_loss()
            raise
        except JournalError as error:
            if not error.passing:
                raise
            return False
        self._end = end
        return True

    def _may_be_over(self) -> bool:
        return trio.current_time() > self._end[0] or self._journal.now() > self._end[1]


async def claim(journal: Journal[Any], run: str, terms: LeaseTerms) -> int:
    """Claim a run for the owner and the time that `terms` states, and return the new epoch.

    Raises `RunNotFound`, `KindUnknown`, `Held`.
    """
    return await journal.claim(run, terms.owner, terms.ttl, dead=terms.dead, kinds=terms.kinds)


async def release_quietly(journal: Journal[Any], run: str, epoch: int) -> None:
    """Release a run. If the journal fails, the lease ends by itself when it expires. Written records remain."""
    try:
        await journal.release(run, epoch)
    except JournalError as error:
        if not error.passing:
            raise
        log.get_logger("run").warning("lease.kept", run_id=run, reason=str(error))


class Takeover(NamedTuple):
    """The first events that a driver records after it has claimed a run."""

    facts: list[tuple[Any, int | None]]
    """The events, each with the id of the posted message that it consumes, or None. All events are applied before the
    first decision.
    """
    taken: list[Mailed]
    """The posted messages from which the events were made."""
    left: list[Mailed]
    """The posted messages that are processed later, one after the other."""


class PostedEnd(NamedTuple):
    """The events by which a posted message ends a run, and the state after them."""

    state: Any
    events: list[Any]
    inbox: int


def end_by_message(machine: Machine[Any, Any, Any], state: Any, posted: Sequence[Mailed]) -> PostedEnd | None:
    """Return the end that the first run-ending message among `posted` causes; None if no message ends the run."""
    for message in posted:
        accepted = machine.accept(state, message)
        if accepted is None or isinstance(accepted, Refused):
            continue
        after, events = settle(machine, state, accepted)
        summary = machine.summary(after)
        if summary.ending or summary.status == "finished":
            return PostedEnd(after, events, message.inbox)
    return None


def takeover(
    machine: Machine[Any, Any, Any], state: Any, resumed: Resumed, posted: Sequence[Mailed], *, finished: bool
) -> Takeover:
    """Return the first events that a driver records after it has claimed a run in this state.

    The takeover is the event for `resumed`. An event with `precedes_takeover` comes before it, because decisions depend
    on that event. Other events come after the takeover, so that the time before it does not count as active. If the run
    is `finished`, all events come before the takeover, because a message may undo the end.
    """
    events = [machine.accept(state, message) for message in posted]
    urgent = [
        position for position, event in enumerate(events) if finished or getattr(event, "precedes_takeover", False)
    ]
    taken = list(posted[: urgent[-1] + 1]) if urgent else []
    before = [message for position, message in enumerate(taken) if position in urgent]
    after = [message for position, message in enumerate(taken) if position not in urgent]
    facts = list[tuple[Any, int | None]]()
    for message in (*before, resumed, *after):
        accepted = machine.accept(state, message)
        if accepted is None or isinstance(accepted, Refused):
            continue
        state = machine.evolve(state, accepted)
        facts.append((accepted, message.inbox if isinstance(message, Mailed) else None))
    return Takeover(facts, taken, list(posted[len(taken) :]))
