"""The rate limits of a server for requests and tokens, as the headers of its answers report them. Pure.

A limit is a window: a number of requests until a point in time, at which all of them are available again. If the server
has a bucket that refills continuously, the bucket is full at that time. So one rule fits both.
"""

import re
from collections.abc import Mapping
from datetime import datetime

from runtime.core.events import Value
from runtime.models.faults import retry_after

FIRST_CALLS = 10
"""The largest number of calls in flight to a server that has not answered yet. Its limits are not known."""
RESET_MAX = 120.0
"""The longest time in seconds that calls wait for a reset. A later reset counts as one after this time: then the calls
are sent, and when the server refuses them, their runs wait for the provider.
"""
MARGIN = 1.0
"""Seconds that are added to each reset, because some servers round it down."""
LIMIT_MAX = 10**9
"""The largest limit that is accepted. A larger one is ignored."""

EARLY_CALLS_MAX = 100
"""The largest number of calls that are counted before a limit is known."""

REQUESTS, TOKENS = "requests", "tokens"
_HEADERS = {
    REQUESTS: ("x-ratelimit-{}-requests", "anthropic-ratelimit-requests-{}", "x-ratelimit-{}", "ratelimit-{}"),
    TOKENS: ("x-ratelimit-{}-tokens", "anthropic-ratelimit-tokens-{}"),
}
"""The names of the headers: of OpenAI and most others, of Anthropic, and of OpenRouter. `{}` is one of `_PARTS`."""
_PARTS = ("limit", "remaining", "reset")
_DURATION = re.compile(r"(?=.)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_UNITS = (86_400.0, 3600.0, 60.0, 1.0, 0.001)
_LONG = 10**8
"""From this number on, a reset is a time in seconds since 1970; from a thousand times as much on, in milliseconds."""


class ReportedLimit(Value):
    """A limit as one answer reports it."""

    limit: int
    """The number of requests or tokens in a window."""
    remaining: int
    """The number of requests or tokens that are left."""
    seconds: float
    """The time from the answer until all of them are available again, in seconds."""


class Window(Value):
    """The current window of a limit."""

    limit: int
    """The number of requests or tokens in a window."""
    remaining: int
    """How many of them are left; negative if more were in flight than were left."""
    began: float
    """When this window began, in UTC seconds since 1970. Answers to calls that were sent before do not change it."""
    resets_at: float
    """When all of them are available again, in UTC seconds since 1970."""
    is_reported: bool = True
    """Whether an answer has reported `resets_at`. If not, it is `RESET_MAX` after `began`."""


class ServerLimits(Value):
    """The limits of a server for one key."""

    windows: Mapping[str, Window] = {}
    """The windows by what they limit: `requests` or `tokens`."""
    held_until: float = 0.0
    """Until when the server refuses all calls, in UTC seconds since 1970."""
    early_calls: tuple[float, ...] = ()
    """When calls were sent before a limit was known, at most `EARLY_CALLS_MAX`; empty once a limit is known."""


def read_limits(headers: Mapping[str, str], now: float) -> dict[str, ReportedLimit]:
    """Return the limits in an answer's headers, by what they limit. Header names are lower-case."""
    reported = {}
    for what, forms in _HEADERS.items():
        for form in forms:
            limit, remaining, reset = (headers.get(form.format(part), "") for part in _PARTS)
            numbers, seconds = (_count(limit), _count(remaining)), read_reset(reset, now)
            if None not in numbers and seconds is not None and numbers[0]:
                reported[what] = ReportedLimit(
                    limit=numbers[0] or 0, remaining=numbers[1] or 0, seconds=min(seconds, RESET_MAX)
                )
                break
    return reported


def read_reset(text: str, now: float) -> float | None:
    """Return the seconds until a reset, which is a duration (`6m0s`), a number of seconds or a time; else None."""
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

    `sent_at` is when its call was sent. `costs` is what later calls use, which the answer may not count yet.
    """
    windows = dict(limits.windows)
    for what, reported in read_limits(headers, now).items():
        before, until = windows.get(what), now + reported.seconds + MARGIN
        early = len(limits.early_calls) - 1 if what == REQUESTS else 0  # The answer counts its own call.
        left = reported.remaining - max(costs.get(what, 0), early)
        if before is None or _is_over(before, now):
            windows[what] = Window(limit=reported.limit, remaining=left, began=sent_at, resets_at=until)
        elif sent_at >= before.began:
            windows[what] = Window(
                limit=reported.limit,
                remaining=min(before.remaining, left),
                began=before.began,
                resets_at=max(before.resets_at, until) if before.is_reported else until,
            )
    held = limits.held_until
    if status == 429:
        wait_seconds = retry_after(headers, now)
        resets = [window.resets_at for window in windows.values() if window.remaining <= 0]
        held = max(
            held,
            min(now + RESET_MAX, max(resets, default=now + MARGIN) if wait_seconds is None else now + wait_seconds),
        )
    return ServerLimits(windows=windows, held_until=held, early_calls=() if windows else limits.early_calls)


def next_call_at(limits: ServerLimits, costs: Mapping[str, int], now: float) -> float:
    """Return when the next call may be sent, in UTC seconds since 1970. It may be sent at once if this is not later."""
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
        early = [at for at in limits.early_calls if now - RESET_MAX < at <= now]
        return limits.model_copy(update={"early_calls": (*early, now)[-EARLY_CALLS_MAX:]})
    windows = {}
    for what, window in limits.windows.items():
        if _is_over(window, now):
            window = Window(  # noqa: PLW2901
                limit=window.limit, remaining=window.limit, began=now, resets_at=now + RESET_MAX, is_reported=False
            )
        cost = min(costs.get(what, 0), window.limit)
        windows[what] = window.model_copy(update={"remaining": window.remaining - cost})
    return limits.model_copy(update={"windows": windows})


def _is_over(window: Window, now: float) -> bool:
    """Return whether a window has ended. It counts as ended too if the clock was set back after it began."""
    return not now < window.resets_at <= now + RESET_MAX + MARGIN


def _count(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 and int(text) <= LIMIT_MAX else None
