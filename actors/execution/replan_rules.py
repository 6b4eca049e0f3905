"""The rules of a replan: request a new plan from a planning run, prove the plan, and adopt it. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from actors.execution.config import ExecutionConfig
from actors.execution.events import PlanRevised, ProofRequested, ReplanRequested
from actors.execution.forbidden import guard_requirements
from actors.execution.goals import GoalStatus, goals_of, statuses
from actors.execution.ids import Owner, owner_of, proof_node
from actors.execution.requests import replan_request
from actors.execution.state import Replan, State
from actors.execution.step_rules import is_working
from actors.guards import plan_expansive, plan_medium, plan_minimal
from actors.guards.port import Guard
from actors.planning.briefs import ChildBrief, limits_of_child
from actors.planning.replanning import replan_brief as child_brief
from actors.plans.constraints import requirements_json, with_constraints
from actors.plans.plan import plan_to_json
from actors.policy.table import BacktrackLevel
from actors.run.ending import RunFinished, end_exhausted_run
from actors.run.questions import Status
from actors.tools.uses import ToolSet
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Verdict
from actors.values.given import Given, GivenAnswer
from runtime.core.ledger import Limit


def replan(state: State) -> ReplanRequested | ProofRequested | PlanRevised | RunFinished | None:
    """Return the next event of a replan: the request for a new plan or for its proof, or the change to the proved plan.

    A plan that a person has edited needs only the proof and the change. A replan waits until all running tools have
    ended, because the new plan begins with the results of these tools.
    """
    replan, run = state.replan, state.run
    if replan is None or state.active or run.tools or run.parked:
        return None
    if not replan.node:
        request = replan_request(state, replan)
        if isinstance(request, Limit):
            return None if is_working(state) else end_exhausted_run(request)
        return request
    if replan.proving or not (replan.plan or replan.edit):
        return None
    if replan.verdict is None:
        return ProofRequested(node=proof_node(state.revision, replan.number), guard=state.config.level)
    assurance = replan.verdict.facts.get("assurance")
    return PlanRevised(
        revision=state.revision + 1,
        level=replan.level,
        plan=replan.plan,
        assurance=assurance if isinstance(assurance, str) else None,
        why=replan.trouble.why,
    )


def replan_brief(state: State, request: ReplanRequested) -> ChildBrief:
    """Return the brief (the task) with which the planning run of a replan starts."""
    replan, planning = state.replan, state.config.planning
    assert replan is not None, "a planning run is requested only for a replan"
    assert planning is not None, "an execution without a planning configuration never replans"
    return child_brief(
        state.run.run_id,
        request.request_id,
        request.node,
        problem=_problem_text(state),
        pinned=planning.model_dump_json(),
        limits=limits_of_child(state.run.ledger, request.reserve, planning),
        given=given_facts(state, replan),
        change=state.run.changes,
    )


def given_facts(state: State, replan: Replan) -> Given:
    """Return the facts from which a new plan starts: the tokens that hold, and the constraints that all plans have.

    In a partial replan, the facts include the goals and all requirements of the current plan.
    """
    value: Mapping[str, Any] = plan_to_json(state.plan.plan)
    keeps, constraints = replan.level is BacktrackLevel.PARTIAL_REPLAN, state.constraints
    requirements = with_constraints(state.plan.json, constraints).get("requirements")
    facts = Given(
        initial_state=tuple(sorted(state.tokens)),
        goal_state=tuple(value["goal_state"]) if keeps else None,
        invariants=tuple(value.get("invariants", ())) if keeps else None,
        requirements=tuple(requirements) if keeps and isinstance(requirements, list) else None,
        kept_requirements=() if keeps else requirements_json(constraints.requirements),
        kept_invariants=() if keeps else constraints.invariants,
        known_values=tuple(sorted(state.values)),
        failure_summary="\n".join(_failure_lines(state, replan)),
        achieved=tuple(item.removesuffix(":ok") for item in _all_traces(state) if not item.endswith(":fail")),
        failed_generators=tuple(sorted(_failed_generators(state))),
        answers=tuple(_given_answers(state)),
        asks_nobody=True,
    )
    return facts.model_copy(update=state.config.tools.names_given)


def _problem_text(state: State) -> str:
    plan = state.plan.plan
    goal = plan.goal or f"Reach the goal: {', '.join(sorted(plan.goal_state))}."
    parts = [f"The user requires: {text}" for text in state.run.texts_of("requirement")]
    parts += [f"The user notes: {text}" for text in state.run.texts_of("note")]
    return "\n\n".join([state.config.problem or goal, *parts])


def _given_answers(state: State) -> Iterator[GivenAnswer]:
    for question in state.run.questions.values():
        if question.open or question.status is Status.WITHDRAWN:
            continue
        if owner_of(question.request.node) is Owner.PLANNER:
            unanswered = "" if question.answer else str(question.status)
            yield GivenAnswer(question=question.request.whole, answer=question.answer, unanswered=unanswered)


def _failure_lines(state: State, replan: Replan) -> Iterator[str]:
    trouble = replan.trouble
    yield f"{trouble.cause}{f' at the step {trouble.step}' if trouble.step else ''}"
    for finding in trouble.findings:
        yield f"{finding.code}: {finding.message}"
    goals = goals_of(state.plan.plan)
    status_of = statuses(goals, state.plan.program, state.now, state.tokens)
    for goal in goals:
        if status_of[goal.id] is not GoalStatus.PENDING:
            yield f"goal {goal.text!r}: {status_of[goal.id]}"
    yield f"steps so far: {', '.join(_all_traces(state)) or 'none'}"


def _failed_generators(state: State) -> frozenset[str]:
    """Return the generators of all steps that have failed in this or an earlier plan.

    A planner without a model tries other generators first.
    """
    planning = state.config.planning
    if planning is None or not planning.workflow.plans_from_tools:
        return frozenset()
    traces = [(state.plan.plan, state.trace), *((item.plan.plan, item.trace) for item in state.earlier)]
    return frozenset(step.generator for plan, trace in traces for step in plan.steps if f"{step.step_id}:fail" in trace)


def _all_traces(state: State) -> Iterator[str]:
    for revision in state.earlier:
        yield from revision.trace
    yield from state.trace


LEVELS = {
    "plan_minimal": plan_minimal.make,
    "plan_medium": plan_medium.make,
    "plan_expansive": plan_expansive.make,
}
"""A mapping from the names of the guards that may prove a plan to their factories, from the weakest guard to the
strongest."""


def guard_of(level: str, tools: ToolSet, assurance: str, r_max: int) -> Guard:
    """Return the guard of a level, with the names of the tools and the limits of the run.

    The guard also rejects a plan that breaks one of its own prohibitions. All names in the plan must be bound to tools.
    """
    proves = LEVELS[level]({"guard_catalog": sorted(tools.guards), "assurance": assurance, "r_max": r_max})
    return guard_requirements(proves, tools)


def plan_guard(config: ExecutionConfig) -> Guard:
    """Return the guard that proves the plans of an execution."""
    return guard_of(config.level, config.tools, config.required_assurance, config.r_max)


def prove(guard: Guard, text: str) -> Verdict:
    """Return the verdict of a guard on a plan, which is given as JSON."""
    return guard(Artifact("plan", "plan", text, "plan"), Context(""))
