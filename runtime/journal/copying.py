"""Copying runs from one journal to another: what is copied of a run, and the order of the steps.

Runs are copied some at a time, since a transaction waits for the disk: they are first marked as moved in their source,
durably, so that nobody drives them there any more. Then they are read and added to the target in one transaction, with
what they have added to each day. If the program is killed in between, the same command finds the marks and copies these
runs again.

A mark raises the epoch of a run, and a copy has the epoch of its source. So a target that has the last record of the
source under the same or a later epoch has received the run before: `check_received` tells. Every other target that has
a run of the name refuses the copy, and the source takes its mark back. So exactly one journal drives each run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from runtime.core.daily_budget import Account
from runtime.core.errors import JournalError, RunExists, RunMoved
from runtime.core.ledger import ZERO, Amount
from runtime.core.machine import Summary
from runtime.journal.chain import Stored, Tip
from runtime.journal.holding import place_moved_to
from runtime.journal.port import Dead, InboxItem, Placement


class RunCopy(NamedTuple):
    """All that a journal has of a run."""

    run: str
    title: str
    kind: str
    format: int
    created: float
    updated: float
    summary: Summary
    epoch: int
    account: Account
    """What it has committed, and on which day that was booked."""
    placement: Placement
    records: Sequence[Stored]
    """Its records with their hashes, verified."""
    ends: frozenset[int]
    """The place of the last record of each append."""
    inbox: Sequence[InboxItem]
    """Its posted messages, verified."""
    texts: Mapping[bytes, bytes]
    """The texts that its events name, by hash."""

    @property
    def size(self) -> int:
        """The bytes of its records, messages and texts."""
        records, inbox = sum(len(row.body) for row in self.records), sum(len(item.body) for item in self.inbox)
        return records + inbox + sum(map(len, self.texts.values()))

    @property
    def tip(self) -> Tip:
        """The end of its chain."""
        return Tip(self.records[-1].seq, self.records[-1].hash)

    @property
    def last_consumed(self) -> int:
        """The highest id of a consumed message, or 0."""
        return max((row.inbox for row in self.records if row.inbox is not None), default=0)

    @property
    def last_posted(self) -> int:
        """The id of the last message, or 0."""
        return max((item.inbox for item in self.inbox), default=0)

    @property
    def unread(self) -> bool:
        """Whether a message waits for a driver."""
        return self.summary.status != "finished" and self.last_posted > self.last_consumed


Refused = RunExists | RunMoved
"""Why a target does not take a run."""

Spent = Mapping[int, Amount] | None
"""What a run has added to each day; None for a run that was in the target before and has been counted there."""


class Source(Protocol):
    """A journal that runs are copied from."""

    def runs(self) -> list[str]:
        """Return the ids of the runs that have records, in the order of their admission."""
        ...

    def move(self, runs: Sequence[str], place: str, dead: Dead) -> Iterator[tuple[str, RunCopy | JournalError]]:
        """Mark runs as moved to a place, in one transaction, and yield each; one that is marked so already is, too.

        In the place of a run is `Held`, `RunMoved` for one that was moved elsewhere, `RunNotFound` or `JournalDamaged`.
        """
        ...

    def keep(self, runs: Sequence[str], place: str) -> None:
        """Take the marks of runs back that were to be moved to a place and cannot be. Raises `RunNotFound`."""
        ...


class Target(Protocol):
    """A journal that runs are copied to."""

    def add(self, copies: Sequence[tuple[RunCopy, Spent]], source: str = "") -> list[bool | Refused]:
        """Add runs and what they have spent on each day, in one transaction; return what became of each.

        That is True for a run that was added, False for one that was received before, and an error as
        `check_received` raises it. `source` is the place that they are copied from. A mark that a killed copy back to
        that place has left here is taken back. Raises `JournalError`; nothing is added then.
        """
        ...


@dataclass(frozen=True, slots=True)
class Copied:
    """What became of a run."""

    run: str
    """Its id."""
    new: bool
    """Whether it was added now."""
    problem: str = ""
    """Why it was not copied; empty where it was."""


def check_received(copy: RunCopy, owner: str | None, epoch: int, *, has_tip: bool) -> None:
    """Check that a target's run of the same name is the copied one, received before.

    `owner` and `epoch` are those of the target's run, and `has_tip` tells whether the copy's last record is among its
    records. Raises `RunMoved` where the run was moved away from the target and has gone on since: the copy is the newer
    one. Raises `RunExists` for any other run, also one in a journal that is itself a copy of the source's file.
    """
    if has_tip and epoch >= copy.epoch:
        return
    place = place_moved_to(owner)
    if place is not None:
        raise RunMoved(copy.run, place)
    raise RunExists(copy.run)


def spent_last(copy: RunCopy) -> Mapping[int, Amount]:
    """Return what a run has added to the day that it was last booked on: all that a journal knows beside its records.

    Days are counted from 1970.
    """
    share = copy.account.share
    return {} if share == ZERO else {copy.account.day: share}


AT_ONCE = 100
"""Runs that are marked, and added, in one transaction."""
BYTES_AT_ONCE = 16 * 1024 * 1024
"""The bytes of runs that are read before they are added; a single run may have more."""


def copy_runs(
    source: Source,
    target: Target,
    places: tuple[str, str],
    dead: Dead,
    spent: Callable[[RunCopy], Mapping[int, Amount]] = spent_last,
    *,
    at_once: int = AT_ONCE,
) -> Iterator[Copied]:
    """Copy all runs that nobody drives, and yield what became of each. A run that cannot be copied stops no other.

    `places` are those of the source and of the target, by which moved runs name them. `spent` returns what a run has
    added to each day.
    """
    copying, runs = _Copying(source, target, places, spent), source.runs()
    for begin in range(0, len(runs), at_once):
        yield from copying.copy(runs[begin : begin + at_once], dead)


class _Copying(NamedTuple):
    """The copying of runs from one journal to another."""

    source: Source
    target: Target
    places: tuple[str, str]
    spent: Callable[[RunCopy], Mapping[int, Amount]]

    def copy(self, runs: Sequence[str], dead: Dead) -> Iterator[Copied]:
        """Copy some runs, and yield what became of each, in their order."""
        done, ready, size = dict[str, Copied](), list[RunCopy](), 0
        try:
            for run, copy in self.source.move(runs, self.places[1], dead):
                if isinstance(copy, JournalError):
                    done[run] = Copied(run, new=False, problem=str(copy))
                    continue
                ready, size = [*ready, copy], size + copy.size
                if size >= BYTES_AT_ONCE:
                    done |= self._add(ready)
                    ready, size = [], 0
            done |= self._add(ready)
        except JournalError as error:
            done = {run: Copied(run, new=False, problem=str(error)) for run in runs} | done
        yield from (done[run] for run in runs)

    def _add(self, copies: Sequence[RunCopy]) -> dict[str, Copied]:
        """Add runs to the target, together or else one by one, and return what became of each."""
        here, place = self.places
        try:
            results = self.target.add([(copy, self.spent(copy)) for copy in copies], here) if copies else []
        except JournalError as error:
            if len(copies) == 1:
                return {copy.run: Copied(copy.run, new=False, problem=str(error)) for copy in copies}
            return {run: done for copy in copies for run, done in self._add([copy]).items()}
        done, refused = dict[str, Copied](), list[str]()
        for copy, result in zip(copies, results, strict=True):
            if isinstance(result, bool):
                done[copy.run] = Copied(copy.run, result)
                continue
            refused.append(copy.run)
            if isinstance(result, RunMoved):
                why = f"{place} has moved run {copy.run!r} to {result.place} and refuses it; it stays in {here}"
            else:
                why = f"{place} has another run {copy.run!r}, which exists already; this one stays in {here}"
            done[copy.run] = Copied(copy.run, new=False, problem=why)
        if refused:
            self.source.keep(refused, place)
        return done
