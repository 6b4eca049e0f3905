"""What a planning run of a replan starts with: the problem, what has happened so far, and the state of the world. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from actors.execution.events import ReplanRequested
from actors.execution.goals import GoalStatus, goals_of, statuses
from actors.execution.state import Replan, State
from actors.planning.config import RunConfig
from actors.run.ids import child_run
from runtime.core.ledger import Limits


@dataclass(frozen=True, slots=True)
class ReplanBrief:
    """The input of the actor that drives a planning run."""

    run: str
    """The id of the planning run."""
    request_id: str
    """The id of the execution's request that it answers."""
    problem: str
    """The text of the problem, with what the user has required and answered since."""
    pinned: RunConfig
    """The planning run's configuration."""
    limits: Limits
    """What the request reserves for it, with the execution's deadline and patience."""
    initial_state: tuple[str, ...]
    """All tokens that hold now, sorted."""
    goal_state: tuple[str, ...] | None
    """The tokens of the goals, sorted; None where the planning run may revise the goals."""
    failure: str
    """Why the execution needs a new plan."""
    achieved: tuple[str, ...]
    """The steps that have succeeded so far."""
    change: Mapping[str, Any] = field(default_factory=dict)
    """What people have changed of the execution's settings, as an inbox message holds it."""


def replan_brief(state: State, request: ReplanRequested) -> ReplanBrief:
    """Return what the planning run of a replan starts with."""
    replan, config = state.replan, state.config
    assert replan is not None, "an open request is that of the replan"
    assert config.planning is not None, "only a run that can replan asks for it"
    limits, reserve, seconds_left = state.run.ledger.limits, request.reserve, state.run.ledger.active_left
    keeps_goals = request.level == "partial_replan"
    return ReplanBrief(
        run=child_run(state.run.run_id, request.node),
        request_id=request.request_id,
        problem=problem_text(state),
        pinned=config.planning,
        limits=Limits(
            calls=reserve.calls,
            tokens=reserve.tokens or None,
            micro_usd=reserve.micro_usd or None,
            active_seconds=None if seconds_left is None else max(0.001, seconds_left),
            deadline=limits.deadline,
            patience_seconds=limits.patience_seconds,
        ),
        initial_state=tuple(sorted(state.tokens)),
        goal_state=tuple(sorted(state.plan.plan.goal_state)) if keeps_goals else None,
        failure="\n".join(_failure_lines(state, replan)),
        achieved=tuple(item.removesuffix(":ok") for item in _all_traces(state) if item.endswith(":ok")),
        change=state.run.changes,
    )


def problem_text(state: State) -> str:
    """Return the problem that a new plan is to solve: as it was stated, with what the user has said since."""
    plan = state.plan.plan
    goal = plan.goal or f"Reach the goal: {', '.join(sorted(plan.goal_state))}."
    parts = [state.config.problem or goal]
    parts += [f"The user requires: {text}" for text in state.run.texts_of("requirement")]
    parts += [f"The user notes: {text}" for text in state.run.texts_of("note")]
    for clarified in state.run.clarifications:
        if clarified.node.startswith("trouble/") and clarified.answer:
            parts.append(f"The user was asked: {clarified.question}\nThe user's answer: {clarified.answer}")
    return "\n\n".join(parts)


def _failure_lines(state: State, replan: Replan) -> Iterator[str]:
    trouble = replan.trouble
    yield f"{trouble.cause}{f' at the step {trouble.step}' if trouble.step else ''}"
    for finding in trouble.findings:
        yield f"{finding.code}: {finding.message}"
    goals = goals_of(state.plan.plan, state.plan.json)
    found = statuses(goals, state.plan.program, state.now, state.tokens)
    for goal in goals:
        if found[goal.id] is not GoalStatus.PENDING:
            yield f"goal {goal.text!r}: {found[goal.id]}"
    yield f"steps so far: {', '.join(_all_traces(state)) or 'none'}"


def _all_traces(state: State) -> Iterator[str]:
    for revision in state.earlier:
        yield from revision.trace
    yield from state.trace
