"""`evolve`: the only writer of state. It never decides, never acts, never fails on an event that was once emitted."""

from collections.abc import Callable
from typing import assert_never

from actors.guards import review
from actors.planning import call_state, question_state
from actors.planning.agreement import came_again
from actors.planning.branches import (
    branch_about,
    drop_work,
    in_new_round,
    opened,
    pruned,
    used_elsewhere,
    with_view,
    with_views,
)
from actors.planning.call_events import (
    ArtifactProduced,
    ClassificationRequested,
    FailureClassified,
    GenerationRequested,
    RequestReissued,
)
from actors.planning.call_state import Common
from actors.planning.config import read_config
from actors.planning.cut_rules import forgive, with_new_limit
from actors.planning.decision_event import Decided
from actors.planning.events import (
    BranchOpened,
    BranchPruned,
    JudgementRequested,
    PlanningEvent,
    Revised,
    RunFinished,
    RunStarted,
    VerdictReached,
)
from actors.planning.prompt_context import explain, rejected_for
from actors.planning.state import Branch, Node, Revision, State, with_branch
from actors.policy.decision import Decision, remembered
from actors.policy.history import Past
from actors.policy.table import BacktrackLevel
from actors.run.calls import CallFailed, Settled
from actors.run.evolve import CommonEvent
from actors.run.inbox import NoteTold, RequirementTold
from actors.run.parking import RunResumed
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.settings import SettingsChanged
from actors.run.state import RunState
from actors.run.waits import WaitEnded
from actors.search.progress import Phase, accept, mark, new_round, redo, start
from actors.values.attachments import read_stored
from runtime.core.copies import changed, without

ApplyCommon = Callable[[State, Common, CommonEvent], State]
"""What `RunMachine.common` is."""


def applied(common: ApplyCommon, state: State, run: Common, event: PlanningEvent) -> State:
    """Return the state after an event; `run` is the common part after it, `common` serves what every kind has."""
    branch = branch_about(state, event)
    after = _applied(common, state, run, branch, event)
    if branch.number != after.branch and not isinstance(event, BranchOpened):
        after = changed(after, branch=branch.number)
    return with_view(state, event, after) if after.config.compares else after


def _applied(common: ApplyCommon, state: State, run: Common, branch: Branch, event: PlanningEvent) -> State:
    match event:  # What happens at every step comes first.
        case GenerationRequested():
            return call_state.requested(state, run, branch, event)
        case ArtifactProduced():
            return call_state.produced(state, run, branch, event)
        case JudgementRequested():
            return changed(
                state,
                unjudged=tuple([node for node in state.unjudged if node != event.node]),
                judgements={**state.judgements, event.request_id: event},
            )
        case VerdictReached():
            return _judged(state, run, branch, event)
        case Decided():
            return _decided(state, branch, event)
        case ClassificationRequested():
            return call_state.requested(state, run, branch, event)
        case Revised():
            return _revised(state, branch, event)
        case RunStarted():
            return state
        case RequestReissued():
            return call_state.reissued(state, run, branch, event)
        case FailureClassified():
            return call_state.classified(state, run, event)
        case CallFailed():
            return call_state.failed(state, run, branch, event)
        case BranchOpened():
            return opened(state, branch, event)
        case BranchPruned():
            return pruned(state, branch, event)
        case ClarificationRequested():
            return question_state.asked(state, run, branch, event)
        case ClarificationAnswered() | ClarificationDeclined() | ClarificationWithdrawn() | ClarificationExpired():
            return question_state.closed(state, run, branch, event)
        case NoteTold() | RequirementTold():
            return question_state.with_message(state, run, event)
        case WaitEnded():
            return _rested(state, run, event)
        case Settled():
            difference = event.used.calls - state.run.ledger.forfeited[event.request_id].calls
            branch = changed(branch, calls=branch.calls + difference)
            return changed(state, run=run, branches=with_branch(state.branches, branch))
        case RunFinished():
            return changed(state, run=run, judgements={} if event.final else state.judgements)
        case SettingsChanged():
            after = common(state, run, event)
            if event.model is not None:
                after = changed(after, of_former_model=frozenset(after.nodes))
            return after if event.output_tokens_max is None else with_new_limit(after)
        case RunResumed() if state.run.parked_cause == "reply":
            return forgive(changed(state, run=run))
        case _:
            return common(state, run, event)


def started(event: RunStarted) -> State:
    """Return the state after the first event."""
    config = read_config(event.pinned)
    state = State(
        run=changed(RunState.begun(event), never_strict=config.workflow.never_strict),
        config=config,
        specification=event.specification,
        attachments=read_stored(event.attachments),
        plugins=event.plugins,
        given=event.given_facts,
        branches=(Branch(progress=start(config.graph)),),
    )
    return with_views(state)


def _judged(state: State, run: Common, branch: Branch, event: VerdictReached) -> State:
    node, passed = state.nodes[event.node], event.verdict.passed
    judgements = without(state.judgements, (event.request_id,))
    if event.node not in state.reviews and node.step in state.config.reviewed:
        guard = state.config.workflow.effective_guard(node.step)
        if review.is_needed(guard, event.verdict):
            return changed(state, run=run, judgements=judgements, reviews={**state.reviews, event.node: event.verdict})
    if passed:
        progress = accept(branch.progress, node.step, node.node)
    else:
        progress = mark(branch.progress, node.step, Phase.FAILED)
    codes = frozenset[str]() if passed else frozenset(error.code for error in event.verdict.errors)
    judged = changed(
        node,
        verdict=event.verdict,
        rejection_text="" if passed else explain(event.verdict),
        rejected_for=codes if passed else codes | rejected_for(state, branch, node.step),
        status="accepted" if passed else "rejected",
    )
    return changed(
        state,
        run=run,
        judgements=judgements,
        unjudged=tuple(name for name in state.unjudged if name != event.node) if state.unjudged else (),
        reviews=without(state.reviews, (event.node,)) if event.node in state.reviews else state.reviews,
        branches=with_branch(state.branches, changed(branch, progress=progress)),
        nodes={**state.nodes, node.node: judged},
    )


def _decided(state: State, branch: Branch, event: Decided) -> State:
    decision = event.decision
    before = state.nodes[decision.node]
    node = changed(before, decision=decision)
    history = branch.history
    if before.decision is not None:  # Nobody answered the question that was decided on first; one failure counts once.
        history = _forgotten(history, node.step)
    history = (*history, *_remembered(state, branch, node, decision))
    resting = state.resting
    match decision.level:
        case BacktrackLevel.LOCAL_RETRY:
            if decision.delay_seconds:
                resting = {**resting, node.node: decision.delay_seconds}
            progress = mark(branch.progress, decision.step, Phase.AGAIN)
            branch = changed(branch, history=history, progress=progress)
        case BacktrackLevel.PARTIAL_REPLAN | BacktrackLevel.FULL_REPLAN:
            errors = node.verdict.errors if node.verdict is not None else ()
            tags = tuple(sorted({tag for finding in errors for tag in finding.tags}))
            revision = Revision(decision.level, decision.targets, tags, node=node.node)
            branch = changed(branch, history=history, to_revise=revision)
        case BacktrackLevel.CLARIFY:
            progress = mark(branch.progress, decision.step, Phase.ASKED)
            questions = question_state.planned(state, decision)
            branch = changed(branch, history=history, progress=progress, to_ask=(*branch.to_ask, *questions))
        case BacktrackLevel.GIVE_UP:
            progress = mark(branch.progress, decision.step, Phase.STUCK)
            branch = changed(branch, history=history, progress=progress)
        case _:
            assert_never(decision.level)
    nodes = {**state.nodes, node.node: node}
    return changed(state, nodes=nodes, resting=resting, branches=with_branch(state.branches, branch))


def _remembered(state: State, branch: Branch, node: Node, decision: Decision) -> tuple[Past, ...]:
    """Return the decided failure as the history keeps it. What an earlier round asked for is not of this one."""
    if node.verdict is None or node.round != state.round:
        return ()
    came = came_again(state, branch, node, state.config.policy)
    return (remembered(node.verdict, decision, state.config.graph, state.config.policy, came),)


def _forgotten(history: tuple[Past, ...], step: str) -> tuple[Past, ...]:
    """Return the history without the step's last failure."""
    place = max((place for place, past in enumerate(history) if past.step == step), default=len(history))
    return (*history[:place], *history[place + 1 :])


def _revised(state: State, branch: Branch, event: Revised) -> State:
    """Unset what the replan clears, and withdraw all work on it; what it had reserved is unknown from now on."""
    graph, gone, new = state.config.graph, set(event.cleared), event.new_round
    of_all = event.branch is None
    used = frozenset[str]() if of_all else used_elsewhere(state, branch)
    dead = {
        name for name, node in state.nodes.items() if node.step in gone and (of_all or node.branch == branch.number)
    }
    void = {name for name in dead if state.nodes[name].status in _LIVE and name not in used}
    nodes = {name: changed(node, status="superseded") if name in void else node for name, node in state.nodes.items()}
    cause = branch.to_revise.node if branch.to_revise is not None else None
    if cause is not None:
        nodes[cause] = state.sent_back(branch, cause, event.cleared)
    progress = redo(graph, branch.progress, event.targets)
    branch = changed(
        branch,
        history=() if new else branch.history,
        replans=branch.replans if cause is None else (*branch.replans, cause),
        to_revise=None,
        to_ask=tuple(question for question in branch.to_ask if question.step not in gone),
        progress=new_round(progress) if new else progress,
    )
    return changed(
        drop_work(state, dead),
        revision=event.revision,
        branches=in_new_round(state, branch, event) if new else with_branch(state.branches, branch),
        round=state.round + 1 if new else state.round,
        to_replan=state.to_replan and state.branches[branch.number].to_revise is not None,
        silenced=frozenset() if new else state.silenced,
        nodes=nodes,
    )


_LIVE = ("pending", "accepted")


def _rested(state: State, run: Common, event: WaitEnded) -> State:
    wait = state.run.waits[event.request_id]
    if wait.node is None or wait.call in run.calls.tries:
        return changed(state, run=run)
    return changed(state, run=run, resting=without(state.resting, (wait.node,)))
