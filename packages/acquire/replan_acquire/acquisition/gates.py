"""The gates of the nodes: functions that choose a node's outcome and its changes to the planner's state.

Pure. Numbers such as S49 name requirements in `docs/reference/requirements.yaml`.
"""

from collections.abc import Mapping

from actors.run.questions import Status
from actors.run.tools import ToolOutcome
from actors.values.format import format_count
from actors.values.question_form import one_line
from replan_acquire.acquisition.answers import BLOCKED, field_question, read_answer
from replan_acquire.acquisition.calculation import (
    calculate_results,
    evaluate_formula,
    hash_inputs,
    is_blocked,
    is_check_true,
    known_numbers,
)
from replan_acquire.acquisition.events import OBSERVE, PLAN, REFLECT
from replan_acquire.acquisition.graph import Gate, Hop
from replan_acquire.acquisition.next_task import (
    chance_finds,
    first_task,
    missing_fields,
    next_acquisition_task,
    next_component_task,
    open_components,
    optional_fields,
    query_for,
    questions_left,
    searches_left,
    was_query_made,
)
from replan_acquire.acquisition.observation import read_observation
from replan_acquire.acquisition.planner_state import (
    LatestCalculation,
    PlannerDecision,
    Reflection,
    SearchMade,
    Writes,
    apply,
    read_output,
)
from replan_acquire.acquisition.profile import FieldSpec
from replan_acquire.acquisition.replies import (
    ATTEMPTS,
    Unusable,
    field_to_decompose,
    last_problem,
    proposed_decompositions,
    read_decision,
    read_reflection,
    replies_for,
)
from replan_acquire.acquisition.schema import Schema, schema_of
from replan_acquire.acquisition.state import State
from replan_acquire.acquisition.values import FieldValue, Values
from replan_acquire.quantities.calculator import Blocked
from runtime.core.copies import changed

ROUNDS_MAX = 5
"""The largest number of passes over the computed fields. Each pass computes one more level of dependent fields."""


def compose_values(state: State, schema: Schema) -> Mapping[str, Values]:
    """Return the computed and default values that have changed, by path. An empty tuple removes the old values."""
    changes: dict[str, Values] = {}
    for path, spec in schema.fields.items():
        if not schema.is_made(path):
            _note(changes, schema, path, _default_value(state, schema, path, spec))
    for _ in range(ROUNDS_MAX):
        current = Schema(schema.profile, apply(schema.planner, Writes(composed=changes)))
        before = dict(changes)
        for path in current.compositions:
            _note(changes, schema, path, _compose_field(current, path))
        if changes == before:
            break
    return {path: values for path, values in changes.items() if values != _computed_or_default(schema, path)}


def _note(changes: dict[str, Values], schema: Schema, path: str, value: FieldValue | None) -> None:
    values = () if value is None else (value,)
    if values or path in changes or _computed_or_default(schema, path):
        changes[path] = values


def _computed_or_default(schema: Schema, path: str) -> Values:
    return tuple(value for value in schema.planner.values.get(path, ()) if value.via in ("computed", "default"))


def _default_value(state: State, schema: Schema, path: str, spec: FieldSpec) -> FieldValue | None:
    """Return a field's default if the field has no other value and no attempt is left; otherwise None.

    For a field of source `user`, an attempt is a question; for any other field, it is a search. A default that was
    assumed in an earlier round is kept.
    """
    others = [value for value in schema.planner.values.get(path, ()) if value.via != "default"]
    if spec.default is None or others:
        return None
    attempts_left = questions_left(state, path) if spec.source == "user" else searches_left(state, path)
    # A default that was assumed in an earlier round is kept until another value replaces it.
    is_assumed = bool(_computed_or_default(schema, path))
    unit = schema.unit(path)
    if (attempts_left and not is_assumed) or unit is None:
        return None
    return FieldValue(value=spec.default, unit=unit, via="default", source="the profile's default", confidence=0.0)


def _compose_field(schema: Schema, path: str) -> FieldValue | None:
    composition = schema.compositions[path]
    known = known_numbers(schema)
    values = {name: known[inner] for name, inner in composition.names.items() if inner in known}
    result = evaluate_formula(schema, composition.formula, schema.unit(path), values)
    if isinstance(result, Blocked):
        return None
    sure = min((_confidence(schema, inner) for inner in composition.inputs), default=1.0)
    return FieldValue(
        value=result.exact.low,
        low=result.range.low,
        high=result.range.high,
        unit=result.exact.unit,
        via="computed",
        source=composition.formula,
        confidence=sure,
    )


def _confidence(schema: Schema, path: str) -> float:
    value = schema.value(path)
    return 0.0 if value is None else value.confidence


def search(state: State) -> Hop | None:
    """Record a search, and choose the outcome: it found passages, it found none, or it failed (S49, S50).

    Return None while the search runs.
    """
    ended = state.tool
    decision = state.planner.decision
    if ended is None or decision is None:
        return None
    problem = "" if ended.outcome is ToolOutcome.SUCCEEDED else ended.reason or str(ended.outcome)
    if not problem and read_output(ended.output) is None:
        problem = "the search did not return passages"
    passages = state.planner.last_observation
    search = SearchMade(path=decision.target_field, query=decision.query, found=len(passages), problem=problem[:500])
    writes = Writes(searches=(search,))
    if passages:
        return Hop("observed", f"{format_count(len(passages), 'passage')} for {decision.query!r}", writes)
    if problem:
        return Hop("backend_failure", f"the search failed: {problem}", writes)
    return Hop("no_hits", f"nothing for {decision.query!r}", writes)


def observe(state: State) -> Hop | None:
    """Accept those values of the model's reply that their quotes from the passages state.

    Return None while the run waits for a reply.
    """
    model_replies = replies_for(state, OBSERVE)
    if not model_replies:
        return None
    observation = read_observation(model_replies[-1], state)
    if isinstance(observation, Unusable):
        if len(model_replies) < ATTEMPTS:
            return None
        return Hop("unreadable", f"no reply of the model could be used: {observation.message}")
    values: dict[str, tuple[FieldValue, ...]] = {}
    for path, value in observation.values:
        values[path] = (*values.get(path, ()), value)
    writes = Writes(values=values, rejections=observation.rejections)
    rejected = f"; {format_count(len(observation.rejections), 'value')} rejected" if observation.rejections else ""
    if values:
        return Hop("found", f"found {', '.join(values)}{rejected}", writes)
    return Hop("nothing_found", f"the passages state no value{rejected}", writes)


def ask_user(state: State) -> Hop | None:
    """Return None until the question is answered, declined or expired. No other node asks a person (S51)."""
    question = state.run.questions.get(state.question)
    decision = state.planner.decision
    if question is None or question.open or decision is None:
        return None
    outcome = {Status.ANSWERED: "answered", Status.DECLINED: "declined"}.get(question.status, "expired")
    return Hop(outcome, f"{decision.target_field}: {outcome}", Writes(asked=(decision.target_field,)))


def observe_user(state: State) -> Hop:
    """Accept the value in the user's answer, or record that there is no usable answer."""
    question = state.run.questions[state.question]
    decision = state.planner.decision
    assert decision is not None, "an earlier node has made a decision"
    path = decision.target_field
    if question.status is not Status.ANSWERED:
        refused = (path,) if question.status is Status.DECLINED else ()
        return Hop("unanswered", f"the user has given no answer about {path}", Writes(refused=refused))
    value = read_answer(schema_of(state), path, question.answer, source=state.question)
    if not isinstance(value, FieldValue):
        return Hop("unanswered", f"the answer about {path} cannot be used: {value}")
    return Hop("taken", f"the user has given a value for {path}", Writes(values={path: (value,)}))


def calculate(state: State) -> Hop:
    """Calculate all results from the current values, and store them with their number and the hash of the inputs."""
    calculation = calculate_results(schema_of(state), state.planner.calculation.count + 1)
    writes = Writes(calculation=calculation)
    if calculation.status == "succeeded":
        return Hop("succeeded", f"calculated {', '.join(step.name for step in calculation.steps)}", writes)
    return Hop("blocked", "; ".join(error.message for error in calculation.errors[:3]), writes)


def reflect(state: State) -> Hop | None:
    """Store the model's review: its caveats, and its proposal (to finish, or to acquire a certain field next)."""
    model_replies = replies_for(state, REFLECT)
    if not model_replies:
        return None
    schema = schema_of(state)
    inputs = hash_inputs(schema)
    review = read_reflection(model_replies[-1], schema, inputs)
    if isinstance(review, Reflection):
        proposal = (
            "to finish" if review.finish else f"to acquire {review.next_field}" if review.next_field else "nothing"
        )
        return Hop("reviewed", f"the review proposes {proposal}", Writes(reflections=(review,)))
    if len(model_replies) < ATTEMPTS:
        return None
    why = f"no reply of the model could be used: {review.message}"
    return Hop("unreadable", why, Writes(reflections=(Reflection(inputs_hash=inputs),)))


def enter_iteration(state: State) -> Hop:
    """Count a pass through the graph. End the run if it is aborted or has no passes left (S52 to S56)."""
    number = state.planner.iterations + 1
    writes = Writes(iterations=number)
    if state.planner.status == "aborted":
        return Hop("aborted", "the run is aborted, because a required value cannot be acquired", writes)
    iterations_max = state.config.profile.caps.iterations
    if number > iterations_max:
        return Hop("iterations_exceeded", f"the limit of {iterations_max} passes through the graph is reached", writes)
    return Hop("continue", f"planning step {number}", writes)


def finish(state: State) -> Hop:
    """Return the hop to the end of the graph."""
    return Hop("end", state.path[-1].reason if state.path else "nothing is left to do")


def require_node(path: str) -> str:
    """Return the name of the node that asks for a bootstrap field: `require_` and the last part of the field's path."""
    return f"require_{path.rpartition('.')[2]}"


def missing_outcome(path: str) -> str:
    """Return the outcome with which `prepare_schema` reports that a bootstrap field has no value."""
    return f"{path.rpartition('.')[2]}_missing"


def prepare_schema(state: State) -> Hop | None:
    """Update the computed and default values, and choose the outcome (S57 to S61).

    First, check whether the limit of calculations is reached or the calculation is up to date. Next, check whether a
    stop condition is true or a bootstrap field lacks a value. Then, if a required decomposition is missing, return
    None, because the run waits for the model's reply. Otherwise, the outcome is `ready`.
    """
    writes = Writes(decompositions=proposed_decompositions(state))
    after = changed(state, planner=apply(state.planner, writes))
    values = compose_values(after, schema_of(after))
    writes = writes.model_copy(update={"composed": values})
    after = changed(state, planner=apply(state.planner, writes))
    schema = schema_of(after)
    calculation = after.planner.calculation
    calculations_max = after.config.profile.caps.calculations
    if calculation.count >= calculations_max:
        return Hop("calculator_cap", f"the limit of {calculations_max} calculations is reached", writes)
    if calculation.status == "succeeded" and calculation.inputs_hash == hash_inputs(schema):
        return Hop("already_current", "the calculation is up to date", writes)
    stop = _stop_condition(schema)
    if stop:
        return Hop("stopped", stop, writes)
    for path in after.config.profile.bootstrap:
        if schema.value(path) is None:
            return Hop(missing_outcome(path), f"{path} has no value", writes)
    if field_to_decompose(after) is not None:
        return None
    changes = ", ".join(sorted({*writes.composed, *writes.decompositions}))
    return Hop("ready", f"updated: {changes}" if changes else "nothing to update", writes)


def _stop_condition(schema: Schema) -> str:
    conditions = schema.profile.stop_when
    known = known_numbers(schema) if conditions else {}
    return next(
        (f"{condition.why} ({condition.check})" for condition in conditions if is_check_true(schema, condition, known)),
        "",
    )


def _decided(outcome: str, decision: PlannerDecision, told: str = "", *, aborts: bool = False) -> Hop:
    """Return a hop with a decision that this gate has made.

    The hop's reason is `told`, or the decision's reason if `told` is empty.
    """
    writes = Writes(decision=decision, decision_origin="deterministic", status="aborted" if aborts else None)
    return Hop(outcome, told or decision.reasoning, writes)


def require_field(path: str) -> Gate:
    """Return a gate that asks the user for a bootstrap field, or aborts the run if no question is left (S62, S63)."""

    def gate(state: State) -> Hop:
        if questions_left(state, path):
            ask = PlannerDecision(action="ask_user", target_field=path, reasoning=f"{path} is needed before any search")
            return _decided("ask", ask, f"the user is asked for {path}")
        why = f"{path} is needed before any search, and the user has given no answer"
        return _decided("exhausted", PlannerDecision(action="finish", target_field=path, reasoning=why), aborts=True)

    return gate


def acquisition_gate(state: State) -> Hop:
    """Select the next task by rules, decide to finish if none is left, or let the model decide (S64 to S67)."""
    planner = state.planner
    blocked = is_blocked(state)
    if blocked and planner.reflections and planner.reflections[-1].finish:
        end = PlannerDecision(action="finish", reasoning="a review proposes to finish with the current values")
        return _decided("all_collected", end)
    if blocked and (task := next_acquisition_task(state)) is not None:
        return _decided("task", task, f"the calculation is blocked; {task.reasoning}")
    schema = schema_of(state)
    missing = [*missing_fields(schema)]
    others = [*open_components(schema), *optional_fields(schema)]
    if first_task(state, schema, missing) is not None:
        return Hop("undecided", f"no value yet for {', '.join(missing)}")
    if (task := first_task(state, schema, others)) is not None:
        return _decided("task", task)
    lost = [path for path in (*missing, *others) if schema.fields[path].required]
    if lost:  # No attempt is left for these fields, so `retry_gate` ends the run.
        why = f"no search or question is left for {lost[0]}"
        return _decided("task", PlannerDecision(action="ask_user", target_field=lost[0], reasoning=why))
    if (task := first_task(state, schema, chance_finds(state, schema))) is not None:
        return _decided("task", task, f"only a search for another field has found {task.target_field}")
    return _decided("all_collected", PlannerDecision(action="finish", reasoning="All raw inputs collected."))


def plan(state: State) -> Hop | None:
    """Accept the model's decision, or decide to finish if no reply can be used (S68, S69).

    Return None while the run waits for a reply. This gate does not check limits, bootstrap fields and the calculation,
    because later gates do.
    """
    model_replies = replies_for(state, PLAN)
    if not model_replies:
        return None
    decision = read_decision(model_replies[-1], schema_of(state))
    if isinstance(decision, PlannerDecision):
        reason = f"the model decides: {decision.action} {decision.target_field}".rstrip()
        return Hop("decided", reason, Writes(decision=decision, decision_origin="llm"))
    if len(model_replies) < ATTEMPTS:
        return None
    why = f"no reply of the model could be used: {last_problem(decision)}"
    decision = PlannerDecision(action="finish", reasoning=why)
    return Hop("failed", why, Writes(decision=decision, decision_origin="llm_error"))


REFLECTIONS_MAX = 2
"""The largest number of times that a model reviews one blocked calculation."""
_ABOUT_A_FIELD = ("search", "ask_user")


def normalize_decision(state: State) -> Hop | None:
    """Correct a decision about a field (S71 to S74). Return None while the run waits for the field's decomposition."""
    decision = state.planner.decision
    assert decision is not None, "an earlier node has made a decision"
    if decision.action not in _ABOUT_A_FIELD:
        return Hop("kept", f"the decision to {decision.action} concerns no field")
    if field_to_decompose(state) is not None:
        return None
    writes = Writes(decompositions=proposed_decompositions(state))
    after = changed(state, planner=apply(state.planner, writes))
    schema = schema_of(after)
    corrected, reasons = _correct_decision(after, schema, decision)
    if corrected == decision:
        return Hop("kept", "the decision is unchanged", writes)
    changes = {"decision": corrected, "decision_origin": "deterministic"}
    return Hop("rewritten", "; ".join(reasons), writes.model_copy(update=changes))


def _correct_decision(state: State, schema: Schema, decision: PlannerDecision) -> tuple[PlannerDecision, list[str]]:
    reasons: list[str] = []
    path = decision.target_field
    if schema.is_made(path):
        reasons.append(f"{path} is computed from other fields")
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
            reasons.append(f"a search for {path} comes before a question to the user")
            decision = PlannerDecision(action="search", target_field=path, query=query, reasoning=reasons[-1])
    if decision.action == "search" and not decision.query.strip():
        query = query_for(state, schema, path)
        reasons.append(f"the decision had no query, so the query is {query!r}")
        decision = decision.model_copy(update={"query": query})
    if decision.action == "ask_user" and is_blocked(state) and not decision.question.startswith(BLOCKED):
        reasons.append("the question now says what blocks the calculation")
        asked = decision.question.strip() or field_question(schema, path)
        question = f"{BLOCKED} {one_line(_error_messages(state.planner.calculation, path))}.\n{asked}"
        decision = decision.model_copy(update={"question": question})
    return decision, reasons


def _error_messages(calculation: LatestCalculation, path: str) -> str:
    messages = [error.message for error in calculation.errors if path in error.fields]
    return "; ".join(messages or [error.message for error in calculation.errors][:3])


def _replace_made_target(state: State, schema: Schema, path: str) -> PlannerDecision:
    task = next_component_task(state, schema, path) or next_acquisition_task(state)
    return task or PlannerDecision(action="finish", reasoning=f"nothing is left to acquire for {path}")


def retry_gate(state: State) -> Hop:
    """Enforce the largest number of attempts for a field (S75 to S77).

    If no search is allowed any more, a question replaces the search. If no question is allowed either, a review
    replaces the search. If the decision is to ask and no question is allowed any more, the run is aborted.
    """
    decision = state.planner.decision
    assert decision is not None, "an earlier node has made a decision"
    path = decision.target_field
    if decision.action == "search":
        if was_query_made(state, path, decision.query):
            return _replace_search(state, path, f"this query for {path} was made before")
        if not decision.query.strip() or not searches_left(state, path):
            return _replace_search(state, path, f"no further search for {path} is possible")
    elif decision.action == "ask_user" and not questions_left(state, path):
        why = f"{path} cannot be acquired, because the user has given no answer"
        return _decided("aborted", PlannerDecision(action="finish", target_field=path, reasoning=why), aborts=True)
    return Hop("kept", "the limit of attempts is not reached")


def _replace_search(state: State, path: str, why: str) -> Hop:
    """Replace a search by a question about the field or an open component, or by a review if no question is allowed."""
    schema = schema_of(state)
    askable = [
        component
        for component in (path, *open_components(schema))
        if component in schema.fields and questions_left(state, component)
    ]
    if askable:
        question = PlannerDecision(action="ask_user", target_field=askable[0], reasoning=why)
        return _decided("rewritten", question, f"{why}, so the user is asked for {askable[0]}")
    review = PlannerDecision(action="reflect", target_field=path, reasoning=why)
    return _decided("rewritten", review, f"{why}, so the model reviews the run")


def maybe_calculate(state: State) -> Hop:
    """Choose the outcome that the decision names.

    If the decision is to finish, but the calculation is outdated or blocked, choose a calculation or a review instead.

    Rules: S78 to S80.
    """
    planner = state.planner
    decision = state.planner.decision
    assert decision is not None, "an earlier node has made a decision"
    if decision.action not in ("finish", "calculate"):
        return Hop(decision.action, decision.reasoning or decision.action)
    calculation = planner.calculation
    caps = state.config.profile.caps
    if state.config.profile.calculator is None:
        return _end_hop(decision, "the profile has no calculator")
    now = hash_inputs(schema_of(state))
    same = calculation.inputs_hash == now
    if not (same and calculation.status != "none") and calculation.count < caps.calculations:
        why = "nothing is calculated yet" if calculation.status == "none" else "the values have changed"
        return _decided("calculate", PlannerDecision(action="calculate", reasoning=why))
    # Without a usable reply there is no review, and an aborted run needs none.
    if calculation.status == "blocked" and not planner.llm_failed and planner.status == "active":
        reviews = [reflection for reflection in planner.reflections if reflection.inputs_hash == now]
        if len(reviews) < REFLECTIONS_MAX and not any(review.finish for review in reviews):
            return _decided("reflect", PlannerDecision(action="reflect", reasoning="the calculation is blocked"))
    return _end_hop(decision, decision.reasoning or "nothing is left to do")


def _end_hop(decision: PlannerDecision, why: str) -> Hop:
    if decision.action == "finish":
        return Hop("finish", decision.reasoning or why)
    return _decided("finish", PlannerDecision(action="finish", reasoning=why))
