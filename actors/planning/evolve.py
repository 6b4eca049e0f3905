"""Applies events to the state of a planning run. No other code changes that state. Pure.

This module makes no decisions, takes no actions, and accepts every event that was ever written.
"""

from collections.abc import Callable
from typing import assert_never

from actors.guards import review
from actors.planning.branches import (
    begin_afresh,
    begin_round_everywhere,
    branch_about,
    drop_work,
    nodes_of_other_branches,
    open_branch,
    prune_branch,
    update_view,
    update_views,
)
from actors.planning.config import read_config
from actors.planning.early_ends import apply_new_limit, forgive_cut_replies
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
    PlanningCall,
    PlanningEvent,
    PlanningOutcome,
    RequestReissued,
    Revised,
    RunFinished,
    RunStarted,
    VerdictReached,
    visit_and_attempt,
)
from actors.planning.given_plans import make_content
from actors.planning.meaning import compare_redone_steps, is_repeat
from actors.planning.planning_questions import questions_of_verdict
from actors.planning.prompt_context import accepted_artifact, explain, rejection_codes
from actors.planning.state import Branch, Node, PendingReplan, PlanEdit, PlannedQuestion, State, with_branch
from actors.policy.belief import Past
from actors.policy.decision import Decision, remember_failure
from actors.policy.table import BacktrackLevel
from actors.run.calls import CallFailed, Settled, calls_charged
from actors.run.evolve import CommonEvent, evolve_run
from actors.run.fork_event import Forked
from actors.run.fork_rules import OF_ORIGIN
from actors.run.inbox import NoteTold, RequirementTold
from actors.run.parking import RunResumed
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
    ClosingEvent,
    Status,
)
from actors.run.settings import SettingsChanged
from actors.run.state import RunState
from actors.run.waits import WaitEnded
from actors.search.progress import Phase, accept, begin, mark, new_round, redo, start
from actors.values.artifacts import Artifact, format_json
from actors.values.given import read_attachments
from runtime.core.copies import changed, without

Common = RunState[PlanningCall]
"""The part of a run's state that all kinds of runs have. In the functions below, `run` is this part after the event,
and `state` is the whole state before the event.
"""
_NO_NODE = Node(node="", step="", visit=0, attempt=0, round=0, revision=0)
"""The node from which new nodes are copied. Copying this node takes a fifth of the time that setting all fields
takes."""


def record_request(state: State, run: Common, branch: Branch, event: PlanningCall) -> State:
    """Return the state after a call was requested, with a new node if the request is the first try of an attempt."""
    calls_so_far, tries = branch.calls + event.calls, run.calls.tries
    if tries and event.call in tries:  # A further try of the same call.
        return _count_calls(state, run, branch, calls_so_far)
    if not isinstance(event, GenerationRequested):
        return changed(_count_calls(state, run, branch, calls_so_far), classifications=state.classifications + 1)
    step, (visit, attempt) = event.step, visit_and_attempt(event.node)
    progress, earlier = begin(state.config.graph, branch.progress, step), branch.attempts.get(step, ())
    node = changed(
        _NO_NODE,
        node=event.node,
        step=step,
        visit=visit,
        attempt=attempt,
        round=state.round,
        revision=state.revision,
        branch=branch.number,
        parents=progress[step].parents or (),
        previous=earlier[-1] if earlier else None,
        afresh=step in branch.left_out and branch.left_out[step].attempts == len(earlier),
    )
    attempts = {**branch.attempts, step: (*earlier, event.node)}
    branch = changed(branch, attempts=attempts, progress=progress, calls=calls_so_far)
    nodes, live = {**state.nodes, event.node: node}, state.live | {event.node}
    return changed(state, run=run, branches=with_branch(state.branches, branch), nodes=nodes, live=live)


def _count_calls(state: State, run: Common, branch: Branch, calls: int) -> State:
    return changed(state, run=run, branches=with_branch(state.branches, changed(branch, calls=calls)))


def record_reissue(state: State, run: Common, branch: Branch, event: RequestReissued) -> State:
    """Return the state after an earlier driver's call was requested again. The cost of the earlier try stays unknown.

    In a fork, a call that the original run made is not counted again, because the copied records have counted it
    already.
    """
    of_origin = state.run.calls.open[event.replaces].epoch == OF_ORIGIN
    return _count_calls(state, run, branch, branch.calls + (0 if of_origin else event.again.calls))


def _record_artifact(state: State, run: Common, branch: Branch, event: ArtifactProduced) -> State:
    node, used = state.nodes[event.node], event.used
    new_content = make_content(state, node.step, event.content, event.finish_reason)
    artifact = Artifact(
        artifact_id=node.node,
        step=node.step,
        content=new_content.content,
        node=node.node,
        previous_attempt_id=node.previous,
        parents=node.parents,
        usage=event.usage,
        finish_reason=event.finish_reason,
    )
    attempt = changed(
        node,
        artifact=artifact,
        repeats=event.repeats,
        replaced=new_content.replaced,
        notes=new_content.notes,
        used=node.used + used,
    )
    config, content = state.config, (node.step, new_content.content)
    # Where no other guard judges, the person is asked at once.
    unseen = node.step in config.reviewed and config.workflow.effective_guard(node.step) == review.NAME
    difference = used.calls - state.run.ledger.reserved[event.request_id].calls
    return changed(
        state,
        run=run,
        branches=with_branch(state.branches, changed(branch, calls=branch.calls + difference))
        if difference
        else state.branches,
        nodes={**state.nodes, node.node: attempt},
        made={**state.made, content: (*state.made.get(content, ()), node.node)},
        unjudged=state.unjudged if unseen else (*state.unjudged, node.node),
        reviews={**state.reviews, node.node: None} if unseen else state.reviews,
    )


def _record_cause(state: State, run: Common, event: FailureClassified) -> State:
    node = state.nodes[event.node]
    node = changed(node, classification=event, used=node.used + event.used)
    return changed(state, run=run, nodes={**state.nodes, node.node: node})


def record_failure(state: State, run: Common, branch: Branch, event: CallFailed) -> State:
    """Return the state after a try brought no reply."""
    reserved = state.run.calls.open[event.request_id].request.calls
    return _count_calls(state, run, branch, branch.calls - reserved + calls_charged(state.run.calls, event))


def _planned_questions(state: State, decision: Decision) -> tuple[PlannedQuestion, ...]:
    verdict = state.nodes[decision.node].verdict
    assert verdict is not None
    history = state.branch_of(decision.node).history
    forms = questions_of_verdict(state, decision.step, verdict, state.questions_left(decision.step), history)
    return tuple(PlannedQuestion(decision.node, decision.step, form, decision.rule) for form in forms)


def record_question(state: State, run: Common, branch: Branch, event: ClarificationRequested) -> State:
    """Return the state after a question was asked."""
    if event.review:
        return changed(state, run=run)
    return changed(state, run=run, branches=with_branch(state.branches, changed(branch, to_ask=branch.to_ask[1:])))


def _record_close(state: State, run: Common, branch: Branch, event: ClosingEvent) -> State:
    """Return the state after a question was closed. The step goes on when all its questions are closed."""
    before = state.run.questions[event.question_id]
    state = changed(state, run=run)
    if isinstance(event, ClarificationWithdrawn):
        return state
    step = before.request.step
    unanswered = not isinstance(event, ClarificationAnswered)
    if before.request.review:
        return changed(state, silenced=state.silenced | {step}) if unanswered else state
    if not before.open:
        # A late answer redoes no step. But prompts show the answer from now on, and a new round begins.
        return _schedule_revision(state, branch, ())
    together = [other for other in state.run.questions.values() if other.request.node == before.request.node]
    if any(question.open for question in together):
        return state
    if any(question.status is Status.ANSWERED for question in together):
        return _schedule_revision(state, branch, (step,))
    # Nobody answered: the same rejection is decided about again, and this time nobody can be asked.
    branch = changed(branch, progress=mark(branch.progress, step, Phase.FAILED))
    return changed(state, silenced=state.silenced | {step}, branches=with_branch(state.branches, branch))


def _schedule_revision(state: State, branch: Branch, targets: tuple[str, ...]) -> State:
    earlier = branch.to_revise
    if earlier is not None and earlier.new_round:  # Several answers were taken before anything was decided.
        targets = tuple(dict.fromkeys((*earlier.targets, *targets)))
    revision = PendingReplan(BacktrackLevel.CLARIFY, targets, new_round=True)
    return changed(state, branches=with_branch(state.branches, changed(branch, to_revise=revision)))


ApplyCommon = Callable[[State, Common, CommonEvent], State]
"""The type of the method `RunMachine.common`."""


def apply_event(common: ApplyCommon, state: State, run: Common, event: PlanningEvent) -> State:
    """Return the state after an event.

    `run` is the common part of the state after the event. All kinds of runs share the common part. The function
    `common` applies the events that change only this part.
    """
    branch = branch_about(state, event)
    after = _apply_to_branch(common, state, run, branch, event)
    if branch.number != after.branch and not isinstance(event, BranchOpened):
        after = changed(after, branch=branch.number)
    return update_view(state, event, after) if after.config.compares else after


def _apply_to_branch(common: ApplyCommon, state: State, run: Common, branch: Branch, event: PlanningEvent) -> State:
    match event:  # What happens at every step comes first.
        case GenerationRequested():
            return record_request(state, run, branch, event)
        case ArtifactProduced():
            return _record_artifact(state, run, branch, event)
        case JudgementRequested():
            return changed(
                state,
                unjudged=tuple([node for node in state.unjudged if node != event.node]),
                judgements={**state.judgements, event.request_id: event},
            )
        case VerdictReached():
            return _record_verdict(state, run, branch, event)
        case Decided():
            return _record_decision(state, branch, event)
        case ClassificationRequested():
            return record_request(state, run, branch, event)
        case Revised():
            return _apply_replan(state, branch, event)
        case PlanCorrected():
            return _record_edit(state, run, event)
        case RunStarted():
            return state
        case RequestReissued():
            return record_reissue(state, run, branch, event)
        case FailureClassified():
            return _record_cause(state, run, event)
        case CallFailed():
            return record_failure(state, run, branch, event)
        case BranchOpened():
            return open_branch(state, branch, event)
        case BranchPruned():
            return prune_branch(state, branch, event)
        case ClarificationRequested():
            return record_question(state, run, branch, event)
        case ClarificationAnswered() | ClarificationDeclined() | ClarificationWithdrawn() | ClarificationExpired():
            return _record_close(state, run, branch, event)
        case NoteTold() | RequirementTold():
            return changed(state, run=run, to_replan=state.to_replan or isinstance(event, RequirementTold))
        case WaitEnded():
            return _end_rest(state, run, event)
        case Settled():
            difference = event.used.calls - state.run.ledger.forfeited[event.request_id].calls
            return _count_calls(state, run, branch, branch.calls + difference)
        case RunFinished():
            return changed(state, run=run, judgements={} if event.final else state.judgements)
        case SettingsChanged():
            after = common(state, run, event)
            if event.model is not None:
                after = changed(after, of_former_model=frozenset(after.nodes))
            return after if event.output_tokens_max is None else apply_new_limit(after)
        case Forked():
            return _start_fork(state, run, event)
        case RunResumed() if state.run.parked_cause == "reply":
            return forgive_cut_replies(changed(state, run=run))
        case _:
            return common(state, run, event)


def start_state(event: RunStarted) -> State:
    """Return the state after the first event."""
    config = read_config(event.pinned)
    state = State(
        run=changed(RunState.begin(event), never_strict=config.workflow.never_strict),
        config=config,
        specification=event.specification,
        attachments=read_attachments(event.attachments),
        plugins=event.plugins,
        given=event.given_facts,
        branches=(Branch(progress=start(config.graph)),),
    )
    return update_views(state)


def _start_fork(state: State, run: Common, event: Forked) -> State:
    state = changed(state, run=run)
    if event.pinned:
        config = read_config(event.pinned)
        never_strict = config.workflow.never_strict
        state = changed(state, config=config, run=changed(run, never_strict=never_strict))
    return update_views(state)


def _record_verdict(state: State, run: Common, branch: Branch, event: VerdictReached) -> State:
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
        rejected_for=codes if passed else codes | rejection_codes(state, branch, node.step),
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
        live=state.live | {node.node} if passed else state.live - {node.node},
    )


def _record_edit(state: State, run: Common, event: PlanCorrected) -> State:
    """Return the state after a person edited a plan. The plan is accepted, with all artifacts that it builds on.

    An edit of a run that has ended ends the run again, with success. In any other run, the edit approves the artifact
    under review.
    """
    node = state.nodes[event.node]
    assert node.artifact is not None
    passed = node.verdict is not None and node.verdict.passed
    opened = accepted_artifact(state, node.node) if passed else node.artifact
    assert opened is not None
    lineage, progress = [node.node], state.branches[node.branch].progress
    for name in lineage:  # The list grows in the loop.
        lineage += [parent for parent in state.nodes[name].parents if parent not in lineage]
        progress = accept(progress, state.nodes[name].step, name)
    edited = changed(
        node,
        artifact=node.artifact.with_content(event.plan),
        verdict=event.verdict,
        rejection_text="",
        rejected_for=frozenset(),
        replaced=(),
        notes=(),
    )
    nodes = {**state.nodes, node.node: edited}
    nodes |= {name: changed(nodes[name], status="accepted") for name in lineage}
    end: RunFinished | ClarificationAnswered
    if event.question_id:
        end = ClarificationAnswered(
            question_id=event.question_id,
            answer=review.APPROVE,
            via=event.via,
            person=event.person,
            at=event.at,
            mono=event.mono,
        )
    else:
        why = f"the plan was edited by {event.who}, and every guard passed"
        outcome = PlanningOutcome.SUCCESS
        end = RunFinished(outcome=outcome, why=why, branch=node.branch, at=event.at, mono=event.mono)
    return changed(
        state,
        run=evolve_run(run, end),
        nodes=nodes,
        live=state.live | {*lineage},
        reviews=without(state.reviews, (node.node,)) if node.node in state.reviews else state.reviews,
        branches=with_branch(state.branches, changed(state.branches[node.branch], progress=progress)),
        edits=(*state.edits, PlanEdit(node.node, event.who, format_json(opened.parsed), event.plan)),
        edited="" if event.question_id else node.node,
    )


def _record_decision(state: State, branch: Branch, event: Decided) -> State:
    decision = event.decision
    before = state.nodes[decision.node]
    node = changed(before, decision=decision)
    history = branch.history
    if before.decision is not None:  # Nobody answered the question of the first decision. One failure counts once.
        history = _forget_last_failure(history, node.step)
    history = (*history, *_remember_failure(state, branch, node, decision))
    resting = state.resting
    match decision.level:
        case BacktrackLevel.LOCAL_RETRY:
            if decision.delay_seconds:
                resting = {**resting, node.node: decision.delay_seconds}
            progress = mark(branch.progress, decision.step, Phase.AGAIN)
            branch = changed(branch, history=history, progress=progress)
            if decision.afresh:
                branch = begin_afresh(branch, (decision.step,))
        case BacktrackLevel.PARTIAL_REPLAN | BacktrackLevel.FULL_REPLAN:
            errors = node.verdict.errors if node.verdict is not None else ()
            tags = tuple(sorted({tag for finding in errors for tag in finding.tags}))
            revision = PendingReplan(decision.level, decision.targets, tags, node=node.node, afresh=decision.afresh)
            branch = changed(branch, history=history, to_revise=revision)
        case BacktrackLevel.CLARIFY:
            progress = mark(branch.progress, decision.step, Phase.ASKED)
            questions = _planned_questions(state, decision)
            branch = changed(branch, history=history, progress=progress, to_ask=(*branch.to_ask, *questions))
        case BacktrackLevel.GIVE_UP:
            progress = mark(branch.progress, decision.step, Phase.STUCK)
            branch = changed(branch, history=history, progress=progress)
        case _:
            assert_never(decision.level)
    nodes = {**state.nodes, node.node: node}
    return changed(state, nodes=nodes, resting=resting, branches=with_branch(state.branches, branch))


def _remember_failure(state: State, branch: Branch, node: Node, decision: Decision) -> tuple[Past, ...]:
    if node.verdict is None or node.round != state.round:
        return ()
    policy, repeats = state.config.policy, is_repeat(state, branch, node)
    comparison = compare_redone_steps(state, branch, node, policy)
    return (remember_failure(node.verdict, decision, state.config.graph, policy, comparison, repeats=repeats),)


def _forget_last_failure(history: tuple[Past, ...], step: str) -> tuple[Past, ...]:
    position = max((position for position, past in enumerate(history) if past.step == step), default=len(history))
    return (*history[:position], *history[position + 1 :])


def _apply_replan(state: State, branch: Branch, event: Revised) -> State:
    """Return the state after a replan: the cleared steps lose their artifacts, and their open work is withdrawn.

    The reservations of this work are charged as unknown.
    """
    graph, cleared, new = state.config.graph, set(event.cleared), event.new_round
    of_all = event.branch is None
    used = frozenset[str]() if of_all else nodes_of_other_branches(state, branch)
    known = ((name, state.nodes[name]) for name in state.in_use)
    dead = {name for name, node in known if node.step in cleared and (of_all or node.branch == branch.number)}
    void = (dead & state.live) - used
    nodes = {**state.nodes, **{name: changed(state.nodes[name], status="superseded") for name in void}}
    revision = branch.to_revise
    cause = None if revision is None else revision.node
    if cause is not None:
        nodes[cause] = state.sent_back(branch, cause, event.cleared)
    progress = redo(graph, branch.progress, event.targets)
    branch = changed(
        branch,
        history=() if new else branch.history,
        replans=branch.replans if cause is None else (*branch.replans, cause),
        to_revise=None,
        to_ask=tuple(question for question in branch.to_ask if question.step not in cleared),
        progress=new_round(progress) if new else progress,
    )
    if revision is not None and revision.afresh:
        branch = begin_afresh(branch, event.cleared)
    return changed(
        drop_work(state, dead),
        revision=event.revision,
        branches=begin_round_everywhere(state, branch, event) if new else with_branch(state.branches, branch),
        round=state.round + 1 if new else state.round,
        to_replan=state.to_replan and state.branches[branch.number].to_revise is not None,
        silenced=frozenset() if new else state.silenced,
        nodes=nodes,
        live=state.live - void,
    )


def _end_rest(state: State, run: Common, event: WaitEnded) -> State:
    wait = state.run.waits[event.request_id]
    if wait.node is None or wait.call in run.calls.tries:
        return changed(state, run=run)
    return changed(state, run=run, resting=without(state.resting, (wait.node,)))
