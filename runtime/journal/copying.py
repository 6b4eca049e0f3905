"""Copying runs from one journal to another: what is copied of a run, and the order of the steps.

Each run is first marked as moved in its source, durably, so that nobody drives it there any more. Then it is read and
added to the target in one transaction, with what it has added to each day. If the program is killed in between, the
same command finds the mark and copies the run again; a run that the target has already is left as it is. Where the
target has another run of the name, the mark is taken back.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from runtime.core.daily_budget import Account
from runtime.core.errors import JournalError, RunExists
from runtime.core.ledger import ZERO, Amount
from runtime.core.machine import Summary
from runtime.journal.chain import Stored, Tip
from runtime.journal.port import Dead, InboxItem, Placement


class RunCopy(NamedTuple):
    """All that a journal has of a run."""

    run: str
    title: str
    kind: str
    format: int
    codec: int
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
    marked: bool = False
    """Whether it was marked as moved in its source just now, and not before."""

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

        Raises `Held`, `RunMoved` for one that was moved elsewhere, `RunNewer`, `JournalDamaged`.
        """
        ...

    def keep(self, run: str, place: str) -> None:
        """Take the mark of a run back that was to be moved to a place and cannot be. Raises `RunNotFound`."""
        ...


class Target(Protocol):
    """A journal that runs are copied to."""

    def add(self, copy: RunCopy, spent: Mapping[int, Amount] | None) -> bool:
        """Add a run and what it has `spent` on each day; return False where it is there.

        A run that was in this journal before has been counted, and None adds nothing again. Raises `RunExists` for
        another run of its name.
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


def spent_last(copy: RunCopy) -> Mapping[int, Amount]:
    """Return what a run has added to the day that it was last booked on: all that a journal knows beside its records.

    Days are counted from 1970.
    """
    share = copy.account.share
    return {} if share == ZERO else {copy.account.day: share}


def copy_runs(
    source: Source,
    target: Target,
    place: str,
    dead: Dead,
    spent: Callable[[RunCopy], Mapping[int, Amount]] = spent_last,
) -> Iterator[Copied]:
    """Copy all runs that nobody drives, and yield what became of each. A run that cannot be copied stops no other.

    `spent` returns what a run has added to each day.
    """
    for run in source.runs():
        try:
            copy = source.move(run, place, dead)
            try:
                yield Copied(run, target.add(copy, spent(copy)))
            except RunExists:
                if copy.marked:  # Else it may have been there before, and have gone on.
                    source.keep(run, place)
                raise
        except JournalError as error:
            yield Copied(run, new=False, problem=str(error))
