"""The pace of calls to a server: its limits of requests and tokens, as its answers tell them. Pure.

A limit is a window: so many requests until a point in time, at which all of them are there again. A server with a
bucket that fills all the time has at least as many then, so the same rule is right for both.
"""

import re
from collections.abc import Mapping
from datetime import datetime

from runtime.core.events import Value
from runtime.models.faults import retry_after

FIRST_CALLS = 10
"""How many calls are in flight to a server that has not answered yet: its limits are not known."""
RESET_MAX = 120.0
"""The longest time in seconds for which a limit is believed. A longer one is no matter of pace: the calls are sent, and
the runs wait for their provider as it refuses them.
"""
MARGIN = 1.0
"""Seconds that are added to each reset, since some servers round it down."""
LIMIT_MAX = 10**9
"""The largest limit that is believed."""

UNTOLD_MAX = 100
"""How many calls are counted that were sent before a limit was known."""

REQUESTS, TOKENS = "requests", "tokens"
_NAMES = {
    REQUESTS: (
        ("x-ratelimit-{}-requests", "anthropic-ratelimit-requests-{}", "x-ratelimit-{}", "ratelimit-{}"),
        ("limit", "remaining", "reset"),
    ),
    TOKENS: (("x-ratelimit-{}-tokens", "anthropic-ratelimit-tokens-{}"), ("limit", "remaining", "reset")),
}
"""The names of headers with the limits: of OpenAI and most others, of Anthropic, and of OpenRouter."""
_DURATION = re.compile(r"(?=.)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_UNITS = (86_400.0, 3600.0, 60.0, 1.0, 0.001)
_LONG = 10**8
"""A number of seconds from which on it is a time: in seconds since 1970, or from a thousand times as much in
milliseconds."""


class Told(Value):
    """A limit as one answer tells it."""

    limit: int
    """How many there are in a window."""
    remaining: int
    """How many are left."""
    seconds: float
    """When all are there again, in seconds from the answer."""


class Window(Value):
    """A limit of a server as it is known."""

    limit: int
    """How many there are in a window."""
    remaining: int
    """How many are left of this window; negative if more were in flight than are left."""
    began: float
    """When this window began, in UTC seconds since 1970: earlier calls say nothing about it."""
    resets_at: float
    """When all are there again."""
    is_told: bool = True
    """Whether an answer has told the end of this window; else it is the longest that is believed."""


class ServerLimits(Value):
    """The limits of a server for one key."""

    windows: Mapping[str, Window] = {}
    """By what is limited: `requests` and `tokens`."""
    held_until: float = 0.0
    """Until when the server has refused all calls, in UTC seconds since 1970."""
    untold: tuple[float, ...] = ()
    """When calls were sent before any answer has told a limit, at most `UNTOLD_MAX`; empty once one has."""


def read_limits(headers: Mapping[str, str], now: float) -> dict[str, Told]:
    """Return the limits that an answer's headers tell, by what is limited. Header names are lower-case."""
    told = {}
    for what, (forms, parts) in _NAMES.items():
        for form in forms:
            limit, remaining, reset = (headers.get(form.format(part), "") for part in parts)
            numbers, seconds = (_count(limit), _count(remaining)), read_reset(reset, now)
            if None not in numbers and seconds is not None and numbers[0]:
                told[what] = Told(limit=numbers[0] or 0, remaining=numbers[1] or 0, seconds=min(seconds, RESET_MAX))
                break
    return told


def read_reset(text: str, now: float) -> float | None:
    """Return the seconds until a reset: of a duration (`6m0s`), of seconds, or of a time; None for anything else."""
    text = text.strip()[:40]
    try:
        number = float(text)
    except ValueError:
        matched = _DURATION.fullmatch(text)
        if matched is not None:
            return sum(float(part) * unit for part, unit in zip(matched.groups(), _UNITS, strict=True) if part)
        try:
            return max(0.0, datetime.fromisoformat(text).timestamp() - now)
        except (ValueError, OverflowError):
            return None
    if not 0 <= number < _LONG * 10**6:
        return None
    if number < _LONG:
        return number
    return max(0.0, (number if number < _LONG * 1000 else number / 1000) - now)


def after_answer(
    limits: ServerLimits,
    headers: Mapping[str, str],
    status: int,
    *,
    sent_at: float,
    costs: Mapping[str, int],
    now: float,
) -> ServerLimits:
    """Return the limits after an answer.

    `sent_at` is when its call was sent, and `costs` is what was sent since then: the answer does not count that yet.
    """
    windows = dict(limits.windows)
    for what, told in read_limits(headers, now).items():
        before, until = windows.get(what), now + told.seconds + MARGIN
        left = told.remaining - max(costs.get(what, 0), len(limits.untold) - 1 if what == REQUESTS else 0)
        if before is None or _is_over(before, now):
            windows[what] = Window(limit=told.limit, remaining=left, began=sent_at, resets_at=until)
        elif sent_at >= before.began:
            windows[what] = Window(
                limit=told.limit,
                remaining=min(before.remaining, left),
                began=before.began,
                resets_at=max(before.resets_at, until) if before.is_told else until,
            )
    held = limits.held_until
    if status == 429:
        asked = retry_after(headers, now)
        resets = [window.resets_at for window in windows.values() if window.remaining <= 0]
        held = max(held, min(now + RESET_MAX, max(resets, default=now + MARGIN) if asked is None else now + asked))
    return ServerLimits(windows=windows, held_until=held, untold=() if windows else limits.untold)


def next_call_at(limits: ServerLimits, costs: Mapping[str, int], now: float) -> float:
    """Return when the next call may be sent, in UTC seconds since 1970; `now` or earlier for at once."""
    times = [limits.held_until] if limits.held_until <= now + RESET_MAX else []
    times += [
        window.resets_at
        for what, window in limits.windows.items()
        if not _is_over(window, now) and window.remaining < min(costs.get(what, 0), window.limit)
    ]
    return max(times, default=now)


def after_call(limits: ServerLimits, costs: Mapping[str, int], now: float) -> ServerLimits:
    """Return the limits after a call was sent."""
    if not limits.windows:
        untold = [at for at in limits.untold if now - RESET_MAX < at <= now]
        return limits.model_copy(update={"untold": (*untold, now)[-UNTOLD_MAX:]})
    windows = {}
    for what, window in limits.windows.items():
        if _is_over(window, now):
            window = Window(  # noqa: PLW2901
                limit=window.limit, remaining=window.limit, began=now, resets_at=now + RESET_MAX, is_told=False
            )
        cost = min(costs.get(what, 0), window.limit)
        windows[what] = window.model_copy(update={"remaining": window.remaining - cost})
    return limits.model_copy(update={"windows": windows})


def _is_over(window: Window, now: float) -> bool:
    """Tell whether a window has ended. One that ends later than any may was written before the clock was set back."""
    return not now < window.resets_at <= now + RESET_MAX + MARGIN


def _count(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 and int(text) <= LIMIT_MAX else None
