"""Handlers of steps, guards and the clock.

Each handler takes an envelope with a request, and returns the message that answers the request.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import trio

from actors.config.step_guards import PlugInFailed
from actors.guards.port import AnyGuard
from actors.handlers.briefs import CallOptions, GenerationBrief, JudgementBrief
from actors.handlers.generators import Generator
from actors.run.calls import Faulted, Generated, Judged
from actors.run.kind import Probe
from actors.run.waits import PROVIDER, WaitRequested
from actors.values.findings import Verdict, limit_verdict
from runtime.core.clock import Clock
from runtime.core.hooks import mark_point
from runtime.core.messages import Woken
from runtime.drive.actor import Envelope
from runtime.models.port import Fault, FaultKind, Model, ModelRequest, Reply
from runtime.models.provider_state import CallSlot

INLINE_BYTES_MAX = 64 * 1024
"""Guards judge artifacts of at most this many characters in the event loop. They judge larger artifacts in threads.
"""

_UNSENT = Fault(
    kind=FaultKind.REFUSED_CONNECTION,
    message="the call was not sent, because its run is stopping or no longer needs the call",
)


async def generate(
    generator: Generator, clock: Clock, slot: CallSlot, envelope: Envelope[GenerationBrief]
) -> Generated | Faulted:
    """Ask a generator for a step's artifact."""
    return await _send(partial(generator.generate, envelope.brief), envelope.brief.request, clock, slot, envelope)


async def complete(model: Model, clock: Clock, slot: CallSlot, envelope: Envelope[ModelRequest]) -> Generated | Faulted:
    """Send a model request that the run's machine has made, and return the reply or the fault as a message."""
    return await _send(partial(model.complete, envelope.brief), envelope.brief, clock, slot, envelope)


async def _send(
    ask: Callable[[], Awaitable[Reply | Fault]],
    request: CallOptions | ModelRequest,
    clock: Clock,
    slot: CallSlot,
    envelope: Envelope[Any],
) -> Generated | Faulted:
    """Send a call as soon as a slot is free, and await the reply within the time limit. A withdrawn call is not sent.

    One cancel scope has two purposes. It ends the wait for a slot if the call is withdrawn, and it limits the time of a
    sent call.
    """
    started_at: float | None = None
    answer: Reply | Fault | None = None
    with trio.CancelScope() as scope:
        envelope.unsent = scope
        if envelope.parked or envelope.withdrawn:  # While the envelope was in the mailbox.
            scope.cancel()
        async with slot(request.model):
            mark_point("send.before")
            await envelope.ensure_held()
            if envelope.may_send():
                started_at = trio.current_time()
                scope.deadline = started_at + request.timeout_seconds
                answer = await ask()
    if started_at is None:
        return Faulted(request.request_id, clock.now(), 0.0, _UNSENT)
    mark_point("reply.after")
    now, elapsed = clock.now(), trio.current_time() - started_at
    answer = answer or Fault(kind=FaultKind.TIMEOUT, message=f"no reply in {request.timeout_seconds:g} s")
    if isinstance(answer, Fault):
        return Faulted(request.request_id, now, elapsed, answer)
    return Generated(request.request_id, now, elapsed, answer)


def judge(
    guard: AnyGuard, clock: Clock, in_thread: bool | None, limit_seconds: float, envelope: Envelope[JudgementBrief]
) -> Judged | Awaitable[Judged]:
    """Ask the guard. Return its verdict as a message, or an awaitable if the guard is async or runs in a thread.

    `in_thread` says whether the guard runs in a worker thread; with None, it does so only for a large artifact. A guard
    that exceeds its time limit has a bug. Then the run has an error, and the artifact is not rejected.
    """
    brief = envelope.brief
    done = partial(_judged_message, brief.request_id, clock, trio.current_time())
    work = partial(guard, brief.artifact, brief.context)
    large = len(brief.artifact.content) > INLINE_BYTES_MAX
    if in_thread or (in_thread is None and large):
        return _judge_in_time(judge_in_thread(work), brief.guard, limit_seconds, done)
    answer = work()
    if isinstance(answer, Verdict):
        return done(answer)  # A synchronous guard cannot be interrupted, so its time limit means nothing.
    return _judge_in_time(answer, brief.guard, limit_seconds, done)


async def judge_in_thread(work: Callable[[], Verdict | Awaitable[Verdict]]) -> Verdict:
    """Call a guard in a worker thread. If the guard is async, await its verdict in the event loop."""
    [answer] = await trio.to_thread.run_sync(lambda: [work()], abandon_on_cancel=True)  # Trio takes no coroutine.
    return answer if isinstance(answer, Verdict) else await answer


async def _judge_in_time(
    work: Awaitable[Verdict], guard: str, limit_seconds: float, done: Callable[[Verdict], Judged]
) -> Judged:
    return done(await verdict_in_time(work, guard, limit_seconds))


async def verdict_in_time(work: Awaitable[Verdict], guard: str, limit_seconds: float) -> Verdict:
    """Return a guard's verdict. Raises `PlugInFailed` if there is no verdict within the time limit."""
    with trio.move_on_after(limit_seconds):
        return await work
    raise PlugInFailed(f"guard {guard}: no verdict within {limit_seconds:g} s (guard_timeout_seconds)")


def _judged_message(request_id: str, clock: Clock, started_at: float, verdict: Verdict) -> Judged:
    """Return a verdict as a message. `started_at` is a time of trio's clock.

    The verdict is converted to JSON and back, so that the run uses exactly what its journal stores. A verdict that
    cannot be converted is a bug of the guard. An error in this conversion ends only this run. A value that the journal
    cannot read again would also stop every later driver of the run.
    """
    verdict = Verdict.model_validate_json(limit_verdict(verdict).model_dump_json())
    mark_point("judge.after")
    return Judged(request_id, clock.now(), trio.current_time() - started_at, verdict)


async def wait(clock: Clock, probe: Probe | None, envelope: Envelope[WaitRequested]) -> Woken | Faulted:
    """Wait until the requested time.

    If the wait was for an unavailable provider, then check whether the provider is up.
    """
    request = envelope.brief
    await clock.sleep_until(request.until)
    if request.request_id == PROVIDER and probe is not None:
        started_at = clock.now()
        fault = await probe(request)
        if fault is not None:
            now = clock.now()
            return Faulted(PROVIDER, now, now - started_at, fault)
    return Woken(request.request_id, clock.now())
