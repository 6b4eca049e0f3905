"""Handlers: from an envelope to the message that answers it, for steps, guards and the clock."""

from collections.abc import Awaitable
from functools import partial

import trio

from actors.findings import Verdict
from actors.guards.port import AnyGuard
from actors.hands.generators import Generator
from actors.machine.events import WaitRequested
from actors.machine.messages import Faulted, Generated, Judged
from actors.machine.planning import GenerationBrief, JudgementBrief
from runtime.actor import Envelope
from runtime.clock import Clock
from runtime.crash import reached
from runtime.messages import Woken
from runtime.models.port import Fault, FaultKind, Reply

INLINE_BYTES_MAX = 64 * 1024
"""A guard on a larger artifact runs in a thread, so that one plan does not hold up the other runs of the process."""


async def generate(generator: Generator, clock: Clock, envelope: Envelope) -> Generated | Faulted:
    """Ask the generator, within the request's time limit."""
    brief: GenerationBrief = envelope.context
    request_id, started = brief.request.request_id, clock.now()
    reached("send.before")
    answer: Reply | Fault = Fault(kind=FaultKind.TIMEOUT, message=f"no reply in {brief.request.timeout_seconds:g} s")
    with trio.move_on_after(brief.request.timeout_seconds):
        answer = await generator.generate(brief)
    reached("reply.after")
    now = clock.now()
    if isinstance(answer, Fault):
        return Faulted(request_id, now, now - started, answer)
    return Generated(request_id, now, now - started, answer)


async def judge(guard: AnyGuard, clock: Clock, threads: bool, limit_seconds: float, envelope: Envelope) -> Judged:
    """Ask the guard. A guard that takes longer than its time limit is a bug of the guard, not a rejection.

    So is a verdict that JSON cannot hold. It is read back here, where that ends the run, and not when it is written,
    where every later driver would stumble over it again; and the run goes on with what its journal says.
    """
    brief: JudgementBrief = envelope.context
    started = clock.now()
    verdict = await _verdict(guard, brief, limit_seconds, threads=threads)
    verdict = Verdict.model_validate_json(verdict.model_dump_json())
    reached("judge.after")
    now = clock.now()
    return Judged(brief.request.request_id, now, now - started, verdict)


async def _verdict(guard: AnyGuard, brief: JudgementBrief, limit_seconds: float, *, threads: bool) -> Verdict:
    work = partial(guard, brief.artifact, brief.context)
    slow = brief.request.guard == "plan_expansive" or len(brief.artifact.content) > INLINE_BYTES_MAX
    answer: Verdict | Awaitable[Verdict]
    if threads and slow:
        with trio.fail_after(limit_seconds):
            answer = await trio.to_thread.run_sync(work, abandon_on_cancel=True)
    else:
        answer = work()
    if isinstance(answer, Verdict):
        return answer  # A guard that has not waited here could not have been interrupted either.
    with trio.fail_after(limit_seconds):
        return await answer


async def wait(clock: Clock, envelope: Envelope) -> Woken:
    """Wait until the time asked for."""
    request: WaitRequested = envelope.context
    await clock.sleep_until(request.until)
    return Woken(request.request_id, clock.now())
