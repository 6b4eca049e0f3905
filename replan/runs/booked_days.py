"""What a run has added to each day, computed from its records: a journal stores only the day booked last."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from replan.runs.loaded import AnyKind
from replan.setup.kinds import Kinds
from runtime.core.daily_budget import Account, book, day_of
from runtime.core.errors import JournalDamaged, KindUnknown, UsageProblem
from runtime.core.events import Record
from runtime.core.ledger import ZERO, Amount
from runtime.core.machine import Summary
from runtime.journal.chain import decode
from runtime.journal.copying import spent_last
from runtime.journal.raw import RunCopy


class Append(NamedTuple):
    """One append to a run, and the summary of the state after it."""

    at: float
    summary: Summary


class Booked(NamedTuple):
    """What a run has added to each day, booked from the append `first` on."""

    first: int
    account: Account
    days: dict[int, Amount]


def spent_by_day(copy: RunCopy, kinds: Kinds) -> Mapping[int, Amount]:
    """Return what a run has added to each day, counted from 1970.

    Where its kind is not known here, or its account does not follow from its records, this is the day booked last.
    """
    head = copy.head
    if day_of(copy.records[0].at) == head.account.day:  # Days only go on, so that it was booked on no other.
        return spent_last(copy)
    try:
        kind = kinds.get(head.run, head.kind, head.format)
        texts = {digest.hex(): text for digest, text in copy.texts.items()}
        records = decode(kind.codec, head.run, copy.records, texts.get)
    except (KindUnknown, UsageProblem, JournalDamaged):
        return spent_last(copy)
    _, appends = replayed(kind, records, copy.ends)
    booked = booked_as(head.account, appends)
    if booked is None:
        return spent_last(copy)
    return {day: amount for day, amount in booked.days.items() if amount != ZERO}


def replayed(kind: AnyKind, records: Sequence[Record[Any]], ends: frozenset[int]) -> tuple[Any, list[Append]]:
    """Return the state after the records, and the appends, whose last records `ends` names."""
    state, appends = kind.machine.initial(), list[Append]()
    for record in records:
        state = kind.machine.evolve(state, record.event)
        if record.seq in ends:
            appends.append(Append(record.at, kind.machine.summary(state)))
    return state, appends


def booked_as(account: Account, appends: Sequence[Append]) -> Booked | None:
    """Return how a run was booked so that its account follows; None where no way leads to it.

    A journal of the first version booked nothing, so that the first appends may be left out.
    """
    for first in range(len(appends) + 1):
        booked = _booked(appends, first)
        if booked.account == account:
            return booked
    return None


def _booked(appends: Sequence[Append], first: int) -> Booked:
    account, days = Account(), dict[int, Amount]()
    for at, summary in appends[first:]:
        account, change = book(account, summary.committed, summary.reserved, at)
        days[account.day] = days.get(account.day, ZERO) + change
    return Booked(first, account, days)
