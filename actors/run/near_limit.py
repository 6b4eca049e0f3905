"""The warning that a run has used much of a limit: at 50 and 80 %, once for each limit and level. Pure.

A warning is an event, decided from the state before any other decision. What a limit counts as used is what is charged
for, without reservations. No timer waits for a time: a warning about active time or the deadline comes with the first
record after the level is reached. A limit that a person changes counts as new: its warnings are made again.

A run warns only if its first event says at which levels. A run that is a step of another run does not warn, because the
parent run pays for it.
"""

from collections.abc import Iterator
from typing import Any, Literal

from actors.run.limits import spec_of
from actors.run.state import RunState
from runtime.core.copies import changed
from runtime.core.events import Event
from runtime.core.ledger import COUNTED, Limit, Limits

WARN_AT = (50, 80)
"""The levels of the runs of this release, in percent of a limit."""


class LimitNear(Event):
    """A run has used so much of a limit that it warns."""

    kind: Literal["limit_near"] = "limit_near"
    limit: Limit
    """The limit."""
    percent: int
    """The highest level that is reached, in percent."""
    used: int | float
    """What is used: calls, tokens, micro-dollars, active seconds, or seconds since the deadline was set."""
    most: int | float
    """The limit, in the same unit."""

    @property
    def amounts(self) -> dict[str, str | int | float]:
        """Its fields as plain data."""
        return {"limit": str(self.limit), "percent": self.percent, "used": self.used, "most": self.most}

    @property
    def text(self) -> str:
        """The warning in one line, such as "80 % of 40 calls are used"."""
        percent = min(100, max(self.percent, int(100 * self.used / self.most)))
        most, spec = max(1, round(self.most)), spec_of(self.limit)
        one = most == 1 or spec.unit == "dollars"
        what = spec.near.format(spec.number(most)) or f"{spec.text(most)} {'is' if one else 'are'} used"
        return f"{percent} % of {what}"


def warn_near_limit(run: RunState[Any]) -> LimitNear | None:
    """Return the warning that is due; None if no limit has reached a level that it was not warned about.

    A parked run warns when it goes on.
    """
    if not run.warn_at or run.parked:
        return None
    for limit, used, most in _uses(run):
        percent = max((level for level in run.warn_at if 100 * used >= level * most), default=0)
        if percent > run.warned.get(limit, 0):
            return LimitNear(limit=limit, percent=percent, used=used, most=most)
    return None


def record_warning(run: RunState[Any], event: LimitNear) -> RunState[Any]:
    """Return the common part of a run after a warning."""
    return changed(run, warned={**run.warned, event.limit: event.percent})


def forget_warnings(run: RunState[Any], limits: Limits, at: float) -> RunState[Any]:
    """Return the common part of a run without the warnings about the limits that `limits` changes at a time."""
    before = run.ledger.limits
    kept = {limit: level for limit, level in run.warned.items() if limit.of(before) == limit.of(limits)}
    since = run.deadline_set if before.deadline == limits.deadline else max(run.now, at)
    return changed(run, warned=kept, deadline_set=since)


def nearest_limit(run: RunState[Any]) -> str:
    """Return the limit with the highest level that a run has warned about, such as `calls 80`; empty for none."""
    limit = max(run.warned, key=run.warned.__getitem__, default=None)
    return "" if limit is None else f"{limit} {run.warned[limit]}"


def _uses(run: RunState[Any]) -> Iterator[tuple[Limit, float, float]]:
    """Yield each limit that is set, with what is used of it."""
    limits, used = run.ledger.limits, run.ledger.used
    for limit in COUNTED:
        if (most := limit.of(limits)) is not None:
            yield limit, getattr(used, limit.key), most
    if limits.active_seconds is not None:
        yield Limit.ACTIVE_TIME, round(run.ledger.active, 6), limits.active_seconds
    if limits.deadline is not None and limits.deadline > run.deadline_set:
        yield Limit.DEADLINE, round(run.now - run.deadline_set, 6), round(limits.deadline - run.deadline_set, 6)
