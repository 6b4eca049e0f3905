"""The gates that prepare the schema: `prepare_schema`, and one `require_FIELD` for each bootstrap field. Pure."""

from actors.acquisition.calculation import inputs_hash
from actors.acquisition.checks import holds
from actors.acquisition.composing import composed
from actors.acquisition.decision import PlannerDecision
from actors.acquisition.decompositions import proposed, wanted
from actors.acquisition.formula_inputs import known_numbers
from actors.acquisition.graph import Gate, Hop
from actors.acquisition.next_task import questions_left
from actors.acquisition.schema import Schema, schema_of
from actors.acquisition.state import State
from actors.acquisition.writes import Writes, apply
from runtime.core.copies import changed


def require_node(path: str) -> str:
    """Return the name of the node that asks for a bootstrap field, by the last part of its path."""
    return f"require_{path.rpartition('.')[2]}"


def missing_outcome(path: str) -> str:
    """Return the outcome of `prepare_schema` where a bootstrap field has no value."""
    return f"{path.rpartition('.')[2]}_missing"


def prepare_schema(state: State) -> Hop | None:
    """Bring the schema up to date, then end the run or go on (S57 to S61). None while a decomposition is awaited.

    The order: the cap of calculations, a calculation that is current, a stop condition, the bootstrap fields.
    """
    writes = Writes(decompositions=proposed(state))
    after = changed(state, planner=apply(state.planner, writes))
    values = composed(after, schema_of(after))
    writes = writes.model_copy(update={"composed": values})
    after = changed(state, planner=apply(state.planner, writes))
    schema, calculation = schema_of(after), after.planner.calculation
    most = after.config.profile.caps.calculations
    if calculation.count >= most:
        return Hop("calculator_cap", f"{most} calculations are the most", writes)
    if calculation.status == "succeeded" and calculation.inputs_hash == inputs_hash(schema):
        return Hop("already_current", "the calculation is current", writes)
    stop = _stop_condition(schema)
    if stop:
        return Hop("stopped", stop, writes)
    for path in after.config.profile.bootstrap:
        if schema.value(path) is None:
            return Hop(missing_outcome(path), f"{path} has no value", writes)
    if wanted(after) is not None:
        return None
    changes = ", ".join(sorted({*writes.composed, *writes.decompositions}))
    return Hop("ready", f"brought up to date: {changes}" if changes else "up to date", writes)


def _stop_condition(schema: Schema) -> str:
    """Return why the run ends early; empty where no stop condition holds."""
    conditions = schema.profile.stop_when
    known = known_numbers(schema) if conditions else {}
    return next((f"{each.why} ({each.check})" for each in conditions if holds(schema, each, known)), "")


def require_field(path: str) -> Gate:
    """Return the gate that asks the user for a bootstrap field, or aborts where nothing is left to ask (S62, S63)."""

    def gate(state: State) -> Hop:
        if questions_left(state, path):
            decision = PlannerDecision(action="ask_user", target_field=path, reasoning=f"{path} is needed first")
            return Hop(
                "ask", f"{path} is asked of the user", Writes(decision=decision, decision_origin="deterministic")
            )
        why = f"{path} is needed first, and the user has given no answer"
        decision = PlannerDecision(action="finish", target_field=path, reasoning=why)
        return Hop("exhausted", why, Writes(decision=decision, decision_origin="deterministic", status="aborted"))

    return gate
