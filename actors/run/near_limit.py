"""Warnings that a run has used 50 or 80 % of a limit. A run warns once at each level of each limit. Pure.

A warning is an event. The machine decides about warnings before all other decisions. Only charged amounts count as
used, not reservations. No timer is used, so a warning about active time or the deadline comes with the first record
after its level is reached. After a person has changed a limit, the run warns about it anew.

A run also warns about a daily budget, once for each level and day. The warning comes with the first request after the
level is reached. The run's driver reports how much all runs of the budget have spent and reserved.

A run warns only if its first event has levels for warnings. A child run warns about its own limits, and its driver
tells the parent run, which warns too. Only the parent run warns about a limit that is used up, or about a limit of
time.
"""

import operator
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field

from actors.run.limits import spec_of
from actors.run.state import RunState
from runtime.core.copies import changed
from runtime.core.daily_budget import day_of
from runtime.core.events import Event
from runtime.core.ledger import COUNTED, Limit, Limits
from runtime.core.messages import LimitUsed

WARN_AT = (50, 80)
"""The percentages of a limit at which a run warns. New runs of this release store these percentages."""


class LimitNear(Event):
    """A run, or all runs of a daily budget together, used enough of a limit for a warning."""

    added_fields: ClassVar[tuple[str, ...]] = ("whose", "day")
    kind: Literal["limit_near"] = "limit_near"
    limit: Limit
    """The limit."""
    percent: int
    """The highest level that is reached, in percent."""
    used: int | float
    """The used amount: calls, tokens, micro-dollars, active seconds, or seconds since the deadline was set."""
    most: int | float
    """The limit, in the same unit."""
    whose: str = Field(default="", exclude_if=operator.not_)
    """What is limited, such as "the home's budget for today"; empty for a limit of the run."""
    day: int | None = Field(default=None, exclude_if=lambda day: day is None)
    """The UTC day of a daily budget, as a number of days since 1970; None for any other limit."""

    @property
    def amounts(self) -> dict[str, str | int | float]:
        """The fields of the warning as plain data."""
        whose = {"whose": self.whose} if self.whose else {}
        return {"limit": str(self.limit), "percent": self.percent, "used": self.used, "most": self.most, **whose}

    @property
    def text(self) -> str:
        """The warning in one line, such as "80 % of 40 calls are used"."""
        percent = min(100, max(self.percent, int(100 * self.used / self.most)))
        most, spec = max(1, round(self.most)), spec_of(self.limit)
        if self.whose:
            return f"{percent} % of {self.whose} ({spec.text(most)}) is used"
        one = most == 1 or spec.unit == "dollars"
        what = spec.near.format(spec.number(most)) or f"{spec.text(most)} {'is' if one else 'are'} used"
        return f"{percent} % of {what}"


def warn_near_limit(run: RunState[Any]) -> LimitNear | None:
    """Return the next warning; None if no limit has reached a new level.

    A parked run does not warn before it goes on.
    """
    if not run.warn_at or run.parked:
        return None
    for limit, used, most in _uses(run):
        percent = _level(run, used, most)
        if run.child and (used >= most or limit not in COUNTED):
            continue
        if percent > run.warned.get(limit, 0):
            return LimitNear(limit=limit, percent=percent, used=used, most=most)
    return None


def warn_of_other(run: RunState[Any], message: LimitUsed) -> LimitNear | None:
    """Return the warning about a limit that is not the run's own.

    Return None if the limit has reached no new level, or if the run no longer needs the child run's result.
    """
    of_child = message.request_id != ""
    percent, day = _level(run, message.used, message.most), 0 if of_child else day_of(message.at)
    warned = run.warned_of_others.get((message.whose, message.limit), (day, 0))
    unwanted = of_child and message.request_id not in run.calls.open
    if run.parked or unwanted or not percent or (day, percent) <= warned:
        return None
    whose, used, most = message.whose, message.used, message.most
    return LimitNear(
        limit=message.limit, percent=percent, used=used, most=most, whose=whose, day=None if of_child else day
    )


def _level(run: RunState[Any], used: float, most: float) -> int:
    """Return the highest level that is reached, in percent; 0 for none."""
    return max((level for level in run.warn_at if 100 * used >= level * most), default=0)


def record_warning(run: RunState[Any], event: LimitNear) -> RunState[Any]:
    """Return the common part of a run's state after a warning."""
    if event.whose:
        key = event.whose, event.limit
        return changed(run, warned_of_others={**run.warned_of_others, key: (event.day or 0, event.percent)})
    return changed(run, warned={**run.warned, event.limit: event.percent})


def forget_warnings(run: RunState[Any], limits: Limits, at: float) -> RunState[Any]:
    """Return the common part of a run's state without the warnings about limits that `limits` changes."""
    before = run.ledger.limits
    kept = {limit: level for limit, level in run.warned.items() if limit.of(before) == limit.of(limits)}
    since = run.deadline_set if before.deadline == limits.deadline else max(run.now, at)
    return changed(run, warned=kept, deadline_set=since)


def nearest_limit(run: RunState[Any]) -> str:
    """Return the limit with the highest level of a run's warnings, such as `calls 80`; empty if there were no warnings.

    The name `daily_budget` stands for all daily budgets of today.
    """
    today = day_of(run.now)
    levels = {str(limit): level for limit, level in run.warned.items()}
    of_day = [level for day, level in run.warned_of_others.values() if day == today]
    levels |= {"daily_budget": max(of_day)} if of_day else {}
    limit = max(levels, key=levels.__getitem__, default="")
    return f"{limit} {levels[limit]}" if limit else ""


def _uses(run: RunState[Any]) -> Iterator[tuple[Limit, float, float]]:
    """Yield each limit that is set, with its used amount."""
    limits, used = run.ledger.limits, run.ledger.used
    for limit in COUNTED:
        if (most := limit.of(limits)) is not None:
            yield limit, getattr(used, limit.key), most
    if limits.active_seconds is not None:
        yield Limit.ACTIVE_TIME, round(run.ledger.active, 6), limits.active_seconds
    if limits.deadline is not None and limits.deadline > run.deadline_set:
        yield Limit.DEADLINE, round(run.now - run.deadline_set, 6), round(limits.deadline - run.deadline_set, 6)
