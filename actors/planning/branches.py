"""Branches in the state: the branch of an event, and how a branch is opened and pruned. Pure.

All branches share the ledger, the nodes, the open requests and the questions. The id of a
node or a request contains the number of its branch. All other facts about a branch are in a `Branch`, which functions
take in addition to the state.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, assert_never

from actors.planning.events import (
    ArtifactProduced,
    BranchOpened,
    BranchPruned,
    ClassificationRequested,
    Decided,
    FailureClassified,
    GenerationRequested,
    JudgementRequested,
    PlanCorrected,
    PlanningEvent,
    RequestReissued,
    Revised,
    RunFinished,
    RunStarted,
    VerdictReached,
    branch_of,
)
from actors.planning.state import Branch, LeftOut, State, with_branch
from actors.run.calls import CallFailed, Settled
from actors.run.evolve import drop_open_work
from actors.run.fork_event import Forked
from actors.run.inbox import MailRefused, NoteTold, RequirementTold
from actors.run.near_limit import LimitNear
from actors.run.parking import RunParked, RunResumed
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.reminder_events import ClarificationEscalated, ClarificationReminded
from actors.run.settings import SettingsChanged
from actors.run.waits import WaitEnded, WaitRequested
from actors.search.progress import BranchProgress, Phase, cleared_steps, mark, new_round, redo, start
from runtime.core.copies import changed, without

if TYPE_CHECKING:
    from actors.search.tree import BranchView


def branch_about(state: State, event: PlanningEvent) -> Branch:
    """Return the branch of an event. For an event about the whole run, return the branch of the previous event."""
    branches = state.branches
    if len(branches) == 1:
        return branches[0]
    number = _number(state, event)
    return branches[state.branch if number is None else number]


def _number(state: State, event: PlanningEvent) -> int | None:
    match event:
        case (
            GenerationRequested()
            | ClassificationRequested()
            | ArtifactProduced()
            | FailureClassified()
            | JudgementRequested()
            | VerdictReached()
            | PlanCorrected()
            | Decided()
            | ClarificationRequested()
        ):
            return branch_of(event.node)
        case BranchPruned() | RunFinished() | Revised():
            return event.branch
        case BranchOpened():
            return event.parent
        case (
            ClarificationAnswered()
            | ClarificationDeclined()
            | ClarificationWithdrawn()
            | ClarificationExpired()
            | ClarificationReminded()
            | ClarificationEscalated()
        ):
            return branch_of(state.run.questions[event.question_id].request.node)
        case RequestReissued():
            return branch_of(event.replaces)
        case CallFailed() | Settled() | WaitEnded():
            return branch_of(event.request_id)
        case WaitRequested():
            return None if event.node is None else branch_of(event.node)
        case RunStarted() | RunResumed() | RunParked() | NoteTold() | RequirementTold() | MailRefused():
            return None
        case SettingsChanged() | LimitNear() | Forked():
            return None
        case _:
            assert_never(event)


def update_view(before: State, event: PlanningEvent, after: State) -> State:
    """Return the state with new views of the branches that an event has changed.

    A view has the facts that a strategy compares.
    """
    if isinstance(event, Revised) and event.new_round:
        return update_views(after)
    branch = after.latest
    if branch.number < len(before.branches) and _same_view(before, after, branch):
        return after
    view = _view(after, branch)
    return changed(after, branches=with_branch(after.branches, changed(branch, view=view)))


def update_views(state: State) -> State:
    """Return the state with a new view of every branch; unchanged if the strategy does not compare branches."""
    if not state.config.compares:
        return state
    branches = [changed(branch, view=_view(state, branch)) for branch in state.branches]
    return changed(state, branches=tuple(branches))


def _view(state: State, branch: Branch) -> "BranchView":
    from actors.planning.strategy_view import view_of  # noqa: PLC0415 -- only for a strategy that compares branches

    return view_of(state, branch)


def _same_view(before: State, after: State, branch: Branch) -> bool:
    old_branch = before.branches[branch.number]
    return (
        branch.progress is old_branch.progress
        and branch.calls == old_branch.calls
        and branch.to_revise is old_branch.to_revise
        and after.reviews is before.reviews
        and branch.pruned == old_branch.pruned
    )


def open_branch(state: State, branch: Branch, event: BranchOpened) -> State:
    """Return the state with a new branch.

    The branch starts with artifacts of its parent `branch`, or without artifacts.

    If the parent was about to go back because of a rejection, the new branch goes back instead. The parent then tries
    its failed step again.
    """
    graph = state.config.graph
    fresh = Branch(number=event.branch, progress=start(graph))
    if event.parent is not None:
        fresh = changed(
            fresh,
            # All steps keep their counts. Only the kept steps keep their accepted artifacts.
            progress=BranchProgress(
                {
                    step: slot if step in event.kept else changed(slot, phase=Phase.IDLE, accepted=None)
                    for step, slot in branch.progress.items()
                }
            ),
            attempts=branch.attempts,
            history=branch.history,
            replans=branch.replans,
            left_out=branch.left_out,
            parent=event.parent,
            inherited=branch.inherited + branch.calls,
        )
        if event.anew:
            fresh = _restart_round(fresh)
    revision = branch.to_revise
    if event.parent is not None and revision is not None and revision.node is not None and not branch.pruned:
        node = state.sent_back(branch, revision.node, cleared_steps(graph, revision.targets))
        fresh = changed(fresh, replans=(*fresh.replans, revision.node))
        if revision.afresh:
            fresh = begin_afresh(fresh, node.cleared)
        branch = changed(branch, to_revise=None, progress=mark(branch.progress, node.step, Phase.AGAIN))
        state = changed(state, nodes={**state.nodes, revision.node: node}, branches=with_branch(state.branches, branch))
        branch = changed(branch, view=_view(state, branch))
        state = changed(state, branches=with_branch(state.branches, branch))
    return changed(state, branches=with_branch(state.branches, fresh), branch=event.branch)


def begin_afresh(branch: Branch, steps: Collection[str]) -> Branch:
    """Return the branch after a decision to do steps again without the earlier rejections in their prompts."""
    now = {step: LeftOut(len(branch.attempts.get(step, ())), len(branch.replans)) for step in steps}
    return changed(branch, left_out={**branch.left_out, **now})


def prune_branch(state: State, branch: Branch, event: BranchPruned) -> State:
    """Return the state after a branch ended. The open work of the branch is withdrawn."""
    nodes = {name for name in state.in_use if state.nodes[name].branch == branch.number}
    undecided = [name for name in nodes if state.nodes[name].status == "pending"]
    superseded = {name: changed(state.nodes[name], status="superseded") for name in undecided}
    ended_branch = changed(branch, pruned=event.why, to_revise=None, to_ask=())
    return changed(
        drop_work(state, nodes),
        branches=with_branch(state.branches, ended_branch),
        nodes={**state.nodes, **superseded} if superseded else state.nodes,
        live=state.live - superseded.keys(),
    )


def _restart_round(branch: Branch) -> Branch:
    return changed(branch, progress=new_round(branch.progress), history=())


def begin_round_everywhere(state: State, branch: Branch, event: Revised) -> tuple[Branch, ...]:
    """Return all branches at the start of a new round. `event` has already been applied to `branch`.

    If a requirement has changed, all other branches go back to the same steps as `branch`.
    """
    others = [other if event.branch is not None else _send_back(state, other, event) for other in state.branches]
    return tuple([branch if other.number == branch.number else _restart_round(other) for other in others])


def _send_back(state: State, branch: Branch, event: Revised) -> Branch:
    if branch.pruned:
        return branch
    return changed(
        branch,
        progress=redo(state.config.graph, branch.progress, event.targets),
        to_revise=None,
        to_ask=tuple(question for question in branch.to_ask if question.step not in event.cleared),
    )


def nodes_of_other_branches(state: State, branch: Branch) -> frozenset[str]:
    """Return the ids of the nodes that other branches have accepted."""
    others = (other for other in state.branches if other.number != branch.number and not other.pruned)
    slots = (slot for other in others for slot in other.progress.values())
    return frozenset(slot.accepted for slot in slots if slot.accepted is not None)


def drop_work(state: State, dead: Collection[str]) -> State:
    """Return the state without open work on the `dead` nodes. The reservations of this work are charged as unknown."""
    return changed(
        state,
        run=drop_open_work(state.run, dead),
        judgements={name: request for name, request in state.judgements.items() if request.node not in dead},
        reviews=without(state.reviews, dead),
        unjudged=tuple(name for name in state.unjudged if name not in dead),
        resting=without(state.resting, dead),
    )
