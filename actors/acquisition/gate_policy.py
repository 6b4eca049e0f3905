"""The gates that correct and route a decision: `normalize_decision`, `retry_gate` and `maybe_calculate`. Pure."""

from actors.acquisition.answers import BLOCKED, field_question
from actors.acquisition.calculation import hash_inputs, is_blocked
from actors.acquisition.graph import Hop
from actors.acquisition.next_task import (
    next_acquisition_task,
    next_component_task,
    open_components,
    query_for,
    questions_left,
    searches_left,
    was_query_made,
)
from actors.acquisition.planner_state import LatestCalculation, PlannerDecision, Writes, apply
from actors.acquisition.replies import field_to_decompose, proposed_decompositions
from actors.acquisition.schema import Schema, schema_of
from actors.acquisition.state import State
from actors.values.question_form import one_line
from runtime.core.copies import changed

REFLECTIONS_MAX = 2
"""The most reviews of one blocked calculation."""
_ABOUT_A_FIELD = ("search", "ask_user")


def normalize_decision(state: State) -> Hop | None:
    """Correct a decision about a field (S71 to S74). None while the run waits for the field's decomposition."""
    decision = state.planner.decision
    assert decision is not None, "a decision comes before this node"
    if decision.action not in _ABOUT_A_FIELD:
        return Hop("kept", f"{decision.action} is about no field")
    if field_to_decompose(state) is not None:
        return None
    writes = Writes(decompositions=proposed_decompositions(state))
    after = changed(state, planner=apply(state.planner, writes))
    schema = schema_of(after)
    corrected, reasons = _correct_decision(after, schema, decision)
    if corrected == decision:
        return Hop("kept", "the decision stands", writes)
    changes = {"decision": corrected, "decision_origin": "deterministic"}
    return Hop("rewritten", "; ".join(reasons), writes.model_copy(update=changes))


def _correct_decision(state: State, schema: Schema, decision: PlannerDecision) -> tuple[PlannerDecision, list[str]]:
    reasons: list[str] = []
    path = decision.target_field
    if schema.is_made(path):
        reasons.append(f"{path} is made of other fields")
        decision = _replace_made_target(state, schema, path)
        path = decision.target_field
    spec = schema.fields.get(path)
    if (
        decision.action == "ask_user"
        and spec is not None
        and spec.source != "user"
        and not state.planner.searches_for(path)
    ):
        query = query_for(state, schema, path)
        if query:
            reasons.append(f"{path} is searched for before the user is asked")
            decision = PlannerDecision(action="search", target_field=path, query=query, reasoning=reasons[-1])
    if decision.action == "search" and not decision.query.strip():
        query = query_for(state, schema, path)
        reasons.append(f"the query is {query!r}")
        decision = decision.model_copy(update={"query": query})
    if decision.action == "ask_user" and is_blocked(state) and not decision.question.startswith(BLOCKED):
        reasons.append("the question says what blocks the calculation")
        asked = decision.question.strip() or field_question(schema, path)
        question = f"{BLOCKED} {one_line(_errors(state.planner.calculation, path))}.\n{asked}"
        decision = decision.model_copy(update={"question": question})
    return decision, reasons


def _errors(calculation: LatestCalculation, path: str) -> str:
    """Return the messages of a blocked calculation about a field; if there are none, its first three messages."""
    about = [error.message for error in calculation.errors if path in error.fields]
    return "; ".join(about or [error.message for error in calculation.errors][:3])


def _replace_made_target(state: State, schema: Schema, path: str) -> PlannerDecision:
    """Return the next task for a component of a field, or else any next task, or else the decision to finish."""
    task = next_component_task(state, schema, path) or next_acquisition_task(state)
    return task or PlannerDecision(action="finish", reasoning=f"nothing is left to acquire for {path}")


def retry_gate(state: State) -> Hop:
    """Limit the attempts for a field (S75 to S77): search, then ask, then review. End the run if nobody answers."""
    decision = state.planner.decision
    assert decision is not None, "a decision comes before this node"
    path = decision.target_field
    if decision.action == "search":
        if was_query_made(state, path, decision.query):
            return _replace_search(state, path, f"{path} was searched for by this query before")
        if not decision.query.strip() or not searches_left(state, path):
            return _replace_search(state, path, f"nothing is left to search for {path}")
    elif decision.action == "ask_user" and not questions_left(state, path):
        why = f"{path} cannot be had: the user has given no answer"
        end = PlannerDecision(action="finish", target_field=path, reasoning=why)
        return Hop("aborted", why, Writes(decision=end, decision_origin="deterministic", status="aborted"))
    return Hop("kept", "within the attempts")


def _replace_search(state: State, path: str, why: str) -> Hop:
    """Replace a search by a question about the field or another component, or by a review if no question is left."""
    schema = schema_of(state)
    askable = [
        component
        for component in (path, *open_components(schema))
        if component in schema.fields and questions_left(state, component)
    ]
    if askable:
        question = PlannerDecision(action="ask_user", target_field=askable[0], reasoning=why)
        writes = Writes(decision=question, decision_origin="deterministic")
        return Hop("rewritten", f"{why}: the user is asked for {askable[0]}", writes)
    review = PlannerDecision(action="reflect", target_field=path, reasoning=why)
    return Hop("rewritten", f"{why}: a review", Writes(decision=review, decision_origin="deterministic"))


def maybe_calculate(state: State) -> Hop:
    """Route a decision. A decision to finish becomes a calculation or a review if that may help (S78 to S80)."""
    planner, decision = state.planner, state.planner.decision
    assert decision is not None, "a decision comes before this node"
    if decision.action not in ("finish", "calculate"):
        return Hop(decision.action, decision.reasoning or decision.action)
    calculation, caps = planner.calculation, state.config.profile.caps
    if state.config.profile.calculator is None:
        return _end_hop(decision, "there is no calculator")
    now = hash_inputs(schema_of(state))
    same = calculation.inputs_hash == now
    if not (same and calculation.status != "none") and calculation.count < caps.calculations:
        why = "the calculation is missing" if calculation.status == "none" else "values have changed since"
        changes = Writes(decision=PlannerDecision(action="calculate", reasoning=why), decision_origin="deterministic")
        return Hop("calculate", why, changes)
    if calculation.status == "blocked" and not planner.llm_failed and planner.status == "active":
        reviews = [reflection for reflection in planner.reflections if reflection.inputs_hash == now]
        if len(reviews) < REFLECTIONS_MAX and not any(review.finish for review in reviews):
            why = "the calculation is blocked"
            changes = Writes(decision=PlannerDecision(action="reflect", reasoning=why), decision_origin="deterministic")
            return Hop("reflect", why, changes)
    return _end_hop(decision, decision.reasoning or "nothing is left to do")


def _end_hop(decision: PlannerDecision, why: str) -> Hop:
    if decision.action == "finish":
        return Hop("finish", decision.reasoning or why)
    end = PlannerDecision(action="finish", reasoning=why)
    return Hop("finish", why, Writes(decision=end, decision_origin="deterministic"))
