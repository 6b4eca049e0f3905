"""What a home knows about the servers of its models: refused parameters, costs of errors, and rate limits.

A rate limit is stored as a window: the number of requests or tokens left, and the time at which all are available
again. If a server refills its limit continuously, this is the time when the limit is full again. So the same rule works
for both kinds of limits.
"""

import fcntl
import hashlib
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import trio
from pydantic import ValidationError

from runtime.core.clock import Clock
from runtime.core.events import Value
from runtime.logs import log
from runtime.models.faults import retry_after
from runtime.models.port import Fault
from runtime.models.providers import is_loopback
from runtime.models.refusals import DAY_SECONDS, Refusals

FIRST_CALLS = 10
"""The largest number of calls in flight to a server that has not answered yet. The rate limits of such a server are not
known."""
RESET_MAX = 120.0
"""The longest time, in seconds, that calls wait for the reset of a rate limit. If the reset comes later, calls are sent
after this time. If the server refuses these calls, their runs wait for the provider.
"""
MARGIN = 1.0
"""The seconds that are added to the time until each reset of a rate limit, because some servers round this time
down."""
LIMIT_MAX = 10**9
"""The largest number of requests or tokens that is accepted as a rate limit. A larger rate limit is ignored."""

EARLY_CALLS_MAX = 100
"""The largest number of calls to a server that are counted before one of its rate limits is known."""

REQUESTS, TOKENS = "requests", "tokens"
_HEADERS = {
    REQUESTS: ("x-ratelimit-{}-requests", "anthropic-ratelimit-requests-{}", "x-ratelimit-{}", "ratelimit-{}"),
    TOKENS: ("x-ratelimit-{}-tokens", "anthropic-ratelimit-tokens-{}"),
}
"""The names of the headers in which servers report rate limits. Most providers use OpenAI's names; Anthropic and
OpenRouter have their own. `{}` stands for one of `_PARTS`.
"""
_PARTS = ("limit", "remaining", "reset")
_DURATION = re.compile(r"(?=.)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_UNITS = (86_400.0, 3600.0, 60.0, 1.0, 0.001)
_LONG = 10**8
"""In a header, a reset of at least this number is a time in seconds since 1970. A reset of at least 1,000 times this
number is a time in milliseconds since 1970."""


class ReportedLimit(Value):
    """A rate limit that the server reports in one answer."""

    limit: int
    remaining: int
    seconds: float
    """The seconds from the answer until the whole limit is available again."""


class Window(Value):
    """The current window of a rate limit."""

    limit: int
    remaining: int
    """The number of requests or tokens that are left; negative if open calls may use more than were left."""
    began: float
    """The time when this window began, in UTC seconds since 1970. Answers to earlier calls do not change the window."""
    resets_at: float
    """The time when all requests or tokens are available again, in UTC seconds since 1970."""
    is_reported: bool = True
    """Whether an answer has reported `resets_at`. If no answer has, `resets_at` is `RESET_MAX` seconds after `began`.
    """


class ServerLimits(Value):
    """The rate limits of a server for one API key."""

    windows: Mapping[str, Window] = {}
    """The windows, by the name of the limited thing: `requests` or `tokens`."""
    held_until: float = 0.0
    """The time until which the server refuses all calls, in UTC seconds since 1970."""
    early_calls: tuple[float, ...] = ()
    """The times of at most `EARLY_CALLS_MAX` calls that were sent before a limit was known; empty once a limit is
    known.
    """


def read_limits(headers: Mapping[str, str], now: float) -> dict[str, ReportedLimit]:
    """Return the rate limits in an answer's headers, by what they limit (`requests` or `tokens`).

    Header names are lower-case.
    """
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
    """Return the seconds until a reset: a duration (`6m0s`), a number of seconds or a time; None for other texts."""
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
    """Return the limits as they are after an answer with these headers and this status.

    `sent_at` is the time when the answered call was sent. `costs` are the requests and tokens of later calls, which the
    answer may not count yet.
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
    """Return when a call with these costs may be sent, in UTC seconds since 1970.

    If the time is in the past, send it now.
    """
    times = [limits.held_until] if limits.held_until <= now + RESET_MAX else []
    times += [
        window.resets_at
        for what, window in limits.windows.items()
        if not _is_over(window, now) and window.remaining < min(costs.get(what, 0), window.limit)
    ]
    return max(times, default=now)


def after_call(limits: ServerLimits, costs: Mapping[str, int], now: float) -> ServerLimits:
    """Return the limits as they are after a call with these costs was sent."""
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
    """Return whether a window has ended.

    If the clock was set back, so that the end is too far in the future, the window counts as ended too.
    """
    return not now < window.resets_at <= now + RESET_MAX + MARGIN


def _count(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 and int(text) <= LIMIT_MAX else None


FILE_BYTES_MAX = 1024 * 1024
"""The largest size, in bytes, of the file in which `Servers` stores what the home knows. A larger file counts as
empty."""
MODELS_MAX = 200
"""The largest number of models whose refused parameters are kept. The models whose parameters changed least recently
are dropped first."""
LIMITS_MAX = 100
"""The largest number of pairs of a server and a key whose rate limits are kept. The pairs whose rate limits changed
least recently are dropped first."""
KEY_HASH = 4
"""The number of hexadecimal digits that are kept from the hash of an API key. So few digits cannot confirm a guessed
key. Two keys for one server share their rate limits if their digits are equal. With five keys for one server, the
chance of this is 1 in 6,500.
"""

LOCK_SECONDS = 0.05
"""The longest time, in seconds, to wait for the lock of the file of `Servers`. During this wait, all runs of the
process stand still."""
UNSHARED_SECONDS = 60.0
"""If a process could not write the file of `Servers`, it keeps its changes only in memory for this number of
seconds."""

_GATEWAY = frozenset({502, 504})


class Learned(Value):
    """A change of one parameter that was learned from a refusal."""

    way: str
    """The way in which the parameter is sent, as in `runtime.models.refusals.Ways`."""
    until: float
    """The time when this change is forgotten, in UTC seconds since 1970."""


class Known(Value):
    """The content of the file in which `Servers` stores what the home knows."""

    learned: Mapping[str, Mapping[str, Learned]] = {}
    """The changed parameters, by `ADDRESS MODEL`."""
    limits: Mapping[str, ServerLimits] = {}
    """The rate limits of servers, by `HOST DIGITS`, where DIGITS are digits of the key's hash."""


class Servers:
    """What a home knows about model servers: refused parameters and rate limits.

    All processes of the home share it in a file.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        refusals: Mapping[str, Refusals] | None = None,
        charge_gateway_errors: bool = True,
    ) -> None:
        """Take the path of the file.

        Args:
            path: with None, everything is stored only in memory. A missing file is created by the first change.
            refusals: the parameters that servers may refuse, by interface.
            charge_gateway_errors: whether a 502 or 504 is charged, unless the server is on this machine.
        """
        self._path, self._known = path, Known()
        self._version: tuple[int, ...] = ()
        self._unshared_until = 0.0
        self._refusals, self._charge_gateway_errors = refusals or {}, charge_gateway_errors
        self._rate_limiters: dict[str, RateLimiter] = {}

    def with_charge(self, fault: Fault, base_url: str) -> Fault:
        """Return a server's fault. If the status is that of a gateway error, set whether the fault is unpaid."""
        if fault.status not in _GATEWAY:
            return fault
        free = not self._charge_gateway_errors or is_loopback(urlsplit(base_url).hostname or "")
        return fault.model_copy(update={"unpaid": free})

    def refusals(self, interface: str) -> Refusals:
        """Return the parameters of an interface that servers may refuse."""
        return self._refusals.get(interface, {})

    def ways(self, base_url: str, model: str, now: float) -> dict[str, str]:
        """Return the way in which each changed parameter is sent to a model of a server.

        `now` is in UTC seconds since 1970.
        """
        return self.learned(now).get(f"{base_url} {model}", {})

    def learned(self, now: float) -> dict[str, dict[str, str]]:
        """Return the ways of the parameters that were refused within a day, for each `ADDRESS MODEL`."""
        known = {
            key: {name: item.way for name, item in ways.items() if now < item.until <= now + DAY_SECONDS}
            for key, ways in self._read().learned.items()
        }
        return {key: ways for key, ways in known.items() if ways}

    def learn(self, base_url: str, model: str, changes: Mapping[str, str | None], now: float) -> None:
        """Remember for a day how parameters are sent to a model of a server. A change to None forgets the parameter."""
        key = f"{base_url} {model}"
        learned = {name: Learned(way=way, until=now + DAY_SECONDS) for name, way in changes.items() if way is not None}

        def add(known: Known) -> Known:
            others = {other: ways for other, ways in known.learned.items() if other != key}
            kept = {name: item for name, item in known.learned.get(key, {}).items() if name not in changes}
            rows = [*others.items(), (key, {**kept, **learned})][-MODELS_MAX:]
            return known.model_copy(update={"learned": dict(rows)})

        self._change(add)

    def rate_limiter(self, base_url: str, secret: str) -> "RateLimiter":
        """Return the rate limiter of this process for a server and a key."""
        host = urlsplit(base_url).netloc
        key = f"{host} {hashlib.sha256(f'{host} {secret.strip()}'.encode()).hexdigest()[:KEY_HASH]}"
        return self._rate_limiters.setdefault(key, RateLimiter(self, key))

    def limits(self) -> Mapping[str, ServerLimits]:
        """Return the rate limits of servers, as in `Known.limits`."""
        return self._read().limits

    def change_limits(self, key: str, change: Callable[[ServerLimits], ServerLimits]) -> None:
        """Change the rate limits that `limits()` has under a key. The file is written only if they change."""
        before = self._read().limits.get(key, ServerLimits())
        if change(before) == before:
            return

        def put(known: Known) -> Known:
            others = {other: limits for other, limits in known.limits.items() if other != key}
            rows = [*others.items(), (key, change(known.limits.get(key, ServerLimits())))][-LIMITS_MAX:]
            return known.model_copy(update={"limits": dict(rows)})

        self._change(put)

    def _read(self) -> Known:
        """Return the content of the file. The file is read again only if it has changed.

        If the file is incomplete, the content that was read before is returned.
        """
        if self._path is None or time.monotonic() < self._unshared_until:
            return self._known
        try:
            with self._path.open("rb", buffering=0) as file:
                state = os.fstat(file.fileno())
                version = (state.st_ino, state.st_size, state.st_mtime_ns)
                if version != self._version:
                    self._known = _parse(file.read(FILE_BYTES_MAX + 1)) or self._known
                    self._version = version
        except OSError:
            pass  # The file does not exist yet, or cannot be read. What this process has learned counts.
        return self._known

    def _change(self, change: Callable[[Known], Known]) -> None:
        """Change the stored knowledge. If the file cannot be written, the change is kept only in this process."""
        if self._path is None or time.monotonic() < self._unshared_until:
            self._known = change(self._known)
            return
        try:
            with _locked(self._path) as file:
                self._known = change(_parse(os.pread(file, FILE_BYTES_MAX + 1, 0)) or self._known)
                os.ftruncate(file, os.pwrite(file, self._known.model_dump_json().encode(), 0))
        except OSError as error:
            log.get_logger("replan.servers").warning(
                "the file that stores what is known about servers cannot be written",
                path=str(self._path),
                error=str(error),
            )
            self._unshared_until = time.monotonic() + UNSHARED_SECONDS
            self._known = change(self._known)


class RateLimiter:
    """Delays the calls of this process to one server with one key, so that they do not exceed known rate limits.

    Waiting calls are sent in the order of their arrival. All processes of a home share the known limits.
    """

    def __init__(self, servers: Servers, key: str) -> None:
        self._servers, self._key = servers, key
        self._lock, self._changed = trio.Lock(), trio.Event()
        self._open: list[float] = []
        self._tokens, self._answered = 0, False

    @asynccontextmanager
    async def turn(self, clock: Clock) -> AsyncIterator[None]:
        """Wait until one call may be sent, and hold the call as open until the `with` block ends.

        Earlier calls are sent first. After that, a call waits for at most `RESET_MAX` seconds.
        """
        async with self._lock:
            last = clock.now() + RESET_MAX
            while (at := min(self._next(now := clock.now()), last)) > now:
                await self._wait(clock, at)
            if not self._answered or self._limits.windows:
                self._servers.change_limits(self._key, lambda limits: after_call(limits, self._costs(1), now))
            self._open.append(now)
        try:
            yield
        finally:
            self._open.remove(now)
            self._wake()

    def learn(self, headers: Mapping[str, str], status: int, *, sent_at: float, tokens: int, now: float) -> None:
        """Store the rate limits that an answer reports.

        `sent_at` is the time when the answered call was sent. `tokens` is the largest number of tokens that the call
        may use.
        """
        self._answered, self._tokens = True, tokens
        later = sum(at > sent_at for at in self._open)  # The server has perhaps not counted them yet.
        self._servers.change_limits(
            self._key,
            lambda limits: after_answer(limits, headers, status, sent_at=sent_at, costs=self._costs(later), now=now),
        )
        self._wake()

    @property
    def _limits(self) -> ServerLimits:
        return self._servers.limits().get(self._key, ServerLimits())

    def _costs(self, calls: int) -> dict[str, int]:
        return {REQUESTS: calls, TOKENS: calls * self._tokens}

    def _next(self, now: float) -> float:
        limits = self._limits
        if not self._answered and not limits.windows and len(self._open) >= FIRST_CALLS:
            return now + RESET_MAX
        return next_call_at(limits, self._costs(1), now)

    async def _wait(self, clock: Clock, until: float) -> None:
        async with trio.open_nursery() as nursery:

            async def sleep() -> None:
                await clock.sleep_until(until)
                nursery.cancel_scope.cancel()

            nursery.start_soon(sleep)
            await self._changed.wait()
            nursery.cancel_scope.cancel()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Open the file and lock it for this process.

    Raises `OSError` if the lock is not free within `LOCK_SECONDS`. A process that a signal has stopped could hold the
    lock for hours.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    last = time.monotonic() + LOCK_SECONDS
    try:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > last:
                    raise
                time.sleep(0.001)
        yield file
    finally:
        os.close(file)


def _parse(content: bytes) -> Known | None:
    """Return the content of the file; None if the file is damaged, too large, or written by an incompatible release."""
    try:
        return Known.model_validate_json(content) if len(content) <= FILE_BYTES_MAX else None
    except ValidationError:
        return None
