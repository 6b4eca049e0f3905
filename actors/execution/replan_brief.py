"""What the planning run of a replan starts with: the problem, what has happened, and the tokens that hold. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from actors.execution.events import ReplanRequested
from actors.execution.goals import GoalStatus, goals_of, statuses
from actors.execution.ids import PLANNER_ASKS
from actors.execution.state import Replan, State
from actors.planning.briefs import ChildBrief, stop_below_of_child
from actors.planning.replanning import replan_brief as child_brief
from actors.plans.constraints import requirements_json, with_constraints
from actors.plans.plan import plan_to_json
from actors.policy.table import BacktrackLevel
from actors.run.questions import Status
from actors.values.given import Given, GivenAnswer
from runtime.core.ledger import Limits


def replan_brief(state: State, request: ReplanRequested) -> ChildBrief:
    """Return what the planning run of a replan starts with."""
    replan, planning = state.replan, state.config.planning
    assert replan is not None, "an open request is that of the replan"
    assert planning is not None, "only a run that can replan asks for a plan"
    limits, reserve, seconds_left = state.run.ledger.limits, request.reserve, state.run.ledger.active_left
    return child_brief(
        state.run.run_id,
        request.request_id,
        request.node,
        problem=problem_text(state),
        pinned=planning.model_dump_json(),
        limits=Limits(
            calls=reserve.calls,
            tokens=reserve.tokens or None,
            micro_usd=reserve.micro_usd or None,
            active_seconds=None if seconds_left is None else max(0.001, seconds_left),
            deadline=limits.deadline,
            patience_seconds=limits.patience_seconds,
            stop_below=stop_below_of_child(limits, planning),
        ),
        given=given_facts(state, replan),
        change=state.run.changes,
    )


def given_facts(state: State, replan: Replan) -> Given:
    """Return the facts that a new plan starts from: all tokens, and what every plan keeps to.

    In a partial replan the goals and all requirements of the plan are given too.
    """
    value: Mapping[str, Any] = plan_to_json(state.plan.plan)
    keeps, constraints = replan.level is BacktrackLevel.PARTIAL_REPLAN, state.constraints
    requirements = with_constraints(state.plan.json, constraints).get("requirements")
    return Given(
        initial_state=tuple(sorted(state.tokens)),
        goal_state=tuple(value["goal_state"]) if keeps else None,
        invariants=tuple(value.get("invariants", ())) if keeps else None,
        requirements=tuple(requirements) if keeps and isinstance(requirements, list) else None,
        kept_requirements=() if keeps else requirements_json(constraints.requirements),
        kept_invariants=() if keeps else constraints.invariants,
        generators=tuple(sorted(state.config.tools.generators)),
        guards=tuple(sorted(state.config.tools.guards)),
        step_generators=state.config.tools.step_names("generator"),
        step_guards=state.config.tools.step_names("guard"),
        failure_summary="\n".join(_failure_lines(state, replan)),
        achieved=tuple(item.removesuffix(":ok") for item in _all_traces(state) if item.endswith(":ok")),
        answers=tuple(_answers(state)),
        asks_nobody=True,
    )


def problem_text(state: State) -> str:
    """Return the problem for the planning run: the original text, or the goal, and the user's later messages."""
    plan = state.plan.plan
    goal = plan.goal or f"Reach the goal: {', '.join(sorted(plan.goal_state))}."
    said = [f"The user requires: {text}" for text in state.run.texts_of("requirement")]
    said += [f"The user notes: {text}" for text in state.run.texts_of("note")]
    return "\n\n".join([state.config.problem or goal, *said])


def _answers(state: State) -> Iterator[GivenAnswer]:
    for question in state.run.questions.values():
        if question.open or question.status is Status.WITHDRAWN:
            continue
        if question.request.node.startswith(PLANNER_ASKS):
            unanswered = "" if question.answer else str(question.status)
            yield GivenAnswer(question=question.request.whole, answer=question.answer, unanswered=unanswered)


def _failure_lines(state: State, replan: Replan) -> Iterator[str]:
    trouble = replan.trouble
    yield f"{trouble.cause}{f' at the step {trouble.step}' if trouble.step else ''}"
    for finding in trouble.findings:
        yield f"{finding.code}: {finding.message}"
    goals = goals_of(state.plan.plan)
    found = statuses(goals, state.plan.program, state.now, state.tokens)
    for goal in goals:
        if found[goal.id] is not GoalStatus.PENDING:
            yield f"goal {goal.text!r}: {found[goal.id]}"
    yield f"steps so far: {', '.join(_all_traces(state)) or 'none'}"


def _all_traces(state: State) -> Iterator[str]:
    for revision in state.earlier:
        yield from revision.trace
    yield from state.trace
