"""Adding records to a run in the SQLite file, and booking what they commit."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import apsw

from runtime.core.daily_budget import HomeBudget, book
from runtime.core.errors import HomeBudgetSpent
from runtime.core.machine import Summary
from runtime.journal.chain import Stored, Tip, extend
from runtime.journal.sqlite import statements
from runtime.journal.validation import Entry

E = TypeVar("E")


class Written(NamedTuple):
    """Records that were written."""

    number: int
    """The run's number in this file."""
    rows: list[Stored]


class Booking(NamedTuple):
    """What an append says about the run, and whether its days allow that."""

    summary: Summary
    """The summary of the run's state after it."""
    now: float
    """The time."""
    budget: HomeBudget
    """The daily budget."""
    overdraw: bool
    """Whether it may pass the budget."""


def extend_run(
    connection: apsw.Connection,
    run: str,
    held: statements.RunLeaseRow,
    entries: Sequence[Entry[E]],
    booking: Booking,
) -> Written:
    """Add the entries to a run, under its epoch, and change its status row, in the caller's transaction.

    Raises `HomeBudgetSpent`, and `JournalError` for a message that cannot be consumed.
    """
    summary, now, budget, overdraw = booking
    account, change = book(held.account, summary.committed, summary.reserved, now)
    for tenant, limits in budget.of(held.placement.tenant).items() if change.calls or change.micro_usd else ():
        day = statements.add_spending(connection, tenant, account.day, change)
        if not overdraw and (limit := limits.shortfall(day, change)):
            raise HomeBudgetSpent(limit, limits.retry_at(now), limits)
    rows = extend(run, held.tip, held.epoch, now, entries)
    statements.add_records(connection, run, held.id, entries, rows)
    tip = Tip(rows[-1].seq, rows[-1].hash) if rows else held.tip
    statements.update_run(connection, held._replace(tip=tip, account=account), summary, now)
    return Written(held.id, rows)
