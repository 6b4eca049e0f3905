"""The daily budget: the limits of all runs of a home in a UTC day, and the share of each run in that day. Pure.

A run's ledger holds the total that it has committed: reserved, spent and unknown. The journal stores that total beside
the run, and books the difference on the day in the transaction that appends the events. So a batch whose reservation
would pass the day's limit is refused as a whole, whichever process asks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from runtime.core.ledger import MICRO, ZERO, Amount

DAY_SECONDS = 86_400

HOME = ""
"""The tenant under which all runs together are booked."""


@dataclass(frozen=True, slots=True)
class HomeBudget:
    """The limits of one UTC day."""

    calls: int | None = None
    """The largest number of calls; None is no limit."""
    micro_usd: int | None = None
    """The largest cost, in micro-dollars; None is no limit."""
    waits: bool = True
    """Whether a refused run waits for the next day. Otherwise it ends."""
    setting: str = ""
    """Where the user sets the limits, for messages; may be empty."""
    whose: str = "the home's budget"
    """What messages call this budget."""
    tenants: Mapping[str, "HomeBudget"] = field(default_factory=dict)
    """Further limits for the runs of each tenant, by the tenant's name."""

    def of(self, tenant: str) -> dict[str, "HomeBudget"]:
        """Return the budgets that a tenant's run counts against, by tenant: that of all runs, and the tenant's own."""
        return {HOME: self, tenant: self.tenants.get(tenant, NO_LIMIT)} if tenant else {HOME: self}

    def shortfall(self, day: Amount, change: Amount) -> str:
        """Return as text the first limit that a change makes a day's total exceed; empty for none.

        `day` is the total with the change in it.
        """
        if self.calls is not None and change.calls > 0 and day.calls > self.calls:
            return f"{self.calls:,} calls"
        if self.micro_usd is not None and change.micro_usd > 0 and day.micro_usd > self.micro_usd:
            return _dollars(self.micro_usd)
        return ""

    def reason_too_large(self, request: Amount) -> str:
        """Return why a request is too large for any day, even an unused one; empty where it is not."""
        limit = self.shortfall(request, request)
        if not limit:
            return ""
        most = f"{request.calls:,} calls" if request.calls > 1 else "1 call"
        if request.micro_usd:
            most += f" and {_dollars(request.micro_usd)}"
        setting = f" ({self.setting})" if self.setting else ""
        return f"a request may take {most}, but {self.whose} allows {limit} a day{setting}"

    def retry_at(self, now: float) -> float | None:
        """Return the time at which a refused run may ask again; None if refused runs end."""
        return _next_day(now) if self.waits else None


NO_LIMIT = HomeBudget()
"""The budget of a tenant that the settings do not name."""


class Account(NamedTuple):
    """The amount that one run has committed, and the day that was charged for it."""

    total: Amount = ZERO
    """What it has committed since it began."""
    day: int = 0
    """The day that it was last booked on, counted from 1970."""
    before: Amount = ZERO
    """Its committed calls and money before that day."""

    @property
    def share(self) -> Amount:
        """The calls and money that the run has added to its day."""
        total, before = self.total, self.before
        return Amount(max(0, total.calls - before.calls), 0, max(0, total.micro_usd - before.micro_usd))


def book(account: Account, committed: Amount, reserved: Amount, now: float) -> tuple[Account, Amount]:
    """Return a run's account after a new total, and the change of the day's total.

    The part that is still `reserved` when a day begins is booked on the new day too. Otherwise a reply that costs less
    than its request reserved on the day before would add room that the new day does not have.
    """
    day = day_of(now)
    if account.day >= day:  # If the clock was set back, the day stays.
        after = Account(committed, account.day, account.before)
        return after, after.share - account.share
    after = Account(committed, day, _smaller(account.total, committed - reserved))
    return after, after.share


def _smaller(left: Amount, right: Amount) -> Amount:
    """Return the smaller calls and the smaller money of two amounts; tokens are not booked on days."""
    calls, money = min(left.calls, right.calls), min(left.micro_usd, right.micro_usd)
    return Amount(calls=calls, micro_usd=money)


def day_of(now: float) -> int:
    """Return the UTC day of a time, counted from 1970."""
    return int(now // DAY_SECONDS)


def _next_day(now: float) -> float:
    """Return when the next UTC day begins."""
    return float((day_of(now) + 1) * DAY_SECONDS)


def _dollars(micro: int) -> str:
    """Return an amount of money as text, exact even where it is a fraction of a cent."""
    return f"${micro / MICRO:,.{2 if micro % 10_000 == 0 else 6}f}"
