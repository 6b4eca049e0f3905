"""The lease of a driver on a run. It is claimed, renewed, checked before each paid call, and released."""

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
"""How often a lease is renewed within its length. A process may pause for three quarters of this length and keep the
run.
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
        """Return when a lease that begins now ends, by trio's clock and by the journal's.

        Trio's clock continues while the process is stopped, and cannot be set. The journal's clock continues while the
        computer is suspended, and other drivers use this clock.
        """
        return trio.current_time() + self.terms.ttl, self._journal.now() + self.terms.ttl

    def hold(self, epoch: int, end: tuple[float, float]) -> None:
        """Store that this driver's lease on a new run ends at `end`.

        The first append has stored and claimed the run.
        """
        self.epoch, self._end = epoch, end

    async def renew_forever(self) -> None:
        """Renew the lease until this is cancelled. Raises `Fenced` if another driver has claimed the run.

        The lease of a new run begins with its first records.
        """
        while True:
            await trio.sleep(self.terms.ttl / RENEWALS)
            if self.epoch > 0:
                mark_point("renew.before")
                await self._renew()  # If the release fails, it is tried again. Until then, others may claim the run.

    async def ensure_held(self) -> None:
        """Raise `Fenced` if this driver has lost its lease, for example after a long pause of its process."""
        while self._may_be_over() and not await self._renew():  # noqa: ASYNC110 - no event tells when it is possible
            await trio.sleep(RETRY_SECONDS)

    async def release(self) -> None:
        """Release the run if this driver still has the lease.

        A new run whose admission failed is not touched, because another driver may have claimed a run with this id and
        epoch.
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
    """Claim a run on these terms, and return the new epoch. Raises `RunNotFound`, `KindUnknown`, `Held`."""
    return await journal.claim(run, terms.owner, terms.ttl, dead=terms.dead, kinds=terms.kinds)


async def release_quietly(journal: Journal[Any], run: str, epoch: int) -> None:
    """Release a run. If the journal fails, the lease ends by itself when its time is over. Written records remain."""
    try:
        await journal.release(run, epoch)
    except JournalError as error:
        if not error.passing:
            raise
        log.get_logger("run").warning("lease.kept", run_id=run, reason=str(error))


class Takeover(NamedTuple):
    """The first events of a driver after its claim."""

    facts: list[tuple[Any, int | None]]
    """The events, with the posted message that each event consumes, if any. All events are applied before the first
    decision.
    """
    taken: list[Mailed]
    """The posted messages from which the events were made."""
    left: list[Mailed]
    """The posted messages that are processed later, one after the other."""


class PostedEnd(NamedTuple):
    """The end of a run by a posted message."""

    state: Any
    events: list[Any]
    inbox: int


def end_by_message(machine: Machine[Any, Any, Any], state: Any, posted: Sequence[Mailed]) -> PostedEnd | None:
    """Return the end of the run by the first message that ends it; None if no message does."""
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
    """Return the first events of a driver that has claimed a run in this state.

    Some events must come before the takeover, because decisions depend on them: `precedes_takeover` of
    `runtime.core.events.Event`. Other messages come after the takeover, so that the time before it does not count as
    active. If the run is `finished`, all messages come before the takeover, because a message may undo the end.
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
