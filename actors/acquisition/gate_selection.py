"""The gates that select what to do: `acquisition_gate` by rules, and `plan` by a model where no rule decides. Pure."""

from actors.acquisition.blocked_calculation import is_blocked
from actors.acquisition.call_events import PLAN
from actors.acquisition.decision import PlannerDecision
from actors.acquisition.graph import Hop
from actors.acquisition.next_task import (
    chance_finds,
    first_task,
    missing_fields,
    next_acquisition_task,
    open_components,
    optional_fields,
)
from actors.acquisition.replies import ATTEMPTS, last_problem, read_decision, replies_for
from actors.acquisition.schema import schema_of
from actors.acquisition.state import State
from actors.acquisition.writes import Writes

ALL_COLLECTED = "All raw inputs collected."
"""The reason of the decision to finish that follows where nothing is left to acquire."""


def acquisition_gate(state: State) -> Hop:
    """Select the next task where rules can, finish where nothing is left, else leave it to the model (S64 to S67)."""
    planner, blocked = state.planner, is_blocked(state)
    if blocked and planner.reflections and planner.reflections[-1].finish:
        return _all_collected("a review proposes to finish with what there is")
    if blocked and (task := next_acquisition_task(state)) is not None:
        return _task(task, f"the calculation is blocked: {task.reasoning}")
    schema = schema_of(state)
    missing, others = [*missing_fields(schema)], [*open_components(schema), *optional_fields(schema)]
    if first_task(state, schema, missing) is not None:
        return Hop("undecided", f"no value yet: {', '.join(missing)}")
    if (task := first_task(state, schema, others)) is not None:
        return _task(task, task.reasoning)
    lost = [path for path in (*missing, *others) if schema.fields[path].required]
    if lost:  # Nothing is left to do for them: `retry_gate` ends the run.
        why = f"nothing else can supply {lost[0]}"
        return _task(PlannerDecision(action="ask_user", target_field=lost[0], reasoning=why), why)
    if (task := first_task(state, schema, chance_finds(state, schema))) is not None:
        return _task(task, f"{task.target_field} was found by another search only")
    return _all_collected(ALL_COLLECTED)


def _task(decision: PlannerDecision, reason: str) -> Hop:
    return Hop("task", reason, Writes(decision=decision, decision_origin="deterministic"))


def _all_collected(reason: str) -> Hop:
    decision = PlannerDecision(action="finish", reasoning=reason)
    return Hop("all_collected", reason, Writes(decision=decision, decision_origin="deterministic"))


def plan(state: State) -> Hop | None:
    """Take the model's decision; finish in its place where no reply can be used (S68, S69). None while one is awaited.

    It knows no cap, no bootstrap field and no calculator: what corrects a decision comes after it.
    """
    given = replies_for(state, PLAN)
    if not given:
        return None
    decision = read_decision(given[-1], schema_of(state))
    if isinstance(decision, PlannerDecision):
        reason = f"the model decides: {decision.action} {decision.target_field}".rstrip()
        return Hop("decided", reason, Writes(decision=decision, decision_origin="llm"))
    if len(given) < ATTEMPTS:
        return None
    why = f"no reply of the model could be used: {last_problem(decision)}"
    decision = PlannerDecision(action="finish", reasoning=why)
    return Hop("failed", why, Writes(decision=decision, decision_origin="llm_error"))
