"""Copies runs from one journal to another, and deletes copied runs from the first journal, in a safe order.

Runs are copied in groups, because each transaction waits for the disk. First, a group is durably marked as moved in the
source, so that nobody drives these runs from the source. Then the group is read and added to the target in one
transaction, with the amounts that each run has added to each day's total. If the program is killed after it has marked
runs, calling the command again copies these runs.

A mark raises the epoch of a run, and a copy has the epoch of its source. So if the target has the source's last record,
under the same or a later epoch, the target already has the copy (`rules.receive`). If the target has another run with
this id, the target refuses the copy, and the mark in the source is removed. So exactly one journal drives each run.

Runs are deleted from the source only after all of them were read back from the target. A run is deleted only if it is
still marked and has not changed since it was read.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from runtime.core.errors import Fenced, JournalDamaged, JournalError, RunMoved, RunNotFound
from runtime.core.hooks import mark_point
from runtime.core.ledger import ZERO, Amount
from runtime.journal import rules
from runtime.journal.head import RunHead
from runtime.journal.port import Dead
from runtime.journal.raw import RawStore, RunCopy
from runtime.journal.rules import RunOperation


@dataclass(frozen=True, slots=True)
class Copied:
    """The result of copying a run."""

    run: str
    new: bool
    problem: str = ""
    """Why the run was not copied; empty if it was copied."""


def spent_last(copy: RunCopy) -> Mapping[int, Amount]:
    """Return the amount that a run has added to the last day on which it was charged.

    Days are counted from 1970.
    """
    share = copy.head.account.share
    return {} if share == ZERO else {copy.head.account.day: share}


AT_ONCE = 100
"""The largest number of runs that a copy marks as moved, or adds to the target, in one transaction."""
BYTES_AT_ONCE = 16 * 1024 * 1024
"""When the runs that a copy has read have at least this number of bytes, the copy adds them to the target. A single run
can have more bytes."""
DELETED_AT_ONCE = 500
"""The approximate number of runs that are deleted in one transaction. SQLite first reads all records of these runs."""


def copy_runs(
    source: RawStore,
    target: RawStore,
    places: tuple[str, str],
    dead: Dead,
    spent: Callable[[RunCopy], Mapping[int, Amount]] = spent_last,
    *,
    runs: Sequence[str] | None = None,
    at_once: int = AT_ONCE,
) -> Iterator[Copied]:
    """Copy runs (by default all runs) that nobody drives, and yield the result for each run.

    An error of one run does not stop the others. `places` are the names of the source and the target, for marks and
    messages. `spent` returns the amounts that a run has added to each day.
    """
    copying, runs = _Copying(source, target, places, spent), copyable(source) if runs is None else runs
    for begin in range(0, len(runs), at_once):
        yield from copying.copy(runs[begin : begin + at_once], dead)


def copyable(source: RawStore) -> list[str]:
    """Return the ids of the runs that have records, oldest run first."""
    with source.look() as reader:
        return reader.names(recorded=True)


def _mark(source: RawStore, runs: Sequence[str], place: str, dead: Dead) -> list[JournalError | None]:
    """Mark runs as moved to a place, in one transaction.

    Return for each run None or the error that prevented the mark. The errors are `Held`, `RunNotFound`,
    `JournalDamaged`, and `RunMoved` for a run that was moved elsewhere.
    """
    return source.carry_out(
        [RunOperation("move", run, lambda locked: rules.move(locked, place, dead), resumes=True) for run in runs]
    )


class _Copying(NamedTuple):
    """The process of copying runs from one journal to another."""

    source: RawStore
    target: RawStore
    places: tuple[str, str]
    spent: Callable[[RunCopy], Mapping[int, Amount]]

    def copy(self, runs: Sequence[str], dead: Dead) -> Iterator[Copied]:
        done, place = dict[str, Copied](), self.places[1]
        try:
            marked = zip(runs, _mark(self.source, runs, place, dead), strict=True)
            done |= {run: _failure(run, error) for run, error in marked if error is not None}
            mark_point("copy.marked")
            while left := [run for run in runs if run not in done]:
                done |= self._add(self._read(left, done))
        except JournalError as error:
            done = {run: _failure(run, error) for run in runs} | done
        yield from (done[run] for run in runs)

    def _read(self, runs: Sequence[str], done: dict[str, Copied]) -> list[RunCopy]:
        """Return the first of the runs, until they exceed `BYTES_AT_ONCE`.

        If a run cannot be read, store its error in `done`.
        """
        ready, size = list[RunCopy](), 0
        with self.source.look() as reader:
            for run, copy in reader.copies(runs):
                if isinstance(copy, JournalError):
                    done[run] = _failure(run, copy)
                    continue
                ready, size = [*ready, copy], size + copy.size
                if size >= BYTES_AT_ONCE:
                    break
        return ready

    def _add(self, copies: Sequence[RunCopy]) -> dict[str, Copied]:
        """Add runs to the target together. If the transaction fails, add the runs one by one.

        Return the result for each run.
        """
        here, place = self.places
        try:
            results = self.target.add([(copy, self.spent(copy)) for copy in copies], here) if copies else []
            mark_point("copy.added")
        except JournalError as error:
            if len(copies) == 1:
                return {copy.head.run: _failure(copy.head.run, error) for copy in copies}
            return {run: done for copy in copies for run, done in self._add([copy]).items()}
        done, refused = dict[str, Copied](), list[str]()
        for copy, result in zip(copies, results, strict=True):
            run = copy.head.run
            if isinstance(result, bool):
                done[run] = Copied(run, result)
                continue
            refused.append(run)
            if isinstance(result, RunMoved):
                why = f"{place} has a copy of run {run!r} that was moved to {result.place}, so the run stays in {here}"
            else:
                why = f"{place} already has another run {run!r}, so this run stays in {here}"
            done[run] = Copied(run, new=False, problem=why)
        if refused:
            takes_back = [RunOperation("keep", run, lambda locked: rules.keep(locked, place)) for run in refused]
            for left in filter(None, self.source.carry_out(takes_back)):
                raise left
        return done


def _failure(run: str, error: JournalError) -> Copied:
    return Copied(run, new=False, problem=str(error))


_OF_A_RUN = (Fenced, JournalDamaged, RunNotFound)
"""The errors that concern one run and do not stop the deletion of other runs. Any other error ends the command."""


@dataclass(frozen=True, slots=True)
class Removed:
    """The result of deleting some runs together."""

    runs: Sequence[str]
    problem: str = ""


def remove_copied(
    source: RawStore, target: RawStore, place: str, families: Iterable[Sequence[str]]
) -> Iterator[Removed]:
    """Delete copied runs from the source, and yield the result for each family.

    A family is a run with its child runs. All runs of a family are deleted together, after all of them were found in
    the target. `place` is the name of the target.
    """
    ready = list[list[RunHead]]()
    for family in families:
        try:
            ready.append([_check_copy(source, target, place, run) for run in family])
        except _OF_A_RUN as error:
            yield Removed(family, str(error))
        if sum(map(len, ready)) >= DELETED_AT_ONCE:
            yield from _remove(source, place, ready)
            ready.clear()
    yield from _remove(source, place, ready)


def _check_copy(source: RawStore, target: RawStore, place: str, run: str) -> RunHead:
    """Check that the target has all records, messages and texts of a run, and return the run's row in the source.

    The chains and seals of both copies are verified. The texts in the target are verified by their hashes. Raises
    `RunNotFound`, `JournalDamaged`.
    """
    head, where = source.head(run), f"run {run!r} in {place}"
    with source.look() as reader:
        copy = reader.copy(run)
    try:
        with target.look() as reader:
            kept = reader.copy(run)
    except JournalDamaged as error:
        raise JournalDamaged(f"{place}, {error.where}", error.cause) from error
    records, messages = kept.records[: head.tip.seq], kept.inbox[: head.last_posted]
    if (copy.records, copy.inbox) != (records, messages):
        raise JournalDamaged(where, "the run's records or messages differ from those of the source")
    for digest in copy.texts:
        text = kept.texts.get(digest)
        if text is None or hashlib.sha256(text).digest() != digest:
            raise JournalDamaged(where, f"the run's text {digest.hex()[:12]} is missing or does not match its hash")
    return head


def _remove(source: RawStore, place: str, families: Sequence[Sequence[RunHead]]) -> Iterator[Removed]:
    """Delete families together. If the transaction fails, delete the families one by one.

    Yield the result for each family.
    """
    if not families:
        return
    mark_point("copy.verified")
    try:
        source.remove([head for family in families for head in family], place)
    except _OF_A_RUN as error:
        if len(families) > 1:
            for family in families:
                yield from _remove(source, place, [family])
            return
        yield Removed([head.run for head in families[0]], str(error))
        return
    mark_point("copy.removed")
    yield from (Removed([head.run for head in family]) for family in families)
