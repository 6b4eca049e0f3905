"""Copying runs from one journal to another: what is copied of a run, and the order of the steps.

Each run is first marked as moved in its source, durably, so that nobody drives it there any more. Then it is read and
added to the target in one transaction, with what it has added to each day. If the program is killed in between, the
same command finds the mark and copies the run again.

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


class Source(Protocol):
    """A journal that runs are copied from."""

    def runs(self) -> list[str]:
        """Return the ids of the runs that have records, in the order of their admission."""
        ...

    def move(self, run: str, place: str, dead: Dead) -> RunCopy:
        """Mark a run as moved to a place, and return it. A run that is marked so already is returned again.

        Raises `Held`, `RunMoved` for one that was moved elsewhere, `JournalDamaged`.
        """
        ...

    def keep(self, run: str, place: str) -> None:
        """Take the mark of a run back that was to be moved to a place and cannot be. Raises `RunNotFound`."""
        ...


class Target(Protocol):
    """A journal that runs are copied to."""

    def add(self, copy: RunCopy, spent: Mapping[int, Amount] | None, source: str = "") -> bool:
        """Add a run and what it has `spent` on each day; return False where it was received before.

        A run that was in this journal before has been counted, and None adds nothing again. `source` is the place that
        it is copied from. A mark that a killed copy back to that place has left here is taken back. Raises as
        `check_received`.
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


def copy_runs(
    source: Source,
    target: Target,
    places: tuple[str, str],
    dead: Dead,
    spent: Callable[[RunCopy], Mapping[int, Amount]] = spent_last,
) -> Iterator[Copied]:
    """Copy all runs that nobody drives, and yield what became of each. A run that cannot be copied stops no other.

    `places` are those of the source and of the target, by which moved runs name them. `spent` returns what a run has
    added to each day.
    """
    here, place = places
    for run in source.runs():
        try:
            copy = source.move(run, place, dead)
            try:
                new = target.add(copy, spent(copy), here)
            except RunMoved as error:
                source.keep(run, place)
                problem = f"{place} has moved run {run!r} to {error.place} and refuses it; it stays in {here}"
                yield Copied(run, new=False, problem=problem)
            except RunExists:
                source.keep(run, place)
                problem = f"{place} has another run {run!r}, which exists already; this one stays in {here}"
                yield Copied(run, new=False, problem=problem)
            else:
                yield Copied(run, new)
        except JournalError as error:
            yield Copied(run, new=False, problem=str(error))
