"""`evolve`: the only writer of state. It never decides, never acts, never fails on an event that was once emitted."""

from dataclasses import replace
from typing import assert_never

from actors.guards import review
from actors.planning import call_state, question_state
from actors.planning.branches import branch_at, drop_work, focus, in_new_round, opened, pruned, stood, used_elsewhere
from actors.planning.config import read_config
from actors.planning.decision_event import Decided
from actors.planning.events import (
    ArtifactProduced,
    BranchOpened,
    BranchPruned,
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
    ClassificationRequested,
    FailureClassified,
    GenerationFailed,
    GenerationRequested,
    JudgementRequested,
    MailRefused,
    NoteTold,
    PlanningEvent,
    RequestReissued,
    RequirementTold,
    Revised,
    RunFinished,
    RunParked,
    RunResumed,
    RunStarted,
    Settled,
    Told,
    VerdictReached,
    WaitEnded,
    WaitRequested,
)
from actors.planning.prompt_context import explain
from actors.planning.state import HOME_BUDGET, Node, Revision, State
from actors.policy.decide import Decision, Past, places_up, signature
from actors.policy.table import BacktrackLevel
from actors.search.progress import Phase, accept, mark, new_round, redo, start
from runtime.core.copies import changed, without
from runtime.core.ledger import Ledger

_DATED = (Told, RunFinished)
"""The events that say when they happened."""


def evolve(state: State, event: PlanningEvent) -> State:
    """Return the state after the event, with the books of active time kept."""
    if state.branches:
        state = focus(state, branch_at(state, event))
    after = stood(state, event, _evolve(state, event))
    if not isinstance(event, _DATED) or event.at is None:
        return after
    now, ledger = max(state.now, event.at), after.ledger  # A clock that was set back does not turn the time back.
    if state.working and not isinstance(event, RunResumed):  # Before it there was nobody to do the work.
        ledger = ledger.worked(now - state.now)
    return changed(after, now=now, wall=event.at, ledger=ledger)


def _evolve(state: State, event: PlanningEvent) -> State:
    match event:  # What happens at every step comes first.
        case GenerationRequested() | ClassificationRequested():
            return call_state.requested(state, event)
        case ArtifactProduced():
            return call_state.produced(state, event)
        case JudgementRequested():
            return changed(
                state,
                unjudged=tuple(node for node in state.unjudged if node != event.node),
                judgements={**state.judgements, event.request_id: event},
            )
        case VerdictReached():
            return _judged(state, event)
        case RunStarted():
            return _started(state, event)
        case RunResumed():
            # Whoever takes the run on asks anew what the day allows: the budget may have been raised.
            waits = without(state.waits, (HOME_BUDGET,))
            return changed(state, epoch=event.epoch, parked=False, handover=False, parked_whys=(), waits=waits)
        case RunParked():
            return changed(state, parked=True, handover=event.handover, parked_whys=(*state.parked_whys, event.why))
        case RequestReissued():
            return call_state.reissued(state, event)
        case FailureClassified():
            return call_state.classified(state, event)
        case GenerationFailed():
            return call_state.failed(state, event)
        case Decided():
            return _decided(state, event)
        case Revised():
            return _revised(state, event)
        case BranchOpened():
            return opened(state, event)
        case BranchPruned():
            return pruned(state, event)
        case ClarificationRequested():
            return question_state.asked(state, event)
        case ClarificationAnswered() | ClarificationDeclined() | ClarificationWithdrawn() | ClarificationExpired():
            return question_state.closed(state, event)
        case NoteTold() | RequirementTold():
            return question_state.told(state, event)
        case WaitRequested():
            return _waiting(state, event)
        case WaitEnded():
            return _rested(state, event)
        case Settled():
            known = state.ledger.forfeited[event.request_id].calls - event.used.calls
            ledger = state.ledger.settle(event.request_id, event.used)
            return changed(state, ledger=ledger, calls=state.calls - known)
        case MailRefused():
            return state
        case RunFinished():
            return _finished(state, event)
        case _:
            assert_never(event)


def _started(state: State, event: RunStarted) -> State:
    config = read_config(event.pinned)
    return changed(
        state,
        run=event.run,
        child=event.child,
        config=config,
        specification=event.specification,
        ledger=Ledger(event.limits),
        progress=start(config.graph),
    )


def _judged(state: State, event: VerdictReached) -> State:
    assert state.config is not None
    node, passed = state.nodes[event.node], event.verdict.passed
    if event.node not in state.reviews and node.step in state.config.reviewed:
        guard = state.config.workflow.effective_guard(node.step)
        if review.needed(guard, event.verdict):
            judgements = without(state.judgements, (event.request_id,))
            return changed(state, judgements=judgements, reviews={**state.reviews, event.node: event.verdict})
    progress = accept(state.progress, node.step, node.node) if passed else mark(state.progress, node.step, Phase.FAILED)
    told = "" if passed else explain(event.verdict)
    judged = changed(node, verdict=event.verdict, told=told, status="accepted" if passed else "rejected")
    return changed(
        state,
        judgements=without(state.judgements, (event.request_id,)),
        reviews=without(state.reviews, (event.node,)) if event.node in state.reviews else state.reviews,
        progress=progress,
        nodes={**state.nodes, node.node: judged},
    )


def _decided(state: State, event: Decided) -> State:
    decision = event.decision
    before = state.nodes[decision.node]
    node = changed(before, decision=decision)
    if before.decision is not None:  # Nobody answered the question that was decided on first; one failure counts once.
        state = changed(state, history=_forgotten(state.history, node.step))
    state = changed(state, nodes={**state.nodes, node.node: node}, history=_remembered(state, node, decision))
    match decision.level:
        case BacktrackLevel.LOCAL_RETRY:
            delay = {node.node: decision.delay_seconds} if decision.delay_seconds else {}
            progress = mark(state.progress, decision.step, Phase.AGAIN)
            return changed(state, progress=progress, resting={**state.resting, **delay})
        case BacktrackLevel.PARTIAL_REPLAN | BacktrackLevel.FULL_REPLAN:
            errors = node.verdict.errors if node.verdict is not None else ()
            tags = tuple(sorted({tag for finding in errors for tag in finding.tags}))
            return changed(state, to_revise=Revision(decision.level, decision.targets, tags, node=node.node))
        case BacktrackLevel.CLARIFY:
            progress = mark(state.progress, decision.step, Phase.ASKED)
            return changed(state, progress=progress, to_ask=(*state.to_ask, *question_state.asks(state, decision)))
        case BacktrackLevel.GIVE_UP:
            return changed(state, progress=mark(state.progress, decision.step, Phase.STUCK))
        case _:
            assert_never(decision.level)


def _remembered(state: State, node: Node, decision: Decision) -> tuple[Past, ...]:
    """Return the decided failures of this round with one more. What an earlier round asked for is not of this one."""
    assert state.config is not None
    if node.verdict is None or node.round != state.round:
        return state.history
    up = places_up(state.config.graph, node.step, decision.targets)
    return (*state.history, Past(node.step, signature(node.verdict), up))


def _forgotten(history: tuple[Past, ...], step: str) -> tuple[Past, ...]:
    """Return the history without the step's last failure."""
    place = max((place for place, past in enumerate(history) if past.step == step), default=len(history))
    return (*history[:place], *history[place + 1 :])


def _revised(state: State, event: Revised) -> State:
    """Unset what the replan clears, and withdraw all work on it; what it had reserved is unknown from now on."""
    assert state.config is not None
    gone = set(event.cleared)
    used = used_elsewhere(state) if event.branch is not None else frozenset()
    here = (state.branch,) if event.branch is not None else (state.branch, *state.branches)
    dead = {name for name, node in state.nodes.items() if node.step in gone and node.branch in here}
    void = {name for name in dead if state.nodes[name].status in _LIVE and name not in used}
    nodes = {name: changed(node, status="superseded") if name in void else node for name, node in state.nodes.items()}
    cause = state.to_revise.node if state.to_revise is not None else None
    if cause is not None:
        nodes[cause] = state.sent_back(cause, event.cleared)
    progress = redo(state.config.graph, state.progress, event.targets)
    return changed(
        drop_work(state, dead),
        revision=event.revision,
        branches=in_new_round(state, event) if event.new_round else state.branches,
        round=state.round + 1 if event.new_round else state.round,
        history=() if event.new_round else state.history,
        replans=state.replans if cause is None else (*state.replans, cause),
        to_revise=None,
        to_replan=state.to_replan and state.to_revise is not None,
        to_ask=tuple(one for one in state.to_ask if one.step not in gone),
        silenced=frozenset() if event.new_round else state.silenced,
        progress=new_round(progress) if event.new_round else progress,
        nodes=nodes,
    )


_LIVE = ("pending", "accepted")


def _rested(state: State, event: WaitEnded) -> State:
    wait = state.waits[event.request_id]
    state = changed(state, waits=without(state.waits, (event.request_id,)))
    if wait.node is None:
        return state
    if wait.call in state.faulted:
        tries = state.faulted[wait.call]
        rested = replace(tries, phase="rested", waited=tries.waited + wait.until - tries.failed.at)
        return changed(state, faulted={**state.faulted, wait.call: rested})
    return changed(state, resting=without(state.resting, (wait.node,)))


def _waiting(state: State, event: WaitRequested) -> State:
    state = changed(state, waits={**state.waits, event.request_id: event})
    if event.node is None or event.call not in state.faulted:
        return state
    tries = replace(state.faulted[event.call], phase="waiting")
    return changed(state, faulted={**state.faulted, event.call: tries})


def _finished(state: State, event: RunFinished) -> State:
    ledger = state.ledger
    for request_id in state.generations:
        ledger = ledger.forfeit(request_id)
    return changed(
        state,
        finished=event,
        ledger=ledger,
        generations={},
        judgements={},
        waits={},
        asked=question_state.ended(state.asked, event),
    )
