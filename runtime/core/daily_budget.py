"""The daily budget: the calls and money that all runs of a home may use in a UTC day. Pure.

A run's ledger has the total that the run has committed: its reserved, spent and unknown amounts. The journal stores
this total with the run. When the journal appends events, it adds the change of the run's total to the day's total, in
the same transaction. If the events would exceed the day's limit, the journal refuses all of them. So the limit holds
for all processes together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from runtime.core.ledger import MICRO, ZERO, Amount, Limit

DAY_SECONDS = 86_400

HOME = ""
"""The key, in place of a tenant's name, for the amounts and the budget of all runs of the home together."""


class BudgetSource(Protocol):
    """A source of the limits for the current day. The limits may change while a journal is open."""

    def current(self) -> "HomeBudget":
        """Return the limits of a UTC day.

        This method is called before every change of the day's total, possibly in another thread. Never raises.
        """
        ...


@dataclass(frozen=True, slots=True)
class HomeBudget:
    """The limits of one UTC day. An object of this class is also a `BudgetSource` whose limits never change."""

    calls: int | None = None
    """The largest number of calls; None means no limit."""
    micro_usd: int | None = None
    """The largest cost, in micro-dollars; None means no limit."""
    waits: bool = True
    """Whether a refused run waits for the next day. If not, the run ends."""
    setting: str = ""
    """The name of the setting that contains the limits, for messages; may be empty."""
    whose: str = "the home's budget"
    """The name of this budget in messages."""
    tenants: Mapping[str, "HomeBudget"] = field(default_factory=dict)
    """Further limits for the runs of each tenant, by the tenant's name."""

    def current(self) -> "HomeBudget":
        """Return these limits."""
        return self

    def of(self, tenant: str) -> dict[str, "HomeBudget"]:
        """Return the budgets that limit a tenant's run: the common one by the key `HOME`, the tenant's by its name."""
        return {HOME: self, tenant: self.tenants.get(tenant, NO_LIMIT)} if tenant else {HOME: self}

    @property
    def limited(self) -> bool:
        """Whether this budget has a limit. The limits of single tenants are ignored."""
        return self.calls is not None or self.micro_usd is not None

    def uses(self, spent: Amount) -> list[tuple[Limit, int, int]]:
        """Return a tuple for each limit that is set: the limit, the spent amount and the largest allowed amount."""
        limits = ((Limit.CALLS, spent.calls, self.calls), (Limit.COST, spent.micro_usd, self.micro_usd))
        return [(limit, used, most) for limit, used, most in limits if most is not None]

    def shortfall(self, day: Amount, change: Amount) -> str:
        """Return a limit that the total of a day exceeds, as text; empty if the total exceeds no limit.

        `day` is this total. It includes `change`. The limit of calls comes before the limit of costs.
        """
        if self.calls is not None and change.calls > 0 and day.calls > self.calls:
            return f"{self.calls:,} call{'' if self.calls == 1 else 's'}"
        if self.micro_usd is not None and change.micro_usd > 0 and day.micro_usd > self.micro_usd:
            return _dollars(self.micro_usd)
        return ""

    def reason_too_large(self, request: Amount) -> str:
        """Return why a request would exceed the limit even on a day without other requests; empty if it would not."""
        limit = self.shortfall(request, request)
        if not limit:
            return ""
        most = f"{request.calls:,} calls" if request.calls > 1 else "1 call"
        if request.micro_usd:
            most += f" and {_dollars(request.micro_usd)}"
        setting = f" ({self.setting})" if self.setting else ""
        return f"a request may take {most}, but {self.whose} allows {limit} a day{setting}"

    def retry_at(self, now: float) -> float | None:
        """Return the time at which a refused run may reserve again; None if refused runs end."""
        return _next_day(now) if self.waits else None


NO_LIMIT = HomeBudget()
"""The budget of a tenant that the settings do not name."""


class Account(NamedTuple):
    """The amount that one run has committed, and the day that was charged for it."""

    total: Amount = ZERO
    """The total that the run has committed since it began."""
    day: int = 0
    """The last day on which the run was charged, as a number of days since 1970."""
    before: Amount = ZERO
    """The calls and money that the run had committed before that day."""

    @property
    def share(self) -> Amount:
        """The calls and money that the run has added to the total of its last day."""
        total, before = self.total, self.before
        return Amount(max(0, total.calls - before.calls), 0, max(0, total.micro_usd - before.micro_usd))


def book(account: Account, committed: Amount, reserved: Amount, now: float) -> tuple[Account, Amount]:
    """Return the new account of a run whose total is now `committed`, and the change of the day's total.

    When a day begins, amounts that are still `reserved` are counted on the new day too. Otherwise, a reply that costs
    less than its reservation could make the new day's amount negative.
    """
    day = day_of(now)
    if account.day >= day:  # If the clock was set back, the day is not changed.
        after = Account(committed, account.day, account.before)
        return after, after.share - account.share
    after = Account(committed, day, _smaller(account.total, committed - reserved))
    return after, after.share


def _smaller(left: Amount, right: Amount) -> Amount:
    """Return the smaller number of calls and the smaller cost of two amounts. Tokens are not counted per day."""
    calls, money = min(left.calls, right.calls), min(left.micro_usd, right.micro_usd)
    return Amount(calls=calls, micro_usd=money)


def day_of(now: float) -> int:
    """Return the UTC day of a time, as a number of days since 1970."""
    return int(now // DAY_SECONDS)


def _next_day(now: float) -> float:
    """Return when the next UTC day begins."""
    return float((day_of(now) + 1) * DAY_SECONDS)


def _dollars(micro: int) -> str:
    """Return an amount of money as text. The text is exact, even for a fraction of a cent."""
    return f"${micro / MICRO:,.{2 if micro % 10_000 == 0 else 6}f}"
