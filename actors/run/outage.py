"""Decides what follows when a model's provider fails: another try, a wait for the provider, or parking. Pure.

A fault never ends a run (docs/explanation/endings.md). The first tries of a call are separated by pauses that double.
After these tries, or at once if another try cannot help, the run waits for the provider. Before the next try the driver
checks, without cost, whether the provider is up (`actors.handlers.handlers.wait`).
"""

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from actors.run.calls import C, Tries
from actors.run.ids import backoff_id
from actors.run.parking import RunParked
from actors.run.state import RunState
from actors.run.waits import PROVIDER, WaitRequested
from runtime.core.events import make_storable
from runtime.models.port import NO_COMPLETION, Fault, FaultKind

if TYPE_CHECKING:
    from actors.run.calls import Faulted

TRIES_MAX = 5
"""The largest number of failed tries of one call in a row. After them, the run waits for the provider
(docs/explanation/budgets.md).
"""
PATIENCE_SECONDS = 600.0
"""The default patience: the longest total time, in seconds, of the pauses in which a process waits for its provider.
Pauses that a server asks for (`Retry-After`) count too.
"""
BAD_REPLIES_MAX = 2
"""A run parks after this number of replies in a row to one call that are no chat completions. The server probably has
another API.
"""
BACKOFF_FIRST = 1.0
"""The pause, in seconds, before the second try of a call. This pause doubles with each further try. Each pause is
multiplied by a factor from 0.5 to 1.5, which is made from a hash of the request's id.
"""
STAYING_SECONDS = 60.0
"""The longest pause, in seconds, between two checks of a provider for which a process waits. A server can ask for a
longer pause. A check costs nothing."""
LEFT_SECONDS = 3600.0
"""The shortest pause, in seconds, before the next try of a run that waits for its provider without a process."""
PAUSE_MAX = 86_400.0
"""The longest pause before a try, in seconds. If a server asks for a longer pause, this pause is used."""
TIMEOUT_GROWN_MAX = 3600.0
"""The longest time limit, in seconds, that a call can get because its earlier tries took too long."""

_WRONG = frozenset({FaultKind.BAD_REQUEST, FaultKind.PROMPT_TOO_LONG, FaultKind.CONTENT_REFUSED})
"""The faults after which a person must change the request. The program makes no further try."""
_DOWN = frozenset(kind for kind in FaultKind if kind.final) - _WRONG
"""The faults that make another try useless now, but can be over later. After such a fault, the run waits for the
provider at once.
"""


def after_fault(run: RunState[C]) -> WaitRequested | RunParked | None:
    """Request a wait before the next try of a failed call, or for the provider. Park if only a person can help."""
    if not run.calls.tries or run.parked or run.renewing or PROVIDER in run.waits:
        return None
    for tries in run.calls.tries.values():
        if tries.phase != "failed":
            continue
        fault = tries.failed.fault
        if fault.kind in _WRONG or _is_hopeless(tries):
            if run.calls.open:  # The open calls end first.
                continue
            return RunParked(at=run.wall, why=_reason(fault), cause="provider")
        if not _is_over(run, tries):
            name, until = backoff_id(tries.request.request_id), tries.failed.at + _pause(tries)
            return WaitRequested(request_id=name, until=until, why="back-off", node=tries.request.node)
        return _wait(run, tries, fault, tries.failed.at)
    return None


def continue_outage(run: RunState[C], message: "Faulted") -> WaitRequested | None:
    """Return the next wait after a check has found that the provider of the run or of a child run is still down."""
    fault = message.fault.model_copy(update={"message": make_storable(message.fault.message)})
    if message.until is not None:
        name = f"{PROVIDER}:{message.request_id}"
        if message.request_id not in run.calls.open or name in run.waits:
            return None
        return _continue_wait(name, message.until, fault, message.at)
    if PROVIDER not in run.waits:
        return None
    tries = next((item for item in run.calls.tries.values() if item.phase == "failed"), None)
    if tries is None:  # The call that waited was withdrawn.
        return _continue_wait(PROVIDER, message.at + LEFT_SECONDS, fault, message.at)
    return _wait(run, tries, fault, message.at, asked_at=message.at)


def time_limit(run: RunState[Any], call: str, configured: float) -> float | None:
    """Return the time limit of the next try of a call in seconds; None for the configured limit.

    If the latest try took too long, the limit is doubled, up to `TIMEOUT_GROWN_MAX`. With the same limit, the server
    would be too slow again. The limit is never longer than the remaining active time.
    """
    limit, tries, left = configured, run.calls.tries.get(call), run.ledger.active_left
    if tries is not None:
        latest = tries.request.timeout_seconds or configured
        factor = 2.0 if tries.failed.fault.kind is FaultKind.TIMEOUT else 1.0
        limit = max(configured, min(factor * latest, TIMEOUT_GROWN_MAX))
    if left is not None and left < limit:
        return max(0.001, left)
    return None if limit == configured else limit


def _patience_of(run: RunState[Any]) -> float:
    own = run.ledger.limits.patience_seconds
    return PATIENCE_SECONDS if own is None else own


def follows(kind: FaultKind) -> str:
    """Return a few words about what the run does after a kind of fault."""
    if kind in _WRONG:
        return "the run parks"
    if kind in NO_COMPLETION:
        return f"another try; after {BAD_REPLIES_MAX} such faults in a row, the run parks"
    return "the run waits for the provider" if kind in _DOWN else "another try"


def _continue_wait(name: str, until: float, fault: Fault, asked_at: float) -> WaitRequested:
    return WaitRequested(request_id=name, until=until, why=_reason(fault), fault=fault, asked_at=asked_at)


def _wait(
    run: RunState[C], tries: Tries[C], fault: Fault, at: float, *, asked_at: float | None = None
) -> WaitRequested:
    """Return the wait for the provider that begins at `at`. A process waits only until the patience is used up."""
    left, pause = _patience_of(run) - tries.waited, min(_doubled_pause(tries), STAYING_SECONDS)
    if fault.retry_after is not None:  # A server may ask for a pause of 0 seconds.
        pause = max(pause, min(fault.retry_after, PAUSE_MAX))
    elif left >= 1.0:
        pause = min(pause, left)
    stays = fault.kind not in _DOWN and pause <= left
    return WaitRequested(
        request_id=PROVIDER,
        until=at + (pause if stays else max(LEFT_SECONDS, pause)),
        why=_reason(fault),
        node=tries.request.node if stays else None,
        fault=fault,
        asked_at=asked_at,
    )


def _is_hopeless(tries: Tries[C]) -> bool:
    too_large = tries.failed.fault.kind is FaultKind.TOO_LARGE and tries.count >= TRIES_MAX
    return too_large or tries.bad_replies >= BAD_REPLIES_MAX


def _is_over(run: RunState[C], tries: Tries[C]) -> bool:
    over = tries.count >= TRIES_MAX or tries.waited + _pause(tries) > _patience_of(run)
    return over or tries.failed.fault.kind in _DOWN or tries.failed.used is not None


def _pause(tries: Tries[Any]) -> float:
    """Return the seconds before the next try: the pause that the server asks for, or a doubling pause."""
    retry_after = tries.failed.fault.retry_after
    return _doubled_pause(tries) if retry_after is None else min(max(0.0, retry_after), PAUSE_MAX)


def _doubled_pause(tries: Tries[Any]) -> float:
    """Return a pause in seconds. The pause doubles with each try, and has jitter from a hash of the request's id."""
    jitter = hashlib.sha256(tries.request.request_id.encode()).digest()[0] / 255
    doubled = BACKOFF_FIRST * 2.0 ** min(tries.count - 1, 12)
    return min(doubled * (0.5 + jitter), LEFT_SECONDS)


def _reason(fault: Fault) -> str:
    return f"{fault.kind}: {fault.message}"


def faults(run: RunState[Any]) -> Iterator[Fault]:
    """Yield the faults because of which the run waits or is parked. The faults of waits come first."""
    yield from (wait.fault for wait in run.waits.values() if wait.for_provider and wait.fault is not None)
    yield from (tries.failed.fault for tries in run.calls.tries.values() if tries.phase == "failed")
