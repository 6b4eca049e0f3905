"""Applies events to an execution's troubles (problems that its plan does not handle), replans and revisions. Pure."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, assert_never

from actors.execution import evolve_undo, faults
from actors.execution.attempts import Answer
from actors.execution.config import ready_plan
from actors.execution.edits import edited_plan
from actors.execution.events import (
    GOALS_FAILED,
    PlanEdited,
    PlanRevised,
    ProofReached,
    ProofRequested,
    ReplanReplied,
    ReplanRequested,
    TroubleCause,
    TroubleDecided,
)
from actors.execution.evolve_steps import begin_visit, set_constraints, with_configuration
from actors.execution.execution_questions import LOOK_AGAIN
from actors.execution.goals import goals_of, past_goals, statuses
from actors.execution.ids import edit_node
from actors.execution.state import DecidedEnd, Replan, Revision, SettledFailure, State, Trouble
from actors.execution.trouble_rules import reason, signature_of
from actors.planning.events import PlanningOutcome
from actors.planning.replanning import NeedsAnswer, NewPlan, NoPlan, read_replan
from actors.plans.constraints import Constraints, constraints_of, with_constraints
from actors.plans.reader import read_plan
from actors.plans.semantics import Configuration, ready_steps
from actors.policy.table import BacktrackLevel
from actors.run.evolve import drop_open_work
from actors.run.questions import ClarificationAnswered, ClarificationRequested
from actors.values.findings import Finding
from actors.values.requirements import requirements_in
from runtime.core.copies import changed

NO_PLAN_EXISTS = frozenset({PlanningOutcome.ALL_PRUNED, PlanningOutcome.BACKTRACK_CEILING})
"""The outcomes of a planning run that has tried everything. More model calls would find no plan for the same goals."""
REJECTIONS_MAX = 20
"""The largest number of findings about a rejected new plan that are passed on to the next planning run."""


def apply_decision(state: State, event: TroubleDecided) -> State:
    """Return the state after a decision about a trouble."""
    new = event.cause is TroubleCause.REQUIREMENTS_CHANGED and event.question_id is None
    if new:
        count = len(state.run.texts_of("requirement"))
        state = changed(
            _reset_counts(state), requirements_used=count, history=(), trouble=None, replan=None, ending=None
        )
        state = set_constraints(state, state.constraints.join(Constraints(tuple(requirements_in(event.constraints)))))
    state = _drop_revocable(state)
    if event.question_id is None:
        state = changed(state, history=(*state.history, SettledFailure(event.step, signature_of(event.findings))))
    trouble = state.trouble or Trouble(event.cause, event.step, event.findings)
    if event.asks:
        number = state.questions + 1
        level = trouble.level if event.cause is TroubleCause.PLANNER_ASKS else event.level
        to_ask = replace(trouble, number=number, level=level, question="", answer=None)
        return changed(state, trouble=to_ask, questions=number, questions_left=state.questions_left - 1)
    match event.level:
        case BacktrackLevel.LOCAL_RETRY:
            state = changed(state, looked=state.looked and trouble.answer != LOOK_AGAIN)
            return _visit_again(changed(state, trouble=None, trace=()), event)
        case BacktrackLevel.PARTIAL_REPLAN | BacktrackLevel.FULL_REPLAN:
            number = state.replans + 1
            replan = Replan(event.level, trouble, number)
            left = state.replans_left - 1
            return changed(state, trouble=None, replan=replan, replans=number, replans_left=left)
        case BacktrackLevel.CLARIFY | BacktrackLevel.GIVE_UP:
            return changed(state, trouble=None, ending=DecidedEnd(GOALS_FAILED, trouble.why))
        case _:
            assert_never(event.level)


def _visit_again(state: State, event: TroubleDecided) -> State:
    """Return the state with a step pending again. After the back-off, the step has all its attempts again.

    If a person has asked for this visit, its attempts do not count against the plan's `total_retry_budget`.
    """
    if not event.step:
        return state
    if event.question_id is not None:
        state = changed(state, used=state.used - state.plan.by_id[event.step].retry_budget)
    index = state.plan.index[event.step]
    now = Configuration(state.now.pending | 1 << index, state.now.tokens)
    state = with_configuration(state, now)
    if event.delay_seconds and index in state.ready:
        return begin_visit(state, event.step, event.delay_seconds)
    return state


def _drop_revocable(state: State) -> State:
    """Return the state without the open work that may be interrupted.

    A call that is not repeatable continues to its end.
    """
    revocable = [item for item in state.active.values() if not (item.acted or item.unsure or item.result)]
    replan = state.replan
    nodes = {node for attempt in revocable for node in (attempt.at_work, attempt.node)}
    nodes |= _calls_of_replans(state) if replan is None or replan.node else set()
    if not nodes:
        return state
    state = evolve_undo.withdraw_attempts(state, revocable)
    names = {attempt.name for attempt in revocable}
    active = {name: attempt for name, attempt in state.active.items() if name not in names}
    return changed(state, run=drop_open_work(state.run, nodes), active=active)


def _calls_of_replans(state: State) -> set[str]:
    requests = [call.request for call in state.run.calls.open.values()]
    requests += [tries.request for tries in state.run.calls.tries.values()]
    return {request.node for request in requests if isinstance(request, ReplanRequested)}


def record_question(state: State, event: ClarificationRequested) -> State:
    """Return the state after a question about the trouble was asked."""
    trouble = state.trouble
    if trouble is None or trouble.question:
        return state
    return changed(state, trouble=replace(trouble, question=event.question_id))


def record_answer(state: State, event: Answer) -> State:
    """Return the state after a question about a trouble was closed."""
    trouble = state.trouble
    if trouble is None or trouble.question != event.question_id:
        return state
    answer = event.answer if isinstance(event, ClarificationAnswered) else ""
    return changed(state, trouble=replace(trouble, answer=answer))


def record_replan_request(state: State, event: ReplanRequested) -> State:
    """Return the state after a planning run was asked for a new plan."""
    assert state.replan is not None, "a planning run is requested only for a replan"
    nodes = state.replan_nodes if event.node in state.replan_nodes else (*state.replan_nodes, event.node)
    return changed(state, replan=replace(state.replan, node=event.node), replan_nodes=nodes)


def record_replan_reply(state: State, event: ReplanReplied) -> State:
    """Return the state after the planning run of a replan has ended, with a plan, a question or neither."""
    replan = state.replan
    if replan is None or replan.node != event.node:
        return state
    reply = read_replan(event.content)
    match reply:
        case NewPlan():
            value = _keep_constraints(state, replan, reply.plan)
            plan, findings = read_plan(dict(value))
            if plan is None:
                return _reject_plan(state, replan, "it cannot be read", findings)
            value = state.config.tools.with_undo(value)
            plan = read_plan(dict(value))[0] or plan
            unbound = state.config.tools.unbound(plan, state.values.keys())
            if unbound:
                return _reject_plan(state, replan, f"no tool implements these names: {', '.join(unbound)}")
            return changed(state, replan=replace(replan, plan=json.dumps(value, sort_keys=True)))
        case NeedsAnswer():
            findings = (faults.planner_question(reply.question.inquiry), *replan.trouble.findings)
            return _end_replan(state, replan, TroubleCause.PLANNER_ASKS, findings, replan.level)
        case NoPlan():
            why = f"{reply.outcome}: {reply.why}" if reply.outcome else reply.why
            return _fail_replan(state, replan, reply.outcome, why)
        case _:
            assert_never(reply)


def _keep_constraints(state: State, replan: Replan, plan: Mapping[str, Any]) -> Mapping[str, Any]:
    value, goal = with_constraints(plan, state.constraints), state.plan.plan.goal
    if replan.level is BacktrackLevel.PARTIAL_REPLAN and goal and value.get("goal") != goal:
        value = {**value, "goal": goal}
    return value


def _fail_replan(state: State, replan: Replan, outcome: str, why: str) -> State:
    findings = (faults.failed_replan(why), *replan.trouble.findings)
    infeasible = replan.level is BacktrackLevel.PARTIAL_REPLAN and outcome in NO_PLAN_EXISTS
    level = BacktrackLevel.FULL_REPLAN if infeasible else BacktrackLevel.CLARIFY
    return _end_replan(state, replan, TroubleCause.REPLAN_FAILED, findings, level)


def _reject_plan(state: State, replan: Replan, why: str, findings: tuple[Finding, ...] = ()) -> State:
    rejection = faults.rejected_plan(f"{why}: {reason(findings)}" if findings else why)
    all_findings = (
        rejection,
        *(item.model_copy(update={"where": faults.REPLAN}) for item in findings[:REJECTIONS_MAX]),
        *(finding for finding in replan.trouble.findings if finding.where != faults.REPLAN),
    )
    return _end_replan(state, replan, TroubleCause.PLAN_REJECTED, all_findings, replan.level)


def _end_replan(
    state: State, replan: Replan, cause: TroubleCause, findings: tuple[Finding, ...], level: BacktrackLevel
) -> State:
    before = replan.trouble
    trouble = Trouble(cause, before.step, findings, level=level, root=before.why)
    return changed(state, replan=None, trouble=trouble)


def record_proof(state: State, event: ProofRequested | ProofReached) -> State:
    """Return the state after a guard was asked about the new plan, or has judged it."""
    replan = state.replan
    if replan is None:
        return state
    if isinstance(event, ProofRequested):
        plan = replan.plan if replan.edit is None else edited_plan(state, replan.edit.plan)
        return changed(state, replan=replace(replan, plan=plan, proving=True))
    if event.verdict.passed:
        return changed(state, replan=replace(replan, proving=False, verdict=event.verdict))
    if replan.edit is not None:
        before = None if replan.before is None else replace(replan.before, number=0, question="", answer=None)
        return changed(state, replan=None, trouble=before)
    return _reject_plan(state, replan, "its proof failed", event.verdict.errors)


def begin_edit(state: State, event: PlanEdited) -> State:
    """Return the state after a person has edited the plan. No new work begins before the edited plan is judged."""
    planned = state.replan.trouble if state.replan is not None else None
    before, number = state.trouble or planned, state.replans + 1
    trouble = Trouble(TroubleCause.PLAN_EDITED, root=f"edited by {event.who}")
    replan = Replan(BacktrackLevel.PARTIAL_REPLAN, trouble, number, node=edit_node(number), edit=event, before=before)
    return changed(_drop_revocable(state), trouble=None, replan=replan, replans=number)


def adopt_plan(state: State, event: PlanRevised) -> State:
    """Return the state with a new plan. The goals, the history and the results under earlier plans are kept."""
    tokens, plan = state.tokens, ready_plan(event.plan)
    program = plan.program
    held = sum(1 << bit for bit, token in enumerate(program.tokens) if token in tokens)
    now = Configuration(program.initial.pending, held)
    over = Revision(state.revision, state.plan, state.results, state.trace, event.why, event.level)
    goals = goals_of(state.plan.plan)
    status_of = statuses(goals, state.plan.program, state.now, tokens)
    edit = None if state.replan is None else state.replan.edit
    after = changed(
        state,
        goals=past_goals(state.goals, goals, status_of),
        plan=plan,
        now=now,
        ready=tuple(ready_steps(program, now)),
        assurance=event.assurance,
        revision=event.revision,
        unnamed=tokens.difference(program.tokens),
        active={},
        visits={},
        used=0,
        starts=0,
        started={},
        trace=(),
        results={},
        feedback={},
        looked=False,
        unsure=(),
        editors=state.editors if edit is None else {**state.editors, event.revision: edit.who},
        approved=frozenset() if edit is None else frozenset(edit.approves),
        earlier=(*state.earlier, over),
        replan=None,
    )
    return set_constraints(after, state.constraints.join(constraints_of(plan.json)))


def reopen_run(state: State) -> State:
    """Return the state after the run was reopened. Replans and questions are counted from 0 again.

    In a plan of repeatable steps (a policy), attempts are also counted from 0 again.
    """
    return changed(_reset_counts(state), ending=None, used=0 if state.plan.program.repeats else state.used)


def _reset_counts(state: State) -> State:
    """Return the state with the full number of replans and questions that the configuration allows."""
    return changed(state, replans_left=state.config.replans_max, questions_left=state.config.questions_max)
