"""Whether the latest calculation is blocked, and still says something about the values as they are. Pure."""

from actors.acquisition.calculation import inputs_hash
from actors.acquisition.schema import schema_of
from actors.acquisition.state import State


def is_blocked(state: State) -> bool:
    """Tell whether the latest calculation is blocked, and no value has changed since."""
    calculation = state.planner.calculation
    return calculation.status == "blocked" and calculation.inputs_hash == inputs_hash(schema_of(state))
