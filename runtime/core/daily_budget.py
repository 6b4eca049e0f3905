"""The home's budget: what all runs of one home may commit in a UTC day, and what a run adds to a day. Pure.

A run's ledger says what it has committed altogether: reserved, spent and unknown. The journal keeps that beside the
run, and books the difference on the day in the transaction that appends the events which made it. So a reservation
that would take the day past its limit is refused with all that goes with it, whichever process asks.
"""

from dataclasses import dataclass
from typing import NamedTuple

from runtime.core.cost import MICRO
from runtime.core.ledger import ZERO, Amount

DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class HomeBudget:
    """Calls and micro-dollars of one UTC day; None is no limit. `waits`: a refused run waits for the next day."""

    calls: int | None = None
    micro_usd: int | None = None
    waits: bool = True

    def shortfall(self, day: Amount, change: Amount) -> str:
        """Return which limit a day's new total is past because of a change, in words; empty for none."""
        if self.calls is not None and change.calls > 0 and day.calls > self.calls:
            return f"{self.calls:,} calls"
        if self.micro_usd is not None and change.micro_usd > 0 and day.micro_usd > self.micro_usd:
            return _dollars(self.micro_usd)
        return ""

    def outsized(self, request: Amount) -> str:
        """Return why a request can be made on no day, however little the others use; empty where it can."""
        limit = self.shortfall(request, request)
        if not limit:
            return ""
        most = f"{request.calls:,} calls" if request.calls > 1 else "1 call"
        if request.micro_usd:
            most += f" and {_dollars(request.micro_usd)}"
        return f"a request may take {most}, but the home's budget allows {limit} a day (home_budget in config.yaml)"

    def again(self, now: float) -> float | None:
        """Return when a refused run may ask again; None where it is not to wait for that."""
        return next_day(now) if self.waits else None


class Account(NamedTuple):
    """What one run has committed: altogether, and before the `day` (counted from 1970) that it was last booked on."""

    total: Amount = ZERO
    day: int = 0
    before: Amount = ZERO

    @property
    def share(self) -> Amount:
        """The calls and money that the run has added to its day."""
        total, before = self.total, self.before
        return Amount(max(0, total.calls - before.calls), 0, max(0, total.micro_usd - before.micro_usd))


def book(account: Account, committed: Amount, reserved: Amount, now: float) -> tuple[Account, Amount]:
    """Return a run's account once it has committed so much, and what that adds to its day (or takes from it).

    What is `reserved` of it when a day begins is booked on the new day too. Else a reply that costs less than its
    request had reserved the day before would make room that this day does not have.
    """
    day = day_of(now)
    if account.day >= day:  # A clock that was set back books on the day that it came from.
        after = Account(committed, account.day, account.before)
        return after, after.share - account.share
    after = Account(committed, day, _less(account.total, committed - reserved))
    return after, after.share


def _less(one: Amount, other: Amount) -> Amount:
    calls, money = min(one.calls, other.calls), min(one.micro_usd, other.micro_usd)
    return Amount(calls, one.tokens, money)


def day_of(now: float) -> int:
    """Return the UTC day of a time, counted from 1970."""
    return int(now // DAY_SECONDS)


def next_day(now: float) -> float:
    """Return when the next UTC day begins."""
    return float((day_of(now) + 1) * DAY_SECONDS)


def _dollars(micro: int) -> str:
    """Return an amount in words, exact also where it is a fraction of a cent."""
    return f"${micro / MICRO:,.{2 if micro % 10_000 == 0 else 6}f}"
