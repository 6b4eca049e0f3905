"""`accept`: replies from the world become facts, or are refused, or are duplicates. Pure."""

from typing import Any, assert_never

from actors.planning.branches import focus
from actors.planning.config import RunConfig
from actors.planning.events import (
    ArtifactProduced,
    ClassificationRequested,
    FailureClassified,
    GenerationFailed,
    Outcome,
    PlanningEvent,
    RunFinished,
    RunParked,
    RunResumed,
    RunStarted,
    Settled,
    VerdictReached,
    WaitEnded,
    WaitRequested,
)
from actors.planning.ids import branch_of
from actors.planning.inbox import accept_mail
from actors.planning.messages import Begin, Faulted, Generated, Judged, PlanningMessage
from actors.planning.state import HOME_BUDGET, State
from actors.policy.cause import read_cause
from runtime.core.ledger import ZERO, Amount, used
from runtime.core.machine import Refused
from runtime.core.messages import Crashed, Mailed, Overdrawn, Parking, Resumed, Woken

WHYS_MAX = 8
"""Parkings that a run takes in before somebody drives it again: hosts try again for ever, each with its own reason."""


def accept(state: State, message: PlanningMessage) -> PlanningEvent | Refused | None:
    """Return the fact that a message is."""
    if isinstance(message, Begin):
        return _begin(state, message)
    if state.config is None:
        return Refused("the run has not begun")
    match message:
        case Generated():
            return _generated(state, message)
        case Faulted():
            return _faulted(state, message)
        case Judged():
            return _judged(state, message)
        case Woken():
            known = message.request_id in state.waits and state.finished is None
            return WaitEnded(request_id=message.request_id, at=message.at) if known else None
        case Resumed():
            return _unless_finished(state, RunResumed(at=message.at, epoch=message.epoch))
        case Parking():
            return _parked(state, message)
        case Crashed():
            crash = RunFinished(outcome=Outcome.FAILED, why=storable(message.error[:500]), cause="bug", at=message.at)
            return _unless_finished(state, crash)
        case Mailed():
            return accept_mail(state, message)
        case Overdrawn():
            return _overdrawn(state, message)
        case _:
            assert_never(message)


def _begin(state: State, message: Begin) -> PlanningEvent | Refused | None:
    if state.config is not None:
        return None
    return RunStarted(
        at=message.at,
        run=message.run,
        specification=storable(message.specification),
        pinned=message.pinned,
        limits=message.limits,
        child=message.child,
        source=storable(message.source),
        given=message.given,
    )


def _unless_finished(state: State, event: PlanningEvent) -> PlanningEvent | None:
    return event if state.finished is None else None


def _parked(state: State, message: Parking) -> PlanningEvent | None:
    """Park once. Where drivers come by themselves, it is news too why none of them can go on: each reason once."""
    why = storable(message.why)
    news = why not in ("", *state.parked_whys) and len(state.parked_whys) < WHYS_MAX
    if state.parked and not (news and state.handover):
        return None
    parked = RunParked(at=message.at, handover=message.handover, why=why)
    return _unless_finished(state, parked)


def _generated(state: State, message: Generated) -> PlanningEvent | None:
    request_id = message.request_id
    if request_id in state.ledger.forfeited:
        return Settled(
            request_id=request_id, at=message.at, used=_cost(state, message, state.ledger.forfeited[request_id])
        )
    opened = state.generations.get(request_id)
    if opened is None:
        return None
    reply, request = message.reply, opened.request
    if state.branches:
        state = focus(state, branch_of(request_id))
    cost = _cost(state, message, state.ledger.reserved[request_id])
    told = reply.usage is not None and reply.usage.tokens == cost.tokens
    text = storable(reply.text)
    brought: dict[str, Any] = {
        "request_id": request_id,
        "at": message.at,
        "elapsed": message.elapsed,
        "content": text,
        "usage": reply.usage,
        "calls": cost.calls,
        "tokens": None if told else cost.tokens,
        "micro_usd": cost.micro_usd,
        "model": storable(reply.model),
        "mode": reply.mode,
        "finish_reason": storable(reply.finish_reason),
    }
    if isinstance(request, ClassificationRequested):
        return FailureClassified(**brought, cause=read_cause(text))
    return ArtifactProduced(**brought, repeats=_earlier(state, request.step, text))


def _cost(state: State, message: Generated, reserved: Amount) -> Amount:
    """Return what a reply is charged."""
    return message.cost or used(message.reply.usage, reserved, _config(state).price)


def storable(text: str) -> str:
    """Return the text with lone surrogates replaced: they have no UTF-8 and could not be written."""
    return text.encode("utf-8", "replace").decode()


def _earlier(state: State, step: str, content: str) -> str | None:
    """Return the first attempt at the step that brought the same."""
    for name in state.attempts[step]:
        artifact = state.nodes[name].artifact
        if artifact is not None and artifact.content == content:
            return name
    return None


def _faulted(state: State, message: Faulted) -> PlanningEvent | None:
    opened = state.generations.get(message.request_id)
    if opened is None:
        # Withdrawn work stays charged as unknown, unless the provider has certainly refused it.
        cost = ZERO if message.cost is None and message.fault.kind.refunded else message.cost
        if cost is None or message.request_id not in state.ledger.forfeited:
            return None
        return Settled(request_id=message.request_id, at=message.at, used=cost)
    return GenerationFailed(
        request_id=message.request_id,
        at=message.at,
        elapsed=message.elapsed,
        fault=message.fault.model_copy(update={"message": storable(message.fault.message)}),
        used=message.cost,
    )


def _judged(state: State, message: Judged) -> PlanningEvent | None:
    request = state.judgements.get(message.request_id)
    if request is None:
        return None
    return VerdictReached(
        node=request.node,
        at=message.at,
        elapsed=message.elapsed,
        verdict=message.verdict,
    )


def _overdrawn(state: State, message: Overdrawn) -> PlanningEvent | None:
    if message.until is None:
        spent = RunFinished(outcome=Outcome.BUDGET_EXHAUSTED, why=message.why, cause="home_budget", at=message.at)
        return _unless_finished(state, spent)
    if message.never:
        return _unless_finished(state, RunParked(at=message.at, why=message.why))
    if HOME_BUDGET in state.waits:
        return None
    return _unless_finished(state, WaitRequested(request_id=HOME_BUDGET, until=message.until, why=message.why))


def _config(state: State) -> RunConfig:
    assert state.config is not None
    return state.config
