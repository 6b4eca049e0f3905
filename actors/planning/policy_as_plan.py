"""Writes a workflow's search policy as a contingent plan, so that the plan guards can prove it. Pure.

Every step of the plan is repeatable and waits for tokens. A token says whether a workflow step is `wanted`, `accepted`
or `rejected`. The step's attempts become a retry budget. Each visit of a step that other steps require becomes a plan
step. The last visit removes the token `visits left`. Without this token, the search cannot go back over the step. The
decisions after a rejection become plan steps that cannot fail. The verdict chooses between these plan steps, so the
guards check all of them. The question to the user comes last. An answer begins a new round. Without an answer, the run
ends.
"""

from collections.abc import Iterable
from typing import Any

from actors.guards.plan_settings import GUARD_CATALOG
from actors.planning.config import RunConfig
from actors.policy.decision import wanted_targets
from actors.search.graph import Graph, worst_case_calls
from actors.search.progress import Search, cleared_steps

WANTED, ACCEPTED, REJECTED, LEFT = "wanted", "accepted", "rejected", "visits left"


def as_plan(pinned: RunConfig) -> dict[str, Any]:
    """Return the plan as a JSON value.

    The plan names only guards of the default catalogue, which every installation has. For any other guard, the plan
    step has the guard `composite_validation`, and the step's name contains the real guard's name.
    """
    graph = pinned.graph
    steps = [
        plan_step
        for step in graph.steps
        for plan_step in (*_visits(pinned, step), *_steps_after_rejection(pinned, step))
    ]
    return {
        "plan_id": f"policy-{pinned.workflow.name}",
        "goal": "every step of the workflow is accepted",
        "initial_state": [
            token for step in graph.steps for token in (_token(step, WANTED), *_visits_left(graph, step))
        ],
        "goal_state": [_token(step, ACCEPTED) for step in graph.steps],
        "total_retry_budget": max(worst_case_calls(graph), sum(plan_step["retry_budget"] for plan_step in steps)),
        "invariants": [
            {"when": [_token(step, ACCEPTED)], "must": [_token(upper, ACCEPTED) for upper in graph.requires[step]]}
            for step in graph.steps
            if graph.requires[step]
        ],
        "steps": steps,
    }


def _visits(pinned: RunConfig, step: str) -> Iterable[dict[str, Any]]:
    """Yield one plan step for each visit of a step.

    A step that no other step requires has one plan step for all visits, because only its attempts are limited.
    """
    graph, workflow = pinned.graph, pinned.workflow
    counted = _is_bounded(graph, step)
    spec = workflow.effective_guard(step)
    guard = spec if isinstance(spec, str) else spec.kind
    last = 1 + graph.budgets[step].backtrack_budget if counted else 1
    for visit in range(1, last + 1):
        used_tokens = [_token(step, WANTED)] + ([_token(step, f"visit {visit}")] if counted else [])
        following = [_token(step, f"visit {visit + 1}")] if visit < last else []
        deleted_tokens = [*used_tokens, _token(step, LEFT)] if counted and visit == last and last > 1 else used_tokens
        yield {
            "step_id": f"{step}.{visit}" if counted else step,
            "name": f"Generate {step}, judged by {guard}",
            "generator": workflow.action_pairs[step].generator,
            "guard": guard if guard in GUARD_CATALOG else "composite_validation",
            "retry_budget": 1 if graph.budgets[step].deterministic else graph.budgets[step].rmax,
            "preconditions": [*(_token(upper, ACCEPTED) for upper in graph.requires[step]), *used_tokens],
            "effects": [_token(step, ACCEPTED), *following],
            "delete_effects": deleted_tokens,
            "on_failure": "escalate" if pinned.search is Search.LINEAR else "continue",
            "failure_effects": [_token(step, REJECTED), *following],
            "failure_delete_effects": deleted_tokens,
            "repeatable": True,
        }


def _steps_after_rejection(pinned: RunConfig, step: str) -> Iterable[dict[str, Any]]:
    """Yield the plan steps that may follow a rejected step: moves back to earlier steps, and a question to the user."""
    if pinned.search is Search.LINEAR:
        return
    for targets, because in _ways_back(pinned, step):
        yield _way_back_step(pinned.graph, step, targets, because)
    yield _ask_step(pinned.graph, step)


def _way_back_step(graph: Graph, step: str, targets: tuple[str, ...], because: str) -> dict[str, Any]:
    redone = cleared_steps(graph, targets)
    return {
        "step_id": f"{step}.to.{'+'.join(targets)}",
        "name": f"Go back from {step} to {', '.join(targets)}: {because}",
        "generator": "policy",
        "guard": "rules_valid",
        "retry_budget": 1,
        "preconditions": [
            _token(step, REJECTED),
            *(_token(other, LEFT) for other in redone if _is_bounded(graph, other)),
        ],
        "effects": [_token(other, WANTED) for other in redone],
        "delete_effects": [_token(other, phase) for other in redone for phase in (ACCEPTED, REJECTED)],
        "on_failure": "never",
        "repeatable": True,
    }


def _ask_step(graph: Graph, step: str) -> dict[str, Any]:
    """Return the step that asks the user. An answer opens a new round with all visits of each step."""
    redone = cleared_steps(graph, (step,))
    return {
        "step_id": f"{step}.ask",
        "name": f"Ask the user about {step}",
        "generator": "user",
        "guard": "human",
        "retry_budget": 1,
        "preconditions": [_token(step, REJECTED)],
        "effects": [_token(other, WANTED) for other in redone]
        + [token for other in graph.steps for token in _visits_left(graph, other)],
        "delete_effects": [_token(other, phase) for other in redone for phase in (ACCEPTED, REJECTED)]
        + [token for other in graph.steps for token in _later_visits(graph, other)],
        "repeatable": True,
    }


def _ways_back(pinned: RunConfig, step: str) -> Iterable[tuple[tuple[str, ...], str]]:
    """Yield each set of target steps after a rejection, with the policy's rows that demand these targets."""
    graph, escalation = pinned.graph, pinned.escalation(step)
    rows = wanted_targets(step, graph, pinned.roles, pinned.policy)
    ways: dict[tuple[str, ...], tuple[str, ...]] = {(upper,): rows.get(upper, ()) for upper in graph.upward(step, 1)}
    ways[step,] = ()
    for targets in (escalation.escalate_to, *(escalation.escalate_by_guard or {}).values()):
        if targets:
            ways.setdefault(targets, ("as the workflow says",))
    for targets, asking in ways.items():
        if all(_is_bounded(graph, target) and graph.budgets[target].backtrack_budget > 0 for target in targets):
            yield targets, ", ".join(asking) or "when nothing else is allowed"


def _is_bounded(graph: Graph, step: str) -> bool:
    return step not in graph.leaves and not graph.budgets[step].deterministic


def _visits_left(graph: Graph, step: str) -> list[str]:
    if not _is_bounded(graph, step):
        return []
    return [_token(step, "visit 1"), *([_token(step, LEFT)] if graph.budgets[step].backtrack_budget else [])]


def _later_visits(graph: Graph, step: str) -> list[str]:
    last = 1 + graph.budgets[step].backtrack_budget if _is_bounded(graph, step) else 1
    return [_token(step, f"visit {visit}") for visit in range(2, last + 1)]


def _token(step: str, phase: str) -> str:
    return f"{step}: {phase}"
