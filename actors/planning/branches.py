"""Branches in the state: which one is in focus, how one opens on another's artifacts, and how one ends. Pure.

Everything else in the machine works on one branch, the one in focus. What the branches share (ledger, nodes, open
requests, questions) is by node or request id, and every id says its branch.
"""

from collections.abc import Collection, Mapping
from dataclasses import fields

from actors.planning.events import (
    BranchOpened,
    BranchPruned,
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationWithdrawn,
    PlanningEvent,
    RequestReissued,
    Revised,
    RunFinished,
    Settled,
    WaitEnded,
)
from actors.planning.ids import branch_of
from actors.planning.state import Branch, State
from actors.planning.strategy_view import standing_of
from actors.search.progress import Phase, Progress, Slot, cleared, mark, new_round, redo, start
from runtime.core.copies import changed, without

_SPREAD = tuple(field.name for field in fields(Branch))
_FRESH = Branch()


def focus(state: State, number: int) -> State:
    """Return the state with another branch in focus."""
    if number == state.branch:
        return state
    values = vars(state)
    left = changed(_FRESH, **{name: values[name] for name in _SPREAD})
    branches = {**state.branches, state.branch: left}
    return changed(state, branch=number, **vars(branches.pop(number)), branches=branches)


def stood(before: State, event: PlanningEvent, after: State) -> State:
    """Return the state after an event with where its branches stand, for a search that has a strategy."""
    if after.config is None or after.config.strategy is None or _stands_still(before, after):
        return after
    if not (isinstance(event, Revised) and event.new_round):
        return placed(after)
    for number in (*after.branches, after.branch):  # The one in focus comes last, and so stays in focus.
        after = placed(focus(after, number))
    return after


def _stands_still(before: State, after: State) -> bool:
    """Tell whether an event has left alone all that the standing of the branch in focus follows from."""
    return (
        after.progress is before.progress
        and after.branch == before.branch
        and after.calls == before.calls
        and after.to_revise is before.to_revise
        and after.reviews is before.reviews
        and after.pruned == before.pruned
        and after.config is before.config
    )


def placed(state: State) -> State:
    """Return the state with the standing of the branch in focus as it is now."""
    return changed(state, standing=standing_of(state))


def branch_at(state: State, event: PlanningEvent) -> int:
    """Return the branch that an event is about; one that is about the run leaves the focus where it is."""
    match event:
        case BranchPruned() | RunFinished():
            return event.branch
        case Revised():
            return state.branch if event.branch is None else event.branch
        case BranchOpened():
            return state.branch if event.parent is None else event.parent
        case ClarificationAnswered() | ClarificationDeclined() | ClarificationWithdrawn() | ClarificationExpired():
            return branch_of(state.asked[event.question_id].request.node)
        case RequestReissued():
            return branch_of(event.replaces)
        case Settled() | WaitEnded():
            return branch_of(event.request_id)
        case _:
            node = getattr(event, "node", None)
            return state.branch if node is None else branch_of(node)


def opened(state: State, event: BranchOpened) -> State:
    """Open a branch on what the one in focus has accepted, or on nothing, and look at it.

    If the one in focus was about to go back, the new branch has done that instead: it knows why, and has all counts as
    they are after it; the other tries its failed step again.
    """
    assert state.config is not None
    branch = Branch(progress=start(state.config.graph))
    if event.parent is not None:
        branch = Branch(
            progress=_on(state.progress, event.kept),
            attempts=state.attempts,
            history=state.history,
            replans=state.replans,
            parent=event.parent,
            inherited=state.inherited + state.calls,
        )
        if event.anew:
            branch = begun_anew(branch)
    wish = state.to_revise
    if event.parent is not None and wish is not None and wish.node is not None and not state.pruned:
        node = state.sent_back(wish.node, cleared(state.config.graph, wish.targets))
        branch = changed(branch, replans=(*branch.replans, wish.node))
        state = changed(
            state,
            to_revise=None,
            progress=mark(state.progress, node.step, Phase.AGAIN),
            nodes={**state.nodes, wish.node: node},
        )
        state = placed(state)
    return focus(changed(state, branches={**state.branches, event.branch: branch}), event.branch)


def _on(progress: Progress, kept: Collection[str]) -> Progress:
    """Return the slots of a branch that stands on the accepted artifacts of some steps; the counts are inherited."""
    return {step: slot if step in kept else _unset(slot) for step, slot in progress.items()}


def _unset(slot: Slot) -> Slot:
    return changed(slot, phase=Phase.IDLE, accepted=None)


def pruned(state: State, event: BranchPruned) -> State:
    """End the branch in focus, and withdraw its work."""
    mine = {name for name, node in state.nodes.items() if node.branch == state.branch}
    left = {name: changed(state.nodes[name], status="superseded") for name in mine if _undecided(state, name)}
    ended = changed(drop_work(state, mine), pruned=event.why, to_revise=None, to_ask=())
    return changed(ended, nodes={**state.nodes, **left}) if left else ended


def _undecided(state: State, name: str) -> bool:
    return state.nodes[name].status == "pending"


def begun_anew(branch: Branch) -> Branch:
    """Return a branch with all counts given back."""
    return changed(branch, progress=new_round(branch.progress), history=())


def in_new_round(state: State, event: Revised) -> Mapping[int, Branch]:
    """Return the branches out of focus at the start of a new round, which is one of all.

    After a changed requirement each has gone back as far as the one in focus.
    """
    if event.branch is None:
        return {number: begun_anew(_sent_back(state, one, event)) for number, one in state.branches.items()}
    return {number: begun_anew(one) for number, one in state.branches.items()}


def _sent_back(state: State, branch: Branch, event: Revised) -> Branch:
    assert state.config is not None
    if branch.pruned:
        return branch
    return changed(
        branch,
        progress=redo(state.config.graph, branch.progress, event.targets),
        to_revise=None,
        to_ask=tuple(one for one in branch.to_ask if one.step not in event.cleared),
    )


def used_elsewhere(state: State) -> frozenset[str]:
    """Return the nodes that other branches stand on."""
    slots = (slot for branch in state.branches.values() if not branch.pruned for slot in branch.progress.values())
    return frozenset(slot.accepted for slot in slots if slot.accepted is not None)


def drop_work(state: State, dead: Collection[str]) -> State:
    """Return the state without any open work on these nodes; what that had reserved is unknown from now on."""
    ledger = state.ledger
    for request_id, asked in state.generations.items():
        if asked.request.node in dead:
            ledger = ledger.forfeit(request_id)
    return changed(
        state,
        ledger=ledger,
        generations={name: asked for name, asked in state.generations.items() if asked.request.node not in dead},
        judgements={name: request for name, request in state.judgements.items() if request.node not in dead},
        reviews=without(state.reviews, dead),
        waits={name: wait for name, wait in state.waits.items() if wait.node not in dead},
        unjudged=tuple(name for name in state.unjudged if name not in dead),
        faulted={call: tries for call, tries in state.faulted.items() if tries.request.node not in dead},
        resting=without(state.resting, dead),
    )
